//! A write buffer in front of the log: closed forms, and sequences by hand.

use thermocline_assembly::device::Overrides;
use thermocline_flash::{BufferOrder, WriteBuffer};
use thermocline_sim::{Device, Fill, Input, Job, Progress, RunResult, Workload, run};
use thermocline_trace::Op;

use crate::common::{Ask, done, job, policy, trace, write};

const PAGE: u64 = 2048;

/// A chip of 64 blocks of 32 pages, with a buffer of `pages` pages.
fn device(order: BufferOrder, pages: u64) -> Device {
    let shape = Overrides {
        capacity: Some(4 << 20),
        page_size: Some(PAGE),
        block_size: Some(32 * PAGE),
        ..Overrides::default()
    };
    let mut device = Device::load("slc-generic").and_then(|d| d.with(&shape)).expect("a device");
    device.profile.write_buffer = (pages > 0).then_some(WriteBuffer { order, bytes: pages * PAGE });
    device
}

fn under(workload: &str, device: Device) -> RunResult {
    let workload = Workload {
        spec: workload.parse().expect("a workload"),
        bytes: Some(100_000 * PAGE),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    };
    done(&job(device, policy("greedy"), Input::Workload(&workload)))
}

fn by_hand(asks: &[Ask], order: BufferOrder, pages: u64) -> RunResult {
    let trace = trace(asks, PAGE as u32);
    let job = job(device(order, pages), policy("greedy"), Input::Trace(&trace, 1));
    done(&Job { fill: Fill::Nothing, logical_pages: Some(1024), ..job })
}

/// Of `u` pages written alike, the buffer always holds `b`: a write hits one with probability b/u.
#[test]
fn uniform_writes_hit_as_much_of_the_buffer_as_it_holds_of_the_pages() {
    for order in [BufferOrder::Lru, BufferOrder::Fifo] {
        for pages in [18, 178, 890] {
            let result = under("uniform", device(order, pages));
            let expected = pages as f64 / (result.config.logical_pages as f64);
            let hits = result.write_buffer.expect("a buffer").hit_share.expect("writes");
            // Four standard deviations, and the pages that fill the buffer first.
            let off = 4.0 * (expected * (1.0 - expected) / 1e5).sqrt() + pages as f64 / 1e5;
            assert!((hits - expected).abs() < off, "{order:?} {pages}: {hits} {expected}");
        }
    }
}

#[test]
fn every_page_written_is_coalesced_programmed_or_left() {
    for order in [BufferOrder::Lru, BufferOrder::Fifo] {
        let result = under("hot-cold:90/10", device(order, 100));
        let buffer = result.write_buffer.expect("a buffer");
        let (host, flash) = (result.host.pages_written, result.flash);
        assert_eq!(host, 100_000);
        assert_eq!(host, buffer.coalesced_pages + buffer.evicted_pages + buffer.left_bytes / PAGE);
        assert_eq!(flash.pages_programmed, buffer.evicted_pages + flash.pages_copied);
        assert_eq!(buffer.left_bytes, 100 * PAGE);
        let amplification = flash.pages_programmed as f64 / host as f64;
        assert_eq!(result.write_amplification, Some(amplification));
    }
}

/// A hot page comes back before its last write is oldest, so that it stays; first in, first out it leaves.
#[test]
fn the_order_decides_which_page_leaves() {
    let asks = [1, 2, 1, 3, 1].map(|page| write(page, 1));
    let lru = by_hand(&asks, BufferOrder::Lru, 2).write_buffer.expect("a buffer");
    assert_eq!((lru.coalesced_pages, lru.evicted_pages), (2, 1));
    let fifo = by_hand(&asks, BufferOrder::Fifo, 2).write_buffer.expect("a buffer");
    assert_eq!((fifo.coalesced_pages, fifo.evicted_pages), (1, 2));
}

/// A page in the buffer is read there, also to be modified; a trim drops it, and a flush empties the buffer.
#[test]
fn reads_trims_and_flushes_see_the_pages_in_it() {
    let ask = |op, first, pages| Ask { op, ..write(first, pages) };
    let asks = [
        write(0, 4),
        ask(Op::Read, 0, 5),
        ask(Op::Trim, 1, 1),
        ask(Op::Flush, 0, 0),
        write(2, 1),
        ask(Op::Read, 0, 1),
    ];
    let result = by_hand(&asks, BufferOrder::Lru, 8);
    let buffer = result.write_buffer.expect("a buffer");
    assert_eq!((buffer.read_hits, result.host.pages_read, result.flash.pages_read), (4, 5, 1));
    assert_eq!((buffer.trimmed_pages, result.host.pages_trimmed), (1, 1));
    assert_eq!((buffer.flushed_pages, buffer.evicted_pages), (3, 0));
    assert_eq!((result.flash.pages_programmed, buffer.left_bytes), (3, PAGE));
    assert_eq!(result.write_amplification, Some(3.0 / 5.0));
}

#[test]
fn what_a_buffer_cannot_do_is_refused() {
    let trace = trace(&[write(0, 4)], PAGE as u32);
    let refused = |pages, name| {
        let job = job(device(BufferOrder::Lru, pages), policy(name), Input::Trace(&trace, 1));
        let job = Job { logical_pages: Some(1024), ..job };
        run(&job, &Progress::default()).expect_err("it is refused").to_string()
    };
    assert!(refused(1024, "greedy").contains("fewer than the device has"));
    assert!(refused(8, "oracle").contains("the oracle knows"));
}
