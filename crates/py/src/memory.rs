//! Traces in memory: NumPy arrays and Arrow tables, read without a copy.
//!
//! Invariants:
//! - Arrays are read under the GIL, a batch at a time, with their present address and bounds: an array that is changed
//!   or resized while it is read gives other requests or an error, never a crash.
//! - Arrow's buffers are held until the trace is dropped; by Arrow's rules they are immutable.

use std::{
    collections::HashMap,
    io::{self, Write},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use arrow_array::{
    Array, ArrayRef, DurationMicrosecondArray, DurationMillisecondArray, DurationNanosecondArray,
    DurationSecondArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt8Array, UInt64Array,
};
use arrow_ipc::{reader::StreamReader, writer::StreamWriter};
use arrow_schema::{ArrowError, Field, Schema};
use arrow_select::coalesce::BatchCoalescer;
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyCapsule},
};
use sha2::{Digest, Sha256};
use thermocline_sim::SimError;
use thermocline_study::Traces;
use thermocline_trace::{
    Op, Place, Request, Source, TraceError,
    read::{self, ReadOptions, Reader},
};

use crate::{
    errors::{InputError, UsageError},
    raw,
};

/// Requests read at once.
const BATCH: usize = 4096;
/// Rows hashed at once.
const HASHED: usize = 1 << 16;

/// A trace in memory.
#[pyclass(frozen, module = "thermocline._native")]
pub struct Memory(Columns);

enum Columns {
    /// Nanoseconds; 0 read, 1 write, 2 trim, 3 flush; bytes; bytes.
    Arrays(Arrays),
    /// A table, read by the rules of files.
    Table(Arc<Schema>, Vec<RecordBatch>),
}

/// Arrays as they were given. Without times all requests arrive at once, without operations all are writes.
struct Arrays {
    time: Option<Whole>,
    op: Option<Py<PyArray1<u8>>>,
    offset: Whole,
    length: Whole,
}

/// An array of whole numbers.
enum Whole {
    Unsigned(Py<PyArray1<u64>>),
    Signed(Py<PyArray1<i64>>),
}

/// Numbers of an array from a row on, or why there are none.
fn numbers<T: Element + Copy>(
    array: &Bound<'_, PyArray1<T>>,
    from: usize,
    most: usize,
) -> Result<Vec<T>, &'static str> {
    // Its owner may have given it another shape.
    let &[_] = array.shape() else { return Err("an array is not flat any more") };
    if !array.data().is_aligned() {
        return Err("an array lies at an odd address");
    }
    let rows = array.try_readonly().map_err(|_| "another call has an array for writing")?;
    let rows = rows.as_array();
    let until = rows.len().min(from.saturating_add(most));
    Ok((from..until).map(|row| rows[row]).collect())
}

impl Whole {
    fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        match array.cast::<PyArray1<u64>>() {
            Ok(unsigned) => Ok(Self::Unsigned(unsigned.clone().unbind())),
            Err(_) => Ok(Self::Signed(array.cast::<PyArray1<i64>>()?.clone().unbind())),
        }
    }

    fn len(&self, py: Python<'_>) -> usize {
        match self {
            Self::Unsigned(array) => array.bind(py).len(),
            Self::Signed(array) => array.bind(py).len(),
        }
    }

    fn read(&self, py: Python<'_>, from: usize, most: usize) -> Result<Vec<u64>, &'static str> {
        match self {
            Self::Unsigned(array) => numbers(array.bind(py), from, most),
            Self::Signed(array) => {
                let numbers = numbers(array.bind(py), from, most)?;
                let number = |n: i64| u64::try_from(n).map_err(|_| "a number is negative");
                numbers.into_iter().map(number).collect()
            }
        }
    }

    fn object<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match self {
            Self::Unsigned(array) => array.bind(py).clone().into_any(),
            Self::Signed(array) => array.bind(py).clone().into_any(),
        }
    }
}

impl Arrays {
    /// Hashes names and numbers, column by column.
    fn hash(&self, py: Python<'_>, hash: &mut Hash) -> Result<(), &'static str> {
        let columns = [
            ("time", self.time.as_ref()),
            ("offset", Some(&self.offset)),
            ("length", Some(&self.length)),
        ];
        for (name, column) in columns {
            let Some(column) = column else { continue };
            hash.0.update(name);
            for row in (0..column.len(py)).step_by(HASHED) {
                let numbers = column.read(py, row, HASHED)?;
                py.detach(|| {
                    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
                    hash.0.update(bytes);
                });
            }
        }
        if let Some(op) = &self.op {
            let op = numbers(op.bind(py), 0, usize::MAX)?;
            hash.0.update("op");
            py.detach(|| hash.0.update(op));
        }
        Ok(())
    }

    /// As a table with the same names.
    fn copied(&self, py: Python<'_>) -> PyResult<Columns> {
        let wrong = |what: &str| InputError::new_err(what.to_owned());
        let whole = |array: &Whole| array.read(py, 0, usize::MAX).map_err(wrong);
        let (offset, length) = (whole(&self.offset)?, whole(&self.length)?);
        let time = self.time.as_ref().map_or_else(|| Ok(vec![0; offset.len()]), whole)?;
        let op = match &self.op {
            Some(op) => numbers(op.bind(py), 0, usize::MAX).map_err(wrong)?,
            None => vec![code_of(Op::Write); offset.len()],
        };
        let columns: [(_, ArrayRef); 4] = [
            ("time", Arc::new(UInt64Array::from(time))),
            ("op", Arc::new(UInt8Array::from(op))),
            ("offset", Arc::new(UInt64Array::from(offset))),
            ("length", Arc::new(UInt64Array::from(length))),
        ];
        let batch = RecordBatch::try_from_iter(columns).map_err(input)?;
        Ok(Columns::Table(batch.schema(), vec![batch]))
    }
}

/// Time, op, offset, length.
type FourArrays<'py> = (
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyArray1<u8>>>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

#[pymethods]
impl Memory {
    /// Of arrays of one length, `uint64` or `int64`, `op` of `uint8`.
    #[staticmethod]
    fn of_arrays(
        time: Option<Bound<'_, PyAny>>,
        op: Option<Bound<'_, PyArray1<u8>>>,
        offset: &Bound<'_, PyAny>,
        length: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let py = offset.py();
        let arrays = Arrays {
            time: time.as_ref().map(Whole::of).transpose()?,
            op: op.map(Bound::unbind),
            offset: Whole::of(offset)?,
            length: Whole::of(length)?,
        };
        let rows = arrays.offset.len(py);
        let lengths = [
            arrays.time.as_ref().map_or(rows, |time| time.len(py)),
            arrays.op.as_ref().map_or(rows, |op| op.bind(py).len()),
            rows,
            arrays.length.len(py),
        ];
        one_length(&["time", "op", "offset", "length"], &lengths)?;
        Ok(Self(Columns::Arrays(arrays)))
    }

    /// Of columns by name, which are copied: whole numbers (`i`, `u`), fractions (`f`), texts (`s`), or whole numbers of
    /// a unit since an epoch (`M:us`) or not (`m:us`).
    #[staticmethod]
    fn of_columns(columns: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let mut made = Vec::new();
        for (name, kind, values) in &columns {
            let array = column(kind, values)?;
            made.push((Field::new(name, array.data_type().clone(), true), array));
        }
        let names: Vec<_> = columns.iter().map(|(name, ..)| &**name).collect();
        let lengths: Vec<_> = made.iter().map(|(_, array)| array.len()).collect();
        one_length(&names, &lengths)?;
        let (fields, arrays): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(input)?;
        Ok(Self(Columns::Table(schema, vec![batch])))
    }

    /// Of a capsule of the Arrow C stream interface.
    #[staticmethod]
    fn of_arrow(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let (schema, batches) = raw::arrow(capsule)?;
        Ok(Self(Columns::Table(schema, batches)))
    }

    /// Of what [`parcel`](Self::parcel) made of a table.
    #[staticmethod]
    fn of_ipc(bytes: &[u8]) -> PyResult<Self> {
        let reader = StreamReader::try_new(bytes, None).map_err(input)?;
        let schema = reader.schema();
        Ok(Self(Columns::Table(schema, reader.collect::<Result<_, _>>().map_err(input)?)))
    }

    /// The arrays that it was made of; none if it is a table.
    fn arrays<'py>(&self, py: Python<'py>) -> Option<FourArrays<'py>> {
        let Columns::Arrays(Arrays { time, op, offset, length }) = &self.0 else { return None };
        Some((
            time.as_ref().map(|time| time.object(py)),
            op.as_ref().map(|op| op.bind(py).clone()),
            offset.object(py),
            length.object(py),
        ))
    }

    /// The table as a stream of Arrow's.
    fn parcel<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        if let Columns::Table(schema, batches) = &self.0 {
            let mut writer = StreamWriter::try_new(&mut bytes, schema).map_err(input)?;
            batches.iter().try_for_each(|batch| writer.write(batch)).map_err(input)?;
            writer.finish().map_err(input)?;
        }
        Ok(PyBytes::new(py, &bytes))
    }

    /// The SHA-256 of the names, types and values of its columns, however its rows are cut into batches.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        let mut hash = Hash(Sha256::new());
        match &self.0 {
            Columns::Arrays(arrays) => {
                arrays.hash(py, &mut hash).map_err(|what| InputError::new_err(what.to_owned()))?;
            }
            Columns::Table(schema, batches) => {
                py.detach(|| hash_table(schema, batches, &mut hash)).map_err(input)?;
            }
        }
        Ok(hash.hex())
    }

    /// How many requests there are.
    fn __len__(&self, py: Python<'_>) -> usize {
        match &self.0 {
            Columns::Arrays(arrays) => arrays.offset.len(py),
            Columns::Table(_, batches) => batches.iter().map(RecordBatch::num_rows).sum(),
        }
    }
}

/// A hash that things are written to.
struct Hash(Sha256);

impl Hash {
    fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hashes a table as a stream of batches of one size. What libraries note beside the columns is no content.
fn hash_table(schema: &Schema, batches: &[RecordBatch], hash: &mut Hash) -> Result<(), ArrowError> {
    let plain = |field: &Arc<Field>| field.as_ref().clone().with_metadata(HashMap::new());
    let schema = Arc::new(Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>()));
    let mut writer = StreamWriter::try_new(hash, &schema)?;
    let mut even = BatchCoalescer::new(schema.clone(), HASHED);
    for batch in batches {
        even.push_batch(RecordBatch::try_new(schema.clone(), batch.columns().to_vec())?)?;
        while let Some(batch) = even.next_completed_batch() {
            writer.write(&batch)?;
        }
    }
    even.finish_buffered_batch()?;
    while let Some(batch) = even.next_completed_batch() {
        writer.write(&batch)?;
    }
    writer.finish()
}

fn input(error: ArrowError) -> PyErr {
    InputError::new_err(error.to_string())
}

fn one_length(names: &[&str], lengths: &[usize]) -> PyResult<()> {
    if lengths.iter().any(|n| Some(n) != lengths.first()) {
        return Err(UsageError::new_err(format!(
            "{} have {lengths:?} elements; give arrays of one length",
            names.join(", ")
        )));
    }
    Ok(())
}

/// A column of a table, copied.
fn column(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let texts = || values.extract::<Vec<Option<String>>>();
    let unsigned = || Ok::<_, PyErr>(values.cast::<PyArray1<u64>>()?.to_vec()?);
    let signed = || Ok::<_, PyErr>(values.cast::<PyArray1<i64>>()?.to_vec()?);
    // NumPy's number for no time.
    let times = || {
        let numbers = signed()?.into_iter();
        Ok::<_, PyErr>(numbers.map(|n| (n != i64::MIN).then_some(n)).collect::<Vec<_>>())
    };
    Ok(match kind {
        "u" => Arc::new(UInt64Array::from(unsigned()?)),
        "i" => Arc::new(Int64Array::from(signed()?)),
        "f" => Arc::new(Float64Array::from(values.cast::<PyArray1<f64>>()?.to_vec()?)),
        "M:s" => Arc::new(TimestampSecondArray::from(times()?)),
        "M:ms" => Arc::new(TimestampMillisecondArray::from(times()?)),
        "M:us" => Arc::new(TimestampMicrosecondArray::from(times()?)),
        "M:ns" => Arc::new(TimestampNanosecondArray::from(times()?)),
        "m:s" => Arc::new(DurationSecondArray::from(times()?)),
        "m:ms" => Arc::new(DurationMillisecondArray::from(times()?)),
        "m:us" => Arc::new(DurationMicrosecondArray::from(times()?)),
        "m:ns" => Arc::new(DurationNanosecondArray::from(times()?)),
        _ => Arc::new(StringArray::from(texts()?)),
    })
}

/// The traces of a call, by name.
#[derive(Default)]
pub struct Named {
    traces: HashMap<String, Py<Memory>>,
    /// Their digests as they are read so, each worked out once.
    digests: Mutex<HashMap<String, String>>,
}

impl Named {
    /// Of these.
    pub fn of(traces: HashMap<String, Py<Memory>>) -> Self {
        Self { traces, ..Self::default() }
    }

    /// Of these, copied where they are arrays: reading them needs no interpreter.
    ///
    /// # Errors
    /// Arrays that do not fit together any more.
    pub fn frozen(traces: HashMap<String, Py<Memory>>, py: Python<'_>) -> PyResult<Self> {
        let frozen = |(name, memory): (String, Py<Memory>)| {
            let Columns::Arrays(arrays) = &memory.get().0 else { return Ok((name, memory)) };
            Ok((name, Py::new(py, Memory(arrays.copied(py)?))?))
        };
        Ok(Self::of(traces.into_iter().map(frozen).collect::<PyResult<_>>()?))
    }

    fn hashed(mut source: Reader) -> Result<String, SimError> {
        let (mut hash, mut batch, mut known) = (Hash(Sha256::new()), Vec::new(), 0);
        loop {
            source.next_batch(&mut batch, BATCH)?;
            if batch.is_empty() {
                return Ok(hash.hex());
            }
            // A request's volume is a number; the names follow in the order of the numbers.
            for name in source.volumes().get(known..).unwrap_or_default() {
                hash.0.update(name.len().to_le_bytes());
                hash.0.update(name);
            }
            known = source.volumes().len();
            for Request { time_ns, offset, len, op, volume, hint } in &batch {
                for part in [*time_ns, *offset, *len, u64::from(*volume)] {
                    hash.0.update(part.to_le_bytes());
                }
                hash.0.update([*op as u8]);
                if *hint != 0 {
                    hash.0.update(hint.to_le_bytes());
                }
            }
        }
    }
}

impl Traces for Named {
    fn has(&self, name: &str) -> bool {
        self.traces.contains_key(name)
    }

    fn open(&self, name: &str, options: &ReadOptions) -> Option<Result<Reader, TraceError>> {
        let memory = self.traces.get(name)?;
        Some(match &memory.get().0 {
            Columns::Arrays(_) => {
                let memory = Python::attach(|py| memory.clone_ref(py));
                read::open_source(ArrayRows { name: name.into(), memory, row: 0 }, options)
            }
            Columns::Table(schema, batches) => {
                read::open_table(schema, batches.clone(), name, options)
            }
        })
    }

    fn digest(&self, name: &str, options: &ReadOptions) -> Option<Result<String, SimError>> {
        let key = format!("{name} {options:?}");
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = digests.get(&key) {
            return Some(Ok(known.clone()));
        }
        let digest = self.open(name, options)?.map_err(SimError::from).and_then(Self::hashed);
        if let Ok(digest) = &digest {
            digests.insert(key, digest.clone());
        }
        Some(digest)
    }
}

/// Reads arrays.
struct ArrayRows {
    name: PathBuf,
    memory: Py<Memory>,
    row: usize,
}

impl ArrayRows {
    fn read(&self, arrays: &Arrays, limit: usize) -> Result<Vec<Request>, String> {
        let from = self.row;
        let (time, op, offset, length) = Python::attach(|py| {
            Ok::<_, String>((
                arrays.time.as_ref().map(|time| time.read(py, from, limit)).transpose()?,
                arrays.op.as_ref().map(|op| numbers(op.bind(py), from, limit)).transpose()?,
                arrays.offset.read(py, from, limit)?,
                arrays.length.read(py, from, limit)?,
            ))
        })?;
        let shorter = || "an array was made shorter while it was read".to_owned();
        let request = |(row, offset): (usize, &u64)| {
            let op = match &op {
                None => Op::Write,
                Some(ops) => {
                    let op = ops.get(row).ok_or_else(shorter)?;
                    coded(*op).ok_or_else(|| format!("op {op} is none"))?
                }
            };
            let time_ns = match &time {
                None => 0,
                Some(times) => *times.get(row).ok_or_else(shorter)?,
            };
            let len = *length.get(row).ok_or_else(shorter)?;
            Ok(Request { time_ns, offset: *offset, len, volume: 0, op, hint: 0 })
        };
        offset.iter().enumerate().map(request).collect()
    }
}

impl Source for ArrayRows {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        let Columns::Arrays(arrays) = &self.memory.get().0 else { return Ok(()) };
        *batch = self.read(arrays, limit.min(BATCH)).map_err(|what| TraceError::Malformed {
            path: self.name.clone(),
            place: Place::Line(self.row as u64 + 1),
            what,
            remedy: "rows are time in ns, op (0 read, 1 write, 2 trim, 3 flush), offset and length in bytes".into(),
        })?;
        self.row += batch.len();
        Ok(())
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
const fn coded(number: u8) -> Option<Op> {
    match number {
        0 => Some(Op::Read),
        1 => Some(Op::Write),
        2 => Some(Op::Trim),
        3 => Some(Op::Flush),
        _ => None,
    }
}
