//! Placements that were learnt: a function of Python gets the features of many pages and gives their streams.
//!
//! Invariant: features are those of the lives of a trace, with which such a function is trained, but for the size of
//! the request, which is 0: a device's placement does not know it.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::{prelude::*, types::PyTuple};
use rustc_hash::FxHashMap;
use thermocline_policy::{
    Context,
    foreign::{BatchPlacement, BatchVictim, Failure, Maker as Makes, PlacementShape},
    placement::Cleaning,
};
use thermocline_trace::lives::{FEATURES, Features, Histories};

use crate::{
    policy::{Raised, streams_of},
    raw::ThreadState,
};

/// Makes a learned placement for each run.
pub struct Learned {
    /// What results call it.
    pub name: String,
    /// `predict(features, ages)`: streams of pages, by rows of features and by ages.
    pub predict: Py<PyAny>,
    /// How many streams there are.
    pub streams: u8,
    /// Pages that are asked about together at most.
    pub batch: u32,
    /// Whether it is asked about the valid pages of blocks that are cleaned; otherwise they go to the last stream.
    pub survivors: bool,
}

impl Makes for Learned {
    fn name(&self) -> &str {
        &self.name
    }

    fn streams(&self) -> Option<u8> {
        Some(self.streams)
    }

    fn placement(&self, _: &Context) -> Result<Box<dyn BatchPlacement>, Failure> {
        let kept = ThreadState::keep();
        let predict = Python::attach(|py| self.predict.clone_ref(py));
        Ok(Box::new(Placement {
            name: self.name.clone(),
            predict,
            shape: PlacementShape {
                streams: self.streams,
                host: true,
                survivors: true,
                batch: self.batch,
                stale: true,
                written: true,
                filled: false,
                trimmed: false,
                spilt: false,
                blocks: false,
            },
            survivors: self.survivors,
            history: History::default(),
            rows: Vec::new(),
            ages: Vec::new(),
            _kept: kept,
        }))
    }

    fn victim(&self, _: &Context, _: u32) -> Result<Box<dyn BatchVictim>, Failure> {
        Err(format!("{} is no victim policy", self.name).into())
    }
}

/// The pages that the host has written.
#[derive(Default)]
struct History {
    pages: Histories<()>,
    writes: u64,
    /// The page that would continue the sequence, and how long it is.
    next: Option<u32>,
    run: u32,
}

impl History {
    /// The features of pages that are written next, in this order and each once.
    fn coming(&self, pages: &[u32], mut each: impl FnMut(&Features)) {
        // Intervals that end within the pages.
        let mut ended = FxHashMap::default();
        let (mut next, mut run) = (self.next, self.run);
        for (now, page) in (self.writes..).zip(pages) {
            run = if next == Some(*page) { run.saturating_add(1) } else { 0 };
            next = page.checked_add(1);
            let interval = |page: u64| {
                let known = ended.get(&page).copied();
                known.unwrap_or_else(|| self.pages.interval(0, page))
            };
            let features = self.pages.coming((0, (*page).into()), now, run, 0, interval);
            ended.insert(u64::from(*page), features.intervals[0]);
            each(&features);
        }
    }

    fn written(&mut self, page: u32) {
        self.run = if self.next == Some(page) { self.run.saturating_add(1) } else { 0 };
        self.next = page.checked_add(1);
        let neighbour = |page| self.pages.interval(0, page);
        let of = (0, page.into());
        let features = self.pages.coming(of, self.writes, self.run, 0, neighbour);
        self.pages.write(of, self.writes, features);
        self.writes += 1;
    }
}

struct Placement {
    name: String,
    predict: Py<PyAny>,
    shape: PlacementShape,
    survivors: bool,
    history: History,
    rows: Vec<u32>,
    ages: Vec<u64>,
    _kept: ThreadState,
}

impl Placement {
    fn ask(&self, streams: &mut [u8]) -> Result<(), Failure> {
        Python::attach(|py| {
            let mut ask = || {
                let rows = PyArray1::from_slice(py, &self.rows);
                let rows = rows.reshape([self.ages.len(), FEATURES.len()])?;
                let ages = PyArray1::from_slice(py, &self.ages);
                let args: Bound<'_, PyTuple> = (rows, ages).into_pyobject(py)?;
                streams_of(&self.predict.bind(py).call1(args)?, streams)
            };
            ask().map_err(|error| -> Failure {
                Box::new(Raised::new(py, format!("{}.predict", self.name), error))
            })
        })
    }
}

impl BatchPlacement for Placement {
    fn shape(&self) -> PlacementShape {
        self.shape
    }

    fn host(&mut self, pages: &[u32], _: u64, streams: &mut [u8]) -> Result<(), Failure> {
        self.rows.clear();
        let rows = &mut self.rows;
        self.history.coming(pages, |features| rows.extend(features.values()));
        self.ages.clear();
        self.ages.resize(pages.len(), 0);
        self.ask(streams)
    }

    fn survivors(
        &mut self,
        _: &Cleaning,
        pages: &[u32],
        streams: &mut [u8],
    ) -> Result<(), Failure> {
        if !self.survivors {
            streams.fill(self.shape.streams - 1);
            return Ok(());
        }
        self.rows.clear();
        self.ages.clear();
        for page in pages {
            let known = self.history.pages.get(0, (*page).into());
            let features = known.map_or_else(Features::default, |entry| entry.features);
            self.rows.extend(features.values());
            let last = known.and_then(|entry| entry.last());
            self.ages.push(last.map_or(self.history.writes, |last| self.history.writes - last));
        }
        self.ask(streams)
    }

    fn written(&mut self, pages: &[u32], _: &[u8], _: &[u64]) -> Result<(), Failure> {
        pages.iter().for_each(|page| self.history.written(*page));
        Ok(())
    }

    fn filled(&mut self, _: &[u32], _: u64) -> Result<(), Failure> {
        Ok(())
    }

    fn trimmed(&mut self, _: &[u32]) -> Result<(), Failure> {
        Ok(())
    }

    fn spilt(&mut self, _: u32, _: u8, _: u64) -> Result<(), Failure> {
        Ok(())
    }

    fn block(&mut self, _: bool, _: u32, _: u32, _: u8) -> Result<(), Failure> {
        Ok(())
    }
}
