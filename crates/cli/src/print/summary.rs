//! All policies on all inputs: the table to choose a policy from.

use std::path::Path;

use comfy_table::{Attribute, Cell};
use thermocline_sim::RunResult;

use super::{
    compare::{MARK, foresees},
    number::{self, NONE},
    results::Compared,
    table::{Figures, heading},
};
use crate::output::Output;

/// What a policy made of all inputs.
struct Row {
    name: String,
    /// Whether it can be chosen: what knows the future cannot.
    possible: bool,
    /// Write amplification on each input.
    each: Vec<Option<f64>>,
    /// Write amplification over the oracle's, less 1, on average over all inputs.
    excess: Option<f64>,
}

impl Row {
    fn of(inputs: &[Compared], at: usize) -> Self {
        let runs: Vec<Option<&RunResult>> =
            inputs.iter().map(|input| input.rows[at].as_ref().ok()).collect();
        let name = match &inputs[0].rows[at] {
            Ok(run) => run.config.policy.clone(),
            Err(refused) => refused.policy.clone(),
        };
        let over = |run: &RunResult| run.oracle.as_ref().map(|oracle| oracle.excess + 1.0);
        let ratios: Vec<_> = runs.iter().map(|run| run.and_then(over)).collect();
        Self {
            name,
            possible: !runs.iter().flatten().any(|run| foresees(run)),
            each: runs.iter().map(|run| run.and_then(|run| run.write_amplification)).collect(),
            excess: mean(&ratios).map(|ratio| ratio - 1.0),
        }
    }

    /// The oracle itself, as the runs were measured against it; nothing if none was.
    fn of_oracle(inputs: &[Compared]) -> Option<Self> {
        let measured = |input: &Compared| {
            let least = input.runs().find_map(|run| run.oracle.as_ref());
            least.map(|oracle| oracle.write_amplification)
        };
        let each: Vec<_> = inputs.iter().map(measured).collect();
        each.iter().any(Option::is_some).then(|| Self {
            name: "(the oracle)".into(),
            possible: false,
            each,
            excess: None,
        })
    }

    /// As tables are sorted: what ran everywhere and wrote least comes first.
    fn rank(&self) -> f64 {
        mean(&self.each).unwrap_or(f64::INFINITY)
    }
}

/// The geometric mean, in which half as much here and twice as much there is as good; none if any
/// value is missing.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let logs: Option<Vec<f64>> = values.iter().map(|value| value.map(f64::ln)).collect();
    logs.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// The table as text.
pub fn show(inputs: &[Compared], output: &Output) -> String {
    let mut rows: Vec<_> = (0..inputs[0].rows.len()).map(|at| Row::of(inputs, at)).collect();
    rows.sort_by(|a, b| b.possible.cmp(&a.possible).then(a.rank().total_cmp(&b.rank())));
    rows.extend(Row::of_oracle(inputs));
    let measured = rows.iter().any(|row| row.excess.is_some());
    let mut header = vec!["policy".to_owned()];
    header.extend(names(inputs.iter().map(|input| input.input.as_str())));
    header.push("mean".into());
    header.extend(measured.then(|| "over\noracle".into()));
    let mut figures = Figures::new(header);
    let columns: Vec<Vec<Option<String>>> = {
        let figure = |value: Option<f64>| value.map(|x| number::fixed(x, 3));
        let each = (0..inputs.len()).map(|at| rows.iter().map(|r| figure(r.each[at])).collect());
        let means = rows.iter().map(|row| figure(mean(&row.each))).collect();
        let excess = || rows.iter().map(|row| row.excess.map(number::excess)).collect();
        each.chain([means]).chain(measured.then(excess)).collect()
    };
    // What looks like the least is as good.
    let least: Vec<Option<String>> = (0..columns.len())
        .map(|at| {
            let value = |row: &Row| match at {
                at if at < inputs.len() => row.each[at],
                at if at == inputs.len() => mean(&row.each),
                _ => row.excess,
            };
            let rivals = rows.iter().zip(&columns[at]).filter(|(row, _)| row.possible);
            let valued = rivals.filter_map(|(row, text)| Some((value(row)?, text.clone()?)));
            valued.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, text)| text)
        })
        .collect();
    for (i, row) in rows.iter().enumerate() {
        let cell = |(column, least): (&Vec<Option<String>>, &Option<String>)| match &column[i] {
            None => Cell::new(format!("{NONE} ")),
            text if text == least => {
                Cell::new(format!("{}{MARK}", text.as_deref().unwrap_or(NONE)))
                    .add_attribute(Attribute::Bold)
            }
            Some(text) => Cell::new(format!("{text} ")),
        };
        figures.row([Cell::new(&row.name)].into_iter().chain(columns.iter().zip(&least).map(cell)));
    }
    let title = "write amplification on all inputs, least geometric mean first";
    format!("{}\n{}", heading(title), figures.finish(output.width()))
}

/// Short names that differ: of files without folders and endings, of workloads without options.
fn names<'a>(inputs: impl Iterator<Item = &'a str>) -> Vec<String> {
    const MOST: usize = 14;
    let mut all: Vec<String> = Vec::new();
    for (i, input) in inputs.enumerate() {
        let word = input.split(" --").next().unwrap_or(input);
        let file = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word);
        let is_file = word.contains('/') && file != word && Path::new(word).extension().is_some();
        let stem = if is_file { file.split('.').next().unwrap_or(file) } else { word };
        let short = match stem.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}…", &stem[..end]),
            None => stem.to_owned(),
        };
        let taken = all.contains(&short);
        all.push(if taken { format!("{short}\n({})", i + 1) } else { short });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_get_short_names_that_differ() {
        let inputs = [
            "/traces/1und1-linux-mysql.blkreplay.load.zst",
            "other/1und1-linux-mysql.csv",
            "hot-cold:90/10 --bytes 64MiB",
            "-",
        ];
        let expected = ["1und1-linux-my…", "1und1-linux-my…\n(2)", "hot-cold:90/10", "-"];
        assert_eq!(names(inputs.into_iter()), expected);
    }

    #[test]
    fn a_mean_is_geometric_and_wants_every_value() {
        let close = |mean: Option<f64>, to: f64| mean.is_some_and(|mean| (mean - to).abs() < 1e-12);
        assert!(close(mean(&[Some(2.0), Some(8.0)]), 4.0));
        assert_eq!(mean(&[Some(2.0), None]), None);
    }
}
