//! The contract between a translation layer and a chip.

use crate::{BlockId, Geometry, Lpn, Ppn};

/// What is programmed beside a page, so that the tables can be rebuilt from the chip alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oob {
    /// The logical page stored here.
    pub lpn: Lpn,
    /// The stream (class of data) the block was opened for.
    pub stream: u8,
    /// Counts the programs of the layer: of two copies of a page the greater is the newer. The
    /// page-mapped layer keeps a note of its own in the highest bits, which is not part of the number.
    pub sequence: u64,
    /// When it was programmed, by the layer's clock.
    pub time: u64,
    /// What the placement wants to find again beside the page.
    pub note: u16,
}

/// A rule of the medium was broken, or the medium failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashError {
    /// The page was programmed since the last erase of its block.
    NotErased(Ppn),
    /// The page lies behind or beyond the next one of its block.
    OutOfOrder(Ppn),
    /// The block is bad.
    BadBlock(BlockId),
    /// The block's rated erase cycles are used up; it is bad from now on.
    WornOut(BlockId),
    /// What the page holds is neither blank nor anything that was written: it was being programmed, or
    /// its block erased, when the power failed, or more of its bits turned than can be corrected.
    Unreadable(Ppn),
    /// The page could not be programmed. What its block holds can still be read, but the block should
    /// not be used any more.
    ProgramFailed(Ppn),
    /// The block could not be erased. It should not be used any more.
    EraseFailed(BlockId),
    /// The system below the chip failed, with its error number.
    Medium(i32),
    /// There is no power: nothing was done, unless it failed during this very operation.
    NoPower,
    /// A payload of that many bytes is neither a page long nor empty.
    WrongLength(usize),
    /// No such page or block.
    OutOfRange,
}

impl core::fmt::Display for FlashError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotErased(p) => write!(f, "physical page {p:?} programmed twice without erase"),
            Self::OutOfOrder(p) => write!(f, "physical page {p:?} programmed out of order"),
            Self::BadBlock(b) => write!(f, "erase block {b} is bad"),
            Self::WornOut(b) => write!(f, "erase block {b} is worn out"),
            Self::Unreadable(p) => write!(f, "physical page {p:?} cannot be read"),
            Self::ProgramFailed(p) => write!(f, "physical page {p:?} could not be programmed"),
            Self::EraseFailed(b) => write!(f, "erase block {b} could not be erased"),
            Self::Medium(number) => write!(f, "the medium failed with system error {number}"),
            Self::NoPower => f.write_str("the chip has no power"),
            Self::WrongLength(bytes) => write!(f, "{bytes} bytes are not a page"),
            Self::OutOfRange => f.write_str("no such physical page or erase block"),
        }
    }
}

impl core::error::Error for FlashError {}

/// A flash chip: four operations, each with its rule. Any of them fails with
/// [`FlashError::NoPower`] where the power can fail, with [`FlashError::Medium`] where a system lies
/// below.
///
/// What survives a loss of power: everything done before the last [`sync`](Flash::sync), and of what was
/// done after it any part, in any order, with two exceptions. An erase, and whatever is done to its block
/// after it, survives only together with everything programmed before the erase, whatever block that was
/// in: the last readable copy of a page is never lost by the erase of an older one. And a page that was
/// being programmed shows itself as blank, as what was programmed, or as
/// [`Unreadable`](FlashError::Unreadable), but its out-of-band area may be readable where its payload
/// is not: who relies on a page that may have been cut off reads it first.
///
/// Two consequences that are easily forgotten:
///
/// * Of an erase that was not synced any page may come back, as it was or unreadable, also among pages
///   that were programmed after the erase. What comes back is older than everything that was programmed
///   before the erase, so whoever keeps the greatest sequence number of a page is not misled by it; but
///   a page that was taken for garbage without a newer copy or a record that says so, is not garbage yet.
/// * Pages may be blank before pages that are not, even where the chip demands order: those before were
///   not synced. That the first page of a block is blank does not make the block blank. After a loss of
///   power a block is programmed only when all of its areas were seen to be blank, or after an erase.
pub trait Flash {
    /// Its shape.
    fn geometry(&self) -> &Geometry;

    /// Whether the pages of a block must be programmed in ascending order, none left out.
    fn in_order(&self) -> bool;

    /// Whether a block must not be used.
    fn is_bad(&self, block: BlockId) -> bool;

    /// Reads a page into `into` (a page long, or empty where nobody wants the payload).
    ///
    /// # Errors
    /// [`FlashError::OutOfRange`], [`FlashError::Unreadable`].
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError>;

    /// Reads a page that was programmed, as whoever asks knows: one that is blank all the same has lost
    /// what it held. A chip that keeps no data sees no difference.
    ///
    /// # Errors
    /// [`FlashError::OutOfRange`]; [`FlashError::Unreadable`], also for a blank page.
    #[inline(always)]
    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.read(from, into)
    }

    /// Reads only what stands beside a page: nothing if the page is blank, or the chip keeps none.
    ///
    /// # Errors
    /// [`FlashError::OutOfRange`]; [`FlashError::Unreadable`] for a page that is not blank and holds
    /// nothing that was written.
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError>;

    /// Programs an erased page with `data` (a page long, or empty where the chip stores none).
    ///
    /// # Errors
    /// [`FlashError::NotErased`], [`FlashError::OutOfOrder`], [`FlashError::BadBlock`].
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError>;

    /// Moves a valid page during cleaning: what [`read`](Flash::read) and
    /// [`program`](Flash::program) do, without the payload passing through the caller. Where `from` is
    /// known not to be readable, nothing is programmed; a chip that does not look copies what cannot be
    /// read as such.
    ///
    /// # Errors
    /// Those of the two.
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError>;

    /// Erases a block.
    ///
    /// # Errors
    /// [`FlashError::BadBlock`]; [`FlashError::WornOut`], and the block is bad from then on.
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError>;

    /// Waits until everything done so far survives a loss of power.
    ///
    /// # Errors
    /// [`FlashError::Medium`].
    fn sync(&mut self) -> Result<(), FlashError> {
        Ok(())
    }

    /// The layer needs a page no longer. A hint: what can clear a flag in place (NOR) may do so.
    #[inline(always)]
    fn obsolete(&mut self, page: Ppn) {
        let _ = page;
    }

    /// Marks a block as bad for good, as its last use failed. The mark may last at once, before what was
    /// done earlier, and what the block holds may be gone with it: whoever needs that moves it and syncs
    /// first.
    ///
    /// # Errors
    /// [`FlashError::OutOfRange`].
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        let _ = block;
        Ok(())
    }

    /// A block of which a page was read that needed more correction than is comfortable: its data should
    /// be moved soon. Each is told once.
    fn ailing(&mut self) -> Option<BlockId> {
        None
    }

    /// How often a block was erased in its life.
    fn erase_count(&self, block: BlockId) -> u32;

    /// Whether a bank would begin an operation now; always, where time is not simulated.
    fn is_idle(&self, bank: u32) -> bool {
        let _ = bank;
        true
    }

    /// Lets time pass until a bank that works is done.
    fn wait_for_a_bank(&mut self) {}

    /// The controller recomputed a mean over all pages (only the papers' processors notice).
    fn hotness_scan(&mut self) {}
}

/// A chip behind a pointer.
macro_rules! behind {
    ($pointer:ty) => {
        impl<F: Flash + ?Sized> Flash for $pointer {
            fn geometry(&self) -> &Geometry {
                (**self).geometry()
            }
            fn in_order(&self) -> bool {
                (**self).in_order()
            }
            fn is_bad(&self, block: BlockId) -> bool {
                (**self).is_bad(block)
            }
            fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
                (**self).read(from, into)
            }
            fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
                (**self).read_programmed(from, into)
            }
            fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
                (**self).read_oob(from)
            }
            fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
                (**self).program(to, oob, data)
            }
            fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
                (**self).copy(from, to, oob)
            }
            fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
                (**self).erase(block)
            }
            fn sync(&mut self) -> Result<(), FlashError> {
                (**self).sync()
            }
            fn obsolete(&mut self, page: Ppn) {
                (**self).obsolete(page);
            }
            fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
                (**self).mark_bad(block)
            }
            fn ailing(&mut self) -> Option<BlockId> {
                (**self).ailing()
            }
            fn erase_count(&self, block: BlockId) -> u32 {
                (**self).erase_count(block)
            }
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
    };
}

// On loan: whoever mounts it gives it back.
behind!(&mut F);
// Of a kind that is known only when the program runs.
behind!(alloc::boxed::Box<F>);
