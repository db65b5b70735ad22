//! A page that is lost, as clients see it: an error, and never a hole, on each layer that can lose one.

use std::{fs, os::unix::fs::FileExt, path::Path};

use tempfile::TempDir;
use thermocline_assembly::{
    Access, AssemblyError, Candidate, Device, FormatOptions, PolicySpec, Progress, ServeOptions,
    device::Overrides, format, repair,
};
use thermocline_flash::{Flash, Lpn, Ppn};
use thermocline_ftl::index::MAP_STREAM;
use thermocline_media::Place;
use thermocline_nbd::wire;
use thermocline_policy::{preset::LayerKind, trigger::Watermarks};
use thermocline_server::{AnyLayer, Opening, Options};

use crate::{
    client::{Client, greet, option, option_reply, take, unix},
    running::Running,
};

const PAGE: usize = 4096;
/// The page that is lost: of the second page of a map, whose first one is written last of all.
const LPN: u32 = 1400;
/// Pages beside it that are written again.
const AROUND: std::ops::Range<u32> = LPN - 100..LPN + 100;

/// How a store is used before a client looks at it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Stopped,
    Killed,
    Repaired,
    /// It is served from the pages.
    Rebuilt,
}

fn serve(path: &Path, (layer, policy): (LayerKind, &str), rebuild: bool) -> AnyLayer {
    let Ok(place) = path.to_str().expect("UTF-8").parse::<Place>();
    let options = ServeOptions {
        policy: PolicySpec::parse(policy, None, None).and_then(|p| p.on(layer)).expect("a preset"),
        over_provisioning: 0.3,
        watermarks: Watermarks::default(),
        grouped: false,
        time_scale_ns: None,
        seed: 1,
        separate: Vec::new(),
        rebuild,
        map_cache: None,
    };
    let access = Access::default();
    let found = Candidate::find(&place, &access, || Err(AssemblyError::Interrupted));
    found.and_then(|found| found.start(&access, &options, |chip, _| chip)).expect("served").layer
}

/// An image with every page written and flushed. The area of one page is damaged; if the map is on the chip, the map
/// page that points to it.
fn spoilt(path: &Path, of: (LayerKind, &str)) {
    let Ok(place) = path.to_str().expect("UTF-8").parse::<Place>();
    let small =
        Overrides { capacity: Some(9 << 20), block_size: Some(64 << 10), ..Overrides::default() };
    let device = Device::load("slc-generic").and_then(|device| device.with(&small));
    let options = FormatOptions {
        device: device.expect("a small device"),
        over_provisioning: 0.3,
        layer: of.0,
        preallocate: false,
        force: false,
    };
    format(&place, &options).expect("formatted");
    let mut layer = serve(path, of, false);
    for lpn in 0..layer.logical_pages() {
        layer.write(Lpn(lpn), &content(lpn), u64::from(lpn) + 1).expect("written");
    }
    // Without a trim all that a page of the map said is found again.
    layer.trim(Lpn(AROUND.end), 9_999).expect("trimmed");
    let at = layer.find(Lpn(LPN));
    layer.upkeep().unmount(10_000).expect("unmounted");
    layer.chip_mut().sync().expect("synced");
    let geometry = *layer.chip().geometry();
    let map = (0..geometry.blocks() * geometry.pages_per_block).map(Ppn).filter_map(|page| {
        let area = layer.chip_mut().read_oob(page).ok()??;
        let is_of_it = area.stream == MAP_STREAM && area.lpn == Lpn(1);
        is_of_it.then_some((area.sequence & ((1 << 40) - 1), page))
    });
    let map = map.max().map(|(_, page)| page);
    drop(layer);
    // `docs/format-image.md`: the header, two tables of blocks, then 32 bytes a page.
    let areas = PAGE as u64 * (1 + 2 * u64::from(geometry.blocks().div_ceil(1016)));
    let of_block = (32 * u64::from(geometry.pages_per_block)).next_multiple_of(PAGE as u64);
    let (block, page) = (geometry.block_of(at).0, geometry.page_of(at));
    let area = areas + u64::from(block) * of_block + 32 * u64::from(page);
    // The second copy is behind the payload.
    let payload = (areas + u64::from(geometry.blocks()) * of_block).next_multiple_of(PAGE as u64);
    let second = (payload + geometry.capacity()).next_multiple_of(PAGE as u64);
    let file = fs::OpenOptions::new().write(true).open(path).expect("the image");
    let spoil = |at: u64| file.write_all_at(&[0x55; 8], at + 8).expect("spoilt");
    match map {
        Some(map) => spoil(payload + u64::from(map.0) * PAGE as u64),
        None => [area, area - areas + second].into_iter().for_each(spoil),
    }
}

fn content(lpn: u32) -> Vec<u8> {
    (lpn + 1).to_le_bytes().repeat(PAGE / 4)
}

/// The `base:allocation` status of a page.
fn status(running: &Running, lpn: u32) -> u32 {
    let mut pipe = unix(&running.socket).expect("the server listens");
    greet(&mut pipe).expect("a greeting");
    option(&mut pipe, wire::OPT_STRUCTURED_REPLY, &[]).expect("sent");
    assert_eq!(option_reply(&mut pipe).expect("a reply").0, wire::REP_ACK);
    let mut query = vec![0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 15];
    query.extend(b"base:allocation");
    option(&mut pipe, wire::OPT_SET_META_CONTEXT, &query).expect("sent");
    while option_reply(&mut pipe).expect("a reply").0 != wire::REP_ACK {}
    let mut client = Client::go(Box::new(pipe), "", true).expect("a connection");
    let at = u64::from(lpn) * PAGE as u64;
    client.send(wire::CMD_BLOCK_STATUS, 0, at, PAGE as u32, &[]).expect("sent");
    // Magic, flags, kind, cookie, length; the context, the length and the flags of the extent.
    let _: [u8; 20] = take(&mut *client.pipe).expect("a reply");
    let [.., a, b, c, d]: [u8; 12] = take(&mut *client.pipe).expect("an extent");
    u32::from_be_bytes([a, b, c, d])
}

/// The client's errors on the page, by each way to read or change a part of it.
fn stays_an_error(running: &Running, case: &str) {
    let at = u64::from(LPN) * PAGE as u64;
    let mut found = vec![1; PAGE];
    for structured in [true, false] {
        let mut client = Client::connect(&running.socket, structured).expect("connected");
        let error = match structured {
            true => client.read(at, &mut found).expect("an answer"),
            // An error has no data behind it.
            false => client.ask(wire::CMD_READ, 0, at, PAGE as u32, &[]).expect("an answer"),
        };
        assert_eq!(error, 5, "{case}, structured {structured}");
        // A partial write would need the rest.
        assert_eq!(client.write(at + 512, &[7; 512]).expect("an answer"), 5, "{case}");
        let zeros = client.ask(wire::CMD_WRITE_ZEROES, 0, at + 512, 512, &[]);
        assert_eq!(zeros.expect("an answer"), 5, "{case}");
    }
    assert_eq!(status(running, LPN), 0, "{case}: it is allocated");
}

#[test]
fn a_lost_page_is_an_error_to_clients_and_no_hole_until_it_is_written_or_trimmed() {
    let folder = TempDir::new().expect("a folder");
    for of in [
        (LayerKind::PageMapped, "greedy"),
        (LayerKind::Nftl, "nftl"),
        (LayerKind::InPlace, "in-place"),
        (LayerKind::DemandPaged, "greedy"),
    ] {
        let path = folder.path().join(of.0.name());
        spoilt(&path, of);
        let at = u64::from(LPN) * PAGE as u64;
        let mut found = vec![1; PAGE];
        let name = of.0.name();
        for before in [Before::Stopped, Before::Killed, Before::Repaired, Before::Rebuilt] {
            let case = format!("{name}, {before:?}");
            if before == Before::Repaired {
                let Ok(place) = path.to_str().expect("UTF-8").parse::<Place>();
                let done = repair(&place, &Access::default(), &Progress::default());
                let lost = done.expect("repaired").lost;
                assert!(lost.iter().any(|page| page.lpn == LPN), "{case}: {lost:?}");
            }
            let opening = Opening::new(serve(&path, of, before == Before::Rebuilt));
            let mut running = Running::start(vec![opening], Options::default());
            stays_an_error(&running, &case);
            let mut client = running.connect();
            for lpn in AROUND.rev().filter(|lpn| *lpn != LPN) {
                let at = u64::from(lpn) * PAGE as u64;
                assert_eq!(client.write(at, &content(lpn)).expect("an answer"), 0, "{case}");
            }
            assert_eq!(client.flush().expect("an answer"), 0, "{case}");
            stays_an_error(&running, &format!("{case}, written"));
            if before == Before::Stopped {
                // The image after a kill at this point.
                let killed = path.with_extension("killed");
                fs::copy(&path, &killed).expect("copied");
                drop(client);
                running.stop().expect("stopped");
                fs::rename(&killed, &path).expect("renamed");
            }
        }
        let running =
            Running::start(vec![Opening::new(serve(&path, of, false))], Options::default());
        let mut client = running.connect();
        let trimmed = client.ask(wire::CMD_TRIM, 0, at, PAGE as u32, &[]);
        assert_eq!(trimmed.expect("an answer"), 0, "{name}");
        assert_eq!(client.read(at, &mut found).expect("an answer"), 0, "{name}");
        assert!(found.iter().all(|byte| *byte == 0), "{name}");
        assert_eq!(status(&running, LPN), wire::STATE_HOLE | wire::STATE_ZERO, "{name}");
        assert_eq!(client.write(at, &content(LPN)).expect("an answer"), 0, "{name}");
        assert_eq!(client.read(at, &mut found).expect("an answer"), 0, "{name}");
        assert!(found == content(LPN), "{name}");
    }
}
