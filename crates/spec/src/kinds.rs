//! Settings for only one kind of input.

use thermocline_units::naming::SpecError;

use crate::table::Info;

/// The settings that name inputs, traces first.
pub const INPUTS: [&str; 2] = ["trace", "workload"];
/// Groups that apply to traces.
const OF_TRACES: [&str; 3] = ["MappingArgs", "TransformArgs", "ReadingArgs"];
/// Groups that apply to workloads.
const OF_WORKLOADS: [&str; 1] = ["WorkloadArgs"];

/// Whether a setting does not apply to inputs of this kind.
#[must_use]
pub fn is_foreign(info: &Info, input: &str) -> bool {
    let foreign: &[&str] = if input == INPUTS[0] { &OF_WORKLOADS } else { &OF_TRACES };
    foreign.contains(&info.group)
}

/// Refuses settings for a kind of input that is absent. Ignoring them would make the result look
/// like that of another configuration.
///
/// # Errors
/// The first setting that is for another kind of input.
pub fn check<'a>(
    table: impl Iterator<Item = &'a Info>,
    seen: impl Fn(&str) -> bool,
) -> Result<(), SpecError> {
    let [trace, workload] = INPUTS;
    let mut table = table.peekable();
    let inputs = match table.peek().map(|info| info.group) {
        Some("OneInput") => 1,
        Some("ManyInputs") => usize::MAX,
        _ => return Ok(()),
    };
    let wrong = |what: &str, remedy: &str| {
        Err(SpecError { field: trace.into(), what: what.into(), remedy: remedy.into() })
    };
    let (kind, other) = match (seen(trace), seen(workload)) {
        (false, false) => return wrong("there is no input", "give it ‹trace› or ‹workload›"),
        (true, true) if inputs == 1 => {
            return wrong("it cannot stand beside ‹workload›", "leave one of them out");
        }
        (true, true) => return Ok(()),
        (false, true) => (trace, workload),
        (true, false) => (workload, trace),
    };
    let mut foreign = table.filter(|info| is_foreign(info, other));
    match foreign.find(|info| seen(info.name)) {
        None => Ok(()),
        Some(info) => Err(SpecError {
            field: info.name.into(),
            what: format!("it is for a ‹{kind}›, and the input is a ‹{other}›"),
            remedy: "leave it out".into(),
        }),
    }
}
