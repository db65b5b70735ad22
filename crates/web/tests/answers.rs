//! Questions of a page, and their answers.

use std::sync::Mutex;

use serde_json::{Value, json};
use thermocline_report::comparison::{self, Repeat};
use thermocline_study::{
    Comparison, Context, Door, Silent,
    jobs::Extras,
    settings::{compare::CompareSettings, table::Group},
};
use thermocline_web::{Told, answer};

fn ask(question: &Value) -> Value {
    serde_json::from_str(&answer(&question.to_string(), |_| {})).expect("JSON")
}

/// A small comparison, without its policies.
fn settings() -> Vec<(&'static str, Option<&'static str>)> {
    vec![
        ("workload", Some("hot-cold:90/10")),
        ("capacity", Some("16MiB")),
        ("bytes", Some("48MiB")),
    ]
}

#[test]
fn there_are_policies_devices_and_workloads() {
    let catalogue = ask(&json!({ "ask": "catalogue" }));
    for part in ["policies", "devices", "workloads"] {
        assert!(catalogue["value"][part].as_array().is_some_and(|all| all.len() > 10), "{part}");
    }
}

#[test]
fn parts_of_workers_make_the_report_of_one_comparison() {
    let with = |more: &[(&'static str, Option<&'static str>)]| [&settings()[..], more].concat();
    let part = |policy: &'static str| {
        let settings = with(&[("policies", Some(policy)), ("no-oracle", None)]);
        let answer = answer(&json!({ "ask": "compare", "settings": settings }).to_string(), |_| {});
        format!("{{\"policy\":\"{policy}\",\"answer\":{answer}}}")
    };
    let settings = with(&[("policies", Some("greedy,dac")), ("no-oracle", None)]);
    let of = |what: &str, parts: &[&str]| -> Value {
        let parts = parts.join(",");
        let question =
            format!("{{\"ask\":\"{what}\",\"settings\":{},\"parts\":[{parts}]}}", json!(settings));
        let answer: Value = serde_json::from_str(&answer(&question, |_| {})).expect("JSON");
        answer["value"].clone()
    };
    let (greedy, dac) = (part("greedy"), part("dac"));
    let value = of("answer", &[&greedy, &dac]);

    let command = "thermocline compare --workload hot-cold:90/10 --capacity 16MiB --bytes 48MiB --policies greedy,dac --no-oracle";
    assert_eq!(value["command"], command);
    assert!(value["grid"].as_str().is_some_and(|grid| grid.ends_with(
        "workload = [\"hot-cold:90/10\"]\ncapacity = [\"16MiB\"]\nbytes = [\"48MiB\"]\npolicy = [\"greedy\", \"dac\"]\n"
    )));
    assert_eq!(value["best"], "dac");

    // The same in one piece.
    let progress = Default::default();
    let context = Context::new(&Silent, &progress);
    let settings = CompareSettings::of(settings.clone()).expect("settings");
    let comparison = Comparison::of(&settings, context).expect("settings");
    let mut done = comparison
        .run(Extras { history: true, traffic: true, ..Extras::default() }, context)
        .expect("it runs");
    let runs = done.inputs[0].rows.iter_mut().flat_map(|row| row.runs.as_mut().expect("it ran"));
    runs.for_each(|run| run.perf = None);
    let version = format!("thermocline {}", env!("CARGO_PKG_VERSION"));
    let repeat = Repeat { command: command.into(), version };
    let html =
        comparison::page(&done.inputs, settings.many.wish(), &repeat).render().expect("drawn");
    let html = Door::CommandLine.words(&html).into_owned();
    assert!(of("report", &[&greedy, &dac]) == html, "another page");
    let sentence = value["sentence"].as_str().expect("a sentence");
    assert!(html.replace('\u{a0}', " ").contains(sentence), "{sentence}");
    let (listed, json) = (done.listed(settings.many.wish()), value["json"].as_str().expect("JSON"));
    assert_eq!(serde_json::from_str::<Value>(json).expect("JSON"), json!(listed));

    // A policy that cannot run is beside those that do.
    let refused = r#"{"policy":"cat(tau=-1)","answer":{"error":"no"}}"#;
    let report = of("report", &[refused, &greedy, &dac]);
    let html = report.as_str().expect("a page");
    assert!(html.contains("<p>cat(tau=-1) could not run: no.</p>"), "{html}");
}

#[test]
fn a_policy_is_checked_before_it_runs() {
    let check = |policy: &str| ask(&json!({ "ask": "check", "policy": policy }))["value"].clone();
    for right in ["greedy", "score(valid / age)", "cat(victim=score(min(valid, erases)))"] {
        assert_eq!(check(right), "", "{right}");
    }
    let wrong = check("cat(victim=score(valid / ))");
    let wrong = wrong.as_str().expect("words");
    assert!(wrong.contains("a number, a name or `(` at column 8 of the expression"), "{wrong}");
}

#[test]
fn a_run_is_the_command_lines_and_progress_is_told() {
    let settings = [&settings()[..], &[("policy", Some("cat"))]].concat();
    let result = ask(&json!({ "ask": "run", "settings": settings }));
    assert_eq!(result["value"]["config"]["policy"], "cat");
    assert!(result["value"].get("perf").is_none() && result["notes"].is_array());
}

#[test]
fn what_is_wrong_is_an_answer_in_words_of_the_command_line() {
    let wrong = |settings: Value| {
        let answer = ask(&json!({ "ask": "run", "settings": settings }));
        answer["error"].as_str().expect("an error").to_owned()
    };
    assert_eq!(
        wrong(json!([["workload", "uniform"], ["queue-dept", "4"]])),
        "--queue-dept: there is no such setting; did you mean --queue-depth?"
    );
    assert!(wrong(json!([["trace", "none.csv"]])).contains("none.csv"));
    assert!(
        wrong(json!([["workload", "uniform"], ["policy", "gredy"]]))
            .contains("did you mean `greedy`")
    );
    assert!(
        ask(&json!({ "ask": "nothing" }))["error"].as_str().is_some_and(|e| e.contains("question"))
    );
}

#[test]
fn two_runs_are_watched_side_by_side_and_looking_on_changes_nothing() {
    let excerpt = json!({ "from": 0.25, "blocks": 20 });
    // The command does not know what is asked of a comparison alone.
    let asked = [("no-oracle", None), ("aim", Some("latency")), ("buildable", Some("any"))];
    let with = |policy| [&settings()[..], &[("policies", Some(policy))], &asked].concat();
    let watch =
        |policy| ask(&json!({ "ask": "watch", "settings": with(policy), "excerpt": excerpt }));
    let parts = ["greedy", "dac"].map(watch);
    for part in &parts {
        let run = &part["value"];
        let steps = run["steps"].as_array().expect("steps");
        assert!(steps.len() > 20, "{} steps", steps.len());
        let compared = ask(
            &json!({ "ask": "compare", "settings": with(run["policy"].as_str().expect("a name")) }),
        );
        let mut result = compared["value"][0]["rows"][0]["runs"]["Ok"][0].clone();
        let same = ["write_amplification", "flash", "host", "response_us"];
        for key in same {
            assert_eq!(run["result"][key], result[key].take(), "{key}");
        }
    }
    let replay = ask(&json!({
        "ask": "replay", "settings": with("greedy,dac"), "excerpt": excerpt, "parts": parts
    }));
    let html = replay["value"].as_str().expect("a page");
    assert!(html.contains("<title>greedy and dac on hot-cold:90/10</title>"));
    let command = "thermocline watch --workload hot-cold:90/10 --capacity 16MiB --bytes 48MiB \
                   --policies greedy,dac --from 25% --blocks 20";
    assert!(html.contains(command), "no command");

    let wrong = ask(
        &json!({ "ask": "watch", "settings": with("greedy"), "excerpt": { "from": 2, "blocks": 1 } }),
    );
    assert!(wrong["error"].as_str().is_some_and(|error| error.contains("from 0 to 1")));
    let apart = [with("dac"), vec![("victim", Some("greedy"))]].concat();
    let wrong = ask(&json!({ "ask": "watch", "settings": apart, "excerpt": excerpt }));
    assert!(wrong["error"].as_str().is_some_and(|error| error.contains("cat(victim=greedy)")));
    let several = [with("dac"), vec![("idle", Some("none,timer"))]].concat();
    let wrong = ask(&json!({ "ask": "watch", "settings": several, "excerpt": excerpt }));
    assert!(wrong["error"].as_str().is_some_and(|error| error.contains("--idle has one value")));
}

#[test]
fn a_page_is_told_how_much_is_copied_while_it_runs() {
    static TOLD: Mutex<Vec<Told>> = Mutex::new(Vec::new());
    let settings = [&settings()[..], &[("policies", Some("greedy")), ("no-oracle", None)]].concat();
    let question = json!({ "ask": "compare", "settings": settings });
    let page = |told| TOLD.lock().expect("not poisoned").push(told);
    let answer: Value = serde_json::from_str(&answer(&question.to_string(), page)).expect("JSON");
    let told = TOLD.lock().expect("not poisoned");
    let (last, result) =
        (told.last().expect("it was told"), &answer["value"][0]["rows"][0]["runs"]["Ok"][0]);
    assert_eq!(result["flash"]["pages_copied"], last.copied);
    assert_eq!(result["host"]["pages_written"], last.written);
    assert!(told.iter().any(|it| it.copied > 0 && it.copied < last.copied), "only at the end");
}
