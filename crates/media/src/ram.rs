//! A chip in memory.
//!
//! One mapping holds all payloads, another the out-of-band areas. Both are allocated as zeros, so the
//! system gives memory to a page only when it is programmed. Later operations allocate nothing. An erase
//! clears areas and leaves payloads alone: the area decides whether a page is blank.
//!
//! Invariants: a page's area is all zeros if and only if the page is blank; `next` of a block is the page
//! after its last programmed one.

use std::{collections::TryReserveError, path::Path};

use thermocline_flash::{
    BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob, Ppn, Rules, SimulatedTime,
};

use crate::{Health, Medium, MediumEntry, MediumError, NewChip};

pub(crate) const ENTRY: MediumEntry = MediumEntry {
    scheme: "ram",
    pattern: "ram:",
    example: "ram:",
    summary: "a chip in memory",
    takes_path: false,
    create: Some(create),
    open: None,
    room: None,
};

fn create(_: &Path, new: &NewChip) -> Result<Box<dyn Medium>, MediumError> {
    let ram = Ram::try_new(new.geometry, new.rules).map_err(|e| {
        MediumError::Failed(format!(
            "a chip of {} bytes does not fit into memory ({e}); take a smaller capacity",
            new.geometry.capacity()
        ))
    })?;
    Ok(Box::new(ram))
}

/// A chip that keeps what is programmed, in memory: the payload, 24 bytes beside each page and 12
/// bytes for each erase block.
#[derive(Clone, Debug)]
pub struct Ram {
    geometry: Geometry,
    rules: Rules,
    wears_out: bool,
    /// [`Geometry::page_bits`].
    page_bits: u32,
    blocks: Vec<Block>,
    areas: Vec<Area>,
    payload: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// The page behind the last one programmed.
    next: u32,
    erases: u32,
    bad: bool,
}

/// An out-of-band area: sequence; time; logical page, note, stream and a 1 for "programmed". Plain
/// numbers, for the standard library asks the system for zeros only where it sees that they are
/// zeros.
type Area = [u64; 3];

const BLANK_AREA: Area = [0; 3];

/// The bytes of a blank page.
const BLANK: u8 = 0xff;

const fn pack(oob: &Oob) -> Area {
    let beside = (oob.lpn.0 as u64) << 32 | (oob.note as u64) << 16 | (oob.stream as u64) << 8;
    [oob.sequence, oob.time, beside | 1]
}

const fn unpack(area: &Area) -> Option<Oob> {
    let [sequence, time, beside] = *area;
    if beside == 0 {
        return None;
    }
    Some(Oob {
        lpn: Lpn((beside >> 32) as u32),
        note: (beside >> 16) as u16,
        stream: (beside >> 8) as u8,
        sequence,
        time,
    })
}

impl Ram {
    /// An erased chip without bad blocks, which counts erases past its endurance but never dies.
    /// Where the size is a user's to choose, [`try_new`](Self::try_new) fails politely.
    #[must_use]
    pub fn new(geometry: Geometry, rules: Rules) -> Self {
        let blocks = geometry.blocks() as usize;
        let pages = blocks * geometry.pages_per_block as usize;
        Self {
            geometry,
            rules,
            wears_out: false,
            page_bits: geometry.page_bits(),
            blocks: vec![Block::default(); blocks],
            areas: vec![BLANK_AREA; pages],
            payload: vec![0; pages * geometry.page_size as usize],
        }
    }

    /// [`new`](Self::new), if the system can reserve that much memory.
    ///
    /// # Errors
    /// The system cannot reserve it.
    pub fn try_new(geometry: Geometry, rules: Rules) -> Result<Self, TryReserveError> {
        let pages = u64::from(geometry.blocks()) * u64::from(geometry.pages_per_block);
        let bytes = geometry.capacity().saturating_add(pages * size_of::<Area>() as u64);
        // The reservation is released untouched. `new` then allocates as much.
        Vec::<u8>::new().try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        Ok(Self::new(geometry, rules))
    }

    /// Marks factory-bad blocks; numbers beyond the chip mean nothing.
    #[must_use]
    pub fn with_bad_blocks(mut self, bad: &[BlockId]) -> Self {
        for &block in bad {
            if let Some(block) = self.blocks.get_mut(block.index()) {
                block.bad = true;
            }
        }
        self
    }

    /// Makes erases past the rated endurance fail, as a real chip's do sooner or later.
    #[must_use]
    pub const fn that_wears_out(mut self) -> Self {
        self.wears_out = true;
        self
    }

    /// The rules this chip enforces.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Blocks that must not be used.
    pub(crate) fn bad_blocks(&self) -> u32 {
        self.blocks.iter().filter(|block| block.bad).count() as u32
    }

    /// The block of a page, the page in it and its place among all pages, if there is such a page.
    #[inline]
    fn at(&self, ppn: Ppn) -> Result<(usize, u32, usize), FlashError> {
        let block = (ppn.0 >> self.page_bits) as usize;
        let page = ppn.0 & ((1 << self.page_bits) - 1);
        let pages = self.geometry.pages_per_block;
        if page >= pages || block >= self.blocks.len() {
            return Err(FlashError::OutOfRange);
        }
        Ok((block, page, block * pages as usize + page as usize))
    }

    /// Programs the area of a page if the rules allow it. Returns the page's index.
    #[inline]
    fn take_page(&mut self, to: Ppn, oob: &Oob) -> Result<usize, FlashError> {
        let (number, page, at) = self.at(to)?;
        let block = &mut self.blocks[number];
        if block.bad {
            return Err(FlashError::BadBlock(BlockId(number as u32)));
        }
        if self.areas[at] != BLANK_AREA {
            return Err(FlashError::NotErased(to));
        }
        if self.rules.in_order && page != block.next.max(self.geometry.header_pages) {
            return Err(FlashError::OutOfOrder(to));
        }
        block.next = block.next.max(page + 1);
        self.areas[at] = pack(oob);
        Ok(at)
    }
}

impl Medium for Ram {
    fn health(&self) -> Health {
        Health { bad_blocks: self.bad_blocks(), ..Health::default() }
    }
}

impl Flash for Ram {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn in_order(&self) -> bool {
        self.rules.in_order
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.blocks.get(block.index()).is_none_or(|block| block.bad)
    }

    /// A blank page reads as ones.
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        let (_, _, at) = self.at(from)?;
        if into.is_empty() {
            return Ok(());
        }
        let size = self.geometry.page_size as usize;
        if into.len() != size {
            return Err(FlashError::WrongLength(into.len()));
        }
        if self.areas[at] == BLANK_AREA {
            into.fill(BLANK);
        } else {
            into.copy_from_slice(&self.payload[at * size..][..size]);
        }
        Ok(())
    }

    fn may_fade(&self) -> bool {
        false
    }

    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        let (_, _, at) = self.at(from)?;
        Ok(unpack(&self.areas[at]))
    }

    /// A page programmed without a payload holds zeros.
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        let size = self.geometry.page_size as usize;
        if !data.is_empty() && data.len() != size {
            return Err(FlashError::WrongLength(data.len()));
        }
        let at = self.take_page(to, &oob)?;
        let payload = &mut self.payload[at * size..][..size];
        if data.is_empty() {
            payload.fill(0);
        } else {
            payload.copy_from_slice(data);
        }
        Ok(())
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        let (_, _, source) = self.at(from)?;
        if self.areas[source] == BLANK_AREA {
            return Err(FlashError::Unreadable(from));
        }
        let at = self.take_page(to, &oob)?;
        let size = self.geometry.page_size as usize;
        self.payload.copy_within(source * size..(source + 1) * size, at * size);
        Ok(())
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        let Some(it) = self.blocks.get_mut(block.index()) else {
            return Err(FlashError::OutOfRange);
        };
        if it.bad {
            return Err(FlashError::BadBlock(block));
        }
        if self.wears_out && it.erases >= self.rules.endurance {
            it.bad = true;
            return Err(FlashError::WornOut(block));
        }
        let first = block.index() * self.geometry.pages_per_block as usize;
        self.areas[first..][..it.next as usize].fill(BLANK_AREA);
        (it.next, it.erases) = (0, it.erases + 1);
        Ok(())
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.blocks.get_mut(block.index()).ok_or(FlashError::OutOfRange)?.bad = true;
        Ok(())
    }

    /// Nothing is held back.
    fn sync(&mut self) -> Result<(), FlashError> {
        Ok(())
    }
}

impl Condition for Ram {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.blocks.get(block.index()).map_or(0, |block| block.erases)
    }

    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        let (_, _, at) = self.at(from)?;
        if self.areas[at] == BLANK_AREA {
            return Err(FlashError::Unreadable(from));
        }
        self.read(from, into)
    }

    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        self.read_programmed(from, into)?;
        let (_, _, at) = self.at(from)?;
        Ok(unpack(&self.areas[at]))
    }
}

impl SimulatedTime for Ram {}
