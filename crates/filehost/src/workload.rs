//! A running script as a source of requests.

use crate::{
    options::FileOptions, scenario::Scenario, script::Script, session::Session, tally::Tally,
};
use std::io;
use thermocline_trace::{Contents, Request, Source, TraceError};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Blank,
    Filling,
    Running,
    Done,
}

/// A file workload as a [`Source`]. All requests are on volume 0 and address the device from its
/// first sector on. Arrival times are the host's.
pub struct FileWorkload {
    scenario: Scenario,
    session: Session,
    script: Box<dyn Script + Send>,
    stage: Stage,
    prelude: u64,
    /// Bytes to write after the prelude.
    bytes: u64,
    contents: Contents,
}

impl FileWorkload {
    /// Prepares a workload without generating anything yet.
    ///
    /// # Errors
    /// [`TraceError::Usage`] for a volume too small for FAT32, and for options out of range.
    pub fn new(scenario: Scenario, options: &FileOptions) -> Result<Self, TraceError> {
        options.check()?;
        Ok(FileWorkload {
            scenario,
            session: Session::new(options)?,
            script: scenario.script(),
            stage: Stage::Blank,
            prelude: 0,
            bytes: options.bytes.unwrap_or(scenario.default_bytes(options.volume_bytes)),
            contents: Contents::default(),
        })
    }

    /// Counts of the operations so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.session.tally
    }

    /// About one file operation.
    fn step(&mut self) -> io::Result<()> {
        let session = &mut self.session;
        match self.stage {
            Stage::Blank => {
                session.format()?;
                session.mount()?;
                self.stage = Stage::Filling;
            }
            Stage::Filling => {
                if self.script.fill(session)? {
                    session.unmount()?;
                    let host = session.host();
                    self.prelude = host.requests;
                    let written = host.written;
                    session.tally.prelude_written = written;
                    session.end = written.saturating_add(self.bytes);
                    session.mount()?;
                    self.stage = Stage::Running;
                }
            }
            Stage::Running => {
                if session.left() > 0 {
                    self.script.step(session)?;
                } else {
                    session.unmount()?;
                    self.stage = Stage::Done;
                }
            }
            Stage::Done => {}
        }
        let host = session.host();
        let (written, written_metadata) = (host.written, host.written_metadata);
        session.tally = Tally { written, written_metadata, ..session.tally };
        Ok(())
    }
}

impl Source for FileWorkload {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        self.contents.clear();
        while self.session.host().outbox.len() < limit && self.stage != Stage::Done {
            self.step().map_err(|error| {
                TraceError::usage(
                    format!("{}: the file system: {error}", self.scenario),
                    "give the volume more room",
                )
            })?;
        }
        self.session.host().outbox.take(batch, &mut self.contents, limit);
        Ok(())
    }

    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn prelude(&self) -> u64 {
        self.prelude
    }
}
