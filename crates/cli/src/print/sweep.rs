//! Cells of a grid as a table for people: the settings that differ, and the figures that the screen has room for.

use serde_json::Value;
use thermocline_sim::{
    metric::{Metric, metrics},
    result::StoredResult,
};
use thermocline_sweep::{Cell, Setting};

use super::{
    figure::{self, Scale},
    number::{self, NONE},
    table::{Figures, width, wrap},
};

/// Rows that are printed; a longer table is one for programs.
const MOST: usize = 200;

/// The table. `result` gives what came of a cell, or why there is nothing.
pub fn show(
    cells: &[Cell],
    result: impl Fn(&Cell) -> Result<StoredResult, String>,
    screen: usize,
) -> String {
    let shown: Vec<_> = cells.iter().take(MOST).map(|cell| (cell, result(cell))).collect();
    let asked = varying(cells);
    let has = |metric: &&Metric| {
        let known = |(_, result): &(&Cell, Result<StoredResult, String>)| match result {
            Ok(result) => !result.value(&metric.key).is_null(),
            Err(_) => false,
        };
        shown.iter().any(known)
    };
    let mut wanted: Vec<_> =
        metrics().iter().filter(|metric| !metric.header.is_empty()).filter(has).collect();
    wanted.sort_by_key(|metric| metric.look.rank);
    let mut text = render(&shown, &asked, &wanted[..wanted.len().min(1)]);
    for count in 2..=wanted.len() {
        let mut columns = wanted[..count].to_vec();
        columns.sort_by_key(|metric| metrics().iter().position(|other| other.key == metric.key));
        let more = render(&shown, &asked, &columns);
        if width(&more) > screen {
            break;
        }
        text = more;
    }
    let mut remarks = String::new();
    for (cell, result) in &shown {
        if let Err(why) = result {
            remarks += &format!("{}: {why}\n", words(cell, &asked).join(" "));
        }
    }
    if let Some(more @ 1..) = cells.len().checked_sub(MOST) {
        let more = number::grouped(more as u64);
        remarks += &format!("and {more} more rows; --output FILE has them all\n");
    }
    remarks += "--format csv has every figure; `thermocline keys` says what they mean\n";
    text + &wrap(&remarks, screen)
}

/// The options that differ between cells; the first option if none does.
fn varying(cells: &[Cell]) -> Vec<String> {
    let mut options: Vec<&str> = Vec::new();
    for setting in cells.iter().flat_map(|cell| &cell.settings.0) {
        if !options.contains(&setting.option.as_str()) {
            options.push(&setting.option);
        }
    }
    let differs = |option: &&&str| {
        let mut values = cells.iter().map(|cell| value(cell, option));
        let first = values.next();
        values.any(|value| Some(value) != first.clone())
    };
    let differing: Vec<_> = options.iter().filter(differs).map(|&option| option.into()).collect();
    match differing.is_empty() {
        true => options.first().map(|&option| option.to_owned()).into_iter().collect(),
        false => differing,
    }
}

/// The value of an option in a cell, if it has one.
fn value(cell: &Cell, option: &str) -> Option<String> {
    let set: Option<&Setting> = cell.settings.0.iter().find(|setting| setting.option == option);
    set.map(|setting| setting.value.clone().unwrap_or_else(|| "yes".into()))
}

fn words(cell: &Cell, asked: &[String]) -> Vec<String> {
    let word = |option: &String| value(cell, option).unwrap_or_else(|| NONE.into());
    asked.iter().map(word).collect()
}

fn render(
    rows: &[(&Cell, Result<StoredResult, String>)],
    asked: &[String],
    metrics: &[&'static Metric],
) -> String {
    let of = |metric: &Metric, result: &Result<StoredResult, String>| match result {
        Ok(result) => result.value(&metric.key).clone(),
        Err(_) => Value::Null,
    };
    let scales: Vec<_> = metrics
        .iter()
        .map(|metric| {
            let values = rows.iter().filter_map(|(_, result)| of(metric, result).as_f64());
            Scale::of(metric.look.format, values)
        })
        .collect();
    let header = |(metric, scale): (&&Metric, &Scale)| match scale.unit {
        Some(unit) if metric.header.contains('\n') => format!("{}, {unit}", metric.header),
        Some(unit) => format!("{},\n{unit}", metric.header),
        None => metric.header.clone(),
    };
    let headers = asked.iter().cloned().chain(metrics.iter().zip(&scales).map(header));
    let mut figures = Figures::new(headers);
    for (cell, result) in rows {
        let is_of_queue =
            |metric: &Metric| result.as_ref().is_ok_and(|result| result.is_of_queue(metric));
        let figure = |(metric, scale): (&&'static Metric, &Scale)| match of(metric, result) {
            _ if is_of_queue(metric) => "overloaded ".into(),
            Value::Null => format!("{NONE} "),
            value => match value.as_f64() {
                Some(number) => scale.show(number) + " ",
                None => figure::show(metric.look.format, &value) + " ",
            },
        };
        let settings = words(cell, asked).into_iter().enumerate();
        let settings = settings.map(|(at, word)| if at > 0 { word + " " } else { word });
        figures.row(settings.chain(metrics.iter().zip(&scales).map(figure)));
    }
    figures.finish(None)
}
