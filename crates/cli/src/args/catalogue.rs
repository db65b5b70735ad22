//! The arguments of the commands that list what there is.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::Shell;

use super::{settings::Suggest, values};

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

/// The arguments of `keys`.
#[derive(Args, Debug)]
pub struct KeysArgs {
    /// Word in the names or, if it is in none of them, in the meanings [default: list all].
    #[arg(value_name = "WORD")]
    pub word: Option<String>,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The arguments of `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Results by `run`, `compare` or `sweep` as JSON or JSON lines; `-` is standard input.
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub a: PathBuf,
    /// The same, to compare with.
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub b: PathBuf,
    /// Every key, not only the settings and the figures for people.
    #[arg(long)]
    pub all: bool,
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
