//! Which policy to choose, and by how much it is better.
//!
//! Every candidate has a score for an aim, the less the better, on each input and with each seed;
//! scores of several inputs are combined by their geometric mean. Candidates that differ by less than
//! [`IRRELEVANT`], by less than three of the events that were counted, or by no more than the seeds do, are
//! ties, and of ties the one with the least memory is the answer. A policy that knows the future or did not finish
//! is no candidate; [`Answer::left_out`] names those that are none for a reason of the asker's.

use serde::Serialize;

use crate::{RunResult, statistics::Interval};

/// A difference that decides nothing: other traffic or another device would turn it round.
pub const IRRELEVANT: f64 = 0.01;

/// Events by which two counts may differ without a meaning: where a run begins and ends between two erases is chance.
const EVENTS: f64 = 3.0;

/// Writes above a percentile below which it is no more than the longest few.
const FEWEST_ABOVE: f64 = 10.0;

/// As above, of a sample: 1 % of differences above it were of the wrong sign (docs/sampling.md).
const IRRELEVANT_IN_SAMPLES: f64 = 0.03;

/// The policy that everything is compared with.
const BASELINE: &str = "greedy";

/// What a policy is chosen for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aim {
    /// The most host writes before the flash wears out.
    #[default]
    Endurance,
    /// The shortest write response times, 99th percentile.
    Latency,
    /// The least RAM.
    Memory,
    /// The least product of the three.
    Balanced,
}

impl Aim {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Endurance, Self::Latency, Self::Memory, Self::Balanced];

    /// What users call it.
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

/// Who builds the policy that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buildable {
    /// A controller, by itself.
    #[default]
    Controller,
    /// A host that places its own data.
    Host,
    /// Either.
    Any,
}

impl Buildable {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Controller, Self::Host, Self::Any];

    /// What users call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Host => "host",
            Self::Any => "any",
        }
    }

    /// Why a policy cannot be built by who asks.
    fn refuses(self, run: &RunResult) -> Option<Reason> {
        match (self, run.models_host()) {
            (Self::Controller, true) => Some(Reason::ModelsHost),
            (Self::Host, false) => Some(Reason::ModelsController),
            _ => None,
        }
    }
}

/// A policy for an aim, from those that can be built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// What it is for.
    pub aim: Aim,
    /// Who builds it.
    pub buildable: Buildable,
}

/// Why a policy that ran is no candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It stands for a host that places its own data.
    ModelsHost,
    /// It stands for a controller.
    ModelsController,
    /// The device could not keep up: its response times are those of a queue.
    Overloaded,
}

/// A policy that ran and is no candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The policy.
    pub policy: String,
    /// Why.
    pub reason: Reason,
}

/// A policy, and its runs: for each input one with each seed, the same seeds for all.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// What results call it.
    pub name: &'a str,
    /// Its runs by input.
    pub runs: Vec<&'a [RunResult]>,
}

/// Which policy to choose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// What it was chosen for.
    pub aim: &'static str,
    /// Who is to build it.
    pub buildable: &'static str,
    /// Policies that ran and are no candidates.
    pub left_out: Vec<LeftOut>,
    /// The key of the metric that decided; `balanced` for the product of three.
    pub metric: &'static str,
    /// The policy to choose; `null` where nothing tells them apart.
    pub best: Option<String>,
    /// By how much the next policy that is no tie is worse; `null` where there is none.
    pub margin: Option<f64>,
    /// That policy.
    pub next: Option<String>,
    /// By how much greedy is worse; `null` where it is the best or did not run.
    pub over_greedy: Option<f64>,
    /// Policies that are as good, whatever the noise.
    pub ties: Vec<String>,
    /// How much more the best writes than the oracle; `null` where that was not measured.
    pub over_oracle: Option<f64>,
    /// What the best costs.
    pub costs: Option<Costs>,
    /// What greedy costs, where it ran.
    pub greedy_costs: Option<Costs>,
    /// Whether some lifetimes could not be extrapolated: the write amplification stands in for them.
    pub few_erases: bool,
    /// The time the best needs over the time its trace has, where that is too much.
    pub overloaded: Option<f64>,
    /// Policies whose write amplification had not settled when a run ended.
    pub unsettled: Vec<String>,
    /// Erases behind the figure of the policy that had fewest, where their number and not 1 % said what a tie is.
    pub few_events: Option<u64>,
    /// Why there is no best.
    pub undecided: Option<&'static str>,
}

/// What a policy costs, on average over all inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// RAM for each logical page.
    pub bytes_per_page: Option<f64>,
    /// RAM in all.
    pub total_bytes: Option<f64>,
    /// The 99th percentile of write response times.
    pub write_p99_us: Option<f64>,
}

/// Answers for an aim.
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
    // Where 1 % would have told two of them apart, the number of events did not.
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

/// Candidates that did all that the others did, and did not know the future.
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
    /// All of them.
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
    /// What decides between ties.
    second: f64,
    /// Erases behind the score, in the run that had fewest; where they are behind it.
    events: Option<u64>,
    /// The least difference that is none of chance.
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
        // Of a product of scores the erases decide one.
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

    /// Whether this is no worse than the least, for all that is known.
    fn ties(&self, least: &Self) -> bool {
        is_tie(&self.seeds, &least.seeds, self.resolution.max(least.resolution))
    }
}

/// Whether two lists of logarithms, the same seeds in both, differ by nothing that matters: by less
/// than is relevant, or by no more than chance would have it at 95 %.
fn is_tie(a: &[f64], b: &[f64], irrelevant: f64) -> bool {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let Some(interval) = Interval::of(&differences) else { return true };
    interval.mean.abs() < irrelevant.ln_1p() || interval.mean.abs() <= interval.half
}

/// The least difference of two figures that is none of chance, with so many erases behind the one with fewer.
#[must_use]
pub fn resolution(erases: u64) -> f64 {
    if erases == 0 { IRRELEVANT } else { IRRELEVANT.max(EVENTS / erases as f64) }
}

/// Whether figures of two policies, the same seeds in both, are ties.
#[must_use]
pub fn are_tied(a: &[f64], b: &[f64]) -> bool {
    are_tied_within(a, b, IRRELEVANT)
}

/// As above, where differences below a [`resolution`] are chance.
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
        // Nothing is much less than something.
        _ => {
            let sum = |values: &[f64]| values.iter().sum::<f64>();
            (sum(a) - sum(b)).abs() <= irrelevant * sum(a).abs().max(sum(b).abs())
        }
    }
}
