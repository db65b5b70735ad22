//! Placement: which stream a page goes to, and in which order survivors are written.
//!
//! A stream is a class of data with its own open block. The placement is asked about every host
//! write and every survivor, so it is compiled into the translation layer's loop. [`dispatch`]
//! selects the concrete type once a run.

use crate::{Args, Context, ParamError, PolicyInfo};

mod age_sort;
mod auto_stream_mq;
mod auto_stream_sfr;
mod beyond;
mod block_split;
mod by_expression;
mod calendar;
mod clustering;
mod contest;
mod contract;
mod dac;
mod dac_simple;
mod dogi;
mod envy;
mod eti;
mod fadac;
mod fine_grained;
mod foresight;
mod ghost;
mod handles;
mod hints;
mod hints_adaptive;
mod hints_isolated;
mod history;
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
mod survival;
mod survivors;
mod times_sort;
mod two_level_lru;
mod warcip;

pub use age_sort::AgeSort;
pub use auto_stream_mq::{AutoStreamMq, AutoStreamMqParams};
pub use auto_stream_sfr::{AutoStreamSfr, AutoStreamSfrParams};
pub use block_split::BlockSplit;
pub use by_expression::{ByExpression, ByExpressionParams, NAMES as STREAM_NAMES, STREAM};
pub use calendar::{Calendar, CalendarParams, Windows};
pub use clustering::{DoubleHotCold, ExactUpdateInterval, UpdateInterval};
pub use contract::{
    Ahead, Choice, Cleaning, Entry, Found, Growing, HostWrite, HotPages, Kept, OwnVictims,
    PageState, Place, Placement, Registered, Streams, Traits, Visitor, Write,
};
pub use dac::{Dac, DacParams};
pub use dac_simple::{DacSimple, DacSimpleParams};
pub use dogi::{Dogi, DogiParams};
pub use envy::{Envy, EnvyParams};
pub use eti::{Eti, EtiParams};
pub use fadac::{Fadac, FadacParams};
pub use fine_grained::{FineGrained, FineGrainedParams};
pub use foresight::{Clairvoyant, Division};
pub use handles::HintsParams;
pub use hints::Hints;
pub use hints_adaptive::HintsAdaptive;
pub use hints_isolated::HintsIsolated;
pub use midas::{Midas, MidasParams};
pub use multi_log::{MultiLog, MultiLogParams, gain as multi_log_gain};
pub use multi_stream::{MultiStream, MultiStreamParams};
pub use oracle::{Oracle, OracleParams, Remaining};
pub use segment_split::SegmentSplit;
pub use sep_bit::{SepBit, SepBitParams};
pub use sep_gc::SepGc;
pub use sequential::Sequential;
pub use sfs::{Sfs, SfsParams};
pub use survival::{Survival, SurvivalParams};
pub use survivors::{Answer, Survivors};
pub use times_sort::{TimesSort, TimesSortParams};
pub use two_level_lru::{TwoLevelLru, TwoLevelLruParams};
pub use warcip::{Warcip, WarcipParams};

macro_rules! placements {
    ($($policy:ty),* $(,)?) => {
        /// The catalogue of placements.
        pub const PLACEMENTS: &[PolicyInfo] = &[$(<$policy as Registered>::INFO),*];

        /// Builds the placement `name` and passes it to `visitor`; `None` if there is none of that
        /// name.
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

        /// Whether the placement `name` needs [`Context::future`].
        #[must_use]
        pub fn sees_future(name: &str) -> bool {
            $(<$policy as Registered>::INFO.is_called(name)
                && <$policy as Registered>::SEES_FUTURE)||*
        }

        /// Whether the placement `name` reads the placement hints of writes with these arguments.
        #[must_use]
        pub fn reads_hints(name: &str, args: &Args) -> bool {
            $(<$policy as Registered>::INFO.is_called(name)
                && <$policy as Registered>::reads_hints(args))||*
        }

        /// Whether the placement `name` models a host that places its own data.
        #[must_use]
        pub fn models_host(name: &str) -> bool {
            $(<$policy as Registered>::INFO.is_called(name)
                && <$policy as Registered>::MODELS_HOST)||*
        }
    };
}

// All placements. Adding one takes its file and its line here.
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
    ExactUpdateInterval,
    SepGc,
    SepBit,
    DacSimple,
    Fadac,
    Eti,
    Warcip,
    AutoStreamMq,
    AutoStreamSfr,
    MultiStream,
    Hints,
    HintsIsolated,
    HintsAdaptive,
    Oracle,
    Calendar,
    Midas,
    Dogi,
    MultiLog,
    Sfs,
    Envy,
    Survival,
    ByExpression,
}

/// The catalogue entry of the placement `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    PLACEMENTS.iter().find(|info| info.is_called(name))
}
