//! The contract that every chip must meet. Optional capabilities are in `capability`.

use crate::{BlockId, Geometry, Lpn, Ppn};

/// The out-of-band area of a page: what rebuilds the tables from the chip alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oob {
    /// The logical page stored here.
    pub lpn: Lpn,
    /// The stream (class of data) for which the block was opened.
    pub stream: u8,
    /// Number of the program within the layer. Of two copies of a page the one with the greater
    /// number is newer. The page-mapped layer stores a note in the highest bits; it is not part of
    /// the number.
    pub sequence: u64,
    /// Time of the program, by the layer's clock.
    pub time: u64,
    /// Per-page state of the placement.
    pub note: u16,
}

/// A rule of the medium was broken, or the medium failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashError {
    /// The page has been programmed since the last erase of its block.
    NotErased(Ppn),
    /// The page is not the next one to be programmed in its block.
    OutOfOrder(Ppn),
    /// The block is bad.
    BadBlock(BlockId),
    /// The block has used up its rated P/E cycles. It is bad from now on.
    WornOut(BlockId),
    /// The content of the page is neither blank nor anything that was written. Power failed during
    /// its program or the erase of its block, or the page has more bit errors than can be
    /// corrected.
    Unreadable(Ppn),
    /// The program failed. The data of the block can still be read, but the block should not be
    /// used any more.
    ProgramFailed(Ppn),
    /// The erase failed. The block should not be used any more.
    EraseFailed(BlockId),
    /// The operating system reported an error, with its error number.
    Medium(i32),
    /// The power has failed. Nothing was done, unless it failed during this operation.
    NoPower,
    /// The payload, of this many bytes, is neither one page long nor empty.
    WrongLength(usize),
    /// The page or block does not exist.
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

/// A flash chip. Each method states its rule. Pages are read and programmed, blocks are erased.
/// Sizes are in bytes, as given by the [`Geometry`].
///
/// Every operation that returns a `Result` may fail with [`FlashError::NoPower`] where power can
/// fail, with [`FlashError::Medium`] where an operating system lies below, and with
/// [`FlashError::OutOfRange`] if the page or block does not exist.
///
/// A power loss keeps everything done before the last [`sync`](Flash::sync). Of the operations
/// after it any subset may survive, in any order, with two exceptions. First, an erase, and every
/// later operation on its block, survives only together with everything programmed before the erase
/// in any block. So the erase of an older copy never loses the last readable copy of a page.
/// Second, a page that was being programmed reads as blank, as the new data, or as
/// [`Unreadable`](FlashError::Unreadable). Its out-of-band area may be readable where its payload
/// is not. A reader that relies on a page that may have been cut off must read its payload first.
///
/// Two consequences are easily forgotten:
///
/// * After an erase that was not synced, any page of the block may come back, intact or unreadable,
///   even among pages that were programmed after the erase. Such a page is older than everything
///   programmed before the erase, so the greatest sequence number of a logical page still names its
///   newest copy. But a page that became garbage without a newer copy, and without a record of
///   that, is valid again.
/// * Blank pages may precede programmed ones, even where the chip demands order, because the
///   earlier programs were not synced. A blank first page does not make the block blank. After a
///   power loss a block is programmed only after an erase, or after all its out-of-band areas were
///   seen to be blank.
pub trait Flash {
    /// The shape of the chip.
    fn geometry(&self) -> &Geometry;

    /// Whether the pages of a block must be programmed in ascending order without gaps, as NAND
    /// demands.
    fn in_order(&self) -> bool;

    /// Whether a block must not be used. Also true for a block that does not exist, where the chip
    /// checks that.
    fn is_bad(&self, block: BlockId) -> bool;

    /// Marks a block as bad, permanently, after its last use failed. The mark may become durable at
    /// once, before earlier operations, and may destroy the data of the block. So move and sync the
    /// data first.
    ///
    /// # Errors
    /// Only those of every operation.
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError>;

    /// Reads a page into `into`, which is one page long, or empty if the payload is not needed. A
    /// blank page reads as ones, or as zeros where the chip stores no payload.
    ///
    /// # Errors
    /// [`FlashError::Unreadable`]; [`FlashError::WrongLength`] where the chip stores payloads.
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError>;

    /// Reads only the out-of-band area of a page. Returns `None` if the page is blank or the chip
    /// stores no areas.
    ///
    /// # Errors
    /// [`FlashError::Unreadable`] for a page that is neither blank nor holds what was written.
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError>;

    /// Programs an erased page with `data`, which is one page long or empty. An empty payload
    /// stores zeros where the chip stores payloads.
    ///
    /// # Errors
    /// [`FlashError::NotErased`], [`FlashError::OutOfOrder`], [`FlashError::BadBlock`]: nothing was
    /// programmed. [`FlashError::ProgramFailed`]: the page is used up. [`FlashError::WrongLength`].
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError>;

    /// Whether a page whose program a power loss cut off may read well at first and fail later,
    /// because its cells were not fully programmed. If so, a layer programs the last pages again
    /// before it relies on them.
    fn may_fade(&self) -> bool {
        true
    }

    /// Whether the system below the chip refused the last read, which was of `page`, as a disk
    /// refuses an unreadable sector. A power loss leaves no such page, so the page was whole before.
    fn is_refused(&self, page: Ppn) -> bool {
        let _ = page;
        false
    }

    /// Whether an unreadable page was never programmed, and cannot be before its block is erased: the chip ended
    /// the block early. Nothing was cut off there, and nothing lost.
    fn is_closed(&self, page: Ppn) -> bool {
        let _ = page;
        false
    }

    /// [Programs](Flash::program) consecutive pages of one block from `to` on with unspecified
    /// payloads, as one operation where the chip can, so that its rules are checked once. `oob`
    /// returns the out-of-band area of each page, counted from 0.
    ///
    /// # Errors
    /// How many pages were programmed before one failed, and its error. After a broken rule the
    /// count may be 0.
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

    /// Moves a valid page during garbage collection. The logical page stays the same. Equivalent to
    /// [`read`](Flash::read) and [`program`](Flash::program), but the payload does not pass through
    /// the caller. If `from` is known to be unreadable, or to hold another logical page, nothing is
    /// programmed. A chip that does not verify payloads copies an unreadable one as it is.
    ///
    /// # Errors
    /// Those of [`read`](Flash::read) and [`program`](Flash::program).
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError>;

    /// [Copies](Flash::copy) pages to consecutive pages of one block from `to` on, as one operation
    /// where the chip can: its rules are checked once, and adjacent pages are moved together.
    /// `page` returns the source and the out-of-band area of each page, counted from 0.
    ///
    /// # Errors
    /// How many pages were copied before one failed, and its error. After a broken rule the count
    /// may be 0.
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

    /// Announces that these pages, in any order, will be [copied](Flash::copy). A chip that reads
    /// them from elsewhere may read those in the first page's block together. This is a hint and
    /// does not verify that any page is readable.
    #[inline(always)]
    fn expect_copies(&mut self, pages: &mut dyn Iterator<Item = Ppn>) {
        let _ = pages;
    }

    /// Erases a block. All its pages are blank afterwards.
    ///
    /// # Errors
    /// [`FlashError::BadBlock`]; [`FlashError::WornOut`]: the block is bad from then on;
    /// [`FlashError::EraseFailed`]: the content of the block is undefined.
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError>;

    /// Waits until everything done so far is durable.
    ///
    /// # Errors
    /// Only those of every operation.
    fn sync(&mut self) -> Result<(), FlashError>;

    /// Makes all programs durable. Erases may need a further sync.
    ///
    /// # Errors
    /// Only those of every operation.
    fn sync_programs(&mut self) -> Result<(), FlashError> {
        self.sync()
    }
}
