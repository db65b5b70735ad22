//! How results look.

pub mod answer;
pub mod columns;
pub mod compare;
pub mod compared;
pub mod figure;
pub mod fleet;
pub mod json;
pub mod number;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod reproduce;
pub mod results;
pub mod rows;
pub mod run;
mod summary;
pub mod table;
pub mod trace;
