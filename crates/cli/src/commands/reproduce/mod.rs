//! `thermocline reproduce`: what papers claim beside what comes out here.

mod choice;
mod options;
mod report;
mod runs;

use std::{collections::BTreeSet, fmt::Write as _};

use thermocline_papers::{Change, Experiment, Paper, Plan, RECORD_FILE, Record, Report};
use thermocline_sim::SimError;

use crate::{
    args::reproduce::ReproduceArgs,
    console::Console,
    exit::Failure,
    output::Output,
    print::reproduce::{self as print, PaperResults},
};
use choice::Chosen;
use options::Options;

/// The exit code where something came out worse than it was.
const WORSE: u8 = 1;

/// Runs, prints and records.
pub fn run(args: &ReproduceArgs, console: Console) -> Result<(), Failure> {
    let chosen = choice::choose(&args.what, args.papers.as_deref())?;
    if args.accept
        && let Some(built_in) = chosen.iter().find(|chosen| chosen.place.is_none())
    {
        return Err(Failure::usage(format!(
            "cannot record verdicts, because {} is built in; name its folder, or use --papers",
            built_in.paper.name
        )));
    }
    let wanted: Vec<(&Chosen, &Experiment)> = chosen
        .iter()
        .flat_map(|chosen| chosen.paper.experiments.iter().map(move |e| (chosen, e)))
        .filter(|(chosen, experiment)| chosen.wants(&experiment.name))
        .filter(|(_, experiment)| experiment.quick || !args.quick)
        .collect();
    let plan = Plan::of(wanted.iter().map(|(_, experiment)| *experiment), !args.no_readings);
    let output = Output::open(args.output.as_deref())?;
    let mut options = Options::new(&chosen, options::traces(&args.traces));
    if args.commands {
        return commands(&plan, &mut options, output);
    }
    let ran = runs::run_all(plan.runs(), &mut options, args.threads, console)?;
    if let [_] = wanted[..] {
        // Whoever looks at one experiment wants to know.
        let notes: BTreeSet<_> = ran.iter().flat_map(|ran| &ran.notes).collect();
        notes.iter().for_each(|note| console.note(note));
    }
    let outcomes: Vec<_> = ran.into_iter().map(|ran| ran.outcome).collect();
    let none = Record::default();
    let record = |name: &str| {
        let paper = chosen.iter().find(|chosen| chosen.paper.name == name);
        paper.map_or(&none, |chosen| &chosen.paper.record)
    };
    let reports = plan.judge(&outcomes, record).map_err(|e| SimError::Input(e.to_string()))?;
    let papers = by_paper(&chosen, reports);
    if args.json {
        print::json(&papers, output)?;
    } else {
        print::table(&papers, output)?;
    }
    if let Some(place) = &args.report {
        report::write(place, &papers)?;
    }
    if let Some(folder) = &args.plots {
        report::plots(folder, &papers)?;
    }
    if args.accept {
        papers.iter().zip(&chosen).try_for_each(|(results, chosen)| accept(results, chosen))?;
    }
    let claims = || papers.iter().flat_map(PaperResults::claims);
    let worse = !args.accept && claims().any(|claim| claim.change == Some(Change::Worse));
    match worse || claims().any(|claim| claim.misses_reference()) {
        true => Err(Failure::Told(WORSE)),
        false => Ok(()),
    }
}

/// The experiments of each paper.
fn by_paper<'a>(chosen: &'a [Chosen], mut reports: Vec<Report>) -> Vec<PaperResults<'a>> {
    let mut papers = Vec::new();
    for chosen in chosen {
        let paper: &Paper = &chosen.paper;
        // The runs stand in the order of the papers.
        let ours = reports.iter().take_while(|report| report.paper == paper.name).count();
        let rest = reports.split_off(ours);
        papers.push(PaperResults { paper, reports: std::mem::replace(&mut reports, rest) });
    }
    papers
}

/// Prints the command of every run.
fn commands(plan: &Plan<'_>, options: &mut Options<'_>, output: Output) -> Result<(), Failure> {
    let mut text = String::new();
    for run in plan.runs() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# {}\n{}", run.wanted_by, options.command(run)?);
    }
    output.put(text.as_bytes())
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
    Output::open(Some(&place.join(RECORD_FILE)))?.put(record.write().as_bytes())
}
