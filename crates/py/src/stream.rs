//! Streams of Arrow that are made while they are read: requests of a trace, lives of its pages.
//!
//! Invariants:
//! - A thread makes batches, a few ahead of the reader; memory does not grow with the stream.
//! - That thread never needs the interpreter, so that any thread may read, with the interpreter's lock or without.
//! - A reader that goes away ends the thread at its next batch.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, SyncSender},
    },
    thread,
};

use arrow_array::{RecordBatch, RecordBatchReader, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{prelude::*, types::PyCapsule};
use thermocline_sim::{Progress, SimError};
use thermocline_study::{
    Context, Door, Listener, Remark, opening,
    settings::{run::RunSpec, table::Group},
};
use thermocline_trace::Source;

use crate::{InMemory, Words, errors::raised, given, memory::Named, wrong};

/// Batches that are made ahead.
const AHEAD: usize = 2;

/// Takes batches until the reader is gone.
pub struct Batches(SyncSender<Result<RecordBatch, SimError>>);

impl Batches {
    /// Passes on a batch.
    ///
    /// # Errors
    /// [`SimError::Interrupted`] if the reader is gone.
    pub fn send(&self, batch: RecordBatch) -> Result<(), SimError> {
        self.0.send(Ok(batch)).map_err(|_| SimError::Interrupted)
    }
}

/// Makes a stream of a trace.
pub trait Makes: Send + Sync {
    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// Makes the batches of a trace that is read to its end.
    ///
    /// # Errors
    /// What is wrong with the trace, or [`SimError::Interrupted`].
    fn make(&self, source: &mut dyn Source, batches: &Batches) -> Result<(), SimError>;
}

/// Remarks of readers, each once.
#[derive(Clone, Default)]
struct Remarks(Arc<Mutex<Vec<String>>>);

impl Listener for Remarks {
    fn door(&self) -> Door {
        Door::Python
    }

    fn say(&self, kind: Remark, text: &str) {
        let mut remarks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kind != Remark::Info && !remarks.iter().any(|known| known == text) {
            remarks.push(text.to_owned());
        }
    }
}

/// A trace, with the settings that read and change it.
#[derive(Clone)]
pub struct Opened {
    path: PathBuf,
    settings: Arc<RunSpec>,
    traces: Arc<Named>,
    remarks: Remarks,
}

impl Opened {
    /// A trace of this name, a file or one of `traces`, with these settings.
    ///
    /// # Errors
    /// A setting that there is not.
    pub fn of(path: PathBuf, words: Words, traces: InMemory, py: Python<'_>) -> PyResult<Self> {
        let trace = ("trace".to_owned(), Some(path.display().to_string()));
        let words: Words = [trace].into_iter().chain(words).collect();
        let settings = Arc::new(RunSpec::of(given(&words)).map_err(wrong)?);
        let traces = Arc::new(Named::frozen(traces, py)?);
        Ok(Self { path, settings, traces, remarks: Remarks::default() })
    }

    /// Bytes of a page, as the device of the settings has them.
    pub fn page_bytes(&self) -> u64 {
        self.settings.simulation.device.shape.page_size.unwrap_or(4096)
    }

    /// Hands the trace to `work`, which reads it to its end.
    ///
    /// # Errors
    /// What is wrong with the trace, and those of the work.
    pub fn read<T>(
        &self,
        work: impl FnOnce(&mut dyn Source) -> Result<T, SimError>,
    ) -> Result<T, SimError> {
        let progress = Arc::new(Progress::default());
        let context = Context::new(&self.remarks, &progress).with_traces(&*self.traces);
        let simulation = &self.settings.simulation;
        let (reading, transforms) = (simulation.reading.options(), &simulation.transforms);
        Ok(opening::with_trace(&self.path, &reading, transforms, context, work)?.0)
    }
}

/// A stream that restarts for each reader.
#[pyclass(frozen, module = "thermocline._native")]
pub struct Stream {
    opened: Opened,
    makes: Arc<dyn Makes>,
    error: Arc<Mutex<Option<SimError>>>,
}

impl Stream {
    /// Of a trace.
    pub fn new(opened: Opened, makes: Arc<dyn Makes>) -> Self {
        Self { opened, makes, error: Arc::default() }
    }

    fn reader(&self) -> Result<Reader, SimError> {
        let (sender, receiver) = mpsc::sync_channel(AHEAD);
        let (opened, makes) = (self.opened.clone(), Arc::clone(&self.makes));
        thread::spawn(move || {
            let batches = Batches(sender);
            if let Err(error) = opened.read(|source| makes.make(source, &batches)) {
                let _ = batches.0.send(Err(error));
            }
        });
        let mut reader = Reader {
            schema: self.makes.schema(),
            receiver,
            first: None,
            error: Arc::clone(&self.error),
        };
        // An error of a file appears before its first batch.
        reader.first = reader.receiver.recv().ok().transpose()?;
        Ok(reader)
    }
}

#[pymethods]
impl Stream {
    /// The rows, by the Arrow C stream interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = py.detach(|| self.reader()).map_err(raised)?;
        exported(py, reader)
    }

    /// Names of the columns.
    fn columns(&self) -> Vec<String> {
        self.makes.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// What readers had to say so far; said once.
    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.opened.remarks.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Raises what ended a stream early, of which readers of Arrow know the text alone.
    fn check(&self) -> PyResult<()> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(()), |error| Err(raised(error)))
    }
}

/// A reader by the Arrow C stream interface.
pub fn exported(
    py: Python<'_>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// Reads the thread's batches.
struct Reader {
    schema: SchemaRef,
    receiver: mpsc::Receiver<Result<RecordBatch, SimError>>,
    first: Option<RecordBatch>,
    error: Arc<Mutex<Option<SimError>>>,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        let error = match self.receiver.recv().ok()? {
            Ok(batch) => return Some(Ok(batch)),
            Err(error) => error,
        };
        let text = error.to_string();
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        Some(Err(ArrowError::ExternalError(text.into())))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
