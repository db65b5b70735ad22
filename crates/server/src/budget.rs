//! The memory that all connections together may use for their buffers.
//!
//! Problem. Clients decide how much they request and how fast they read replies, and there may be a thousand
//! of them. Idea. Each connection has small buffers of its own (by [`SMALL`], 160 KiB at most), which serve
//! any request piece by piece. Larger ones, which save system calls, are leased from one budget; a connection
//! without a lease uses the small ones. Consequence. Memory is at most the budget and 160 KiB a connection. No
//! connection waits for memory, and a client that does not read holds a lease only until it is cut off.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::memory;

/// Bytes of the receive buffer that every connection has, and of output after which it is sent.
pub(crate) const SMALL: usize = 32 << 10;
/// Buffer size of a connection with a lease.
pub(crate) const LARGE: usize = 256 << 10;
/// Bytes that a lease for large buffers takes from the budget: the receive buffer, and output that
/// doubles until it holds a full batch and one more reply.
pub(crate) const LEASE: usize = LARGE + 4 * LARGE;
/// The rest of the budget.
#[derive(Debug)]
pub(crate) struct Budget {
    total: usize,
    left: AtomicUsize,
}

impl Budget {
    pub(crate) const fn new(bytes: usize) -> Self {
        Self { total: bytes, left: AtomicUsize::new(bytes) }
    }

    /// Takes `bytes`, if they are left.
    pub(crate) fn lease(&self, bytes: usize) -> Option<Lease<'_>> {
        let taken = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes));
        taken.ok().map(|_| Lease { budget: self, bytes })
    }

    /// Bytes that are leased now.
    pub(crate) fn leased(&self) -> usize {
        self.total - self.left.load(Relaxed)
    }
}

/// Memory that may be used until this is dropped. The buffers go first, the lease then.
#[derive(Debug)]
pub(crate) struct Lease<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let left = self.budget.left.fetch_add(self.bytes, Relaxed);
        if left + self.bytes == self.budget.total {
            memory::trim();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_never_exceed_the_budget_and_come_back() {
        let budget = Budget::new(10);
        let first = budget.lease(6).expect("there is room");
        assert!(budget.lease(5).is_none());
        let second = budget.lease(4).expect("there is room");
        assert_eq!(budget.leased(), 10);
        drop(first);
        assert_eq!(budget.leased(), 4);
        drop(second);
        assert!(budget.leased() == 0 && budget.lease(10).is_some());
    }
}
