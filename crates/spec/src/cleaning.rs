//! When cleaning starts and stops, how much it cleans at once, and where pages go.

use thermocline_policy::{
    bank::BankAssignment,
    trigger::{Pacing, Trigger},
};

use crate::{
    group,
    values::{BANK_ASSIGNMENT, COUNT, DEAD_DATA, IDLE, PACING, TRIGGER},
};

group! {
    /// What policies leave open.
    pub struct CleaningArgs, "Cleaning" {
        /// Free blocks of each bank kept for garbage collection [default: 2].
        reserve: Option<u32> = one("reserve", "BLOCKS", COUNT);
        /// Garbage collection starts below this number of free blocks [default: reserve + 1].
        low: Option<u32> = one("low", "BLOCKS", COUNT);
        /// Garbage collection stops at this number of free blocks; with the falling trigger it starts there
        /// [default: low; falling: an eighth of the blocks, at most low + 64].
        high: Option<u32> = one("high", "BLOCKS", COUNT);
        /// When garbage collection starts: when a write needs a block (lazy), when a write left only the
        /// reserve (eager), or early, with a threshold of garbage that falls with the free blocks
        /// (falling) [default: the policy's].
        trigger: Option<Trigger> = one("trigger", "lazy|eager|falling", TRIGGER);
        /// Garbage collection in steps: a write waits for a bounded number of copies and no whole block
        /// (paced), or for at most this many copies a page; placements that sort survivors collect whole
        /// blocks all the same [default: off].
        pacing: Option<Pacing> = one("pacing", "off|paced|N", PACING);
        /// Blocks collected at once by placements that sort survivors [default: the policy's].
        batch: Option<u32> = one("batch", "BLOCKS", COUNT);
        /// Assignment of pages to banks: by page number (static), or to idle banks by wear and free space
        /// (dynamic) [default: the policy's].
        bank_assignment: Option<BankAssignment> = one("bank-assignment", "static|dynamic", BANK_ASSIGNMENT);
        /// Garbage collection between requests: none; after a time without requests, as in
        /// 'timer(after=20ms)'; or in predicted slack, as in 'slac(preempt=yes)'. `compare` takes several,
        /// separated by commas [default: the policy's].
        idle: Vec<String> = one("idle", "none|timer|slac", IDLE);
        /// Sources of dead data: none; TRIM (trim); or TRIM and deletions inferred from writes to the tables of a
        /// FAT, exFAT, ext or NTFS file system (fsaf). `compare` takes several, separated by commas [default:
        /// the policy's].
        dead_data: Vec<String> = one("dead-data", "none|trim|fsaf", DEAD_DATA);
    }
}
