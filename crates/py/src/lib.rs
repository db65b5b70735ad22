//! The native module of the Python package: settings in words and traces in, JSON out. The public
//! interface, with types and documentation, is `python/thermocline`.

#![allow(missing_docs, reason = "create_exception! and pymethods make items without")]

mod asking;
mod errors;
mod fiber;
mod fleet;
mod gym;
mod learned;
mod lives;
mod memory;
mod past;
mod policy;
mod raw;
mod requests;
mod stream;
mod sweep;
mod table;
mod tune;
mod work;

use std::{
    collections::{BTreeMap, HashMap},
    iter,
    path::PathBuf,
};

use pyo3::{prelude::*, types::PyDict};
use serde_json::{Value, json};
use thermocline_chart::{COLOURS, Colour};
use thermocline_sim::{
    HugePages, SimError,
    history::{History, Quantile},
    room,
};
use thermocline_study::{
    Door, SpecError, catalogue,
    jobs::Extras,
    reproduce::{ReproduceSettings, Reproduction},
    settings::{
        compare::CompareSettings,
        generate::GeneratorArgs,
        run::RunSpec,
        table::{Group, Info},
    },
    trace,
};
use thermocline_trace::Source;
use thermocline_workloads::WorkloadSpec;

use crate::{
    errors::raised,
    memory::{Memory, Named, code_of},
    work::done,
};

/// Tables are read at random, and a run's memory is counted as on the command line.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Settings by name, with values unless they stand alone.
type Words = Vec<(String, Option<String>)>;
/// As the tables of settings take them.
fn given(words: &Words) -> impl Iterator<Item = (&str, Option<&str>)> {
    words.iter().map(|(name, value)| (&**name, value.as_deref()))
}

fn wrong(error: SpecError) -> PyErr {
    raised(error.into())
}

type InMemory = HashMap<String, Py<Memory>>;
type Listener = Option<Py<PyAny>>;

/// Runs one policy: the result, its notes, and how it went, as JSON.
#[pyfunction]
fn run(
    py: Python<'_>,
    words: Words,
    traces: InMemory,
    listener: Listener,
    history: bool,
) -> PyResult<String> {
    let settings = RunSpec::of(given(&words)).map_err(wrong)?;
    done(py, &Named::of(traces), listener.as_ref(), |context| {
        let extras = Extras { history, ..Extras::default() };
        let ran = thermocline_study::Run::of(&settings, context)?.run(extras, context)?;
        let history = ran.compared().rows[0].history.as_ref().map(columns_of);
        Ok(json!({ "result": ran.result(), "notes": ran.notes, "history": history }).to_string())
    })
}

/// The course of a run by the names of Python's columns.
fn columns_of(history: &History) -> Value {
    let samples = |of: fn(&thermocline_sim::history::Sample) -> u64| {
        history.samples.iter().map(of).collect::<Vec<_>>()
    };
    let curve = |points: &[Quantile]| -> BTreeMap<String, f64> {
        points.iter().map(|point| (point.share.to_string(), point.us)).collect()
    };
    json!({
        "elapsed_ns": samples(|s| s.elapsed_ns),
        "write_us": curve(&history.writes),
        "read_us": curve(&history.reads),
        "host_writes": samples(|s| s.host_writes),
        "first_programs": samples(|s| s.first_programs),
        "copies": samples(|s| s.copies),
        "victims": samples(|s| s.victims),
        "victims_valid": samples(|s| s.victims_valid),
        "victim_utilization": history.victims,
        "erases": history.erases,
    })
}

/// Compares policies: what `thermocline compare --json` prints, notes, and how each run went: of
/// several seeds, the first.
#[pyfunction]
fn compare(
    py: Python<'_>,
    words: Words,
    traces: InMemory,
    listener: Listener,
    history: bool,
) -> PyResult<String> {
    let settings = CompareSettings::of(given(&words)).map_err(wrong)?;
    done(py, &Named::of(traces), listener.as_ref(), |context| {
        let extras = Extras { history, ..Extras::default() };
        let compared = thermocline_study::compare(&settings, extras, context)?;
        let listed = compared.listed(settings.many.wish());
        let rows = compared.inputs.iter().flat_map(|input| &input.rows);
        let histories: Vec<_> = rows
            .flat_map(|row| {
                let others = row.runs().len().saturating_sub(1);
                let first = row.runs().first().map(|_| row.history.as_ref().map(columns_of));
                first.into_iter().chain(iter::repeat_n(None, others))
            })
            .collect();
        let notes = &compared.notes;
        Ok(json!({ "listed": listed, "notes": notes, "histories": histories }).to_string())
    })
}

/// Name, help, value, default, whether it may be given several times, heading.
type Listed = (String, String, Option<String>, Option<String>, bool, String);

/// Papers' claims beside what comes out here, as `thermocline reproduce --json` prints it.
#[pyfunction]
fn reproduce(
    py: Python<'_>,
    what: Vec<String>,
    quick: bool,
    traces: Vec<PathBuf>,
    listener: Listener,
) -> PyResult<String> {
    let settings = ReproduceSettings { what, quick, traces, ..ReproduceSettings::default() };
    done(py, &Named::default(), listener.as_ref(), |context| {
        let reproduction = Reproduction::of(&settings)?;
        let reproduced = reproduction.run(context)?;
        serde_json::to_string(&reproduced.listed()).map_err(|e| SimError::Failed(e.to_string()))
    })
}

/// What is in a trace, as `thermocline trace info --json` prints it.
#[pyfunction]
fn trace_info(
    py: Python<'_>,
    path: PathBuf,
    words: Words,
    traces: InMemory,
    listener: Listener,
) -> PyResult<String> {
    let trace = ("trace".to_owned(), Some(path.display().to_string()));
    let words: Words = [trace].into_iter().chain(words).collect();
    let settings = RunSpec::of(given(&words)).map_err(wrong)?;
    done(py, &Named::of(traces), listener.as_ref(), |context| {
        let simulation = &settings.simulation;
        let page = simulation.device.shape.page_size.unwrap_or(4096);
        let info = trace::info(&path, page, &simulation.reading, &simulation.transforms, context)?;
        serde_json::to_string(&info).map_err(|e| SimError::Failed(e.to_string()))
    })
}

/// Three numbers of eight bytes and one of one.
const BYTES_OF_A_REQUEST: u64 = 25;

/// A generated trace: time, op, offset, length.
#[pyfunction]
fn generate<'py>(py: Python<'py>, workload: &str, words: Words) -> PyResult<Bound<'py, PyDict>> {
    let spec: WorkloadSpec = workload.parse().map_err(|e| raised(SimError::Trace(e)))?;
    let args = GeneratorArgs::of(given(&words)).map_err(wrong)?;
    let (mut times, mut ops, mut offsets, mut lengths) = (vec![], vec![], vec![], vec![]);
    done(py, &Named::default(), None, |context| {
        let mut source = trace::generator(&spec, &args)?;
        let mut batch = Vec::new();
        loop {
            source.next_batch(&mut batch, 4096)?;
            context.check()?;
            if batch.is_empty() {
                return Ok(());
            }
            // Vectors that are full take twice the memory.
            let more = 2 * batch.len().max(times.len()) as u64;
            if times.len() + batch.len() > times.capacity() {
                room::require(more * BYTES_OF_A_REQUEST, "the trace")?;
            }
            for request in &batch {
                times.push(request.time_ns);
                ops.push(code_of(request.op));
                offsets.push(request.offset);
                lengths.push(request.len);
            }
        }
    })?;
    let columns = PyDict::new(py);
    columns.set_item("time", numpy::PyArray1::from_vec(py, times))?;
    columns.set_item("op", numpy::PyArray1::from_vec(py, ops))?;
    columns.set_item("offset", numpy::PyArray1::from_vec(py, offsets))?;
    columns.set_item("length", numpy::PyArray1::from_vec(py, lengths))?;
    Ok(columns)
}

/// What there is to choose from, as `--json` prints it.
#[pyfunction]
fn listed(what: &str) -> String {
    let text = match what {
        "policies" => serde_json::to_string(&catalogue::policies()),
        "devices" => serde_json::to_string(&catalogue::devices()),
        "workloads" => serde_json::to_string(&catalogue::workloads()),
        _ => serde_json::to_string(&catalogue::formats()),
    };
    text.expect("a list of texts and numbers")
}

/// The options of `run` or `compare`.
#[pyfunction]
fn options(of: &str) -> Vec<Listed> {
    fn all<G: Group>() -> impl Iterator<Item = &'static Info> {
        G::table().iter().map(|field| &field.info)
    }
    let one = |info: &'static Info| {
        let help = Door::Python.words(&info.help).into_owned();
        let value = (!info.value.is_empty()).then(|| info.value.to_owned());
        let (name, heading) = (info.name.to_owned(), info.heading.to_owned());
        (name, help, value, info.default.map(str::to_owned), info.repeats, heading)
    };
    match of {
        "run" => all::<RunSpec>().map(one).collect(),
        _ => all::<CompareSettings>().map(one).collect(),
    }
}

/// The colours of series in reports.
#[pyfunction]
fn colours() -> Vec<String> {
    COLOURS.map(Colour::hex).into()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ThermoclineError", py.get_type::<errors::ThermoclineError>())?;
    module.add("UsageError", py.get_type::<errors::UsageError>())?;
    module.add("InputError", py.get_type::<errors::InputError>())?;
    module.add("FailedError", py.get_type::<errors::FailedError>())?;
    module.add("BrokenError", py.get_type::<errors::BrokenError>())?;
    module.add("PolicyError", py.get_type::<errors::PolicyError>())?;
    module.add_class::<Memory>()?;
    module.add_class::<policy::Blocks>()?;
    module.add_class::<policy::Cleaning>()?;
    module.add_class::<policy::Maker>()?;
    module.add_class::<policy::Own>()?;
    module.add_class::<sweep::Plan>()?;
    module.add_class::<fleet::Summing>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<lives::Foreteller>()?;
    module.add_class::<gym::Devices>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::plan, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::execute, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::search, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::has, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::keep, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet, module)?)?;
    module.add_function(wrap_pyfunction!(policy::place, module)?)?;
    module.add_function(wrap_pyfunction!(tune::tune, module)?)?;
    module.add_function(wrap_pyfunction!(reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(requests::requests, module)?)?;
    module.add_function(wrap_pyfunction!(lives::lives, module)?)?;
    module.add_function(wrap_pyfunction!(lives::split_at, module)?)?;
    module.add_function(wrap_pyfunction!(lives::features, module)?)?;
    module.add_function(wrap_pyfunction!(generate, module)?)?;
    module.add_function(wrap_pyfunction!(listed, module)?)?;
    module.add_function(wrap_pyfunction!(options, module)?)?;
    module.add_function(wrap_pyfunction!(colours, module)?)?;
    Ok(())
}
