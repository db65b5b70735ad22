//! The page of a sweep: figures over the axes, small multiples, heat maps, and the knee that was searched for.

use std::collections::BTreeMap;

use serde_json::Value;
use thermocline_chart::{Chart, Guide, Kind, Plot, Point, Series};
use thermocline_sim::{
    metric::{Metric, metrics},
    statistics::Interval,
};

use crate::{
    comparison::{CERTAIN, Repeat, repeats},
    figure::{self, Scale},
    number,
    page::{Block, Cell, Page, Rows, Section},
};

/// What is shown of each cell, besides the figure that was searched by.
const KEYS: [&str; 3] = ["write_amplification", "response_us.write.p99", "lifetime.tbw_bytes"];
/// The option that only repeats.
const SEED: &str = "seed";
/// Values of an axis from which two axes make a map.
const MAP: usize = 3;
/// Searches whose values are marked.
const MARKED: usize = 3;

/// A cell that has a result.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Its settings: option and value.
    pub settings: Vec<(String, String)>,
    /// Its result, as JSON.
    pub result: Value,
}

/// What was searched for, and found.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The figure.
    pub metric: &'static Metric,
    /// The condition, as the user wrote it.
    pub condition: String,
    /// Its bound.
    pub bound: f64,
    /// What was found for each combination of the others: its name, and the value.
    pub knees: Vec<(String, Option<String>)>,
    /// The same in words.
    pub sentences: Vec<String>,
}

/// An option that has several values.
struct Axis {
    name: String,
    values: Vec<String>,
    /// The same as numbers, where all are.
    numbers: Option<Vec<f64>>,
}

/// The cells of one combination of values, whatever the seed.
struct Group<'a> {
    /// The place on each axis.
    at: Vec<usize>,
    results: Vec<&'a Value>,
}

/// A study: axes, and what came of each combination.
struct Study<'a> {
    axes: Vec<Axis>,
    groups: Vec<Group<'a>>,
}

/// The page of a sweep.
#[must_use]
pub fn page(cells: &[Tried], searched: Option<&Searched>, repeat: &Repeat) -> Page {
    let study = Study::of(cells);
    let varied: Vec<_> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
    let title = match varied.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            format!("Sweep over {} and {last}", rest.join(", "))
        }
        Some((only, _)) => format!("Sweep over {only}"),
        None => "Sweep".into(),
    };
    let lead = searched.map_or_else(|| study.extremes(), |searched| searched.sentences.clone());
    let digests = study.digests();
    let sections = vec![
        Section {
            title: "Over the axes".into(),
            blocks: vec![Block::Charts(charts(cells, searched))],
        },
        Section { title: "All results".into(), blocks: vec![Block::Table(study.table(searched))] },
        repeats(repeat, digests),
    ];
    Page { title, lead, sections }
}

/// Every chart of a sweep.
#[must_use]
pub fn charts(cells: &[Tried], searched: Option<&Searched>) -> Vec<Chart> {
    let study = Study::of(cells);
    let all = wanted(searched).into_iter().flat_map(|metric| study.charts(metric, searched));
    all.filter(|chart| !chart.plot.is_empty()).collect()
}

/// The figures that are shown.
fn wanted(searched: Option<&Searched>) -> Vec<&'static Metric> {
    let mut all: Vec<_> = searched.iter().map(|searched| searched.metric).collect();
    for key in KEYS {
        let metric = metrics().iter().find(|metric| metric.key == key);
        all.extend(metric.filter(|metric| all.iter().all(|other| other.key != metric.key)));
    }
    all
}

/// A figure of a result.
fn of(result: &Value, metric: &Metric) -> Option<f64> {
    result.pointer(&format!("/{}", metric.key.replace('.', "/")))?.as_f64()
}

/// What a figure is called on an axis, with its unit, and how much of the result's unit that is.
fn on_axis(metric: &Metric) -> (String, f64) {
    let name = metric.header.replace('\n', " ");
    match metric.key.as_str() {
        "write_amplification" => ("write amplification".into(), 1.0),
        "response_us.write.p99" => ("write p99, ms".into(), 1e3),
        "lifetime.tbw_bytes" => ("TBW, TB".into(), 1e12),
        key if name.is_empty() => (key.into(), 1.0),
        key => (format!("{name} ({key})"), 1.0),
    }
}

/// A value of an option as a number: `7%`, `128KiB`, `2.5`.
fn as_number(value: &str) -> Option<f64> {
    let plain = value.strip_suffix('%').unwrap_or(value);
    plain.parse().ok().or_else(|| {
        let end = value.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, unit) = value.split_at(end);
        let power = ["B", "KiB", "MiB", "GiB", "TiB"].iter().position(|known| *known == unit)?;
        Some(number.trim().parse::<f64>().ok()? * 1024_f64.powi(power as i32))
    })
}

impl Axis {
    /// Its values in the order of their numbers.
    fn sorted(&self) -> Vec<String> {
        let mut order: Vec<_> = (0..self.values.len()).collect();
        let number = |at: usize| self.numbers.as_ref().map_or(at as f64, |all| all[at]);
        order.sort_by(|a, b| number(*a).total_cmp(&number(*b)));
        order.into_iter().map(|at| self.values[at].clone()).collect()
    }

    /// The place of a value in that order.
    fn rank(&self, at: usize) -> Option<f64> {
        let value = self.values.get(at)?;
        self.sorted().iter().position(|other| other == value).map(|place| place as f64)
    }
}

impl<'a> Study<'a> {
    fn of(cells: &'a [Tried]) -> Self {
        let mut known: Vec<Axis> = Vec::new();
        for (option, value) in cells.iter().flat_map(|cell| &cell.settings) {
            if option == SEED {
                continue;
            }
            match known.iter_mut().find(|axis| axis.name == *option) {
                Some(axis) if axis.values.contains(value) => {}
                Some(axis) => axis.values.push(value.clone()),
                None => known.push(Axis {
                    name: option.clone(),
                    values: vec![value.clone()],
                    numbers: None,
                }),
            }
        }
        // Inputs are one axis, whatever they are called.
        let inputs = ["trace", "workload"];
        let mixed = inputs.iter().all(|name| known.iter().any(|axis| axis.name == *name));
        known.retain(|axis| axis.values.len() > 1 || mixed && inputs.contains(&axis.name.as_str()));
        for axis in &mut known {
            axis.numbers = axis.values.iter().map(|value| as_number(value)).collect();
        }
        let mut groups: BTreeMap<Vec<usize>, Vec<&Value>> = BTreeMap::new();
        for cell in cells {
            let at = known.iter().map(|axis| {
                let value = cell.settings.iter().find(|(option, _)| *option == axis.name);
                // What a cell does not set is beyond the others.
                let place =
                    value.and_then(|(_, value)| axis.values.iter().position(|v| v == value));
                place.unwrap_or(axis.values.len())
            });
            groups.entry(at.collect()).or_default().push(&cell.result);
        }
        let groups = groups.into_iter().map(|(at, results)| Group { at, results }).collect();
        Self { axes: known, groups }
    }

    fn name(&self, group: &Group<'_>, but: &[usize]) -> String {
        let named = self.axes.iter().zip(&group.at).enumerate();
        let named = named.filter(|(at, _)| !but.contains(at));
        let names = named.filter_map(|(_, (axis, at))| axis.values.get(*at).cloned());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Its settings, each with the option.
    fn settings(&self, group: &Group<'_>) -> String {
        let named = self
            .axes
            .iter()
            .zip(&group.at)
            .filter_map(|(axis, at)| Some(format!("{} {}", axis.name, axis.values.get(*at)?)));
        named.collect::<Vec<_>>().join(", ")
    }

    /// The axis of numbers with the most values, and where there is another, that.
    fn numeric(&self) -> Vec<usize> {
        let numeric = self.axes.iter().enumerate().filter(|(_, axis)| axis.numbers.is_some());
        let mut numeric: Vec<_> = numeric.map(|(at, axis)| (axis.values.len(), at)).collect();
        numeric.sort_by_key(|(count, at)| (std::cmp::Reverse(*count), *at));
        numeric.into_iter().map(|(_, at)| at).collect()
    }

    fn charts(&self, metric: &'static Metric, searched: Option<&Searched>) -> Vec<Chart> {
        let numeric = self.numeric();
        let searched = searched.filter(|searched| searched.metric.key == metric.key);
        let (title, _) = on_axis(metric);
        match numeric[..] {
            [] => vec![self.ranks(metric, &title)],
            [x, y, ..]
                if searched.is_none()
                    && self.axes[x].values.len().min(self.axes[y].values.len()) >= MAP =>
            {
                self.maps(metric, &title, (x, y))
            }
            [x, ..] => self.lines(metric, &title, x, searched),
        }
    }

    /// Of a group, over its seeds.
    fn interval(group: &Group<'_>, metric: &Metric) -> Option<Interval> {
        let values: Option<Vec<f64>> =
            group.results.iter().map(|result| of(result, metric)).collect();
        Interval::of(&values?)
    }

    /// The same in the unit of the axis.
    fn scaled(group: &Group<'_>, metric: &Metric) -> Option<Interval> {
        let (_, unit) = on_axis(metric);
        let Interval { mean, half } = Self::interval(group, metric)?;
        Some(Interval { mean: mean / unit, half: half / unit })
    }

    fn ranks(&self, metric: &Metric, title: &str) -> Chart {
        let mut names = Vec::new();
        let mut series = Vec::new();
        for group in &self.groups {
            let Some(interval) = Self::scaled(group, metric) else { continue };
            let point =
                Point { half: interval.half, ..Point::at(names.len() as f64, interval.mean) };
            let name = self.name(group, &[]);
            series.push(Series { colour: Some(0), ..Series::new(name.clone(), vec![point]) });
            names.push(name);
        }
        let plot = Plot::new(Kind::Ranks, title, "settings", series);
        chart(metric, title, "", Plot { categories: Some(names), ..plot })
    }

    /// A line for each value of one axis, a chart for each combination of the rest, all on the same axes.
    fn lines(
        &self,
        metric: &Metric,
        title: &str,
        x: usize,
        searched: Option<&Searched>,
    ) -> Vec<Chart> {
        let others = (0..self.axes.len()).filter(|at| *at != x);
        let series = others.max_by_key(|at| self.axes[*at].values.len());
        let apart: Vec<usize> =
            (0..self.axes.len()).filter(|at| *at != x && Some(*at) != series).collect();
        let mut panels: BTreeMap<Vec<usize>, Vec<(usize, Point, &Group<'_>)>> = BTreeMap::new();
        let mut within: Option<[f64; 2]> = None;
        for group in &self.groups {
            let place = self.axes[x].numbers.as_ref().and_then(|all| all.get(group.at[x]));
            let (Some(place), Some(interval)) = (place, Self::scaled(group, metric)) else {
                continue;
            };
            let [low, high] = within.unwrap_or([interval.mean; 2]);
            within = Some([
                low.min(interval.mean - interval.half),
                high.max(interval.mean + interval.half),
            ]);
            let key = apart.iter().map(|at| group.at[*at]).collect();
            let point = Point { half: interval.half, ..Point::at(*place, interval.mean) };
            let line = series.map_or(0, |series| group.at[series]);
            panels.entry(key).or_default().push((line, point, group));
        }
        let axis = &self.axes[x];
        let x_log = axis.numbers.iter().flatten().all(|x| *x > 0.0) && {
            let ends = |f: fn(f64, f64) -> f64| axis.numbers.iter().flatten().copied().reduce(f);
            ends(f64::max).zip(ends(f64::min)).is_some_and(|(high, low)| high > 30.0 * low)
        };
        let panel = |points: Vec<(usize, Point, &Group<'_>)>| {
            let but: Vec<usize> = (0..self.axes.len()).filter(|at| !apart.contains(at)).collect();
            let about =
                points.first().map_or_else(String::new, |(.., group)| self.name(group, &but));
            let mut lines: BTreeMap<usize, Vec<Point>> = BTreeMap::new();
            points.iter().for_each(|(line, point, _)| lines.entry(*line).or_default().push(*point));
            let lines = lines.into_iter().map(|(line, mut points)| {
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                let name = series.and_then(|series| self.axes[series].values.get(line));
                Series {
                    colour: Some(line),
                    ..Series::new(name.cloned().unwrap_or_default(), points)
                }
            });
            let unit = axis
                .values
                .first()
                .map_or("", |value| if value.ends_with('%') { ", %" } else { "" });
            let plot =
                Plot::new(Kind::Lines, &format!("{}{unit}", axis.name), title, lines.collect());
            let guides = match searched {
                Some(searched) => found(searched),
                None => knees(&plot.panels[0].series, axis, x_log),
            };
            let about = match guides.is_empty() || searched.is_some() {
                true => about,
                false => format!("{about} Dashed: a knee, beyond which more gains little.")
                    .trim_start()
                    .to_owned(),
            };
            chart(metric, title, &about, Plot { guides, within, x_log, ..plot })
        };
        panels.into_values().map(panel).enumerate().map(|(at, c)| numbered(c, at)).collect()
    }

    /// A map for each combination of the rest, all in the same colours.
    fn maps(&self, metric: &Metric, title: &str, (x, y): (usize, usize)) -> Vec<Chart> {
        let mut panels: BTreeMap<Vec<usize>, (String, Vec<Point>)> = BTreeMap::new();
        let mut within: Option<[f64; 2]> = None;
        for group in &self.groups {
            // Steps between values need not be even; the cells are.
            let rank = |axis: usize| self.axes[axis].rank(group.at[axis]);
            let (Some(left), Some(up)) = (rank(x), rank(y)) else { continue };
            let Some(interval) = Self::scaled(group, metric) else { continue };
            let [low, high] = within.unwrap_or([interval.mean; 2]);
            within = Some([low.min(interval.mean), high.max(interval.mean)]);
            let mut key = group.at.clone();
            (key[x], key[y]) = (0, 0);
            let (_, points) =
                panels.entry(key).or_insert_with(|| (self.name(group, &[x, y]), Vec::new()));
            points.push(Point { z: interval.mean, ..Point::at(left, up) });
        }
        let map = |(at, (about, points)): (usize, (String, Vec<Point>))| {
            let (across, up) = (&self.axes[x], &self.axes[y]);
            let series = vec![Series::new("", points)];
            let plot = Plot::new(Kind::Heat, &across.name, &up.name, series);
            let (categories, levels) = (Some(across.sorted()), Some(up.sorted()));
            let plot = Plot { categories, levels, z_title: title.to_owned(), within, ..plot };
            numbered(chart(metric, title, &about, plot), at)
        };
        panels.into_values().enumerate().map(map).collect()
    }

    /// The best and the worst of the first figure.
    fn extremes(&self) -> Vec<String> {
        let Some(metric) = wanted(None).into_iter().next() else { return Vec::new() };
        let known = self
            .groups
            .iter()
            .filter_map(|group| Some((group, Self::interval(group, metric)?.mean)));
        let known: Vec<_> = known.collect();
        let show = |value: f64| figure::show_number(metric.look.format, value);
        let least = known.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let most = known.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let (Some((low, least)), Some((high, most))) = (least, most) else {
            return vec!["No simulation wrote anything.".into()];
        };
        vec![format!(
            "Of {}, the least write amplification is {}, with {}; the greatest is {}, with {}.",
            number::counted(known.len() as u64, "combination"),
            show(*least),
            self.settings(low),
            show(*most),
            self.settings(high)
        )]
    }

    fn digests(&self) -> Vec<String> {
        let text = |result: &Value, key: &str| Some(result.pointer(key)?.as_str()?.to_owned());
        let all = self.groups.iter().flat_map(|group| &group.results).filter_map(|result| {
            Some(format!(
                "{}  requests of {}",
                text(result, "/trace/digest")?,
                text(result, "/trace/path")?
            ))
        });
        let mut all: Vec<_> = all.collect();
        all.sort();
        all.dedup();
        all
    }

    fn table(&self, searched: Option<&Searched>) -> Rows {
        let metrics = wanted(searched);
        let mut header: Vec<_> = self.axes.iter().map(|axis| axis.name.clone()).collect();
        if header.is_empty() {
            header.push("settings".into());
        }
        let scale = |metric: &&'static Metric| {
            let results = self.groups.iter().flat_map(|group| &group.results);
            Scale::of(metric.look.format, results.filter_map(|result| of(result, metric)))
        };
        let scales: Vec<_> = metrics.iter().map(scale).collect();
        header.extend(metrics.iter().zip(&scales).map(|(metric, scale)| scale.header(metric)));
        let row = |group: &Group<'_>| {
            let setting = |(axis, at): (&Axis, &usize)| Cell {
                text: axis.values.get(*at).cloned().unwrap_or_default(),
                value: axis.numbers.as_ref().and_then(|all| all.get(*at)).copied(),
                best: false,
            };
            let mut cells: Vec<_> = self.axes.iter().zip(&group.at).map(setting).collect();
            if cells.is_empty() {
                cells.push(Cell { text: "all".into(), value: None, best: false });
            }
            cells.extend(metrics.iter().zip(&scales).map(|(metric, scale)| {
                let interval = Self::interval(group, metric);
                let text = interval.map_or_else(
                    || number::NONE.into(),
                    |Interval { mean, half }| {
                        if half > mean.abs() * CERTAIN {
                            format!("{} ± {}", scale.show(mean), scale.show_half(half))
                        } else {
                            scale.show(mean)
                        }
                    },
                );
                Cell { text, value: interval.map(|interval| interval.mean), best: false }
            }));
            cells
        };
        Rows { title: "All results".into(), header, rows: self.groups.iter().map(row).collect() }
    }
}

fn chart(metric: &Metric, title: &str, about: &str, plot: Plot) -> Chart {
    let name = metric.key.replace(['.', '_'], "-");
    Chart { name, title: title.into(), about: about.into(), plot }
}

fn numbered(chart: Chart, at: usize) -> Chart {
    Chart { name: format!("{}-{}", chart.name, at + 1), ..chart }
}

/// The values of an axis at which the curves bend most.
fn knees(series: &[Series], axis: &Axis, log: bool) -> Vec<Guide> {
    let mut all: Vec<f64> = series.iter().filter_map(|line| knee(&line.ours, log)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let guide = |x: &f64| {
        let at = axis.numbers.as_ref()?.iter().position(|number| number == x)?;
        Some(Guide::Upright(*x, axis.values[at].clone()))
    };
    all.iter().take(MARKED).filter_map(guide).collect()
}

/// The place furthest from the line between the ends of a curve that falls or rises ever less, if it is far
/// enough to be seen.
fn knee(points: &[Point], log: bool) -> Option<f64> {
    const FEWEST: usize = 4;
    const FAR: f64 = 0.15;
    let (first, last) = (points.first()?, points.last()?);
    let place = |x: f64| if log { x.ln() } else { x };
    let (width, height) = (place(last.x) - place(first.x), last.y - first.y);
    if points.len() < FEWEST || width == 0.0 || height == 0.0 {
        return None;
    }
    let ahead =
        |point: &Point| (point.y - first.y) / height - (place(point.x) - place(first.x)) / width;
    let furthest = points.iter().max_by(|a, b| ahead(a).total_cmp(&ahead(b)))?;
    (ahead(furthest) > FAR).then_some(furthest.x)
}

/// The bound, and the values at which it begins to hold.
fn found(searched: &Searched) -> Vec<Guide> {
    let (_, unit) = on_axis(searched.metric);
    let mut guides = vec![Guide::Level(searched.bound / unit, searched.condition.clone())];
    let found = searched.knees.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    for (_, value) in found.take(MARKED) {
        guides.extend(as_number(value).map(|x| Guide::Upright(x, value.clone())));
    }
    guides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_numbers() {
        assert_eq!((as_number("7%"), as_number("2KiB")), (Some(7.0), Some(2048.0)));
        assert_eq!((as_number("greedy"), as_number("0.5")), (None, Some(0.5)));
    }

    #[test]
    fn a_curve_has_a_knee_where_it_bends() {
        let curve = |ys: &[f64]| -> Vec<Point> {
            ys.iter().enumerate().map(|(at, y)| Point::at(at as f64, *y)).collect()
        };
        assert_eq!(knee(&curve(&[4.0, 2.0, 1.2, 1.1, 1.0]), false), Some(2.0));
        assert_eq!(knee(&curve(&[4.0, 3.0, 2.0, 1.0]), false), None, "a straight line");
        assert_eq!(knee(&curve(&[4.0, 1.1, 1.0]), false), None, "too few to say");
        assert_eq!(knee(&curve(&[1.0; 5]), false), None, "a level line");
    }

    #[test]
    fn axes_choose_the_charts() {
        let cell = |settings: &[(&str, &str)], amplification: f64| Tried {
            settings: settings.iter().map(|(o, v)| ((*o).to_owned(), (*v).to_owned())).collect(),
            result: serde_json::json!({ "write_amplification": amplification }),
        };
        let mut cells = Vec::new();
        for (at, over) in ["7%", "15%", "28%"].iter().enumerate() {
            for policy in ["greedy", "<cat>"] {
                for seed in ["1", "2"] {
                    let settings =
                        [("policy", policy), ("over-provisioning", over), ("seed", seed)];
                    cells.push(cell(
                        &settings,
                        3.0 - at as f64 + if seed == "2" { 0.2 } else { 0.0 },
                    ));
                }
            }
        }
        let found = charts(&cells, None);
        assert_eq!(found.len(), 1, "a chart for each figure that the results have");
        let plot = &found[0].plot;
        assert_eq!((plot.kind, plot.panels[0].series.len()), (Kind::Lines, 2));
        let first = plot.panels[0].series[0].ours[0];
        assert!((first.y - 3.1).abs() < 1e-9 && first.x == 7.0 && first.half > 0.0, "{first:?}");
        for banks in ["1", "2", "4"] {
            for over in ["7%", "15%", "28%"] {
                cells.push(cell(
                    &[("banks", banks), ("over-provisioning", over), ("policy", "greedy")],
                    2.0,
                ));
            }
        }
        assert_eq!(charts(&cells[12..], None)[0].plot.kind, Kind::Heat);
    }
}
