//! All runs of a plan on all threads. What several runs are driven by is read once.

use std::sync::{Arc, Mutex, PoisonError};

use thermocline_papers::{Outcome, Run};
use thermocline_sim::SimError;
use thermocline_sweep::{Work, run_all as run_jobs};

use super::options::{Options, Runnable, failed};
use crate::{
    Context,
    simulation::{Executed, Inputs, Simulation},
};

/// The result of a run, and its caveats.
pub struct Ran {
    /// Its result.
    pub outcome: Outcome,
    /// Remarks, one line each.
    pub notes: Vec<String>,
}

/// Runs everything; what comes of the runs stands in their order.
pub fn run_all(
    runs: &[Run],
    options: &mut Options<'_>,
    threads: usize,
    context: Context<'_>,
) -> Result<Vec<Ran>, SimError> {
    let inputs = Inputs::default();
    let mut results: Vec<Option<Ran>> = Vec::new();
    let (mut places, mut commands, mut jobs) = (Vec::new(), Vec::new(), Vec::new());
    for (at, run) in runs.iter().enumerate() {
        results.push(None);
        match options.spec(run)? {
            Runnable::Missing(why) => {
                results[at] =
                    Some(Ran { outcome: Outcome::Missing(context.words(why)), notes: Vec::new() });
            }
            Runnable::As(args, command) => {
                let job = Simulation::of(*args, &inputs, context);
                jobs.push(job.map_err(|e| failed(&run.wanted_by, &command, e))?);
                places.push(at);
                commands.push(command);
            }
        }
    }
    let results = Mutex::new(results);
    let failures = Mutex::new(Vec::new());
    let tell = |at: usize, ran: Result<Executed, SimError>| {
        let place = places[at];
        match ran {
            Ok(Executed { result, notes, .. }) => {
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results[place] = Some(Ran { outcome: Outcome::Done(result.into_json()), notes });
                Ok(())
            }
            Err(failure) => {
                let failure = failed(&runs[place].wanted_by, &commands[at], failure);
                failures.lock().unwrap_or_else(PoisonError::into_inner).push((place, failure));
                // Without the others nothing can be judged.
                Err(SimError::Interrupted)
            }
        }
    };
    let work = Arc::new(Work::default());
    let told_of = context.jobs(Arc::clone(&work));
    let ended = run_jobs(&jobs, threads, context.progress(), &work, tell);
    drop(told_of);
    // Several may have failed at once; the first is reported.
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, failure)) = failures.into_iter().min_by_key(|(place, _)| *place) {
        return Err(failure);
    }
    ended?;
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(results.into_iter().flatten().collect())
}
