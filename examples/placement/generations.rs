//! Generations: a page lies among pages that survived as many cleanings since the host wrote them. What
//! survived twice will probably survive again.

use thermocline_flash::Lpn;

use super::{Found, HostWrite, Placement, Registered, Streams};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

/// The stream of pages that survived twice or more often.
const OLD: u8 = 2;

/// Sends a page to the stream of its generation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Generations;

impl Streams for Generations {
    fn streams(&self) -> u8 {
        OLD + 1
    }
}

impl Placement for Generations {
    /// Cleanings survived.
    type Page = u8;

    #[inline(always)]
    fn host(&mut self, _survived: u8, _: &impl HostWrite) -> u8 {
        0
    }

    #[inline(always)]
    fn written(&mut self, survived: &mut u8, _: Lpn, _now: u64) {
        *survived = 0;
    }

    #[inline(always)]
    fn survivor(&mut self, survived: &mut u8, _: Lpn, _now: u64) -> u8 {
        *survived = (*survived + 1).min(OLD);
        *survived
    }

    /// So that it is found again when the tables are lost.
    #[inline(always)]
    fn save(&self, survived: u8, _: Lpn) -> u16 {
        survived.into()
    }

    fn restore(&mut self, survived: &mut u8, found: &Found) {
        *survived = found.note.min(OLD.into()) as u8;
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
