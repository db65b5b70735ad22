//! Instructions per page program, by preset and pacing. Seconds vary by tens of per cent on a
//! shared machine; instruction counts are reproducible.
//!
//! valgrind runs this test binary and counts what is executed between two calls of [`mark`]. Each
//! preset runs twice. The longer run minus the shorter one excludes building and filling the
//! device. The figures are those of the profile `test` without incremental compilation, as built by
//! `make test`; a release build takes a few per cent less. They change only with the code or the
//! compiler. `THERMOCLINE_INSTRUCTIONS=print` prints the table anew.

use std::{env, fs, process::Command};

use thermocline_flash::{Geometry, Kind, Profile, Rules, Timing};
use thermocline_policy::trigger::Pacing;
use thermocline_sim::{Device, Input, Job, PolicySpec, Progress, Workload, run};
use thermocline_testing::program;

/// Set by `make test`; other builds may have been compiled differently.
const ASKED: &str = "THERMOCLINE_INSTRUCTIONS";
/// Tolerance of a figure: the C library differs between processors.
const BOUND: f64 = 0.02;
const PAGE: u64 = 4096;
const PAGES: u32 = 64;
const BLOCKS: u32 = 256;

const INSTRUCTIONS: &[(&str, f64)] = &[
    ("greedy", 176.2),
    ("cost-benefit", 213.1),
    ("lfs", 302.6),
    ("lfs-batch", 329.6),
    ("kawaguchi", 217.5),
    ("envy", 252.9),
    ("linux-ftl", 198.7),
    ("cat", 400.0),
    ("dac", 250.2),
    ("hot-cold", 163.0),
    ("double-hot-cold", 192.6),
    ("update-interval", 193.6),
    ("striping-static", 402.2),
    ("striping-dynamic", 402.2),
    ("fifo", 212.1),
    ("random", 152.7),
    ("d-choices", 194.0),
    ("windowed-greedy", 189.9),
    ("sep-gc", 215.5),
    ("sep-bit", 299.9),
    ("thermocline", 371.9),
    ("midas", 275.2),
    ("multi-log", 316.9),
    ("sfs", 465.4),
    ("warcip", 258.1),
    ("fadac", 245.2),
    ("eti", 242.5),
    ("auto-stream", 212.2),
    ("multi-stream", 260.7),
    ("greedy paced", 353.2),
    ("sep-bit paced", 605.1),
    ("thermocline paced", 585.3),
];

/// Marks the end of one count and the start of the next.
#[inline(never)]
fn mark() {
    std::hint::black_box(PAGES);
}

fn device() -> Device {
    let geometry = Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: BLOCKS,
        pages_per_block: PAGES,
        page_size: PAGE as u32,
        oob_size: 0,
        header_pages: 0,
        system_blocks: 0,
    };
    let timing = Timing {
        read_ns: 25_000,
        program_ns: 200_000,
        copy_ns: 225_000,
        erase_ns: 2_000_000,
        ..Timing::default()
    };
    Device {
        profile: Profile {
            name: "instructions".into(),
            summary: "a small device".into(),
            kind: Kind::Nand,
            sources: Vec::new(),
            geometry,
            rules: Rules { in_order: true, endurance: 100_000, initial_bad_blocks: 0 },
            timing,
            energy: None,
            suspend: None,
            page_pairs: None,
            drive: None,
            write_buffer: None,
            slc_cache: None,
            stripe_pages: None,
            overhead: None,
        },
        fixed_capacity: true,
        over_provisioning: None,
    }
}

/// Overwrites the content of the device at random this many times; returns the page programs.
fn programs(preset: &str, times: u64) -> u64 {
    let pages = u64::from(BLOCKS * PAGES) * 100 / 115;
    let workload = Workload {
        spec: "uniform".parse().expect("a workload"),
        bytes: Some(pages * times * PAGE),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    };
    let (preset, pacing) = preset.split_once(' ').unwrap_or((preset, "off"));
    let mut spec = PolicySpec::parse(preset, None, None).expect("a preset");
    spec.pacing = Pacing::parse(pacing).expect("a pacing");
    let job = Job::new(device(), spec, Input::Workload(&workload));
    mark();
    let result = run(&job, &Progress::default()).expect("a run");
    mark();
    result.flash.pages_programmed
}

/// The counted code, in a separate process; prints the page programs of each run.
#[test]
#[ignore = "valgrind runs it for the next test"]
fn counted() {
    for (preset, _) in INSTRUCTIONS {
        println!("programs {} {}", programs(preset, 1), programs(preset, 2));
    }
}

#[test]
fn a_page_program_takes_no_more_instructions_than_before() {
    let Some(asked) = env::var_os(ASKED) else { return };
    let Some(valgrind) = program("valgrind") else { return };
    let folder = env::temp_dir().join(format!("thermocline-instructions-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for temporary files");
    let out = folder.join("counts");
    let output = Command::new(valgrind)
        .args(["--tool=callgrind", "--dump-before=*instructions::mark*"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe().expect("a running program has a file"))
        .args(["instructions::counted", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .expect("valgrind starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // The dump before each second mark contains what was executed since the first.
    let executed = |mark: usize| {
        let path = folder.join(format!("counts.{mark}"));
        let dump = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let totals = dump.lines().find_map(|line| line.strip_prefix("totals: "));
        totals.and_then(|n| n.trim().parse::<f64>().ok()).expect("a dump has totals")
    };
    let written = text.lines().filter_map(|line| line.split_once("programs "));
    let mut wrong = Vec::new();
    for (i, ((preset, before), (_, programs))) in INSTRUCTIONS.iter().zip(written).enumerate() {
        let programs: Vec<f64> = programs.split(' ').filter_map(|n| n.parse().ok()).collect();
        let [short, long] = programs[..] else { panic!("two runs of {preset}: {programs:?}") };
        let now = (executed(4 * i + 4) - executed(4 * i + 2)) / (long - short);
        if asked == "print" {
            println!("    (\"{preset}\", {now:.1}),");
        } else if (now / before - 1.0).abs() > BOUND {
            wrong.push(format!("{preset}: {now:.1} instructions a page program, {before} before"));
        }
    }
    fs::remove_dir_all(&folder).expect("a folder of ours can be removed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
