//! The legend of a plot.

use plotters::{
    element::{Circle, PathElement, Rectangle, Text},
    style::{BLACK, Color, FontTransform, IntoFont, RGBColor, TextStyle},
};

use super::{
    Area, FONT, LETTER, NAME, SIZE,
    marks::{outline, scale},
    text,
};
use crate::{
    Colour,
    plot::{Kind, Panel, Plot, Series},
    show,
};

/// Whether a drawing explains its colours itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legend {
    /// It does.
    Drawn,
    /// A page does.
    Elsewhere,
}

/// A key of a legend: the meaning of a colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its series: one, or all further series.
    pub series: Vec<usize>,
    /// Its colour.
    pub colour: Colour,
    /// Whether its lines are dashed.
    pub dashed: bool,
}

/// The keys of a panel: each series that has a name and a colour of its own, and one for the rest.
pub(super) fn keys(panel: &Panel) -> Vec<Key> {
    let named = panel.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
    let (rest, told): (Vec<_>, Vec<_>) = named.partition(|(at, series)| series.is_rest(*at));
    let key = |(at, series): &(usize, &Series)| Key {
        name: series.name.clone(),
        series: vec![*at],
        colour: series.colour(*at),
        dashed: series.is_dashed(*at),
    };
    let mut keys: Vec<_> = told.iter().map(key).collect();
    match &rest[..] {
        [] => {}
        [only] => keys.push(key(only)),
        [first, ..] => keys.push(Key {
            name: format!("{} others", rest.len()),
            series: rest.iter().map(|(at, _)| *at).collect(),
            ..key(first)
        }),
    }
    keys
}

/// How an entry of a legend begins.
#[derive(Clone, Copy)]
pub(super) enum Sign {
    /// As bars and cells are.
    Square(RGBColor),
    /// As dots are, and lines with dots.
    Dot(RGBColor),
    /// As lines without dots are; dashed or not.
    Line(RGBColor, bool),
    /// A published point.
    Hollow,
    /// No sign: it explains the others.
    Nothing,
}

/// An entry of a legend.
pub(super) type Entry = (String, Sign);

/// The legend's rows, as many entries in each as fit.
pub(super) fn legend(plot: &Plot, width: usize) -> Vec<Vec<Entry>> {
    let Some(panel) = plot.panels.first() else { return Vec::new() };
    let mut entries: Vec<Entry> = match plot.kind {
        // Its categories name everything.
        Kind::Ranks => return Vec::new(),
        Kind::Heat => {
            let shades = scale(plot).into_iter();
            let shades =
                shades.map(|(begin, colour)| (show::number(begin), Sign::Square(colour.into())));
            let title = (plot.z_title.clone() + ", from:", Sign::Nothing);
            std::iter::once(title).chain(shades).collect()
        }
        _ => keys(panel).into_iter().map(|key| (key.name.clone(), sign(plot, &key))).collect(),
    };
    let all = plot.panels.iter().flat_map(|panel| &panel.series);
    if all.clone().any(|series| !series.theirs.is_empty()) {
        entries.push(("published".into(), Sign::Hollow));
    }
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut left = 0;
    // A name wider than the drawing would be cut at its edge.
    let most = (width.saturating_sub(BESIDE) / LETTER).min(2 * NAME);
    for (name, sign) in entries {
        let entry = (show::short(&name, most), sign);
        let wide = entry_width(&entry);
        if wide > left || rows.is_empty() {
            rows.push(Vec::new());
            left = width;
        }
        left = left.saturating_sub(wide);
        rows.last_mut().expect("one was pushed").push(entry);
    }
    rows
}

/// The sign of a key, from its series. Dots do not show dashes, so a dashed series has a line.
fn sign(plot: &Plot, key: &Key) -> Sign {
    let colour = key.colour.into();
    match plot.kind {
        Kind::Bars | Kind::Heat => Sign::Square(colour),
        Kind::Lines if key.dashed || key.colour.is_rest() || plot.dense() => {
            Sign::Line(colour, key.dashed)
        }
        Kind::Lines | Kind::Dots | Kind::Ranks => Sign::Dot(colour),
    }
}

/// The part of an entry that is no name.
const BESIDE: usize = 34;

pub(super) fn entry_width((name, _): &Entry) -> usize {
    name.chars().count() * LETTER + BESIDE
}

pub(super) fn draw_legend(area: &Area<'_>, row: &[Entry], top: u32) -> Result<(), String> {
    let (mut x, y) = (16, top as i32 + 9);
    for entry in row {
        match entry.1 {
            Sign::Square(colour) => {
                let place = [(x - 5, y - 5), (x + 6, y + 6)];
                area.draw(&Rectangle::new(place, colour.filled())).map_err(text)?;
            }
            Sign::Dot(colour) => {
                area.draw(&Circle::new((x, y), 4, colour.filled())).map_err(text)?
            }
            Sign::Line(colour, dashed) => {
                let parts = if dashed { &[(-9, -4), (-1, 4), (7, 9)][..] } else { &[(-9, 9)] };
                for (from, to) in parts {
                    let line =
                        PathElement::new([(x + from, y), (x + to, y)], colour.stroke_width(2));
                    area.draw(&line).map_err(text)?;
                }
            }
            Sign::Hollow => area.draw(&Circle::new((x, y), 5, outline(BLACK))).map_err(text)?,
            Sign::Nothing => {}
        }
        let style: TextStyle<'_> = (FONT, SIZE).into_font().transform(FontTransform::None).into();
        area.draw(&Text::new(entry.0.clone(), (x + 12, y - 6), style)).map_err(text)?;
        x += entry_width(entry) as i32;
    }
    Ok(())
}
