//! Pages that the chip corrects much are moved, and idle time is used.

use std::collections::HashMap;

use thermocline_embedded::{
    AREA, Config, Error, Ftl, Geometry, Nand, NandError, Place, most_logical_pages,
    policy::{Greedy, HotCold, Placement},
};

use super::{Chip, LOGICAL, PAGE, Room, SHAPE};

/// Bits that the chip corrects, and those from which on it should not be relied on.
const CORRECTS: u32 = 8;
const LIMIT: u32 = 4;

/// A chip, bits of some pages of which turned.
struct Tired {
    chip: Chip,
    turned: HashMap<u32, u32>,
    last: u32,
    limit: u32,
    programs: u32,
}

impl Tired {
    fn new() -> Self {
        Self { chip: Chip::new(), turned: HashMap::new(), last: 0, limit: LIMIT, programs: 0 }
    }
}

impl Nand for Tired {
    fn geometry(&self) -> Geometry {
        SHAPE
    }
    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        self.last = self.turned.get(&page).copied().unwrap_or(0);
        if self.last > CORRECTS {
            return Err(NandError::Unreadable);
        }
        self.chip.read(page, offset, into)
    }
    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.chip.read_area(page, into)
    }
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        self.programs += 1;
        self.chip.program(page, data, area)
    }
    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.turned.retain(|page, _| page / SHAPE.pages != block);
        self.chip.erase(block)
    }
    fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }
    fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        Ok(())
    }
    fn corrected(&mut self) -> u32 {
        self.last
    }
    fn refresh_from(&self) -> u32 {
        self.limit
    }
}

type Store<'a> = Ftl<'a, Tired, Greedy, HotCold>;

fn written(room: &mut Room) -> Store<'_> {
    let config = Config { logical_pages: LOGICAL, spare_blocks: 0 };
    let mut ftl =
        Ftl::format(Tired::new(), room.memory(), Greedy, HotCold, config).expect("formatted");
    for lpn in 0..LOGICAL {
        ftl.write(lpn, &[lpn as u8; PAGE]).expect("written");
    }
    ftl.checkpoint().expect("written");
    ftl
}

/// Where each logical page is.
fn places(ftl: &mut Store<'_>) -> HashMap<u32, u32> {
    let mut places = HashMap::new();
    ftl.each_mapped(|lpn, at| {
        places.insert(lpn, at);
    })
    .expect("readable");
    places
}

fn all_can_be_read(ftl: &mut Store<'_>) {
    let mut page = [0; PAGE];
    for lpn in 0..LOGICAL {
        assert_eq!(ftl.read(lpn, &mut page), Ok(true), "page {lpn}");
        assert_eq!(page, [lpn as u8; PAGE], "page {lpn}");
    }
}

#[test]
fn a_page_that_the_host_reads_is_moved_and_no_other() {
    let mut room = Room::new();
    let mut ftl = written(&mut room);
    let before = places(&mut ftl);
    ftl.nand_mut().turned.extend([(before[&7], LIMIT), (before[&8], LIMIT - 1)]);
    all_can_be_read(&mut ftl);
    let after = places(&mut ftl);
    assert_ne!(after[&7], before[&7]);
    assert_eq!(after[&8], before[&8]);
    assert_eq!(ftl.counters().refreshed, 1);
    all_can_be_read(&mut ftl);
    assert_eq!(ftl.counters().refreshed, 1);
}

#[test]
fn health_is_that_of_the_chip() {
    let mut room = Room::new();
    let mut ftl = written(&mut room);
    let before = places(&mut ftl);
    ftl.nand_mut().turned.extend([(before[&7], LIMIT), (before[&8], LIMIT - 1)]);
    all_can_be_read(&mut ftl);
    let fresh = ftl.health();
    assert_eq!((fresh.corrected_reads, fresh.most_corrected, fresh.refreshed), (2, LIMIT, 1));
    assert_eq!((fresh.bad_blocks, fresh.lost, fresh.free_blocks), (0, 0, ftl.free_blocks()));
    // As many more bad blocks as it says leave room for the pages, and one more does not.
    let room_with = |bad| most_logical_pages(&SHAPE, bad, HotCold.streams());
    assert!(room_with(fresh.spare_blocks) >= LOGICAL);
    assert!(room_with(fresh.spare_blocks + 1) < LOGICAL);
    for i in 0..20_000 {
        ftl.write(i % LOGICAL / 2, &[1; PAGE]).expect("written");
    }
    let worn = ftl.health();
    let erases: Vec<u32> = ftl.erases().collect();
    assert_eq!(Some(&worn.least_erases), erases.iter().min());
    assert_eq!(Some(&worn.most_erases), erases.iter().max());
    assert_eq!(worn.mean_erases, erases.iter().sum::<u32>() / SHAPE.blocks);
    // At the rate so far, a tenth of the writes wears a tenth as much.
    let (did, endurance) = (*ftl.counters(), worn.mean_erases + did_per_block(&ftl) / 10);
    let left = ftl.writes_left(endurance).expect("blocks were erased");
    let tenth = did.host_writes / 10;
    assert!((tenth * 9 / 10..tenth * 11 / 10).contains(&left), "{left} of {}", did.host_writes);
    assert_eq!(ftl.writes_left(0), Some(0));
    assert_eq!(ftl.writes_left(u32::MAX).map(|left| left > 1 << 32), Some(true));
}

fn did_per_block(ftl: &Store<'_>) -> u32 {
    (ftl.counters().erases / u64::from(SHAPE.blocks)) as u32
}

#[test]
fn a_chip_that_has_no_limit_is_left_alone() {
    let mut room = Room::new();
    let mut ftl = written(&mut room);
    let before = places(&mut ftl);
    ftl.nand_mut().limit = 0;
    ftl.nand_mut().turned.extend((0..SHAPE.blocks * SHAPE.pages).map(|page| (page, CORRECTS)));
    all_can_be_read(&mut ftl);
    assert_eq!(ftl.scrub(u32::MAX), Ok(0));
    assert_eq!((places(&mut ftl), ftl.counters().refreshed), (before, 0));
}

#[test]
fn a_page_of_the_map_is_moved_before_the_next_change() {
    let mut room = Room::new();
    let mut ftl = written(&mut room);
    let Place::Mapped { page: at, .. } = ftl.place(50) else { panic!("the map leads there") };
    ftl.nand_mut().turned.insert(at, LIMIT);
    assert_eq!(ftl.read(50, &mut [0; PAGE]), Ok(true));
    ftl.write(150, &[150; PAGE]).expect("written");
    let Place::Mapped { page: now, .. } = ftl.place(50) else { panic!("the map leads there") };
    assert_ne!(now, at);
    all_can_be_read(&mut ftl);
}

/// All pages turn bit by bit; nothing is lost where they are scrubbed between, all of it where they are not.
#[test]
fn what_is_scrubbed_is_never_lost() {
    for is_scrubbed in [true, false] {
        let mut room = Room::new();
        let mut ftl = written(&mut room);
        for _ in 0..3 * CORRECTS {
            for page in 0..SHAPE.blocks * SHAPE.pages {
                *ftl.nand_mut().turned.entry(page).or_default() += 1;
            }
            // Five pages at a time, until the round is over.
            while is_scrubbed && ftl.scrub(5).expect("the chip answers") > 0 {}
        }
        if is_scrubbed {
            all_can_be_read(&mut ftl);
            assert!(ftl.counters().refreshed > LOGICAL);
        } else {
            let read = ftl.read(7, &mut [0; PAGE]);
            assert!(
                matches!(read, Err(Error::Unreadable(7) | Error::MapUnreadable(_))),
                "{read:?}"
            );
        }
    }
}

/// A block of which only one page is read, by a host that writes nothing.
#[test]
fn a_block_that_is_read_often_is_cleaned() {
    for is_counted in [true, false] {
        let (mut room, mut counts) = (Room::new(), [0; SHAPE.blocks as usize]);
        let mut ftl = written(&mut room);
        if is_counted {
            ftl.count_reads(&mut counts, 100);
        }
        let before = places(&mut ftl);
        for _ in 0..150 {
            assert_eq!(ftl.read(7, &mut [0; PAGE]), Ok(true));
        }
        let after = places(&mut ftl);
        for lpn in (0..LOGICAL).filter(|lpn| before[lpn] / SHAPE.pages == before[&7] / SHAPE.pages)
        {
            assert_eq!(after[&lpn] != before[&lpn], is_counted, "page {lpn}");
        }
        all_can_be_read(&mut ftl);
    }
}

#[test]
fn what_is_cleaned_ahead_costs_the_next_writes_nothing() {
    let mut room = Room::new();
    let mut ftl = written(&mut room);
    let mut draw = 1_u32;
    let mut write = |ftl: &mut Store<'_>| {
        draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ftl.write((draw >> 16) % LOGICAL, &[0; PAGE]).expect("written");
    };
    for _ in 0..1000 {
        write(&mut ftl);
    }
    let enough = ftl.free_blocks();
    while ftl.clean(4).expect("the chip answers") {}
    let ahead = ftl.free_blocks();
    assert!(ahead > enough + 1, "{ahead} blocks free after {enough}");
    let copies = ftl.counters().copies;
    for _ in 0..SHAPE.pages {
        write(&mut ftl);
    }
    assert_eq!(ftl.counters().copies, copies);
    // It ends, and does nothing twice.
    while ftl.clean(4).expect("the chip answers") {}
    let programs = ftl.nand().programs;
    assert_eq!(ftl.clean(1000), Ok(false));
    assert_eq!(ftl.nand().programs, programs);
}
