//! Policies from elsewhere decide as their twins of the catalogue do, and wrong answers leave the layer in order.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use crate::common::{CARD, Draws, Ftl, Named, Setup, foreign};

use thermocline_flash::{BlockId, Lpn};
use thermocline_ftl::{Inspect, PageIo, PageMapped};
use thermocline_policy::{
    BlockView,
    foreign::{
        BatchPlacement, BatchVictim, Failure, ForeignPlacement, ForeignVictim, PlacementShape,
        VictimShape,
    },
    placement::Cleaning,
};

/// Writes in lots that are announced, with trims between them.
fn drive(layer: &mut dyn Ftl, writes: u32) -> (Vec<u32>, Vec<u32>) {
    let logical = layer.logical_pages();
    for lpn in 0..logical {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
    }
    layer.filled(0).expect("filled");
    let (mut draws, mut now) = (Draws(29), 0);
    while now < u64::from(writes) {
        let page = |draws: &mut Draws| {
            if draws.one_in(2) { draws.below(logical) } else { draws.below(logical / 16) * 16 }
        };
        let lot: Vec<_> = (0..500).map(|_| Lpn(page(&mut draws))).collect();
        if let Some(ahead) = layer.ahead() {
            ahead.coming(&mut lot.iter().map(|&lpn| (lpn, 0)));
        }
        for lpn in lot {
            now += 1;
            if draws.one_in(40) {
                layer.trim(Lpn(draws.below(logical)), now).expect("trimmed");
            }
            // Read-only data are announced, and the placement is not asked.
            if draws.one_in(50) {
                layer.write_read_only(lpn, &[], now).expect("written");
            } else {
                layer.write(lpn, &[], now).expect("written");
            }
        }
    }
    layer.check().expect("in order");
    let erases = (0..layer.blocks().len()).map(|b| layer.erases(BlockId(b)));
    (erases.collect(), (0..logical).map(|lpn| layer.locate(Lpn(lpn)).0).collect())
}

#[test]
fn foreign_policies_decide_as_their_twins() {
    for (theirs, ours) in [
        (["greedy", "dac"], ["foreign-greedy", "foreign-dac"]),
        (["greedy", "dac"], ["greedy", "foreign-dac"]),
        (["cost-benefit", "one-stream"], ["foreign-cost-benefit", "one-stream"]),
    ] {
        for apart in [false, true] {
            let run = |[victim, placement]: [&'static str; 2]| {
                let victim = match victim {
                    "cost-benefit" => Named::with(victim, &[("transform", "identity")]),
                    _ => Named::plain(victim),
                };
                let mut setup = Setup::new(CARD, 5000, victim, Named::plain(placement));
                setup.config.read_only_separation = apart;
                drive(&mut *setup.build(), 40_000)
            };
            assert_eq!(run(theirs), run(ours), "{theirs:?} and {ours:?}, apart: {apart}");
        }
    }
}

/// Answers whatever comes to mind.
struct Mad(Draws, u32);

impl Mad {
    fn fill(&mut self, streams: &mut [u8]) -> Result<(), Failure> {
        self.1 += 1;
        let bad = self.1 > 40 && self.0.one_in(30);
        streams.fill_with(|| if bad { 250 } else { self.0.below(3) as u8 });
        if self.1 > 40 && self.0.one_in(30) { Err("no more".into()) } else { Ok(()) }
    }
}

impl BatchPlacement for Mad {
    fn shape(&self) -> PlacementShape {
        PlacementShape {
            streams: 3,
            host: true,
            survivors: true,
            batch: 64,
            stale: true,
            written: true,
            filled: true,
            trimmed: true,
            spilt: true,
            blocks: true,
        }
    }
    fn host(&mut self, _: &[u32], _: u64, streams: &mut [u8]) -> Result<(), Failure> {
        self.fill(streams)
    }
    fn survivors(&mut self, _: &Cleaning, _: &[u32], to: &mut [u8]) -> Result<(), Failure> {
        self.fill(to)
    }
}

impl BatchVictim for Mad {
    fn shape(&mut self, _: u32) -> Result<VictimShape, Failure> {
        Ok(VictimShape { watches: true, answered: true, ..VictimShape::default() })
    }
    fn choose(&mut self, blocks: &BlockView, _: u64) -> Result<Option<u32>, Failure> {
        self.1 += 1;
        if self.1 > 40 && self.0.one_in(30) {
            return Ok(Some(self.0.below(2 * blocks.len())));
        }
        Ok(blocks
            .lightest()
            .or_else(|| (0..blocks.len()).map(BlockId).find(|block| blocks.is_candidate(*block)))
            .map(|block| block.0))
    }
    fn age(&self, _: u64) -> Result<f64, Failure> {
        Ok(f64::NAN)
    }
    fn written(&mut self, _: &[u32]) -> Result<(), Failure> {
        Ok(())
    }
    fn answered(&mut self, _: bool) -> Result<(), Failure> {
        Ok(())
    }
}

#[test]
fn wrong_answers_are_told_and_leave_the_layer_in_order() {
    for seed in 0..20 {
        for by_victim in [false, true] {
            let setup = Setup::new(CARD, 4500, Named::plain("greedy"), Named::plain("one-stream"));
            let report = Arc::new(foreign::Lenient::default());
            let mad = || Box::new(Mad(Draws(seed), 0));
            let placement = ForeignPlacement::new("mad", mad(), 4500, report.clone())
                .expect("its shape is sound");
            let pages = CARD.data_pages_per_block();
            let victim = |_| -> Box<dyn thermocline_policy::victim::Victim> {
                if by_victim {
                    Box::new(ForeignVictim::new("mad", Ok(mad()), pages, report.clone()))
                } else {
                    setup.build_victim()
                }
            };
            let mut layer =
                PageMapped::new(setup.chip(), placement, victim, setup.config).expect("it fits");
            for lpn in 0..4500 {
                layer.fill(Lpn(lpn), false, 0).expect("filled");
            }
            let mut draws = Draws(seed);
            let mut write = |now| layer.write(Lpn(draws.below(4500)), &[], now);
            // Whoever chooses no victim any more ends with a full device, and without its reserve.
            let is_full = (1..20_000).any(|now| write(now).is_err());
            assert!(report.0.load(Relaxed), "it went wrong");
            assert!(by_victim || !is_full);
            if !is_full {
                layer.check().expect("in order");
            }
        }
    }
}
