//! Results as a Parquet file: the columns of the CSV, with types.

use std::{io, sync::Arc};

use ::parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use serde_json::Value;
use thermocline_sim::RunResult;

use super::columns;
use crate::{exit::Failure, output::Output};

/// Figures that are text where they are there at all.
const TEXT: [&str; 6] = [
    "config.victim",
    "config.placement",
    "config.idle.policy",
    "config.device.energy",
    "trace.digest",
    "oracle.policy",
];

/// Whole numbers where they are there at all: these, and all below these.
const WHOLE: [&str; 4] = ["config.queue_depth", "config.idle.free_blocks", "nftl.", "dead_data."];

/// Writes the file.
pub fn print(runs: &[&RunResult], output: Output) -> Result<(), Failure> {
    let encoded = encode(runs).map_err(io::Error::other);
    let bytes = output.check(encoded)?;
    output.put(&bytes)
}

fn encode(runs: &[&RunResult]) -> ::parquet::errors::Result<Vec<u8>> {
    let rows: Vec<_> = runs.iter().map(|run| columns::row(run)).collect();
    let names = rows.first().map_or(&[][..], Vec::as_slice).iter().map(|(name, _)| name.as_str());
    let batch = RecordBatch::try_from_iter_with_nullable(names.enumerate().map(|(i, name)| {
        let values: Vec<&Value> = rows.iter().map(|row| &row[i].1).collect();
        (name, column(name, &values), true)
    }))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}

/// Whole numbers, shares and truths as such; whatever may be absent is a share unless it is text.
fn column(name: &str, values: &[&Value]) -> ArrayRef {
    let any = |is: fn(&Value) -> bool| values.iter().any(|value| is(value));
    if TEXT.contains(&name) || any(Value::is_string) {
        Arc::new(values.iter().map(|v| v.as_str()).collect::<StringArray>())
    } else if any(Value::is_boolean) {
        Arc::new(values.iter().map(|v| v.as_bool()).collect::<BooleanArray>())
    } else if any(Value::is_u64) || WHOLE.iter().any(|whole| name.starts_with(whole)) {
        Arc::new(values.iter().map(|v| v.as_u64()).collect::<UInt64Array>())
    } else {
        Arc::new(values.iter().map(|v| v.as_f64()).collect::<Float64Array>())
    }
}
