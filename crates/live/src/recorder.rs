//! An excerpt of a simulation: the blocks at its start, then what changed at each step.
//!
//! A step ends with a request that cleaned, or after half a block of host pages. Beside it stand the victims that
//! were chosen, what they cost by the policy's own reckoning, and those they beat. The course of the whole run is
//! kept as a few hundred points. All counts are the simulator's own; nothing is reckoned a second time.

use std::{
    io::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use flate2::{Compression, write::GzEncoder};
use serde::Serialize;
use serde_json::{Value, json};
use thermocline_flash::{BlockId, Geometry};
use thermocline_ftl::{BlockState, Counters, Inspect};
use thermocline_policy::{
    BlockView,
    victim::{Onlooker, Victim},
};

use crate::frame;

/// Candidates that are shown beside a victim.
const BEATEN: usize = 5;
/// Points of the course of the whole run, about.
const POINTS: u64 = 400;
/// Requests between two looks where nothing is recorded.
const STRIDE: usize = 4096;

/// What is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt {
    /// Host pages written before it.
    pub from: u64,
    /// Host pages in it.
    pub pages: u64,
    /// Host pages of the whole run, about.
    pub total: u64,
    /// The most bytes of changes; the excerpt ends there.
    pub most: usize,
}

impl Excerpt {
    /// Begins at a share of a run of about `total` host pages, and is `pages` long where the run has as many.
    #[must_use]
    pub fn at(share: f64, pages: u64, total: u64, most: usize) -> Self {
        let pages = pages.min(total);
        let from = ((total as f64 * share) as u64).min(total - pages);
        Self { from, pages, total, most }
    }
}

/// A block that a policy looked at.
#[derive(Clone, Copy, Debug, Serialize)]
struct Candidate {
    block: u32,
    valid: u32,
    erases: u32,
    /// By the policy's reckoning, where it has one.
    cost: Option<f64>,
}

/// A victim.
#[derive(Clone, Debug, Serialize)]
struct Choice {
    #[serde(flatten)]
    victim: Candidate,
    /// The next best, the best first.
    beaten: Vec<Candidate>,
}

/// A step: counts are those since the statistics began.
#[derive(Clone, Debug, Serialize)]
struct Step {
    pages: u64,
    copies: u64,
    erases: u64,
    victims: u64,
    /// Blocks changed since the start of the excerpt, this step's included.
    changes: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chosen: Vec<Choice>,
}

/// Host pages written, pages copied, blocks erased; 99th percentile of write responses in µs.
type Point = (u64, u64, u64, f64);

/// Records one run.
#[derive(Debug)]
pub struct Recorder {
    excerpt: Excerpt,
    choices: Arc<Choices>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    geometry: Option<Geometry>,
    now: Vec<BlockState>,
    sampled: Vec<BlockState>,
    start: Vec<u8>,
    changes: Vec<u8>,
    /// How it was at the start of the excerpt.
    first: Option<Step>,
    steps: Vec<Step>,
    course: Vec<Point>,
    next_point: u64,
}

/// The victims chosen since the last step.
#[derive(Debug, Default)]
struct Choices(Mutex<(bool, Vec<Choice>)>);

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Onlooker for Choices {
    fn chose(&self, victim: &dyn Victim, blocks: &BlockView, chosen: BlockId, now: u64) {
        let (on, list) = &mut *lock(&self.0);
        if !*on {
            return;
        }
        let candidate = |block: BlockId| {
            let known = blocks.block(block);
            Candidate {
                block: block.0,
                valid: known.valid,
                erases: known.erases,
                cost: victim.cost(blocks, block, now),
            }
        };
        let own = victim.cost(blocks, chosen, now);
        let mut beaten: Vec<Candidate> = Vec::with_capacity(BEATEN + 1);
        for block in (0..blocks.len()).map(|n| blocks.nth(n)) {
            if block == chosen || !blocks.is_candidate(block) {
                continue;
            }
            let Some(cost) = victim.cost(blocks, block, now) else { continue };
            // It was not looked at: a policy may draw some blocks, or look at the oldest alone.
            if own.is_some_and(|own| cost < own) {
                continue;
            }
            // Blocks come by number, so equals stay in that order.
            let at = beaten.partition_point(|other| other.cost.is_some_and(|other| other <= cost));
            if at < BEATEN {
                beaten.insert(at, candidate(block));
                beaten.truncate(BEATEN);
            }
        }
        list.push(Choice { victim: candidate(chosen), beaten });
    }

    fn answered(&self, cleaned: bool) {
        let (on, list) = &mut *lock(&self.0);
        if *on && !cleaned {
            list.pop();
        }
    }
}

impl Recorder {
    /// Records that excerpt.
    #[must_use]
    pub fn new(excerpt: Excerpt) -> Self {
        Self { excerpt, choices: Arc::default(), kept: Mutex::default() }
    }

    /// The listener to chosen victims.
    #[must_use]
    pub fn onlooker(&self) -> Arc<dyn Onlooker> {
        self.choices.clone()
    }

    /// The most requests before the next look, when this many pages are written.
    #[must_use]
    pub fn stride(&self, pages: u64) -> usize {
        let Excerpt { from, pages: length, .. } = self.excerpt;
        match pages {
            _ if lock(&self.kept).first.is_some() && pages >= from + length => STRIDE,
            _ if pages >= from => 1,
            // A request may write many pages: half way there, and again.
            _ => usize::try_from((from - pages) / 128).unwrap_or(STRIDE).clamp(1, STRIDE),
        }
    }

    /// The run as it is now.
    pub fn look(
        &self,
        inspect: &dyn Inspect,
        geometry: &Geometry,
        counters: &Counters,
        write_p99_ns: u64,
    ) {
        let kept = &mut *lock(&self.kept);
        let pages = counters.host_writes;
        if pages >= kept.next_point {
            kept.next_point = pages + (self.excerpt.total / POINTS).max(1);
            let p99 = write_p99_ns as f64 / 1e3;
            kept.course.push((pages, counters.copies, counters.erases, p99));
        }
        let end = self.excerpt.from.saturating_add(self.excerpt.pages);
        let full = kept.changes.len() >= self.excerpt.most;
        if pages < self.excerpt.from || kept.first.is_some() && (pages > end || full) {
            lock(&self.choices.0).0 = false;
            return;
        }
        let step = |changes, chosen| Step {
            pages,
            copies: counters.copies,
            erases: counters.erases,
            victims: counters.victims,
            changes,
            chosen,
        };
        if kept.first.is_none() {
            kept.geometry = Some(*geometry);
            kept.now = vec![BlockState::default(); geometry.blocks() as usize];
            kept.sampled = kept.now.clone();
            inspect.block_states(BlockId(0), &mut kept.now);
            kept.start = frame::whole(&kept.now);
            kept.first = Some(step(0, Vec::new()));
            *lock(&self.choices.0) = (true, Vec::new());
            return;
        }
        let last = kept.steps.last().or(kept.first.as_ref());
        let (victims, before) = last.map_or((0, 0), |step| (step.victims, step.pages));
        let half = u64::from(geometry.data_pages_per_block() / 2);
        if counters.victims == victims && pages < before + half && pages < end {
            return;
        }
        inspect.block_states(BlockId(0), &mut kept.sampled);
        frame::changed(&mut kept.now, &kept.sampled, &mut kept.changes);
        let chosen = std::mem::take(&mut lock(&self.choices.0).1);
        kept.steps.push(step(kept.changes.len() / frame::CHANGED, chosen));
    }

    /// What was recorded of a run, and its result; nothing if the run ended before the excerpt.
    #[must_use]
    pub fn finish(&self, policy: &str, result: &Value) -> Option<Value> {
        let kept = lock(&self.kept);
        let geometry = kept.geometry?;
        Some(json!({
            "policy": policy,
            "result": result,
            "blocks": geometry.blocks(),
            "pages_per_block": geometry.data_pages_per_block(),
            "page_size": geometry.page_size,
            "first": kept.first,
            "steps": kept.steps,
            "course": kept.course,
            "start": packed(&kept.start),
            "changes": packed(&kept.changes),
        }))
    }
}

/// Compressed (gzip, which browsers can undo), as text.
fn packed(bytes: &[u8]) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    let done = packer.write_all(bytes).and_then(|()| packer.finish());
    frame::text(&done.expect("memory takes all that is written"))
}
