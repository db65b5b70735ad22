//! DFTL: counts by hand, invariants of any run, and refusals.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use thermocline_flash::BlockId;
use thermocline_policy::{
    BlockView,
    victim::{Onlooker, Victim},
};
use thermocline_sim::{
    Clock, Device, Fill, Input, Job, Look, Progress, RunResult, SimError, Watch, Workload, run,
};
use thermocline_trace::Op;

use crate::common::{Ask, device, done, job, policy, trace, write};

/// A device of one bank with `entries` map entries a page and 16 pages a block.
fn small(entries: u32, blocks: u32) -> Device {
    let mut device = device("slc-generic", 1, 1);
    let geometry = &mut device.profile.geometry;
    (geometry.page_size, geometry.pages_per_block) = (4 * entries, 16);
    geometry.blocks_per_bank = blocks;
    device
}

fn read(first: u32) -> Ask {
    Ask { time_ns: 0, op: Op::Read, first, pages: 1 }
}

/// Pages 0, 16 and 32 have their entries in different translation pages, and the table has two
/// entries, one of them protected.
#[test]
fn look_ups_evictions_and_pages_of_the_map_are_counted_as_by_hand() {
    let asks = [
        write(0, 1),  // a miss; nothing is on the chip yet
        write(16, 1), // a miss
        write(0, 1),  // a hit: 0 is protected
        write(32, 1), // a miss: 16 leaves, changed, and its translation page is written first
        read(16),     // a miss: 32 leaves, changed; the translation page of 16 is read
        read(16),     // a hit: 16 is protected, and 0 is not any more
        read(32),     // a miss: 0 leaves, changed; a read
        write(0, 1),  // a miss: 32 leaves, unchanged; a read
    ];
    let device = small(16, 64);
    let asked = trace(&asks, device.profile.geometry.page_size);
    let input = Input::Trace(&asked, 1);
    let of = |name: &str| {
        let job = job(device.clone(), policy(name), input);
        let job =
            Job { fill: Fill::Nothing, map_cache: Some(16), clock: Some(Clock::Device), ..job };
        done(&job)
    };
    let result = of("dftl(protected=50)");
    let map = result.map.expect("the map is on the chip");
    assert_eq!(map.hit_ratio, Some(0.25));
    assert_eq!((map.dirty_evictions, map.gc_programs), (Some(3), Some(0)));
    assert_eq!((map.pages_programmed, map.reads), (3, 3));
    assert_eq!((result.host.pages_written, result.flash.pages_programmed), (5, 8));
    assert_eq!(result.config.layer, "dftl");
    let translation_pages = u64::from(result.config.logical_pages).div_ceil(16);
    assert_eq!(map.ram_bytes, 16 + 4 * translation_pages);
    // Without a protected segment page 16 drives out 0 and not 32.
    assert_eq!(of("dftl(protected=0)").map.and_then(|map| map.hit_ratio), Some(0.375));
}

fn uniform_of(bytes: u64) -> Workload {
    Workload {
        spec: "uniform".parse().expect("a workload"),
        bytes: Some(bytes),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    }
}

fn uniform(name: &str, map_cache: u64) -> RunResult {
    let workload = Workload { read_share: 0.25, ..uniform_of(2 << 20) };
    let job = job(small(32, 96), policy(name), Input::Workload(&workload));
    done(&Job { fill: Fill::Share(0.8), map_cache: Some(map_cache), ..job })
}

/// Times of garbage collections, which never fall.
#[derive(Debug, Default)]
struct Times(AtomicU64);

impl Onlooker for Times {
    fn chose(&self, _: &dyn Victim, _: &BlockView, _: BlockId, now: u64) {
        let before = self.0.fetch_max(now, Relaxed);
        assert!(now >= before, "{now} after {before}");
    }

    fn answered(&self, _: bool) {}
}

#[derive(Debug, Default)]
struct Clocked(Arc<Times>);

impl Watch for Clocked {
    fn stride(&self, pages: u64) -> usize {
        pages as usize
    }

    fn look(&self, _: &Look<'_>) {}

    fn onlooker(&self) -> Option<Arc<dyn Onlooker>> {
        Some(self.0.clone())
    }
}

/// A read may write a page of the map, and collect garbage for it.
#[test]
fn reads_do_not_turn_the_clock_back() {
    let workload = Workload { read_share: 0.5, ..uniform_of(2 << 20) };
    let job = job(small(32, 96), policy("dftl"), Input::Workload(&workload));
    let watch = Clocked::default();
    done(&Job { fill: Fill::Share(0.8), map_cache: Some(256), watch: Some(&watch), ..job });
    assert!(watch.0.0.load(Relaxed) > 0);
}

#[test]
fn every_page_of_the_map_has_a_cause_and_more_ram_needs_fewer() {
    let mut before = f64::INFINITY;
    for entries in [2, 32, 256, 1024] {
        let run = uniform("dftl", 8 * entries);
        let map = run.map.expect("the map is on the chip");
        let causes = map.dirty_evictions.zip(map.gc_programs).expect("a table");
        assert!(causes.1 > 0, "garbage collection moves pages whose entries are not in the table");
        assert_eq!(map.pages_programmed, causes.0 + causes.1);
        assert_eq!(
            run.flash.pages_programmed,
            run.host.pages_written + map.pages_programmed + run.flash.pages_copied
        );
        let cost = run.write_amplification.expect("pages were written");
        assert!(cost < before, "{entries} entries: {cost}");
        before = cost;
    }
}

#[test]
fn a_table_of_the_whole_map_evicts_nothing() {
    let run = uniform("dftl", 1 << 20);
    let map = run.map.expect("the map is on the chip");
    assert_eq!(map.dirty_evictions, Some(0));
    // Pages that garbage collection moves before the host first asks for them.
    assert_eq!(Some(map.pages_programmed), map.gc_programs);
    assert!(map.hit_ratio > Some(0.8), "{:?}: each entry is loaded once", map.hit_ratio);
}

#[test]
fn changed_entries_of_a_page_may_be_written_together() {
    let (one, all) = (uniform("dftl", 1024), uniform("dftl(writes=page)", 1024));
    let evictions = |run: &RunResult| run.map.and_then(|map| map.dirty_evictions).expect("a table");
    assert!(evictions(&all) < evictions(&one), "{} {}", evictions(&all), evictions(&one));
    assert_eq!(all.map.and_then(|map| map.hit_ratio), one.map.and_then(|map| map.hit_ratio));
}

#[test]
fn what_it_cannot_do_is_refused_with_the_remedy() {
    let refused = |name: &str, banks: u32, map_cache: Option<u64>| {
        let workload = uniform_of(1 << 20);
        let job = job(device("slc-generic", banks, 1), policy(name), Input::Workload(&workload));
        match run(&Job { map_cache, ..job }, &Progress::default()) {
            Err(SimError::Usage(text)) => text,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("{name} runs"),
        }
    };
    assert!(refused("dftl", 1, None).contains("‹map-cache SIZE›"));
    assert!(refused("dftl", 2, Some(1024)).contains("‹banks 1›"));
    assert!(refused("dftl", 1, Some(7)).contains("too small"));
}
