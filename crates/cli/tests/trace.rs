//! `thermocline trace`.

mod common;

use common::{
    command, corpus, csv_trace, done, fails, fed, file, folder, json, nbdkit_log, stable,
};

#[test]
fn a_trace_by_its_name_alone_is_one_by_its_option() {
    let folder = folder();
    let trace = file(&folder, "little.csv", csv_trace(1000, 100));
    let shape = ["--block-size", "16KiB", "--json"];
    let run = |input: &[&str]| stable(json(&[&["run"], input, &shape[..]].concat()));
    assert_eq!(run(&[&trace]), run(&["--trace", &trace]));
    let compared = json(
        &[&["compare", &trace, &trace, "--policies", "greedy", "--no-oracle"], &shape[..]].concat(),
    );
    assert_eq!(compared["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn info_counts_what_is_in_a_trace() {
    let folder = folder();
    let trace = file(&folder, "t.csv", csv_trace(1000, 100));
    let info = &json(&["trace", "info", &trace, "--json"])["traces"][0];
    assert_eq!(info["format"], "csv");
    assert!(info["recognised_by"].is_string());
    assert_eq!((info["writes"].as_u64(), info["reads"].as_u64()), (Some(1000), Some(0)));
    assert_eq!(info["pages_written"], 100);
    assert_eq!(info["overwrite_factor"], 10.0);
    assert_eq!(info["volumes"][0]["name"], "disk");
    let half = &json(&["trace", "info", &trace, "--json", "--limit", "500"])["traces"][0];
    assert_eq!(half["writes"], 500);
    let large = &json(&["trace", "info", &trace, "--json", "--page-size", "16k"])["traces"][0];
    assert_eq!(large["pages_written"], 25);
    let table = done(&["trace", "info", &trace]);
    assert!(table.contains("guessed from") && table.contains("×10.00"), "{table}");
}

#[test]
fn hints_are_kept_and_given_by_rules() {
    let folder = folder();
    let hinted: String = csv_trace(1000, 100)
        .lines()
        .enumerate()
        .map(|(i, line)| {
            format!("{line},{}\n", if i == 0 { "hint".into() } else { (i % 3).to_string() })
        })
        .collect();
    let trace = file(&folder, "t.csv", &hinted);
    let native = folder.path().join("t.tct").display().to_string();
    let back = folder.path().join("back.csv").display().to_string();
    done(&["trace", "convert", &trace, &native]);
    done(&["trace", "convert", &native, &back]);
    assert_eq!(std::fs::read_to_string(&back).expect("converted"), hinted);
    let hints = |args: &[&str]| {
        let info = json(&[&["trace", "info", &native, "--json"], args].concat());
        let hints = info["traces"][0]["hints"].as_array().cloned().unwrap_or_default();
        hints.iter().map(|h| (h["hint"].as_u64(), h["writes"].as_u64())).collect::<Vec<_>>()
    };
    let is =
        |pairs: &[(u64, u64)]| pairs.iter().map(|p| (Some(p.0), Some(p.1))).collect::<Vec<_>>();
    assert_eq!(hints(&[]), is(&[(0, 333), (1, 334), (2, 333)]));
    assert_eq!(hints(&["--hint", "volume"]), is(&[(1, 1000)]));
    assert_eq!(hints(&["--hint", "0..1GiB=4", "--hint", "0..1GiB=0"]), []);
    assert!(done(&["trace", "info", &native]).contains("placement hints"));
    fails(2, &["trace", "info", &native, "--hint", "hot"], &["--hint", "0..1GiB=3"]);
}

#[test]
fn info_says_how_to_align_a_trace() {
    let shifted: String = csv_trace(1000, 100)
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let mut cells: Vec<_> = line.split(',').map(str::to_owned).collect();
            if i > 0 {
                let offset: u64 = cells[3].parse().expect("a number");
                cells[3] = (offset + 63 * 512).to_string();
            }
            cells.join(",") + "\n"
        })
        .collect();
    let ran = fed(&["trace", "info", "-"], shifted.as_bytes());
    assert!(ran.out.contains("--shift -7s"), "{}", ran.out);
    let ran = fed(&["trace", "info", "-", "--shift", "-7s", "--json"], shifted.as_bytes());
    assert!(ran.out.contains("\"aligned_share\": 1.0"), "{} {}", ran.out, ran.err);
}

#[test]
fn several_traces_stand_in_one_table() {
    let (a, b) = (corpus("camera-fat32.tct"), corpus("developer-ext4.tct"));
    let table = done(&["trace", "info", &a, &b]);
    for name in ["camera-fat32", "developer-ext4"] {
        assert_eq!(
            table.lines().filter(|line| line.trim().starts_with(name)).count(),
            1,
            "{table}"
        );
    }
}

#[test]
fn many_traces_fit_80_columns_with_what_matters_most() {
    let folder = folder();
    let names = ["a-volume-with-a-rather-long-name-of-its-own-0.csv", "b.csv", "c.csv", "d.csv"];
    let files: Vec<_> = names.iter().map(|name| file(&folder, name, csv_trace(200, 64))).collect();
    let files: Vec<_> = files.iter().cycle().take(12).map(String::as_str).collect();
    let args = [&["trace", "info"][..], &files].concat();
    for (columns, least) in [(80, 5), (120, 8), (200, 13)] {
        let output = command(&args).env("COLUMNS", columns.to_string()).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let (described, table) = text.split_at(text.find('─').expect("a table"));
        assert!(described.lines().count() >= 12, "{text}");
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns), "{columns}: {text}");
        let rows: Vec<_> = table.lines().filter(|line| line.contains(".csv")).collect();
        assert_eq!(rows.len(), 12, "a row a trace: {text}");
        // Some figures have two words (14 %), so a row has at least `least` words.
        assert!(rows.iter().all(|row| row.split_whitespace().count() >= least), "{text}");
        assert!(rows[0].contains("a-volume-with-") && rows[0].contains('…'), "{text}");
    }
    // The default width is 80 columns.
    assert!(done(&args).lines().all(|line| line.chars().count() <= 80 || line.contains('/')));
}

#[test]
fn conversions_keep_every_request() {
    let folder = folder();
    let source = corpus("developer-ext4.tct");
    let digest = |trace: &str| {
        let args = ["run", "--policy", "greedy", "--json", "--trace"];
        json(&[&args[..], &[trace]].concat())["trace"]["digest"].clone()
    };
    let expected = digest(&source);
    for name in ["t.tct", "t.csv", "t.csv.zst", "t.csv.gz", "t.tct.zst"] {
        let out = folder.path().join(name);
        let out = out.to_str().expect("UTF-8");
        assert_eq!(done(&["trace", "convert", &source, out]), "");
        assert_eq!(digest(out), expected, "{name}");
    }
    let size = |name| std::fs::metadata(folder.path().join(name)).expect("written").len();
    assert!(size("t.csv.zst") * 2 < size("t.csv"));
    let names = std::fs::read_dir(folder.path()).expect("there").count();
    assert_eq!(names, 5, "no temporary files");
}

#[test]
fn conversions_change_what_was_asked() {
    let input = "time_ns,op,volume,offset,len\n500,read,d,4096,512\n700,write,d,4608,512\n";
    let args = ["trace", "convert", "-", "-", "--to", "csv", "--ops", "write", "--shift", "-1s"];
    let ran = fed(&[&args[..], &["--rebase"]].concat(), input.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "time_ns,op,volume,offset,len\n0,write,d,4096,512\n");
    let fio = ["trace", "convert", "--format", "csv", "-", "-", "--to", "fio"];
    let ran = fed(&fio, input.as_bytes());
    assert!(ran.out.starts_with("fio version 2 iolog\n"), "{} {}", ran.out, ran.err);
}

#[test]
fn a_failed_conversion_leaves_the_old_file() {
    let folder = folder();
    let broken = csv_trace(9000, 100) + "9,write,disk,x,4096\n";
    let broken = file(&folder, "broken.csv", broken);
    let out = file(&folder, "out.tct", "old");
    fails(3, &["trace", "convert", &broken, &out], &["broken.csv:9002", "offset"]);
    assert_eq!(std::fs::read_to_string(&out).expect("there"), "old");
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 2);
}

#[test]
fn a_trace_is_not_replaced_by_its_own_conversion() {
    let folder = folder();
    let trace = file(&folder, "t.csv", csv_trace(10, 10));
    let other = folder.path().join(".").join("t.csv");
    let other = other.to_str().expect("UTF-8");
    for out in [&trace, other] {
        fails(
            2,
            &["trace", "convert", &trace, out, "--limit", "1"],
            &["t.csv", "another output file"],
        );
    }
    assert_eq!(std::fs::read_to_string(&trace).expect("there"), csv_trace(10, 10));
}

#[test]
fn sorting_is_not_advised_where_it_is_done() {
    let rows = "time_ns,op,volume,offset,len\n700,write,d,0,512\n500,write,d,512,512\n";
    let said = |more: &[&str]| fed(&[&["trace", "info", "-"], more].concat(), rows.as_bytes()).err;
    assert!(said(&[]).contains("the clock goes back 1 time; sort the trace"), "{}", said(&[]));
    let sorted = said(&["--sort-window", "64"]);
    assert!(sorted.contains("sorted within --sort-window"), "{sorted}");
    assert!(!sorted.contains("sort the trace"), "{sorted}");
}

#[test]
fn generated_traces_are_those_of_the_seed() {
    let generate = |seed: &str| {
        let args = ["trace", "generate", "hot-cold:90/10", "-", "--to", "csv", "--span", "1MiB"];
        done(&[&args[..], &["--bytes", "40k", "--reads", "0%", "--seed", seed]].concat())
    };
    assert_eq!(generate("1"), generate("1"));
    assert_ne!(generate("1"), generate("2"));
    assert_eq!(generate("1").lines().count(), 11);
}

#[test]
fn file_workloads_are_written_as_traces() {
    let folder = folder();
    let out = folder.path().join("s2.csv");
    let out = out.to_str().expect("UTF-8");
    done(&["trace", "generate", "s2", out, "--bytes", "2MiB"]);
    let info = &json(&["trace", "info", out, "--json", "--page-size", "512"])["traces"][0];
    let written = info["bytes_written"].as_u64().expect("a number");
    // Four fifths of 56 MiB, with the requested options.
    assert!((45 << 20..52 << 20).contains(&written), "{written}");
    let options = [("--request", "4k"), ("--interarrival", "2ms"), ("--reads", "30%")];
    for (option, value) in options {
        let args = ["trace", "generate", "cell-phone", out, option, value];
        fails(2, &args, &["cell-phone", &format!("leave out {option}")]);
    }
    fails(2, &["trace", "generate", "s1", out, "--span", "16MiB"], &["at least 33MiB"]);
}

#[test]
fn formats_are_listed() {
    let table = done(&["trace", "formats"]);
    let list = json(&["trace", "formats", "--json"]);
    let list = list.as_array().expect("a list");
    assert!(list.len() >= 25);
    for format in list {
        let name = format["name"].as_str().expect("text");
        assert!(table.lines().any(|line| line.trim().starts_with(name)), "{name}");
    }
}

#[test]
fn the_native_format_may_go_through_a_pipe() {
    let source = nbdkit_log();
    let native = common::command(&["trace", "convert", &source, "-", "--to", "native"])
        .output()
        .expect("it runs");
    assert!(native.stdout.starts_with(b"TCTRACE1"));
    let info = |trace: &str| fed(&["trace", "info", trace, "--json"], &native.stdout).out;
    let counts = |info: &str| {
        let info: serde_json::Value = serde_json::from_str(info).expect("JSON");
        ["reads", "writes", "trims", "flushes", "bytes_written", "bytes_trimmed"]
            .map(|key| info["traces"][0][key].as_u64().expect("a number"))
    };
    assert_eq!(counts(&info("-")), counts(&info(&source)));
    fails(2, &["trace", "convert", "x", "-"], &["--to"]);
}

#[test]
fn a_header_is_understood_and_the_guess_is_printed_to_be_kept() {
    let folder = common::folder();
    let rows: String = (0..200).map(|n| format!("{},W,{},8\n", n * 1000, n % 50 * 8)).collect();
    let trace = common::file(&folder, "own.csv", format!("time_us,dir,lba,sectors\n{rows}"));
    let guessed = common::thermocline(&["trace", "info", &trace, "--json"]);
    let kept = "time=time_us:us,op=dir,offset=lba:sectors,size=sectors:sectors";
    assert_eq!(guessed.code, 0, "{}", guessed.err);
    assert!(guessed.err.contains(&format!("--columns '{kept}'")), "{}", guessed.err);
    let named = common::thermocline(&["trace", "info", &trace, "--json", "--columns", kept]);
    assert_eq!(named.err, "");
    let writes =
        |out: &str| out.lines().find(|line| line.contains("\"writes\"")).map(str::to_owned);
    assert_eq!(writes(&named.out), writes(&guessed.out));
    assert!(named.out.contains("\"writes\": 200"), "{}", named.out);
    let unknown = common::file(&folder, "odd.csv", "when,what,where\n1,W,8\n");
    let says = ["the columns when, what, where", "--columns", "offset=lba:sectors"];
    common::fails(3, &["trace", "info", &unknown], &says);
}
