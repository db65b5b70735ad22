//! The outcomes of papers' claims.

use comfy_table::{Cell, Color};
use thermocline_papers::{Change, ClaimReport, Counts, Report, Verdict};
use thermocline_study::reproduce::PaperResults;

use super::{
    number,
    table::{self, Sheet},
};
use crate::{exit::Failure, output::Output};

/// Prints a table an experiment, and one of the papers.
pub fn table(papers: &[PaperResults<'_>], output: Output) -> Result<(), Failure> {
    let mut text = String::new();
    for results in papers {
        for report in &results.reports {
            text += &experiment(report, &output);
            text.push('\n');
        }
    }
    text += &summary(papers, &output);
    text += &changes(papers);
    output.put_styled(&text)
}

fn experiment(report: &Report, output: &Output) -> String {
    let title = format!("{}/{}: {}", report.paper, report.experiment, report.title);
    let mut text = table::heading(&title) + &format!("\n{}\n", report.source);
    if let Some(stand_in) = &report.stand_in {
        text += &format!("Stand-in: {}\n", stand_in.trim());
    }
    if let Some((header, rows)) = report.survey() {
        let header: Vec<_> = header.iter().map(String::as_str).collect();
        let mut sheet = Sheet::new(&header, output);
        sheet.align_right(1..=header.len() - 1);
        rows.into_iter().for_each(|row| sheet.row(row));
        text += &sheet.finish();
    }
    if report.claims.is_empty() {
        return text;
    }
    let header = ["claim", "", "published", "reference", "measured", "readings", "verdict"];
    let mut sheet = Sheet::new(&header, output);
    sheet.align_right(2..=5);
    let mut last = String::new();
    for claim in &report.claims {
        let subject = claim.subject();
        let shown = if subject == last { String::new() } else { subject.clone() };
        last = subject;
        sheet.row([
            Cell::new(shown),
            Cell::new(&claim.title),
            Cell::new(claim.show_published()),
            reference(claim),
            Cell::new(claim.show_measured()),
            Cell::new(claim.show_readings()),
            verdict(claim),
        ]);
    }
    text += &sheet.finish();
    let mut told: Vec<&str> = Vec::new();
    for claim in &report.claims {
        if let Some(why) = claim.why.as_deref().filter(|why| !told.contains(why)) {
            told.push(why);
            let name = claim.verdict.map_or("", Verdict::name);
            text += &format!("{name}: {why}\n");
        }
    }
    text
}

fn reference(claim: &ClaimReport) -> Cell {
    let value = claim.show_reference();
    match claim.misses_reference() {
        true => Cell::new(format!("{value} missed")).fg(Color::Red),
        false => Cell::new(value),
    }
}

fn verdict(claim: &ClaimReport) -> Cell {
    let Some(verdict) = claim.verdict else { return Cell::new(number::NONE) };
    let change = match claim.change {
        Some(Change::Worse) => ", worse",
        Some(Change::Better) => ", better",
        Some(Change::Moved) => ", moved",
        Some(Change::New) | None => "",
    };
    let ours = if claim.ours { " (ours)" } else { "" };
    let cell = Cell::new(format!("{}{ours}{change}", verdict.name()));
    match verdict {
        Verdict::Reproduced => cell.fg(Color::Green),
        Verdict::Tie | Verdict::Direction => cell.fg(Color::Yellow),
        Verdict::Not => cell.fg(Color::Red),
        Verdict::Skipped | Verdict::Unreachable => cell.fg(Color::Grey),
    }
}

fn summary(papers: &[PaperResults<'_>], output: &Output) -> String {
    let header = ["paper", "numbers", "orders", "trends", "beyond reach", "ours", "reference"];
    let mut sheet = Sheet::new(&header, output);
    sheet.align_right(1..=header.len() - 1);
    for results in papers {
        let counts = Counts::of(&results.reports);
        let references = counts.references_met + counts.references_missed;
        let of = |(part, all): (usize, usize)| match all {
            0 => number::NONE.to_owned(),
            all => format!("{part} of {all}"),
        };
        let kinds = [counts.numbers, counts.orders, counts.trends];
        let kinds = kinds.map(|tally| of((tally.reproduced, tally.judged())));
        let mut row = vec![results.paper.name.clone()];
        row.extend(kinds);
        row.push((counts.all.unreachable + counts.all.skipped).to_string());
        row.push(of((counts.ours.reproduced, counts.ours.judged())));
        row.push(of((counts.references_met, references)));
        sheet.row(row);
    }
    sheet.finish()
}

/// Changes from the accepted outcomes.
fn changes(papers: &[PaperResults<'_>]) -> String {
    let mut text = String::new();
    for results in papers {
        let name = &results.paper.name;
        let mut new = 0;
        for claim in results.claims() {
            let now = claim.verdict.map_or("", Verdict::name);
            let then = claim.accepted.map_or("", Verdict::name);
            match claim.change {
                Some(Change::Worse) => {
                    text += &format!("worse: {name}/{} was {then}, is {now}\n", claim.id);
                }
                Some(Change::Better) => {
                    text += &format!("better: {name}/{} was {then}, is {now}\n", claim.id);
                }
                Some(Change::Moved) => {
                    let now = claim.show_measured();
                    text += &format!("moved: {name}/{} is {now} now\n", claim.id);
                }
                Some(Change::New) => new += 1,
                None => {}
            }
            if claim.misses_reference() {
                text += &format!("reference missed: {name}/{}\n", claim.id);
            }
        }
        if new > 0 {
            text += &format!("{name}: {} not recorded yet\n", number::counted(new, "claim"));
        }
        for gone in results.reports.iter().flat_map(|report| &report.gone) {
            text += &format!("gone: {name}/{gone} is recorded and not claimed any more\n");
        }
    }
    text
}
