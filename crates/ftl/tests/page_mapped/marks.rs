//! Marked pages on the page-mapped layer: what marks save, what they must not cost, and where they
//! end.

use crate::common;

use common::{CARD, Draws, Modelled, Named, Setup};
use thermocline_flash::{BlockId, Geometry, Lpn, Ppn, Timing};
use thermocline_ftl::FtlError;
use thermocline_policy::{
    bank::BankAssignment,
    victim::VICTIMS,
    wear::{Swap, WearLeveling},
};

const LOGICAL: u32 = 5000;

fn setup(victim: &'static str, placement: &'static str) -> Setup {
    Setup::new(CARD, LOGICAL, Named::plain(victim), Named::plain(placement))
}

/// Random writes and deletions of files of eight pages. Returns the resulting state.
fn deletions(
    setup: &Setup,
    delete: impl Fn(&mut dyn common::Ftl, Lpn, u64),
) -> (u64, u64, Vec<u32>, Vec<Ppn>) {
    let mut layer = setup.build();
    for lpn in 0..LOGICAL {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
    }
    layer.filled(0).expect("filled");
    let mut draws = Draws(3);
    let mut alive = vec![true; LOGICAL as usize];
    for now in 1..40_000 {
        let lpn = draws.below(LOGICAL);
        if draws.one_in(10) {
            for lpn in lpn..LOGICAL.min(lpn + 8) {
                delete(&mut *layer, Lpn(lpn), now);
                alive[lpn as usize] = false;
            }
        } else {
            layer.write(Lpn(lpn), &[], now).expect("written");
            alive[lpn as usize] = true;
        }
    }
    let counters = *layer.counters();
    let erases = (0..CARD.blocks()).map(|b| layer.erases(BlockId(b))).collect();
    let places = (0..LOGICAL).filter(|&lpn| alive[lpn as usize]);
    (counters.copies, counters.erases, erases, places.map(|l| layer.locate(Lpn(l))).collect())
}

#[test]
fn a_mark_that_stays_saves_exactly_what_a_trim_saves() {
    for entry in VICTIMS {
        let setup = setup(entry.info.name, "one-stream");
        let nothing = deletions(&setup, |_, _, _| ());
        let trimmed = deletions(&setup, |layer, lpn, now| {
            layer.trim(lpn, now).expect("trimmed");
        });
        let marked = deletions(&setup, |layer, lpn, now| {
            layer.mark_dead(lpn, now).expect("marked");
        });
        assert_eq!(marked, trimmed, "{}", entry.info.name);
        assert!(marked.0 < nothing.0 / 2, "{}: {} {}", entry.info.name, marked.0, nothing.0);
    }
}

#[test]
fn a_page_can_be_marked_revived_and_trimmed_once_each() {
    let mut layer = setup("greedy", "one-stream").build();
    layer.write(Lpn(7), &[], 1).expect("written");
    let at = layer.locate(Lpn(7));
    let block = CARD.block_of(at);
    assert_eq!(layer.mark_dead(Lpn(8), 2), Ok(false), "it holds nothing");
    assert_eq!(layer.revive(Lpn(7), 2), Ok(false), "it is not marked");
    for first in [true, false] {
        assert_eq!(layer.mark_dead(Lpn(7), 3), Ok(first));
        assert_eq!((layer.valid_pages(block), layer.locate(Lpn(7))), (0, at));
    }
    assert_eq!(layer.read(Lpn(7), &mut []), Ok(true));
    assert_eq!(layer.revive(Lpn(7), 4), Ok(true));
    assert_eq!(layer.revive(Lpn(7), 4), Ok(false));
    assert_eq!((layer.valid_pages(block), layer.locate(Lpn(7))), (1, at));
    layer.mark_dead(Lpn(7), 5).expect("marked");
    assert_eq!((layer.trim(Lpn(7), 6), layer.trim(Lpn(7), 6)), (Ok(true), Ok(false)));
    assert_eq!((layer.revive(Lpn(7), 7), layer.read(Lpn(7), &mut [])), (Ok(false), Ok(false)));
    // Overwritten, a page is as good as new.
    layer.write(Lpn(7), &[], 8).expect("written");
    layer.mark_dead(Lpn(7), 9).expect("marked");
    layer.write(Lpn(7), &[], 10).expect("written");
    assert_eq!(layer.revive(Lpn(7), 11), Ok(false));
    assert_eq!(layer.valid_pages(block), 1);
    let beyond = Err(FtlError::OutOfRange(Lpn(LOGICAL)));
    assert_eq!(layer.mark_dead(Lpn(LOGICAL), 12), beyond);
    assert_eq!(layer.revive(Lpn(LOGICAL), 12), beyond);
    assert_eq!((layer.counters().trims, layer.counters().dead_left), (1, 0));
    layer.check().expect("sound");
}

#[test]
fn a_dropped_page_reads_as_zeros_and_a_marked_one_as_it_was_written() {
    let setup = setup("greedy", "one-stream");
    let mut layer = setup.build_on(setup.chip().with_payload()).expect("it fits");
    let page = CARD.page_size as usize;
    let content = |lpn: u32| vec![lpn as u8 | 1; page];
    for lpn in 0..LOGICAL {
        layer.write(Lpn(lpn), &content(lpn), 0).expect("written");
    }
    for lpn in 0..40 {
        assert_eq!(layer.mark_dead(Lpn(lpn), 1), Ok(true));
    }
    let (mut kept, mut dropped) = (0, 0);
    let mut into = vec![9; page];
    for now in 2..2000 {
        // Block 1 keeps more valid pages than block 0, which goes first.
        let lpn = 41 + now as u32;
        layer.write(Lpn(lpn), &content(lpn), now).expect("written");
        for lpn in [0, 39] {
            if layer.read(Lpn(lpn), &mut into).expect("read") {
                assert_eq!(into, content(lpn));
                kept += 1;
            } else {
                assert!(into.iter().all(|&byte| byte == 0));
                dropped += 1;
            }
        }
    }
    assert!(kept > 0 && dropped > 0, "{kept} {dropped}");
    for lpn in 0..40 {
        let holds = layer.read(Lpn(lpn), &mut into).expect("read");
        assert_eq!(layer.revive(Lpn(lpn), 3000), Ok(holds));
    }
    layer.check().expect("sound");
}

/// With dynamic banks a bank takes other pages in the place of marked ones; if those are then
/// revived it holds more than its share.
#[test]
fn a_bank_that_revivals_overfill_is_left_alone_until_it_is_within_its_share() {
    let geometry = Geometry {
        banks: 2,
        blocks_per_bank: 40,
        pages_per_block: 16,
        header_pages: 0,
        system_blocks: 0,
        ..CARD
    };
    let mut setup = Setup::new(geometry, 0, Named::plain("greedy"), Named::plain("one-stream"));
    setup.config.bank_assignment = BankAssignment::Dynamic;
    setup.config.logical_pages = setup.most_logical_pages();
    let logical = setup.config.logical_pages;
    let mut run = Modelled::new(&setup).expect("it fits");
    for lpn in 0..logical {
        run.fill(lpn, 0).expect("filled");
    }
    run.layer.filled(0).expect("filled");
    let pages_of = |run: &Modelled, bank| -> Vec<u32> {
        let lies = |lpn: &u32| geometry.bank_of(geometry.block_of(run.layer.locate(Lpn(*lpn))));
        (0..logical).filter(|lpn| lies(lpn) == bank).collect()
    };
    let (mut now, mut overfull) = (0, 0);
    let mut draws = Draws(5);
    for round in 0..300 {
        let (own, other) = (pages_of(&run, round % 2), pages_of(&run, 1 - round % 2));
        // Scattered, since a block full of marks would be cleaned at once; and few, since a full
        // bank has no garbage beyond its open block's.
        let first = draws.below(100) as usize;
        let marked = || own.iter().skip(first).step_by(100).copied();
        marked().for_each(|lpn| run.mark(lpn, now));
        for _ in 0..5 {
            now += 1;
            run.write(other[draws.below(other.len() as u32) as usize], now).expect("written");
        }
        marked().for_each(|lpn| run.revive(lpn, now));
        run.check();
        let held = pages_of(&run, round % 2).len() as u32;
        overfull += u32::from(held > logical / 2);
        for lpn in 0..logical {
            // The dropped pages, so that the device is full again, and a tenth of the rest.
            if run.layer.locate(Lpn(lpn)) == Ppn::NONE || draws.one_in(10) {
                now += 1;
                run.write(lpn, now).expect("written");
            }
        }
        run.check();
        run.check_conservation();
    }
    assert!(overfull > 20, "{overfull} of 300");
}

#[test]
fn no_step_of_idle_cleaning_takes_longer_than_it_says() {
    let timing = Timing {
        read_ns: 3,
        program_ns: 20,
        copy_ns: 25,
        erase_ns: 300,
        hotness_scan_ns: 7,
        ..Timing::default()
    };
    let one = 31 * 25 + 300;
    let swap = WearLeveling::Swap(Swap { from_erases: 4, gap: 2 });
    for (placement, batch, wear, expected) in [
        ("one-stream", 1, WearLeveling::None, one),
        ("one-stream", 4, WearLeveling::None, one),
        ("age-sort", 4, WearLeveling::None, 4 * one),
        ("fine-grained", 1, WearLeveling::None, one + 7),
        ("one-stream", 1, swap, 2 * one),
    ] {
        let mut setup = setup("greedy", placement);
        setup.config.batch = batch;
        setup.config.idle_free = 20;
        setup.config.wear_leveling = wear;
        let mut layer = setup.build();
        assert_eq!(layer.idle_step_ns(&timing), expected, "{placement} {batch}");
        let mut draws = Draws(1);
        let mut longest = 0;
        for now in 1..60_000 {
            // Ever less garbage in a victim, at times.
            let lpn = draws.below(if now % 9000 < 3000 { LOGICAL } else { LOGICAL / 8 });
            layer.write(Lpn(lpn), &[], now).expect("written");
            let before = *layer.chip().counts();
            if now % 8 == 0 && layer.clean_in_idle_time(now).expect("cleaned") {
                longest = longest.max(layer.chip().counts().since(&before).time_ns(&timing));
            }
        }
        assert!(longest <= expected, "{placement} {batch}: {longest} of {expected}");
        assert!(longest > expected / 2, "{placement} {batch}: {longest} of {expected}");
    }
}
