//! The clean sectors in the page cache.

use rustc_hash::FxHashSet;

/// The most recently used sectors, in two generations. When the younger is full, the older is
/// dropped. So between half of the limit and all of it is kept, and an access needs no list.
pub(crate) struct Resident {
    young: FxHashSet<u64>,
    old: FxHashSet<u64>,
    half: usize,
}

impl Resident {
    /// Keeps at most `sectors` sectors.
    pub fn new(sectors: u64) -> Self {
        let half = (sectors / 2).max(1) as usize;
        Resident { young: FxHashSet::default(), old: FxHashSet::default(), half }
    }

    /// Records an access to a sector; returns whether the sector was cached.
    pub fn touch(&mut self, sector: u64) -> bool {
        if self.young.contains(&sector) {
            return true;
        }
        let known = self.old.contains(&sector);
        if self.young.len() >= self.half {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(sector);
        known
    }

    /// Drops everything when the medium is removed.
    pub fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_page_is_evicted() {
        let mut cache = Resident::new(100);
        assert!(!cache.touch(7));
        for sector in 1000..1400 {
            cache.touch(sector);
            assert!(cache.touch(7), "used all the time");
        }
        assert!(!cache.touch(1000), "long ago");
        assert!(cache.young.len() + cache.old.len() <= 100);
    }
}
