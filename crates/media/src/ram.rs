//! A chip in memory.
//!
//! What always holds: a page is blank or has an out-of-band area; where the chip demands order, the
//! pages that are not blank are the first of their block (header pages, which nobody programs,
//! aside). A block takes memory only once it is programmed.

use thermocline_flash::{BlockId, Flash, FlashError, Geometry, Oob, Ppn, Rules};

/// A chip that keeps what is programmed, in memory.
#[derive(Clone, Debug)]
pub struct Ram {
    geometry: Geometry,
    rules: Rules,
    blocks: Vec<Block>,
    wears_out: bool,
}

#[derive(Clone, Debug, Default)]
struct Block {
    /// Of each page; nothing while the whole block is blank.
    oobs: Vec<Option<Oob>>,
    payload: Vec<u8>,
    /// The page behind the last one programmed.
    next: u32,
    erases: u32,
    bad: bool,
}

/// What a blank page reads as.
const BLANK: u8 = 0xff;

impl Ram {
    /// An erased chip without bad blocks, which counts erases past its endurance but never dies.
    #[must_use]
    pub fn new(geometry: Geometry, rules: Rules) -> Self {
        let blocks = vec![Block::default(); geometry.blocks() as usize];
        Self { geometry, rules, blocks, wears_out: false }
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

    /// The block of a page, and the page in it, if there is such a page.
    fn at(&self, ppn: Ppn) -> Result<(&Block, usize), FlashError> {
        let page = self.geometry.page_of(ppn);
        let block = self.blocks.get(self.geometry.block_of(ppn).index());
        match block {
            Some(block) if page < self.geometry.pages_per_block => Ok((block, page as usize)),
            _ => Err(FlashError::OutOfRange),
        }
    }

    /// The payload of a page; nothing if it is blank.
    fn payload(&self, ppn: Ppn) -> Result<Option<&[u8]>, FlashError> {
        let (block, page) = self.at(ppn)?;
        let size = self.geometry.page_size as usize;
        let is_programmed = block.oobs.get(page).is_some_and(Option::is_some);
        Ok(is_programmed.then(|| &block.payload[page * size..][..size]))
    }

    /// Programs a page that may be programmed now, and hands out its payload to be filled.
    fn take_page(&mut self, to: Ppn, oob: Oob) -> Result<&mut [u8], FlashError> {
        let (block, page) = self.at(to)?;
        if block.bad {
            return Err(FlashError::BadBlock(self.geometry.block_of(to)));
        }
        if block.oobs.get(page).is_some_and(Option::is_some) {
            return Err(FlashError::NotErased(to));
        }
        if self.rules.in_order && page as u32 != block.next.max(self.geometry.header_pages) {
            return Err(FlashError::OutOfOrder(to));
        }
        let (size, pages) = (self.geometry.page_size as usize, self.geometry.pages_per_block);
        let block = &mut self.blocks[self.geometry.block_of(to).index()];
        if block.oobs.is_empty() {
            block.oobs = vec![None; pages as usize];
            block.payload = vec![BLANK; pages as usize * size];
        }
        block.oobs[page] = Some(oob);
        block.next = block.next.max(page as u32 + 1);
        Ok(&mut block.payload[page * size..][..size])
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
        let payload = self.payload(from)?;
        if into.is_empty() {
            return Ok(());
        }
        if into.len() != self.geometry.page_size as usize {
            return Err(FlashError::WrongLength(into.len()));
        }
        match payload {
            Some(payload) => into.copy_from_slice(payload),
            None => into.fill(BLANK),
        }
        Ok(())
    }

    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        let (block, page) = self.at(from)?;
        Ok(block.oobs.get(page).copied().flatten())
    }

    /// A page programmed without a payload holds zeros.
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        if !data.is_empty() && data.len() != self.geometry.page_size as usize {
            return Err(FlashError::WrongLength(data.len()));
        }
        let payload = self.take_page(to, oob)?;
        if data.is_empty() {
            payload.fill(0);
        } else {
            payload.copy_from_slice(data);
        }
        Ok(())
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        let Some(data) = self.payload(from)?.map(<[u8]>::to_vec) else {
            return Err(FlashError::Unreadable(from));
        };
        self.take_page(to, oob)?.copy_from_slice(&data);
        Ok(())
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        let endurance = self.rules.endurance;
        let Some(it) = self.blocks.get_mut(block.index()) else {
            return Err(FlashError::OutOfRange);
        };
        if it.bad {
            return Err(FlashError::BadBlock(block));
        }
        if self.wears_out && it.erases >= endurance {
            it.bad = true;
            return Err(FlashError::WornOut(block));
        }
        *it = Block { erases: it.erases + 1, ..Block::default() };
        Ok(())
    }

    fn erase_count(&self, block: BlockId) -> u32 {
        self.blocks.get(block.index()).map_or(0, |block| block.erases)
    }
}
