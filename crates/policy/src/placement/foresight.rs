//! When each page will die, for placements that know the future.

use alloc::{sync::Arc, vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use crate::{Context, Future};

/// When the stored pages, and the page that is written next, will be overwritten or trimmed.
#[derive(Clone, Debug)]
pub(super) struct Foresight {
    future: Option<Arc<Future>>,
    /// Host page writes so far.
    now: u32,
    /// For each page, the page write at which it dies.
    dies: Vec<u32>,
}

impl Foresight {
    pub(super) fn new(context: &Context) -> Self {
        Self {
            future: context.future.clone(),
            now: 0,
            dies: vec![Future::NEVER; context.logical_pages as usize],
        }
    }

    /// How many host page writes a page has left to live that dies at this one.
    #[inline(always)]
    pub(super) fn left(&self, dies: u32) -> u32 {
        if dies == Future::NEVER { dies } else { dies.saturating_sub(self.now) }
    }

    /// When the page that is being written will die.
    #[inline(always)]
    pub(super) fn next(&self) -> u32 {
        let span = self.future.as_ref().and_then(|f| f.written.get(self.now as usize));
        span.map_or(Future::NEVER, |span| self.now.saturating_add(*span))
    }

    /// When a stored page will die.
    #[inline(always)]
    pub(super) fn of(&self, lpn: Lpn) -> u32 {
        self.dies[lpn.index()]
    }

    pub(super) fn filled(&mut self, lpn: Lpn) {
        let span = self.future.as_ref().and_then(|f| f.filled.get(lpn.index()));
        // The fill precedes the first page write by one.
        let dies = span.filter(|&&span| span != Future::NEVER).map(|span| span.saturating_sub(1));
        self.dies[lpn.index()] = dies.unwrap_or(Future::NEVER);
    }

    #[inline(always)]
    pub(super) fn written(&mut self, lpn: Lpn) {
        self.dies[lpn.index()] = self.next();
        self.now = self.now.saturating_add(1);
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.dies, lpn.index());
    }
}
