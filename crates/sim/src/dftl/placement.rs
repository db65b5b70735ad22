//! The streams of DFTL: a current data block and a current translation block (DFTL paper, §3.2).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thermocline_flash::Lpn;
use thermocline_policy::placement::{Cleaning, HostWrite, Placement, Streams};

const DATA: u8 = 0;
const MAP: u8 = 1;

/// Data pages that garbage collection moved: the lists of victims, one after another.
#[derive(Clone, Default)]
pub(super) struct Moved(Arc<Mutex<Vec<Vec<Lpn>>>>);

impl Moved {
    /// A panic elsewhere leaves the lists whole.
    fn lists(&self) -> MutexGuard<'_, Vec<Vec<Lpn>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lists since the last call.
    pub(super) fn take(&self) -> Vec<Vec<Lpn>> {
        std::mem::take(&mut *self.lists())
    }
}

/// Keeps translation pages, which follow the logical pages of the host, apart from data.
pub(super) struct MapApart {
    /// The first translation page.
    pub(super) first: u32,
    pub(super) moved: Moved,
}

impl MapApart {
    const fn stream(&self, lpn: Lpn) -> u8 {
        if lpn.0 < self.first { DATA } else { MAP }
    }
}

impl Streams for MapApart {
    fn streams(&self) -> u8 {
        2
    }

    fn cleaning(&mut self, _: &Cleaning) {
        self.moved.lists().push(Vec::new());
    }
}

impl Placement for MapApart {
    type Page = ();

    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        self.stream(write.lpn())
    }

    fn survivor(&mut self, (): &mut (), lpn: Lpn, _: u64) -> u8 {
        if lpn.0 < self.first
            && let Some(of_victim) = self.moved.lists().last_mut()
        {
            of_victim.push(lpn);
        }
        self.stream(lpn)
    }
}
