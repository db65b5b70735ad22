//! The driver against the data sheets, and with the layer on it.

mod bus;
mod cuts;
mod makers;
#[path = "../common/small.rs"]
mod small;
mod snapshots;
