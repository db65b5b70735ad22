//! The device a placement is built for, and how many streams suit it.

/// What it is built for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    pub(super) logical_pages: u32,
    pub(super) pages_per_block: u32,
    pub(super) banks: u32,
    pub(super) blocks: u32,
}

impl Device {
    /// Blocks of a bank beside those that its logical pages need.
    pub(super) fn spare(&self) -> u32 {
        let needed = self.logical_pages.div_ceil(self.pages_per_block).div_ceil(self.banks);
        (self.blocks / self.banks).saturating_sub(needed)
    }

    /// Streams. Twice the streams halve the spread of lives in each, and keep twice the blocks open: what is best grows
    /// as the root of the blocks that can be open.
    pub(super) fn streams(&self) -> u8 {
        let spare = self.spare();
        let open = spare - spare / 3;
        let root = (4 * open.min(256)).isqrt().div_ceil(2);
        root.clamp(4, 16).min((spare / 2).max(2)) as u8
    }

    /// Streams if all those of a duel are to be possible.
    pub(super) fn most_streams(&self) -> u8 {
        let twice = (2 * self.streams()).min(16);
        twice.min((self.spare() / 4).min(16) as u8).max(self.streams())
    }
}
