//! `thermocline man`: a man page for each command, from the command line's own description.

use std::path::Path;

use clap::Command;
use clap_mangen::Man;

use crate::{
    args::{self, catalogue::ManArgs},
    exit::Failure,
    output::Output,
};

/// Writes the pages.
pub fn run(args: &ManArgs) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.folder)
        .map_err(|source| Failure::Write { target: args.folder.display().to_string(), source })?;
    let mut command = args::command();
    command.build();
    pages(command, &args.folder)
}

/// Writes the pages of a command and of those below it.
fn pages(command: Command, folder: &Path) -> Result<(), Failure> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        if below.get_name() != "help" {
            pages(below.clone(), folder)?;
        }
    }
    let page = Man::new(command);
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    let rendered = page.render(&mut text);
    rendered.map_err(|source| Failure::Write { target: path.display().to_string(), source })?;
    Output::open(Some(&path))?.put(&text)
}
