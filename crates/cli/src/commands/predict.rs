//! `thermocline predict`: flash writes and lifetime of a drive under given traffic.

use serde_json::{Value, json};
use thermocline_sim::RunResult;
use thermocline_study::{
    Run,
    jobs::{DRIVE, Extras, device},
    settings::run::RunSpec,
};
use thermocline_units::show_size;

use crate::{
    args::predict::PredictArgs,
    console::Console,
    exit::Failure,
    output::Output,
    print::{json, table::Pairs},
};

/// Pages of a simulated drive: more cost time and memory, and change little.
const PAGES: u64 = 1 << 20;
const DAYS_OF_A_YEAR: f64 = 365.25;

/// A figure with the interval that the fit's error implies.
#[derive(Clone, Copy)]
struct Figure {
    value: f64,
    low: f64,
    high: f64,
}

impl Figure {
    /// A write amplification with its relative error.
    fn of(value: f64, error: f64) -> Self {
        Self { value, low: value / (1.0 + error), high: value * (1.0 + error) }
    }

    fn shown(self, show: impl Fn(f64) -> String) -> String {
        format!("{} ({} to {})", show(self.value), show(self.low), show(self.high))
    }

    fn json(self) -> Value {
        json!({ "value": self.value, "low": self.low, "high": self.high })
    }
}

/// Simulates and prints.
pub fn run(args: PredictArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let PredictArgs { one, mut simulation, fit_error, json: as_json, .. } = args;
    let whole = device(&simulation.device.shape)?;
    let Some(drive) = whole.profile.drive.clone() else {
        return Err(Failure::usage(format!(
            "{} is a chip, not a drive; --device takes what `thermocline identify --output` wrote, or \
             solidigm-d7-p5520, micron-7450-800g",
            whole.profile.name
        )));
    };
    // A drive of terabytes is simulated smaller, as many superblocks with fewer pages.
    let page = u64::from(whole.profile.geometry.page_size);
    let of = u32::try_from(drive.exported_bytes / page / PAGES).unwrap_or(u32::MAX);
    let chosen = simulation.mapping.sample.is_some() || simulation.device.scale.is_some();
    if of > 1 && !chosen {
        match one.input.trace {
            Some(_) => simulation.mapping.sample = Some(of),
            None => simulation.device.scale = Some(of),
        }
    }
    // A trace is seldom as long as a drive takes to settle.
    if one.input.trace.is_some() && simulation.mapping.times.is_none() {
        simulation.mapping.settle = simulation.mapping.settle.or(Some(SETTLE));
    }
    let settings = RunSpec { one: one.0, simulation: simulation.0 };
    let run = Run::of(&settings, console.context())?;
    if run.policy.name != DRIVE {
        console.note(&format!("{} stands in for the drive's own layer", run.policy.name));
    }
    let done = run.run(Extras::default(), console.context())?;
    done.notes.iter().for_each(|note| console.note(note));
    let result = done.result();
    let Some(pages) = result.drive_write_amplification else {
        return Err(Failure::failed("the host wrote nothing that could be predicted from"));
    };
    let amplification = Figure::of(pages, fit_error);
    let (tbw, years) = life(result, fit_error);
    let warranted = args.warranty_bytes.map(|bytes| bytes as f64).or_else(|| {
        let days = args.warranty_years * DAYS_OF_A_YEAR;
        args.warranty_dwpd.map(|dwpd| dwpd * drive.exported_bytes as f64 * days)
    });
    let dwpd =
        |bytes: f64| bytes / drive.exported_bytes as f64 / (args.warranty_years * DAYS_OF_A_YEAR);
    if as_json {
        let value = json!({
            "device": whole.profile.name,
            "input": result.trace.path,
            "fit_error": fit_error,
            "drive_write_amplification": amplification.json(),
            "tbw_bytes": tbw.map(Figure::json),
            "years": years.map(Figure::json),
            "dwpd": tbw.map(|tbw| dwpd(tbw.value)),
            "warranty": {
                "tbw_bytes": warranted,
                "dwpd": warranted.map(dwpd),
                "years": args.warranty_years,
            },
        });
        return json::print(&value, output);
    }
    let bytes = |value: f64| show_size(value as u64);
    let mut pairs = Pairs::new(&output);
    pairs.group(&format!("{} under {}", whole.profile.name, result.trace.path));
    pairs.add("write amplification", amplification.shown(|value| format!("{value:.2}")));
    match tbw {
        Some(tbw) => {
            pairs.add("host can write (TBW)", tbw.shown(bytes));
            pairs.add("DWPD", format!("{:.2} over {} years", dwpd(tbw.value), args.warranty_years));
        }
        None => pairs.add("host can write (TBW)", "unknown: too few blocks were erased"),
    }
    match years {
        Some(years) => pairs.add("lasts, years", years.shown(|value| format!("{value:.1}"))),
        None => pairs.add("lasts, years", "unknown without a rate; give --daily-writes"),
    }
    if let Some(warranted) = warranted {
        let share = tbw.map_or(String::new(), |tbw| {
            format!("; the flash would last {:.1} times as long", tbw.value / warranted)
        });
        pairs.add("warranted", format!("{}, {:.2} DWPD{share}", bytes(warranted), dwpd(warranted)));
    }
    output.put_styled(&pairs.finish())
}

/// Repetitions of a trace, at most.
const SETTLE: u32 = 20;

/// The host writes and the time until the end of life, in inverse proportion to write
/// amplification.
fn life(result: &RunResult, error: f64) -> (Option<Figure>, Option<Figure>) {
    let figure = |value: f64| Figure::of(value, error);
    (result.lifetime.tbw_bytes.map(figure), result.lifetime.years.map(figure))
}
