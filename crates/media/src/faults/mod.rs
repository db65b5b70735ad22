//! Faults between a chip and its user.
//!
//! Fault model. Every fault is drawn from one seed or requested:
//!
//! * **Power** fails during one operation. Every later operation fails until power is back. Without a cache
//!   the interrupted operation has not begun, is complete but returned an error, or is torn. Earlier
//!   operations are not affected. A torn page is neither blank nor readable: a read of its payload or
//!   its out-of-band area is an error, and it cannot be programmed before its block is erased. A page may also
//!   be torn in its payload alone. A torn erase leaves each page of its block as it was or torn.
//! * **A volatile cache** holds back all operations since the last sync. A power failure carries out any
//!   part of them that the contract of [`Flash`](thermocline_flash::Flash) allows: older programs may be lost or torn,
//!   programs may survive behind lost ones of the same block, and the last erases may be missing, torn, or
//!   done for some pages of their block only.
//! * **Programs and erases fail.** A failed program leaves the page torn. A failed erase leaves each page of
//!   the block as it was or torn.
//! * **Blocks wear out**: each refuses to be erased after a number of erases of its own.
//! * **Bits** are read wrong, once or until the block is erased. Up to [`Faults::correctable`] bits in each KiB
//!   are corrected: the data are valid, and [`Health`] counts the read. With more than half of that number the block is
//!   [ailing](thermocline_flash::Condition::ailing). With more than the number the page is
//!   [`Unreadable`](FlashError::Unreadable).
//!
//! Not modelled: the loss of one page's data by the programming of another (paired pages of
//! multi-level cells), and wrong bits in out-of-band areas. This wrapper alone knows which pages are torn.

mod bits;
mod cache;
mod chip;
mod held;
mod spec;

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::{BlockId, Condition, FlashError, Ppn};

use self::{bits::Bits, cache::Cache};
use crate::Health;

pub use self::spec::{Faults, FaultsError};

/// How far the operation got in which power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It had not begun.
    Before,
    /// It is torn: the page, or every page of the block.
    Torn,
    /// It is torn; of a page, only the payload; of an erase, every page of the block.
    Payload,
    /// It is torn; of an erase, only pages drawn by this seed. With a cache this seed draws what is
    /// left of all that was done since the last sync.
    Partly(u64),
    /// It was done.
    After,
}

/// Why a page does not show what the chip below has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scar {
    /// Neither part can be read.
    Torn,
    /// The payload cannot be read.
    TornPayload,
    /// It is blank, though pages behind it are not.
    Blank,
}

/// A chip with faults.
#[derive(Clone, Debug)]
pub struct Faulty<F> {
    inner: F,
    faults: Faults,
    draws: Xoshiro256PlusPlus,
    scars: BTreeMap<Ppn, Scar>,
    cache: Cache,
    bits: Bits,
    worn: BTreeSet<BlockId>,
    /// Operations until power fails, and the effect of the failure on the next one.
    fuse: Option<(u64, Cut)>,
    is_on: bool,
    operations: u64,
    health: Health,
}

impl<F: Condition> Faulty<F> {
    /// Without faults, until a [cut](Self::cut_after) is set.
    #[must_use]
    pub fn new(inner: F) -> Self {
        Self::with_faults(inner, Faults::default())
    }

    /// With these faults.
    #[must_use]
    pub fn with_faults(inner: F, faults: Faults) -> Self {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(faults.seed);
        let fuse = faults.cut.map(|operation| {
            let ways =
                [Cut::Before, Cut::Torn, Cut::Payload, Cut::Partly(draws.random()), Cut::After];
            (operation, ways[draws.random_range(0..ways.len())])
        });
        Self {
            inner,
            faults,
            draws,
            scars: BTreeMap::new(),
            cache: Cache::default(),
            bits: Bits::default(),
            worn: BTreeSet::new(),
            fuse,
            is_on: true,
            operations: 0,
            health: Health::default(),
        }
    }

    /// Makes power fail after `operations` more programs, copies and erases, during the next one.
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

    /// Programs, copies and erases requested while there was power.
    #[must_use]
    pub const fn operations(&self) -> u64 {
        self.operations
    }

    /// Turns bits of a page, all in its first KiB, until its block is erased.
    pub fn turn_bits(&mut self, page: Ppn, bits: u32) {
        self.bits.turn(page, bits);
    }

    /// The faults it was made with.
    #[must_use]
    pub const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The chip below. Torn pages read there as if they were whole. Operations held back by the cache are
    /// missing.
    #[must_use]
    pub const fn inner(&self) -> &F {
        &self.inner
    }

    fn powered(&self) -> Result<(), FlashError> {
        if self.is_on { Ok(()) } else { Err(FlashError::NoPower) }
    }

    /// Counts an operation. Returns the cut if power fails in it.
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

    /// Whether the operation just begun fails, by this probability or by request.
    fn fails(&mut self, probability: f64) -> bool {
        self.faults.fail.binary_search(&(self.operations - 1)).is_ok()
            || probability > 0.0 && self.draws.random_bool(probability)
    }

    /// The erases until a block wears out. The seed alone decides them.
    fn lifetime(&self, block: BlockId) -> Option<u32> {
        let mean = f64::from(self.faults.wear?);
        let seed = self.faults.seed ^ u64::from(block.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let off: f64 = StandardNormal.sample(&mut draws);
        Some((mean * (1.0 + self.faults.spread * off)).max(0.0) as u32)
    }

    fn pages(&self, block: BlockId) -> impl Iterator<Item = Ppn> + use<F> {
        let geometry = *self.inner.geometry();
        (0..geometry.pages_per_block).map(move |page| geometry.ppn(block, page))
    }

    /// Programs a page of the chip below by `put`, and records its scar.
    fn scar(
        &mut self,
        to: Ppn,
        scar: Option<Scar>,
        put: impl FnOnce(&mut F) -> Result<(), FlashError>,
    ) -> Result<(), FlashError> {
        put(&mut self.inner)?;
        self.bits.renew(to, to);
        match scar {
            Some(scar) => self.scars.insert(to, scar),
            None => self.scars.remove(&to),
        };
        Ok(())
    }

    /// Erases a block of the chip below.
    fn renew(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.inner.erase(block)?;
        for page in self.pages(block) {
            self.scars.remove(&page);
            self.bits.renew(page, page);
        }
        self.bits.forget(block);
        Ok(())
    }

    /// Leaves each page of a block as it was or torn, drawn by `draws`; those that are not blank
    /// if `only_programmed`.
    fn tear(&mut self, block: BlockId, only_programmed: bool, mut is_torn: impl FnMut() -> bool) {
        for page in self.pages(block) {
            let is_blank = only_programmed && self.inner.read_oob(page) == Ok(None);
            if is_torn() && !is_blank {
                self.scars.insert(page, Scar::Torn);
            }
        }
    }

    /// Programs a page by `put`, past the cache.
    fn put(
        &mut self,
        to: Ppn,
        put: impl FnOnce(&mut F) -> Result<(), FlashError>,
    ) -> Result<(), FlashError> {
        self.powered()?;
        let block = self.inner.geometry().block_of(to);
        if self.worn.contains(&block) {
            return Err(FlashError::BadBlock(block));
        }
        match self.scars.get(&to) {
            Some(Scar::Blank) => return Err(FlashError::OutOfOrder(to)),
            Some(_) => return Err(FlashError::NotErased(to)),
            None => {}
        }
        let cut = self.begin()?;
        let failed = cut.is_none() && self.fails(self.faults.program);
        let scar = match cut {
            Some(Cut::Torn | Cut::Partly(_)) => Some(Scar::Torn),
            Some(Cut::Payload) => Some(Scar::TornPayload),
            _ => failed.then_some(Scar::Torn),
        };
        if cut != Some(Cut::Before) {
            self.scar(to, scar, put)?;
        }
        if failed {
            self.health.failed_programs += 1;
            return Err(FlashError::ProgramFailed(to));
        }
        cut.map_or(Ok(()), |_| Err(FlashError::NoPower))
    }
}
