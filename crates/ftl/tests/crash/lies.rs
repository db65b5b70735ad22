//! Programs that the system below reports as failed, and that were done all the same: their numbers are never
//! used again, so newer data are newer whatever a loss of power leaves.

use super::{
    Case, History, Kind, Search, Totals,
    chip::{CUTS, Cut, State},
    common::Draws,
    device::{World, ops, sync},
    host::{Event, Host, Use, ZEROS},
};
use thermocline_flash::FlashError;
use thermocline_ftl::FtlError;

/// Uses a device whose chip sometimes does programs that it reports as failed.
fn history(kind: Kind, draws: &mut Draws, now: &mut u64, last: &mut u64) -> (World, History) {
    let world = match kind {
        Kind::Nftl => World::draw_nftl(draws),
        Kind::InPlace => World::draw_in_place(draws),
        _ => World::draw(draws, true),
    };
    let chip = world.chip(State::blank(&world.geometry, &[]));
    let mut device = world.format(chip).unwrap_or_else(|e| panic!("formatted: {e} {world:?}"));
    sync(&mut *device);
    device.chip_mut().ops.clear();
    let start = device.chip().state.clone();
    let contents = vec![ZEROS; world.config.logical_pages as usize];
    let (host, events) = (Host::of(&contents), Vec::new());
    let mut user = Use { device: &mut *device, host, events, now, last };
    for _ in 0..80 + draws.below(120) {
        *user.now += 1;
        let lpn = draws.below(user.host.pages()) >> draws.below(3);
        let before = user.host.holds(lpn).to_vec();
        user.device.chip_mut().lies = draws.one_in(20);
        let done = match draws.below(8) {
            0 => user.trim(lpn),
            1 | 2 => user.flush(),
            _ => user.write(lpn, false),
        };
        match done {
            Ok(()) => {}
            // It was not done, or it was.
            Err(FtlError::Flash(FlashError::Medium(_))) => {
                before.into_iter().for_each(|held| user.note(Event::Maybe(lpn, held)));
            }
            Err(e) => panic!("it goes on: {e}"),
        }
    }
    user.device.chip_mut().lies = false;
    user.check_all();
    let events = user.events;
    let ops = ops(&mut *device);
    (world, History { start, ops, events, contents, partial: 0 })
}

fn search(kind: Kind, histories: u64) {
    for seed in 0..histories {
        let _case = Case { seed, at: 0, cut: Cut::InOrder, depth: 0 };
        let (mut now, mut last) = (0, 0);
        let mut draws = Draws(seed);
        let (world, history) = history(kind, &mut draws, &mut now, &mut last);
        let mut search = Search { seed, kind, totals: Totals::default(), now, last };
        let mut at: Vec<usize> =
            (0..8).map(|_| draws.below(history.ops.len() as u32 + 1) as usize).collect();
        at.sort_unstable();
        search.cut(&world, &history, &at, &CUTS, &mut draws, 0);
    }
}

#[test]
fn a_program_that_was_done_though_it_failed_never_passes_for_newer_data() {
    search(Kind::Rough, 120);
}

#[test]
fn nor_does_it_in_nftl() {
    search(Kind::Nftl, 120);
}

#[test]
fn nor_does_it_in_place() {
    search(Kind::InPlace, 120);
}
