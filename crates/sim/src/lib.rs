//! The simulator: drives a translation layer with a trace or a generated workload on a virtual
//! clock, and measures it.
//!
//! A [`Job`] is one policy on one [`Input`]; [`run()`] gives its [`RunResult`], [`compare()`] those of
//! many, in parallel and in order. One seed gives one result, byte for byte, on any number of
//! threads; only [`RunResult::perf`] differs.

pub mod answer;
mod classes;
mod compare;
mod delays;
pub mod device;
mod engine;
mod error;
mod facts;
mod future;
mod huge_pages;
mod input;
mod job;
mod life;
pub mod metric;
pub mod policy;
mod progress;
mod responses;
pub mod result;
mod run;
mod setup;
pub mod statistics;
pub mod store;
pub mod units;

pub use compare::{Outcome, compare, compare_each};
pub use delays::DelayLog;
pub use device::Device;
pub use error::SimError;
pub use future::future_of;
pub use huge_pages::HugePages;
pub use input::{Input, PreparedTrace, TraceMapping, Workload};
pub use job::{Clock, Fill, Job, ReadOnly};
pub use policy::PolicySpec;
pub use progress::Progress;
pub use result::RunResult;
pub use run::run;
pub use store::{AnyLayer, Store};
