//! The charts of the host's requests.

use thermocline_chart::{Chart, Kind, Plot, Point, Series};
use thermocline_sim::traffic::{COLUMNS, Extension, ROWS, Traffic};

use super::{chart, unit};

/// The columns of the traffic: their title, and where each stands.
fn columns(traffic: &Traffic) -> (String, Vec<f64>) {
    let (title, span) = match traffic.span {
        Extension::Time(us) => {
            const UNITS: [(&str, f64); 4] = [("h", 3600e6), ("min", 60e6), ("s", 1e6), ("ms", 1e3)];
            let fits = UNITS.into_iter().find(|(_, unit)| us >= 2.0 * *unit);
            let (name, unit) = fits.unwrap_or(("µs", 1.0));
            (format!("time of the trace, {name}"), us / unit)
        }
        Extension::Pages(pages) => {
            let bytes = pages as f64 * f64::from(traffic.page_size);
            let (name, unit) = unit(bytes);
            (format!("host writes, {name}"), bytes / unit)
        }
    };
    let middle = |column: usize| (column as f64 + 0.5) * span / COLUMNS as f64;
    (title, (0..COLUMNS).map(middle).collect())
}

/// The charts of an input's traffic.
pub(super) fn of(traffic: &Traffic) -> [Chart; 4] {
    let (title, places) = columns(traffic);
    [
        map(traffic, &title, &places),
        over_time(traffic, &title, &places),
        powers(
            "update-intervals",
            "Update intervals",
            "How much the host writes between two writes of one page. Peaks on the left are hot data.",
            ("host writes between two writes of a page", "updates, %"),
            &traffic.update_intervals,
            traffic.page_size,
        ),
        powers(
            "reuse-distances",
            "Reuse distances",
            "How much different data is used between two uses of one page: what a cache of that size would hold.",
            ("different data between two uses of a page", "uses, %"),
            &traffic.reuse_distances,
            traffic.page_size,
        ),
    ]
}

fn map(traffic: &Traffic, title: &str, places: &[f64]) -> Chart {
    let bytes = f64::from(traffic.logical_pages) * f64::from(traffic.page_size);
    let (name, unit) = unit(bytes);
    let row = |at: usize| (at as f64 + 0.5) * bytes / unit / ROWS as f64;
    let most = traffic.map.iter().flatten().copied().max().unwrap_or(0);
    let (cell, cell_unit) = super::unit(most as f64 * f64::from(traffic.page_size));
    let page = f64::from(traffic.page_size) / cell_unit;
    let points = traffic.map.iter().enumerate().flat_map(|(at, columns)| {
        let cells = columns.iter().zip(places);
        cells.map(move |(pages, x)| Point { z: *pages as f64 * page, ..Point::at(*x, row(at)) })
    });
    let series = vec![Series::new("", points.collect())];
    let plot = Plot::new(Kind::Heat, title, &format!("address on the device, {name}"), series);
    let plot = Plot { z_title: format!("{cell} written in a cell"), ..plot };
    let about = "Where the host writes, and when. Addresses are those of the simulated device.";
    chart("traffic-map", "Writes by address and time", about, plot)
}

fn over_time(traffic: &Traffic, title: &str, places: &[f64]) -> Chart {
    let kinds = [("writes", &traffic.writes), ("reads", &traffic.reads), ("trims", &traffic.trims)];
    let most = kinds.iter().flat_map(|(_, pages)| pages.iter()).copied().max().unwrap_or(0);
    // By the clock a pace; by host writes there is none.
    let (of, each) = match traffic.span {
        Extension::Time(us) if us > 0.0 => ("/s".into(), us / 1e6 / COLUMNS as f64),
        _ => (format!(" in 1/{COLUMNS} of the trace"), 1.0),
    };
    let page = f64::from(traffic.page_size) / each;
    let (name, scale) = unit(most as f64 * page);
    let (y, page) = (format!("{name}{of}"), page / scale);
    let series =
        kinds.into_iter().filter(|(_, pages)| pages.iter().any(|n| *n > 0)).map(|(name, pages)| {
            let points = pages.iter().zip(places);
            Series::new(name, points.map(|(n, x)| Point::at(*x, *n as f64 * page)).collect())
        });
    // From 0: a stream that keeps its pace is a flat line.
    let plot =
        Plot { within: Some([0.0, 0.0]), ..Plot::new(Kind::Lines, title, &y, series.collect()) };
    let about = "What the host asks for, in whole pages.";
    chart("traffic", "Reads, writes and trims", about, plot)
}

/// A distribution over powers of two.
fn powers(
    name: &str,
    title: &str,
    about: &str,
    (x, y): (&str, &str),
    counts: &[u64],
    page_size: u32,
) -> Chart {
    let all = counts.iter().sum::<u64>();
    let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    // That of the middle: the axis is logarithmic.
    let middle = f64::from(page_size) * 2_f64.powf((first + last) as f64 / 2.0);
    let (unit_name, scale) = unit(middle);
    let size = |power: usize| 2_f64.powi(power as i32) * f64::from(page_size) / scale;
    let points = counts[first..=last]
        .iter()
        .enumerate()
        .map(|(at, count)| Point::at(size(first + at), *count as f64 / all as f64 * 100.0));
    let series = if all > 0 { vec![Series::new("", points.collect())] } else { Vec::new() };
    let plot = Plot::new(Kind::Lines, &format!("{x}, {unit_name}"), y, series);
    let about = format!("{about} Each point counts from there up to twice as much.");
    chart(name, title, &about, Plot { x_log: true, ..plot })
}
