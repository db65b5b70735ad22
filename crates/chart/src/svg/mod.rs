//! Draws a plot.

mod legend;
mod marks;

use std::fmt::Display;

use plotters::{
    chart::{ChartBuilder, ChartContext},
    coord::{Shift, cartesian::Cartesian2d},
    drawing::{DrawingArea, IntoDrawingArea},
    prelude::SVGBackend,
    style::{RGBColor, WHITE},
};

pub use self::legend::{Key, Legend};
use self::{
    legend::{draw_legend, keys, legend},
    marks::{TAKEN, bars, cells, dots, guides, lines, ranks, scale},
};
use crate::{
    Colour,
    axis::{self, Axis, tick},
    plot::{Guide, Kind, Panel, Plot, Point, Series},
    show,
    table::Table,
};

const FONT: &str = "sans-serif";
/// Of which the crate makes 12 pixels.
const SIZE: i32 = 15;
/// About as wide as a letter is.
const LETTER: usize = 7;
const HEIGHT: u32 = 300;
/// Of a lying bar, with the space around it.
const RANK: usize = 22;
const LEGEND: u32 = 22;
const NARROWEST: usize = 330;
/// Charts that are not a paper's are wider, since their lines are long.
const WIDE: usize = 460;
/// A drawing scales on a page; at this width its letters are legible on a telephone.
const ON_PAGE: usize = 360;
/// The height of the y-axis' title, and the tick marks.
const TITLE_ON_EDGE: u32 = 32;
/// Letters of a category's name beside the axis; the table has all of them.
const NAME: usize = 24;
/// Lines of the mesh.
pub(crate) const MESH: RGBColor = RGBColor(225, 225, 225);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A plot, drawn.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// The drawing.
    pub svg: String,
    /// Where its points are.
    pub hits: Vec<Hit>,
    /// The colour of each series of the first panel.
    pub series: Vec<Colour>,
    /// The keys of the legend.
    pub keys: Vec<Key>,
    /// The numbers at which the shades of cells begin, and the shades.
    pub scale: Vec<(f64, Colour)>,
    /// Where the axes are, if a page may draw the points again on others: in plots of one panel that have nothing
    /// but series of points.
    pub frame: Option<Frame>,
}

/// The place of the points between the axes, in the units of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// The x-axis, from left to right.
    pub x: Ends,
    /// The y-axis, from bottom to top.
    pub y: Ends,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Where it begins and ends.
    pub at: (i32, i32),
    /// The values there; their logarithms to base 10 on a logarithmic axis.
    pub range: (f64, f64),
    /// Whether it is logarithmic.
    pub log: bool,
    /// Whether it has names instead of numbers.
    pub named: bool,
}

/// A point of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its series.
    pub series: usize,
    /// Its row of the table.
    pub row: usize,
    /// Its column; 0 where the whole row is about it.
    pub column: usize,
    /// Where it is, in the units of the drawing.
    pub x: i32,
    /// And how far below the top.
    pub y: i32,
}

/// The plot as SVG.
///
/// # Errors
/// The plotting crate's error.
pub fn draw(plot: &Plot, legend_is: Legend) -> Result<Drawing, String> {
    let mut svg = String::new();
    let narrowest = match plot.kind {
        _ if legend_is == Legend::Elsewhere && plot.panels.len() == 1 => ON_PAGE,
        Kind::Bars => NARROWEST,
        Kind::Lines if plot.categories.is_some() || !plot.dense() => NARROWEST,
        _ => WIDE,
    };
    let panel_width =
        plot.categories.as_ref().filter(|_| matches!(plot.kind, Kind::Lines | Kind::Bars));
    // On a page letters shrink with a wide drawing.
    let between = if legend_is == Legend::Elsewhere { 1 } else { 2 };
    let panel_width = panel_width.map_or(0, |names| {
        names.iter().map(|name| (name.chars().count() + between) * LETTER).max().unwrap_or(0)
            * names.len()
            + 80
    });
    let width = panel_width.max(narrowest) * plot.panels.len();
    let rows = if legend_is == Legend::Drawn { legend(plot, width) } else { Vec::new() };
    let height = match (plot.kind, &plot.categories) {
        (Kind::Ranks, Some(names)) => {
            let guide = usize::from(!plot.guides.is_empty());
            ((names.len() + guide) * RANK) as u32 + 74
        }
        _ => HEIGHT,
    };
    let (width, legend_height) = (width as u32, LEGEND * rows.len() as u32);
    let mut drawing = Drawing {
        svg: String::new(),
        hits: Vec::new(),
        series: plot.panels.first().map_or_else(Vec::new, |panel| {
            panel.series.iter().enumerate().map(|(at, series)| series.colour(at)).collect()
        }),
        keys: plot.panels.first().map(keys).unwrap_or_default(),
        scale: if plot.kind == Kind::Heat { scale(plot) } else { Vec::new() },
        frame: None,
    };
    {
        let root = SVGBackend::with_string(&mut svg, (width, height + legend_height));
        let root = root.into_drawing_area();
        root.fill(&WHITE).map_err(text)?;
        let (above, below) = root.split_vertically(height);
        for (number, area) in above.split_evenly((1, plot.panels.len())).iter().enumerate() {
            draw_panel(plot, number, area, &mut drawing)?;
        }
        for (at, row) in rows.iter().enumerate() {
            draw_legend(&below, row, at as u32 * LEGEND)?;
        }
        root.present().map_err(text)?;
    }
    drawing.svg = svg;
    Ok(drawing)
}

impl Series {
    /// Its colour, by its place among the series.
    fn colour(&self, at: usize) -> Colour {
        Colour::of(self.colour.unwrap_or(at))
    }

    /// Whether its line is dashed: the second half of the colours is harder to distinguish from the first.
    fn is_dashed(&self, at: usize) -> bool {
        self.colour.unwrap_or(at) >= 6 && !self.is_rest(at)
    }

    /// Whether it has no colour of its own.
    fn is_rest(&self, at: usize) -> bool {
        self.colour(at).is_rest()
    }
}

impl Panel {
    /// Its series in drawing order: grey ones are behind.
    fn behind_first(&self) -> impl Iterator<Item = (usize, &Series)> {
        let of = |rest: bool| {
            self.series.iter().enumerate().filter(move |(at, series)| series.is_rest(*at) == rest)
        };
        of(true).chain(of(false))
    }
}

/// The axes of every panel.
fn axes(plot: &Plot, room: usize) -> (Axis, Axis) {
    let named = |(low, high): (f64, f64), log: bool| log.then(|| axis::log_ticks(low, high));
    let names = plot.categories.as_ref().filter(|_| plot.kind == Kind::Ranks);
    let (x, y) = (plot.x_range(), plot.y_range());
    let levels = match names {
        Some(names) => Some((0..names.len()).map(|at| at as f64).collect()),
        None => match &plot.levels {
            Some(levels) => Some((0..levels.len()).map(|at| at as f64).collect()),
            None => named(y, plot.y_log),
        },
    };
    let below = named(x, plot.x_log).map(|places| {
        // A number needs its letters and a gap, in parts of the axis.
        let width = |place: f64| (tick(10_f64.powf(place)).chars().count() * LETTER + 6) as f64;
        axis::apart(places, |a, b| (width(a) + width(b)) / 2.0 * (x.1 - x.0) / room as f64)
    });
    (Axis::new(x, below), Axis::new(y, levels))
}

fn draw_panel(
    plot: &Plot,
    number: usize,
    area: &Area<'_>,
    drawing: &mut Drawing,
) -> Result<(), String> {
    let panel = &plot.panels[number];
    let mut builder = ChartBuilder::on(area);
    builder.margin(8).x_label_area_size(42).y_label_area_size(y_label_width(plot));
    if plot.kind == Kind::Ranks {
        // The last number of the axis, and those beside the bars.
        builder.margin_right(52);
    } else if plot.x_log || matches!(plot.kind, Kind::Dots | Kind::Heat) {
        // A number may stand at the very end.
        builder.margin_right(24);
    }
    if !panel.title.is_empty() {
        builder.caption(show::short(&panel.title, 2 * NAME), (FONT, SIZE + 2));
    }
    let (x, y) = axes(plot, room(plot, area));
    let mut chart = builder.build_cartesian_2d(x, y).map_err(text)?;
    mesh(plot, &mut chart, room(plot, area))?;
    match plot.kind {
        Kind::Bars => bars(plot, panel, &mut chart)?,
        Kind::Lines => lines(plot, panel, &mut chart)?,
        Kind::Ranks => ranks(plot, panel, &mut chart)?,
        Kind::Dots => dots(plot, panel, &mut chart)?,
        Kind::Heat => cells(plot, panel, &mut chart, &drawing.scale)?,
    }
    guides(plot, &mut chart)?;
    drawing.frame = frame(plot, &chart);
    for (at, series) in panel.series.iter().enumerate() {
        // A logarithmic axis has no place for nothing.
        for point in series.ours.iter().filter(|point| !plot.y_log || point.y > 0.0) {
            let (row, column) = Table::place(plot, number, at, point);
            let (mut x, y) = chart.backend_coord(&plot.place(point));
            if plot.kind == Kind::Bars {
                let left =
                    point.x - TAKEN / 2.0 + TAKEN / panel.series.len() as f64 * (at as f64 + 0.5);
                x = chart.backend_coord(&(left, 0.0)).0;
            }
            drawing.hits.push(Hit { series: at, row, column, x, y });
        }
    }
    Ok(())
}

fn frame(plot: &Plot, chart: &Chart<'_, '_>) -> Option<Frame> {
    let [panel] = &plot.panels[..] else { return None };
    let redrawn = matches!(plot.kind, Kind::Lines | Kind::Dots)
        && plot.guides.iter().all(|g| plot.kind == Kind::Lines && matches!(g, Guide::Upright(..)))
        && panel.series.iter().all(|series| series.theirs.is_empty());
    let (x, y) = chart.plotting_area().get_pixel_range();
    let ends = |at, range, log, named| Ends { at, range, log, named };
    redrawn.then(|| Frame {
        x: ends((x.start, x.end), plot.x_range(), plot.x_log, plot.categories.is_some()),
        y: ends((y.end, y.start), plot.y_range(), plot.y_log, false),
    })
}

impl Plot {
    /// Where a point is, as places on the axes.
    fn place(&self, point: &Point) -> (f64, f64) {
        if self.kind == Kind::Ranks {
            // The first is on top.
            let names = self.categories.as_ref().map_or(1, Vec::len);
            return (axis::place(point.y, self.x_log), names as f64 - 1.0 - point.x);
        }
        (axis::place(point.x, self.x_log), axis::place(point.y, self.y_log))
    }
}

/// How long the x-axis is, about.
fn room(plot: &Plot, area: &Area<'_>) -> usize {
    area.dim_in_pixel().0.saturating_sub(y_label_width(plot) + 60).max(60) as usize
}

fn mesh(plot: &Plot, chart: &mut Chart<'_, '_>, room: usize) -> Result<(), String> {
    let number = |place: f64, log: bool| tick(if log { 10_f64.powf(place) } else { place });
    let named = |place: f64| -> Option<String> {
        // Between categories there is nothing to name.
        let names = plot.categories.as_ref()?;
        if place.fract().abs() > 1e-6 || place < -0.1 {
            return Some(String::new());
        }
        Some(names.get(place.round() as usize).map_or_else(String::new, |name| show::plain(name)))
    };
    let ranks = plot.kind == Kind::Ranks;
    let x_name = |x: &f64| match ranks {
        true => number(*x, plot.x_log),
        false => named(*x).unwrap_or_else(|| number(*x, plot.x_log)),
    };
    let last = plot.categories.as_ref().map_or(0.0, |names| names.len() as f64 - 1.0);
    let y_name = |y: &f64| match (ranks, &plot.levels) {
        (true, _) => show::short(&named(last - *y).unwrap_or_default(), NAME),
        (false, Some(levels)) => {
            levels.get(y.round() as usize).map_or_else(String::new, |name| show::short(name, NAME))
        }
        (false, None) => number(*y, plot.y_log),
    };
    let categories = plot.categories.as_ref().filter(|_| !ranks);
    let (low, high) = plot.x_range();
    let longest = [low, high].map(|end| tick(end.round()).chars().count().max(3));
    let fit = room / (longest[0].max(longest[1]) * LETTER + 10);
    let labels = categories.map_or(fit.clamp(2, 8), |names| names.len().max(2));
    let mut mesh = chart.configure_mesh();
    mesh.x_labels(labels)
        .y_labels(6)
        .x_label_formatter(&x_name)
        .y_label_formatter(&y_name)
        .x_desc(&plot.x_title)
        .label_style((FONT, SIZE))
        .axis_desc_style((FONT, SIZE))
        .max_light_lines(0)
        .bold_line_style(MESH);
    if ranks {
        mesh.disable_y_mesh();
    } else {
        mesh.y_desc(&plot.y_title);
    }
    if categories.is_some() || plot.kind == Kind::Heat {
        mesh.disable_x_mesh();
    }
    if plot.kind == Kind::Heat {
        mesh.disable_y_mesh();
    }
    mesh.draw().map_err(text)
}

/// Room for the longest number beside the y-axis, and the axis' title on edge.
fn y_label_width(plot: &Plot) -> u32 {
    if plot.kind == Kind::Ranks {
        let names = plot.categories.iter().flatten();
        let longest = names.map(|name| show::short(name, NAME).chars().count()).max();
        return (longest.unwrap_or(0) * LETTER) as u32 + 12;
    }
    if let Some(levels) = &plot.levels {
        let longest = levels.iter().map(|name| show::short(name, NAME).chars().count()).max();
        return (longest.unwrap_or(0) * LETTER) as u32 + TITLE_ON_EDGE + 8;
    }
    let (low, high) = plot.y_range();
    if plot.y_log {
        let ticks = axis::log_ticks(low, high).into_iter().map(|place| tick(10_f64.powf(place)));
        let longest = ticks.map(|text| text.chars().count()).max().unwrap_or(0).max(4);
        return (longest * (LETTER + 1)) as u32 + TITLE_ON_EDGE;
    }
    // A tick is rounder than an end, so its fraction is no longer than a digit or two.
    let longest = [low, high].map(|end| tick(end.round()).chars().count().max(4));
    let [low, high] = longest;
    (low.max(high) * (LETTER + 1)) as u32 + TITLE_ON_EDGE
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

fn text(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::{
        legend::{Sign, entry_width},
        *,
    };

    fn lines(count: usize) -> Plot {
        let points = |n: usize| (0..30).map(|x| Point::at(f64::from(x), n as f64)).collect();
        let series = (0..count).map(|n| Series::new(format!("policy {n}"), points(n)));
        Plot::new(Kind::Lines, "x", "y", series.collect())
    }

    #[test]
    fn what_cannot_be_told_apart_is_grey_and_has_one_key() {
        let drawing = draw(&lines(29), Legend::Drawn).expect("drawn");
        let told: Vec<_> = drawing.series.iter().filter(|colour| !colour.is_rest()).collect();
        assert_eq!(told.len(), 12);
        let (last, keys) = drawing.keys.split_last().expect("keys");
        assert_eq!((keys.len(), last.name.as_str()), (12, "17 others"));
        assert_eq!(last.series, (12..29).collect::<Vec<_>>());
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(
                (&key.series[..], key.colour),
                (&[at][..], drawing.series[at]),
                "a key has the colour of its line"
            );
            assert_eq!(key.dashed, at >= 6);
        }
        // Each grey is one series' own, and behind all colours.
        let mut greys = drawing.series[12..].to_vec();
        greys.dedup();
        assert_eq!(greys.len(), 17);
        let first = |colour: Colour| drawing.svg.find(&colour.hex()).expect("drawn");
        assert!(
            greys.iter().all(|grey| first(*grey) < first(drawing.series[0])),
            "grey lies in front"
        );
        assert_eq!(draw(&lines(13), Legend::Drawn).expect("drawn").keys[12].name, "policy 12");
    }

    #[test]
    fn keys_have_the_dashes_of_their_lines_and_nothing_is_cut() {
        let mut plot = lines(8);
        plot.panels[0].series[7].name =
            "a name that is far longer than any drawing is wide, to be sure".into();
        let rows = legend(&plot, 330);
        assert!(rows.iter().all(|row| row.iter().map(entry_width).sum::<usize>() <= 330));
        let dashed = rows.iter().flatten().map(|(_, sign)| matches!(sign, Sign::Line(_, true)));
        assert_eq!(
            dashed.collect::<Vec<_>>(),
            [false, false, false, false, false, false, true, true]
        );
        let cell = |n: f64| Point { z: n * 1e5, ..Point::at(n % 3.0, n) };
        let cells = Series::new("", (1..9).map(|n| cell(f64::from(n))).collect());
        let heat = Plot {
            z_title: "a figure with a rather long name, in its unit".into(),
            ..Plot::new(Kind::Heat, "x", "y", vec![cells])
        };
        // A map of noise has no contrast.
        let near = |n: f64| Point { z: 1.0 + n * 1e-4, ..Point::at(n % 3.0, n) };
        let cells = Series::new("", (1..9).map(|n| near(f64::from(n))).collect());
        let level = Plot::new(Kind::Heat, "x", "y", vec![cells]);
        assert_eq!((marks::scale(&heat).len(), marks::scale(&level).len()), (6, 1));
        for plot in [plot, heat, level] {
            let svg = draw(&plot, Legend::Drawn).expect("drawn").svg;
            assert!(!svg.contains("width=\"0\""), "{svg}");
        }
    }
}
