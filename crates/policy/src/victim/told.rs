//! A victim policy whose choices are observed.

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::{Factor, Victim};
use crate::{BlockView, Side, age::AgeSource};

/// Receives the choices of a victim policy. It has no effect on them, and costs nothing where it is
/// absent.
pub trait Onlooker: Send + Sync {
    /// `victim` chose a block of a bank, given these blocks. The choice may still be refused.
    fn chose(&self, victim: &dyn Victim, blocks: &BlockView, chosen: BlockId, now: u64);

    /// The block chosen last is being cleaned, or was refused.
    fn answered(&self, cleaned: bool);
}

/// A victim policy with an observer.
pub struct Told {
    victim: Box<dyn Victim>,
    onlooker: Arc<dyn Onlooker>,
}

impl Told {
    /// Wraps a policy without changing its choices.
    #[must_use]
    pub fn new(victim: Box<dyn Victim>, onlooker: Arc<dyn Onlooker>) -> Self {
        Self { victim, onlooker }
    }
}

impl Victim for Told {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        let chosen = self.victim.choose(blocks, now)?;
        self.onlooker.chose(&*self.victim, blocks, chosen, now);
        Some(chosen)
    }

    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64) {
        self.victim.ratio(valid, pages)
    }

    fn cost(&self, blocks: &BlockView, block: BlockId, now: u64) -> Option<f64> {
        self.victim.cost(blocks, block, now)
    }

    fn factor(&self, erases: u32) -> Factor {
        self.victim.factor(erases)
    }

    fn takes_least_valid(&self) -> bool {
        self.victim.takes_least_valid()
    }

    fn age_source(&self) -> Option<AgeSource> {
        self.victim.age_source()
    }

    fn side(&self) -> Option<Side> {
        self.victim.side()
    }

    fn ranks(&self) -> bool {
        self.victim.ranks()
    }

    fn watches(&self) -> bool {
        self.victim.watches()
    }

    fn watch(&mut self, written: &[Lpn]) {
        self.victim.watch(written);
    }

    fn answered(&mut self, cleaned: bool) {
        self.onlooker.answered(cleaned);
        self.victim.answered(cleaned);
    }

    fn choices(&self) -> Vec<(&'static str, u64)> {
        self.victim.choices()
    }
}
