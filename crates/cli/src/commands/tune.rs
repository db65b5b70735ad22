//! `thermocline tune`: the policy and the parameters that suit an input best.

use thermocline_report::sweep::{self, Tried};
use thermocline_sim::SimError;
use thermocline_study::{
    Door,
    tune::{TuneSettings, tune},
    volumes::PerVolume,
};

use crate::{
    args::{output::ResultFormat, settings::SweptArgs, tune::TuneArgs},
    console::Console,
    exit::Failure,
    pictures::{self, Pictures},
    print::{
        json, results,
        table::USUAL_WIDTH,
        tune::{self as print, OfVolume},
    },
};

/// The exit code where a volume has no result.
const INCOMPLETE: u8 = 1;

/// Searches and prints.
pub fn run(args: TuneArgs, console: Console) -> Result<(), Failure> {
    if args.per_volume {
        return per_volume(args, console);
    }
    let TuneArgs { aim, budget, part, price, no_parameters, jobs, output: form, .. } = args;
    let SweptArgs(swept) = args.swept;
    let pictures = args.pictures;
    let settings = TuneSettings { aim, budget, part, price, no_parameters, threads: jobs, swept };
    let output = results::open(&form)?;
    let pictures = Pictures::open(&pictures)?;
    let tuned = tune(&settings, console.context())?;
    let width = output.width().unwrap_or(USUAL_WIDTH);
    match form.form() {
        ResultFormat::Table => output.put_styled(&print::show(&tuned, aim, width, false)),
        ResultFormat::Markdown => output.put(print::show(&tuned, aim, width, true).as_bytes()),
        ResultFormat::Json => json::print(&tuned, output),
        ResultFormat::JsonLines => json::print_lines(&tuned.trials, output),
        ResultFormat::Csv | ResultFormat::Parquet => Err(Failure::usage(
            "a search has no rows of equal columns; take --format json or jsonl",
        )),
    }?;
    let tried = || -> Vec<Tried> {
        let all = tuned.results.iter().cloned();
        all.map(|(settings, result)| Tried { settings, result }).collect()
    };
    pictures.write(
        || sweep::page(&tried(), None, &pictures::repeat()),
        || sweep::charts(&tried(), None),
    )
}

/// Searches for each volume, and prints a row for each.
fn per_volume(args: TuneArgs, console: Console) -> Result<(), Failure> {
    let TuneArgs { aim, budget, part, price, no_parameters, jobs, output: form, .. } = args;
    let SweptArgs(swept) = args.swept;
    let output = results::open(&form)?;
    let volumes = PerVolume::of(args.which.0);
    let (mut found, mut wrong) = (Vec::<OfVolume>::new(), None);
    let mut excluded = 0;
    for (trace, volume, swept) in volumes.searches(&swept, console.context())? {
        let settings =
            TuneSettings { aim, budget, part, price, no_parameters, threads: jobs, swept };
        let tuned = match tune(&settings, console.context().with_traces(&volumes)) {
            Err(stop @ (SimError::Interrupted | SimError::Broken(_))) => return Err(stop.into()),
            Err(SimError::TooSmall(_)) => {
                excluded += 1;
                continue;
            }
            // A volume may have too few requests for a search; an error of all volumes is an error of the
            // search.
            Err(error) => {
                let why = Door::CommandLine.words(&error.to_string()).into_owned();
                wrong.get_or_insert(error);
                Err(why)
            }
            Ok(tuned) => Ok(tuned.named(&trace, &volume)),
        };
        found.push(OfVolume { trace, volume, tuned });
    }
    if excluded > 0 {
        let note = volumes.about_small(excluded, excluded + found.len());
        console.note(&Door::CommandLine.words(&note));
    }
    if let Some(wrong) = wrong.filter(|_| found.iter().all(|one| one.tuned.is_err())) {
        return Err(wrong.into());
    }
    let width = output.width().unwrap_or(USUAL_WIDTH);
    match form.form() {
        ResultFormat::Table => output.put_styled(&print::volumes(&found, aim, width, false)),
        ResultFormat::Markdown => output.put(print::volumes(&found, aim, width, true).as_bytes()),
        ResultFormat::Json => json::print(&print::listed(&found), output),
        ResultFormat::JsonLines => json::print_lines(&print::listed(&found), output),
        ResultFormat::Csv | ResultFormat::Parquet => Err(Failure::usage(
            "a search has no rows of equal columns; take --format json or jsonl",
        )),
    }?;
    match found.iter().all(|one| one.tuned.is_ok()) {
        true => Ok(()),
        false => Err(Failure::Told(INCOMPLETE)),
    }
}
