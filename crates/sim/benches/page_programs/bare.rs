//! The minimum work of a greedy log: a map, a reverse map, valid counts, and lists of blocks by
//! valid count. No statistics, no rules of a chip, no choice of policies. Uniform traffic,
//! including its random numbers.

use std::time::Instant;

use thermocline_flash::prefetch;

use super::Draws;

const NONE: u32 = u32::MAX;
/// Number of writes drawn ahead, and of victim pages prefetched.
const AHEAD: usize = 32;

/// A log of `blocks` blocks, filled and overwritten to a steady state.
pub struct Bare {
    pages: u32,
    map: Vec<u32>,
    owner: Vec<u32>,
    valid: Vec<u32>,
    closed: Vec<bool>,
    free: std::collections::VecDeque<u32>,
    /// First block with each number of valid pages.
    head: Vec<u32>,
    next: Vec<u32>,
    prev: Vec<u32>,
    least: usize,
    /// The next page for the host, and for survivors.
    at: [u32; 2],
    programs: u64,
    draws: Draws,
    coming: [u32; AHEAD],
}

impl Bare {
    /// Fills the log, then overwrites it twice.
    pub fn new(blocks: u32, pages: u32, logical: u32) -> Self {
        let all = blocks as usize;
        let mut free: std::collections::VecDeque<u32> = (0..blocks).collect();
        let at = [0; 2].map(|_| free.pop_front().expect("blocks") * pages);
        let mut draws = Draws(42);
        let mut bare = Self {
            pages,
            map: vec![NONE; logical as usize],
            owner: vec![0; all * pages as usize],
            valid: vec![0; all],
            closed: vec![false; all],
            free,
            head: vec![NONE; pages as usize + 1],
            next: vec![NONE; all],
            prev: vec![NONE; all],
            least: pages as usize,
            at,
            programs: 0,
            coming: std::array::from_fn(|_| draws.below(logical)),
            draws,
        };
        for page in 0..logical {
            bare.write(page);
        }
        bare.overwrite(2 * u64::from(logical));
        bare
    }

    /// Nanoseconds per page program, over this many writes.
    pub fn measure(&mut self, writes: u64) -> f64 {
        let (before, start) = (self.programs, Instant::now());
        self.overwrite(writes);
        start.elapsed().as_nanos() as f64 / (self.programs - before) as f64
    }

    fn overwrite(&mut self, writes: u64) {
        let logical = self.map.len() as u32;
        for i in 0..writes as usize {
            let page = std::mem::replace(&mut self.coming[i % AHEAD], self.draws.below(logical));
            prefetch(&self.map, self.coming[i % AHEAD] as usize);
            let halfway = self.map[self.coming[(i + AHEAD / 2) % AHEAD] as usize];
            prefetch(&self.valid, (halfway / self.pages) as usize);
            self.write(page);
        }
    }

    #[inline(always)]
    fn write(&mut self, page: u32) {
        let old = self.map[page as usize];
        if old != NONE {
            let block = old / self.pages;
            if self.closed[block as usize] {
                self.unlink(block);
                self.valid[block as usize] -= 1;
                self.link(block);
            } else {
                self.valid[block as usize] -= 1;
            }
        }
        self.program(0, page);
        if self.at[0].is_multiple_of(self.pages) {
            self.close(self.at[0] / self.pages - 1);
            while self.free.len() < 3 {
                self.clean();
            }
            self.at[0] = self.free.pop_front().expect("cleaned") * self.pages;
        }
    }

    #[inline(always)]
    fn program(&mut self, stream: usize, page: u32) {
        let at = self.at[stream];
        self.at[stream] += 1;
        self.valid[(at / self.pages) as usize] += 1;
        self.owner[at as usize] = page;
        self.map[page as usize] = at;
        self.programs += 1;
    }

    fn clean(&mut self) {
        while self.head[self.least] == NONE {
            self.least += 1;
        }
        let victim = self.head[self.least];
        self.unlink(victim);
        self.closed[victim as usize] = false;
        let pages = victim * self.pages..(victim + 1) * self.pages;
        for at in pages.clone() {
            if let Some(&owner) = self.owner[..pages.end as usize].get(at as usize + AHEAD) {
                prefetch(&self.map, owner as usize);
            }
            let page = self.owner[at as usize];
            if self.map[page as usize] == at {
                self.program(1, page);
                if self.at[1].is_multiple_of(self.pages) {
                    self.close(self.at[1] / self.pages - 1);
                    self.at[1] = self.free.pop_front().expect("a reserve") * self.pages;
                }
            }
        }
        self.valid[victim as usize] = 0;
        self.free.push_back(victim);
    }

    fn close(&mut self, block: u32) {
        self.closed[block as usize] = true;
        self.link(block);
    }

    #[inline(always)]
    fn link(&mut self, block: u32) {
        let valid = self.valid[block as usize] as usize;
        let head = std::mem::replace(&mut self.head[valid], block);
        (self.next[block as usize], self.prev[block as usize]) = (head, NONE);
        if head != NONE {
            self.prev[head as usize] = block;
        }
        self.least = self.least.min(valid);
    }

    #[inline(always)]
    fn unlink(&mut self, block: u32) {
        let (prev, next) = (self.prev[block as usize], self.next[block as usize]);
        match prev {
            NONE => self.head[self.valid[block as usize] as usize] = next,
            _ => self.next[prev as usize] = next,
        }
        if next != NONE {
            self.prev[next as usize] = prev;
        }
    }
}
