//! A chip whose failed reads are retried once.
//!
//! Problem. A read may fail temporarily: a cable, a timeout, a marginal bit. Trusting the first
//! failure gives up data that are still readable. Idea. Each failed read is repeated once, and the
//! second result counts. The layers wrap their chip in this type, so every read is covered: host
//! reads, cleaning, mount. Consequence. An unreadable page costs two reads. Programs and erases are
//! not retried.

use crate::{BlockId, Condition, Flash, FlashError, Geometry, Oob, Ppn, SimulatedTime};

/// Wraps a chip and retries its failed reads.
#[derive(Clone, Debug)]
pub struct Retrying<C>(C);

impl<C> Retrying<C> {
    /// Wraps a chip.
    #[inline(always)]
    pub const fn new(chip: C) -> Self {
        Self(chip)
    }

    /// The wrapped chip.
    #[inline(always)]
    pub const fn get(&self) -> &C {
        &self.0
    }

    /// The wrapped chip.
    #[inline(always)]
    pub const fn get_mut(&mut self) -> &mut C {
        &mut self.0
    }

    /// Unwraps the chip.
    pub fn into_inner(self) -> C {
        self.0
    }
}

/// Whether a retry may succeed.
const fn may_pass(error: FlashError) -> bool {
    matches!(error, FlashError::Unreadable(_) | FlashError::Medium(_))
}

/// Reads, and retries once after a failure.
#[inline(always)]
fn again<C, T>(
    chip: &mut C,
    mut read: impl FnMut(&mut C) -> Result<T, FlashError>,
) -> Result<T, FlashError> {
    match read(chip) {
        Err(error) if may_pass(error) => read(chip),
        done => done,
    }
}

impl<C: Flash> Flash for Retrying<C> {
    #[inline(always)]
    fn geometry(&self) -> &Geometry {
        self.0.geometry()
    }

    #[inline(always)]
    fn in_order(&self) -> bool {
        self.0.in_order()
    }

    #[inline(always)]
    fn is_bad(&self, block: BlockId) -> bool {
        self.0.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.0.mark_bad(block)
    }

    #[inline(always)]
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        again(&mut self.0, |chip| chip.read(from, into))
    }

    #[inline(always)]
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        again(&mut self.0, |chip| chip.read_oob(from))
    }

    fn may_fade(&self) -> bool {
        self.0.may_fade()
    }

    fn is_refused(&self, page: Ppn) -> bool {
        self.0.is_refused(page)
    }

    fn is_closed(&self, page: Ppn) -> bool {
        self.0.is_closed(page)
    }

    #[inline(always)]
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.0.program(to, oob, data)
    }

    #[inline(always)]
    fn program_run(
        &mut self,
        to: Ppn,
        count: u32,
        oob: impl FnMut(u32) -> Oob,
    ) -> Result<(), (u32, FlashError)> {
        self.0.program_run(to, count, oob)
    }

    /// A retry is safe: if the source page cannot be read, nothing was programmed.
    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        match self.0.copy(from, to, oob) {
            Err(FlashError::Unreadable(_)) => self.0.copy(from, to, oob),
            done => done,
        }
    }

    #[inline(always)]
    fn copy_run(
        &mut self,
        to: Ppn,
        count: u32,
        mut page: impl FnMut(u32) -> (Ppn, Oob),
    ) -> Result<(), (u32, FlashError)> {
        let mut done = self.0.copy_run(to, count, &mut page);
        let mut failed = None;
        while let Err((at, FlashError::Unreadable(_))) = done
            && failed != Some(at)
        {
            failed = Some(at);
            let rest = self.0.copy_run(Ppn(to.0 + at), count - at, |i| page(at + i));
            done = rest.map_err(|(i, error)| (at + i, error));
        }
        done
    }

    #[inline(always)]
    fn expect_copies(&mut self, pages: &mut dyn Iterator<Item = Ppn>) {
        self.0.expect_copies(pages);
    }

    #[inline(always)]
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.0.erase(block)
    }

    fn sync(&mut self) -> Result<(), FlashError> {
        self.0.sync()
    }

    fn sync_programs(&mut self) -> Result<(), FlashError> {
        self.0.sync_programs()
    }
}

impl<C: Condition> Condition for Retrying<C> {
    #[inline(always)]
    fn erase_count(&self, block: BlockId) -> u32 {
        self.0.erase_count(block)
    }

    #[inline(always)]
    fn ailing(&mut self) -> Option<BlockId> {
        self.0.ailing()
    }

    #[inline(always)]
    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        again(&mut self.0, |chip| chip.read_programmed(from, into))
    }

    #[inline(always)]
    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        again(&mut self.0, |chip| chip.read_with_oob(from, into))
    }

    fn read_run(
        &mut self,
        from: Ppn,
        into: &mut [u8],
        seen: &mut dyn FnMut(Ppn, Option<Oob>) -> bool,
    ) -> Result<(), (Ppn, FlashError)> {
        let size = self.geometry().page_size as usize;
        let mut done = self.0.read_run(from, into, seen);
        let mut failed = None;
        while let Err((page, error)) = done
            && may_pass(error)
            && failed != Some(page)
        {
            failed = Some(page);
            let rest = &mut into[(page.0 - from.0) as usize * size..];
            done = self.0.read_run(page, rest, seen);
        }
        done
    }
}

impl<C: SimulatedTime> SimulatedTime for Retrying<C> {
    #[inline(always)]
    fn is_idle(&self, bank: u32) -> bool {
        self.0.is_idle(bank)
    }

    #[inline(always)]
    fn wait_for_a_bank(&mut self) {
        self.0.wait_for_a_bank();
    }

    #[inline(always)]
    fn hotness_scan(&mut self) {
        self.0.hotness_scan();
    }
}
