//! Pages damaged after they were written: which damage is found, and how it is reported.

use thermocline_flash::{BlockId, Flash, FlashError, Lpn, Ppn};
use thermocline_ftl::{EndOfLife, FtlError, Mount, MountError, index};

use super::{
    chip::{Failing, Op, Page, Slate, State},
    common::Draws,
    device::{Device, PAGE, World, content, ops, sync},
};

const BOTH: [Mount; 2] = [Mount::Quick, Mount::FromPages];

/// A device with every page written and flushed; page `n` holds `n + 1`.
fn written(seed: u64, rough: bool) -> (World, Box<dyn Device>) {
    written_on(World::draw(&mut Draws(seed), rough))
}

fn written_on(world: World) -> (World, Box<dyn Device>) {
    let chip = world.chip(State::blank(&world.geometry, &[]));
    let mut device = world.format(chip).expect("formatted");
    for lpn in 0..world.config.logical_pages {
        put(&mut *device, lpn, u64::from(lpn) + 1).expect("written");
    }
    flush(&mut *device);
    (world, device)
}

fn put(device: &mut dyn Device, lpn: u32, content: u64) -> Result<(), FtlError> {
    let mut page = [0; PAGE];
    page[..8].copy_from_slice(&content.to_le_bytes());
    device.write(Lpn(lpn), &page, 1)
}

fn flush(device: &mut dyn Device) {
    device.settle(1).expect("settled");
    let covered = device.last_program();
    sync(device);
    device.synced(covered);
}

/// Unmounted and synced.
fn left(device: &mut dyn Device) -> State {
    device.unmount(2).expect("unmounted");
    sync(device);
    device.chip().state.clone()
}

/// The chip of a device as it is, but for a page whose payload has faded.
fn faded(world: &World, device: &dyn Device, at: Ppn) -> State {
    let oob = device.chip().clone().read_oob(at).expect("read").expect("it was programmed");
    let mut state = device.chip().state.clone();
    state.apply(&world.geometry, &Op::Program(at, Page::Half(oob)));
    state
}

fn read(device: &mut dyn Device, lpn: u32) -> Result<u64, FtlError> {
    let mut page = [0; PAGE];
    device.read(Lpn(lpn), &mut page)?;
    Ok(u64::from_le_bytes(*page.first_chunk().expect("a page is longer")))
}

#[test]
fn what_was_flushed_and_has_faded_is_an_error_after_a_crash_and_never_an_older_content() {
    let mut errors = 0;
    for seed in 1..=120 {
        let (world, mut device) = written(seed, true);
        put(&mut *device, 0, 1000).expect("written");
        flush(&mut *device);
        put(&mut *device, 0, 2000).expect("written");
        flush(&mut *device);
        if seed % 2 == 0 {
            // The next page says it.
            put(&mut *device, 1, 3000).expect("written");
        } else {
            // Nothing follows: the log says it.
            let programs = device.counters().index_programs;
            device.scrub(1).expect("told");
            let told = device.counters().index_programs;
            assert!(told > programs, "seed {seed}");
            device.scrub(2).expect("nothing to tell");
            assert_eq!(device.counters().index_programs, told, "once, seed {seed}");
        }
        let at = device.locate(Lpn(0));
        let state = faded(&world, &*device, at);
        for how in BOTH {
            let (mut again, recovery) =
                world.mount(world.chip(state.clone()), 0, how).expect("mounted");
            assert!(!recovery.clean);
            match read(&mut *again, 0) {
                Err(FtlError::Flash(FlashError::Unreadable(_))) => errors += 1,
                // It was moved meanwhile, and the copy before that is left.
                other => assert_eq!(other, Ok(2000), "seed {seed}, {how:?}"),
            }
            // So it stays, whatever the next crash leaves.
            for lpn in 1..world.config.logical_pages {
                // A block is kept for what cannot be read, and that may have been the one to spare.
                match put(&mut *again, lpn, 5000) {
                    Ok(()) => {}
                    Err(FtlError::ReadOnly) => break,
                    Err(e) => panic!("seed {seed}: {e}"),
                }
            }
            let state = again.chip().state.clone();
            let (mut third, _) = world.mount(world.chip(state), 1, how).expect("mounted");
            let found = read(&mut *third, 0);
            assert!(!matches!(found, Ok(content) if content != 2000), "seed {seed}: {found:?}");
        }
    }
    assert!(errors > 200, "{errors} of 240");
}

#[test]
fn what_a_fold_cannot_read_is_an_error_after_any_mount_until_it_is_written() {
    let mut lost = 0;
    for seed in 1..=60 {
        let world = World::draw_nftl(&mut Draws(seed));
        if world.config.logical_pages < 10 {
            // Too little is written after the flush to prove it.
            continue;
        }
        let (world, mut device) = written_on(world);
        put(&mut *device, 0, 1000).expect("written");
        flush(&mut *device);
        let at = device.locate(Lpn(0));
        device.chip_mut().state = faded(&world, &*device, at);
        for round in 1..6 {
            for lpn in 1..world.config.logical_pages {
                put(&mut *device, lpn, 5000 + round).expect("written");
            }
        }
        device.check().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        flush(&mut *device);
        lost += device.counters().pages_lost;
        assert!(read(&mut *device, 0).is_err(), "seed {seed}");
        let killed = device.chip().state.clone();
        let stopped = left(&mut *device);
        for (state, how) in [(&killed, BOTH[0]), (&killed, BOTH[1]), (&stopped, BOTH[0])] {
            let (mut again, _) = world.mount(world.chip(state.clone()), 1, how).expect("mounted");
            assert!(read(&mut *again, 0).is_err(), "seed {seed}, {how:?}");
            for lpn in 1..world.config.logical_pages {
                assert_eq!(read(&mut *again, lpn), Ok(5005), "seed {seed}, {how:?}");
            }
            put(&mut *again, 0, 7).expect("written");
            assert_eq!(read(&mut *again, 0), Ok(7), "written anew it is fine");
        }
    }
    assert!(lost > 10, "{lost} were met by a fold");
}

#[test]
fn what_nothing_says_was_flushed_is_rolled_back_and_named() {
    for seed in 1..=60 {
        let (world, mut device) = written(seed, false);
        put(&mut *device, 0, 1000).expect("written");
        flush(&mut *device);
        put(&mut *device, 0, 2000).expect("written");
        let state = faded(&world, &*device, device.locate(Lpn(0)));
        for how in BOTH {
            let (mut again, recovery) =
                world.mount(world.chip(state.clone()), 0, how).expect("mounted");
            assert_eq!(read(&mut *again, 0), Ok(1000), "seed {seed}");
            assert_eq!(recovery.rolled_back, [Lpn(0)], "seed {seed}");
        }
    }
}

#[test]
fn a_page_whose_area_has_become_blank_is_an_error_and_not_ones() {
    let (world, mut device) = written(1, false);
    let at = device.locate(Lpn(2));
    device.chip_mut().state.apply(&world.geometry, &Op::Program(at, Page::Blank));
    let error = FtlError::Flash(FlashError::Unreadable(at));
    assert_eq!(read(&mut *device, 2), Err(error));
    assert_eq!(read(&mut *device, 1), Ok(2), "the others are fine");
    put(&mut *device, 2, 7).expect("written");
    assert_eq!(read(&mut *device, 2), Ok(7), "written anew it is fine");
}

#[test]
fn a_page_that_was_programmed_though_its_write_failed_is_not_taken_for_the_newest() {
    for seed in 1..=60 {
        let (world, mut device) = written(seed, false);
        // More than once: several numbers do not count.
        for n in 0..4 {
            device.chip_mut().lies = true;
            let failed = put(&mut *device, n % 2, 4000);
            assert_eq!(failed, Err(FtlError::Flash(FlashError::Medium(5))), "seed {seed}");
            assert_eq!(content(&mut *device, n % 2), u64::from(n % 2) + 1);
        }
        let state = left(&mut *device);
        let places: Vec<Vec<Ppn>> = BOTH
            .into_iter()
            .map(|how| {
                let (device, recovery) =
                    world.mount(world.chip(state.clone()), 0, how).expect("mounted");
                assert!(recovery.clean, "seed {seed}");
                (0..world.config.logical_pages).map(|lpn| device.locate(Lpn(lpn))).collect()
            })
            .collect();
        assert_eq!(places[0], places[1], "seed {seed}: the pages say what the checkpoint says");
    }
}

#[test]
fn a_trim_that_could_not_be_told_is_told_by_the_next_flush() {
    for seed in 1..=60 {
        let (world, mut device) = written(seed, false);
        device.trim(Lpn(1), 1).expect("trimmed");
        device.chip_mut().full = true;
        let full = FtlError::Flash(FlashError::Medium(28));
        assert_eq!(device.settle(1), Err(full), "seed {seed}");
        device.chip_mut().full = false;
        flush(&mut *device);
        let state = device.chip().state.clone();
        for how in BOTH {
            let (mut again, _) = world.mount(world.chip(state.clone()), 0, how).expect("mounted");
            assert_eq!(content(&mut *again, 1), 0, "seed {seed}");
        }
    }
}

#[test]
fn a_chip_whose_log_has_lost_all_heads_is_not_called_blank_and_is_salvaged_from_its_pages() {
    for seed in 1..=40 {
        let (world, mut device) = written(seed, false);
        device.trim(Lpn(1), 2).expect("trimmed");
        let mut state = left(&mut *device);
        let mut chip: Slate = world.chip(state.clone());
        for entry in index::entries(&mut chip).expect("the log is read") {
            if matches!(entry.record, Some((_, index::Record::Head(_)))) {
                state.apply(&world.geometry, &Op::Program(entry.at, Page::Torn));
            }
        }
        let refused = world.mount(world.chip(state.clone()), 0, Mount::Quick).err();
        let Some(MountError::Headless(traces)) = refused else { panic!("{refused:?}") };
        assert_eq!(traces.logical_pages(), world.config.logical_pages, "seed {seed}");
        assert_eq!(traces.first_log_block, Some(BlockId(world.geometry.data_blocks())));
        let (mut device, _) = world.salvage(world.chip(state)).expect("salvaged");
        device.check().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let state = left(&mut *device);
        for how in BOTH {
            let (mut device, recovery) =
                world.mount(world.chip(state.clone()), 1, how).expect("mounted");
            assert!(recovery.clean, "seed {seed}");
            for lpn in 0..world.config.logical_pages {
                let held = if lpn == 1 { 0 } else { u64::from(lpn) + 1 };
                assert_eq!(content(&mut *device, lpn), held, "seed {seed}");
            }
        }
    }
    let world = World::draw(&mut Draws(1), false);
    let blank = world.chip(State::blank(&world.geometry, &[]));
    assert_eq!(world.mount(blank, 0, Mount::Quick).err(), Some(MountError::NotFormatted));
}

#[test]
fn a_log_whose_blocks_are_used_up_ends_the_device_and_says_so_after_a_mount_too() {
    let mut over = 0;
    for seed in 1..=20 {
        let (world, mut device) = written(seed, false);
        assert_eq!(device.end_of_life(), None);
        device.chip_mut().failing =
            Some(Failing { draws: Draws(seed), one_in: 1, of_data: 0, of_log: u32::MAX });
        device.trim(Lpn(0), 3).expect("noted in memory");
        assert_eq!(device.settle(3), Err(FtlError::ReadOnly), "seed {seed}");
        assert_eq!(device.end_of_life(), Some(EndOfLife::IndexLog), "seed {seed}");
        assert!(device.is_read_only() && device.spare_blocks() == Some(0));
        assert_eq!(put(&mut *device, 1, 9), Err(FtlError::ReadOnly), "seed {seed}");
        assert_eq!(device.trim(Lpn(2), 3), Err(FtlError::ReadOnly), "seed {seed}");
        assert_eq!(content(&mut *device, 1), 2, "what it holds can be read");
        let chip = world.chip(device.chip().state.clone());
        let (mut again, _) = world.mount(chip, 0, Mount::Quick).expect("mounted");
        assert_eq!(content(&mut *again, 1), 2);
        // A mount may find a block that is not needed any more.
        if again.end_of_life() == Some(EndOfLife::IndexLog) {
            assert_eq!(put(&mut *again, 1, 9), Err(FtlError::ReadOnly), "seed {seed}");
            over += 1;
        }
    }
    assert!(over > 10, "{over} of 20");
}

/// A chip that lost power after a fold was synced, and lost every record of that sync: of the later writes
/// only pages of the same virtual block without a watermark survive.
fn unproved_fold(seed: u64) -> Option<(World, State, u64)> {
    let (world, mut device) = written_on(World::draw_nftl(&mut Draws(seed)));
    if world.config.logical_pages <= 2 * world.geometry.data_pages_per_block() {
        return None;
    }
    let is_data = |block: BlockId| block.0 < world.geometry.data_blocks();
    let folded = |ops: &[Op]| ops.iter().any(|op| matches!(op, Op::Erase(b) if is_data(*b)));
    let (mut last, mut before) = (1000, device.chip().state.clone());
    device.chip_mut().ops.clear();
    while !folded(&device.chip().ops) {
        before = device.chip().state.clone();
        device.chip_mut().ops.clear();
        last += 1;
        put(&mut *device, 0, last).ok().filter(|()| last < 1040)?;
    }
    // The first pages after a sync carry the watermark.
    for lpn in (0..9).map(|n| world.config.logical_pages - 1 - n % 3) {
        put(&mut *device, lpn, 1).ok()?;
    }
    for _ in 0..2 {
        last += 1;
        put(&mut *device, 0, last).ok()?;
    }
    let all = ops(&mut *device);
    let synced = all.iter().rposition(|op| matches!(op, Op::Sync))?;
    for (n, op) in all.iter().enumerate() {
        let survives = match op {
            Op::Program(at, Page::Holds(oob, _)) => {
                let is_late = is_data(world.geometry.block_of(*at))
                    && oob.lpn == Lpn(0)
                    && index::program_number(oob.sequence) == oob.sequence;
                n < synced || is_late
            }
            _ => n < synced,
        };
        if survives {
            before.apply(&world.geometry, op);
        }
    }
    Some((world, before, last))
}

#[test]
fn what_nftl_gives_up_is_erased_newest_first_so_that_nothing_flushed_goes_with_it() {
    let mut several = 0;
    for seed in 1..=600 {
        let Some((world, left, last)) = unproved_fold(seed) else { continue };
        let Ok((mut device, _)) = world.mount(world.chip(left.clone()), 0, Mount::Quick) else {
            continue;
        };
        let pages = world.config.logical_pages;
        let shown: Vec<u64> = (0..pages).map(|lpn| content(&mut *device, lpn)).collect();
        if put(&mut *device, pages - 1, last + 1).is_err() {
            continue;
        }
        let done = ops(&mut *device);
        if shown[0] == last {
            continue;
        }
        let erases = |op: &&Op| matches!(op, Op::Erase(b) if b.0 < world.geometry.data_blocks());
        several += u32::from(
            done.iter().take_while(|op| !matches!(op, Op::Sync)).filter(erases).count() > 1,
        );
        let mut state = left;
        for op in &done {
            state.apply(&world.geometry, op);
            for how in BOTH {
                let mounted = world.mount(world.chip(state.clone()), 1, how);
                let (mut again, _) = mounted.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
                for lpn in 0..pages - 1 {
                    let found = content(&mut *again, lpn);
                    assert_eq!(found, shown[lpn as usize], "seed {seed}: page {lpn} after {op:?}");
                }
            }
        }
    }
    assert!(several > 10, "{several} gave up more than one block");
}
