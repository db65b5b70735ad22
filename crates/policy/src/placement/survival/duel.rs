//! The duel: a [contest](crate::placement::contest) of other exponents and other numbers of streams.
//! Where hints are read, another contest is one of streams by intervals and streams by handles. It is
//! apart so that the duel comes out as it would without hints.
//!
//! Memory: 13 to 17 bytes for each page of a ghost (map, owner, mean, and its share of a block).

use alloc::{format, string::String};

use super::{Survival, SurvivalParams, curves::Exponents};
use crate::{
    Context,
    placement::contest::{Contest, Shape},
};

/// A rule in the duel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) exponents: Exponents,
    /// Number of streams, in halves of the number that the spare blocks suggest.
    pub(super) halves: u32,
}

impl Rule {
    pub(super) const fn new(hazard: f64, age: f64, halves: u32) -> Self {
        Self { exponents: Exponents { hazard, age }, halves }
    }

    /// The number of streams of the rule, given the suggested and the maximum number.
    pub(super) fn streams(self, suggested: u8, most: u8) -> u8 {
        (u32::from(suggested) * self.halves / 2).clamp(2, most.into()) as u8
    }
}

/// The rivals of the configured rule.
const RIVALS: [Rule; 3] = [Rule::new(0.2, 0.2, 4), Rule::new(0.8, 0.0, 1), Rule::new(0.0, 0.0, 2)];

/// The ghosts, and the rule that the device follows.
pub(super) type Duel = Contest<Rule, Survival>;

/// The rivals for a device, or the reason why there cannot be any.
pub(super) fn begin(params: &SurvivalParams, device: &Context) -> Result<Duel, String> {
    let shape = Shape::new(device)?;
    let own = Rule::new(params.hazard, params.age, 2);
    let rivals = RIVALS.into_iter().filter(|rival| *rival != own);
    let rules = core::iter::once(own).chain(rivals);
    let simulated = rules.map(|rule| (rule, Survival::new(params, &shape.ghost, rule, 0, 0)));
    Ok(Contest::new(&shape, simulated))
}

/// The contest of streams by intervals (`false`) and by handles, and how many handles are then kept
/// apart; `None` where there is no room for it, or no hints are read.
pub(super) fn of_handles(
    params: &SurvivalParams,
    device: &Context,
) -> Option<(Contest<bool, Survival>, u8)> {
    let shape = Shape::new(device).ok()?;
    let apart = Some(shape.suitable_handles(device, params.hints)).filter(|apart| *apart > 0)?;
    let own = Rule::new(params.hazard, params.age, 2);
    let simulated = [false, true].map(|by_handle| {
        let mut ghost = Survival::new(params, &shape.ghost, own, 0, apart);
        ghost.by_handle = by_handle;
        (by_handle, ghost)
    });
    Some((Contest::new(&shape, simulated), apart))
}

/// The rule that the device follows, in words.
pub(super) fn report(duel: &Duel) -> String {
    let Rule { exponents: Exponents { hazard, age }, halves } = duel.followed();
    let streams = ["", "half the streams", "all streams", "", "twice the streams"][halves as usize];
    format!("hazard={hazard}, age={age}, {streams}; {}", duel.report())
}

#[cfg(test)]
mod tests {
    use thermocline_flash::Lpn;

    use super::*;
    use crate::{Args, placement::Registered};

    /// The default parameters.
    fn defaults() -> SurvivalParams {
        SurvivalParams::read(&Args::default()).expect("defaults")
    }

    fn draws() -> impl FnMut(u32) -> u32 {
        let mut state = 88_172_645_463_325_252_u64;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (((state >> 32) * u64::from(below)) >> 32) as u32
        }
    }

    #[test]
    fn ghosts_have_the_spare_blocks_of_the_device_and_pages_for_all_of_the_sample() {
        for (blocks, pages_per_block, banks) in
            [(400, 256, 1), (400, 64, 1), (4000, 100, 8), (40_000, 1024, 1), (100_000, 2048, 16)]
        {
            let logical_pages = blocks / 10 * 9 * pages_per_block;
            let device =
                Context { logical_pages, pages_per_block, banks, blocks, ..Context::smallest() };
            let mut duel = begin(&defaults(), &device).expect("there is room");
            let pages = |lpn| duel.sample(Lpn(lpn));
            assert!((0..logical_pages).filter_map(pages).all(|page| page < duel.logical_pages));
            let sampled = (0..logical_pages).filter(|&lpn| duel.sample(Lpn(lpn)).is_some()).count();
            let share = f64::from(logical_pages) / sampled as f64;
            assert!(
                (share / f64::from(1 << duel.shift) - 1.0).abs() < 0.01,
                "{device:?}: 1/{share}"
            );
            // The last page is covered too.
            duel.filled(Lpn(logical_pages - 1));
        }
    }

    #[test]
    fn small_devices_have_no_duel_and_say_why() {
        let small = |blocks, pages_per_block| {
            let device = Context {
                logical_pages: 90 * pages_per_block,
                pages_per_block,
                blocks,
                ..Context::smallest()
            };
            begin(&defaults(), &device).err()
        };
        assert_eq!(small(110, 256), None);
        assert!(small(110, 31).is_some_and(|why| why.contains("32 pages")));
        assert!(small(96, 256).is_some_and(|why| why.contains("spare blocks")));
    }

    #[test]
    fn another_rule_is_followed_when_it_copies_clearly_less() {
        let device = Context {
            logical_pages: 90 * 256,
            pages_per_block: 256,
            blocks: 110,
            ..Context::smallest()
        };
        let mut duel = begin(&defaults(), &device).expect("there is room");
        let round = |duel: &mut Duel, copies: [u64; 4]| {
            for ((_, ghost), copies) in duel.ghosts.iter_mut().zip(copies) {
                ghost.copies = copies;
            }
            duel.written = 4000;
            duel.verdict()
        };
        assert_eq!(round(&mut duel, [1000, 990, 1200, 1300]), None, "a near tie");
        assert_eq!(round(&mut duel, [1000, 700, 1200, 1300]), Some(RIVALS[0]));
        assert_eq!(round(&mut duel, [650, 700, 1200, 1300]), None, "a near tie");
        assert_eq!(round(&mut duel, [300, 700, 1200, 1300]).map(|rule| rule.halves), Some(2));
        assert_eq!((duel.leader, duel.changes), (0, 2));
        assert_eq!(round(&mut duel, [12, 2, 2, 2]), None, "chance");
    }

    #[test]
    fn a_change_of_rule_and_streams_loses_no_page() {
        let context = Context {
            logical_pages: 300 * 64,
            blocks: 400,
            pages_per_block: 64,
            ..Context::smallest()
        };
        let mut whole = Survival::build(&Args::default(), &context).expect("defaults");
        let most = whole.streams_of_data();
        let suggested = whole.suggested;
        assert_eq!((suggested, most), (8, 16));
        let used = |whole: &Survival| {
            (0..most).filter(|&s| crate::placement::Streams::is_used(whole, s)).count()
        };
        for (rule, streams) in [(RIVALS[0], 16), (RIVALS[1], 4), (RIVALS[2], 8), (RIVALS[1], 4)] {
            whole.follow(rule);
            assert_eq!(used(&whole), streams, "{rule:?}");
        }
        let mut draw = draws();
        let Ok(duel) = &mut whole.duel else { panic!("there is room for a duel") };
        (0..300 * 64).for_each(|lpn| duel.filled(Lpn(lpn)));
        for n in 0..400_000 {
            let lpn = if draw(10) < 9 { draw(300 * 6) } else { draw(300 * 64) };
            if n % 50 == 0 {
                duel.trimmed(Lpn(lpn));
            } else {
                duel.written(Lpn(lpn), 0);
            }
        }
        for (rule, ghost) in &duel.ghosts {
            ghost.check();
            assert!(ghost.copies > 100, "{rule:?}");
        }
    }
}
