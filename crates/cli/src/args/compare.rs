//! The arguments of `compare`.

use clap::Args;

use super::{
    input::ManyInputs,
    simulation::SimulationArgs,
    values::{self, Suggest},
};

const HEADING: &str = "Policies";

/// The arguments of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    #[command(flatten)]
    pub inputs: ManyInputs,
    /// Policies with commas between, each with parameters in brackets; `all` is every preset
    /// [default: the page-mapped presets that do not know the future].
    #[arg(long, visible_alias = "policy", value_name = "NAMES", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::presets), hide_possible_values = true)]
    pub policies: Vec<String>,
    /// Victim policies with commas between: every one with every placement, in place of the
    /// policies' own, or on a plain log where no policies are named; `all` is every one.
    #[arg(long, value_name = "NAMES", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::victims), hide_possible_values = true)]
    pub victim: Vec<String>,
    /// Placements with commas between: every one with every victim policy; `all` is every one.
    #[arg(long, value_name = "NAMES", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::placements), hide_possible_values = true)]
    pub placement: Vec<String>,
    /// Do not measure the policies against the oracle, which knows the future: saves its run.
    #[arg(long, help_heading = HEADING)]
    pub no_oracle: bool,
    #[command(flatten)]
    pub simulation: SimulationArgs,
}
