//! Which erase block is cleaned next.
//!
//! Most policies minimise `ratio(valid pages) · wear(erases) / age`; they say what the three
//! factors are and the index of [`Candidates`] finds the best block exactly, without looking at
//! all of them. A policy that chooses otherwise implements [`Victim::choose`] itself.

use alloc::{boxed::Box, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use crate::{Args, Candidates, Context, ParamError, PolicyInfo, Side, age::AgeSource};

mod adaptive;
mod cat;
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
mod weight;
mod windowed_greedy;

pub use adaptive::{Adaptive, AdaptiveParams, Reset};
pub use cat::{Cat, CatParams};
pub use cost_benefit::{CostBenefit, CostBenefitParams};
pub use cost_benefit_sqrt::CostBenefitSqrtParams;
pub use cost_hotness::{CostHotness, CostHotnessParams, Since};
pub use d_choices::{DChoices, DChoicesParams};
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use lfs::{Lfs, LfsParams};
pub use linux_ftl::{LinuxFtl, LinuxFtlParams};
pub use random::Random;
pub use weight::Weight;
pub use windowed_greedy::{WindowedGreedy, WindowedGreedyParams};

/// A victim policy. It is asked once per cleaned block, and where its choice is refused.
pub trait Victim: Send {
    /// The block to clean, or `None` if no block has garbage.
    fn choose(&mut self, blocks: &mut Candidates, now: u64) -> Option<BlockId>;

    /// Numerator and denominator of what a block with `valid` of `pages` valid pages costs, before
    /// wear and age. Must not fall as `valid` grows. Blocks without garbage are never asked about.
    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64);

    /// The factor of wear by a block's erase count, where the policy has one.
    fn wear(&self, erases: u32) -> Option<f64> {
        let _ = erases;
        None
    }

    /// Whether each hot page of a block adds 1 to the numerator; instead of a factor of wear, and
    /// only for policies without ages.
    fn weighs_hot(&self) -> bool {
        false
    }

    /// Whether the factor of wear is one that the placement may set when a block closes.
    fn takes_factor(&self) -> bool {
        false
    }

    /// What ages count from, where the policy asks for ages.
    fn age_source(&self) -> Option<AgeSource> {
        None
    }

    /// A second index to be kept, for policies that sometimes choose by another rule.
    fn side(&self) -> Option<Side> {
        None
    }

    /// Whether the policy asks for the oldest blocks by number; it needs an age source for them to be
    /// kept in order.
    fn ranks(&self) -> bool {
        false
    }

    /// Whether the policy wants to know which pages the host writes.
    fn watches(&self) -> bool {
        false
    }

    /// The host wrote these pages, in this order; told before each choice at the latest.
    fn watch(&mut self, written: &[Lpn]) {
        let _ = written;
    }

    /// What became of the block chosen last, if it was asked since: it is cleaned, or refused for
    /// want of garbage or of room, and then the choice does not count.
    fn answered(&mut self, cleaned: bool) {
        let _ = cleaned;
    }

    /// How many blocks each rule chose, for policies with several.
    fn choices(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A registered victim policy.
pub struct VictimEntry {
    /// What the catalogue says.
    pub info: PolicyInfo,
    /// Builds it from the user's arguments.
    pub build: Build,
}

/// Builds a victim policy from the user's arguments.
pub type Build = fn(&Args, &Context) -> Result<Box<dyn Victim>, ParamError>;

/// Every victim policy there is. Adding one takes its file and its line here.
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
];

/// The entry users mean by `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static VictimEntry> {
    VICTIMS.iter().find(|entry| entry.info.is_called(name))
}
