//! Traces in memory: NumPy arrays and Arrow tables, read where they lie.
//!
//! Invariants:
//! - Arrays are looked at under the GIL, a batch at a time, with their bounds of that moment: an array that is
//!   changed, or made shorter, while it is read gives other requests or an error, and never a crash.
//! - Arrow's buffers are held until the trace is dropped; by Arrow's rules nobody changes them.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{
        Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
        TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, TimeUnit};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::{prelude::*, types::PyCapsule};
use sha2::{Digest, Sha256};
use thermocline_sim::SimError;
use thermocline_study::Traces;
use thermocline_trace::{Op, Place, Request, Source, TraceError};

use crate::{
    errors::{UsageError, raised},
    raw,
};

/// Requests read at once.
const BATCH: usize = 4096;

type Arrays<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u64>>,
);

/// A trace in memory.
#[pyclass(frozen, module = "thermocline._native")]
pub struct Memory(Columns);

enum Columns {
    /// Time, operation, offset, length.
    Arrays(Py<PyArray1<u64>>, Py<PyArray1<u8>>, Py<PyArray1<u64>>, Py<PyArray1<u64>>),
    /// Batches, and where in them the four columns are; times may be missing.
    Arrow(Vec<RecordBatch>, Option<usize>, [usize; 3]),
}

#[pymethods]
impl Memory {
    /// Of four arrays of one length: nanoseconds, 0 read, 1 write, 2 trim, 3 flush; bytes; bytes.
    #[staticmethod]
    fn of_arrays<'py>(
        time: Bound<'py, PyArray1<u64>>,
        op: Bound<'py, PyArray1<u8>>,
        offset: Bound<'py, PyArray1<u64>>,
        length: Bound<'py, PyArray1<u64>>,
    ) -> PyResult<Self> {
        let lengths = [time.len(), op.len(), offset.len(), length.len()];
        if lengths.iter().any(|n| *n != lengths[0]) {
            return Err(UsageError::new_err(format!(
                "time, op, offset and length have {lengths:?} elements; give arrays of one length"
            )));
        }
        Ok(Self(Columns::Arrays(time.unbind(), op.unbind(), offset.unbind(), length.unbind())))
    }

    /// Of a capsule of the Arrow C stream interface with the columns `op`, `offset`, `length` and perhaps `time`.
    #[staticmethod]
    fn of_arrow(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let batches = raw::batches(capsule)?;
        let Some(first) = batches.first() else {
            return Ok(Self(Columns::Arrow(batches, None, [0; 3])));
        };
        let schema = first.schema();
        let at = |names: &[&str]| names.iter().find_map(|name| schema.index_of(name).ok());
        let of = |names: &[&str]| {
            at(names).ok_or_else(|| {
                let there: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
                UsageError::new_err(format!(
                    "the table has no column `{}`, but {}; rename its columns to time, op, offset, length",
                    names[0],
                    there.join(", ")
                ))
            })
        };
        let columns = [of(&["op"])?, of(&["offset"])?, of(&["length", "len", "size"])?];
        Ok(Self(Columns::Arrow(batches.clone(), at(&["time", "timestamp"]), columns)))
    }

    /// Time, op, offset, length as arrays: those it was made of, or copies of Arrow's.
    fn arrays<'py>(slf: &Bound<'py, Self>) -> PyResult<Arrays<'py>> {
        let py = slf.py();
        if let Columns::Arrays(time, op, offset, length) = &slf.get().0 {
            let of = |one: &Py<PyArray1<u64>>| one.bind(py).clone();
            return Ok((of(time), op.bind(py).clone(), of(offset), of(length)));
        }
        let memory = slf.clone().unbind();
        let mut reader =
            Reader { name: "memory".into(), memory: &memory, batch: 0, row: 0, number: 0 };
        let (mut all, mut batch) = ((vec![], vec![], vec![], vec![]), Vec::new());
        loop {
            reader.next_batch(&mut batch, BATCH).map_err(|e| raised(e.into()))?;
            if batch.is_empty() {
                let (time, op, offset, length) = all;
                return Ok((
                    PyArray1::from_vec(py, time),
                    PyArray1::from_vec(py, op),
                    PyArray1::from_vec(py, offset),
                    PyArray1::from_vec(py, length),
                ));
            }
            for request in &batch {
                all.0.push(request.time_ns);
                all.1.push(code_of(request.op));
                all.2.push(request.offset);
                all.3.push(request.len);
            }
        }
    }

    /// How many requests there are.
    fn __len__(&self, py: Python<'_>) -> usize {
        match &self.0 {
            Columns::Arrays(time, ..) => time.bind(py).len(),
            Columns::Arrow(batches, ..) => batches.iter().map(RecordBatch::num_rows).sum(),
        }
    }
}

/// The traces of a call, by name.
#[derive(Default)]
pub struct Named {
    traces: HashMap<String, Py<Memory>>,
    /// Their digests, each worked out once.
    digests: Mutex<HashMap<String, String>>,
}

impl Named {
    /// Of these.
    pub fn of(traces: HashMap<String, Py<Memory>>) -> Self {
        Self { traces, ..Self::default() }
    }

    fn hashed(&self, name: &str) -> Option<String> {
        let mut source = self.open(name)?.ok()?;
        let (mut hash, mut batch) = (Sha256::new(), Vec::new());
        loop {
            source.next_batch(&mut batch, BATCH).ok()?;
            if batch.is_empty() {
                return Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
            }
            for Request { time_ns, offset, len, op, .. } in &batch {
                for part in [*time_ns, *offset, *len] {
                    hash.update(part.to_le_bytes());
                }
                hash.update([*op as u8]);
            }
        }
    }
}

impl Traces for Named {
    fn open(&self, name: &str) -> Option<Result<Box<dyn Source + '_>, SimError>> {
        let memory = self.traces.get(name)?;
        Some(Ok(Box::new(Reader { name: name.into(), memory, batch: 0, row: 0, number: 0 })))
    }

    fn digest(&self, name: &str) -> Option<String> {
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if !digests.contains_key(name) {
            digests.insert(name.to_owned(), self.hashed(name)?);
        }
        digests.get(name).cloned()
    }
}

/// Reads a trace in memory.
struct Reader<'a> {
    name: PathBuf,
    memory: &'a Py<Memory>,
    /// The Arrow batch, the row in it or in the arrays, and the row of all.
    batch: usize,
    row: usize,
    number: u64,
}

impl Reader<'_> {
    fn wrong(&self, what: impl Into<String>) -> TraceError {
        TraceError::Malformed {
            path: self.name.clone(),
            place: Place::Line(self.number + 1),
            what: what.into(),
            remedy:
                "rows are time in ns, op (read, write, trim, flush), offset and length in bytes"
                    .into(),
        }
    }

    fn arrays(
        &mut self,
        py: Python<'_>,
        out: &mut Vec<Request>,
        limit: usize,
        op: &Py<PyArray1<u8>>,
        [time, offset, len]: [&Py<PyArray1<u64>>; 3],
    ) -> Result<(), TraceError> {
        let busy = |_| self.wrong("another call has an array for writing");
        let time = time.bind(py).try_readonly().map_err(busy)?;
        let op = op.bind(py).try_readonly().map_err(busy)?;
        let offset = offset.bind(py).try_readonly().map_err(busy)?;
        let len = len.bind(py).try_readonly().map_err(busy)?;
        let (time, op, offset, len) =
            (time.as_array(), op.as_array(), offset.as_array(), len.as_array());
        for row in self.row..time.len().min(self.row.saturating_add(limit)) {
            let (Some(op), Some(offset), Some(len)) = (op.get(row), offset.get(row), len.get(row))
            else {
                return Err(self.wrong("an array was made shorter while it was read"));
            };
            let op = coded(u64::from(*op)).ok_or_else(|| self.wrong(format!("{op} is no op")))?;
            out.push(Request { time_ns: time[row], offset: *offset, len: *len, volume: 0, op });
            self.number += 1;
        }
        self.row += out.len();
        Ok(())
    }

    fn arrow(
        &mut self,
        out: &mut Vec<Request>,
        limit: usize,
        batches: &[RecordBatch],
        time: Option<usize>,
        [op, offset, len]: [usize; 3],
    ) -> Result<(), TraceError> {
        while let Some(batch) = batches.get(self.batch).filter(|_| out.len() < limit) {
            if self.row >= batch.num_rows() {
                (self.batch, self.row) = (self.batch + 1, 0);
                continue;
            }
            let until = batch.num_rows().min(self.row + limit - out.len());
            for row in self.row..until {
                let wrong = |what: &str| self.wrong(format!("its {what} is none that a trace has"));
                let read = |at: usize| number(&**batch.column(at), row);
                let time_ns = match time {
                    Some(at) => read(at).ok_or_else(|| wrong("time"))?,
                    None => 0,
                };
                let request = Request {
                    time_ns,
                    offset: read(offset).ok_or_else(|| wrong("offset"))?,
                    len: read(len).ok_or_else(|| wrong("length"))?,
                    volume: 0,
                    op: operation(&**batch.column(op), row).ok_or_else(|| wrong("op"))?,
                };
                out.push(request);
                self.number += 1;
            }
            self.row = until;
        }
        Ok(())
    }
}

impl Source for Reader<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        match &self.memory.get().0 {
            Columns::Arrays(time, op, offset, len) => {
                Python::attach(|py| self.arrays(py, batch, limit, op, [time, offset, len]))
            }
            Columns::Arrow(batches, time, columns) => {
                self.arrow(batch, limit, batches, *time, *columns)
            }
        }
    }
}

/// The number of an operation.
pub const fn code_of(op: Op) -> u8 {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Trim => 2,
        Op::Flush => 3,
    }
}

/// An operation by its number.
const fn coded(number: u64) -> Option<Op> {
    match number {
        0 => Some(Op::Read),
        1 => Some(Op::Write),
        2 => Some(Op::Trim),
        3 => Some(Op::Flush),
        _ => None,
    }
}

fn operation(column: &dyn Array, row: usize) -> Option<Op> {
    if column.is_null(row) {
        return None;
    }
    let text = match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row),
        DataType::Utf8View => column.as_string_view().value(row),
        DataType::Dictionary(..) => {
            let words = column.as_any_dictionary();
            return operation(&**words.values(), *words.normalized_keys().get(row)?);
        }
        _ => return coded(number(column, row)?),
    };
    match text.to_ascii_lowercase().as_str() {
        "r" | "read" => Some(Op::Read),
        "w" | "write" => Some(Op::Write),
        "d" | "t" | "trim" | "discard" | "unmap" => Some(Op::Trim),
        "f" | "flush" => Some(Op::Flush),
        _ => None,
    }
}

/// A number of a column, times in nanoseconds; none for a null, a negative, and what is no whole number.
fn number(column: &dyn Array, row: usize) -> Option<u64> {
    macro_rules! of {
        ($kind:ty, $scale:expr) => {
            u64::try_from(column.as_primitive::<$kind>().value(row)).ok()?.checked_mul($scale)
        };
    }
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::UInt64 => Some(column.as_primitive::<UInt64Type>().value(row)),
        DataType::UInt32 => Some(column.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt16 => Some(column.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt8 => Some(column.as_primitive::<UInt8Type>().value(row).into()),
        DataType::Int64 => of!(Int64Type, 1),
        DataType::Int32 => of!(Int32Type, 1),
        DataType::Int16 => of!(Int16Type, 1),
        DataType::Int8 => of!(Int8Type, 1),
        DataType::Timestamp(TimeUnit::Second, _) => of!(TimestampSecondType, 1_000_000_000),
        DataType::Timestamp(TimeUnit::Millisecond, _) => of!(TimestampMillisecondType, 1_000_000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => of!(TimestampMicrosecondType, 1_000),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => of!(TimestampNanosecondType, 1),
        _ => None,
    }
}
