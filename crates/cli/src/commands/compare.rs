//! `thermocline compare`: several policies on several inputs.

use thermocline_report::{comparison, fleet};
use thermocline_sim::SimError;
use thermocline_study::{
    Comparison, fleet::Fleet, jobs::Extras, settings::compare::CompareSettings,
};

use crate::{
    args::{compare::CompareArgs, output::ResultFormat},
    console::{Console, complain},
    exit::Failure,
    pictures::{self, Pictures},
    print::{
        compare::View,
        compared::{Compared, Refused},
        fleet::{Sink, answer_of},
        results,
        table::USUAL_WIDTH,
    },
    watching::Live,
};

/// The exit code where a volume has no result.
const INCOMPLETE: u8 = 1;

/// Runs everything in one batch and prints.
pub fn run(args: CompareArgs, console: Console) -> Result<(), Failure> {
    let CompareArgs { many, live, wide, metrics, sort, pictures, simulation, output: form } = args;
    let settings = CompareSettings { many: many.0, simulation: simulation.0 };
    if settings.many.per_volume {
        let fleet = Fleet::of(&settings, console.context())?;
        let mut sink = Sink::open(&form, wide)?;
        let pictures = Pictures::open(&pictures)?;
        let done = fleet.run(console.context(), |asked, result| sink.row(asked, result))?;
        let failed = done.failed;
        sink.finish(&done)?;
        let pictured = || done.pictured(answer_of(&done));
        pictures.write(
            || fleet::page(&pictured(), &pictures::repeat()),
            || fleet::charts(&pictured()),
        )?;
        return if failed == 0 { Ok(()) } else { Err(Failure::Told(INCOMPLETE)) };
    }
    let comparison = Comparison::of(&settings, console.context())?;
    let output = results::open(&form)?;
    let history = pictures.any();
    let pictures = Pictures::open(&pictures)?;
    let live = Live::of(live, console);
    let watch = live.as_ref().map(|live| live as _);
    let done = comparison
        .run(Extras { delays: None, history, traffic: history, watch }, console.context())?;
    drop(live);
    done.notes.iter().for_each(|note| console.note(note));
    let mut compared = done.inputs;
    for Refused { trace, policy, error } in compared.iter().flat_map(Compared::refused) {
        complain(&format!("{trace}: {policy} could not run: {error}"));
    }
    if let Some(metric) = sort {
        compared.iter_mut().for_each(|compared| compared.sort(metric));
    }
    let (form, wish) = (form.form(), settings.many.wish());
    let view = View {
        width: output.width().unwrap_or(USUAL_WIDTH),
        wide,
        metrics,
        markdown: form == ResultFormat::Markdown,
        wish,
    };
    results::print_comparison(&compared, form, &view, output)?;
    let page = || comparison::page(&compared, wish, &pictures::repeat());
    pictures.write(page, || comparison::all_charts(&compared))?;
    match compared.iter().find(|compared| compared.runs().next().is_none()) {
        Some(Compared { input, .. }) => {
            Err(SimError::Failed(format!("no policy could run on {input}")).into())
        }
        None => Ok(()),
    }
}
