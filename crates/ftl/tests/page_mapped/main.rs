//! The page-mapped layer. One test binary, so that the layer is compiled once, and not once in every file, for
//! each pair of a placement and a kind of chip.

#[path = "../common/mod.rs"]
mod common;

mod closed_forms;
mod conformance;
mod failures;
mod foreign;
mod golden;
mod idle_steps;
mod intervals;
mod marks;
mod model;
mod own_order;
mod separation;
mod striping;
mod wear;
