//! The results of every preset on small inputs, against a recorded file: a change that is not meant to change
//! results fails here within seconds.
//!
//! The first line of `data/results.txt` is the number of these results, by which stores recognise their own. Each other
//! line is an input, a preset, its erases and copies, and the SHA-256 digest of all its figures; the last line names
//! these figures. Figures added later are ignored until the file is recorded again, with `THERMOCLINE_RECORD=1`.

mod common;

use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf};

use common::{corpus, json, repository, stable};
use serde_json::Value;
use sha2::{Digest, Sha256};
use thermocline_sweep::digest::RESULTS;

/// Name, and the options of `compare`: a card of one bank, a trace with trims on four banks, files that are
/// deleted on a card that is idle between requests, DFTL, and a map whose changes are in RAM.
fn inputs() -> [(&'static str, Vec<String>); 5] {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let trace = words("--policies all --over-provisioning 25% --banks 4 --limit 10000 --trace");
    [
        (
            "card",
            words(
                "--policies all --device samsung-k9f6408-8m --fill 90% --workload hot-cold:90/10 --bytes 8MiB",
            ),
        ),
        ("trace", [trace, vec![corpus("developer-btrfs.tct")]].concat()),
        ("files", words("--policies all --capacity 40MiB --workload s2 --bytes 16MiB")),
        (
            "dftl",
            words(
                "--policies dftl,dftl(writes=page) --map-cache 8KiB --over-provisioning 30% --capacity 16MiB \
                 --workload zipf:0.9 --bytes 24MiB",
            ),
        ),
        (
            "map",
            words(
                "--victim greedy,cost-benefit,cat --placement one-stream,dac --map-cache 16KiB \
                 --over-provisioning 30% --capacity 16MiB --workload zipf:0.9 --bytes 24MiB",
            ),
        ),
    ]
}

fn recorded() -> PathBuf {
    repository().join("crates/cli/tests/data/results.txt")
}

/// Every figure of a run by its path, without the run's settings.
fn figures<'a>(of: &'a Value, path: String, all: &mut Vec<(String, &'a Value)>) {
    match of {
        Value::Object(members) => {
            for (name, value) in members {
                figures(value, format!("{path}.{name}"), all);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                figures(value, format!("{path}[{number}]"), all);
            }
        }
        _ => all.push((path, of)),
    }
}

/// A path without the numbers of elements and the names of policies.
fn kind(path: &str) -> String {
    path.split('.')
        .take_while(|part| !["choices", "policy"].contains(part))
        .map(|part| part.split('[').next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join(".")
}

fn line(input: &str, run: &Value, known: &BTreeSet<String>) -> String {
    let mut all = Vec::new();
    for section in run.as_object().expect("an object").keys().filter(|k| !is_told(k)) {
        figures(&run[section], section.clone(), &mut all);
    }
    all.retain(|(path, _)| known.is_empty() || known.contains(&kind(path)));
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut digest = Sha256::new();
    for (path, value) in all {
        digest.update(format!("{path}={value}\n"));
    }
    let digest = digest.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let (name, flash) = (run["config"]["policy"].as_str().expect("a name"), &run["flash"]);
    format!("{input} {name} {} {} {digest}", flash["blocks_erased"], flash["pages_copied"])
}

/// Whether a section has settings, or differs between machines.
fn is_told(section: &str) -> bool {
    ["schema_version", "config", "trace", "perf", "command", "oracle"].contains(&section)
}

#[test]
fn every_preset_gives_the_recorded_results() {
    let recording = std::env::var_os("THERMOCLINE_RECORD").is_some();
    let before = fs::read_to_string(recorded()).unwrap_or_default();
    let number = format!("results {RESULTS}");
    let (of, before) = before.split_once('\n').unwrap_or_default();
    let (lines, names) = before.trim_end().rsplit_once('\n').unwrap_or_default();
    let known = match recording {
        true => BTreeSet::new(),
        false => names.split(' ').map(str::to_owned).collect(),
    };
    let (mut now, mut kinds) = (Vec::new(), BTreeSet::new());
    for (input, options) in inputs() {
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let all = [&["compare", "--json"], &options[..]].concat();
        for run in stable(json(&all))["runs"].as_array().expect("a list") {
            now.push(line(input, run, &known));
            let mut all = Vec::new();
            figures(run, String::new(), &mut all);
            kinds.extend(all.iter().map(|(path, _)| kind(&path[1..])));
        }
    }
    kinds.retain(|kind| !is_told(kind.split('.').next().unwrap_or_default()));
    if recording {
        let kinds: Vec<_> = kinds.into_iter().collect();
        let now = now.join("\n");
        // Added figures change the digests of unchanged results: if only figures were added, keep the number.
        let counts = |lines: &str| -> BTreeSet<String> {
            lines.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
        };
        assert!(
            of != number || counts(&now).is_superset(&counts(lines)),
            "results changed: raise RESULTS in crates/sweep/src/digest.rs, for stores keep those of before"
        );
        fs::write(recorded(), format!("{number}\n{now}\n{}\n", kinds.join(" "))).expect("recorded");
        return;
    }
    assert_eq!(of, number, "THERMOCLINE_RECORD=1 records the results of this number");
    let before: Vec<_> = lines.lines().collect();
    let changed: Vec<_> = now.iter().filter(|line| !before.contains(&line.as_str())).collect();
    assert!(
        changed.is_empty(),
        "{} results changed (if they are meant to, THERMOCLINE_RECORD=1 records them):\n{changed:#?}",
        changed.len()
    );
    assert_eq!(now.len(), before.len(), "a preset is missing");
}
