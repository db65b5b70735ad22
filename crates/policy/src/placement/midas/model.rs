//! MCAM and GCS: the write amplification of a chain of groups, and the best sizes.
//!
//! The input is the lifetime of data: the distribution of the intervals between two writes of a
//! page, in host page writes. Let `S(t)` be the share of writes whose data live longer than `t`.
//! Then:
//!
//! * a queue of `s` blocks that receives `a` blocks for each block the host writes holds a block
//!   for `T = (s − ½)/a` blocks written. Of the data that entered at age `p`, `v = S(p + T)/S(p)`
//!   is still valid at its end. `a·v` flows on to the next group at age `p + T`;
//! * a hot group whose blocks are collected at age `U` catches a part of the data that die before
//!   `U`. In the `S` that the other groups see, deaths before `U` are reduced by that part;
//! * the last group holds the valid pages that are nowhere else, and collects them repeatedly. Its
//!   write amplification `A` is that of Desnoyers (2014) for a share `f` of hot pages that take a
//!   share `r` of the writes, with `op` physical over valid pages: `A = 1 + r/(e^{r·op/(f·A)} − 1)
//!   + (1 − r)/(e^{(1−r)·op/((1−f)·A)} − 1)`, and `v = 1 − 1/A`;
//! * the flows between the groups are a Markov chain. Its steady state is the sum in [`waf`]. The
//!   published program approximates it in 2000 steps; a chain without branches needs none.
//!
//! Deviations from the program, each because more is known here. Intervals are exact, so the
//! shortest need no second measurement. Stamps outlive the epoch, so long intervals need no
//! correction for its end. The share of hot pages is relative to the valid pages of the group, not
//! only to those that were written. The program lets all data that are not hot enter G1 at age `U`,
//! as if the hot group took all data that die young. Here the hot group takes its measured part of
//! them, and the others enter G1 when written.

use alloc::{vec, vec::Vec};

/// Maximum number of groups of the chain, including the hot one.
pub const MOST_GROUPS: usize = 10;

/// Data in the last group are hot if they live at most this part of the mean.
const HOT_LIFE: f64 = 0.7;
/// Number of sizes tried for the hot group.
const HOT_SIZES: u32 = 30;
/// Sizes of a group are tried in steps of this part of the device, so that a search takes the same
/// time on all devices.
const STEPS: u32 = 256;
/// Number of refinement rounds.
const ROUNDS: u32 = 4;
/// Required gain, initially, for one more block in the hot group.
const HOT_GAIN: f64 = 0.05;

/// Lifetimes of data: writes counted by the interval to the page's next write.
#[derive(Clone, Debug)]
pub struct Lifetimes {
    /// Host page writes in a time step.
    unit: f64,
    /// Share of the writes whose data live longer than this number of steps.
    survival: Vec<f64>,
    /// Integral of `survival`, in steps.
    lived: Vec<f64>,
    /// Pages that hold data with a lifetime of at most this number of steps, for each host page
    /// write in a step: the sum of shares times lifetimes.
    held: Vec<f64>,
}

impl Lifetimes {
    /// From the number of writes by whole steps of `unit` page writes. The last number counts data
    /// that live longer than all others, possibly for ever. `None` if nothing was counted.
    #[must_use]
    pub fn new(counts: &[u32], unit: u32) -> Option<Self> {
        let total: u64 = counts.iter().map(|&n| u64::from(n)).sum();
        if total == 0 || counts.len() < 2 {
            return None;
        }
        let (mut survival, mut lived, mut held) = (vec![1.0], vec![0.0], vec![0.0]);
        let (mut left, mut area, mut pages) = (total, 0.0, 0.0);
        for (step, &n) in counts[..counts.len() - 1].iter().enumerate() {
            let before = left as f64 / total as f64;
            left -= u64::from(n);
            let after = left as f64 / total as f64;
            area += 0.5 * (before + after);
            pages += (before - after) * (step as f64 + 0.5);
            survival.push(after);
            lived.push(area);
            held.push(pages);
        }
        Some(Self { unit: f64::from(unit), survival, lived, held })
    }

    /// The longest lifetime that is resolved, in page writes.
    #[must_use]
    pub fn window(&self) -> f64 {
        (self.survival.len() - 1) as f64 * self.unit
    }

    fn at(&self, table: &[f64], time: f64) -> f64 {
        let steps = (time / self.unit).max(0.0);
        let low = steps as usize;
        if low + 1 >= table.len() {
            return table[table.len() - 1];
        }
        table[low] + (table[low + 1] - table[low]) * (steps - low as f64)
    }

    /// The share of writes whose data live longer than `time` page writes.
    #[must_use]
    pub fn survival(&self, time: f64) -> f64 {
        self.at(&self.survival, time)
    }

    /// The integral of [`survival`](Self::survival) from 0, in page writes.
    fn lived(&self, time: f64) -> f64 {
        self.at(&self.lived, time) * self.unit
    }

    /// Pages that hold data with a lifetime of at most `time` page writes.
    fn held(&self, time: f64) -> f64 {
        self.at(&self.held, time) * self.unit
    }
}

/// The space that the groups share.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Blocks in use: neither free nor unusable.
    pub blocks: u32,
    /// Data pages of a block.
    pub pages: u32,
    /// Pages that hold data.
    pub mapped: u32,
}

/// The hot group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hot {
    /// Blocks of the group.
    pub size: u32,
    /// Share of host writes that go to the group.
    pub traffic: f64,
    /// Valid share of its victims.
    pub valid: f64,
    /// Age at which its blocks are collected, in page writes.
    pub until: f64,
}

impl Hot {
    /// The group as measured, for a hot filter that is too inaccurate to model.
    #[must_use]
    pub fn measured(size: f64, traffic: f64, valid: f64, pages: u32) -> Self {
        if traffic < 1e-3 || size < 0.5 {
            return Self::default();
        }
        let until = (size - 0.5) / traffic * f64::from(pages);
        Self { size: libm::round(size) as u32, traffic, valid, until }
    }
}

/// Sizes of the groups and the predicted result.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The hot group, which precedes the others.
    pub hot: Hot,
    /// Number of the other groups.
    pub groups: usize,
    /// Their sizes in blocks. The last group has the remaining blocks.
    pub sizes: [u32; MOST_GROUPS],
    /// The valid share of their victims.
    pub valid: [f64; MOST_GROUPS],
    /// The write amplification.
    pub waf: f64,
}

/// The write amplification of a group that collects its own survivors, first in, first out, with
/// `op` physical over valid pages, where a share `f` of the pages takes a share `r` of the writes
/// (Desnoyers 2014). Infinite without spare space.
#[must_use]
pub fn hot_cold(op: f64, r: f64, f: f64) -> f64 {
    if op <= 1.0 {
        return f64::INFINITY;
    }
    let term = |share: f64, pages: f64, a: f64| {
        if share > 0.0 && pages > 0.0 { share / libm::expm1(share * op / (pages * a)) } else { 0.0 }
    };
    let over = |a: f64| 1.0 + term(r, f, a) + term(1.0 - r, 1.0 - f, a) - a;
    let (mut low, mut high) = (1.0, 2.0);
    while over(high) > 0.0 {
        if high > 1e6 {
            return f64::INFINITY;
        }
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if over(middle) > 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The write amplification of a chain. Host writes go to the hot group or to the first of the
/// others. The `valid` share of a victim moves to the next group, and that of the last group stays
/// in it.
#[must_use]
pub fn waf(hot: &Hot, valid: &[f64]) -> f64 {
    let mut copies = hot.traffic * hot.valid;
    let mut inflow = 1.0 - hot.traffic + copies;
    let Some((last, queues)) = valid.split_last() else { return 1.0 };
    for v in queues {
        inflow *= v;
        copies += inflow;
    }
    1.0 + copies + inflow * last / (1.0 - last)
}

/// Predicts the groups G1 … Gn of these sizes behind a hot group. `None` where the model does not
/// apply: blocks would stay in queues longer than the measured lifetimes, or the last group has no
/// room.
#[must_use]
pub fn predict(lives: &Lifetimes, space: &Space, hot: Hot, sizes: &[u32]) -> Option<Plan> {
    let pages = f64::from(space.pages);
    let (&last, queues) = sizes.split_last()?;
    let mut plan = Plan {
        hot,
        groups: sizes.len(),
        sizes: [0; MOST_GROUPS],
        valid: [0.0; MOST_GROUPS],
        waf: 0.0,
    };
    // The part of the data that die before `until` and are caught by the hot group.
    let until = hot.until;
    let died = 1.0 - lives.survival(until);
    let caught = if died > 0.0 { (hot.traffic * (1.0 - hot.valid) / died).min(1.0) } else { 0.0 };
    // Data left to the other groups, by age: the flow into each of them.
    let alive = |age: f64| {
        let spared = lives.survival(age.min(until)) - lives.survival(until);
        lives.survival(age) - caught * spared
    };
    let mut age = 0.0;
    for (i, &size) in queues.iter().enumerate() {
        let inflow = alive(age);
        if inflow <= 0.0 {
            return None;
        }
        let end = age + (f64::from(size) - 0.5) / inflow * pages;
        if end >= lives.window() {
            return None;
        }
        plan.valid[i] = alive(end) / inflow;
        plan.sizes[i] = size;
        age = end;
    }
    // Valid pages outside the last group: those younger than `age`, and hot ones if `age` is
    // younger than the hot group's victims.
    let elder = until.max(age);
    let hot_elder =
        caught * (lives.lived(elder) - lives.lived(age) - (elder - age) * lives.survival(until));
    let elsewhere = lives.lived(age) + hot_elder.max(0.0);
    let held = f64::from(space.mapped) - elsewhere;
    if held <= 0.0 || last == 0 {
        return None;
    }
    let (r, f) = shares(lives, elder, held).unwrap_or((0.5, 0.5));
    let a = hot_cold(f64::from(last) * pages / held, r, f);
    if !a.is_finite() {
        return None;
    }
    plan.valid[queues.len()] = 1.0 - 1.0 / a;
    plan.sizes[queues.len()] = last;
    plan.waf = waf(&hot, &plan.valid[..sizes.len()]);
    plan.waf.is_finite().then_some(plan)
}

/// Of the data that reach age `age`: the share of writes that are hot in the last group, and their
/// share of its `held` pages. `None` if they no longer die, because then all are alike.
fn shares(lives: &Lifetimes, age: f64, held: f64) -> Option<(f64, f64)> {
    let end = lives.window();
    let writes = lives.survival(age) - lives.survival(end);
    let pages = lives.held(end) - lives.held(age);
    if writes <= 0.0 || pages <= 0.0 {
        return None;
    }
    let bound = HOT_LIFE * pages / writes;
    if bound <= age {
        return None;
    }
    let r = (lives.survival(age) - lives.survival(bound)) / lives.survival(age);
    let f = (lives.held(bound) - lives.held(age)) / held.max(pages);
    (r > f && f > 0.0 && r < 1.0).then_some((r, f))
}

/// GCS: the sizes with the least write amplification, found by adding one group after another and
/// then refining them in turn; at most `most` groups beside the hot one. `hot` is the hot group as
/// measured. If its filter is `good`, other sizes of it are tried, with the same caught part of the
/// data that die in their time.
#[must_use]
pub fn search(lives: &Lifetimes, space: &Space, hot: Hot, good: bool, most: usize) -> Option<Plan> {
    let died = 1.0 - lives.survival(hot.until);
    let caught = if died > 0.0 { (hot.traffic * (1.0 - hot.valid) / died).min(1.0) } else { 0.0 };
    let sizing = Sizing {
        lives,
        space,
        hot,
        caught,
        good: good && caught > 0.0,
        step: (space.blocks / STEPS).max(1),
        least_last: (space.blocks / 20).max(2),
    };
    let mut best = sizing.grow(sizing.hot_group()?, most.min(MOST_GROUPS - 1));
    for _ in 0..ROUNDS {
        let before = best.waf;
        if sizing.good {
            sizing.refine_hot_group(&mut best);
        }
        sizing.refine_groups(&mut best);
        if best.waf >= before {
            break;
        }
    }
    Some(best)
}

/// The steps of a [`search`].
struct Sizing<'a> {
    lives: &'a Lifetimes,
    space: &'a Space,
    /// The hot group as measured.
    hot: Hot,
    /// The caught part of the data that die in its time.
    caught: f64,
    /// Whether other sizes of it are tried.
    good: bool,
    /// Step between the sizes tried, in blocks.
    step: u32,
    /// Minimum size of the last group, as in the published program.
    least_last: u32,
}

impl Sizing<'_> {
    /// The hot group and one other.
    fn hot_group(&self) -> Option<Plan> {
        let alone = |hot: Hot| {
            let last = self.space.blocks.checked_sub(hot.size)?;
            predict(self.lives, self.space, hot, &[last])
        };
        if !self.good {
            return alone(self.hot);
        }
        let mut best: Option<Plan> = None;
        for size in 0..HOT_SIZES {
            let Some(plan) = alone(self.hot_of_size(size)) else { break };
            if best.as_ref().is_some_and(|best| plan.waf >= best.waf - HOT_GAIN) {
                break;
            }
            best = Some(plan);
        }
        best
    }

    fn hot_of_size(&self, size: u32) -> Hot {
        of_size(self.lives, self.space, size, self.caught, self.hot.valid)
    }

    /// Adds one group after another, each with the best size behind those before it.
    fn grow(&self, mut best: Plan, most: usize) -> Plan {
        let mut grown = best;
        while grown.groups < most {
            let mut sizes = grown.sizes;
            let split = grown.groups - 1;
            let room = grown.sizes[split];
            let mut next: Option<Plan> = None;
            let mut size = 1;
            while size + self.least_last <= room {
                (sizes[split], sizes[split + 1]) = (size, room - size);
                let sizes = &sizes[..split + 2];
                let Some(plan) = predict(self.lives, self.space, grown.hot, sizes) else { break };
                if next.as_ref().is_none_or(|next| plan.waf < next.waf) {
                    next = Some(plan);
                }
                size += self.step;
            }
            let Some(next) = next else { break };
            grown = next;
            if grown.waf < best.waf {
                best = grown;
            }
        }
        best
    }

    /// Tries other sizes of the hot group at the expense of the last group.
    fn refine_hot_group(&self, best: &mut Plan) {
        let base = *best;
        let last = base.groups - 1;
        for size in 0..HOT_SIZES {
            let mut sizes = base.sizes;
            let room = sizes[last] + base.hot.size;
            if size + self.least_last > room {
                break;
            }
            sizes[last] = room - size;
            let (hot, sizes) = (self.hot_of_size(size), &sizes[..base.groups]);
            let Some(plan) = predict(self.lives, self.space, hot, sizes) else { continue };
            if plan.waf < best.waf {
                *best = plan;
            }
        }
    }

    /// Tries other sizes of each group in turn at the expense of the last group.
    fn refine_groups(&self, best: &mut Plan) {
        for i in 0..best.groups - 1 {
            let base = *best;
            let last = base.groups - 1;
            let room = base.sizes[i] + base.sizes[last];
            let mut size = 1;
            while size + self.least_last <= room {
                let mut sizes = base.sizes;
                (sizes[i], sizes[last]) = (size, room - size);
                let sizes = &sizes[..base.groups];
                let Some(plan) = predict(self.lives, self.space, base.hot, sizes) else { break };
                if plan.waf < best.waf {
                    *best = plan;
                }
                size += self.step;
            }
        }
    }
}

/// A hot group of `size` blocks that catches the part `caught` of the data that die in its time,
/// plus as many longer-lived data as leave a share `valid` of its victims.
fn of_size(lives: &Lifetimes, space: &Space, size: u32, caught: f64, valid: f64) -> Hot {
    if size == 0 {
        return Hot::default();
    }
    let steps = lives.survival.len();
    // Blocks written to the group until its first is collected; increases with time.
    let taken = |step: usize| caught * (1.0 - lives.survival[step]) / (1.0 - valid);
    let filled = |step: usize| step as f64 * lives.unit / f64::from(space.pages) * taken(step);
    let (mut low, mut high) = (0, steps - 1);
    while low < high {
        let middle = usize::midpoint(low, high);
        if filled(middle) < f64::from(size) { low = middle + 1 } else { high = middle }
    }
    Hot { size, traffic: taken(low).min(1.0), valid, until: low as f64 * lives.unit }
}
