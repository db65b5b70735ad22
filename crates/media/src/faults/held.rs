//! With a cache: operations that wait, and what becomes of them.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn, Oob, Ppn};

use super::{
    Cut, Faulty, Scar,
    cache::{Fate, Operation, Page, Shown},
};

impl<F: Condition> Faulty<F> {
    /// Whether operations are held back.
    pub(super) const fn is_cached(&self) -> bool {
        self.faults.cache > 0
    }

    /// Does what waits, up to operation `end`.
    pub(super) fn drain(&mut self, end: u64) -> Result<(), FlashError> {
        while let Some(operation) = self.cache.pop(end) {
            self.carry_out(operation, Fate::Done)?;
        }
        Ok(())
    }

    /// Does something that has waited.
    fn carry_out(&mut self, operation: Operation, fate: Fate) -> Result<(), FlashError> {
        match (operation, fate) {
            (_, Fate::Lost) => Ok(()),
            (Operation::Program(to, page), fate) => {
                let Page { oob, data, scar } = &*page;
                let scar = if let Fate::Scarred(scar) = fate { Some(scar) } else { *scar };
                self.scar(to, scar, |chip| chip.program(to, *oob, data))
            }
            (Operation::Erase(block), Fate::Torn) => {
                let mut draws = self.draws.clone();
                self.tear(block, true, || draws.random_bool(0.5));
                self.draws = draws;
                Ok(())
            }
            (Operation::Erase(block), _) => self.renew(block),
            (Operation::MarkBad(block), _) => self.inner.mark_bad(block),
        }
    }

    /// Makes room in the cache for one more operation.
    pub(super) fn make_room(&mut self) -> Result<(), FlashError> {
        if self.cache.len() >= self.faults.cache as usize {
            self.drain(self.cache.end() - u64::from(self.faults.cache) + 1)?;
        }
        Ok(())
    }

    /// Power fails: leaves a part of what waits.
    pub(super) fn lose(&mut self, cut: Cut) -> Result<(), FlashError> {
        if let Cut::Partly(seed) = cut {
            self.draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        }
        let geometry = *self.inner.geometry();
        let in_order = self.inner.in_order();
        let mut fates = self.cache.lose(&geometry, in_order, &mut self.draws).into_iter();
        while let Some((operation, fate)) = fates.next() {
            let (Operation::Erase(block), Fate::Mixed) = (&operation, fate) else {
                self.carry_out(operation, fate)?;
                continue;
            };
            let (new, rest): (Vec<_>, Vec<_>) = fates.by_ref().partition(|(operation, _)| {
                matches!(operation, Operation::Program(to, _) if geometry.block_of(*to) == *block)
            });
            self.mix(*block, &new)?;
            fates = rest.into_iter();
        }
        Err(FlashError::NoPower)
    }

    /// Whether a page was programmed since its block was erased, by all that its user knows.
    fn is_occupied(&mut self, page: Ppn) -> bool {
        match self.cache.shown(page, self.inner.geometry()) {
            Shown::Waiting(_) => true,
            Shown::Blank => false,
            Shown::Below => self.scars.contains_key(&page) || self.inner.read_oob(page) != Ok(None),
        }
    }

    /// The rules of the medium, for an operation that will wait: the chip below would notice too late.
    fn check(&mut self, to: Ppn, data: &[u8]) -> Result<(), FlashError> {
        let geometry = *self.inner.geometry();
        let (block, page) = (geometry.block_of(to), geometry.page_of(to));
        if block.0 >= geometry.blocks() || page >= geometry.pages_per_block {
            return Err(FlashError::OutOfRange);
        }
        if !data.is_empty() && data.len() != geometry.page_size as usize {
            return Err(FlashError::WrongLength(data.len()));
        }
        if self.is_bad(block) {
            return Err(FlashError::BadBlock(block));
        }
        let is_hole = matches!(self.cache.shown(to, &geometry), Shown::Below)
            && self.scars.get(&to) == Some(&Scar::Blank);
        if self.is_occupied(to) && !is_hole {
            return Err(FlashError::NotErased(to));
        }
        let is_next = page == geometry.header_pages
            || page > geometry.header_pages && self.is_occupied(geometry.ppn(block, page - 1));
        if is_hole || self.inner.in_order() && !is_next {
            return Err(FlashError::OutOfOrder(to));
        }
        Ok(())
    }

    /// Puts a page into the cache.
    pub(super) fn hold(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.check(to, data)?;
        let cut = self.begin()?;
        if cut != Some(Cut::Before) {
            let failed = cut.is_none() && self.fails(self.faults.program);
            self.make_room()?;
            self.cache
                .program(to, Page { oob, data: data.into(), scar: failed.then_some(Scar::Torn) });
            if failed {
                self.health.failed_programs += 1;
                return Err(FlashError::ProgramFailed(to));
            }
        }
        cut.map_or(Ok(()), |cut| self.lose(cut))
    }

    /// Leaves each page of a block as it was before its erase, erased, torn, or as it was programmed
    /// after the erase, as far as that was to last.
    fn mix(&mut self, block: BlockId, new: &[(Operation, Fate)]) -> Result<(), FlashError> {
        let geometry = *self.inner.geometry();
        let mut pages = Vec::new();
        for page in
            (geometry.header_pages..geometry.pages_per_block).map(|n| geometry.ppn(block, n))
        {
            let new = new.iter().find_map(|(operation, fate)| match (operation, fate) {
                (_, Fate::Lost | Fate::Scarred(Scar::Blank)) => None,
                (Operation::Program(to, new), Fate::Scarred(scar)) if *to == page => {
                    Some((new.oob, new.data.clone(), Some(*scar)))
                }
                (Operation::Program(to, new), _) if *to == page => {
                    Some((new.oob, new.data.clone(), new.scar))
                }
                _ => None,
            });
            let left = match new {
                Some(new) => Some(new),
                None => self.left(page)?,
            };
            pages.push((page, left));
        }
        self.renew(block)?;
        let end = pages.iter().rposition(|(_, left)| left.is_some()).map_or(0, |last| last + 1);
        for (page, left) in pages.into_iter().take(end) {
            let (oob, data, scar) = match left {
                Some(left) => left,
                None if self.inner.in_order() => (NOBODY, Box::default(), Some(Scar::Blank)),
                None => continue,
            };
            self.scar(page, scar, |chip| chip.program(page, oob, &data))?;
        }
        Ok(())
    }

    /// The state in which a partial erase has left a page: as it was, blank, or torn.
    fn left(&mut self, page: Ppn) -> Result<Option<Left>, FlashError> {
        let scar = self.scars.get(&page).copied();
        let mut data = vec![0; self.inner.geometry().page_size as usize].into_boxed_slice();
        let oob = match self.inner.read_oob(page) {
            Ok(Some(oob)) if scar != Some(Scar::Blank) => oob,
            Ok(_) => return Ok(None),
            Err(FlashError::Unreadable(_)) => return Ok(Some((NOBODY, data, Some(Scar::Torn)))),
            Err(error) => return Err(error),
        };
        let scar = match self.inner.read(page, &mut data) {
            Ok(()) => scar,
            Err(FlashError::Unreadable(_)) => Some(Scar::TornPayload),
            Err(error) => return Err(error),
        };
        Ok(match self.draws.random_range(0..4) {
            0 => None,
            1 => Some((oob, data, Some(Scar::Torn))),
            _ => Some((oob, data, scar)),
        })
    }
}

/// The contents of a page, and its fault.
type Left = (Oob, Box<[u8]>, Option<Scar>);

/// The out-of-band data of a page that cannot be read.
const NOBODY: Oob = Oob { lpn: Lpn::NONE, stream: 0, sequence: 0, time: 0, note: 0 };
