//! Options that speak of one kind of input or chip, and the inputs and chips there are.

use clap::{Arg, ArgMatches, Args, Command, Id, error::ErrorKind, parser::ValueSource};
use thermocline_media::Place;

use super::{
    device::ShapeArgs,
    input::{MappingArgs, WorkloadArgs},
    media,
    reading::ReadingArgs,
    store::Exported,
    transform::TransformArgs,
};

/// Refuses options for a kind of input or chip that is not there: they would be ignored, and what comes
/// out be taken for that of something else.
pub fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    let Some(command) = command.find_subcommand_mut(name) else { return Ok(()) };
    match name {
        "run" | "compare" => check_inputs(command, matches),
        "serve" | "format" => check_chips(command, matches),
        _ => Ok(()),
    }
}

/// Options of `run` that are not for this kind of input.
pub fn foreign(input: &str) -> Vec<String> {
    let command = super::run::RunArgs::augment_args(Command::new("run"));
    let groups = match input {
        "trace" => vec![WorkloadArgs::group_id()],
        _ => vec![MappingArgs::group_id(), TransformArgs::group_id(), ReadingArgs::group_id()],
    };
    let groups =
        command.get_groups().filter(|group| groups.contains(&Some(group.get_id().clone())));
    let ids: Vec<&Id> = groups.flat_map(|group| group.get_args()).collect();
    let options = command.get_arguments().filter(|arg| ids.contains(&arg.get_id()));
    options.filter_map(Arg::get_long).map(str::to_owned).collect()
}

fn check_inputs(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let of_traces = [MappingArgs::group_id(), TransformArgs::group_id(), ReadingArgs::group_id()];
    let (kind, other, groups) = match (given("trace"), given("workload")) {
        (false, true) => ("trace", "workload", &of_traces[..]),
        (true, false) => ("workload", "trace", &[WorkloadArgs::group_id()][..]),
        _ => return Ok(()),
    };
    let Some(option) = first_given(command, matches, groups, &[]) else { return Ok(()) };
    let text = format!("--{option} is for a --{kind}, and the input is a --{other}; leave it out");
    Err(command.error(ErrorKind::ArgumentConflict, text))
}

/// What a chip that exists is like is not for options to say.
fn check_chips(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let (more, why): (&[&str], String) = if command.get_name() == "serve" {
        let mut chips = matches.get_many::<Exported>("chips").into_iter().flatten();
        if chips.any(|exported| !media::lasts(exported.chip.medium())) {
            return Ok(());
        }
        let made = media::made_when_served();
        let why = "and an image keeps what it was formatted as (`thermocline stat`)";
        (&["over_provisioning"], format!("is for {made}, {why}"))
    } else {
        let chip = matches.get_one::<Place>("chip").map(Place::medium);
        let Some(medium) = chip.filter(|medium| medium.create.is_none()) else { return Ok(()) };
        let why =
            format!("is for an image file, and the geometry of {} is its own", medium.summary);
        (&["preallocate"], why)
    };
    let groups = [ShapeArgs::group_id()];
    let Some(option) = first_given(command, matches, &groups, more) else { return Ok(()) };
    Err(command.error(ErrorKind::ArgumentConflict, format!("--{option} {why}; leave it out")))
}

/// The first option of these groups, and of some more, that was given.
fn first_given(
    command: &Command,
    matches: &ArgMatches,
    groups: &[Option<Id>],
    more: &[&str],
) -> Option<String> {
    let ids = command
        .get_groups()
        .filter(|group| groups.contains(&Some(group.get_id().clone())))
        .flat_map(|group| group.get_args())
        .map(Id::as_str);
    let id = ids
        .chain(more.iter().copied())
        .find(|id| matches.value_source(id) == Some(ValueSource::CommandLine))?;
    let arg = command.get_arguments().find(|arg| arg.get_id() == id);
    Some(arg.and_then(|arg| arg.get_long()).unwrap_or(id).to_owned())
}
