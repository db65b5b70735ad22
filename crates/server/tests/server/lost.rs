//! A page that is lost, as clients see it: an error, and never a hole, on each layer that can lose one.

use std::{fs, os::unix::fs::FileExt, path::Path};

use tempfile::TempDir;
use thermocline_assembly::{
    Access, AssemblyError, Candidate, Device, FormatOptions, PolicySpec, ServeOptions,
    device::Overrides, format,
};
use thermocline_flash::{Flash, Lpn};
use thermocline_media::Place;
use thermocline_nbd::wire;
use thermocline_policy::{preset::LayerKind, trigger::Watermarks};
use thermocline_server::{AnyLayer, Opening, Options};

use crate::{
    client::{Client, greet, option, option_reply, take, unix},
    running::Running,
};

const PAGE: usize = 4096;
/// The page that is lost.
const LPN: u32 = 100;

fn serve(path: &Path, policy: &str) -> AnyLayer {
    let Ok(place) = path.to_str().expect("UTF-8").parse::<Place>();
    let options = ServeOptions {
        policy: PolicySpec::parse(policy, None, None).expect("a preset"),
        over_provisioning: 0.3,
        watermarks: Watermarks::default(),
        grouped: false,
        time_scale_ns: None,
        seed: 1,
        separate: Vec::new(),
        rebuild: false,
        map_cache: None,
    };
    let access = Access::default();
    let found = Candidate::find(&place, &access, || Err(AssemblyError::Interrupted));
    found.and_then(|found| found.start(&access, &options, |chip, _| chip)).expect("served").layer
}

/// An image whose every page was written and flushed, with the area beside one spoilt.
fn spoilt(path: &Path, layer: LayerKind, policy: &str) {
    let Ok(place) = path.to_str().expect("UTF-8").parse::<Place>();
    let small =
        Overrides { capacity: Some(8 << 20), block_size: Some(64 << 10), ..Overrides::default() };
    let device = Device::load("slc-generic").and_then(|device| device.with(&small));
    let options = FormatOptions {
        device: device.expect("a small device"),
        over_provisioning: 0.3,
        layer,
        preallocate: false,
        force: false,
    };
    format(&place, &options).expect("formatted");
    let mut layer = serve(path, policy);
    for lpn in 0..layer.logical_pages() {
        layer.write(Lpn(lpn), &content(lpn), u64::from(lpn) + 1).expect("written");
    }
    let at = layer.find(Lpn(LPN));
    layer.upkeep().unmount(10_000).expect("unmounted");
    layer.chip_mut().sync().expect("synced");
    let geometry = *layer.chip().geometry();
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
    for area in [area, area - areas + second] {
        file.write_all_at(&[0x55; 8], area + 8).expect("spoilt");
    }
}

fn content(lpn: u32) -> Vec<u8> {
    (lpn + 1).to_le_bytes().repeat(PAGE / 4)
}

/// What `base:allocation` says of a page.
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
    // Magic, flags, kind, cookie, length; the context, the length of the extent, what it is.
    let _: [u8; 20] = take(&mut *client.pipe).expect("a reply");
    let [.., a, b, c, d]: [u8; 12] = take(&mut *client.pipe).expect("an extent");
    u32::from_be_bytes([a, b, c, d])
}

#[test]
fn a_lost_page_is_an_error_to_clients_and_no_hole_until_it_is_written_or_trimmed() {
    let folder = TempDir::new().expect("a folder");
    for (layer, policy) in [
        (LayerKind::PageMapped, "greedy"),
        (LayerKind::Nftl, "nftl"),
        (LayerKind::InPlace, "in-place"),
    ] {
        let path = folder.path().join(policy);
        spoilt(&path, layer, policy);
        let at = u64::from(LPN) * PAGE as u64;
        for round in 0..2 {
            let case = format!("{policy}, mounted {round} times before");
            let running =
                Running::start(vec![Opening::new(serve(&path, policy))], Options::default());
            let mut found = vec![1; PAGE];
            for structured in [true, false] {
                let mut client = Client::connect(&running.socket, structured).expect("connected");
                let error = match structured {
                    true => client.read(at, &mut found).expect("an answer"),
                    // An error has no data behind it.
                    false => {
                        client.ask(wire::CMD_READ, 0, at, PAGE as u32, &[]).expect("an answer")
                    }
                };
                assert_eq!(error, 5, "{case}, structured {structured}");
                // A part of it would need the rest.
                assert_eq!(client.write(at + 512, &[7; 512]).expect("an answer"), 5, "{case}");
                let zeros = client.ask(wire::CMD_WRITE_ZEROES, 0, at + 512, 512, &[]);
                assert_eq!(zeros.expect("an answer"), 5, "{case}");
            }
            assert_eq!(status(&running, LPN), 0, "{case}: it is allocated");
            let mut client = running.connect();
            for lpn in (0..LPN).rev() {
                let at = u64::from(lpn) * PAGE as u64;
                assert_eq!(client.write(at, &content(lpn)).expect("an answer"), 0, "{case}");
            }
            assert_eq!(client.read(at, &mut found).expect("an answer"), 5, "{case}, written");
        }
        let running = Running::start(vec![Opening::new(serve(&path, policy))], Options::default());
        let mut client = running.connect();
        let mut found = vec![1; PAGE];
        let trimmed = client.ask(wire::CMD_TRIM, 0, at, PAGE as u32, &[]);
        assert_eq!(trimmed.expect("an answer"), 0, "{policy}");
        assert_eq!(client.read(at, &mut found).expect("an answer"), 0, "{policy}");
        assert!(found.iter().all(|byte| *byte == 0), "{policy}");
        assert_eq!(status(&running, LPN), wire::STATE_HOLE | wire::STATE_ZERO, "{policy}");
        assert_eq!(client.write(at, &content(LPN)).expect("an answer"), 0, "{policy}");
        assert_eq!(client.read(at, &mut found).expect("an answer"), 0, "{policy}");
        assert!(found == content(LPN), "{policy}");
    }
}
