//! Histories of one kind each: a format that is cut off, a bus that gives ones, a device that is on for one write at a time.

use thermocline_embedded::{
    Config, Error, Ftl, Geometry, NandError, Static,
    policy::{Cat, Dac},
};

use crate::{chip::Chip, promises::Promises};

const PAGE: usize = 512;
const SHAPE: Geometry = Geometry { blocks: 64, pages: 32, page_size: PAGE as u32 };
const LOGICAL: u32 = SHAPE.blocks * SHAPE.pages * 7 / 10;
type Room = Static<64, 9, 100, PAGE>;
type Store<'a> = Ftl<'a, &'a mut Chip, Cat, Dac<3>>;

const CONFIG: Config = Config { logical_pages: LOGICAL, spare_blocks: 1 };

fn format<'a>(chip: &'a mut Chip, room: &'a mut Room) -> Result<Store<'a>, Error> {
    Ftl::format(chip, room.memory(), Cat::default(), Dac, CONFIG)
}

fn mount<'a>(chip: &'a mut Chip, room: &'a mut Room) -> Result<Store<'a>, Error> {
    Ftl::mount(chip, room.memory(), Cat::default(), Dac)
}

/// How many pages are errors; all others must be right.
fn errors(store: &mut Store<'_>, promises: &mut Promises) -> u32 {
    let mut data = [0; PAGE];
    let mut errors = 0;
    for lpn in 0..LOGICAL {
        match store.read(lpn, &mut data) {
            Err(_) => errors += 1,
            seen => promises.seen(lpn, seen, &data).unwrap_or_else(|broken| panic!("{broken:?}")),
        }
    }
    errors
}

/// A store that is full and was used for a while.
fn used(chip: &mut Chip) -> Promises {
    let mut promises = Promises::new(LOGICAL, SHAPE.page_size);
    let mut room = Room::new();
    let mut store = format(chip, &mut room).expect("formatted");
    (0..LOGICAL).for_each(|lpn| promises.write(&mut store, lpn).expect("written"));
    for i in 0..LOGICAL {
        let lpn = ((u64::from(i) * 2_654_435_761) >> 7) % u64::from(LOGICAL);
        promises.write(&mut store, lpn as u32).expect("written");
    }
    store.flush().expect("flushed");
    promises.flushed();
    promises
}

#[test]
fn a_format_that_is_cut_off_leaves_the_old_store_or_none() {
    let mut chip = Chip::new(SHAPE, 3);
    let promises = used(&mut chip);
    for cut in 0..SHAPE.blocks + 8 {
        for torn in [false, true] {
            let (mut chip, mut promises) = (chip.clone(), promises.clone());
            chip.faults.torn = torn;
            chip.power_on(cut);
            let mut room = Room::new();
            let formatted = format(&mut chip, &mut room).map(drop);
            chip.power_on(u32::MAX);
            promises.mounted();
            let mut room = Room::new();
            match mount(&mut chip, &mut room) {
                Err(Error::NotFormatted) => assert!(formatted.is_err(), "cut {cut}"),
                Err(e) => panic!("cut {cut}: {e}"),
                Ok(mut store) => {
                    let mut data = [0; PAGE];
                    let empty = (0..LOGICAL).all(|lpn| store.read(lpn, &mut data) == Ok(false));
                    assert!(empty || errors(&mut store, &mut promises) == 0, "cut {cut}");
                }
            }
        }
    }
}

#[test]
fn a_bus_that_gives_ones_gives_errors_and_harms_nothing() {
    let mut chip = Chip::new(SHAPE, 4);
    let mut promises = used(&mut chip);
    let mut room = Room::new();
    let mut store = mount(&mut chip, &mut room).expect("mounted");
    assert_eq!(errors(&mut store, &mut promises), 0);
    for beginning in 0..3 {
        store.nand_mut().ones = true;
        assert_eq!(errors(&mut store, &mut promises), LOGICAL);
        for i in 0..200 {
            // Refused or not.
            let _ = promises.write(&mut store, (i * 13 + beginning) % LOGICAL);
        }
        store.nand_mut().ones = false;
        // What the layer believed meanwhile may be an error until the next mount.
        errors(&mut store, &mut promises);
        store.remount().expect("mounted");
        promises.mounted();
        assert_eq!(errors(&mut store, &mut promises), 0);
    }
}

#[test]
fn a_device_that_is_on_for_a_write_at_a_time_pays_little_for_it() {
    let mut chip = Chip::new(SHAPE, 5);
    let mut promises = used(&mut chip);
    let (before, mut loads) = (chip.counts, 0);
    let cycles = 400;
    for i in 0..cycles {
        chip.power_on(u32::MAX);
        promises.mounted();
        let (read, mut room) = (chip.counts.loads, Room::new());
        let mut store = mount(&mut chip, &mut room).expect("mounted");
        loads += store.nand().counts.loads - read;
        promises.write(&mut store, i * 769 % LOGICAL).expect("written");
        store.flush().expect("flushed");
        promises.flushed();
    }
    let (programs, erases) =
        (chip.counts.programs - before.programs, chip.counts.erases - before.erases);
    println!("{programs} programs, {erases} erases, {loads} loads in {cycles} mounts");
    // On a chip of 64 blocks; on one of 1,024 it is fewer than 8 programs and 0.3 erases.
    assert!(programs <= 10 * u64::from(cycles), "{programs}");
    assert!(2 * erases <= u64::from(cycles), "{erases}");
    let mut room = Room::new();
    promises.mounted();
    assert_eq!(errors(&mut mount(&mut chip, &mut room).expect("mounted"), &mut promises), 0);
}

#[test]
fn a_program_that_times_out_and_was_done_is_older_than_the_next() {
    let mut chip = Chip::new(SHAPE, 6);
    let mut promises = used(&mut chip);
    let mut room = Room::new();
    let mut store = mount(&mut chip, &mut room).expect("mounted");
    for lpn in 0..200 {
        store.nand_mut().answer_once = Some(NandError::Device);
        assert_eq!(promises.write(&mut store, lpn), Err(Error::Device));
        promises.write(&mut store, lpn).expect("written");
    }
    store.flush().expect("flushed");
    promises.flushed();
    store.remount().expect("mounted");
    promises.mounted();
    assert_eq!(errors(&mut store, &mut promises), 0);
}

#[test]
fn a_bit_that_turns_beside_a_page_is_mended() {
    let mut chip = Chip::new(SHAPE, 7);
    let mut promises = used(&mut chip);
    // Not of the last page of a block, nor of a page that may be the last one: those may have been cut off.
    for page in (0..SHAPE.blocks * SHAPE.pages).step_by(3) {
        if chip.is_followed(page) {
            chip.turn_area(page, page * 37 % 128);
        }
    }
    let mut room = Room::new();
    promises.mounted();
    let mut store = mount(&mut chip, &mut room).expect("mounted");
    assert_eq!(errors(&mut store, &mut promises), 0);
}
