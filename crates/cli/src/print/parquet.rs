//! Results as a Parquet file: the columns of the CSV, with types.

use std::{io, sync::Arc};

use ::parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use serde_json::Value;
use thermocline_sim::{
    RunResult,
    metric::{Kind, metrics},
};

use super::columns;
use crate::{exit::Failure, output::Output};

/// Writes the file.
pub fn print(runs: &[&RunResult], output: Output) -> Result<(), Failure> {
    let encoded = encode(runs).map_err(io::Error::other);
    let bytes = output.check(encoded)?;
    output.put(&bytes)
}

fn encode(runs: &[&RunResult]) -> ::parquet::errors::Result<Vec<u8>> {
    let columns = metrics().iter().map(|metric| {
        let values: Vec<Value> = runs.iter().map(|run| columns::cell(metric, run)).collect();
        (metric.key.as_str(), column(metric.kind, &values), true)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(columns)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}

fn column(kind: Kind, values: &[Value]) -> ArrayRef {
    let values = values.iter();
    match kind {
        Kind::Text | Kind::Json => Arc::new(values.map(Value::as_str).collect::<StringArray>()),
        Kind::Flag => Arc::new(values.map(Value::as_bool).collect::<BooleanArray>()),
        Kind::Whole => Arc::new(values.map(Value::as_u64).collect::<UInt64Array>()),
        Kind::Real => Arc::new(values.map(Value::as_f64).collect::<Float64Array>()),
    }
}
