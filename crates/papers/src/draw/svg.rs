//! Draws a plot.

use std::fmt::Display;

use plotters::{
    chart::{ChartBuilder, ChartContext},
    coord::{
        Shift,
        cartesian::Cartesian2d,
        ranged1d::{AsRangedCoord, Ranged, ValueFormatter},
        types::RangedCoordf64,
    },
    drawing::{DrawingArea, IntoDrawingArea},
    element::{Circle, Rectangle, Text},
    prelude::{IntoLogRange, SVGBackend},
    series::LineSeries,
    style::{BLACK, Color, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE},
};

use super::{Panel, Plot, Point};
use crate::show;

/// Colours that those who see few can tell apart (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
];
const FONT: &str = "sans-serif";
/// Of which the crate makes 12 pixels.
const SIZE: i32 = 15;
/// About as wide as a letter is.
const LETTER: usize = 7;
const HEIGHT: u32 = 300;
const LEGEND: u32 = 22;
const NARROWEST: usize = 330;
/// The height of the y-axis' title, and the tick marks.
const TITLE_ON_EDGE: u32 = 32;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The plot as SVG.
pub(super) fn draw(plot: &Plot) -> Result<String, String> {
    let mut svg = String::new();
    let panel_width = plot.categories.as_ref().map_or(0, |names| {
        names.iter().map(|name| (name.chars().count() + 2) * LETTER).max().unwrap_or(0)
            * names.len()
            + 80
    });
    let width = panel_width.max(NARROWEST) * plot.panels.len();
    let rows = legend(plot, width);
    let (width, legend_height) = (width as u32, LEGEND * rows.len() as u32);
    {
        let root = SVGBackend::with_string(&mut svg, (width, HEIGHT + legend_height));
        let root = root.into_drawing_area();
        root.fill(&WHITE).map_err(text)?;
        let (above, below) = root.split_vertically(HEIGHT);
        for (number, area) in above.split_evenly((1, plot.panels.len())).iter().enumerate() {
            let panel = &plot.panels[number];
            let (low, high) = plot.y_range();
            if plot.y_log {
                draw_panel(plot, panel, area, (low..high).log_scale())?;
            } else {
                draw_panel(plot, panel, area, low..high)?;
            }
        }
        for (at, row) in rows.iter().enumerate() {
            draw_legend(&below, row, at as u32 * LEGEND, plot)?;
        }
        root.present().map_err(text)?;
    }
    Ok(svg)
}

fn draw_panel<Y>(plot: &Plot, panel: &Panel, area: &Area<'_>, y: Y) -> Result<(), String>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let (left, right) = plot.x_range();
    let mut builder = ChartBuilder::on(area);
    builder.margin(8).x_label_area_size(42).y_label_area_size(y_label_width(plot));
    if !panel.title.is_empty() {
        builder.caption(&panel.title, (FONT, SIZE + 2));
    }
    let mut chart = builder.build_cartesian_2d(left..right, y).map_err(text)?;
    let name = |x: &f64| match &plot.categories {
        None => tick(*x),
        // Between categories there is nothing to name.
        Some(_) if x.fract().abs() > 1e-6 => String::new(),
        Some(names) => names.get(x.round() as usize).cloned().unwrap_or_default(),
    };
    let labels = plot.categories.as_ref().map_or(8, |names| names.len().max(2));
    let mut mesh = chart.configure_mesh();
    mesh.x_labels(labels)
        .y_labels(6)
        .x_label_formatter(&name)
        .y_label_formatter(&|y: &f64| tick(*y))
        .x_desc(&plot.x_title)
        .y_desc(&plot.y_title)
        .label_style((FONT, SIZE))
        .axis_desc_style((FONT, SIZE))
        .max_light_lines(0)
        .bold_line_style(RGBColor(225, 225, 225));
    if plot.categories.is_some() {
        mesh.disable_x_mesh();
    }
    mesh.draw().map_err(text)?;
    if plot.bars { bars(plot, panel, &mut chart) } else { lines(panel, &mut chart) }
}

/// A number beside an axis: `0.8`, where a table has `0.800`.
fn tick(value: f64) -> String {
    let text = show::number(value);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Room for the longest number beside the y-axis, and the axis' title on edge.
fn y_label_width(plot: &Plot) -> u32 {
    let (low, high) = plot.y_range();
    // A tick is rounder than an end, so its fraction is no longer than a digit or two.
    let longest = [low, high].map(|end| show::number(end.round()).chars().count().max(4));
    let [low, high] = longest;
    (low.max(high) * (LETTER + 1)) as u32 + TITLE_ON_EDGE
}

type Chart<'a, 'b, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, Y>>;

fn lines<Y: Ranged<ValueType = f64>>(
    panel: &Panel,
    chart: &mut Chart<'_, '_, Y>,
) -> Result<(), String> {
    let mut behind = panel.series.len() as u32;
    for (series, colour) in panel.series.iter().zip(COLOURS.iter().cycle()) {
        // The first is drawn below and widest, so that lines which coincide all show.
        behind -= 1;
        let points = series.ours.iter().map(|point| (point.x, point.y));
        let line = LineSeries::new(points.clone(), colour.stroke_width(2 + behind));
        chart.draw_series(line).map_err(text)?;
        let dots = points.map(|at| Circle::new(at, 3 + behind, colour.filled()));
        chart.draw_series(dots).map_err(text)?;
        let hollow = series.theirs.iter().map(|p| Circle::new((p.x, p.y), 6, outline(*colour)));
        chart.draw_series(hollow).map_err(text)?;
    }
    Ok(())
}

/// The part of a category's width that its bars take.
const TAKEN: f64 = 0.8;

fn bars<Y: Ranged<ValueType = f64>>(
    plot: &Plot,
    panel: &Panel,
    chart: &mut Chart<'_, '_, Y>,
) -> Result<(), String> {
    let width = TAKEN / panel.series.len().max(1) as f64;
    let foot = if plot.y_log { plot.y_range().0 } else { 0.0 };
    for (at, (series, colour)) in panel.series.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let left = |point: &Point| point.x - TAKEN / 2.0 + width * at as f64;
        let bar = |point: &Point, style: ShapeStyle| {
            Rectangle::new([(left(point), foot), (left(point) + width * 0.92, point.y)], style)
        };
        let ours = series.ours.iter().map(|point| bar(point, colour.filled()));
        chart.draw_series(ours).map_err(text)?;
        let theirs = series.theirs.iter().map(|point| {
            Circle::new((left(point) + width * 0.46, point.y), 5, BLACK.stroke_width(2))
        });
        chart.draw_series(theirs).map_err(text)?;
    }
    Ok(())
}

fn outline(colour: RGBColor) -> ShapeStyle {
    colour.stroke_width(2)
}

/// An entry of the legend: its colour, or the sign of what was published.
type Entry<'a> = (&'a str, Option<RGBColor>);

/// The legend's rows, as many entries in each as fit.
fn legend(plot: &Plot, width: usize) -> Vec<Vec<Entry<'_>>> {
    let Some(panel) = plot.panels.first() else { return Vec::new() };
    let named = panel.series.iter().filter(|series| !series.name.is_empty());
    let mut entries: Vec<Entry<'_>> = named
        .zip(COLOURS.iter().cycle())
        .map(|(series, colour)| (series.name.as_str(), Some(*colour)))
        .collect();
    let all = plot.panels.iter().flat_map(|panel| &panel.series);
    if all.clone().any(|series| !series.theirs.is_empty()) {
        entries.push(("published", None));
    }
    let mut rows: Vec<Vec<Entry<'_>>> = Vec::new();
    let mut left = 0;
    for entry in entries {
        let wide = entry_width(entry);
        if wide > left || rows.is_empty() {
            rows.push(Vec::new());
            left = width;
        }
        left = left.saturating_sub(wide);
        rows.last_mut().expect("one was pushed").push(entry);
    }
    rows
}

fn entry_width((name, _): Entry<'_>) -> usize {
    name.chars().count() * LETTER + 34
}

fn draw_legend(area: &Area<'_>, row: &[Entry<'_>], top: u32, plot: &Plot) -> Result<(), String> {
    let (mut x, y) = (16, top as i32 + 9);
    for entry in row {
        match entry.1 {
            Some(colour) if plot.bars => {
                let place = [(x - 5, y - 5), (x + 6, y + 6)];
                area.draw(&Rectangle::new(place, colour.filled())).map_err(text)?;
            }
            Some(colour) => area.draw(&Circle::new((x, y), 4, colour.filled())).map_err(text)?,
            None => area.draw(&Circle::new((x, y), 5, outline(BLACK))).map_err(text)?,
        }
        let style: TextStyle<'_> = (FONT, SIZE).into_font().transform(FontTransform::None).into();
        area.draw(&Text::new(entry.0.to_owned(), (x + 12, y - 6), style)).map_err(text)?;
        x += entry_width(*entry) as i32;
    }
    Ok(())
}

fn text(error: impl Display) -> String {
    error.to_string()
}
