//! Requirements on every policy, run for every registered victim policy with every registered
//! placement: a new policy is covered by its line in the registry.

use crate::common;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use common::{CARD, Draws, Ftl, Modelled, Named, On, Setup, foreign, placements};
use thermocline_flash::{BlockId, CountingChip, Geometry, Lpn};
use thermocline_ftl::{Counters, DeadPages, Inspect, PageIo, PageMapped, Upkeep};
use thermocline_policy::{
    Block, State,
    placement::{Answer, Cleaning, HostWrite, Placement, Streams, Survivors, Traits},
    trigger::Watermarks,
    victim::VICTIMS,
};

/// Small enough to run every pair of policies, large enough for ages to differ.
const SMALL: Geometry =
    Geometry { blocks_per_bank: 48, pages_per_block: 17, system_blocks: 1, ..CARD };

/// Every pair of a registered victim policy and a registered placement, and policies from elsewhere with some,
/// on `geometry`, `full` of 100 parts of the capacity holding data.
fn pairs(geometry: Geometry, full: u32) -> Vec<Setup> {
    let mut all = Vec::new();
    let registered = VICTIMS.iter().map(|entry| (entry.info.name, placements()));
    let some = || vec![Named::plain("one-stream"), Named::plain(foreign::DAC)];
    for (victim, placements) in registered.chain(foreign::VICTIMS.map(|name| (name, some()))) {
        for placement in placements {
            let victim = Named::plain(victim);
            let mut setup = Setup::new(geometry, 0, victim, placement);
            let blocks = geometry.data_blocks() - setup.config.watermarks.reserve;
            let capacity = blocks * geometry.data_pages_per_block();
            let most = setup.most_logical_pages();
            setup.config.logical_pages = (capacity * full / 100).min(most);
            all.push(setup);
        }
    }
    all
}

fn name(setup: &Setup) -> String {
    format!("{} with {}", setup.victim.0, setup.placement.0)
}

/// The state at the end of a run, as far as it can be seen.
#[derive(Debug, PartialEq)]
struct End {
    counters: Counters,
    erases: Vec<u32>,
    places: Vec<u32>,
    free: u64,
}

fn end(layer: &dyn Ftl) -> End {
    let blocks = (0..layer.blocks().len()).map(BlockId);
    End {
        counters: *layer.counters(),
        erases: blocks.map(|b| layer.erases(b)).collect(),
        places: (0..layer.logical_pages()).map(|l| layer.locate(Lpn(l)).0).collect(),
        free: layer.free_pages(),
    }
}

fn filled(setup: &Setup) -> On<CountingChip> {
    let mut layer = setup.build();
    for lpn in 0..setup.config.logical_pages {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
    }
    layer.filled(0).expect("filled");
    layer
}

/// Skewed writes: half of them to a sixteenth of the pages, scattered.
fn skewed(draws: &mut Draws, logical: u32) -> u32 {
    if draws.one_in(2) { draws.below(logical) } else { draws.below(logical / 16) * 16 }
}

#[test]
fn invariants_hold_under_skewed_traffic_with_trims() {
    for setup in pairs(SMALL, 85) {
        let name = name(&setup);
        let logical = setup.config.logical_pages;
        let mut run = Modelled::new(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
        for lpn in 0..logical {
            run.fill(lpn, 0).expect("filled");
        }
        run.layer.filled(0).expect("filled");
        let mut draws = Draws(7);
        for now in 1..6000 {
            let lpn = skewed(&mut draws, logical);
            if draws.one_in(20) {
                run.trim(lpn, now);
            } else {
                run.write(lpn, now).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
            let reserve = setup.config.watermarks.reserve;
            assert!(run.layer.least_free_blocks() >= reserve, "{name}: the reserve is kept");
            if now % 64 == 0 {
                run.check();
                run.check_conservation();
            }
        }
        run.check();
        let counters = run.layer.counters();
        assert!(counters.erases > 100 && counters.copies > 0, "{name}: {counters:?}");
    }
}

#[test]
fn what_is_marked_dead_is_read_and_revived_until_its_block_is_erased_and_never_copied() {
    for setup in pairs(SMALL, 85) {
        let name = name(&setup);
        let logical = setup.config.logical_pages;
        // The model's chip refuses to copy marked pages, and counts those erased with their block.
        let mut run = Modelled::new(&setup).expect("it fits");
        for lpn in 0..logical {
            run.fill(lpn, 0).expect("filled");
        }
        run.layer.filled(0).expect("filled");
        let mut draws = Draws(23);
        let mut revived = 0;
        for now in 1..6000 {
            let lpn = skewed(&mut draws, logical);
            let file = lpn..logical.min(lpn + 1 + draws.below(12));
            match draws.below(40) {
                0 => file.for_each(|lpn| run.mark(lpn, now)),
                1 => run.trim(lpn, now),
                2..=4 => {
                    let before = run.truth.borrow().marked.iter().flatten().count();
                    file.for_each(|lpn| run.revive(lpn, now));
                    revived += before - run.truth.borrow().marked.iter().flatten().count();
                }
                5..=7 => file.for_each(|lpn| run.read(lpn)),
                _ => run.write(lpn, now).unwrap_or_else(|e| panic!("{name}: {e}")),
            }
            let reserve = setup.config.watermarks.reserve;
            assert!(run.layer.least_free_blocks() >= reserve, "{name}: the reserve is kept");
            if now % 64 == 0 {
                run.check();
                run.check_conservation();
            }
        }
        run.check();
        let left = run.layer.counters().dead_left;
        assert!(left > 50 && revived > 20, "{name}: {left} left behind, {revived} revived");
    }
}

#[test]
fn two_runs_are_equal() {
    for setup in pairs(SMALL, 85) {
        let run = || {
            let mut layer = filled(&setup);
            let mut draws = Draws(9);
            for now in 1..4000 {
                let lpn = Lpn(skewed(&mut draws, setup.config.logical_pages));
                layer.write(lpn, &[], now).expect("written");
            }
            end(&*layer)
        };
        assert_eq!(run(), run(), "{}", name(&setup));
    }
}

#[test]
fn what_is_trimmed_is_never_copied_and_its_space_comes_back() {
    for setup in pairs(SMALL, 100) {
        let name = name(&setup);
        let logical = setup.config.logical_pages;
        // The chip of the model refuses to copy data that are not current.
        let mut run = Modelled::new(&setup).expect("it fits");
        let mut now = 0;
        for round in 0..4 {
            for lpn in 0..logical {
                now += 1;
                run.write(lpn, now).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
            for lpn in 0..logical {
                run.trim(lpn, now);
            }
            run.check();
            assert!(run.layer.blocks().blocks().iter().all(|b| b.valid == 0), "{name}: empty");
            // Beside the blocks that were open when all was trimmed, none mixes old and new.
            let open = u64::from(setup.streams()) * u64::from(run.layer.blocks().pages());
            let copies = run.layer.counters().copies;
            assert!(copies <= (round + 1) * open, "{name}: {copies} pages copied for nothing");
        }
        run.check_conservation();
    }
}

#[test]
fn the_fullest_device_can_be_written_for_ever() {
    for setup in pairs(SMALL, 100) {
        let name = name(&setup);
        let logical = setup.config.logical_pages;
        assert_eq!(logical, setup.most_logical_pages());
        let mut layer = filled(&setup);
        let mut draws = Draws(11);
        for now in 1..u64::from(10 * logical) {
            let lpn = Lpn(draws.below(logical));
            layer.write(lpn, &[], now).unwrap_or_else(|e| panic!("{name}: {e} at {now}"));
        }
        layer.check().unwrap_or_else(|e| panic!("{name}: {e}"));
        let c = layer.counters();
        assert!(c.spills <= 8 + c.copies / 1000, "{name}: {} of {} spilt", c.spills, c.copies);
    }
}

/// Erases of the card under sequential traffic, as the papers print them.
#[test]
fn sequential_traffic_copies_nothing() {
    for mut setup in pairs(CARD, 90) {
        let name = name(&setup);
        let logical = setup.config.logical_pages;
        assert_eq!(logical, 5273);
        let mut run = |seed| {
            setup.seed = seed;
            let mut layer = filled(&setup);
            for i in 0..49152_u64 {
                let lpn = Lpn((i % u64::from(logical)) as u32);
                layer.write(lpn, &[], i + 1).expect("written");
            }
            end(&*layer)
        };
        let first = run(1);
        if first != run(2) {
            continue; // victims drawn at random
        }
        let streams = u64::from(setup.streams());
        let (erases, copies) = (first.counters.erases, first.counters.copies);
        if streams <= 2 {
            assert_eq!(copies, 0, "{name}");
            // A stream that is never written keeps a block open.
            assert_eq!(erases, 1566 + streams, "{name}");
        } else {
            // Where the host's data go to several streams, a block may wait open for rounds and then
            // be the oldest there is, while its data are young; and those open at the end are more
            // or less full.
            assert!(copies <= 31 * streams, "{name}: {copies}");
            let range = 1567..=1566 + streams + copies.div_ceil(31);
            assert!(range.contains(&erases), "{name}: {erases}");
        }
        // The papers' policies leave the highest numbers alone, which is the wear that they print;
        // the system block was never erased either. FIFO and LFS go round all blocks.
        let printed = ["greedy", "cost-benefit", "cat"].contains(&setup.victim.0);
        if printed && streams <= 2 {
            let mut histogram = std::collections::BTreeMap::new();
            for erases in first.erases {
                *histogram.entry(erases).or_insert(0_u64) += 1;
            }
            let expected = [(0, 17 + 1), (9, 174 - streams), (10, streams)];
            assert_eq!(histogram.into_iter().collect::<Vec<_>>(), expected, "{name}");
        }
    }
}

/// Where survivors of one victim go to one stream, their order changes nothing that is counted.
#[test]
fn one_stream_placements_agree_in_every_count() {
    for entry in VICTIMS {
        let ends: Vec<_> = ["one-stream", "age-sort", "times-sort"]
            .map(|placement| {
                let victim = Named::plain(entry.info.name);
                let setup = Setup::new(CARD, 5273, victim, Named::plain(placement));
                let mut layer = filled(&setup);
                let mut draws = Draws(13);
                for now in 1..30_000 {
                    layer.write(Lpn(skewed(&mut draws, 5273)), &[], now).expect("written");
                }
                let End { counters, erases, free, .. } = end(&*layer);
                (counters, erases, free)
            })
            .into();
        assert!(ends[0].0.copies > 10_000);
        assert_eq!(ends[0], ends[1], "{}: M1 and M2", entry.info.name);
        assert_eq!(ends[0], ends[2], "{}: M1 and M3", entry.info.name);
    }
}

#[test]
fn cleaning_starts_at_the_low_watermark_and_stops_at_the_high_one() {
    for setup in pairs(SMALL, 70) {
        let name = name(&setup);
        let (low, high) = (4, 8);
        let mut setup = setup;
        // Open blocks and data must leave `high` blocks that can be free.
        let room = setup.most_logical_pages() - high * setup.geometry.data_pages_per_block();
        setup.config.logical_pages = setup.config.logical_pages.min(room);
        setup.config.watermarks = Watermarks { reserve: 2, low, high };
        let mut layer = filled(&setup);
        let mut draws = Draws(17);
        for now in 1..4000 {
            let before = (*layer.counters(), layer.least_free_blocks());
            layer.write(Lpn(draws.below(setup.config.logical_pages)), &[], now).expect("written");
            let done = layer.counters().since(&before.0);
            if done.victims > 0 {
                // The block the write needed is open.
                assert_eq!((done.cleaning_runs, before.1), (1, low - 1), "{name}: it starts");
                assert!(
                    layer.least_free_blocks() + 1 >= high,
                    "{name}: {} free",
                    layer.least_free_blocks()
                );
                assert!(done.victims > 1, "{name}: several at a time");
            }
        }
        assert!(layer.counters().cleaning_runs > 20, "{name}");
    }
}

/// The calls of a placement about one page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Told {
    filled: u32,
    asked: u32,
    written: u32,
    trimmed: u32,
    survived: u32,
}

/// A placement that records its calls.
struct Recorder(Arc<Mutex<(Vec<Told>, Option<Cleaning>)>>);

impl Streams for Recorder {
    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits { sorts: true, ..Traits::default() }
    }

    fn streams(&self) -> u8 {
        3
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        self.0.lock().expect("nobody panicked").1 = Some(*victim);
    }
}

impl Placement for Recorder {
    type Page = ();

    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        let lpn = write.lpn();
        self.0.lock().expect("nobody panicked").0[lpn.index()].asked += 1;
        (lpn.0 % 2) as u8
    }

    fn filled(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.0.lock().expect("nobody panicked").0[lpn.index()].filled += 1;
    }

    fn written(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.0.lock().expect("nobody panicked").0[lpn.index()].written += 1;
    }

    fn trimmed(&mut self, (): (), lpn: Lpn) {
        self.0.lock().expect("nobody panicked").0[lpn.index()].trimmed += 1;
    }

    fn survivors(&mut self, survivors: &mut Survivors<'_, ()>) -> Answer {
        let victim =
            self.0.lock().expect("nobody panicked").1.expect("told of the cleaning before");
        let (pages, now) = (survivors.pages().len(), survivors.now());
        assert_eq!((pages, now), (victim.valid as usize, victim.now));
        survivors.each(|lpn, page| self.survivor(page, lpn, now))
    }

    fn survivor(&mut self, (): &mut (), lpn: Lpn, _: u64) -> u8 {
        self.0.lock().expect("nobody panicked").0[lpn.index()].survived += 1;
        2
    }
}

#[test]
fn a_placement_is_told_everything_but_marks_and_obeyed() {
    let setup = Setup::new(SMALL, 560, Named::plain("greedy"), Named::plain("one-stream"));
    let told = Arc::new(Mutex::new((vec![Told::default(); 560], None)));
    let recorder = Recorder(Arc::clone(&told));
    let mut layer = PageMapped::new(setup.chip(), recorder, |_| setup.build_victim(), setup.config)
        .expect("it fits");
    let mut expected = vec![Told::default(); 560];
    for lpn in 0..560 {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
        expected[lpn as usize].filled += 1;
    }
    layer.filled(0).expect("filled");
    let mut draws = Draws(19);
    for now in 1..20_000 {
        let lpn = Lpn(draws.below(560));
        if draws.one_in(10) {
            let held = layer.trim(lpn, now).expect("trimmed");
            expected[lpn.index()].trimmed += u32::from(held);
        } else if draws.one_in(5) {
            layer.mark_dead(lpn, now).expect("marked");
        } else if draws.one_in(5) {
            layer.revive(lpn, now).expect("revived");
        } else {
            let survived = told.lock().expect("nobody panicked").0[lpn.index()].survived;
            layer.write(lpn, &[], now).expect("written");
            assert!(told.lock().expect("nobody panicked").0[lpn.index()].survived <= survived + 1);
            expected[lpn.index()].asked += 1;
            expected[lpn.index()].written += 1;
            let block = SMALL.block_of(layer.locate(lpn));
            assert_eq!(u32::from(layer.blocks(0).block(block).stream), lpn.0 % 2);
        }
    }
    let told = &told.lock().expect("nobody panicked").0;
    let mut dropped = 0;
    for (told, expected) in told.iter().zip(&expected) {
        // A marked page that goes with its block is trimmed.
        dropped += u64::from(told.trimmed - expected.trimmed);
        assert_eq!(*told, Told { survived: told.survived, trimmed: told.trimmed, ..*expected });
    }
    assert!(dropped > 100 && dropped == layer.counters().dead_left, "{dropped} dropped");
    let survived: u64 = told.iter().map(|t| u64::from(t.survived)).sum();
    assert_eq!((survived, layer.counters().spills), (layer.counters().copies, 0));
}

/// A placement that ceases to use its second stream.
struct Ceasing(Arc<AtomicBool>);

impl Streams for Ceasing {
    fn streams(&self) -> u8 {
        2
    }

    fn is_used(&self, stream: u8) -> bool {
        stream == 0 || !self.0.load(Ordering::Relaxed)
    }
}

impl Placement for Ceasing {
    type Page = ();

    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        (write.lpn().0 % 2) as u8 & u8::from(self.is_used(1))
    }

    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        0
    }
}

#[test]
fn the_open_block_of_a_stream_out_of_use_is_closed_and_cleaned() {
    let setup = Setup::new(SMALL, 560, Named::plain("greedy"), Named::plain("one-stream"));
    let ceased = Arc::new(AtomicBool::new(false));
    let placement = Ceasing(Arc::clone(&ceased));
    let mut layer =
        PageMapped::new(setup.chip(), placement, |_| setup.build_victim(), setup.config)
            .expect("it fits");
    let mut draws = Draws(5);
    let open = |layer: &PageMapped<_, _>| {
        let of_stream = |block: &&Block| block.state == State::Open && block.stream == 1;
        layer.blocks(0).blocks().iter().filter(of_stream).count()
    };
    for now in 0..3000 {
        layer.write(Lpn(draws.below(560)), &[], now).expect("written");
    }
    assert_eq!(open(&layer), 1);
    ceased.store(true, Ordering::Relaxed);
    for now in 3000..3000 + 2 * u64::from(layer.blocks(0).pages()) {
        layer.write(Lpn(draws.below(560)), &[], now).expect("written");
    }
    assert_eq!(open(&layer), 0);
    for now in 4000..14_000 {
        layer.write(Lpn(draws.below(560)), &[], now).expect("written");
    }
    assert!(layer.blocks(0).blocks().iter().all(|block| block.stream == 0), "cleaned in time");
    ceased.store(false, Ordering::Relaxed);
    for now in 14_000..17_000 {
        layer.write(Lpn(draws.below(560)), &[], now).expect("written");
    }
    assert_eq!(open(&layer), 1);
}
