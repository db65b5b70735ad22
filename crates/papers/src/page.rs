//! The page of a paper: its proposal, its claims, and our results.

use std::fmt::Write as _;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};
use thermocline_chart::Chart;

use crate::{
    draw::Drawing,
    experiment::Experiment,
    paper::Paper,
    report::{ClaimReport, Counts, Published, Report, Tally},
    show,
    verdict::Verdict,
};

/// An experiment on a page.
pub struct Part<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its results.
    pub report: &'a Report,
    /// Its figures.
    pub drawings: &'a [Drawing],
}

/// A part of a page.
#[derive(Debug)]
pub enum Piece {
    /// Text, in Markdown.
    Text(String),
    /// A figure, and its file name without extension.
    Figure(String, Box<Chart>),
}

/// The file name of a figure without extension.
#[must_use]
pub fn figure_file(paper: &Paper, drawing: &Drawing) -> String {
    format!("{}-{}", paper.name, drawing.chart.name)
}

/// The page of a paper as Markdown, with its figures in files beside it.
#[must_use]
pub fn markdown(paper: &Paper, parts: &[Part<'_>]) -> String {
    let mut text = String::new();
    for piece in pieces(paper, parts) {
        match piece {
            Piece::Text(piece) => text += &piece,
            Piece::Figure(file, chart) => {
                let title = chart.title.replace(['[', ']'], "");
                // Writing to a string cannot fail.
                let _ = write!(text, "![{title}]({file}.svg)\n\n");
            }
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// The title of the index of all papers.
pub const INDEX: &str = "Papers, reproduced";

/// A Markdown table with one line a paper, linking to pages with this extension.
#[must_use]
pub fn index(papers: &[(&Paper, Counts)], extension: &str) -> String {
    let link = |paper: &Paper| format!("[{}]({}.{extension})", cell(paper.title()), paper.name);
    let mut text =
        format!("| paper | {} | beyond reach |\n|---|--:|--:|--:|--:|\n", KINDS.join(" | "));
    let published = || papers.iter().filter(|(paper, _)| !paper.is_ours());
    for (paper, counts) in published() {
        let beyond = counts.all.unreachable + counts.all.skipped;
        let _ = writeln!(text, "| {} | {} | {beyond} |", link(paper), shares(counts).join(" | "));
    }
    let _ = write!(text, "\n{COUNTING}\n");
    for (paper, Counts { ours, .. }) in papers.iter().filter(|(paper, _)| paper.is_ours()) {
        let _ = writeln!(
            text,
            "\nQuestions of ours: [{}]({}.{extension}), {} of {} answers as expected.",
            cell(paper.title()),
            paper.name,
            ours.reproduced,
            ours.judged()
        );
    }
    let _ = write!(
        text,
        "\nClaim by claim, each number, pair and cell once:\n\n| paper |{}\n|---|{}\n",
        Verdict::ALL.map(|verdict| format!(" {} |", verdict.name())).concat(),
        "--:|".repeat(Verdict::ALL.len()),
    );
    for (paper, counts) in published() {
        let counts = counts.all.by_verdict().map(|count| format!(" {count} |")).concat();
        let _ = writeln!(text, "| {} |{counts}", link(paper));
    }
    text
}

/// The kinds of published statements.
const KINDS: [&str; 3] = ["numbers", "orders", "trends"];

/// Explanation of the counts.
const COUNTING: &str = "\
*Numbers*: printed numbers within their tolerance, of all that can be judged. *Orders* and *trends*, which the text \
states or a figure shows, count once each, and only if they hold in every cell: an order with equal values, or on the wrong \
side within a tolerance, is a *tie* and not reproduced. *Beyond reach*: claims about misprints, contradictions, and data that \
do not exist.";

/// Reproduced statements of each kind, with their total.
fn shares(counts: &Counts) -> [String; 3] {
    [counts.numbers, counts.orders, counts.trends].map(share)
}

fn share(tally: Tally) -> String {
    match tally.judged() {
        0 => show::NONE.into(),
        judged => format!("{} of {judged}", tally.reproduced),
    }
}

/// The content of a page, in order.
#[must_use]
pub fn pieces(paper: &Paper, parts: &[Part<'_>]) -> Vec<Piece> {
    let mut pieces = vec![Piece::Text(head(paper, parts))];
    for part in parts {
        let (experiment, report) = (part.experiment, part.report);
        let mut text = format!("## {}\n\n", experiment.title);
        let _ = write!(
            text,
            "{} · `thermocline reproduce {}/{}`",
            experiment.source, paper.name, experiment.name
        );
        let _ = write!(text, "\n\n{}\n\n", experiment.about.trim());
        if let Some(stand_in) = &experiment.stand_in {
            let _ = write!(text, "**Stand-in:** {}\n\n", stand_in.trim());
        }
        pieces.push(Piece::Text(text));
        for drawing in part.drawings {
            let hollow = if drawing.has_published { " (published numbers hollow)" } else { "" };
            let title = format!("{}{hollow}", drawing.chart.title);
            let chart = Chart { title, ..drawing.chart.clone() };
            pieces.push(Piece::Figure(figure_file(paper, drawing), Box::new(chart)));
        }
        if let Some((header, rows)) = report.survey() {
            pieces.push(Piece::Text(survey(&header, &rows)));
        }
        if report.claims.is_empty() {
            continue;
        }
        pieces.push(Piece::Text(claims(report) + &reasons(report) + &readings(experiment, report)));
    }
    pieces
}

fn head(paper: &Paper, parts: &[Part<'_>]) -> String {
    let mut text = format!("# {}\n\n", paper.title());
    if let Some(info) = &paper.info {
        let place = [&*info.authors, &*info.venue]
            .iter()
            .filter(|part| !part.is_empty())
            .copied()
            .collect::<Vec<_>>();
        let _ = write!(text, "{}, {}\n\n{}\n\n", place.join(", "), info.year, info.about.trim());
        if !info.today.is_empty() {
            let _ = write!(text, "## When it wins today\n\n{}\n\n", info.today.trim());
        }
    }
    let counts = Counts::of(parts.iter().map(|part| part.report));
    if parts.iter().all(|part| part.report.claims.is_empty()) {
        return text;
    }
    text += "## What was reproduced\n\n";
    if paper.is_ours() {
        let Tally { reproduced, not, .. } = counts.ours;
        let _ = write!(text, "{reproduced} answers are as expected, {not} are not.\n\n");
    } else {
        text += &overview(parts, &counts);
    }
    text += "*Reproduced*: the measured value lies within the tolerance, or the order holds. \
             *Tie*: values of an order are equal, or on the wrong side within its tolerance. \
             *Direction*: the value does not, but the order or the sign does. *Not*: neither. \
             A verdict in brackets is that of a question of ours, which does not count. \
             Measured is the mean over seeds, ± one run's standard deviation. *Readings* is the \
             range under other ways to read the text. `thermocline reproduce ‹report›` makes this \
             page.\n\n";
    text
}

/// A row for each table or figure: the reproduced part of its statements, and its worst number.
fn overview(parts: &[Part<'_>], counts: &Counts) -> String {
    let mut text = format!(
        "| | {} | beyond reach | worst number |\n|---|--:|--:|--:|--:|---|\n",
        KINDS.join(" | ")
    );
    for Part { experiment, report, .. } in parts {
        let counts = Counts::of([*report]);
        if counts.all == Tally::default() {
            continue;
        }
        let worst = report.worst().map_or(String::new(), |(claim, miss)| {
            let title = [claim.subject(), claim.title.clone()].join(", ");
            format!("{:+.1} %: {}", miss * 100.0, title.trim_matches([' ', ',']))
        });
        let _ = writeln!(text, "{}", overview_row(&experiment.title, &counts, &worst));
    }
    let _ = writeln!(text, "{}\n", overview_row("**all**", counts, ""));
    let (met, missed) = (counts.references_met, counts.references_missed);
    if met + missed > 0 {
        let _ = write!(
            text,
            "An independent simulation is met {met} times and missed {missed} times.\n\n"
        );
    }
    text
}

fn overview_row(title: &str, counts: &Counts, worst: &str) -> String {
    let beyond = counts.all.unreachable + counts.all.skipped;
    format!("| {} | {} | {beyond} | {} |", cell(title), shares(counts).join(" | "), cell(worst))
}

/// The table of measured values.
fn survey(header: &[String], rows: &[Vec<String>]) -> String {
    let row = |cells: &[String]| {
        let cells: String = cells.iter().map(|text| format!(" {} |", cell(text))).collect();
        format!("|{cells}\n")
    };
    let rule = "--:|".repeat(header.len().saturating_sub(1));
    let rows: String = rows.iter().map(|cells| row(cells)).collect();
    format!("{}|---|{rule}\n{rows}\n", row(header))
}

/// The table of claims.
fn claims(report: &Report) -> String {
    let mut text = String::from(
        "| claim | | published | reference | measured | readings | verdict |\n\
         |---|---|--:|--:|--:|--:|---|\n",
    );
    let mut last = String::new();
    for claim in &report.claims {
        let subject = claim.subject();
        let shown = if subject == last { String::new() } else { cell(&subject) };
        last = subject;
        let verdict = match claim.verdict {
            Some(Verdict::Reproduced) => "reproduced",
            Some(Verdict::Not) => "**not**",
            Some(verdict) => verdict.name(),
            None => "–",
        };
        let verdict = if claim.ours { format!("({verdict})") } else { verdict.to_owned() };
        let missed = if claim.misses_reference() { " **missed**" } else { "" };
        let _ = writeln!(
            text,
            "| {shown} | {} | {} | {}{missed} | {} | {} | {verdict} |",
            cell(&claim.title),
            cell(&claim.show_published()),
            claim.show_reference(),
            claim.show_measured(),
            claim.show_readings(),
        );
    }
    text + "\n"
}

/// Reasons for tolerances and for claims that cannot be reproduced, each once.
fn reasons(report: &Report) -> String {
    let mut told: Vec<String> = Vec::new();
    for claim in &report.claims {
        let because = claim.because.as_ref().zip(claim.tolerance.as_ref());
        let because = because.map(|(why, by)| format!("{}, {by}: {}", claim.subject(), why.trim()));
        let verdict = claim.verdict.map_or("", Verdict::name);
        let why =
            claim.why.as_ref().map(|why| format!("{}, {verdict}: {}", claim.subject(), why.trim()));
        for reason in because.into_iter().chain(why) {
            if !told.contains(&reason) {
                told.push(reason);
            }
        }
    }
    listed("Tolerances and reasons:", &told)
}

fn readings(experiment: &Experiment, report: &Report) -> String {
    if report.claims.iter().all(|claim| claim.readings.is_empty()) {
        return String::new();
    }
    let readings = experiment.readings.iter();
    let readings: Vec<_> =
        readings.map(|reading| format!("{}: {}", reading.name, reading.about.trim())).collect();
    listed("Other readings:", &readings)
}

fn listed(title: &str, points: &[String]) -> String {
    if points.is_empty() {
        return String::new();
    }
    let points: String =
        points.iter().map(|point| format!("- {}\n", point.replace('\n', " "))).collect();
    format!("{title}\n\n{points}\n")
}

/// Text escaped for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

impl ClaimReport {
    /// The subject: the paper's words, or the measure with its unit.
    #[must_use]
    pub fn subject(&self) -> String {
        let unit = self.unit.as_ref().map_or(String::new(), |unit| format!(" ({unit})"));
        self.says.clone().unwrap_or_else(|| self.measure.clone() + &unit)
    }

    /// The published value with its tolerance.
    #[must_use]
    pub fn show_published(&self) -> String {
        let tolerance = self.tolerance.as_ref().filter(|tolerance| *tolerance != "exact");
        let tolerance =
            tolerance.map_or(String::new(), |text| format!(" ± {}", text.trim_start_matches('±')));
        let value = match &self.published {
            Published::Nothing => return show::NONE.into(),
            Published::Number(value) => show::exactly(*value),
            Published::Range(ends) => show::numbers(ends, " – ", show::exactly),
            Published::Words(words) => words.clone(),
        };
        value + &tolerance
    }

    /// The result of an independent simulation.
    #[must_use]
    pub fn show_reference(&self) -> String {
        let reference = self.reference.as_ref();
        reference.map_or(String::new(), |found| show::numbers(&found.value, " – ", show::exactly))
    }

    /// The measured value.
    #[must_use]
    pub fn show_measured(&self) -> String {
        let range = matches!(self.published, Published::Range(_));
        match &self.measured[..] {
            [] => show::NONE.into(),
            [stat] => stat.show(),
            several => {
                let means: Vec<_> = several.iter().map(|stat| stat.mean).collect();
                show::numbers(&means, if range { " – " } else { ", " }, show::number)
            }
        }
    }

    /// The sensitivity to the interpretation of the text.
    #[must_use]
    pub fn show_readings(&self) -> String {
        match (self.sensitivity(), self.agreeing()) {
            (Some([least, greatest]), _) if least == greatest => "same".into(),
            (Some(ends), _) => show::numbers(&ends, " – ", show::number),
            (None, Some((same, all))) => format!("{same} of {all} agree"),
            (None, None) => String::new(),
        }
    }
}

/// Converts Markdown to HTML. HTML in it is escaped.
#[must_use]
pub fn of_markdown(text: &str) -> String {
    let mut out = String::new();
    let mut in_link = false;
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        // Links to Markdown files beside the page would be broken on a page elsewhere.
        Event::Start(Tag::Link { ref dest_url, .. }) if dest_url.ends_with(".md") => {
            in_link = true;
            None
        }
        Event::End(TagEnd::Link) if std::mem::take(&mut in_link) => None,
        other => Some(other),
    });
    html::push_html(&mut out, events);
    // Quotes in texts are escaped, so this is an attribute. Pages allow no inline styles.
    let out = out.replace(" style=\"text-align: right\"", " class=\"right\"");
    // An empty header cell is not a header.
    out.replace("<th></th>", "<td></td>")
}
