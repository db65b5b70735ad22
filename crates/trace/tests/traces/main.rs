//! Traces: readers, writers, transformations and statistics. One binary, because linking costs more
//! than the tests.

mod common;
mod generate;
mod lives;
mod native;
mod readers;
mod readers_faults;
mod readers_fuzz;
mod readers_real;
mod readers_shapes;
mod readers_usb;
mod readers_usb_commands;
mod stats;
mod stats_real;
mod transform;
mod write;
