//! Generations: a page lies among pages that survived as many cleanings since the host wrote them. What
//! survived twice will probably survive again.

use thermocline_flash::Lpn;

use super::{Kept, Place, Placement, Registered};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

/// The stream of pages that survived twice or more often.
const OLD: u8 = 2;

/// Sends a page to the stream of its generation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Generations;

impl Placement for Generations {
    fn streams(&self) -> u8 {
        OLD + 1
    }

    /// The word of a page: cleanings survived.
    #[inline(always)]
    fn keeps(&self) -> Kept {
        Kept::HalfWord
    }

    #[inline(always)]
    fn host_word(&mut self, _lpn: Lpn, _survived: u64, _old: Option<Place>, _now: u64) -> u8 {
        0
    }

    #[inline(always)]
    fn written_word(&mut self, _lpn: Lpn, _survived: u64, _now: u64) -> u64 {
        0
    }

    #[inline(always)]
    fn survivor_word(&mut self, _lpn: Lpn, survived: &mut u64, _now: u64) -> u8 {
        *survived = (*survived + 1).min(OLD.into());
        *survived as u8
    }

    /// So that it is found again when the tables are lost.
    #[inline(always)]
    fn note_word(&self, _lpn: Lpn, survived: u64) -> u16 {
        survived as u16
    }

    fn recovered_word(&mut self, _lpn: Lpn, _stream: u8, note: u16, _time: u64) -> u64 {
        u64::from(note).min(OLD.into())
    }
}

impl Registered for Generations {
    const INFO: PolicyInfo = PolicyInfo {
        name: "generations",
        aliases: &[],
        source: "examples/placement",
        summary: "pages by the cleanings they survived since the host wrote them: none, one, more",
        params: NoParams::info,
    };

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        NoParams::read(args).map(|_| Self)
    }
}
