//! An SLC cache in front of the log: closed forms, and sequences by hand.

use thermocline_assembly::device::Overrides;
use thermocline_flash::{BufferOrder, CacheSize, SlcCache, WriteBuffer};
use thermocline_sim::{
    Device, Fill, Input, Job, Progress, RunResult, Workload, result::SlcCache as Cached, run,
};
use thermocline_trace::Op;

use crate::common::{Ask, done, job, policy, trace, write};

const PAGE: u64 = 2048;

/// A chip of 128 blocks of 16 pages; in the cache a block has 4.
fn device(size: CacheSize, share: f64) -> Device {
    let shape = Overrides {
        capacity: Some(4 << 20),
        page_size: Some(PAGE),
        block_size: Some(16 * PAGE),
        ..Overrides::default()
    };
    let mut device = Device::load("slc-generic").and_then(|d| d.with(&shape)).expect("a device");
    device.profile.slc_cache = Some(SlcCache { size, share, bits: 4 });
    device
}

/// Two blocks.
fn two_blocks() -> Device {
    device(CacheSize::Fixed, 2.0 / 128.0)
}

fn workload(spec: &str, pages: u64) -> Workload {
    Workload {
        spec: spec.parse().expect("a workload"),
        bytes: Some(pages * PAGE),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    }
}

fn cached(result: &RunResult) -> Cached {
    result.slc_cache.expect("a cache")
}

fn by_hand(asks: &[Ask], device: Device) -> RunResult {
    let trace = trace(asks, PAGE as u32);
    let job = job(device, policy("greedy"), Input::Trace(&trace, 1));
    done(&Job { fill: Fill::Nothing, logical_pages: Some(1024), ..job })
}

/// Every page is programmed in the cache and once more in the log, and whole blocks become garbage.
#[test]
fn a_sequential_stream_writes_two_pages_each() {
    for share in [2.0 / 128.0, 0.1] {
        let workload = workload("sequential", 20_000);
        let device = device(CacheSize::Fixed, share);
        let result = done(&job(device, policy("greedy"), Input::Workload(&workload)));
        let cache = cached(&result);
        assert_eq!((result.host.pages_written, cache.programmed_pages), (20_000, 20_000));
        assert_eq!((cache.bypassed_pages, cache.hit_share), (0, Some(1.0)));
        assert_eq!(cache.folded_pages, 20_000 - cache.left_bytes / PAGE);
        assert_eq!(result.flash.pages_copied, cache.folded_pages);
        assert_eq!(result.flash.pages_programmed, 20_000 + cache.folded_pages);
        assert_eq!(cache.erased_blocks, cache.folded_pages / 4);
        let amplification = (20_000 + cache.folded_pages) as f64 / 20_000.0;
        assert_eq!(result.write_amplification, Some(amplification));
    }
}

/// The cache holds 0 1 2 3 | 4 5 6 7. Another 7 folds the first block, and makes the last page of the second stale;
/// 8 to 10 fill the block, so that 11 folds 4 5 6.
#[test]
fn the_oldest_block_is_folded_without_its_stale_pages() {
    let asks: Vec<Ask> = (0..8).chain([7]).chain(8..12).map(|page: u32| write(page, 1)).collect();
    let result = by_hand(&asks, two_blocks());
    let cache = cached(&result);
    assert_eq!((cache.programmed_pages, cache.folded_pages, cache.erased_blocks), (13, 7, 2));
    assert_eq!((cache.left_bytes, cache.blocks, cache.most_blocks), (5 * PAGE, 2, 2));
    assert_eq!((result.flash.pages_programmed, result.flash.pages_copied), (20, 7));
    assert_eq!(result.write_amplification, Some(20.0 / 13.0));
}

#[test]
fn pages_in_the_cache_are_read_and_trimmed_there() {
    let ask = |op, first, pages| Ask { op, ..write(first, pages) };
    let asks = [write(0, 3), ask(Op::Read, 0, 4), ask(Op::Trim, 1, 1), ask(Op::Read, 1, 1)];
    let result = by_hand(&asks, two_blocks());
    let cache = cached(&result);
    assert_eq!((result.host.pages_read, result.flash.pages_read), (3, 3));
    assert_eq!((cache.trimmed_pages, result.host.pages_trimmed), (1, 1));
    assert_eq!((cache.left_bytes, cache.folded_pages), (2 * PAGE, 0));
    // A page that the log has too is trimmed once.
    let asks = [write(0, 8), write(0, 8), ask(Op::Trim, 7, 1), ask(Op::Read, 7, 1)];
    let result = by_hand(&asks, two_blocks());
    assert_eq!((result.host.pages_trimmed, result.host.pages_read), (1, 0));
}

/// On a new device everything fits into free blocks; on a full one none is to spare, and all pages bypass the cache.
#[test]
fn a_dynamic_cache_borrows_free_blocks_and_gives_them_back() {
    let few: Vec<Ask> = (0..100).map(|page| write(page, 1)).collect();
    let result = by_hand(&few, device(CacheSize::Dynamic, 1.0));
    let cache = cached(&result);
    assert_eq!((cache.programmed_pages, cache.folded_pages, cache.blocks), (100, 0, 25));
    assert_eq!(result.write_amplification, Some(1.0));
    let limited = cached(&by_hand(&few, device(CacheSize::Dynamic, 10.0 / 128.0)));
    assert_eq!((limited.most_blocks, limited.folded_pages), (10, 60));

    let uniform = workload("uniform", 20_000);
    let on = |device| Job {
        fill: Fill::Nothing,
        ..job(device, policy("greedy"), Input::Workload(&uniform))
    };
    let result = done(&on(device(CacheSize::Dynamic, 1.0)));
    let cache = cached(&result);
    assert!(cache.most_blocks > 60 && cache.blocks < 3, "{cache:?}");
    assert!(cache.programmed_pages > 500 && cache.bypassed_pages > 10_000, "{cache:?}");
    assert_eq!(cache.programmed_pages + cache.bypassed_pages, result.host.pages_written);
    let programs = result.host.pages_written + result.flash.pages_copied;
    assert_eq!(result.flash.pages_programmed, programs);
    // Then it costs the writes made while there was room, and nothing more.
    let mut plain = device(CacheSize::Dynamic, 1.0);
    plain.profile.slc_cache = None;
    let plain = done(&on(plain)).flash.pages_copied as f64;
    let copied = (result.flash.pages_copied - cache.folded_pages) as f64;
    assert!((copied / plain - 1.0).abs() < 0.05, "{copied} {plain}");
}

/// Bursts of eight pages fit into the cache if it is folded between them: then each page takes a program in it, a
/// quarter of one elsewhere. Without idle cleaning, pages wait for folds.
#[test]
fn what_is_folded_in_idle_time_delays_nobody() {
    let asks: Vec<Ask> = (0..400_u32)
        .map(|n| Ask { time_ns: u64::from(n / 8) * 1_000_000_000, ..write(n % 100, 1) })
        .collect();
    let trace = trace(&asks, PAGE as u32);
    let worst = |idle| {
        let policy = policy("greedy").with(Some(idle), None).expect("an idle policy");
        let job = job(two_blocks(), policy, Input::Trace(&trace, 1));
        let result = done(&Job { fill: Fill::Nothing, logical_pages: Some(1024), ..job });
        (result.response_us.write.max.expect("writes"), cached(&result).folded_pages)
    };
    let program = Device::load("slc-generic").expect("built in").profile.timing;
    let eight = 8.0 * (program.program_setup_ns + program.program_ns / 4) as f64 / 1000.0;
    let (idle, folded) = worst("timer(after=1ms)");
    assert!((idle / eight - 1.0).abs() < 0.01, "{idle} {eight}");
    // All bursts but the last.
    assert_eq!(folded, 392);
    assert!(worst("none").0 > 1.5 * eight);
}

#[test]
fn a_buffer_before_the_cache_passes_on_what_it_does_not_coalesce() {
    let mut device = device(CacheSize::Fixed, 0.1);
    device.profile.write_buffer = Some(WriteBuffer { order: BufferOrder::Lru, bytes: 64 * PAGE });
    let workload = workload("hot-cold:90/10", 20_000);
    let result = done(&job(device, policy("sep-gc"), Input::Workload(&workload)));
    let (buffer, cache) = (result.write_buffer.expect("a buffer"), cached(&result));
    assert!(buffer.coalesced_pages > 1000);
    assert_eq!(result.host.pages_written, 20_000);
    assert_eq!(cache.programmed_pages, buffer.evicted_pages);
    assert_eq!(result.flash.pages_programmed, buffer.evicted_pages + result.flash.pages_copied);
}

#[test]
fn what_a_cache_cannot_do_is_refused() {
    let workload = workload("uniform", 1000);
    let refused = |device, name, more: fn(&mut Job<'_>)| {
        let mut job = job(device, policy(name), Input::Workload(&workload));
        more(&mut job);
        run(&job, &Progress::default()).expect_err("it is refused").to_string()
    };
    let same: fn(&mut Job<'_>) = |_| {};
    assert!(refused(two_blocks(), "nftl", same).contains("policies that map pages"));
    assert!(refused(two_blocks(), "oracle", same).contains("the oracle"));
    assert!(refused(two_blocks(), "greedy", |job| job.wears_out = true).contains("‹wear-out›"));
    let banks = Overrides { banks: Some(2), ..Overrides::default() };
    let two_banks = two_blocks().with(&banks).expect("a device");
    assert!(refused(two_banks, "greedy", same).contains("‹superblocks›"));
}
