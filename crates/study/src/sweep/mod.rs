//! A grid of settings: its cells, their digests, and what came of them.
//!
//! [`plan`] lists the cells of a sweep, [`execute`] runs one of them from its words alone, wherever that is;
//! both know a cell by one digest. A [`Session`] does all of it on this machine, with a store.

mod asked;
mod search;
mod session;

use thermocline_sim::SimError;
use thermocline_sweep::{Cell, Job as _, Setting, Settings, digest::Contents};

pub use self::{
    asked::Asked,
    search::{Outcome, search},
    session::Session,
};
pub use crate::simulation::{Executed, Inputs};
use crate::{
    Context,
    settings::{run::RunSettings, sweep::SweepSettings},
    simulation::Simulation,
};

/// A cell of a sweep, which can be run anywhere.
#[derive(Debug)]
pub struct Planned {
    /// Its settings, and what tells it from the others.
    pub cell: Cell,
    /// What its result depends on; the error if it cannot be run.
    pub digest: Result<String, SimError>,
}

/// Every cell of a sweep with its digest, the seeds turning fastest. Nothing is run.
///
/// # Errors
/// What is wrong with all of them.
pub fn plan(settings: &SweepSettings, context: Context<'_>) -> Result<Vec<Planned>, SimError> {
    let mut contents = Contents::default();
    let mut planned = Vec::new();
    for cell in Asked::of(settings)?.cells() {
        let digest = match Session::understood(&cell, context) {
            Ok(_) => digest_of(&cell.settings, &mut contents, context),
            Err(error) => Err(error),
        };
        if matches!(digest, Err(SimError::Interrupted)) {
            return Err(SimError::Interrupted);
        }
        planned.push(Planned { cell, digest });
    }
    Ok(planned)
}

/// Runs one simulation.
///
/// # Errors
/// Why there is no result.
pub fn execute(settings: &Settings, context: Context<'_>) -> Result<Executed, SimError> {
    let inputs = Inputs::default();
    let mut settings = RunSettings::parse(settings.arguments())?;
    settings.simulation.cleaning.own = context.own();
    let simulation = Simulation::of(settings, &inputs, context)?;
    let input = simulation.prepare()?;
    simulation.run(&input)
}

/// What a result depends on. A trace in memory stands for its contents, as a file does.
fn digest_of(
    settings: &Settings,
    contents: &mut Contents,
    context: Context<'_>,
) -> Result<String, SimError> {
    let in_memory = |setting: &Setting| {
        let name = setting.value.as_deref().filter(|_| setting.option == "trace")?;
        context.traces()?.digest(name)
    };
    let Some(digest) = settings.0.iter().find_map(in_memory) else {
        return contents.of_job(settings, context.progress());
    };
    let without = settings.0.iter().filter(|setting| setting.option != "trace");
    let memory = Setting::new("trace-in-memory", digest);
    let settings = Settings(without.cloned().chain([memory]).collect());
    contents.of_job(&settings, context.progress())
}
