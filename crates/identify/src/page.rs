//! The report page of an identification: measured and simulated curves in one chart, and the
//! ranking.

use thermocline_chart::{Chart, Kind, Plot, Point, Series};
use thermocline_report::page::{Block, Cell, Page, Rows, Section};

use crate::{Identified, MeasuredRun, curve::Curve};

/// Builds the page.
#[must_use]
pub fn page(found: &Identified, runs: &[MeasuredRun], lead: Vec<String>, command: String) -> Page {
    Page {
        title: "What the drive does".into(),
        lead,
        sections: vec![
            Section {
                title: "Measured and simulated".into(),
                blocks: vec![Block::Charts(charts(found, runs))],
            },
            Section { title: "Families".into(), blocks: vec![Block::Table(table(found, runs))] },
            Section { title: "Again".into(), blocks: vec![Block::Lines(vec![command])] },
        ],
    }
}

/// One chart for each run.
#[must_use]
pub fn charts(found: &Identified, runs: &[MeasuredRun]) -> Vec<Chart> {
    let best = &found.best().fit;
    let overhead = best.overhead.unwrap_or(0.0);
    let chart = |(at, run): (usize, &MeasuredRun)| {
        let total = run.curve.total();
        let points = |curve: &Curve, factor: f64| -> Vec<Point> {
            let total = total.min(curve.total());
            let point = |(from, to)| Point::at(to / 1e12, curve.amplification(from, to) * factor);
            Curve::stretches(total).map(point).collect()
        };
        let mut series = vec![Series::new("measured", points(&run.curve, 1.0))];
        series.push(Series::new(
            best.model.family.name.clone(),
            points(&best.runs[at].curve, 1.0 + overhead),
        ));
        // The best of the rejected families shows what the measurement distinguishes.
        let other = found.ranking.iter().find(|one| !one.as_good);
        series.extend(other.map(|one| {
            let factor = 1.0 + one.fit.overhead.unwrap_or(0.0);
            let name = one.fit.model.family.name.clone();
            Series::new(name, points(&one.fit.runs[at].curve, factor))
        }));
        Chart {
            name: format!("measured-{}", at + 1),
            title: run.name.clone(),
            about: "Write amplification in each twentieth of the run.".into(),
            plot: Plot::new(Kind::Lines, "TB written by the host", "write amplification", series),
        }
    };
    runs.iter().enumerate().map(chart).collect()
}

fn table(found: &Identified, runs: &[MeasuredRun]) -> Rows {
    let header = ["family", "over-provisioning", "superblocks", "distance"].map(str::to_owned);
    let header = header.into_iter().chain(runs.iter().map(|run| run.name.clone())).collect();
    let cell = |text: String, value: Option<f64>, best: bool| Cell { text, value, best };
    let rows = found.ranking.iter().enumerate().map(|(at, one)| {
        let fit = &one.fit;
        let percent = |value: f64| format!("{:+.1} %", value * 100.0);
        let mut row = vec![
            cell(fit.model.family.name.clone(), None, false),
            cell(
                format!("{:.1} %", fit.model.over_provisioning * 100.0),
                Some(fit.model.over_provisioning),
                false,
            ),
            cell(fit.model.superblocks.to_string(), Some(fit.model.superblocks.into()), false),
            cell(format!("{:.1} %", fit.distance * 100.0), Some(fit.distance), at == 0),
        ];
        row.extend(fit.runs.iter().map(|run| {
            let end = run.distance.last_quarter;
            cell(percent(end), Some(end), false)
        }));
        row
    });
    Rows {
        title: "Write amplification in the last quarter, simulated over measured".into(),
        header,
        rows: rows.collect(),
    }
}
