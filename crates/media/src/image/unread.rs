//! Parts of the file that the disk cannot read. Reads continue around them, and messages name them.

use std::{collections::BTreeMap, io, ops::Range};

use super::store::{Store, error_number};

/// Replaces bytes that cannot be read. Filled with it, a record or a slot of the block table is neither valid
/// nor blank.
pub(super) const FILLER: u8 = 0x55;
/// Bytes that a disk reads, or fails to read, together.
const SECTOR: usize = 512;
/// Ranges that are named one by one.
const MOST: usize = 64;
/// The system's number of a read that the disk failed.
pub(super) const EIO: i32 = 5;

/// Whether a read failed because of the data there, and not because of the system.
pub(super) fn is_unreadable(error: &io::Error) -> bool {
    error_number(error) == EIO
}

/// Ranges of the file that could not be read.
#[derive(Debug, Default)]
pub(super) struct Unread {
    /// Begin and end.
    ranges: BTreeMap<u64, u64>,
    /// There are more.
    more: bool,
    /// Bytes of the file, and bytes that it should have, if it was cut off.
    cut: Option<(u64, u64)>,
    /// Where its second copies begin.
    second_copies: u64,
}

impl Unread {
    /// The bytes of the file, if it is truncated.
    pub(super) fn cut_at(&self) -> Option<u64> {
        self.cut.map(|(is, _)| is)
    }

    /// For a file of `is` bytes that should have `should`, with its second copies from `second_copies` on.
    pub(super) fn new(is: u64, should: u64, second_copies: u64) -> Self {
        Self { cut: (is < should).then_some((is, should)), second_copies, ..Self::default() }
    }

    pub(super) fn note(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        // One message covers everything behind the end.
        if self.cut.is_some_and(|(is, _)| end > is) {
            return;
        }
        while let Some((&from, &to)) = self.ranges.range(..=end).next_back()
            && to >= start
        {
            self.ranges.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        if self.ranges.len() < MOST {
            self.ranges.insert(start, end);
        } else {
            self.more = true;
        }
    }

    /// In words.
    pub(super) fn words(&self) -> impl Iterator<Item = String> {
        let range = |(from, to): (&u64, &u64)| {
            format!("bytes {from} to {} of the file cannot be read", to - 1)
        };
        let more = self.more.then(|| "more of the file cannot be read".into());
        let cut = self.cut.map(|(is, should)| {
            let lost = match is < self.second_copies {
                true => "what was behind is lost",
                false => "second copies were behind: nothing is lost",
            };
            format!("{is} bytes long, but its header says {should}: it was cut off, and {lost}")
        });
        cut.into_iter().chain(self.ranges.iter().map(range)).chain(more)
    }

    /// Reads a range of the file, sector by sector where the disk fails. Unreadable sectors are filled with
    /// [`FILLER`] and noted. Returns their places in the range.
    ///
    /// # Errors
    /// Errors of the system. A sector that cannot be read is none.
    pub(super) fn read_around(
        &mut self,
        store: &dyn Store,
        into: &mut [u8],
        at: u64,
    ) -> io::Result<Vec<Range<usize>>> {
        match store.read_at(into, at) {
            Ok(()) => return Ok(Vec::new()),
            Err(error) if is_unreadable(&error) => {}
            Err(error) => return Err(error),
        }
        let step = store.unit().max(SECTOR);
        let mut holes = Vec::new();
        let mut from = 0;
        while from < into.len() {
            let place = at + from as u64;
            let here = (step - (place % step as u64) as usize).min(into.len() - from);
            let sector = from..from + here;
            match store.read_at(&mut into[sector.clone()], place) {
                Ok(()) => {}
                Err(error) if is_unreadable(&error) => {
                    into[sector.clone()].fill(FILLER);
                    self.note(place..place + here as u64);
                    holes.push(sector);
                }
                Err(error) => return Err(error),
            }
            from += here;
        }
        Ok(holes)
    }
}
