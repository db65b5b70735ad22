//! How results look.

pub mod columns;
pub mod compare;
pub mod fleet;
pub mod identify;
pub mod json;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod reproduce;
pub mod results;
pub mod rows;
pub mod run;
mod summary;
pub mod sweep;
pub mod table;
pub mod trace;
pub mod tune;

pub use thermocline_report::{answer, compared, figure, number};
