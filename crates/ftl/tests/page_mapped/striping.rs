//! Striping over banks (striping paper, §3.2 to §5) through the layer: the bank of each page, the
//! choice of victims, and the invariants. Both choices are compared with the test's own records:
//! naive lists of hot pages, and a chip that records every program.

use crate::common;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use common::{Draws, Heard, Listener};
use thermocline_flash::{
    BlockId, Condition, CountingChip, Flash, Geometry, Lpn, Oob, Ppn, Rules, Timing,
};
use thermocline_ftl::{Config, Inspect, Layer, PageIo, PageMapped};
use thermocline_policy::{
    BlockView, State,
    bank::BankAssignment,
    placement::TwoLevelLru,
    trigger::Trigger,
    victim::{Factor, Victim, Weight},
};

/// The two lists as the paper describes them, the most recent page first.
#[derive(Debug)]
struct Lists {
    hot: VecDeque<u32>,
    candidates: VecDeque<u32>,
    longest: [usize; 2],
}

impl Lists {
    fn new(hot: usize, candidates: usize) -> Self {
        Self { hot: VecDeque::new(), candidates: VecDeque::new(), longest: [hot, candidates] }
    }

    fn forget(&mut self, lpn: u32) {
        self.hot.retain(|&p| p != lpn);
        self.candidates.retain(|&p| p != lpn);
    }

    /// Whether this write is hot.
    fn write(&mut self, lpn: u32) -> bool {
        let known = self.hot.contains(&lpn) || self.candidates.contains(&lpn);
        self.forget(lpn);
        if known {
            self.hot.push_front(lpn);
            if self.hot.len() > self.longest[0] {
                self.candidates.push_front(self.hot.pop_back().expect("one too many"));
            }
        } else {
            self.candidates.push_front(lpn);
        }
        self.candidates.truncate(self.longest[1]);
        known
    }
}

/// The test's own record.
struct Record {
    lists: Lists,
    /// Block of each page's current copy.
    at: Vec<Option<u32>>,
    pages: u32,
    blocks_per_bank: u32,
    choices: u64,
    /// Choices at which another block was as heavy.
    ties: u64,
    /// Choices that greedy would not have made.
    not_greedy: u64,
}

impl Record {
    /// The heaviest closed block of a bank that has a dead page, by looking at every page.
    fn heaviest(&mut self, blocks: &BlockView, first: u32) -> Option<BlockId> {
        let (mut live, mut weight) =
            (vec![0_i64; blocks.len() as usize], vec![0_i64; blocks.len() as usize]);
        for (lpn, at) in (0..).zip(&self.at) {
            let Some(block) =
                at.filter(|b| b / self.blocks_per_bank == first / self.blocks_per_bank)
            else {
                continue;
            };
            live[(block - first) as usize] += 1;
            weight[(block - first) as usize] -= if self.lists.hot.contains(&lpn) { 2 } else { 1 };
        }
        let full: Vec<usize> = (0..blocks.len() as usize)
            .filter(|&b| blocks.block(BlockId(first + b as u32)).state == State::Closed)
            .filter(|&b| live[b] < i64::from(self.pages))
            .collect();
        for &b in &full {
            weight[b] += i64::from(self.pages) - live[b];
        }
        let most = full.iter().map(|&b| weight[b]).max()?;
        let least = full.iter().map(|&b| live[b]).min()?;
        let best = full.iter().copied().find(|&b| weight[b] == most)?;
        self.choices += 1;
        self.ties += u64::from(full.iter().filter(|&&b| weight[b] == most).count() > 1);
        self.not_greedy += u64::from(live[best] > least);
        Some(BlockId(first + best as u32))
    }
}

type Shared = Arc<Mutex<Record>>;

impl Listener for Shared {
    fn put(&mut self, geometry: &Geometry, from: Option<Ppn>, to: Ppn, oob: Oob) {
        let bank_of = |page| geometry.bank_of(geometry.block_of(page));
        assert!(
            from.is_none_or(|from| bank_of(from) == bank_of(to)),
            "survivors stay in their bank"
        );
        let block = geometry.block_of(to).0;
        self.lock().expect("one thread").at[oob.lpn.index()] = Some(block);
    }

    fn erase(&mut self, block: BlockId) {
        let holds = self.lock().expect("one thread").at.contains(&Some(block.0));
        assert!(!holds, "{block:?} is erased with data");
    }
}

/// The weight policy; each choice is compared with a scan of all pages.
struct Compared(Shared, u32);

impl Victim for Compared {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        let chosen = Weight.choose(blocks, now);
        let expected = self.0.lock().expect("one thread").heaviest(blocks, self.1);
        assert_eq!(chosen, expected, "at {now}");
        chosen
    }
    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64) {
        Weight.ratio(valid, pages)
    }
    fn factor(&self, erases: u32) -> Factor {
        Weight.factor(erases)
    }
}

const TIMING: Timing = Timing {
    oob_read_ns: 0,
    read_setup_ns: 348,
    read_ns: 0,
    program_setup_ns: 606,
    program_ns: 303,
    copy_setup_ns: 954,
    copy_ns: 1257,
    erase_setup_ns: 31,
    erase_ns: 1850,
    hotness_scan_ns: 0,
};

fn geometry(banks: u32, blocks_per_bank: u32, pages_per_block: u32) -> Geometry {
    Geometry {
        banks,
        channels: 1,
        blocks_per_bank,
        pages_per_block,
        page_size: 512,
        oob_size: 16,
        header_pages: 0,
        system_blocks: 0,
    }
}

fn config(logical: u32, assignment: BankAssignment, trigger: Trigger) -> Config {
    Config { bank_assignment: assignment, trigger, ..Config::new(logical) }
}

struct Device {
    layer: PageMapped<Heard<Shared>, TwoLevelLru>,
    record: Shared,
    config: Config,
    /// When each bank was assigned last, by the count of writes.
    assigned: Vec<u64>,
    writes: u64,
}

impl Device {
    fn new(geometry: Geometry, config: Config, lists: (u32, u32), timing: Option<Timing>) -> Self {
        let record = Arc::new(Mutex::new(Record {
            lists: Lists::new(lists.0 as usize, lists.1 as usize),
            at: vec![None; config.logical_pages as usize],
            pages: geometry.data_pages_per_block(),
            blocks_per_bank: geometry.blocks_per_bank,
            choices: 0,
            ties: 0,
            not_greedy: 0,
        }));
        let rules = Rules { in_order: true, endurance: 100_000, initial_bad_blocks: 0 };
        let mut chip = CountingChip::new(geometry, rules);
        if let Some(timing) = timing {
            chip = chip.with_clock(timing);
        }
        let chip = Heard(chip, Arc::clone(&record));
        let placement = TwoLevelLru::new(config.logical_pages, lists.0, lists.1);
        let victim = |bank: u32| {
            let first = bank * geometry.blocks_per_bank;
            Box::new(Compared(Arc::clone(&record), first)) as Box<dyn Victim>
        };
        let layer = PageMapped::new(chip, placement, victim, config).expect("it fits");
        let assigned = vec![0; geometry.banks as usize];
        Self { layer, record, config, assigned, writes: 0 }
    }

    /// The host asks at `time`.
    fn begin(&mut self, time: u64) {
        self.layer.chip_mut().0.clock_mut().expect("a clock").begin(time);
    }

    /// Writes a page; the bank it went to.
    fn write(&mut self, lpn: u32) -> u32 {
        self.writes += 1;
        self.record.lock().expect("one thread").lists.write(lpn);
        self.layer.write(Lpn(lpn), &[], self.writes).expect("written");
        let bank = self.bank_of(lpn).expect("written");
        self.assigned[bank as usize] = self.writes;
        bank
    }

    fn trim(&mut self, lpn: u32) {
        self.writes += 1;
        let held = self.layer.trim(Lpn(lpn), self.writes).expect("trimmed");
        let mut record = self.record.lock().expect("one thread");
        assert_eq!(held, record.at[lpn as usize].take().is_some());
        if held {
            record.lists.forget(lpn);
        }
    }

    fn bank_of(&self, lpn: u32) -> Option<u32> {
        let record = self.record.lock().expect("one thread");
        record.at[lpn as usize].map(|block| block / record.blocks_per_bank)
    }

    /// Where the paper's rule sends the next write of a page, among banks that all have a free
    /// page; `None` if the rule says nothing.
    fn expected_bank(&self, lpn: u32) -> Option<u32> {
        let geometry = *self.layer.chip().geometry();
        let banks = geometry.banks;
        if self.config.bank_assignment == BankAssignment::Static {
            return Some(lpn % banks);
        }
        let record = self.record.lock().expect("one thread");
        let hot = record.lists.hot.contains(&lpn) || record.lists.candidates.contains(&lpn);
        let live = |bank: u32| {
            let in_bank = |b: &&Option<u32>| b.is_some_and(|b| b / record.blocks_per_bank == bank);
            record.at.iter().filter(in_bank).count() as u64
        };
        let erases = |bank: u32| {
            let blocks = bank * geometry.blocks_per_bank..(bank + 1) * geometry.blocks_per_bank;
            blocks.map(|b| u64::from(self.layer.chip().erase_count(BlockId(b)))).sum::<u64>()
        };
        let most = u64::from(
            (geometry.blocks_per_bank - self.config.watermarks.reserve - 2) * record.pages,
        );
        let free = |bank: u32| {
            let blocks = self.layer.blocks(bank).blocks();
            blocks.iter().filter(|b| b.state == State::Free).count()
        };
        let fits: Vec<u32> = (0..banks).filter(|&bank| live(bank) < most).collect();
        if fits.iter().any(|&bank| free(bank) <= self.config.watermarks.reserve as usize) {
            return None; // a bank may have no room
        }
        let mut clock = self.layer.chip().0.clock().cloned();
        let idle = loop {
            let idle: Vec<u32> = match &clock {
                Some(clock) => fits.iter().copied().filter(|&b| clock.is_idle(b)).collect(),
                None => fits.clone(),
            };
            match &mut clock {
                Some(clock) if idle.is_empty() && !fits.is_empty() => clock.wait_for_a_bank(),
                _ => break idle,
            }
        };
        idle.into_iter().min_by_key(|&bank| {
            let first = if hot { erases(bank) } else { live(bank) };
            (first, self.assigned[bank as usize], bank)
        })
    }

    fn check(&self) {
        self.layer.check().unwrap_or_else(|e| panic!("{e}"));
        let record = self.record.lock().expect("one thread");
        for (lpn, at) in (0..).zip(&record.at) {
            let found = self.layer.locate(Lpn(lpn));
            let block =
                (found != Ppn::NONE).then(|| self.layer.chip().geometry().block_of(found).0);
            assert_eq!(block, *at, "page {lpn}");
        }
        // The lists of the layer are those of the paper, seen through the blocks' hot pages.
        let per_bank = record.blocks_per_bank;
        for bank in 0..self.layer.chip().geometry().banks {
            let blocks = self.layer.blocks(bank);
            for block in (bank * per_bank..(bank + 1) * per_bank).map(BlockId) {
                let is_here = |lpn: &&u32| record.at[**lpn as usize] == Some(block.0);
                let hot = record.lists.hot.iter().filter(is_here).count() as u32;
                assert_eq!(blocks.hot(block), Some(hot), "hot pages of {block:?}");
            }
        }
    }
}

fn dynamic(banks: u32, timing: Option<Timing>) -> Device {
    let config = config(64, BankAssignment::Dynamic, Trigger::Eager);
    Device::new(geometry(banks, 16, 8), config, (4, 16), timing)
}

#[test]
fn cold_pages_go_where_data_is_least_and_hot_ones_where_erasures_are_fewest() {
    let mut device = dynamic(4, None);
    // All banks alike: in turn, from the lowest.
    assert_eq!([0, 1, 2, 3, 4].map(|lpn| device.write(lpn)), [0, 1, 2, 3, 0]);
    // Hot, and no bank was ever erased: bank 1 waited longest. Its old copy leaves bank 0, so that
    // the banks hold 1, 2, 1, 1 pages.
    assert_eq!(device.write(0), 1);
    // Cold: of banks 0, 2, 3 bank 2 waited longest, then 3; then bank 0 alone has but one page.
    assert_eq!([5, 6, 7].map(|lpn| device.write(lpn)), [2, 3, 0]);
    // Two pages each. Trims empty bank 1, which takes cold pages until it is level with the rest.
    device.trim(1);
    device.trim(0);
    assert_eq!([8, 9].map(|lpn| device.write(lpn)), [1, 1]);
    // A trimmed page is forgotten: cold again. Bank 2 waited longest.
    assert_eq!(device.write(0), 2);
    device.check();
}

#[test]
fn hot_pages_shun_banks_that_were_erased_more() {
    let mut device = dynamic(2, None);
    let cold = 10..30;
    for lpn in cold.clone() {
        device.write(lpn);
    }
    // Three pages written in turn are hot: banks take turns until one is erased.
    let mut turns = Vec::new();
    while device.layer.counters().erases == 0 {
        turns.push(device.write(turns.len() as u32 % 3));
    }
    let erases = |device: &Device, bank: u32| -> u32 {
        (bank * 16..bank * 16 + 16).map(|b| device.layer.chip().erase_count(BlockId(b))).sum()
    };
    let worn = (0..2).find(|&bank| erases(&device, bank) > 0).expect("one was erased");
    let there = turns.iter().filter(|&&bank| bank == worn).count();
    assert!(turns.len() > 100 && there.abs_diff(turns.len() - there) <= 1, "{there}");
    // Now all go to the other, until it is erased as often, and though it has more data.
    for lpn in cold {
        if device.bank_of(lpn) == Some(worn) {
            device.trim(lpn);
        }
    }
    let mut writes = 0;
    while erases(&device, 1 - worn) < erases(&device, worn) {
        assert_eq!(device.write(writes % 3), 1 - worn, "write {writes}");
        writes += 1;
    }
    assert!(writes > 0);
    // A cold page knows nothing of erasures and goes where less data is.
    assert_eq!(device.write(9), worn);
    device.check();
}

#[test]
fn a_bank_that_works_is_passed_over() {
    let quick = Timing { program_setup_ns: 50, ..TIMING };
    let mut device = dynamic(2, Some(quick));
    let mut time = 0;
    let mut at_leisure = |device: &mut Device, lpn: u32| {
        time += 1_000_000;
        device.begin(time);
        device.write(lpn)
    };
    assert_eq!([0, 1, 2, 3, 4, 5].map(|lpn| at_leisure(&mut device, lpn)), [0, 1, 0, 1, 0, 1]);
    device.trim(1);
    device.trim(3);
    // Bank 1 has one page and bank 0 three. The first cold page goes to bank 1; the second comes
    // while that programs, so it goes to the fuller bank; the third waits for neither in vain: both
    // work, bank 1 is done first, and has less.
    assert_eq!(at_leisure(&mut device, 6), 1);
    assert_eq!(device.write(7), 0);
    assert_eq!(device.write(8), 1);
    assert_eq!(
        device.layer.chip().0.clock().expect("a clock").answered() % 1_000_000,
        50 + 303 + 353
    );
    device.check();
}

#[test]
fn three_pages_take_as_long_dynamically_as_in_turn() {
    for (setup, expected) in [(606, [2727, 2121, 2121]), (50, [1059, 706, 453])] {
        let timing = Timing { program_setup_ns: setup, ..TIMING };
        for assignment in [BankAssignment::Static, BankAssignment::Dynamic] {
            let answered = [1, 2, 3].map(|banks| {
                let config = config(16, assignment, Trigger::Eager);
                let mut device = Device::new(geometry(banks, 16, 8), config, (4, 16), Some(timing));
                device.begin(0);
                for lpn in 0..3 {
                    device.write(lpn);
                }
                device.layer.chip().0.clock().expect("a clock").answered()
            });
            assert_eq!(answered, expected, "{assignment:?}, setup {setup}");
        }
    }
}

/// Random traffic: some pages often, some now and then, the rest hardly ever; trims; pauses.
fn random_run(mut device: Device, steps: u32, seed: u64) -> Device {
    let mut draws = Draws(seed);
    let logical = device.config.logical_pages;
    let (mut told, mut time) = (0, 0);
    for step in 0..steps {
        let lpn = draws.below(logical) >> draws.below(7);
        if device.layer.chip().0.clock().is_some() && draws.one_in(3) {
            let answered = device.layer.chip().0.clock().expect("a clock").answered();
            time = answered.max(time) + u64::from(draws.below(3000));
            device.begin(time);
        }
        if draws.one_in(40) {
            device.trim(lpn);
            continue;
        }
        let expected = device.expected_bank(lpn);
        let bank = device.write(lpn);
        if let Some(expected) = expected {
            assert_eq!(bank, expected, "bank of page {lpn} at step {step}");
            told += 1;
        }
        if step % 97 == 0 {
            device.check();
        }
    }
    device.check();
    let choices = device.record.lock().expect("one thread").choices;
    assert!(choices > u64::from(steps) / 200, "{choices} choices");
    // Cleaned eagerly, every bank always has room, so the rule decides nearly every write.
    let eager = device.config.trigger == Trigger::Eager;
    assert!(told > steps * if eager { 9 } else { 0 } / 10, "{told} of {steps} banks compared");
    device
}

#[test]
fn banks_and_victims_are_those_of_the_rules() {
    let (mut ties, mut not_greedy) = (0, 0);
    let mut seed = 0;
    for assignment in [BankAssignment::Static, BankAssignment::Dynamic] {
        for trigger in [Trigger::Eager, Trigger::Lazy] {
            for (banks, timing) in [(1, None), (2, None), (4, Some(TIMING)), (4, None)] {
                for lists in [(24, 40), (3, 5), (1, 1)] {
                    seed += 1;
                    let g = geometry(banks, 48 / banks, 8);
                    let most = (48 - 4 * banks) * 8;
                    // From roomy to as full as may be.
                    let logical = most * [70, 85, 100][seed as usize % 3] / 100 / banks * banks;
                    let config = config(logical, assignment, trigger);
                    let device = Device::new(g, config, lists, timing);
                    let device = random_run(device, 6000, seed);
                    let record = device.record.lock().expect("one thread");
                    ties += record.ties;
                    not_greedy += record.not_greedy;
                }
            }
        }
    }
    // What makes the comparison worth its while.
    assert!(ties > 1000 && not_greedy > 1000, "{ties} ties, {not_greedy} not greedy");
}
