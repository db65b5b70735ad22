//! One sector of an image at a time that its disk cannot read, or that holds zeros or junk: at most the page of
//! data in it is lost, and is an error for good; all else reads right. Images of all layers that were stopped
//! and killed, before and after 200 other writes, a clean stop, a kill and a repair.
//!
//! `THERMOCLINE_SECTORS=all` takes every sector; ordinarily it is a sample of each part of the file.

use std::collections::BTreeSet;

use thermocline_assembly::{Device as Chip, PolicySpec, Store, device::Overrides};
use thermocline_flash::Kind;
use thermocline_ftl::{Format, Mount};
use thermocline_media::{
    Medium,
    image::tape::{Part, SECTOR, Tape},
};
use thermocline_policy::preset::LayerKind;
use thermocline_server::{Device, Opening};
use thermocline_testing::Draws;

/// Sectors of each part of a file that are taken ordinarily.
const EACH: usize = 2;
/// Pages that are written last, so that others prove the flush before.
const LAST: u64 = 40;

#[derive(Clone, Copy, Debug)]
enum How {
    Unreadable,
    Zeros,
    Junk,
}

struct World {
    store: Store,
    policy: &'static str,
    page: u64,
}

/// What a page may hold: 0 for no data, else the number of the write.
type May = Vec<Vec<u64>>;

impl World {
    fn of(profile: &str, policy: &'static str, page: u64) -> (Self, Tape) {
        let overrides = Overrides {
            capacity: Some(60 * 8 * page),
            block_size: Some(8 * page),
            page_size: Some(page),
            ..Overrides::default()
        };
        let device = Chip::load(profile).and_then(|device| device.with(&overrides));
        let spec = match policy {
            "demand-paged" => PolicySpec::parse("greedy", None, None)
                .and_then(|policy| policy.on(LayerKind::DemandPaged)),
            policy => PolicySpec::parse(policy, None, None),
        };
        let store = Store::fit(device.expect("a small device"), 0.3, spec.expect("a preset"));
        let store = store.expect("it fits");
        let profile = &store.device.profile;
        let tape = Tape::blank(profile.kind, profile.geometry, profile.rules).expect("an image");
        let chip: Box<dyn Medium> = Box::new(tape.open().expect("opened"));
        let mut layer = store.format(chip, Format::default()).expect("formatted");
        layer.upkeep().unmount(0).expect("unmounted");
        layer.chip_mut().sync().expect("synced");
        (Self { store, policy, page }, tape)
    }

    fn serve(&self, tape: &Tape, mount: Mount) -> Result<Device, String> {
        let chip: Box<dyn Medium> = Box::new(tape.open().map_err(|e| e.to_string())?);
        let (layer, _) = self.store.mount(chip, mount).map_err(|e| e.to_string())?;
        Ok(Device::new(Opening::new(layer), None))
    }

    /// As `repair` does.
    fn repair(&self, tape: &Tape) -> Result<(), String> {
        let chip: Box<dyn Medium> = Box::new(tape.open().map_err(|e| e.to_string())?);
        let (mut layer, found) =
            self.store.mount(chip, Mount::Repair).map_err(|e| e.to_string())?;
        layer.inspect().check()?;
        layer.chip_mut().mend().map_err(|e| e.to_string())?;
        layer.upkeep().unmount(found.newest_time + 1).map_err(|e| e.to_string())?;
        layer.chip_mut().sync().map_err(|e| e.to_string())
    }

    fn write(&self, device: &Device, page: u64, content: u64) -> Result<(), String> {
        let bytes = content.to_le_bytes().repeat(self.page as usize / 8);
        let mut held = device.lock().map_err(|e| e.to_string())?;
        held.write(page * self.page, &bytes).map_err(|e| e.to_string())
    }

    /// By the questions that a connection asks.
    fn read(&self, device: &Device, page: u64) -> Result<u64, ()> {
        let mut held = device.lock().expect("it is served");
        if !held.run(page * self.page, self.page, 1).0 {
            return Ok(0);
        }
        let mut bytes = vec![1; self.page as usize];
        held.read(page * self.page, &mut bytes).map_err(drop)?;
        let words = bytes.as_chunks::<8>().0;
        let is_whole = words.iter().all(|word| *word == words[0]);
        Ok(if is_whole { u64::from_le_bytes(words[0]) } else { u64::MAX })
    }

    /// Compares all pages. Those that are errors.
    fn look(&self, device: &Device, may: &mut May) -> Result<BTreeSet<u64>, String> {
        let mut lost = BTreeSet::new();
        for (page, may) in (0..).zip(may) {
            match self.read(device, page) {
                // What was shown stays.
                Ok(found) if may.contains(&found) => *may = vec![found],
                Ok(found) => return Err(format!("page {page} holds {found}, not {may:?}")),
                Err(()) => drop(lost.insert(page)),
            }
        }
        Ok(lost)
    }
}

fn flush(device: &Device) -> Result<(), String> {
    let changes = device.lock().map_err(|e| e.to_string())?.changes();
    device.settle(changes, 1).map_err(|e| e.to_string())
}

/// Uses a device, and stops or kills it. What its pages may hold.
fn history(world: &World, tape: &Tape, draws: &mut Draws, is_stopped: bool) -> May {
    let device = world.serve(tape, Mount::Quick).expect("served");
    let pages = device.size() / world.page;
    let mut may = vec![vec![0]; pages as usize];
    let mut last = 0;
    for step in 0..3 * pages {
        let page = u64::from(draws.below(pages as u32) >> draws.below(3));
        if draws.one_in(20) && world.policy != "demand-paged" {
            let trimmed = device.lock().and_then(|mut h| h.trim(page * world.page, world.page));
            trimmed.expect("trimmed");
            may[page as usize] = vec![0];
        } else {
            last += 1;
            world.write(&device, page, last).expect("written");
            may[page as usize] = vec![last];
        }
        if step % 40 == 39 {
            flush(&device).expect("flushed");
        }
    }
    flush(&device).expect("flushed");
    for page in pages - LAST..pages {
        last += 1;
        world.write(&device, page, last).expect("written");
        may[page as usize].push(last);
    }
    flush(&device).expect("flushed");
    if is_stopped {
        device.close().expect("stopped");
        may.iter_mut().for_each(|may| drop(may.drain(..may.len() - 1)));
    }
    may
}

/// What becomes of an image with such a sector.
fn sector(
    world: &World,
    bytes: &[u8],
    may: &May,
    lost_before: &BTreeSet<u64>,
    (sector, how): (u64, How),
    draws: &mut Draws,
) -> Result<(), String> {
    let mut bytes = bytes.to_vec();
    let range = sector as usize * SECTOR..(sector as usize + 1) * SECTOR;
    match how {
        How::Unreadable => {}
        How::Zeros => bytes[range].fill(0),
        How::Junk => bytes[range].iter_mut().for_each(|byte| *byte = draws.below(256) as u8),
    }
    let tape = Tape::of(bytes);
    if matches!(how, How::Unreadable) {
        tape.spoil(sector);
    }
    let profile = &world.store.device.profile;
    let part = Tape::part(profile.kind, profile.geometry, sector);
    let mount = |draws: &mut Draws| if draws.one_in(3) { Mount::FromPages } else { Mount::Quick };
    let (mut may, mut story) = (may.clone(), String::from("served"));
    let mut device = world.serve(&tape, mount(draws)).map_err(|e| story.clone() + ": " + &e)?;
    let lost = world.look(&device, &mut may).map_err(|e| story.clone() + ": " + &e)?;
    let new: Vec<_> = lost.difference(lost_before).collect();
    if new.len() > usize::from(matches!(part, Part::Data(..))) {
        return Err(format!("{part:?}: pages {new:?} are errors"));
    }
    let mut written = 1_000_000;
    for _ in 0..2 {
        for _ in 0..200 {
            let page = u64::from(draws.below(may.len() as u32));
            if !lost.contains(&page) {
                written += 1;
                world.write(&device, page, written).map_err(|e| format!("{story}: {e}"))?;
                may[page as usize] = vec![written];
            }
        }
        flush(&device).map_err(|e| format!("{story}: {e}"))?;
        let same = |device: &Device, may: &mut May, story: &str| {
            let now = world.look(device, may).map_err(|e| format!("{story}: {e}"))?;
            let is_same = now == lost;
            is_same.then_some(()).ok_or(format!("{story}: {now:?} are errors, not {lost:?}"))
        };
        story += ", written";
        same(&device, &mut may, &story)?;
        if draws.one_in(2) {
            story += ", stopped";
            device.close().map_err(|e| format!("{story}: {e}"))?;
        }
        drop(device);
        if draws.one_in(3) {
            story += ", repaired";
            world.repair(&tape).map_err(|e| format!("{story}: {e}"))?;
        }
        story += ", served";
        device = world.serve(&tape, mount(draws)).map_err(|e| format!("{story}: {e}"))?;
        same(&device, &mut may, &story)?;
    }
    Ok(())
}

/// What a demand-paged store does not know (docs/format.md): a page of its map that cannot be read is not always
/// noticed yet, and nothing in one that was killed records a flush.
fn is_unknown(world: &World, bytes: &[u8], part: Part, is_stopped: bool) -> bool {
    let Part::Data(block, page) = part else { return false };
    let whole = if world.page.is_multiple_of(4096) { 4096 } else { 512 };
    let pages = world.store.device.profile.geometry.pages_per_block as usize;
    let areas = block.index() * (32 * pages).next_multiple_of(whole);
    let stream = bytes[4096 * 3 + areas + 32 * page as usize + 1];
    world.policy == "demand-paged" && (stream == 128 || !is_stopped)
}

fn sweep(profile: &str, policy: &'static str, page: u64, seed: u64) {
    let takes_all = std::env::var("THERMOCLINE_SECTORS").is_ok_and(|which| which == "all");
    let mut failed = Vec::new();
    for is_stopped in [true, false] {
        let mut draws = Draws(seed);
        let (world, tape) = World::of(profile, policy, page);
        let may = history(&world, &tape, &mut draws, is_stopped);
        let bytes = tape.bytes();
        let device = world.serve(&Tape::of(bytes.clone()), Mount::Quick).expect("served");
        let lost = world.look(&device, &mut may.clone()).expect("undamaged");
        assert!(lost.is_empty() || policy == "in-place" && !is_stopped, "{lost:?} undamaged");
        let profile = &world.store.device.profile;
        let part = |sector| Tape::part(profile.kind, profile.geometry, sector);
        let sectors = 0..(bytes.len() / SECTOR) as u64;
        let chosen: Vec<u64> = if takes_all {
            sectors.collect()
        } else {
            let kinds = [Part::Header, Part::Table, Part::Areas, Part::Log];
            let is_data = |sector: &u64| matches!(part(*sector), Part::Data(..));
            let holds = |sector: &u64| {
                bytes[*sector as usize * SECTOR..][..SECTOR].iter().any(|&b| b != 0 && b != 0xff)
            };
            let mut groups: Vec<Vec<u64>> = kinds
                .iter()
                .map(|kind| sectors.clone().filter(|s| part(*s) == *kind && holds(s)).collect())
                .collect();
            groups
                .push(sectors.clone().filter(|sector| is_data(sector) && holds(sector)).collect());
            groups
                .iter()
                .flat_map(|group| {
                    (0..EACH).map(|_| group[draws.index(group.len())]).collect::<Vec<_>>()
                })
                .collect()
        };
        for at in chosen.into_iter().filter(|at| !is_unknown(&world, &bytes, part(*at), is_stopped))
        {
            // Ordinarily one of the three with large pages, which take longer.
            let all = [How::Unreadable, How::Zeros, How::Junk];
            let one = (at % 3) as usize;
            let is_small = takes_all || page == 512;
            for how in if is_small { &all[..] } else { &all[one..one + 1] } {
                let mut draws = Draws(seed ^ at << 8);
                if let Err(wrong) = sector(&world, &bytes, &may, &lost, (at, *how), &mut draws) {
                    let end = if is_stopped { "stopped" } else { "killed" };
                    failed.push(format!("{end}, sector {at} ({:?}) {how:?}: {wrong}", part(at)));
                }
            }
        }
    }
    let first = failed.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(failed.is_empty(), "{policy}, {page}: {} wrong:\n{first}", failed.len());
}

#[test]
fn a_sector_that_is_gone_takes_one_page_at_most_with_it() {
    for (seed, page) in (1..).zip([512, 2048, 4096]) {
        for policy in ["greedy", "nftl", "in-place", "demand-paged"] {
            sweep("slc-generic", policy, page, seed);
        }
    }
}

#[test]
fn so_it_is_on_nor() {
    let kind = Chip::load("intel-series2plus-24m").expect("a device").profile.kind;
    assert_eq!(kind, Kind::Nor);
    for policy in ["greedy", "in-place"] {
        sweep("intel-series2plus-24m", policy, 512, 4);
    }
}
