//! A victim policy that is called with batches, in one of two ways.
//!
//! * By a formula: the cost of a block is `ratio(valid) / age`. The policy is asked once for each
//!   number of valid pages. The victim index then finds the minimum without a scan, as for the
//!   policies of this crate.
//! * By a scan of all blocks at each cleaning: the time of a cleaning is proportional to the number
//!   of blocks.

use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use core::cell::RefCell;

use thermocline_flash::{BlockId, Lpn};

use super::{Failure, Guarded, Report, wrong};
use crate::{BlockView, Search, State, age::AgeSource, victim::Victim};

/// The constant properties of a victim policy.
#[derive(Clone, Debug, Default)]
pub struct VictimShape {
    /// Numerator and denominator of the cost by number of valid pages, from 0 to one less than all.
    /// The index finds the minimum. `None`: the policy scans all blocks.
    pub ratios: Option<Vec<(f64, f64)>>,
    /// The event from which ages count.
    pub ages: Option<AgeSource>,
    /// Whether the policy transforms ages. Otherwise they divide the cost unchanged.
    pub transforms: bool,
    /// Whether it receives host writes.
    pub watches: bool,
    /// Whether it receives the outcome of its choices.
    pub answered: bool,
}

/// All blocks of a bank, in columns.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Valid pages.
    pub valid: Vec<u32>,
    /// Erase counts.
    pub erases: Vec<u32>,
    /// Start of the block's age, by [`VictimShape::ages`].
    pub stamps: Vec<u64>,
    /// The stream for which the block was opened.
    pub streams: Vec<u8>,
    /// 1 for a block that may be chosen: it is full and has garbage.
    pub candidates: Vec<u8>,
}

impl Columns {
    /// Copies the blocks that a policy may see.
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

/// The columns of [`Columns`] in any storage, each with one element per block.
pub type ColumnsMut<'a> = (&'a mut [u32], &'a mut [u32], &'a mut [u64], &'a mut [u8], &'a mut [u8]);

/// Copies the blocks that a policy may see into columns.
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

/// A victim policy that is called with batches. There is one for each bank.
pub trait BatchVictim: Send {
    /// The constant properties on a device with this number of data pages in a block.
    ///
    /// # Errors
    /// Those of the policy.
    fn shape(&mut self, pages: u32) -> Result<VictimShape, Failure>;

    /// The block to clean, counted from the first of the bank; `None` if nothing can be gained. Not
    /// called if there are [`VictimShape::ratios`].
    ///
    /// # Errors
    /// Those of the policy.
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Result<Option<u32>, Failure>;

    /// The factor of an age, if the policy [transforms](VictimShape::transforms) ages: finite, not
    /// negative, monotone in the age.
    ///
    /// # Errors
    /// Those of the policy.
    fn age(&self, age: u64) -> Result<f64, Failure>;

    /// The host wrote these pages, in this order.
    ///
    /// # Errors
    /// Those of the policy.
    fn written(&mut self, pages: &[u32]) -> Result<(), Failure>;

    /// The block chosen last is being cleaned, or was refused.
    ///
    /// # Errors
    /// Those of the policy.
    fn answered(&mut self, cleaned: bool) -> Result<(), Failure>;
}

/// Adapts a [`BatchVictim`] to the victim contract.
pub struct ForeignVictim {
    policy: Guarded<Option<Box<dyn BatchVictim>>>,
    shape: VictimShape,
    search: Search,
    written: Vec<u32>,
}

impl ForeignVictim {
    /// Adapts a victim policy, named `name` in results, for blocks with this number of data pages.
    /// A policy that could not be created never chooses.
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

/// Checks that costs are numbers and do not fall as valid counts grow.
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

    /// Without a formula all candidates have equal weight: the index only tracks whether there are
    /// any.
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

/// The candidate with the lowest score, the lowest number among equals.
///
/// # Errors
/// The score of a candidate is NaN.
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
