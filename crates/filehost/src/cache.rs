//! Which clean sectors are still in the page cache.

use rustc_hash::FxHashSet;

/// The sectors used last: two generations, of which the older is dropped when the younger is full.
/// Between half of the limit and all of it stay, and an access costs no list.
pub(crate) struct Resident {
    young: FxHashSet<u64>,
    old: FxHashSet<u64>,
    half: usize,
}

impl Resident {
    /// At most `sectors` stay.
    pub fn new(sectors: u64) -> Self {
        let half = (sectors / 2).max(1) as usize;
        Resident { young: FxHashSet::default(), old: FxHashSet::default(), half }
    }

    /// Notes that a sector is used and says whether it was there.
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

    /// The medium was taken out.
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
