//! Ways to damage an image.

use std::ops::Range;

use super::{Draws, history::History};

/// Bytes of the header page and of a slot of the block table.
pub(super) const PAGE: usize = 4096;
const RECORD: usize = 32;

/// A kind of damage.
#[derive(Clone, Copy)]
pub struct Class {
    pub name: &'static str,
    harm: fn(&mut Harm<'_>, &mut Draws),
}

/// One of them.
pub const LOG_AREAS: &str = "areas of the log";

pub const CLASSES: &[Class] = &[
    Class { name: "bits", harm: |harm, draws| harm.spoil(draws, Spoil::Bits) },
    Class { name: "zeros", harm: |harm, draws| harm.spoil(draws, Spoil::Zeros) },
    Class { name: "ones", harm: |harm, draws| harm.spoil(draws, Spoil::Ones) },
    Class { name: "junk", harm: |harm, draws| harm.spoil(draws, Spoil::Junk) },
    Class { name: "torn ends", harm: |harm, draws| harm.tear(draws) },
    Class { name: "junk behind an end", harm: |harm, draws| harm.junk_behind(draws) },
    Class { name: "pages swapped", harm: |harm, draws| harm.swap(draws) },
    Class { name: "pages duplicated", harm: |harm, draws| harm.duplicate(draws) },
    Class { name: "older pages", harm: |harm, draws| harm.older_page(draws) },
    Class { name: "older blocks", harm: |harm, draws| harm.older_block(draws) },
    Class { name: "older blocks", harm: |harm, draws| harm.older_block(draws) },
    Class { name: "older log pages", harm: |harm, draws| harm.older_log_page(draws) },
    Class { name: "older log blocks", harm: |harm, draws| harm.older_log_block(draws) },
    Class { name: "older areas", harm: |harm, draws| harm.older_areas(draws) },
    Class { name: "header and table", harm: |harm, draws| harm.header(draws) },
    Class { name: LOG_AREAS, harm: |harm, draws| harm.log_areas(draws) },
    Class { name: "cut off", harm: |harm, draws| harm.cut(draws) },
    Class { name: "several", harm: |harm, draws| harm.several(draws) },
    Class { name: "several", harm: |harm, draws| harm.several(draws) },
];

#[derive(Clone, Copy, Debug)]
enum Spoil {
    Bits,
    Zeros,
    Ones,
    Junk,
}

/// An image being damaged.
pub struct Harm<'a> {
    history: &'a History,
    pub bytes: Vec<u8>,
    /// Bytes of the file.
    pub length: u64,
    pub what: String,
}

impl<'a> Harm<'a> {
    /// None so far.
    pub fn whole(history: &'a History) -> Self {
        let bytes = history.image().to_vec();
        Self { history, length: bytes.len() as u64, bytes, what: String::new() }
    }

    /// The image in the end with damage of a class; nothing where the damage would change nothing.
    pub fn of(history: &'a History, class: Class, draws: &mut Draws) -> Option<Self> {
        for _ in 0..20 {
            let mut harm = Self::whole(history);
            (class.harm)(&mut harm, draws);
            // What spoils one copy alone costs nothing, so mostly both are.
            if draws.below(8) > 0 {
                harm.spoil_seconds();
            }
            if harm.bytes != history.image() {
                return Some(harm);
            }
        }
        None
    }

    pub(super) fn blocks(&self) -> u32 {
        self.history.geometry.blocks()
    }

    pub(super) fn pages(&self) -> u32 {
        self.history.geometry.pages_per_block
    }

    pub(super) fn table(&self) -> Range<usize> {
        PAGE..PAGE * (1 + 2 * (self.blocks() as usize).div_ceil(1016))
    }

    fn areas_bytes(&self) -> usize {
        (self.pages() as usize * RECORD).next_multiple_of(512)
    }

    fn areas(&self, block: u32) -> Range<usize> {
        let first = self.table().end + block as usize * self.areas_bytes();
        first..first + self.pages() as usize * RECORD
    }

    pub(super) fn area(&self, block: u32, page: u32) -> Range<usize> {
        let first = self.areas(block).start + page as usize * RECORD;
        first..first + RECORD
    }

    pub(super) fn payload(&self, block: u32, page: u32) -> Range<usize> {
        let start = self.table().end + self.blocks() as usize * self.areas_bytes();
        let number = block as usize * self.pages() as usize + page as usize;
        let size = self.history.geometry.page_size as usize;
        let first = start.next_multiple_of(PAGE) + number * size;
        first..first + size
    }

    /// Where the second copies of the areas begin, and of the pages of the log.
    pub(super) fn seconds(&self) -> [usize; 2] {
        let end = self.payload(self.blocks() - 1, self.pages() - 1).end.next_multiple_of(PAGE);
        let areas = self.blocks() as usize * self.areas_bytes();
        [end, (end + areas).next_multiple_of(PAGE)]
    }

    /// Repeats the damage of first copies on the second ones.
    pub(super) fn spoil_seconds(&mut self) {
        let [areas, log] = self.seconds();
        let first = self.areas(0).start;
        let first_log = self.payload(self.log().start, 0).start;
        let end = self.payload(self.blocks() - 1, self.pages() - 1).end;
        let all = self.areas(self.blocks() - 1).end - first;
        for (from, to, bytes) in [(first, areas, all), (first_log, log, end - first_log)] {
            let was = &self.history.image()[from..from + bytes];
            for (at, was) in was.iter().enumerate() {
                if self.bytes.get(from + at).is_some_and(|is| is != was) {
                    let is = self.bytes[from + at];
                    self.bytes.get_mut(to + at).into_iter().for_each(|byte| *byte = is);
                }
            }
        }
    }

    /// Flips a bit in the area of the first page of each log block.
    pub fn spoil_heads(&mut self) {
        for block in self.log() {
            let area = self.area(block, 0);
            if self.bytes[area.start] == 0xa1 {
                self.bytes[area.start + 5] ^= 1;
            }
        }
        self.spoil_seconds();
    }

    pub(super) fn say(&mut self, what: &str) {
        self.what = format!("{} {what}", self.what);
    }

    fn is_blank(&self, block: u32, page: u32) -> bool {
        let area = &self.bytes[self.area(block, page)];
        area.iter().all(|&byte| byte == 0xff) || area.iter().all(|&byte| byte == 0)
    }

    /// A page that is not blank, of a block of those.
    pub(super) fn written(&self, draws: &mut Draws, blocks: Range<u32>) -> (u32, u32) {
        loop {
            let block = blocks.start + draws.below(blocks.end - blocks.start);
            let page = draws.below(self.pages());
            if !self.is_blank(block, page) {
                return (block, page);
            }
        }
    }

    fn data(&self) -> Range<u32> {
        0..self.history.geometry.data_blocks()
    }

    pub(super) fn log(&self) -> Range<u32> {
        self.history.geometry.data_blocks()..self.blocks()
    }

    /// Blocks of data mostly, else of the log.
    pub(super) fn some(&self, draws: &mut Draws) -> Range<u32> {
        if draws.one_in(4) { self.log() } else { self.data() }
    }

    fn spoil(&mut self, draws: &mut Draws, how: Spoil) {
        let blocks = self.some(draws);
        let (block, page) = self.written(draws, blocks);
        let range = match draws.below(5) {
            0 => self.payload(block, page),
            1 => self.area(block, page),
            2 => self.areas(block),
            3 => self.payload(block, 0).start..self.payload(block, self.pages() - 1).end,
            _ => {
                let range = self.payload(block, page);
                let at = range.start + draws.below(range.len() as u32) as usize;
                at..(at + 1 + draws.below(64) as usize).min(range.end)
            }
        };
        self.say(&format!("{how:?} in {range:?}, block {block} page {page}"));
        for byte in &mut self.bytes[range.clone()] {
            match how {
                Spoil::Bits => {}
                Spoil::Zeros => *byte = 0,
                Spoil::Ones => *byte = 0xff,
                Spoil::Junk => *byte = draws.below(256) as u8,
            }
        }
        if matches!(how, Spoil::Bits) {
            for _ in 0..1 + draws.below(8) {
                let at = range.start + draws.below(range.len() as u32) as usize;
                self.bytes[at] ^= 1 << draws.below(8);
            }
        }
    }

    /// The end of a page has its former content, or zeros.
    fn tear(&mut self, draws: &mut Draws) {
        let blocks = self.some(draws);
        let (block, page) = self.written(draws, blocks);
        let range = self.payload(block, page);
        let from = range.start + draws.below(range.len() as u32) as usize;
        let range = from..range.end;
        self.say(&format!("torn from {from}, block {block} page {page}"));
        match self.older(draws) {
            Some(older) => self.bytes[range.clone()].copy_from_slice(&older[range]),
            None => self.bytes[range].fill(0),
        }
    }

    fn junk_behind(&mut self, draws: &mut Draws) {
        let ends: Vec<(u32, u32)> = self
            .data()
            .filter(|&block| !self.is_blank(block, 0))
            .filter_map(|block| {
                (1..self.pages()).find(|&p| self.is_blank(block, p)).map(|p| (block, p))
            })
            .collect();
        if ends.is_empty() {
            return;
        }
        let (block, page) = ends[draws.below(ends.len() as u32) as usize];
        let page = if draws.one_in(3) { page + draws.below(self.pages() - page) } else { page };
        self.say(&format!("junk behind the end, block {block} page {page}"));
        for at in self.area(block, page) {
            self.bytes[at] = draws.below(256) as u8;
        }
    }

    fn swap(&mut self, draws: &mut Draws) {
        let blocks = self.some(draws);
        let (a, b) = (self.written(draws, blocks.clone()), self.written(draws, blocks));
        self.say(&format!("{a:?} swapped with {b:?}"));
        for (a, b) in [
            (self.payload(a.0, a.1), self.payload(b.0, b.1)),
            (self.area(a.0, a.1), self.area(b.0, b.1)),
        ] {
            let (was, other) = (self.bytes[a.clone()].to_vec(), self.bytes[b.clone()].to_vec());
            self.bytes[a].copy_from_slice(&other);
            self.bytes[b].copy_from_slice(&was);
        }
    }

    fn duplicate(&mut self, draws: &mut Draws) {
        let blocks = self.some(draws);
        let (a, b) = (self.written(draws, blocks.clone()), self.written(draws, blocks));
        self.say(&format!("{a:?} written to {b:?}"));
        let (payload, area) = (self.payload(a.0, a.1), self.area(a.0, a.1));
        let (to, beside) = (self.payload(b.0, b.1).start, self.area(b.0, b.1).start);
        self.bytes.copy_within(payload, to);
        self.bytes.copy_within(area, beside);
    }

    fn older(&self, draws: &mut Draws) -> Option<&'a [u8]> {
        let older = self.history.older();
        (!older.is_empty()).then(|| &older[draws.below(older.len() as u32) as usize][..])
    }

    fn put_back(&mut self, older: &[u8], range: Range<usize>) {
        self.bytes[range.clone()].copy_from_slice(&older[range]);
    }

    fn put_page_back(&mut self, draws: &mut Draws, blocks: Range<u32>) {
        let (block, page) = self.written(draws, blocks);
        let Some(older) = self.older(draws) else { return };
        self.say(&format!("an older page in block {block} page {page}"));
        self.put_back(older, self.payload(block, page));
        self.put_back(older, self.area(block, page));
    }

    fn put_block_back(&mut self, draws: &mut Draws, blocks: Range<u32>) {
        let (block, _) = self.written(draws, blocks);
        let Some(older) = self.older(draws) else { return };
        self.say(&format!("an older block {block}"));
        self.put_back(
            older,
            self.payload(block, 0).start..self.payload(block, self.pages() - 1).end,
        );
        self.put_back(older, self.areas(block));
    }

    fn older_page(&mut self, draws: &mut Draws) {
        self.put_page_back(draws, self.data());
    }

    fn older_block(&mut self, draws: &mut Draws) {
        self.put_block_back(draws, self.data());
    }

    fn older_log_page(&mut self, draws: &mut Draws) {
        self.put_page_back(draws, self.log());
    }

    fn older_log_block(&mut self, draws: &mut Draws) {
        self.put_block_back(draws, self.log());
    }

    fn older_areas(&mut self, draws: &mut Draws) {
        let blocks = self.some(draws);
        let (block, _) = self.written(draws, blocks);
        let Some(older) = self.older(draws) else { return };
        self.say(&format!("older areas of block {block}"));
        self.put_back(older, self.areas(block));
    }

    /// The areas of some blocks of the log, the newest mostly among them.
    fn log_areas(&mut self, draws: &mut Draws) {
        let turn = |block: u32| {
            let area = &self.bytes[self.area(block, 0)];
            u64::from_le_bytes(area[8..16].try_into().expect("8 bytes"))
        };
        let written = self.log().filter(|&block| !self.is_blank(block, 0));
        let newest = written.max_by_key(|&block| turn(block));
        let blocks: Vec<u32> = self
            .log()
            .filter(|&b| Some(b) == newest && !draws.one_in(4) || draws.one_in(4))
            .collect();
        for block in blocks {
            let from = draws.below(self.pages());
            let range = self.area(block, from).start..self.areas(block).end;
            self.say(&format!("junk over areas of block {block} of the log from {from} on"));
            for at in range {
                self.bytes[at] = draws.below(256) as u8;
            }
        }
    }

    fn header(&mut self, draws: &mut Draws) {
        let first = if draws.one_in(2) { 0 } else { self.bytes.len() - PAGE };
        let (header, table) = (first..first + PAGE, self.table());
        match draws.below(4) {
            0 => {
                self.say("the header page");
                let at = header.start + draws.below(header.len() as u32) as usize;
                self.bytes[at] ^= 1 << draws.below(8);
            }
            1 => {
                self.say("zeros over the header page");
                self.bytes[header].fill(0);
            }
            2 => {
                self.say("the block table");
                for _ in 0..1 + draws.below(4) {
                    let at = table.start + draws.below(table.len() as u32) as usize;
                    self.bytes[at] ^= 1 << draws.below(8);
                }
            }
            _ => {
                let Some(older) = self.older(draws) else { return };
                self.say("an older block table");
                self.put_back(older, table);
            }
        }
    }

    fn cut(&mut self, draws: &mut Draws) {
        let length = draws.below(self.bytes.len() as u32) as usize;
        self.say(&format!("cut to {length} bytes"));
        self.bytes.truncate(length);
    }

    fn several(&mut self, draws: &mut Draws) {
        for _ in 0..2 + draws.below(2) {
            let others = CLASSES.iter().filter(|c| !["several", "cut off"].contains(&c.name));
            let others: Vec<_> = others.collect();
            (others[draws.below(others.len() as u32) as usize].harm)(self, draws);
        }
    }
}
