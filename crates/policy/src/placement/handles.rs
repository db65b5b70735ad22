//! The handles of writes that carry placement hints, as the host announces them.

use alloc::vec::Vec;

use thermocline_flash::Lpn;

use super::Ahead;
use crate::{
    Args, ParamError, params,
    params::{MAX_STREAMS, within},
};

params! {
    /// Parameters of placements by hints.
    pub struct HintsParams {
        /// Handles that the drive has; hints beyond them share handles, so 9 of 8 is 1 again.
        handles: u32 = 8,
    }
}

/// The stream of writes without a hint, and of the fill.
pub(super) const UNHINTED: u8 = 0;

/// Hints of upcoming writes. Handle 0 is for writes without a hint.
#[derive(Clone, Debug, Default)]
pub(super) struct Handles {
    handles: u8,
    /// Pages that the host will write, with their handles, and which of them is next.
    upcoming: Vec<(Lpn, u8)>,
    next: usize,
}

impl Handles {
    /// As many as the arguments say. Survivors have a stream for each handle where they are `apart`,
    /// else one.
    pub fn read(args: &Args, apart: bool) -> Result<Self, ParamError> {
        let most = if apart { MAX_STREAMS / 2 - 1 } else { MAX_STREAMS - 2 };
        let handles = within("handles", HintsParams::read(args)?.handles, 1..=most)? as u8;
        Ok(Self::of_number(handles + 1))
    }

    /// So many, with that of writes without a hint.
    pub fn of_number(count: u8) -> Self {
        Self { handles: count.saturating_sub(1), ..Self::default() }
    }

    /// How many handles there are, with that of writes without a hint.
    #[inline(always)]
    pub const fn count(&self) -> u8 {
        self.handles + 1
    }

    /// The handle of the page that the host is about to write. Pages that were announced before it
    /// and not asked about are stored elsewhere.
    #[inline(always)]
    pub fn of(&mut self, lpn: Lpn) -> u8 {
        match self.upcoming.get(self.next) {
            Some((next, handle)) if *next == lpn => *handle,
            _ => self.skip_to(lpn),
        }
    }

    #[cold]
    fn skip_to(&mut self, lpn: Lpn) -> u8 {
        let ahead = self.upcoming.get(self.next..).unwrap_or_default();
        let Some(skipped) = ahead.iter().position(|(next, _)| *next == lpn) else {
            return UNHINTED;
        };
        self.next += skipped;
        self.upcoming[self.next].1
    }

    /// The page was written. Until then it may be asked about again.
    #[inline(always)]
    pub fn written(&mut self, lpn: Lpn) {
        let is_next = self.upcoming.get(self.next).is_some_and(|(next, _)| *next == lpn);
        self.next += usize::from(is_next);
    }
}

impl Ahead for Handles {
    fn coming(&mut self, writes: &mut dyn Iterator<Item = (Lpn, u16)>) {
        self.upcoming.clear();
        self.next = 0;
        let handles = u16::from(self.handles);
        // A device may have room for none.
        let handle = |hint: u16| hint.checked_sub(1)?.checked_rem(handles);
        let stream = |hint| handle(hint).map_or(UNHINTED, |handle| 1 + handle as u8);
        self.upcoming.extend(writes.map(|(lpn, hint)| (lpn, stream(hint))));
    }
}
