//! The simulator's chip for the layer of microcontrollers. It also stores what a counting chip does
//! not: the map pages and the out-of-band area of each page.

use std::collections::BTreeMap;

use thermocline_embedded::{AREA, Area, Content, Found, Geometry, Nand, NandError};
use thermocline_flash::{BlockId, CountingChip, Flash, FlashError, Lpn, Oob, Ppn};

/// A counting chip that stores the map.
pub(crate) struct MapKeeping {
    pub(crate) chip: CountingChip,
    shape: Geometry,
    map: BTreeMap<u32, Box<[u8]>>,
    areas: Vec<[u8; AREA]>,
}

impl MapKeeping {
    pub(crate) fn new(chip: CountingChip) -> Self {
        let geometry = chip.geometry();
        let shape = Geometry {
            blocks: geometry.data_blocks(),
            pages: geometry.data_pages_per_block(),
            page_size: geometry.page_size,
        };
        let areas = vec![[0xff; AREA]; shape.blocks as usize * shape.pages as usize];
        Self { chip, shape, map: BTreeMap::new(), areas }
    }

    /// The physical page with this number.
    pub(crate) fn ppn(&self, page: u32) -> Ppn {
        let geometry = self.chip.geometry();
        let (block, page) = (page / self.shape.pages, page % self.shape.pages);
        geometry.ppn(BlockId(block), geometry.header_pages + page)
    }

    /// An entry of the map.
    pub(crate) fn entry(&self, page: u32, offset: u32) -> u32 {
        let bytes = self.map.get(&page).map_or(&[][..], |page| &page[offset as usize..]);
        bytes.iter().take(3).rev().fold(0, |entry, byte| entry << 8 | u32::from(*byte))
    }

    /// The out-of-band area of a page.
    pub(crate) fn area_of(&self, page: u32) -> Found {
        Area::decode(&self.areas[page as usize])
    }
}

fn failed(error: FlashError) -> NandError {
    match error {
        FlashError::Unreadable(_) => NandError::Unreadable,
        FlashError::WornOut(_) | FlashError::ProgramFailed(_) | FlashError::EraseFailed(_) => {
            NandError::Failed
        }
        _ => NandError::Device,
    }
}

/// The out-of-band area of a page in the chip's form.
fn oob(bytes: &[u8; AREA]) -> Oob {
    let (stream, lpn, sequence) = match Area::decode(bytes) {
        Found::Page(Area { content: Content::Data(stream), number, sequence, .. }) => {
            (stream, Lpn(number), sequence)
        }
        Found::Page(Area { sequence, .. }) => {
            (thermocline_embedded::MAX_STREAMS as u8 + 1, Lpn::NONE, sequence)
        }
        Found::Blank | Found::Torn => (0, Lpn::NONE, 0),
    };
    Oob { lpn, stream, sequence, time: 0, note: 0 }
}

impl Nand for MapKeeping {
    fn geometry(&self) -> Geometry {
        self.shape
    }

    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        self.chip.read(self.ppn(page), &mut []).map_err(failed)?;
        match self.map.get(&page) {
            Some(content) => into.copy_from_slice(&content[offset as usize..][..into.len()]),
            None => into.fill(0),
        }
        Ok(())
    }

    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.chip.read_oob(self.ppn(page)).map_err(failed)?;
        *into = self.areas[page as usize];
        Ok(())
    }

    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        let oob = oob(area);
        self.chip.program(self.ppn(page), oob, &[]).map_err(failed)?;
        if oob.lpn == Lpn::NONE {
            self.map.insert(page, data.into());
        }
        self.areas[page as usize] = *area;
        Ok(())
    }

    fn copy(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        _: &mut [u8],
    ) -> Result<(), NandError> {
        self.chip.copy(self.ppn(from), self.ppn(to), oob(area)).map_err(failed)?;
        self.areas[to as usize] = *area;
        Ok(())
    }

    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.chip.erase(BlockId(block)).map_err(failed)?;
        let pages = block * self.shape.pages..(block + 1) * self.shape.pages;
        self.areas[pages.start as usize..pages.end as usize].fill([0xff; AREA]);
        while let Some((&page, _)) = self.map.range(pages.clone()).next() {
            self.map.remove(&page);
        }
        Ok(())
    }

    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        Ok(self.chip.is_bad(BlockId(block)))
    }

    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        self.chip.mark_bad(BlockId(block)).map_err(failed)
    }

    /// Nothing is ever mounted: all blocks are the log's, as in the served layer.
    fn keeps_snapshots(&self) -> bool {
        false
    }
}
