//! NFTL against a naive model written from its specification: places, counts and contents after
//! every operation of random histories.

#[path = "common/nftl.rs"]
mod reference;

mod common;

use common::Draws;
use reference::{Full, Page, Reference};
use thermocline_flash::{BlockId, Geometry, Lpn, Ppn, Rules};
use thermocline_ftl::{
    Counters, DeadPages, FtlError, Inspect, PageIo, Upkeep,
    nftl::{Choice, Config, Nftl},
};
use thermocline_media::Ram;
use thermocline_policy::{dead::Reclaim, nftl::FreeOrder};

struct History {
    geometry: Geometry,
    rules: Rules,
    wears_out: bool,
    bad: Vec<BlockId>,
    config: Config,
    /// One of `hints` operations is a trim, a mark, a revival or idle cleaning.
    hints: u32,
    seed: u64,
}

impl History {
    fn draw(seed: u64) -> Self {
        let mut draws = Draws(seed);
        let blocks = 8 + draws.below(40);
        let pages = 2 + draws.below(9);
        let geometry = Geometry {
            banks: 1,
            channels: 1,
            blocks_per_bank: blocks,
            pages_per_block: pages + draws.below(2),
            page_size: 8,
            oob_size: 16,
            header_pages: 0,
            system_blocks: draws.below(2),
        };
        let geometry = Geometry { header_pages: geometry.pages_per_block - pages, ..geometry };
        let bad: Vec<BlockId> =
            (0..draws.below(3)).map(|_| BlockId(draws.below(geometry.data_blocks()))).collect();
        let usable = (0..geometry.data_blocks()).filter(|&b| !bad.contains(&BlockId(b))).count();
        let most = (usable as u32 - 2) * pages;
        let logical_pages = if draws.one_in(3) { most } else { 1 + draws.below(most) };
        let delta = f64::from(draws.below(30)) / 100.0;
        let start_percent = 5 + draws.below(20);
        let config = Config {
            choice: if draws.one_in(2) { Choice::CostBenefit } else { Choice::Greedy },
            free_order: [FreeOrder::Fifo, FreeOrder::Lifo, FreeOrder::Lowest]
                [draws.below(3) as usize],
            start_percent,
            stop_percent: start_percent + draws.below(30),
            wear_gap: (!draws.one_in(3)).then(|| draws.below(5)),
            idle_dead_pages: draws.below(pages + 2),
            reclaim: draws.one_in(2).then(|| Reclaim {
                delta,
                mu: f64::from(draws.below(100)) / 100.0,
                target: delta * f64::from(draws.below(10)) / 10.0,
                cap: draws.one_in(2),
                collect: draws.one_in(2),
            }),
            ..Config::new(logical_pages)
        };
        let rules = Rules { in_order: draws.one_in(2), endurance: 60, initial_bad_blocks: 0 };
        let wears_out = draws.one_in(3);
        let hints = if draws.one_in(3) { u32::MAX } else { 2 + draws.below(20) };
        Self { geometry, rules, wears_out, bad, config, hints, seed }
    }

    fn chip(&self) -> Ram {
        let chip = Ram::new(self.geometry, self.rules).with_bad_blocks(&self.bad);
        if self.wears_out { chip.that_wears_out() } else { chip }
    }

    fn reference(&self) -> Reference {
        let g = &self.geometry;
        let usable: Vec<usize> = (0..g.data_blocks())
            .filter(|&b| !self.bad.contains(&BlockId(b)))
            .map(|b| b as usize)
            .collect();
        Reference::new(
            self.config.clone(),
            g.blocks() as usize,
            &usable,
            g.data_pages_per_block() as usize,
            self.rules.in_order,
            self.wears_out.then_some(self.rules.endurance),
        )
    }

    /// The counters, and the number of operations until the device was full, if it was.
    fn run(&self, operations: u64) -> (Counters, Option<u64>) {
        let mut draws = Draws(self.seed ^ 0x5eed);
        let mut layer = Nftl::new(self.chip(), self.config.clone()).expect("it fits");
        let mut reference = self.reference();
        let logical = self.config.logical_pages;
        let mut content: Vec<u32> = vec![0; logical as usize];
        let mut now = 0;
        for step in 1..=operations {
            // Time stands still now and then, and some pages are written more often than others.
            now += u64::from(draws.below(3));
            let lpn = draws.below(logical) >> (draws.below(4) * draws.below(2));
            match if draws.one_in(self.hints) { 1 + draws.below(4) } else { 0 } {
                0 => {
                    let done = layer.write(Lpn(lpn), &payload(lpn, step as u32), now);
                    match reference.write(lpn, now) {
                        Ok(()) => {
                            assert_eq!(done, Ok(()));
                            content[lpn as usize] = step as u32;
                        }
                        Err(Full) => {
                            assert_eq!(done, Err(FtlError::NoSpace));
                            self.compare(&mut layer, &reference, &content, step);
                            return (*layer.counters(), Some(step));
                        }
                    }
                }
                // Hosts trim consecutive pages.
                1 | 2 => {
                    let end = logical.min(lpn + draws.below(3 * self.geometry.pages_per_block));
                    let explicit = draws.one_in(2);
                    for lpn in lpn..end {
                        if explicit {
                            assert_eq!(layer.trim(Lpn(lpn), now), Ok(reference.trim(lpn)));
                        } else {
                            let marked = layer.mark_dead(Lpn(lpn), now);
                            assert_eq!(marked, Ok(reference.mark_dead(lpn)));
                        }
                    }
                }
                3 => assert_eq!(layer.revive(Lpn(lpn), now), Ok(reference.revive(lpn))),
                _ => {
                    let cleaned = layer.clean_in_idle_time(now);
                    assert_eq!(cleaned, Ok(reference.clean_in_idle_time()));
                }
            }
            if step % 16 == 0 || operations < 500 {
                self.compare(&mut layer, &reference, &content, step);
            }
        }
        (*layer.counters(), None)
    }

    fn compare(&self, layer: &mut Nftl<Ram>, reference: &Reference, content: &[u32], step: u64) {
        let seed = self.seed;
        layer.check().unwrap_or_else(|e| panic!("seed {seed}, step {step}: {e}"));
        let counters = Counters { host_reads: 0, ..*layer.counters() };
        assert_eq!(counters, reference.counters, "seed {seed}, step {step}");
        assert_eq!(layer.free_blocks() as usize, reference.free.len(), "seed {seed}, step {step}");
        let geometry = self.geometry;
        for (number, block) in (0..).zip(&reference.blocks) {
            assert_eq!(layer.erases(BlockId(number)), block.erases, "seed {seed}, step {step}");
            let live = block.pages.iter().filter(|p| matches!(p, Page::Live(_))).count();
            assert_eq!(layer.valid_pages(BlockId(number)) as usize, live);
        }
        for (lpn, &version) in (0..).zip(content) {
            let place = reference.find(lpn).map_or(Ppn::NONE, |(b, at)| {
                geometry.ppn(BlockId(b as u32), geometry.header_pages + at as u32)
            });
            assert_eq!(layer.locate(Lpn(lpn)), place, "page {lpn}, seed {seed}, step {step}");
            let mut read = [1; 8];
            let holds = layer.read(Lpn(lpn), &mut read).expect("read");
            assert_eq!(holds, place != Ppn::NONE);
            let expected = if holds { payload(lpn, version) } else { [0; 8] };
            assert_eq!(read, expected, "page {lpn}, seed {seed}, step {step}");
        }
    }
}

fn payload(lpn: u32, version: u32) -> [u8; 8] {
    (u64::from(version) << 32 | u64::from(lpn)).to_le_bytes()
}

#[test]
fn places_counts_and_contents_are_those_of_the_specification() {
    let mut of_all = [0; 9];
    for seed in 0..250 {
        let history = History::draw(seed);
        let (c, full) = history.run(3000);
        // Devices that wear out come to their end; no other does.
        assert!(full.is_none() || c.retired > 0, "seed {seed} was full at {full:?}");
        let done = [
            u64::from(full.is_some()),
            c.cleaning_runs,
            c.folds,
            c.forced_folds,
            c.idle_victims,
            c.swap_erases,
            c.swap_copies,
            c.dead_left,
            c.reclaimed,
        ];
        of_all.iter_mut().zip(done).for_each(|(sum, n)| *sum += n);
    }
    assert!(of_all.iter().all(|&n| n > 10), "everything was exercised: {of_all:?}");
}

#[test]
fn short_histories_agree_after_every_operation() {
    for seed in 1000..1400 {
        History::draw(seed).run(300);
    }
}

#[test]
fn a_device_of_the_papers_shape_agrees_over_many_collections() {
    for choice in [Choice::Greedy, Choice::CostBenefit] {
        let geometry = Geometry {
            banks: 1,
            channels: 1,
            blocks_per_bank: 200,
            pages_per_block: 32,
            page_size: 8,
            oob_size: 16,
            header_pages: 0,
            system_blocks: 0,
        };
        let history = History {
            geometry,
            rules: Rules { in_order: false, endurance: 100_000, initial_bad_blocks: 0 },
            wears_out: false,
            bad: Vec::new(),
            config: Config {
                choice,
                idle_dead_pages: 20,
                reclaim: Some(Reclaim {
                    delta: 0.05,
                    mu: 0.5,
                    target: 0.04,
                    cap: true,
                    collect: true,
                }),
                ..Config::new(175 * 32)
            },
            hints: 50,
            seed: 7,
        };
        let (counters, full) = history.run(30_000);
        assert!(counters.cleaning_runs > 5 && full.is_none(), "{counters:?}");
    }
}
