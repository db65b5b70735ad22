//! The policies of an agent: they make observations, ask, and count the cost of the answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::PyResult;
use thermocline_flash::Timing;
use thermocline_policy::{
    BlockView, Context, State,
    foreign::{BatchPlacement, BatchVictim, Failure, Maker, PlacementShape, VictimShape},
    placement::Cleaning,
};
use thermocline_trace::lives::Features;

use crate::{errors::UsageError, fiber::Asker, past::Past};

/// Values of a page: eight features, its age, the share of valid pages of the block that is cleaned.
const PAGE: usize = 10;
/// Values of a block: the share of its valid pages, its age, its erases over the mean, its stream.
const BLOCK: usize = 4;
/// Values that encode the kind of a question.
const KINDS: usize = 3;

/// The kind of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The stream of a page that the host writes.
    Host,
    /// The stream of a valid page of a block that is cleaned.
    Survivor,
    /// The block that is cleaned.
    Victim,
}

/// The weights of the parts of a reward.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Of copies, in blocks.
    pub write_amplification: f64,
    /// Of the squared times that page writes wait, in times in which a block is written.
    pub latency: f64,
    /// Of the erases of a block that is erased, above the mean.
    pub wear: f64,
}

/// The decisions of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Decide {
    /// Streams of pages.
    pub placement: bool,
    /// Blocks.
    pub victim: bool,
    /// The number of streams.
    pub streams: u8,
    /// The most blocks shown.
    pub candidates: u32,
    /// The weights of its rewards.
    pub weights: Weights,
}

impl Decide {
    /// Values of an observation.
    pub fn width(&self) -> usize {
        let blocks = if self.victim { BLOCK * self.candidates as usize } else { 0 };
        KINDS + if self.placement { PAGE } else { 0 } + blocks
    }
}

/// An agent's view of a device, and the cost of its answers.
pub struct Agent {
    decide: Decide,
    pages_per_block: u32,
    /// Nanoseconds of a program, of the copy of a page, of an erase.
    times: [f64; 3],
    asked: Asked,
    observation: Vec<f32>,
    candidates: Vec<u32>,
    /// Mean erases of the blocks that were shown last.
    mean_erases: f64,
    past: Past,
    reward: f64,
    /// Nanoseconds that the next page write has waited for so far.
    waited: f64,
    /// Valid pages of the block that was chosen last, and its erases above the mean.
    chosen: (u32, f64),
    /// For each number of valid pages the oldest block.
    oldest: Vec<Option<(u64, u32)>>,
}

/// A number of page writes or nanoseconds, from 0 to 1 by its octave.
fn scaled(value: u64, octaves: f32) -> f32 {
    (libm::log2f(value as f32 + 1.0) / octaves).min(1.0)
}

impl Agent {
    /// Sees nothing yet.
    pub fn new(decide: Decide, pages_per_block: u32, timing: &Timing) -> Self {
        let program = timing.program() as f64;
        Self {
            decide,
            pages_per_block,
            times: [program, (timing.read() + timing.program()) as f64, timing.erase() as f64],
            asked: Asked::Host,
            observation: vec![0.0; decide.width()],
            candidates: Vec::new(),
            mean_erases: 0.0,
            past: Past::default(),
            reward: 0.0,
            waited: 0.0,
            chosen: (0, 0.0),
            oldest: Vec::new(),
        }
    }

    /// The values that describe the question.
    pub fn observation(&self) -> &[f32] {
        &self.observation
    }

    /// The kind of the question.
    pub fn asked(&self) -> Asked {
        self.asked
    }

    /// Blocks to choose from, where one is asked for.
    pub fn candidates(&self) -> usize {
        if self.asked == Asked::Victim { self.candidates.len() } else { 0 }
    }

    /// Begins a question.
    fn question(&mut self, asked: Asked) {
        self.asked = asked;
        self.observation.fill(0.0);
        self.observation[asked as usize] = 1.0;
    }

    fn see_page(&mut self, asked: Asked, features: &Features, age: u64, valid: f32) {
        self.question(asked);
        let values = &mut self.observation[KINDS..][..PAGE];
        // All but the size of the request, which a device's placement does not know.
        for (into, value) in values.iter_mut().zip(&features.values()[..PAGE - 2]) {
            *into = scaled((*value).into(), 32.0);
        }
        (values[PAGE - 2], values[PAGE - 1]) = (scaled(age, 32.0), valid);
    }

    fn see_host(&mut self, page: u32) {
        let features = self.past.next(page);
        self.see_page(Asked::Host, &features, 0, 0.0);
    }

    fn see_survivor(&mut self, page: u32, valid: u32, pages: u32) {
        let (features, age) = self.past.of(page);
        self.see_page(Asked::Survivor, &features, age, valid as f32 / pages.max(1) as f32);
    }

    /// Shows the blocks that no other beats in both valid pages and age: any preference for few valid pages and
    /// old blocks chooses one of them. Those with the fewest valid pages come first. False if there is none.
    fn see_blocks(&mut self, blocks: &BlockView, now: u64) -> bool {
        let pages = blocks.pages();
        self.oldest.clear();
        self.oldest.resize(pages as usize, None);
        let (all, stamps) = (blocks.blocks(), blocks.stamps());
        let mut erases = 0;
        for (at, (block, stamp)) in all.iter().zip(stamps).enumerate() {
            erases += u64::from(block.erases);
            if block.state == State::Closed && block.valid < pages {
                let known = &mut self.oldest[block.valid as usize];
                if known.is_none_or(|(oldest, _)| *stamp < oldest) {
                    *known = Some((*stamp, at as u32));
                }
            }
        }
        let mut oldest = u64::MAX;
        let front = self.oldest.iter().flatten().filter(|(stamp, _)| {
            let beaten = *stamp >= oldest;
            oldest = oldest.min(*stamp);
            !beaten
        });
        self.candidates.clear();
        self.candidates.extend(front.map(|(_, at)| at));
        let most = self.decide.candidates as usize;
        if self.candidates.len() > most {
            // The first is kept, and of the others as many as there is room for, evenly.
            let last = self.candidates.len() - 1;
            let kept = |at: usize| if most > 1 { at * last / (most - 1) } else { 0 };
            self.candidates = (0..most).map(|at| self.candidates[kept(at)]).collect();
        }
        if self.candidates.is_empty() {
            return false;
        }
        self.question(Asked::Victim);
        self.mean_erases = erases as f64 / all.len().max(1) as f64;
        let mean = self.mean_erases;
        let first = KINDS + if self.decide.placement { PAGE } else { 0 };
        for (values, at) in self.observation[first..].chunks_mut(BLOCK).zip(&self.candidates) {
            let (block, stamp) = (&all[*at as usize], stamps[*at as usize]);
            values.copy_from_slice(&[
                block.valid as f32 / pages as f32,
                scaled(now.saturating_sub(stamp), 64.0),
                ((f64::from(block.erases) - mean) / 100.0).clamp(-1.0, 1.0) as f32,
                f32::from(block.stream) / f32::from(self.decide.streams.max(1)),
            ]);
        }
        true
    }

    /// A block was cleaned: its valid pages are copied, and it is erased.
    fn cleaned(&mut self, valid: u32, wear: f64) {
        let [_, copy, erase] = self.times;
        let Weights { write_amplification, wear: of_wear, .. } = self.decide.weights;
        self.reward -= write_amplification * f64::from(valid) / f64::from(self.pages_per_block);
        self.reward -= of_wear * wear;
        self.waited += f64::from(valid) * copy + erase;
    }

    /// The host has written: the page that comes next has not waited yet.
    fn host_wrote(&mut self) {
        let block = self.times[0] * f64::from(self.pages_per_block);
        let waited = std::mem::take(&mut self.waited) / block;
        self.reward -= self.decide.weights.latency * waited * waited;
    }
}

/// An agent that a run and whoever drives it share, one at a time.
#[derive(Clone)]
pub struct Shared {
    agent: Arc<Mutex<Agent>>,
    asker: Arc<Asker>,
}

impl Shared {
    /// Of an agent that is not asked yet.
    pub fn new(agent: Agent) -> Self {
        Self { agent: Arc::new(Mutex::new(agent)), asker: Arc::default() }
    }

    /// Stops the run.
    pub fn asker(&self) -> Arc<Asker> {
        Arc::clone(&self.asker)
    }

    /// Makes the policies of the run.
    pub fn maker(&self, decide: Decide) -> Arc<dyn Maker> {
        Arc::new(AgentMaker { shared: self.clone(), decide })
    }

    fn agent(&self) -> MutexGuard<'_, Agent> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the question.
    pub fn look(&self, with: impl FnOnce(&Agent)) {
        with(&self.agent());
    }

    /// Makes the answer to the question from a stream and a candidate.
    ///
    /// # Errors
    /// There is no such stream or candidate.
    pub fn answer(&self, stream: i64, candidate: i64) -> PyResult<u32> {
        let agent = self.agent();
        let (what, answer, most) = match agent.asked {
            Asked::Victim => ("block", candidate, agent.decide.candidates),
            _ => ("stream", stream, agent.decide.streams.into()),
        };
        match u32::try_from(answer).ok().filter(|answer| *answer < most) {
            Some(answer) => Ok(answer),
            None => Err(UsageError::new_err(format!(
                "there is no {what} {answer}; they are 0 to {}",
                most - 1
            ))),
        }
    }

    /// The cost of the answers since the last call.
    pub fn reward(&self) -> f64 {
        std::mem::take(&mut self.agent().reward)
    }
}

struct AgentMaker {
    shared: Shared,
    decide: Decide,
}

impl Maker for AgentMaker {
    fn name(&self) -> &str {
        "agent"
    }

    fn streams(&self) -> Option<u8> {
        self.decide.placement.then_some(self.decide.streams)
    }

    fn placement(&self, _: &Context) -> Result<Box<dyn BatchPlacement>, Failure> {
        Ok(Box::new(AgentPolicy { shared: self.shared.clone(), decide: self.decide }))
    }

    fn victim(&self, _: &Context, _: u32) -> Result<Box<dyn BatchVictim>, Failure> {
        Ok(Box::new(AgentPolicy { shared: self.shared.clone(), decide: self.decide }))
    }
}

/// A placement or a victim policy.
struct AgentPolicy {
    shared: Shared,
    decide: Decide,
}

impl AgentPolicy {
    fn stream(&self) -> u8 {
        self.shared.asker.ask() as u8
    }
}

impl BatchPlacement for AgentPolicy {
    fn shape(&self) -> PlacementShape {
        PlacementShape {
            streams: self.decide.streams,
            host: true,
            survivors: true,
            batch: 1,
            stale: false,
            written: true,
            ..PlacementShape::default()
        }
    }

    fn host(&mut self, pages: &[u32], _: u64, streams: &mut [u8]) -> Result<(), Failure> {
        for (page, stream) in pages.iter().zip(streams) {
            self.shared.agent().see_host(*page);
            *stream = self.stream();
        }
        Ok(())
    }

    fn survivors(
        &mut self,
        victim: &Cleaning,
        pages: &[u32],
        streams: &mut [u8],
    ) -> Result<(), Failure> {
        if !self.decide.victim {
            self.shared.agent().cleaned(victim.valid, 0.0);
        }
        for (page, stream) in pages.iter().zip(streams) {
            self.shared.agent().see_survivor(*page, victim.valid, victim.pages);
            *stream = self.stream();
        }
        Ok(())
    }

    fn written(&mut self, pages: &[u32], _: &[u8], _: &[u64]) -> Result<(), Failure> {
        let mut agent = self.shared.agent();
        for page in pages {
            agent.host_wrote();
            agent.past.write(*page);
        }
        Ok(())
    }
}

impl BatchVictim for AgentPolicy {
    fn shape(&mut self, _: u32) -> Result<VictimShape, Failure> {
        // An own placement receives the host writes instead.
        let watches = !self.decide.placement;
        Ok(VictimShape { watches, answered: true, ..VictimShape::default() })
    }

    fn choose(&mut self, blocks: &BlockView, now: u64) -> Result<Option<u32>, Failure> {
        if !self.shared.agent().see_blocks(blocks, now) {
            return Ok(None);
        }
        let answer = self.shared.asker.ask() as usize;
        let mut agent = self.shared.agent();
        // There may be fewer than an agent can name.
        let block = agent.candidates[answer.min(agent.candidates.len() - 1)];
        let of = blocks.block(blocks.nth(block));
        agent.chosen = (of.valid, f64::from(of.erases) - agent.mean_erases);
        Ok(Some(block))
    }

    fn age(&self, _: u64) -> Result<f64, Failure> {
        Ok(1.0)
    }

    fn written(&mut self, pages: &[u32]) -> Result<(), Failure> {
        if !pages.is_empty() {
            self.shared.agent().host_wrote();
        }
        Ok(())
    }

    fn answered(&mut self, cleaned: bool) -> Result<(), Failure> {
        let mut agent = self.shared.agent();
        let (valid, wear) = agent.chosen;
        if cleaned {
            agent.cleaned(valid, wear);
        }
        Ok(())
    }
}
