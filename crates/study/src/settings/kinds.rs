//! Options that speak of one kind of input, and the inputs there are.

use clap::{Arg, ArgMatches, Args, Command, Id, error::ErrorKind, parser::ValueSource};

use super::{
    input::{MappingArgs, WorkloadArgs},
    reading::ReadingArgs,
    run::RunSettings,
    transform::TransformArgs,
};

/// The argument by which a command line names traces alone, without `--trace`.
pub const FILES: &str = "files";

/// Options of `run` that are not for this kind of input.
#[must_use]
pub fn foreign(input: &str) -> Vec<String> {
    let command = RunSettings::augment_args(Command::new("run"));
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

/// Refuses options for a kind of input that is not there: they would be ignored, and what comes out be
/// taken for that of something else.
///
/// # Errors
/// What option is for another kind of input.
pub fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let of_traces = [MappingArgs::group_id(), TransformArgs::group_id(), ReadingArgs::group_id()];
    let named = matches.try_contains_id(FILES).unwrap_or(false);
    let (kind, other, groups) = match (given("trace") || named, given("workload")) {
        (false, true) => ("trace", "workload", &of_traces[..]),
        (true, false) => ("workload", "trace", &[WorkloadArgs::group_id()][..]),
        _ => return Ok(()),
    };
    let Some(option) = first_given(command, matches, groups, &[]) else { return Ok(()) };
    let text = format!("‹{option}› is for a ‹{kind}›, and the input is a ‹{other}›; leave it out");
    Err(command.error(ErrorKind::ArgumentConflict, text))
}

/// The first option of these groups, and of some more, that was given.
#[must_use]
pub fn first_given(
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
