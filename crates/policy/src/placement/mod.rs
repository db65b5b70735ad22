//! Which stream a page goes to, and in which order survivors are written.
//!
//! A stream is a class of data with its own open block. Placement is asked for every host write and
//! every surviving page, so it is compiled into the translation layer's loop:
//! [`dispatch`] picks the concrete type once per run.

use thermocline_flash::{BlockId, Lpn};

use crate::{Args, Candidates, Context, ParamError, PolicyInfo, victim::Victim};

mod age_sort;
mod auto_stream_mq;
mod auto_stream_sfr;
mod block_split;
mod clustering;
mod dac;
mod dac_simple;
mod envy;
mod eti;
mod fadac;
mod fine_grained;
mod hotness;
mod logs;
pub mod midas;
mod multi_log;
mod multi_stream;
mod oracle;
mod queues;
mod runs;
mod segment_split;
mod sep_bit;
mod sep_gc;
mod sequential;
mod sfs;
mod sorter;
mod times_sort;
mod two_level_lru;
mod warcip;

pub use age_sort::AgeSort;
pub use auto_stream_mq::{AutoStreamMq, AutoStreamMqParams};
pub use auto_stream_sfr::{AutoStreamSfr, AutoStreamSfrParams};
pub use block_split::BlockSplit;
pub use clustering::{DoubleHotCold, UpdateInterval};
pub use dac::{Dac, DacParams};
pub use dac_simple::{DacSimple, DacSimpleParams};
pub use envy::{Envy, EnvyParams};
pub use eti::{Eti, EtiParams};
pub use fadac::{Fadac, FadacParams};
pub use fine_grained::{FineGrained, FineGrainedParams};
pub use midas::{Midas, MidasParams};
pub use multi_log::{MultiLog, MultiLogParams, gain as multi_log_gain};
pub use multi_stream::{MultiStream, MultiStreamParams};
pub use oracle::{Oracle, OracleParams};
pub use segment_split::SegmentSplit;
pub use sep_bit::{SepBit, SepBitParams};
pub use sep_gc::SepGc;
pub use sequential::Sequential;
pub use sfs::{Sfs, SfsParams};
pub use times_sort::{TimesSort, TimesSortParams};
pub use two_level_lru::{TwoLevelLru, TwoLevelLruParams};
pub use warcip::{Warcip, WarcipParams};

/// Where the current copy of a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bank.
    pub bank: u32,
    /// The block.
    pub block: BlockId,
    /// The stream the block was opened for.
    pub stream: u8,
    /// The data page in the block, counted from 0.
    pub page: u32,
    /// The next data page to be programmed in the stream's open block; the number of pages in a
    /// block if that is full.
    pub next: u32,
}

/// What a placement is told of the block being cleaned.
#[derive(Clone, Copy, Debug)]
pub struct Cleaning {
    /// The bank.
    pub bank: u32,
    /// The block.
    pub block: BlockId,
    /// Its valid pages.
    pub valid: u32,
    /// Data pages in a block.
    pub pages: u32,
    /// The stream it was opened for.
    pub stream: u8,
    /// Logical pages that hold data, on the whole device; those inferred to be garbage do not.
    pub mapped: u32,
    /// Logical pages the device could hold.
    pub capacity: u32,
    /// Time of the cleaning.
    pub now: u64,
}

/// A placement policy.
pub trait Placement: Send {
    /// Whether [`order`](Placement::order) does anything; survivors are gathered first if so.
    const SORTS: bool = false;
    /// Whether a cleaning recomputes something over all pages (processor time of the papers).
    const SCANS: bool = false;

    /// Whether [`host_over`](Placement::host_over) looks at where the page lies.
    const LOCATES: bool = false;
    /// Whether it knows of each page at any time whether it is hot, for victim policies that weigh
    /// hot pages and for banks that are chosen by them.
    const KNOWS_HOT: bool = false;
    /// Whether it needs [`Context::future`].
    const SEES_FUTURE: bool = false;

    /// Number of streams for writable data; each has an open block in every bank. The fill goes to
    /// stream 0.
    fn streams(&self) -> u8 {
        1
    }

    /// The stream of a page the host is about to write; decided before any cleaning for it.
    #[inline(always)]
    fn host(&mut self, lpn: Lpn, now: u64) -> u8 {
        let _ = (lpn, now);
        0
    }

    /// The same for placements that want to know where the current copy lies, be it inferred to be
    /// garbage; `None` if the page holds no data. Asked in its stead.
    #[inline(always)]
    fn host_over(&mut self, lpn: Lpn, old: Option<Place>, now: u64) -> u8 {
        let _ = old;
        self.host(lpn, now)
    }

    /// Whether a page is hot now; changes for no other page than [`host`](Placement::host)'s own and
    /// [`cooled`](Placement::cooled)'s.
    #[inline(always)]
    fn is_hot(&self, lpn: Lpn) -> bool {
        let _ = lpn;
        false
    }

    /// The page that ceased to be hot because of the last [`host`](Placement::host).
    #[inline(always)]
    fn cooled(&mut self) -> Option<Lpn> {
        None
    }

    /// Whether pages of a stream are hotter than most.
    fn is_hot_stream(&self, stream: u8) -> bool {
        stream == 0
    }

    /// A page was filled before the run: data nobody has updated yet.
    #[inline(always)]
    fn filled(&mut self, lpn: Lpn, now: u64) {
        let _ = (lpn, now);
    }

    /// A page is being written by the host; its block was allocated.
    #[inline(always)]
    fn written(&mut self, lpn: Lpn, now: u64) {
        let _ = (lpn, now);
    }

    /// A page was trimmed, or was inferred to be garbage and went with its block: forget it. Of the
    /// inference itself nothing is told, for it may be taken back: the page keeps its history until
    /// then, and counts of pages that a placement keeps for itself still have it.
    fn trimmed(&mut self, lpn: Lpn) {
        let _ = lpn;
    }

    /// A free block was opened for `stream`.
    fn opened(&mut self, bank: u32, block: BlockId, stream: u8, now: u64) {
        let _ = (bank, block, stream, now);
    }

    /// An open block is full and about to enter the index of victims, unless it is set aside at a
    /// later [`choose`](Placement::choose). Its factor may be set here.
    fn closing(&mut self, bank: u32, block: BlockId, stream: u8, blocks: &mut Candidates) {
        let _ = (bank, block, stream, blocks);
    }

    /// Wear levelling moved all data of `old` to `new`, which is about to enter the index in its
    /// place.
    fn replaced(&mut self, bank: u32, old: BlockId, new: BlockId, blocks: &mut Candidates) {
        let _ = (bank, old, new, blocks);
    }

    /// The block to clean. Placements that clean in an order of their own answer themselves; the
    /// others leave it to the victim policy. A choice may be refused;
    /// [`cleaning`](Placement::cleaning) says that it was not.
    fn choose(
        &mut self,
        bank: u32,
        blocks: &mut Candidates,
        victim: &mut dyn Victim,
        now: u64,
    ) -> Option<BlockId> {
        let _ = bank;
        victim.choose(blocks, now)
    }

    /// A block is about to be cleaned.
    fn cleaning(&mut self, victim: &Cleaning) {
        let _ = victim;
    }

    /// Sorts the survivors of the victim; they come in physical order.
    fn order(&mut self, survivors: &mut [Lpn], now: u64) {
        let _ = (survivors, now);
    }

    /// The stream of a survivor of the victim.
    #[inline(always)]
    fn survivor(&mut self, lpn: Lpn, now: u64) -> u8 {
        let _ = (lpn, now);
        0
    }

    /// The stream that a survivor belongs to had no room and no free block: the survivor just
    /// asked about goes to `stream` instead.
    fn spilt(&mut self, lpn: Lpn, stream: u8, now: u64) {
        let _ = (lpn, stream, now);
    }

    /// What it wants to find again beside a page that is being programmed, should the tables be lost.
    #[inline(always)]
    fn note(&self, lpn: Lpn) -> u16 {
        let _ = lpn;
        0
    }

    /// A page was found on the chip when the tables were rebuilt: in a block of `stream` (perhaps another
    /// placement's, and then perhaps not one of its own), programmed at `time` with `note`.
    fn recovered(&mut self, lpn: Lpn, stream: u8, note: u16, time: u64) {
        let _ = (stream, note);
        self.filled(lpn, time);
    }

    /// Asks for the cache lines that writing `lpn` will need.
    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        let _ = lpn;
    }
}

/// A placement that users can name.
pub trait Registered: Placement + Sized {
    /// What the catalogue says.
    const INFO: PolicyInfo;

    /// Builds it from the user's arguments.
    ///
    /// # Errors
    /// [`ParamError`], naming the parameter.
    fn build(args: &Args, context: &Context) -> Result<Self, ParamError>;
}

/// What is to be done with a placement, whatever its type.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Called with the placement that was named.
    fn visit<P: Placement + 'static>(self, placement: P) -> Self::Output;
}

macro_rules! placements {
    ($($policy:ty),* $(,)?) => {
        /// The catalogue of placements.
        pub const PLACEMENTS: &[PolicyInfo] = &[$(<$policy as Registered>::INFO),*];

        /// Builds the placement called `name` and hands it to `visitor`; `None` if there is none.
        ///
        /// # Errors
        /// [`ParamError`], naming the parameter.
        pub fn dispatch<V: Visitor>(
            name: &str,
            args: &Args,
            context: &Context,
            visitor: V,
        ) -> Option<Result<V::Output, ParamError>> {
            $(if <$policy as Registered>::INFO.is_called(name) {
                return Some(
                    <$policy as Registered>::build(args, context).map(|p| visitor.visit(p)),
                );
            })*
            None
        }

        /// Whether the placement called `name` needs [`Context::future`].
        #[must_use]
        pub fn sees_future(name: &str) -> bool {
            $(<$policy as Registered>::INFO.is_called(name)
                && <$policy as Placement>::SEES_FUTURE)||*
        }
    };
}

// Every placement there is. Adding one takes its file and its line here.
placements! {
    Sequential,
    AgeSort,
    TimesSort,
    SegmentSplit,
    BlockSplit,
    FineGrained,
    TwoLevelLru,
    Dac,
    DoubleHotCold,
    UpdateInterval,
    SepGc,
    SepBit,
    DacSimple,
    Fadac,
    Eti,
    Warcip,
    AutoStreamMq,
    AutoStreamSfr,
    MultiStream,
    Oracle,
    Midas,
    MultiLog,
    Sfs,
    Envy,
}

/// What the catalogue says of the placement called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    PLACEMENTS.iter().find(|info| info.is_called(name))
}
