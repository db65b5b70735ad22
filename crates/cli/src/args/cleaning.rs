//! When cleaning starts and stops, how much it takes at once, and where pages go.

use clap::Args;
use thermocline_policy::{bank::BankAssignment, params::ParamValue, trigger::Trigger};

use super::values::{self, Suggest};

const HEADING: &str = "Cleaning";

/// What policies leave open.
#[derive(Args, Debug)]
pub struct CleaningArgs {
    /// Free blocks in each bank kept for the cleaner [default: 2].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub reserve: Option<u32>,
    /// Cleaning starts below this number of free blocks [default: reserve + 1].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub low: Option<u32>,
    /// Cleaning stops at this number of free blocks; with a falling threshold it is where cleaning
    /// begins [default: low; falling: an eighth of the blocks, at most low + 64].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub high: Option<u32>,
    /// What makes cleaning start: a write that needs a block (lazy), a write that leaves only the
    /// reserve (eager), or victims with the more garbage the more blocks are free (falling)
    /// [default: the policy's].
    #[arg(long, value_name = "lazy|eager|falling", value_parser = trigger)]
    #[arg(help_heading = HEADING)]
    pub trigger: Option<Trigger>,
    /// Blocks cleaned at once by placements that sort survivors [default: the policy's].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub batch: Option<u32>,
    /// How pages are spread over banks: by number (static), or to idle banks by wear and room
    /// (dynamic) [default: the policy's].
    #[arg(long, value_name = "static|dynamic", value_parser = bank_assignment)]
    #[arg(help_heading = HEADING)]
    pub bank_assignment: Option<BankAssignment>,
    /// What is done between requests that arrive: nothing, cleaning when it was silent for a while,
    /// as in 'timer(after=20ms)', or cleaning in predicted slack, as in 'slac(preempt=yes)'; `compare`
    /// takes several, with commas between [default: the policy's].
    #[arg(long, value_name = "none|timer|slac", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::idles), hide_possible_values = true)]
    pub idle: Vec<String>,
    /// What is believed to be dead before it is overwritten: nothing (none), what the host trims
    /// (trim), or also what the writes of a FAT32 or exFAT file system tell (fsaf); `compare` takes
    /// several [default: the policy's].
    #[arg(long, value_name = "none|trim|fsaf", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::dead_data), hide_possible_values = true)]
    pub dead_data: Vec<String>,
}

fn trigger(text: &str) -> Result<Trigger, String> {
    Trigger::parse(text).ok_or_else(|| format!("expected {}", Trigger::EXPECTED))
}

fn bank_assignment(text: &str) -> Result<BankAssignment, String> {
    BankAssignment::parse(text).ok_or_else(|| format!("expected {}", BankAssignment::EXPECTED))
}
