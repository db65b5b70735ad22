//! Opening a device: its zones, the newest whole zone of the record log, and what both say of each block.

use std::{path::Path, sync::Arc};

use thermocline_flash::{BlockId, Geometry};

use super::{
    Block, Zoned,
    areas::Tables,
    device::{Condition, Device, Kind as ZoneKind, Zone},
    format::{ENTRY, Fact, Head, Kind, LOG_ZONES, Layout, entries_of},
    log::{Log, LogZone},
    reading::Ahead,
    syncing::Flusher,
};
use crate::{Health, MediumError, record::Record};

/// The least and the most bytes of a page. The least that numbers all pages is taken.
const PAGES: [u32; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
/// Zones in which a log is looked for, and blocks of each in which its head is.
const WITH_LOG: usize = 16;
const HEADS: u64 = 4;
/// Bytes of the log that are read at a time.
const AT_ONCE: usize = 1 << 20;

/// A zone of the log as it was read.
#[derive(Debug)]
struct Found {
    zone: u32,
    head: Head,
    facts: Vec<Fact>,
    is_whole: bool,
    lost: u32,
}

impl Zoned {
    /// Opens what a device holds.
    pub(super) fn over(
        path: &Path,
        device: Arc<dyn Device>,
        read_only: bool,
        system_blocks: u32,
    ) -> Result<Self, MediumError> {
        let unusable = |why: String| MediumError::Unusable(format!("{}: {why}", path.display()));
        let failed = |error: std::io::Error| unusable(error.to_string());
        // What is read lasts.
        match device.sync() {
            Err(error) if !read_only => return Err(failed(error)),
            _ => {}
        }
        let zones = device.report().map_err(failed)?;
        let sequential: Vec<u32> = (0..)
            .zip(&zones)
            .filter(|(_, z)| z.kind == ZoneKind::Sequential)
            .map(|(n, _)| n)
            .collect();
        let conventional: Vec<u32> = (0..)
            .zip(&zones)
            .filter(|(_, z)| {
                z.kind == ZoneKind::Conventional && z.condition == Condition::NoPointer
            })
            .map(|(n, _)| n)
            .collect();
        let is_good = |number: &&u32| !is_lost(&zones[**number as usize]);
        let capacity = sequential.iter().filter(is_good).map(|&n| zones[n as usize].capacity).min();
        let capacity = capacity.unwrap_or(0);
        let block = device.shape().block;
        let layout = PAGES.iter().filter(|page| **page >= block && page.is_multiple_of(block));
        let layout = layout.filter_map(|page| Layout::of(*page, capacity)).find(|layout| {
            let of_log = if conventional.len() < LOG_ZONES { LOG_ZONES } else { 0 };
            let blocks = sequential.len().saturating_sub(of_log) as u32;
            geometry(layout, blocks, 0).check().is_ok()
        });
        let Some(layout) = layout else {
            return Err(unusable(format!(
                "{} zones of {capacity} bytes that are written in sequence cannot be a chip: there have to be \
                 four at least, or three conventional ones and one, of six pages of 4 KiB or more, and fewer than \
                 2^32 pages of 64 KiB",
                sequential.len()
            )));
        };
        let mut found = find_log(&*device, &layout, &zones, [&conventional, &sequential]);
        let mut newest = found.iter().map(|found| found.head.generation).max().unwrap_or(0);
        let taken = found.iter().position(|found| found.is_whole).unwrap_or(0);
        let taken = (taken < found.len()).then(|| found.swap_remove(taken));
        if let Some(found) = &taken
            && found.head.data != layout.data
        {
            return Err(unusable(format!(
                "its zones were formatted with {} pages of data each and now hold {}; format it anew with ‹force›, \
                 and restore a backup",
                found.head.data, layout.data
            )));
        }
        let numbers = match &taken {
            Some(found) => found.head.zones,
            None if conventional.len() >= LOG_ZONES => {
                [conventional[0], conventional[1], conventional[2]]
            }
            None => {
                let mut good = sequential
                    .iter()
                    .copied()
                    .filter(|n| is_good(&n) && zones[*n as usize].condition != Condition::ReadOnly);
                let three = [good.next(), good.next(), good.next()];
                let [Some(a), Some(b), Some(c)] = three else {
                    return Err(unusable("fewer than three of its zones can be written".into()));
                };
                [a, b, c]
            }
        };
        let of_data: Vec<u32> =
            sequential.iter().copied().filter(|number| !numbers.contains(number)).collect();
        let geometry = geometry(&layout, of_data.len() as u32, system_blocks);
        geometry.check().map_err(|error| unusable(error.to_string()))?;
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(|error| unusable(error.to_string()))?;
        let drawn = u64::from_le_bytes(number);
        let store = taken.as_ref().map_or(drawn, |found| found.head.store);
        let log_zone = |number: u32| {
            let zone = &zones[number as usize];
            let is_conventional = zone.kind == ZoneKind::Conventional;
            LogZone {
                start: zone.start,
                pointer: match zone.condition {
                    Condition::Full => layout.capacity,
                    _ if is_conventional => 0,
                    _ => zone.pointer,
                },
                capacity: if is_conventional { zone.capacity } else { layout.capacity },
                is_conventional,
                is_usable: !is_lost(zone) && zone.condition != Condition::ReadOnly,
                is_active: zone.is_active(),
                superseded: None,
            }
        };
        let read = taken.as_ref().and_then(|f| numbers.iter().position(|number| *number == f.zone));
        let log_zones = numbers.map(log_zone);
        if log_zones[0].is_conventional {
            // A generation that was cut off leaves blocks behind what is written over its first ones, and nobody
            // resets them. Its number must not be used again.
            newest += drawn >> 32;
        }
        let log = Log {
            store,
            generation: newest,
            numbers,
            zones: log_zones,
            current: None,
            enough: 0,
            read,
        };
        let mut chip = Self {
            flusher: Flusher::new(device.clone()),
            device,
            layout,
            read_only,
            blocks: of_data.iter().map(|number| block_of(&zones[*number as usize])).collect(),
            log,
            tables: Tables::new(),
            runs: Vec::new(),
            ahead: Ahead::default(),
            facts: Vec::new(),
            unlogged: Vec::new(),
            waiting: Vec::new(),
            tabled: Vec::new(),
            begun: 0,
            lasting: 0,
            covered_by: 0,
            clock: 0,
            failed: None,
            refused: None,
            health: Health::default(),
            is_foreign: false,
            lost_log_blocks: taken.as_ref().map_or(0, |found| found.lost),
            page: vec![0; layout.page as usize],
            geometry,
        };
        chip.is_foreign = taken.is_none() && chip.blocks.iter().any(|block| block.pointer > 0);
        for fact in taken.iter().flat_map(|found| &found.facts) {
            chip.learn(fact);
        }
        for (block, number) in (0..).map(BlockId).zip(&of_data) {
            chip.settle(block, &zones[*number as usize]);
        }
        if chip.log.is_conventional() && !chip.is_foreign {
            let is_new = chip.log.read.is_none();
            chip.is_foreign =
                if is_new { chip.log_zones_hold_data() } else { chip.knows_no_page() };
        }
        Ok(chip)
    }

    /// Whether conventional zones that hold no log hold anything: they have no pointer that would say.
    fn log_zones_hold_data(&self) -> bool {
        let mut bytes = vec![0; HEADS as usize * self.layout.page as usize];
        self.log.zones.iter().any(|zone| {
            let here = (zone.capacity as usize).min(bytes.len());
            let read = self.device.read_at(&mut bytes[..here], zone.start);
            read.is_ok() && bytes[..here].iter().any(|byte| *byte != 0)
        })
    }

    /// Whether the log is one that was left when another program reset all other zones and wrote to them: what they
    /// hold is not what it says. A few zones are enough, and mostly one page.
    fn knows_no_page(&mut self) -> bool {
        let written: Vec<BlockId> = (0..self.geometry.blocks())
            .map(BlockId)
            .filter(|block| self.block(*block).pointer > 0)
            .take(WITH_LOG)
            .collect();
        let is_known = |chip: &mut Self, block: BlockId| {
            let geometry = chip.geometry;
            let pages = 0..chip.block(block).next.min(HEADS as u32);
            let mut pages = pages.map(|page| geometry.ppn(block, page));
            pages.any(|page| matches!(chip.read_what_is_there(page, &mut []), Ok(Some(_))))
        };
        let is_foreign = !written.is_empty() && !written.iter().any(|block| is_known(self, *block));
        self.health.failed_reads = 0;
        is_foreign
    }

    /// A fact of the log.
    fn learn(&mut self, fact: &Fact) {
        let blocks = self.geometry.blocks();
        let exists = |block: &BlockId| block.0 < blocks;
        match fact {
            Fact::Area(at, area) => {
                let Ok((block, page)) = self.at(*at) else { return };
                self.block_mut(block).table = None;
                self.note_area(block, page, *area);
            }
            Fact::Erased(block, erases) if exists(block) => {
                let is = self.block_mut(*block);
                (is.erases, is.areas, is.table) = (*erases, None, None);
            }
            Fact::Bad(block) if exists(block) => self.block_mut(*block).is_bad = true,
            Fact::Tabled(block, pages) if exists(block) => {
                let is = self.block_mut(*block);
                (is.areas, is.table) = (None, Some(*pages));
            }
            Fact::Lives(first, erases) => {
                for (block, erases) in (first.0..).map(BlockId).zip(erases) {
                    if exists(&block) {
                        self.block_mut(block).erases = *erases;
                    }
                }
            }
            _ => {}
        }
    }

    /// The state of a block, by its zone and what the log says.
    fn settle(&mut self, block: BlockId, zone: &Zone) {
        let (layout, page) = (self.layout, u64::from(self.layout.page));
        let is_full = matches!(zone.condition, Condition::Full | Condition::ReadOnly);
        let is = self.block_mut(block);
        if is_lost(zone) {
            (is.is_bad, is.areas, is.table) = (true, None, None);
            return;
        }
        is.is_stuck = zone.condition == Condition::ReadOnly;
        if is_full {
            is.pointer = layout.capacity;
        }
        let written = u32::try_from(is.pointer.div_ceil(page)).unwrap_or(u32::MAX);
        if written == 0 {
            if is.areas.take().is_some() | is.table.take().is_some() {
                // Its reset lasts, and the log does not know.
                is.erases = is.erases.saturating_add(1);
                let erases = is.erases;
                self.facts.push(Fact::Erased(block, erases));
            }
            return;
        }
        is.next = written.min(layout.data);
        is.logged = is.next;
        let whole = (is.pointer / page) as u32;
        is.torn = (whole < is.next).then_some(whole);
        match is.table {
            // Sealed: nothing is programmed behind its table.
            Some(pages) if pages < layout.data && is_full => is.next = layout.data,
            _ if written >= layout.data => self.settle_full(block, is_full),
            _ => is.table = None,
        }
        if zone.condition == Condition::ReadOnly {
            self.settle_read_only(block);
        }
    }

    /// All pages of a zone are below its pointer. Its table is, too, or it was cut off: what is whole of it counts.
    fn settle_full(&mut self, block: BlockId, is_full: bool) {
        let pages = self.layout.data;
        let areas = self.block_mut(block).areas.take();
        if areas.is_none() && is_full {
            // The log would have its records, if the table did not last.
            self.block_mut(block).table = Some(pages);
            return;
        }
        let blank = || vec![[0; ENTRY]; pages as usize].into_boxed_slice();
        let mut areas = areas.unwrap_or_else(blank);
        let sealed = is_full.then(|| self.sealed_behind(block, &areas)).flatten();
        let table =
            sealed.or_else(|| (self.merge_table(block, &mut areas) && is_full).then_some(pages));
        let is = self.block_mut(block);
        is.table = table;
        match table {
            Some(pages) => self.facts.push(Fact::Tabled(block, pages)),
            None => is.areas = Some(areas),
        }
    }

    /// The pages before the table of a zone that was sealed, if that is whole: the log does not know of it before
    /// the sync behind the one that covers it.
    fn sealed_behind(&self, block: BlockId, areas: &[Record]) -> Option<u32> {
        let pages = areas.iter().rposition(|area| *area != [0; ENTRY])? as u32 + 1;
        let blocks = self.layout.table(pages);
        let mut numbers = (0..blocks).map(|number| self.read_table_block(block, pages, number));
        (pages < self.layout.data && numbers.all(|table| table.is_some())).then_some(pages)
    }

    /// A zone that can only be read and holds nothing of ours is a bad block.
    fn settle_read_only(&mut self, block: BlockId) {
        let holds = |chip: &mut Self, page| {
            matches!(chip.beside(block, page), crate::record::Beside::Holds(..))
        };
        let pages = self.layout.data;
        if !(0..pages).any(|page| holds(self, page)) {
            self.block_mut(block).is_bad = true;
        }
    }
}

fn geometry(layout: &Layout, blocks: u32, system_blocks: u32) -> Geometry {
    Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: blocks,
        pages_per_block: layout.data,
        page_size: layout.page,
        oob_size: ENTRY as u32,
        header_pages: 0,
        system_blocks,
    }
}

/// Whether nothing can be read of a zone.
const fn is_lost(zone: &Zone) -> bool {
    matches!(zone.condition, Condition::Offline)
}

fn block_of(zone: &Zone) -> Block {
    let has_pointer =
        matches!(zone.condition, Condition::Open | Condition::Closed | Condition::Full);
    Block {
        start: zone.start,
        pointer: if has_pointer { zone.pointer } else { 0 },
        is_active: zone.is_active(),
        ..Block::default()
    }
}

/// The zones that begin as those of a log do, the newest first. It is in zones of one kind.
fn find_log(
    device: &dyn Device,
    layout: &Layout,
    zones: &[Zone],
    kinds: [&[u32]; 2],
) -> Vec<Found> {
    let mut found: Vec<Found> = kinds
        .into_iter()
        .flat_map(|kind| kind.iter().take(WITH_LOG).map(move |number| (kind, *number)))
        .filter_map(|(kind, number)| {
            let head = head_of(device, layout, &zones[number as usize])?;
            let is_known = |zone: &u32| kind.contains(zone);
            let is_one = head.zones.contains(&number) && head.zones.iter().all(is_known);
            is_one.then(|| read_log(device, layout, &zones[number as usize], number, head))
        })
        .collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.head.generation));
    // Of the newest store alone.
    let store = found.first().map(|found| found.head.store);
    found.retain(|found| Some(found.head.store) == store);
    found
}

/// Bytes of a zone that may be read as a log.
fn written(layout: &Layout, zone: &Zone) -> u64 {
    let bytes = match zone.condition {
        Condition::Offline | Condition::Empty => 0,
        Condition::NoPointer => zone.capacity,
        Condition::Full | Condition::ReadOnly => layout.capacity,
        Condition::Open | Condition::Closed => zone.pointer.min(layout.capacity),
    };
    bytes / u64::from(layout.page) * u64::from(layout.page)
}

fn head_of(device: &dyn Device, layout: &Layout, zone: &Zone) -> Option<Head> {
    let page = u64::from(layout.page);
    let mut block = vec![0; layout.page as usize];
    (0..HEADS.min(written(layout, zone) / page)).find_map(|number| {
        device.read_at(&mut block, zone.start + number * page).ok()?;
        Head::read(Kind::Log, &block)
    })
}

/// Reads the facts of a zone of the log. A block that holds none is passed over: the others are as true. A zone without
/// a pointer ends where nothing of the log is far and wide.
fn read_log(device: &dyn Device, layout: &Layout, zone: &Zone, number: u32, head: Head) -> Found {
    let size = layout.page as usize;
    let mut found = Found { zone: number, head, facts: Vec::new(), is_whole: false, lost: 0 };
    let (end, mut at) = (written(layout, zone), 0);
    let mut bytes = vec![0; AT_ONCE.next_multiple_of(size)];
    let mut lost = 0;
    while at < end {
        let here = ((end - at) as usize).min(bytes.len());
        let bytes = &mut bytes[..here];
        if device.read_at(bytes, zone.start + at).is_err() {
            // Block by block: one is at fault, and not all.
            for (block, place) in bytes.chunks_exact_mut(size).zip((at..).step_by(size)) {
                if device.read_at(block, zone.start + place).is_err() {
                    block.fill(0);
                }
            }
        }
        let lost_before = lost;
        for (block, place) in bytes.chunks_exact(size).zip((at..).step_by(size)) {
            let is = Head::read(Kind::Log, block);
            let place = (place / size as u64) as u32;
            let is = is.filter(|is| {
                let one = (is.store, is.generation, is.number);
                one == (head.store, head.generation, place)
            });
            let Some(is) = is else {
                lost += 1;
                continue;
            };
            // What was cut off at the end is not lost.
            found.lost = lost;
            take_entries(&mut found, block, is.count);
        }
        at += here as u64;
        if zone.kind == ZoneKind::Conventional && (lost - lost_before) as usize * size == here {
            break;
        }
    }
    found
}

fn take_entries(found: &mut Found, block: &[u8], count: u32) {
    for entry in entries_of(block).take(count as usize) {
        let entry: &Record = entry;
        match Fact::read(entry) {
            Some(Fact::Whole(count)) => found.is_whole |= found.facts.len() as u32 == count,
            Some(fact) => found.facts.push(fact),
            None => {}
        }
    }
}
