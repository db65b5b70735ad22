//! The simulator for a web page: questions and answers in JSON.
//!
//! [`answer`] is all of it. In a browser, each worker has an instance of this library and asks it through the module `door`
//! (memory, and three functions that the page provides); elsewhere tests call it directly.
//!
//! | question | answer |
//! |---|---|
//! | `catalogue` | policies, devices with their sources, workloads |
//! | `run` | the result of one policy, as `thermocline run --json` prints it without `perf` |
//! | `compare` | policies on one input, with the course of each run: a part of a comparison |
//! | `answer` | several parts as one comparison: the answer, `compare --json`, the command line, a grid file |
//! | `report` | the same parts as a page, with charts of the input, which is read once more |
//! | `watch` | an excerpt of the run of one policy, with its result |
//! | `replay` | several excerpts side by side, as a page |
//!
//! Settings are those of the command line, as pairs of a name and a value.
//! A page compares one policy in each worker, and has one more make the answer and the report of all parts.

mod ask;
#[cfg(target_family = "wasm")]
pub mod door;
pub mod repeat;
mod watched;
mod work;

pub use ask::answer;
pub use work::{Page, Told};
