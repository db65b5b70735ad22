//! The marks between the axes: lines, bars, dots, cells, guides.

use plotters::{
    element::{Circle, PathElement, Rectangle, Text},
    series::{DashedLineSeries, LineSeries},
    style::{
        BLACK, Color, IntoFont, RGBColor, ShapeStyle, TextStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::{Chart, FONT, LETTER, MESH, SIZE, text};
use crate::{
    Colour, axis,
    plot::{Guide, Panel, Plot, Point, Series},
    show,
};

/// Guides.
const GUIDE: RGBColor = RGBColor(110, 110, 110);

/// An insignificant relative difference of cells.
const LEVEL: f64 = 0.01;

/// Cells, from few to many: one hue, ever darker.
const HEAT: [RGBColor; 6] = [
    RGBColor(222, 235, 247),
    RGBColor(183, 212, 234),
    RGBColor(130, 186, 219),
    RGBColor(74, 151, 201),
    RGBColor(33, 113, 181),
    RGBColor(8, 64, 129),
];

/// Legible colours of numbers on those cells. Pages find the last two by value: in dark mode their cells are dark
/// where these are pale.
const ON_HEAT: [RGBColor; 6] = [BLACK, BLACK, BLACK, ON_MIDDLE, ON_DEEP, ON_DEEP];

/// On the fourth shade.
const ON_MIDDLE: RGBColor = RGBColor(1, 1, 1);

/// On the last two.
const ON_DEEP: RGBColor = RGBColor(254, 254, 254);

pub(super) fn lines(plot: &Plot, panel: &Panel, chart: &mut Chart<'_, '_>) -> Result<(), String> {
    let dense = plot.dense();
    for (at, series) in panel.behind_first() {
        let colour = RGBColor::from(series.colour(at));
        // The first is drawn below and widest, so that lines which coincide all show.
        let wider = if plot.overlaid { (panel.series.len() - 1 - at) as u32 } else { 0 };
        let width = if series.is_rest(at) { 1 } else { 2 + wider };
        let visible = series.ours.iter().filter(|point| !plot.y_log || point.y > 0.0);
        let points: Vec<_> = visible.map(|point| plot.place(point)).collect();
        let style = colour.stroke_width(width);
        match series.is_dashed(at) {
            true => {
                let line = DashedLineSeries::new(points.clone(), 5, 3, style);
                chart.draw_series(line).map_err(text)?
            }
            false => chart.draw_series(LineSeries::new(points.clone(), style)).map_err(text)?,
        };
        if !dense && !series.is_rest(at) {
            let dots = points.into_iter().map(|at| Circle::new(at, 3 + wider, colour.filled()));
            chart.draw_series(dots).map_err(text)?;
        }
        whiskers(plot, series, colour, chart)?;
        let hollow = series.theirs.iter().map(|p| Circle::new(plot.place(p), 6, outline(colour)));
        chart.draw_series(hollow).map_err(text)?;
    }
    Ok(())
}

/// How far each point may be off.
fn whiskers(
    plot: &Plot,
    series: &Series,
    colour: RGBColor,
    chart: &mut Chart<'_, '_>,
) -> Result<(), String> {
    let uncertain = series.ours.iter().filter(|point| point.half > 0.0);
    let ends = uncertain.map(|point| {
        let end = |by: f64| plot.place(&Point { y: point.y + by, ..*point });
        PathElement::new(vec![end(-point.half), end(point.half)], colour.stroke_width(1))
    });
    chart.draw_series(ends).map_err(text)?;
    Ok(())
}

/// The part of a category's width that its bars take.
pub(super) const TAKEN: f64 = 0.8;

pub(super) fn bars(plot: &Plot, panel: &Panel, chart: &mut Chart<'_, '_>) -> Result<(), String> {
    let width = TAKEN / panel.series.len().max(1) as f64;
    let foot = if plot.y_log { plot.y_range().0 } else { 0.0 };
    for (at, series) in panel.series.iter().enumerate() {
        let colour = RGBColor::from(series.colour(at));
        let left = |point: &Point| point.x - TAKEN / 2.0 + width * at as f64;
        let height = |point: &Point| axis::place(point.y, plot.y_log);
        let bar = |point: &Point, style: ShapeStyle| {
            Rectangle::new(
                [(left(point), foot), (left(point) + width * 0.92, height(point))],
                style,
            )
        };
        let ours = series.ours.iter().map(|point| bar(point, colour.filled()));
        chart.draw_series(ours).map_err(text)?;
        let theirs = series.theirs.iter().map(|point| {
            Circle::new((left(point) + width * 0.46, height(point)), 5, BLACK.stroke_width(2))
        });
        chart.draw_series(theirs).map_err(text)?;
    }
    Ok(())
}

pub(super) fn ranks(plot: &Plot, panel: &Panel, chart: &mut Chart<'_, '_>) -> Result<(), String> {
    for (at, series) in panel.series.iter().enumerate() {
        let colour = RGBColor::from(series.colour(at));
        let places: Vec<_> = series.ours.iter().map(|point| plot.place(point)).collect();
        if plot.x_log {
            // The position of a dot is the value. The thin line continues beyond it: a length would have no
            // meaning.
            let (from, to) = plot.x_range();
            let leads = places
                .iter()
                .map(|(_, y)| PathElement::new(vec![(from, *y), (to, *y)], MESH.stroke_width(1)));
            chart.draw_series(leads).map_err(text)?;
            let dots = places.iter().map(|place| Circle::new(*place, 5, colour.filled()));
            chart.draw_series(dots).map_err(text)?;
        } else {
            let bars = places.iter().map(|(x, y)| {
                Rectangle::new([(0.0, y - TAKEN / 2.0), (*x, y + TAKEN / 2.0)], colour.filled())
            });
            chart.draw_series(bars).map_err(text)?;
        }
        whiskers(plot, series, BLACK, chart)?;
        let style: TextStyle<'_> = (FONT, SIZE).into_font().into();
        let numbers = series.ours.iter().zip(&places).map(|(point, (_, y))| {
            let end = axis::place(point.y + point.half, plot.x_log);
            let (x, y) = chart.backend_coord(&(end, *y));
            (show::number(point.y), (x + 8, y - 6))
        });
        let numbers: Vec<_> = numbers.collect();
        let root = chart.plotting_area().strip_coord_spec();
        let (left, top) = root.get_base_pixel();
        for (number, (x, y)) in numbers {
            let place = (x - left, y - top);
            root.draw(&Text::new(number, place, style.clone())).map_err(text)?;
        }
    }
    Ok(())
}

pub(super) fn dots(plot: &Plot, panel: &Panel, chart: &mut Chart<'_, '_>) -> Result<(), String> {
    for (at, series) in panel.behind_first() {
        let colour = RGBColor::from(series.colour(at));
        let places: Vec<_> = series.ours.iter().map(|point| plot.place(point)).collect();
        if places.len() > 1 {
            let front = LineSeries::new(places, colour.stroke_width(1));
            chart.draw_series(front).map_err(text)?;
        } else {
            let dots = places.into_iter().map(|place| Circle::new(place, 6, colour.filled()));
            chart.draw_series(dots).map_err(text)?;
        }
        whiskers(plot, series, colour, chart)?;
    }
    Ok(())
}

/// The numbers at which shades begin: even steps, or of the logarithm where cells differ much; one shade where they
/// differ by nothing that matters.
pub(super) fn scale(plot: &Plot) -> Vec<(f64, Colour)> {
    let near = || plot.within.into_iter().flatten();
    let all = || plot.points().map(|point| point.z).chain(near()).filter(|z| *z > 0.0);
    let (least, most) = all().fold((f64::MAX, 0.0_f64), |(l, m), z| (l.min(z), m.max(z)));
    if most == 0.0 {
        return Vec::new();
    }
    if most - least <= LEVEL * most {
        let RGBColor(r, g, b) = HEAT[0];
        return vec![(least, Colour(r, g, b))];
    }
    let steps = HEAT.len() as f64;
    let begin = |step: usize| match most > 20.0 * least {
        true => least * (most / least).powf(step as f64 / steps),
        false => least + (most - least) * step as f64 / steps,
    };
    let shade = |(step, RGBColor(r, g, b)): (usize, &RGBColor)| (begin(step), Colour(*r, *g, *b));
    HEAT.iter().enumerate().map(shade).collect()
}

pub(super) fn cells(
    plot: &Plot,
    panel: &Panel,
    chart: &mut Chart<'_, '_>,
    scale: &[(f64, Colour)],
) -> Result<(), String> {
    let half = |(low, high): (f64, f64), count: usize| (high - low) / count.max(1) as f64 / 2.0;
    let count =
        |names: &Option<Vec<String>>, all: Vec<f64>| names.as_ref().map_or(all.len(), Vec::len);
    let (wide, tall) = (
        half(plot.x_range(), count(&plot.categories, plot.columns())),
        half(plot.y_range(), count(&plot.levels, plot.rows())),
    );
    let points: Vec<_> = panel
        .series
        .iter()
        .flat_map(|series| &series.ours)
        .filter(|point| point.z > 0.0)
        .map(|point| (point, shade(point.z, scale)))
        .collect();
    let cells = points.iter().map(|(point, shade)| {
        let (x, y) = plot.place(point);
        Rectangle::new([(x - wide, y - tall), (x + wide, y + tall)], HEAT[*shade].filled())
    });
    chart.draw_series(cells).map_err(text)?;
    let longest = points.iter().map(|(point, _)| show::number(point.z).len()).max().unwrap_or(0);
    let (width, height) = chart.plotting_area().dim_in_pixel();
    let room = |pixels: u32, share: f64, of: (f64, f64)| f64::from(pixels) * share / (of.1 - of.0);
    if room(width, 2.0 * wide, plot.x_range()) < (longest * LETTER) as f64
        || room(height, 2.0 * tall, plot.y_range()) < f64::from(SIZE)
    {
        return Ok(());
    }
    let middle = Pos::new(HPos::Center, VPos::Center);
    let numbers = points.iter().map(|(point, shade)| {
        let style: TextStyle<'_> = (FONT, SIZE).into_font().color(&ON_HEAT[*shade]).pos(middle);
        Text::new(show::number(point.z), plot.place(point), style)
    });
    chart.draw_series(numbers).map_err(text)?;
    Ok(())
}

/// The number of a value's shade.
fn shade(z: f64, scale: &[(f64, Colour)]) -> usize {
    scale.iter().rposition(|(begin, _)| z >= *begin * (1.0 - 1e-9)).unwrap_or(0)
}

pub(super) fn guides(plot: &Plot, chart: &mut Chart<'_, '_>) -> Result<(), String> {
    let ((left, right), (low, high)) = (plot.x_range(), plot.y_range());
    let mut uprights = 0;
    for guide in &plot.guides {
        let (from, to, name) = match guide {
            Guide::Upright(x, name) => {
                let x = axis::place(*x, plot.x_log);
                ((x, low), (x, high), name)
            }
            Guide::Level(y, name) => {
                let y = axis::place(*y, plot.y_log);
                ((left, y), (right, y), name)
            }
        };
        let line = DashedLineSeries::new([from, to], 4, 4, GUIDE.stroke_width(2));
        chart.draw_series(line).map_err(text)?;
        let (x, y) = chart.backend_coord(&to);
        let root = chart.plotting_area().strip_coord_spec();
        let (at, top) = root.get_base_pixel();
        let wide = (name.chars().count() * LETTER) as i32;
        // Beside an upright line, on whichever side has room, each a line lower; above the end of a level one.
        let below = y - top + 2 + uprights * SIZE;
        let beyond = x - at + 6 + wide > root.dim_in_pixel().0 as i32;
        let place = match guide {
            Guide::Upright(..) if beyond => (x - at - 6 - wide, below),
            Guide::Upright(..) => (x - at + 6, below),
            Guide::Level(..) => (x - at - wide - 4, y - top - 15),
        };
        let style: TextStyle<'_> = (FONT, SIZE - 1).into_font().into();
        root.draw(&Text::new(show::plain(name), place, style)).map_err(text)?;
        uprights += i32::from(matches!(guide, Guide::Upright(..)));
    }
    Ok(())
}

pub(super) fn outline(colour: RGBColor) -> ShapeStyle {
    colour.stroke_width(2)
}
