//! Two lists of recently written pages separate hot from cold (striping paper, §3.3 and §5.1).

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use super::{Answer, HostWrite, HotPages, Placement, Registered, Streams, Survivors};
use crate::{Args, Context, ParamError, PolicyInfo, params, params::within};

// The fill, which has not been updated, goes to stream 0.
const COLD: u8 = 0;
const HOT: u8 = 1;

params! {
    /// Parameters of [`TwoLevelLru`].
    pub struct TwoLevelLruParams {
        /// Length of the hot list, in pages; at least 1, at most 65536.
        hot: u32 = 512,
        /// Length of the candidate list, in pages; at least 1, at most 65536.
        candidates: u32 = 1024,
    }
}

/// A page written while it is in the candidate list becomes hot. The least recently written hot
/// page becomes a candidate again, and the least recently written candidate leaves the list.
#[derive(Clone, Debug)]
pub struct TwoLevelLru {
    hot: List,
    candidates: List,
    /// The entry of each logical page in a list, if it is in one.
    places: Vec<Standing>,
    cooled: Option<Lpn>,
}

/// 0: in no list. Otherwise an entry, of the hot list if the lowest bit is set.
type Standing = u32;

const NOWHERE: Standing = 0;

const fn standing(entry: u32, hot: bool) -> Standing {
    (entry + 1) << 1 | hot as u32
}

impl TwoLevelLru {
    /// Lists of these lengths for a device of `pages` logical pages.
    #[must_use]
    pub fn new(pages: u32, hot: u32, candidates: u32) -> Self {
        Self {
            hot: List::new(hot),
            candidates: List::new(candidates),
            places: vec![NOWHERE; pages as usize],
            cooled: None,
        }
    }

    fn make_hot(&mut self, lpn: Lpn) {
        let (entry, fell) = self.hot.push(lpn);
        self.places[lpn.index()] = standing(entry, true);
        if let Some(fell) = fell {
            self.make_candidate(fell);
            self.cooled = Some(fell);
        }
    }

    fn make_candidate(&mut self, lpn: Lpn) {
        let (entry, fell) = self.candidates.push(lpn);
        self.places[lpn.index()] = standing(entry, false);
        if let Some(forgotten) = fell {
            self.places[forgotten.index()] = NOWHERE;
            // The page that leaves the list next is not in the cache.
            prefetch(&self.places, self.candidates.last().index());
        }
    }
}

impl Streams for TwoLevelLru {
    fn streams(&self) -> u8 {
        2
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        stream == HOT
    }

    #[inline(always)]
    fn hot_pages(&self) -> Option<&dyn HotPages> {
        Some(self)
    }
}

impl HotPages for TwoLevelLru {
    #[inline(always)]
    fn is_hot(&self, lpn: Lpn) -> bool {
        self.places[lpn.index()] & 1 == 1
    }

    #[inline(always)]
    fn cooled(&self) -> Option<Lpn> {
        self.cooled
    }
}

impl Placement for TwoLevelLru {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        self.cooled = None;
        let lpn = write.lpn();
        let standing = self.places[lpn.index()];
        let entry = (standing >> 1).wrapping_sub(1);
        if standing == NOWHERE {
            self.make_candidate(lpn);
            return COLD;
        }
        if standing & 1 == 1 {
            self.hot.refresh(entry);
        } else {
            self.candidates.remove(entry);
            self.make_hot(lpn);
        }
        HOT
    }

    fn trimmed(&mut self, (): (), lpn: Lpn) {
        let standing = core::mem::replace(&mut self.places[lpn.index()], NOWHERE);
        if standing != NOWHERE {
            let list = if standing & 1 == 1 { &mut self.hot } else { &mut self.candidates };
            list.remove((standing >> 1) - 1);
        }
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), lpn: Lpn, _: u64) -> u8 {
        if self.is_hot(lpn) { HOT } else { COLD }
    }

    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, ()>) -> Answer {
        survivors.fetch_and_ask(self)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.places, lpn.index());
    }
}

impl Registered for TwoLevelLru {
    const INFO: PolicyInfo = PolicyInfo {
        name: "two-level-lru",
        aliases: &["lru2"],
        source: "striping paper §3.3, §5.1",
        summary: "hot is what was written again while still remembered; small lists, one step a write",
        params: TwoLevelLruParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = TwoLevelLruParams::read(args)?;
        let hot = within("hot", p.hot, 1..=1 << 16)?;
        let candidates = within("candidates", p.candidates, 1..=1 << 16)?;
        Ok(Self::new(context.logical_pages, hot, candidates))
    }
}

/// A list of fixed length, the most recent page first: a ring of doubly linked entries, in which
/// entry 0 marks the ends.
#[derive(Clone, Debug)]
struct List {
    links: Vec<Link>,
    /// Entries that are not in the ring.
    spare: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    page: Lpn,
    before: u32,
    after: u32,
}

impl List {
    fn new(length: u32) -> Self {
        let nobody = Link { page: Lpn(0), before: 0, after: 0 };
        Self { links: vec![nobody; length as usize + 1], spare: (1..=length).rev().collect() }
    }

    /// Inserts a page at the front. Returns its entry, and the page that was removed from the end
    /// of a full list.
    fn push(&mut self, page: Lpn) -> (u32, Option<Lpn>) {
        let (entry, fell) = match self.spare.pop() {
            Some(entry) => (entry, None),
            None => {
                let last = self.links[0].before;
                self.unlink(last);
                (last, Some(self.links[last as usize].page))
            }
        };
        self.links[entry as usize].page = page;
        self.link_first(entry);
        (entry, fell)
    }

    /// The page that a full list drops next.
    fn last(&self) -> Lpn {
        self.links[self.links[0].before as usize].page
    }

    fn refresh(&mut self, entry: u32) {
        if self.links[0].after != entry {
            self.unlink(entry);
            self.link_first(entry);
        }
    }

    fn remove(&mut self, entry: u32) {
        self.unlink(entry);
        self.spare.push(entry);
    }

    fn link_first(&mut self, entry: u32) {
        let first = self.links[0].after;
        let link = &mut self.links[entry as usize];
        (link.before, link.after) = (0, first);
        self.links[first as usize].before = entry;
        self.links[0].after = entry;
    }

    fn unlink(&mut self, entry: u32) {
        let Link { before, after, .. } = self.links[entry as usize];
        self.links[before as usize].after = after;
        self.links[after as usize].before = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::Write;

    fn write(lists: &mut TwoLevelLru, lpn: u32) -> (u8, Option<Lpn>) {
        (lists.host((), &Write { lpn: Lpn(lpn), now: 0, old: || None }), lists.cooled())
    }

    #[test]
    fn hot_is_what_is_written_again_while_it_is_remembered() {
        let mut lists = TwoLevelLru::new(10, 2, 2);
        assert_eq!(write(&mut lists, 0), (COLD, None));
        assert_eq!(write(&mut lists, 0), (HOT, None), "this very write is hot");
        assert_eq!(write(&mut lists, 1), (COLD, None));
        assert_eq!(write(&mut lists, 2), (COLD, None));
        assert_eq!(write(&mut lists, 3), (COLD, None), "1 is forgotten");
        assert_eq!(write(&mut lists, 1), (COLD, None), "2 is forgotten");
        assert_eq!(write(&mut lists, 1), (HOT, None));
        assert_eq!(write(&mut lists, 0), (HOT, None), "0 is in front again");
        assert_eq!(write(&mut lists, 3), (HOT, Some(Lpn(1))), "1 was hot longest unwritten");
        assert!(!lists.is_hot(Lpn(1)) && lists.is_hot(Lpn(0)) && lists.is_hot(Lpn(3)));
        assert_eq!(write(&mut lists, 1), (HOT, Some(Lpn(0))), "1 was a candidate");
        lists.trimmed((), Lpn(3));
        assert!(!lists.is_hot(Lpn(3)));
        assert_eq!(write(&mut lists, 3), (COLD, None), "a trimmed page is forgotten");
        assert_eq!(write(&mut lists, 0), (HOT, None), "the hot list had room for one");
        assert_eq!(lists.survivor(&mut (), Lpn(9), 0), COLD);
    }
}
