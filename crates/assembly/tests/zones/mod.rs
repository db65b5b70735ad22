//! Zoned devices after a loss of power. The operations of a device in use are recorded. Of what no sync covered
//! each zone keeps any beginning, with blocks of it that hold something else. Each such device is mounted as a
//! server mounts it, and read through the device that connections use.
//!
//! `THERMOCLINE_POWER_IMAGES` sets the number of devices; `THERMOCLINE_POWER_SEED` runs only the history with a found
//! fault.

use thermocline_assembly::{Device as Chip, PolicySpec, Store};
use thermocline_flash::Flash;
use thermocline_ftl::{Format, Mount};
use thermocline_media::{
    Medium,
    zoned::tape::{Condition, Event, Power, Shape, State, Tape},
};
use thermocline_policy::preset::LayerKind;
use thermocline_server::{Device, Opening};
use thermocline_testing::{Deed, Draws, Known};

use crate::{
    power::{self, compare, histories},
    small::{World, flush},
};

const PAGE: u64 = 4096;

/// The layers, by policies that serve them. Zones of a place for active ones are for those that need few.
const POLICIES: [(&str, u32); 6] =
    [("greedy", 0), ("dac", 0), ("greedy", 5), ("demand-paged", 7), ("dac", 8), ("nftl", 0)];

/// A small store of each layer in turn, on zones of 7 to 10 pages, with blocks of 512 or 4096 bytes. The record log is
/// in conventional zones in each fourth round.
fn world(seed: u64) -> (World, Tape) {
    let (policy, most_active) = POLICIES[seed as usize % POLICIES.len()];
    let block = if seed.is_multiple_of(2) { 512 } else { 4096 };
    let zones = 64 + seed as u32 % 7;
    let shape = Shape { block, zone: 10 * PAGE, zones, most_open: most_active.min(4), most_active };
    let has_log_there = (seed / POLICIES.len() as u64).is_multiple_of(4);
    let conventional = if has_log_there { 3 } else { seed as u32 % 3 };
    let mut state = State::new(shape, (7 + seed % 4) * PAGE, conventional);
    state.zones()[9].condition = Condition::Offline;
    state.zones()[11].condition = Condition::ReadOnly;
    let tape = Tape::of(state);
    let mut profile = Chip::load("slc-generic").expect("built in").profile;
    profile.geometry = *tape.open(true, 0).expect("a chip").geometry();
    let spec = match policy {
        "demand-paged" => PolicySpec::parse("greedy", None, None)
            .and_then(|policy| policy.on(LayerKind::DemandPaged)),
        policy => PolicySpec::parse(policy, None, None),
    };
    let store = Store::fit(Chip::of_chip(profile), 0.4, spec.expect("a preset")).expect("it fits");
    let world = World { store, policy, page: PAGE };
    let mut layer = world.store.format(open(&world, &tape), Format::default()).expect("formatted");
    layer.upkeep().unmount(0).expect("unmounted");
    layer.chip_mut().sync().expect("synced");
    drop(layer);
    (world, tape)
}

fn open(world: &World, tape: &Tape) -> Box<dyn Medium> {
    let system_blocks = world.store.device.profile.geometry.system_blocks;
    Box::new(tape.open(false, system_blocks).expect("opened"))
}

fn serve(world: &World, tape: &Tape) -> Device {
    let (layer, _) = world.store.mount(open(world, tape), Mount::Quick).expect("served again");
    Device::new(Opening::new(layer), None)
}

/// Uses a device, which refuses nothing. Its actions, each with the operations before it.
fn use_it(
    world: &World,
    device: &Device,
    tape: &Tape,
    draws: &mut Draws,
    steps: u32,
    last: &mut u64,
) -> Vec<(usize, Deed)> {
    let (deeds, refused) = power::use_it(world, device, || tape.len(), draws, steps, last);
    assert!(refused.is_empty(), "{refused:?}");
    deeds
}

/// Checks `count` devices that a loss of power may leave of a history, and cuts the power of some again.
fn cut(
    world: &World,
    (start, events): (&State, &[Event]),
    (known, deeds): (&Known, &[(usize, Deed)]),
    draws: &mut Draws,
    count: u32,
    depth: u32,
) {
    let mut known = known.clone();
    let mut power = Power::of(start.clone());
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
        let left = power.cut(|below| draws.index(below));
        let tape = Tape::of(left.clone());
        let device = serve(world, &tape);
        let found = compare(world, &device, &known, false);
        if depth == 0 && draws.one_in(6) {
            let mut last = draws.next() >> 8;
            let deeds = use_it(world, &device, &tape, draws, 40, &mut last);
            drop(device);
            cut(world, (&left, &tape.events()), (&Known::of(&found), &deeds), draws, 4, 1);
        }
    }
}

/// Devices of each history.
const EACH: u32 = 24;

fn history(seed: u64) {
    let (world, tape) = world(seed);
    let mut draws = Draws(seed);
    let start = tape.state();
    let device = serve(&world, &tape);
    let first = tape.len();
    let steps = 50 + draws.below(600);
    let deeds = use_it(&world, &device, &tape, &mut draws, steps, &mut 0);
    let known = Known::of(&vec![vec![0]; (device.size() / PAGE) as usize]);
    drop(device);
    let deeds: Vec<_> = deeds.into_iter().map(|(before, deed)| (before - first, deed)).collect();
    cut(&world, (&start, &tape.events()[first..]), (&known, &deeds), &mut draws, EACH, 0);
}

#[test]
fn whatever_a_loss_of_power_leaves_of_zones_holds_what_was_flushed() {
    histories(12 * u64::from(EACH), EACH.into(), history);
    // A block of the index log that lasted without what was written before it was erased, and one that was erased
    // because its zone had been sealed.
    [61, 152].into_iter().for_each(history);
}

/// One block of a zone at a time holds something else: no read is wrong, and what was flushed is there or an error.
#[test]
fn whatever_block_of_a_zone_is_spoilt_nothing_is_wrong_in_silence() {
    for seed in 0..2 * POLICIES.len() as u64 {
        let (world, tape) = world(seed);
        let mut draws = Draws(seed);
        let device = serve(&world, &tape);
        let mut known = Known::of(&vec![vec![0]; (device.size() / PAGE) as usize]);
        for (_, deed) in use_it(&world, &device, &tape, &mut draws, 500, &mut 0) {
            known.learn(deed);
        }
        match draws.one_in(2) {
            true => device.close().expect("stopped"),
            false => flush(&device).expect("flushed"),
        }
        known.learn(Deed::Flushed);
        drop(device);
        let state = tape.state();
        let zones = state.clone().zones().len();
        for _ in 0..20 {
            let mut state = state.clone();
            let zone = draws.index(zones);
            let block = draws.index((state.bytes(zone).len() as u64 / PAGE) as usize);
            let bytes = &mut state.bytes(zone)[block * PAGE as usize..][..PAGE as usize];
            bytes.iter_mut().for_each(|byte| *byte = draws.below(256) as u8);
            let tape = Tape::of(state);
            match world.store.mount(open(&world, &tape), Mount::Quick) {
                Ok((layer, _)) => {
                    let device = Device::new(Opening::new(layer), None);
                    compare(&world, &device, &known, true);
                }
                Err(e) => assert!(!e.to_string().is_empty()),
            }
        }
    }
}
