//! What a recording holds, and that the simulator does with it what the server did.

use std::{fs::File, io::BufReader, path::Path};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use thermocline_flash::{Kind, Profile, Timing};
use thermocline_nbd::wire;
use thermocline_server::{Opening, Options};
use thermocline_sim::{
    Device, Fill, Input, Job, PolicySpec, PreparedTrace, Progress, TraceMapping,
};
use thermocline_trace::{Op, Request, Source, native::NativeReader};

use crate::{
    client::Client,
    layer::{RULES, geometry, page_mapped, ram},
    running::{Running, with_metrics},
};

const BLOCKS: u32 = 48;
const PAGES: u32 = 2304;

fn recorded(policy: &str, path: &Path) -> Running {
    let opening = Opening::new(page_mapped(ram(BLOCKS), policy, PAGES, 0));
    Running::start(vec![opening], Options { record: Some(path.into()), ..with_metrics() })
}

fn requests(path: &Path) -> Vec<Request> {
    let file = BufReader::new(File::open(path).expect("there is a recording"));
    let mut reader = NativeReader::new(file, path).expect("it is a trace");
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.next_batch(&mut batch, 1000).expect("the trace is whole");
        if batch.is_empty() {
            return all;
        }
        all.append(&mut batch);
    }
}

#[test]
fn a_recording_holds_what_was_asked_in_the_order_in_which_it_was_done() {
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let path = folder.path().join("trace");
    let mut running = recorded("greedy", &path);
    let mut client = running.connect();
    client.write(1000, &[1; 5000]).expect("an answer");
    client.read(0, &mut [0; 512]).expect("an answer");
    client.ask(wire::CMD_TRIM, 0, 100, 8192, &[]).expect("an answer");
    client.flush().expect("an answer");
    client.write(1 << 40, &[1; 1]).expect("an answer");
    // Half a page, a page, half a page: of the first and the last only the first holds data.
    client.ask(wire::CMD_WRITE_ZEROES, 0, 2048, 8192, &[]).expect("an answer");
    drop(client);
    running.stop().expect("it ends in good order");
    let all = requests(&path);
    let found: Vec<_> = all.iter().map(|r| (r.op, r.offset, r.len)).collect();
    assert_eq!(
        found,
        [
            (Op::Write, 1000, 5000),
            (Op::Read, 0, 512),
            (Op::Trim, 100, 8192),
            (Op::Flush, 0, 0),
            (Op::Write, 2048, 2048),
            (Op::Trim, 4096, 4096),
        ]
    );
    assert_eq!(all[0].time_ns, 0, "the clock starts with the first request");
    assert!(all.is_sorted_by_key(|request| request.time_ns));
}

/// Asks for all kinds of things from several connections at once.
fn drive(running: &Running) {
    std::thread::scope(|scope| {
        for seed in 0..3 {
            scope.spawn(move || {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let mut client = running.connect();
                for _ in 0..4000 {
                    ask(&mut client, &mut random);
                }
            });
        }
    });
}

fn ask(client: &mut Client, random: &mut Xoshiro256PlusPlus) {
    let mut below = |end: u64| random.next_u64() % end;
    // Two thirds go to an eighth of the device, so that blocks differ.
    let pages = u64::from(PAGES) / if below(3) < 2 { 8 } else { 1 };
    let whole = below(2) == 0;
    let (mut offset, mut length) = (below(pages) * 4096, (1 + below(4)) * 4096);
    if !whole {
        (offset, length) = (offset + below(4096), 1 + below(9000));
    }
    length = length.min(client.size - offset);
    let error = match below(10) {
        0 => client.ask(wire::CMD_TRIM, 0, offset, length as u32, &[]),
        1 => client.ask(wire::CMD_WRITE_ZEROES, 0, offset, length as u32, &[]),
        2 => client.read(offset, &mut vec![0; length as usize]),
        3 => client.flush(),
        _ => client.write(offset, &vec![5; length as usize]),
    };
    assert_eq!(error.expect("an answer"), 0);
}

#[test]
fn the_simulator_counts_for_a_recording_what_the_server_counted() {
    // The time scale is given: by default it follows from the length of a trace.
    for policy in ["greedy", "cost-benefit(tau=50ms)", "cat(tau=50ms)"] {
        let folder = tempfile::TempDir::new().expect("there is room for a folder");
        let path = folder.path().join("trace");
        let mut running = recorded(policy, &path);
        drive(&running);
        let names =
            ["host_pages_written", "host_pages_read", "flash_pages_copied", "flash_blocks_erased"];
        let server = names.map(|name| running.metric(&format!("thermocline_{name}_total")) as u64);
        running.stop().expect("it ends in good order");
        assert!(server[3] > 200, "cleaning is what this is about, {server:?}");

        let device = Device {
            profile: Profile {
                name: "test".into(),
                summary: String::new(),
                kind: Kind::Nand,
                sources: Vec::new(),
                geometry: geometry(BLOCKS),
                rules: RULES,
                timing: Timing::default(),
                energy: None,
            },
            fixed_capacity: true,
        };
        let mapping = TraceMapping::of_files(&device, PAGES);
        let file = BufReader::new(File::open(&path).expect("there is a recording"));
        let mut reader = NativeReader::new(file, &path).expect("it is a trace");
        let progress = Progress::default();
        let trace = PreparedTrace::prepare(&mut reader, "recording", mapping, &progress)
            .expect("it can be replayed");
        let spec = PolicySpec::of(None, Some(policy), None).expect("there is such a policy");
        let job = Job {
            fill: Fill::Nothing,
            check: true,
            ..Job::new(device, spec, Input::Trace(&trace, 1))
        };
        let result = thermocline_sim::run(&job, &progress).expect("it runs");
        let simulated = [
            result.host.pages_written,
            result.host.pages_read,
            result.flash.pages_copied,
            result.flash.blocks_erased,
        ];
        assert_eq!(simulated, server, "{names:?} with {policy}");
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let mut running = recorded("greedy", Path::new("/dev/full"));
    let mut client = running.connect();
    for round in 0..40_000_u64 {
        let error = client.write(round % 500 * 4096, &[round as u8; 512]).expect("an answer");
        assert_eq!(error, 0);
    }
    drop(client);
    running.stop().expect("it ends in good order");
}

#[test]
fn a_recording_that_cannot_be_created_is_named() {
    let options = Options { record: Some("/nowhere/trace".into()), ..Options::default() };
    let opening = Opening::new(page_mapped(ram(BLOCKS), "greedy", PAGES, 0));
    let error = thermocline_server::Server::new(vec![opening], options).expect_err("no folder");
    assert!(error.to_string().contains("/nowhere/trace"), "{error}");
}
