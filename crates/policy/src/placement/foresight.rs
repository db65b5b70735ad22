//! Placements that know when each page will die. They differ in how they divide deaths among
//! streams.

use alloc::{sync::Arc, vec, vec::Vec};
use core::fmt::Debug;

use thermocline_flash::{Lpn, prefetch};

use super::{Answer, HostWrite, Placement, Streams, Survivors};
use crate::{Context, Future};

/// Divides the deaths of pages among streams.
pub trait Division: Clone + Debug + Send + 'static {
    /// Number of streams.
    fn streams(&self) -> u8;

    /// The stream of a page that dies at page write `dies`, which is `left` page writes away; both
    /// are [`Future::NEVER`] for one that does not die.
    fn stream(&self, dies: u32, left: u32) -> u8;
}

/// Assigns every page the stream of its death.
#[derive(Clone, Debug)]
pub struct Clairvoyant<D> {
    future: Option<Arc<Future>>,
    pub(super) division: D,
    /// Host page writes so far.
    now: u32,
    /// For each page, the page write at which it dies.
    dies: Vec<u32>,
}

impl<D: Division> Clairvoyant<D> {
    pub(super) fn new(division: D, context: &Context) -> Self {
        Self {
            future: context.future.clone(),
            division,
            now: 0,
            dies: vec![Future::NEVER; context.logical_pages as usize],
        }
    }

    #[inline(always)]
    fn stream(&self, dies: u32) -> u8 {
        let left = if dies == Future::NEVER { dies } else { dies.saturating_sub(self.now) };
        self.division.stream(dies, left)
    }

    /// When the page that is being written will die.
    #[inline(always)]
    fn dies_next(&self) -> u32 {
        let span = self.future.as_ref().and_then(|f| f.written.get(self.now as usize));
        span.map_or(Future::NEVER, |span| self.now.saturating_add(*span))
    }
}

impl<D: Division> Streams for Clairvoyant<D> {
    fn streams(&self) -> u8 {
        self.division.streams()
    }
}

impl<D: Division> Placement for Clairvoyant<D> {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), _: &impl HostWrite) -> u8 {
        self.stream(self.dies_next())
    }

    fn filled(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        let span = self.future.as_ref().and_then(|f| f.filled.get(lpn.index()));
        // The fill precedes the first page write by one.
        let dies = span.filter(|&&span| span != Future::NEVER).map(|span| span.saturating_sub(1));
        self.dies[lpn.index()] = dies.unwrap_or(Future::NEVER);
    }

    #[inline(always)]
    fn written(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.dies[lpn.index()] = self.dies_next();
        self.now = self.now.saturating_add(1);
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), lpn: Lpn, _: u64) -> u8 {
        self.stream(self.dies[lpn.index()])
    }

    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, ()>) -> Answer {
        survivors.fetch_and_ask(self)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.dies, lpn.index());
    }
}
