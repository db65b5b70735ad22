//! Simulated drives with hidden settings, and two real ones.

use thermocline_assembly::{Device, PolicySpec, Progress};
use thermocline_flash::{CacheSize, Profile, SlcCache};
use thermocline_identify::{
    Family, Identified, MeasuredRun, Ranked, RunInput, Settings, curve::Curve, families, identify,
    scale, simulate,
};
use thermocline_measured::{Measurement, Options, import, import_texts};
use thermocline_sim::{Fill, Input, Job, Workload};
use thermocline_testing::Draws;

fn workload(spec: &str, bytes: u64, request: Option<u64>) -> Workload {
    Workload {
        spec: spec.parse().expect("a pattern"),
        bytes: Some(bytes),
        request_bytes: request,
        interarrival_ns: None,
        read_share: 0.0,
    }
}

/// A drive whose settings are hidden from the search.
#[derive(Debug)]
struct Hidden {
    family: Family,
    over_provisioning: f64,
    superblocks: u32,
    overhead: f64,
    exported_bytes: u64,
    slc_cache: Option<SlcCache>,
}

const PAGE: u64 = 4096;

impl Hidden {
    fn drawn(draws: &mut Draws, families: &[Family], exported_bytes: u64) -> Self {
        let share = |draws: &mut Draws| f64::from(draws.below(1_000_000)) / 1e6;
        Self {
            family: families[draws.index(families.len())].clone(),
            over_provisioning: 0.1 * 6_f64.powf(share(draws)),
            superblocks: (96.0 * 6_f64.powf(share(draws))) as u32,
            overhead: 0.06 * share(draws),
            exported_bytes,
            slc_cache: None,
        }
    }

    /// The drive's counters under a workload, as a tool polls them: the host's in thousands of
    /// sectors, the flash's in bytes, and not updated at every poll.
    fn measure(&self, workload: &Workload, state: Fill) -> Measurement {
        let mut profile = base();
        let all = self.exported_bytes as f64 / PAGE as f64 * (1.0 + self.over_provisioning);
        let geometry = &mut profile.geometry;
        (geometry.blocks_per_bank, geometry.page_size) = (self.superblocks, PAGE as u32);
        geometry.pages_per_block = (all / f64::from(self.superblocks)).round() as u32;
        (profile.drive, profile.slc_cache) = (None, self.slc_cache);
        let job = Job {
            fill: state,
            logical_pages: Some((self.exported_bytes / PAGE) as u32),
            seed: 77,
            ..Job::new(
                Device::of_chip(profile),
                self.family.policy.clone(),
                Input::Workload(workload),
            )
        };
        let run = simulate(job, PAGE as f64, &Progress::default()).expect("it runs");
        let mut text = String::from("seconds,host_bytes,physical_bytes\n");
        let (polls, total) = (120_u32, run.curve.total());
        let mut counted = 0.0;
        for poll in 0..=polls {
            let host = total * f64::from(poll) / f64::from(polls);
            if poll % 3 == 0 || poll == polls {
                let written =
                    if host > 0.0 { run.curve.amplification(0.0, host) * host } else { 0.0 };
                counted = written * (1.0 + self.overhead);
            }
            let units = (host / 512_000.0).ceil() * 512_000.0;
            text += &format!("{},{units:.0},{counted:.0}\n", 10 * poll);
        }
        let imported = import_texts([("polled.csv", text.as_str())], &Options::default());
        imported.expect("a measurement").measurement
    }

    fn runs(&self, specs: &[(&str, Option<u64>)], capacities: f64) -> Vec<MeasuredRun> {
        let bytes = (self.exported_bytes as f64 * capacities) as u64;
        let run = |(spec, request): &(&str, Option<u64>)| {
            let workload = workload(spec, bytes, *request);
            let measurement = self.measure(&workload, Fill::Logical);
            let input = RunInput::Workload(workload);
            MeasuredRun::new(spec, &measurement, input, Some(Fill::Logical), None).expect("counted")
        };
        specs.iter().map(run).collect()
    }
}

fn base() -> Profile {
    Device::load("micron-7450-800g").expect("built in").profile
}

fn settings(exported_bytes: u64, families: Vec<Family>, pages: u64) -> Settings {
    Settings {
        exported_bytes,
        base: base(),
        families,
        scale: scale(exported_bytes, PAGE as u32, pages),
        overhead: None,
        next: false,
        threads: 0,
        seed: 1,
    }
}

/// What is wrong with a result. The family must be among those that are as good as the best, and
/// sizes must be close.
fn wrong(hidden: &Hidden, found: &Identified) -> Option<String> {
    let shown = |one: &Ranked| {
        let fit = &one.fit;
        format!(
            "{} op {:.3} superblocks {} {:?} overhead {:?} distance {:.4}{} {:.3?}",
            fit.model.family.name,
            fit.model.over_provisioning,
            fit.model.superblocks,
            one.superblocks,
            fit.overhead,
            fit.distance,
            if one.as_good { " *" } else { "" },
            fit.runs.iter().map(|run| run.distance.mean()).collect::<Vec<_>>()
        )
    };
    let fit = &found.best().fit;
    let own = found.ranking.iter().find(|one| one.fit.model.family == hidden.family);
    let family = own.is_some_and(|one| one.as_good);
    let off = (fit.model.over_provisioning - hidden.over_provisioning).abs();
    let factor = f64::from(fit.model.superblocks) / f64::from(hidden.superblocks);
    // Sequential writes determine the overhead.
    let overhead = fit.overhead.is_some_and(|share| (share - hidden.overhead).abs() < 0.01);
    let right = family && off < 0.01 && (0.5..=2.0).contains(&factor) && overhead;
    let all: Vec<_> = found.ranking.iter().map(shown).collect();
    (!right).then(|| format!("off by {off:.3}, factor {factor:.2}: {hidden:?}\n{}", all.join("\n")))
}

/// The most informative traffic: sequential, uniform, hot, and zones smaller than most superblocks.
const TELLING: [(&str, Option<u64>); 4] =
    [("sequential", None), ("uniform", None), ("zipf:0.9", None), ("zones:1/1MiB", Some(64 << 10))];

/// Draws drives and identifies them; returns what is wrong with which.
fn missed(
    drives: std::ops::Range<u32>,
    families: &[Family],
    exported: u64,
    capacities: f64,
    pages: u64,
) -> Vec<String> {
    let mut draws = Draws(7);
    let mut missed = Vec::new();
    for number in 0..drives.end {
        let hidden = Hidden::drawn(&mut draws, families, exported);
        if number < drives.start {
            continue;
        }
        let runs = hidden.runs(&TELLING, capacities);
        let settings = settings(exported, families.to_vec(), pages);
        let found = identify(&runs, &settings, &Progress::default()).expect("it ran");
        assert!(!found.stopped && found.tells.len() == runs.len());
        // Hot traffic distinguishes families. Sequential traffic does so less, because only
        // families short of blocks copy.
        assert!(found.tells[0] < found.tells[2] && found.tells[2] > 0.1, "{:?}", found.tells);
        let why = wrong(&hidden, &found);
        eprintln!("drive {number}: {}", why.as_deref().unwrap_or("found"));
        missed.extend(why);
    }
    missed
}

#[test]
fn drives_of_hidden_settings_are_found_out() {
    let few = ["greedy+one-stream", "fifo+one-stream", "greedy+sep-gc", "sep-bit"]
        .map(|name| Family::parse(name).expect("built in"));
    let missed = missed(0..2, &few, 256 << 20, 3.0, 16 << 10);
    assert!(missed.is_empty(), "missed {}:\n{}", missed.len(), missed.join("\n"));
}

/// It writes each page twice, which no overhead explains. The size of its cache differs from the one that is assumed.
#[test]
fn an_slc_cache_shows_in_pages_that_are_written_twice() {
    let names = ["greedy+one-stream", "fifo+one-stream", "greedy+sep-gc"];
    let few = names.map(|name| Family::parse(name).expect("built in"));
    let hidden = Hidden {
        family: few[2].clone(),
        over_provisioning: 0.35,
        superblocks: 200,
        overhead: 0.03,
        exported_bytes: 256 << 20,
        slc_cache: Some(SlcCache { size: CacheSize::Fixed, share: 0.03, bits: 4 }),
    };
    let runs = hidden.runs(&TELLING[..3], 3.0);
    let settings = settings(hidden.exported_bytes, few.to_vec(), 16 << 10);
    let found = identify(&runs, &settings, &Progress::default()).expect("it ran");
    let fit = &found.best().fit;
    assert_eq!(found.profile(&settings).slc_cache, found.slc_cache);
    assert!(found.slc_cache.is_some() && fit.model.family == hidden.family, "{found:?}");
    assert!((fit.overhead.expect("sequential") - 0.03).abs() < 0.01, "{fit:?}");
    // The cache takes a few blocks of what is over-provisioning otherwise.
    assert!((fit.model.over_provisioning - 0.35).abs() < 0.03, "{fit:?}");
}

/// Runs the first so many drives with all families if `THERMOCLINE_DRIVES` is set, or those of a range: `9..10`.
#[test]
fn many_drives_of_hidden_settings_are_found_out() {
    let Ok(drives) = std::env::var("THERMOCLINE_DRIVES") else { return };
    let (from, to) = drives.split_once("..").unwrap_or(("0", &drives));
    let number = |text: &str| text.parse().expect("a number of drives");
    let missed = missed(number(from)..number(to), &families(), 1 << 30, 4.0, 32 << 10);
    assert!(missed.is_empty(), "missed {}:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn a_search_that_is_stopped_before_anything_ran_says_so() {
    let exported = 64 << 20;
    let hidden = Hidden {
        family: Family::parse("greedy+one-stream").expect("built in"),
        over_provisioning: 0.3,
        superblocks: 128,
        overhead: 0.0,
        exported_bytes: exported,
        slc_cache: None,
    };
    let runs = hidden.runs(&[("uniform", None)], 1.0);
    let progress = Progress::default();
    progress.cancel();
    let stopped = identify(&runs, &settings(exported, families(), 8 << 10), &progress);
    assert!(matches!(stopped, Err(thermocline_sim::SimError::Interrupted)), "{:?}", stopped.err());
}

/// A run of a real drive, from docs/real-drives.md.
struct Real {
    file: &'static str,
    device: &'static str,
    workload: &'static str,
    request: Option<u64>,
    state: Fill,
    used: Option<u64>,
}

const fn real(file: &'static str, device: &'static str, workload: &'static str) -> Real {
    Real { file, device, workload, request: None, state: Fill::Logical, used: None }
}

const fn zones(file: &'static str, workload: &'static str) -> Real {
    Real { request: Some(512 << 10), ..real(file, MICRON, workload) }
}

const SOLIDIGM: &str = "solidigm-d7-p5520";
const MICRON: &str = "micron-7450-800g";
const GIB: u64 = 1 << 30;

fn real_runs() -> [Real; 13] {
    [
        real("p5520-uniform-after-seq", SOLIDIGM, "uniform"),
        Real {
            state: Fill::Shuffled,
            ..real("p5520-uniform-after-seqshuffle", SOLIDIGM, "uniform")
        },
        Real { state: Fill::Nothing, ..real("p5520-zipf0.8-after-none", SOLIDIGM, "zipf:0.8") },
        Real { used: Some(GIB * 3726 / 10), ..real("m7450-uniform-373gib", MICRON, "uniform") },
        Real { used: Some(GIB * 5962 / 10), ..real("m7450-uniform-596gib", MICRON, "uniform") },
        real("m7450-uniform-745gib", MICRON, "uniform"),
        zones("m7450-zones-1-open-1024-mib", "zones:1/1GiB"),
        zones("m7450-zones-1-open-2048-mib", "zones:1/2GiB"),
        zones("m7450-zones-1-open-4096-mib", "zones:1/4GiB"),
        zones("m7450-zones-1-open-8192-mib", "zones:1/8GiB"),
        zones("m7450-zones-1-open-16384-mib", "zones:1/16GiB"),
        zones("m7450-zones-4-open-8192-mib", "zones:4/8GiB"),
        zones("m7450-zones-16-open-8192-mib", "zones:16/8GiB"),
    ]
}

#[test]
fn two_drives_wrote_what_their_profiles_write() {
    const SCALE: u32 = 1024;
    let mut wrong = Vec::new();
    for run in real_runs() {
        let Some(path) = thermocline_testing::measured(&format!("{}.csv", run.file)) else {
            return;
        };
        let measured = import([path], &Options::default()).expect("a measurement").measurement;
        let measured = Curve::measured(&measured.curve().expect("both are counted"));
        // A run of zones is only a few hundred choices, so it depends on the seed.
        let seeds = if run.request.is_some() { 1..=3 } else { 1..=1 };
        let curves: Vec<_> =
            seeds.map(|seed| simulated(&run, measured.total(), SCALE, seed)).collect();
        let drive = Device::load(run.device).expect("built in").profile.drive.expect("a drive");
        let distance = Curve::mean(&curves).distance(&measured, drive.overhead);
        eprintln!("{:32} {:+.3} {:.3}", run.file, distance.last_quarter, distance.curve);
        if distance.last_quarter.abs() > 0.05 || distance.curve > 0.08 {
            wrong.push((run.file, distance));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A simulated run on the profile of its drive.
fn simulated(run: &Real, bytes: f64, scale: u32, seed: u64) -> Curve {
    let device = Device::load(run.device).expect("built in");
    let drive = device.profile.drive.clone().expect("it is a drive");
    let policy = PolicySpec::of(None, Some(&drive.victim), Some(&drive.placement));
    let over_provisioning = device.over_provisioning.expect("a drive has it");
    let device = device.scaled(scale).expect("small");
    let workload = workload(run.workload, bytes as u64, run.request);
    let job = Job {
        fill: run.state,
        over_provisioning,
        logical_pages: Some(device.exported_pages(over_provisioning)),
        used: run.used.map(|bytes| bytes / PAGE / u64::from(scale)),
        scale,
        seed,
        ..Job::new(device, policy.expect("built in"), Input::Workload(&workload))
    };
    let page = PAGE as f64 * f64::from(scale);
    simulate(job, page, &Progress::default()).expect("it runs").curve
}
