//! Simulated equals real: the server's counters for its clients equal the simulator's for their
//! recording (in CAT paper, Table 6, the two differ by up to a few percent).

use std::{fs::File, io::BufReader, path::Path};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use thermocline_assembly::{
    Device, LayerVisitor, PolicySpec, Progress, Store, device::Overrides, store,
};
use thermocline_flash::{BlockId, Condition, Flash, Kind, Lpn, Timing};
use thermocline_ftl::{Format, Layer, Mount, index};
use thermocline_media::{Medium, Ram, Replace, image};
use thermocline_nbd::wire;
use thermocline_policy::preset::{LayerKind, PRESETS};
use thermocline_server::{AnyLayer, Opening, Options, Pace};
use thermocline_sim::{Clock, Fill, Input, Job, PreparedTrace, RunResult, TraceMapping};
use thermocline_trace::{
    Op, Request,
    native::{NativeReader, NativeWriter},
    write::TraceWriter,
};

use crate::{
    client::Client,
    running::{Running, with_metrics},
};

/// The unit of ages for policies; by default the simulator derives it from the trace.
const TIME_SCALE_NS: f64 = 50e6;

/// A chip of 16 MiB a bank, the last blocks of which are the index log's, and the logical pages it exports.
fn device(banks: u32) -> (Device, u32) {
    let overrides = Overrides {
        capacity: Some((16 << 20) * u64::from(banks)),
        banks: Some(banks),
        ..Overrides::default()
    };
    let mut device = Device::load("slc-generic")
        .and_then(|d| d.with(&overrides))
        .expect("64 blocks of 64 pages");
    let whole = device.profile.geometry;
    device.profile.geometry.system_blocks =
        index::system_blocks_for(&whole, device.exported_pages(0.3));
    let pages = device.exported_pages(0.3);
    // In place all of a block is written back.
    (device, pages - pages % whole.pages_per_block)
}

/// The counters of both. The mean is over all blocks; those of the index log count as never erased.
#[derive(Debug, PartialEq)]
struct Counted {
    written: u64,
    trimmed: u64,
    copied: u64,
    erased: u64,
    wear_mean: f64,
    wear_most: u32,
}

/// Formats an image, mounts it, runs clients, and returns the server's counters.
fn serve(policy: &PolicySpec, banks: u32, asks: u32, folder: &Path) -> Counted {
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
        replace: Replace::Never,
        rights: None,
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
    drive(&running, pages, asks);
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

/// The simulator's counters for the recording.
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
fn drive(running: &Running, pages: u32, asks: u32) {
    std::thread::scope(|scope| {
        for seed in 0..3 {
            scope.spawn(move || {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let mut client = running.connect();
                for _ in 0..asks {
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
    // Some exceed the piece size of the server.
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

/// Compares the server's counters with the simulator's.
fn compare(policy: &str, banks: u32) {
    let spec = PolicySpec::of(Some(policy), None, None).expect("there is such a policy");
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let asks = match spec.layer {
        // Each of them rewrites a block.
        LayerKind::InPlace => 100,
        _ => 1300 * banks,
    };
    let real = serve(&spec, banks, asks, folder.path());
    let simulated = simulate(&spec, banks, folder.path());
    assert!(real.erased > 40, "{policy}: cleaning is what this is about, {real:?}");
    assert_eq!(simulated, real, "{policy} on {banks} banks");
}

#[test]
fn the_simulator_counts_for_a_recording_what_the_server_counted() {
    for preset in PRESETS {
        let spec = PolicySpec::of(Some(preset.name), None, None).expect("it is a preset");
        // Idle work depends on when clients are silent. DFTL is not served.
        let is_served = spec.layer != LayerKind::Dftl;
        if is_served && !spec.sees_future() && preset.idle.is_none() {
            compare(preset.name, 1);
        }
    }
    for policy in ["dac(regions=2)", "striping-static", "striping-dynamic"] {
        compare(policy, 2);
    }
    // As many banks as a request has pages: where one is busy the next page goes elsewhere.
    compare("striping-dynamic", 4);
}

/// A layer of any kind.
struct Boxing;

impl LayerVisitor<Box<dyn Medium>> for Boxing {
    type Output = AnyLayer;

    fn visit<L: Layer<Chip = Box<dyn Medium>> + Send + 'static>(self, layer: L) -> Self::Output {
        Box::new(layer)
    }
}

/// Writes, reads and trims as hosts do, one request of 1 to 4 pages after another.
fn requests(pages: u32) -> Vec<Request> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut below = |end: u64| random.next_u64() % end;
    let request = |_| {
        let pages = u64::from(pages) / if below(3) < 2 { 8 } else { 1 };
        let op = [Op::Trim, Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Write];
        let (first, length) = (below(pages - 4), 1 + below(4));
        let op = op[below(7) as usize];
        Request { op, time_ns: 0, offset: first * 4096, len: length * 4096, volume: 0, hint: 0 }
    };
    (0..6000).map(request).collect()
}

/// How long a paced chip takes for them, one after another.
fn paced(policy: &PolicySpec, requests: &[Request]) -> u64 {
    let (device, pages) = device(1);
    let profile = device.profile.clone();
    let chip: Box<dyn Medium> = Box::new(Ram::new(profile.geometry, profile.rules));
    let (chip, pace) = Pace::slow(chip, profile.timing);
    let store =
        Store { time_scale_ns: Some(TIME_SCALE_NS), ..Store::new(device, policy.clone(), pages) };
    let plan = store.plan().expect("it fits");
    // Without the index log, whose pages take their time too.
    let mut layer = plan.build(chip, None, Boxing).expect("it fits");
    store::begin(&mut layer, 0).expect("it is empty");
    let mut page = vec![0; 4096];
    for request in requests {
        let first = (request.offset / 4096) as u32;
        for lpn in (first..first + (request.len / 4096) as u32).map(Lpn) {
            match request.op {
                Op::Write => layer.write(lpn, &page, 1).expect("written"),
                Op::Read => drop(layer.read(lpn, &mut page).expect("read")),
                _ => drop(layer.trim(lpn, 1).expect("trimmed")),
            }
        }
    }
    layer.inspect().check().expect("sound");
    pace.quiet()
}

/// How long the simulator says that they take.
fn simulated(policy: &PolicySpec, requests: &[Request]) -> f64 {
    let (device, pages) = device(1);
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let path = folder.path().join("trace");
    let mut writer = NativeWriter::new(File::create(&path).expect("a file"), &path).expect("new");
    writer.write_batch(requests, &[]).expect("written");
    writer.finish().expect("written");
    let mapping = TraceMapping::of_files(&device, pages);
    let file = BufReader::new(File::open(&path).expect("it is there"));
    let mut reader = NativeReader::new(file, &path).expect("it is a trace");
    let progress = Progress::default();
    let trace = PreparedTrace::prepare(&mut reader, "requests", mapping, &progress)
        .expect("it can be replayed");
    let job = Job {
        fill: Fill::Nothing,
        logical_pages: Some(pages),
        time_scale_ns: Some(TIME_SCALE_NS),
        clock: Some(Clock::Device),
        ..Job::new(
            Device { fixed_capacity: true, ..device },
            policy.clone(),
            Input::Trace(&trace, 1),
        )
    };
    thermocline_sim::run(&job, &progress).expect("it runs").elapsed_us
}

#[test]
fn a_paced_chip_takes_the_time_that_the_simulator_says() {
    // Policies that look at no time: that of clients is another one.
    for policy in ["greedy", "hot-cold", "striping-static", "nftl", "in-place"] {
        let spec = PolicySpec::of(Some(policy), None, None).expect("there is such a policy");
        let requests = requests(device(1).1);
        let (real, simulated) = (paced(&spec, &requests), simulated(&spec, &requests));
        assert!(real > 1_000_000_000, "{policy}: {real} ns");
        assert_eq!(real as f64 / 1000.0, simulated, "{policy}");
    }
}
