//! Lives of page writes as Arrow, and how well they can be foretold.

use std::{path::PathBuf, sync::Arc};

use arrow_array::{
    ArrayRef, DictionaryArray, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use thermocline_sim::SimError;
use thermocline_trace::{
    Op, Request, Source,
    lives::{Cause, End, FEATURES, Foretelling, Life, Lives, Score},
    transform::pages_touched,
};

use crate::{
    InMemory, Words,
    errors::{UsageError, raised},
    requests::{broken, volume_names},
    stream::{Batches, Makes, Opened, Stream},
};

/// Requests read at once.
const REQUESTS: usize = 4096;
/// Lives of a batch, about.
const BATCH: usize = 1 << 16;
/// Ends by their codes.
const ENDS: [&str; 2] = ["overwritten", "trimmed"];
/// Features that are 0 where there is none.
const NONE_IS_ZERO: [&str; 6] =
    ["interval_1", "interval_2", "interval_3", "interval_4", "interval_before", "interval_after"];

/// Which lives are wanted, by the numbers of page writes.
#[derive(Clone, Copy)]
enum Part {
    All,
    /// Those that ended before this page write.
    EndedBefore(u64),
    /// Those that began at this page write or later.
    BegunFrom(u64),
}

impl Part {
    fn has(self, life: &Life) -> bool {
        match self {
            Self::All => true,
            Self::EndedBefore(write) => life.end.is_some_and(|end| end.write < write),
            Self::BegunFrom(write) => life.write >= write,
        }
    }
}

struct Rows {
    page_bytes: u64,
    part: Part,
}

/// Calls `each` with every request of a trace, and with its source.
fn each_request(
    source: &mut dyn Source,
    mut each: impl FnMut(&Request, &dyn Source) -> Result<(), SimError>,
) -> Result<(), SimError> {
    let mut requests = Vec::new();
    loop {
        source.next_batch(&mut requests, REQUESTS)?;
        if requests.is_empty() {
            return Ok(());
        }
        requests.iter().try_for_each(|request| each(request, source))?;
    }
}

/// Follows a trace: calls `each` with the lives that end, then with those that do not.
fn follow(
    source: &mut dyn Source,
    page_bytes: u64,
    mut each: impl FnMut(&mut Vec<Life>, &dyn Source) -> Result<(), SimError>,
) -> Result<(), SimError> {
    let (mut lives, mut ended) = (Lives::new(page_bytes), Vec::new());
    each_request(source, |request, source| {
        lives.add(request, &mut ended)?;
        if ended.len() >= BATCH { each(&mut ended, source) } else { Ok(()) }
    })?;
    each(&mut ended, source)?;
    let mut alive = lives.alive();
    loop {
        ended.clear();
        ended.extend(alive.by_ref().take(BATCH));
        if ended.is_empty() {
            return Ok(());
        }
        each(&mut ended, source)?;
    }
}

impl Makes for Rows {
    fn schema(&self) -> SchemaRef {
        let words = |key| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
        let number = |name, optional| Field::new(name, DataType::UInt64, optional);
        let mut fields = vec![
            Field::new("volume", words(DataType::UInt32), false),
            number("page", false),
            number("write", false),
            number("time", false),
            Field::new("end", words(DataType::UInt8), true),
            number("end_write", true),
            number("end_time", true),
            number("life", true),
        ];
        let feature = |name: &str| Field::new(name, DataType::UInt32, NONE_IS_ZERO.contains(&name));
        fields.extend(FEATURES.map(feature));
        Arc::new(Schema::new(fields))
    }

    fn make(&self, source: &mut dyn Source, batches: &Batches) -> Result<(), SimError> {
        let schema = self.schema();
        follow(source, self.page_bytes, |lives, source| {
            lives.retain(|life| self.part.has(life));
            if lives.is_empty() {
                return Ok(());
            }
            let columns = columns(lives, source)?;
            lives.clear();
            batches.send(RecordBatch::try_new(Arc::clone(&schema), columns).map_err(broken)?)
        })
    }
}

fn columns(lives: &[Life], source: &dyn Source) -> Result<Vec<ArrayRef>, SimError> {
    let numbers = |of: fn(&Life) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(lives.iter().map(of)))
    };
    let of_end = |of: fn(&End) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter(lives.iter().map(|life| life.end.as_ref().map(of))))
    };
    let most = lives.iter().map(|life| life.volume).max().unwrap_or(0);
    let names = Arc::new(volume_names(source, most));
    let volumes = UInt32Array::from_iter_values(lives.iter().map(|life| life.volume));
    let cause = |life: &Life| life.end.map(|end| u8::from(end.cause == Cause::Trimmed));
    let causes = UInt8Array::from_iter(lives.iter().map(cause));
    let ends = Arc::new(StringArray::from_iter_values(ENDS));
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(DictionaryArray::try_new(volumes, names).map_err(broken)?),
        numbers(|life| life.page),
        numbers(|life| life.write),
        numbers(|life| life.time_ns),
        Arc::new(DictionaryArray::try_new(causes, ends).map_err(broken)?),
        of_end(|end| end.write),
        of_end(|end| end.time_ns),
        of_end(|end| end.life),
    ];
    for (at, name) in FEATURES.iter().enumerate() {
        let values = lives.iter().map(|life| life.features.values()[at]);
        columns.push(if NONE_IS_ZERO.contains(name) {
            Arc::new(UInt32Array::from_iter(values.map(|value| (value > 0).then_some(value))))
        } else {
            Arc::new(UInt32Array::from_iter_values(values))
        });
    }
    Ok(columns)
}

/// The lives of a trace's page writes; `part` and `write` say which: all, or those that `ended` before that page
/// write, or `begun` from it on.
#[pyfunction]
pub fn lives(
    py: Python<'_>,
    path: PathBuf,
    words: Words,
    traces: InMemory,
    part: &str,
    write: u64,
) -> PyResult<Stream> {
    let opened = Opened::of(path, words, traces, py)?;
    let part = match part {
        "ended" => Part::EndedBefore(write),
        "begun" => Part::BegunFrom(write),
        _ => Part::All,
    };
    let page_bytes = opened.page_bytes();
    Ok(Stream::new(opened, Arc::new(Rows { page_bytes, part })))
}

/// Pages that a trace writes.
fn page_writes(source: &mut dyn Source, page_bytes: u64) -> Result<u64, SimError> {
    let mut writes = 0;
    each_request(source, |request, _| {
        if request.op == Op::Write {
            let pages = pages_touched(request, page_bytes)?;
            writes += pages.end - pages.start;
        }
        Ok(())
    })?;
    Ok(writes)
}

/// The number of the page write at this share of all.
#[pyfunction]
pub fn split_at(
    py: Python<'_>,
    path: PathBuf,
    words: Words,
    traces: InMemory,
    share: f64,
) -> PyResult<u64> {
    let opened = Opened::of(path, words, traces, py)?;
    let writes = py.detach(|| opened.read(|source| page_writes(source, opened.page_bytes())));
    Ok((writes.map_err(raised)? as f64 * share) as u64)
}

/// A table that has learnt the lives of a trace's first part.
#[pyclass(frozen, module = "thermocline._native")]
pub struct Foreteller(Foretelling);

/// Lives, unfinished ones, and the sums of octaves, of lives within one, of bits.
type Scored = (u64, u64, f64, u64, f64);

#[pymethods]
impl Foreteller {
    /// Learns the lives of a trace that ended before page write number `split`, and foretells those that began
    /// from then on.
    #[staticmethod]
    fn learnt(
        py: Python<'_>,
        path: PathBuf,
        words: Words,
        traces: InMemory,
        features: Vec<String>,
        split: u64,
    ) -> PyResult<Self> {
        let opened = Opened::of(path, words, traces, py)?;
        let names: Vec<&str> = features.iter().map(String::as_str).collect();
        let table = Foretelling::new(&names).map_err(|name| {
            UsageError::new_err(format!(
                "there is no feature {name:?}, or it stands twice; choose from {}",
                FEATURES.join(", ")
            ))
        })?;
        let learnt =
            py.detach(|| opened.read(|source| learn(source, opened.page_bytes(), table, split)));
        Ok(Self(learnt.map_err(raised)?))
    }

    /// The scores, by number of features.
    fn scores(&self) -> Vec<Scored> {
        let told = |s: &Score| (s.lives, s.unfinished, s.octaves, s.within_one, s.bits);
        self.0.scores().iter().map(told).collect()
    }

    /// The binary logarithms of lives, of rows of all features in their order.
    fn foretell<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'_, u32>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let rows = rows.as_array();
        if rows.ncols() != FEATURES.len() {
            let text = format!(
                "rows of {} values; give {}: {}",
                rows.ncols(),
                FEATURES.len(),
                FEATURES.join(", ")
            );
            return Err(UsageError::new_err(text));
        }
        let mut features = [0; FEATURES.len()];
        let foretold = rows.rows().into_iter().map(|row| {
            features.iter_mut().zip(row).for_each(|(into, value)| *into = *value);
            self.0.foretell(&features)
        });
        Ok(PyArray1::from_iter(py, foretold))
    }
}

fn learn(
    source: &mut dyn Source,
    page_bytes: u64,
    mut table: Foretelling,
    split: u64,
) -> Result<Foretelling, SimError> {
    let (mut lives, mut ended) = (Lives::new(page_bytes), Vec::new());
    let mut learnt = false;
    each_request(source, |request, _| {
        lives.add(request, &mut ended)?;
        for life in ended.drain(..) {
            match life.end {
                Some(end) if end.write < split => table.learn(&life.features, end.life),
                _ if life.write >= split => table.score(&life.features, life.age, true),
                _ => {}
            }
        }
        if !learnt && lives.writes() >= split {
            learnt = true;
            // Without those that are alive long lives would be unknown. On average a page that is met at some
            // moment lives as long again.
            for life in lives.alive().filter(|life| life.write < split) {
                table.learn(&life.features, life.age.saturating_mul(2));
            }
        }
        Ok(())
    })?;
    for life in lives.alive().filter(|life| life.write >= split) {
        table.score(&life.features, life.age, false);
    }
    Ok(table)
}

/// Names of the features.
#[pyfunction]
pub fn features() -> Vec<&'static str> {
    FEATURES.to_vec()
}
