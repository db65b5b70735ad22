//! Results of policies on the volumes of a fleet.

use std::io::{BufWriter, Write};

use serde_json::{Value, json};
use thermocline_sim::{answer::are_tied, result::StoredResult};
use thermocline_study::fleet::Done;
use thermocline_sweep::{Settings, Table, fleet::Sample};

use super::{
    number::{self, NONE},
    results,
    rows::Rows,
    table::{Figures, USUAL_WIDTH, heading, wrap},
};
use crate::{
    args::{
        output::{OutputArgs, ResultFormat},
        sweep::TableFormat,
    },
    exit::Failure,
    output::Output,
};

/// How to read the table.
const KEY: &str = "fleet: flash writes over host writes of all volumes together; 90 %: the most that nine in ten \
                   volumes have; best on: volumes where no other is better by more than 1 % and three erases, so \
                   that shares may add up to more.";
/// Volumes in the table, those with the most writes first.
const VOLUMES_SHOWN: usize = 20;

/// The results of a fleet, as text.
struct Fleet<'a>(&'a Done);

/// The output for rows of volumes and for totals.
pub enum Sink {
    /// Text: totals.
    Table { output: Output, markdown: bool, wide: bool },
    /// A row a run.
    Rows(Rows),
    /// Runs, failures and totals.
    Json { out: BufWriter<Output>, failures: Vec<Value>, runs: usize },
}

impl Sink {
    /// Opens the output.
    pub fn open(args: &OutputArgs, wide: bool) -> Result<Self, Failure> {
        let rows = |form| {
            let asked = ["trace", "volume", "policy", "seed"].map(str::to_owned);
            let table = Table::new(asked.into());
            Rows::open(form, args.output.as_deref(), table).map(Self::Rows)
        };
        match args.form() {
            ResultFormat::Csv => rows(TableFormat::Csv),
            ResultFormat::JsonLines => rows(TableFormat::JsonLines),
            ResultFormat::Parquet => rows(TableFormat::Parquet),
            ResultFormat::Json => {
                let out = BufWriter::new(results::open(args)?);
                Ok(Self::Json { out, failures: Vec::new(), runs: 0 })
            }
            form => {
                let (output, markdown) = (results::open(args)?, form == ResultFormat::Markdown);
                Ok(Self::Table { output, markdown, wide })
            }
        }
    }

    /// Takes what came of a policy on a volume.
    pub fn row(
        &mut self,
        settings: &Settings,
        result: Result<StoredResult, String>,
    ) -> Result<(), Failure> {
        match (self, result) {
            (Self::Table { .. }, _) => Ok(()),
            (Self::Rows(rows), result) => rows.write(settings, result),
            (Self::Json { out, runs, .. }, Ok(run)) => {
                let begin = if *runs == 0 { "{\"runs\": [" } else { "," };
                *runs += 1;
                let written = write!(out, "{begin}\n{run}");
                out.get_ref().check(written)
            }
            (Self::Json { failures, .. }, Err(error)) => {
                let of = |option: &str| settings.value(option);
                let (trace, volume, policy) = (of("trace"), of("volume"), of("policy"));
                failures.push(
                    json!({ "trace": trace, "volume": volume, "policy": policy, "error": error }),
                );
                Ok(())
            }
        }
    }

    /// Ends the output with what all came to.
    pub fn finish(self, fleet: &Done) -> Result<(), Failure> {
        match self {
            Self::Table { output, markdown, wide } => {
                let width = output.width().unwrap_or(USUAL_WIDTH);
                let text = Fleet(fleet).show(width, markdown, wide);
                output.put_styled(&text)
            }
            Self::Rows(rows) => rows.finish(),
            Self::Json { mut out, failures, runs } => {
                let begin = if runs == 0 { "{\"runs\": [" } else { "" };
                let failures = Value::Array(failures);
                let summaries = serde_json::to_string(&fleet.summaries).map_err(Into::into);
                let summaries = out.get_ref().check(summaries)?;
                let written = writeln!(
                    out,
                    "{begin}\n],\n\"failures\": {failures},\n\"excluded\": {},\n\"fleet\": {summaries}}}",
                    fleet.excluded
                );
                let written = written.and_then(|()| out.flush());
                out.get_ref().check(written)?;
                out.into_parts().0.finish()
            }
        }
    }
}

/// Results of combinations of settings: only the tables, since more space always writes less.
pub fn combinations(fleet: &Done, width: usize) -> String {
    let text = Fleet(fleet).tables(width, false, false);
    let key = wrap(&format!("{KEY}\n--format csv has a row for each volume"), width);
    let none = (fleet.samples.is_empty() && fleet.excluded > 0)
        .then(|| wrap("Every volume is too small.", width) + "\n");
    text + "\n" + &none.unwrap_or_default() + &key + "\n"
}

/// The policy to choose for all volumes, in words.
pub fn answer_of(fleet: &Done) -> String {
    Fleet(fleet).sentence()
}

impl Fleet<'_> {
    fn show(&self, width: usize, markdown: bool, wide: bool) -> String {
        self.tables(width, markdown, wide) + "\n" + &wrap(&self.answer(), width) + "\n"
    }

    fn tables(&self, width: usize, markdown: bool, wide: bool) -> String {
        let table = |title: &str, figures: Figures| match markdown {
            true => format!("{title}\n\n{}", figures.markdown()),
            false => format!("{}\n{}\n", heading(title), figures.finish(None)),
        };
        let count = number::counted(self.0.samples.len() as u64, "volume");
        let mut text = table(&format!("write amplification of {count}"), self.policies());
        if let Some(traces) = self.traces() {
            let title = "write amplification of each trace";
            text += &match markdown {
                true => table(title, traces),
                false => format!("{}\n{}\n", heading(title), traces.finish(Some(width))),
            };
        }
        text += &table("volumes, most written first", self.volumes(wide));
        let hidden = if wide { 0 } else { self.0.samples.len().saturating_sub(VOLUMES_SHOWN) };
        if hidden > 0 {
            text.truncate(text.trim_end().len());
            let hidden = number::counted(hidden as u64, "more volume");
            text += &format!("\n{hidden}; --wide shows all, --format csv all figures\n\n");
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// A row for each of the volumes with the most writes.
    fn volumes(&self, wide: bool) -> Figures {
        let header = ["volume", "written", "best policy", "write\namplif.", "worst"];
        let mut figures = Figures::new(header.map(str::to_owned));
        let mut order: Vec<usize> = (0..self.0.samples.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(self.0.bytes_written[*at]));
        let shown = if wide { order.len() } else { VOLUMES_SHOWN };
        for at in order.into_iter().take(shown) {
            let (name, samples) = &self.0.samples[at];
            let mean = |sample: &Sample| {
                let values = &sample.write_amplification;
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            };
            let possible =
                samples.iter().zip(&self.0.policies).filter(|(_, (_, possible))| *possible);
            let mut ran: Vec<_> = possible
                .filter_map(|(sample, (policy, _))| Some((mean(sample)?, policy, sample)))
                .collect();
            ran.sort_by(|a, b| a.0.total_cmp(&b.0));
            let tie = |best: &Sample| ran.iter().all(|(.., other)| other.ties(best));
            let best = match &ran[..] {
                [] => NONE.to_owned(),
                [_, _, ..] if tie(ran[0].2) => "(all tie)".to_owned(),
                [(_, policy, _), ..] => (*policy).clone(),
            };
            let written = thermocline_units::show_size(self.0.bytes_written[at]);
            let figure = |ran: Option<&(f64, &String, &Sample)>| {
                ran.map_or_else(|| NONE.to_owned(), |(mean, ..)| number::fixed(*mean, 3)) + " "
            };
            figures.row([
                name.clone(),
                written + " ",
                best,
                figure(ran.first()),
                figure(ran.last()),
            ]);
        }
        figures
    }

    /// A row a policy.
    fn policies(&self) -> Figures {
        let header =
            ["policy", "fleet", "median", "90 %", "worst", "volume of\nthe worst", "best on"];
        let mut figures = Figures::new(header.map(str::to_owned));
        let figure = |value: Option<f64>| {
            value.map_or_else(|| NONE.to_owned(), |value| number::fixed(value, 3)) + " "
        };
        for s in &self.0.summaries {
            let share = s.best_share.map_or_else(|| NONE.to_owned(), number::percent);
            figures.row([
                s.policy.clone(),
                figure(s.write_amplification),
                figure(s.median),
                figure(s.p90),
                figure(s.worst),
                s.worst_volume.clone().unwrap_or_else(|| NONE.into()),
                share + " ",
            ]);
        }
        figures
    }

    /// Policies × traces, where there are several.
    fn traces(&self) -> Option<Figures> {
        let mut traces: Vec<&String> = Vec::new();
        for trace in &self.0.traces {
            if !traces.contains(&trace) {
                traces.push(trace);
            }
        }
        if traces.len() < 2 {
            return None;
        }
        let name = |trace: &&String| thermocline_report::names::file(trace).to_owned();
        let header = ["policy".to_owned()].into_iter().chain(traces.iter().map(name));
        let mut figures = Figures::new(header);
        let pictured = self.0.pictured(String::new());
        for (at, (policy, _)) in self.0.policies.iter().enumerate() {
            let figure = |trace: &&String| {
                let value = pictured.together(at, Some(trace));
                value.map_or_else(|| NONE.to_owned(), |value| number::fixed(value, 3)) + " "
            };
            figures.row([policy.clone()].into_iter().chain(traces.iter().map(figure)));
        }
        Some(figures)
    }

    /// The policy to choose for all volumes, and how to read the table.
    fn answer(&self) -> String {
        format!("{KEY}\n{}", self.sentence())
    }

    fn sentence(&self) -> String {
        let possible = self.0.summaries.iter().zip(&self.0.policies).filter(|(_, (_, can))| *can);
        let mut ranked: Vec<_> =
            possible.filter_map(|(s, _)| Some((s.write_amplification?, s))).collect();
        // What did not run everywhere is no choice for all.
        let most = ranked.iter().map(|(_, s)| s.volumes).max().unwrap_or(0);
        ranked.retain(|(_, s)| s.volumes == most);
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        match &ranked[..] {
            [] if self.0.samples.is_empty() && self.0.excluded > 0 => {
                "Answer: none, because every volume is too small.".to_owned()
            }
            [] => "Answer: none, because nothing was written.".to_owned(),
            [(_, only)] => format!("Answer: {} is the only policy.", only.policy),
            [(best, first), (next, second), ..] => {
                let (worst, last) = ranked.last().map_or((*next, *second), |(wa, s)| (*wa, *s));
                let shares = first.best_share.map_or_else(String::new, |share| {
                    format!("; it is best on {} of the volumes", number::percent(share))
                });
                let over = |wa: f64| number::share(wa / best - 1.0);
                let tied = ranked.iter().filter(|(wa, _)| are_tied(&[*best], &[*wa]));
                let tied: Vec<_> = tied.map(|(_, s)| s.policy.as_str()).collect();
                let (best, policy) = (number::fixed(*best, 3), &first.policy);
                if tied.len() == ranked.len() {
                    return "Answer: over the whole fleet all policies are within 1 %: choose by memory.".into();
                }
                let rest = &ranked[tied.len()..];
                let after = match rest {
                    [(wa, one)] => format!("{} writes {} more", one.policy, over(*wa)),
                    [(wa, one), ..] => {
                        let last = &last.policy;
                        format!(
                            "{} writes {} more, {last} {} more",
                            one.policy,
                            over(*wa),
                            over(worst)
                        )
                    }
                    [] => String::new(),
                };
                match &tied[..] {
                    [_] => format!(
                        "Answer: {policy} writes least over the whole fleet ({best}){shares}; {after}."
                    ),
                    [others @ .., last] => format!(
                        "Answer: {} and {last} write least over the whole fleet ({best}), within 1 % of one \
                         another: choose between them by memory; {after}.",
                        others.join(", ")
                    ),
                    [] => String::new(),
                }
            }
        }
    }
}
