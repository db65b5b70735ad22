//! All policies on all inputs: the table to choose a policy from.

use std::path::Path;

use comfy_table::{Attribute, Cell};
use thermocline_chart::show;
use thermocline_sim::{RunResult, answer::are_tied};

use super::{
    compare::View,
    compared::{Compared, Row as Policy},
    number::{self, NONE},
    table::{Figures, MARK, heading, width},
};

/// The results of a policy on all inputs.
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
    fn of(inputs: &[Compared], policy: &Policy) -> Self {
        let runs: Vec<&[RunResult]> = inputs
            .iter()
            .map(|input| {
                let row = input.rows.iter().find(|row| row.policy == policy.policy);
                row.map_or(&[][..], Policy::runs)
            })
            .collect();
        let over = |run: &RunResult| run.oracle.as_ref().map(|oracle| oracle.excess + 1.0);
        let ratios: Vec<_> = runs.iter().map(|runs| mean_of(runs, over)).collect();
        Self {
            name: policy.name().to_owned(),
            possible: !runs.iter().copied().flatten().any(RunResult::knows_future),
            each: runs.iter().map(|runs| mean_of(runs, |run| run.write_amplification)).collect(),
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

/// The geometric mean of a figure over all seeds.
fn mean_of(runs: &[RunResult], figure: impl Fn(&RunResult) -> Option<f64>) -> Option<f64> {
    let values: Vec<_> = runs.iter().map(figure).collect();
    mean(&values)
}

/// The geometric mean, in which half as much here and twice as much there is as good; none if any
/// value is missing, or all are.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let logs: Option<Vec<f64>> = values.iter().map(|value| value.map(f64::ln)).collect();
    logs.filter(|logs| !logs.is_empty())
        .map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// The table as text: of the inputs, those that the screen has room for.
pub fn show(inputs: &[Compared], view: &View) -> String {
    let mut rows: Vec<_> = inputs[0].rows.iter().map(|row| Row::of(inputs, row)).collect();
    rows.sort_by(|a, b| b.possible.cmp(&a.possible).then(a.rank().total_cmp(&b.rank())));
    rows.extend(Row::of_oracle(inputs));
    let plain: Vec<_> = inputs.iter().map(|input| show::plain(&input.input)).collect();
    let names = names(plain.iter().map(String::as_str));
    let mut each: Vec<_> =
        (0..inputs.len()).map(|at| Column::of_input(&rows, at, &names[at])).collect();
    let mut last = vec![Column::of_means(&rows)];
    last.extend(rows.iter().any(|row| row.excess.is_some()).then(|| Column::of_excess(&rows)));
    let mut left_out = 0;
    let table = loop {
        let figures = figures(&rows, each.iter().chain(&last));
        if view.markdown {
            break figures.markdown();
        }
        let text = figures.finish(None);
        if view.wide || each.is_empty() || width(&text) <= view.width {
            break text;
        }
        each.pop();
        left_out += 1;
    };
    let title = "write amplification on all inputs, least geometric mean first";
    let title = if view.markdown { format!("{title}\n") } else { heading(title) };
    let more = match left_out {
        0 => String::new(),
        n => format!("{} not shown; --wide shows all\n", number::counted(n, "input")),
    };
    format!("{title}\n{table}{more}")
}

/// The figures of a column: a number and its text for each row.
struct Column {
    header: String,
    values: Vec<Option<f64>>,
    texts: Vec<Option<String>>,
}

impl Column {
    fn of_input(rows: &[Row], at: usize, name: &str) -> Self {
        Self::new(name, rows.iter().map(|row| row.each[at]), |x| number::fixed(x, 3))
    }

    fn of_means(rows: &[Row]) -> Self {
        Self::new("mean", rows.iter().map(|row| mean(&row.each)), |x| number::fixed(x, 3))
    }

    fn of_excess(rows: &[Row]) -> Self {
        Self::new("over\noracle", rows.iter().map(|row| row.excess), number::excess)
    }

    fn new(
        header: &str,
        values: impl Iterator<Item = Option<f64>>,
        show: impl Fn(f64) -> String,
    ) -> Self {
        let values: Vec<_> = values.collect();
        let texts = values.iter().map(|value| value.map(&show)).collect();
        Self { header: header.into(), values, texts }
    }

    /// The row that is best, if one is by more than would be noticed.
    fn best(&self, rows: &[Row]) -> Option<usize> {
        let possible = (0..rows.len()).filter(|at| rows[*at].possible);
        let mut valued: Vec<_> = possible.filter_map(|at| Some((self.values[at]?, at))).collect();
        valued.sort_by(|a, b| a.0.total_cmp(&b.0));
        match &valued[..] {
            [(first, at), (second, _), ..] if !are_tied(&[*first], &[*second]) => Some(*at),
            _ => None,
        }
    }
}

fn figures<'a>(rows: &[Row], columns: impl Iterator<Item = &'a Column>) -> Figures {
    let columns: Vec<_> = columns.collect();
    let header = ["policy".to_owned()].into_iter();
    let mut figures = Figures::new(header.chain(columns.iter().map(|c| c.header.clone())));
    let best: Vec<_> = columns.iter().map(|column| column.best(rows)).collect();
    for (i, row) in rows.iter().enumerate() {
        let cell = |(column, best): (&&Column, &Option<usize>)| match &column.texts[i] {
            None => Cell::new(format!("{NONE} ")),
            Some(text) if *best == Some(i) => {
                Cell::new(format!("{text}{MARK}")).add_attribute(Attribute::Bold)
            }
            Some(text) => Cell::new(format!("{text} ")),
        };
        let cells = columns.iter().zip(&best).map(cell);
        figures.row([Cell::new(&row.name)].into_iter().chain(cells));
    }
    figures
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
        assert_eq!((mean(&[Some(2.0), None]), mean(&[])), (None, None));
    }
}
