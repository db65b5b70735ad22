//! Short lives: power fails after a few operations of the chip, thousands of times in a row.
//!
//! Each life checks that the mount succeeds, that every page holds its last shown content, a later write, or the
//! flushed content, and that no write is refused, since no block has failed. A life may be too short for a write;
//! the next one continues. From time to time the power stays on: then every page is written at once.
//!
//! `THERMOCLINE_LIVES` sets the number of lives in a row, `THERMOCLINE_LIVES_OF` the only row to run.

use super::{
    chip::{Cut, Op, State, Synced, survivors},
    common::Draws,
    device::{LOST, PAGE, World, content, ops, sync},
    host::{Event, Host, Use, ZEROS, settle},
};
use thermocline_flash::{BlockId, Lpn};
use thermocline_ftl::Mount;
use thermocline_policy::trigger::Pacing;

/// Lives after which the power stays on for once.
const STAYS_ON: u32 = 40;

/// Which layer, how full, how long a life is, how it ends.
#[derive(Clone, Copy, Debug)]
struct Row {
    layer: Layer,
    policies: [usize; 2],
    percent: u32,
    in_order: bool,
    /// Programs and erases a life.
    length: usize,
    end: End,
    /// Whether victims are cleaned in steps.
    is_paced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Layer {
    PageMapped,
    Nftl,
    InPlace,
}

/// How a life ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// All that was done survives.
    Clean,
    /// The last operation is torn.
    Torn,
    /// Unsynced operations are lost, or any part of them.
    Unsynced,
}

const ENDS: [End; 3] = [End::Clean, End::Torn, End::Unsynced];

/// Totals of a row of lives.
#[derive(Debug, Default)]
struct Tally {
    lives: u32,
    /// Writes that were flushed.
    writes: u64,
    programs: u64,
    erases: u64,
    lost: u64,
}

/// Why a row ended early, in words.
type Locked = String;

struct Lives {
    world: World,
    row: Row,
    draws: Draws,
    state: State,
    contents: Vec<u64>,
    /// The allowed contents at the next mount.
    host: Host,
    now: u64,
    last: u64,
    may_be_lost: Vec<BlockId>,
    tally: Tally,
}

impl Lives {
    fn new(row: Row) -> Self {
        let mut draws = Draws(row.length as u64 * 1000 + u64::from(row.percent));
        let mut world =
            World::of(row.layer == Layer::Nftl, row.layer == Layer::InPlace, row.in_order)
                .filled(row.percent, row.policies);
        if row.is_paced {
            world.config.pacing = Pacing::Paced;
        }
        let pages = world.config.logical_pages;
        let chip = world.chip(State::blank(&world.geometry, &[]));
        let mut device = world.format(chip).unwrap_or_else(|e| panic!("formatted: {e} {world:?}"));
        let (mut now, mut last) = (0, 0);
        let contents = vec![ZEROS; pages as usize];
        let host = Host::of(&contents);
        let events = Vec::new();
        let mut user = Use { device: &mut *device, host, events, now: &mut now, last: &mut last };
        for lpn in (0..pages).chain((0..pages).map(|_| draws.below(pages))) {
            user.write(lpn, false).expect("filled");
        }
        user.flush().expect("flushed");
        let host = user.host;
        let contents = (0..pages).map(|lpn| host.holds(lpn)[0]).collect();
        let state = device.chip().state.clone();
        let (tally, may_be_lost) = (Tally::default(), Vec::new());
        Self { world, row, draws, state, contents, host, now, last, may_be_lost, tally }
    }

    /// Mounts the chip and checks every page.
    fn mount(&mut self) -> Result<Box<dyn super::device::Device>, Locked> {
        let chip = self.world.chip(self.state.clone());
        let policy = usize::from(self.draws.one_in(20));
        let mounted = self.world.mount(chip, policy, Mount::Quick);
        let (mut device, _) = mounted.map_err(|e| format!("a mount: {e}"))?;
        for lpn in 0..self.host.pages() {
            let found = content(&mut *device, lpn);
            let block = BlockId(lpn / self.world.geometry.data_pages_per_block());
            // A lost page stays lost until it is written.
            let was = self.contents[lpn as usize] == LOST;
            if found == LOST && (was || self.may_be_lost.contains(&block)) {
                self.tally.lost += u64::from(!was);
            } else {
                let may = self.host.may_hold(lpn);
                assert!(
                    may.contains(&found),
                    "page {lpn} holds {found}, not {may:?}: {:?}",
                    self.row
                );
            }
            self.contents[lpn as usize] = found;
        }
        Ok(device)
    }

    /// Writes and flushes until the power fails.
    fn live(&mut self) -> Result<(), Locked> {
        let mut device = self.mount()?;
        let (mut now, mut last) = (self.now, self.last);
        let host = Host::of(&self.contents);
        let mut user = Use {
            device: &mut *device,
            host: host.clone(),
            events: Vec::new(),
            now: &mut now,
            last: &mut last,
        };
        let mut refused = Ok(());
        while end_of(&user.device.chip().ops, self.row.length).is_none() {
            *user.now += 1;
            let pages = user.host.pages();
            let lpn = self.draws.below(pages) >> self.draws.below(3);
            let done = match self.draws.below(16) {
                0 => user.trim(lpn),
                _ => user.write(lpn, false),
            };
            refused = done.and_then(|()| if self.draws.one_in(4) { Ok(()) } else { user.flush() });
            if refused.is_err() {
                break;
            }
        }
        let events = user.events;
        let ops = ops(&mut *device);
        (self.now, self.last) = (now, last);
        let Some(end) = end_of(&ops, self.row.length) else {
            return refused.map_err(|e| format!("a write: {e}"));
        };
        let mut synced = Synced { state: self.state.clone(), since: Vec::new() };
        for op in &ops[..end] {
            synced.then(&self.world.geometry, op);
            self.tally.programs += u64::from(matches!(op, Op::Program(..)));
            self.tally.erases += u64::from(matches!(op, Op::Erase(..)));
        }
        self.host = host;
        for &(_, event) in events.iter().take_while(|(begun, _)| *begun <= end) {
            self.host.learn(event);
            self.tally.writes += u64::from(matches!(event, Event::Flushed));
        }
        let cut = match self.row.end {
            End::Clean => Cut::InOrder,
            End::Torn => Cut::LastTorn,
            End::Unsynced => [Cut::OnlySynced, Cut::Subset][self.draws.index(2)],
        };
        self.may_be_lost = super::rewritten(&self.world, &synced, cut);
        self.state = survivors(&synced, &self.world.geometry, cut, &mut self.draws);
        self.tally.lives += 1;
        Ok(())
    }

    /// The power stays on: every page can be written. Nothing of that counts.
    fn stay_on(&mut self) -> Result<(), Locked> {
        let mut device = self.mount()?;
        let host = Host::of(&self.contents);
        let (mut now, mut last) = (self.now, self.last);
        let mut user =
            Use { device: &mut *device, host, events: Vec::new(), now: &mut now, last: &mut last };
        for lpn in 0..user.host.pages() {
            user.write(lpn, false).map_err(|e| format!("the power stays on: {e}"))?;
        }
        user.flush().map_err(|e| format!("the power stays on: {e}"))?;
        user.check_all();
        sync(user.device);
        Ok(())
    }

    fn run(mut self, lives: u32) -> (Tally, Result<(), Locked>) {
        for life in 0..lives {
            let mut done = self.live();
            if done.is_ok() && life % STAYS_ON == STAYS_ON - 1 {
                done = self.stay_on();
            }
            if done.is_err() {
                super::device::explain(&mut self.world.chip(self.state.clone()), u32::MAX);
                return (self.tally, done);
            }
        }
        (self.tally, Ok(()))
    }
}

/// Behind which operation a life of that many programs and erases ends.
fn end_of(ops: &[Op], length: usize) -> Option<usize> {
    let counts = |(_, op): &(usize, &Op)| matches!(op, Op::Program(..) | Op::Erase(_));
    let mut done = ops.iter().enumerate().filter(counts);
    done.nth(length - 1).map(|(last, _)| last + 1)
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let layers = [Layer::PageMapped, Layer::Nftl, Layer::InPlace];
    let mut number = 0;
    for layer in layers {
        for length in [1, 4, 8, 16, 64] {
            for percent in [50, 80, 90, 97] {
                for end in ENDS {
                    number += 1;
                    let policies = [number % 7, (number / 7) % 7];
                    let in_order = number % 4 != 0;
                    let is_paced = number / 2 % 2 == 1;
                    rows.push(Row { layer, policies, percent, in_order, length, end, is_paced });
                }
            }
        }
    }
    rows
}

#[test]
fn no_history_of_short_lives_locks_a_store() {
    let number =
        |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<usize>().ok());
    let (lives, one) = (number("THERMOCLINE_LIVES").unwrap_or(60), number("THERMOCLINE_LIVES_OF"));
    let mut locked = 0;
    for (i, row) in rows().into_iter().enumerate().filter(|(i, _)| one.is_none_or(|one| one == *i))
    {
        let (tally, done) = Lives::new(row).run(lives as u32);
        let of = |n: u64| n as f64 / tally.writes.max(1) as f64;
        let (programs, erases) = (of(tally.programs), of(tally.erases));
        eprintln!("{i} {row:?}: {tally:?}, {programs:.2} programs and {erases:.2} erases a write");
        if let Err(e) = done {
            locked += 1;
            eprintln!("   LOCKED: {e}");
        }
    }
    assert_eq!(locked, 0, "rows locked");
}

/// A flush of a device that loses no power: pending trims are a page of the log, perhaps behind the head of a new block.
/// With each of the two come two pages of the checkpoint, one of which may be the head that completes it.
#[test]
fn a_flush_takes_six_programs_and_two_erases_of_the_log_at_most() {
    for percent in [50, 97] {
        let world = World::of(false, false, true).filled(percent, [1, 1]);
        let pages = world.config.logical_pages;
        let chip = world.chip(State::blank(&world.geometry, &[]));
        let mut device = world.format(chip).unwrap_or_else(|e| panic!("formatted: {e}"));
        let mut draws = Draws(percent.into());
        let (mut most, page) = ((0, 0), [7; PAGE]);
        for now in 1..6000 {
            for _ in 0..draws.below(4) {
                device.write(Lpn(draws.below(pages)), &page, now).expect("written");
            }
            for _ in 0..draws.below(4) {
                device.trim(Lpn(draws.below(pages)), now).expect("trimmed");
            }
            let (programs, erases) = settle(&mut *device, now).expect("settled");
            most = (most.0.max(programs), most.1.max(erases));
            let covered = device.last_program();
            sync(&mut *device);
            device.synced(covered);
        }
        assert_eq!(most, (6, 2), "{percent} %");
    }
}
