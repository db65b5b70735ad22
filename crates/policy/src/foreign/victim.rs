//! A victim policy that is asked in batches, in one of two ways.
//!
//! * By a formula: a block costs `ratio(valid) / age`, which is asked for each number of valid pages once. The
//!   index of victims then finds the least, as for the policies of this crate, without looking at all blocks.
//! * By a look at all blocks at each cleaning: at `n` blocks a cleaning costs time in proportion to `n`.

use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use core::cell::RefCell;

use thermocline_flash::{BlockId, Lpn};

use super::{Failure, Guarded, Report, wrong};
use crate::{BlockView, Search, State, age::AgeSource, victim::Victim};

/// What a victim policy is, whatever it chooses; it never changes.
#[derive(Clone, Debug, Default)]
pub struct VictimShape {
    /// Numerator and denominator of the cost by valid pages, from 0 to one less than all; the index finds the least
    /// cost. None: the policy looks at all blocks.
    pub ratios: Option<Vec<(f64, f64)>>,
    /// What ages count from.
    pub ages: Option<AgeSource>,
    /// Whether it transforms ages itself; they divide the cost as they are otherwise.
    pub transforms: bool,
    /// Whether it receives the host's writes.
    pub watches: bool,
    /// Whether it receives the outcome of its choices.
    pub answered: bool,
}

/// All blocks of a bank, in columns.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Pages whose data are current.
    pub valid: Vec<u32>,
    /// Times erased.
    pub erases: Vec<u32>,
    /// When the block's age began, as [`VictimShape::ages`] says.
    pub stamps: Vec<u64>,
    /// The stream it was opened for.
    pub streams: Vec<u8>,
    /// 1 for a block that may be chosen: it is full, and a page of it is garbage.
    pub candidates: Vec<u8>,
}

impl Columns {
    /// Copies what a policy may see.
    pub fn copy(&mut self, blocks: &BlockView) {
        let count = blocks.len() as usize;
        self.valid.resize(count, 0);
        self.erases.resize(count, 0);
        self.stamps.resize(count, 0);
        self.streams.resize(count, 0);
        self.candidates.resize(count, 0);
        let Self { valid, erases, stamps, streams, candidates } = self;
        copy(blocks, (valid, erases, stamps, streams, candidates));
    }
}

/// The columns of [`Columns`], wherever they are; each is as long as there are blocks.
pub type ColumnsMut<'a> = (&'a mut [u32], &'a mut [u32], &'a mut [u64], &'a mut [u8], &'a mut [u8]);

/// Copies what a policy may see of blocks into columns.
pub fn copy(blocks: &BlockView, (valid, erases, stamps, streams, candidates): ColumnsMut<'_>) {
    let pages = blocks.pages();
    let columns = valid.iter_mut().zip(erases).zip(streams.iter_mut().zip(candidates));
    for (block, ((valid, erases), (stream, candidate))) in blocks.blocks().iter().zip(columns) {
        (*valid, *erases, *stream) = (block.valid, block.erases, block.stream);
        *candidate = u8::from(block.state == State::Closed && block.valid < pages);
    }
    let known = blocks.stamps();
    let count = stamps.len().min(known.len());
    stamps[..count].copy_from_slice(&known[..count]);
}

/// A victim policy that is asked in batches. One is made for each bank.
pub trait BatchVictim: Send {
    /// What it is on a device with this number of data pages in a block.
    ///
    /// # Errors
    /// Whatever the policy says.
    fn shape(&mut self, pages: u32) -> Result<VictimShape, Failure>;

    /// The block to clean, counted from the first of the bank; none if there is nothing to gain. Not asked where
    /// there are [`VictimShape::ratios`].
    ///
    /// # Errors
    /// Whatever the policy says.
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Result<Option<u32>, Failure>;

    /// The factor of an age, where it [transforms](VictimShape::transforms) them: finite, not negative, and not
    /// falling as the age grows.
    ///
    /// # Errors
    /// Whatever the policy says.
    fn age(&self, age: u64) -> Result<f64, Failure>;

    /// The host wrote these pages, in this order.
    ///
    /// # Errors
    /// Whatever the policy says.
    fn written(&mut self, pages: &[u32]) -> Result<(), Failure>;

    /// The block chosen last is cleaned, or refused.
    ///
    /// # Errors
    /// Whatever the policy says.
    fn answered(&mut self, cleaned: bool) -> Result<(), Failure>;
}

/// A victim policy from elsewhere.
pub struct ForeignVictim {
    policy: Guarded<Option<Box<dyn BatchVictim>>>,
    shape: VictimShape,
    search: Search,
    written: Vec<u32>,
}

impl ForeignVictim {
    /// The victim policy that results call `name`, for blocks with this number of data pages. One that could not be made
    /// never chooses.
    #[must_use]
    pub fn new(
        name: &str,
        made: Result<Box<dyn BatchVictim>, Failure>,
        pages: u32,
        report: Arc<dyn Report>,
    ) -> Self {
        let shaped = made.and_then(|mut policy| {
            let shape = policy.shape(pages)?;
            if let Some(ratios) = &shape.ratios {
                check_ratios(name, ratios, pages)?;
            }
            Ok((policy, shape))
        });
        let name = String::from(name);
        let (policy, shape) = match shaped {
            Ok((policy, shape)) => (Some(policy), shape),
            Err(failure) => {
                report.failed(failure);
                (None, VictimShape::default())
            }
        };
        let failed = policy.is_none();
        let policy = Guarded { name, policy, report, failed };
        Self { policy, shape, search: Search::default(), written: Vec::new() }
    }

    fn by_index(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        let Self { policy, shape, search, .. } = self;
        if shape.ages.is_none() {
            return blocks.lightest();
        }
        if !shape.transforms {
            return search.cheapest(blocks, now, &|age: u64| age as f64);
        }
        let first = RefCell::new(None);
        let found = policy.ask(|policy, name| {
            let Some(policy) = policy else { return Ok(None) };
            let factor = |age: u64| {
                let factor = policy.age(age).and_then(|factor| match factor {
                    0.0..=1e300 => Ok(factor),
                    _ => {
                        let what =
                            format_args!("of {age} is {factor}; it is finite and at least 0");
                        Err(wrong(name, "age", what))
                    }
                });
                factor.unwrap_or_else(|failure| {
                    first.borrow_mut().get_or_insert(failure);
                    1.0
                })
            };
            let found = search.cheapest(blocks, now, &factor);
            first.take().map_or(Ok(found), Err)
        });
        found.flatten()
    }
}

/// Costs are numbers, and do not fall as blocks hold more.
fn check_ratios(name: &str, ratios: &[(f64, f64)], pages: u32) -> Result<(), Failure> {
    if ratios.len() != pages as usize {
        let what = format_args!(
            "gives {} costs; it gives one for 0 to {} valid pages each",
            ratios.len(),
            pages.saturating_sub(1)
        );
        return Err(wrong(name, "ratio", what));
    }
    let mut before = 0.0;
    for (valid, &(numerator, denominator)) in ratios.iter().enumerate() {
        let cost = numerator / denominator;
        let sound = (0.0..1e200).contains(&numerator) && (1e-200..1e200).contains(&denominator);
        if !sound || cost < before {
            let what = format_args!(
                "of {valid} valid pages is {numerator} / {denominator}; costs are finite, at least 0, and do not \
                 fall as blocks hold more"
            );
            return Err(wrong(name, "ratio", what));
        }
        before = cost;
    }
    Ok(())
}

impl Victim for ForeignVictim {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        if self.shape.ratios.is_some() {
            return self.by_index(blocks, now);
        }
        let chosen = self.policy.ask(|policy, name| {
            let Some(policy) = policy else { return Ok(None) };
            let Some(chosen) = policy.choose(blocks, now)? else { return Ok(None) };
            if chosen >= blocks.len() {
                let last = blocks.len().saturating_sub(1);
                let what = format_args!("names block {chosen}; they are 0 to {last}");
                return Err(wrong(name, "choose", what));
            }
            let block = blocks.nth(chosen);
            if !blocks.is_candidate(block) {
                let block = blocks.block(block);
                let what = format_args!(
                    "names block {chosen}, which is {:?} with {} valid pages of {}; choose a candidate",
                    block.state,
                    block.valid,
                    blocks.pages()
                );
                return Err(wrong(name, "choose", what));
            }
            Ok(Some(block))
        });
        chosen.flatten()
    }

    /// Without a formula all candidates weigh the same: the index only has to know that there are any.
    fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
        let ratios = self.shape.ratios.as_deref().unwrap_or_default();
        ratios.get(valid as usize).copied().unwrap_or((1.0, 1.0))
    }

    fn cost(&self, _blocks: &BlockView, _block: BlockId, _now: u64) -> Option<f64> {
        None
    }

    fn age_source(&self) -> Option<AgeSource> {
        self.shape.ages
    }

    fn watches(&self) -> bool {
        self.shape.watches
    }

    fn watch(&mut self, written: &[Lpn]) {
        self.written.clear();
        self.written.extend(written.iter().map(|lpn| lpn.0));
        let pages = &self.written;
        self.policy.ask(|policy, _| policy.as_mut().map_or(Ok(()), |p| p.written(pages)));
    }

    fn answered(&mut self, cleaned: bool) {
        if self.shape.answered {
            self.policy.ask(|policy, _| policy.as_mut().map_or(Ok(()), |p| p.answered(cleaned)));
        }
    }
}

/// The candidate of least score, the lowest number among equals.
///
/// # Errors
/// A candidate's score is no number.
pub fn least(
    name: &str,
    scores: impl IntoIterator<Item = f64>,
    is_candidate: impl Fn(usize) -> bool,
) -> Result<Option<u32>, Failure> {
    let mut best: Option<(f64, u32)> = None;
    for (block, score) in scores.into_iter().enumerate() {
        if !is_candidate(block) {
            continue;
        }
        if score.is_nan() {
            return Err(wrong(name, "score", format_args!("of block {block} is not a number")));
        }
        if best.is_none_or(|(least, _)| score < least) {
            best = Some((score, block as u32));
        }
    }
    Ok(best.map(|(_, block)| block))
}
