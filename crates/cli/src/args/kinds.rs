//! Options that speak of one kind of input, and the inputs there are.

use clap::{ArgMatches, Args, Command, error::ErrorKind, parser::ValueSource};

use super::{
    input::{MappingArgs, WorkloadArgs},
    reading::ReadingArgs,
    transform::TransformArgs,
};

/// Refuses options for a kind of input that is not there: they would be ignored, and the results
/// taken for those of something else.
pub fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name @ ("run" | "compare"), matches)) = matches.subcommand() else { return Ok(()) };
    let Some(command) = command.find_subcommand_mut(name) else { return Ok(()) };
    let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let of_traces = [MappingArgs::group_id(), TransformArgs::group_id(), ReadingArgs::group_id()];
    let (kind, other, groups) = match (given("trace"), given("workload")) {
        (false, true) => ("trace", "workload", &of_traces[..]),
        (true, false) => ("workload", "trace", &[WorkloadArgs::group_id()][..]),
        _ => return Ok(()),
    };
    let wrong = command
        .get_groups()
        .filter(|group| groups.contains(&Some(group.get_id().clone())))
        .flat_map(|group| group.get_args())
        .find(|id| given(id.as_str()));
    let Some(id) = wrong else { return Ok(()) };
    let arg = command.get_arguments().find(|arg| arg.get_id() == id);
    let option = arg.and_then(|arg| arg.get_long()).unwrap_or(id.as_str());
    let text = format!("--{option} is for a --{kind}, and the input is a --{other}; leave it out");
    Err(command.error(ErrorKind::ArgumentConflict, text))
}
