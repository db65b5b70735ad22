//! From settings in words to results: what every door (command line, Python, Rust) asks for.

pub mod catalogue;
mod compare;
mod context;
pub mod fleet;
pub mod jobs;
pub mod notes;
pub mod opening;
pub mod reproduce;
mod run;
pub mod settings;
mod simulation;
pub mod sweep;
pub mod trace;

pub use compare::{Comparison, Done as Compared, Listed, compare};
pub use context::{Context, Counted, Listener, Meter, Reading, Remark, Silent, Traces, Unit};
pub use run::{Ran, Run, run};
pub use thermocline_sim::{Progress, RunResult, SimError};

/// The user asked for something there is not.
fn usage(text: impl Into<String>) -> SimError {
    SimError::Usage(text.into())
}
