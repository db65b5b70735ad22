//! NFTL written naively from its specification: no index, no counts, a scan of all blocks and pages
//! each time. The layer is compared with it.

use std::collections::VecDeque;

use thermocline_ftl::{
    Counters,
    nftl::{Choice, Config},
};
use thermocline_policy::nftl::FreeOrder;

/// The state of a page of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Free,
    /// The newest data of a logical page.
    Live(u32),
    /// The same, inferred to be garbage.
    Marked(u32),
    Stale,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub pages: Vec<Page>,
    pub erases: u32,
}

impl Block {
    fn used(&self) -> usize {
        self.pages.iter().filter(|&&page| page != Page::Free).count()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Virtual {
    pub primary: Option<usize>,
    pub replacement: Option<usize>,
    last_write: u64,
}

/// No block is left for the request.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

#[derive(Clone, Debug)]
pub struct Reference {
    config: Config,
    pages: usize,
    in_order: bool,
    /// Erases after which the next one fails.
    endurance: Option<u32>,
    pub blocks: Vec<Block>,
    pub free: VecDeque<usize>,
    pub virtuals: Vec<Virtual>,
    usable: usize,
    erased: bool,
    pub counters: Counters,
}

impl Reference {
    /// Of a chip of `usable` blocks, given by their numbers.
    pub fn new(
        config: Config,
        blocks: usize,
        usable: &[usize],
        pages: usize,
        in_order: bool,
        endurance: Option<u32>,
    ) -> Self {
        Self {
            pages,
            in_order,
            endurance,
            blocks: vec![Block { pages: vec![Page::Free; pages], erases: 0 }; blocks],
            free: usable.iter().copied().collect(),
            virtuals: vec![Virtual::default(); (config.logical_pages as usize).div_ceil(pages)],
            usable: usable.len(),
            erased: false,
            counters: Counters::default(),
            config,
        }
    }

    /// Block and page of a logical page's data.
    pub fn find(&self, lpn: u32) -> Option<(usize, usize)> {
        let v = self.virtuals[lpn as usize / self.pages];
        [v.primary, v.replacement].into_iter().flatten().find_map(|b| {
            let is_it = |&page: &Page| page == Page::Live(lpn) || page == Page::Marked(lpn);
            self.blocks[b].pages.iter().position(is_it).map(|at| (b, at))
        })
    }

    fn take_free(&mut self) -> Option<usize> {
        if self.config.free_order == FreeOrder::Lowest {
            let at = (0..self.free.len()).min_by_key(|&at| self.free[at])?;
            return self.free.remove(at);
        }
        self.free.pop_front()
    }

    fn blocks_of(&self, v: usize) -> Vec<usize> {
        [self.virtuals[v].primary, self.virtuals[v].replacement].into_iter().flatten().collect()
    }

    fn used(&self, v: usize) -> usize {
        self.blocks_of(v).iter().map(|&b| self.blocks[b].used()).sum()
    }

    fn live(&self, v: usize) -> usize {
        let pages = self.blocks_of(v).into_iter().flat_map(|b| &self.blocks[b].pages);
        pages.filter(|page| matches!(page, Page::Live(_))).count()
    }

    fn wholly_dead(&self) -> Option<usize> {
        (0..self.virtuals.len()).find(|&v| !self.blocks_of(v).is_empty() && self.live(v) == 0)
    }

    fn pairs(&self) -> impl Iterator<Item = usize> {
        (0..self.virtuals.len()).filter(|&v| self.blocks_of(v).len() == 2 && self.live(v) > 0)
    }

    fn dead(&self, v: usize) -> usize {
        self.used(v) - self.live(v)
    }

    /// The lowest of those with the greatest d, and d.
    fn most_dead(&self) -> Option<(usize, usize)> {
        let mut best = None;
        for v in self.pairs() {
            if best.is_none_or(|(_, most)| self.dead(v) > most) {
                best = Some((v, self.dead(v)));
            }
        }
        best
    }

    /// The lowest of those with the greatest age · (1 − u) / 2u.
    fn best(&self, now: u64) -> Option<usize> {
        if self.config.choice == Choice::Greedy {
            return self.most_dead().map(|(v, _)| v);
        }
        // A fraction: (used − live) · age over 2 · live.
        let score = |v: usize| {
            let age = u128::from(now - self.virtuals[v].last_write);
            (age * (self.used(v) - self.live(v)) as u128, 2 * self.live(v) as u128)
        };
        let mut best: Option<usize> = None;
        for v in self.pairs() {
            let is_better = best.is_none_or(|b| {
                let ((n, d), (bn, bd)) = (score(v), score(b));
                n * bd > bn * d
            });
            if is_better {
                best = Some(v);
            }
        }
        best
    }

    fn erase(&mut self, b: usize) {
        if self.endurance.is_some_and(|most| self.blocks[b].erases >= most) {
            self.usable -= 1;
            self.counters.retired += 1;
            self.counters.erases_failed += 1;
            return;
        }
        self.blocks[b] =
            Block { pages: vec![Page::Free; self.pages], erases: self.blocks[b].erases + 1 };
        self.counters.erases += 1;
        self.erased = true;
        match self.config.free_order {
            FreeOrder::Lifo => self.free.push_front(b),
            FreeOrder::Fifo | FreeOrder::Lowest => self.free.push_back(b),
        }
    }

    fn append(&mut self, b: usize, lpn: u32) {
        let at = self.blocks[b].pages.iter().position(|&p| p == Page::Free).expect("room");
        self.blocks[b].pages[at] = Page::Live(lpn);
    }

    /// Offsets of live pages of a virtual block, those of one block only if it is named; those marked
    /// dead are dropped.
    fn survivors(&mut self, v: usize, only: Option<usize>, merged: Option<u32>) -> Vec<u32> {
        let mut all = Vec::new();
        for offset in 0..self.pages {
            let lpn = (v * self.pages + offset) as u32;
            if merged == Some(lpn) {
                all.push(lpn);
                continue;
            }
            if lpn >= self.config.logical_pages {
                continue;
            }
            let Some((b, at)) = self.find(lpn) else { continue };
            if only.is_some_and(|only| only != b) {
                continue;
            }
            if self.blocks[b].pages[at] == Page::Live(lpn) {
                all.push(lpn);
            } else {
                self.blocks[b].pages[at] = Page::Stale;
                self.counters.dead_left += 1;
            }
        }
        all
    }

    fn put_all(&mut self, target: usize, lpns: &[u32], at_own_offset: bool, merged: Option<u32>) {
        for &lpn in lpns {
            if let Some((b, at)) = self.find(lpn) {
                self.blocks[b].pages[at] = Page::Stale;
            }
            if at_own_offset && !self.in_order {
                self.blocks[target].pages[lpn as usize % self.pages] = Page::Live(lpn);
            } else {
                self.append(target, lpn);
            }
            self.counters.copies += u64::from(merged != Some(lpn));
        }
    }

    fn fold(&mut self, v: usize, merged: Option<u32>) {
        self.counters.folds += 1;
        self.counters.victims += 1;
        self.counters.victims_valid += self.live(v) as u64;
        let target = self.take_free().expect("a free block");
        let lpns = self.survivors(v, None, merged);
        self.put_all(target, &lpns, true, merged);
        for b in self.blocks_of(v) {
            self.erase(b);
        }
        (self.virtuals[v].primary, self.virtuals[v].replacement) = (Some(target), None);
    }

    fn drop_whole(&mut self, v: usize) {
        self.counters.victims += 1;
        assert_eq!(self.survivors(v, None, None), []);
        for b in self.blocks_of(v) {
            self.counters.reclaimed += 1;
            self.erase(b);
        }
        (self.virtuals[v].primary, self.virtuals[v].replacement) = (None, None);
    }

    fn is_below(&self, percent: u32) -> bool {
        self.free.len() < 2 || self.free.len() * 100 < self.usable * percent as usize
    }

    fn collect(&mut self, now: u64) {
        if !self.is_below(self.config.start_percent) {
            return;
        }
        let before = self.counters.folds;
        let leaves = self.config.reclaim.as_ref().is_some_and(|reclaim| !reclaim.collect);
        while self.is_below(self.config.stop_percent) {
            let of = |v: &usize| {
                self.blocks_of(*v).len() == 2 || !leaves && !self.blocks_of(*v).is_empty()
            };
            let dead = (0..self.virtuals.len()).filter(of).find(|&v| self.live(v) == 0);
            if let Some(v) = dead {
                self.drop_whole(v);
                continue;
            }
            match self.best(now) {
                Some(v) if !self.free.is_empty() => self.fold(v, None),
                _ => break,
            }
        }
        self.counters.cleaning_runs += u64::from(self.counters.folds > before);
    }

    pub fn write(&mut self, lpn: u32, now: u64) -> Result<(), Full> {
        self.put(lpn, now)?;
        self.counters.host_writes += 1;
        self.reclaim();
        if self.erased {
            self.level();
            self.erased = false;
        }
        Ok(())
    }

    fn take(&mut self) -> Result<usize, Full> {
        if self.free.len() < 2 { Err(Full) } else { self.take_free().ok_or(Full) }
    }

    fn put(&mut self, lpn: u32, now: u64) -> Result<(), Full> {
        self.collect(now);
        let (v, offset) = (lpn as usize / self.pages, lpn as usize % self.pages);
        let primary_is_free = match self.virtuals[v].primary {
            None => !self.in_order || offset == 0,
            Some(b) if self.in_order => self.blocks[b].used() == offset,
            Some(b) => self.blocks[b].pages[offset] == Page::Free,
        };
        let replacement = self.virtuals[v].replacement;
        if primary_is_free {
            let b = match self.virtuals[v].primary {
                Some(b) => b,
                None => self.take()?,
            };
            self.virtuals[v].primary = Some(b);
            self.supersede(lpn);
            self.blocks[b].pages[offset] = Page::Live(lpn);
        } else if replacement.is_none_or(|b| self.blocks[b].used() < self.pages) {
            let b = match replacement {
                Some(b) => b,
                None => self.take()?,
            };
            self.virtuals[v].replacement = Some(b);
            self.supersede(lpn);
            self.append(b, lpn);
        } else if self.free.is_empty() {
            return Err(Full);
        } else {
            self.fold(v, Some(lpn));
            self.counters.forced_folds += 1;
        }
        self.virtuals[v].last_write = now;
        Ok(())
    }

    fn supersede(&mut self, lpn: u32) {
        if let Some((b, at)) = self.find(lpn) {
            self.blocks[b].pages[at] = Page::Stale;
        }
    }

    fn reclaim(&mut self) {
        let Some(limits) = self.config.reclaim.clone() else { return };
        let (n, np) = (self.usable as f64, (self.usable * self.pages) as f64);
        let dead =
            |it: &Self| (0..it.virtuals.len()).map(|v| it.used(v) - it.live(v)).sum::<usize>();
        let used = (self.usable - self.free.len()) as f64;
        // Shares of whole numbers are not exact.
        let exceeds = |count: f64, share: f64| count > share + 1e-9;
        if !exceeds(dead(self) as f64, limits.delta * np) || exceeds(limits.mu * n, used) {
            return;
        }
        let before = self.counters.reclaimed;
        while exceeds(dead(self) as f64, limits.target * np)
            && let Some(v) = self.wholly_dead()
        {
            let erased = (self.counters.reclaimed - before) as f64;
            let cap = ((limits.delta - limits.target) * n).max(1.0);
            if limits.cap && !exceeds(cap, erased) {
                break;
            }
            self.drop_whole(v);
        }
    }

    fn level(&mut self) {
        let Some(gap) = self.config.wear_gap else { return };
        let owner =
            |it: &Self, b: usize| (0..it.virtuals.len()).find(|&v| it.blocks_of(v).contains(&b));
        let in_use: Vec<usize> =
            (0..self.blocks.len()).filter(|&b| owner(self, b).is_some()).collect();
        let erases = |b: &usize| self.blocks[*b].erases;
        let all = || in_use.iter().chain(&self.free);
        let (least, most) = (all().map(erases).min(), all().map(erases).max());
        let (Some(least), Some(most)) = (least, most) else { return };
        let Some(&young) = in_use.iter().find(|b| erases(b) == least) else { return };
        let Some(worn) = self.free.iter().map(erases).max() else { return };
        if most - least <= gap {
            return;
        }
        let worn = *self.free.iter().filter(|b| erases(b) == worn).min().expect("there is one");
        let v = owner(self, young).expect("it is in use");
        let is_primary = self.virtuals[v].primary == Some(young);
        let lpns = self.survivors(v, Some(young), None);
        let mut target = None;
        if !lpns.is_empty() {
            target = Some(worn);
            self.free.retain(|&b| b != worn);
            self.put_all(worn, &lpns, is_primary, None);
            self.counters.swap_copies += lpns.len() as u64;
        }
        if is_primary {
            self.virtuals[v].primary = target;
        } else {
            self.virtuals[v].replacement = target;
        }
        let before = self.counters.erases;
        self.erase(young);
        self.counters.swap_erases += self.counters.erases - before;
    }

    pub fn trim(&mut self, lpn: u32) -> bool {
        let Some((b, at)) = self.find(lpn) else { return false };
        self.blocks[b].pages[at] = Page::Stale;
        self.counters.trims += 1;
        true
    }

    pub fn mark_dead(&mut self, lpn: u32) -> bool {
        self.turn(lpn, Page::Live(lpn), Page::Marked(lpn))
    }

    pub fn revive(&mut self, lpn: u32) -> bool {
        self.turn(lpn, Page::Marked(lpn), Page::Live(lpn))
    }

    fn turn(&mut self, lpn: u32, from: Page, to: Page) -> bool {
        let Some((b, at)) = self.find(lpn) else { return false };
        let page = &mut self.blocks[b].pages[at];
        let turns = *page == from;
        if turns {
            *page = to;
        }
        turns
    }

    pub fn clean_in_idle_time(&mut self) -> bool {
        let wanted = self.config.idle_dead_pages as usize;
        if wanted == 0 && self.config.reclaim.is_none() {
            return false;
        }
        if let Some(v) = self.wholly_dead() {
            self.drop_whole(v);
        } else {
            match self.most_dead() {
                Some((v, d)) if wanted > 0 && d >= wanted && !self.free.is_empty() => {
                    self.fold(v, None);
                }
                _ => return false,
            }
        }
        self.counters.idle_victims += 1;
        true
    }
}
