//! Page programs per second of the simulator, compared with a bare greedy log.
//!
//! `cargo bench --bench page_programs -- [SIZE_GIB ...] [POLICY[+PLACEMENT][@PACING] ...]`
//!
//! Uniform traffic, 4 KiB pages, 256 pages a block, 15 % over-provisioning. The [bare
//! log](bare::Bare) runs before and after each policy in the same process. *Of the loop* is its
//! time per page program over the policy's. *Of greedy* is greedy's time over the policy's, each
//! relative to the loop beside it.

mod bare;

use bare::Bare;
use thermocline_flash::{Geometry, Kind, Profile, Rules, Timing};
use thermocline_policy::{preset, trigger::Pacing};
use thermocline_sim::{Device, HugePages, Input, Job, PolicySpec, Progress, Workload, run};

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

const PAGE: u64 = 4096;
const PAGES_PER_BLOCK: u32 = 256;
/// Host writes in each measurement of the bare log.
const WRITES: u64 = 4_000_000;

/// xorshift64*: a few cycles a draw.
struct Draws(u64);

impl Draws {
    #[inline(always)]
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let x = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        (((x >> 32) * u64::from(n)) >> 32) as u32
    }
}

/// The median of an odd number of measurements.
fn median(mut measured: Vec<f64>) -> f64 {
    measured.sort_by(f64::total_cmp);
    measured[measured.len() / 2]
}

fn device_blocks(gib: u64) -> u32 {
    ((gib << 30) / (PAGE * u64::from(PAGES_PER_BLOCK))) as u32
}

fn device(gib: u64) -> Device {
    Device {
        profile: Profile {
            name: format!("bench-{gib}g"),
            summary: "the benchmark's device".into(),
            kind: Kind::Nand,
            sources: Vec::new(),
            geometry: Geometry {
                banks: 1,
                channels: 1,
                blocks_per_bank: device_blocks(gib),
                pages_per_block: PAGES_PER_BLOCK,
                page_size: PAGE as u32,
                oob_size: 0,
                header_pages: 0,
                system_blocks: 0,
            },
            rules: Rules { in_order: true, endurance: 100_000, initial_bad_blocks: 0 },
            timing: Timing {
                read_ns: 25_000,
                program_ns: 200_000,
                copy_ns: 225_000,
                erase_ns: 2_000_000,
                ..Timing::default()
            },
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

/// A memory figure of this process in bytes; 0 if the system does not report it.
fn memory_bytes(figure: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(figure));
    let kib = line.and_then(|rest| rest.trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The presets that are compared where none are named, and the papers' other combinations.
fn policies() -> Vec<String> {
    let presets = preset::usual().map(|preset| preset.name.to_owned());
    let pairs = ["cost-benefit+one-stream", "cat+one-stream", "cat+segment-split"];
    presets.chain(pairs.map(str::to_owned)).collect()
}

/// Measures one policy on one size and prints its row. `greedy` is greedy's recent speed relative
/// to the loop.
fn measure(gib: u64, policy: &str, greedy: Option<f64>) {
    let (named, pacing) = policy.split_once('@').unwrap_or((policy, "off"));
    let (name, placement) = match named.split_once('+') {
        Some((name, placement)) => (name, Some(placement)),
        None => (named, None),
    };
    let device = device(gib);
    let pages = f64::from(device.profile.geometry.blocks()) * f64::from(PAGES_PER_BLOCK);
    let logical = (pages / 1.15) as u32;
    // Small devices are written more often, so that every measurement takes seconds.
    let times = (60e6 / f64::from(logical)).clamp(2.0, 60.0);
    let workload = Workload {
        spec: "uniform".parse().expect("a workload"),
        bytes: Some((f64::from(logical) * times) as u64 * PAGE),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    };
    let mut spec = PolicySpec::parse(name, None, placement).expect("a policy");
    spec.pacing = Pacing::parse(pacing).expect("a pacing");
    let job = Job::new(device, spec, Input::Workload(&workload));
    let mut bare = Bare::new(device_blocks(gib), PAGES_PER_BLOCK, logical);
    let mut of_loop: Vec<f64> = (0..4).map(|_| bare.measure(WRITES)).collect();
    let idle = memory_bytes("VmRSS:");
    let result = run(&job, &Progress::default()).expect("a run");
    of_loop.extend((0..3).map(|_| bare.measure(WRITES)));
    let of_loop = median(of_loop);
    let perf = result.perf.expect("every run is timed");
    let ns = 1e9 / perf.pages_programmed_per_s;
    println!(
        "| {gib} GiB | {policy} | {:.2} | {:.0} | {ns:.1} | {of_loop:.1} | {:.2} | {} | {:.1} |",
        result.write_amplification.unwrap_or(1.0),
        perf.pages_programmed_per_s / 1e6,
        of_loop / ns,
        greedy.map_or("".into(), |greedy| format!("{:.2}", of_loop / ns / greedy)),
        perf.peak_rss_bytes.saturating_sub(idle) as f64 / pages,
    );
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if let [gib, policy, rest @ ..] = args.as_slice()
        && let Ok(gib) = gib.parse()
        && policy.parse::<u64>().is_err()
        && rest.iter().all(|greedy| greedy.parse::<f64>().is_ok())
    {
        return measure(gib, policy, rest.first().and_then(|greedy| greedy.parse().ok()));
    }
    let (sizes, named): (Vec<_>, Vec<_>) = args.into_iter().partition(|a| a.parse::<u64>().is_ok());
    let sizes =
        if sizes.is_empty() { ["1", "4", "16", "64"].map(String::from).to_vec() } else { sizes };
    let all = if named.is_empty() { policies() } else { named };
    println!(
        "| device | policy | write amplification | M page programs/s | ns/program | \
         ns/program of the loop | of the loop | of greedy | bytes/page |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    // One process each, so that their memory is measured separately.
    let program = std::env::current_exe().expect("a running program has a file");
    let row = |args: &[&str]| {
        let output = std::process::Command::new(&program).args(args).output().expect("it starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    for gib in &sizes {
        let mut greedy = String::new();
        for (i, policy) in all.iter().filter(|policy| *policy != "greedy").enumerate() {
            // Greedy is measured repeatedly, because the machine's speed drifts.
            if i % 4 == 0 {
                let text = row(&[gib, "greedy"]);
                greedy = text.split('|').nth(7).expect("a row").trim().to_owned();
                print!("{text}");
            }
            print!("{}", row(&[gib, policy, &greedy]));
        }
        if greedy.is_empty() {
            print!("{}", row(&[gib, "greedy"]));
        }
    }
}
