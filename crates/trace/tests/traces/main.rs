//! Traces: readers, writers, transformations and statistics. One binary: a link costs more than what it links here.

mod common;
mod generate;
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
