//! A switch between a chip and its user.
//!
//! Fault model. Power fails during one operation, and every later one fails until it is back. The
//! operation that was cut off has not begun, or is done though nobody was told, or is torn. A torn
//! page is neither blank nor readable: reading it, or its out-of-band area, is an error, and it
//! cannot be programmed before its block is erased. A torn erase leaves each page of its block as it
//! was or torn. What was done before is not touched.
//!
//! What is not modelled: pages that read well at first and fade, and data of one page lost by the
//! programming of another (paired pages of multi-level cells).

use std::collections::BTreeSet;

use thermocline_flash::{BlockId, Flash, FlashError, Geometry, Oob, Ppn};

/// How far the operation got in which power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It had not begun.
    Before,
    /// It is torn: the page, or every page of the block.
    Torn,
    /// It is torn; of an erase, only pages drawn by this seed.
    Partly(u64),
    /// It was done.
    After,
}

/// A chip whose power can be cut.
#[derive(Clone, Debug)]
pub struct PowerCut<F> {
    inner: F,
    /// Pages that are neither blank nor readable.
    torn: BTreeSet<Ppn>,
    /// Operations that will still be done, and what becomes of the next.
    fuse: Option<(u64, Cut)>,
    is_on: bool,
    operations: u64,
}

impl<F: Flash> PowerCut<F> {
    /// Power is on and stays on.
    #[must_use]
    pub const fn new(inner: F) -> Self {
        Self { inner, torn: BTreeSet::new(), fuse: None, is_on: true, operations: 0 }
    }

    /// Lets power fail after that many more programs, copies and erases, during the next.
    pub const fn cut_after(&mut self, operations: u64, cut: Cut) {
        self.fuse = Some((operations, cut));
    }

    /// Power is back, and stays.
    pub const fn power_on(&mut self) {
        self.is_on = true;
        self.fuse = None;
    }

    /// Whether there is power.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Programs, copies and erases that were asked for while there was power.
    #[must_use]
    pub const fn operations(&self) -> u64 {
        self.operations
    }

    /// The chip itself. What is torn reads there as it would have been.
    #[must_use]
    pub const fn inner(&self) -> &F {
        &self.inner
    }

    fn powered(&self) -> Result<(), FlashError> {
        if self.is_on { Ok(()) } else { Err(FlashError::NoPower) }
    }

    fn readable(&self, page: Ppn) -> Result<(), FlashError> {
        self.powered()?;
        if self.torn.contains(&page) { Err(FlashError::Unreadable(page)) } else { Ok(()) }
    }

    /// Counts an operation; if power fails in it, says how.
    fn begin(&mut self) -> Result<Option<Cut>, FlashError> {
        self.powered()?;
        self.operations += 1;
        match &mut self.fuse {
            Some((0, cut)) => {
                let cut = *cut;
                (self.fuse, self.is_on) = (None, false);
                Ok(Some(cut))
            }
            Some((left, _)) => {
                *left -= 1;
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Programs a page in whichever way, unless power fails before it.
    fn put(
        &mut self,
        to: Ppn,
        put: impl FnOnce(&mut F) -> Result<(), FlashError>,
    ) -> Result<(), FlashError> {
        if self.is_on && self.torn.contains(&to) {
            return Err(FlashError::NotErased(to));
        }
        let cut = self.begin()?;
        if cut != Some(Cut::Before) {
            put(&mut self.inner)?;
        }
        if matches!(cut, Some(Cut::Torn | Cut::Partly(_))) {
            self.torn.insert(to);
        }
        cut.map_or(Ok(()), |_| Err(FlashError::NoPower))
    }

    fn pages(&self, block: BlockId) -> impl Iterator<Item = Ppn> + use<F> {
        let geometry = *self.inner.geometry();
        (0..geometry.pages_per_block).map(move |page| geometry.ppn(block, page))
    }
}

impl<F: Flash> Flash for PowerCut<F> {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn in_order(&self) -> bool {
        self.inner.in_order()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.inner.is_bad(block)
    }

    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.readable(from)?;
        self.inner.read(from, into)
    }

    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        self.readable(from)?;
        self.inner.read_oob(from)
    }

    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.put(to, |chip| chip.program(to, oob, data))
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.readable(from)?;
        self.put(to, |chip| chip.copy(from, to, oob))
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        match self.begin()? {
            Some(Cut::Before) => return Err(FlashError::NoPower),
            cut @ (None | Some(Cut::After)) => {
                self.inner.erase(block)?;
                for page in self.pages(block) {
                    self.torn.remove(&page);
                }
                return cut.map_or(Ok(()), |_| Err(FlashError::NoPower));
            }
            Some(Cut::Torn) => self.torn.extend(self.pages(block)),
            Some(Cut::Partly(mut seed)) => {
                for page in self.pages(block) {
                    // A linear congruence is random enough to tear by.
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    if seed >> 63 == 0 {
                        self.torn.insert(page);
                    }
                }
            }
        }
        Err(FlashError::NoPower)
    }

    fn erase_count(&self, block: BlockId) -> u32 {
        self.inner.erase_count(block)
    }
}
