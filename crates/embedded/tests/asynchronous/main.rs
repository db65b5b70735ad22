//! The async layer beside the blocking one: the same operations on the chip, and futures that are dropped.

// The history and its chip are modules of two trees, as the layer is.
#![allow(clippy::duplicate_mod)]

#[allow(dead_code, reason = "faults that need a look at the chip are those of `cuts`")]
#[path = "../cuts/chip.rs"]
mod chip;
mod dropped;

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use chip::{Chip, Draws, Faults};
use thermocline_embedded::Geometry;

#[path = "."]
mod blocking {
    use embedded_storage as storage_traits;
    use thermocline_bisync::blocking as bisync;
    use thermocline_embedded::{Bytes, Ftl, Nand, Nor};

    #[path = "history.rs"]
    pub mod history;
    #[path = "storage.rs"]
    pub mod storage;

    fn pause() {}
}

#[path = "."]
mod asynchronous {
    use embedded_storage_async as storage_traits;
    use thermocline_bisync::asynchronous as bisync;
    use thermocline_embedded::asynchronous::{Bytes, Ftl, Nand, Nor};

    #[path = "history.rs"]
    pub mod history;
    #[path = "storage.rs"]
    pub mod storage;

    use super::pause;
}

/// Is pending once.
async fn pause() {
    let mut is_over = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut is_over, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Polls a future until it is ready, but so many times at most; and says how often it was pending.
fn poll_for<T>(work: impl Future<Output = T>, most: u32) -> (Option<T>, u32) {
    let mut work = pin!(work);
    for pending in 0..most {
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return (Some(done), pending);
        }
    }
    (None, most)
}

/// A chip with what the history of that seed is about: small, or with snapshots; one whose operations return before they are
/// done; cuts that leave anything, failures, operations that time out, pages that fail later.
fn chip_of(seed: u64) -> Chip {
    let mut draws = Draws(seed);
    let blocks = if draws.once_in(2) { 24 } else { 264 };
    let shape = Geometry { blocks, pages: 16, page_size: 256 };
    let mut chip = Chip::new(shape, seed);
    chip.faults = Faults {
        torn: true,
        area_alone: draws.once_in(2),
        unstable: draws.once_in(4),
        failing: draws.pick(&[0, 60]),
        failing_blocks: 2,
        timeouts: draws.pick(&[0, 80]),
        weak: draws.pick(&[0, 0, 200]),
        ..Faults::default()
    };
    chip
}

#[test]
fn blocking_and_async_do_the_same_operations() {
    let (mut operations, mut mounts, mut refused) = (0, 0, 0);
    for seed in 0..120 {
        let is_cached = seed % 6 == 5;
        let blocking = blocking::history::run(chip_of(seed), seed, is_cached);
        let work = asynchronous::history::run(chip_of(seed), seed, is_cached);
        let (done, pending) = poll_for(work, u32::MAX);
        let done = done.expect("it ends");
        let differs = blocking.log.iter().zip(&done.log).position(|(one, other)| one != other);
        if let Some(at) = differs {
            panic!("history {seed}: {:?}, and async {:?}", blocking.log[at], done.log[at]);
        }
        assert_eq!(blocking.log.len(), done.log.len(), "history {seed}");
        // Before and after each operation.
        assert_eq!(pending as usize, 2 * done.operations, "history {seed}");
        operations += done.operations;
        mounts += done.mounts;
        refused += done.refused;
    }
    println!("{operations} operations, {mounts} mounts, {refused} requests that failed");
    assert!(operations > 100_000 && mounts > 200 && refused > 200);
}

#[test]
fn bytes_on_nor_do_the_same_operations() {
    for seed in 0..4 {
        let blocking = blocking::storage::run(seed).expect("it works");
        let (done, pending) = poll_for(asynchronous::storage::run(seed), u32::MAX);
        assert_eq!(pending as usize, blocking.len());
        assert_eq!(done, Some(Ok(blocking)));
    }
}
