//! User-defined policies: Python objects, and tables of C functions.
//!
//! Invariants:
//! - A method may keep its arguments: arrays are copies, made for the call.
//! - A method's return value or exception becomes an answer or a [`Raised`]; after a [`Raised`] the policy is
//!   not called again.
//! - Every run and every bank has its own object, made by the Python factory.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyInt, PyTuple},
};
use thermocline_assembly::policy::{Own as Made, OwnPolicies, OwnPolicy};
use thermocline_policy::{
    BlockView, Context,
    age::AgeSource,
    foreign::{
        BatchPlacement, BatchVictim, Columns, Failure, Maker as Makes, PlacementShape, VictimShape,
        least,
    },
    params::ParamValue,
    placement,
};

use crate::{
    learned::Learned,
    raw::{self, ThreadState},
};

/// A method's exception, or the fault of its return value.
pub struct Raised {
    /// The policy and the method.
    pub by: String,
    /// The exception.
    pub error: PyErr,
    /// File and line it comes from.
    place: Option<String>,
    text: String,
}

impl Raised {
    /// An exception of `Policy.method`.
    pub fn new(py: Python<'_>, by: String, error: PyErr) -> Self {
        let place = last_line(py, &error);
        let text = error.to_string();
        Self { by, error, place, text }
    }
}

/// Where an exception was raised.
fn last_line(py: Python<'_>, error: &PyErr) -> Option<String> {
    let mut at = error.traceback(py)?.into_any();
    while let Ok(next) = at.getattr("tb_next")
        && !next.is_none()
    {
        at = next;
    }
    let line: u32 = at.getattr("tb_lineno").ok()?.extract().ok()?;
    let code = at.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
    let file: String = code.getattr("co_filename").ok()?.extract().ok()?;
    let function: String = code.getattr("co_name").ok()?.extract().ok()?;
    Some(place(&file, line, &function))
}

/// How a line is called. Functions that were pickled by value have lost their file, and keep their lines.
#[pyfunction]
pub fn place(file: &str, line: u32, function: &str) -> String {
    if file.starts_with('<') {
        format!("line {line} of {function}")
    } else {
        format!("{file}, line {line}")
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.by, self.text)?;
        self.place.as_ref().map_or(Ok(()), |place| write!(f, " ({place})"))
    }
}

impl fmt::Debug for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for Raised {}

/// The block being cleaned.
#[pyclass(frozen, get_all, module = "thermocline._native")]
pub struct Cleaning {
    bank: u32,
    block: u32,
    stream: u8,
    valid: u32,
    pages: u32,
    mapped: u32,
    capacity: u32,
    now: u64,
}

/// The device for a policy: logical pages, blocks, pages in a block, banks, bank, time scale, seed.
pub type Device = (u32, u32, u32, u32, u32, f64, u64);

pub fn device(context: &Context, bank: u32) -> Device {
    let Context { logical_pages, blocks, pages_per_block, banks, time_scale, seed, .. } = *context;
    (logical_pages, blocks, pages_per_block, banks, bank, time_scale, seed)
}

/// Makes a policy for each run.
#[pyclass(frozen, module = "thermocline._native")]
pub struct Maker(Arc<dyn Makes>);

#[pymethods]
impl Maker {
    /// Of a function that is given the device and returns an object and the names of the methods it has.
    #[staticmethod]
    #[pyo3(signature = (name, make, streams=None, batch=1, stale=false))]
    fn of_object(
        name: String,
        make: Py<PyAny>,
        streams: Option<u8>,
        batch: u32,
        stale: bool,
    ) -> Self {
        Self(Arc::new(Objects { name, make, streams, batch, stale }))
    }

    /// Of a function that is given features and ages of pages and returns their streams.
    #[staticmethod]
    fn of_model(
        name: String,
        predict: Py<PyAny>,
        streams: u8,
        batch: u32,
        survivors: bool,
    ) -> Self {
        Self(Arc::new(Learned { name, predict, streams, batch, survivors }))
    }

    /// Of the address of a table of C; `kept` is kept with it.
    #[staticmethod]
    fn of_table(
        kind: &str,
        address: usize,
        name: Option<String>,
        kept: Py<PyAny>,
    ) -> PyResult<Self> {
        let made = raw::table(kind == "victim", address, name, kept);
        Ok(Self(made.map_err(|e| PyValueError::new_err(e.to_string()))?))
    }

    /// Of addresses of C functions by name, and of a function that is given the device and returns the state's
    /// address and what keeps it.
    #[staticmethod]
    #[pyo3(signature = (kind, name, functions, numbers, state, kept))]
    fn of_functions(
        kind: &str,
        name: String,
        functions: HashMap<String, usize>,
        numbers: (u32, u32, u32),
        state: Option<Py<PyAny>>,
        kept: Py<PyAny>,
    ) -> PyResult<Self> {
        let made = raw::functions(kind == "victim", name, &functions, numbers, state, kept);
        Ok(Self(made.map_err(|e| PyValueError::new_err(e.to_string()))?))
    }

    /// What results call it.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }
}

/// A word of the catalogue, or a policy of the user's own.
#[derive(FromPyObject)]
pub enum Axis {
    Word(String),
    Own(Py<Maker>),
}

impl Axis {
    fn split(axis: Option<Self>) -> (Option<String>, Option<Made>) {
        match axis {
            None => (None, None),
            Some(Self::Word(word)) => (Some(word), None),
            Some(Self::Own(maker)) => (None, Some(Made(Arc::clone(&maker.get().0)))),
        }
    }
}

/// The policies of the user's own that there are now, with a number each.
static REGISTERED: Mutex<Vec<(u64, OwnPolicy)>> = Mutex::new(Vec::new());

/// The policies of the user's own that calls may name.
pub fn registered() -> OwnPolicies {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    OwnPolicies(Arc::new(registered.iter().map(|(_, own)| own.clone()).collect()))
}

/// A policy of the user's own, which calls may name as long as this object lives.
#[pyclass(frozen, module = "thermocline._native")]
pub struct Own(u64);

#[pymethods]
impl Own {
    #[new]
    #[pyo3(signature = (name, shown, policy, victim, placement))]
    fn new(
        name: String,
        shown: String,
        policy: Option<String>,
        victim: Option<Axis>,
        placement: Option<Axis>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (victim, own_victim) = Axis::split(victim);
        let (placement, own_placement) = Axis::split(placement);
        let own = OwnPolicy { name, shown, policy, victim, own_victim, placement, own_placement };
        let number = NEXT.fetch_add(1, Relaxed);
        REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).push((number, own));
        Self(number)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        let at = registered.iter().position(|(number, _)| *number == self.0);
        let gone = at.map(|at| registered.swap_remove(at));
        // Dropping it may run Python code that comes back here.
        drop(registered);
        drop(gone);
    }
}

/// Makes Python objects.
struct Objects {
    name: String,
    make: Py<PyAny>,
    streams: Option<u8>,
    batch: u32,
    stale: bool,
}

impl Objects {
    /// An object for a run, and something beside it. The thread's state is let go outside the interpreter.
    fn made<R>(
        &self,
        device: Device,
        beside: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<R>,
    ) -> Result<(Methods, R), Failure> {
        let kept = ThreadState::keep();
        let made = Python::attach(|py| {
            let make = || {
                let made = self.make.call1(py, device)?;
                let (object, names) = made.extract::<(Py<PyAny>, HashSet<String>)>(py)?;
                let method = |name: String| object.getattr(py, &*name).map(|method| (name, method));
                let methods = names.into_iter().map(method).collect::<PyResult<_>>()?;
                let beside = beside(py, &object)?;
                Ok((methods, beside))
            };
            make().map_err(|error| -> Failure {
                Box::new(Raised::new(py, format!("{}.begin", self.name), error))
            })
        });
        let (methods, beside) = made?;
        Ok((Methods { name: self.name.clone(), methods, _kept: kept }, beside))
    }
}

impl Makes for Objects {
    fn name(&self) -> &str {
        &self.name
    }

    fn streams(&self) -> Option<u8> {
        self.streams
    }

    fn placement(&self, context: &Context) -> Result<Box<dyn BatchPlacement>, Failure> {
        let (methods, ()) = self.made(device(context, 0), |_, _| Ok(()))?;
        let shape = PlacementShape {
            streams: self.streams.unwrap_or(1),
            host: methods.has("host"),
            survivors: methods.has("survivors"),
            batch: self.batch,
            stale: self.stale,
            written: methods.has("written"),
            filled: methods.has("filled"),
            trimmed: methods.has("trimmed"),
            spilt: methods.has("spilt"),
            blocks: methods.has("block"),
        };
        Ok(Box::new(PyPlacement { methods, shape }))
    }

    fn victim(&self, context: &Context, bank: u32) -> Result<Box<dyn BatchVictim>, Failure> {
        let pages = context.pages_per_block;
        let (methods, (blocks, ages)) = self.made(device(context, bank), |py, object| {
            let ages = object.bind(py).getattr("ages")?;
            let ages = match ages.extract::<Option<String>>()? {
                None => None,
                Some(text) => Some(AgeSource::parse(&text).ok_or_else(|| {
                    PyValueError::new_err(format!(
                        "ages is `{text}`; choose from {}",
                        AgeSource::EXPECTED
                    ))
                })?),
            };
            Ok((Py::new(py, Blocks { columns: Columns::default(), pages })?, ages))
        })?;
        Ok(Box::new(PyVictim { methods, blocks, ages }))
    }
}

/// The methods that an object has.
struct Methods {
    name: String,
    methods: HashMap<String, Py<PyAny>>,
    _kept: ThreadState,
}

impl Methods {
    fn has(&self, name: &str) -> bool {
        self.methods.contains_key(name)
    }

    fn failure(&self, py: Python<'_>, method: &str, error: PyErr) -> Failure {
        Box::new(Raised::new(py, format!("{}.{method}", self.name), error))
    }

    /// Attaches to the interpreter, calls a method, and converts its return value.
    fn call<R>(
        &self,
        method: &str,
        args: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        make: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Result<R, Failure> {
        Python::attach(|py| {
            let Some(bound) = self.methods.get(method) else {
                return Err(wrong(py, self, method));
            };
            args(py)
                .and_then(|args| bound.bind(py).call1(args))
                .and_then(|returned| make(&returned))
                .map_err(|error| self.failure(py, method, error))
        })
    }
}

/// A missing method is never called.
fn wrong(py: Python<'_>, methods: &Methods, method: &str) -> Failure {
    methods.failure(py, method, PyValueError::new_err("there is no such method"))
}

fn nothing(_: &Bound<'_, PyAny>) -> PyResult<()> {
    Ok(())
}

/// A placement of Python.
struct PyPlacement {
    methods: Methods,
    shape: PlacementShape,
}

fn array<'py, T: numpy::Element>(py: Python<'py>, values: &[T]) -> Bound<'py, PyArray1<T>> {
    PyArray1::from_slice(py, values)
}

/// Copies integers of another width; false for other values.
fn copied<T: numpy::Element + Copy + TryInto<u8>>(
    returned: &Bound<'_, PyAny>,
    into: &mut [u8],
) -> bool {
    let Ok(streams) = returned.cast::<PyArray1<T>>() else { return false };
    let Ok(streams) = streams.try_readonly() else { return false };
    let Ok(streams) = streams.as_slice() else { return false };
    if streams.len() != into.len() {
        return false;
    }
    for (into, stream) in into.iter_mut().zip(streams) {
        // What no stream can be is found out by the caller.
        *into = (*stream).try_into().unwrap_or(u8::MAX);
    }
    true
}

/// Takes the streams that a method returned: one for each page, or one for all.
pub fn streams_of(returned: &Bound<'_, PyAny>, into: &mut [u8]) -> PyResult<()> {
    if copied::<u8>(returned, into) || copied::<i8>(returned, into) || copied::<i64>(returned, into)
    {
        return Ok(());
    }
    if let Ok(stream) = returned.cast::<PyInt>() {
        into.fill(stream.extract::<u8>().unwrap_or(u8::MAX));
        return Ok(());
    }
    let py = returned.py();
    let streams = py.import("numpy")?.call_method1("asarray", (returned,))?;
    let kind: String = streams.getattr("dtype")?.getattr("kind")?.extract()?;
    if !["i", "u", "b"].contains(&kind.as_str()) {
        let dtype = streams.getattr("dtype")?.to_string();
        return Err(PyTypeError::new_err(format!(
            "returned {dtype}; return whole numbers, the stream of each page"
        )));
    }
    let shape: Vec<usize> = streams.getattr("shape")?.extract()?;
    if !shape.is_empty() && shape != [into.len()] {
        return Err(PyValueError::new_err(format!(
            "returned shape {shape:?}; return ({},), the stream of each page",
            into.len()
        )));
    }
    let streams = streams.call_method1("astype", ("int64",))?.call_method0("ravel")?;
    let streams = streams.cast_into::<PyArray1<i64>>()?;
    let streams = streams.try_readonly()?;
    let streams = streams.as_array();
    // What no stream can be is found out by the caller.
    let one = |stream: i64| u8::try_from(stream).unwrap_or(u8::MAX);
    if shape.is_empty() {
        into.fill(streams.get(0).map_or(u8::MAX, |stream| one(*stream)));
        return Ok(());
    }
    for (into, stream) in into.iter_mut().zip(streams) {
        *into = one(*stream);
    }
    Ok(())
}

impl BatchPlacement for PyPlacement {
    fn shape(&self) -> PlacementShape {
        self.shape
    }

    fn host(&mut self, pages: &[u32], now: u64, streams: &mut [u8]) -> Result<(), Failure> {
        self.methods.call(
            "host",
            |py| (array(py, pages), now).into_pyobject(py),
            |returned| streams_of(returned, streams),
        )
    }

    fn survivors(
        &mut self,
        victim: &placement::Cleaning,
        pages: &[u32],
        streams: &mut [u8],
    ) -> Result<(), Failure> {
        let victim = Cleaning {
            bank: victim.bank,
            block: victim.block.0,
            stream: victim.stream,
            valid: victim.valid,
            pages: victim.pages,
            mapped: victim.mapped,
            capacity: victim.capacity,
            now: victim.now,
        };
        self.methods.call(
            "survivors",
            |py| (array(py, pages), Py::new(py, victim)?).into_pyobject(py),
            |returned| streams_of(returned, streams),
        )
    }

    fn written(&mut self, pages: &[u32], streams: &[u8], times: &[u64]) -> Result<(), Failure> {
        self.methods.call(
            "written",
            |py| (array(py, pages), array(py, streams), array(py, times)).into_pyobject(py),
            nothing,
        )
    }

    fn filled(&mut self, pages: &[u32], now: u64) -> Result<(), Failure> {
        self.methods.call("filled", |py| (array(py, pages), now).into_pyobject(py), nothing)
    }

    fn trimmed(&mut self, pages: &[u32]) -> Result<(), Failure> {
        self.methods.call("trimmed", |py| (array(py, pages),).into_pyobject(py), nothing)
    }

    fn spilt(&mut self, page: u32, stream: u8, now: u64) -> Result<(), Failure> {
        self.methods.call("spilt", |py| (page, stream, now).into_pyobject(py), nothing)
    }

    fn block(&mut self, full: bool, bank: u32, block: u32, stream: u8) -> Result<(), Failure> {
        self.methods.call("block", |py| (full, bank, block, stream).into_pyobject(py), nothing)
    }
}

/// All blocks of a bank as they were at the last call of a victim policy.
#[pyclass(module = "thermocline._native")]
pub struct Blocks {
    columns: Columns,
    /// Data pages in a block.
    #[pyo3(get)]
    pages: u32,
}

#[pymethods]
impl Blocks {
    #[getter]
    fn valid<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        array(py, &self.columns.valid)
    }

    #[getter]
    fn erases<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        array(py, &self.columns.erases)
    }

    #[getter]
    fn stamps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        array(py, &self.columns.stamps)
    }

    #[getter]
    fn streams<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        array(py, &self.columns.streams)
    }

    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let candidates = self.columns.candidates.iter().map(|&is| is != 0);
        PyArray1::from_iter(py, candidates)
    }

    fn __len__(&self) -> usize {
        self.columns.valid.len()
    }
}

/// A victim policy of Python.
struct PyVictim {
    methods: Methods,
    blocks: Py<Blocks>,
    ages: Option<AgeSource>,
}

/// Costs by valid pages: an array, or two for numerators and denominators.
fn ratios_of(returned: &Bound<'_, PyAny>) -> PyResult<Vec<(f64, f64)>> {
    let py = returned.py();
    let floats = |one: &Bound<'_, PyAny>| -> PyResult<Vec<f64>> {
        let one = py.import("numpy")?.call_method1("asarray", (one, "float64"))?;
        let one = py.import("numpy")?.call_method1("atleast_1d", (one,))?;
        Ok(one.cast_into::<PyArray1<f64>>()?.to_vec()?)
    };
    let Ok(two) = returned.cast::<PyTuple>() else {
        return Ok(floats(returned)?.into_iter().map(|cost| (cost, 1.0)).collect());
    };
    if two.len() != 2 {
        return Err(PyValueError::new_err(
            "returned a tuple that is no pair; return costs, or numerators and denominators",
        ));
    }
    let (numerators, denominators) = (floats(&two.get_item(0)?)?, floats(&two.get_item(1)?)?);
    if numerators.len() != denominators.len() {
        return Err(PyValueError::new_err(format!(
            "returned {} numerators and {} denominators; return as many of each",
            numerators.len(),
            denominators.len()
        )));
    }
    Ok(numerators.into_iter().zip(denominators).collect())
}

impl PyVictim {
    /// The least of the scores of all candidates.
    fn least_of(&self, returned: &Bound<'_, PyAny>) -> PyResult<Result<Option<u32>, Failure>> {
        let py = returned.py();
        let blocks = self.blocks.bind(py).borrow();
        let candidates = &blocks.columns.candidates;
        let (name, is_candidate) = (&self.methods.name, |block: usize| candidates[block] != 0);
        let as_many = |count: usize| match count == candidates.len() {
            true => Ok(()),
            false => Err(wrong_length(candidates.len(), &count.to_string())),
        };
        if let Ok(scores) = returned.cast::<PyArray1<u32>>() {
            as_many(scores.len())?;
            let scores = scores.try_readonly()?;
            let scores = scores.as_array();
            return Ok(least(name, scores.iter().map(|score| f64::from(*score)), is_candidate));
        }
        let scores = match returned.cast::<PyArray1<f64>>() {
            Ok(scores) => scores.clone(),
            Err(_) => {
                let scores = py.import("numpy")?.call_method1("asarray", (returned, "float64"))?;
                let scores = scores.cast_into::<PyArray1<f64>>();
                scores.map_err(|_| wrong_length(candidates.len(), "no list of"))?
            }
        };
        as_many(scores.len())?;
        let scores = scores.try_readonly()?;
        Ok(least(name, scores.as_array().iter().copied(), is_candidate))
    }
}

fn wrong_length(blocks: usize, got: &str) -> PyErr {
    PyValueError::new_err(format!("returned {got} scores; return {blocks}, one of each block"))
}

impl BatchVictim for PyVictim {
    fn shape(&mut self, pages: u32) -> Result<VictimShape, Failure> {
        let has = |name: &str| self.methods.has(name);
        let ratios = if has("ratio") {
            let ratios = self.methods.call(
                "ratio",
                |py| {
                    let valid = PyArray1::from_iter(py, (0..pages).map(f64::from));
                    (valid, pages).into_pyobject(py)
                },
                ratios_of,
            );
            Some(ratios?)
        } else {
            None
        };
        Ok(VictimShape {
            ratios,
            ages: self.ages,
            transforms: has("age"),
            watches: has("written"),
            answered: has("answered"),
        })
    }

    fn choose(&mut self, blocks: &BlockView, now: u64) -> Result<Option<u32>, Failure> {
        Python::attach(|py| {
            let refreshed = self.blocks.bind(py).try_borrow_mut();
            let mut held = refreshed.map_err(|e| self.methods.failure(py, "choose", e.into()))?;
            held.columns.copy(blocks);
            held.pages = blocks.pages();
            drop(held);
            if self.methods.has("choose") {
                let block = |returned: &Bound<'_, PyAny>| {
                    let block: Option<i64> = match returned.extract::<Option<i64>>() {
                        Ok(block) => block,
                        Err(_) => {
                            let text = format!(
                                "returned {}; return the number of a block, or None",
                                returned.get_type().name()?
                            );
                            return Err(PyTypeError::new_err(text));
                        }
                    };
                    // The caller checks the range.
                    Ok(block.map(|block| u32::try_from(block).unwrap_or(u32::MAX)))
                };
                return self.methods.call(
                    "choose",
                    |py| (self.blocks.bind(py), now).into_pyobject(py),
                    block,
                );
            }
            self.methods.call(
                "score",
                |py| (self.blocks.bind(py), now).into_pyobject(py),
                |returned| self.least_of(returned),
            )?
        })
    }

    fn age(&self, age: u64) -> Result<f64, Failure> {
        self.methods.call("age", |py| (age,).into_pyobject(py), |returned| returned.extract())
    }

    fn written(&mut self, pages: &[u32]) -> Result<(), Failure> {
        self.methods.call("written", |py| (array(py, pages),).into_pyobject(py), nothing)
    }

    fn answered(&mut self, cleaned: bool) -> Result<(), Failure> {
        self.methods.call("answered", |py| (cleaned,).into_pyobject(py), nothing)
    }
}
