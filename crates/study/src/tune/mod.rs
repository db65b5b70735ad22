//! A search for the best policy and parameters for an input.
//!
//! The search uses a part of the input, and the rest confirms its choice. First every policy runs with its defaults.
//! The best third of them continues with parameters and settings proposed by tree-structured Parzen estimators (the
//! algorithm of Optuna; the crate `tpe`), or by another [`Sampler`]. A sampler proposes `BATCH` candidates at a time
//! and gets all their results before the next batch, so that one seed gives one search on any number of threads.
//!
//! Parameters without effect on the choice are reset to their defaults.
//!
//! The choice is too good on the searched part: of many candidates the luckiest wins. So the choice and the
//! Pareto front run again on the rest, with the device as the searched part leaves it, and the difference is
//! reported.

mod parts;
mod sampler;
mod space;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use serde::Serialize;
use thermocline_sim::{
    SimError,
    answer::IRRELEVANT,
    metric::{self, Better, Metric},
    result::StoredResult,
};
use thermocline_sweep::{Settings, Work, quoted, run_all};

use self::{parts::Parts, sampler::Parzen};
pub use self::{
    sampler::Sampler,
    space::{Candidate, Choice, Dimension, Space},
};
use crate::{
    Context, in_results,
    kept::TOO_SMALL,
    settings::{run::RunSpec, sweep::Swept, table::Group},
    simulation::{Executed, Inputs, Simulation},
    usage,
};

/// Candidates that are asked for at a time.
const BATCH: usize = 8;
/// Of this many policies one goes on after the first round, and this many at least.
const SHARE_KEPT: usize = 3;
const LEAST_KEPT: usize = 4;
/// Proposals of known candidates in a row after which a search has seen what there is.
const PATIENCE: usize = 200;
/// Members of the front that run on the rest too, the best first.
const CONFIRMED: usize = 8;
/// The aim and the space of a search.
#[derive(Debug)]
pub struct TuneSettings {
    /// The figure that shall be good.
    pub aim: &'static Metric,
    /// Simulations to spend on the search.
    pub budget: usize,
    /// The part of the input that is searched.
    pub part: f64,
    /// The price of space, if over-provisioning is searched: 1 % more flash must gain this many per cent.
    pub price: f64,
    /// Leave the policies' parameters and the watermark as they are.
    pub no_parameters: bool,
    /// Simulations at a time; 0 is one a core.
    pub threads: usize,
    /// Settings: what lists are given of is searched.
    pub swept: Swept,
}

/// Why there are no response times.
const OVERLOADED: &str = "the device is overloaded with every policy, and response times are those of a growing \
                          queue (‹clock device› shows service times)";

/// The figures of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The figure that shall be good.
    pub aim: Option<f64>,
    /// Flash writes over host writes.
    pub write_amplification: Option<f64>,
    /// The 99th percentile of write response times; none of a queue that grows as long as the run goes on.
    pub write_p99_us: Option<f64>,
    /// RAM in all.
    pub memory_bytes: Option<f64>,
    /// Physical over logical pages, less 1.
    pub over_provisioning: Option<f64>,
    /// Whether the device could not keep up.
    pub overloaded: bool,
}

/// Something that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// The policy with its parameters.
    pub policy: String,
    /// The settings of which lists were given.
    pub settings: BTreeMap<String, String>,
    /// The command that runs it on the whole input.
    pub command: String,
    /// On the part that was searched.
    pub searched: Option<Figures>,
    /// Why it could not run there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// On the rest, where it ran there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Figures>,
    /// How much worse the aim is on the rest than on the searched part; negative if it is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
    #[serde(skip)]
    whole: Settings,
    /// The minimised figure.
    #[serde(skip)]
    score: Option<f64>,
}

/// The result of a search.
#[derive(Debug, Serialize)]
pub struct Tuned {
    /// The key of the figure that shall be good.
    pub aim: &'static str,
    /// Requests that were searched, and of the rest, where the input is a trace.
    pub requests: Option<[u64; 2]>,
    /// Candidates there are.
    pub candidates: usize,
    /// Simulations that the search took.
    pub simulations: usize,
    /// Of these, candidates that could not run.
    pub failures: usize,
    /// The choice.
    pub best: Tried,
    /// The best policy with its defaults, on the device of the choice: the baseline.
    pub untuned: Tried,
    /// The Pareto front of write amplification, RAM and latency; the least write amplification first.
    pub front: Vec<Tried>,
    /// Everything that was tried, in order.
    pub trials: Vec<Tried>,
    /// Results of the trials that could run, for pictures.
    #[serde(skip)]
    pub results: Vec<(Vec<(String, String)>, StoredResult)>,
}

impl Tuned {
    /// With commands that name the volume as `run` takes it.
    #[must_use]
    pub fn named(mut self, trace: &str, volume: &str) -> Self {
        let within = quoted(&format!("{trace} {}", in_results("volume", volume)));
        let apart = format!("{} {}", quoted(trace), in_results("volume", &quoted(volume)));
        let chosen = [&mut self.best, &mut self.untuned].into_iter();
        for tried in chosen.chain(&mut self.front).chain(&mut self.trials) {
            tried.command = tried.command.replace(&within, &apart);
        }
        self
    }
}

/// The aim of a search: a key of results, or `lifetime`, `latency`, `p99`, `memory`.
///
/// # Errors
/// What to write instead.
pub fn aim(text: &str) -> Result<&'static Metric, String> {
    let key = match text.trim() {
        "lifetime" | "endurance" => "lifetime.tbw_bytes",
        "p99" | "latency" => "response_us.write.p99",
        "memory" | "ram" => "memory.total_bytes",
        other => &other.replace('-', "_"),
    };
    let metric = metric::named(key)?;
    match metric.look.better {
        Better::Neither => Err(format!(
            "of `{text}` neither more nor less is better; take write-amplification, lifetime, p99 or memory"
        )),
        Better::Less | Better::More => Ok(metric),
    }
}

/// Searches, and confirms the choice.
///
/// # Errors
/// What is wrong with all candidates; a budget or a part that are too small.
pub fn tune(settings: &TuneSettings, context: Context<'_>) -> Result<Tuned, SimError> {
    tune_by(settings, &mut Parzen::default(), context)
}

/// As above, with candidates that another optimizer proposes.
///
/// # Errors
/// As [`tune`]; those of the optimizer.
pub fn tune_by(
    settings: &TuneSettings,
    sampler: &mut dyn Sampler,
    context: Context<'_>,
) -> Result<Tuned, SimError> {
    let space = Space::of(&settings.swept, !settings.no_parameters)?;
    if settings.budget < space.policies.len() {
        return Err(usage(format!(
            "‹budget {}› is fewer than the {} policies; give more, or name fewer with ‹policy›",
            settings.budget,
            space.policies.len()
        )));
    }
    let first = RunSpec::of(space.settings(&space.plain(0)).given())?;
    let parts = Parts::of(&first, settings.part, context)?;
    let price = if space.varies("over-provisioning") { settings.price } else { 0.0 };
    let inputs = [Inputs::that_stay(), Inputs::that_stay()];
    let tuner = Tuner { settings, space, price, parts, inputs: &inputs, context };
    tuner.search(first.simulation.seed, sampler)
}

struct Tuner<'a> {
    settings: &'a TuneSettings,
    space: Space,
    price: f64,
    parts: Parts,
    /// Of the part that is searched, and of the rest.
    inputs: &'a [Inputs; 2],
    context: Context<'a>,
}

/// The trials so far, in order.
#[derive(Default)]
struct Trials {
    candidates: Vec<Candidate>,
    tried: Vec<Tried>,
    /// Results of those that could run.
    results: Vec<(Vec<(String, String)>, StoredResult)>,
}

impl Trials {
    /// Reports the results of the trials from `from` on.
    fn tell(&self, sampler: &mut dyn Sampler, from: usize) -> Result<(), SimError> {
        let mut all = self.candidates.iter().zip(&self.tried).skip(from);
        all.try_for_each(|(candidate, tried)| sampler.tell(candidate, tried.score))
    }
}

impl Tuner<'_> {
    fn search(&self, seed: u64, sampler: &mut dyn Sampler) -> Result<Tuned, SimError> {
        let mut trials = Trials::default();
        let plain: Vec<_> = (0..self.space.policies.len()).map(|at| self.space.plain(at)).collect();
        self.run(&plain, &mut trials)?;
        let round = &trials.tried;
        let mut order: Vec<usize> =
            (0..plain.len()).filter(|at| round[*at].score.is_some()).collect();
        order.sort_by(|a, b| compared(&round[*a], &round[*b]));
        let Some(&untuned) = order.first() else {
            let why = round.first().and_then(|tried| tried.error.clone()).unwrap_or_default();
            if why.ends_with(TOO_SMALL) {
                return Err(SimError::TooSmall(why));
            }
            let late = |tried: &Tried| tried.searched.is_some_and(|figures| figures.overloaded);
            let why = if why.is_empty() && round.iter().any(late) { OVERLOADED } else { &*why };
            let key = &self.settings.aim.key;
            return Err(SimError::Failed(format!("no policy has the figure {key}: {why}")));
        };
        order.truncate((order.len() / SHARE_KEPT).max(LEAST_KEPT));
        sampler.begin(&self.space, &order, seed)?;
        trials.tell(sampler, 0)?;
        let mut known: BTreeSet<Candidate> = plain.iter().cloned().collect();
        while trials.tried.len() < self.settings.budget {
            let most = BATCH.min(self.settings.budget - trials.tried.len());
            let batch = proposed(sampler, &mut known, most)?;
            if batch.is_empty() {
                break;
            }
            let before = trials.tried.len();
            self.run(&batch, &mut trials)?;
            trials.tell(sampler, before)?;
        }
        let best = self.simplest(&mut trials)?;
        let untuned = self.reference(untuned, best, &mut trials)?;
        let best =
            if is_as_good(&trials.tried[untuned], &trials.tried[best]) { untuned } else { best };
        self.confirm(trials, best, untuned)
    }

    /// The choice, without parameters that do nothing for it.
    fn simplest(&self, trials: &mut Trials) -> Result<usize, SimError> {
        let best = chosen(&trials.tried);
        let candidate = trials.candidates[best].clone();
        let choices = &self.space.policies[candidate.policy].parameters;
        let set: Vec<usize> = (0..choices.len())
            .filter(|at| candidate.parameters[*at] != choices[*at].first)
            .collect();
        let without = |all: &[usize]| {
            let mut simpler = candidate.clone();
            all.iter().for_each(|at| simpler.parameters[*at] = choices[*at].first);
            simpler
        };
        let singles: Vec<_> = set.iter().map(|at| without(&[*at])).collect();
        let begin = trials.tried.len();
        self.run(&singles, trials)?;
        let least = trials.tried[best].score.unwrap_or(f64::INFINITY);
        let good =
            |tried: &Tried, of: f64| tried.score.is_some_and(|score| score <= least * (1.0 + of));
        let idle = set.iter().zip(&trials.tried[begin..]);
        let idle = idle.filter(|(_, tried)| good(tried, IRRELEVANT / 4.0));
        let idle: Vec<usize> = idle.map(|(at, _)| *at).collect();
        if idle.is_empty() {
            return Ok(best);
        }
        let at = self.once(without(&idle), trials)?;
        Ok(if good(&trials.tried[at], IRRELEVANT) { at } else { best })
    }

    /// The best policy as it comes, with the settings of the choice of which lists were given.
    fn reference(
        &self,
        untuned: usize,
        best: usize,
        trials: &mut Trials,
    ) -> Result<usize, SimError> {
        let mut candidate = trials.candidates[untuned].clone();
        let chosen = &trials.candidates[best].common;
        for ((value, dimension), chosen) in
            candidate.common.iter_mut().zip(&self.space.common).zip(chosen)
        {
            let was_listed = dimension.values.iter().all(Option::is_some);
            *value = if was_listed { *chosen } else { dimension.first };
        }
        self.once(candidate, trials)
    }

    /// Runs a candidate unless it was tried. Its place among the trials.
    fn once(&self, candidate: Candidate, trials: &mut Trials) -> Result<usize, SimError> {
        match trials.candidates.iter().position(|known| *known == candidate) {
            Some(at) => Ok(at),
            None => {
                self.run(&[candidate], trials)?;
                Ok(trials.tried.len() - 1)
            }
        }
    }

    /// Runs candidates on the part that is searched.
    fn run(&self, candidates: &[Candidate], trials: &mut Trials) -> Result<(), SimError> {
        let all: Vec<Settings> = candidates.iter().map(|one| self.space.settings(one)).collect();
        let ran = self.simulate(&all, false)?;
        let tried = |(settings, ran): (Settings, Result<StoredResult, String>)| {
            let (searched, error) = match &ran {
                Ok(result) => (Some(self.figures(result)), None),
                Err(why) => (None, Some(why.clone())),
            };
            if let Ok(result) = ran {
                let asked = settings
                    .0
                    .iter()
                    .map(|s| (s.option.clone(), s.value.clone().unwrap_or_else(|| "yes".into())));
                trials.results.push((asked.collect(), result));
            }
            let varied = |option: &String| self.space.varies(option);
            let listed = settings.0.iter().filter(|setting| varied(&setting.option));
            Tried {
                policy: settings.value("policy").unwrap_or_default(),
                settings: listed
                    .map(|s| (s.option.clone(), s.value.clone().unwrap_or_default()))
                    .collect(),
                command: format!("thermocline run {}", settings.shown()),
                score: searched.and_then(|figures| self.score(&figures)),
                searched,
                error,
                confirmed: None,
                distance: None,
                whole: settings,
            }
        };
        let tried: Vec<_> = all.into_iter().zip(ran).map(tried).collect();
        trials.tried.extend(tried);
        trials.candidates.extend_from_slice(candidates);
        Ok(())
    }

    /// Runs settings on a part. An error of one does not stop the others.
    fn simulate(
        &self,
        all: &[Settings],
        rest: bool,
    ) -> Result<Vec<Result<StoredResult, String>>, SimError> {
        let mut outcomes: Vec<Result<StoredResult, String>> = Vec::new();
        let (mut places, mut jobs) = (Vec::new(), Vec::new());
        for (at, settings) in all.iter().enumerate() {
            let mut asked = RunSpec::of(settings.given())?;
            self.parts.apply(&mut asked, rest);
            outcomes.push(Err(String::new()));
            match Simulation::of(asked, &self.inputs[usize::from(rest)], self.context) {
                Ok(job) => {
                    jobs.push(job);
                    places.push(at);
                }
                Err(error) => outcomes[at] = Err(self.context.words(error)),
            }
        }
        let outcomes = Mutex::new(outcomes);
        let take = |at: usize, ran: Result<Executed, SimError>| {
            let outcome = match ran {
                Ok(executed) => Ok(executed.result),
                Err(error @ (SimError::Interrupted | SimError::Broken(_) | SimError::Trace(_))) => {
                    return Err(error);
                }
                Err(error) => Err(self.context.words(error)),
            };
            outcomes.lock().unwrap_or_else(PoisonError::into_inner)[places[at]] = outcome;
            Ok(())
        };
        let work = Arc::new(Work::default());
        let told = self.context.jobs(Arc::clone(&work));
        let ended = run_all(&jobs, self.settings.threads, self.context.progress(), &work, take);
        drop(told);
        ended?;
        Ok(outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn figures(&self, result: &StoredResult) -> Figures {
        let overloaded = result.is_overloaded();
        let aim = self.settings.aim;
        Figures {
            aim: result.number(&aim.key).filter(|_| !result.is_of_queue(aim)),
            write_amplification: result.number("write_amplification"),
            write_p99_us: result.number("response_us.write.p99").filter(|_| !overloaded),
            memory_bytes: result.number("memory.total_bytes"),
            over_provisioning: result.number("config.over_provisioning"),
            overloaded,
        }
    }

    /// The aim, lower is better, with the price of the space.
    fn score(&self, figures: &Figures) -> Option<f64> {
        let aim = figures.aim.filter(|aim| *aim > 0.0)?;
        let aim = if self.settings.aim.look.better == Better::More { aim.recip() } else { aim };
        let space = 1.0 + figures.over_provisioning.unwrap_or(0.0);
        Some(aim * space.powf(self.price))
    }

    /// Runs the choice, its baseline and the front on the rest.
    fn confirm(&self, trials: Trials, best: usize, untuned: usize) -> Result<Tuned, SimError> {
        let Trials { tried: mut trials, results, .. } = trials;
        let front = front(&trials);
        let mut wanted: BTreeSet<usize> = front.iter().copied().take(CONFIRMED).collect();
        wanted.extend([best, untuned]);
        let wanted: Vec<usize> = wanted.into_iter().collect();
        let all: Vec<Settings> = wanted.iter().map(|at| trials[*at].whole.clone()).collect();
        for (at, ran) in wanted.into_iter().zip(self.simulate(&all, true)?) {
            let tried = &mut trials[at];
            match ran {
                Err(why) => tried.error = Some(format!("on the rest: {why}")),
                Ok(result) => {
                    let figures = self.figures(&result);
                    tried.distance = self
                        .score(&figures)
                        .zip(tried.score)
                        .map(|(rest, searched)| rest / searched - 1.0);
                    tried.confirmed = Some(figures);
                }
            }
        }
        Ok(Tuned {
            aim: &self.settings.aim.key,
            requests: match self.parts {
                Parts::Trace(first, rest) => Some([first, rest]),
                Parts::Workload => None,
            },
            candidates: self.space.size(),
            simulations: trials.len(),
            failures: trials.iter().filter(|tried| tried.searched.is_none()).count(),
            best: trials[best].clone(),
            untuned: trials[untuned].clone(),
            front: front.into_iter().map(|at| trials[at].clone()).collect(),
            trials,
            results,
        })
    }
}

/// Candidates that were not tried yet; none when the estimators propose nothing new any more.
fn proposed(
    sampler: &mut dyn Sampler,
    known: &mut BTreeSet<Candidate>,
    most: usize,
) -> Result<Vec<Candidate>, SimError> {
    let mut batch = Vec::new();
    let mut in_vain = 0;
    while batch.len() < most && in_vain < PATIENCE {
        let candidate = sampler.ask()?;
        if known.insert(candidate.clone()) {
            batch.push(candidate);
            in_vain = 0;
        } else {
            in_vain += 1;
        }
    }
    Ok(batch)
}

fn compared(a: &Tried, b: &Tried) -> std::cmp::Ordering {
    let score = |tried: &Tried| tried.score.unwrap_or(f64::INFINITY);
    score(a).total_cmp(&score(b))
}

/// Whether one is better than another by what matters, or as good with no more memory.
fn is_as_good(one: &Tried, other: &Tried) -> bool {
    let Some((ours, theirs)) = one.score.zip(other.score) else { return false };
    let within = |a: f64, b: f64| a <= b * (1.0 + IRRELEVANT);
    !within(theirs, ours) || within(ours, theirs) && within(memory(one), memory(other))
}

fn memory(tried: &Tried) -> f64 {
    tried.searched.and_then(|figures| figures.memory_bytes).unwrap_or(f64::INFINITY)
}

/// The best; of those that differ from it by nothing that matters, the one with the least memory, tried first.
fn chosen(trials: &[Tried]) -> usize {
    let scores = trials.iter().filter_map(|tried| tried.score);
    let least = scores.fold(f64::INFINITY, f64::min);
    let tied = (0..trials.len())
        .filter(|at| trials[*at].score.is_some_and(|score| score <= least * (1.0 + IRRELEVANT)));
    tied.min_by(|a, b| memory(&trials[*a]).total_cmp(&memory(&trials[*b]))).unwrap_or(0)
}

/// The trials that no other beats in write amplification, RAM and latency at once, the least write amplification
/// first; of equal ones the first.
fn front(trials: &[Tried]) -> Vec<usize> {
    let of = |at: usize| -> Option<[f64; 3]> {
        let figures = trials[at].searched?;
        let latency = figures.write_p99_us.unwrap_or(f64::INFINITY);
        Some([figures.write_amplification?, figures.memory_bytes.unwrap_or(0.0), latency])
    };
    let all: Vec<(usize, [f64; 3])> =
        (0..trials.len()).filter_map(|at| Some((at, of(at)?))).collect();
    let beats = |(one, a): &(usize, [f64; 3]), (other, b): &(usize, [f64; 3])| {
        let no_worse = a.iter().zip(b).all(|(a, b)| a <= b);
        no_worse && (a != b || one < other)
    };
    let mut front: Vec<_> =
        all.iter().filter(|one| !all.iter().any(|other| beats(other, one))).collect();
    front.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]).then(a.0.cmp(&b.0)));
    front.into_iter().map(|(at, _)| *at).collect()
}
