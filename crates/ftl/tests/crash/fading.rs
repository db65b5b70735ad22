//! A page cut off by a loss of power reads well at the mount and fades later, as cells do that were not fully
//! programmed. Data flushed before it stay, and data that a mount has shown stay, whatever is changed or cut off next.

use super::{
    Case, Kind,
    chip::{Cut, Op, Page, State},
    common::Draws,
    device::{World, content, describe, explain, ops},
    history,
    host::{Event, Host, Use},
};
use thermocline_flash::{Flash, Ppn};
use thermocline_ftl::Mount;

/// Lives in a row, each of which ends in the middle of a program.
const DEPTH: u32 = 4;

struct Lives<'a> {
    world: &'a World,
    draws: Draws,
    now: u64,
    last: u64,
    faded: u32,
}

impl Lives<'_> {
    /// Mounts the chip after power failed in the program of a page, uses it, and cuts the power again.
    fn live(&mut self, mut state: State, cut: Ppn, host: &Host, depth: u32) {
        let mut chip = self.world.chip(state.clone());
        chip.may_fade = true;
        let how = [Mount::Quick, Mount::FromPages][self.draws.index(2)];
        let mounted = self.world.mount(chip, self.draws.index(2), how);
        let (mut device, _) = mounted.unwrap_or_else(|e| panic!("{how:?}: {e}"));
        let mut shown = Vec::new();
        for lpn in 0..host.pages() {
            let (found, may) = (content(&mut *device, lpn), host.may_hold(lpn));
            if !may.contains(&found) {
                explain(&mut self.world.chip(state.clone()), lpn);
            }
            assert!(may.contains(&found), "{how:?}: page {lpn} holds {found}, not {may:?}");
            shown.push(found);
        }
        // At once, or some programs and erases later.
        let oob = device.chip_mut().read_oob(cut).ok().flatten();
        let (mut now, mut last) = (self.now, self.last);
        let mut events = Vec::new();
        let mut known = Host::of(&shown);
        let at_once = self.draws.one_in(4);
        if at_once {
            let fade = Op::Program(cut, Page::Torn);
            device.chip_mut().state.apply(&self.world.geometry, &fade);
            device.chip_mut().ops.push(fade);
            if (cut.0 + depth).is_multiple_of(3) {
                // Where there is no room it is tried again.
                device.chip_mut().full = true;
                let _ = device.settle(now);
                device.chip_mut().full = false;
            }
            // Shown data last from the next flush on: they may have been flushed before.
            let done = device.settle(now);
            done.unwrap_or_else(|e| panic!("settled: {e}"));
            if let Some(lpn) = oob.map(|oob| oob.lpn).filter(|lpn| lpn.0 < host.pages()) {
                assert_eq!(content(&mut *device, lpn.0), shown[lpn.index()], "{lpn:?}");
                self.faded += 1;
            }
            // Until then an earlier copy may replace it, as after any cut.
            known = host.clone();
            known.shown(&shown);
            events.push((device.chip().ops.len(), Event::Flushed));
        }
        let mut user = Use {
            device: &mut *device,
            host: known.clone(),
            events,
            now: &mut now,
            last: &mut last,
        };
        if !at_once {
            // The first change sees to it.
            let lpn = self.draws.below(user.host.pages());
            let done = user.write(lpn, false);
            done.unwrap_or_else(|e| panic!("the first change: {e}"));
            // Unless it is erased by now.
            let chip = user.device.chip_mut();
            if chip.read_oob(cut).ok().flatten() == oob {
                chip.fading = Some((cut, self.draws.below(12)));
            }
        }
        for _ in 0..self.draws.below(40) {
            if let Err(e) = user.operate(&mut self.draws) {
                describe(self.world, user.device, &state);
                panic!("going on: {e}");
            }
        }
        user.check_all();
        let (events, ops) = (user.events, ops(&mut *device));
        (self.now, self.last) = (now, last);
        let is_program = |op: &Op| matches!(op, Op::Program(_, Page::Holds(..)));
        let ends: Vec<usize> = (0..ops.len()).filter(|&i| is_program(&ops[i])).collect();
        if depth == DEPTH || ends.is_empty() {
            return;
        }
        let end = ends[self.draws.index(ends.len())] + 1;
        let mut host = known;
        events.iter().filter(|(begun, _)| *begun < end).for_each(|(_, e)| host.learn(*e));
        let Op::Program(cut, _) = ops[end - 1] else { return };
        ops[..end].iter().for_each(|op| state.apply(&self.world.geometry, op));
        self.live(state, cut, &host, depth + 1);
    }
}

fn search(kind: Kind, seeds: u64, more: &[u64]) {
    let one = std::env::var("THERMOCLINE_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut faded = 0;
    let all = || (1..=seeds).chain(more.iter().copied()).collect();
    for seed in one.map_or_else(all, |seed: u64| vec![seed]) {
        let _case = Case { seed, at: 0, cut: Cut::InOrder, depth: 0 };
        let (mut now, mut last) = (0, 0);
        let (world, history) = history(seed, kind, &mut now, &mut last);
        let draws = Draws(seed ^ 0xfade);
        let mut lives = Lives { world: &world, draws, now, last, faded: 0 };
        let programs = |op: &Op| matches!(op, Op::Program(_, Page::Holds(..)));
        let ends: Vec<usize> =
            (0..history.ops.len()).filter(|&i| programs(&history.ops[i])).collect();
        for _ in 0..8 {
            let end = ends[lives.draws.index(ends.len())] + 1;
            let Op::Program(cut, _) = history.ops[end - 1] else { continue };
            let mut state = history.start.clone();
            history.ops[..end].iter().for_each(|op| state.apply(&world.geometry, op));
            let mut host = Host::of(&history.contents);
            let begun = history.events.iter().filter(|(begun, _)| *begun < end);
            begun.for_each(|(_, event)| host.learn(*event));
            lives.live(state, cut, &host, 0);
        }
        faded += lives.faded;
    }
    eprintln!("{kind:?}: {faded} pages of data faded before the first change");
    assert!(one.is_some() || faded > 0, "none faded");
}

#[test]
fn a_page_that_fades_after_the_mount_takes_nothing_older_with_it() {
    search(Kind::Smooth, 60, &[]);
}

#[test]
fn nor_does_it_where_policies_change_and_blocks_fail() {
    search(Kind::Rough, 60, &[1580]);
}

#[test]
fn nor_does_it_in_a_store_of_nftl() {
    search(Kind::Nftl, 300, &[622, 711, 1036]);
}
