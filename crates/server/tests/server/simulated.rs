//! Simulated equals real: what the server counts for its clients, the simulator counts for their
//! recording (CAT paper, Table 6, where the two differ by up to a few percent).

use std::{fs::File, io::BufReader, path::Path};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use thermocline_assembly::{Device, PolicySpec, Progress, Store, device::Overrides, store};
use thermocline_flash::{BlockId, Condition, Flash, Kind, Timing};
use thermocline_ftl::{Format, Mount, index};
use thermocline_media::{Medium, image};
use thermocline_nbd::wire;
use thermocline_server::{Opening, Options};
use thermocline_sim::{Fill, Input, Job, PreparedTrace, RunResult, TraceMapping};
use thermocline_trace::native::NativeReader;

use crate::{
    client::Client,
    running::{Running, with_metrics},
};

/// What policies measure ages in here; by default the simulator takes it from the trace.
const TIME_SCALE_NS: f64 = 50e6;

/// A chip of 12 MiB a bank, the last blocks of which are the index log's, and the logical pages it exports.
fn device(banks: u32) -> (Device, u32) {
    let overrides = Overrides {
        capacity: Some((12 << 20) * u64::from(banks)),
        banks: Some(banks),
        ..Overrides::default()
    };
    let mut device = Device::load("slc-generic")
        .and_then(|d| d.with(&overrides))
        .expect("48 blocks of 64 pages");
    let whole = device.profile.geometry;
    device.profile.geometry.system_blocks =
        index::system_blocks_for(&whole, device.exported_pages(0.3));
    let pages = device.exported_pages(0.3);
    (device, pages)
}

/// What both count. The mean is over all blocks, those of the index log as if they were never erased.
#[derive(Debug, PartialEq)]
struct Counted {
    written: u64,
    trimmed: u64,
    copied: u64,
    erased: u64,
    wear_mean: f64,
    wear_most: u32,
}

/// Formats an image, mounts it, lets clients at it, and gives what the server counted.
fn serve(policy: &PolicySpec, banks: u32, folder: &Path) -> Counted {
    let (device, pages) = device(banks);
    let profile = device.profile.clone();
    let path = folder.join("chip");
    let options = image::Options {
        kind: Kind::Nand,
        geometry: profile.geometry,
        rules: profile.rules,
        profile: String::new(),
        bad_blocks: Vec::new(),
        preallocate: false,
        replace: false,
    };
    let image = image::Image::create(&path, &options).expect("there is room for an image");
    let store =
        Store { time_scale_ns: Some(TIME_SCALE_NS), ..Store::new(device, policy.clone(), pages) };
    let chip: Box<dyn Medium> = Box::new(image);
    let mut layer = store.format(chip, Format::default()).expect("it can be formatted");
    layer.upkeep().unmount(0).expect("it can be unmounted");
    layer.chip_mut().sync().expect("it can be synced");
    drop(layer);
    let before = erases(&path);
    let image = image::Image::open(&path, image::Open::default()).expect("it was closed");
    let chip: Box<dyn Medium> = Box::new(image);
    let (mut layer, recovery) = store.mount(chip, Mount::Quick).expect("it can be mounted");
    assert!(recovery.clean && recovery.used_checkpoint);
    store::begin(&mut layer, recovery.newest_time).expect("it is empty");
    let opening = Opening { time_ns: recovery.newest_time, ..Opening::new(layer) };
    let options = Options { record: Some(folder.join("trace")), ..with_metrics() };
    let mut running = Running::start(vec![opening], options);
    drive(&running, pages);
    let count = |name: &str| running.metric(&format!("thermocline_{name}_total")) as u64;
    let (written, trimmed) = (count("host_pages_written"), count("host_pages_trimmed"));
    let (copied, erased) = (count("flash_pages_copied"), count("flash_blocks_erased"));
    running.stop().expect("it ends in good order");
    let data = profile.geometry.data_blocks() as usize;
    let wear: Vec<u32> = erases(&path).iter().zip(&before).map(|(now, then)| now - then).collect();
    Counted {
        written,
        trimmed,
        copied,
        erased,
        wear_mean: f64::from(wear[..data].iter().sum::<u32>()) / wear.len() as f64,
        wear_most: wear[..data].iter().copied().max().unwrap_or(0),
    }
}

/// How often each block of an image was erased.
fn erases(path: &Path) -> Vec<u32> {
    let open = image::Open { read_only: true, ..image::Open::default() };
    let image = image::Image::open(path, open).expect("nobody uses it");
    (0..image.geometry().blocks()).map(|block| image.erase_count(BlockId(block))).collect()
}

/// What the simulator makes of the recording.
fn simulate(policy: &PolicySpec, banks: u32, folder: &Path) -> Counted {
    let (device, pages) = device(banks);
    let mapping = TraceMapping::of_files(&device, pages);
    let path = folder.join("trace");
    let file = BufReader::new(File::open(&path).expect("there is a recording"));
    let mut reader = NativeReader::new(file, &path).expect("it is a trace");
    let progress = Progress::default();
    let trace = PreparedTrace::prepare(&mut reader, "recording", mapping, &progress)
        .expect("it can be replayed");
    // A chip that is not paced answers at once: none of its banks is ever busy.
    let mut device = device;
    device.profile.timing = Timing::default();
    let job = Job {
        fill: Fill::Nothing,
        logical_pages: Some(pages),
        time_scale_ns: Some(TIME_SCALE_NS),
        check: true,
        ..Job::new(
            Device { fixed_capacity: true, ..device },
            policy.clone(),
            Input::Trace(&trace, 1),
        )
    };
    let RunResult { host, flash, wear, .. } =
        thermocline_sim::run(&job, &progress).expect("it runs");
    Counted {
        written: host.pages_written,
        trimmed: host.pages_trimmed,
        copied: flash.pages_copied,
        erased: flash.blocks_erased,
        wear_mean: wear.mean,
        wear_most: wear.max,
    }
}

/// Asks for all kinds of things from several connections at once.
fn drive(running: &Running, pages: u32) {
    std::thread::scope(|scope| {
        for seed in 0..3 {
            scope.spawn(move || {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let mut client = running.connect();
                for _ in 0..4000 {
                    ask(&mut client, &mut random, pages.into());
                }
            });
        }
    });
}

fn ask(client: &mut Client, random: &mut Xoshiro256PlusPlus, pages: u64) {
    let mut below = |end: u64| random.next_u64() % end;
    // Two thirds go to an eighth of the device, so that blocks differ.
    let pages = pages / if below(3) < 2 { 8 } else { 1 };
    let whole = below(2) == 0;
    let (mut offset, mut length) = (below(pages) * 4096, (1 + below(4)) * 4096);
    if !whole {
        (offset, length) = (offset + below(4096), 1 + below(9000));
    }
    // Some are longer than what the server takes at once.
    if below(200) == 0 {
        length += 300_000;
    }
    length = length.min(client.size - offset);
    let no_hole = if below(2) == 0 { wire::CMD_FLAG_NO_HOLE } else { 0 };
    let error = match below(10) {
        0 => client.ask(wire::CMD_TRIM, 0, offset, length as u32, &[]),
        1 => client.ask(wire::CMD_WRITE_ZEROES, no_hole, offset, length as u32, &[]),
        2 => client.read(offset, &mut vec![0; length as usize]),
        3 => client.flush(),
        _ => client.write(offset, &vec![5; length as usize]),
    };
    assert_eq!(error.expect("an answer"), 0);
}

#[test]
fn the_simulator_counts_for_a_recording_what_the_server_counted() {
    for (policy, banks) in [
        ("greedy", 1),
        ("cost-benefit", 1),
        ("cat", 1),
        ("dac", 1),
        ("update-interval", 1),
        ("sep-bit", 1),
        ("dac(regions=2)", 2),
        ("striping-static", 2),
        ("striping-dynamic", 2),
        ("nftl", 1),
    ] {
        let spec = PolicySpec::of(Some(policy), None, None).expect("there is such a policy");
        let folder = tempfile::TempDir::new().expect("there is room for a folder");
        let real = serve(&spec, banks, folder.path());
        let simulated = simulate(&spec, banks, folder.path());
        assert!(real.erased > 200, "{policy}: cleaning is what this is about, {real:?}");
        assert_eq!(simulated, real, "{policy} on {banks} banks");
    }
}
