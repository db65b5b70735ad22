//! The in-place baseline as a layer.

use alloc::{format, string::String, vec, vec::Vec};

use thermocline_flash::{BlockId, Condition, Flash, Lpn, Ppn};

use super::InPlace;
use crate::{
    BlockState, BlockUse, Counters, EndOfLife, FtlError, Holds, Inspect, Layer, PageIo, PageState,
    Upkeep,
};

impl<C: Condition> InPlace<C> {
    #[inline(always)]
    fn check_writable(&mut self) -> Result<(), FtlError> {
        if self.needs_attention { self.attend() } else { Ok(()) }
    }

    /// The logical pages that live in a block; none where the layer does not need it.
    fn homes(&self, block: BlockId) -> impl Iterator<Item = Lpn> {
        let needed = block.0 < self.needed_blocks();
        let first = block.0 * self.pages;
        (first..first + if needed { self.pages } else { 0 }).map(Lpn)
    }

    fn is_lost(&self, lpn: Lpn) -> bool {
        self.lost.get(lpn.index()) == Some(&true)
    }

    /// Reads a page. False if it holds no data.
    fn read_page(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        if self.mapped[lpn.index()] {
            return self.read_kept(lpn, into).map(|()| true);
        }
        into.fill(0);
        if self.is_lost(lpn) { Err(FtlError::Lost(lpn)) } else { Ok(false) }
    }
}

impl<C: Condition> PageIo for InPlace<C> {
    fn logical_pages(&self) -> u32 {
        self.mapped.len() as u32
    }

    fn fill(&mut self, lpn: Lpn, _read_only: bool, now: u64) -> Result<(), FtlError> {
        self.check_range(lpn)?;
        self.check_writable()?;
        self.counters.fills += 1;
        self.put(lpn, &[], now)
    }

    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.check_range(lpn)?;
        self.check_writable()?;
        self.counters.host_writes += 1;
        self.put(lpn, data, now)
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        let holds_data = self.read_page(lpn, into)?;
        self.counters.host_reads += u64::from(holds_data);
        Ok(holds_data)
    }

    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        self.check_range(lpn)?;
        self.check_writable()?;
        let was_mapped = core::mem::replace(&mut self.mapped[lpn.index()], false);
        if !was_mapped && !self.is_lost(lpn) {
            return Ok(false);
        }
        if was_mapped {
            let (block, _) = self.place(lpn);
            self.valid[block.index()] -= 1;
        } else {
            self.lost[lpn.index()] = false;
        }
        self.counters.trims += 1;
        self.with_journal(|journal, layer| journal.trimmed(layer, lpn, now))?;
        Ok(true)
    }
}

impl<C: Condition> Upkeep for InPlace<C> {
    fn scrub(&mut self, now: u64) -> Result<bool, FtlError> {
        let mut done = false;
        self.with_journal(|journal, layer| {
            done = journal.record_watermark_if_due(layer, now)?;
            Ok(())
        })?;
        Ok(done)
    }

    fn verify(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.read_page(lpn, into)
    }

    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        if !self.is_read_only {
            self.write_back()?;
        }
        self.with_journal(|journal, layer| journal.settle(layer, now))
    }

    fn last_program(&self) -> u64 {
        self.durability.programs()
    }

    fn synced(&mut self, last_program: u64) {
        self.durability.synced(last_program);
    }

    fn unmount(&mut self, now: u64) -> Result<(), FtlError> {
        self.write_back()?;
        self.with_journal(|journal, layer| journal.close(layer, now))?;
        self.needs_attention = true;
        Ok(())
    }
}

impl<C: Condition> Inspect for InPlace<C> {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        if self.log_is_exhausted {
            return Some(EndOfLife::IndexLog);
        }
        self.is_read_only.then_some(EndOfLife::Blocks)
    }

    /// Counts them.
    fn mapped_pages(&self) -> Option<u32> {
        Some(self.mapped.iter().filter(|mapped| **mapped).count() as u32)
    }

    /// No block stands in for another.
    fn spare_blocks(&self) -> Option<u32> {
        Some(0)
    }

    fn holds(&self, lpn: Lpn) -> Holds {
        match self.mapped.get(lpn.index()) {
            Some(true) => Holds::Data,
            _ if self.is_lost(lpn) => Holds::Lost,
            _ => Holds::Nothing,
        }
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        match self.mapped.get(lpn.index()) {
            Some(true) => {
                let (block, page) = self.place(lpn);
                self.ppn(block, page)
            }
            _ => Ppn::NONE,
        }
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.chip.erase_count(block)
    }

    fn valid_pages(&self, block: BlockId) -> u32 {
        self.valid[block.index()]
    }

    /// A block is full when all its pages are programmed. Blocks beyond the data blocks belong to the index log.
    fn block_states(&self, first: BlockId, into: &mut [BlockState]) {
        for (block, state) in (first.0..).map(BlockId).zip(into) {
            let programmed = self.homes(block).filter(|lpn| self.programmed[lpn.index()]).count();
            *state = BlockState {
                used: match programmed {
                    _ if self.chip.is_bad(block) => BlockUse::Bad,
                    0 if block.0 >= self.chip.geometry().data_blocks() => BlockUse::Records,
                    0 => BlockUse::Free,
                    n if n < self.pages as usize => BlockUse::Open,
                    _ => BlockUse::Full,
                },
                stream: 0,
                valid: self.valid_pages(block),
                erases: self.erases(block),
            };
        }
    }

    fn page_states(&self, block: BlockId) -> Vec<PageState> {
        let state = |lpn: Lpn| match self.mapped.get(lpn.index()) {
            Some(true) => PageState::Valid(lpn),
            _ if self.programmed[lpn.index()] => PageState::Garbage(lpn),
            _ => PageState::Free,
        };
        self.homes(block).map(state).collect()
    }

    fn check(&self) -> Result<(), String> {
        let mut valid = vec![0; self.valid.len()];
        for (lpn, _) in (0..).map(Lpn).zip(&self.mapped).filter(|(_, mapped)| **mapped) {
            valid[self.place(lpn).0.index()] += 1;
            if !self.programmed[lpn.index()] {
                return Err(format!("{lpn:?} is mapped to a page that was not programmed"));
            }
            if self.is_lost(lpn) {
                return Err(format!("{lpn:?} is mapped and lost"));
            }
        }
        if valid == self.valid { Ok(()) } else { Err("valid counts differ from a recount".into()) }
    }
}

impl<C: Condition> Layer for InPlace<C> {
    type Chip = C;

    fn chip(&self) -> &C {
        self.chip.get()
    }

    fn chip_mut(&mut self) -> &mut C {
        self.chip.get_mut()
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}
