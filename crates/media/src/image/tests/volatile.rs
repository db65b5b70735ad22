//! A store that loses what was not synced: any sector of it, in any order.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard},
};

use super::super::store::Store;

const SECTOR: usize = 512;

/// Numbers from a seed (splitmix64): the same for the same seed, everywhere.
#[derive(Clone, Debug)]
pub(super) struct Draw(pub u64);

impl Draw {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True that many times in a hundred.
    pub(super) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }
}

/// A file in memory, shared with whoever cuts its power.
#[derive(Clone, Debug)]
pub(super) struct Volatile(Arc<Mutex<File>>);

#[derive(Debug)]
struct File {
    now: Vec<u8>,
    lasting: Vec<u8>,
    /// Of each sector written since the last sync, what it held after each write.
    written: BTreeMap<usize, Vec<[u8; SECTOR]>>,
    /// Writes and reads so far.
    writes: u64,
    reads: u64,
    /// Sectors that a sync dropped: as on ext4, what is written to them does not last before the cache has
    /// forgotten them.
    stuck: BTreeSet<usize>,
    /// Whether a sync that fails drops what it should have written: the cache goes on to show it.
    drops: bool,
    /// The system error with which syncs fail, and that with which writes do.
    sync_error: Option<i32>,
    write_error: Option<i32>,
    /// Sectors from the first to before the second cannot be read until they are written.
    unreadable: Vec<(u64, u64)>,
    /// Where NOR blocks are, and their length: there a write that is not a whole block clears bits
    /// only.
    nor: Option<(Range<u64>, usize)>,
}

impl Volatile {
    pub(super) fn new(bytes: u64) -> Self {
        let now = vec![0; bytes as usize];
        let lasting = now.clone();
        Self(Arc::new(Mutex::new(File {
            now,
            lasting,
            written: BTreeMap::new(),
            writes: 0,
            reads: 0,
            stuck: BTreeSet::new(),
            drops: false,
            sync_error: None,
            write_error: None,
            unreadable: Vec::new(),
            nor: None,
        })))
    }

    fn file(&self) -> MutexGuard<'_, File> {
        self.0.lock().expect("no test dies with it in hand")
    }

    pub(super) fn fail_syncs(&self, error: Option<i32>) {
        self.file().sync_error = error;
    }

    /// The next sync fails, and drops what it should have written.
    pub(super) fn drop_at_next_sync(&self, error: i32) {
        let file = &mut *self.file();
        (file.sync_error, file.drops) = (Some(error), true);
    }

    /// The system forgets what it has cached.
    pub(super) fn forget(&self) {
        let file = &mut *self.file();
        file.now.clone_from(&file.lasting);
        file.stuck.clear();
    }

    pub(super) fn fail_writes(&self, error: Option<i32>) {
        self.file().write_error = error;
    }

    /// The disk cannot read that sector until it is written.
    pub(super) fn spoil_sector(&self, at: u64) {
        let at = at / SECTOR as u64 * SECTOR as u64;
        self.file().unreadable.push((at, at + SECTOR as u64));
    }

    /// Cuts the file off.
    pub(super) fn cut_off(&self, bytes: u64) {
        self.file().now.truncate(bytes as usize);
    }

    /// Writes that did not fail, so far.
    pub(super) fn reads(&self) -> u64 {
        self.file().reads
    }

    pub(super) fn writes(&self) -> u64 {
        self.file().writes
    }

    /// From now on there are NOR blocks of that length there.
    pub(super) fn watch_nor(&self, there: Range<u64>, block: usize) {
        self.file().nor = Some((there, block));
    }

    /// Turns a bit, in memory and for good.
    pub(super) fn turn_bit(&self, at: u64) {
        let file = &mut *self.file();
        file.now[at as usize] ^= 1;
        file.lasting[at as usize] ^= 1;
    }

    pub(super) fn bytes(&self, at: u64, count: usize) -> Vec<u8> {
        self.file().now[at as usize..][..count].to_vec()
    }

    /// Writes that do not last yet.
    pub(super) fn is_dirty(&self) -> bool {
        !self.file().written.is_empty()
    }

    /// Power fails and comes back: of each sector written since the last sync, what it held before, or
    /// after any of the writes.
    pub(super) fn cut(&self, draw: &mut Draw) {
        let file = &mut *self.file();
        // From nearly nothing to nearly everything; and now and then the last of what was written.
        let newest = [0, 3, 20, 50, 80, 97, 100][draw.below(7)];
        for (sector, mut held) in std::mem::take(&mut file.written) {
            let kept =
                if draw.percent(newest) { held.pop() } else { held.into_iter().nth(draw.below(4)) };
            if let Some(kept) = kept {
                file.lasting[sector * SECTOR..][..SECTOR].copy_from_slice(&kept);
            }
        }
        file.now.clone_from(&file.lasting);
    }

    fn put(&self, at: u64, change: impl FnOnce(&mut [u8]), bytes: usize) {
        let file = &mut *self.file();
        file.writes += 1;
        let at = at as usize;
        let length = file.now.len().max(at + bytes);
        file.now.resize(length, 0);
        change(&mut file.now[at..at + bytes]);
        for sector in at / SECTOR..(at + bytes).div_ceil(SECTOR) {
            let holds = file.now[sector * SECTOR..].first_chunk().expect("whole sectors");
            if !file.stuck.contains(&sector) {
                file.written.entry(sector).or_default().push(*holds);
            }
        }
    }
}

impl Store for Volatile {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let mut file = self.file();
        file.reads += 1;
        let end = at + into.len() as u64;
        if file.unreadable.iter().any(|&(from, to)| at < to && end > from) {
            return Err(io::Error::from_raw_os_error(5));
        }
        let there = file.now.get(at as usize..end as usize);
        into.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()> {
        let (error, nor) = {
            let file = self.file();
            (file.write_error, file.nor.clone())
        };
        if let Some(error) = error {
            return Err(io::Error::from_raw_os_error(error));
        }
        if nor.is_some_and(|(there, block)| there.contains(&at) && from.len() != block) {
            let old = self.bytes(at, from.len());
            let only_clears = from.iter().zip(old).all(|(new, old)| new & !old == 0);
            assert!(only_clears, "a bit was set without an erase");
        }
        let end = at + from.len() as u64;
        self.file().unreadable.retain(|&(from, to)| from < at || to > end);
        self.put(at, |bytes| bytes.copy_from_slice(from), from.len());
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let file = &mut *self.file();
        if let Some(error) = file.sync_error {
            if std::mem::take(&mut file.drops) {
                file.stuck.extend(std::mem::take(&mut file.written).into_keys());
                file.sync_error = None;
            }
            return Err(io::Error::from_raw_os_error(error));
        }
        for &sector in file.written.keys() {
            let range = sector * SECTOR..(sector + 1) * SECTOR;
            file.lasting[range.clone()].copy_from_slice(&file.now[range]);
        }
        file.written.clear();
        Ok(())
    }

    fn forget_cached(&mut self, _: &dyn Fn(usize) -> bool) -> io::Result<Option<String>> {
        assert!(!self.is_dirty(), "what was not synced is not forgotten");
        self.forget();
        Ok(None)
    }

    fn evict(&self) -> io::Result<bool> {
        self.forget();
        Ok(true)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file().now.len() as u64)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file().now.resize(bytes as usize, 0);
        Ok(())
    }

    fn punch(&self, at: u64, bytes: u64) -> io::Result<()> {
        self.put(at, |range| range.fill(0), bytes as usize);
        Ok(())
    }
}
