//! Results as a Parquet file: the columns of the CSV, with types.

use std::io;

use ::parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::Result,
    file::properties::WriterProperties,
};
use serde_json::Value;
use thermocline_sim::{RunResult, metric::metrics};
use thermocline_sweep::{Column, arrow::batch};

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
