//! NFTL: the conformance vectors, the thesis' figures, wear, bad blocks and the end of the device.

mod common;

use common::Draws;
use thermocline_flash::{
    BUILT_IN_PROFILES, BlockId, Condition, CountingChip, Geometry, Lpn, Ppn, Profile, Rules,
};
use thermocline_ftl::{
    BlockState, BlockUse, Counters, DeadPages, FtlError, Inspect, Layer, PageIo, Upkeep,
    nftl::{Choice, Config, Nftl},
};
use thermocline_media::Ram;
use thermocline_policy::dead::Reclaim;

const ANY_ORDER: Rules = Rules { in_order: false, endurance: 100_000, initial_bad_blocks: 0 };

const fn geometry(blocks: u32, pages: u32) -> Geometry {
    Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: blocks,
        pages_per_block: pages,
        page_size: 512,
        oob_size: 16,
        header_pages: 0,
        system_blocks: 0,
    }
}

fn toshiba() -> Profile {
    let (_, text) = BUILT_IN_PROFILES
        .iter()
        .find(|(name, _)| *name == "toshiba-tc58dvm72-64m")
        .expect("the thesis' chip is built in");
    toml::from_str(text).expect("a profile")
}

/// A layer on the thesis' chip.
fn on_toshiba(config: Config) -> Nftl<CountingChip> {
    let profile = toshiba();
    Nftl::new(CountingChip::new(profile.geometry, profile.rules), config).expect("it fits")
}

#[test]
fn states_of_blocks_tell_primaries_from_replacements() {
    let mut layer = on_toshiba(Config::new(7 * 4096 / 8 * 32));
    let states = |layer: &Nftl<CountingChip>| {
        let mut states = vec![BlockState::default(); 4096];
        layer.block_states(BlockId(0), &mut states);
        let mut used: Vec<_> = states
            .iter()
            .filter(|state| state.used != BlockUse::Free)
            .map(|state| (state.used, state.stream, state.valid))
            .collect();
        used.sort_by_key(|(_, stream, _)| *stream);
        used
    };
    layer.write(Lpn(0), &[], 1).expect("written");
    assert_eq!(states(&layer), [(BlockUse::Open, 0, 1)]);
    (2..=33).for_each(|write| layer.write(Lpn(0), &[], write).expect("written"));
    assert_eq!(states(&layer), [(BlockUse::Open, 0, 0), (BlockUse::Full, 1, 1)]);
}

#[test]
fn the_thirty_fourth_write_of_a_sector_folds() {
    // Spec §6, vector 4: 1 primary write, 32 appends, and then a fold with the new sector merged.
    let mut layer = on_toshiba(Config::new(7 * 4096 / 8 * 32));
    for write in 1..=33 {
        layer.write(Lpn(0), &[], write).expect("written");
        assert_eq!(layer.counters().erases, 0);
        assert_eq!(layer.dead_pages(), write - 1);
    }
    layer.write(Lpn(0), &[], 34).expect("written");
    let expected = Counters {
        host_writes: 34,
        erases: 2,
        folds: 1,
        forced_folds: 1,
        victims: 1,
        victims_valid: 1,
        ..Counters::default()
    };
    assert_eq!(*layer.counters(), expected);
    assert_eq!((layer.chip().counts().programs, layer.chip().counts().copies), (34, 0));
    assert_eq!(layer.dead_pages(), 0);
    layer.check().expect("sound");
}

#[test]
fn a_full_replacement_is_folded_in_idle_time_from_its_dead_pages_on() {
    // Spec §6, vector 5: after 33 writes d = 32.
    for (threshold, folds) in [(32, 1), (33, 0), (0, 0)] {
        let config = Config { idle_dead_pages: threshold, ..Config::new(1000) };
        let mut layer = on_toshiba(config);
        for write in 0..33 {
            assert_eq!(layer.clean_in_idle_time(write), Ok(false));
            layer.write(Lpn(0), &[], write).expect("written");
        }
        assert_eq!(layer.clean_in_idle_time(40), Ok(folds > 0));
        assert_eq!(layer.clean_in_idle_time(41), Ok(false));
        let counters = layer.counters();
        assert_eq!(
            (counters.folds, counters.idle_victims, counters.forced_folds),
            (folds, folds, 0)
        );
        assert_eq!(counters.cleaning_runs, 0, "idle folds are no collections");
        layer.check().expect("sound");
    }
}

#[test]
fn the_longest_fold_takes_the_published_20128_microseconds() {
    let timing = toshiba().timing;
    let mut layer = on_toshiba(Config { idle_dead_pages: 32, ..Config::new(1000) });
    assert_eq!(layer.idle_step_ns(&timing), 20_128_000);
    for (now, lpn) in (0..32).chain(0..32).enumerate() {
        layer.write(Lpn(lpn), &[], now as u64).expect("written");
    }
    let before = *layer.chip().counts();
    assert_eq!(layer.clean_in_idle_time(64), Ok(true));
    let fold = layer.chip().counts().since(&before);
    assert_eq!((fold.oob_reads, fold.copies, fold.erases, fold.programs), (64, 32, 2, 0));
    assert_eq!(fold.time_ns(&timing), 20_128_000);
}

/// Fills seven eighths of the thesis' chip and overwrites at random; the folds of each collection.
fn folds_of_collections(choice: Choice, writes: u64) -> Vec<u64> {
    let logical = 7 * 4096 / 8 * 32;
    let mut layer = on_toshiba(Config { choice, ..Config::new(logical) });
    for lpn in 0..logical {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
    }
    layer.filled(0).expect("filled");
    let mut draws = Draws(1);
    let mut folds = Vec::new();
    for now in 1..=writes {
        let before = *layer.counters();
        layer.write(Lpn(draws.below(logical)), &[], now).expect("written");
        let done = layer.counters().since(&before);
        if done.cleaning_runs > 0 {
            assert!(layer.pairs() <= 1, "but for this write's no pair is left");
            folds.push(done.folds - done.forced_folds);
        }
    }
    layer.check().expect("sound");
    folds
}

#[test]
fn collections_end_when_no_pair_is_left_and_not_at_the_stop_level() {
    // Spec §2.5: folds of a collection = 0.9·N − primaries: 4096 − 409 − 3584 here, the oracle's
    // 103 ± 3. Both choices fold the same pairs.
    for choice in [Choice::Greedy, Choice::CostBenefit] {
        let folds = folds_of_collections(choice, 5_000);
        assert!(folds.len() > 40, "{} collections", folds.len());
        assert!(folds.iter().all(|&n| n == 103), "{folds:?}");
    }
}

#[test]
fn erase_counts_stay_within_the_gap() {
    // An eighth of the data is overwritten repeatedly, the rest is cold.
    let logical = 56 * 8;
    let spread = |wear_gap| {
        let config = Config { wear_gap, ..Config::new(logical) };
        let chip = CountingChip::new(geometry(64, 8), ANY_ORDER);
        let mut layer = Nftl::new(chip, config).expect("it fits");
        for lpn in 0..logical {
            layer.fill(Lpn(lpn), false, 0).expect("filled");
        }
        let mut draws = Draws(2);
        let mut widest = 0;
        for now in 0..100_000 {
            layer.write(Lpn(draws.below(logical / 8)), &[], now).expect("written");
            let erases = (0..64).map(|b| layer.erases(BlockId(b)));
            widest = widest.max(erases.clone().max().expect("64") - erases.min().expect("64"));
        }
        layer.check().expect("sound");
        (widest, layer.counters().swap_erases)
    };
    let (unlevelled, moves) = spread(None);
    assert!(unlevelled > 500 && moves == 0, "{unlevelled} without levelling");
    for gap in [4, 15] {
        let (widest, moves) = spread(Some(gap));
        // A request may erase more than the one move makes up for at once.
        assert!(widest <= gap + 4 && moves > 100, "{widest} with a gap of {gap}, {moves} moves");
    }
}

#[test]
fn bad_and_system_blocks_are_left_alone() {
    let bad = [BlockId(0), BlockId(7), BlockId(8)];
    let with_system = Geometry { system_blocks: 2, header_pages: 1, ..geometry(24, 9) };
    for in_order in [false, true] {
        let rules = Rules { in_order, ..ANY_ORDER };
        let chip = || CountingChip::new(with_system, rules).with_bad_blocks(&bad);
        // 19 blocks of 8 pages, two of them spare.
        let most = 17 * 8;
        assert_eq!(
            Nftl::new(chip(), Config::new(most + 1)).err().expect("too much"),
            FtlError::NoSpace
        );
        let mut layer = Nftl::new(chip(), Config::new(most)).expect("it fits");
        let mut draws = Draws(3);
        for now in 0..20_000 {
            layer.write(Lpn(draws.below(most)), &[], now).expect("written");
            if now % 100 == 0 {
                layer.check().expect("sound");
            }
        }
        for block in bad.into_iter().chain([BlockId(22), BlockId(23)]) {
            assert_eq!((layer.erases(block), layer.valid_pages(block)), (0, 0));
        }
        assert_eq!(layer.write(Lpn(most), &[], 0), Err(FtlError::OutOfRange(Lpn(most))));
    }
}

#[test]
fn a_device_that_is_worn_out_keeps_its_data_and_says_so() {
    for in_order in [false, true] {
        for wear_gap in [None, Some(2)] {
            let rules = Rules { in_order, endurance: 20, initial_bad_blocks: 0 };
            let config = Config { wear_gap, ..Config::new(20 * 8) };
            let mut chip = Ram::new(geometry(26, 8), rules).that_wears_out();
            let mut layer = Nftl::new(&mut chip, config.clone()).expect("it fits");
            let mut versions = vec![0_u64; 160];
            let mut draws = Draws(4);
            let mut page = [0; 512];
            let (mut refused, mut now) = (0, 0_u64);
            // It ends piece by piece: some pages can still be written when others cannot.
            while refused < 200 {
                now += 1;
                let lpn = draws.below(160);
                page[..8].copy_from_slice(&now.to_le_bytes());
                match layer.write(Lpn(lpn), &page, now) {
                    Ok(()) => versions[lpn as usize] = now,
                    Err(e) => {
                        assert_eq!(e, FtlError::NoSpace);
                        refused += 1;
                    }
                }
                layer.check().expect("sound");
            }
            assert!(layer.counters().retired > 4, "{:?}", layer.counters());
            let holds_all = |layer: &mut Nftl<&mut Ram>| {
                let mut read = [0; 512];
                for (lpn, &version) in (0..).map(Lpn).zip(&versions) {
                    assert_eq!(layer.read(lpn, &mut read), Ok(version > 0));
                    assert_eq!(read[..8], version.to_le_bytes());
                }
            };
            holds_all(&mut layer);
        }
    }
}

#[test]
fn dead_pages_can_be_read_and_revived_until_they_are_left_behind() {
    let mut layer = Nftl::new(
        Ram::new(geometry(16, 4), ANY_ORDER),
        Config { idle_dead_pages: 1, ..Config::new(32) },
    )
    .expect("it fits");
    let mut read = [0; 512];
    for lpn in 0..4 {
        layer.write(Lpn(lpn), &[lpn as u8 + 1; 512], 0).expect("written");
    }
    assert_eq!(layer.mark_dead(Lpn(5), 1), Ok(false), "it holds nothing");
    assert_eq!((layer.mark_dead(Lpn(1), 1), layer.mark_dead(Lpn(1), 1)), (Ok(true), Ok(false)));
    assert_eq!(layer.mark_dead(Lpn(2), 1), Ok(true));
    assert_eq!((layer.dead_pages(), layer.valid_pages(layer_block(&layer, 0))), (2, 2));
    assert_eq!((layer.read(Lpn(1), &mut read), read[0]), (Ok(true), 2));
    assert_eq!((layer.revive(Lpn(1), 2), layer.revive(Lpn(1), 2)), (Ok(true), Ok(false)));
    assert_eq!(layer.dead_pages(), 1);
    // A fold leaves the other one behind.
    layer.write(Lpn(0), &[9; 512], 3).expect("written");
    assert_eq!(layer.clean_in_idle_time(4), Ok(true));
    assert_eq!(layer.counters().dead_left, 1);
    assert_eq!((layer.locate(Lpn(2)), layer.revive(Lpn(2), 5)), (Ppn::NONE, Ok(false)));
    assert_eq!((layer.read(Lpn(2), &mut read), read), (Ok(false), [0; 512]));
    for (lpn, first) in [(0, 9), (1, 2), (3, 4)] {
        assert_eq!((layer.read(Lpn(lpn), &mut read), read[0]), (Ok(true), first));
    }
    // A trim is at once; writing revives exactly the page that is written.
    assert_eq!((layer.trim(Lpn(3), 6), layer.trim(Lpn(3), 6)), (Ok(true), Ok(false)));
    assert_eq!(layer.read(Lpn(3), &mut read), Ok(false));
    assert_eq!((layer.mark_dead(Lpn(0), 7), layer.mark_dead(Lpn(1), 7)), (Ok(true), Ok(true)));
    layer.write(Lpn(0), &[7; 512], 8).expect("written");
    assert_eq!((layer.revive(Lpn(0), 9), layer.revive(Lpn(1), 9)), (Ok(false), Ok(true)));
    layer.check().expect("sound");
}

fn layer_block<C: Condition>(layer: &Nftl<C>, lpn: u32) -> BlockId {
    layer.chip().geometry().block_of(layer.locate(Lpn(lpn)))
}

#[test]
fn dead_blocks_are_reclaimed_lowest_first_no_more_than_the_cap_at_a_time() {
    // 100 blocks of 10 pages, 90 in use: a quarter of all pages die, in whole blocks from 10 on.
    for (cap, left_after_each_write) in [(true, vec![23, 21, 19, 19]), (false, vec![18, 18])] {
        let reclaim = Some(Reclaim { cap, ..Reclaim::default() });
        let chip = CountingChip::new(geometry(100, 10), ANY_ORDER);
        let mut layer = Nftl::new(chip, Config { reclaim, ..Config::new(900) }).expect("it fits");
        for lpn in 0..890 {
            layer.fill(Lpn(lpn), false, 0).expect("filled");
        }
        for lpn in 100..350 {
            assert_eq!(layer.mark_dead(Lpn(lpn), 1), Ok(true));
        }
        assert_eq!((layer.dead_pages(), layer.counters().reclaimed), (250, 0));
        // Each write takes a new page, so no other page dies. Nothing starts at 200 or fewer.
        for (lpn, &left) in (890..).zip(&left_after_each_write) {
            layer.write(Lpn(lpn), &[], 2).expect("written");
            assert_eq!(layer.dead_pages(), left * 10, "cap {cap}, page {lpn}");
        }
        let gone = (100..350).map(Lpn).filter(|&lpn| layer.locate(lpn) == Ppn::NONE);
        let gone: Vec<u32> = gone.map(|lpn| lpn.0).collect();
        let expected: Vec<u32> = (100..100 + gone.len() as u32).collect();
        assert_eq!(gone, expected, "the lowest are gone");
        assert_eq!(layer.counters().reclaimed * 10, gone.len() as u64);
        assert_eq!(layer.counters().dead_left, gone.len() as u64);
        layer.check().expect("sound");
    }
}
