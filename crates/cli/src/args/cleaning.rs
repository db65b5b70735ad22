//! When cleaning starts and stops, how much it takes at once, and where pages go.

use clap::Args;
use thermocline_policy::{
    bank::BankAssignment, idle::IdleTimer, params::ParamValue, trigger::Trigger,
};
use thermocline_sim::policy::Call;

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
    /// What is done between requests that arrive: nothing, or cleaning, as in `timer(after=20ms,
    /// free=10)` [default: none].
    #[arg(long, value_name = "none|timer(…)", value_parser = idle, help_heading = HEADING)]
    pub idle: Option<Idle>,
}

/// What is done between requests.
#[derive(Clone, Debug)]
pub enum Idle {
    /// Nothing.
    None,
    /// Cleaning.
    Timer(IdleTimer),
}

fn trigger(text: &str) -> Result<Trigger, String> {
    Trigger::parse(text).ok_or_else(|| format!("expected {}", Trigger::EXPECTED))
}

fn bank_assignment(text: &str) -> Result<BankAssignment, String> {
    BankAssignment::parse(text).ok_or_else(|| format!("expected {}", BankAssignment::EXPECTED))
}

fn idle(text: &str) -> Result<Idle, String> {
    let call = Call::parse(text).map_err(|e| e.to_string())?;
    match call.name.as_str() {
        "none" => Ok(Idle::None),
        "timer" => IdleTimer::read(&call.args).map(Idle::Timer).map_err(|e| e.to_string()),
        _ => Err("expected none or timer(after=TIME, free=BLOCKS)".into()),
    }
}
