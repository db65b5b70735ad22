//! `thermocline tune`: the policy and the parameters that suit an input best.

use thermocline_report::sweep::{self, Tried};
use thermocline_study::tune::{TuneSettings, tune};

use crate::{
    args::{output::ResultFormat, tune::TuneArgs},
    console::Console,
    exit::Failure,
    pictures::{self, Pictures},
    print::{json, results, table::USUAL_WIDTH, tune as print},
};

/// Searches and prints.
pub fn run(args: TuneArgs, console: Console) -> Result<(), Failure> {
    let TuneArgs { aim, budget, part, price, no_parameters, jobs, pictures, output: form, swept } =
        args;
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
