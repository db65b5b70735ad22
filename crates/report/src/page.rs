//! A page: one HTML file that loads nothing, with charts drawn when it is made and a table behind each.
//!
//! Nothing that a page shows can run or load anything: texts are escaped by the template crate, and the
//! policy in its head admits one script and one style sheet, ours, by their digests.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use thermocline_chart::{
    COLOURS, Chart, Drawing, Ends, Frame, Hit, Kind, Legend, Table, draw, show,
};

const STYLE: &str = include_str!("../assets/report.css");
const SCRIPT: &str = include_str!("../assets/report.js");
/// Drawings that are wider are not made smaller.
const FITS: u32 = 480;

/// A page.
#[derive(Debug)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// What stands below the title: the answer.
    pub lead: Vec<String>,
    /// The rest.
    pub sections: Vec<Section>,
}

/// A part of a page.
#[derive(Debug)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What is in it.
    pub blocks: Vec<Block>,
}

/// What stands in a section.
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
    /// What it is.
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
    /// The number by which rows are sorted.
    pub value: Option<f64>,
    /// Whether no other in its column is better.
    pub best: bool,
}

impl Page {
    /// The HTML file.
    ///
    /// # Errors
    /// What the plotting crate says.
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
    for (at, (_, colour)) in drawing.series.iter().enumerate() {
        let known = COLOURS.iter().position(|known| known == colour);
        let paint = known.map_or_else(|| colour.hex(), |known| format!("var(--s{known})"));
        for part in ["fill", "stroke"] {
            let from = format!(" {part}=\"{}\"", colour.hex());
            inside = inside.replace(&from, &format!(" data-s=\"{at}\" {part}=\"{paint}\""));
        }
    }
    let picture = html! {
        svg viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="img" aria-label=(title) {
            (PreEscaped(inside))
        }
    };
    (picture, width > FITS)
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
    let named: Vec<_> =
        drawing.series.iter().enumerate().filter(|(_, (name, _))| !name.is_empty()).collect();
    html! {
        @if chart.plot.kind == Kind::Heat {
            p.legend { (show::plain(&chart.plot.z_title)) ", from: "
                @for (at, (begin, _)) in drawing.scale.iter().enumerate() {
                    span.key { i class={ "swatch h" (at) } {} (show::number(*begin)) } " "
                }
            }
        } @else if chart.plot.kind != Kind::Ranks && (!named.is_empty() || published) {
            ul.legend {
                @for (at, (name, colour)) in named {
                    @let known = COLOURS.iter().position(|known| known == colour).unwrap_or(0);
                    li.key data-s=(at) { i class={ "swatch s" (known) } {} (show::short(name, 40)) }
                }
                @if published { li { "○ published" } }
            }
        }
    }
}
