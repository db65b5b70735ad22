//! Summaries of the volumes of a fleet.

use serde::Serialize;
use thermocline_sim::{
    answer::{are_tied_within, resolution},
    result::StoredResult,
};

/// A policy on a volume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Write amplification with each seed; empty if the policy could not run, or if nothing was written.
    pub write_amplification: Vec<f64>,
    /// Pages the host wrote.
    pub pages: u64,
    /// Blocks erased, with the seed that erased fewest: differences of so few events are chance.
    pub erases: u64,
}

/// A policy on all volumes. Percentiles are those of nearest rank over the volumes on which it ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The policy.
    pub policy: String,
    /// Volumes on which it ran and something was written.
    pub volumes: usize,
    /// Write amplification of all volumes as one: flash writes over host writes.
    pub write_amplification: Option<f64>,
    /// Write amplification that half of the volumes have at most.
    pub median: Option<f64>,
    /// As above, of nine in ten.
    pub p90: Option<f64>,
    /// The greatest.
    pub worst: Option<f64>,
    /// The volume that has it.
    pub worst_volume: Option<String>,
    /// Share of the volumes on which no policy is better by more than 1 %, three erases or the noise of the seeds.
    pub best_share: Option<f64>,
}

impl Sample {
    /// Takes the result of a run.
    pub fn add(&mut self, result: &StoredResult) {
        self.write_amplification.extend(result.number("write_amplification"));
        self.pages = result.count("host.pages_written").unwrap_or(0);
        let erases = result.count("lifetime.from_erases").unwrap_or(0);
        let is_first = self.write_amplification.len() <= 1;
        self.erases = if is_first { erases } else { self.erases.min(erases) };
    }

    /// Whether this ties with another policy on the same volume.
    #[must_use]
    pub fn ties(&self, other: &Self) -> bool {
        let resolution = resolution(self.erases.min(other.erases));
        are_tied_within(&self.write_amplification, &other.write_amplification, resolution)
    }

    fn mean(&self) -> Option<f64> {
        let values = &self.write_amplification;
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// Sums up the samples of each volume, a policy each. Policies that know the future (`possible` is false)
/// are never best.
#[must_use]
pub fn summarize(policies: &[(String, bool)], volumes: &[(String, Vec<Sample>)]) -> Vec<Summary> {
    let best: Vec<_> = volumes.iter().map(|(_, samples)| best(policies, samples)).collect();
    let summary = |(at, (policy, possible)): (usize, &(String, bool))| {
        let mut ran: Vec<(f64, u64, &str)> = volumes
            .iter()
            .filter_map(|(name, samples)| {
                Some((samples[at].mean()?, samples[at].pages, name.as_str()))
            })
            .collect();
        let programs: f64 = ran.iter().map(|(mean, pages, _)| mean * *pages as f64).sum();
        let written: u64 = ran.iter().map(|(_, pages, _)| pages).sum();
        ran.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rank = |share: f64| {
            let rank = (share * ran.len() as f64).ceil() as usize;
            ran.get(rank.max(1) - 1).map(|(mean, ..)| *mean)
        };
        let wins = best.iter().filter(|best| best.contains(&at)).count();
        let contested = best.iter().filter(|best| !best.is_empty()).count();
        Summary {
            policy: policy.clone(),
            volumes: ran.len(),
            write_amplification: (written > 0).then(|| programs / written as f64),
            median: rank(0.5),
            p90: rank(0.9),
            worst: ran.last().map(|(mean, ..)| *mean),
            worst_volume: ran.last().map(|(.., name)| (*name).to_owned()),
            best_share: (*possible && contested > 0).then(|| wins as f64 / contested as f64),
        }
    };
    policies.iter().enumerate().map(summary).collect()
}

/// The policies that are best on a volume, or tie with the best.
fn best(policies: &[(String, bool)], samples: &[Sample]) -> Vec<usize> {
    let possible = || (0..samples.len()).filter(|at| policies[*at].1);
    let least = possible().filter_map(|at| Some((samples[at].mean()?, at)));
    let Some((_, least)) = least.min_by(|a, b| a.0.total_cmp(&b.0)) else { return Vec::new() };
    let ties = |at: &usize| {
        !samples[*at].write_amplification.is_empty() && samples[*at].ties(&samples[least])
    };
    possible().filter(ties).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_is_weighted_by_its_writes() {
        let policies =
            [("a".to_owned(), true), ("b".to_owned(), true), ("oracle".to_owned(), false)];
        let sample = |wa: f64, pages| Sample { write_amplification: vec![wa], pages, erases: 1000 };
        let none = Sample::default;
        let volumes: Vec<_> = [
            ("large", vec![sample(2.0, 900), sample(1.0, 900), sample(0.9, 900)]),
            ("small", vec![sample(1.0, 100), sample(3.0, 100), sample(0.9, 100)]),
            ("tie", vec![sample(1.0, 0), sample(1.005, 0), sample(0.9, 0)]),
            ("unwritten", vec![none(), none(), none()]),
        ]
        .map(|(name, samples)| (name.to_owned(), samples))
        .into();
        let all = summarize(&policies, &volumes);
        assert_eq!(all[0].write_amplification, Some(1.9));
        assert_eq!(all[1].write_amplification, Some(1.2));
        assert_eq!((all[0].volumes, all[0].median, all[0].worst), (3, Some(1.0), Some(2.0)));
        assert_eq!(all[1].worst_volume.as_deref(), Some("small"));
        let shares: Vec<_> = all.iter().map(|summary| summary.best_share).collect();
        assert_eq!(shares, [Some(2.0 / 3.0), Some(2.0 / 3.0), None]);
    }

    #[test]
    fn a_few_erases_make_no_policy_the_best_of_a_volume() {
        let policies = [("a".to_owned(), true), ("b".to_owned(), true)];
        let sample = |wa: f64, erases| Sample { write_amplification: vec![wa], pages: 100, erases };
        let shares = |erases| -> Vec<_> {
            let volume = ("v".to_owned(), vec![sample(1.00, erases), sample(1.06, erases + 1)]);
            summarize(&policies, &[volume]).iter().map(|summary| summary.best_share).collect()
        };
        assert_eq!(shares(16), [Some(1.0), Some(1.0)]);
        assert_eq!(shares(1600), [Some(1.0), Some(0.0)]);
    }
}
