//! Placement by the host's hints where that pays, as measured while the device runs.
//!
//! Hints may say nothing, and each handle keeps a block open. So a [contest](super::contest) of three
//! rules decides: host writes and survivors apart, as [SepGC](super::SepGc) has it, which is followed
//! at first; a stream for each handle and one for all survivors, as [`Hints`](super::Hints) has it;
//! and a stream for each handle and another for its survivors, as
//! [`HintsIsolated`](super::HintsIsolated) has it. A device too small for ghosts stays with the first.
//!
//! Nothing is stored per page. The ghosts take 5 bytes a page at the most.

use alloc::{boxed::Box, format, string::String, vec, vec::Vec};

use thermocline_flash::Lpn;

use super::{
    Ahead, Answer, Cleaning, HostWrite, Place, Placement, Registered, Streams, Survivors,
    contest::{Contest, Shape},
    ghost::Simulated,
    handles::{Handles, HintsParams, UNHINTED},
};
use crate::{Args, Context, ParamError, PolicyInfo};

/// What has streams of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Host writes, and survivors.
    Survivors,
    /// The writes of each handle, and survivors.
    Writes,
    /// The writes of each handle, and the survivors of each handle.
    Handles,
}

/// Follows the best of three rules.
#[derive(Clone, Debug)]
pub struct HintsAdaptive {
    handles: Handles,
    rule: Rule,
    /// The handle of the page that the host writes, and the stream of the victim's survivors.
    handle: u8,
    copied: u8,
    /// The contest, or the reason why there is none.
    contest: Result<Box<Contest<Rule, Self>>, String>,
}

impl HintsAdaptive {
    fn following(rule: Rule, count: u8) -> Self {
        let handles = Handles::of_number(count);
        Self { handles, rule, handle: UNHINTED, copied: count, contest: Err(String::new()) }
    }
}

impl Streams for HintsAdaptive {
    fn streams(&self) -> u8 {
        2 * self.handles.count()
    }

    fn is_used(&self, stream: u8) -> bool {
        let count = self.handles.count();
        match self.rule {
            Rule::Survivors => stream == UNHINTED || stream == count,
            Rule::Writes => stream <= count,
            Rule::Handles => true,
        }
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        stream < self.handles.count()
    }

    fn report(&self) -> Vec<(&'static str, String)> {
        let told = match &self.contest {
            Ok(contest) => {
                let rule = match self.rule {
                    Rule::Survivors => "not used",
                    Rule::Writes => "apart, survivors together",
                    Rule::Handles => "apart, with their survivors",
                };
                format!("{rule}; {}", contest.report())
            }
            Err(why) => format!("not used: {why}"),
        };
        vec![("handles", told)]
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        let count = self.handles.count();
        // Read-only data have a stream beyond these, and stay there.
        let handle = if self.rule == Rule::Handles { victim.stream % count } else { UNHINTED };
        self.copied = count + handle;
    }

    #[inline(always)]
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        Some(&mut self.handles)
    }
}

impl Placement for HintsAdaptive {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        self.handle = self.handles.of(write.lpn());
        self.place(write.lpn(), None, self.handle)
    }

    fn filled(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        if let Ok(contest) = &mut self.contest {
            contest.filled(lpn);
        }
    }

    #[inline(always)]
    fn written(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.handles.written(lpn);
        if let Ok(contest) = &mut self.contest
            && let Some(rule) = contest.written(lpn, self.handle)
        {
            self.rule = rule;
        }
    }

    fn trimmed(&mut self, (): (), lpn: Lpn) {
        if let Ok(contest) = &mut self.contest {
            contest.trimmed(lpn);
        }
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        self.copied
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(self.copied)
    }
}

impl Simulated for HintsAdaptive {
    #[inline(always)]
    fn place(&mut self, _: Lpn, _: Option<Place>, handle: u8) -> u8 {
        if self.rule == Rule::Survivors { UNHINTED } else { handle }
    }

    fn copied(&self) -> u8 {
        self.copied
    }

    fn uses_hints(&self) -> bool {
        self.rule != Rule::Survivors
    }
}

impl Registered for HintsAdaptive {
    const MODELS_HOST: bool = true;
    const INFO: PolicyInfo = PolicyInfo {
        name: "hints-adaptive",
        aliases: &[],
        source: "docs/fdp.md",
        summary: "a stream for each placement hint of the host where that copies less, as ghosts show",
        params: HintsParams::info,
    };

    fn reads_hints(_: &Args) -> bool {
        true
    }

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let hints = Handles::read(args, true)?.count() - 1;
        let device = context.without_zeros();
        let built = Shape::new(&device).and_then(|shape| {
            match shape.suitable_handles(&device, hints.into()) {
                0 => Err(String::from("too few spare blocks for two handles")),
                apart => Ok((shape, apart)),
            }
        });
        let (shape, apart) = match built {
            Ok(both) => both,
            Err(why) => {
                return Ok(Self { contest: Err(why), ..Self::following(Rule::Survivors, 1) });
            }
        };
        let rules = [Rule::Survivors, Rule::Writes, Rule::Handles];
        let rivals = rules.map(|rule| (rule, Self::following(rule, apart)));
        let contest = Ok(Box::new(Contest::new(&shape, rivals)));
        Ok(Self { contest, ..Self::following(Rule::Survivors, apart) })
    }
}
