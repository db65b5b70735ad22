//! A volume made by `mke2fs -t ext4 -b 1024 -J size=1` (1.47.0, `E2FSPROGS_FAKE_TIME=1577836800`) of 40 MiB: five groups, two bitmaps
//! uninitialised. The file has what is not zero.

use std::{collections::BTreeMap, ops::Range};

use crate::disk::{SECTOR, Sector};

const IMAGES: [(&str, &[u8]); 1] = [("ext4", include_bytes!("images/ext4"))];

/// A volume, with its numbers read from the image.
#[derive(Clone, Debug)]
pub struct ExtImage {
    pub begin: u64,
    /// The sectors that are not zero.
    sectors: BTreeMap<u64, Sector>,
    pub per_block: u32,
    pub first: u32,
    pub blocks: u32,
    per_group: u32,
    /// The block of each group's bitmap.
    pub bitmaps: Vec<u32>,
    /// The sector of the journal's superblock.
    pub journal: Option<u64>,
}

impl ExtImage {
    pub fn new(name: &str, begin: u64) -> Self {
        let (_, mut runs) = IMAGES.into_iter().find(|(n, _)| *n == name).expect("an image");
        let mut sectors = BTreeMap::new();
        while let Some((head, rest)) = runs.split_first_chunk::<6>() {
            let at = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
            let (bytes, rest) = rest.split_at(u16::from_le_bytes([head[4], head[5]]).into());
            for (at, byte) in (at..).zip(bytes) {
                let sector: &mut Sector =
                    sectors.entry(begin + (at / SECTOR) as u64).or_insert([0; SECTOR]);
                sector[at % SECTOR] = *byte;
            }
            runs = rest;
        }
        let superblock = sectors[&(begin + 2)];
        let field =
            |at: usize| u32::from_le_bytes(superblock[at..at + 4].try_into().expect("four bytes"));
        let (first, blocks, per_group) = (field(20), field(4), field(32));
        let mut image = Self {
            begin,
            sectors,
            per_block: 2 << field(24),
            first,
            blocks,
            per_group,
            bitmaps: vec![],
            journal: None,
        };
        let size = if field(96) & 0x80 != 0 { 64 } else { 32 };
        let groups = (blocks - first).div_ceil(per_group) as usize;
        let table = image.descriptors();
        let descriptors: Vec<u8> = (0..8).flat_map(|i| image.content(table + i)).collect();
        let number =
            |at: usize| u32::from_le_bytes(descriptors[at..at + 4].try_into().expect("four bytes"));
        image.bitmaps = (0..groups).map(|group| number(group * size)).collect();
        let superblocks = image
            .sectors
            .iter()
            .filter(|(_, content)| content.starts_with(&[0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, 4]));
        image.journal = superblocks.map(|(sector, _)| *sector).next();
        image
    }

    /// The first sector of the group descriptors.
    pub fn descriptors(&self) -> u64 {
        self.block(self.first + 1).start
    }

    pub fn total(&self) -> u64 {
        self.begin + u64::from(self.blocks) * u64::from(self.per_block)
    }

    pub fn block(&self, block: u32) -> Range<u64> {
        let first = self.begin + u64::from(block) * u64::from(self.per_block);
        first..first + u64::from(self.per_block)
    }

    pub fn content(&self, sector: u64) -> Sector {
        self.sectors.get(&sector).copied().unwrap_or([0; SECTOR])
    }

    /// The sectors that are not zero, in ascending order.
    pub fn format(&self) -> Vec<(u64, Sector)> {
        self.sectors.iter().map(|(sector, content)| (*sector, *content)).collect()
    }

    /// The sector of the bitmap that holds a block's bit.
    pub fn bitmap_sector(&self, block: u32) -> u64 {
        let (group, bit) = self.place(block);
        self.block(self.bitmaps[group]).start + u64::from(bit / 4096)
    }

    /// The bit of a block in that sector.
    pub fn bit(&self, block: u32) -> usize {
        self.place(block).1 as usize % 4096
    }

    fn place(&self, block: u32) -> (usize, u32) {
        let number = block - self.first;
        ((number / self.per_group) as usize, number % self.per_group)
    }

    /// Some free blocks in the middle of the longest run of them, which is where the groups of
    /// `ext4` meet.
    pub fn free(&self) -> Range<u32> {
        let used = self.used();
        let mut longest = 0..0;
        let mut start = self.first;
        for block in self.first..self.blocks {
            if used[block as usize] {
                start = block + 1;
            } else if block + 1 - start > longest.len() as u32 {
                longest = start..block + 1;
            }
        }
        let middle = longest.start.midpoint(longest.end);
        middle - 300..middle + 300
    }

    /// Which blocks are in use. Bitmaps that were never initialised are empty but for the copies of
    /// the superblock.
    pub fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.blocks as usize];
        for block in self.first..self.blocks {
            let bitmap = self.content(self.bitmap_sector(block));
            let bit = self.bit(block);
            used[block as usize] = bitmap[bit / 8] >> (bit % 8) & 1 != 0;
        }
        for group in 1..self.bitmaps.len() as u32 {
            let first = self.first + group * self.per_group;
            if self.content(self.block(first).start).get(56..58) == Some(&[0x53, 0xef]) {
                // With one block of descriptors and 256 reserved ones; the smaller images have no
                // uninitialised bitmaps.
                used[first as usize..first as usize + 258].fill(true);
            }
        }
        used
    }

    /// A sector of a bitmap with these blocks in use.
    pub fn bitmap_content(&self, used: &[bool], sector: u64) -> Sector {
        let mut s = [0xff; SECTOR];
        let block = ((sector - self.begin) / u64::from(self.per_block)) as u32;
        let group = self.bitmaps.iter().position(|bitmap| *bitmap == block).expect("a bitmap");
        let index = (sector - self.block(block).start) as u32;
        for bit in 0..4096 {
            let in_group = index * 4096 + bit;
            let number = self.first + group as u32 * self.per_group + in_group;
            let is_block = in_group < self.per_group && number < self.blocks;
            if is_block && !used[number as usize] {
                s[bit as usize / 8] &= !(1 << (bit % 8));
            }
        }
        s
    }

    /// The journal's superblock with this number as that of its oldest transaction.
    pub fn journal_superblock(&self, transaction: u32) -> Sector {
        let mut s = self.content(self.journal.expect("a journal"));
        s[24..28].copy_from_slice(&transaction.to_be_bytes());
        s
    }
}
