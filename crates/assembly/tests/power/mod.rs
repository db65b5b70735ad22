//! Images after a loss of power, and failing system calls. The writes and syncs of a device in use are
//! recorded. Images are made with any part of the unsynced writes, torn at sectors, in any order. Each is
//! mounted as a server mounts it, and read through the device that connections use.
//!
//! `THERMOCLINE_POWER_IMAGES` sets the number of images; `THERMOCLINE_POWER_SEED` runs only the history with
//! a found fault.

use thermocline_ftl::{Format, Mount};
use thermocline_media::{
    Medium,
    image::tape::{Call, Event, Failing, Power, Tape},
};
use thermocline_server::Device;
use thermocline_testing::{Deed, Draws, Known};

use crate::small::{World, flush};

const PAGE: u64 = 512;

/// The layers, by policies that serve them.
const POLICIES: [&str; 5] = ["greedy", "dac", "nftl", "demand-paged", "in-place"];

/// A small store of each layer in turn, of more or fewer blocks.
fn world(seed: u64) -> (World, Tape) {
    let policy = POLICIES[seed as usize % POLICIES.len()];
    World::of("slc-generic", policy, PAGE, 48 + seed % 16)
}

fn serve(world: &World, tape: &Tape) -> Result<Device, String> {
    world.serve(tape, Mount::Quick)
}

/// Uses a device. Returns its actions, each with the recorded operations before it, and the errors of refused ones.
pub fn use_it(
    world: &World,
    device: &Device,
    recorded: impl Fn() -> usize,
    draws: &mut Draws,
    steps: u32,
    last: &mut u64,
) -> (Vec<(usize, Deed)>, Vec<String>) {
    let pages = device.size() / world.page;
    let (mut deeds, mut refused) = (Vec::new(), Vec::new());
    for _ in 0..steps {
        let page = u64::from(draws.below(pages as u32) >> draws.below(3));
        let before = recorded();
        let mut put = |content, done: Result<(), String>| {
            let deed = if done.is_ok() { Deed::Put } else { Deed::Tried };
            deeds.push((before, deed(page, content)));
            refused.extend(done.err());
        };
        match draws.below(12) {
            0 => {
                let done =
                    device.lock().and_then(|mut held| held.trim(page * world.page, world.page));
                put(0, done.map_err(|e| e.to_string()));
            }
            1 | 2 => match flush(device) {
                Ok(()) => deeds.push((recorded(), Deed::Flushed)),
                Err(e) => refused.push(e.to_string()),
            },
            _ => {
                *last += 1;
                put(*last, world.write(device, page, *last));
            }
        }
    }
    (deeds, refused)
}

/// Reads all pages of a file and compares them. Returns the findings; an error matches anything.
pub fn compare(world: &World, device: &Device, known: &Known, may_fail: bool) -> Vec<Vec<u64>> {
    let look = |(page, allowed): (u64, &Vec<u64>)| match world.read(device, page) {
        Ok(found) => {
            assert!(allowed.contains(&found), "page {page} holds {found}, not {allowed:?}");
            vec![found]
        }
        Err(e) => {
            assert!(may_fail || world.may_lose(), "page {page}, {allowed:?}: {e}");
            allowed.clone()
        }
    };
    (0..).zip(&known.allowed).map(look).collect()
}

/// Checks `count` images that a loss of power may leave of a history, and cuts the power of some again.
fn cut(
    world: &World,
    (start, events): (&[u8], &[Event]),
    (known, deeds): (&Known, &[(usize, Deed)]),
    draws: &mut Draws,
    count: u32,
    depth: u32,
) {
    let mut known = known.clone();
    let mut power = Power::of(start.to_vec());
    let mut deeds = deeds.iter().peekable();
    let mut moments: Vec<usize> = (0..count).map(|_| draws.index(events.len() + 1)).collect();
    moments.sort_unstable();
    let mut done = 0;
    for moment in moments {
        events[done..moment].iter().for_each(|event| power.then(event));
        done = moment;
        while let Some(&(_, deed)) = deeds.next_if(|(before, _)| *before <= moment) {
            known.learn(deed);
        }
        // From nearly nothing to nearly everything.
        let percent = [0, 3, 20, 50, 80, 97, 100][draws.index(7)];
        let left = power.cut(|held| match draws.happens(percent) {
            true => Some(held - 1),
            false => Some(draws.index(4)),
        });
        let tape = Tape::of(left.clone());
        let device = serve(world, &tape).unwrap_or_else(|e| panic!("served again: {e}"));
        let found = compare(world, &device, &known, false);
        if depth == 0 && draws.one_in(8) {
            let mut last = draws.next() >> 8;
            let (deeds, _) = use_it(world, &device, || tape.len(), draws, 30, &mut last);
            drop(device);
            cut(world, (&left, &tape.events()), (&Known::of(&found), &deeds), draws, 4, 1);
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Runs histories until the number of images or runs is reached.
pub fn histories(ordinary: u64, each: u64, run: impl Fn(u64)) {
    let count = number("THERMOCLINE_POWER_IMAGES").unwrap_or(ordinary).div_ceil(each);
    let one = number("THERMOCLINE_POWER_SEED");
    for seed in one.map_or(0..count, |seed| seed..seed + 1) {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(seed)));
        assert!(done.is_ok(), "history {seed}: THERMOCLINE_POWER_SEED={seed} replays it");
    }
}

#[test]
fn whatever_a_loss_of_power_leaves_of_an_image_holds_what_was_flushed() {
    const EACH: u32 = 40;
    histories(1200, EACH.into(), |seed| {
        let (world, tape) = world(seed);
        let mut draws = Draws(seed);
        let start = tape.bytes();
        let device = serve(&world, &tape).expect("served");
        let first = tape.len();
        let steps = 50 + draws.below(400);
        let (deeds, _) = use_it(&world, &device, || tape.len(), &mut draws, steps, &mut 0);
        let known = Known::of(&vec![vec![0]; (device.size() / PAGE) as usize]);
        drop(device);
        let deeds: Vec<_> =
            deeds.into_iter().map(|(before, deed)| (before - first, deed)).collect();
        cut(&world, (&start, &tape.events()[first..]), (&known, &deeds), &mut draws, EACH, 0);
    });
}

/// Failures of calls: errno, repetitions, percent done.
const FAILURES: [(i32, u64, u8); 6] =
    [(5, 1, 0), (5, 12, 0), (5, u64::MAX, 0), (5, 1, 50), (5, 1, 100), (28, 3, 0)];

#[test]
fn whatever_call_fails_no_read_is_wrong_and_what_was_flushed_is_there_or_an_error() {
    const EACH: u64 = 3 * FAILURES.len() as u64;
    histories(360, EACH, |seed| {
        let (world, tape) = world(seed);
        let mut draws = Draws(seed);
        let whole = tape.bytes();
        for (call, (error, count, done)) in
            [Call::Read, Call::Write, Call::Sync].into_iter().flat_map(|c| FAILURES.map(|f| (c, f)))
        {
            let tape = Tape::of(whole.clone());
            let device = serve(&world, &tape).expect("served");
            let pages = (device.size() / PAGE) as usize;
            let mut last = 0;
            let (mut deeds, _) = use_it(&world, &device, || tape.len(), &mut draws, 150, &mut last);
            // That many calls of the kind come in what follows, more or less.
            let most = (tape.calls(call) / 2).max(1) as u32;
            let failing = Failing { call, from: draws.below(most).into(), count, error, done };
            tape.fail(Some(failing));
            let (more, refused) =
                use_it(&world, &device, || tape.len(), &mut draws, 100, &mut last);
            deeds.extend(more);
            if error == 28 && call != Call::Read {
                let other = refused.iter().find(|why| !why.contains("is full"));
                assert_eq!(other, None, "{}: there is room again, or there is none", world.policy);
            }
            let mut known = Known::of(&vec![vec![0]; pages]);
            deeds.iter().for_each(|(_, deed)| known.learn(*deed));
            let seen = Known { allowed: known.now.clone(), now: known.now.clone() };
            compare(&world, &device, &seen, true);
            drop(device);
            let mut power = Power::of(whole.clone());
            tape.events().iter().for_each(|event| power.then(event));
            let percent = [0, 50, 100][draws.index(3)];
            let left = power.cut(|held| match draws.happens(percent) {
                true => Some(held - 1),
                false => Some(draws.index(4)),
            });
            let left = Tape::of(left);
            match serve(&world, &left) {
                Ok(device) => {
                    compare(&world, &device, &known, true);
                    if error == 28 {
                        // The first change after a mount finds no room, and then some.
                        left.fail(Some(Failing { call, from: 0, ..failing }));
                        let _ = world.write(&device, 0, 1);
                        left.fail(None);
                        assert_eq!(world.write(&device, 0, 2), Ok(()), "{}", world.policy);
                    }
                }
                Err(e) => eprintln!("history {seed}, {}, {failing:?}: {e}", world.policy),
            }
        }
    });
}

/// As on a partition, which has no other file to be written first.
#[test]
fn formatting_anew_that_is_cut_off_leaves_the_old_store_or_none_or_the_new_one() {
    // Of those some lost trims where the newest block of the log did not go last.
    for seed in (0..30).chain([57, 289, 377]) {
        let (world, tape) = world(seed);
        let mut draws = Draws(seed);
        let device = serve(&world, &tape).expect("served");
        let pages = device.size() / PAGE;
        use_it(&world, &device, || tape.len(), &mut draws, 200, &mut 0);
        device.close().expect("stopped");
        drop(device);
        let contents = |bytes: Vec<u8>| {
            let device = serve(&world, &Tape::of(bytes)).ok()?;
            Some((0..pages).map(|page| world.read(&device, page).ok()).collect::<Vec<_>>())
        };
        let (start, first) = (tape.bytes(), tape.len());
        let old = contents(start.clone()).expect("served");
        let chip: Box<dyn Medium> = Box::new(tape.open().expect("opened"));
        let mut layer = world.store.format(chip, Format::default()).expect("formatted");
        layer.upkeep().unmount(0).expect("unmounted");
        layer.chip_mut().sync().expect("synced");
        drop(layer);
        let new = contents(tape.bytes()).expect("served");
        assert_eq!(new, vec![Some(0); pages as usize]);
        let mut power = Power::of(start);
        for (at, event) in tape.events()[first..].iter().enumerate() {
            power.then(event);
            let percent = [0, 50, 97, 100][draws.index(4)];
            let left = power.cut(|held| match draws.happens(percent) {
                true => Some(held - 1),
                false => Some(draws.index(4)),
            });
            let found = contents(left);
            let is_right = found.as_ref().is_none_or(|found| *found == old || *found == new);
            assert!(is_right, "{} seed {seed}, cut {at}: {found:?}", world.policy);
        }
    }
}
