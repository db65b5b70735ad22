//! When cleaning starts and stops, how much it takes at once, and where pages go.

use clap::Args;
use thermocline_assembly::policy::OwnPolicies;
use thermocline_policy::{bank::BankAssignment, params::ParamValue, trigger::Trigger};

use super::values::{self, Suggest};

const HEADING: &str = "Cleaning";

/// What policies leave open.
#[derive(Args, Clone, Debug)]
pub struct CleaningArgs {
    /// Free blocks of each bank kept for garbage collection [default: 2].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub reserve: Option<u32>,
    /// Garbage collection starts below this number of free blocks [default: reserve + 1].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub low: Option<u32>,
    /// Garbage collection stops at this number of free blocks; with the falling trigger it starts there
    /// [default: low; falling: an eighth of the blocks, at most low + 64].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub high: Option<u32>,
    /// When garbage collection starts: when a write needs a block (lazy), when a write left only the
    /// reserve (eager), or early, with a threshold of garbage that falls with the free blocks
    /// (falling) [default: the policy's].
    #[arg(long, value_name = "lazy|eager|falling", value_parser = trigger)]
    #[arg(help_heading = HEADING)]
    pub trigger: Option<Trigger>,
    /// Blocks collected at once by placements that sort survivors [default: the policy's].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub batch: Option<u32>,
    /// Assignment of pages to banks: by page number (static), or to idle banks by wear and free space
    /// (dynamic) [default: the policy's].
    #[arg(long, value_name = "static|dynamic", value_parser = bank_assignment)]
    #[arg(help_heading = HEADING)]
    pub bank_assignment: Option<BankAssignment>,
    /// Garbage collection between requests: none; after a time without requests, as in
    /// 'timer(after=20ms)'; or in predicted slack, as in 'slac(preempt=yes)'. `compare` takes several,
    /// separated by commas [default: the policy's].
    #[arg(long, value_name = "none|timer|slac", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::idles), hide_possible_values = true)]
    pub idle: Vec<String>,
    /// Sources of dead data: none; TRIM (trim); or TRIM and deletions inferred from writes to a FAT32 or
    /// exFAT file system's tables (fsaf). `compare` takes several, separated by commas [default: the
    /// policy's].
    #[arg(long, value_name = "none|trim|fsaf", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::dead_data), hide_possible_values = true)]
    pub dead_data: Vec<String>,
    /// Policies of the user's own, which are objects of the program that asks.
    #[arg(skip)]
    pub own: OwnPolicies,
}

fn trigger(text: &str) -> Result<Trigger, String> {
    Trigger::parse(text).ok_or_else(|| format!("expected {}", Trigger::EXPECTED))
}

fn bank_assignment(text: &str) -> Result<BankAssignment, String> {
    BankAssignment::parse(text).ok_or_else(|| format!("expected {}", BankAssignment::EXPECTED))
}
