//! The answer of a comparison: which policy to choose, and by how much it is better.
//!
//! Every candidate has a score for an aim, lower is better, on each input and with each seed.
//! Scores of several inputs are combined by their geometric mean. Candidates are ties if they
//! differ by less than [`IRRELEVANT`], by less than three of the events counted, or by no more than
//! the seeds do. Of ties, the one with the least memory is the answer. A policy that knows the
//! future or did not finish is not a candidate. [`Answer::left_out`] lists those excluded for a
//! reason given by the user.

use serde::Serialize;

use crate::{RunResult, statistics::Interval};

/// A relative difference that decides nothing, because other traffic or another device would
/// reverse it.
pub const IRRELEVANT: f64 = 0.01;

/// Number of events by which two counts may differ by chance, because a run begins and ends at a
/// random point between two erases.
const EVENTS: f64 = 3.0;

/// Minimum number of writes above a percentile. With fewer, the percentile reflects only the few
/// longest.
const FEWEST_ABOVE: f64 = 10.0;

/// The [`IRRELEVANT`] of samples: 1 % of the differences above it had the wrong sign
/// (docs/sampling.md).
const IRRELEVANT_IN_SAMPLES: f64 = 0.03;

/// The policy that all others are compared with.
const BASELINE: &str = "greedy";

/// The aim for which a policy is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aim {
    /// Most host writes before the flash wears out.
    #[default]
    Endurance,
    /// Shortest write response times, 99th percentile.
    Latency,
    /// Least RAM.
    Memory,
    /// Lowest product of the three.
    Balanced,
}

impl Aim {
    /// All aims.
    pub const ALL: [Self; 4] = [Self::Endurance, Self::Latency, Self::Memory, Self::Balanced];

    /// Its name for users.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Endurance => "endurance",
            Self::Latency => "latency",
            Self::Memory => "memory",
            Self::Balanced => "balanced",
        }
    }
}

/// Where the policy is to be implemented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buildable {
    /// In a controller alone.
    #[default]
    Controller,
    /// A host that places its own data.
    Host,
    /// In either.
    Any,
}

impl Buildable {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Controller, Self::Host, Self::Any];

    /// Its name for users.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Host => "host",
            Self::Any => "any",
        }
    }

    /// Why the policy of a run cannot be implemented there.
    fn refuses(self, run: &RunResult) -> Option<Reason> {
        match (self, run.models_host()) {
            (Self::Controller, true) => Some(Reason::ModelsHost),
            (Self::Host, false) => Some(Reason::ModelsController),
            _ => None,
        }
    }
}

/// The request: an aim, and which policies can be implemented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// The aim.
    pub aim: Aim,
    /// Where the policy is to be implemented.
    pub buildable: Buildable,
}

/// Why a policy that ran is not a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It models a host that places its own data.
    ModelsHost,
    /// It models a controller.
    ModelsController,
    /// The device could not keep up, so its response times are those of a growing queue.
    Overloaded,
}

/// A policy that ran and is not a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The policy.
    pub policy: String,
    /// The reason.
    pub reason: Reason,
}

/// A policy and its runs: for each input one run with each seed, with the same seeds for all
/// inputs.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// Its name in results.
    pub name: &'a str,
    /// Its runs by input.
    pub runs: Vec<&'a [RunResult]>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The aim.
    pub aim: &'static str,
    /// Where the policy is to be implemented.
    pub buildable: &'static str,
    /// Policies that ran and are not candidates.
    pub left_out: Vec<LeftOut>,
    /// The key of the deciding metric; `balanced` for the product of three.
    pub metric: &'static str,
    /// The policy to choose; `null` if the candidates cannot be distinguished.
    pub best: Option<String>,
    /// By how much the next policy that is not a tie is worse; `null` if there is none.
    pub margin: Option<f64>,
    /// The next policy that is not a tie.
    pub next: Option<String>,
    /// By how much greedy is worse; `null` if greedy is the best or did not run.
    pub over_greedy: Option<f64>,
    /// Policies that tie with the best.
    pub ties: Vec<String>,
    /// By how much the best writes more than the oracle; `null` if that was not measured.
    pub over_oracle: Option<f64>,
    /// The costs of the best.
    pub costs: Option<Costs>,
    /// The costs of greedy, if it ran.
    pub greedy_costs: Option<Costs>,
    /// Whether some lifetimes could not be extrapolated, so that write amplification was used
    /// instead.
    pub few_erases: bool,
    /// The time that the best needs relative to the time of its trace, if the device is overloaded.
    pub overloaded: Option<f64>,
    /// Policies whose write amplification had not settled at the end of a run.
    pub unsettled: Vec<String>,
    /// The lowest number of erases behind a policy's figure, if it, and not 1 %, decided what is a
    /// tie.
    pub few_events: Option<u64>,
    /// Why there is no best.
    pub undecided: Option<&'static str>,
}

/// The costs of a policy, averaged over all inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// RAM per logical page.
    pub bytes_per_page: Option<f64>,
    /// RAM in total.
    pub total_bytes: Option<f64>,
    /// The 99th percentile of write response times.
    pub write_p99_us: Option<f64>,
}

/// Answers a request.
#[must_use]
pub fn answer(wish: Wish, candidates: &[Candidate<'_>]) -> Answer {
    let Wish { aim, buildable } = wish;
    let finished = eligible(candidates);
    let ranks_times = matches!(aim, Aim::Latency | Aim::Balanced);
    let reason = |candidate: &Candidate<'_>| {
        let late = |run: &RunResult| ranks_times && run.lifetime.overloaded;
        let mut runs = candidate.runs.iter().copied().flatten();
        runs.find_map(|run| buildable.refuses(run).or(late(run).then_some(Reason::Overloaded)))
    };
    let left_out: Vec<_> = finished
        .iter()
        .filter_map(|c| Some(LeftOut { policy: c.name.to_owned(), reason: reason(c)? }))
        .collect();
    let candidates: Vec<_> = finished.into_iter().filter(|c| reason(c).is_none()).collect();
    let runs = || candidates.iter().flat_map(|c| c.runs.iter().copied().flatten());
    let few_erases = runs().any(|run| run.lifetime.few_erases);
    let life = if few_erases { Score::Amplification } else { Score::Tbw };
    let (metric, scores) = match aim {
        Aim::Endurance => (life.key(), vec![life]),
        Aim::Latency => (Score::WriteP99.key(), vec![Score::WriteP99]),
        Aim::Memory => (Score::Memory.key(), vec![Score::Memory]),
        Aim::Balanced => ("balanced", vec![life, Score::WriteP99, Score::Memory]),
    };
    let unsettled = candidates.iter().filter(|c| c.runs().any(RunResult::is_unsettled));
    let mut answer = Answer {
        aim: aim.name(),
        buildable: buildable.name(),
        unsettled: unsettled.map(|c| c.name.to_owned()).collect(),
        few_events: None,
        left_out,
        metric,
        best: None,
        margin: None,
        next: None,
        over_greedy: None,
        ties: Vec::new(),
        over_oracle: None,
        costs: None,
        greedy_costs: None,
        few_erases: few_erases && matches!(aim, Aim::Endurance | Aim::Balanced),
        overloaded: None,
        undecided: None,
    };
    let scored: Vec<Scored<'_>> =
        candidates.iter().filter_map(|c| Scored::of(c, &scores, aim)).collect();
    answer.undecided = match () {
        () if candidates.is_empty() => {
            Some(match answer.left_out.iter().map(|out| out.reason).max() {
                None => "no policy finished",
                Some(Reason::Overloaded) => {
                    "the device is overloaded with every policy, and response times are those of a growing queue"
                }
                Some(Reason::ModelsHost) => {
                    "every policy stands for a host that places its own data"
                }
                Some(Reason::ModelsController) => {
                    "no policy stands for a host that places its own data"
                }
            })
        }
        () if scored.is_empty() => Some("the runs have no such figure"),
        () if aim != Aim::Memory && !runs().any(|run| run.cleaning.victims > 0) => {
            Some("nothing was cleaned")
        }
        () if ranks_times
            && runs().any(|run| (run.response_us.write.count as f64) < FEWEST_ABOVE * 100.0) =>
        {
            Some("there are fewer than 1,000 writes, too few for a 99th percentile")
        }
        () => None,
    };
    if answer.undecided.is_none() {
        decide(&mut answer, &scored);
    }
    answer
}

fn decide(answer: &mut Answer, scored: &[Scored<'_>]) {
    let Some(least) = scored.iter().min_by(|a, b| a.mean().total_cmp(&b.mean())) else { return };
    let (tied, others): (Vec<_>, Vec<_>) =
        scored.iter().partition(|s| s.candidate.name == least.candidate.name || s.ties(least));
    let Some(best) = choice(&tied) else { return };
    let over = |other: &Scored<'_>| (other.mean() - best.mean()).exp_m1();
    let next = others.iter().min_by(|a, b| a.mean().total_cmp(&b.mean()));
    let greedy = scored.iter().find(|s| s.candidate.name == BASELINE);
    answer.best = Some(best.candidate.name.to_owned());
    answer.margin = next.map(|next| over(next));
    answer.next = next.map(|next| next.candidate.name.to_owned());
    answer.over_greedy =
        greedy.filter(|greedy| greedy.candidate.name != best.candidate.name).map(over);
    let named = tied.iter().map(|s| s.candidate.name).filter(|name| *name != best.candidate.name);
    answer.ties = named.map(str::to_owned).collect();
    let excess = |run: &RunResult| run.oracle.as_ref().map(|oracle| oracle.excess + 1.0);
    answer.over_oracle = best.candidate.mean(excess).map(|ratio| ratio - 1.0);
    let runs = best.candidate.runs.iter().copied().flatten();
    let late = runs.filter(|run| run.lifetime.overloaded);
    answer.overloaded = late.filter_map(|run| run.lifetime.time_factor).reduce(f64::max);
    // Some differences above 1 % are still ties because of the number of events.
    let coarse = |s: &&&Scored<'_>| {
        s.mean() - least.mean() > IRRELEVANT.ln_1p() && s.resolution > IRRELEVANT
    };
    if tied.iter().any(|s| coarse(&s)) {
        answer.few_events = scored.iter().filter_map(|s| s.events).min();
    }
    answer.costs = Some(Costs::of(best.candidate));
    answer.greedy_costs = greedy.map(|greedy| Costs::of(greedy.candidate));
}

/// Of ties, the one with the least memory; of those, the best.
fn choice<'a, 's>(tied: &[&'s Scored<'a>]) -> Option<&'s Scored<'a>> {
    let least = tied.iter().map(|s| s.second).reduce(f64::min)?;
    let small = tied.iter().filter(|s| s.second <= least * (1.0 + IRRELEVANT));
    small.min_by(|a, b| a.mean().total_cmp(&b.mean())).copied()
}

/// Candidates that ran all inputs and did not know the future.
fn eligible<'a, 'r>(candidates: &'a [Candidate<'r>]) -> Vec<&'a Candidate<'r>> {
    let inputs = candidates.iter().map(|c| c.runs.len()).max().unwrap_or(0);
    let most = |input: usize| {
        let runs = candidates.iter().filter_map(|c| c.runs.get(input)).copied().flatten();
        runs.map(|run| run.host.requests).max().unwrap_or(0)
    };
    let most: Vec<_> = (0..inputs).map(most).collect();
    let finished = |c: &&Candidate<'_>| {
        let ends = |(runs, most): (&&[RunResult], &u64)| {
            !runs.is_empty() && runs.iter().all(|r| r.host.requests == *most && !r.knows_future())
        };
        c.runs.len() == inputs && c.runs.iter().zip(&most).all(ends)
    };
    candidates.iter().filter(finished).collect()
}

impl Candidate<'_> {
    /// All runs.
    fn runs(&self) -> impl Iterator<Item = &RunResult> {
        self.runs.iter().copied().flatten()
    }

    /// The geometric mean of a figure over all runs.
    fn mean(&self, figure: impl Fn(&RunResult) -> Option<f64>) -> Option<f64> {
        let runs = self.runs.iter().copied().flatten();
        let values = runs.map(figure).collect::<Option<Vec<f64>>>()?;
        if let [only] = values[..] {
            return Some(only);
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        if logs.is_empty() {
            return None;
        }
        Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }
}

impl Costs {
    fn of(candidate: &Candidate<'_>) -> Self {
        let memory = |run: &RunResult| run.memory;
        Self {
            bytes_per_page: candidate.mean(|run| memory(run).map(|m| m.bytes_per_page)),
            total_bytes: candidate.mean(|run| memory(run).map(|m| m.total_bytes as f64)),
            write_p99_us: candidate.mean(|run| run.response_us.write.p99),
        }
    }
}

/// A figure by which policies are ranked.
#[derive(Clone, Copy)]
enum Score {
    Tbw,
    Amplification,
    WriteP99,
    Memory,
}

impl Score {
    const fn key(self) -> &'static str {
        match self {
            Self::Tbw => "lifetime.tbw_bytes",
            Self::Amplification => "write_amplification",
            Self::WriteP99 => "response_us.write.p99",
            Self::Memory => "memory.total_bytes",
        }
    }

    /// The logarithm of a run's score; the less the better.
    fn of(self, run: &RunResult) -> Option<f64> {
        let score = match self {
            Self::Tbw => run.lifetime.tbw_bytes.map(f64::recip),
            Self::Amplification => run.write_amplification,
            Self::WriteP99 => run.response_us.write.p99,
            Self::Memory => run.memory.map(|memory| memory.total_bytes as f64),
        };
        score.filter(|score| *score > 0.0).map(f64::ln)
    }
}

struct Scored<'a> {
    candidate: &'a Candidate<'a>,
    /// The mean logarithm of the score with each seed.
    seeds: Vec<f64>,
    /// The score that decides between ties.
    second: f64,
    /// Erases behind the score in the run with the fewest, where the score depends on erases.
    events: Option<u64>,
    /// The smallest difference that is not chance.
    resolution: f64,
}

impl<'a> Scored<'a> {
    fn of(candidate: &'a Candidate<'a>, scores: &[Score], aim: Aim) -> Option<Self> {
        let seeds = candidate.runs.iter().map(|runs| runs.len()).min()?;
        let inputs = candidate.runs.len() as f64;
        let of_run = |run: &RunResult| -> Option<f64> {
            let all: Option<Vec<f64>> = scores.iter().map(|score| score.of(run)).collect();
            all.map(|all| all.iter().sum::<f64>() / scores.len() as f64)
        };
        let of_seed = |seed: usize| -> Option<f64> {
            let all: Option<Vec<f64>> =
                candidate.runs.iter().map(|runs| of_run(&runs[seed])).collect();
            all.map(|all| all.iter().sum::<f64>() / inputs)
        };
        let seeds: Option<Vec<f64>> = (0..seeds).map(of_seed).collect();
        let costs = Costs::of(candidate);
        let second = match aim {
            Aim::Memory => candidate.mean(|run| run.write_amplification),
            Aim::Endurance | Aim::Latency | Aim::Balanced => costs.total_bytes,
        };
        let counts_erases = scores.iter().any(|s| matches!(s, Score::Tbw | Score::Amplification));
        let events = candidate.runs().map(|run| run.lifetime.from_erases).min();
        let events = events.filter(|events| counts_erases && *events > 0);
        let sampled = candidate.runs().any(|run| run.sample.is_some());
        let least = if sampled { IRRELEVANT_IN_SAMPLES } else { IRRELEVANT };
        // In a product of scores, erases determine one factor.
        let share = events.map_or(0.0, |events| EVENTS / events as f64 / scores.len() as f64);
        Some(Self {
            candidate,
            seeds: seeds?,
            second: second.unwrap_or(0.0),
            events,
            resolution: least.max(share),
        })
    }

    fn mean(&self) -> f64 {
        self.seeds.iter().sum::<f64>() / self.seeds.len() as f64
    }

    /// Whether this score is a tie with the lowest.
    fn ties(&self, least: &Self) -> bool {
        is_tie(&self.seeds, &least.seeds, self.resolution.max(least.resolution))
    }
}

/// Whether two lists of logarithms, with the same seeds, do not differ significantly: by less than
/// the relevant difference, or by no more than chance at 95 %.
fn is_tie(a: &[f64], b: &[f64], irrelevant: f64) -> bool {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let Some(interval) = Interval::of(&differences) else { return true };
    interval.mean.abs() < irrelevant.ln_1p() || interval.mean.abs() <= interval.half
}

/// The smallest relevant difference of two figures, where the one with fewer erases has this many.
#[must_use]
pub fn resolution(erases: u64) -> f64 {
    if erases == 0 { IRRELEVANT } else { IRRELEVANT.max(EVENTS / erases as f64) }
}

/// Whether figures of two policies with the same seeds are ties.
#[must_use]
pub fn are_tied(a: &[f64], b: &[f64]) -> bool {
    are_tied_within(a, b, IRRELEVANT)
}

/// [`are_tied`], where differences below a [`resolution`] are chance.
#[must_use]
pub fn are_tied_within(a: &[f64], b: &[f64], irrelevant: f64) -> bool {
    if a == b {
        return true;
    }
    let logs = |values: &[f64]| -> Option<Vec<f64>> {
        values.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect()
    };
    match (logs(a), logs(b)) {
        (Some(a), Some(b)) => is_tie(&a, &b, irrelevant),
        // Zero is much less than any positive number.
        _ => {
            let sum = |values: &[f64]| values.iter().sum::<f64>();
            (sum(a) - sum(b)).abs() <= irrelevant * sum(a).abs().max(sum(b).abs())
        }
    }
}
