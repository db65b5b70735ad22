//! The table of blocks: six bytes each.

/// What a block is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// Marked as bad.
    #[default]
    Bad = 0,
    /// Holds nothing that is needed. It was not erased since the mount, and is before it is written.
    Stale,
    /// Erased; the erase is not known to last.
    Erased,
    /// Erased, and that lasts.
    Blank,
    /// Being written.
    Open,
    /// Written; a candidate for cleaning.
    Closed,
    /// A program failed: to be emptied and marked as bad.
    Failing,
    /// Holds pages that cannot be read: kept as it is.
    Kept,
}

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Marked as bad.
    Bad,
    /// Holds nothing that is needed.
    Free,
    /// Being written.
    Open,
    /// Written, and cleaned some time.
    Full,
    /// A program of it failed, or it holds pages that cannot be read: it is not written any more.
    Kept,
    /// Kept for snapshots of the tables in RAM.
    Snapshots,
}

const STATES: [State; 8] = [
    State::Bad,
    State::Stale,
    State::Erased,
    State::Blank,
    State::Open,
    State::Closed,
    State::Failing,
    State::Kept,
];

/// What the layer knows of a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block {
    /// Valid pages (9 bits), stream (4), state (3).
    packed: u16,
    /// When it was opened, in units of the log's clock; of a kept block the page behind the last one that counts.
    pub(crate) opened: u16,
    /// Times erased.
    pub(crate) erases: u16,
}

const VALID: u16 = 0x1ff;
const STREAM_AT: u32 = 9;
const STATE_AT: u32 = 13;

/// In place of a stream: pages that cannot be read stay.
const STAYS: u8 = 15;

/// Of a kept block: nothing behind its last page never counts for what another block says.
pub(crate) const NO_END: u32 = 0xffff;

/// Pages of a block at most.
pub(crate) const MOST_PAGES: u32 = VALID as u32;

impl Block {
    /// Nothing is known of it.
    pub const UNKNOWN: Self = Self { packed: 0, opened: 0, erases: 0 };

    /// As a snapshot holds it.
    pub(crate) fn to_bytes(self) -> [u8; 6] {
        let ([a, b], [c, d], [e, f]) =
            (self.packed.to_le_bytes(), self.opened.to_le_bytes(), self.erases.to_le_bytes());
        [a, b, c, d, e, f]
    }

    pub(crate) const fn from_bytes([a, b, c, d, e, f]: [u8; 6]) -> Self {
        Self {
            packed: u16::from_le_bytes([a, b]),
            opened: u16::from_le_bytes([c, d]),
            erases: u16::from_le_bytes([e, f]),
        }
    }

    /// Pages whose content is current.
    pub(crate) const fn valid(self) -> u32 {
        (self.packed & VALID) as u32
    }

    pub(crate) fn set_valid(&mut self, valid: u32) {
        debug_assert!(valid <= MOST_PAGES);
        self.packed = self.packed & !VALID | valid as u16;
    }

    /// The stream it was opened for.
    pub(crate) const fn stream(self) -> u8 {
        (self.packed >> STREAM_AT) as u8 & 15
    }

    pub(crate) fn set_stream(&mut self, stream: u8) {
        self.packed = self.packed & !(15 << STREAM_AT) | u16::from(stream) << STREAM_AT;
    }

    /// Pages of it that cannot be read were looked at, and stay.
    pub(crate) const fn stays(self) -> bool {
        self.stream() == STAYS
    }

    pub(crate) fn set_stays(&mut self) {
        if self.state() != State::Failing {
            self.set_state(State::Kept);
        }
        self.set_stream(STAYS);
    }

    /// It is kept until it is cleaned and erased.
    pub(crate) fn is_to_empty(self) -> bool {
        self.state() == State::Kept && !self.stays()
    }

    /// It is kept as it is. What it holds from page `end` on never counts, which another block may say.
    pub(crate) fn keep(&mut self, end: u32) {
        self.set_state(State::Kept);
        self.opened = end as u16;
    }

    /// Of a kept block that is to be cleaned: the page from which on nothing counts, if there is any.
    pub(crate) fn cut_from(self) -> Option<u32> {
        let is_cut = self.is_to_empty() && self.opened != NO_END as u16;
        is_cut.then_some(self.opened.into())
    }

    /// It failed, and is bad from now on.
    pub(crate) fn retire(&mut self) {
        self.set_state(State::Bad);
        self.opened = NO_END as u16;
    }

    /// Whether it failed since the layer was made.
    pub(crate) fn is_retired(self) -> bool {
        self.state() == State::Bad && self.opened == NO_END as u16
    }

    pub(crate) const fn state(self) -> State {
        STATES[(self.packed >> STATE_AT) as usize]
    }

    pub(crate) fn set_state(&mut self, state: State) {
        self.packed = self.packed & !(7 << STATE_AT) | (state as u16) << STATE_AT;
    }

    /// Of free blocks the one that is opened first has the lowest: one that need not be erased.
    pub(crate) const fn rank(self) -> u8 {
        match self.state() {
            State::Blank => 0,
            State::Erased => 1,
            _ => 2,
        }
    }

    /// Whether it can be opened.
    pub(crate) const fn is_free(self) -> bool {
        matches!(self.state(), State::Stale | State::Erased | State::Blank)
    }
}
