//! Options that speak of one kind of input or chip, and the inputs and chips there are.

use clap::{ArgMatches, Args, Command, error::ErrorKind};
use thermocline_media::Place;
use thermocline_study::settings::{
    device::ShapeArgs,
    kinds::{self, first_given},
};

use super::{media, store::Exported};

/// Refuses options for a kind of input or chip that is not there: they would be ignored, and what comes
/// out be taken for that of something else.
pub fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    let Some(command) = command.find_subcommand_mut(name) else { return Ok(()) };
    match name {
        "run" | "compare" | "predict" => kinds::check(command, matches),
        "serve" | "format" => check_chips(command, matches),
        _ => Ok(()),
    }
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
