//! Group commit: one sync of the chip for all waiting flushes.
//!
//! Each change of the device has a number. A flush waits for the end of a sync that began after the
//! last change it covers. A flush that finds no sync running leads the next one; flushes that arrive
//! during a sync wait and share the following one. The device is not locked during the sync, so
//! others read and write meanwhile.

use std::sync::{
    Arc, Condvar, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use super::Fault;

/// Syncs that served 1, 2, up to 4, up to 8 flushes, and so on; the last one more than that.
pub(crate) const SERVED: usize = 12;

/// Who waits for which sync.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    state: Mutex<Rounds>,
    ended: Condvar,
    pub(crate) tally: Tally,
}

/// Flushes and syncs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Flushes asked for, writes that must last included.
    pub flushes: AtomicU64,
    /// Syncs waited for.
    pub syncs: AtomicU64,
    /// Flushes that found nothing to sync.
    pub idle: AtomicU64,
    /// Syncs by the number of flushes each served.
    pub served: [AtomicU64; SERVED],
}

#[derive(Debug, Default)]
struct Rounds {
    running: bool,
    /// Changes that last.
    lasting: u64,
    /// For each waiter or leader: the changes that must be durable, and the number of its flushes.
    wanted: Vec<(u64, u64)>,
    failed: Option<Arc<str>>,
    /// The last sync found no room.
    is_full: bool,
}

impl Commit {
    /// Waits until the first `changes` changes are durable; `sync` makes all changes so far durable
    /// and returns their number. `asked` flushes share this call.
    ///
    /// A failed sync is never repeated: the system may have dropped the pages that it could not write, and
    /// would then report success. A sync that found no room is repeated: the medium writes the dropped
    /// pages again.
    pub(crate) fn wait(
        &self,
        changes: u64,
        asked: u64,
        sync: impl FnOnce() -> Result<u64, Fault>,
    ) -> Result<(), Fault> {
        self.tally.flushes.fetch_add(asked, Relaxed);
        let mut rounds = self.rounds();
        if rounds.failed.is_none() && rounds.lasting >= changes {
            self.tally.idle.fetch_add(asked, Relaxed);
            return Ok(());
        }
        rounds.wanted.push((changes, asked));
        loop {
            if let Some(text) = &rounds.failed {
                return Err(Fault::Sync(text.clone()));
            }
            if rounds.lasting >= changes {
                return Ok(());
            }
            if !rounds.running {
                break;
            }
            rounds = self.ended.wait(rounds).unwrap_or_else(PoisonError::into_inner);
        }
        rounds.running = true;
        drop(rounds);
        let mine = (changes, asked);
        let mut leader = Leader { commit: self, mine, result: Err(Fault::Broken) };
        leader.result = sync();
        let result = leader.result.clone();
        drop(leader);
        result.map(|_| ())
    }

    /// Does work that excludes syncs. The work makes all changes so far durable, and returns their
    /// number.
    pub(crate) fn alone(&self, work: impl FnOnce() -> Result<u64, Fault>) -> Result<(), Fault> {
        let rounds = self.rounds();
        let quiet = self.ended.wait_while(rounds, |rounds| rounds.running);
        let mut rounds = quiet.unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = &rounds.failed {
            return Err(Fault::Sync(text.clone()));
        }
        let mine = (0, 0);
        rounds.wanted.push(mine);
        rounds.running = true;
        drop(rounds);
        let mut leader = Leader { commit: self, mine, result: Err(Fault::Broken) };
        leader.result = work();
        let result = leader.result.clone();
        drop(leader);
        result.map(|_| ())
    }

    /// Why writes are not durable: permanently, or until there is room.
    pub(crate) fn failed(&self) -> Option<Fault> {
        let rounds = self.rounds();
        let full = rounds.is_full.then_some(Fault::FileSystemFull);
        rounds.failed.clone().map(Fault::Sync).or(full)
    }

    /// Waits until no sync runs.
    pub(crate) fn wait_until_quiet(&self) {
        let rounds = self.rounds();
        let quiet = self.ended.wait_while(rounds, |rounds| rounds.running);
        drop(quiet.unwrap_or_else(PoisonError::into_inner));
    }

    fn rounds(&self) -> std::sync::MutexGuard<'_, Rounds> {
        // Each change is a single assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, mine: (u64, u64), result: &Result<u64, Fault>) {
        let mut rounds = self.rounds();
        rounds.running = false;
        rounds.is_full = *result == Err(Fault::FileSystemFull);
        match result {
            Ok(lasting) => {
                rounds.lasting = rounds.lasting.max(*lasting);
                let mut served = 0_u64;
                rounds.wanted.retain(|(changes, asked)| {
                    let waits_on = changes > lasting;
                    served += if waits_on { 0 } else { *asked };
                    waits_on
                });
                self.tally.syncs.fetch_add(1, Relaxed);
                let class = served.max(1).next_power_of_two().trailing_zeros() as usize;
                self.tally.served[class.min(SERVED - 1)].fetch_add(1, Relaxed);
            }
            Err(Fault::Sync(text)) => {
                rounds.failed = Some(text.clone());
                rounds.wanted.clear();
            }
            // Nothing is lost: who waits tries it himself.
            Err(_) => {
                let at = rounds.wanted.iter().position(|wanted| *wanted == mine);
                at.map(|at| rounds.wanted.swap_remove(at));
            }
        }
        drop(rounds);
        self.ended.notify_all();
    }
}

/// Ends the round even if the sync panics.
struct Leader<'a> {
    commit: &'a Commit,
    mine: (u64, u64),
    result: Result<u64, Fault>,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.commit.end(self.mine, &self.result);
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use super::*;

    #[test]
    fn flushes_that_wait_while_a_sync_runs_share_the_next_one() {
        let commit = Commit::default();
        let (started, release) = (Barrier::new(2), Barrier::new(2));
        let ready = Barrier::new(9);
        thread::scope(|scope| {
            scope.spawn(|| {
                commit.wait(1, 1, || {
                    started.wait();
                    release.wait();
                    Ok(1)
                })
            });
            started.wait();
            for _ in 0..8 {
                scope.spawn(|| {
                    ready.wait();
                    commit.wait(9, 1, || Ok(9)).expect("the sync succeeds");
                });
            }
            ready.wait();
            while commit.rounds().wanted.len() < 9 {
                thread::yield_now();
            }
            release.wait();
        });
        assert_eq!(commit.tally.flushes.load(Relaxed), 9);
        assert_eq!(commit.tally.syncs.load(Relaxed), 2);
        assert_eq!(commit.tally.served[0].load(Relaxed), 1, "the first served one");
        assert_eq!(commit.tally.served[3].load(Relaxed), 1, "the second served eight");
    }

    #[test]
    fn what_lasts_already_is_not_synced_again() {
        let commit = Commit::default();
        commit.wait(5, 1, || Ok(7)).expect("the sync succeeds");
        commit.wait(7, 1, || unreachable!("seven changes last")).expect("nothing to do");
        commit.wait(8, 1, || Ok(8)).expect("the sync succeeds");
        assert_eq!(commit.tally.syncs.load(Relaxed), 2);
        assert_eq!(commit.tally.idle.load(Relaxed), 1);
    }

    #[test]
    fn after_a_sync_that_failed_no_flush_succeeds_again() {
        let commit = Commit::default();
        let failed = commit.wait(1, 1, || Err(Fault::Sync("disk on fire".into())));
        assert_eq!(failed, Err(Fault::Sync("disk on fire".into())));
        let after = commit.wait(2, 1, || unreachable!("it is not tried again"));
        assert_eq!(after, failed);
        assert_eq!(commit.wait(0, 1, || unreachable!("nor then")), failed);
    }

    #[test]
    fn a_sync_that_found_no_room_leaves_the_next_one_its_chance() {
        let commit = Commit::default();
        let full = Err(Fault::FileSystemFull);
        assert_eq!(commit.wait(1, 1, || Err(Fault::FileSystemFull)), full);
        assert_eq!(commit.failed(), full.err());
        assert_eq!(commit.wait(1, 1, || Ok(1)), Ok(()));
        assert_eq!(commit.failed(), None);
    }

    #[test]
    fn a_flush_that_could_not_settle_leaves_the_next_one_its_chance() {
        let commit = Commit::default();
        assert_eq!(commit.wait(1, 1, || Err(Fault::NoSpace)), Err(Fault::NoSpace));
        assert_eq!(commit.wait(1, 1, || Ok(1)), Ok(()));
    }
}
