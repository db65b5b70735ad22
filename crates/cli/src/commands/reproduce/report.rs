//! Pages of papers: one file with everything, or a folder with a page a paper; figures as files.

use std::path::Path;

use thermocline_papers::{
    Counts, Drawing, Experiment, Paper, Tally,
    page::{self, Part, Piece},
};
use thermocline_report::page::{Block, Page, Section};
use thermocline_sim::SimError;
use thermocline_study::{Door, reproduce::PaperResults};

use crate::{
    exit::Failure,
    output::Output,
    pictures::{self, make, rendered, write_chart},
};

/// Writes pages: one, if the name is that of an HTML file.
pub fn write(place: &Path, papers: &[PaperResults<'_>]) -> Result<(), Failure> {
    let is_file = place.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("html"));
    if is_file { one_page(place, papers) } else { folder(place, papers) }
}

/// Writes the figures of all papers.
pub fn plots(folder: &Path, papers: &[PaperResults<'_>]) -> Result<(), Failure> {
    make(folder)?;
    for results in papers {
        for drawing in drawn(results)?.iter().flat_map(|(_, drawings)| drawings) {
            write_chart(folder, &page::figure_file(results.paper, drawing), &drawing.chart)?;
        }
    }
    Ok(())
}

/// The figures of each experiment.
fn drawn<'a>(results: &PaperResults<'a>) -> Result<Vec<(&'a Experiment, Vec<Drawing>)>, Failure> {
    let paper: &'a Paper = results.paper;
    let of = |report: &thermocline_papers::Report| {
        let known = paper.experiments.iter().find(|known| known.name == report.experiment);
        let Some(experiment) = known else { unreachable!("reports are of experiments") };
        let drawings = Drawing::all(experiment, report)
            .map_err(|e| SimError::Failed(format!("{}: cannot draw: {e}", experiment.file)))?;
        Ok((experiment, drawings))
    };
    results.reports.iter().map(of).collect()
}

/// The page of a paper.
fn pieces(results: &PaperResults<'_>) -> Result<(Vec<Piece>, String), Failure> {
    let drawn = drawn(results)?;
    let parts = results.reports.iter().zip(&drawn);
    let parts: Vec<_> = parts
        .map(|(report, (experiment, drawings))| Part { experiment, report, drawings })
        .collect();
    let words = |text: &str| Door::CommandLine.words(text).into_owned();
    let piece = |piece| match piece {
        Piece::Text(text) => Piece::Text(words(&text)),
        figure @ Piece::Figure(..) => figure,
    };
    let pieces = page::pieces(results.paper, &parts).into_iter().map(piece).collect();
    Ok((pieces, words(&page::markdown(results.paper, &parts))))
}

/// A section with a paper.
fn section(results: &PaperResults<'_>, pieces: Vec<Piece>) -> Section {
    let heading = format!("# {}\n", results.paper.title());
    let blocks = pieces.into_iter().map(|piece| match piece {
        // The section has the heading already.
        Piece::Text(text) => {
            Block::Html(page::of_markdown(text.strip_prefix(&heading).unwrap_or(&text)))
        }
        Piece::Figure(_, chart) => Block::Charts(vec![*chart]),
    });
    Section { title: results.paper.title().to_owned(), blocks: blocks.collect() }
}

/// Everything on one page.
fn one_page(file: &Path, papers: &[PaperResults<'_>]) -> Result<(), Failure> {
    let output = Output::open(Some(file))?;
    let mut sections = Vec::new();
    for results in papers {
        let (pieces, _) = pieces(results)?;
        sections.push(section(results, pieces));
    }
    let all = counts(papers);
    let told = |(paper, counts): &(&Paper, Counts)| {
        let of = |tally: Tally| format!("{} of {}", tally.reproduced, tally.judged());
        format!(
            "{}: {} numbers, {} orders and {} trends reproduced.",
            paper.title(),
            of(counts.numbers),
            of(counts.orders),
            of(counts.trends)
        )
    };
    let lead = all.iter().map(told).collect();
    let repeat = pictures::repeat();
    sections.push(Section {
        title: "Repeat it".into(),
        blocks: vec![Block::Text(repeat.version), Block::Lines(vec![repeat.command])],
    });
    let page = Page { title: page::INDEX.into(), lead, sections };
    output.put(rendered(&page)?.as_bytes())
}

fn counts<'a>(papers: &[PaperResults<'a>]) -> Vec<(&'a Paper, Counts)> {
    papers.iter().map(|results| (results.paper, Counts::of(&results.reports))).collect()
}

/// A page a paper.
fn folder(folder: &Path, papers: &[PaperResults<'_>]) -> Result<(), Failure> {
    make(folder)?;
    let put = |name: &str, bytes: &[u8]| Output::open(Some(&folder.join(name)))?.put(bytes);
    for results in papers {
        let paper = results.paper;
        for drawing in drawn(results)?.iter().flat_map(|(_, drawings)| drawings) {
            let name = page::figure_file(paper, drawing);
            put(&format!("{name}.svg"), drawing.svg.as_bytes())?;
            #[cfg(feature = "pdf")]
            put(&format!("{name}.pdf"), &pictures::converted::pdf(&drawing.svg)?)?;
        }
        let (pieces, markdown) = pieces(results)?;
        put(&format!("{}.md", paper.name), markdown.as_bytes())?;
        let sections = vec![section(results, pieces)];
        let page = Page { title: paper.title().to_owned(), lead: Vec::new(), sections };
        put(&format!("{}.html", paper.name), rendered(&page)?.as_bytes())?;
    }
    let all = counts(papers);
    let markdown = format!("# {}\n\n{}", page::INDEX, page::index(&all, "md"));
    put("README.md", markdown.as_bytes())?;
    let blocks = vec![Block::Html(page::of_markdown(&page::index(&all, "html")))];
    let sections = vec![Section { title: "Papers".into(), blocks }];
    let page = Page { title: page::INDEX.into(), lead: Vec::new(), sections };
    put("index.html", rendered(&page)?.as_bytes())
}
