//! Snapshots of the tables in RAM, on a chip that is large enough for them: what a mount reads, and every cut around them.

use thermocline_embedded::{
    AREA, Config, Error, Ftl, Geometry, Nand, Static, Use, most_logical_pages,
    policy::{Cat, Dac},
};

use crate::{
    chip::{Chip, Draws},
    promises::Promises,
};

const PAGE: usize = 1024;
const SHAPE: Geometry = Geometry { blocks: 256, pages: 16, page_size: PAGE as u32 };
const LOGICAL: u32 = 3000;
type Room = Static<256, 10, 600, PAGE>;
type Store<'a> = Ftl<'a, &'a mut Chip, Cat, Dac<3>>;

const CONFIG: Config = Config { logical_pages: LOGICAL, spare_blocks: 1 };

fn mount<'a>(chip: &'a mut Chip, room: &'a mut Room) -> Result<Store<'a>, Error> {
    Ftl::mount(chip, room.memory(), Cat::default(), Dac)
}

fn verify(store: &mut Store<'_>, promises: &mut Promises, when: &str) {
    let mut data = [0; PAGE];
    for lpn in 0..LOGICAL {
        let seen = store.read(lpn, &mut data);
        promises.seen(lpn, seen, &data).unwrap_or_else(|broken| panic!("{when}: {broken:?}"));
    }
}

/// A store that was used for a while, and stopped.
fn stopped(bad: &[u32]) -> (Chip, Promises) {
    let mut chip = Chip::new(SHAPE, 3);
    bad.iter().for_each(|&block| chip.bad_from_the_factory(block));
    let mut promises = Promises::new(LOGICAL, SHAPE.page_size);
    let mut room = Room::new();
    let mut store = Ftl::format(&mut chip, room.memory(), Cat::default(), Dac::<3>, CONFIG)
        .expect("there is room");
    for i in 0..2 * LOGICAL {
        let lpn = if i < LOGICAL { i } else { i * 739 % LOGICAL };
        promises.write(&mut store, lpn).expect("written");
    }
    store.checkpoint().expect("saved");
    promises.flushed();
    drop(store);
    (chip, promises)
}

/// Loads of a mount.
fn loads(chip: &mut Chip, promises: &mut Promises, when: &str) -> u64 {
    let before = chip.counts.loads;
    let mut room = Room::new();
    chip.power_on(u32::MAX);
    chip.begun();
    let mut store = mount(chip, &mut room).expect("mounted");
    let loads = store.nand().counts.loads - before;
    verify(&mut store, promises, when);
    loads
}

fn valid_pages(chip: &mut Chip) -> Vec<u32> {
    let mut room = Room::new();
    let store = mount(chip, &mut room).expect("mounted");
    (0..SHAPE.blocks).map(|block| store.valid_pages(block)).collect()
}

#[test]
fn a_mount_reads_snapshots_and_what_changed_since() {
    for bad in [&[][..], &[0], &[1, 2], &[0, 1, 2]] {
        let (mut chip, mut promises) = stopped(bad);
        let after_stop = loads(&mut chip, &mut promises, "a stop");
        // Of two blocks one is erased while the other one counts; where there is one, the tables fill it once.
        let is_quick = bad.len() < 2;
        assert_eq!(after_stop <= 60, is_quick, "{bad:?}: {after_stop}");
        let mut room = Room::new();
        let mut store = mount(&mut chip, &mut room).expect("mounted");
        let health = store.health();
        assert_eq!(health.bad_blocks, bad.len() as u32);
        let kept = (0..3).filter(|&block| store.block_use(block).0 == Use::Snapshots).count();
        assert_eq!(kept, 3 - bad.len());
        // Reads change nothing, and what was saved is not saved again.
        let programs = store.nand().counts.programs;
        verify(&mut store, &mut promises, "reads");
        store.checkpoint().expect("saved");
        assert_eq!(store.nand().counts.programs == programs, is_quick, "{bad:?}");
        promises.write(&mut store, 7).expect("written");
        drop(store);
        let after_change = loads(&mut chip, &mut promises, "a change");
        assert_eq!(after_change < 120, is_quick, "{bad:?}: {after_change}");
        assert!(chip.broken.is_none(), "{:?}", chip.broken);
    }
}

#[test]
fn without_room_for_three_blocks_more_a_store_has_no_snapshots() {
    let most = most_logical_pages(&SHAPE, 0, 3);
    for (logical_pages, kept) in [(most, 0), (most - 80, 3)] {
        let mut chip = Chip::new(SHAPE, 4);
        let mut room = Static::<256, 12, 60, PAGE>::new();
        let config = Config { logical_pages, spare_blocks: 0 };
        let store = Ftl::format(&mut chip, room.memory(), Cat::default(), Dac::<3>, config)
            .expect("there is room");
        let uses = (0..256).filter(|&block| store.block_use(block).0 == Use::Snapshots);
        assert_eq!(uses.count(), kept);
    }
}

/// Some changes and a stop, again and again: blocks for snapshots are erased meanwhile.
fn work(store: &mut Store<'_>, promises: &mut Promises) -> Result<(), Error> {
    for stop in 0..7 {
        for i in 0..3 {
            promises.write(store, (stop * 331 + i * 17) % LOGICAL)?;
        }
        store.checkpoint()?;
        promises.flushed();
    }
    Ok(())
}

/// Writes all over the store, trims and flushes: elements of the tables are written meanwhile, blocks opened and cleaned.
fn traffic(store: &mut Store<'_>, promises: &mut Promises) -> Result<(), Error> {
    for i in 0..150 {
        promises.write(store, (i * 1597 + i / 40) % LOGICAL)?;
        if i % 25 == 9 {
            let lpn = i * 11 % LOGICAL;
            let trimmed = store.trim(lpn);
            promises.trimmed(lpn, trimmed).expect("it is as it was left");
            trimmed?;
        }
        if i % 50 == 20 {
            store.flush()?;
            promises.flushed();
        }
    }
    Ok(())
}

/// The power fails at each operation, at once again after fewer, and again; then all that was flushed is there.
fn cut_everywhere(
    work: fn(&mut Store<'_>, &mut Promises) -> Result<(), Error>,
    least_operations: u64,
) {
    let (used, known) = stopped(&[]);
    let mut all = used.clone();
    let before = all.counts;
    work(&mut mount(&mut all, &mut Room::new()).expect("mounted"), &mut known.clone())
        .expect("the chip does not fail");
    let (programs, erases) =
        (all.counts.programs - before.programs, all.counts.erases - before.erases);
    assert!(erases > 1 && programs > least_operations, "{programs} programs, {erases} erases");
    for cut in 0..=(programs + erases) as u32 {
        for torn in [false, true] {
            let (mut chip, mut promises) = (used.clone(), known.clone());
            chip.faults.torn = torn;
            let when = format!("cut {cut}, torn {torn}");
            for left in [cut, cut / 3] {
                chip.power_on(left);
                chip.begun();
                let mut room = Room::new();
                promises.mounted();
                if let Ok(mut store) = mount(&mut chip, &mut room) {
                    let done = work(&mut store, &mut promises);
                    assert!(matches!(done, Ok(()) | Err(Error::Device)), "{when}: {done:?}");
                }
            }
            promises.mounted();
            loads(&mut chip, &mut promises, &when);
            assert!(chip.broken.is_none(), "{when}: {:?}", chip.broken);
        }
    }
}

#[test]
fn the_power_fails_at_every_operation_of_stops_and_nothing_is_lost() {
    cut_everywhere(work, 20);
}

#[test]
fn the_power_fails_at_every_operation_while_snapshots_are_kept_up_and_nothing_is_lost() {
    cut_everywhere(traffic, 150);
}

#[test]
fn a_page_that_was_cut_off_is_not_programmed_again_though_its_area_is_blank() {
    let (mut used, known) = stopped(&[]);
    used.faults.unseen = true;
    for cut in (0..160).step_by(3) {
        let (mut chip, mut promises) = (used.clone(), known.clone());
        for left in [cut, 0, 0, 1, 0, cut / 3, 2, 0] {
            chip.power_on(left);
            chip.begun();
            promises.mounted();
            if let Ok(mut store) = mount(&mut chip, &mut Room::new()) {
                let done = traffic(&mut store, &mut promises);
                assert!(matches!(done, Ok(()) | Err(Error::Device)), "cut {cut}: {done:?}");
            }
            assert!(chip.broken.is_none(), "cut {cut}, {left}: {:?}", chip.broken);
        }
        promises.mounted();
        loads(&mut chip, &mut promises, &format!("cut {cut}"));
    }
}

#[test]
fn a_format_whose_mark_was_cut_off_does_not_program_its_page_again() {
    let mut chip = Chip::new(SHAPE, 8);
    // No block is blank, so that the mark goes to the end of one.
    for block in 0..SHAPE.blocks {
        chip.program(block * SHAPE.pages, &[7; PAGE], &[7; AREA]).expect("programmed");
    }
    chip.faults.unseen = true;
    for left in [0, 0, 1, 0, 2, 1, u32::MAX] {
        chip.power_on(left);
        chip.begun();
        let mut room = Room::new();
        let made =
            Ftl::format(&mut chip, room.memory(), Cat::default(), Dac::<3>, CONFIG).map(drop);
        assert_eq!(made.is_ok(), left == u32::MAX);
        assert!(chip.broken.is_none(), "{left}: {:?}", chip.broken);
    }
}

#[test]
fn a_format_over_snapshots_that_is_cut_off_leaves_the_old_store_or_none() {
    for is_changed in [false, true] {
        let (mut used, mut known) = stopped(&[]);
        if is_changed {
            let mut room = Room::new();
            let mut store = mount(&mut used, &mut room).expect("mounted");
            for lpn in 0..200 {
                known.write(&mut store, lpn * 7).expect("written");
            }
            store.flush().expect("flushed");
            known.flushed();
        }
        // The blocks for snapshots are erased among the first: of each all that an erase may leave.
        let cuts = (0..SHAPE.blocks + 20).flat_map(|cut| {
            let draws = if cut < 10 { 40 } else { 1 };
            (0..draws).map(move |draw| (cut, draw))
        });
        for (cut, draw) in cuts {
            let (mut chip, mut promises) = (used.clone(), known.clone());
            (chip.faults.torn, chip.draws) = (cut % 3 > 0 || draw > 0, Draws(draw));
            chip.power_on(cut);
            let memory = &mut Room::new();
            let formatted =
                Ftl::format(&mut chip, memory.memory(), Cat::default(), Dac::<3>, CONFIG).map(drop);
            chip.power_on(u32::MAX);
            promises.mounted();
            let mut room = Room::new();
            match mount(&mut chip, &mut room) {
                Err(Error::NotFormatted) => assert!(formatted.is_err(), "cut {cut}"),
                Err(e) => panic!("cut {cut}: {e}"),
                Ok(mut store) => {
                    let mut data = [0; PAGE];
                    let empty = (0..LOGICAL).all(|lpn| store.read(lpn, &mut data) == Ok(false));
                    if !empty {
                        verify(&mut store, &mut promises, &format!("{is_changed}, cut {cut}"));
                    }
                }
            }
        }
    }
}

#[test]
fn a_driver_without_snapshots_leaves_none_that_is_out_of_date() {
    let (mut chip, mut promises) = stopped(&[]);
    let mut room = Room::new();
    let mut store = mount(&mut chip, &mut room).expect("mounted");
    // Until the numbers of snapshots are beyond those of programs: no mount may take one for the other.
    for stop in 0..1500 {
        promises.write(&mut store, stop * 7 % LOGICAL).expect("written");
        store.checkpoint().expect("saved");
        promises.flushed();
    }
    let programs = store.programs();
    drop(store);
    chip.declines_snapshots = true;
    let mut room = Room::new();
    let mut store = mount(&mut chip, &mut room).expect("mounted");
    assert_eq!(store.programs(), programs);
    promises.write(&mut store, 9).expect("written");
    store.flush().expect("flushed");
    promises.flushed();
    drop(store);
    chip.declines_snapshots = false;
    assert!(loads(&mut chip, &mut promises, "a change by another driver") > 250);
}

#[test]
fn a_block_for_snapshots_whose_first_page_cannot_be_read_is_used_again() {
    for block in [0, 1] {
        let (mut chip, mut promises) = stopped(&[2]);
        chip.damage(block * SHAPE.pages, true);
        assert!(loads(&mut chip, &mut promises, "damage") > 250);
        let mut room = Room::new();
        let mut store = mount(&mut chip, &mut room).expect("mounted");
        promises.write(&mut store, 9).expect("written");
        store.checkpoint().expect("saved");
        promises.flushed();
        drop(store);
        assert!(loads(&mut chip, &mut promises, "a stop") <= 60, "block {block}");
        assert!(chip.broken.is_none(), "{:?}", chip.broken);
    }
}

#[test]
fn a_whole_chip_says_what_snapshots_say() {
    let (mut used, mut known) = stopped(&[]);
    for round in 0..40_u32 {
        let mut room = Room::new();
        let mut store = mount(&mut used, &mut room).expect("mounted");
        for i in 0..round * 13 % 300 {
            known.write(&mut store, (round * 31 + i * 7) % LOGICAL).expect("written");
        }
        store.flush().expect("flushed");
        known.flushed();
        drop(store);
        let (mut chip, mut promises) = (used.clone(), known.clone());
        let valid = valid_pages(&mut chip);
        let few = loads(&mut chip, &mut promises, &format!("round {round}, snapshots"));
        chip = used.clone();
        chip.declines_snapshots = true;
        let many = loads(&mut chip, &mut promises, &format!("round {round}, the chip"));
        assert!(few < 300 && few < many / 2, "round {round}: {few} {many}");
        chip = used.clone();
        chip.declines_snapshots = true;
        let by_chip = valid_pages(&mut chip);
        // By no means less: a block with none is erased.
        let mut counts = valid.iter().zip(&by_chip);
        assert!(counts.all(|(snapshots, chip)| snapshots >= chip), "round {round}");
    }
}

#[test]
fn tables_are_saved_whatever_room_a_page_leaves_beside_what_an_element_has() {
    for page_size in [332, 333, 335, 338, 341, 345] {
        let mut chip = Chip::new(Geometry { blocks: 256, pages: 16, page_size }, 5);
        let config = Config { logical_pages: 1500, spare_blocks: 1 };
        let mut room = Static::<256, 16, 60, 345>::new();
        let mut store = Ftl::format(&mut chip, room.memory(), Cat::default(), Dac::<3>, config)
            .expect("there is room");
        store.write(7, &vec![7; page_size as usize]).expect("written");
        store.checkpoint().expect("saved");
        drop(store);
        let before = chip.counts.loads;
        let store =
            Ftl::mount(&mut chip, room.memory(), Cat::default(), Dac::<3>).expect("mounted");
        let loads = store.nand().counts.loads - before;
        assert!(loads < 100, "{page_size}: {loads}");
    }
}
