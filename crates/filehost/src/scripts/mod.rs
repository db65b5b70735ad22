//! The scripts of the scenarios, one file each.

mod ballast;
pub(crate) mod cell_phone;
pub(crate) mod churn;
pub(crate) mod event_recorder;
pub(crate) mod fax;
pub(crate) mod jpeg;
pub(crate) mod player;
