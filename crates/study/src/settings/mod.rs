//! Settings: those of a run, which are the spec's, and those of many runs.

pub mod compare;
pub mod sweep;

pub use thermocline_spec::{
    cleaning, device, generate, input, kinds, reading, run, table, transform, values,
};
