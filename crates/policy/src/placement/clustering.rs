//! Clustering without per-page memory, as in schemes for solid-state drives. Survivors are cold.
//! Host writes are separated by whether the page was written before, and how long ago (Kim and Shin
//! 2015; "double hot/cold" is their reference 10, and "hot/cold", their reference 9, is `sep-gc`).
//!
//! First writes, including the fill, go to stream 0.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::{Answer, Growing, HostWrite, Place, Placement, Registered, Streams, Survivors};
use crate::{
    Args, Context, ParamError, PolicyInfo, params,
    params::{NoParams, within},
};

/// Updates are hot; first writes and survivors are cold.
#[derive(Clone, Copy, Debug, Default)]
pub struct DoubleHotCold;

impl DoubleHotCold {
    const COLD: u8 = 0;
    const HOT: u8 = 1;
}

impl Streams for DoubleHotCold {
    fn streams(&self) -> u8 {
        2
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        stream == Self::HOT
    }
}

impl Placement for DoubleHotCold {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        if write.old().is_some() { Self::HOT } else { Self::COLD }
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        Self::COLD
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(Self::COLD)
    }
}

impl Registered for DoubleHotCold {
    const INFO: PolicyInfo = PolicyInfo {
        name: "double-hot-cold",
        aliases: &[],
        source: "Jung et al. 2014, as in update-interval paper §2",
        summary: "first writes join the survivors; better than hot-cold where new data are seldom updated",
        params: NoParams::info,
    };

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        NoParams::read(args).map(|_| Self)
    }
}

params! {
    /// Parameters of [`UpdateInterval`].
    pub struct UpdateIntervalParams {
        /// Interval below which an update is hot, in percent of a block's pages; at most 100, because only the
        /// newest two blocks of a stream are remembered.
        threshold: u32 = 100,
    }
}

params! {
    /// Parameters of [`ExactUpdateInterval`].
    pub struct ExactUpdateIntervalParams {
        /// Interval below which an update is hot, in percent of a block's pages in each bank.
        threshold: u32 = 100,
    }
}

/// A share of a block in pages, at least one.
const fn pages_of(percent: u32, pages: u32) -> u32 {
    let share = (percent as u64 * pages as u64 / 100) as u32;
    if share == 0 { 1 } else { share }
}

/// Updates after less than a block's worth of writes are hot, others are warm. Survivors are cold,
/// and first writes are unclassified.
///
/// The interval is the distance from the old copy to the next page of its stream. Only the open
/// block of a stream and the one before it can be that near, so only these two are remembered. The
/// layer knows the next page. A count kept here would have to exclude read-only data, the fill and
/// spilt pages.
#[derive(Clone, Debug)]
pub struct UpdateInterval {
    /// For each bank and each stream whose updates may be hot: the open block and the one before
    /// it.
    blocks: Vec<[[BlockId; 2]; Self::MEASURED]>,
    pages: u32,
    /// Pages below which an interval is short; at most those of a block.
    threshold: u32,
}

impl UpdateInterval {
    const UNCLASSIFIED: u8 = 0;
    const HOT: u8 = 1;
    const WARM: u8 = 2;
    const COLD: u8 = 3;
    /// Number of streams whose distances are measured. An update of cold data is long by
    /// definition, because the data were cleaned since they were written.
    const MEASURED: usize = 3;

    fn new(banks: u32, pages: u32, threshold: u32) -> Self {
        let none = [[BlockId::NONE; 2]; Self::MEASURED];
        Self { blocks: vec![none; banks as usize], pages, threshold }
    }

    /// Whether fewer pages than the threshold were written to the stream of `old` since then.
    #[inline(always)]
    fn is_near(&self, old: &Place) -> bool {
        let Some([current, before]) =
            self.blocks[old.bank as usize].get(usize::from(old.stream)).copied()
        else {
            return false; // cold or read-only
        };
        if old.block == current {
            old.next - old.page < self.threshold
        } else {
            // The block was written completely, and `next` pages of the block after it.
            old.block == before && self.pages + old.next - old.page < self.threshold
        }
    }
}

impl Streams for UpdateInterval {
    fn streams(&self) -> u8 {
        4
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        stream == Self::HOT
    }

    fn opened(&mut self, bank: u32, block: BlockId, stream: u8, _now: u64) {
        if let Some(blocks) = self.blocks[bank as usize].get_mut(usize::from(stream)) {
            *blocks = [block, blocks[0]];
        }
    }
}

impl Placement for UpdateInterval {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        match write.old() {
            None => Self::UNCLASSIFIED,
            Some(old) if self.is_near(&old) => Self::HOT,
            Some(_) => Self::WARM,
        }
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        Self::COLD
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(Self::COLD)
    }
}

impl Registered for UpdateInterval {
    const INFO: PolicyInfo = PolicyInfo {
        name: "update-interval",
        aliases: &[],
        source: "update-interval paper §3: Kim and Shin 2015",
        summary: "hot, warm, cold by the pages written since; no memory, for desktop traffic",
        params: UpdateIntervalParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let UpdateIntervalParams { threshold } = UpdateIntervalParams::read(args)?;
        within("threshold", threshold, 1..=100)?;
        let pages = context.pages_per_block;
        Ok(Self::new(context.banks, pages, pages_of(threshold, pages)))
    }
}

/// The same by the exact interval: the pages that the host wrote since, which the map of pages remembers. The paper
/// avoids that memory by [`UpdateInterval`] (§3).
#[derive(Clone, Debug)]
pub struct ExactUpdateInterval {
    /// Pages that the host wrote.
    writes: u64,
    threshold: u64,
}

impl Streams for ExactUpdateInterval {
    fn streams(&self) -> u8 {
        4
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        stream == UpdateInterval::HOT
    }
}

impl Placement for ExactUpdateInterval {
    /// The number of the last write.
    type Page = Growing;

    #[inline(always)]
    fn host(&mut self, page: Growing, write: &impl HostWrite) -> u8 {
        match write.old() {
            None => UpdateInterval::UNCLASSIFIED,
            Some(_) if self.writes - page.0 < self.threshold => UpdateInterval::HOT,
            Some(_) => UpdateInterval::WARM,
        }
    }

    #[inline(always)]
    fn survivor(&mut self, _: &mut Growing, _: Lpn, _: u64) -> u8 {
        UpdateInterval::COLD
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, Growing>) -> Answer {
        Answer::Together(UpdateInterval::COLD)
    }

    #[inline(always)]
    fn filled(&mut self, page: &mut Growing, _: Lpn, _: u64) {
        page.0 = self.writes;
        self.writes += 1;
    }

    #[inline(always)]
    fn written(&mut self, page: &mut Growing, _: Lpn, _: u64) {
        page.0 = self.writes;
        self.writes += 1;
    }
}

impl Registered for ExactUpdateInterval {
    const INFO: PolicyInfo = PolicyInfo {
        name: "update-interval-exact",
        aliases: &[],
        source: "update-interval paper §3: Kim and Shin 2015, the interval before the approximation",
        summary: "hot, warm, cold by the pages that the host wrote since; four bytes a page",
        params: ExactUpdateIntervalParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let ExactUpdateIntervalParams { threshold } = ExactUpdateIntervalParams::read(args)?;
        within("threshold", threshold, 1..=1_000_000)?;
        let block = u64::from(context.pages_per_block) * u64::from(context.banks);
        Ok(Self { writes: 0, threshold: (u64::from(threshold) * block / 100).max(1) })
    }
}
