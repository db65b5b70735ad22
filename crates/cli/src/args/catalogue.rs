//! The arguments of the commands that list what there is.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::Shell;

use super::values::{self, Suggest};

/// The arguments of `policies`.
#[derive(Args, Debug)]
pub struct PoliciesArgs {
    /// Preset, victim policy or placement to show with its parameters [default: list all].
    #[arg(value_name = "NAME", hide_possible_values = true)]
    #[arg(value_parser = Suggest(values::policies))]
    pub name: Option<String>,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The arguments of `devices`.
#[derive(Args, Debug)]
pub struct DevicesArgs {
    /// Device to show with all figures and their sources, or a TOML file [default: list all].
    #[arg(value_name = "NAME|FILE", hide_possible_values = true)]
    #[arg(value_parser = Suggest(values::devices))]
    pub name: Option<String>,
    /// Print the device as TOML, to start a device of your own from.
    #[arg(long, requires = "name", conflicts_with = "json", help_heading = "Output")]
    pub toml: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The arguments of `workloads`.
#[derive(Args, Debug)]
pub struct WorkloadsArgs {
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Shell to complete for.
    pub shell: Shell,
}

/// The arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Folder to write the pages to, one for each command.
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
}
