//! Each read in the life of a small store of each layer fails: once, and permanently.
//!
//! A read that fails once costs nothing: no request fails, and each page holds its last write. A permanently
//! unreadable page is an error and stays one: neither older data nor zeros appear.
//!
//! `THERMOCLINE_CRASH_SECONDS` sets the time of the search; by default some hundred reads of each history
//! fail.

use std::time::{Duration, Instant};

use thermocline_assembly::{AnyLayer, AssemblyError, Device, PolicySpec, Store, chips::plainest};
use thermocline_flash::{
    BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob, Ppn, Rules, SimulatedTime,
};
use thermocline_ftl::{Format, FtlError, Holds, Mount};
use thermocline_media::Ram;
use thermocline_policy::preset::LayerKind;

use crate::damage::Draws;

const PAGES: u32 = 96;
const GEOMETRY: Geometry = Geometry {
    banks: 1,
    channels: 1,
    blocks_per_bank: 36,
    pages_per_block: 8,
    page_size: 256,
    oob_size: 64,
    header_pages: 0,
    system_blocks: 10,
};
const RULES: Rules = Rules { in_order: true, endurance: 1 << 30, initial_bad_blocks: 0 };

/// How a read fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Once.
    Once,
    /// Until the block is erased, be it the payload of a page of data.
    ForEver,
}

/// A chip in memory one of whose reads fails.
#[derive(Clone)]
struct Flaky {
    ram: Ram,
    reads: u64,
    /// The read that fails, counted from 1; 0 for none.
    fails: u64,
    how: How,
    stuck: Option<Ppn>,
}

impl Flaky {
    fn new(fails: u64, how: How) -> Self {
        Self { ram: Ram::new(GEOMETRY, RULES), reads: 0, fails, how, stuck: None }
    }

    fn read_once(&mut self, from: Ppn, is_payload: bool) -> Result<(), FlashError> {
        self.reads += 1;
        let is_data = GEOMETRY.block_of(from).0 < GEOMETRY.data_blocks();
        if self.how == How::ForEver {
            // The read of that number, or the next eligible one.
            if self.fails > 0 && self.fails <= self.reads && is_payload && is_data {
                (self.fails, self.stuck) = (0, Some(from));
            }
            let is_stuck = is_payload && self.stuck == Some(from);
            return if is_stuck { Err(FlashError::Unreadable(from)) } else { Ok(()) };
        }
        match self.reads == self.fails {
            true => Err(FlashError::Unreadable(from)),
            false => Ok(()),
        }
    }
}

impl Flash for Flaky {
    fn geometry(&self) -> &Geometry {
        self.ram.geometry()
    }
    fn in_order(&self) -> bool {
        self.ram.in_order()
    }
    fn is_bad(&self, block: BlockId) -> bool {
        self.ram.is_bad(block)
    }
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.ram.mark_bad(block)
    }
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.read_once(from, true)?;
        self.ram.read(from, into)
    }
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        self.read_once(from, false)?;
        self.ram.read_oob(from)
    }
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.ram.program(to, oob, data)
    }
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.read_once(from, true)?;
        self.ram.copy(from, to, oob)
    }
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.stuck = self.stuck.filter(|&page| GEOMETRY.block_of(page) != block);
        self.ram.erase(block)
    }
    fn sync(&mut self) -> Result<(), FlashError> {
        self.ram.sync()
    }
}

impl Condition for Flaky {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.ram.erase_count(block)
    }
}

impl SimulatedTime for Flaky {}

fn store(layer: LayerKind) -> Store {
    let mut device = Device::load("slc-generic").expect("a profile");
    (device.profile.geometry, device.profile.rules) = (GEOMETRY, RULES);
    let policy = plainest(layer);
    let policy = PolicySpec::parse(policy, None, None).and_then(|policy| policy.on(layer));
    Store::new(device, policy.expect("a policy"), PAGES)
}

/// A store in use, and what each page holds: the number of its write, 0 for zeros.
struct Life {
    store: Store,
    layer: AnyLayer<Flaky>,
    holds: Vec<u32>,
    /// Pages that were lost, and not written or trimmed since.
    lost: Vec<bool>,
    /// A page whose write or trim failed, and its content before.
    unsure: Option<(u32, u32)>,
    written: u32,
    now: u64,
    draws: Draws,
}

fn page(content: u32) -> Vec<u8> {
    content.to_le_bytes().repeat(GEOMETRY.page_size as usize / 4)
}

impl Life {
    fn begin(layer: LayerKind, chip: Flaky) -> Result<Self, AssemblyError> {
        let store = store(layer);
        let layer = store.format(chip, Format::default())?;
        let (holds, lost) = (vec![0; PAGES as usize], vec![false; PAGES as usize]);
        Ok(Self { store, layer, holds, lost, unsure: None, written: 0, now: 1, draws: Draws(7) })
    }

    fn operate(&mut self, operations: u32) -> Result<(), String> {
        for _ in 0..operations {
            self.now += 1;
            let among = if self.draws.one_in(3) { PAGES } else { PAGES / 4 };
            let lpn = self.draws.below(among);
            let before = self.holds[lpn as usize];
            let done = match self.draws.below(20) {
                0 => {
                    self.holds[lpn as usize] = 0;
                    self.layer.trim(Lpn(lpn), self.now).map(drop)
                }
                1 => self.flush(),
                2 => self.layer.upkeep().scrub(self.now).map(drop),
                _ => {
                    self.written += 1;
                    self.holds[lpn as usize] = self.written;
                    self.layer.write(Lpn(lpn), &page(self.written), self.now)
                }
            };
            self.lost[lpn as usize] &= self.layer.inspect().holds(Lpn(lpn)) == Holds::Lost;
            done.map_err(|e| {
                self.unsure = Some((lpn, before));
                e.to_string()
            })?;
        }
        self.flush().map_err(|e| e.to_string())
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        self.layer.upkeep().settle(self.now)?;
        let covered = self.layer.upkeep().last_program();
        self.layer.chip_mut().sync()?;
        self.layer.upkeep().synced(covered);
        Ok(())
    }

    /// Stopped in order, or cut off, and mounted again.
    fn again(&mut self, is_stopped: bool, how: Mount) -> Result<(), String> {
        if is_stopped {
            self.layer.upkeep().unmount(self.now).map_err(|e| e.to_string())?;
            self.layer.chip_mut().sync().map_err(|e| e.to_string())?;
        }
        let chip = self.layer.chip().clone();
        self.layer = self.store.mount(chip, how).map_err(|e| e.to_string())?.0;
        Ok(())
    }

    /// Reads all pages: each is right, or an error where allowed. Lost pages stay lost.
    fn look(&mut self, may_fail: bool, case: &str) {
        let mut into = page(7);
        for lpn in 0..PAGES {
            let holds = self.layer.inspect().holds(Lpn(lpn));
            let at = lpn as usize;
            assert!(
                !self.lost[at] || holds == Holds::Lost,
                "{case}: page {lpn} was lost, and is not any more"
            );
            match self.layer.read(Lpn(lpn), &mut into) {
                Ok(holds_data) => {
                    if let Some((_, before)) = self.unsure.take_if(|page| page.0 == lpn)
                        && into == page(before)
                    {
                        self.holds[at] = before;
                    }
                    let found = u32::from_le_bytes([into[0], into[1], into[2], into[3]]);
                    assert_eq!(found, self.holds[at], "{case}: page {lpn}");
                    assert_eq!(into, page(found), "{case}: page {lpn}");
                    assert_eq!(holds, if holds_data { Holds::Data } else { Holds::Nothing });
                }
                Err(e) => {
                    assert!(may_fail, "{case}: page {lpn}: {e}");
                    assert_ne!(
                        holds,
                        Holds::Nothing,
                        "{case}: page {lpn} is an error, and passes for zeros"
                    );
                    let says_so = matches!(e, FtlError::Lost(_));
                    assert!(holds != Holds::Lost || says_so, "{case}: page {lpn}: {e}");
                    self.lost[at] |= holds == Holds::Lost;
                }
            }
        }
    }

    /// All of a life.
    fn live(&mut self) -> Result<(), String> {
        self.operate(200)?;
        self.again(true, Mount::Quick)?;
        self.operate(120)?;
        self.again(false, Mount::Quick)?;
        self.operate(60)?;
        self.again(false, Mount::FromPages)?;
        self.operate(40)?;
        Ok(())
    }
}

fn lives(layer: LayerKind) {
    let seconds = std::env::var("THERMOCLINE_CRASH_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let begun = Instant::now();
    let mut undisturbed = Life::begin(layer, Flaky::new(0, How::Once)).expect("formatted");
    undisturbed.live().expect("nothing fails");
    undisturbed.look(false, "nothing fails");
    let reads = undisturbed.layer.chip().reads;
    let step = if seconds.is_some() { 1 } else { reads / 100 };
    for fails in (1..reads).step_by(step.max(1) as usize) {
        let case = format!("{layer:?}, read {fails} of {reads} fails");
        let mut life = Life::begin(layer, Flaky::new(fails, How::Once))
            .unwrap_or_else(|e| panic!("{case}: {e}"));
        life.live().unwrap_or_else(|e| panic!("{case}: {e}"));
        life.look(false, &case);

        // This store detects less damage than the others.
        if layer != LayerKind::DemandPaged {
            life_with_a_page_that_stays_unreadable(layer, fails);
        }
        if seconds.is_some_and(|seconds| begun.elapsed() > seconds) {
            return;
        }
    }
}

/// A page that becomes unreadable is an error or right, also when it can be read again.
fn life_with_a_page_that_stays_unreadable(layer: LayerKind, fails: u64) {
    let Ok(mut life) = Life::begin(layer, Flaky::new(fails, How::ForEver)) else { return };
    // Requests may fail that need the page.
    let ended = life.live();
    let case = format!("{layer:?}, from read {fails} on a page cannot be read, {ended:?}");
    life.look(true, &case);
    life.layer.chip_mut().how = How::Once;
    for (is_stopped, how) in
        [(false, Mount::Quick), (false, Mount::FromPages), (true, Mount::Quick)]
    {
        let case = format!("{case}, stopped {is_stopped}, {how:?}");
        life.again(is_stopped, how).unwrap_or_else(|e| panic!("{case}: {e}"));
        life.look(true, &case);
        life.operate(60).unwrap_or_else(|e| panic!("{case}: {e}"));
        life.look(true, &case);
    }
}

#[test]
fn a_read_that_fails_once_costs_nothing_and_what_cannot_be_read_is_an_error_page_mapped() {
    lives(LayerKind::PageMapped);
}

#[test]
fn so_it_is_with_nftl() {
    lives(LayerKind::Nftl);
}

#[test]
fn so_it_is_in_place() {
    lives(LayerKind::InPlace);
}

#[test]
fn so_it_is_where_the_map_lies_on_the_chip() {
    lives(LayerKind::DemandPaged);
}
