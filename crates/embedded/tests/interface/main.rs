//! What a store says of itself, and a map of which a page is damaged.

#[path = "../../examples/parallel_nand/main.rs"]
mod parallel_nand;
mod refresh;
#[path = "../../examples/spi_nor/main.rs"]
mod spi_nor;
mod worst_write;

use thermocline_embedded::{
    AREA, Area, Config, Content, Error, Found, Ftl, Geometry, Nand, NandError, Static, Use,
    most_logical_pages,
    policy::{Greedy, HotCold},
};

const PAGE: usize = 128;
const SHAPE: Geometry = Geometry { blocks: 48, pages: 8, page_size: PAGE as u32 };
const LOGICAL: u32 = 200;
/// Six pages of the map, of 37 entries.
type Room = Static<48, 6, 60, PAGE>;

/// What a page holds, and what stands beside it.
type Programmed = ([u8; PAGE], [u8; AREA]);

/// NAND in memory, some pages of which cannot be read.
#[derive(Clone)]
struct Chip {
    pages: Vec<Option<Programmed>>,
    unreadable: Vec<u32>,
}

impl Chip {
    fn new() -> Self {
        Self { pages: vec![None; 48 * 8], unreadable: Vec::new() }
    }

    fn checked(&self, page: u32) -> Result<Option<&Programmed>, NandError> {
        if self.unreadable.contains(&page) {
            return Err(NandError::Unreadable);
        }
        Ok(self.pages[page as usize].as_ref())
    }
}

impl Nand for Chip {
    fn geometry(&self) -> Geometry {
        SHAPE
    }
    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        let data = self.checked(page)?.map_or([0xff; PAGE], |(data, _)| *data);
        into.copy_from_slice(&data[offset as usize..][..into.len()]);
        Ok(())
    }
    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        *into = self.checked(page)?.map_or([0xff; AREA], |(_, area)| *area);
        Ok(())
    }
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        let mut bytes = [0; PAGE];
        bytes.copy_from_slice(data);
        assert!(self.pages[page as usize].replace((bytes, *area)).is_none(), "programmed twice");
        Ok(())
    }
    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.pages[block as usize * 8..][..8].fill(None);
        self.unreadable.retain(|page| page / 8 != block);
        Ok(())
    }
    fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }
    fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        Ok(())
    }
}

type Store<'a> = Ftl<'a, &'a mut Chip, Greedy, HotCold>;

fn format<'a>(
    chip: &'a mut Chip,
    room: &'a mut Room,
    logical_pages: u32,
) -> Result<Store<'a>, Error> {
    let config = Config { logical_pages, spare_blocks: 0 };
    Ftl::format(chip, room.memory(), Greedy, HotCold, config)
}

fn mount<'a>(chip: &'a mut Chip, room: &'a mut Room) -> Store<'a> {
    Ftl::mount(chip, room.memory(), Greedy, HotCold).expect("mounted")
}

/// Writes and trims pages, and notes what each holds.
fn used(ftl: &mut Store<'_>, holds: &mut [u8], trims: bool) {
    let mut draw = 5_u32;
    for number in 1..3000_u32 {
        draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let lpn = (draw >> 16) % LOGICAL;
        let byte = (number % 255) as u8 + 1;
        if trims && number % 40 == 0 {
            ftl.trim(lpn).expect("trimmed");
            holds[lpn as usize] = 0;
        } else {
            ftl.write(lpn, &[byte; PAGE]).expect("written");
            holds[lpn as usize] = byte;
        }
    }
}

fn check(ftl: &mut Store<'_>, holds: &[u8]) {
    let mut page = [0; PAGE];
    for (lpn, &byte) in (0..).zip(holds) {
        assert_eq!(ftl.read(lpn, &mut page), Ok(byte != 0), "page {lpn}");
        assert_eq!(page, [byte; PAGE], "page {lpn}");
    }
}

#[test]
fn the_most_pages_that_fit_are_those_that_can_be_formatted() {
    let most = most_logical_pages(&SHAPE, 0, 2);
    assert!(most > LOGICAL);
    let with = |pages| {
        let (mut chip, mut room) = (Chip::new(), Static::<48, 11, 60, PAGE>::new());
        let config = Config { logical_pages: pages, spare_blocks: 0 };
        Ftl::format(&mut chip, room.memory(), Greedy, HotCold, config).map(drop)
    };
    assert_eq!(with(most), Ok(()));
    assert_eq!(with(most + 1), Err(Error::TooLarge(most)));
    assert!(most_logical_pages(&SHAPE, 3, 2) < most);
    assert_eq!(most_logical_pages(&SHAPE, 1000, 2), 0);
}

#[test]
fn a_store_says_what_it_holds_and_whether_all_of_the_map_is_on_the_chip() {
    let (mut chip, mut room) = (Chip::new(), Room::new());
    let mut holds = vec![0; LOGICAL as usize];
    let mut ftl = format(&mut chip, &mut room, LOGICAL).expect("formatted");
    used(&mut ftl, &mut holds, true);
    let mut held = Vec::new();
    ftl.each_mapped(|lpn, _| held.push(lpn)).expect("readable");
    let expected: Vec<u32> = (0..).zip(&holds).filter(|(_, b)| **b != 0).map(|(l, _)| l).collect();
    assert_eq!(held, expected);
    let blocks: Vec<_> = (0..SHAPE.blocks).map(|block| ftl.block_use(block).0).collect();
    let free = blocks.iter().filter(|used| **used == Use::Free).count() as u32;
    assert_eq!(free, ftl.free_blocks());
    let open = blocks.iter().filter(|used| **used == Use::Open).count();
    assert_eq!(open, 3, "two streams and the map");
    assert!(!ftl.is_saved(), "changes are in RAM");
    ftl.checkpoint().expect("written");
    assert!(ftl.is_saved());
    let programs = ftl.programs();
    drop(ftl);
    let mut ftl = mount(&mut chip, &mut room);
    assert!(ftl.is_saved());
    assert_eq!(ftl.programs(), programs);
    check(&mut ftl, &holds);
    ftl.write(0, &[1; PAGE]).expect("written");
    assert!(!ftl.is_saved());
    // Without `settle` a trim is in RAM only.
    ftl.trim(1).expect("trimmed");
    ftl.settle().expect("written");
    (holds[0], holds[1]) = (1, 0);
    ftl.remount().expect("it is found again");
    check(&mut ftl, &holds);
    ftl.reformat(Config { logical_pages: LOGICAL, spare_blocks: 0 }).expect("formatted");
    check(&mut ftl, &vec![0; LOGICAL as usize]);
}

#[test]
fn changes_of_a_page_of_the_map_that_is_damaged_are_found_in_the_areas() {
    let (mut chip, mut room) = (Chip::new(), Room::new());
    let mut holds = vec![0; LOGICAL as usize];
    let mut ftl = format(&mut chip, &mut room, LOGICAL).expect("formatted");
    used(&mut ftl, &mut holds, false);
    ftl.checkpoint().expect("written");
    drop(ftl);
    let map_pages: Vec<u32> = (0..SHAPE.blocks * SHAPE.pages)
        .filter_map(|page| {
            let (_, area) = chip.pages[page as usize].as_ref()?;
            match Area::decode(area) {
                Found::Page(Area { content: Content::Map, .. }) => Some(page),
                _ => None,
            }
        })
        .collect();
    assert!(map_pages.len() > 6);
    for page in map_pages {
        let mut chip = chip.clone();
        chip.unreadable.push(page);
        let mut room = Room::new();
        let mut ftl = mount(&mut chip, &mut room);
        check(&mut ftl, &holds);
        // It goes on, and nothing comes back.
        let mut after = holds.clone();
        used(&mut ftl, &mut after, true);
        ftl.flush().expect("flushed");
        ftl.remount().expect("mounted");
        check(&mut ftl, &after);
    }
}

#[test]
fn pages_of_the_map_are_written_ahead_in_a_row_and_nothing_else_changes() {
    let (mut chip, mut room) = (Chip::new(), Room::new());
    let mut holds = vec![0; LOGICAL as usize];
    let mut ftl = format(&mut chip, &mut room, LOGICAL).expect("formatted");
    let (mut draw, mut batches) = (3_u32, 0);
    for number in 1..4000_u32 {
        draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let lpn = (draw >> 16) % LOGICAL;
        let before = ftl.counters().map_writes;
        ftl.sweep_ahead(3).expect("written");
        batches += u32::from(ftl.counters().map_writes >= before + 3);
        holds[lpn as usize] = (number % 255) as u8 + 1;
        ftl.write(lpn, &[holds[lpn as usize]; PAGE]).expect("written");
    }
    assert!(batches > 20, "{batches}");
    check(&mut ftl, &holds);
    drop(ftl);
    check(&mut mount(&mut chip, &mut room), &holds);
}

#[test]
fn the_examples_with_drivers_run() {
    assert_eq!(parallel_nand::main(), Ok(()));
    assert_eq!(spi_nor::main(), Ok(()));
}
