//! The commands that work on a chip that holds data.

pub mod check;
pub mod dump;
pub mod format;
mod reading;
pub mod repair;
pub mod serve;
pub mod stat;
