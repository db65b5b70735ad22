//! An unreadable map page: none of its logical pages reads as zeros or an older version without an error.

use thermocline_flash::{Flash, Lpn, Ppn};
use thermocline_ftl::{Mount, index::MAP_STREAM};
use thermocline_media::{Cut, Faults};
use thermocline_testing::Draws;

use crate::model::{GEOMETRY, Model, OfChip, PAGES, format, mount, store};

/// How a store ends before the page is hurt.
#[derive(Clone, Copy, Debug)]
enum End {
    Stopped,
    Flushed,
    /// During an operation, garbage collection included.
    Cut,
}

/// The map pages on a chip, unreferenced ones included. For a store that was not stopped, leaves out those not followed
/// by data and a later map page: a loss of power may have cut them off, which looks like damage.
fn map_pages(chip: &mut OfChip, end: End) -> Vec<Ppn> {
    let mut all = Vec::new();
    for page in (0..GEOMETRY.data_blocks() * GEOMETRY.pages_per_block).map(Ppn) {
        if let Ok(Some(oob)) = chip.read_oob(page) {
            // The number of the program.
            all.push((oob.sequence & ((1 << 40) - 1), oob.stream == MAP_STREAM, page));
        }
    }
    all.sort_unstable();
    let synced = all.windows(2).rev().find(|two| !two[0].1 && two[1].1).map_or(0, |two| two[1].0);
    let is_meant = |number: u64| matches!(end, End::Stopped) || number < synced;
    all.retain(|&(number, is_map, _)| is_map && is_meant(number));
    all.into_iter().map(|(_, _, page)| page).collect()
}

fn hurt_each(policy: &str, cache: u32, end: End, trims: bool) -> (u32, u32) {
    let store = store(policy);
    let (mut hurt, mut errors) = (0, 0);
    for seed in 1..=12 {
        let (mut model, mut draws) = (Model::new(), Draws(seed));
        let mut layer = format(&store, Faults { seed, cache, ..Faults::default() });
        for _ in 0..500 {
            if trims {
                model.operate(&mut layer, &mut draws).expect("done");
            } else {
                let among = if draws.one_in(3) { PAGES } else { PAGES / 5 };
                let lpn = draws.below(among);
                model.write(&mut layer, lpn).expect("written");
            }
        }
        match end {
            End::Stopped => model.unmount(&mut layer).expect("unmounted"),
            End::Flushed => {
                model.flush(&mut layer).expect("flushed");
                // Trims last by what comes behind them.
                for _ in 0..120 {
                    model.write(&mut layer, draws.below(PAGES)).expect("written");
                }
            }
            End::Cut => {
                model.flush(&mut layer).expect("flushed");
                layer.chip_mut().cut_after(draws.below(60).into(), Cut::Torn);
                while layer.chip().is_on() {
                    let _ = model.write(&mut layer, draws.below(PAGES));
                }
            }
        }
        let mut chip = layer.chip().clone();
        chip.power_on();
        for page in map_pages(&mut chip, end) {
            hurt += 1;
            let mut chip = chip.clone();
            chip.turn_bits(page, 4000);
            let case = format!("{policy}, {end:?}, seed {seed}, {page:?}");
            let (mut layer, _) = mount(&store, chip, Mount::Quick);
            let mut model = model.clone();
            let lost = model.survived(&mut layer, &case);
            errors += u32::from(!lost.is_empty());
            // A lost page stays an error until it is written, whatever else happens.
            for lpn in (0..PAGES).filter(|lpn| lpn % 3 == 0 && !lost.contains(lpn)) {
                model.write(&mut layer, lpn).expect("written");
            }
            model.unmount(&mut layer).expect("unmounted");
            let (mut layer, _) = mount(&store, layer.chip().clone(), Mount::Quick);
            assert_eq!(model.survived(&mut layer, &case), lost, "{case}");
            for &lpn in &lost {
                model.write(&mut layer, lpn).expect("written");
            }
            model.unmount(&mut layer).expect("unmounted");
            let (mut layer, _) = mount(&store, layer.chip().clone(), Mount::FromPages);
            model.holds_the_newest(&mut layer);
        }
    }
    println!("{policy}, {end:?}: {errors} of {hurt} took data with them");
    assert!(hurt > 20, "{hurt}");
    (hurt, errors)
}

#[test]
fn a_page_of_the_map_that_cannot_be_read_gives_errors_and_no_zeros() {
    for (policy, cache, end) in [
        ("greedy", 0, End::Stopped),
        ("dac", 20, End::Stopped),
        ("greedy", 0, End::Flushed),
        ("hot-cold", 20, End::Flushed),
        ("dac", 0, End::Cut),
        ("greedy", 20, End::Cut),
    ] {
        hurt_each(policy, cache, end, true);
    }
}

#[test]
fn without_trims_the_pages_of_data_tell_all_that_it_said() {
    for (policy, end) in [("greedy", End::Stopped), ("dac", End::Flushed)] {
        let (hurt, errors) = hurt_each(policy, 0, end, false);
        // Where the program behind it is erased, nothing says whether it knew of trims.
        assert!(errors * 4 < hurt, "{errors} of {hurt}, {policy}");
    }
}

#[test]
fn what_was_flushed_last_is_told_of_in_the_background_and_is_an_error_when_it_is_damaged() {
    let store = store("greedy");
    for told in [true, false] {
        let mut model = Model::new();
        let mut layer = format(&store, Faults { seed: 1, cache: 20, ..Faults::default() });
        for lpn in (0..60).chain([7]) {
            model.write(&mut layer, lpn).expect("written");
        }
        let covers = layer.upkeep().last_program();
        model.flush(&mut layer).expect("flushed");
        layer.upkeep().synced(covers);
        let second = 1_000_000_000;
        if told {
            let programs = layer.inspect().counters().map_programs;
            assert_eq!(layer.upkeep().scrub(second), Ok(true));
            assert_eq!(layer.inspect().counters().map_programs, programs + 1);
            assert_eq!(layer.upkeep().scrub(2 * second), Ok(false), "it is told");
            layer.chip_mut().sync().expect("synced");
        }
        let at = layer.find(Lpn(7));
        let mut chip = layer.chip().clone();
        chip.turn_bits(at, 4000);
        let (mut layer, _) = mount(&store, chip, Mount::Quick);
        let found = layer.read(Lpn(7), &mut vec![0; GEOMETRY.page_size as usize]);
        assert_eq!(found.is_err(), told, "{found:?}");
    }
}
