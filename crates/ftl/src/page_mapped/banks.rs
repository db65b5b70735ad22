//! Which bank a page goes to (striping paper, §3.2).

use thermocline_flash::{Chip, Lpn};
use thermocline_policy::{bank::BankAssignment, placement::Placement};

use super::{Bank, PageMapped};

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// The bank for a page of `stream` that the host writes.
    #[inline(always)]
    pub(super) fn assign(&mut self, lpn: Lpn, stream: u8) -> usize {
        if self.banks.len() == 1 {
            return 0;
        }
        match self.config.bank_assignment {
            BankAssignment::Static => lpn.index() % self.banks.len(),
            BankAssignment::Dynamic => self.assign_dynamically(lpn, stream),
        }
    }

    /// Hot pages go to the bank erased least, cold ones to the bank with the least data, so that
    /// banks wear and fill alike; a bank that works is not waited for while another is idle.
    fn assign_dynamically(&mut self, lpn: Lpn, stream: u8) -> usize {
        let hot = self.placement.is_hot_stream(stream);
        let reserve = self.config.watermarks.reserve as usize;
        let has_room =
            |bank: &Bank| !bank.open[usize::from(stream)].is_full() || bank.free.len() > reserve;
        let chosen = loop {
            let fits = |bank: &Bank| bank.live < bank.most_live;
            let idle = self.best_bank(hot, |number, bank| {
                fits(bank) && has_room(bank) && self.chip.is_idle(number)
            });
            if let Some(bank) = idle {
                break bank;
            }
            if !self.banks.iter().any(|bank| fits(bank) && has_room(bank)) {
                // All must clean first. Where all are full of data, this write replaces a copy that
                // one of them holds.
                let full = || self.place(lpn).map_or(0, |old| old.bank as usize);
                break self.best_bank(hot, |_, bank| fits(bank)).unwrap_or_else(full);
            }
            self.chip.wait_for_a_bank();
        };
        self.banks[chosen].assigned = self.counters.host_writes + self.counters.fills;
        chosen
    }

    /// The least of the banks that `may` be taken: by erases or by data, then the one that waited
    /// longest, then the lowest number.
    fn best_bank(&self, hot: bool, may: impl Fn(u32, &Bank) -> bool) -> Option<usize> {
        let all = (0..).zip(&self.banks).filter(|(number, bank)| may(*number, bank));
        let least = |(number, bank): &(u32, &Bank)| {
            (if hot { bank.erases } else { u64::from(bank.live) }, bank.assigned, *number)
        };
        all.min_by_key(least).map(|(number, _)| number as usize)
    }
}
