//! The settings of a run.

use clap::Args;

use super::{
    input::OneInput,
    simulation::SimulationArgs,
    values::{self, Suggest},
};

const HEADING: &str = "Policy";

/// One policy on one input.
#[derive(Args, Debug)]
pub struct OnePolicy {
    /// The input.
    #[command(flatten)]
    pub input: OneInput,
    /// Policy, with parameters in brackets: 'cat(tau=84min)' (`thermocline policies` lists them)
    /// [default: thermocline; with --victim or --placement alone, a plain log].
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::presets), hide_possible_values = true)]
    pub policy: Option<String>,
    /// Victim policy, in place of the policy's own.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::victims), hide_possible_values = true)]
    pub victim: Option<String>,
    /// Placement, in place of the policy's own.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::placements), hide_possible_values = true)]
    pub placement: Option<String>,
    /// Run the oracle too, which knows the future, and say how much more the policy writes.
    #[arg(long, help_heading = HEADING)]
    pub oracle: bool,
}

/// The settings of a run.
#[derive(Args, Debug)]
pub struct RunSettings {
    /// The policy and the input.
    #[command(flatten)]
    pub one: OnePolicy,
    /// Everything else.
    #[command(flatten)]
    pub simulation: SimulationArgs,
}
