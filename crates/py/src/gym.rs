//! Devices that ask an agent: runs that stop at each decision of their victim policy or their placement.
//!
//! Invariants:
//! - A device is a run like any other: a policy with the same decisions gives the same result.
//! - All runs read one trace, prepared once.
//! - Observations contain nothing from the future.

use std::{path::PathBuf, sync::Arc};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::{prelude::*, types::PyDict};
use thermocline_assembly::policy::{Own, OwnPolicies, OwnPolicy};
use thermocline_sim::{Device, Progress, RunResult, SimError, run};
use thermocline_study::{
    jobs::{self, Ready},
    settings::{run::RunSpec, table::Group},
};

use crate::{
    InMemory, Listener, Words,
    asking::{Agent, Decide, Shared, Weights},
    errors::{UsageError, raised},
    fiber::Fiber,
    given,
    memory::Named,
    work::done,
    wrong,
};

/// The word of the agent.
const AGENT: &str = "agent";

type Ended = Result<RunResult, SimError>;

/// A run of a device, and its question.
struct Slot {
    shared: Shared,
    fiber: Fiber<Ended>,
}

/// Devices under one agent, all with the same settings.
#[pyclass(unsendable, module = "thermocline._native")]
pub struct Devices {
    settings: Arc<RunSpec>,
    device: Device,
    ready: Arc<Ready>,
    decide: Decide,
    slots: Vec<Option<Slot>>,
}

/// Observations, rewards, ended episodes, questions (0 host, 1 survivor, 2 victim), candidates.
type Stepped<'py> = (
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
);

#[pymethods]
impl Devices {
    /// `count` devices with these settings of a run. `decide` is `placement`, `victim` or `both`; `weights` are those of
    /// write amplification, latency and wear.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python's side names them")]
    fn new(
        py: Python<'_>,
        words: Words,
        traces: InMemory,
        listener: Listener,
        count: usize,
        decide: &str,
        sizes: (u8, u32),
        weights: (f64, f64, f64),
    ) -> PyResult<Self> {
        let settings = Arc::new(RunSpec::of(given(&words)).map_err(wrong)?);
        let (streams, candidates) = sizes;
        let (write_amplification, latency, wear) = weights;
        let weights = Weights { write_amplification, latency, wear };
        let (placement, victim) = (decide != "victim", decide != "placement");
        let decide = Decide { placement, victim, streams, candidates, weights };
        let (device, ready) = done(py, &Named::of(traces), listener.as_ref(), |context| {
            let (one, simulation) = (&settings.one, &settings.simulation);
            let trace: Option<&PathBuf> = one.input.trace.as_ref();
            let recorded = jobs::recorded_on(trace.map(|path| &**path), simulation, context);
            let device = jobs::simulated(simulation, recorded)?;
            let trace = trace.map(|path| &**path);
            let workload = &one.input.workload;
            let mut inputs = jobs::ready(trace, workload, &[], &device, simulation, context)?;
            let ready = inputs.pop().filter(|_| inputs.is_empty());
            let ready = ready.ok_or_else(|| {
                SimError::Usage("a device needs one input: a trace, or workload=".into())
            })?;
            Ok((device, ready))
        })?;
        let slots = (0..count).map(|_| None).collect();
        Ok(Self { settings, device, ready: Arc::new(ready), decide, slots })
    }

    /// Values of an observation.
    fn width(&self) -> usize {
        self.decide.width()
    }

    /// Begins an episode of a device with this seed; its first decision is asked then.
    fn reset(&mut self, at: usize, seed: u64) -> PyResult<()> {
        // The old run ends first: its stack is given back.
        self.slots[at] = None;
        let mut slot = self.begun(seed).map_err(raised)?;
        match slot.fiber.go_on(0) {
            None => self.slots[at] = Some(slot),
            Some(Err(error)) => return Err(raised(error)),
            Some(Ok(_)) => {
                return Err(UsageError::new_err(
                    "the input ends before anything is decided; give a longer one, or a smaller device",
                ));
            }
        }
        Ok(())
    }

    /// Gives the answers of the devices that wait, of those that `go`. Results of runs that have ended are put into
    /// `results` by the number of the device.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        streams: PyReadonlyArray1<'py, i64>,
        victims: PyReadonlyArray1<'py, i64>,
        go: PyReadonlyArray1<'py, bool>,
        results: &Bound<'py, PyDict>,
    ) -> PyResult<Stepped<'py>> {
        let (streams, victims, go) = (streams.as_array(), victims.as_array(), go.as_array());
        let count = self.slots.len();
        if [streams.len(), victims.len(), go.len()] != [count; 3] {
            return Err(UsageError::new_err(format!("give {count} actions, one of each device")));
        }
        let (mut rewards, mut ended) = (vec![0.0; count], vec![false; count]);
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let Some(running) = slot.as_mut().filter(|_| go[at]) else { continue };
            let answer = running.shared.answer(streams[at], victims[at])?;
            let over = running.fiber.go_on(answer);
            rewards[at] = running.shared.reward();
            if let Some(result) = over {
                let result = result.map_err(raised)?;
                let text = serde_json::to_string(&result)
                    .map_err(|e| raised(SimError::Failed(e.to_string())))?;
                results.set_item(at, text)?;
                ended[at] = true;
                *slot = None;
            }
        }
        let (observations, asked, candidates) = self.observed(py)?;
        let (rewards, ended) = (PyArray1::from_vec(py, rewards), PyArray1::from_vec(py, ended));
        Ok((observations, rewards, ended, asked, candidates))
    }

    /// Observations, questions and candidates of all devices; zeros for ended ones.
    #[expect(clippy::type_complexity, reason = "arrays for Python")]
    fn observed<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>)>
    {
        let (count, width) = (self.slots.len(), self.decide.width());
        let mut rows = vec![0.0; count * width];
        let (mut asked, mut candidates) = (vec![0; count], vec![0; count]);
        for (at, slot) in self.slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            slot.shared.look(|agent| {
                rows[at * width..][..width].copy_from_slice(agent.observation());
                (asked[at], candidates[at]) = (agent.asked() as u8, agent.candidates() as i64);
            });
        }
        let rows = PyArray1::from_vec(py, rows).reshape([count, width])?;
        Ok((rows, PyArray1::from_vec(py, asked), PyArray1::from_vec(py, candidates)))
    }
}

impl Devices {
    /// A run that waits to begin.
    fn begun(&self, seed: u64) -> Result<Slot, SimError> {
        let RunSpec { one, simulation } = &*self.settings;
        let timing = &self.device.profile.timing;
        let geometry = &self.device.profile.geometry;
        let shared = Shared::new(Agent::new(self.decide, geometry.pages_per_block, timing));
        let own = |decides: bool| decides.then(|| Own(shared.maker(self.decide)));
        let agent = OwnPolicy {
            name: AGENT.into(),
            shown: AGENT.into(),
            policy: one.policy.clone(),
            victim: one.victim.clone(),
            own_victim: own(self.decide.victim),
            placement: one.placement.clone(),
            own_placement: own(self.decide.placement),
        };
        let policies = OwnPolicies(Arc::new(vec![agent]));
        let named = format!("own:{AGENT}");
        let spec = policies.spec(Some(&named), None, None)?;
        let spec = jobs::with_axes(spec, &simulation.cleaning)?;
        let (ready, settings, device) =
            (Arc::clone(&self.ready), Arc::clone(&self.settings), self.device.clone());
        let run = move || {
            let mut job = jobs::job(&ready, &spec, &device, &settings.simulation);
            job.seed = seed;
            run(&job, &Progress::default())
        };
        let fiber = Fiber::new(shared.asker(), run)
            .map_err(|e| SimError::Failed(format!("there is no stack for a device: {e}")))?;
        Ok(Slot { shared, fiber })
    }
}
