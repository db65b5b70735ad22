//! `thermocline reproduce`: what papers claim beside what comes out here.

mod report;

use thermocline_papers::{Change, RECORD_FILE};
use thermocline_study::{
    Door,
    reproduce::{Chosen, PaperResults, ReproduceSettings, Reproduction},
};

use crate::{
    args::reproduce::ReproduceArgs,
    console::Console,
    exit::Failure,
    output::Output,
    print::{json, reproduce as print},
};

/// The exit code where something came out worse than it was.
const WORSE: u8 = 1;

/// Runs, prints and records.
pub fn run(args: ReproduceArgs, console: Console) -> Result<(), Failure> {
    let ReproduceArgs { what, papers, traces, quick, no_readings, threads, .. } = args;
    let settings = ReproduceSettings { what, papers, traces, quick, no_readings, threads };
    let reproduction = Reproduction::of(&settings)?;
    let chosen = reproduction.chosen();
    if args.accept
        && let Some(built_in) = chosen.iter().find(|chosen| chosen.place.is_none())
    {
        return Err(Failure::usage(format!(
            "cannot record verdicts, because {} is built in; name its folder, or use --papers",
            built_in.paper.name
        )));
    }
    let output = Output::open(args.output.as_deref())?;
    if args.commands {
        return output.put(reproduction.commands()?.as_bytes());
    }
    let done = reproduction.run(console.context())?;
    done.notes.iter().for_each(|note| console.note(note));
    let papers = &done.papers;
    if args.json {
        json::print(&done.listed(), output)?;
    } else {
        print::table(papers, output)?;
    }
    if let Some(place) = &args.report {
        report::write(place, papers)?;
    }
    if let Some(folder) = &args.plots {
        report::plots(folder, papers)?;
    }
    if args.accept {
        papers.iter().zip(chosen).try_for_each(|(results, chosen)| accept(results, chosen))?;
    }
    let claims = || papers.iter().flat_map(PaperResults::claims);
    let worse = !args.accept
        && claims().any(|claim| match claim.change {
            Some(Change::Worse) => true,
            Some(Change::Moved | Change::New) => args.exact,
            Some(Change::Better) | None => false,
        });
    match worse || claims().any(|claim| claim.misses_reference()) {
        true => Err(Failure::Told(WORSE)),
        false => Ok(()),
    }
}

/// Writes a paper's verdicts down.
fn accept(results: &PaperResults<'_>, chosen: &Chosen) -> Result<(), Failure> {
    let Some(place) = &chosen.place else { return Ok(()) };
    // Of a single file, nothing is known of the others.
    let mut experiments: Vec<_> =
        results.paper.experiments.iter().map(|experiment| experiment.name.as_str()).collect();
    let files = place.read_dir().into_iter().flatten().flatten().map(|entry| entry.file_name());
    let files: Vec<_> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    experiments.extend(files.iter().filter_map(|name| name.strip_suffix(".toml")));
    let record = results.paper.record.with(&results.reports, &experiments);
    Output::open(Some(&place.join(RECORD_FILE)))?
        .put(Door::CommandLine.words(&record.write()).as_bytes())
}
