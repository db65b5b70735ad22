//! Everything counted again, and held against what the layer keeps.

use alloc::{format, string::String, vec};

use thermocline_flash::{Chip, Lpn, Ppn};
use thermocline_policy::{State, placement::Placement};

use super::{Bank, PageMapped};

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// What does not agree, if anything.
    pub(super) fn check_all(&self) -> Result<(), String> {
        let geometry = self.chip.geometry();
        let blocks = geometry.blocks() as usize;
        let (mut valid, mut hot) = (vec![0_u32; blocks], vec![0_u32; blocks]);
        let (mut mapped, mut marked) = (0, 0);
        for (lpn, &entry) in (0..).map(Lpn).zip(&self.map) {
            let at = self.data_at(entry);
            if at == Ppn::NONE {
                continue;
            }
            let block = geometry.block_of(at);
            if at == entry {
                mapped += 1;
                valid[block.index()] += 1;
                hot[block.index()] += u32::from(P::KNOWS_HOT && self.placement.is_hot(lpn));
            } else {
                marked += 1;
                let state = self.block(block).state;
                if matches!(state, State::Free | State::Unusable) {
                    return Err(format!("{lpn:?} is marked and lies in {block:?}, {state:?}"));
                }
            }
            let page = geometry.page_of(at) - self.header;
            let owner = self.owner[block.index() * self.pages as usize + page as usize];
            if owner != lpn {
                return Err(format!("{lpn:?} is mapped to {at:?}, which belongs to {owner:?}"));
            }
            let open = &self.banks[self.bank_of(block)].open;
            if let Some(open) = open.iter().find(|o| o.block == block)
                && page >= open.next
            {
                return Err(format!("{lpn:?} is mapped to {at:?}, which was not programmed"));
            }
        }
        if mapped != self.mapped {
            return Err(format!("{mapped} pages are mapped, {} were counted", self.mapped));
        }
        if marked != self.marked {
            return Err(format!("{marked} pages are marked, {} were counted", self.marked));
        }
        self.check_failures()?;
        (0..).zip(&self.banks).try_for_each(|(number, bank)| {
            self.check_bank(bank, &valid, &hot).map_err(|e| format!("bank {number}: {e}"))
        })
    }

    fn check_bank(&self, bank: &Bank, valid: &[u32], hot: &[u32]) -> Result<(), String> {
        let (mut free, mut live) = (0, 0);
        for number in 0..bank.blocks.len() {
            let block = bank.blocks.nth(number);
            let info = bank.blocks.block(block);
            let counted = valid[block.index()];
            live += counted;
            if counted != info.valid {
                return Err(format!("{block:?} has {counted} valid pages, {} counted", info.valid));
            }
            if matches!(info.state, State::Free | State::Unusable) && counted != 0 {
                return Err(format!("{block:?} is {:?} and holds data", info.state));
            }
            if P::KNOWS_HOT && bank.blocks.hot(block).is_some_and(|n| n != hot[block.index()]) {
                return Err(format!("{block:?} has not {:?} hot pages", bank.blocks.hot(block)));
            }
            if info.state != State::Unusable && info.erases != self.chip.erase_count(block) {
                return Err(format!("{block:?}: erase counts of layer and chip differ"));
            }
            free += usize::from(info.state == State::Free);
            let is_open = bank.open.iter().any(|o| o.block == block);
            if is_open != (info.state == State::Open) {
                return Err(format!("{block:?} is {:?} and {is_open} of open", info.state));
            }
        }
        if live != bank.live {
            return Err(format!("{live} pages hold current data, {} were counted", bank.live));
        }
        if free != bank.free.len() {
            return Err(format!("{free} blocks are free, {} listed", bank.free.len()));
        }
        let reserve = u64::from(self.config.watermarks.reserve) * u64::from(self.pages);
        if !self.failures.any && bank.free_pages() < reserve {
            return Err(format!("{} free pages, fewer than the reserve", bank.free_pages()));
        }
        Ok(())
    }
}
