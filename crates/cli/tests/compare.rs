//! `thermocline compare`.

mod common;
#[path = "compare/fleet.rs"]
mod fleet;
#[path = "compare/sweep.rs"]
mod sweep;

use std::time::Instant;

use thermocline_policy::preset::{LayerKind, PRESETS, Preset};

use common::{CARD, corpus, csv_trace, done, fails, fed, file, folder, json, stable, thermocline};

#[test]
fn recorded_traces_are_compared_in_input_major_order() {
    let (sqlite, camera) = (corpus("sqlite-ext4.tct"), corpus("camera-fat32.tct"));
    let args =
        ["compare", "--trace", &sqlite, "--trace", &camera, "--policies", "greedy,cat", "--json"];
    let result = json(&args);
    let runs = result["runs"].as_array().expect("a list");
    let named: Vec<_> = runs
        .iter()
        .map(|r| (r["trace"]["path"].as_str(), r["config"]["policy"].as_str()))
        .collect();
    let expected = [(&sqlite, "greedy"), (&sqlite, "cat"), (&camera, "greedy"), (&camera, "cat")];
    assert_eq!(named, expected.map(|(t, p)| (Some(t.as_str()), Some(p))));
    assert!(runs.iter().all(|r| r["flash"]["blocks_erased"].as_u64() > Some(0)));
}

#[test]
fn the_best_of_each_column_is_marked() {
    let sqlite = corpus("sqlite-ext4.tct");
    let table = done(&["compare", "--trace", &sqlite, "--ops=-trim", "--metrics", "blocks_erased"]);
    let row = |policy: &str| {
        let starts = |line: &&str| line.split_whitespace().next() == Some(policy);
        table.lines().find(starts).unwrap_or_else(|| panic!("{policy}: {table}")).to_owned()
    };
    assert!(table.starts_with(&format!("{sqlite}:")), "{table}");
    assert!(table.contains("\n* best of its column, "), "{table}");
    let (_, answer) = table.rsplit_once("Answer (aim endurance): ").expect("an answer");
    assert!(!table.contains("in-place"), "{table}");
    let erases = |policy: &str| row(policy).split_whitespace().nth(1).expect("a figure").to_owned();
    // Every preset with a log, without knowledge of the future and without a network to train.
    let left_out = ["fk", "oracle", "calendar", "dogi"];
    let known = |p: &&Preset| p.layer == LayerKind::PageMapped && !left_out.contains(&p.name);
    let policies: Vec<_> = PRESETS.iter().filter(known).map(|p| p.name).collect();
    assert!(policies.len() > 20);
    let marked: Vec<_> =
        policies.iter().copied().filter(|policy| erases(policy).ends_with('*')).collect();
    let count = |policy| erases(policy).replace([',', '*'], "").parse::<u64>().expect("a number");
    let least = policies.iter().copied().map(count).min();
    let within = policies.iter().filter(|p| count(p) as f64 <= least.unwrap_or(0) as f64 * 1.01);
    // A tie has no mark.
    match within.count() {
        1 => {
            assert_eq!(marked.len(), 1, "{table}");
            assert!(Some(count(marked[0])) == least && answer.starts_with(marked[0]), "{table}");
        }
        _ => assert!(marked.is_empty() && answer.contains("ties with"), "{table}"),
    }
}

#[test]
fn ties_are_not_marked_and_a_single_row_is_not() {
    let args = ["compare", "--policies", "greedy,fifo", "--workload", "sequential"];
    let table = done(&[&args[..], &["--capacity", "16MiB", "--metrics", "pages_copied"]].concat());
    let copies = |policy: &str| {
        let line = table.lines().find(|line| line.trim_start().starts_with(policy));
        line.expect("a row").split_whitespace().nth(1).expect("a figure").to_owned()
    };
    assert_eq!((copies("greedy").as_str(), copies("fifo").as_str()), ("0", "0"), "{table}");
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("within 1 % or the noise: choose by memory: greedy"), "{table}");
    let single = ["compare", "--policies", "cat", "--workload", "uniform", "--capacity", "16MiB"];
    assert!(!done(&single).contains('*'));
}

#[test]
fn the_answer_is_what_the_results_say() {
    let run = |aim| {
        json(
            &[&["compare"], &CARD[..], &["--policies", "greedy,cat,lfs", "--aim", aim, "--json"]]
                .concat(),
        )
    };
    let result = run("endurance");
    let answer = &result["answer"];
    let runs = result["runs"].as_array().expect("a list");
    let of = |policy: &str, part: &str, key: &str| {
        let run = runs.iter().find(|run| run["config"]["policy"] == policy).expect("it ran");
        run[part][key].as_f64().expect("a number")
    };
    let tbw = |policy: &str| of(policy, "lifetime", "tbw_bytes");
    let mut order = ["greedy", "cat", "lfs"];
    order.sort_by(|a, b| tbw(b).total_cmp(&tbw(a)));
    assert_eq!(
        (answer["aim"].as_str(), answer["best"].as_str()),
        (Some("endurance"), Some(order[0]))
    );
    let margin = answer["margin"].as_f64().expect("a next");
    assert!((margin - (tbw(order[0]) / tbw(order[1]) - 1.0)).abs() < 1e-9, "{answer}");
    let over = answer["over_greedy"].as_f64().expect("greedy ran");
    assert!((over - (tbw(order[0]) / tbw("greedy") - 1.0)).abs() < 1e-9, "{answer}");
    let excess = answer["over_oracle"].as_f64().expect("measured");
    assert!((excess - of(order[0], "oracle", "excess")).abs() < 1e-9, "{answer}");
    assert_eq!(answer["ties"].as_array().map(Vec::len), Some(0), "{answer}");
    // The lifetime is total endurance over the erases of a byte written.
    for policy in order {
        let run = runs.iter().find(|run| run["config"]["policy"] == policy).expect("it ran");
        let geometry = &run["config"]["device"]["geometry"];
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        let blocks = number(&geometry["blocks_per_bank"]) * number(&geometry["banks"])
            - number(&geometry["system_blocks"]);
        let endurance = number(&run["config"]["device"]["rules"]["endurance"]);
        let erased = number(&run["flash"]["blocks_erased"]);
        let expected = endurance * blocks / (erased / number(&run["host"]["bytes_written"]));
        assert!((tbw(policy) / expected - 1.0).abs() < 0.01, "{policy}");
    }
    let memory = run("memory");
    let bytes = |policy| of(policy, "memory", "total_bytes");
    let least = bytes(memory["answer"]["best"].as_str().expect("a policy"));
    assert!(order.iter().all(|policy| bytes(policy) >= least * 0.99), "{memory}");
}

#[test]
fn an_overloaded_device_is_named_and_its_years_are_not_ranked() {
    // A request each millisecond is more than this card can take.
    let args =
        [&["compare"], &CARD[..6], &["--bytes", "32MiB", "--policies", "greedy,cat,fifo"]].concat();
    let busy = [&args[..], &["--interarrival", "1ms"]].concat();
    let ran = thermocline(&busy);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("is overloaded: it would need "), "{}", ran.err);
    assert!(
        ran.out.contains("The device is\noverloaded")
            || ran.out.contains("The device is overloaded"),
        "{}",
        ran.out
    );
    let result = json(&[&busy[..], &["--json", "-q"]].concat());
    for run in result["runs"].as_array().expect("a list") {
        let life = &run["lifetime"];
        assert_eq!(life["overloaded"], true);
        let factor = life["time_factor"].as_f64().expect("arrivals");
        assert!(
            (factor
                - run["elapsed_us"].as_f64().expect("a number")
                    / run["trace"]["arrivals_us"].as_f64().expect("a number"))
            .abs()
                < 1e-9
                && factor > 1.05
        );
    }
    assert!(result["answer"]["overloaded"].as_f64() > Some(1.05));
    let years = done(&[&busy[..], &["-q", "--metrics", "lifetime.years"]].concat());
    let rows = years.lines().filter(|line| {
        line.trim_start().starts_with("greedy ") || line.trim_start().starts_with("cat ")
    });
    assert!(rows.clone().count() == 2 && rows.clone().all(|line| !line.contains('*')), "{years}");
}

#[test]
fn seeds_give_means_with_intervals() {
    let args = ["compare", "--workload", "uniform", "--capacity", "16MiB", "--bytes", "32MiB"];
    let args = [&args[..], &["--policies", "greedy,fifo", "--no-oracle", "--seeds", "3"]].concat();
    let result = json(&[&args[..], &["--json", "-q"]].concat());
    let runs = result["runs"].as_array().expect("a list");
    let seeds: Vec<_> = runs.iter().map(|run| run["config"]["seed"].as_u64()).collect();
    assert_eq!(seeds, [Some(1), Some(2), Some(3), Some(1), Some(2), Some(3)]);
    let of = |run: &serde_json::Value| run["write_amplification"].as_f64().expect("written");
    let mean = (of(&runs[0]) + of(&runs[1]) + of(&runs[2])) / 3.0;
    let greedy = &result["means"][0];
    assert_eq!((greedy["policy"].as_str(), greedy["seeds"].as_u64()), (Some("greedy"), Some(3)));
    let found = &greedy["metrics"]["write_amplification"];
    assert!((found["mean"].as_f64().expect("a mean") - mean).abs() < 1e-12, "{found}");
    assert!(found["half"].as_f64() > Some(0.0));
    assert!(done(&args).contains('±'));
}

#[test]
fn rows_can_be_sorted_and_columns_chosen() {
    let args =
        [&["compare"], &CARD[..], &["--policies", "greedy,cat,lfs", "--no-oracle", "-q"]].concat();
    let csv = done(&[&args[..], &["--format", "csv", "--sort", "write_amplification"]].concat());
    let json = json(&[&args[..], &["--json", "--sort", "lifetime.tbw_bytes"]].concat());
    let names: Vec<_> = csv.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
    let of_json = json["runs"].as_array().expect("a list").iter();
    let of_json: Vec<_> = of_json.filter_map(|run| run["config"]["policy"].as_str()).collect();
    assert_eq!(names, of_json, "least written is longest lived");
    let table = done(&[&args[..], &["--metrics", "wear.max,write.p99"]].concat());
    assert!(
        table.contains("most") && table.contains("p99") && !table.contains("amplif"),
        "{table}"
    );
    let lines = done(&[&args[..], &["--format", "jsonl"]].concat());
    assert_eq!(lines.lines().count(), 3);
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    let markdown = done(&[&args[..], &["--markdown"]].concat());
    assert!(
        markdown.contains("| write amplif. |") && markdown.contains("|---|---:|"),
        "{markdown}"
    );
    fails(2, &[&args[..], &["--sort", "p99"]].concat(), &["response_us.write.p99 or"]);
    fails(2, &[&args[..], &["--metrics", "nonsense"]].concat(), &["docs/results.md"]);
    fails(2, &[&args[..], &["--aim", "speed"]].concat(), &["endurance"]);
}

#[test]
fn years_are_told_at_the_rate_that_is_asked_for() {
    let args = [&["run"], &CARD[..], &["--policy", "cat", "--daily-writes", "50GB"]].concat();
    let result = json(&[&args[..], &["--json"]].concat());
    let life = &result["lifetime"];
    assert_eq!(life["at_bytes_per_day"].as_f64(), Some(50e9));
    let years = life["tbw_bytes"].as_f64().expect("erased") / 50e9 / 365.25;
    assert!((life["years"].as_f64().expect("a rate") / years - 1.0).abs() < 1e-12);
    let text = done(&args);
    assert!(text.contains("50.00 GB a day") && text.contains("P/E cycles (Endurance"), "{text}");
    fails(2, &[&args[..args.len() - 1], &["fifty"]].concat(), &["50GB"]);
}

#[test]
fn threads_do_not_change_the_results() {
    let run = |threads| {
        let args = [&["compare"], &CARD[..], &["--json", threads]].concat();
        stable(json(&args)).to_string()
    };
    assert_eq!(run("-j1"), run("-j2"));
    let table = |threads| done(&[&["compare"], &CARD[..], &[threads]].concat());
    assert_eq!(table("-j1"), table("-j2"));
}

#[test]
fn every_victim_goes_with_every_placement() {
    let grid = ["--victim", "greedy,cat(tau=5s, offset=0)", "--placement", "M1,age-sort"];
    let args = [&["compare"], &CARD[..], &grid, &["--json"]].concat();
    let result = json(&args);
    let names: Vec<_> = result["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|r| r["config"]["policy"].as_str().expect("text"))
        .collect();
    let cat = "cat(tau=5s, offset=0)";
    assert_eq!(
        names,
        ["greedy + M1", "greedy + age-sort", &format!("{cat} + M1"), &format!("{cat} + age-sort")]
    );
}

#[test]
fn rows_have_the_same_columns_whatever_the_device() {
    let header = |device| {
        let args = ["compare", "--workload", "uniform", "--bytes", "1MiB", "--device", device];
        let csv = done(
            &[&args[..], &["--format", "csv", "--policies", "greedy,in-place", "-q"]].concat(),
        );
        let mut lines = csv.lines().map(str::to_owned);
        let header = lines.next().expect("a header");
        assert_eq!(lines.count(), 2, "{csv}");
        header
    };
    let columns = header("slc-generic");
    assert_eq!(columns, header("intel-series2plus-24m"));
    for name in ["config.policy", "flash.blocks_erased", "response_us.write.p999", "energy_mj"] {
        assert!(columns.split(',').any(|column| column == name), "{name}: {columns}");
    }
    assert!(columns.starts_with("schema_version,config.policy,"), "{columns}");
}

#[test]
fn the_default_device_follows_from_a_phones_trace_and_the_answer_says_so() {
    let data = |name: &str| {
        common::repository().join("crates/trace/tests/data").join(name).display().to_string()
    };
    let policies = ["--policies", "greedy", "--json"];
    let device = |args: &[&str]| {
        let output = common::command(&[&["compare"], args, &policies].concat()).output();
        let output = output.expect("it runs");
        let notes = String::from_utf8(output.stderr).expect("UTF-8");
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (result["runs"][0]["config"]["device"]["name"].as_str().map(str::to_owned), notes)
    };
    let (nexus5, acsl, msr) = (data("nexus5.csv"), data("acsl.csv"), data("msr.csv"));
    let (name, notes) = device(&[&nexus5]);
    assert_eq!(name.as_deref(), Some("emmc-5.1"));
    let words = "recorded on a phone or a card, so the device is emmc-5.1; --device";
    assert!(notes.contains(words), "{notes}");
    assert_eq!(device(&[&acsl]).0.as_deref(), Some("ufs-3.1"));
    assert_eq!(device(&[&data("biotracer.txt")]).0.as_deref(), Some("emmc-5.1"));
    let (name, notes) = device(&[&msr]);
    assert_eq!(name.as_deref(), Some("slc-generic"));
    assert!(!notes.contains("phone"), "{notes}");
    // Linux numbers and names its eMMC chips and cards, in the traces of any tool.
    let folder = folder();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).expect("written");
        path
    };
    let ftrace = file("f", "dd-1 [0] .... 0.5: block_rq_issue: 179,8 W 0 () 2048 + 8 [dd]\n");
    let iolog = file("i", "fio version 2 iolog\n/dev/mmcblk0 write 0 4096\n");
    let csv = file("c", "time_s,op,offset,size,disk\n0.5,W,0,4096,mmcblk0p2\n");
    let both = file("b", "time_s,op,offset,size,disk\n0.5,W,0,4096,mmcblk0\n1,W,0,512,sda\n");
    for trace in [&ftrace, &iolog, &csv] {
        assert_eq!(device(&[trace]).0.as_deref(), Some("emmc-5.1"), "{trace}");
    }
    assert_eq!(device(&[&both]).0.as_deref(), Some("slc-generic"));
    // Whoever names a device gets it, without a word.
    let (name, notes) = device(&[&nexus5, "--device", "tlc-generic"]);
    assert_eq!(name.as_deref(), Some("tlc-generic"));
    assert!(!notes.contains("phone"), "{notes}");
    // One comparison has one device; where the traces differ, the words stay.
    let (name, notes) = device(&[&nexus5, &msr]);
    assert_eq!(name.as_deref(), Some("slc-generic"));
    assert!(notes.contains("simulated on slc-generic; --device emmc-5.1 is nearer"), "{notes}");
    // Native files record their source, whole and split, and so does standard input.
    let name = |name: &str| folder.path().join(name).display().to_string();
    let (tct, again, split) = (name("t.tct"), name("again.tct"), name("split"));
    done(&["trace", "convert", &nexus5, &tct]);
    done(&["trace", "convert", &tct, &again]);
    done(&["trace", "split", &again, &split]);
    let volume = std::fs::read_dir(&split).expect("volumes").next().expect("one").expect("read");
    let volume = volume.path().display().to_string();
    for trace in [&tct, &again, &volume] {
        assert_eq!(device(&[trace]).0.as_deref(), Some("emmc-5.1"), "{trace}");
    }
    let bytes = std::fs::read(&tct).expect("there");
    let ran = fed(&["run", "--trace", "-", "--policy", "greedy", "--json"], &bytes);
    let result: serde_json::Value = serde_json::from_str(&ran.out).expect(&ran.err);
    assert_eq!(result["config"]["device"]["name"], "emmc-5.1");
    // Volumes of sweeps and fleets.
    let store = name("store");
    let all = ["--per-volume", "--min-volume", "0", "--format", "jsonl", "--store", &store];
    for command in [["sweep", "--policy", "greedy"], ["compare", "--policies", "greedy"]] {
        let ran = thermocline(&[&command[..], &["--trace", &tct], &all].concat());
        let row: serde_json::Value =
            serde_json::from_str(ran.out.lines().next().expect(&ran.err)).expect("JSON");
        assert_eq!(row["config"]["device"]["name"], "emmc-5.1", "{command:?}");
        assert!(ran.err.contains("so the device is emmc-5.1; --device"), "{}", ran.err);
    }
}

#[test]
fn standard_input_is_a_trace_once() {
    let trace = csv_trace(5000, 500);
    let args = ["compare", "--trace", "-", "--policies", "greedy,cat", "--json", "-q"];
    let ran = fed(&args, trace.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out.matches("\"path\": \"-\"").count(), 2);
    fails(2, &["compare", "--trace", "-", "--trace", "-"], &["standard input"]);
}

#[test]
fn parquet_is_written_or_the_remedy_named() {
    let folder = folder();
    let path = folder.path().join("runs.parquet");
    let args = ["compare", "--workload", "uniform", "--bytes", "1MiB", "-q", "--format", "parquet"];
    let args = [&args[..], &["--output", path.to_str().expect("UTF-8")]].concat();
    if cfg!(feature = "parquet") {
        done(&args);
        let bytes = std::fs::read(&path).expect("written");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
        let table = folder.path().join("sweep.parquet");
        let args =
            ["sweep", "--workload", "uniform", "--bytes", "1MiB,2MiB", "--format", "parquet"];
        done(&[&args[..], &["--output", table.to_str().expect("UTF-8")]].concat());
        let bytes = std::fs::read(&table).expect("written");
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(bytes.ends_with(b"PAR1") && has(b"asked.bytes") && has(b"write_amplification"));
    } else {
        fails(2, &args, &["--features parquet", "make build"]);
        assert!(!path.exists());
    }
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let trace = file(&folder(), "gone.csv", "");
    assert!(thermocline(&["compare", "--trace", &trace]).code == 3);
    let args = ["compare", "--workload", "uniform", "--bytes", "1MiB", "--capacity", "16MiB", "-q"];
    let styled = common::command(&args).env("CLICOLOR_FORCE", "1").output().expect("it runs");
    assert!(styled.stdout.contains(&0x1b));
    let plain = common::command(&args).env("NO_COLOR", "1").output().expect("it runs");
    assert!(!plain.stdout.contains(&0x1b));
}

/// Policies on the paper's card, so full that some cannot run.
const FULL: [&str; 8] = [
    "--device",
    "intel-series2plus-24m",
    "--fill",
    "98.5%",
    "--workload",
    "uniform",
    "--bytes",
    "8MiB",
];

#[test]
fn runs_say_how_far_they_are_from_the_oracle() {
    let with = |options: &[&str]| {
        let args = [&["compare"], &CARD[..], &["--policies", "greedy,cat"], options].concat();
        done(&args)
    };
    let result: serde_json::Value = serde_json::from_str(&with(&["--json"])).expect("JSON");
    let runs = result["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 2, "the oracle's own run is not asked for");
    for run in runs {
        let of = |run: &serde_json::Value| run["write_amplification"].as_f64().expect("written");
        let oracle = &run["oracle"];
        assert_eq!(oracle["policy"], "calendar", "the better of the two");
        let excess = oracle["excess"].as_f64().expect("measured");
        assert!((excess - (of(run) / of(oracle) - 1.0)).abs() < 1e-12 && excess > 0.5, "{run}");
    }
    assert!(result.get("failures").is_none());
    let table = with(&[]);
    assert!(table.contains("over") && table.contains("oracle") && table.contains(" +"), "{table}");
    let without = with(&["--no-oracle"]);
    assert!(!without.contains("oracle"), "{without}");
    let bare: serde_json::Value =
        serde_json::from_str(&with(&["--no-oracle", "--json"])).expect("JSON");
    assert!(bare["runs"][0].get("oracle").is_none());
    let header = |csv: String| csv.lines().next().map(str::to_owned);
    let columns = header(with(&["--format", "csv"]));
    assert_eq!(columns, header(with(&["--format", "csv", "--no-oracle"])));
    assert!(columns.is_some_and(|columns| columns.contains(",oracle.excess,")));
}

#[test]
fn what_knows_the_future_is_shown_and_never_marked_as_best() {
    let args = [&["compare"], &CARD[..], &["--policies", "greedy,cat,oracle,calendar"]].concat();
    let table = done(&args);
    let row = |policy: &str| {
        let starts = |line: &&str| line.split_whitespace().next() == Some(policy);
        table.lines().find(starts).unwrap_or_else(|| panic!("{policy}: {table}")).to_owned()
    };
    assert!(row("calendar").contains("+0.0 %") && !row("calendar").contains('*'), "{table}");
    assert!(row("oracle").contains(" +") && !row("oracle").contains('*'), "{table}");
    assert!(row("cat").contains('*'), "{table}");
    let usual = done(&[&["compare"], &CARD[..]].concat());
    assert!(!usual.lines().any(|line| line.trim_start().starts_with("oracle ")), "{usual}");
}

#[test]
fn all_policies_on_several_inputs_end_with_a_table_to_choose_from() {
    let sqlite = corpus("sqlite-ext4.tct");
    let inputs = ["--trace", &sqlite, "--workload", "uniform", "--bytes", "64MiB"];
    let args = [&["compare", "--policies", "all", "--capacity", "256MiB"], &inputs[..]].concat();
    let table = done(&args);
    let (_, summary) = table.split_once("write amplification on all inputs").expect("a summary");
    let (summary, _) = summary.split_once("\n* best").expect("a legend");
    let rows = summary.lines().filter(|line| line.contains(" %"));
    let names: Vec<_> = rows.filter_map(|line| line.split_whitespace().next()).collect();
    let presets = json(&["policies", "--json"]);
    let presets = presets.as_array().expect("a list").iter();
    // DFTL needs RAM that the others do not take.
    let all = presets.filter(|p| p["axis"] == "preset" && p["name"] != "dftl");
    let presets: Vec<_> = all.collect();
    assert!(presets.len() >= 10);
    for preset in presets {
        let name = preset["name"].as_str().expect("text");
        assert_eq!(names.iter().filter(|n| **n == name).count(), 1, "{name}: {summary}");
    }
    let header = summary.lines().find(|line| line.contains("policy")).expect("a header");
    assert!(header.contains("sqlite-ext4") && header.contains("uniform"), "{summary}");
    let means: Vec<f64> = summary
        .lines()
        .filter(|line| line.contains(" +"))
        .take_while(|line| !line.contains("fk"))
        .filter_map(|line| line.split_whitespace().nth(3))
        .map(|mean| mean.trim_end_matches('*').parse().expect("a number"))
        .collect();
    assert!(means.len() >= 8 && means[..8].is_sorted(), "best first: {summary}");
    let one = done(&["compare", "--workload", "uniform", "--bytes", "1MiB", "-q"]);
    assert!(!one.contains("on all inputs"), "{one}");
}

#[test]
fn a_policy_that_cannot_run_does_not_stop_the_others() {
    let args = [&["compare"], &FULL[..], &["--policies", "greedy,fk,cat,fifo"]].concat();
    let ran = thermocline(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for policy in ["fk", "cat"] {
        let why = format!("{policy} could not run: --fill 98.5%");
        assert!(ran.out.contains(&why) && ran.err.contains(&why), "{}{}", ran.out, ran.err);
    }
    assert!(ran.err.contains("not measured against the oracle"), "{}", ran.err);
    let result = thermocline(&[&args[..], &["--json", "-q"]].concat());
    let result: serde_json::Value = serde_json::from_str(&result.out).expect("JSON");
    let named = |list: &str, key: fn(&serde_json::Value) -> &serde_json::Value| -> Vec<String> {
        let entries = result[list].as_array().expect("a list").iter();
        entries.map(|entry| key(entry).as_str().expect("text").to_owned()).collect()
    };
    assert_eq!(named("runs", |r| &r["config"]["policy"]), ["greedy", "fifo"]);
    assert_eq!(named("failures", |f| &f["policy"]), ["fk", "cat"]);
    assert_eq!(named("failures", |f| &f["trace"]), ["uniform --bytes 8MiB"; 2]);
    assert!(named("failures", |f| &f["error"]).iter().all(|e| e.contains("can be filled")));
    fails(3, &[&["compare"], &FULL[..], &["--policies", "fk,cat"]].concat(), &["can be filled"]);
}

#[test]
fn an_input_on_which_nothing_can_run_is_a_failure_after_the_others_results() {
    let folder = folder();
    let large = file(&folder, "large.csv", csv_trace(9000, 9000));
    let small = file(&folder, "small.csv", csv_trace(9000, 900));
    let args = ["compare", "--capacity", "16MiB", "--policies", "greedy,fifo", "--json"];
    let args = [&args[..], &["--trace", &small, "--trace", &large]].concat();
    let ran = thermocline(&args);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains(&format!("no policy could run on {large}")), "{}", ran.err);
    let result: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(result["runs"].as_array().map(Vec::len), Some(2));
    assert_eq!(result["failures"].as_array().map(Vec::len), Some(2));
    let gone = folder.path().join("gone.csv");
    let gone = gone.to_str().expect("UTF-8");
    fails(3, &[&args[..], &["--trace", gone]].concat(), &["gone.csv"]);
}

#[test]
fn real_traces_are_compared_to_their_end() {
    let Some(folder) = thermocline_testing::traces() else { return };
    let mut traces: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "zst"))
        .collect();
    traces.sort();
    assert!(!traces.is_empty(), "no trace in the folder");
    for trace in &traces {
        let started = Instant::now();
        let args = [
            "compare",
            "--policies",
            "greedy,cost-benefit,lfs,cat",
            "--json",
            "--check",
            "--trace",
        ];
        let result = json(&[&args[..], &[trace.to_str().expect("UTF-8")]].concat());
        let runs = result["runs"].as_array().expect("a list");
        assert_eq!(runs.len(), 4);
        let pages = runs[0]["host"]["pages_written"].as_u64().expect("a number");
        assert!(pages > 0 && runs.iter().all(|r| r["host"]["pages_written"] == pages));
        println!("{:6.2} s  {}", started.elapsed().as_secs_f64(), trace.display());
    }
}

#[test]
fn a_sample_is_named_in_every_form_and_refused_where_it_tells_nothing() {
    let trace = corpus("developer-btrfs.tct");
    let args = ["compare", "--trace", &trace, "--sample", "1/8", "--block-size", "1MiB"];
    let args = [&args[..], &["--policies", "greedy,dac", "--over-provisioning", "7%"]].concat();
    let table = done(&args);
    assert!(table.starts_with(&format!("{trace} --sample 1/8:")), "{table}");
    assert!(table.contains("least") && table.contains("most"), "{table}");
    let result = json(&[&args[..], &["--json"]].concat());
    for run in result["runs"].as_array().expect("a list") {
        let figure =
            |key: &str| run.pointer(key).and_then(|value| value.as_f64()).expect("a figure");
        let estimate = figure("/write_amplification");
        assert_eq!(figure("/sample/one_of"), 8.0);
        assert!(figure("/sample/least") < estimate && estimate < figure("/sample/most"));
    }
    let other = json(&[&args[..], &["--json", "--seed", "2"]].concat());
    assert_ne!(other["runs"][0]["host"], result["runs"][0]["host"], "other pages");
    let refused = |more: &[&str], why: &str| {
        fails(2, &[&["compare", "--sample", "1/8"], more].concat(), &[why]);
    };
    refused(&["--trace", &trace], "take at least 1/2, or a larger --block-size");
    refused(&["--workload", "uniform"], "--sample is for a --trace");
    refused(&["--trace", &trace, "--aim", "latency", "--block-size", "1MiB"], "response times");
}

#[test]
fn fdp_says_what_handles_would_bring() {
    let folder = folder();
    let (logs, random) = (folder.path().join("logs.csv"), folder.path().join("random.csv"));
    // Four tenants that go round at different speeds: with a handle each, their data die together.
    let (mut at, mut draws) = ([0u64; 4], 1u64);
    let (mut rows, mut others) = (String::new(), String::new());
    for i in 0..40_000u64 {
        let mut draw = |of: u64| {
            draws = draws
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (draws >> 33) % of
        };
        let tenant = 3 - (draw(15) + 1).ilog2() as usize;
        let page = tenant as u64 * 2048 + at[tenant];
        at[tenant] = (at[tenant] + 1) % 2048;
        let random_hint = draw(8) + 1;
        let row =
            |page: u64, hint: u64| format!("{},write,d,{},4096,{hint}\n", i * 1000, page * 4096);
        rows += &row(page, tenant as u64 + 1);
        others += &row(draw(8192), random_hint);
    }
    let header = "time_ns,op,volume,offset,len,hint\n";
    std::fs::write(&logs, format!("{header}{rows}")).expect("written");
    std::fs::write(&random, format!("{header}{others}")).expect("written");
    let said = |trace: &std::path::Path, more: &[&str]| {
        let trace = trace.display().to_string();
        let args = [&["compare", &trace, "--clock", "device", "--fdp", "4"], more].concat();
        let ran = thermocline(&args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    let told = said(&logs, &[]);
    assert!(told.contains("4 handles would save") && told.contains("with an oracle"), "{told}");
    let told = said(&random, &["--policies", "sep-gc", "--no-oracle"]);
    assert!(
        !told.contains("4 handles would save") && told.contains("some share a handle"),
        "{told}"
    );
    let plain = file(&folder, "plain.csv", csv_trace(1000, 100));
    fails(2, &["compare", &plain, "--fdp", "8"], &["no write has a hint", "--hint volume"]);
    fails(2, &["compare", &plain, "--fdp", "0"], &["1 to 15"]);
}

/// Presets as scores, and scores that an index finds beside equal ones for which every block is looked at.
#[test]
fn a_score_that_says_the_same_gives_the_same_results() {
    let log = "1 + log2(1 + age / tau)";
    let cat = format!("valid / invalid * (erases + 1) / ({log})");
    let equal = [
        ("greedy", "score(valid)".to_owned()),
        ("greedy", "score(max(u, 0 * age))".into()),
        ("cost-benefit", format!("cost-benefit(victim=score(valid / (invalid * ({log}))))")),
        ("cost-benefit", format!("cost-benefit(victim=score(max(0, valid / invalid / ({log}))))")),
        (
            "cost-benefit(transform=identity, age=last-invalidation)",
            "cost-benefit(victim=score(u / (2 * invalid * age), age=last-invalidation))".into(),
        ),
        ("cat", format!("cat(victim=score({cat}))")),
        ("cat", format!("cat(victim=score(if(1, {cat}, 0)))")),
    ];
    let policies: Vec<_> = equal.iter().flat_map(|(a, b)| [*a, b]).collect();
    let card = ["--device", "samsung-k9f6408-8m", "--fill", "90%", "--bytes", "8MiB"];
    let more = ["--workload", "hot-cold:90/10", "--no-oracle", "--json", "--policies"];
    let result = stable(json(&[&["compare"], &card[..], &more, &[&policies.join(",")]].concat()));
    let figures = |policy: &str| {
        let runs = result["runs"].as_array().expect("a list");
        let run = runs.iter().find(|run| run["config"]["policy"] == policy).expect(policy);
        let mut run = run.clone();
        run["cleaning"]["choices"].take();
        for told in ["config", "memory"] {
            run.as_object_mut().expect("a result").remove(told);
        }
        run
    };
    for (preset, score) in &equal {
        assert!(figures(preset) == figures(score), "{score} is not {preset}");
    }
    assert!(figures("greedy") != figures("cat"));
}

#[test]
fn a_wrong_score_is_refused_where_it_is_wrong() {
    for (policy, says) in [
        (
            "score(valid / * age)",
            "a number, a name or `(` at column 9 of the expression, in place of `*`",
        ),
        (
            "cat(victim=score(vald))",
            "expected one of valid, invalid, u, pages, erases, age, stream, tau,",
        ),
        ("score(min(valid))", "an operator or `,` at column 10"),
        (
            "scor(valid)",
            "`valid` is not key=value, and only `score` and `stream` take an expression",
        ),
        ("score(valid, ages=closed)", "there is no parameter `ages`; there are of, age"),
        ("nftl(victim=score(valid))", "NFTL chooses pairs of blocks"),
        ("in-place(victim=score(valid))", "--victim"),
    ] {
        let args = [&["run", "--policy", policy], &CARD[..]].concat();
        fails(2, &args, &[says]);
    }
}
