//! `thermocline run`.

mod common;

use common::{CARD, csv_trace, done, fed, file, folder, json, stable, thermocline};
use serde_json::Value;

fn card(more: &[&'static str]) -> Vec<&'static str> {
    [&["run"], &CARD[..], more].concat()
}

#[test]
fn the_papers_command_gives_the_papers_erasures() {
    let result = json(&card(&["--policy", "cat", "--json"]));
    let erased = result["flash"]["blocks_erased"].as_f64().expect("a number");
    assert!((erased / 4129.0 - 1.0).abs() < 0.03, "{erased}");
    assert_eq!(result["host"]["pages_written"], 49152);
    assert_eq!(result["config"]["policy"], "cat");
}

#[test]
fn pictures_change_no_result_and_load_nothing() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (page, plots) = (path("page.html"), path("plots"));
    let plain = card(&["--policy", "dac", "--json", "--oracle"]);
    let mut with: Vec<&str> = plain.clone();
    with.extend(["--report", &page, "--plots", &plots]);
    let result = json(&plain);
    assert_eq!(stable(json(&with)), stable(result.clone()));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.len() < 2_000_000 && page.contains("default-src 'none'"), "{}", page.len());
    assert!(
        !page.contains("://")
            || page.matches("://").count() == page.matches("http://www.w3.org/2000/svg").count()
    );
    assert!(page.contains("--oracle --report"), "the command is there");
    let csv = std::fs::read_to_string(path("plots/write-amplification.csv")).expect("a chart");
    let figure: f64 = csv.trim().rsplit(',').next().and_then(|n| n.parse().ok()).expect("a number");
    let exact = result["write_amplification"].as_f64().expect("a number");
    assert!((figure / exact - 1.0).abs() < 1e-5, "{csv}");
    let svg = std::fs::read_to_string(path("plots/victims.svg")).expect("a chart");
    assert!(svg.starts_with("<svg") && svg.contains("dac"));
}

#[test]
fn every_key_of_the_contract_is_there_with_its_type() {
    let result = json(&card(&["--json", "--reads", "20%"]));
    let whole = "schema_version config.seed trace.requests host.requests host.pages_written \
                 host.pages_read host.pages_trimmed flash.pages_programmed flash.pages_read \
                 flash.pages_copied flash.blocks_erased cleaning.runs cleaning.victims wear.min \
                 wear.max perf.peak_rss_bytes config.device.geometry.page_size";
    let numbers = "write_amplification cleaning.mean_victim_utilization cleaning.cost wear.mean \
                   wear.stddev elapsed_us throughput_kib_s perf.wall_s perf.host_pages_per_s \
                   perf.pages_programmed_per_s";
    let times = ["mean", "p50", "p99", "p999", "max"];
    let texts = "config.policy config.victim config.placement config.device.name trace.path";
    let at = |path: &str| path.split('.').fold(&result, |value, key| &value[key]).clone();
    for path in whole.split_whitespace() {
        assert!(at(path).is_u64(), "{path}: {}", at(path));
    }
    for path in numbers.split_whitespace() {
        assert!(at(path).is_f64(), "{path}: {}", at(path));
    }
    for path in texts.split_whitespace() {
        assert!(at(path).is_string(), "{path}: {}", at(path));
    }
    for kind in ["write", "read"] {
        for key in times {
            assert!(at(&format!("response_us.{kind}.{key}")).is_f64(), "{kind}.{key}");
        }
    }
    assert!(at("cleaning.choices").is_object());
    // No source gives this card's energy, and a workload has no digest: absent, but there.
    assert_eq!((at("energy_mj"), at("trace.digest")), (Value::Null, Value::Null));
    assert!(result.as_object().is_some_and(|r| r.contains_key("energy_mj")));
    let banks = at("banks");
    let banks = banks.as_array().expect("a list");
    assert!(banks.iter().all(|b| b["erases"].is_u64() && b["utilization"].is_f64()));
    assert_eq!(banks.len(), 1);
}

#[test]
fn a_trace_has_a_digest_and_the_device_its_size() {
    let folder = folder();
    let trace = file(&folder, "t.csv", csv_trace(20_000, 4000));
    let result = json(&["run", "--trace", &trace, "--json", "--check"]);
    let digest = result["trace"]["digest"].as_str().expect("text");
    assert!(digest.starts_with("sha256:") && digest.len() == 71, "{digest}");
    assert_eq!(result["trace"]["requests"], 20_000);
    assert_eq!(result["config"]["logical_pages"], 4000);
    assert!(result["energy_mj"].is_f64());
    // The same requests from a pipe, and compressed, are the same trace.
    let mut piped = fed(&["run", "--trace", "-", "--json"], csv_trace(20_000, 4000).as_bytes());
    assert_eq!((piped.code, piped.err.as_str()), (0, ""));
    piped.out = piped.out.replace("\"path\": \"-\"", &format!("\"path\": {trace:?}"));
    assert_eq!(stable(serde_json::from_str(&piped.out).expect("JSON")), stable(result));
}

#[test]
fn a_workload_without_a_length_writes_four_times_the_fill() {
    let args = ["run", "--workload", "uniform", "--capacity", "16MiB", "--json"];
    let result = json(&args);
    let filled = result["config"]["filled_pages"].as_u64().expect("a number");
    assert_eq!(result["host"]["pages_written"].as_u64(), Some(4 * filled));
    let path = result["trace"]["path"].as_str().expect("text");
    let bytes =
        thermocline_units::parse_size(path.strip_prefix("uniform --bytes ").expect("named"));
    assert_eq!(bytes.expect("a size"), 4 * filled * 4096);
}

#[test]
fn one_seed_gives_one_result() {
    let one = |more| stable(json(&card(more))).to_string();
    assert_eq!(one(&["--json", "-j1"]), one(&["--json", "-j2"]));
    assert_ne!(one(&["--json"]), one(&["--json", "--seed", "2"]));
}

#[test]
fn the_table_has_the_groups_of_the_result_and_no_styles_in_a_pipe() {
    let ran = thermocline(&card(&[]));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for line in ["host", "flash", "cleaning", "write amplification", "response times"] {
        assert!(ran.out.lines().any(|l| l == line), "{line}: {}", ran.out);
    }
    assert!(ran.out.contains("49,152") && !ran.out.contains('\u{1b}'));
    assert!(ran.out.lines().all(|line| line.trim_end() == line));
}

#[test]
fn an_output_file_holds_what_standard_output_would() {
    let folder = folder();
    let path = file(&folder, "result.json", "old");
    let mut args = card(&["--json", "--output"]);
    args.push(&path);
    assert_eq!(done(&args), "");
    let text = std::fs::read_to_string(&path).expect("written");
    let written: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(stable(written), stable(json(&card(&["--json"]))));
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1, "no temporary file");
}

#[test]
fn notes_say_why_nothing_was_cleaned_and_that_a_trace_is_small() {
    let folder = folder();
    let trace = file(&folder, "small.csv", csv_trace(10, 10));
    let ran = thermocline(&["run", "--trace", &trace]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("note: ") && ran.err.contains("no garbage was collected"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("instead of 15 %: the trace is small"), "{}", ran.err);
    assert!(ran.out.contains("policy"));
    let quiet = thermocline(&["run", "--trace", &trace, "-q"]);
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
}

#[test]
fn figures_that_no_trace_has_are_named_with_the_remedy() {
    let folder = folder();
    let said = |name: &str, text: String, options: &[&str]| {
        let trace = file(&folder, name, text);
        let ran = thermocline(&[&["run", "--trace", &trace], options].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    let rows = |size: u64, pages: u64, gap: u64| {
        let row = |i: u64| format!("{},write,v,{},{size}\n", i * gap, (i % pages) * 4096);
        let rows: String = (0..500).map(row).collect();
        format!("time_ns,op,volume,offset,len\n{rows}")
    };
    let sound = said("sound.csv", rows(4096, 400, 1_000_000), &[]);
    for odd in ["sectors", "all requests go to", "a second are more", "percent write"] {
        assert!(!sound.contains(odd), "{sound}");
    }
    let sectors = said("sectors.csv", rows(8, 400, 1_000_000), &[]);
    assert!(sectors.contains("rather sectors than bytes"), "{sectors}");
    let few = said("few.csv", rows(4096, 3, 1_000_000), &[]);
    assert!(few.contains("all requests go to 3 pages"), "{few}");
    let fast = said("fast.csv", rows(4096, 400, 1), &[]);
    assert!(fast.contains("times are rather in a larger unit"), "{fast}");
    let spare = said("spare.csv", rows(4096, 400, 1_000_000), &["--over-provisioning", "7"]);
    assert!(spare.contains("is 700 %; for 7 percent write 7%"), "{spare}");
}

#[test]
fn a_volume_can_keep_its_addresses() {
    let folder = folder();
    let two =
        "time_ns,op,volume,offset,len\n1,write,a,0,4096\n2,write,b,8192,4096\n3,write,b,0,4096\n";
    let trace = file(&folder, "two.csv", two);
    let result = json(&["run", "--trace", &trace, "--volume", "b", "--absolute", "--json", "-q"]);
    assert_eq!(result["config"]["logical_pages"], 3);
    assert_eq!(result["host"]["pages_written"], 2);
}

#[test]
fn a_run_is_measured_against_the_oracle_where_that_is_asked_for() {
    let run = |options: &[&str]| {
        json(&[&["run"], &CARD[..], &["--policy", "greedy", "--json"], options].concat())
    };
    assert!(run(&[]).get("oracle").is_none());
    let measured = run(&["--oracle"]);
    assert!(measured["oracle"]["excess"].as_f64().is_some_and(|excess| excess > 0.5));
    let text = done(&[&["run"], &CARD[..], &["--oracle"]].concat());
    assert!(text.contains("over the oracle"), "{text}");
}
