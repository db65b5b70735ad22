//! Victim policies: which erase block is cleaned next.
//!
//! Most policies minimise `ratio(valid pages) · factor(erases) / age`. They state the three factors,
//! and a [`Search`](crate::Search) finds the best block exactly, without a scan of all blocks. A
//! policy that chooses otherwise implements [`Victim::choose`] itself.

mod adaptive;
mod cat;
mod contract;
mod cost_benefit;
mod cost_benefit_sqrt;
mod cost_hotness;
mod d_choices;
mod fifo;
mod greedy;
mod lfs;
mod linux_ftl;
mod monitor;
mod random;
mod score;
mod survival;
mod told;
mod weight;
mod windowed_greedy;

pub use adaptive::{Adaptive, AdaptiveParams, Reset};
pub use cat::{Cat, CatParams};
pub use contract::{Build, Factor, Victim, VictimEntry};
pub use cost_benefit::{CostBenefit, CostBenefitParams};
pub use cost_benefit_sqrt::CostBenefitSqrtParams;
pub use cost_hotness::{CostHotness, CostHotnessParams, Since};
pub use d_choices::{DChoices, DChoicesParams};
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use lfs::{Lfs, LfsParams};
pub use linux_ftl::{LinuxFtl, LinuxFtlParams};
pub use random::Random;
pub use score::{NAMES as SCORE_NAMES, SCORE, Score, ScoreParams};
pub use survival::Survival;
pub use told::{Onlooker, Told};
pub use weight::Weight;
pub use windowed_greedy::{WindowedGreedy, WindowedGreedyParams};

/// All victim policies. Adding one takes its file and its line here.
pub const VICTIMS: &[VictimEntry] = &[
    greedy::ENTRY,
    cost_benefit::ENTRY,
    cost_benefit_sqrt::ENTRY,
    lfs::ENTRY,
    cat::ENTRY,
    adaptive::ENTRY,
    fifo::ENTRY,
    random::ENTRY,
    d_choices::ENTRY,
    weight::ENTRY,
    linux_ftl::ENTRY,
    windowed_greedy::ENTRY,
    cost_hotness::ENTRY,
    survival::ENTRY,
    score::ENTRY,
];

/// The entry with this name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static VictimEntry> {
    VICTIMS.iter().find(|entry| entry.info.is_called(name))
}
