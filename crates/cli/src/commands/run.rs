//! `thermocline run`: one policy on one input.

use std::{path::Path, slice};

use thermocline_report::comparison;
use thermocline_sim::{DelayLog, answer::Wish};
use thermocline_study::{Run, jobs::Extras, settings::run::RunSpec};

use crate::{
    args::run::RunArgs,
    console::Console,
    exit::Failure,
    pictures::{self, Pictures},
    print::results,
    watching::Live,
};

/// Runs and prints.
pub fn run(args: RunArgs, console: Console) -> Result<(), Failure> {
    let RunArgs { one, delays, live, pictures, simulation, output: form } = args;
    let settings = RunSpec { one: one.0, simulation: simulation.0 };
    let run = Run::of(&settings, console.context())?;
    // An output that cannot be opened shows now, not after the work.
    let output = results::open(&form)?;
    let history = pictures.any();
    let pictures = Pictures::open(&pictures)?;
    let delays = delays.map(|path| delay_log(&path, form.output.as_deref())).transpose()?;
    let live = Live::of(live, console);
    let watch = live.as_ref().map(|live| live as _);
    let done = run.run(
        Extras { delays: delays.as_ref(), history, traffic: history, watch },
        console.context(),
    )?;
    drop(live);
    if let Some(delays) = delays {
        delays.finish()?;
    }
    done.notes.iter().for_each(|note| console.note(note));
    results::print_run(done.result(), form.form(), output)?;
    let compared = slice::from_ref(done.compared());
    let page = || comparison::page(compared, Wish::default(), &pictures::repeat());
    pictures.write(page, || comparison::all_charts(compared))
}

/// Opens the file for delays, which results do not share.
fn delay_log(path: &Path, output: Option<&Path>) -> Result<DelayLog, Failure> {
    if path.as_os_str() == "-" || output == Some(path) {
        return Err(Failure::usage(format!(
            "--delays {}: that is where results go; name another file",
            path.display()
        )));
    }
    Ok(DelayLog::create(path)?)
}
