//! Rows as a stream of Arrow: what `thermocline sweep --format parquet` has.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyCapsule};
use serde_json::Value;
use thermocline_sim::{metric::Kind, result::StoredResult};
use thermocline_sweep::{Column, Settings, Table as Shape, arrow::batch};

use crate::stream::exported;

/// Rows that are made together.
const BATCH: usize = 1024;

/// Makes the row of a place: its digest, its settings, its result or why there is none.
pub type Rows = dyn Fn(usize) -> (String, Settings, Result<StoredResult, String>) + Send + Sync;

/// Rows that are made when they are read.
#[pyclass(frozen, module = "thermocline._native")]
#[derive(Clone)]
pub struct Table {
    shape: Arc<Shape>,
    columns: Arc<Vec<Column>>,
    with_digests: bool,
    places: Arc<Vec<usize>>,
    rows: Arc<Rows>,
}

impl Table {
    /// Of these options as they were asked for; perhaps with a first column of digests.
    pub fn new(
        options: Vec<String>,
        with_digests: bool,
        places: Vec<usize>,
        rows: Arc<Rows>,
    ) -> Self {
        let shape = Shape::new(options);
        let digest = with_digests.then(|| Column { name: "digest".into(), kind: Kind::Text });
        let columns = digest.into_iter().chain(shape.columns()).collect();
        let (shape, columns, places) = (Arc::new(shape), Arc::new(columns), Arc::new(places));
        Self { shape, columns, with_digests, places, rows }
    }

    fn batch(&self, places: &[usize]) -> Result<RecordBatch, ArrowError> {
        let row = |at: &usize| {
            let (digest, settings, result) = (self.rows)(*at);
            let row = self.shape.row(&settings, result.as_ref().map_err(String::as_str));
            let digest = self.with_digests.then(|| Value::String(digest));
            digest.into_iter().chain(row).collect()
        };
        batch(&self.columns, &places.iter().map(row).collect::<Vec<_>>())
    }
}

#[pymethods]
impl Table {
    /// The rows, by the Arrow C stream interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let empty = self.batch(&[]).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let reader = Reader { table: self.clone(), schema: empty.schema(), at: 0 };
        exported(py, reader)
    }

    /// How many rows there are.
    fn __len__(&self) -> usize {
        self.places.len()
    }
}

/// Makes the rows one batch after the other.
struct Reader {
    table: Table,
    schema: SchemaRef,
    at: usize,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let places = Arc::clone(&self.table.places);
        let left = places.get(self.at..).filter(|left| !left.is_empty())?;
        let now = &left[..left.len().min(BATCH)];
        self.at += now.len();
        Some(self.table.batch(now))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
