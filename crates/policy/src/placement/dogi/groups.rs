//! Which categories share a group, and where the survivors of each go: all ways are tried on a
//! model of the write amplification.
//!
//! The input is what the network foretold of samples that it was not trained on, and what came
//! true. Groups are ranges of categories. Those before the last hold a block until it is as old as
//! the longest life of their categories. So of the data of group `g`, a share `r` is dead by then,
//! and the rest flows to the next group; survivors of the hot group are taken to die in the first.
//! The groups before the last hold `inflow · age` blocks, of which `1 − r` is valid. The last group
//! has the rest, and the write amplification of a circular log (Desnoyers 2012).
//!
//! The published program lets a Markov chain run for 1000 steps. Its steady state is the sum in
//! [`amplification`].

use super::network::CATEGORIES;
use crate::placement::midas::model::hot_cold;

/// Maximum number of groups beside the hot and the frozen one.
pub(super) const MOST: usize = 4;
/// Categories from this one on, counted from 1, are in the last group.
const LAST_FROM: usize = 7;
/// A group must receive at least this share of the host's writes.
const LEAST_TRAFFIC: f64 = 0.0005;
/// Blocks of each group that are open or else not of use, and blocks kept free.
const OVERHEAD: f64 = 0.5;
const SPARE: f64 = 4.0;
/// Share of a category's longest-lived survivors that do not count in the mean life.
const TRIMMED: f64 = 0.15;

/// How often each category was foretold (first index), and which came true.
pub(super) type Counts = [[u32; CATEGORIES]; CATEGORIES];

/// The hot group, as measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hot {
    /// Its blocks.
    pub(super) blocks: f64,
    /// Its share of the host's writes.
    pub(super) traffic: f64,
    /// Valid share of its victims.
    pub(super) valid: f64,
}

/// The space that groups share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    /// Blocks in use.
    pub(super) blocks: f64,
    /// Data pages of a block.
    pub(super) pages: f64,
    /// Pages that hold data.
    pub(super) mapped: f64,
}

/// Groups as ranges of categories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// Number of groups.
    pub(super) groups: u8,
    /// Number of categories in a group and those before it.
    ends: [u8; MOST],
    /// Predicted write amplification.
    pub(super) waf: f64,
}

impl Plan {
    /// The categories, from 0, of each group.
    fn ranges(&self) -> impl Iterator<Item = core::ops::Range<usize>> + '_ {
        let ends = &self.ends[..usize::from(self.groups)];
        let begins = core::iter::once(0).chain(ends.iter().copied());
        begins.zip(ends).map(|(begin, end)| usize::from(begin)..usize::from(*end))
    }

    /// The group of a category; both count from 0.
    pub(super) fn group(&self, category: usize) -> u8 {
        let is_before = |end: &&u8| usize::from(**end) <= category;
        self.ends[..usize::from(self.groups)].iter().take_while(is_before).count() as u8
    }

    /// The age at which blocks of a group before the last are collected.
    pub(super) fn age(&self, group: u8, limits: &[u32; CATEGORIES - 1]) -> u32 {
        limits[(usize::from(self.ends[usize::from(group)]) - 1).min(CATEGORIES - 2)]
    }
}

/// The groups with the least predicted write amplification, at most `most` of them. `None` without
/// samples.
pub(super) fn search(
    counts: &Counts,
    limits: &[u32; CATEGORIES - 1],
    hot: Hot,
    space: &Space,
    most: u8,
) -> Option<Plan> {
    let mut best: Option<Plan> = None;
    // Each set of the boundaries that are possible before the last group.
    for boundaries in 0..1_u32 << (LAST_FROM - 1) {
        let groups = boundaries.count_ones() as u8 + 1;
        if groups > most.min(MOST as u8) {
            continue;
        }
        let chosen = (1..LAST_FROM as u8).filter(|end| boundaries >> (end - 1) & 1 == 1);
        let mut ends = [CATEGORIES as u8; MOST];
        ends.iter_mut().zip(chosen).for_each(|(end, chosen)| *end = chosen);
        let mut plan = Plan { groups, ends, waf: 0.0 };
        let Some(waf) = amplification(&plan, counts, limits, hot, space) else { continue };
        plan.waf = waf;
        let is_better = |best: &Plan| (plan.waf, plan.groups) < (best.waf, best.groups);
        if best.as_ref().is_none_or(is_better) {
            best = Some(plan);
        }
    }
    best
}

/// The predicted write amplification; `None` if a group has hardly any traffic.
fn amplification(
    plan: &Plan,
    counts: &Counts,
    limits: &[u32; CATEGORIES - 1],
    hot: Hot,
    space: &Space,
) -> Option<f64> {
    let total: u32 = counts.as_flattened().iter().sum();
    let last = plan.groups - 1;
    let survived = hot.traffic * hot.valid;
    let mut copies = survived;
    let mut used = hot.blocks;
    let mut valid = hot.blocks * hot.valid.min(0.5);
    let mut flow = 0.0;
    for (group, range) in (0..=last).zip(plan.ranges()) {
        let in_time = range.end;
        let rows = &counts[range];
        let all: u32 = rows.as_flattened().iter().sum();
        let direct = (1.0 - hot.traffic) * f64::from(all) / f64::from(total.max(1));
        if direct < LEAST_TRAFFIC {
            return None;
        }
        let own = direct + flow;
        let inflow = if group == 0 { own + survived } else { own };
        if group == last {
            let overhead = OVERHEAD * (f64::from(plan.groups) + 1.0);
            let blocks = (space.blocks - overhead - used - SPARE).max(2.0);
            let held = (space.mapped / space.pages - valid).max(1e-6);
            let own = hot_cold((blocks / held).max(1.000_001), 0.5, 0.5);
            return Some(1.0 + copies + inflow * (own - 1.0));
        }
        let died: u32 = rows.iter().flat_map(|row| &row[..in_time]).sum();
        let left = 1.0 - f64::from(died) / f64::from(all);
        let age = f64::from(plan.age(group, limits));
        let blocks = libm::ceil(inflow * age / space.pages).max(2.0);
        flow = own * left;
        copies += flow;
        used += blocks;
        valid += blocks * flow / inflow;
    }
    None
}

/// The group to which the first copies of a category go, given its samples' lives, which are
/// sorted. They stay, or go to the first group that holds them for as long as they live on average
/// beyond the age of their own; to the next group without survivors to tell.
pub(super) fn survivors(
    plan: &Plan,
    category: usize,
    lives: &mut [u32],
    limits: &[u32; CATEGORIES - 1],
) -> u8 {
    let (from, last) = (plan.group(category), plan.groups - 1);
    let next = (from + 1).min(last);
    let age = plan.age(from, limits);
    lives.sort_unstable();
    let survived = &lives[lives.partition_point(|life| *life < age)..];
    let counted = survived.len() - (survived.len() as f64 * TRIMMED) as usize;
    if counted == 0 {
        return next;
    }
    let logarithms = survived[..counted].iter().map(|life| libm::log(f64::from(*life).max(1.0)));
    let mean = libm::exp(logarithms.sum::<f64>() / counted as f64);
    let holds = |group: &u8| mean - f64::from(age) <= f64::from(plan.age(*group, limits));
    (from..=last).find(holds).unwrap_or(next)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    const LIMITS: [u32; 9] = [10, 20, 40, 80, 160, 320, 640, 1280, 2560];
    const SPACE: Space = Space { blocks: 1000.0, pages: 10.0, mapped: 9000.0 };

    #[test]
    fn a_group_is_a_range_of_categories() {
        let plan = Plan { groups: 3, ends: [2, 5, 10, 10], waf: 0.0 };
        let groups: Vec<u8> = (0..CATEGORIES).map(|category| plan.group(category)).collect();
        assert_eq!(groups, [0, 0, 1, 1, 1, 2, 2, 2, 2, 2]);
        assert_eq!([0, 1, 2].map(|group| plan.age(group, &LIMITS)), [20, 160, 2560]);
    }

    /// 1000 blocks of which 5·½ are of no use and 4 are spare, and data for 900.
    #[test]
    fn one_group_is_a_circular_log() {
        let counts = [[1; CATEGORIES]; CATEGORIES];
        let plan = Plan { groups: 1, ends: [10; MOST], waf: 0.0 };
        let waf = amplification(&plan, &counts, &LIMITS, Hot::default(), &SPACE).expect("traffic");
        let alpha = (1000.0 - 1.0 - 4.0) / 900.0;
        assert!((waf - 1.0 / (1.0 - libm::exp(-alpha / waf))).abs() < 1e-9, "{waf}");
    }

    /// Half of the writes live for ever, the others die at once, and the network knows.
    #[test]
    fn data_that_live_apart_get_groups_apart() {
        let mut counts = [[0; CATEGORIES]; CATEGORIES];
        (counts[0][0], counts[9][9]) = (500, 500);
        let plan = search(&counts, &LIMITS, Hot::default(), &SPACE, 4).expect("samples");
        assert_eq!((plan.groups, plan.group(0), plan.group(9)), (2, 0, 1));
        let one = Plan { groups: 1, ends: [10; MOST], waf: 0.0 };
        let mixed = amplification(&one, &counts, &LIMITS, Hot::default(), &SPACE).expect("traffic");
        assert!(plan.waf - 1.0 < 0.55 * (mixed - 1.0), "{} for {mixed}", plan.waf);
        assert_eq!(
            search(&[[0; CATEGORIES]; CATEGORIES], &LIMITS, Hot::default(), &SPACE, 4),
            None
        );
    }

    #[test]
    fn survivors_go_where_they_are_held_for_the_rest_of_their_mean_life() {
        let plan = Plan { groups: 3, ends: [1, 3, 10, 10], waf: 0.0 };
        // Collected at 10, 40, and at any age. Survivors of the first live 20, 10 more.
        assert_eq!(survivors(&plan, 0, &mut [3, 20, 1, 20, 20], &LIMITS), 0);
        assert_eq!(survivors(&plan, 0, &mut [3, 50, 50, 50], &LIMITS), 1);
        assert_eq!(survivors(&plan, 0, &mut [60, 60], &LIMITS), 2);
        // The seventh of seven is left out.
        assert_eq!(survivors(&plan, 0, &mut [20, 20, 20, 20, 20, 20, 9000], &LIMITS), 0);
        assert_eq!(survivors(&plan, 0, &mut [3], &LIMITS), 1);
        assert_eq!(survivors(&plan, 7, &mut [], &LIMITS), 2);
    }
}
