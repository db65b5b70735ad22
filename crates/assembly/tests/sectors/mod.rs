//! One sector of an image at a time that its disk cannot read, or that holds zeros or junk: at most the page of
//! data in it is lost, and is an error for good; all else reads right. Images of all layers that were stopped
//! and killed, before and after 200 other writes, a clean stop, a kill and a repair.
//!
//! `THERMOCLINE_SECTORS=all` takes every sector; ordinarily it is a sample of each part of the file.

use std::collections::BTreeSet;

use thermocline_assembly::{
    Device as Chip, Progress, Verdict, check_opened,
    copy::{Holds, Original},
};
use thermocline_flash::{BlockId, Kind};
use thermocline_ftl::{Mount, index::MAP_STREAM};
use thermocline_media::{
    Place,
    image::tape::{Part, SECTOR, Tape},
};
use thermocline_server::Device;
use thermocline_testing::Draws;

use crate::small::{World, flush, number};

/// Sectors of each part of a file that are taken ordinarily; of small pages of data four times as many.
const EACH: usize = 2;
/// Pages that are written behind a flush, so that they prove it.
const LAST: u64 = 40;

#[derive(Clone, Copy, Debug)]
enum How {
    Unreadable,
    Zeros,
    Junk,
}

/// The allowed contents of a page: 0 for no data, else the number of the write.
type May = Vec<Vec<u64>>;

/// Compares all pages. Those that are errors.
fn look(world: &World, device: &Device, may: &mut May) -> Result<BTreeSet<u64>, String> {
    let mut lost = BTreeSet::new();
    for (page, may) in (0..).zip(may) {
        match world.read(device, page) {
            // Shown data stay.
            Ok(found) if may.contains(&found) => *may = vec![found],
            Ok(found) => return Err(format!("page {page} holds {found}, not {may:?}")),
            Err(_) => drop(lost.insert(page)),
        }
    }
    Ok(lost)
}

/// Reads an image as `check`, `export` and `backup` do. They succeed, name the lost pages, and call no image corrupt
/// that has lost nothing.
fn commands(world: &World, tape: &Tape, may: &May, lost: &BTreeSet<u64>) -> Result<(), String> {
    let Ok(place) = "tape".parse::<Place>();
    let open = || world.open(tape);
    let report = check_opened(&place, &open, false, &Progress::default());
    let report = report.map_err(|e| format!("check: {e}"))?;
    let named: BTreeSet<u64> = report.lost_pages.iter().map(|page| page.lpn.into()).collect();
    if named != *lost || lost.is_empty() == (report.verdict() == Verdict::Corrupt) {
        return Err(format!("check: {report:?}, and {lost:?} are errors"));
    }
    let original = open().and_then(|opened| Original::of(&place, opened));
    let mut original = original.map_err(|e| format!("export: {e}"))?;
    let mut bytes = vec![0; world.page as usize];
    for (page, may) in (0..).zip(may) {
        let found = match original.read(page, &mut bytes).map_err(|e| format!("export: {e}"))? {
            Holds::Data => Some(number(&bytes)),
            Holds::Nothing => Some(0),
            Holds::Unreadable => None,
        };
        if found.map_or(!lost.contains(&page.into()), |found| !may.contains(&found)) {
            return Err(format!("export: page {page} holds {found:?}, not {may:?}"));
        }
    }
    Ok(())
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
    // What comes behind says that all of that lasts, pages that cleaning moved as well.
    for page in 0..LAST {
        last += 1;
        world.write(&device, page, last).expect("written");
        may[page as usize].push(last);
    }
    if is_stopped {
        device.close().expect("stopped");
        may.iter_mut().for_each(|may| drop(may.drain(..may.len() - 1)));
    }
    may
}

/// The outcome of an image with such a sector.
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
    let part = world.part(sector);
    let mount = |draws: &mut Draws| if draws.one_in(3) { Mount::FromPages } else { Mount::Quick };
    let (mut may, mut story) = (may.clone(), String::from("served"));
    let mut device = world.serve(&tape, mount(draws)).map_err(|e| story.clone() + ": " + &e)?;
    let lost = look(world, &device, &mut may).map_err(|e| story.clone() + ": " + &e)?;
    let new: Vec<_> = lost.difference(lost_before).collect();
    let most = match part {
        // All of which only that page said where they are.
        Part::Data(block, page) if is_map(world, &tape.bytes(), block, page) => may.len(),
        Part::Data(..) => 1,
        _ => 0,
    };
    if new.len() > most {
        return Err(format!("{part:?}: pages {new:?} are errors"));
    }
    // Of every third, for it takes as long as all the rest.
    if sector.is_multiple_of(3) {
        drop(device);
        commands(world, &tape, &may, &lost)?;
        device = world.serve(&tape, Mount::Quick)?;
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
            let now = look(world, device, may).map_err(|e| format!("{story}: {e}"))?;
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

/// Whether a page is one of a map on the chip.
fn is_map(world: &World, bytes: &[u8], block: BlockId, page: u32) -> bool {
    let whole = if world.page.is_multiple_of(4096) { 4096 } else { 512 };
    let pages = world.store.device.profile.geometry.pages_per_block as usize;
    let areas = block.index() * (32 * pages).next_multiple_of(whole);
    world.policy == "demand-paged" && bytes[4096 * 3 + areas + 32 * page as usize + 1] == MAP_STREAM
}

fn sweep(profile: &str, policy: &'static str, page: u64, seed: u64) {
    let takes_all = std::env::var("THERMOCLINE_SECTORS").is_ok_and(|which| which == "all");
    let mut failed = Vec::new();
    for is_stopped in [true, false] {
        let mut draws = Draws(seed);
        let (world, tape) = World::of(profile, policy, page, 60);
        let may = history(&world, &tape, &mut draws, is_stopped);
        let bytes = tape.bytes();
        let device = world.serve(&Tape::of(bytes.clone()), Mount::Quick).expect("served");
        let lost = look(&world, &device, &mut may.clone()).expect("undamaged");
        assert!(lost.is_empty() || policy == "in-place" && !is_stopped, "{lost:?} undamaged");
        let part = |sector| world.part(sector);
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
                .zip([EACH, EACH, EACH, EACH, if page == 512 { 4 * EACH } else { EACH }])
                .flat_map(|(group, count)| {
                    (0..count).map(|_| group[draws.index(group.len())]).collect::<Vec<_>>()
                })
                .collect()
        };
        for at in chosen {
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

fn sweeps(policy: &'static str) {
    for (seed, page) in (1..).zip([512, 2048, 4096]) {
        sweep("slc-generic", policy, page, seed);
    }
}

#[test]
fn a_sector_that_is_gone_takes_one_page_at_most_with_it() {
    sweeps("greedy");
}

#[test]
fn so_it_is_with_nftl() {
    sweeps("nftl");
}

#[test]
fn so_it_is_in_place() {
    sweeps("in-place");
}

#[test]
fn so_it_is_where_the_map_lies_on_the_chip() {
    sweeps("demand-paged");
}

#[test]
fn so_it_is_on_nor() {
    let kind = Chip::load("intel-series2plus-24m").expect("a device").profile.kind;
    assert_eq!(kind, Kind::Nor);
    for policy in ["greedy", "in-place"] {
        sweep("intel-series2plus-24m", policy, 512, 4);
    }
}

/// Not even where one head is enough for the mount.
#[test]
fn check_names_a_sector_of_the_log_whatever_the_mount_reads_of_it() {
    for policy in ["greedy", "nftl", "demand-paged", "in-place"] {
        let (world, tape) = World::of("slc-generic", policy, 512, 60);
        let bytes = tape.bytes();
        let is_head = |sector: &u64| {
            let holds = &bytes[*sector as usize * SECTOR..];
            world.part(*sector) == Part::Log && holds.starts_with(b"TCIX") && holds[5] == 1
        };
        let heads: Vec<u64> = (0..(bytes.len() / SECTOR) as u64).filter(is_head).collect();
        // Second copies are at the end of the file, and are read where the first ones cannot be.
        for sector in &heads[..heads.len() / 2] {
            let tape = Tape::of(bytes.clone());
            tape.spoil(*sector);
            let Ok(place) = "tape".parse::<Place>();
            let report = check_opened(&place, &|| world.open(&tape), false, &Progress::default());
            let report = report.expect("checked");
            assert_eq!(report.verdict(), Verdict::Damaged, "{policy}, {sector}: {report:?}");
        }
        assert!(heads.len() >= 2, "{policy}: {heads:?}");
    }
}

/// No later write records the flush. A page that the disk refuses was whole all the same, since a loss of power leaves
/// no such sector. A page with other content may have been cut off.
#[test]
fn a_page_that_was_flushed_last_and_that_the_disk_refuses_is_an_error() {
    for (policy, page) in
        ["greedy", "nftl", "demand-paged"].into_iter().flat_map(|p| [(p, 512), (p, 4096)])
    {
        let (world, tape) = World::of("slc-generic", policy, page, 60);
        let device = world.serve(&tape, Mount::Quick).expect("served");
        for content in [0x1111_2222, 0x3333_4444] {
            world.write(&device, 7, content).expect("written");
            flush(&device).expect("flushed");
        }
        drop(device);
        let bytes = tape.bytes();
        let newest = 0x3333_4444_u64.to_le_bytes().repeat(64);
        let sectors = (0_u64..).zip(bytes.chunks(SECTOR));
        let at: Vec<u64> = sectors.filter(|(_, is)| *is == newest).map(|(at, _)| at).collect();
        assert_eq!(at.len() as u64, page / 512, "{policy}");
        let tape = Tape::of(bytes);
        tape.spoil(at[0]);
        for mount in [Mount::Quick, Mount::FromPages] {
            let device = world.serve(&tape, mount).expect("served");
            let found = world.read(&device, 7);
            assert!(found.is_err(), "{policy}, {page}, {mount:?}: {found:?}");
        }
        // It stays one, whatever is written beside it.
        let device = world.serve(&tape, Mount::Quick).expect("served");
        for other in (0..200).map(|n| n % 90 + 8) {
            world.write(&device, other, other).expect("written");
        }
        flush(&device).expect("flushed");
        device.close().expect("stopped");
        drop(device);
        let device = world.serve(&tape, Mount::Quick).expect("served");
        assert!(world.read(&device, 7).is_err(), "{policy}, {page}");
        world.write(&device, 7, 5).expect("written");
        assert_eq!(world.read(&device, 7), Ok(5), "{policy}, {page}");
    }
}
