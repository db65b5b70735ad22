//! Where what lies in an image file, and the header page that says so.

use thermocline_flash::{BlockId, Geometry, Kind, Rules};

use super::{checksum, error::Damage, record};

/// The version of the format this program writes, and the only one it reads.
pub const FORMAT_VERSION: u32 = 3;

/// Bytes of the header page, and of a group of the block table.
pub(super) const PAGE: usize = 4096;

/// The longest erase block, in pages: its areas are kept in memory whole.
pub(super) const MOST_PAGES: u32 = 1 << 18;

/// The largest page, in bytes: some are kept in memory.
pub(super) const LARGEST_PAGE: u32 = 16 << 20;

/// The largest erase block, in bytes: a layer that updates in place, and a NOR chip, keep one in memory.
pub(super) const LARGEST_BLOCK: u64 = 1 << 30;

/// The longest profile that fits, in bytes.
pub const PROFILE_BYTES: usize = 3072;

const MAGIC: [u8; 8] = *b"THERMOCL";
const CHECKSUM_AT: usize = PAGE - 4;

/// What an image says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Drawn when the image was made, to tell images apart.
    pub id: [u8; 16],
    /// NAND or NOR.
    pub kind: Kind,
    /// The shape of the chip.
    pub geometry: Geometry,
    /// The rules of the chip.
    pub rules: Rules,
    /// The device profile it was made by, in whatever form its maker wants it back.
    pub profile: String,
}

impl Header {
    /// The header page.
    pub(super) fn encode(&self) -> Vec<u8> {
        let (g, r) = (&self.geometry, &self.rules);
        let mut page = Vec::with_capacity(PAGE);
        page.extend(MAGIC);
        page.extend(FORMAT_VERSION.to_le_bytes());
        page.push(match self.kind {
            Kind::Nand => 0,
            Kind::Nor => 1,
        });
        page.push(u8::from(r.in_order));
        page.extend([0; 2]);
        page.extend(self.id);
        let numbers = [
            g.banks,
            g.channels,
            g.blocks_per_bank,
            g.pages_per_block,
            g.page_size,
            g.oob_size,
            g.header_pages,
            g.system_blocks,
            r.endurance,
            r.initial_bad_blocks,
        ];
        page.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        page.extend(Layout::of(self.kind, g).length.to_le_bytes());
        page.extend((self.profile.len() as u32).to_le_bytes());
        page.extend(self.profile.as_bytes());
        page.resize(CHECKSUM_AT, 0);
        let sum = checksum(&page);
        page.extend(sum.to_le_bytes());
        page
    }

    /// What the first page of a file says, if it is a header; and the length the file should have.
    pub(super) fn decode(page: &[u8]) -> Result<(Self, u64), Damage> {
        let mut rest = Fields(page);
        if rest.take::<8>() != MAGIC {
            return Err(Damage::NotAnImage);
        }
        // The version comes first: another one may have its checksum elsewhere.
        let version = rest.number();
        if version != FORMAT_VERSION {
            return Err(Damage::Version(version));
        }
        let sum = u32::from_le_bytes(Fields(&page[CHECKSUM_AT..]).take());
        if checksum(&page[..CHECKSUM_AT]) != sum {
            return Err(Damage::Header);
        }
        let [kind, in_order, _, _] = rest.take();
        let id = rest.take();
        let geometry = Geometry {
            banks: rest.number(),
            channels: rest.number(),
            blocks_per_bank: rest.number(),
            pages_per_block: rest.number(),
            page_size: rest.number(),
            oob_size: rest.number(),
            header_pages: rest.number(),
            system_blocks: rest.number(),
        };
        let rules = Rules {
            in_order: in_order != 0,
            endurance: rest.number(),
            initial_bad_blocks: rest.number(),
        };
        let length = u64::from_le_bytes(rest.take());
        let named = rest.number() as usize;
        let profile = rest.0.get(..named.min(PROFILE_BYTES)).unwrap_or_default();
        let profile = String::from_utf8_lossy(profile).into_owned();
        let kind = if kind == 1 { Kind::Nor } else { Kind::Nand };
        // The checksum fits, so these are what was written; still nothing may be computed from
        // figures that make no chip.
        let layout = geometry.check().ok().and_then(|()| Layout::checked(kind, &geometry).ok());
        if layout.is_none_or(|layout| layout.length != length) {
            return Err(Damage::Header);
        }
        Ok((Self { id, kind, geometry, rules, profile }, length))
    }
}

/// Fields of a header, one after the other. The header page is long enough for all of them.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("the page is longer than its fields");
        self.0 = rest;
        *field
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }
}

/// Where the parts of the file begin, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub kind: Kind,
    pub geometry: Geometry,
    /// Groups of the block table; each has two slots, side by side.
    pub groups: u32,
    /// Bytes of a block's areas that are read and written as one: whole records and whole sectors.
    pub areas_bytes: usize,
    areas: u64,
    payload: u64,
    /// The second copies of the areas, and of the payload of the system blocks.
    second_areas: u64,
    second_log: u64,
    /// Bytes of the file.
    pub length: u64,
}

/// Blocks of which a group of the block table tells.
pub(super) const GROUP_BLOCKS: u32 = ((PAGE - 32) / 4) as u32;

impl Layout {
    /// The layout of a chip's image, if the chip can have one.
    pub(super) fn checked(kind: Kind, geometry: &Geometry) -> Result<Self, Damage> {
        if geometry.pages_per_block > MOST_PAGES {
            return Err(Damage::LongBlocks);
        }
        let pages = u128::from(geometry.blocks()) * u128::from(geometry.pages_per_block);
        // Payload, areas, and more than the table and the second copies take.
        if pages * (u128::from(geometry.page_size) + 4096) > 1 << 61 {
            return Err(Damage::TooLarge);
        }
        if geometry.page_size > LARGEST_PAGE || geometry.block_size() > LARGEST_BLOCK {
            return Err(Damage::LargeBlocks);
        }
        let layout = Self::of(kind, geometry);
        let header = geometry.header_pages as usize * geometry.page_size as usize;
        if kind == Kind::Nor && layout.areas_bytes > header {
            let pages = layout.areas_bytes.div_ceil(geometry.page_size as usize);
            return Err(Damage::HeaderPages(layout.areas_bytes, pages as u32));
        }
        Ok(layout)
    }

    /// The layout of a chip that [`checked`](Self::checked) let pass.
    pub(super) fn of(kind: Kind, geometry: &Geometry) -> Self {
        let blocks = u64::from(geometry.blocks());
        let groups = geometry.blocks().div_ceil(GROUP_BLOCKS);
        let table_end = PAGE as u64 * (1 + 2 * u64::from(groups));
        // Direct I/O on disks with sectors of 4096 bytes is possible with pages of whole sectors.
        let whole = if geometry.page_size.is_multiple_of(PAGE as u32) { PAGE } else { 512 };
        let records = match kind {
            Kind::Nand => geometry.pages_per_block as usize,
            // The segment header, and an entry for each page behind it.
            Kind::Nor => 1 + geometry.data_pages_per_block() as usize,
        };
        let areas_bytes = (records * record::BYTES).next_multiple_of(whole);
        let payload = match kind {
            Kind::Nand => (table_end + blocks * areas_bytes as u64).next_multiple_of(PAGE as u64),
            Kind::Nor => table_end,
        };
        let page = PAGE as u64;
        // Far from the first ones: what spoils a part of a disk spoils one of them.
        let second_areas = (payload + geometry.capacity()).next_multiple_of(page);
        let second_log = (second_areas + blocks * areas_bytes as u64).next_multiple_of(page);
        let log = u64::from(geometry.system_blocks) * geometry.block_size();
        Self {
            kind,
            geometry: *geometry,
            groups,
            areas_bytes,
            areas: table_end,
            payload,
            second_areas,
            second_log,
            length: (second_log + log).next_multiple_of(page) + page,
        }
    }

    /// Whether pages and areas can be read and written in blocks of that many bytes.
    pub(super) const fn fits(&self, unit: usize) -> bool {
        let page = self.geometry.page_size as usize;
        page.is_multiple_of(unit) && self.areas_bytes.is_multiple_of(unit)
    }

    /// Where the second copies begin: nothing stands behind that does not stand before.
    pub(super) const fn second_copies(&self) -> u64 {
        self.second_areas
    }

    /// The second copy of the header page: the file's last page.
    pub(super) const fn second_header(&self) -> u64 {
        self.length - PAGE as u64
    }

    /// A slot of a group of the block table.
    pub(super) const fn group(&self, group: u32, slot: u32) -> u64 {
        PAGE as u64 * (1 + 2 * group as u64 + slot as u64)
    }

    /// The areas of a block: beside the payload on NAND, in the block's header page on NOR.
    pub(super) const fn areas_of(&self, block: BlockId) -> u64 {
        match self.kind {
            Kind::Nand => self.areas + block.0 as u64 * self.areas_bytes as u64,
            Kind::Nor => self.payload_of(block, 0),
        }
    }

    /// The second copy of them.
    pub(super) const fn second_areas_of(&self, block: BlockId) -> u64 {
        self.second_areas + block.0 as u64 * self.areas_bytes as u64
    }

    /// The payload of a page.
    pub(super) const fn payload_of(&self, block: BlockId, page: u32) -> u64 {
        let pages = block.0 as u64 * self.geometry.pages_per_block as u64 + page as u64;
        self.payload + pages * self.geometry.page_size as u64
    }

    /// The second copy of a page's payload: only pages of the index log have one.
    pub(super) fn second_payload_of(&self, block: BlockId, page: u32) -> Option<u64> {
        let number = block.0.checked_sub(self.geometry.data_blocks())?;
        let pages = u64::from(number) * u64::from(self.geometry.pages_per_block) + u64::from(page);
        Some(self.second_log + pages * u64::from(self.geometry.page_size))
    }

    /// The page whose payload is there, or the second copy of it.
    pub(super) fn page_at(&self, at: u64) -> (BlockId, u32) {
        let (first, begin) = match at.checked_sub(self.second_log) {
            Some(behind) => (self.geometry.data_blocks(), behind),
            None => (0, at - self.payload),
        };
        let page = begin / u64::from(self.geometry.page_size);
        let per_block = u64::from(self.geometry.pages_per_block);
        (BlockId(first + (page / per_block) as u32), (page % per_block) as u32)
    }

    /// Where in a block's areas the record of a page begins; nothing for a page that has none.
    pub(super) const fn record_of(&self, page: u32) -> Option<usize> {
        let record = match self.kind {
            Kind::Nand => page,
            Kind::Nor if page < self.geometry.header_pages => return None,
            Kind::Nor => 1 + page - self.geometry.header_pages,
        };
        Some(record as usize * record::BYTES)
    }
}
