//! The page-mapped layer against a map from page to version: whatever the device, the policies and
//! the traffic, every page reads back as it was last written.

use crate::common;

use common::{Draws, Modelled, Named, Setup, placements, victims};
use proptest::prelude::*;
use thermocline_flash::{BlockId, CountingChip, Geometry, Lpn, Ppn, Rules};
use thermocline_ftl::{Config, Counters, Layer, PageIo, PageMapped, PageWork};
use thermocline_policy::{
    Args, Context,
    bank::BankAssignment,
    placement::{DacSimple, Placement, Registered, Sequential},
    trigger::{Pacing, Trigger, Watermarks},
    victim::Greedy,
    wear::{Swap, WearLeveling},
};

#[derive(Clone, Debug)]
struct Case {
    setup: Setup,
    steps: u32,
    /// Trims, in a hundred operations.
    trims: u32,
    read_only: u32,
    /// Pages marked dead, a few neighbours at a time, and marked ones revived; in a hundred.
    marks: u32,
    revivals: u32,
    filled_first: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let geometry = (1..4_u32, 12..40_u32, 2..34_u32, 0..2_u32, 0..2_u32).prop_map(
        |(banks, blocks, pages, header_pages, system_blocks)| Geometry {
            banks,
            channels: 1,
            blocks_per_bank: blocks.div_ceil(banks),
            pages_per_block: pages + header_pages,
            page_size: 512,
            oob_size: 0,
            header_pages,
            system_blocks,
        },
    );
    let policies = (0..victims().len(), 0..placements().len(), any::<u64>(), 1.0..3000.0);
    let marks = (1..4_u32, 0..3_u32, 0..4_u32);
    let inferred = prop_oneof![Just((0, 0)), (0..25_u32, 0..25_u32)];
    let traffic = (1..2500_u32, 0..20_u32, 0..20_u32, inferred, any::<bool>());
    let switches =
        (any::<bool>(), prop_oneof![3 => Just(None), 1 => (0..6_u32, 1..5_u32).prop_map(Some)]);
    let bad = proptest::collection::vec(0..12_u32, 0..3);
    let assignment = prop_oneof![Just(BankAssignment::Static), Just(BankAssignment::Dynamic)];
    let trigger = prop_oneof![Just(Trigger::Lazy), Just(Trigger::Eager), Just(Trigger::Falling)];
    let pacing =
        prop_oneof![Just(Pacing::Off), Just(Pacing::Paced), (1..9_u32).prop_map(Pacing::Most)];
    let ways = (assignment, trigger, 1..5_u32, any::<bool>(), pacing);
    (geometry, policies, marks, traffic, switches, (any::<bool>(), ways), bad, 0.3..1.0).prop_map(
        |(
            mut geometry,
            policies,
            (reserve, low, high),
            traffic,
            (read_only_separation, swap),
            (in_order, (assignment, trigger, batch, idle, pacing)),
            bad,
            full,
        )| {
            let (victim, placement, seed, time_scale) = policies;
            let mut setup =
                Setup::new(geometry, 0, victims()[victim].clone(), placements()[placement].clone());
            setup.rules = Rules { in_order, endurance: 1000, initial_bad_blocks: 2 };
            setup.bad = bad.into_iter().map(BlockId).collect();
            setup.config.watermarks =
                Watermarks { reserve, low: reserve + 1 + low, high: reserve + 1 + low + high };
            setup.config.read_only_separation = read_only_separation;
            setup.config.wear_leveling = swap.map_or(WearLeveling::None, |(from_erases, gap)| {
                WearLeveling::Swap(Swap { from_erases, gap })
            });
            setup.config.bank_assignment = assignment;
            setup.config.trigger = trigger;
            setup.config.batch = batch;
            setup.config.pacing = pacing;
            setup.config.idle_free = if idle { reserve + 4 } else { 0 };
            let streams = u32::from(setup.streams()) + 1;
            geometry.blocks_per_bank = geometry.blocks_per_bank.max(reserve + streams + 6);
            setup.geometry = geometry;
            setup.time_scale = time_scale;
            setup.seed = seed;
            let most = setup.most_logical_pages();
            // One in three is filled to the last page it may hold.
            let share = if full > 0.75 { 1.0 } else { full + 0.25 };
            setup.config.logical_pages = ((f64::from(most) * share) as u32).max(1);
            let (steps, trims, read_only, (marks, revivals), filled_first) = traffic;
            Case { setup, steps, trims, read_only, marks, revivals, filled_first }
        },
    )
}

fn run(case: &Case) {
    let Case { setup, .. } = case;
    let logical = setup.config.logical_pages;
    let mut run = Modelled::new(setup).expect("it fits");
    let mut draws = Draws(setup.seed);
    let mut now = 0;
    if case.filled_first {
        for lpn in 0..logical {
            run.fill(lpn, now).expect("filled");
        }
        run.layer.filled(now).expect("filled");
    }
    let swaps = setup.config.wear_leveling != WearLeveling::None;
    for step in 0..case.steps {
        now += u64::from(draws.below(4));
        // Most of the traffic goes to a tenth of the pages.
        let lpn =
            if draws.one_in(3) { draws.below(logical) } else { draws.below(logical.div_ceil(10)) };
        let several = lpn..logical.min(lpn + 1 + draws.below(8));
        let marks = case.trims + case.read_only..case.trims + case.read_only + case.marks;
        match draws.below(100) {
            x if x < case.trims => run.trim(lpn, now),
            x if x < case.trims + case.read_only => {
                run.write_read_only(lpn, now).unwrap_or_else(|e| panic!("step {step}: {e}"));
            }
            x if marks.contains(&x) => several.for_each(|lpn| run.mark(lpn, now)),
            x if (marks.end..marks.end + case.revivals).contains(&x) => {
                several.for_each(|lpn| run.revive(lpn, now));
            }
            90..95 => run.read(lpn),
            95..97 => while run.layer.clean_in_idle_time(now).expect("cleaned") {},
            97.. => {
                for _ in 0..draws.below(2 * setup.geometry.pages_per_block) {
                    run.layer.step_in_idle_time(now).expect("cleaned");
                }
            }
            _ => run.write(lpn, now).unwrap_or_else(|e| panic!("step {step}: {e}")),
        }
        if step % 16 == 0 {
            run.check();
            if !swaps {
                run.check_conservation();
            }
        }
    }
    run.check();
    for lpn in 0..logical {
        run.read(lpn);
    }
    // No trimmed page comes back, and every page can be written again.
    for lpn in 0..logical {
        run.trim(lpn, now);
    }
    run.check();
    for lpn in (0..logical).rev() {
        run.write(lpn, now + 1).expect("written again");
    }
    run.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_page_reads_back_as_it_was_last_written(case in case()) {
        run(&case);
    }
}

/// Steps too short for a full device fall behind, and the host goes on writing: the reserve stays the survivors'.
#[test]
fn short_steps_lend_the_host_nothing_of_the_reserve() {
    let geometry = Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: 37,
        pages_per_block: 19,
        page_size: 512,
        oob_size: 0,
        header_pages: 0,
        system_blocks: 0,
    };
    for seed in 1..=20 {
        let mut setup = Setup::new(geometry, 627, Named::plain("greedy"), Named::plain("envy"));
        setup.config.watermarks = Watermarks { reserve: 2, low: 3, high: 3 };
        setup.config.pacing = Pacing::Most(2);
        setup.seed = seed;
        run(&Case {
            setup,
            steps: 302,
            trims: 9,
            read_only: 7,
            marks: 20,
            revivals: 12,
            filled_first: true,
        });
    }
}

/// Idle time begins a victim where the host has just taken the last page beside the reserve.
#[test]
fn a_victim_begun_in_idle_time_leaves_the_reserve() {
    let geometry = Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: 33,
        pages_per_block: 11,
        page_size: 512,
        oob_size: 0,
        header_pages: 0,
        system_blocks: 0,
    };
    let mut setup =
        Setup::new(geometry, 288, Named::plain("random"), Named::plain("segment-split"));
    setup.rules = Rules { in_order: false, endurance: 1000, initial_bad_blocks: 2 };
    setup.bad = vec![BlockId(1), BlockId(0)];
    setup.config.watermarks = Watermarks { reserve: 2, low: 3, high: 3 };
    setup.config.idle_free = 6;
    setup.time_scale = 1.0;
    setup.seed = 6_712_936_722_595_049_052;
    let (steps, trims, read_only, marks, revivals) = (97, 0, 0, 0, 0);
    run(&Case { setup, steps, trims, read_only, marks, revivals, filled_first: true });
}

/// Traffic that is to make a page of the host wait long.
#[derive(Clone, Debug)]
struct Paced {
    setup: Setup,
    /// Phases of writes: first page and number of pages as shares, and whether in random order.
    phases: Vec<(f64, f64, bool)>,
    /// Pages trimmed before a phase, in a hundred.
    trims: u32,
}

fn paced() -> impl Strategy<Value = Paced> {
    let geometry = (1..3_u32, 24..60_u32, 3..33_u32);
    let policies = (0..victims().len(), 0..placements().len(), any::<u64>());
    let phases = proptest::collection::vec((0.0..0.9_f64, 0.01..1.0_f64, any::<bool>()), 1..8);
    (geometry, policies, phases, 0..30_u32, 0.7..1.0_f64).prop_map(
        |((banks, blocks, pages), (victim, placement, seed), phases, trims, full)| {
            let geometry = Geometry {
                banks,
                channels: 1,
                blocks_per_bank: blocks,
                pages_per_block: pages,
                page_size: 512,
                oob_size: 0,
                header_pages: 0,
                system_blocks: 0,
            };
            let mut setup =
                Setup::new(geometry, 0, victims()[victim].clone(), placements()[placement].clone());
            let streams = u32::from(setup.streams());
            setup.geometry.blocks_per_bank = blocks.max(8 + 2 * streams);
            setup.config.pacing = Pacing::Paced;
            setup.seed = seed;
            let most = setup.most_logical_pages();
            setup.config.logical_pages = ((f64::from(most) * full) as u32).max(1);
            Paced { setup, phases, trims }
        },
    )
}

fn pace(case: &Paced) {
    let Paced { setup, phases, trims } = case;
    let logical = setup.config.logical_pages;
    let mut run = Modelled::new(setup).expect("it fits");
    let mut draws = Draws(setup.seed);
    for lpn in 0..logical {
        run.fill(lpn, 0).expect("filled");
    }
    run.layer.filled(0).expect("filled");
    let mut now = 0;
    for (phase, &(first, share, is_random)) in phases.iter().enumerate() {
        let first = (f64::from(logical) * first) as u32;
        let count = ((f64::from(logical) * share) as u32).clamp(1, logical - first);
        for _ in 0..logical * trims / 100 {
            run.trim(draws.below(logical), now);
        }
        for i in 0..logical {
            let lpn = first + if is_random { draws.below(count) } else { i % count };
            now += 1;
            run.write(lpn, now).expect("written");
            if let Some(PageWork { worst, bound }) = run.layer.page_work() {
                let bound = bound.expect("steps are as long as they must be");
                assert!(worst <= bound, "phase {phase}, page {i}: {worst} of {bound}");
            }
        }
        run.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_page_of_the_host_waits_for_more_than_the_bound(case in paced()) {
        pace(&case);
    }
}

#[test]
fn a_device_without_spare_space_for_its_open_blocks_is_refused() {
    for placement in placements() {
        for read_only_separation in [false, true] {
            let mut setup = Setup::new(common::CARD, 0, victims()[0].clone(), placement.clone());
            setup.config.read_only_separation = read_only_separation;
            setup.config.logical_pages = setup.most_logical_pages();
            assert!(setup.build_on(setup.chip()).is_ok(), "{placement:?}");
            setup.config.logical_pages += 1;
            // With fewer streams there is room for more.
            let is_refused = setup.build_on(setup.chip()).is_err();
            assert!(is_refused || setup.streams() < setup.most_streams(), "{placement:?}");
        }
    }
}

/// A layer full of data, after `writes` more of the host: each by itself, or in runs.
fn written<P: Placement>(placement: P, pacing: Pacing, in_runs: bool) -> (Counters, Vec<Ppn>) {
    let geometry = Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: 64,
        pages_per_block: 32,
        page_size: 512,
        oob_size: 0,
        header_pages: 0,
        system_blocks: 0,
    };
    let rules = Rules { in_order: true, endurance: u32::MAX, initial_bad_blocks: 0 };
    let logical = 64 * 32 * 3 / 4;
    let config = Config { pacing, ..Config::new(logical) };
    let chip = CountingChip::new(geometry, rules);
    let mut layer =
        PageMapped::new(chip, placement, |_| Box::new(Greedy), config).expect("it fits");
    (0..logical).for_each(|lpn| layer.fill(Lpn(lpn), false, 0).expect("filled"));
    let mut draws = Draws(1);
    let pages: Vec<Lpn> = (0..4 * logical)
        .map(|i| Lpn(if i % 3 == 0 { draws.below(logical) } else { draws.below(logical / 8) }))
        .collect();
    let mut lengths = Draws(2);
    let mut at = 0;
    while at < pages.len() {
        let count = 1 + lengths.below(40) as usize;
        let page = |i: usize| pages.get(at + i).copied();
        let count = count.min(pages.len() - at);
        let done =
            if in_runs { layer.write_run(count, page, at as u64, 1).expect("written") } else { 0 };
        if done == 0 {
            layer.write(pages[at], &[], at as u64).expect("written");
        }
        at += done.max(1);
    }
    layer.inspect().check().expect("consistent");
    let places = (0..logical).map(|lpn| layer.inspect().locate(Lpn(lpn))).collect();
    (*layer.inspect().counters(), places)
}

#[test]
fn pages_in_runs_pay_as_pages_by_themselves() {
    for pacing in [Pacing::Off, Pacing::Paced, Pacing::Most(3)] {
        assert_eq!(
            written(Sequential, pacing, false),
            written(Sequential, pacing, true),
            "{pacing}"
        );
        let dac =
            || DacSimple::build(&Args::default(), &Context::smallest()).expect("it has defaults");
        assert_eq!(written(dac(), pacing, false), written(dac(), pacing, true), "{pacing}");
    }
}
