//! Generations: a page lies among pages that survived as many cleanings since the host wrote them. What
//! survived twice will probably survive again.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use super::{Placement, Registered};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

/// The stream of pages that survived twice or more often.
const OLD: u8 = 2;

/// Sends a page to the stream of its generation.
#[derive(Clone, Debug)]
pub struct Generations {
    /// Cleanings survived, of each page.
    survived: Vec<u8>,
}

impl Placement for Generations {
    fn streams(&self) -> u8 {
        OLD + 1
    }

    #[inline(always)]
    fn host(&mut self, lpn: Lpn, _now: u64) -> u8 {
        self.survived[lpn.index()] = 0;
        0
    }

    #[inline(always)]
    fn survivor(&mut self, lpn: Lpn, _now: u64) -> u8 {
        let survived = &mut self.survived[lpn.index()];
        *survived = (*survived + 1).min(OLD);
        *survived
    }

    fn trimmed(&mut self, lpn: Lpn) {
        self.survived[lpn.index()] = 0;
    }

    #[inline(always)]
    fn note(&self, lpn: Lpn) -> u16 {
        u16::from(self.survived[lpn.index()])
    }

    fn recovered(&mut self, lpn: Lpn, _stream: u8, note: u16, _time: u64) {
        self.survived[lpn.index()] = note.min(u16::from(OLD)) as u8;
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.survived, lpn.index());
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

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let survived = vec![0; context.logical_pages as usize];
        NoParams::read(args).map(|_| Self { survived })
    }
}
