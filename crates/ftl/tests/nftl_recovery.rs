//! NFTL after the loss of power: at every operation of many histories, in every way in which an
//! operation can be cut off, and once more at every operation of the recovery.
//!
//! A failure prints its case, `Case { seed: …, at: …, cut: … }`; put it into
//! `one_case` and run that test to see it alone.

mod common;

use common::Draws;
use thermocline_flash::{Condition, FlashError, Geometry, Lpn, Rules};
use thermocline_ftl::{
    DeadPages, FtlError, Inspect, PageIo, Upkeep,
    nftl::{Choice, Config, Nftl},
};
use thermocline_media::{Cut, Faulty, Ram};
use thermocline_policy::{dead::Reclaim, nftl::FreeOrder};

type Chip = Faulty<Ram>;

/// A history and where it is cut off.
#[derive(Clone, Copy, Debug)]
struct Case {
    seed: u64,
    /// Programs, copies and erases that are done before.
    at: u64,
    cut: Cut,
}

/// The allowed results of a read. Version 0 stands for no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Exactly(u32),
    /// Trimmed, or taken for dead: nothing, or any version up to the last.
    Anything,
}

/// The host's model.
#[derive(Clone, Debug)]
struct Host {
    pages: Vec<Expected>,
    /// The version that each page holds, or held when it was marked dead.
    held: Vec<u32>,
    /// The last version written of each page, whether or not the write returned.
    versions: Vec<u32>,
    /// The page whose write was cut off.
    pending: Option<u32>,
}

impl Host {
    fn allows(&self, lpn: u32, version: u32) -> bool {
        let last = self.versions[lpn as usize];
        match self.pages[lpn as usize] {
            Expected::Exactly(expected) if version == expected => true,
            Expected::Exactly(_) => self.pending == Some(lpn) && version == last,
            Expected::Anything => version <= last,
        }
    }
}

struct Device {
    geometry: Geometry,
    rules: Rules,
    wears_out: bool,
    config: Config,
    operations: u32,
}

impl Device {
    fn draw(draws: &mut Draws) -> Self {
        let (blocks, pages) = (5 + draws.below(5), 2 + draws.below(4));
        let header_pages = draws.below(2);
        let geometry = Geometry {
            banks: 1,
            channels: 1,
            blocks_per_bank: blocks,
            pages_per_block: pages + header_pages,
            page_size: 8,
            oob_size: 16,
            header_pages,
            system_blocks: draws.below(2),
        };
        let most = (geometry.data_blocks() - 2) * pages;
        let config = Config {
            choice: if draws.one_in(2) { Choice::CostBenefit } else { Choice::Greedy },
            free_order: [FreeOrder::Fifo, FreeOrder::Lifo, FreeOrder::Lowest]
                [draws.below(3) as usize],
            start_percent: draws.below(60),
            stop_percent: 60 + draws.below(40),
            wear_gap: (!draws.one_in(4)).then(|| draws.below(3)),
            idle_dead_pages: 1 + draws.below(pages),
            reclaim: draws.one_in(2).then(|| Reclaim {
                delta: 0.1,
                mu: 0.3,
                target: 0.05,
                cap: draws.one_in(2),
                collect: draws.one_in(2),
            }),
            ..Config::new(most - draws.below(most / 2))
        };
        Self {
            geometry,
            rules: Rules { in_order: draws.one_in(2), endurance: 8, initial_bad_blocks: 0 },
            wears_out: draws.one_in(4),
            config,
            operations: 20 + draws.below(60),
        }
    }

    fn chip(&self) -> Chip {
        let ram = Ram::new(self.geometry, self.rules);
        Faulty::new(if self.wears_out { ram.that_wears_out() } else { ram })
    }
}

fn payload(lpn: u32, version: u32) -> [u8; 8] {
    (u64::from(version) << 32 | u64::from(lpn)).to_le_bytes()
}

fn is_power_loss(e: FtlError) -> bool {
    e == FtlError::Flash(FlashError::NoPower)
}

/// One random operation; false if power failed.
fn operate<C: Condition>(
    layer: &mut Nftl<C>,
    host: &mut Host,
    draws: &mut Draws,
    now: u64,
) -> bool {
    let logical = host.pages.len() as u32;
    let lpn = draws.below(logical) >> draws.below(3);
    let page = lpn as usize;
    match draws.below(12) {
        0 => {
            for lpn in lpn..logical.min(lpn + draws.below(9)) {
                if layer.trim(Lpn(lpn), now) == Ok(true) {
                    host.pages[lpn as usize] = Expected::Anything;
                }
            }
        }
        1 => {
            for lpn in lpn..logical.min(lpn + draws.below(9)) {
                if layer.mark_dead(Lpn(lpn), now) == Ok(true) {
                    host.pages[lpn as usize] = Expected::Anything;
                }
            }
        }
        2 => {
            if layer.revive(Lpn(lpn), now) == Ok(true) {
                host.pages[page] = Expected::Exactly(host.held[page]);
            }
        }
        3 => match layer.clean_in_idle_time(now) {
            Ok(_) => {}
            Err(e) if is_power_loss(e) => return false,
            Err(e) => panic!("idle cleaning: {e}"),
        },
        _ => {
            let before = host.versions[page];
            host.versions[page] += 1;
            match layer.write(Lpn(lpn), &payload(lpn, before + 1), now) {
                Ok(()) => {
                    host.pages[page] = Expected::Exactly(before + 1);
                    host.held[page] = before + 1;
                }
                Err(FtlError::NoSpace) => host.versions[page] = before,
                Err(e) if is_power_loss(e) => {
                    host.pending = Some(lpn);
                    return false;
                }
                Err(e) => panic!("write of page {lpn}: {e}"),
            }
        }
    }
    true
}

/// Reads everything; the results are expected from then on.
fn read_all<C: Condition>(layer: &mut Nftl<C>, host: &mut Host, case: &Case) {
    layer.check().unwrap_or_else(|e| panic!("{case:?}: {e}"));
    for lpn in 0..host.pages.len() as u32 {
        let mut read = [0; 8];
        let holds = layer.read(Lpn(lpn), &mut read).unwrap_or_else(|e| panic!("{case:?}: {e}"));
        let read = u64::from_le_bytes(read);
        let version = (read >> 32) as u32;
        assert!(!holds || read as u32 == lpn, "{case:?}: page {lpn} holds another's data");
        assert_eq!(holds, version > 0, "{case:?}: page {lpn}");
        assert!(
            host.allows(lpn, version),
            "{case:?}: page {lpn} has version {version}, and not {:?} of {} (pending {:?})",
            host.pages[lpn as usize],
            host.versions[lpn as usize],
            host.pending
        );
        host.pages[lpn as usize] = Expected::Exactly(version);
        host.held[lpn as usize] = version;
    }
    host.pending = None;
}

/// Runs the history until power fails, recovers, and goes on; the operations of the history.
fn run(case: &Case) -> u64 {
    let mut draws = Draws(case.seed);
    let device = Device::draw(&mut draws);
    let mut chip = device.chip();
    chip.cut_after(case.at, case.cut);
    let logical = device.config.logical_pages as usize;
    let mut host = Host {
        pages: vec![Expected::Exactly(0); logical],
        held: vec![0; logical],
        versions: vec![0; logical],
        pending: None,
    };
    let mut layer = Nftl::new(&mut chip, device.config.clone()).expect("it fits");
    for now in 0..u64::from(device.operations) {
        if !operate(&mut layer, &mut host, &mut draws, now) {
            break;
        }
    }
    drop(layer);
    let operations = chip.operations();
    chip.power_on();

    // Every operation of the recovery is cut off as well.
    let mut at = 0;
    loop {
        let mut again = chip.clone();
        again.cut_after(at, case.cut);
        let is_whole = Nftl::recover(&mut again, device.config.clone()).is_ok();
        again.power_on();
        settle(&device, again, host.clone(), case);
        if is_whole {
            break;
        }
        at += 1;
    }
    operations
}

/// Recovers, goes on, and recovers once more.
fn settle(device: &Device, mut chip: Chip, mut host: Host, case: &Case) {
    let config = || device.config.clone();
    let mut layer = Nftl::recover(&mut chip, config()).unwrap_or_else(|e| panic!("{case:?}: {e}"));
    read_all(&mut layer, &mut host, case);
    let mut draws = Draws(case.seed ^ case.at);
    for now in 0..15 {
        assert!(operate(&mut layer, &mut host, &mut draws, now), "{case:?}");
    }
    // Marks and trims hold before the end; after a recovery they may not.
    let mut at_the_end = host.clone();
    read_all(&mut layer, &mut at_the_end, case);
    drop(layer);
    let mut layer = Nftl::recover(&mut chip, config()).unwrap_or_else(|e| panic!("{case:?}: {e}"));
    read_all(&mut layer, &mut host, case);
}

/// Every cut of the histories of some seeds.
fn exhaust(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let whole = run(&Case { seed, at: u64::MAX, cut: Cut::Before });
        for at in 0..whole {
            for cut in [Cut::Before, Cut::Torn, Cut::Partly(seed ^ at), Cut::After] {
                run(&Case { seed, at, cut });
            }
        }
    }
}

#[test]
fn every_cut_leaves_what_was_written_part_one() {
    exhaust(0..350);
}

#[test]
fn every_cut_leaves_what_was_written_part_two() {
    exhaust(350..700);
}

#[test]
fn one_case() {
    run(&Case { seed: 0, at: 10, cut: Cut::Torn });
}
