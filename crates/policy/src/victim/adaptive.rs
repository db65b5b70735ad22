//! Adaptive: greedy while the host's recent writes look uniform, CAT otherwise (DAC paper,
//! "Adaptive cleaning policy").
//!
//! The paper resets the reference counts at every cleaning. A cleaning then sees only about seven
//! writes, which allow no verdict, so nearly all traffic looks uniform. Here counts are kept until
//! there are enough for a verdict. The literal reset is a parameter.

use alloc::{boxed::Box, format, vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::{Cat, Factor, Victim, VictimEntry, monitor::Monitor};
use crate::{
    BlockView, ParamError, PolicyInfo, Side, Ticks,
    age::{AgeSource, Exponent, Shape, Transform},
    choice, params,
};

choice! {
    /// When the reference counts are reset.
    pub enum Reset {
        /// After each verdict.
        Verdict = "verdict",
        /// At each cleaning, so that each verdict uses the writes since the last cleaning.
        Cleaning = "cleaning",
    }
}

params! {
    /// Parameters of [`Adaptive`].
    pub struct AdaptiveParams {
        /// Least writes of counted pages before a verdict, by reset=verdict; of a sample, twice the
        /// square root of its pages if that is more.
        window: u32 = 200,
        /// Standard deviations of the writes' variance beyond which they are not uniform.
        z: f64 = 3.0,
        /// When the reference counts are reset.
        reset: Reset = Reset::Verdict,
        /// Most pages whose writes are counted, at least 64; devices of more are sampled.
        entries: u32 = 32_768,
        /// What a block's age counts from.
        age: AgeSource = AgeSource::Created,
        /// The shape of the age transformation.
        transform: Shape = Shape::Log,
        /// Time scale of the transformation; auto: 1700 mean gaps between page writes, or the
        /// device's.
        tau: Option<Ticks> = None,
        /// Exponent of transform=power.
        exponent: Exponent = Exponent(0.35),
        /// Added to the erase count; the paper's text says 0, 1 avoids products of 0.
        offset: u32 = 1,
    }
}

const LEAST_ENTRIES: u32 = 64;

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "adaptive",
        aliases: &[],
        source: "DAC paper, Adaptive cleaning policy",
        summary: "greedy while recent writes look uniform, else CAT; for traffic that changes",
        params: AdaptiveParams::info,
    },
    build: |args, context| {
        let p = AdaptiveParams::read(args)?;
        if p.entries < LEAST_ENTRIES {
            return Err(ParamError::Value {
                key: "entries".into(),
                value: format!("{}", p.entries),
                expected: format!("at least {LEAST_ENTRIES}"),
            });
        }
        let transform = Transform::new(p.transform, p.tau, context.time_scale, p.exponent.0);
        Ok(Box::new(Adaptive {
            cat: Cat::new(p.age, transform, p.offset),
            monitor: Monitor::new(context.logical_pages, context.pages_apart(), p.entries),
            window: p.window,
            z: p.z,
            reset: p.reset,
            uniform: true,
            by_greedy: 0,
            by_cat: 0,
            unanswered: false,
        }))
    },
};

/// Picks greedy's block or CAT's.
#[derive(Clone, Debug)]
pub struct Adaptive {
    cat: Cat,
    monitor: Monitor,
    window: u32,
    z: f64,
    reset: Reset,
    /// The last verdict.
    uniform: bool,
    by_greedy: u64,
    by_cat: u64,
    /// Whether the outcome of the last choice is still unknown.
    unanswered: bool,
}

impl Adaptive {
    fn analyze(&mut self) {
        let due = match self.reset {
            Reset::Verdict => self.monitor.has_seen_any() && self.monitor.has_seen(self.window),
            // Without writes since the last cleaning the variance is undefined, and traffic counts
            // as uniform.
            Reset::Cleaning => true,
        };
        if due {
            self.uniform = self.monitor.looks_uniform(self.z);
            self.monitor.reset();
        }
    }
}

impl Victim for Adaptive {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        self.analyze();
        let chosen = if self.uniform { blocks.by_side() } else { self.cat.choose(blocks, now) };
        self.unanswered = chosen.is_some();
        if chosen.is_some() {
            self.by_greedy += u64::from(self.uniform);
            self.by_cat += u64::from(!self.uniform);
        }
        chosen
    }

    /// By the last verdict.
    fn cost(&self, blocks: &BlockView, block: BlockId, now: u64) -> Option<f64> {
        if self.uniform {
            blocks.is_candidate(block).then(|| f64::from(blocks.block(block).valid))
        } else {
            self.cat.cost(blocks, block, now)
        }
    }

    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64) {
        self.cat.ratio(valid, pages)
    }

    fn factor(&self, erases: u32) -> Factor {
        self.cat.factor(erases)
    }

    fn age_source(&self) -> Option<AgeSource> {
        self.cat.age_source()
    }

    fn side(&self) -> Option<Side> {
        Some(Side::LeastValid)
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, written: &[Lpn]) {
        for &lpn in written {
            self.monitor.wrote(lpn);
        }
    }

    fn answered(&mut self, cleaned: bool) {
        if core::mem::take(&mut self.unanswered) && !cleaned {
            self.by_greedy -= u64::from(self.uniform);
            self.by_cat -= u64::from(!self.uniform);
        }
    }

    fn choices(&self) -> Vec<(&'static str, u64)> {
        vec![("greedy", self.by_greedy), ("cat", self.by_cat)]
    }
}
