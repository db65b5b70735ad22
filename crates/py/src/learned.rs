//! Learned placements: a Python function maps the features of many pages to their streams.
//!
//! Invariant: features equal those of a trace's lives, the training data of such a function, except the size of the
//! request, which is 0, since a placement does not know it.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::{prelude::*, types::PyTuple};
use thermocline_policy::{
    Context,
    foreign::{BatchPlacement, BatchVictim, Failure, Maker as Makes, PlacementShape},
    placement::Cleaning,
};
use thermocline_trace::lives::FEATURES;

use crate::{
    past::Past,
    policy::{Raised, streams_of},
    raw::ThreadState,
};

/// Makes a learned placement for each run.
pub struct Learned {
    /// Its name in results.
    pub name: String,
    /// `predict(features, ages)`: streams of pages, by rows of features and by ages.
    pub predict: Py<PyAny>,
    /// The number of streams.
    pub streams: u8,
    /// The most pages in one call.
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
                ..PlacementShape::default()
            },
            survivors: self.survivors,
            past: Past::default(),
            rows: Vec::new(),
            ages: Vec::new(),
            _kept: kept,
        }))
    }

    fn victim(&self, _: &Context, _: u32) -> Result<Box<dyn BatchVictim>, Failure> {
        Err(format!("{} is no victim policy", self.name).into())
    }
}

struct Placement {
    name: String,
    predict: Py<PyAny>,
    shape: PlacementShape,
    survivors: bool,
    past: Past,
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
        self.past.each_next(pages, |features| rows.extend(features.values()));
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
            let (features, age) = self.past.of(*page);
            self.rows.extend(features.values());
            self.ages.push(age);
        }
        self.ask(streams)
    }

    fn written(&mut self, pages: &[u32], _: &[u8], _: &[u64]) -> Result<(), Failure> {
        pages.iter().for_each(|page| self.past.write(*page));
        Ok(())
    }
}
