//! The keys of results: each is declared once, and the reference in docs/results.md lists them all.
//!
//! `UPDATE_REFERENCE=1 cargo test -p thermocline-sim --test simulator result_keys` rewrites the
//! tables.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use serde_json::Value;
use thermocline_assembly::device::Overrides;
use thermocline_flash::{BufferOrder, CacheSize, SlcCache, WriteBuffer};
use thermocline_sim::{
    Device, Fill, HugePages, Input, Job, PolicySpec, Progress, RunResult, Workload,
    metric::{self, Kind, metrics, parts},
    run,
};

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn result(policy: &str) -> RunResult {
    result_of(PolicySpec::parse(policy, None, None).expect("a policy"))
}

fn result_of(policy: PolicySpec) -> RunResult {
    let workload = Workload {
        spec: "hot-cold:90/10".parse().expect("a workload"),
        bytes: Some(32 << 20),
        request_bytes: None,
        interarrival_ns: Some(1_000_000),
        read_share: 0.1,
    };
    let shape = Overrides { capacity: Some(16 << 20), ..Default::default() };
    let device = Device::load("slc-generic").and_then(|d| d.with(&shape)).expect("a device");
    run(&Job::new(device, policy, Input::Workload(&workload)), &Progress::default())
        .expect("it runs")
}

/// A run on a part of a drive with a write buffer, an SLC cache and parity at a scale, preconditioned in random order.
fn on_drive() -> RunResult {
    let workload = Workload {
        spec: "uniform".parse().expect("a workload"),
        bytes: Some(400 << 30),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    };
    let policy = PolicySpec::parse("greedy", None, None).expect("a policy");
    let mut drive = Device::load("micron-7450-800g").expect("built in");
    drive.profile.write_buffer = Some(WriteBuffer { order: BufferOrder::Fifo, bytes: 1 << 30 });
    let cache = SlcCache { size: CacheSize::Fixed, share: 0.01, bits: 3 };
    (drive.profile.slc_cache, drive.profile.stripe_pages) = (Some(cache), Some(16));
    let drive = drive.scaled(4096).expect("a device");
    let job = Job::new(drive, policy, Input::Workload(&workload));
    let job = Job { fill: Fill::Shuffled, used: Some(20_000), scale: 4096, ..job };
    run(&job, &Progress::default()).expect("it runs")
}

/// The names of all figures of a result, in order. Figures in one column count as one.
fn leaves(prefix: &str, value: &Value, into: &mut Vec<String>) {
    let whole = metrics().iter().any(|metric| metric.key == prefix && metric.kind == Kind::Json);
    match value {
        Value::Object(object) if !whole => {
            for (key, value) in object {
                let dot = if prefix.is_empty() { "" } else { "." };
                leaves(&format!("{prefix}{dot}{key}"), value, into);
            }
        }
        _ => into.push(prefix.to_owned()),
    }
}

#[test]
fn every_figure_of_a_result_is_a_metric_with_its_value_and_type() {
    let mut seen = BTreeSet::new();
    let mut paced = PolicySpec::parse("greedy", None, None).expect("a policy");
    paced.pacing = thermocline_policy::trigger::Pacing::Paced;
    for run in [result("cat"), result("nftl"), result("in-place"), on_drive(), result_of(paced)] {
        let json = serde_json::to_value(&run).expect("JSON");
        let mut keys = Vec::new();
        leaves("", &json, &mut keys);
        for key in &keys {
            let metric = metrics().iter().find(|metric| metric.key == *key);
            let metric = metric.unwrap_or_else(|| panic!("{key} is not described"));
            let at = format!("/{}", key.replace('.', "/"));
            let value = json.pointer(&at).expect("a leaf");
            assert_eq!(metric.of(&run), *value, "{key}");
            let fits = match metric.kind {
                Kind::Text => value.is_string(),
                Kind::Whole => value.is_u64(),
                Kind::Real => value.is_f64(),
                Kind::Flag => value.is_boolean(),
                Kind::Json => value.is_object() || value.is_array(),
            };
            assert!(fits || metric.optional && value.is_null(), "{key}: {value}");
        }
        seen.extend(keys);
    }
    // Keys that these runs lack: an oracle, a sample, a watcher, idle cleaning, a queue, a map on
    // the chip.
    let rare = [
        "oracle.",
        "sample.",
        "dead_data.",
        "config.idle.",
        "config.queue_depth",
        "config.reads_first",
        "load.",
        "config.suspend_",
        "flash.reads_passing",
        "flash.suspensions",
        "config.map_cache_bytes",
        "config.warm_up_pages",
        "predictions.",
        "map.",
        "config.device.energy",
    ];
    for metric in metrics() {
        let is_rare = rare.iter().any(|key| metric.key.starts_with(key));
        assert!(seen.contains(&metric.key) || is_rare, "{} is in no result", metric.key);
        assert!(!metric.about.is_empty(), "{} has no documentation", metric.key);
    }
    let keys: BTreeSet<_> = metrics().iter().map(|metric| &metric.key).collect();
    assert_eq!(keys.len(), metrics().len(), "a key is there twice");
}

#[test]
fn metrics_are_found_by_their_keys_or_the_last_words_of_them() {
    let key = |name| metric::find(name).map(|metric| metric.key.as_str());
    assert_eq!(key("write_amplification"), Some("write_amplification"));
    assert_eq!(key("write.p99"), Some("response_us.write.p99"));
    assert_eq!(key("tbw_bytes"), Some("lifetime.tbw_bytes"));
    assert_eq!((key("p99"), key("nonsense"), key("")), (None, None, None));
}

#[test]
fn memory_is_what_the_layer_and_its_policies_allocate() {
    let bytes = |placement| {
        let policy = PolicySpec::of(Some("greedy"), None, Some(placement)).expect("a policy");
        result_of(policy).memory.expect("this program counts").bytes_per_page
    };
    let (greedy, dac, bit) = (bytes("one-stream"), bytes("dac-simple"), bytes("sep-bit"));
    // Two tables of four bytes a page, and those of blocks.
    assert!((8.0..13.0).contains(&greedy), "{greedy}");
    assert!((0.9..3.0).contains(&(dac - greedy)), "a byte a page: {dac} {greedy}");
    assert!((3.9..6.0).contains(&(bit - greedy)), "four bytes a page: {bit} {greedy}");
    let by_place = bytes("dac") - greedy;
    assert!((0.0..0.3).contains(&by_place), "nothing a page, an open block a region: {by_place}");
    assert_eq!(bytes("dac-simple"), dac, "the same for the same run");
}

#[test]
fn a_lifetime_is_total_endurance_over_the_mean_erase_rate() {
    let run = result("greedy");
    let life = run.lifetime;
    let geometry = run.config.device.geometry;
    let mean = life.from_erases as f64 / f64::from(geometry.data_blocks());
    let days = run.trace.arrivals_us.expect("requests arrive") / 86400e6;
    let years = f64::from(run.config.device.rules.endurance) / (mean / days) / 365.25;
    assert!((life.years.expect("erased") / years - 1.0).abs() < 1e-9);
    assert!(!life.few_erases && life.tbw_bytes > Some(0.0));
}

#[test]
fn the_reference_lists_every_key() {
    const BEGIN: &str = "<!-- the keys, written by crates/sim/tests/simulator/result_keys.rs -->\n";
    const END: &str = "<!-- end of the keys -->\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
    let text = fs::read_to_string(&path).expect("docs/results.md is part of the repository");
    let (before, rest) = text.split_once(BEGIN).expect("the keys begin");
    let (_, after) = rest.split_once(END).expect("the keys end");
    let expected = format!("{before}{BEGIN}{}{END}{after}", reference());
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(&path, expected).expect("written");
        return;
    }
    assert!(text == expected, "docs/results.md is out of date; see the head of this file");
}

/// A table for each part of a result.
fn reference() -> String {
    let mut text = String::new();
    for (index, part) in parts().iter().enumerate() {
        let members: Vec<_> = metrics().iter().filter(|metric| metric.part == index).collect();
        if members.is_empty() {
            continue;
        }
        let title = if part.key.is_empty() { "Keys of the result itself" } else { &part.key };
        let absent = if part.optional { " Not in every result." } else { "" };
        let _ = writeln!(text, "\n### {title}\n\n{}{absent}\n", sentence(part.about));
        text += "| key | type | meaning |\n|---|---|---|\n";
        for metric in members {
            let name = metric.key.rsplit('.').next().unwrap_or_default();
            let about = sentence(metric.about).replace('|', "\\|");
            let _ = writeln!(text, "| `{name}` | {} | {about} |", metric.kind.name());
        }
    }
    text + "\n"
}

fn sentence(about: &str) -> String {
    let words: Vec<_> = about.split_whitespace().collect();
    words.join(" ")
}
