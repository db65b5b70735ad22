//! The async driver beside the blocking one: the same bytes on the bus, and futures that are dropped.

// The history is a module of two trees, as the driver is.
#![allow(clippy::duplicate_mod)]

mod dropped;
#[path = "../common/small.rs"]
mod small;

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use small::{PAGE, SMALL};
use thermocline_spi_nand::simulated::{Simulated, w25n01gv_spare};

fn small() -> Simulated {
    Simulated::new(&SMALL[0], 64, w25n01gv_spare)
}

#[path = "."]
mod blocking {
    use embedded_hal as hal;
    use thermocline_bisync::blocking as bisync;
    use thermocline_embedded::{Ftl, Nand};
    use thermocline_spi_nand::SpiNand;

    #[path = "history.rs"]
    pub mod history;
}

#[path = "."]
mod asynchronous {
    use embedded_hal_async as hal;
    use thermocline_bisync::asynchronous as bisync;
    use thermocline_embedded::asynchronous::{Ftl, Nand};
    use thermocline_spi_nand::asynchronous::SpiNand;

    #[path = "history.rs"]
    pub mod history;
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

/// Numbers that look random.
struct Draws(u32);

impl Draws {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % bound
    }
}

#[test]
fn the_same_bytes_go_over_the_bus() {
    let mut transactions = 0;
    for seed in 0..12 {
        let chip = small();
        let blocking = blocking::history::run(chip.clone(), seed);
        let again = small();
        let (done, pending) = poll_for(asynchronous::history::run(again.clone(), seed), u32::MAX);
        let done = done.expect("it ends");
        if let Some(at) = blocking.iter().zip(&done).position(|(one, other)| one != other) {
            panic!("history {seed}: {}, and async {}", blocking[at], done[at]);
        }
        assert_eq!(blocking.len(), done.len(), "history {seed}");
        assert_eq!((chip.bytes(), chip.nanoseconds()), (again.bytes(), again.nanoseconds()));
        assert!(chip.is_like(&again), "history {seed}");
        // Each transaction, and the delays beside them.
        assert!(pending as usize > done.len());
        transactions += done.len();
    }
    println!("{transactions} transactions and answers");
    assert!(transactions > 10_000);
}
