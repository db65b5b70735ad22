//! `thermocline trace split`: a native file for each volume.

use std::{collections::HashSet, fs};

use thermocline_study::{Counted, opening};
use thermocline_sweep::Volumes;
use thermocline_trace::{Request, Source, TraceError, write::OutputFormat};

use super::target::Target;
use crate::{
    args::trace::{SplitArgs, TargetArgs},
    console::Console,
    exit::Failure,
    interrupt,
    print::number,
};

/// Takes the trace apart in one pass, then writes one file after another.
pub fn run(args: &SplitArgs, console: Console) -> Result<(), Failure> {
    let target = || args.folder.display().to_string();
    fs::create_dir_all(&args.folder)
        .map_err(|source| Failure::Write { target: target(), source })?;
    let split = |source: &mut dyn Source| {
        let message = format!("reading {}", args.file.display());
        let mut counted = Counted::new(console.context(), message, source);
        Volumes::of(&mut counted, interrupt::progress())
    };
    let reading = args.reading.options();
    let (volumes, seen) =
        opening::with_trace(&args.file, &reading, &args.transforms, console.context(), split)?;
    let mut names = HashSet::new();
    for (at, volume) in volumes.all().iter().enumerate() {
        let out = args.folder.join(file_name(&volume.name, &mut names) + ".tct");
        let target = TargetArgs { out, to: Some(OutputFormat::Native) };
        let mut alone = Alone { source: volumes.source(at), name: [volume.name.clone()] };
        Target::open(&target)?.write(&mut alone, seen.device())?;
    }
    let written = number::counted(volumes.all().len() as u64, "volume");
    console.remark(&format!("{written} written to {}", target()));
    Ok(())
}

/// A name that a file can have, and no other volume's file has.
fn file_name(volume: &str, taken: &mut HashSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let plain: String = volume.trim_start_matches('.').chars().map(plain).collect();
    let plain = if plain.is_empty() { "volume".to_owned() } else { plain };
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let mut names = [plain.clone()].into_iter().chain(numbered);
    // Names of file systems may differ in case alone, and be one.
    let name = names.find(|name| taken.insert(name.to_lowercase()));
    name.unwrap_or(plain)
}

/// A volume as a trace of its own, which has no other.
struct Alone<S> {
    source: S,
    name: [String; 1],
}

impl<S: Source> Source for Alone<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        self.source.next_batch(batch, limit)?;
        batch.iter_mut().for_each(|request| request.volume = 0);
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_volume_gets_a_file_of_its_own() {
        let mut taken = HashSet::new();
        let names = ["8:0", "8_0", "sda", "SDA", "..", ""].map(|name| file_name(name, &mut taken));
        assert_eq!(names, ["8_0", "8_0-2", "sda", "SDA-2", "volume", "volume-2"]);
    }
}
