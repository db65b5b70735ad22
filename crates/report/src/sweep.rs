//! The page of a sweep: figures over the axes, small multiples, heat maps, and the knee that was searched for.

mod knee;
mod load;

use std::collections::BTreeMap;

use thermocline_chart::{Chart, Guide, Kind, Plot, Point, Series};
use thermocline_sim::{
    metric::{Format, Metric, metrics},
    result::StoredResult,
    statistics::Interval,
};
use thermocline_units::parse_size;

pub use load::knees as load_knees;

use self::{knee::knee, load::LOAD};
use crate::{
    colours,
    comparison::{CERTAIN, Repeat, repeats},
    figure::{self, Scale},
    number,
    page::{Block, Cell, Page, Rows, Section},
};

/// The figures of each cell, besides the searched one.
const KEYS: [&str; 3] = ["write_amplification", "response_us.write.p99", "lifetime.tbw_bytes"];
/// The option that only repeats runs.
const SEED: &str = "seed";
/// Values of an axis from which two axes make a map.
const MAP: usize = 3;
/// Values that are marked.
const MARKED: usize = 3;
/// Curves that a mark names.
const NAMED: usize = 2;

/// A cell that has a result.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Its settings: option and value.
    pub settings: Vec<(String, String)>,
    /// Its result.
    pub result: StoredResult,
}

/// A search and its results.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The figure.
    pub metric: &'static Metric,
    /// The condition, as the user wrote it.
    pub condition: String,
    /// Its bound.
    pub bound: f64,
    /// For each combination of the other options: its name, and the found value.
    pub knees: Vec<(String, Option<String>)>,
    /// The results in words.
    pub sentences: Vec<String>,
}

/// An option that has several values.
struct Axis {
    name: String,
    /// The name, with the unit of its numbers.
    title: String,
    values: Vec<String>,
    /// The values as numbers, if all are numbers.
    numbers: Option<Vec<f64>>,
}

/// The cells of one combination of values, whatever the seed.
struct Group<'a> {
    /// The place on each axis.
    at: Vec<usize>,
    results: Vec<&'a StoredResult>,
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
    let mut lead = searched.map_or_else(|| study.extremes(), |searched| searched.sentences.clone());
    lead.extend(load_knees(cells));
    lead.extend(study.late());
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
    let all = wanted(study.has_loads(), searched)
        .into_iter()
        .flat_map(|metric| study.charts(metric, searched));
    all.filter(|chart| !chart.plot.is_empty()).collect()
}

/// The figures that are shown.
fn wanted(has_loads: bool, searched: Option<&Searched>) -> Vec<&'static Metric> {
    let mut all: Vec<_> = searched.iter().map(|searched| searched.metric).collect();
    let tails = [load::TAIL].into_iter().filter(|_| has_loads);
    for key in KEYS.into_iter().chain(tails) {
        let metric = metrics().iter().find(|metric| metric.key == key);
        all.extend(metric.filter(|metric| all.iter().all(|other| other.key != metric.key)));
    }
    all
}

/// A figure on an axis.
#[derive(Clone, Debug)]
struct Scaled {
    metric: &'static Metric,
    /// Its title there, with its unit.
    title: String,
    /// The size of that unit in the result's unit.
    unit: f64,
}

impl Scaled {
    /// In the unit that suits the greatest value.
    fn of(metric: &'static Metric, most: f64) -> Self {
        let name = metric.header.replace('\n', " ");
        let name = match metric.key.as_str() {
            "write_amplification" => "write amplification".into(),
            "response_us.write.p99" => "write p99".into(),
            "lifetime.tbw_bytes" => "TBW".into(),
            key if name.is_empty() => key.into(),
            key => format!("{name} ({key})"),
        };
        let (unit_name, unit) = figure::unit_of_axis(metric.look.format, most);
        let title = unit_name.map_or_else(|| name.clone(), |unit| format!("{name}, {unit}"));
        Self { metric, title, unit }
    }

    /// Of a group, over its seeds.
    fn interval(&self, group: &Group<'_>) -> Option<Interval> {
        let Interval { mean, half } = Study::interval(group, self.metric)?;
        Some(Interval { mean: mean / self.unit, half: half / self.unit })
    }
}

/// A value of an option as a number, with its format: `7%`, `128KiB`, `20ms`, `2.5`.
fn as_number(value: &str) -> Option<(f64, Option<Format>)> {
    if let Ok(plain) = value.parse() {
        return Some((plain, None));
    }
    if let Some(Ok(percent)) = value.strip_suffix('%').map(str::parse) {
        return Some((percent, Some(Format::Percent)));
    }
    let bytes = parse_size(value).ok().map(|bytes| (bytes as f64, Some(Format::Bytes)));
    bytes.or_else(|| Some((number::us_of(value)?, Some(Format::Micros))))
}

impl Axis {
    /// Its numbers, in the unit that its name has.
    fn in_one_unit(mut self) -> Self {
        let read: Option<Vec<_>> = self.values.iter().map(|value| as_number(value)).collect();
        let Some(read) = read else { return self };
        let kind = read.iter().find_map(|(_, kind)| *kind);
        // A size may be written without a unit; a time or a share is another number without.
        if read
            .iter()
            .any(|(_, other)| *other != kind && (other.is_some() || kind != Some(Format::Bytes)))
        {
            return self;
        }
        let most = read.iter().map(|(number, _)| *number).fold(0.0, f64::max);
        let (unit, scale) = match kind {
            Some(Format::Percent) => (Some("%"), 1.0),
            Some(kind) => figure::unit_of_axis(kind, most),
            None => (None, 1.0),
        };
        self.title =
            unit.map_or_else(|| self.name.clone(), |unit| format!("{}, {unit}", self.name));
        self.numbers = Some(read.into_iter().map(|(number, _)| number / scale).collect());
        self
    }

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
                    title: option.clone(),
                    values: vec![value.clone()],
                    numbers: None,
                }),
            }
        }
        // Inputs are one axis, whatever they are called.
        let inputs = ["trace", "workload"];
        let mixed = inputs.iter().all(|name| known.iter().any(|axis| axis.name == *name));
        known.retain(|axis| axis.values.len() > 1 || mixed && inputs.contains(&axis.name.as_str()));
        let known: Vec<_> = known.into_iter().map(Axis::in_one_unit).collect();
        let mut groups: BTreeMap<Vec<usize>, Vec<&StoredResult>> = BTreeMap::new();
        for cell in cells {
            let at = known.iter().map(|axis| {
                let value = cell.settings.iter().find(|(option, _)| *option == axis.name);
                // An unset value comes after the others.
                let place =
                    value.and_then(|(_, value)| axis.values.iter().position(|v| v == value));
                place.unwrap_or(axis.values.len())
            });
            groups.entry(at.collect()).or_default().push(&cell.result);
        }
        let groups = groups.into_iter().map(|(at, results)| Group { at, results }).collect();
        Self { axes: known, groups }
    }

    fn has_loads(&self) -> bool {
        self.axes.iter().any(|axis| axis.name == LOAD)
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
        // A load is always drawn from left to right.
        let is_load = |at: usize| self.axes[at].name == LOAD;
        numeric.sort_by_key(|(count, at)| (!is_load(*at), std::cmp::Reverse(*count), *at));
        numeric.into_iter().map(|(_, at)| at).collect()
    }

    fn charts(&self, metric: &'static Metric, searched: Option<&Searched>) -> Vec<Chart> {
        let numeric = self.numeric();
        let searched = searched.filter(|searched| searched.metric.key == metric.key);
        let means =
            self.groups.iter().filter_map(|group| Some(Self::interval(group, metric)?.mean));
        let bound = searched.map(|searched| searched.bound);
        let scaled = Scaled::of(metric, means.chain(bound).fold(0.0, f64::max));
        match numeric[..] {
            [] => vec![self.ranks(&scaled)],
            [x, y, ..]
                if searched.is_none()
                    && self.axes[x].name != LOAD
                    && self.axes[x].values.len().min(self.axes[y].values.len()) >= MAP =>
            {
                self.maps(&scaled, (x, y))
            }
            [x, ..] => self.lines(&scaled, x, searched),
        }
    }

    /// Of a group, over its seeds; none for response times of a queue that grows.
    fn interval(group: &Group<'_>, metric: &Metric) -> Option<Interval> {
        if group.results.iter().any(|result| result.is_of_queue(metric)) {
            return None;
        }
        let values: Option<Vec<f64>> =
            group.results.iter().map(|result| result.number(&metric.key)).collect();
        Interval::of(&values?)
    }

    fn ranks(&self, scaled: &Scaled) -> Chart {
        let mut names = Vec::new();
        let mut series = Vec::new();
        for group in &self.groups {
            let Some(interval) = scaled.interval(group) else { continue };
            let point =
                Point { half: interval.half, ..Point::at(names.len() as f64, interval.mean) };
            let name = self.name(group, &[]);
            series.push(Series { colour: Some(0), ..Series::new(name.clone(), vec![point]) });
            names.push(name);
        }
        let plot = Plot::new(Kind::Ranks, &scaled.title, "settings", series);
        chart(scaled, "", Plot { categories: Some(names), ..plot })
    }

    /// A line for each value of one axis, a chart for each combination of the rest, all on the same axes.
    fn lines(&self, scaled: &Scaled, x: usize, searched: Option<&Searched>) -> Vec<Chart> {
        let others = (0..self.axes.len()).filter(|at| *at != x);
        let series = others.max_by_key(|at| self.axes[*at].values.len());
        let apart: Vec<usize> =
            (0..self.axes.len()).filter(|at| *at != x && Some(*at) != series).collect();
        let mut panels: BTreeMap<Vec<usize>, Vec<(usize, Point, &Group<'_>)>> = BTreeMap::new();
        let mut within: Option<[f64; 2]> = None;
        for group in &self.groups {
            let place = self.axes[x].numbers.as_ref().and_then(|all| all.get(group.at[x]));
            let (Some(place), Some(interval)) = (place, scaled.interval(group)) else {
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
        let colours = series.map(|series| self.colours(series)).unwrap_or_default();
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
                    colour: Some(colours.get(line).copied().unwrap_or(line)),
                    ..Series::new(name.cloned().unwrap_or_default(), points)
                }
            });
            let plot = Plot::new(Kind::Lines, &axis.title, &scaled.title, lines.collect());
            let guides = match searched {
                Some(searched) => found(searched, scaled, axis),
                None => knees(&plot.panels[0].series, axis, x_log),
            };
            let about = match guides.is_empty() || searched.is_some() {
                true => about,
                false => format!("{about} Dashed: a knee, where the curve bends most.")
                    .trim_start()
                    .to_owned(),
            };
            chart(scaled, &about, Plot { guides, within, x_log, ..plot })
        };
        panels.into_values().map(panel).enumerate().map(|(at, c)| numbered(c, at)).collect()
    }

    /// The colours of an axis' values: policies have the same on every page.
    fn colours(&self, axis: usize) -> Vec<usize> {
        let Some(metric) = wanted(false, None).into_iter().next() else { return Vec::new() };
        let Axis { name, values, .. } = &self.axes[axis];
        let mean = |value: usize| {
            let groups = self.groups.iter().filter(|group| group.at[axis] == value);
            let means: Vec<f64> =
                groups.filter_map(|group| Some(Self::interval(group, metric)?.mean)).collect();
            Interval::of(&means).map(|interval| interval.mean)
        };
        let policies: Vec<_> =
            values.iter().enumerate().map(|(at, value)| (value.as_str(), mean(at))).collect();
        if name == "policy" { colours::of(&policies) } else { (0..values.len()).collect() }
    }

    /// A map for each combination of the rest, all in the same colours.
    fn maps(&self, scaled: &Scaled, (x, y): (usize, usize)) -> Vec<Chart> {
        let mut panels: BTreeMap<Vec<usize>, (String, Vec<Point>)> = BTreeMap::new();
        let mut within: Option<[f64; 2]> = None;
        for group in &self.groups {
            // Steps between values need not be even; the cells are.
            let rank = |axis: usize| self.axes[axis].rank(group.at[axis]);
            let (Some(left), Some(up)) = (rank(x), rank(y)) else { continue };
            let Some(interval) = scaled.interval(group) else { continue };
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
            let plot = Plot { categories, levels, z_title: scaled.title.clone(), within, ..plot };
            numbered(chart(scaled, &about, plot), at)
        };
        panels.into_values().enumerate().map(map).collect()
    }

    /// The best and the worst of the first figure.
    fn extremes(&self) -> Vec<String> {
        let Some(metric) = wanted(false, None).into_iter().next() else { return Vec::new() };
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
        if are_one(*least, *most) {
            return vec![format!(
                "Of {}, none differs from another by more than 1 %: write amplification is {}.",
                number::counted(known.len() as u64, "combination"),
                show(*least)
            )];
        }
        vec![format!(
            "Of {}, the least write amplification is {}, with {}; the greatest is {}, with {}.",
            number::counted(known.len() as u64, "combination"),
            show(*least),
            self.settings(low),
            show(*most),
            self.settings(high)
        )]
    }

    /// The number of combinations whose response times come from a growing queue.
    fn late(&self) -> Option<String> {
        let is_late = |group: &&Group<'_>| group.results.iter().any(|it| it.is_overloaded());
        let late = self.groups.iter().filter(is_late).count();
        (late > 0).then(|| {
            format!(
                "The device is overloaded in {late} of {}: their response times are those of a growing queue.",
                number::counted(self.groups.len() as u64, "combination")
            )
        })
    }

    fn digests(&self) -> Vec<String> {
        let all = self.groups.iter().flat_map(|group| &group.results).filter_map(|result| {
            Some(format!(
                "{}  requests of {}",
                result.text("trace.digest")?,
                result.text("trace.path")?
            ))
        });
        let mut all: Vec<_> = all.collect();
        all.sort();
        all.dedup();
        all
    }

    fn table(&self, searched: Option<&Searched>) -> Rows {
        let metrics = wanted(self.has_loads(), searched);
        let mut header: Vec<_> = self.axes.iter().map(|axis| axis.name.clone()).collect();
        if header.is_empty() {
            header.push("settings".into());
        }
        let scale = |metric: &&'static Metric| {
            let results = self.groups.iter().flat_map(|group| &group.results);
            Scale::of(metric.look.format, results.filter_map(|result| result.number(&metric.key)))
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

fn chart(scaled: &Scaled, about: &str, plot: Plot) -> Chart {
    let name = scaled.metric.key.replace(['.', '_'], "-");
    Chart { name, title: scaled.title.clone(), about: about.into(), plot }
}

fn numbered(chart: Chart, at: usize) -> Chart {
    Chart { name: format!("{}-{}", chart.name, at + 1), ..chart }
}

/// The values of an axis at which the curves bend most, each with the lines that do.
fn knees(series: &[Series], axis: &Axis, log: bool) -> Vec<Guide> {
    let bent = series.iter().filter_map(|line| Some((knee(&line.ours, log)?, line.name.as_str())));
    guides(bent.collect(), series.len(), axis)
}

/// Lines across, a value each: where there are several curves each names those that it is about.
fn guides(mut bent: Vec<(f64, &str)>, curves: usize, axis: &Axis) -> Vec<Guide> {
    bent.sort_by(|a, b| a.0.total_cmp(&b.0));
    let guide = |same: &[(f64, &str)]| {
        let x = same.first()?.0;
        let at = axis.numbers.as_ref()?.iter().position(|number| *number == x)?;
        let value = &axis.values[at];
        let named: Vec<_> = same.iter().map(|(_, name)| *name).collect();
        let name = match named.len() {
            1 if curves == 1 => value.clone(),
            n if n == curves => format!("{value}, all"),
            n if n <= NAMED => format!("{value}, {}", named.join(" and ")),
            n => format!("{value}, {n} of {curves}"),
        };
        Some(Guide::Upright(x, name))
    };
    bent.chunk_by(|a, b| a.0 == b.0).take(MARKED).filter_map(guide).collect()
}

/// Whether two figures are one, for all that matters.
fn are_one(a: f64, b: f64) -> bool {
    (a - b).abs() <= thermocline_sim::answer::IRRELEVANT * a.abs().max(b.abs())
}

/// The bound, and the values at which it begins to hold.
fn found(searched: &Searched, scaled: &Scaled, axis: &Axis) -> Vec<Guide> {
    let place = |value: &String| {
        let at = axis.values.iter().position(|known| known == value)?;
        axis.numbers.as_ref().and_then(|numbers| numbers.get(at)).copied()
    };
    let found = searched
        .knees
        .iter()
        .filter_map(|(name, value)| Some((place(value.as_ref()?)?, name.as_str())));
    let level = Guide::Level(searched.bound / scaled.unit, searched.condition.clone());
    std::iter::once(level).chain(guides(found.collect(), searched.knees.len(), axis)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_numbers() {
        assert_eq!(as_number("7%"), Some((7.0, Some(Format::Percent))));
        assert_eq!(as_number("2KiB"), Some((2048.0, Some(Format::Bytes))));
        assert_eq!(as_number("20ms"), Some((20_000.0, Some(Format::Micros))));
        assert_eq!((as_number("greedy"), as_number("0.5")), (None, Some((0.5, None))));
    }

    fn axis(name: &str, values: &[&str]) -> Axis {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Axis { name: name.into(), title: name.into(), values, numbers: None }.in_one_unit()
    }

    #[test]
    fn axes_have_units_that_suit_them() {
        let sizes = axis("block-size", &["65536", "256KiB", "4MiB"]);
        assert_eq!(
            (sizes.title.as_str(), sizes.numbers),
            ("block-size, MiB", Some(vec![0.0625, 0.25, 4.0]))
        );
        let times = axis("interarrival", &["500us", "20ms"]);
        assert_eq!(
            (times.title.as_str(), times.numbers),
            ("interarrival, ms", Some(vec![0.5, 20.0]))
        );
        assert!(
            axis("odd", &["5%", "20ms"]).numbers.is_none()
                && axis("policy", &["cat", "2"]).numbers.is_none()
        );
        let p99 = metrics()
            .iter()
            .find(|metric| metric.key == "response_us.write.p99")
            .expect("it is one");
        assert_eq!(Scaled::of(p99, 800.0).title, "write p99, µs");
        assert_eq!(Scaled::of(p99, 2.5e6).title, "write p99, s");
    }

    #[test]
    fn a_knee_over_several_lines_says_whose_it_is() {
        let over = axis("over-provisioning", &["1%", "2%", "3%", "4%", "5%"]);
        let curve = |name: &str, ys: [f64; 5]| {
            let points = ys.iter().enumerate().map(|(at, y)| Point::at(at as f64 + 1.0, *y));
            Series::new(name, points.collect())
        };
        let (early, late) = ([4.0, 1.2, 1.1, 1.05, 1.0], [4.0, 3.0, 1.2, 1.1, 1.0]);
        let names = |series: &[Series]| -> Vec<String> {
            let name = |guide: Guide| match guide {
                Guide::Upright(_, name) | Guide::Level(_, name) => name,
            };
            knees(series, &over, false).into_iter().map(name).collect()
        };
        assert_eq!(names(&[curve("", early)]), ["2%"]);
        assert_eq!(names(&[curve("a", early), curve("b", late)]), ["2%, a", "3%, b"]);
        assert_eq!(names(&[curve("a", early), curve("b", early)]), ["2%, all"]);
        let four = [curve("a", early), curve("b", late), curve("c", late), curve("d", late)];
        assert_eq!(names(&four), ["2%, a", "3%, 3 of 4"]);
    }

    #[test]
    fn axes_choose_the_charts() {
        let cell = |settings: &[(&str, &str)], amplification: f64| Tried {
            settings: settings.iter().map(|(o, v)| ((*o).to_owned(), (*v).to_owned())).collect(),
            result: serde_json::json!({ "write_amplification": amplification }).into(),
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
        let mut late = cells[..1].to_vec();
        late[0].result = serde_json::json!({ "lifetime": { "overloaded": true } }).into();
        let said = Study::of(&late).late().expect("overloaded");
        assert!(said.starts_with("The device is overloaded in 1 of 1 combination:"), "{said}");
        assert_eq!(Study::of(&cells).late(), None);
        // The best of equals is none.
        assert_eq!(
            Study::of(&cells[12..]).extremes(),
            [
                "Of 9 combinations, none differs from another by more than 1 %: write amplification is 2.000."
            ]
        );
        let said = Study::of(&cells[..12]).extremes();
        assert!(
            said[0].starts_with("Of 6 combinations, the least write amplification is 1.100, with"),
            "{said:?}"
        );
    }
}
