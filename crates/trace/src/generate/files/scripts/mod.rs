//! What the scenarios do, file operation by file operation.

mod churn;

use super::{scenario::Scenario, session::Session};
use churn::Churn;
use std::io;

/// A script; it has no end of its own.
pub(super) trait Script {
    /// One step of bringing the volume to its utilisation; true when it is there.
    fn fill(&mut self, session: &mut Session) -> io::Result<bool>;

    /// One file operation, or a few that belong together, and the time until the next.
    fn step(&mut self, session: &mut Session) -> io::Result<()>;
}

pub(super) fn of(scenario: Scenario) -> Box<dyn Script + Send> {
    match scenario {
        Scenario::S1 => Box::new(Churn::huge()),
        Scenario::S2 => Box::new(Churn::medium()),
        Scenario::S3 => Box::new(Churn::small()),
    }
}

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLISECOND;
