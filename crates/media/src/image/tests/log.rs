//! A little log on an image, and a model of what a loss of power may leave of it.
//!
//! The log is the least that needs what the contract of [`Flash`] promises: pages are written to the
//! next page of an open block, the copy with the greatest sequence is the newest, blocks are cleaned
//! by copying and erased, and after a loss of power every area is read.

use std::{collections::BTreeMap, path::Path};

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Kind, Lpn, Oob, Ppn};

use super::{
    super::{Image, Open, layout::Layout, runs::Runs, write_blank, write_headers},
    Chip,
    volatile::{Draw, Volatile},
};
use crate::{Medium, Syncing};

const LOGICAL: usize = 40;

/// What a page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Blank,
    Unreadable,
    Holds(Oob),
}

/// A page as it was programmed.
#[derive(Clone, Copy, Debug)]
struct Programmed {
    /// When, in operations.
    sequence: u64,
    /// What its payload was drawn from; copies keep it.
    content: u64,
}

pub(super) struct Log {
    store: Volatile,
    open: Open,
    image: Image,
    geometry: Geometry,
    pub draw: Draw,
    /// Operations so far; they are also the sequence numbers.
    clock: u64,
    /// Of each logical page, where its newest copy is.
    map: Vec<Option<Ppn>>,
    /// The open blocks, each with its next page; and blocks known to be blank.
    open_blocks: Vec<(BlockId, u32)>,
    free: Vec<BlockId>,
    model: Model,
    syncing: Option<(Syncing, u64)>,
    pub cuts: u64,
    /// Pages seen after cuts: unreadable ones, and old ones in erased blocks.
    pub unreadable: u64,
    pub came_back: u64,
}

/// What may be, and what must be.
#[derive(Default)]
struct Model {
    /// The logical page of each sequence.
    written: BTreeMap<u64, u32>,
    /// What each page holds for those who go on.
    current: BTreeMap<Ppn, Programmed>,
    /// What each page may show after a loss of power, beside nothing.
    possible: BTreeMap<Ppn, Vec<Programmed>>,
    /// When each block was asked to be erased, since power failed.
    erased: BTreeMap<BlockId, Vec<u64>>,
    /// Everything programmed before this lasts.
    lasting: u64,
    /// Every mark before this lasts.
    marks_last: u64,
    /// Of each logical page, the sequence that must not be lost.
    floor: BTreeMap<u32, u64>,
    marked: BTreeMap<BlockId, u64>,
    counts: BTreeMap<BlockId, u32>,
    counts_lasting: BTreeMap<BlockId, u32>,
}

impl Model {
    /// That page was programmed, and never written to the file.
    fn forget(&mut self, page: Ppn, sequence: u64) {
        self.written.remove(&sequence);
        self.possible.entry(page).or_default().retain(|one| one.sequence != sequence);
    }
}

fn payload(sequence: u64, bytes: usize) -> Vec<u8> {
    let mut draw = Draw(sequence);
    (0..bytes / 8).flat_map(|_| draw.next().to_le_bytes()).collect()
}

impl Log {
    pub(super) fn new(chip: &Chip, seed: u64) -> Self {
        let mut draw = Draw(seed);
        let header = chip.header();
        let layout = Layout::of(header.kind, &header.geometry);
        let store = Volatile::new(layout.length);
        write_blank(&store, &layout, &[])
            .and_then(|()| write_headers(&store, &header, &layout))
            .expect("memory");
        if header.kind == Kind::Nor {
            let block = header.geometry.block_size() as usize;
            let blocks = layout.payload_of(BlockId(0), 0)..layout.second_areas_of(BlockId(0));
            store.watch_nor(blocks, block);
        }
        let open = Open { punch_erased: draw.percent(30), ..Open::default() };
        let mut image = open_image(&store, open);
        gather_little(&mut image, &mut draw);
        let blocks = header.geometry.blocks();
        Self {
            store,
            open,
            image,
            geometry: header.geometry,
            draw,
            clock: 1,
            map: vec![None; LOGICAL],
            open_blocks: Vec::new(),
            free: (0..blocks).map(BlockId).collect(),
            model: Model::default(),
            syncing: None,
            cuts: 0,
            unreadable: 0,
            came_back: 0,
        }
    }

    /// One step of the history.
    pub(super) fn step(&mut self) {
        match self.draw.below(100) {
            0..70 => {
                let lpn = self.draw.below(LOGICAL);
                self.write(lpn, None);
            }
            70..86 => self.clean(),
            86..89 => self.finish(),
            89..93 => {
                self.finish();
                let begun = self.clock;
                self.syncing = Some((self.image.begin_sync().expect("memory"), begun));
            }
            93..96 => {
                let begun = self.clock;
                let syncing = self.image.begin_sync().expect("memory");
                self.wait(&syncing, begun);
            }
            96..99 => {
                self.image.sync().expect("memory");
                assert!(!self.store.is_dirty(), "after a sync nothing waits");
                self.lasts(self.clock);
                self.nothing_else_can_come_back();
            }
            _ => self.mark_bad(),
        }
    }

    /// What is there now lasts, and what is not never comes back.
    fn nothing_else_can_come_back(&mut self) {
        let current = self.model.current.iter();
        self.model.possible = current.map(|(&page, &one)| (page, vec![one])).collect();
        self.model.marks_last = self.clock;
        self.model.counts_lasting.clone_from(&self.model.counts);
    }

    fn finish(&mut self) {
        if let Some((syncing, begun)) = self.syncing.take() {
            self.wait(&syncing, begun);
        }
    }

    fn wait(&mut self, syncing: &Syncing, begun: u64) {
        syncing.wait().expect("memory");
        self.lasts(begun);
        self.image.finish_sync(syncing).expect("memory");
    }

    /// A sync that was begun then is over.
    fn lasts(&mut self, begun: u64) {
        self.model.lasting = self.model.lasting.max(begun);
        for (&sequence, &lpn) in self.model.written.range(..begun) {
            let floor = self.model.floor.entry(lpn).or_default();
            *floor = (*floor).max(sequence);
        }
        self.model.written = self.model.written.split_off(&begun);
    }

    /// Writes a logical page, or moves it; false if there is no room.
    fn write(&mut self, lpn: usize, from: Option<Ppn>) -> bool {
        let reserve = if from.is_some() { 0 } else { 1 };
        let Some(to) = self.next_page(reserve) else { return false };
        let sequence = self.clock;
        self.clock += 1;
        let content = from.map_or(sequence, |from| self.model.current[&from].content);
        let oob = Oob { lpn: Lpn(lpn as u32), stream: 1, sequence, time: content, note: 9 };
        let page = self.geometry.page_size as usize;
        let done = match from {
            Some(from) => self.image.copy(from, to, oob),
            None => self.image.program(to, oob, &payload(content, page)),
        };
        assert_eq!(done, Ok(()), "{to:?} is blank");
        if let Some(old) = self.map[lpn].replace(to) {
            self.image.obsolete(old);
        }
        let programmed = Programmed { sequence, content };
        self.model.written.insert(sequence, lpn as u32);
        self.model.current.insert(to, programmed);
        self.model.possible.entry(to).or_default().push(programmed);
        true
    }

    /// The next page of an open block; opens one if more than `reserve` blocks are free.
    fn next_page(&mut self, reserve: usize) -> Option<Ppn> {
        self.open_blocks.retain(|&(_, next)| next < self.geometry.pages_per_block);
        let may_open = self.free.len() > reserve;
        if self.open_blocks.is_empty() || self.open_blocks.len() < 2 && may_open {
            if !may_open {
                return None;
            }
            let block = self.free.remove(self.draw.below(self.free.len()));
            self.open_blocks.push((block, self.geometry.header_pages));
        }
        let of = self.draw.below(self.open_blocks.len());
        let (block, next) = &mut self.open_blocks[of];
        *next += 1;
        Some(self.geometry.ppn(*block, *next - 1))
    }

    fn live(&self, block: BlockId) -> Vec<usize> {
        let here = |page: Ppn| self.geometry.block_of(page) == block;
        (0..LOGICAL).filter(|&lpn| self.map[lpn].is_some_and(here)).collect()
    }

    /// Cleans a block, if its survivors find room.
    fn clean(&mut self) {
        let block = BlockId(self.draw.below(self.geometry.blocks() as usize) as u32);
        let is_open = self.open_blocks.iter().any(|open| open.0 == block);
        if is_open || self.free.contains(&block) || self.image.is_bad(block) {
            return;
        }
        for lpn in self.live(block) {
            if !self.write(lpn, self.map[lpn]) {
                return;
            }
        }
        // What is still in memory will never be on the file.
        for (page, one) in self.model.current.clone() {
            let number = self.geometry.page_of(page);
            if self.geometry.block_of(page) == block
                && self.image.runs.payload(block, number).is_some()
            {
                self.model.forget(page, one.sequence);
            }
        }
        let at = self.clock;
        self.clock += 1;
        self.image.erase(block).expect("not bad");
        *self.model.counts.entry(block).or_default() += 1;
        assert_eq!(self.image.erase_count(block), self.model.counts[&block]);
        self.model.current.retain(|&page, _| self.geometry.block_of(page) != block);
        self.model.erased.entry(block).or_default().push(at);
        self.free.push(block);
    }

    fn mark_bad(&mut self) {
        let Some(&block) = self.free.last() else { return };
        if self.model.marked.len() < 2 && self.free.len() > 3 {
            self.free.pop();
            self.image.mark_bad(block).expect("there is such a block");
            self.model.marked.insert(block, self.clock);
            self.clock += 1;
        }
    }

    /// Power fails, or only the process: it is killed, or it ends in order. And comes back.
    pub(super) fn crash(&mut self, power: bool) {
        self.syncing = None;
        let is_killed = !power && self.draw.percent(50);
        if power {
            self.store.cut(&mut self.draw);
        }
        // Only a process that ends in order writes what it has in memory.
        self.store.fail_writes((power || is_killed).then_some(5));
        drop(std::mem::replace(&mut self.image, open_image(&self.store, self.open)));
        self.store.fail_writes(None);
        self.image = open_image(&self.store, self.open);
        gather_little(&mut self.image, &mut self.draw);
        self.check_marks();
        let shown = self.look();
        self.check(&shown, power || is_killed);
        self.cuts += u64::from(power);
        if is_killed {
            self.forget_unwritten(&shown);
        }
        self.recover(&shown, power);
    }

    /// What was lost though power did not fail was in the memory of the process, and never on the file.
    fn forget_unwritten(&mut self, shown: &BTreeMap<Ppn, Shown>) {
        for (page, lost) in self.model.current.clone() {
            let sequence = lost.sequence;
            if !matches!(shown[&page], Shown::Holds(oob) if oob.sequence == sequence) {
                self.model.forget(page, sequence);
            }
        }
    }

    fn pages(&self) -> impl Iterator<Item = Ppn> + use<> {
        let geometry = self.geometry;
        (0..geometry.blocks()).flat_map(move |block| {
            let pages = geometry.header_pages..geometry.pages_per_block;
            pages.map(move |page| geometry.ppn(BlockId(block), page))
        })
    }

    /// What every page shows; that what it shows is whole is checked here.
    fn look(&mut self) -> BTreeMap<Ppn, Shown> {
        let mut data = vec![0; self.geometry.page_size as usize];
        let mut shown = BTreeMap::new();
        for page in self.pages() {
            let beside = self.image.read_oob(page);
            let read = self.image.read(page, &mut data);
            assert_eq!(read, self.image.read(page, &mut []), "with and without payload");
            let shows = match (beside, read) {
                (Ok(None), Ok(())) => {
                    assert!(data.iter().all(|&byte| byte == 0xff), "blank reads as ones");
                    Shown::Blank
                }
                (Ok(Some(oob)), Ok(())) => {
                    let right = payload(oob.time, data.len());
                    assert!(data == right, "{page:?}: wrong data passed off as good");
                    assert_eq!((oob.stream, oob.note), (1, 9));
                    Shown::Holds(oob)
                }
                (Ok(Some(_)) | Err(FlashError::Unreadable(_)), Err(FlashError::Unreadable(_))) => {
                    Shown::Unreadable
                }
                other => panic!("{page:?} shows {other:?}"),
            };
            shown.insert(page, shows);
        }
        shown
    }

    fn check_marks(&self) {
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let marked = self.model.marked.get(&block);
            let is_bad = self.image.is_bad(block);
            assert!(!is_bad || marked.is_some(), "nobody marked {block}");
            let lasts = marked.is_some_and(|&at| at < self.model.marks_last);
            assert!(is_bad || !lasts, "the mark of {block} is lost");
            let count = self.image.erase_count(block);
            let least = self.model.counts_lasting.get(&block).copied().unwrap_or(0);
            let most = self.model.counts.get(&block).copied().unwrap_or(0);
            assert!((least..=most).contains(&count), "{block}: {least} <= {count} <= {most}");
        }
    }

    fn check(&mut self, shown: &BTreeMap<Ppn, Shown>, may_lose: bool) {
        // The last erase of which something is seen.
        let mut seen = 0;
        for (&page, &shows) in shown {
            let erased = self.model.erased.get(&self.geometry.block_of(page));
            let erased = erased.map_or(&[][..], Vec::as_slice);
            let possible = self.model.possible.get(&page).map_or(&[][..], Vec::as_slice);
            if let Shown::Holds(oob) = shows {
                let is_it =
                    |one: &Programmed| (one.sequence, one.content) == (oob.sequence, oob.time);
                assert!(possible.iter().any(is_it), "{page:?} shows {oob:?} of {possible:?}");
                let before = erased.iter().rfind(|&&erase| erase < oob.sequence);
                seen = seen.max(before.copied().unwrap_or(0));
                self.came_back += u64::from(erased.last().is_some_and(|&last| last > oob.sequence));
            }
            // What lasted before an erase and is gone tells of the erase as well.
            let lasted = possible.iter().rfind(|one| one.sequence < self.model.lasting);
            if let Some(lasted) = lasted
                && !matches!(shows, Shown::Holds(oob) if oob.sequence == lasted.sequence)
            {
                let after = erased.iter().find(|&&erase| erase > lasted.sequence);
                seen = seen.max(after.copied().unwrap_or(0));
            }
            self.unreadable += u64::from(shows == Shown::Unreadable);
        }
        for (page, &Programmed { sequence, .. }) in &self.model.current {
            let is_there = matches!(shown[page], Shown::Holds(oob) if oob.sequence == sequence);
            assert!(is_there || may_lose, "{page:?} is lost though nothing failed");
            assert!(is_there || sequence >= self.model.lasting, "{page:?} was synced and is lost");
            assert!(is_there || sequence >= seen, "{page:?}: lost, and a later erase was not");
        }
    }

    /// Reads everything and goes on with it.
    fn recover(&mut self, shown: &BTreeMap<Ppn, Shown>, power: bool) {
        let mut newest = vec![(0, None); LOGICAL];
        self.model.current.clear();
        for (&page, &shows) in shown {
            let Shown::Holds(oob) = shows else { continue };
            let Oob { sequence, time: content, .. } = oob;
            self.model.current.insert(page, Programmed { sequence, content });
            let newest = &mut newest[oob.lpn.index()];
            *newest = (*newest).max((sequence, Some(page)));
        }
        for (lpn, &(sequence, page)) in newest.iter().enumerate() {
            let floor = self.model.floor.get(&(lpn as u32)).copied().unwrap_or(0);
            assert!(sequence >= floor, "page {lpn}: {floor} was synced, {sequence} is found");
            self.map[lpn] = page;
        }
        if power {
            self.model.erased.clear();
        }
        for block in (0..self.geometry.blocks()).map(BlockId) {
            self.model.counts.insert(block, self.image.erase_count(block));
            if !self.image.is_bad(block) {
                self.model.marked.remove(&block);
            }
        }
        if power {
            self.model.written.clear();
            self.lasts(self.clock);
            self.nothing_else_can_come_back();
            let found = newest.iter().enumerate().map(|(lpn, found)| (lpn as u32, found.0));
            self.model.floor.extend(found);
        }
        self.clock += 1;
        self.open_blocks.clear();
        self.free.clear();
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let mut pages = shown.range(self.geometry.ppn(block, 0)..);
            let in_block = self.geometry.data_pages_per_block() as usize;
            let is_blank = pages.by_ref().take(in_block).all(|page| *page.1 == Shown::Blank);
            if is_blank && !self.image.is_bad(block) {
                self.free.push(block);
            }
        }
    }
}

/// Gathers fewer and shorter runs than there are open blocks and pages in one.
fn gather_little(image: &mut Image, draw: &mut Draw) {
    let (pages, count) = (1 + draw.below(24), 1 + draw.below(3));
    let bytes = pages * image.geometry().page_size as usize;
    image.runs = Runs::sized(&image.layout, bytes, count);
}

pub(super) fn open_image(store: &Volatile, open: Open) -> Image {
    Image::over(Path::new("memory"), Box::new(store.clone()), open).expect("an image")
}
