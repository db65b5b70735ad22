//! The simulator: drives a translation layer with a trace or a generated workload on a virtual
//! clock, and measures it.
//!
//! A [`Job`] is one policy on one [`Input`]. [`run()`] returns its [`RunResult`], [`compare()`]
//! those of many jobs, in parallel and in order. A seed determines the result, byte for byte, on
//! any number of threads; only [`RunResult::perf`] differs.

pub mod answer;
mod classes;
mod compare;
mod delays;
mod demand_paged;
mod dftl;
mod engine;
mod error;
mod facts;
mod front;
mod future;
pub mod history;
mod huge_pages;
mod in_progress;
mod input;
mod job;
mod life;
pub mod load;
pub mod metric;
mod predictions;
mod queue;
mod responses;
pub mod result;
pub mod room;
mod run;
pub mod settling;
mod setup;
pub mod statistics;
pub mod traffic;
mod watch;

pub use compare::{Outcome, compare, compare_each};
pub use delays::DelayLog;
pub use error::SimError;
pub use future::future_of;
pub use history::History;
pub use huge_pages::HugePages;
pub use input::{Input, PreparedTrace, Sampling, TraceMapping, Whole, Workload};
pub use job::{Clock, Fill, Job, ReadOnly};
pub use result::RunResult;
pub use run::run;
pub use setup::{is_enlarged, with_cache};
pub use thermocline_assembly::{Device, PolicySpec, Progress};
pub use watch::{Look, Watch};
