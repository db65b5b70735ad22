//! The contract of victim policies: they take read-only views and return one decision.
//!
//! | hook | meaning |
//! |---|---|
//! | `choose` | the block to collect; `None` if no block has garbage |
//! | `ratio` | numerator and denominator of the cost by valid pages |
//! | `factor` | what else the cost depends on: the erase count (`cat`), the placement (`cost-hotness`, `survival`), hot pages (`weight`) |
//! | `takes_least_valid` | the policy takes the block with the fewest valid pages, so its copies are bounded by the mean (`greedy`) |
//! | `age_source` | the event from which ages count; selects the index |
//! | `side` | a second index, of the blocks with the fewest valid pages or erases (`adaptive`, `linux-ftl`) |
//! | `ranks` | the policy asks for the n oldest blocks (`windowed-greedy`) |
//! | `watches`, `watch` | the policy receives the host's writes, at the latest before each choice (`adaptive`) |
//! | `cost` | the current cost of a candidate, for display; policies with ages state the age factor, others may omit it |
//! | `answered` | whether the chosen block was collected or refused; counters change only then |
//! | `choices` | the number of blocks that each of its rules chose, for the results |

use alloc::{boxed::Box, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use crate::{Args, BlockView, Context, ParamError, PolicyInfo, Side, age::AgeSource};

/// A victim policy. Called once per cleaned block, and again after a refused choice.
pub trait Victim: Send {
    /// The block to clean, or `None` if no block has garbage.
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId>;

    /// Numerator and denominator of the cost of a block with `valid` of `pages` valid pages, before
    /// wear and age. Must not decrease as `valid` grows. Never called for blocks without garbage.
    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64);

    /// The current cost of a candidate, for display: the policy chooses the lowest. `None` from
    /// policies that choose otherwise.
    fn cost(&self, blocks: &BlockView, block: BlockId, now: u64) -> Option<f64> {
        match self.age_source() {
            None => blocks.cost(block, now, &|_| 1.0),
            Some(_) => None,
        }
    }

    /// What else the cost of a block depends on. The kind is the same for any erase count.
    fn factor(&self, erases: u32) -> Factor {
        let _ = erases;
        Factor::None
    }

    /// Whether the policy takes the block with the fewest valid pages, so that no victim exceeds
    /// the mean.
    fn takes_least_valid(&self) -> bool {
        false
    }

    /// The event from which ages count, if the policy uses ages.
    fn age_source(&self) -> Option<AgeSource> {
        None
    }

    /// A second index, for policies with a second rule.
    fn side(&self) -> Option<Side> {
        None
    }

    /// Whether the policy asks for the n oldest blocks. They are kept in that order only where ages
    /// count from creation.
    fn ranks(&self) -> bool {
        false
    }

    /// Whether the policy receives the pages that the host writes.
    fn watches(&self) -> bool {
        false
    }

    /// The host wrote these pages, in this order. Called at the latest before each choice.
    fn watch(&mut self, written: &[Lpn]) {
        let _ = written;
    }

    /// Outcome of the last choice, if there was one since: the block is being cleaned, or it was
    /// refused for lack of garbage or room, and the choice does not count.
    fn answered(&mut self, cleaned: bool) {
        let _ = cleaned;
    }

    /// Number of blocks that each rule chose, for policies with several.
    fn choices(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// What the cost of a block depends on beside its valid pages and its age.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Factor {
    /// Nothing.
    None,
    /// The ratio is multiplied by this, for a block with this erase count.
    Wear(f64),
    /// The ratio is multiplied by what the placement sets: 1 until it does.
    Placement,
    /// Each hot page of a block adds 1 to the numerator. Only for policies without ages.
    HotPages,
}

/// A registered victim policy.
pub struct VictimEntry {
    /// The catalogue entry.
    pub info: PolicyInfo,
    /// Builds the policy from the user's arguments.
    pub build: Build,
}

/// Builds a victim policy from the user's arguments.
pub type Build = fn(&Args, &Context) -> Result<Box<dyn Victim>, ParamError>;
