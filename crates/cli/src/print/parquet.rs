//! Results as a Parquet file: the columns of the CSV, with types.

use std::{io, sync::Arc};

use ::parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::Result,
    file::properties::WriterProperties,
};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use serde_json::Value;
use thermocline_sim::{
    RunResult,
    metric::{Kind, metrics},
};
use thermocline_sweep::Column;

use super::columns;
use crate::{exit::Failure, output::Output};

/// Rows that are encoded together.
const BATCH: usize = 4096;

/// Writes the file.
pub fn print(runs: &[&RunResult], output: Output) -> std::result::Result<(), Failure> {
    let encoded = encode(runs).map_err(io::Error::other);
    let bytes = output.check(encoded)?;
    output.put(&bytes)
}

fn encode(runs: &[&RunResult]) -> Result<Vec<u8>> {
    let columns = metrics().iter().map(|m| Column { name: m.key.clone(), kind: m.kind });
    let mut rows = Rows::new(columns.collect())?;
    for run in runs {
        rows.write(metrics().iter().map(|metric| columns::cell(metric, run)).collect())?;
    }
    rows.finish()
}

/// A file that is being encoded.
pub struct Rows {
    columns: Vec<Column>,
    pending: Vec<Vec<Value>>,
    writer: ArrowWriter<Vec<u8>>,
}

impl Rows {
    /// A file of these columns.
    pub fn new(columns: Vec<Column>) -> Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let schema = batch(&columns, &[])?.schema();
        let writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties))?;
        Ok(Self { columns, pending: Vec::new(), writer })
    }

    /// Adds a row.
    pub fn write(&mut self, row: Vec<Value>) -> Result<()> {
        self.pending.push(row);
        if self.pending.len() == BATCH { self.flush() } else { Ok(()) }
    }

    /// The file.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.flush()?;
        self.writer.into_inner()
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.write(&batch(&self.columns, &self.pending)?)?;
        self.pending.clear();
        Ok(())
    }
}

fn batch(columns: &[Column], rows: &[Vec<Value>]) -> Result<RecordBatch> {
    let columns = columns.iter().enumerate().map(|(at, Column { name, kind })| {
        (name.as_str(), column(*kind, rows.iter().map(|row| &row[at])), true)
    });
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

fn column<'a>(kind: Kind, values: impl Iterator<Item = &'a Value>) -> ArrayRef {
    match kind {
        Kind::Text | Kind::Json => Arc::new(values.map(Value::as_str).collect::<StringArray>()),
        Kind::Flag => Arc::new(values.map(Value::as_bool).collect::<BooleanArray>()),
        Kind::Whole => Arc::new(values.map(Value::as_u64).collect::<UInt64Array>()),
        Kind::Real => Arc::new(values.map(Value::as_f64).collect::<Float64Array>()),
    }
}
