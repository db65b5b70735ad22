//! The requests of a trace as Arrow: time, operation, offset, length, volume, hint.

use std::{path::PathBuf, sync::Arc};

use arrow_array::{
    ArrayRef, DictionaryArray, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use thermocline_sim::SimError;
use thermocline_trace::{Request, Source};

use crate::{
    InMemory, Words,
    memory::code_of,
    stream::{Batches, Makes, Opened, Stream},
};

/// Requests of a batch.
const BATCH: usize = 1 << 16;
/// Operations by their codes.
const OPS: [&str; 4] = ["read", "write", "trim", "flush"];

struct Rows;

/// The error of a batch that does not fit its own columns.
pub fn broken(error: ArrowError) -> SimError {
    SimError::Broken(error.to_string())
}

/// The name of a volume; sources without names have numbers.
pub fn volume_names(source: &dyn Source, most: u32) -> StringArray {
    let names = source.volumes();
    let name = |at: usize| names.get(at).cloned().unwrap_or_else(|| at.to_string());
    StringArray::from_iter_values((0..=most as usize).map(name))
}

impl Makes for Rows {
    fn schema(&self) -> SchemaRef {
        let words = |key| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
        let number = |name| Field::new(name, DataType::UInt64, false);
        Arc::new(Schema::new(vec![
            number("time"),
            Field::new("op", words(DataType::UInt8), false),
            number("offset"),
            number("length"),
            Field::new("volume", words(DataType::UInt32), false),
            Field::new("hint", DataType::UInt16, false),
        ]))
    }

    fn make(&self, source: &mut dyn Source, batches: &Batches) -> Result<(), SimError> {
        let (schema, mut requests) = (self.schema(), Vec::new());
        let ops: ArrayRef = Arc::new(StringArray::from_iter_values(OPS));
        loop {
            source.next_batch(&mut requests, BATCH)?;
            if requests.is_empty() {
                return Ok(());
            }
            let numbers = |of: fn(&Request) -> u64| -> ArrayRef {
                Arc::new(UInt64Array::from_iter_values(requests.iter().map(of)))
            };
            let codes = UInt8Array::from_iter_values(requests.iter().map(|r| code_of(r.op)));
            let volumes = UInt32Array::from_iter_values(requests.iter().map(|r| r.volume));
            let most = requests.iter().map(|r| r.volume).max().unwrap_or(0);
            let names = Arc::new(volume_names(source, most));
            let columns: Vec<ArrayRef> = vec![
                numbers(|r| r.time_ns),
                Arc::new(DictionaryArray::try_new(codes, Arc::clone(&ops)).map_err(broken)?),
                numbers(|r| r.offset),
                numbers(|r| r.len),
                Arc::new(DictionaryArray::try_new(volumes, names).map_err(broken)?),
                Arc::new(UInt16Array::from_iter_values(requests.iter().map(|r| r.hint))),
            ];
            batches.send(RecordBatch::try_new(Arc::clone(&schema), columns).map_err(broken)?)?;
        }
    }
}

/// The requests of a trace, as runs with these settings read them.
#[pyfunction]
pub fn requests(py: Python<'_>, path: PathBuf, words: Words, traces: InMemory) -> PyResult<Stream> {
    Ok(Stream::new(Opened::of(path, words, traces, py)?, Arc::new(Rows)))
}
