//! Rows of a table as columns of Arrow.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::ArrowError;
use serde_json::Value;
use thermocline_sim::metric::Kind;

use crate::Column;

/// Rows with these columns.
///
/// # Errors
/// There are no columns.
pub fn batch(columns: &[Column], rows: &[Vec<Value>]) -> Result<RecordBatch, ArrowError> {
    let columns = columns.iter().enumerate().map(|(at, Column { name, kind })| {
        (name.as_str(), column(*kind, rows.iter().map(|row| &row[at])), true)
    });
    RecordBatch::try_from_iter_with_nullable(columns)
}

fn column<'a>(kind: Kind, values: impl Iterator<Item = &'a Value>) -> ArrayRef {
    match kind {
        Kind::Text | Kind::Json => Arc::new(values.map(Value::as_str).collect::<StringArray>()),
        Kind::Flag => Arc::new(values.map(Value::as_bool).collect::<BooleanArray>()),
        Kind::Whole => Arc::new(values.map(Value::as_u64).collect::<UInt64Array>()),
        Kind::Real => Arc::new(values.map(Value::as_f64).collect::<Float64Array>()),
    }
}
