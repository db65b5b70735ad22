//! `--idle` and `--dead-data`, and the presets that stand for them.

mod common;

use common::{done, fails, file, folder, json, stable, thermocline};
use serde_json::Value;

/// Requests with gaps, so that there is idle time: 4 KiB pages, every fourth request a trim.
fn trace_with_trims(rows: u64, pages: u64) -> String {
    let mut text = String::from("time_ns,op,volume,offset,len\n");
    let mut draw = 7_u64;
    for i in 0..rows {
        // A burst of sixteen, then a pause of half a second.
        let time = i / 16 * 500_000_000 + i % 16 * 1_000_000;
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let page = if i < pages { i } else { (draw >> 33) % pages };
        let op = if i >= pages && i % 4 == 3 { "trim" } else { "write" };
        text += &format!("{time},{op},disk,{},4096\n", page * 4096);
    }
    text
}

fn on_slc<'a>(command: &'a str, trace: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command, "--trace", trace, "--block-size", "64KiB", "--json", "-q"], more].concat()
}

fn count(result: &Value, path: &str) -> u64 {
    let value = path.split('.').fold(result, |value, key| &value[key]);
    value.as_u64().unwrap_or_else(|| panic!("{path}: {value}"))
}

fn names(compared: &Value) -> Vec<&str> {
    let runs = compared["runs"].as_array().expect("a list");
    runs.iter().map(|run| run["config"]["policy"].as_str().expect("a name")).collect()
}

#[test]
fn a_run_takes_one_idle_policy_and_its_parameters() {
    let folder = folder();
    let trace = file(&folder, "t.csv", trace_with_trims(8000, 1000));
    let run = |more: &[&str]| json(&on_slc("run", &trace, more));
    let none = run(&["--idle", "none"]);
    assert!(none["config"].get("idle").is_none());
    assert_eq!(count(&none, "cleaning.idle_victims"), 0);
    // Cat cleans in no idle time of its own.
    assert_eq!(stable(none.clone()), stable(run(&[])));
    for idle in ["timer(after=50ms, free=12)", "slac(preempt=yes, free=12)"] {
        let cleaned = run(&["--idle", idle, "--check"]);
        assert_eq!(cleaned["config"]["idle"]["policy"], *idle);
        assert_eq!(cleaned["config"]["idle"]["free_blocks"], 12);
        assert!(count(&cleaned, "cleaning.idle_victims") > 50, "{idle}: {cleaned}");
        assert_eq!(cleaned["host"], none["host"], "{idle}");
    }
    // A silence that never comes.
    let never = run(&["--idle", "timer(after=1h)"]);
    assert_eq!(count(&never, "cleaning.idle_victims"), 0);
    assert_eq!(never["flash"], none["flash"]);
    // Another word for it.
    assert!(count(&run(&["--idle", "idle-timer"]), "cleaning.idle_victims") > 0);
}

#[test]
fn trims_are_worth_copies_and_none_ignores_them() {
    let folder = folder();
    let trace = file(&folder, "t.csv", trace_with_trims(12_000, 1000));
    let run = |dead: &str| json(&on_slc("run", &trace, &["--dead-data", dead, "--check"]));
    let [none, trim, usual] =
        [run("none"), run("trim"), json(&on_slc("run", &trace, &["--check"]))];
    assert_eq!(
        (&none["config"]["dead_data"], &trim["config"]["dead_data"]),
        (&Value::from("none"), &Value::from("trim"))
    );
    assert_eq!(stable(trim.clone()), stable(usual), "trims are believed unless said otherwise");
    assert_eq!(count(&none, "host.pages_written"), count(&trim, "host.pages_written"));
    assert_eq!(count(&none, "host.requests"), 12_000);
    assert_eq!(count(&trim, "host.requests"), 12_000);
    assert_eq!(count(&none, "host.pages_trimmed"), 0);
    assert!(count(&trim, "host.pages_trimmed") > 2000);
    let copies = [&none, &trim].map(|run| count(run, "flash.pages_copied"));
    assert!(copies[1] * 4 < copies[0] * 3, "{copies:?}");

    // Without its trims the trace is the same.
    let writes = json(&on_slc("run", &trace, &["--ops", "write", "--absolute"]));
    let ignored = json(&on_slc("run", &trace, &["--dead-data", "none", "--absolute"]));
    for part in ["flash", "cleaning", "wear", "response_us"] {
        assert_eq!(ignored[part], writes[part], "{part}");
    }
}

#[test]
fn a_run_takes_one_value_and_known_names_only() {
    let run = |more: &[&'static str]| {
        [&["run", "--workload", "uniform", "--bytes", "1MiB", "--capacity", "16MiB"], more].concat()
    };
    for (option, one, other) in
        [("--idle", "timer(after=5ms, free=3)", "slac"), ("--dead-data", "trim", "fsaf")]
    {
        let says = [option, one, other, "it takes one here", "thermocline compare"];
        let list: &'static str = Box::leak(format!("{one},{other}").into_boxed_str());
        fails(2, &run(&[option, list]), &says);
        fails(2, &run(&[option, one, option, other]), &says);
        for nothing in ["", " ", ",,"] {
            fails(2, &run(&[option, nothing]), &[option, "names nothing"]);
            let compare = ["compare", "--workload", "uniform", option, nothing];
            fails(2, &compare, &[option, "names nothing"]);
        }
    }
    let wrong: [(&str, &str, &str); 11] = [
        ("--idle", "tymer", "did you mean `timer`?"),
        ("--idle", "none(after=1s)", "none"),
        ("--idle", "slack", "did you mean `slac`?"),
        ("--idle", "timer(afetr=5ms)", "after"),
        ("--idle", "timer(after=soon)", "expected a time"),
        ("--idle", "timer(after=5ms", "not closed"),
        ("--idle", "slac(samples=0)", "samples"),
        ("--dead-data", "trims", "did you mean `trim`?"),
        ("--dead-data", "fsfa", "did you mean `fsaf`?"),
        ("--dead-data", "fsaf(guards=maybe)", "guards"),
        ("--dead-data", "trim(delta=0.3)", "delta"),
    ];
    for (option, value, says) in wrong {
        fails(2, &run(&[option, value]), &[says]);
        let compare = ["compare", "--workload", "uniform", "--policies", "cat", option, value];
        fails(2, &compare, &[says]);
    }
}

#[test]
fn a_comparison_makes_an_axis_of_each_list() {
    let folder = folder();
    let trace = file(&folder, "t.csv", trace_with_trims(6000, 1000));
    let lists = ["--idle", "none,timer(after=5ms, free=9),slac", "--dead-data", "none,trim"];
    let args = ["--policies", "greedy,nftl", "--no-oracle"];
    let result = json(&on_slc("compare", &trace, &[&args[..], &lists].concat()));
    let mut expected = Vec::new();
    for policy in ["greedy", "nftl"] {
        for idle in ["none", "timer(after=5ms, free=9)", "slac"] {
            for dead in ["none", "trim"] {
                expected.push((format!("{policy} idle={idle} dead-data={dead}"), idle, dead));
            }
        }
    }
    assert_eq!(names(&result), expected.iter().map(|e| e.0.as_str()).collect::<Vec<_>>());
    for (run, (name, idle, dead)) in
        result["runs"].as_array().expect("a list").iter().zip(&expected)
    {
        assert_eq!(run["config"]["dead_data"], *dead, "{name}");
        match *idle {
            "none" => assert!(run["config"].get("idle").is_none(), "{name}"),
            idle => assert_eq!(run["config"]["idle"]["policy"], *idle, "{name}"),
        }
        assert_eq!(run["host"]["pages_trimmed"] == 0, *dead == "none", "{name}");
    }
    // One value is no axis, and the same value twice is one.
    let one = json(&on_slc(
        "compare",
        &trace,
        &["--policies", "greedy,cat", "--no-oracle", "--idle", "timer", "--dead-data", "none"],
    ));
    assert_eq!(names(&one), ["greedy", "cat"]);
    assert!(one["runs"].as_array().expect("a list").iter().all(|run| {
        run["config"]["idle"]["policy"] == "timer" && run["config"]["dead_data"] == "none"
    }));
    let all = ["--policies", "greedy", "--no-oracle", "--idle", "all", "--dead-data", "all"];
    let all = json(&on_slc("compare", &trace, &all));
    assert_eq!(names(&all).len(), 9);
    let table = done(&[
        "compare",
        "--trace",
        &trace,
        "--policies",
        "greedy",
        "--no-oracle",
        "-q",
        "--block-size",
        "64KiB",
        "--idle",
        "none,timer",
    ]);
    assert!(table.contains("greedy idle=none") && table.contains("greedy idle=timer"), "{table}");
}

#[test]
fn idle_work_needs_arrivals() {
    let args =
        ["run", "--workload", "uniform", "--capacity", "16MiB", "--bytes", "32MiB", "--json"];
    let never = json(&[&args[..], &["--idle", "timer"]].concat());
    assert!(never["config"].get("idle").is_none(), "on its own clock a device is never idle");
    assert_eq!(count(&never, "cleaning.idle_victims"), 0);
    let arrivals = [&args[..], &["--idle", "timer", "--interarrival", "40ms"]].concat();
    assert!(count(&json(&arrivals), "cleaning.idle_victims") > 0);
}

/// NFTL on the thesis' chip, a workload that fits it.
fn on_chip<'a>(policy: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = [
        "run",
        "--device",
        "toshiba-tc58dvm72-64m",
        "--workload",
        "uniform",
        "--bytes",
        "8MiB",
        "--interarrival",
        "5ms",
        "--json",
        "-q",
        "--policy",
        policy,
    ];
    [&args[..], more].concat()
}

#[test]
fn presets_of_nftl_take_parameters_of_all_their_axes() {
    // What each is, where nothing is said.
    for (preset, idle, dead) in [
        ("nftl", None, "trim"),
        ("slac", Some("timer"), "trim"),
        ("slac-thesis", Some("slac"), "trim"),
        ("fsaf", None, "fsaf"),
        ("combo", Some("timer"), "fsaf"),
    ] {
        let result = json(&on_chip(preset, &["--check"]));
        let config = &result["config"];
        assert_eq!((&config["layer"], &config["policy"]), (&"nftl".into(), &preset.into()));
        assert_eq!(config["placement"], Value::Null, "{preset}");
        assert_eq!(config["dead_data"], dead, "{preset}");
        assert_eq!(config["idle"]["policy"].as_str(), idle, "{preset}");
        assert!(result["nftl"]["folds"].is_u64(), "{preset}");
        assert_eq!(result.get("dead_data").is_some(), dead == "fsaf", "{preset}");
    }
    let combo = "combo(dead=16, delta=0.3, start=12)";
    let result = json(&on_chip(combo, &[]));
    assert_eq!(result["config"]["policy"], combo);
    assert_eq!(result["config"]["idle"]["policy"], "timer(dead=16)");
    assert_eq!(result["config"]["dead_data"], "fsaf(delta=0.3)");
    // Each of them has an effect: the layer, the idle work, the dead data.
    let plain = json(&on_chip("nftl", &[]));
    let eager = json(&on_chip("nftl(start=40, stop=50)", &[]));
    assert!(count(&eager, "nftl.folds") > count(&plain, "nftl.folds"));
    let few = json(&on_chip("slac(dead=1, after=1ms)", &[]));
    assert!(count(&few, "cleaning.idle_victims") > count(&plain, "cleaning.idle_victims"));
    let thesis = json(&on_chip("slac-thesis(samples=2, preempt=yes)", &[]));
    assert_eq!(thesis["config"]["idle"]["policy"], "slac(samples=2, preempt=yes)");
    // `--idle` and `--dead-data` replace the preset's own.
    let other = json(&on_chip("combo", &["--idle", "none", "--dead-data", "trim"]));
    assert_eq!(other["flash"], plain["flash"]);
}

#[test]
fn what_nftl_has_no_choice_of_is_refused() {
    for preset in ["nftl", "slac", "slac-thesis", "fsaf", "combo"] {
        fails(2, &on_chip(preset, &["--placement", "M6"]), &[preset, "--placement"]);
        fails(
            2,
            &on_chip(preset, &["--victim", "cat"]),
            &["NFTL", "greedy", "cost-benefit", "cat"],
        );
        fails(2, &on_chip(preset, &["--victim", "greedie"]), &["did you mean `greedy`?"]);
    }
    json(&on_chip("nftl", &["--victim", "cost-benefit"]));
    let wrong: [(&str, &str); 8] = [
        ("nftl(dead=16)", "it has start, stop, gap"),
        ("slac(samples=2)", "after"),
        ("fsaf(start=0)", "0 < start <= stop < 100"),
        ("combo(stop=100)", "0 < start <= stop < 100"),
        ("combo(start=30)", "0 < start <= stop < 100"),
        ("combo(delta=many)", "delta"),
        ("combo(ded=16)", "no parameter `ded`"),
        ("comb", "did you mean `combo`?"),
    ];
    for (policy, says) in wrong {
        fails(2, &on_chip(policy, &[]), &[says]);
    }
    let compare = ["compare", "--workload", "uniform", "--policies", "nftl", "--placement", "M6"];
    fails(2, &compare, &["nftl", "--placement"]);
}

#[test]
fn shares_of_dead_pages_that_contradict_each_other_are_refused() {
    for (dead, key) in [
        ("delta=0.1, target=0.2", "target"),
        ("delta=-1, target=-2", "delta"),
        ("delta=2", "delta"),
        ("mu=1.5", "mu"),
    ] {
        let policy = format!("fsaf({dead})");
        fails(2, &on_chip(&policy, &[]), &[key, "expected a share"]);
        fails(2, &on_chip("nftl", &["--dead-data", &policy]), &[key, "expected a share"]);
    }
}

#[test]
fn the_catalogue_has_what_the_options_take() {
    let all = json(&["policies", "--json"]);
    let all = all.as_array().expect("a list");
    let of = |axis: &str| -> Vec<&str> {
        let entries = all.iter().filter(|entry| entry["axis"] == axis);
        entries.map(|entry| entry["name"].as_str().expect("a name")).collect()
    };
    assert_eq!(of("idle"), ["timer", "slac"]);
    assert_eq!(of("dead-data"), ["none", "trim", "fsaf"]);
    assert_eq!(of("layer"), ["nftl", "dftl"]);
    for name in ["timer", "slac", "fsaf", "combo", "nftl", "dftl"] {
        let ran = thermocline(&["policies", name]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        assert!(ran.out.contains(name), "{}", ran.out);
    }
}
