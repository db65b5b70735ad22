//! Chip failures under the page-mapped layer: whatever fails and when, each page reads as last
//! written, or is an error if the chip lost it, up to the end of life.

use crate::common;

use common::{
    CARD, Draws, Named, Setup,
    faulty::{Content, Fault, Faulty, Host},
};
use thermocline_flash::{BlockId, FlashError, Geometry, Lpn, Rules};
use thermocline_ftl::{FtlError, Inspect, Layer, Nftl, PageIo, Upkeep, nftl};
use thermocline_policy::{
    State,
    bank::BankAssignment,
    trigger::{Trigger, Watermarks},
    wear::{Swap, WearLeveling},
};

/// A device with blocks of five pages, `spare` blocks more than the layer needs.
fn device(banks: u32, in_order: bool, victim: &'static str, placement: Named, spare: u32) -> Setup {
    let geometry = Geometry {
        banks,
        blocks_per_bank: 4,
        pages_per_block: 5,
        header_pages: 0,
        system_blocks: 0,
        page_size: 16,
        ..CARD
    };
    let mut setup = Setup::new(geometry, 0, Named::plain(victim), placement);
    let streams = u32::from(setup.streams());
    setup.rules = Rules { in_order, endurance: 100_000, initial_bad_blocks: 0 };
    setup.geometry.blocks_per_bank = 4 + streams + 2 + spare;
    // Four blocks of data in each bank; beside them the reserve, the open blocks and the spare ones.
    setup.config.logical_pages = banks * 4 * setup.geometry.pages_per_block;
    setup
}

/// Devices that differ in what failures may meet.
fn devices(spare: u32) -> Vec<Setup> {
    let mut all = Vec::new();
    for (banks, in_order, victim, placement) in [
        (1, true, "greedy", Named::plain("one-stream")),
        (1, false, "cat", Named::plain("segment-split")),
        (2, true, "cost-benefit", Named::with("dac", &[("regions", "3")])),
        (1, true, "lfs", Named::plain("age-sort")),
        (1, false, "fifo", Named::plain("midas")),
        (1, true, "greedy", Named::plain("multi-log")),
        (2, false, "windowed-greedy", Named::plain("sep-bit")),
    ] {
        let mut setup = device(banks, in_order, victim, placement, spare);
        if banks == 2 && !in_order {
            setup.config.bank_assignment = BankAssignment::Dynamic;
        }
        if victim == "lfs" {
            setup.config.batch = 3;
        }
        if victim == "cat" {
            setup.config.wear_leveling = WearLeveling::Swap(Swap { from_erases: 2, gap: 1 });
        }
        if victim == "fifo" {
            setup.config.trigger = Trigger::Eager;
        }
        all.push(setup);
    }
    all
}

/// Writes everything, then mostly a few pages, with some trims; deterministic. Stops at the layer's
/// first error.
fn history(host: &mut Host, steps: u64) -> Result<(), FtlError> {
    let logical = host.content.len() as u32;
    for lpn in 0..logical {
        host.write(lpn, 0)?;
    }
    let mut draws = Draws(7);
    for now in 1..=steps {
        let among = if draws.one_in(3) { logical } else { logical / 4 };
        let lpn = draws.below(among);
        if draws.one_in(16) {
            host.trim(lpn, now)?;
        } else {
            host.write(lpn, now)?;
        }
        host.check();
    }
    Ok(())
}

fn name(setup: &Setup) -> String {
    format!("{} with {}", setup.victim.0, setup.placement.0)
}

/// Runs the history with these faults.
fn run_with(setup: &Setup, steps: u64, faults: &[(u64, Fault)]) -> (Host, Result<(), FtlError>) {
    let mut host = Host::new(setup);
    host.layer.chip_mut().faults = faults.iter().copied().collect();
    let result = history(&mut host, steps);
    host.check();
    host.read_all();
    (host, result)
}

/// After failures that it survived, the layer has marked what failed, and nothing else.
fn check_retired(host: &mut Host, what: &str) {
    host.scrub_all(1000);
    host.check();
    host.read_all();
    let counters = *host.layer.counters();
    let chip = host.layer.chip();
    assert_eq!(chip.marked, chip.failed, "{what}: what failed is marked bad");
    assert_eq!(counters.retired as usize, chip.failed.len(), "{what}");
    assert_eq!(counters.programs_failed + counters.erases_failed, counters.retired, "{what}");
}

#[test]
fn each_operation_may_fail() {
    for setup in devices(3) {
        let name = name(&setup);
        let (host, sound) = run_with(&setup, 150, &[]);
        sound.expect("nothing fails");
        let operations = host.layer.chip().operations;
        let (mut programs, mut erases) = (0, 0);
        for n in 1..=operations {
            let (mut host, result) = run_with(&setup, 150, &[(n, Fault::Fails)]);
            let what = format!("{name}: operation {n}");
            assert_eq!(result, Ok(()), "{what}");
            assert!(!host.layer.is_read_only(), "{what}");
            check_retired(&mut host, &what);
            assert_eq!(host.layer.counters().retired, 1, "{what}");
            programs += host.layer.counters().programs_failed;
            erases += host.layer.counters().erases_failed;
        }
        println!("{name}: {programs} programs and {erases} erases failed");
        assert!(programs > 150 && erases > 5, "{name}");
    }
}

#[test]
fn any_two_operations_may_fail() {
    for mut setup in devices(3) {
        let name = name(&setup);
        // A failure costs a block of room until something was cleaned, and cleaning costs one meanwhile.
        setup.config.watermarks = Watermarks::lazy(3);
        setup.geometry.blocks_per_bank += 1;
        let (host, _) = run_with(&setup, 60, &[]);
        let operations = host.layer.chip().operations;
        let mut pairs = 0;
        for first in 1..operations {
            // All that come soon after, when the first is still being dealt with, and some later.
            for second in (first + 1..=operations).filter(|n| n - first < 24 || n % 7 == 0) {
                let faults = [(first, Fault::Fails), (second, Fault::Fails)];
                let (mut host, result) = run_with(&setup, 60, &faults);
                let what = format!("{name}: operations {first} and {second}");
                assert_eq!(result, Ok(()), "{what}");
                assert!(!host.layer.is_read_only(), "{what}");
                check_retired(&mut host, &what);
                assert_eq!(host.layer.counters().retired, 2, "{what}");
                pairs += 1;
            }
        }
        println!("{name}: {pairs} pairs of {operations} operations");
    }
}

#[test]
fn an_error_of_the_system_below_is_passed_on_and_the_layer_goes_on() {
    for setup in devices(2) {
        let name = name(&setup);
        let (host, _) = run_with(&setup, 40, &[]);
        for n in 1..=host.layer.chip().operations {
            for fault in [Fault::MediumBefore, Fault::MediumAfter] {
                let mut host = Host::new(&setup);
                host.layer.chip_mut().faults.insert(n, fault);
                let what = format!("{name}: operation {n}, {fault:?}");
                let mut errors = 0;
                let mut draws = Draws(7);
                for now in 0..80 {
                    match host.write(draws.below(host.content.len() as u32), now) {
                        Ok(()) => {}
                        Err(FtlError::Flash(FlashError::Medium(5))) => errors += 1,
                        Err(e) => panic!("{what}: {e}"),
                    }
                    host.check();
                    host.read_all();
                }
                assert!(errors <= 1, "{what}");
                assert_eq!(host.layer.counters().retired, 0, "{what}");
            }
        }
    }
}

#[test]
fn without_power_the_layer_still_knows_what_it_held() {
    for setup in devices(2) {
        for n in 1..150 {
            for cut in [Fault::CutBefore, Fault::CutAfter] {
                let mut host = Host::new(&setup);
                host.layer.chip_mut().faults.insert(n, cut);
                let what = format!("{}: {cut:?} operation {n}", name(&setup));
                let logical = host.content.len() as u32;
                let mut draws = Draws(5);
                let mut writes = (1..400).map(|now| host.write(draws.below(logical), now));
                let error = writes.find_map(Result::err);
                assert_eq!(error, Some(FtlError::Flash(FlashError::NoPower)), "{what}");
                host.check();
                // The page that was being written is the old one or, where what follows a write was cut
                // off, the new one.
                host.layer.chip_mut().has_no_power = false;
                host.read_all();
            }
        }
    }
}

#[test]
fn a_device_whose_blocks_fail_lives_until_its_spare_blocks_are_used_up() {
    let (mut ends, mut early) = (0, 0);
    for seed in 1..=40 {
        for mut setup in devices(5) {
            setup.seed = seed;
            let name = format!("{}, seed {seed}", name(&setup));
            let mut host = Host::new(&setup);
            host.layer.chip_mut().one_in = 30;
            let logical = host.content.len() as u32;
            let mut draws = Draws(seed);
            let mut now = 0;
            let error = loop {
                now += 1;
                assert!(now < 100_000, "{name}: all blocks fail in the end");
                let lpn = draws.below(logical);
                let result = match draws.below(16) {
                    0 => host.trim(lpn, now).map(|_| ()),
                    1 => host.layer.scrub(now).map(|_| ()),
                    2 => host.layer.clean_in_idle_time(now).map(|_| ()),
                    3 => host.layer.step_in_idle_time(now).map(|_| ()),
                    _ => host.write(lpn, now),
                };
                if let Err(e) = result {
                    break e;
                }
                host.check();
                if now % 16 == 0 {
                    host.read_all();
                }
            };
            assert_eq!(error, FtlError::ReadOnly, "{name}");
            assert!(host.layer.is_read_only(), "{name}");
            let retired = host.layer.counters().retired;
            assert!(retired >= 2, "{name}: it survives a failure or two");
            // The last ones may fail while the layer finds out.
            let most = 5 * u64::from(setup.geometry.banks) + 5;
            assert!(retired <= most, "{name}: {retired} blocks, and {most} can be spared");
            ends += 1;
            early += u32::from(retired < 5);
            // Reads go on, and whatever can still be moved is.
            host.scrub_all(now);
            host.check();
            host.read_all();
            for lpn in 0..logical {
                assert_eq!(host.write(lpn, now), Err(FtlError::ReadOnly), "{name}");
                assert_eq!(host.trim(lpn, now), Err(FtlError::ReadOnly), "{name}");
            }
            host.read_all();
        }
    }
    println!("{early} of {ends} devices with five spare blocks ended before they were used up");
    assert!(early * 10 < ends, "{early} of {ends}");
}

#[test]
fn as_many_blocks_may_fail_as_the_layer_says_and_the_next_one_ends_it() {
    for setup in devices(4) {
        let name = name(&setup);
        let mut host = Host::new(&setup);
        history(&mut host, 60).expect("nothing fails");
        let mut spare = host.layer.spare_blocks().expect("it is known");
        let is_dynamic = setup.config.bank_assignment == BankAssignment::Dynamic;
        // With dynamic assignment the spare blocks of all banks count.
        let banks = if is_dynamic { setup.geometry.banks } else { 1 };
        assert_eq!(spare, 4 * banks, "{name}");
        let logical = host.content.len() as u32;
        for now in 100..4000 {
            // Each failure is dealt with before the next one.
            let retired = host.layer.counters().retired;
            if now % 50 == 0 {
                let next = host.layer.chip().operations + 1;
                host.layer.chip_mut().faults.insert(next, Fault::Fails);
            }
            let written = host.write((now as u32 * 7) % logical, now);
            host.layer.scrub(now).expect("scrubbed");
            let left = host.layer.spare_blocks().expect("it is known");
            if written.is_err() || host.layer.is_read_only() {
                assert_eq!((spare, left), (0, 0), "{name}: it ends when none is to spare");
                break;
            }
            let failed = (host.layer.counters().retired - retired) as u32;
            // In another bank than the last one it may cost nothing.
            assert!(left == spare - failed || setup.geometry.banks > 1 && left <= spare, "{name}");
            spare = left;
        }
        assert!(host.layer.is_read_only(), "{name}");
        host.read_all();
    }
}

#[test]
fn a_chip_that_programs_nothing_any_more_keeps_its_blocks() {
    for setup in devices(3) {
        let mut host = Host::new(&setup);
        history(&mut host, 60).expect("nothing fails");
        host.layer.chip_mut().one_in = 1;
        let mut writes = (0..1000).map(|now| host.write(now % 3, u64::from(now)));
        let error = writes.find_map(Result::err);
        assert_eq!(error, Some(FtlError::ReadOnly), "{}", name(&setup));
        host.read_all();
        host.check();
        // Four until too few are left, and two until the layer notices.
        let most = 6 * u64::from(setup.geometry.banks);
        let retired = host.layer.counters().retired;
        assert!(retired <= most, "{}: {retired} of {most}", name(&setup));
    }
}

#[test]
fn a_page_that_cannot_be_read_is_an_error_until_it_is_written_or_trimmed() {
    let (mut lost, mut met, mut healed) = (0, 0, 0);
    for seed in 1..=20 {
        for setup in devices(5) {
            let name = format!("{}, seed {seed}", name(&setup));
            let mut host = Host::new(&setup);
            history(&mut host, 0).expect("filled");
            let logical = host.content.len() as u32;
            let mut draws = Draws(seed);
            let mut sick: Vec<u32> = Vec::new();
            for now in 1..600 {
                let lpn = draws.below(logical);
                match draws.below(32) {
                    0 if sick.len() < 3 && !sick.contains(&lpn) && host.lose(lpn) => {
                        sick.push(lpn);
                        lost += 1;
                    }
                    1 if !sick.is_empty() => {
                        let lpn = sick.swap_remove(draws.below(sick.len() as u32) as usize);
                        if draws.one_in(2) {
                            host.write(lpn, now).unwrap_or_else(|e| panic!("{name}: {e}"));
                        } else {
                            assert_eq!(host.trim(lpn, now), Ok(true), "{name}");
                        }
                        healed += 1;
                    }
                    2 => {
                        host.layer.scrub(now).expect("scrubbed");
                    }
                    _ if !sick.contains(&lpn) => {
                        host.write(lpn, now).unwrap_or_else(|e| panic!("{name}: {e}"));
                    }
                    _ => {}
                }
                host.check();
                host.read_all();
            }
            assert!(host.content.iter().filter(|c| **c == Content::Lost).count() == sick.len());
            for lpn in sick {
                host.write(lpn, 700).expect("healed");
            }
            // Blocks kept for lost pages are in use again.
            host.scrub_all(700);
            host.check();
            host.read_all();
            let condemned = |b: &&thermocline_policy::Block| b.state == State::Condemned;
            assert_eq!(host.layer.blocks().blocks().iter().filter(condemned).count(), 0, "{name}");
            met += host.layer.counters().pages_lost;
            assert_eq!(host.layer.counters().retired, 0, "{name}");
            assert!(!host.layer.is_read_only(), "{name}");
        }
    }
    println!("{lost} lost, {met} of them met in cleaning, {healed} healed");
    assert!(lost > 1000 && met > 500 && healed > 1000, "{lost} lost, {met} met, {healed} healed");
}

#[test]
fn a_block_that_ails_is_emptied_and_erased_be_it_open_or_closed() {
    for setup in devices(2) {
        for in_background in [true, false] {
            let name = name(&setup);
            let mut host = Host::new(&setup);
            history(&mut host, 60).expect("nothing fails");
            let logical = host.content.len() as u32;
            let mut scrubbed = 0;
            for now in 0..400_u32 {
                let block = setup.geometry.block_of(host.layer.locate(Lpn(now % logical)));
                if block == BlockId::NONE {
                    host.write(now % logical, 100).expect("written");
                    continue;
                }
                let erases = host.layer.erases(block);
                host.layer.chip_mut().ailing.push_back(block);
                if in_background {
                    // Where room is short something is cleaned first, perhaps this very block.
                    host.scrub_all(100);
                    assert!(host.layer.erases(block) > erases, "{name}: {block:?} was erased");
                    assert_eq!(host.layer.scrub(100), Ok(false), "{name}: once");
                } else {
                    for lpn in 0..logical {
                        host.write((lpn * 7) % logical, 100).expect("written");
                    }
                    assert!(host.layer.erases(block) > erases, "{name}: {block:?} was erased");
                }
                host.check();
                host.read_all();
                scrubbed = host.layer.counters().scrubbed;
            }
            println!("{name}: {scrubbed} blocks scrubbed");
            assert!(scrubbed > 50, "{name}: {scrubbed} blocks were scrubbed");
        }
    }
}

#[test]
fn everything_may_go_wrong_at_once() {
    let mut ended = 0;
    for seed in 1..=60 {
        for mut setup in devices(6) {
            setup.seed = seed;
            setup.config.watermarks = Watermarks::lazy(1 + (seed % 3) as u32);
            setup.geometry.blocks_per_bank += (seed % 3) as u32;
            setup.wears_out = seed % 4 == 0;
            setup.rules.endurance = 40;
            let mut host = Host::new(&setup);
            host.layer.chip_mut().one_in = 150;
            let logical = host.content.len() as u32;
            let mut draws = Draws(seed);
            for now in 1..1500 {
                let lpn = draws.below(logical);
                let lost = host.content[lpn as usize] == Content::Lost;
                let result = match draws.below(64) {
                    0 => host.layer.scrub(now).map(|_| ()),
                    1..4 => host.trim(lpn, now).map(|_| ()),
                    4 if !lost && host.layer.is_read_only() => Ok(()),
                    4 => {
                        host.lose(lpn);
                        Ok(())
                    }
                    5 => {
                        let block = BlockId(draws.below(setup.geometry.blocks()));
                        host.layer.chip_mut().ailing.push_back(block);
                        Ok(())
                    }
                    _ => host.write(lpn, now),
                };
                host.check();
                if now % 8 == 0 {
                    host.read_all();
                }
                match result {
                    Ok(()) => {}
                    Err(FtlError::ReadOnly) => {
                        ended += 1;
                        break;
                    }
                    Err(e) => panic!("{}, seed {seed}: {e}", name(&setup)),
                }
            }
            host.scrub_all(2000);
            host.check();
            host.read_all();
        }
    }
    println!("{ended} devices ended");
    assert!(ended > 100, "{ended}");
}

/// NFTL has no remedy for a program that fails or a page that cannot be read.
#[test]
fn nftl_goes_read_only_and_loses_nothing() {
    let geometry = Geometry { blocks_per_bank: 14, pages_per_block: 4, page_size: 16, ..CARD };
    let geometry = Geometry { header_pages: 0, system_blocks: 0, ..geometry };
    for in_order in [true, false] {
        let mut setup = device(1, in_order, "greedy", Named::plain("one-stream"), 0);
        setup.geometry = geometry;
        let (mut failed, mut survived) = (0, 0);
        for n in 1..400 {
            let mut chip = Faulty::new(&setup);
            chip.faults.insert(n, Fault::Fails);
            let mut layer = Nftl::new(chip, nftl::Config::new(32)).expect("it fits");
            let mut versions = [0_u64; 32];
            let mut draws = Draws(3);
            let mut page = [0; 16];
            let mut refused = None;
            for version in 1..300_u64 {
                let lpn = draws.below(32);
                page[..8].copy_from_slice(&version.to_le_bytes());
                match layer.write(Lpn(lpn), &page, version) {
                    Ok(()) => versions[lpn as usize] = version,
                    Err(e) => {
                        refused = Some((lpn, version, e));
                        break;
                    }
                }
            }
            let erase_failed = layer.counters().erases_failed == 1;
            if let Some((_, _, e)) = refused {
                let is_told = matches!(e, FtlError::Flash(FlashError::ProgramFailed(_)));
                assert!(is_told && layer.is_read_only(), "operation {n}: {e}");
                assert_eq!(layer.write(Lpn(1), &page, 300), Err(FtlError::ReadOnly));
                assert_eq!(layer.trim(Lpn(1), 300), Err(FtlError::ReadOnly));
                assert_eq!(layer.clean_in_idle_time(300), Ok(false));
                failed += 1;
            } else {
                assert!(!layer.is_read_only(), "operation {n}");
                layer.check().unwrap_or_else(|e| panic!("operation {n}: {e}"));
                assert_eq!(layer.chip().marked, layer.chip().failed, "operation {n}");
                survived += u32::from(erase_failed);
            }
            for lpn in 0..32 {
                let holds = layer.read(Lpn(lpn), &mut page).expect("read");
                let found = u64::from_le_bytes(page[..8].try_into().expect("8 bytes"));
                let is_new = refused.is_some_and(|(last, new, _)| (last, new) == (lpn, found));
                let version = versions[lpn as usize];
                assert!(found == version || is_new, "operation {n}: page {lpn}: {found}");
                assert_eq!(holds, found > 0, "operation {n}: page {lpn}");
            }
        }
        assert!(failed > 100 && survived > 20, "{failed} failed, {survived} survived");
    }
}
