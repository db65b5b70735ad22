//! Implements the chip traits for pointers to chips: `&mut C`, and `Box<dyn …>` where the kind is
//! known only at run time.

use core::ops::DerefMut;

use crate::{BlockId, Condition, Flash, FlashError, Geometry, Oob, Ppn, SimulatedTime};

impl<P: DerefMut<Target: Flash>> Flash for P {
    fn geometry(&self) -> &Geometry {
        (**self).geometry()
    }
    fn in_order(&self) -> bool {
        (**self).in_order()
    }
    fn is_bad(&self, block: BlockId) -> bool {
        (**self).is_bad(block)
    }
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        (**self).mark_bad(block)
    }
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        (**self).read(from, into)
    }
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        (**self).read_oob(from)
    }
    fn may_fade(&self) -> bool {
        (**self).may_fade()
    }
    fn is_refused(&self, page: Ppn) -> bool {
        (**self).is_refused(page)
    }

    fn is_closed(&self, page: Ppn) -> bool {
        (**self).is_closed(page)
    }
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        (**self).program(to, oob, data)
    }
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        (**self).copy(from, to, oob)
    }
    fn expect_copies(&mut self, pages: &mut dyn Iterator<Item = Ppn>) {
        (**self).expect_copies(pages);
    }
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        (**self).erase(block)
    }
    fn sync(&mut self) -> Result<(), FlashError> {
        (**self).sync()
    }
    fn sync_programs(&mut self) -> Result<(), FlashError> {
        (**self).sync_programs()
    }
}

impl<P: DerefMut<Target: Condition>> Condition for P {
    fn erase_count(&self, block: BlockId) -> u32 {
        (**self).erase_count(block)
    }
    fn ailing(&mut self) -> Option<BlockId> {
        (**self).ailing()
    }
    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        (**self).read_programmed(from, into)
    }
    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        (**self).read_with_oob(from, into)
    }
    fn read_run(
        &mut self,
        from: Ppn,
        into: &mut [u8],
        seen: &mut dyn FnMut(Ppn, Option<Oob>) -> bool,
    ) -> Result<(), (Ppn, FlashError)> {
        (**self).read_run(from, into, seen)
    }
}

impl<P: DerefMut<Target: SimulatedTime>> SimulatedTime for P {
    fn is_idle(&self, bank: u32) -> bool {
        (**self).is_idle(bank)
    }
    fn wait_for_a_bank(&mut self) {
        (**self).wait_for_a_bank();
    }
    fn hotness_scan(&mut self) {
        (**self).hotness_scan();
    }
}
