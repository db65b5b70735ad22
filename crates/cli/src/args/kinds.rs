//! Options that speak of one kind of input or chip, and the inputs and chips there are.

use clap::{ArgMatches, Command, error::ErrorKind};
use thermocline_media::Place;
use thermocline_spec::{
    device::ShapeArgs,
    kinds,
    run::RunSpec,
    table::{Group, Info},
};
use thermocline_study::{Door, settings::compare::CompareSettings};

use super::{
    media,
    settings::{first_given, is_given},
    store::Exported,
};

/// The positional argument for traces, without `--trace`.
pub const FILES: &str = "files";

/// Refuses options for a kind of input or chip that is not there: they would be ignored, and what comes
/// out be taken for that of something else.
pub fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    let Some(command) = command.find_subcommand_mut(name) else { return Ok(()) };
    match name {
        "run" | "predict" => check_inputs::<RunSpec>(command, matches),
        "compare" => check_inputs::<CompareSettings>(command, matches),
        "serve" | "format" => check_chips(command, matches),
        _ => Ok(()),
    }
}

fn check_inputs<G: Group>(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let infos = G::table().iter().map(|field| -> &Info { &field.info });
    let seen = |name: &str| {
        is_given(matches, &name.replace('-', "_")) || name == "trace" && is_given(matches, FILES)
    };
    kinds::check(infos, seen).map_err(|error| {
        let text = format!("--{} {}", error.field, error.why().trim_start_matches("it "));
        command.error(ErrorKind::ArgumentConflict, Door::CommandLine.words(&text))
    })
}

/// Options cannot describe an existing chip.
fn check_chips(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let (more, why): (&str, String) = if command.get_name() == "serve" {
        let mut chips = matches.get_many::<Exported>("chips").into_iter().flatten();
        if chips.any(|exported| !media::lasts(exported.chip.medium())) {
            return Ok(());
        }
        let made = media::made_when_served();
        let why = "and an image keeps what it was formatted as (`thermocline stat`)";
        ("over-provisioning", format!("is for {made}, {why}"))
    } else {
        let chip = matches.get_one::<Place>("chip").map(Place::medium);
        let Some(medium) = chip.filter(|medium| medium.create.is_none()) else { return Ok(()) };
        let why =
            format!("is for an image file, and the geometry of {} is its own", medium.summary);
        ("preallocate", why)
    };
    let more = is_given(matches, &more.replace('-', "_")).then_some(more);
    let Some(option) = first_given::<ShapeArgs>(matches).or(more) else { return Ok(()) };
    Err(command.error(ErrorKind::ArgumentConflict, format!("--{option} {why}; leave it out")))
}
