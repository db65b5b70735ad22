//! The commands that work on a chip that holds data.

pub mod check;
mod command;
pub mod copy;
pub mod ctl;
pub mod dump;
mod exports;
pub mod format;
mod live;
mod page;
mod pidfile;
pub mod repair;
pub mod serve;
pub mod stat;
pub mod top;
mod tuning;
