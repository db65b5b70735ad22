//! How worn a store is.

use super::{
    Ftl, Health, Nand,
    blocks::State,
    config::most_logical_pages,
    policy::{Placement, Victim},
};

impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// How worn the store is. Looks at each block in RAM, and reads nothing.
    #[must_use]
    pub fn health(&self) -> Health {
        let (mut least, mut most, mut sum, mut good) = (u32::MAX, 0, 0_u64, 0_u32);
        let mut kept = 0;
        for (block, number) in self.blocks.iter().zip(0..) {
            if self.is_snapshot_block(number) {
                kept += 1;
                continue;
            }
            if matches!(block.state(), State::Bad | State::Failing) {
                continue;
            }
            let erases = u32::from(block.erases);
            (least, most) = (least.min(erases), most.max(erases));
            sum += u64::from(erases);
            good += 1;
        }
        let bad_blocks = self.shape.blocks.saturating_sub(good + kept);
        // The most that may be bad, by bisection: those that are, when the store has too few as it is.
        let streams = self.placement.streams();
        let (mut fits, mut fits_not) = (bad_blocks + kept, self.shape.blocks);
        while fits + 1 < fits_not {
            let bad = fits.midpoint(fits_not);
            if most_logical_pages(&self.shape, bad, streams) >= self.logical_pages.max(1) {
                fits = bad;
            } else {
                fits_not = bad;
            }
        }
        Health {
            least_erases: if good == 0 { 0 } else { least },
            mean_erases: (sum / u64::from(good.max(1))) as u32,
            most_erases: most,
            bad_blocks,
            spare_blocks: fits - bad_blocks - kept,
            free_blocks: self.free_blocks(),
            corrected_reads: self.counters.corrected_reads,
            most_corrected: self.counters.most_corrected,
            refreshed: self.counters.refreshed,
            lost: self.counters.lost,
        }
    }

    /// Pages that the host can write until good blocks were erased so often in the mean, if it goes on as since the mount.
    /// Nothing before the first erase, for then there is no rate. `endurance` is the data sheet's: 60,000 or 100,000 where a
    /// cell holds a bit.
    #[must_use]
    pub fn writes_left(&self, endurance: u32) -> Option<u64> {
        let health = self.health();
        let left = u64::from(endurance.saturating_sub(health.mean_erases));
        let erases = left * u64::from(self.shape.blocks - health.bad_blocks);
        let (did, wrote) = (self.counters.erases, self.counters.host_writes);
        // In the order that overflows last; what is lost by rounding is less than one in as many erases as are left.
        erases
            .checked_mul(wrote)
            .and_then(|product| product.checked_div(did))
            .or_else(|| erases.checked_div(did).map(|times| times.saturating_mul(wrote)))
    }
}
