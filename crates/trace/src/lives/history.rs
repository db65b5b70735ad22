//! What is known of a page when it is written: its features, of which learned policies foretell how long it lives.

use rustc_hash::FxHashMap;

use super::Features;

/// Pages of a chunk. Neighbours are looked up together, and an isolated page takes the room of a chunk.
const CHUNK: u64 = 16;

/// Volume, and page number divided by the pages of a chunk.
type Key = (u32, u64);
type Chunk<T> = [Entry<T>; CHUNK as usize];

/// A page that was written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry<T> {
    /// One more than the number of its last write on its volume; 0 for a page that was never written.
    last: u64,
    /// What was known at its last write.
    pub features: Features,
    /// What the user keeps of it.
    pub kept: T,
}

impl<T> Entry<T> {
    /// Number of its last write on its volume.
    pub fn last(&self) -> Option<u64> {
        self.last.checked_sub(1)
    }
}

/// Pages that were written in ascending order, up to the newest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequence {
    /// The page that would continue it.
    next: Option<u64>,
    run: u32,
}

impl Sequence {
    /// With one more page.
    #[must_use]
    pub fn with(self, page: u64) -> Self {
        let run = if self.next == Some(page) { self.run.saturating_add(1) } else { 0 };
        Self { next: page.checked_add(1), run }
    }

    /// Pages before the newest.
    #[must_use]
    pub const fn run(self) -> u32 {
        self.run
    }
}

/// The pages of volumes. Memory grows with the pages written, not with the writes.
#[derive(Debug, Default)]
pub struct Histories<T> {
    by_key: FxHashMap<Key, usize>,
    /// In the order of their first write.
    chunks: Vec<(Key, Chunk<T>)>,
}

impl<T: Copy + Default> Histories<T> {
    fn chunk(&self, volume: u32, page: u64) -> Option<usize> {
        self.by_key.get(&(volume, page / CHUNK)).copied()
    }

    /// A page that was written.
    pub fn get(&self, volume: u32, page: u64) -> Option<&Entry<T>> {
        let entry = &self.chunks[self.chunk(volume, page)?].1[(page % CHUNK) as usize];
        (entry.last > 0).then_some(entry)
    }

    /// As above, to change what is kept of it.
    pub fn get_mut(&mut self, volume: u32, page: u64) -> Option<&mut Entry<T>> {
        let at = self.chunk(volume, page)?;
        let entry = &mut self.chunks[at].1[(page % CHUNK) as usize];
        (entry.last > 0).then_some(entry)
    }

    /// The last interval between two writes of a page; 0 if there is none.
    pub fn interval(&self, volume: u32, page: u64) -> u32 {
        self.get(volume, page).map_or(0, |entry| entry.features.intervals[0])
    }

    /// What is known of a page that becomes write number `now` of its volume, after `run` pages in sequence, by a
    /// request of `size` bytes. `interval` gives the last interval of its neighbours.
    pub fn coming(
        &self,
        (volume, page): (u32, u64),
        now: u64,
        run: u32,
        size: u32,
        interval: impl Fn(u64) -> u32,
    ) -> Features {
        let mut features = Features {
            run,
            size,
            before: page.checked_sub(1).map_or(0, &interval),
            after: interval(page.saturating_add(1)),
            ..Features::default()
        };
        if let Some(entry) = self.get(volume, page) {
            let old = &entry.features;
            let interval = u32::try_from(now - (entry.last - 1)).unwrap_or(u32::MAX);
            features.writes = old.writes.saturating_add(1);
            features.intervals[0] = interval;
            features.intervals[1..].copy_from_slice(&old.intervals[..old.intervals.len() - 1]);
        }
        features
    }

    /// A page becomes write number `now` of its volume.
    pub fn write(
        &mut self,
        (volume, page): (u32, u64),
        now: u64,
        features: Features,
    ) -> &mut Entry<T> {
        let key = (volume, page / CHUNK);
        let at = *self.by_key.entry(key).or_insert_with(|| {
            self.chunks.push((key, [Entry::default(); CHUNK as usize]));
            self.chunks.len() - 1
        });
        let entry = &mut self.chunks[at].1[(page % CHUNK) as usize];
        (entry.last, entry.features) = (now + 1, features);
        entry
    }

    /// All pages that were written, with volume and page: chunks in the order of their first write.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64, &Entry<T>)> {
        self.chunks.iter().flat_map(|((volume, chunk), entries)| {
            let pages = (chunk * CHUNK..).zip(entries);
            pages.filter(|(_, entry)| entry.last > 0).map(|(page, entry)| (*volume, page, entry))
        })
    }

    /// Calls `with` for each written page of a range, whose end is not part of it.
    pub fn each_of(
        &mut self,
        volume: u32,
        pages: std::ops::Range<u64>,
        mut with: impl FnMut(u64, &mut Entry<T>),
    ) {
        let (first, end) = (pages.start / CHUNK, pages.end.div_ceil(CHUNK));
        // A trim may cover a whole device, of which little was written.
        let chunks: Vec<usize> = if end.saturating_sub(first) < self.chunks.len() as u64 {
            (first..end).filter_map(|chunk| self.by_key.get(&(volume, chunk)).copied()).collect()
        } else {
            let known = self.chunks.iter().map(|(key, _)| *key).enumerate();
            let within = |(at, (of, chunk)): (usize, (u32, u64))| {
                (of == volume && (first..end).contains(&chunk)).then_some((chunk, at))
            };
            let mut within: Vec<_> = known.filter_map(within).collect();
            within.sort_unstable();
            within.into_iter().map(|(_, at)| at).collect()
        };
        for at in chunks {
            let ((_, chunk), entries) = &mut self.chunks[at];
            for (page, entry) in (*chunk * CHUNK..).zip(entries) {
                if entry.last > 0 && pages.contains(&page) {
                    with(page, entry);
                }
            }
        }
    }
}
