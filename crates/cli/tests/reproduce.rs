//! `reproduce`: an experiment from its file to tables, pages, records and exit codes.

mod common;

use std::{fs, path::Path};

use common::thermocline;
use serde_json::Value;
use tempfile::TempDir;

/// Two policies on a small device, with the claim of an invented paper.
fn experiment(published: &str) -> String {
    format!(
        "title = 'Copies'\nsource = 'Table 1'\nabout = 'A *small* device.'\nquick = true\n\
         [run]\ndevice = 'intel-series2plus-24m'\nfill = '80%'\nbytes = '24MiB'\n\
         workload = 'hot-cold:90/10'\nseeds = 2\n\
         [[axis]]\nname = 'policy'\nvalues = [\n\
         {{ name = 'greedy', title = 'Greedy', policy = 'greedy' }},\n\
         {{ name = 'cat', title = 'CAT', policy = 'cat' }},\n]\n\
         [measure.copies]\ntitle = 'Copies'\nof = 'flash.pages_copied'\n\
         [[claim]]\nmeasure = 'copies'\nalong = 'policy'\norder = {published}\n\
         [[reading]]\nname = 'fuller'\nabout = 'x'\nset = {{ fill = '85%' }}\n\
         [[figure]]\nname = '1'\ntitle = 'Copies'\nkind = 'bars'\nx = 'policy'\n\
         measure = 'copies'\n"
    )
}

const HOLDS: &str = "['cat', 'greedy']";
const FAILS: &str = "['greedy', 'cat']";

fn folder(published: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("table-1.toml");
    fs::write(&file, experiment(published)).expect("written");
    let shown = file.display().to_string();
    (folder, shown)
}

fn json(file: &str, more: &[&str]) -> Value {
    let ran = thermocline(&[&["reproduce", file, "--json"], more].concat());
    serde_json::from_str(&ran.out).expect(&ran.err)
}

#[test]
fn a_number_is_the_mean_of_the_runs_whose_commands_it_prints() {
    let (_folder, file) = folder(HOLDS);
    let commands = thermocline(&["reproduce", &file, "--no-readings", "--commands"]).out;
    let commands: Vec<_> = commands.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(commands.len(), 4, "{commands:?}");
    let copies = |command: &&str| {
        let mut args: Vec<_> = command.split(' ').skip(1).collect();
        args.push("--json");
        let result: Value = serde_json::from_str(&thermocline(&args).out).expect("a result");
        result["flash"]["pages_copied"].as_u64().expect("a count")
    };
    let alone: Vec<u64> = commands.iter().map(copies).collect();
    let report = json(&file, &["--no-readings"]);
    let cells = report["papers"][0]["experiments"][0]["cells"].as_array().expect("cells").clone();
    for (cell, runs) in cells.iter().zip(alone.chunks(2)) {
        let mean = cell["measured"]["copies"]["mean"].as_f64().expect("a mean");
        assert_eq!(mean, (runs[0] + runs[1]) as f64 / 2.0, "{cell}");
    }
    assert!(alone[0] > 0 && alone[0] != alone[1], "the seeds differ: {alone:?}");
}

#[test]
fn results_do_not_depend_on_the_threads() {
    let (_folder, file) = folder(HOLDS);
    assert_eq!(json(&file, &["-j", "1"]), json(&file, &["-j", "3"]));
}

#[test]
fn a_verdict_that_is_worse_than_accepted_fails() {
    let (folder, file) = folder(HOLDS);
    let first = thermocline(&["reproduce", &file]);
    assert_eq!(first.code, 0, "{}", first.err);
    assert!(first.out.contains("1 claim not recorded yet"), "{}", first.out);
    assert_eq!(thermocline(&["reproduce", &file, "--accept"]).code, 0);
    let record = fs::read_to_string(folder.path().join("verdicts.toml")).expect("a record");
    assert!(record.contains("\"table-1/copies/order-of-policy\" = { verdict = \"reproduced\""));
    let again = thermocline(&["reproduce", &file]);
    assert!(again.code == 0 && !again.out.contains("not recorded"), "{}", again.out);
    fs::write(&file, experiment(FAILS)).expect("written");
    let worse = thermocline(&["reproduce", &file]);
    assert_eq!(worse.code, 1, "{}", worse.out);
    assert!(worse.out.contains("was reproduced, is not"), "{}", worse.out);
    assert!(worse.err.is_empty(), "{}", worse.err);
}

#[test]
fn a_reference_that_is_missed_fails() {
    let (_folder, file) = folder(HOLDS);
    let check = "[[claim]]\nmeasure = 'copies'\nat = { policy = 'cat' }\nreference = 1\n\
                 band = '3%'\n";
    fs::write(&file, experiment(HOLDS) + check).expect("written");
    let ran = thermocline(&["reproduce", &file, "--no-readings"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("reference missed: "), "{}", ran.out);
}

#[test]
fn a_report_is_a_page_with_its_figures() {
    let (folder, file) = folder(HOLDS);
    let paper = folder.path().file_name().expect("a name").to_string_lossy().into_owned();
    let pages = folder.path().join("pages");
    let ran = thermocline(&["reproduce", &file, "--report", &pages.display().to_string()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let read = |name: String| fs::read_to_string(pages.join(name)).expect("written");
    let page = read(format!("{paper}.md"));
    assert!(page.contains("A *small* device.") && page.contains("| reproduced |"), "{page}");
    assert!(page.contains(&format!("({paper}-1.svg)")), "{page}");
    assert!(read(format!("{paper}-1.svg")).contains("Greedy"));
    assert!(read(format!("{paper}.html")).contains("<svg"));
    assert!(read("index.html".into()).contains(&format!("{paper}.html")));
}

#[test]
fn what_is_wrong_names_the_file_the_cell_and_the_command() {
    let (folder, file) = folder(HOLDS);
    let told = |text: &str| {
        fs::write(&file, text).expect("written");
        let ran = thermocline(&["reproduce", &file]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        ran.err
    };
    let wrong = told(&experiment(HOLDS).replace("fill =", "fil ="));
    assert!(wrong.contains("table-1.toml (cat; seed 1)") || wrong.contains("(greedy; seed 1)"));
    assert!(wrong.contains("`fil`: there is no such setting; did you mean `fill`?"), "{wrong}");
    assert!(wrong.contains("the command is: thermocline run --bytes 24MiB"), "{wrong}");
    let policy = told(&experiment(HOLDS).replace("policy = 'cat'", "policy = 'catt'"));
    assert!(policy.contains("(cat; seed 1)") && policy.contains("catt"), "{policy}");
    let output = told(&experiment(HOLDS).replace("fill =", "json ="));
    assert!(output.contains("`json`: there is no such setting"), "{output}");
    let field = told(&experiment(HOLDS).replace("source", "sauce"));
    assert!(field.contains("line 2: unknown field `sauce`"), "{field}");
    let beside = told(
        &experiment(HOLDS).replace("device = 'intel-series2plus-24m'", "device = 'paper:no.toml'"),
    );
    assert!(beside.contains("no.toml: there is no such file"), "{beside}");
    drop(folder);
}

#[test]
fn what_is_beside_an_experiment_is_found_and_a_trace_that_is_not_there_is_skipped() {
    let (folder, file) = folder(HOLDS);
    let device = thermocline(&["devices", "intel-series2plus-24m", "--json"]);
    assert_eq!(device.code, 0);
    let trace = "time,op,offset,size\n".to_owned()
        + &(0..2000).map(|i| format!("{i},W,{},4096\n", i * 7919 % 500 * 4096)).collect::<String>();
    fs::write(folder.path().join("little.csv"), trace).expect("written");
    let text = experiment(HOLDS)
        .replace("workload = 'hot-cold:90/10'\n", "")
        .replace("bytes = '24MiB'\n", "")
        .replace("fill = '80%'\n", "over-provisioning = '20%'\nblock-size = '16KiB'\n")
        .replace("fill = '85%'", "over-provisioning = '30%'");
    let with = |trace: &str| {
        let text = text.replace(
            "seeds = 2",
            &format!("seeds = 2\ntrace = '{trace}'\ncolumns = 'time=1:us,op=2,offset=3,size=4'"),
        );
        fs::write(&file, text).expect("written");
        thermocline(&["reproduce", &file])
    };
    let beside = with("paper:little.csv");
    assert!(beside.code < 2 && !beside.out.contains("skipped:"), "{}{}", beside.out, beside.err);
    let nowhere = with("traces:little.csv");
    assert_eq!(nowhere.code, 0, "{}", nowhere.err);
    assert!(nowhere.out.contains("skipped: little.csv is not there; name the folder of traces"));
    let traces = folder.path().display().to_string();
    let there = thermocline(&["reproduce", &file, "--traces", &traces]);
    assert!(there.code < 2 && !there.out.contains("skipped:"), "{}{}", there.out, there.err);
}

#[test]
fn papers_are_named_or_their_files_are() {
    let unknown = thermocline(&["reproduce", "dog"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.err.contains("there is no paper, file or folder `dog`; take "),
        "{}",
        unknown.err
    );
    let built_in = thermocline(&["reproduce", "cat", "--accept"]);
    assert_eq!(built_in.code, 2, "{}", built_in.err);
    assert!(
        built_in.err.contains("built in; name its folder, or use --papers"),
        "{}",
        built_in.err
    );
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let of = |what: &str, more: &[&str]| {
        let ran = thermocline(&[&["reproduce", what, "--commands"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    let folder = papers.display().to_string();
    let table = of("cat/table-4", &[]);
    assert!(!table.is_empty());
    assert_eq!(table, of("cat/table-4", &["--papers", &folder]));
    assert_eq!(table, of(&papers.join("cat/table-4.toml").display().to_string(), &[]));
    assert!(of("all", &[]).len() >= of("cat", &[]).len());
    assert_eq!(of("all", &["--papers", &folder]), of(&folder, &[]));
}
