//! Log of the delay of each request, for the figure with the peaks (thesis of Mylavarapu 2008,
//! Figure 2).

use std::{
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::Mutex,
};

use thermocline_files::Out;
use thermocline_trace::Op;

use crate::SimError;

/// The delay of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestDelay {
    /// Arrival, since the statistics began.
    pub arrival_ns: u64,
    /// Read or write.
    pub op: Op,
    /// Time from arrival to completion.
    pub response_ns: u64,
    /// Time from arrival, or from the completion of the previous request if that is later, to
    /// completion.
    pub delay_ns: u64,
}

/// A CSV file of the delay of every read and write of a run, in the order of completion. The file
/// appears when it is complete.
#[derive(Debug)]
pub struct DelayLog {
    path: PathBuf,
    out: Mutex<Sink>,
}

#[derive(Debug)]
struct Sink {
    out: BufWriter<Out>,
    /// The first error.
    failed: Option<std::io::Error>,
}

impl DelayLog {
    /// Opens the file.
    ///
    /// # Errors
    /// [`SimError::Failed`], naming it.
    pub fn create(path: &Path) -> Result<Self, SimError> {
        let mut out = Out::open(path).map(BufWriter::new).map_err(|e| failed(path, &e))?;
        writeln!(out, "arrival_us,op,response_us,delay_us").map_err(|e| failed(path, &e))?;
        Ok(Self { path: path.into(), out: Mutex::new(Sink { out, failed: None }) })
    }

    pub(crate) fn note(&self, delay: &RequestDelay) {
        let mut sink = self.out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if sink.failed.is_none() {
            let us = |ns: u64| ns as f64 / 1000.0;
            let op = if delay.op == Op::Read { "read" } else { "write" };
            let RequestDelay { arrival_ns, response_ns, delay_ns, .. } = *delay;
            let (at, response, delay) = (us(arrival_ns), us(response_ns), us(delay_ns));
            sink.failed = writeln!(sink.out, "{at},{op},{response},{delay}").err();
        }
    }

    /// Ends the file; reports errors of all writes.
    ///
    /// # Errors
    /// [`SimError::Failed`], naming the file.
    pub fn finish(self) -> Result<(), SimError> {
        let sink = self.out.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Sink { out, failed: before } = sink;
        let written = match before {
            Some(e) => Err(e),
            None => out.into_inner().map_err(|e| e.into_error()).and_then(Out::finish),
        };
        written.map_err(|e| failed(&self.path, &e))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> SimError {
    SimError::Failed(format!("{}: {error}", path.display()))
}
