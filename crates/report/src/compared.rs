//! Results of all policies on one input.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thermocline_sim::{
    History, RunResult,
    answer::{Answer, Candidate, Wish, answer},
    metric::{Better, Metric},
    statistics::Interval,
    traffic::Traffic,
};

/// Results of all policies on one input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Compared {
    /// The input's name in results.
    pub input: String,
    /// The policies, in the order given.
    pub rows: Vec<Row>,
    /// The host's requests, if charts are wanted.
    pub traffic: Option<Traffic>,
    /// The course of the oracle's run, likewise.
    pub oracle: Option<Arc<History>>,
}

/// The result of a policy: a run with each seed, or why there is none.
#[derive(Debug, Serialize, Deserialize)]
pub struct Row {
    /// The user's name of the policy.
    pub policy: String,
    /// Its runs.
    pub runs: Result<Vec<RunResult>, Refused>,
    /// The course of the first run, if charts are wanted.
    pub history: Option<History>,
}

/// A policy that could not run on an input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Refused {
    /// The input.
    pub trace: String,
    /// The policy.
    pub policy: String,
    /// Why.
    pub error: String,
}

impl Row {
    /// The policy's name in results: a device with few blocks may change its parameters.
    pub fn name(&self) -> &str {
        self.runs().first().map_or(&self.policy, |run| &run.config.policy)
    }

    /// Its runs, if it ran.
    pub fn runs(&self) -> &[RunResult] {
        self.runs.as_deref().unwrap_or_default()
    }

    /// A figure with each seed; none if the policy did not run, or if a run has no such figure.
    pub fn values(&self, metric: &Metric) -> Option<Vec<f64>> {
        let values: Option<Vec<f64>> = self.runs().iter().map(|run| metric.number(run)).collect();
        values.filter(|values| !values.is_empty())
    }

    /// Its mean over all seeds.
    pub fn mean(&self, metric: &Metric) -> Option<f64> {
        self.values(metric).and_then(|values| Interval::of(&values)).map(|interval| interval.mean)
    }
}

impl Compared {
    /// The runs there are.
    pub fn runs(&self) -> impl Iterator<Item = &RunResult> {
        self.rows.iter().flat_map(Row::runs)
    }

    /// The policies that could not run.
    pub fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.rows.iter().filter_map(|row| row.runs.as_ref().err())
    }

    /// The requests of the runs that got furthest: of all, unless some wore the device out before the
    /// end.
    pub fn most_requests(&self) -> u64 {
        self.runs().map(|run| run.host.requests).max().unwrap_or(0)
    }

    /// Sorts the rows by a metric, the best first; text by its letters.
    pub fn sort(&mut self, metric: &Metric) {
        self.rows.sort_by(|a, b| match (a.mean(metric), b.mean(metric)) {
            (Some(a), Some(b)) if metric.look.better == Better::More => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (None, None) => {
                let text = |row: &Row| row.runs().first().map(|run| metric.of(run).to_string());
                // What did not run comes last.
                text(a).is_none().cmp(&text(b).is_none()).then(text(a).cmp(&text(b)))
            }
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
    }
}

/// The policy to choose on these inputs.
pub fn answer_for(wish: Wish, inputs: &[&Compared]) -> Answer {
    let Some(first) = inputs.first() else { return answer(wish, &[]) };
    let candidate = |row: &'_ Row| -> Option<Vec<usize>> {
        let place = |input: &&Compared| input.rows.iter().position(|r| r.policy == row.policy);
        inputs.iter().map(place).collect()
    };
    let candidates: Vec<Candidate<'_>> = first
        .rows
        .iter()
        .filter_map(|row| {
            let places = candidate(row)?;
            let runs = inputs.iter().zip(places).map(|(input, at)| input.rows[at].runs());
            Some(Candidate { name: row.name(), runs: runs.collect() })
        })
        .collect();
    answer(wish, &candidates)
}
