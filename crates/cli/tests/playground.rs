//! What the playground hands over, given to the command line: commands, and grids for `thermocline sweep`.

mod common;

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::{Value, json};
use thermocline_study::settings::{compare::CompareSettings, table::Group};

use thermocline_web::repeat;

use common::{corpus, folder};

type Setting<'a> = (&'a str, Option<&'a str>);

/// Settings that a page has no use for: a whole comparison at once, and files of the reader's machine.
const ELSEWHERE: [&str; 9] = [
    "per-volume",
    "shard",
    "store",
    "min-volume",
    "min-written",
    "max-written",
    "min-reads",
    "max-reads",
    "fdp",
];

/// Settings that go together, beside a workload.
fn on_workload() -> Vec<Vec<Setting<'static>>> {
    let with = |name, value| (name, Some(value));
    vec![
        vec![
            with("aim", "latency"),
            with("buildable", "any"),
            with("threads", "1"),
            with("seed", "7"),
        ],
        vec![
            with("over-provisioning", "20%"),
            with("request", "4KiB"),
            with("interarrival", "2ms"),
            with("idle", "timer(after=1ms)"),
            with("dead-data", "trim"),
            ("check", None),
        ],
        vec![
            with("reads", "20%"),
            with("queue-depth", "4"),
            with("reads-first", "8"),
            with("suspend", "1ms"),
            with("banks", "2"),
            with("superblocks", "plain"),
            with("over-provisioning", "40%"),
            with("channels", "2"),
            with("bank-assignment", "dynamic"),
        ],
        vec![
            with("block-size", "32KiB"),
            with("page-size", "4KiB"),
            with("reserve", "2"),
            with("low", "3"),
            with("high", "5"),
            with("batch", "1"),
            with("pacing", "paced"),
            with("check", "true"),
        ],
        vec![
            with("fill", "80%"),
            with("write-buffer", "64KiB"),
            with("wear-out", "false"),
            with("trigger", "eager"),
        ],
        vec![with("preconditioned", "shuffled"), with("used", "4MiB"), with("warm-up", "2MiB")],
        vec![
            with("device", "intel-series2plus-24m"),
            with("capacity", "6MiB"),
            with("overhead", "2%"),
            ("wear-out", None),
            with("read-only", "10%"),
            with("time-scale", "1s"),
        ],
        vec![
            with("scale", "1/2"),
            with("block-size", "512KiB"),
            with("slc-cache", "none"),
            with("over-provisioning", "40%"),
        ],
        vec![with("map-cache", "64KiB"), with("policy", "dftl")],
        vec![
            with("logical-pages", "1500"),
            with("header-pages", "1"),
            with("daily-writes", "1MiB"),
            with("no-oracle", "true"),
        ],
        vec![
            with("victim", "greedy,cost-benefit"),
            with("placement", "one-stream,sep-bit"),
            with("over-provisioning", "40%"),
        ],
    ]
}

/// Settings that go together, beside a trace.
fn on_trace() -> Vec<Vec<Setting<'static>>> {
    let with = |name, value| (name, Some(value));
    vec![
        vec![
            ("settle", None),
            with("ops", "write,trim"),
            with("clock", "device"),
            with("seeds", "2"),
        ],
        vec![with("settle", "5"), with("hint", "0..1MiB=1"), with("hint", "1MiB..2MiB=2")],
        vec![
            with("loop", "2"),
            with("ops", "-trim"),
            ("absolute", None),
            ("wrap", None),
            with("capacity", "64MiB"),
            with("idle", "none,timer(after=1ms)"),
            with("dead-data", "none,all"),
        ],
        vec![with("footprint", "written"), with("sample", "1/2"), with("partial-pages", "round")],
        vec![
            with("load", "50%"),
            with("trace-format", "native"),
            with("sort-window", "64"),
            with("dedup-window", "20ms"),
            with("shift", "+4KiB"),
            with("volume", "0"),
        ],
    ]
}

/// Settings that go together, beside lines of a text.
fn on_text() -> [(&'static str, Vec<Setting<'static>>); 2] {
    let with = |name, value| (name, Some(value));
    [
        (
            "@time,w,@sector,4096\n",
            vec![
                with("columns", "time=1:us,op=2:w/r,offset=3:sectors,size=4"),
                with("sector-size", "4096"),
                with("time-unit", "ms"),
                ("skip-bad-lines", None),
            ],
        ),
        (
            "8,0 0 1 @time.5 100 C R @sector + 8 [0]\n",
            vec![with("trace-format", "blkparse"), with("action", "C"), ("invert-ops", None)],
        ),
    ]
}

fn words(line: &str, folder: &Path) -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_thermocline"));
    let mut bash = Command::new("bash");
    bash.args(["-c", &line.replacen("thermocline", &own.display().to_string(), 1)])
        .current_dir(folder);
    bash
}

fn done(line: &str, folder: &Path) -> String {
    let ran = words(line, folder).output().expect("there is bash");
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("UTF-8")
}

fn asked(question: &Value) -> Value {
    let answer = thermocline_web::answer(&question.to_string(), |_| {});
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert!(answer["error"].is_null(), "{question}: {}", answer["error"]);
    answer
}

/// The figures of runs, in some order.
fn figures<'a>(runs: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let mut all: Vec<_> = runs.map(|run| json!([run["flash"], run["host"]]).to_string()).collect();
    all.sort();
    all
}

/// Everything that the page hands over of these settings gives the page's figures.
fn hand_over(settings: &[Setting<'_>], is_watched: bool) {
    let folder = folder();
    let part = asked(&json!({ "ask": "compare", "settings": settings }));
    let rows = part["value"][0]["rows"].as_array().expect("rows");
    let runs =
        rows.iter().flat_map(|row| row["runs"]["Ok"].as_array().unwrap_or_else(|| panic!("{row}")));
    let ours = figures(runs);
    let plain = serde_json::from_value(json!(settings)).map(repeat::plain).expect("settings");
    assert!(!ours.is_empty());

    let command = repeat::command("compare", &plain);
    let theirs: Value =
        serde_json::from_str(&done(&format!("{command} --json"), folder.path())).expect("JSON");
    assert!(ours == figures(theirs["runs"].as_array().expect("runs").iter()), "{command}");

    let grid = repeat::grid(&plain);
    fs::write(folder.path().join("grid.toml"), &grid).expect("written");
    let rows = done("thermocline sweep grid.toml --format jsonl", folder.path());
    let rows: Vec<Value> =
        rows.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    assert!(ours == figures(rows.iter()), "{grid}: {}", json!(rows));

    if is_watched {
        let excerpt = json!({ "from": 0.5, "blocks": 4 });
        let part = asked(&json!({ "ask": "watch", "settings": settings, "excerpt": excerpt }));
        let replay =
            json!({ "ask": "replay", "settings": settings, "excerpt": excerpt, "parts": [part] });
        let html = asked(&replay)["value"].as_str().expect("a page").to_owned();
        let (_, rest) = html.split_once("\"command\":").unwrap_or_else(|| panic!("no command"));
        let command: String = serde_json::Deserializer::from_str(rest)
            .into_iter()
            .next()
            .expect("one")
            .expect("a text");
        done(&format!("{command} --output watched.html"), folder.path());
    }
}

#[test]
fn commands_and_grids_of_the_playground_are_taken_by_the_command_line() {
    let camera = corpus("camera-fat32.tct");
    let workload = [("workload", Some("hot-cold:90/10")), ("bytes", Some("16MiB"))];
    let trace = [("trace", Some(camera.as_str())), ("limit", Some("1500"))];
    let texts = on_text().map(|(line, case)| {
        let text = folder();
        let line = |i: u32| {
            line.replace("@time", &i.to_string()).replace("@sector", &(i * 40 % 1000).to_string())
        };
        fs::write(text.path().join("text"), (1..800).map(line).collect::<String>())
            .expect("written");
        (text.path().join("text").display().to_string(), text, case)
    });
    let mut seen: BTreeSet<&str> = ELSEWHERE.into();
    let cases = on_workload().into_iter().map(|case| [&workload[..], &case].concat());
    let cases = cases.chain(on_trace().into_iter().map(|case| [&trace[..], &case].concat()));
    let on_texts =
        texts.iter().map(|(path, _, case)| [&[("trace", Some(path.as_str()))][..], case].concat());
    for mut case in cases.chain(on_texts) {
        let has = |name: &str| case.iter().any(|(other, _)| *other == name);
        let (is_small, has_policy) = (has("trace") || has("capacity"), has("policy"));
        let has_oracle = has("no-oracle");
        let is_watched = !has("victim") && !case.contains(&("idle", Some("none,timer(after=1ms)")));
        if !is_small {
            case.push(("capacity", Some("16MiB")));
        }
        if !has_policy {
            case.push(("policies", Some("cat(tau=84min)")));
        }
        if !has_oracle {
            case.push(("no-oracle", None));
        }
        hand_over(&case, is_watched);
        seen.extend(
            case.iter().map(|(name, _)| if *name == "policy" { "policies" } else { *name }),
        );
    }
    let missing: Vec<_> = CompareSettings::table()
        .iter()
        .map(|field| field.info.name)
        .filter(|name| !seen.contains(name))
        .collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
}

#[test]
fn what_a_page_cannot_do_is_refused_in_words() {
    for name in ["per-volume", "fdp"] {
        let settings =
            json!([["trace", corpus("camera-fat32.tct")], [name, (name == "fdp").then_some("2")]]);
        let answer = thermocline_web::answer(
            &json!({ "ask": "compare", "settings": settings }).to_string(),
            |_| {},
        );
        assert!(answer.contains(&format!("--{name} is no setting of the playground")), "{answer}");
    }
}
