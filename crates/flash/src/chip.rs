//! The contract of a chip: what it must do. What only some chips can do stands in `capability`.

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

/// A flash chip: what every chip must do, each operation with its rule. Pages are read and programmed, blocks
/// are erased; sizes are in bytes, as the [`Geometry`] says them.
///
/// Any operation that returns a `Result` fails with [`FlashError::NoPower`] where the power can fail, with
/// [`FlashError::Medium`] where a system lies below, and with [`FlashError::OutOfRange`] if there is no such
/// page or block.
///
/// What survives a loss of power: everything done before the last [`sync`](Flash::sync), and of what was
/// done after it any part, in any order, with two exceptions. An erase, and whatever is done to its block
/// after it, survives only together with everything programmed before the erase, whatever block that was
/// in: the last readable copy of a page is never lost by the erase of an older one. And a page that was
/// being programmed shows itself as blank, as what was programmed, or as
/// [`Unreadable`](FlashError::Unreadable), but its out-of-band area may be readable where its payload
/// is not: a reader that relies on a page that may have been cut off reads its payload first.
///
/// Two consequences that are easily forgotten:
///
/// * Of an erase that was not synced any page may come back, as it was or unreadable, also among pages
///   that were programmed after the erase. What comes back is older than everything that was programmed
///   before the erase, so the greatest sequence number of a page still names its newest copy. But a page
///   that became garbage without a newer copy, and without a record of that, is not garbage yet.
/// * Pages may be blank before pages that are not, even where the chip demands order: those before were
///   not synced. That the first page of a block is blank does not make the block blank. After a loss of
///   power a block is programmed only when all of its areas were seen to be blank, or after an erase.
pub trait Flash {
    /// Its shape.
    fn geometry(&self) -> &Geometry;

    /// Whether the pages of a block must be programmed in ascending order, none left out: the rule of NAND.
    fn in_order(&self) -> bool;

    /// Whether a block must not be used; true for a block that does not exist, where the chip checks that.
    fn is_bad(&self, block: BlockId) -> bool;

    /// Marks a block as bad for good, as its last use failed. The mark may last at once, before what was
    /// done earlier, and what the block holds may be gone with it: the data are moved and synced first.
    ///
    /// # Errors
    /// Only those of any operation.
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError>;

    /// Reads a page into `into`, which is a page long, or empty if the payload is not needed. A blank page
    /// reads as ones, and as zeros where the chip stores no payload.
    ///
    /// # Errors
    /// [`FlashError::Unreadable`]; [`FlashError::WrongLength`] where the chip stores payloads.
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError>;

    /// Reads only the out-of-band area of a page: nothing if the page is blank, or the chip keeps none.
    ///
    /// # Errors
    /// [`FlashError::Unreadable`] for a page that is not blank and holds nothing that was written.
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError>;

    /// Programs an erased page with `data`, which is a page long, or empty: then the page holds zeros where
    /// the chip stores payloads.
    ///
    /// # Errors
    /// [`FlashError::NotErased`], [`FlashError::OutOfOrder`], [`FlashError::BadBlock`], and nothing was
    /// programmed; [`FlashError::ProgramFailed`], and the page is used up; [`FlashError::WrongLength`].
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError>;

    /// Whether a page that was being programmed when the power failed may read well at first, and fail later: cells that
    /// were not programmed in full do that. Where it may, a layer writes what was programmed last once more, before anything
    /// relies on it.
    fn may_fade(&self) -> bool {
        true
    }

    /// Whether the page that was read last was refused by what lies below the chip, as a disk refuses a sector that it
    /// cannot read. A loss of power leaves no such page: it was whole once.
    fn is_refused(&self, page: Ppn) -> bool {
        let _ = page;
        false
    }

    /// [Programs](Flash::program) consecutive pages of one block, from `to` on, with contents that are not
    /// known, as one operation where the chip can: its rules are checked once. `oob` says what is programmed
    /// beside each, counted from 0.
    ///
    /// # Errors
    /// How many were programmed before one failed, and why that did. After a broken rule it may be none.
    #[inline(always)]
    fn program_run(
        &mut self,
        to: Ppn,
        count: u32,
        mut oob: impl FnMut(u32) -> Oob,
    ) -> Result<(), (u32, FlashError)>
    where
        Self: Sized,
    {
        for i in 0..count {
            self.program(Ppn(to.0 + i), oob(i), &[]).map_err(|e| (i, e))?;
        }
        Ok(())
    }

    /// Moves a valid page during cleaning, which stays the same logical page: what [`read`](Flash::read) and
    /// [`program`](Flash::program) do, without the payload passing through the caller. Where `from` is
    /// known not to be readable, or to be another logical page, nothing is programmed; a chip that does not
    /// verify payloads copies an unreadable one as it is.
    ///
    /// # Errors
    /// Those of the two.
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError>;

    /// [Copies](Flash::copy) pages to consecutive pages of one block, from `to` on, as one operation where
    /// the chip can: its rules are checked once, and what lies side by side is moved together. `page`
    /// says of each, counted from 0, where it is and what is programmed beside it.
    ///
    /// # Errors
    /// How many were copied before one failed, and why that did. After a broken rule it may be none.
    #[inline(always)]
    fn copy_run(
        &mut self,
        to: Ppn,
        count: u32,
        mut page: impl FnMut(u32) -> (Ppn, Oob),
    ) -> Result<(), (u32, FlashError)>
    where
        Self: Sized,
    {
        for i in 0..count {
            let (from, oob) = page(i);
            self.copy(from, Ppn(to.0 + i), oob).map_err(|e| (i, e))?;
        }
        Ok(())
    }

    /// These pages, in any order, are about to be [copied](Flash::copy): a chip that reads them from
    /// elsewhere reads those of the first one's block together. A hint; nothing is known to be readable
    /// after it.
    #[inline(always)]
    fn expect_copies(&mut self, pages: &mut dyn Iterator<Item = Ppn>) {
        let _ = pages;
    }

    /// Erases a block: all its pages are blank.
    ///
    /// # Errors
    /// [`FlashError::BadBlock`]; [`FlashError::WornOut`], and the block is bad from then on;
    /// [`FlashError::EraseFailed`], and what the block holds is undefined.
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError>;

    /// Waits until everything done so far survives a loss of power.
    ///
    /// # Errors
    /// Only those of any operation.
    fn sync(&mut self) -> Result<(), FlashError>;

    /// A sync of everything but erases, which may need another.
    ///
    /// # Errors
    /// Only those of any operation.
    fn sync_programs(&mut self) -> Result<(), FlashError> {
        self.sync()
    }
}
