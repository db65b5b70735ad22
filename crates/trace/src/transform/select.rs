//! Keeps only some volumes.

use super::retain::retain;
use crate::{Contents, Request, Source, TraceError};

/// Keeps the requests of the named volumes. Their indices do not change.
///
/// A volume is selected by its name (`hm:0`), or by its index (`2`) if its name is not a number
/// itself. A selection without a volume by the end of the trace is an error.
pub struct SelectVolumes<S> {
    source: S,
    wanted: Vec<String>,
    met: Vec<bool>,
    /// For each volume so far, whether it is kept.
    kept: Vec<bool>,
    contents: Contents,
}

impl<S: Source> SelectVolumes<S> {
    /// Selects the volumes `wanted` of `source`.
    pub fn new(source: S, wanted: Vec<String>) -> Self {
        let met = vec![false; wanted.len()];
        SelectVolumes { source, wanted, met, kept: Vec::new(), contents: Contents::default() }
    }

    fn decide(&mut self, volume: usize) {
        while self.kept.len() <= volume {
            let index = self.kept.len().to_string();
            let name = self.source.volumes().get(self.kept.len()).unwrap_or(&index);
            let numeric = name.parse::<u64>().is_ok();
            let mut keep = false;
            for (wanted, met) in self.wanted.iter().zip(&mut self.met) {
                if wanted == name || (!numeric && *wanted == index) {
                    keep = true;
                    *met = true;
                }
            }
            self.kept.push(keep);
        }
    }

    fn check_all_met(&self) -> Result<(), TraceError> {
        let Some(missing) = self.met.iter().position(|met| !met) else { return Ok(()) };
        let listed: Vec<_> = (0..self.kept.len())
            .take(20)
            .map(|i| self.source.volumes().get(i).cloned().unwrap_or_else(|| i.to_string()))
            .collect();
        let more = if self.kept.len() > listed.len() { ", …" } else { "" };
        Err(TraceError::usage(
            format!("the trace has no volume `{}`", self.wanted[missing]),
            format!("choose among: {}{more}", listed.join(", ")),
        ))
    }
}

impl<S: Source> Source for SelectVolumes<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        self.contents.clear();
        loop {
            self.source.next_batch(batch, limit)?;
            if batch.is_empty() {
                return self.check_all_met();
            }
            if let Some(highest) = batch.iter().map(|request| request.volume).max() {
                self.decide(highest as usize);
            }
            let kept = &self.kept;
            retain(batch, self.source.contents(), &mut self.contents, |request| {
                kept[request.volume as usize]
            });
            if !batch.is_empty() {
                return Ok(());
            }
        }
    }

    fn volumes(&self) -> &[String] {
        self.source.volumes()
    }

    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.source.volume_bytes(volume)
    }
}
