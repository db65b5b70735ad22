//! The page of a fleet: policies × traces first, then how the volumes spread. What it draws and lists has bounds, so
//! that a thousand volumes make a page no larger than a hundred.

use thermocline_chart::{Chart, Kind, Plot, Point, Series};
use thermocline_sim::answer::resolution;
use thermocline_units::show_size;

use crate::{
    colours,
    comparison::{Repeat, repeats},
    names, number,
    page::{Block, Cell, Page, Rows, Section},
};

/// Points of a curve.
const POINTS: usize = 200;
/// Bins of a distribution.
const BINS: usize = 40;
/// Volumes in the table, those with the most writes first.
const VOLUMES: usize = 100;
/// Traces in the first table.
const TRACES: usize = 20;
/// A policy is as good as the best where it is worse by no more than this.
const TIED: f64 = 0.01;

/// The results of a fleet.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// The policies, and whether they can be chosen.
    pub policies: Vec<(String, bool)>,
    /// The volumes, in the order of the traces.
    pub volumes: Vec<Volume>,
    /// The answer, in a sentence or two.
    pub answer: String,
}

/// A volume of a fleet.
#[derive(Clone, Debug, Default)]
pub struct Volume {
    /// The trace it is of.
    pub trace: String,
    /// Its name.
    pub name: String,
    /// Bytes written to it.
    pub bytes_written: u64,
    /// Pages written to it.
    pub pages: u64,
    /// Write amplification of each policy that ran.
    pub amplification: Vec<Option<f64>>,
    /// Erases behind that, of which a few decide nothing; empty where they are not known.
    pub erases: Vec<u64>,
}

impl Volume {
    /// The policies that are best here, or tie with the best, among those that can be chosen.
    fn best(&self, policies: &[(String, bool)]) -> Vec<usize> {
        let ran = self.amplification.iter().zip(policies).enumerate();
        let possible: Vec<(usize, f64)> = ran
            .filter(|(_, (_, (_, can)))| *can)
            .filter_map(|(at, (wa, _))| Some((at, (*wa)?)))
            .collect();
        let Some(least) = possible.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Vec::new();
        };
        let erases = |at: usize| self.erases.get(at).copied().unwrap_or(0);
        let ties = |(at, wa): &&(usize, f64)| {
            *wa <= least.1 * (1.0 + resolution(erases(*at).min(erases(least.0))))
        };
        possible.iter().filter(ties).map(|(at, _)| *at).collect()
    }
}

/// The page of a fleet.
#[must_use]
pub fn page(fleet: &Fleet, repeat: &Repeat) -> Page {
    let volumes = number::counted(fleet.volumes.len() as u64, "volume");
    let policies = number::counted(fleet.policies.len() as u64, "policy");
    let mut listed = vec![Block::Table(fleet.listed())];
    if let Some(more @ 1..) = fleet.volumes.len().checked_sub(VOLUMES) {
        listed.push(Block::Text(format!(
            "{} with fewer writes are left out here; the table as CSV has all.",
            number::counted(more as u64, "volume")
        )));
    }
    let section = |title: &str, blocks| Section { title: title.into(), blocks };
    Page {
        title: format!("{} on {volumes}", policies.replace("policys", "policies")),
        lead: Some(fleet.answer.clone()).filter(|answer| !answer.is_empty()).into_iter().collect(),
        sections: vec![
            section("Policies and traces", vec![Block::Table(fleet.table())]),
            section("How the volumes spread", vec![Block::Charts(charts(fleet))]),
            section("Volumes", listed),
            repeats(repeat, Vec::new()),
        ],
    }
}

/// Every chart of a fleet, for files.
#[must_use]
pub fn charts(fleet: &Fleet) -> Vec<Chart> {
    let ran = fleet.volumes.iter().any(|volume| volume.amplification.iter().any(Option::is_some));
    if !ran {
        return Vec::new();
    }
    vec![fleet.curves(), fleet.density(), fleet.shares()]
}

impl Fleet {
    /// The values of a policy, in ascending order.
    fn values(&self, policy: usize) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.volumes.iter().filter_map(|volume| volume.amplification[policy]).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Write amplification of all volumes, or of those of a trace, as one device.
    #[must_use]
    pub fn together(&self, policy: usize, trace: Option<&str>) -> Option<f64> {
        let volumes = self.volumes.iter().filter(|v| trace.is_none_or(|trace| v.trace == trace));
        let ran = volumes.filter_map(|v| Some((v.amplification[policy]?, v.pages as f64)));
        let (programs, pages) =
            ran.fold((0.0, 0.0), |sum, (wa, pages)| (sum.0 + wa * pages, sum.1 + pages));
        (pages > 0.0).then(|| programs / pages)
    }

    fn colours(&self) -> Vec<usize> {
        let named = self.policies.iter().enumerate();
        let all: Vec<_> =
            named.map(|(at, (name, _))| (name.as_str(), self.together(at, None))).collect();
        colours::of(&all)
    }

    /// Shares of the volumes on which each policy is best, or ties with the best.
    fn best_shares(&self) -> Vec<Option<f64>> {
        let best = self.volumes.iter().map(|volume| volume.best(&self.policies));
        let contested: Vec<_> = best.filter(|best| !best.is_empty()).collect();
        let share = |(at, (_, can)): (usize, &(String, bool))| {
            let wins = contested.iter().filter(|best| best.contains(&at)).count();
            (*can && !contested.is_empty()).then(|| wins as f64 / contested.len() as f64)
        };
        self.policies.iter().enumerate().map(share).collect()
    }

    /// The traces, in order.
    fn traces(&self) -> Vec<&str> {
        let mut traces: Vec<&str> = Vec::new();
        for volume in &self.volumes {
            if traces.last() != Some(&volume.trace.as_str()) && !traces.contains(&&*volume.trace) {
                traces.push(&volume.trace);
            }
        }
        traces
    }

    /// Policies × traces, and the distribution over the volumes.
    fn table(&self) -> Rows {
        let traces = self.traces();
        let shown = if traces.len() > 1 { &traces[..traces.len().min(TRACES)] } else { &[] };
        let mut header = vec!["policy".to_owned(), "fleet".to_owned()];
        header.extend(shown.iter().map(|trace| names::file(trace).to_owned()));
        header.extend(["median", "90 %", "worst", "best on"].map(str::to_owned));
        let shares = self.best_shares();
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        for (at, (policy, _)) in self.policies.iter().enumerate() {
            let values = self.values(at);
            let mut figures = vec![self.together(at, None)];
            figures.extend(shown.iter().map(|trace| self.together(at, Some(trace))));
            figures.extend([rank(&values, 0.5), rank(&values, 0.9), values.last().copied()]);
            let name = Cell { text: policy.clone(), value: None, best: false };
            let mut row = vec![name];
            row.extend(figures.into_iter().map(|value| cell(value, |v| number::fixed(v, 3))));
            row.push(cell(shares[at], number::percent));
            rows.push(row);
        }
        self.mark(&mut rows);
        Rows { title: "Write amplification".into(), header, rows }
    }

    /// Marks the best of each column, among the policies that can be chosen.
    fn mark(&self, rows: &mut [Vec<Cell>]) {
        let columns = rows.first().map_or(0, Vec::len);
        for column in 1..columns {
            let less = column + 1 < columns;
            let possible = (0..rows.len())
                .filter(|at| self.policies[*at].1)
                .filter_map(|at| rows[at][column].value);
            let best = if less { possible.reduce(f64::min) } else { possible.reduce(f64::max) };
            let Some(best) = best else { continue };
            for (at, row) in rows.iter_mut().enumerate() {
                let close = |v: f64| (v - best).abs() <= TIED * best.abs();
                row[column].best = self.policies[at].1 && row[column].value.is_some_and(close);
            }
        }
    }

    /// The volumes with the most writes.
    fn listed(&self) -> Rows {
        let several = self.traces().len() > 1;
        let mut header = if several { vec!["trace".to_owned()] } else { Vec::new() };
        header.extend(["volume", "written"].map(str::to_owned));
        header.extend(self.policies.iter().map(|(name, _)| name.clone()));
        let mut order: Vec<&Volume> = self.volumes.iter().collect();
        order.sort_by_key(|volume| std::cmp::Reverse(volume.bytes_written));
        let row = |volume: &&Volume| {
            let text = |text: &str| Cell { text: text.to_owned(), value: None, best: false };
            let mut row = if several { vec![text(names::file(&volume.trace))] } else { Vec::new() };
            row.push(text(&volume.name));
            row.push(cell(Some(volume.bytes_written as f64), |v| show_size(v as u64)));
            let best = volume.best(&self.policies);
            row.extend(volume.amplification.iter().enumerate().map(|(at, wa)| Cell {
                best: best.contains(&at),
                ..cell(*wa, |v| number::fixed(v, 3))
            }));
            row
        };
        let rows = order.iter().take(VOLUMES).map(row).collect();
        Rows { title: "Write amplification of volumes, most written first".into(), header, rows }
    }

    /// The cumulative share of volumes by value.
    fn curves(&self) -> Chart {
        let colours = self.colours();
        let series = self.policies.iter().enumerate().map(|(at, (name, _))| {
            let values = self.values(at);
            let steps = values.len().min(POINTS);
            let point = |step: usize| {
                let share = (step + 1) as f64 / steps as f64;
                Some(Point::at(rank(&values, share)?, share * 100.0))
            };
            let ours = (0..steps).filter_map(point).collect();
            Series { colour: Some(colours[at]), ..Series::new(name.clone(), ours) }
        });
        let series = series.collect();
        Chart {
            name: "fleet-distribution".into(),
            title: "Share of volumes with at most this write amplification".into(),
            about: "A curve further left is better; one that is steep treats all volumes alike."
                .into(),
            plot: Plot {
                x_log: true,
                ..Plot::new(Kind::Lines, "write amplification", "share of volumes, %", series)
            },
        }
    }

    /// The number of volumes of each policy by value.
    fn density(&self) -> Chart {
        let all: Vec<f64> = (0..self.policies.len()).flat_map(|at| self.values(at)).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min).max(1e-3).log10();
        let most = all.iter().copied().fold(0.0, f64::max).max(1e-3).log10();
        let width = ((most - least) / BINS as f64).max(1e-6);
        let mut cells = Vec::new();
        for at in 0..self.policies.len() {
            let values = self.values(at);
            let mut counts = [0_u32; BINS];
            for value in &values {
                let bin = ((value.max(1e-3).log10() - least) / width) as usize;
                counts[bin.min(BINS - 1)] += 1;
            }
            // Policies stand from top to bottom, as in the table.
            let row = (self.policies.len() - 1 - at) as f64;
            for (bin, count) in counts.iter().enumerate() {
                let x = 10_f64.powf(least + (bin as f64 + 0.5) * width);
                let z = f64::from(*count) / values.len().max(1) as f64 * 100.0;
                cells.push(Point { x, y: row, half: 0.0, z });
            }
        }
        let levels = self.policies.iter().rev().map(|(name, _)| name.clone()).collect();
        Chart {
            name: "fleet-density".into(),
            title: "How the volumes of each policy spread".into(),
            about: "Each row is a policy; the stronger the colour of a cell, the more of its volumes have this write amplification.".into(),
            plot: Plot {
                x_log: true,
                levels: Some(levels),
                z_title: "share of volumes, %".into(),
                ..Plot::new(Kind::Heat, "write amplification", "policy", vec![Series::new("", cells)])
            },
        }
    }

    /// The number of volumes on which each policy is best.
    fn shares(&self) -> Chart {
        let colours = self.colours();
        let shares = self.best_shares();
        let known = shares.iter().enumerate().filter_map(|(at, share)| Some((at, (*share)?)));
        let known: Vec<_> = known.collect();
        let series = known.iter().enumerate().map(|(row, (at, share))| Series {
            colour: Some(colours[*at]),
            ..Series::new(self.policies[*at].0.clone(), vec![Point::at(row as f64, share * 100.0)])
        });
        let series = series.collect();
        let names = known.iter().map(|(at, _)| self.policies[*at].0.clone()).collect();
        Chart {
            name: "fleet-best".into(),
            title: "Share of volumes on which a policy is best".into(),
            about: "No other policy is better by more than 1 % and three erases there, so shares may add up to more than 100 %.".into(),
            plot: Plot {
                categories: Some(names),
                ..Plot::new(Kind::Ranks, "share of volumes, %", "policy", series)
            },
        }
    }
}

fn cell(value: Option<f64>, show: impl Fn(f64) -> String) -> Cell {
    Cell { text: value.map_or_else(|| number::NONE.into(), show), value, best: false }
}

/// The value that this share of the sorted values has at most.
fn rank(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(volumes: usize, policies: usize) -> Fleet {
        let names = ["greedy", "cat", "dac", "sep-bit", "midas", "lfs", "fifo", "thermocline"];
        let volume = |at: usize| Volume {
            trace: format!("/folder/of/traces/t{}.csv", at % 3),
            name: format!("volume-{at}"),
            bytes_written: (at * 7919 % 1000) as u64 * 4096,
            pages: (at * 7919 % 1000) as u64,
            amplification: (0..policies)
                .map(|policy| Some(1.0 + ((at * 31 + policy * 17) % 97) as f64 / 24.0))
                .collect(),
            erases: Vec::new(),
        };
        Fleet {
            policies: (0..policies).map(|at| (names[at % 8].into(), at != 1)).collect(),
            volumes: (0..volumes).map(volume).collect(),
            answer: "Answer: greedy.".into(),
        }
    }

    #[test]
    fn a_page_of_a_thousand_volumes_is_small_and_begins_with_policies_and_traces() {
        let repeat = Repeat { command: "thermocline".into(), version: "1".into() };
        let page = page(&fleet(1000, 8), &repeat).render().expect("drawn");
        assert!(page.len() < 1 << 20, "{} bytes", page.len());
        let (first, charts) =
            (page.find("t2.csv").expect("a trace"), page.find("<svg").expect("a chart"));
        assert!(first < charts, "the table comes first");
        assert!(page.contains("900 volumes with fewer writes") && !page.contains("/folder/of"));
        let larger = super::page(&fleet(10_000, 8), &repeat).render().expect("drawn");
        assert!(larger.len() < page.len() * 11 / 10, "{} and {}", page.len(), larger.len());
    }

    #[test]
    fn a_fleet_is_weighted_by_its_writes_and_what_cannot_be_chosen_is_never_best() {
        let volume = |pages, amplification: &[f64]| Volume {
            pages,
            amplification: amplification.iter().map(|wa| Some(*wa)).collect(),
            ..Volume::default()
        };
        let fleet = Fleet {
            policies: vec![("a".into(), true), ("b".into(), true), ("oracle".into(), false)],
            volumes: vec![
                volume(900, &[2.0, 1.0, 0.9]),
                volume(100, &[1.0, 3.0, 0.9]),
                volume(0, &[1.0, 1.005, 0.9]),
            ],
            answer: String::new(),
        };
        let table = fleet.table();
        assert_eq!(table.rows[0][1].value, Some(1.9));
        assert_eq!(table.rows[1][1].value, Some(1.2));
        assert!(table.rows[1][1].best && !table.rows[0][1].best && !table.rows[2][1].best);
        assert_eq!(fleet.best_shares(), [Some(2.0 / 3.0), Some(2.0 / 3.0), None]);
        // Half of the volumes have at most 1, all of them at most 2.
        let curve = &fleet.curves().plot.panels[0].series[0].ours;
        assert_eq!(curve.last(), Some(&Point::at(2.0, 100.0)));
    }

    #[test]
    fn a_fleet_without_results_is_a_page_all_the_same() {
        let repeat = Repeat { command: String::new(), version: String::new() };
        let mut none = fleet(2, 2);
        none.volumes.iter_mut().for_each(|volume| volume.amplification = vec![None, None]);
        assert!(charts(&none).is_empty());
        assert!(page(&none, &repeat).render().is_ok());
        assert!(page(&fleet(0, 1), &repeat).render().is_ok());
    }
}
