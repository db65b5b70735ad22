//! From settings to results, for every interface (command line, Python, Rust).
//!
//! ```
//! use std::sync::Arc;
//! use thermocline_study::{
//!     Context, Silent, compare,
//!     jobs::Extras,
//!     settings::{compare::CompareSettings, table::Group},
//! };
//!
//! let progress = Arc::default();
//! let given = [
//!     ("workload", Some("hot-cold:90/10")),
//!     ("policies", Some("greedy,dac")),
//!     ("capacity", Some("32MiB")),
//! ];
//! let settings = CompareSettings::of(given)?;
//! let done = compare(&settings, Extras::default(), Context::new(&Silent, &progress))?;
//! let answer = done.listed(settings.many.wish()).answer;
//! assert_eq!(answer.best.as_deref(), Some("dac"));
//! for run in done.inputs[0].runs() {
//!     println!("{}: {:.3}", run.config.policy, run.write_amplification.unwrap_or(1.0));
//! }
//! # Ok::<(), thermocline_study::SimError>(())
//! ```
//!
//! * [`settings`] are the requested settings, by name. A wrong one is a [`SimError::Usage`] whose text says what
//!   to write instead, in the notation of the [`Door`].
//! * [`run()`] and [`compare()`] take settings and return what `--json` prints ([`RunResult`],
//!   [`Listed`]). [`Run`] and [`Comparison`] do it in two steps: resolve, then run.
//! * [`sweep`] plans the cells of a grid by digest, runs one anywhere ([`sweep::execute`]), or all here with a store
//!   ([`sweep::Session`]).
//! * [`fleet`] simulates each volume of a trace on its own device; [`reproduce`] compares papers' claims with
//!   results; [`trace`] describes a trace; [`catalogue`] lists the choices.
//! * A [`Context`] has the listener to the work ([`Listener`]), its cancellation ([`Progress::cancel`]), and
//!   traces that are not files ([`Traces`]), which settings find by name.
//!
//! Invariants:
//! - Nothing here prints, ends the program, or knows a signal or a terminal.
//! - One seed and one spec give one result on any number of threads, whatever the door.

pub mod catalogue;
mod compare;
mod context;
mod fdp;
pub mod fleet;
pub mod jobs;
mod kept;
pub mod notes;
pub mod opening;
pub mod reproduce;
mod run;
pub mod settings;
mod simulation;
pub mod sweep;
pub mod trace;
// Its optimizer takes random numbers of a system.
#[cfg(not(target_family = "wasm"))]
pub mod tune;
pub mod volumes;

pub use compare::{AnswerFor, Comparison, Done as Compared, Listed, Means, compare};
pub use context::{Context, Counted, Listener, Meter, Reading, Remark, Silent, Traces, Unit};
pub use run::{Ran, Run, run};
pub use thermocline_sim::{Progress, RunResult, SimError};
pub use thermocline_units::naming::{Door, SpecError, in_results};

/// The user asked for something there is not.
fn usage(text: impl Into<String>) -> SimError {
    SimError::Usage(text.into())
}
