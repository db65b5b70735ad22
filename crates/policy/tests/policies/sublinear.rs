//! Victims are found without a scan of all blocks: the number of ages that a search computes in
//! steady state grows far more slowly than the device.

use std::{cell::Cell, collections::VecDeque};

use crate::common::{Draws, Variant};
use thermocline_flash::BlockId;
use thermocline_policy::{
    BlockTable, Context, Search,
    age::{Ages, Transform},
    placement::Entry,
};

const PAGES: u32 = 16;

/// An age transformation that counts its calls.
struct Counting {
    transform: Transform,
    exact: Cell<u64>,
    bounds: Cell<u64>,
}

impl Ages for Counting {
    fn factor(&self, age: u64) -> f64 {
        self.exact.set(self.exact.get() + 1);
        self.transform.factor(age)
    }

    fn bound(&self, age: u64) -> f64 {
        self.bounds.set(self.bounds.get() + 1);
        self.transform.bound(age)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Traffic {
    Uniform,
    /// 90 % of the writes go to 10 % of the pages.
    HotCold,
}

struct Cost {
    exact: f64,
    bounds: f64,
    write_amplification: f64,
}

/// A log of `blocks` blocks, 85 % of it data, with one open block for host and cleaner, run to a
/// steady state; then the mean cost of a selection.
fn cost_of_a_selection(variant: &Variant, traffic: Traffic, blocks: u32) -> Cost {
    let logical = (u64::from(blocks * PAGES) * 85 / 100) as u32;
    let context = Context {
        logical_pages: logical,
        blocks,
        pages_per_block: PAGES,
        time_scale: f64::from(logical) / 3.0,
        ..Context::smallest()
    };
    let victim = variant.build(&context);
    let ages = Counting {
        transform: variant.transform(context.time_scale),
        exact: Cell::new(0),
        bounds: Cell::new(0),
    };
    let mut table = BlockTable::new(blocks, PAGES, &*victim);
    let mut search = Search::default();
    let mut draws = Draws(3);
    let mut place = vec![u32::MAX; logical as usize];
    let mut owner = vec![u32::MAX; (blocks * PAGES) as usize];
    let mut free: VecDeque<u32> = (1..blocks).collect();
    let mut at = 0_u32; // the next physical page
    table.open(BlockId(0), 0, 0);
    let (mut selections, mut copies, mut writes) = (0_u64, 0_u64, 0_u64);

    let warm_up = u64::from(logical) * 3;
    let end = warm_up + u64::from(logical);
    for now in 0..end {
        if now == warm_up {
            (selections, copies, writes) = (0, 0, 0);
            ages.exact.set(0);
            ages.bounds.set(0);
        }
        while free.len() < 3 {
            let chosen = search.cheapest(&table, now, &ages).expect("there is garbage");
            selections += 1;
            for page in chosen.0 * PAGES..(chosen.0 + 1) * PAGES {
                let lpn = owner[page as usize];
                if lpn != u32::MAX && place[lpn as usize] == page {
                    at = room(at, &mut table, &mut free, &*victim, now);
                    table.copied(BlockId(at / PAGES), 1, table.stamp(chosen), now);
                    owner[at as usize] = lpn;
                    place[lpn as usize] = at;
                    at += 1;
                    copies += 1;
                }
            }
            table.withdraw(chosen);
            table.erased(chosen);
            free.push_back(chosen.0);
        }
        let lpn = if now < u64::from(logical) {
            now as usize
        } else if traffic == Traffic::HotCold && !draws.one_in(10) {
            // Hot pages are scattered.
            draws.index(logical as usize / 10) * 10
        } else {
            draws.index(logical as usize)
        };
        at = room(at, &mut table, &mut free, &*victim, now);
        if place[lpn] != u32::MAX {
            table.invalidate(BlockId(place[lpn] / PAGES), now);
        }
        table.wrote(BlockId(at / PAGES), now);
        owner[at as usize] = lpn as u32;
        place[lpn] = at;
        at += 1;
        writes += 1;
    }
    Cost {
        exact: ages.exact.get() as f64 / selections as f64,
        bounds: ages.bounds.get() as f64 / selections as f64,
        write_amplification: 1.0 + copies as f64 / writes as f64,
    }
}

/// A page that can be programmed: `at`, or the first of the next free block if `at` is beyond its
/// block.
fn room(
    at: u32,
    table: &mut BlockTable,
    free: &mut VecDeque<u32>,
    victim: &dyn thermocline_policy::victim::Victim,
    now: u64,
) -> u32 {
    if at == 0 || !at.is_multiple_of(PAGES) {
        return at;
    }
    table.close(BlockId(at / PAGES - 1), victim, Entry::Indexed);
    let next = free.pop_front().expect("a free block");
    table.open(BlockId(next), 0, now);
    next * PAGES
}

fn measure(name: &str, args: &[(&str, &str)], traffic: Traffic, sizes: &[u32]) -> Vec<f64> {
    costs(name, args, traffic, sizes).iter().map(|c| c.exact + c.bounds).collect()
}

fn costs(name: &str, args: &[(&str, &str)], traffic: Traffic, sizes: &[u32]) -> Vec<Cost> {
    let variant = Variant::named(name, args);
    let costs: Vec<_> = sizes.iter().map(|&n| cost_of_a_selection(&variant, traffic, n)).collect();
    for (n, c) in sizes.iter().zip(&costs) {
        println!(
            "{variant:?}, {traffic:?}, {n} blocks: {:.1} ages and {:.1} bounds in a selection, \
             write amplification {:.2}",
            c.exact, c.bounds, c.write_amplification
        );
    }
    costs
}

fn grows_slowly(name: &str, args: &[(&str, &str)]) {
    for traffic in [Traffic::Uniform, Traffic::HotCold] {
        let sizes = [1 << 8, 1 << 11, 1 << 14];
        let costs = costs(name, args, traffic, &sizes);
        // Bounds are computed for nodes, exact ages for blocks.
        let all: Vec<f64> = costs.iter().map(|c| c.exact + c.bounds).collect();
        for pair in all.windows(2) {
            assert!(
                pair[1] < 3.0 * pair[0],
                "{name} {traffic:?}: {pair:?} for 8 times as many blocks"
            );
        }
        let share = costs[2].exact / f64::from(sizes[2]);
        assert!(share < 0.003, "{name} {traffic:?}: {share} of all blocks looked at");
    }
}

#[test]
fn a_search_by_age_of_creation_grows_slower_than_the_device() {
    grows_slowly("cost-benefit", &[("age", "created")]);
}

#[test]
fn a_search_by_youngest_data_grows_slower_than_the_device() {
    grows_slowly("lfs", &[("age", "youngest")]);
}

#[test]
fn a_search_by_age_of_closing_grows_slower_than_the_device() {
    grows_slowly("cost-benefit-sqrt", &[("age", "closed")]);
}

#[test]
fn a_search_by_cat_grows_slower_than_the_device() {
    grows_slowly("cat", &[]);
}

#[test]
fn a_search_by_fifo_grows_slower_than_the_device() {
    grows_slowly("fifo", &[]);
}

/// One head for each number of valid pages, most of them excluded: no more for more blocks.
#[test]
fn a_search_by_last_invalidation_does_not_grow_with_the_device() {
    for traffic in [Traffic::Uniform, Traffic::HotCold] {
        let args = [("age", "last-invalidation")];
        let costs = measure("cost-benefit", &args, traffic, &[1 << 8, 1 << 11, 1 << 14]);
        for cost in costs {
            assert!(cost < f64::from(PAGES), "{traffic:?}: {cost} for {PAGES} lists");
        }
    }
}

/// A row of lists for each erase count; there are few while wear is even.
#[test]
fn a_search_by_cat_and_last_invalidation_grows_slower_than_the_device() {
    grows_slowly("cat", &[("age", "last-invalidation")]);
}

/// The limit of the lists: finding the lowest number among tied blocks visits each of them, and a
/// staircase ties all blocks of its oldest step. That is a share of the blocks, but a small one.
#[test]
fn a_staircase_of_last_invalidations_is_looked_at_where_it_ties() {
    for traffic in [Traffic::Uniform, Traffic::HotCold] {
        let args = [("age", "last-invalidation"), ("transform", "stair")];
        let sizes = [1 << 10, 1 << 13];
        for (cost, n) in measure("cost-benefit", &args, traffic, &sizes).iter().zip(sizes) {
            assert!(cost / f64::from(n) < 0.12, "{traffic:?}: {cost} of {n} blocks");
        }
    }
}

/// Blocks without valid pages tie at any age. There may be as many as a device has.
#[test]
fn a_trimmed_device_is_cleaned_without_asking_for_ages() {
    const BLOCKS: u32 = 10_000;
    for name in ["cost-benefit", "cat"] {
        let variant = Variant::named(name, &[("age", "last-invalidation")]);
        let context = Context {
            logical_pages: BLOCKS * PAGES,
            blocks: BLOCKS,
            pages_per_block: PAGES,
            banks: 1,
            time_scale: 1e4,
            seed: 1,
            ..Context::smallest()
        };
        let victim = variant.build(&context);
        let ages = Counting {
            transform: variant.transform(context.time_scale),
            exact: Cell::new(0),
            bounds: Cell::new(0),
        };
        let mut table = BlockTable::new(BLOCKS, PAGES, &*victim);
        let mut search = Search::default();
        for block in (0..BLOCKS).map(BlockId) {
            table.open(block, 0, 0);
            for _ in 0..PAGES {
                table.wrote(block, 1);
            }
            table.close(block, &*victim, Entry::Indexed);
        }
        for block in (0..BLOCKS).rev().map(BlockId) {
            for _ in 0..PAGES {
                table.invalidate(block, 2);
            }
        }
        for block in (0..BLOCKS).map(BlockId) {
            assert_eq!(search.cheapest(&table, 9, &ages), Some(block));
            table.withdraw(block);
        }
        assert_eq!(search.cheapest(&table, 9, &ages), None);
        assert_eq!(ages.exact.get() + ages.bounds.get(), 0, "{name}");
    }
}
