//! Looking for the next request a little while before the thread goes to sleep.
//!
//! Problem. A client with one request under way sends the next some ten microseconds after its answer,
//! and to put a thread to sleep and wake it takes as long as all the rest. Idea. Look again and again
//! for that long, as long as it pays. Consequence. Such a client gets half as much again, and a request
//! costs less time of a core than with the sleep; where it does not pay, one look in [`MOST_SKIPPED`]
//! waits is all that is lost.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// How long a look lasts: some times what a client on this machine needs between two requests.
const LONGEST: Duration = Duration::from_micros(50);
/// Waits without a look, at most, after looks that did not pay.
const MOST_SKIPPED: u32 = 256;

/// What a connection knows of whether looking pays.
#[derive(Debug)]
pub(super) struct Patience<'a> {
    /// Whether some connection looks already: two would take the cores from those who work.
    looking: &'a AtomicBool,
    /// Waits until the next look.
    skip: u32,
    /// Waits to skip after the next look that does not pay.
    then: u32,
}

impl<'a> Patience<'a> {
    /// Of one of the connections that share `looking`.
    pub(super) const fn new(looking: &'a AtomicBool) -> Self {
        Self { looking, skip: 0, then: 0 }
    }

    /// Calls `look` until it gives something, but not for long; maybe not at all.
    pub(super) fn wait<T>(&mut self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        if self.looking.swap(true, Relaxed) {
            return None;
        }
        let began = Instant::now();
        let found = loop {
            match look() {
                None if began.elapsed() < LONGEST => thread::yield_now(),
                found => break found,
            }
        };
        self.looking.store(false, Relaxed);
        if found.is_some() {
            self.then = 1;
        } else {
            self.skip = self.then;
            self.then = (self.then * 2).clamp(1, MOST_SKIPPED);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_find_nothing_become_rare_and_one_that_finds_something_brings_them_back() {
        let looking = AtomicBool::new(false);
        let mut patience = Patience::new(&looking);
        let mut waits_with_a_look = |waits: u32, finds: bool| {
            let mut looked = 0;
            for _ in 0..waits {
                let mut here = false;
                patience.wait(|| {
                    here = true;
                    finds.then_some(())
                });
                looked += u32::from(here);
            }
            looked
        };
        assert_eq!(waits_with_a_look(1000, true), 1000);
        assert!(waits_with_a_look(1000, false) < 12);
        // At most that many waits are passed over before the next look.
        assert!(waits_with_a_look(MOST_SKIPPED + 1000, true) >= 1000);
    }

    #[test]
    fn a_look_ends_by_itself() {
        let began = Instant::now();
        let looking = AtomicBool::new(false);
        let mut looks = 0_u64;
        let found: Option<()> = Patience::new(&looking).wait(|| {
            looks += 1;
            None
        });
        assert!(found.is_none() && looks > 0 && began.elapsed() >= LONGEST);
        assert!(!looking.into_inner(), "another may look");
    }

    #[test]
    fn nobody_looks_while_another_does() {
        let looking = AtomicBool::new(true);
        let found: Option<()> = Patience::new(&looking).wait(|| unreachable!("another looks"));
        assert!(found.is_none() && looking.into_inner());
    }
}
