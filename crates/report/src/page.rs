//! A page: one HTML file that loads nothing, with charts drawn when it is made and a table behind each.
//!
//! Nothing that a page shows can run or load anything: texts are escaped by the template crate, and the
//! policy in its head admits one script and one style sheet, ours, by their digests.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use thermocline_chart::{
    COLOURS, Chart, Colour, Drawing, Ends, Frame, Hit, Key, Kind, Legend, Table, draw, show,
};

const STYLE: &str = include_str!("../assets/report.css");
const SCRIPT: &str = include_str!("../assets/report.js");
/// Drawings that are wider are not made smaller.
const FITS: u32 = 480;
/// A drawing's unit on a page, in sixteenths of a pixel: one value for all, so that all have letters of one size.
const SIXTEENTHS: u32 = 18;

/// A page.
#[derive(Debug)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// The text below the title: the answer.
    pub lead: Vec<String>,
    /// The rest.
    pub sections: Vec<Section>,
}

/// A part of a page.
#[derive(Debug)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Commands or digests, each on a line.
    Lines(Vec<String>),
    /// Markup that was escaped already.
    Html(String),
    /// A table that can be sorted and filtered.
    Table(Rows),
    /// Charts, side by side where there is room.
    Charts(Vec<Chart>),
}

/// A table of results.
#[derive(Debug)]
pub struct Rows {
    /// Its title.
    pub title: String,
    /// The names of its columns.
    pub header: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table of results.
#[derive(Debug)]
pub struct Cell {
    /// As people read it.
    pub text: String,
    /// The sort key of rows.
    pub value: Option<f64>,
    /// Whether no other in its column is better.
    pub best: bool,
}

impl Page {
    /// The HTML file.
    ///
    /// # Errors
    /// The plotting crate's error.
    pub fn render(&self) -> Result<String, String> {
        let digest = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
             form-action 'none'",
            digest(STYLE),
            digest(SCRIPT)
        );
        let sections = self.sections.iter().enumerate().map(|(at, section)| section.markup(at));
        let sections = sections.collect::<Result<Vec<_>, _>>()?;
        let title = show::plain(&self.title);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        h1 { (title) }
                        @for text in &self.lead { p.answer { (together(text)) } }
                        nav aria-label="Contents" {
                            @for (at, section) in self.sections.iter().enumerate() {
                                a href={ "#s" (at) } { (show::plain(&section.title)) } " "
                            }
                        }
                    }
                    main { @for section in &sections { (section) } }
                    div #tip role="status" aria-live="polite" hidden {}
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        Ok(page.into_string())
    }
}

impl Section {
    fn markup(&self, at: usize) -> Result<Markup, String> {
        let blocks = self.blocks.iter().enumerate();
        let blocks = blocks.map(|(number, block)| block.markup(&format!("{at}-{number}")));
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        Ok(html! {
            section #{ "s" (at) } {
                h2 { (show::plain(&self.title)) }
                @for block in blocks { (block) }
            }
        })
    }
}

impl Block {
    fn markup(&self, id: &str) -> Result<Markup, String> {
        Ok(match self {
            Self::Text(text) => html! { p { (together(text)) } },
            Self::Lines(lines) => html! {
                pre tabindex="0" { @for line in lines { code { (show::plain(line)) } "\n" } }
            },
            Self::Html(text) => {
                html! { div.prose { (PreEscaped(text.replace("<table>", "<table tabindex=\"0\">"))) } }
            }
            Self::Table(rows) => rows.markup(id),
            Self::Charts(charts) => {
                let figures = charts.iter().enumerate();
                let figures = figures.map(|(at, chart)| figure(chart, &format!("{id}-{at}")));
                let figures = figures.collect::<Result<Vec<_>, _>>()?;
                html! { div.charts { @for figure in figures { (figure) } } }
            }
        })
    }
}

impl Rows {
    fn markup(&self, id: &str) -> Markup {
        html! {
            div.results #{ "t" (id) } {
                div.scroll tabindex="0" role="group" aria-label=(show::plain(&self.title)) {
                    table.sortable {
                        thead { tr { @for name in &self.header { th scope="col" { (show::plain(name)) } } } }
                        tbody {
                            @for row in &self.rows {
                                tr {
                                    @for (at, cell) in row.iter().enumerate() {
                                        @let text = show::plain(&cell.text);
                                        @if at == 0 {
                                            th scope="row" { (text) }
                                        } @else {
                                            td.best[cell.best] data-v=[cell.value] { (text) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A chart: its drawing, what its colours mean, and its table.
fn figure(chart: &Chart, id: &str) -> Result<Markup, String> {
    let drawing =
        draw(&chart.plot, Legend::Elsewhere).map_err(|e| format!("{}: {e}", chart.name))?;
    let title = show::plain(&chart.title);
    let (picture, wide) = picture(&drawing, &title);
    let (hits, frame) = (hits(&drawing.hits), drawing.frame.map(frame));
    let table = chart.plot.table();
    Ok(html! {
        figure.chart.wide[wide] #{ "c" (id) } data-name=(show::plain(&chart.name)) {
            figcaption {
                h3 { (title) }
                @if !chart.about.is_empty() { p { (show::plain(&chart.about)) } }
            }
            div.plot tabindex="0" role="group" aria-label={ (title) ", chart" } data-hits=(hits) data-frame=[frame] { (picture) }
            (legend(chart, &drawing))
            details {
                summary { "Table" }
                div.scroll tabindex="0" role="group" aria-label={ (title) ", table" } { (numbers(&table)) }
            }
        }
    })
}

/// Text in which no line ends between a number and its unit.
fn together(text: &str) -> String {
    const UNITS: [&str; 12] =
        ["%", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "µs", "ms", "days"];
    let mut words = show::plain(text);
    for unit in UNITS {
        for digit in '0'..='9' {
            words = words.replace(&format!("{digit} {unit}"), &format!("{digit}\u{a0}{unit}"));
        }
    }
    words
}

fn numbers(table: &Table) -> Markup {
    html! {
        table.sortable {
            thead { tr { @for name in &table.header { th scope="col" { (show::plain(name)) } } } }
            tbody {
                @for row in &table.rows {
                    tr { @for cell in row { td { (show::plain(cell)) } } }
                }
            }
        }
    }
}

/// The drawing in the page's own colours, and whether it is too wide to be made smaller.
fn picture(drawing: &Drawing, title: &str) -> (Markup, bool) {
    let svg = &drawing.svg;
    let size = |name: &str| -> u32 {
        let rest = svg.split_once(&format!(" {name}=\"")).map_or("", |(_, rest)| rest);
        rest.split('"').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let (width, height) = (size("width"), size("height"));
    let from = svg.find("<svg").and_then(|at| svg[at..].find('>').map(|end| at + end + 1));
    let inside = from.map_or("", |from| svg[from..].trim_end().trim_end_matches("</svg>"));
    // Texts of a drawing have their quotes escaped, so that only attributes are exchanged.
    let mut inside = inside
        .replace("\"#000000\"", "\"currentColor\"")
        .replace("\"#FFFFFF\"", "\"none\"")
        .replace("\"#010101\"", "\"var(--on-middle)\"")
        .replace("\"#FEFEFE\"", "\"var(--back)\"")
        .replace("\"#E1E1E1\"", "\"var(--mesh)\"")
        .replace("\"#6E6E6E\"", "\"var(--guide)\"")
        .replace(" opacity=\"1\"", "")
        .replace(" font-family=\"sans-serif\"", "");
    for (at, (_, colour)) in drawing.scale.iter().enumerate() {
        inside = inside.replace(&format!("\"{}\"", colour.hex()), &format!("\"var(--h{at})\""));
    }
    for (at, colour) in drawing.series.iter().enumerate() {
        let paint = format!("var(--{})", class(*colour));
        for part in ["fill", "stroke"] {
            let from = format!(" {part}=\"{}\"", colour.hex());
            inside = inside.replace(&from, &format!(" data-s=\"{at}\" {part}=\"{paint}\""));
        }
    }
    let picture = html! {
        svg viewBox={ "0 0 " (width) " " (height) } width=(width * SIXTEENTHS / 16) height=(height * SIXTEENTHS / 16) role="img" aria-label=(title) {
            (PreEscaped(inside))
        }
    };
    (picture, width > FITS)
}

/// The class of a series' colour, and its name in the style sheet.
fn class(colour: Colour) -> String {
    COLOURS
        .iter()
        .position(|known| *known == colour)
        .map_or_else(|| "rest".into(), |known| format!("s{known}"))
}

/// The points of a drawing as JSON: series, row, column, x, y of each.
fn hits(hits: &[Hit]) -> String {
    let one =
        |Hit { series, row, column, x, y }: &Hit| format!("[{series},{row},{column},{x},{y}]");
    format!("[{}]", hits.iter().map(one).collect::<Vec<_>>().join(","))
}

/// The axes as JSON: where each begins and ends, the values there, whether it is logarithmic, and whether it has names.
fn frame(Frame { x, y }: Frame) -> String {
    let axis = |Ends { at, range, log, named }: Ends| {
        format!("[{},{},{:.7},{:.7},{log},{named}]", at.0, at.1, range.0, range.1)
    };
    format!("[{},{}]", axis(x), axis(y))
}

fn legend(chart: &Chart, drawing: &Drawing) -> Markup {
    let published = chart.plot.panels.iter().flat_map(|panel| &panel.series);
    let published = published.clone().any(|series| !series.theirs.is_empty());
    let lines = chart.plot.kind == Kind::Lines;
    let swatch = |key: &Key| {
        let kind = if lines { " line" } else { "" };
        format!(
            "swatch {}{kind}{}",
            class(key.colour),
            if lines && key.dashed { " dashed" } else { "" }
        )
    };
    let series = |key: &Key| key.series.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    html! {
        @if chart.plot.kind == Kind::Heat {
            p.legend { (show::plain(&chart.plot.z_title)) ", from: "
                @for (at, (begin, _)) in drawing.scale.iter().enumerate() {
                    span.key { i class={ "swatch h" (at) } {} (show::number(*begin)) } " "
                }
            }
        } @else if chart.plot.kind != Kind::Ranks && (!drawing.keys.is_empty() || published) {
            ul.legend {
                @for key in &drawing.keys {
                    li.key data-s=(series(key)) { i class=(swatch(key)) {} (show::short(&key.name, 40)) }
                }
                @if published { li { "○ published" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use thermocline_chart::{Plot, Point, Series};

    use super::*;

    /// A chart of `lines` lines of `points` points.
    fn chart(lines: usize, points: usize) -> Chart {
        let line = |n: usize| (0..points).map(|x| Point::at(x as f64, n as f64)).collect();
        let series = (0..lines).map(|n| Series::new(format!("policy {n}"), line(n))).collect();
        let plot = Plot::new(Kind::Lines, "x", "y", series);
        Chart { name: "c".into(), title: "C".into(), about: String::new(), plot }
    }

    #[test]
    fn keys_have_the_colours_and_the_dashes_of_their_lines() {
        let page = figure(&chart(29, 30), "0").expect("drawn").into_string();
        for at in 0..12 {
            let dashed = if at >= 6 { " dashed" } else { "" };
            let key = format!("data-s=\"{at}\"><i class=\"swatch s{at} line{dashed}\"></i>");
            assert!(page.contains(&key), "{key}: {page}");
            assert!(
                page.contains(&format!("data-s=\"{at}\" stroke=\"var(--s{at})\"")),
                "line {at}"
            );
        }
        assert!(page.contains("<i class=\"swatch rest line\"></i>17 others"), "{page}");
        assert_eq!(page.matches("<li class=\"key\"").count(), 13);
        assert!(page.contains("data-s=\"28\" stroke=\"var(--rest)\""), "a line of the rest");
        assert!(STYLE.contains(".rest {") && STYLE.matches("--rest:").count() == 2);
    }

    #[test]
    fn all_drawings_have_letters_of_one_size() {
        for chart in [chart(3, 30), chart(3, 5), {
            Chart {
                plot: Plot {
                    categories: Some(vec!["a long name of a category".into(); 9]),
                    ..chart(2, 9).plot
                },
                ..chart(1, 1)
            }
        }] {
            let page = figure(&chart, "0").expect("drawn").into_string();
            let number = |what: &str, end: char| -> u32 {
                let (_, rest) = page.split_once(what).expect("it has a size");
                rest.split(end).next().and_then(|n| n.parse().ok()).expect("a number")
            };
            let (inside, shown) = (number("viewBox=\"0 0 ", ' '), number(" width=\"", '"'));
            assert_eq!(shown, inside * SIXTEENTHS / 16);
        }
    }
}
