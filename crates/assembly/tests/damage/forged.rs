//! Images with valid checksums and false numbers: none may make a command panic, allocate without
//! bounds, or loop endlessly.
//!
//! `THERMOCLINE_FORGED` sets the number of images for each layer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tempfile::TempDir;
use thermocline_assembly::{Access, Progress, check, chips, repair, status};
use thermocline_flash::{Flash, Lpn};
use thermocline_ftl::{Mount, index};
use thermocline_policy::preset::LayerKind;

use super::{
    Draws,
    harm::{Harm, PAGE},
    history::History,
};

/// Images of each layer, where nothing is said.
const IMAGES: u64 = 60;
/// Images that a history is the base of.
const OF_EACH: u64 = 20;
/// MiB that the process may take in the end. An honest image of this size takes one or two.
const MOST_MIB: u64 = 600;

#[test]
fn no_forged_image_of_pages_mapped_one_by_one_panics() {
    forged(LayerKind::PageMapped);
}

#[test]
fn nor_does_one_of_nftl() {
    forged(LayerKind::Nftl);
}

#[test]
fn nor_does_one_of_updates_in_place() {
    forged(LayerKind::InPlace);
}

#[test]
fn nor_does_one_whose_map_lies_on_it() {
    forged(LayerKind::DemandPaged);
}

fn forged(layer: LayerKind) {
    let images = std::env::var("THERMOCLINE_FORGED").ok().and_then(|n| n.parse().ok());
    let folder = ["/dev/shm", "."].iter().find_map(|place| TempDir::new_in(place).ok());
    let folder = folder.expect("a folder");
    let mut failed = Vec::new();
    for seed in 0..images.unwrap_or(IMAGES) / OF_EACH {
        let history = History::write(seed + 1, layer, folder.path());
        let mut draws = Draws(!seed);
        for _ in 0..OF_EACH {
            let mut forge = Harm::whole(&history);
            for _ in 0..1 + draws.below(3) {
                forge.forge(&mut draws);
            }
            history.put(&forge.bytes);
            history.lengthen(forge.length);
            for (name, command) in COMMANDS {
                if catch_unwind(AssertUnwindSafe(|| command(&history))).is_err() {
                    failed.push(format!("{layer:?} seed {seed}: {name}:{}", forge.what));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} panics:\n{}", failed.len(), failed.join("\n"));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
    let peak = peak.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) >> 10;
    assert!(peak < MOST_MIB, "{peak} MiB");
}

type Command = fn(&History);

/// The commands on an image, in order. A refusal is no failure.
const COMMANDS: [(&str, Command); 7] = [
    ("stat", |history| drop(status(&history.place()))),
    ("check", |history| drop(check(&history.place(), false, &Progress::default()))),
    ("dump", |history| {
        if let Ok(mut opened) = chips::open(&history.place(), &Access::read_only()) {
            let _ = index::entries(&mut *opened.chip);
        }
    }),
    ("export", |history| {
        for how in [Mount::Quick, Mount::FromPages] {
            let opened = chips::open(&history.place(), &Access::read_only());
            let Ok((mut layer, _)) = opened.and_then(|opened| opened.mount(how)) else { continue };
            let mut page = vec![1; layer.chip().geometry().page_size as usize];
            for lpn in 0..layer.logical_pages().min(1 << 12) {
                let _ = (layer.read(Lpn(lpn), &mut page), layer.find(Lpn(lpn)));
            }
        }
    }),
    ("serve", use_it),
    ("repair", |history| drop(repair(&history.place(), &Access::default(), &Progress::default()))),
    ("serve after a repair", use_it),
];

/// Serves it for a while.
fn use_it(history: &History) {
    let Ok(mut layer) = history.serve(false) else { return };
    let size = layer.chip().geometry().page_size as usize;
    let pages = layer.logical_pages().min(1 << 12);
    for round in 0..2 {
        for lpn in (0..pages).step_by(3) {
            let _ = layer.write(Lpn(lpn), &vec![7; size], 1 << 40);
        }
        let _ = layer.trim(Lpn(round), 1 << 40);
        let _ = layer.upkeep().scrub(1 << 40);
        let _ = layer.upkeep().settle(1 << 40);
        let covered = layer.upkeep().last_program();
        if layer.chip_mut().sync().is_ok() {
            layer.upkeep().synced(covered);
        }
        let _ = layer.inspect().check();
    }
    let _ = layer.upkeep().unmount(1 << 41);
}

/// CRC-32C.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| sum >> 1 ^ if sum & 1 == 0 { 0 } else { 0x82f6_3b78 };
    !bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), step))
}

impl Harm<'_> {
    /// Forges a value somewhere, with valid checksums.
    fn forge(&mut self, draws: &mut Draws) {
        match draws.below(6) {
            0 => self.forge_header(draws),
            1 => self.forge_table(draws),
            2 => {
                let blocks = self.some(draws);
                self.forge_page(draws, blocks, false);
            }
            3 => self.forge_page(draws, 0..self.log().start, true),
            _ => self.forge_page(draws, self.log(), true),
        }
    }

    /// Replaces a number of `bytes` bytes.
    fn lie(&mut self, draws: &mut Draws, at: usize, bytes: usize) {
        let was =
            self.bytes[at..at + bytes].iter().rev().fold(0_u64, |n, &b| n << 8 | u64::from(b));
        let lie = match draws.below(9) {
            0 => 0,
            1 => u64::MAX,
            2 => u64::MAX - 1,
            3 => was.wrapping_add(1),
            4 => was.wrapping_sub(1),
            5 => 1 << draws.below(8 * bytes as u32),
            6 => (1 << draws.below(8 * bytes as u32)) - 1,
            7 => was ^ 1 << draws.below(8 * bytes as u32),
            _ => draws.next(),
        };
        self.say(&format!("{was} at {at} is {lie:#x}"));
        self.bytes[at..at + bytes].copy_from_slice(&lie.to_le_bytes()[..bytes]);
    }

    fn sum(&mut self, covered: std::ops::Range<usize>, at: usize) {
        let sum = checksum(&self.bytes[covered]);
        self.bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
    }

    /// In both copies. The file gets the forged length, if a file can have it.
    fn forge_header(&mut self, draws: &mut Draws) {
        for _ in 0..1 + draws.below(2) {
            match draws.below(4) {
                0 => {
                    let at = 12 + draws.below(2) as usize;
                    self.lie(draws, at, 1);
                }
                1 => self.lie(draws, 80, 4),
                _ => {
                    let at = 32 + 4 * draws.below(10) as usize;
                    self.lie(draws, at, 4);
                }
            }
        }
        let number = |at: usize| {
            let bytes = self.bytes[at..].first_chunk().copied();
            u128::from(u32::from_le_bytes(bytes.expect("a header is longer")))
        };
        let (banks, in_bank, pages, size) = (number(32), number(40), number(44), number(48));
        let (blocks, page) = (banks * in_bank, PAGE as u128);
        let whole = if size.is_multiple_of(page) { page } else { 512 };
        let table = page * (1 + 2 * blocks.div_ceil(1016));
        let areas = blocks * (32 * pages).next_multiple_of(whole);
        let payload =
            if self.bytes[12] == 1 { table } else { (table + areas).next_multiple_of(page) };
        let copies = (payload + blocks * pages * size).next_multiple_of(page);
        let log = (copies + areas).next_multiple_of(page) + number(60) * pages * size;
        let length = log.next_multiple_of(page) + page;
        if let Ok(length) = u64::try_from(length)
            && length < 1 << 42
        {
            self.bytes[72..80].copy_from_slice(&length.to_le_bytes());
            self.length = length;
        }
        self.sum(0..PAGE - 4, PAGE - 4);
        if self.length == self.bytes.len() as u64 {
            let second = self.bytes.len() - PAGE;
            self.bytes.copy_within(..PAGE, second);
        }
    }

    fn forge_table(&mut self, draws: &mut Draws) {
        let slots = self.table().len() / PAGE;
        let slot = self.table().start + PAGE * draws.below(slots as u32) as usize;
        match draws.below(4) {
            0 => self.lie(draws, slot + 8, 8),
            _ => {
                let block = draws.below(self.blocks()) as usize;
                self.lie(draws, slot + 32 + 4 * block, 4);
            }
        }
        self.sum(slot + 4..slot + PAGE, slot);
    }

    /// The area or the payload of a page of those blocks.
    fn forge_page(&mut self, draws: &mut Draws, blocks: std::ops::Range<u32>, payload: bool) {
        let (block, page) = self.written(draws, blocks);
        let area = self.area(block, page).start;
        self.say(&format!("block {block} page {page}:"));
        if payload {
            let content = self.payload(block, page);
            // Most numbers stand at the beginning.
            let most = if draws.one_in(3) { content.len() } else { 120 };
            let at = content.start + 4 * draws.below(most as u32 / 4 - 2) as usize;
            match draws.below(3) {
                0 => self.lie(draws, at, 8),
                1 => self.lie(draws, at + 3, 1),
                _ => self.lie(draws, at, 4),
            }
            self.sum(content, area + 24);
        } else {
            let (at, bytes) = [(1, 1), (2, 2), (4, 4), (8, 8), (16, 8)][draws.below(5) as usize];
            self.lie(draws, area + at, bytes);
        }
        // A record's checksum covers its place.
        let place = block * self.pages().next_power_of_two() + page;
        self.bytes[area + 28..area + 32].copy_from_slice(&place.to_le_bytes());
        self.sum(area..area + 32, area + 28);
        self.spoil_seconds();
    }
}
