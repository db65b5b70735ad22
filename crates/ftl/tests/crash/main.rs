//! Loss of power: at every operation of many histories, with any part of the unsynced operations
//! surviving, and again during the recovery, repeatedly.
//!
//! Each cut checks a quick mount and one from the pages alone: nothing is written; every page holds its
//! content at the last flush or a later one; both mounts find the same; the tables equal a recount; and
//! the device works on until every page has been written again. Data that a mount has shown stay.
//!
//! `THERMOCLINE_CRASH_SECONDS` sets the time of the search for faults (in each of the two tests),
//! `THERMOCLINE_CRASH_SEED` runs only the history with a found fault.

mod chip;
mod damage;
mod device;
mod equal;
mod fading;
mod host;
mod lies;
mod lives;

use std::time::{Duration, Instant};

use chip::{CUTS, Cut, Failing, Op, Slate, State, Synced, survivors};
use common::Draws;
use device::{LOST, World, a_system_block, content, is_emptying, ops, sync};
use host::{Event, Host, Use, ZEROS};
use thermocline_flash::{BlockId, Lpn};
use thermocline_ftl::{FtlError, Mount};
use thermocline_testing as common;

/// Cuts after a cut that are tried.
const DEPTH: u32 = 3;

/// Names the case if a check fails.
struct Case {
    seed: u64,
    at: usize,
    cut: Cut,
    depth: u32,
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { seed, at, cut, depth } = self;
            eprintln!(
                "power failed after {at} operations, {cut:?}, at depth {depth}; run it again with \
                 THERMOCLINE_CRASH_SEED={seed}"
            );
        }
    }
}

/// Totals over all histories.
#[derive(Debug, Default)]
struct Totals {
    histories: u64,
    cuts: u64,
    mounts: u64,
    clean: u64,
    by_checkpoint: u64,
    verified: u64,
    unreadable: u64,
    lost: u64,
    /// Host actions while a victim was partly cleaned.
    partial: u64,
}

/// A history: the operations of the chip and the actions of the host.
struct History {
    start: State,
    ops: Vec<Op>,
    events: Vec<(usize, Event)>,
    contents: Vec<u64>,
    partial: u64,
}

/// Writes a history with all sorts of operations; with clean unmounts and faults of the log in `rough`
/// ones.
fn history(seed: u64, kind: Kind, now: &mut u64, last: &mut u64) -> (World, History) {
    let mut draws = Draws(seed);
    let (world, rough) = match kind {
        Kind::Smooth => (World::draw(&mut draws, false), false),
        Kind::Rough => (World::draw(&mut draws, true), true),
        Kind::Nftl => (World::draw_nftl(&mut draws), draws.one_in(2)),
        Kind::InPlace => (World::draw_in_place(&mut draws), draws.one_in(2)),
    };
    let bad =
        if rough && draws.one_in(3) { vec![a_system_block(&world, &mut draws)] } else { vec![] };
    let mut chip = world.chip(State::blank(&world.geometry, &bad));
    if rough && draws.one_in(2) {
        let log = u32::from(bad.is_empty());
        // In place a block of data that fails ends the device.
        let of_data = u32::from(kind != Kind::InPlace);
        chip.failing = Some(Failing { draws: Draws(seed), one_in: 30, of_data, of_log: log });
    }
    let mut device = world.format(chip).unwrap_or_else(|e| panic!("formatted: {e} {world:?}"));
    sync(&mut *device);
    device.chip_mut().ops.clear();
    let start = device.chip().state.clone();
    let contents = vec![ZEROS; world.config.logical_pages as usize];
    let mut events = Vec::new();
    let mut host = Host::of(&contents);
    let length = 40 + draws.below(300);
    let (mut policy, mut partial) = (0, 0);
    for _ in 0..length {
        if rough && draws.one_in(60) {
            device.unmount(*now).expect("unmounted");
            sync(&mut *device);
            let done = device.chip().ops.len();
            host.learn(Event::Flushed);
            events.push((done, Event::Flushed));
            policy = draws.below(2) as usize;
            let how = if draws.one_in(2) { Mount::Quick } else { Mount::FromPages };
            let (again, recovery) = world
                .mount(device.chip().clone(), policy, how)
                .unwrap_or_else(|e| panic!("mounted: {e}"));
            assert!(recovery.clean, "{how:?} after an unmount");
            device = again;
        }
        let mut user = Use { device: &mut *device, host, events, now, last };
        user.operate(&mut draws).unwrap_or_else(|e| panic!("{e}"));
        (host, events) = (user.host, user.events);
        partial += u64::from(is_emptying(&*device, world.geometry.banks));
    }
    let _ = policy;
    let mut user = Use { device: &mut *device, host, events, now, last };
    user.check_all();
    events = user.events;
    let ops = ops(&mut *device);
    (world, History { start, ops, events, contents, partial })
}

/// The layer under test, and its treatment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// The page-mapped layer in use.
    Smooth,
    /// With unmounts, other policies, bad and failing blocks.
    Rough,
    /// NFTL, in use or like that.
    Nftl,
    /// Updates in place, likewise: a block that is rewritten may be lost, and is an error then.
    InPlace,
}

struct Search {
    seed: u64,
    kind: Kind,
    totals: Totals,
    now: u64,
    last: u64,
}

impl Search {
    fn run(&mut self) {
        let (mut now, mut last) = (0, 0);
        let _case = Case { seed: self.seed, at: 0, cut: Cut::InOrder, depth: 0 };
        let (world, history) = history(self.seed, self.kind, &mut now, &mut last);
        (self.now, self.last) = (now, last);
        self.totals.histories += 1;
        self.totals.partial += history.partial;
        let mut draws = Draws(self.seed ^ 0x5eed);
        let all: Vec<usize> = (0..=history.ops.len()).collect();
        self.cut(&world, &history, &all, &CUTS, &mut draws, 0);
    }

    /// Cuts a history at some of its operations.
    fn cut(
        &mut self,
        world: &World,
        history: &History,
        at: &[usize],
        cuts: &[Cut],
        draws: &mut Draws,
        depth: u32,
    ) {
        let mut synced = Synced { state: history.start.clone(), since: Vec::new() };
        let mut host = Host::of(&history.contents);
        let mut heard = 0;
        let mut done = 0;
        for &at in at {
            while done < at {
                synced.then(&world.geometry, &history.ops[done]);
                done += 1;
            }
            while let Some(&(begun, event)) = history.events.get(heard)
                && begun <= at
            {
                host.learn(event);
                heard += 1;
            }
            for &cut in cuts {
                let _case = Case { seed: self.seed, at, cut, depth };
                let left = survivors(&synced, &world.geometry, cut, draws);
                let may_be_lost = rewritten(world, &synced, cut);
                self.examine(world, left, (&host, &may_be_lost), draws, depth);
            }
        }
    }

    /// Mounts the chip in both ways, checks it, and continues with it.
    fn examine(
        &mut self,
        world: &World,
        left: State,
        (host, may_be_lost): (&Host, &[BlockId]),
        draws: &mut Draws,
        depth: u32,
    ) {
        self.totals.cuts += 1;
        let policy = draws.below(2) as usize;
        let mut found = Vec::new();
        let mut devices = [Mount::Quick, Mount::FromPages].map(|how| {
            let chip: Slate = world.chip(left.clone());
            let (mut device, recovery) =
                world.mount(chip, policy, how).unwrap_or_else(|e| panic!("{how:?}: {e}"));
            self.totals.mounts += 1;
            self.totals.clean += u64::from(recovery.clean);
            self.totals.by_checkpoint += u64::from(recovery.used_checkpoint);
            self.totals.verified += recovery.pages_verified;
            self.totals.unreadable += recovery.unreadable_pages;
            for lpn in 0..host.pages() {
                if !world.in_place && device.read(Lpn(lpn), &mut []).is_err() {
                    device::explain(&mut world.chip(left.clone()), lpn);
                }
            }
            let contents: Vec<u64> = (0..host.pages()).map(|l| content(&mut *device, l)).collect();
            for (lpn, &content) in (0..).zip(&contents) {
                let may = host.may_hold(lpn);
                let block = BlockId(lpn / world.geometry.data_pages_per_block());
                if content == LOST && may_be_lost.contains(&block) {
                    self.totals.lost += 1;
                    continue;
                }
                if !may.contains(&content) {
                    device::explain(&mut world.chip(left.clone()), lpn);
                }
                assert!(may.contains(&content), "{how:?}: page {lpn} holds {content}, not {may:?}");
            }
            device.check().unwrap_or_else(|e| panic!("{how:?}: {e}"));
            assert!(device.chip().ops.is_empty(), "{how:?}: a mount writes nothing");
            found.push(contents);
            device
        });
        assert_eq!(found[0], found[1], "a quick mount finds what the pages say");
        let device = &mut devices[draws.below(2) as usize];

        // Continues with a few operations, or until all pages are written again.
        let contents = found.swap_remove(0);
        let (mut now, mut last) = (self.now, self.last);
        let mut user = Use {
            device: &mut **device,
            host: Host::of(&contents),
            events: Vec::new(),
            now: &mut now,
            last: &mut last,
        };
        let mut go_on = |draws: &mut Draws| -> Result<(), FtlError> {
            for _ in 0..draws.below(30) {
                user.operate(draws)?;
            }
            if draws.one_in(3) {
                for lpn in 0..host.pages() {
                    user.write(lpn, false)?;
                }
            }
            Ok(())
        };
        if let Err(e) = go_on(draws) {
            device::describe(world, user.device, &left);
            panic!("going on: {e}");
        }
        user.check_all();
        let events = user.events;
        if depth < DEPTH && draws.one_in(4) {
            let ops = ops(&mut **device);
            let history = History { start: left, ops, events, contents, partial: 0 };
            let at: Vec<usize> =
                (0..2).map(|_| draws.below(history.ops.len() as u32 + 1) as usize).collect();
            let at = [at[0].min(at[1]), at[0].max(at[1])];
            (self.now, self.last, now, last) = (now, last, self.now, self.last);
            self.cut(world, &history, &at, &[CUTS[draws.below(5) as usize]], draws, depth + 1);
            (self.now, self.last) = (now, last);
        }
    }
}

/// Blocks whose pages an update in place may lose: those erased since the last sync, or only the last of
/// them if all operations survive.
fn rewritten(world: &World, synced: &Synced, cut: Cut) -> Vec<BlockId> {
    let erased = |op: &Op| match op {
        Op::Erase(block) if world.in_place => Some(*block),
        _ => None,
    };
    let most = if cut == Cut::InOrder { 1 } else { usize::MAX };
    synced.since.iter().rev().filter_map(erased).take(most).collect()
}

/// Looks through histories for as long as is asked for.
fn search(kind: Kind, seconds: u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let one = number("THERMOCLINE_CRASH_SEED");
    let seconds = Duration::from_secs(number("THERMOCLINE_CRASH_SECONDS").unwrap_or(seconds));
    let begun = Instant::now();
    let mut search = Search { seed: 0, kind, totals: Totals::default(), now: 0, last: 0 };
    for seed in one.map_or(1..u64::MAX, |seed| seed..seed + 1) {
        search.seed = seed;
        search.run();
        if begun.elapsed() > seconds {
            break;
        }
    }
    let per_second = search.totals.cuts as f64 / begun.elapsed().as_secs_f64();
    eprintln!("{:?}, {per_second:.0} cuts a second", search.totals);
    // After a crash NFTL is mounted from the pages.
    let by_checkpoint =
        matches!(kind, Kind::Nftl | Kind::InPlace) || search.totals.by_checkpoint > 0;
    assert!(search.totals.cuts > 100 && by_checkpoint, "it was looked for");
    assert!(kind != Kind::Smooth || search.totals.partial > 0, "no victim was partly cleaned");
}

#[test]
fn whatever_was_flushed_is_there_after_any_cut() {
    search(Kind::Smooth, 15);
}

#[test]
fn so_it_is_where_the_device_was_unmounted_policies_change_and_blocks_of_the_log_fail() {
    search(Kind::Rough, 15);
}

#[test]
fn nftl_keeps_what_was_flushed_after_any_cut() {
    search(Kind::Nftl, 6);
}

#[test]
fn in_place_what_was_flushed_is_there_or_an_error_after_any_cut() {
    search(Kind::InPlace, 4);
}

/// A loss of power during a new format leaves the old store, none, or the new one.
#[test]
fn a_format_that_is_cut_off_leaves_the_old_store_or_none_or_the_new_one() {
    for (kind, seed) in [Kind::Smooth, Kind::Nftl, Kind::InPlace]
        .into_iter()
        .flat_map(|kind| (1..=10).map(move |seed| (kind, seed)))
    {
        let (world, history) = history(seed, kind, &mut 0, &mut 0);
        let mut state = history.start;
        history.ops.iter().for_each(|op| state.apply(&world.geometry, op));
        let contents = |left: State| {
            let (mut device, _) = world.mount(world.chip(left), 0, Mount::Quick).ok()?;
            let mut page = [1; device::PAGE];
            let mut look = |lpn| device.read(Lpn(lpn), &mut page).map(|_| page.to_vec()).ok();
            Some((0..world.config.logical_pages).map(&mut look).collect::<Vec<_>>())
        };
        let old = contents(state.clone()).expect("it is in use");
        let new = vec![Some(vec![0; device::PAGE]); old.len()];
        let formatted = world.format(world.chip(state.clone()));
        let mut device = formatted.unwrap_or_else(|e| panic!("formatted: {e}"));
        device.unmount(1).expect("unmounted");
        sync(&mut *device);
        assert_eq!(contents(device.chip().state.clone()).as_ref(), Some(&new));
        let mut draws = Draws(seed);
        let mut synced = Synced { state, since: Vec::new() };
        for (at, op) in ops(&mut *device).iter().enumerate() {
            synced.then(&world.geometry, op);
            for cut in CUTS {
                let _case = Case { seed, at, cut, depth: 0 };
                let left = survivors(&synced, &world.geometry, cut, &mut draws);
                let found = contents(left);
                let is_right = found.is_none_or(|found| found == old || found == new);
                assert!(is_right, "{kind:?}: it is neither the old store nor the new one");
            }
        }
    }
}
