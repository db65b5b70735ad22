//! Access to the file by positioned reads and writes, without a shared cursor; and a guard that remembers a
//! failed sync.

use std::{
    fmt, io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{error::Damage, unread::EIO, unsynced::Unsynced};
use crate::Durable;

/// The operations of an image on its file.
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// Reads exactly that many bytes.
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes all the bytes. They are durable after the next sync. Before it any part of them may reach the
    /// disk, in any order with other writes.
    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()>;

    /// Writes the payloads of whole pages. Their records are written afterwards.
    fn write_payload(&self, from: &[u8], at: u64) -> io::Result<()> {
        self.write_at(from, at)
    }

    /// Waits until all writes before the call are durable.
    fn sync(&self) -> io::Result<()>;

    /// Bytes of the file.
    fn len(&self) -> io::Result<u64>;

    /// Makes the file that long.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Deallocates a range, which then reads as zeros.
    fn punch(&self, at: u64, bytes: u64) -> io::Result<()>;

    /// Whether a sync waits for a disk.
    fn waits_for_disk(&self) -> bool {
        true
    }

    /// Drops the system's cache of the synced file, so that reads return the data on the disk. It may bypass the
    /// cache instead if the image `fits` the [unit](Self::unit) of such reads. Returns a remark for the operator.
    fn forget_cached(&mut self, fits: &dyn Fn(usize) -> bool) -> io::Result<Option<String>> {
        let _ = fits;
        Ok(None)
    }

    /// Drops all clean pages from the cache. False if some remain.
    fn evict(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// Reads and writes begin and end at multiples of this many bytes.
    fn unit(&self) -> usize {
        1
    }
}

/// A store whose failed syncs are not forgotten.
///
/// After a failed sync the system may have dropped the data that it could not write, and the next sync of the
/// file succeeds. No write since the last good sync is then known to be durable, and no later sync is
/// trusted until those writes are [repeated](Unsynced). A sync that ran at the same time is not trusted
/// either: the system reports an error to one sync only, and that sync may return after the others.
#[derive(Debug)]
pub(super) struct Guarded {
    store: Box<dyn Store>,
    results: Mutex<Results>,
    ended: Condvar,
    syncs: AtomicU64,
    unsynced: Mutex<Unsynced>,
}

/// The outcomes of the syncs of a store.
#[derive(Debug, Default)]
struct Results {
    /// Syncs begun; their numbers count from 1.
    begun: u64,
    /// Syncs that have not returned.
    running: Vec<u64>,
    /// The system's error number of the first sync that failed.
    failed: Option<i32>,
}

impl Guarded {
    pub(super) fn new(store: Box<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            store,
            results: Mutex::default(),
            ended: Condvar::new(),
            syncs: AtomicU64::new(0),
            unsynced: Mutex::default(),
        })
    }

    /// Syncs of the store below.
    pub(super) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// The store itself.
    pub(super) fn below(&self) -> &dyn Store {
        &*self.store
    }

    /// The writes that no good sync covers.
    pub(super) fn unsynced(&self) -> MutexGuard<'_, Unsynced> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a sync failed because the disk was full. If so, waits until no sync runs.
    pub(super) fn found_no_room(&self) -> bool {
        let results = self.results();
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        let kind = results.failed.map(|failed| io::Error::from_raw_os_error(failed).kind());
        if !kind.is_some_and(|kind| full.contains(&kind)) {
            return false;
        }
        drop(self.ended.wait_while(results, |results| !results.running.is_empty()));
        true
    }

    /// Fails with the error of the first failed sync, if there is one.
    pub(super) fn check(&self) -> io::Result<()> {
        self.results().failed.map_or(Ok(()), |failed| Err(io::Error::from_raw_os_error(failed)))
    }

    /// Trusts syncs again after the writes that the failed sync may have dropped were repeated.
    pub(super) fn begin_anew(&self) {
        self.results().failed = None;
    }

    /// Makes every later sync fail, because data dropped by a failed sync are lost.
    pub(super) fn fail_for_ever(&self) -> io::Error {
        self.results().failed = Some(EIO);
        io::Error::from_raw_os_error(EIO)
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        // No code panics while a change is incomplete.
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Guarded {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.store.read_at(into, at)
    }

    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()> {
        self.store.write_at(from, at)?;
        self.unsynced().wrote(at, from, false);
        Ok(())
    }

    fn write_payload(&self, from: &[u8], at: u64) -> io::Result<()> {
        self.store.write_payload(from, at)?;
        self.unsynced().wrote(at, from, true);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Durable::sync(self)
    }

    fn len(&self) -> io::Result<u64> {
        self.store.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.store.set_len(bytes)
    }

    fn punch(&self, at: u64, bytes: u64) -> io::Result<()> {
        self.store.punch(at, bytes)
    }

    fn waits_for_disk(&self) -> bool {
        self.store.waits_for_disk()
    }

    fn unit(&self) -> usize {
        self.store.unit()
    }
}

impl Durable for Guarded {
    /// Succeeds once every sync begun before the end of this one has returned, and none has failed.
    fn sync(&self) -> io::Result<()> {
        self.check()?;
        let mut results = self.results();
        results.begun += 1;
        let number = results.begun;
        results.running.push(number);
        drop(results);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        let done = self.store.sync();
        let mut results = self.results();
        results.running.retain(|&it| it != number);
        if let Err(error) = &done {
            results.failed.get_or_insert(error_number(error));
        }
        self.ended.notify_all();
        let before = results.begun;
        let results = self.ended.wait_while(results, |results| {
            results.failed.is_none() && results.running.iter().any(|&it| it <= before)
        });
        drop(results.unwrap_or_else(PoisonError::into_inner));
        done.and_then(|()| self.check())
    }
}

/// Syncs tried when a store is opened. The first may return the error of an earlier write.
const ATTEMPTS: u32 = 3;

/// Syncs the file and drops the system's cache of it, so that later reads return the data on the disk. Returns
/// remarks for the operator.
pub(super) fn read_anew(
    store: &mut dyn Store,
    read_only: bool,
    fits: &dyn Fn(usize) -> bool,
) -> Result<Vec<String>, Damage> {
    let mut remarks = Vec::new();
    for attempt in 1..=ATTEMPTS {
        let Err(error) = store.sync() else { break };
        if attempt == ATTEMPTS && !read_only {
            return Err(Damage::System { doing: "sync what was written before", error });
        }
        remarks = vec![format!(
            "a write to the image had failed before it was opened ({error}): what the disk holds counts"
        )];
    }
    let forgotten =
        store.forget_cached(fits).map_err(Damage::when("drop what is cached of the file"))?;
    remarks.extend(forgotten);
    Ok(remarks)
}

/// The system's number of an error; "input/output error" for one that has none.
pub(super) fn error_number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(EIO)
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use super::*;

    /// The first sync receives an error and returns late: after another sync has returned, or while that one
    /// waits for it.
    #[derive(Debug)]
    struct TellsOnce {
        is_told: mpsc::Sender<()>,
        late: Mutex<Option<mpsc::Receiver<()>>>,
    }

    impl Store for TellsOnce {
        fn sync(&self) -> io::Result<()> {
            let Some(late) = self.late.lock().expect("no test dies with it").take() else {
                return Ok(());
            };
            self.is_told.send(()).expect("the test waits for it");
            // Nothing is sent if the other sync waits, as it should.
            let _ = late.recv_timeout(Duration::from_millis(200));
            Err(io::Error::from_raw_os_error(EIO))
        }

        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
            Ok(())
        }

        fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
            Ok(())
        }

        fn len(&self) -> io::Result<u64> {
            Ok(0)
        }

        fn set_len(&self, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn punch(&self, _: u64, _: u64) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_sync_beside_one_that_fails_fails_however_late_that_says_so() {
        let ((is_told, told), (returned, late)) = (mpsc::channel(), mpsc::channel());
        let store = TellsOnce { is_told, late: Mutex::new(Some(late)) };
        let store = Guarded::new(Box::new(store));
        thread::scope(|scope| {
            let first = scope.spawn(|| Durable::sync(&*store));
            told.recv().expect("the first sync runs");
            let second = Durable::sync(&*store);
            let _ = returned.send(());
            let number = |done: io::Result<()>| done.expect_err("lost").raw_os_error();
            assert_eq!(number(second), Some(EIO));
            assert_eq!(number(first.join().expect("no panic")), Some(EIO));
            assert_eq!(number(Durable::sync(&*store)), Some(EIO));
        });
    }
}
