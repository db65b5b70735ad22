//! Access to the file: positioned reads and writes, so that nobody shares a cursor; and a guard that
//! remembers a sync that failed.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicI32, AtomicU64, Ordering},
    },
};

use crate::Durable;

/// What an image needs of a file.
pub(super) trait Store: fmt::Debug + Send + Sync {
    /// Reads exactly that many bytes.
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes all of them. They last after the next sync; until then any part of them may, in any
    /// order with other writes.
    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()>;

    /// Waits until everything written before the call lasts.
    fn sync(&self) -> io::Result<()>;

    /// Bytes of the file.
    fn len(&self) -> io::Result<u64>;

    /// Makes the file that long.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Gives space back: the range reads as zeros then.
    fn punch(&self, at: u64, bytes: u64) -> io::Result<()>;

    /// Whether a sync waits for a disk.
    fn waits_for_disk(&self) -> bool {
        true
    }

    /// Reads and writes begin and end at multiples of this many bytes.
    fn unit(&self) -> usize {
        1
    }
}

/// A store whose failed syncs are not forgotten.
///
/// After a failed sync the system may have dropped what it could not write, and the next sync of the
/// same file says that all is well. So nothing that was written since the last good one is known to
/// last, and no later sync may be believed.
#[derive(Debug)]
pub(super) struct Guarded {
    store: Box<dyn Store>,
    /// The system's error number of the first sync that failed, or 0.
    failed: AtomicI32,
    syncs: AtomicU64,
}

impl Guarded {
    pub(super) fn new(store: Box<dyn Store>) -> Arc<Self> {
        Arc::new(Self { store, failed: AtomicI32::new(0), syncs: AtomicU64::new(0) })
    }

    /// Syncs that were waited for.
    pub(super) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }
}

impl std::ops::Deref for Guarded {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

impl Durable for Guarded {
    fn sync(&self) -> io::Result<()> {
        let failed = self.failed.load(Ordering::Acquire);
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        let done = self.store.sync();
        if let Err(error) = &done {
            self.failed.store(error_number(error), Ordering::Release);
        } else if self.failed.load(Ordering::Acquire) != 0 {
            // Another sync failed meanwhile, and may have been told what belonged to this one.
            return Err(io::Error::from_raw_os_error(self.failed.load(Ordering::Acquire)));
        }
        done
    }
}

/// The system's number of an error; "input/output error" for one that has none.
pub(super) fn error_number(error: &io::Error) -> i32 {
    const EIO: i32 = 5;
    error.raw_os_error().unwrap_or(EIO)
}
