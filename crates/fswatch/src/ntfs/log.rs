//! The log, as far as its restart pages tell: from where on a recovery needs it.

use crate::sectors::{le16, le32, le64};

const NO_CLIENT: u16 = 0xffff;
const CLEAN: u16 = 2;
/// The two bytes at the end of each 512 belong to a fixup.
const FIRST_STRIDE: usize = 510;

/// The first sector of a restart page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// Filled with ones: the driver keeps no log. Linux' drivers leave it so.
    Empty,
    Restart(Restart),
    /// Torn, of a version that is not known, or of a checking program.
    Other,
}

/// What a restart page says. Numbers of log records only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The last record of the log.
    current: u64,
    /// The last checkpoint.
    checkpoint: u64,
    /// The oldest record that a recovery needs: all that older records changed is in its place, and
    /// the transactions of all of them have ended.
    oldest: u64,
    /// All changes are in their places, and no transaction is going on.
    is_clean: bool,
}

impl Page {
    pub fn read(sector: &[u8]) -> Self {
        if sector.iter().all(|&byte| byte == 0xff) {
            return Self::Empty;
        }
        Restart::read(sector).map_or(Self::Other, Self::Restart)
    }
}

impl Restart {
    fn read(sector: &[u8]) -> Option<Self> {
        let is_known = matches!((le16(sector, 28), le16(sector, 26)), (1, 1) | (2, 0 | 1));
        let is_size = |size: u32| size.is_power_of_two() && size >= 512;
        let area = usize::from(le16(sector, 24));
        let is_sane = sector.starts_with(b"RSTR")
            && is_known
            && is_size(le32(sector, 16))
            && is_size(le32(sector, 20))
            && area >= 30
            && area.is_multiple_of(8);
        let area = if is_sane { sector.get(area..FIRST_STRIDE)? } else { return None };
        let (clients, in_use, flags) = (le16(area, 8), le16(area, 12), le16(area, 14));
        let client = usize::from(le16(area, 22));
        // NTFS is the only client.
        let is_sane = clients == 1
            && (in_use == 0 || in_use == NO_CLIENT)
            && client >= 40
            && client.is_multiple_of(8);
        let client = if is_sane { area.get(client..)? } else { return None };
        (client.len() >= 16).then(|| Self {
            current: le64(area, 0),
            checkpoint: le64(client, 8),
            oldest: le64(client, 0),
            is_clean: in_use == NO_CLIENT || flags & CLEAN != 0,
        })
    }
}

/// What a restart page means for zeros in the bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Nothing,
    /// A round is over: see [`Log`].
    Round,
    /// The second page in succession that says that everything is in its place.
    Clean,
}

/// The log in rounds.
///
/// A round ends when no recovery needs a record that is older than a checkpoint taken since the
/// round began. That is the second checkpoint seen: the first may have begun before.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    last: Restart,
    /// Checkpoints seen in this round, at most two; and the second.
    seen: u8,
    second: u64,
}

impl Log {
    /// The log with these restart pages, of which the newer counts.
    pub fn new(pages: [Page; 2]) -> Option<Self> {
        let restarts = pages.into_iter().filter_map(|page| match page {
            Page::Restart(restart) => Some(restart),
            Page::Empty | Page::Other => None,
        });
        let last = restarts.max_by_key(|restart| restart.current)?;
        Some(Self { last, seen: 0, second: 0 })
    }

    /// Whether this log goes on with a page.
    pub const fn goes_on_with(&self, page: &Page) -> bool {
        matches!(page, Page::Restart(new) if new.current >= self.last.current)
    }

    pub fn written(&mut self, page: Page) -> Progress {
        let Page::Restart(new) = page else { return Progress::Nothing };
        let old = core::mem::replace(&mut self.last, new);
        if new.checkpoint > old.checkpoint && self.seen < 2 {
            self.seen += 1;
            self.second = new.checkpoint;
        }
        let is_over = new.is_clean || self.seen == 2 && new.oldest >= self.second;
        if is_over {
            self.seen = 0;
        }
        match is_over {
            true if new.is_clean && old.is_clean => Progress::Clean,
            true => Progress::Round,
            false => Progress::Nothing,
        }
    }
}
