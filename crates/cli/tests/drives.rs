//! Drives as sold: their capacity, their own translation layer, and preconditioning.

mod common;

use common::{fails, file, folder, json};
use serde_json::Value;

const MICRON: [&str; 5] = ["run", "--device", "micron-7450-800g", "--scale", "1/4096"];

fn run(options: &[&str]) -> Value {
    json(&[&MICRON[..], &["--json", "-q"], options].concat())
}

fn written(options: &[&str]) -> f64 {
    run(options)["write_amplification"].as_f64().expect("something was written")
}

#[test]
fn a_drive_exports_what_it_is_sold_with_and_cleans_as_its_profile_says() {
    let result = run(&["--workload", "sequential", "--bytes", "32TB"]);
    let config = &result["config"];
    assert_eq!((&config["policy"], &config["victim"]), (&"drive".into(), &"greedy".into()));
    assert_eq!((&config["placement"], &config["scale"]), (&"sep-gc".into(), &4096.into()));
    let exported = config["logical_pages"].as_f64().expect("a number") * 4096.0 * 4096.0;
    assert!((exported / 800_166_076_416.0 - 1.0).abs() < 0.005, "{exported}");
    // Sequential writes copy nothing: the rest are the drive's own programs beside its pages.
    assert_eq!(result["write_amplification"], 1.0);
    assert_eq!(result["drive_write_amplification"], 1.033);
    // Lifetimes are those of the whole drive, whose flash wears 3000 times.
    let tbw = result["lifetime"]["tbw_bytes"].as_f64().expect("blocks were erased");
    assert!((tbw / (800.166e9 * 1.452 * 3000.0) - 1.0).abs() < 0.05, "{tbw}");
    let cat = run(&["--workload", "sequential", "--policy", "cat"]);
    assert_eq!(cat["config"]["policy"], "cat");
    let chip = json(&["run", "--workload", "uniform", "--capacity", "64MiB", "--json", "-q"]);
    assert!(chip.get("drive_write_amplification").is_none());
    assert!(chip["config"].get("scale").is_none());
}

#[test]
fn what_was_written_before_decides_what_is_copied() {
    let sequential =
        |how| written(&["--workload", "sequential", "--bytes", "800GB", "--preconditioned", how]);
    assert_eq!((sequential("sequential"), sequential("fresh")), (1.0, 1.0));
    assert!(sequential("shuffled") > 1.1, "{}", sequential("shuffled"));
    let fresh = run(&["--workload", "uniform", "--bytes", "800GB", "--preconditioned", "fresh"]);
    assert_eq!(
        (&fresh["config"]["filled_pages"], &fresh["cleaning"]["victims"]),
        (&0.into(), &0.into())
    );
    let shuffled = run(&["--workload", "uniform", "--preconditioned", "shuffled"]);
    assert_eq!(shuffled["config"]["preconditioned"], "shuffled");
}

#[test]
fn a_part_that_is_used_leaves_the_rest_as_over_provisioning() {
    let half = run(&["--workload", "uniform", "--used", "372.6GiB"]);
    let used = half["config"]["used_pages"].as_f64().expect("a number");
    let logical = half["config"]["logical_pages"].as_f64().expect("a number");
    assert!((used / logical - 0.5).abs() < 0.005);
    // Four times the used capacity.
    assert!((half["host"]["pages_written"].as_f64().expect("a number") / used - 4.0).abs() < 0.01);
    let half = half["write_amplification"].as_f64().expect("something was written");
    // As much as a device with this over-provisioning throughout: 2 · 1.452 - 1.
    let alike = written(&["--workload", "uniform", "--over-provisioning", "190.4%"]);
    let all = written(&["--workload", "uniform"]);
    assert!((half / alike - 1.0).abs() < 0.01 && half < 1.1 && all > 1.7, "{half} {alike} {all}");
}

#[test]
fn zones_that_are_trimmed_cost_by_their_size_and_number() {
    let zones = |which| written(&["--workload", which, "--request", "512KiB", "--bytes", "2400GB"]);
    // A zone of many superblocks leaves most of them empty at once; one of half a superblock does not.
    let (large, small) = (zones("zones:1/16GiB"), zones("zones:1/1GiB"));
    assert!(large < 1.01 && small > 1.05, "{large} {small}");
    assert!(zones("zones:16/8GiB") > large + 0.1);
    // Untrimmed data are copied until they are overwritten.
    assert!(zones("zones:4/8GiB/untrimmed") > zones("zones:4/8GiB"));
}

#[test]
fn the_most_popular_page_may_be_the_first() {
    let spread = |which| {
        let result = json(&[
            "run",
            "--workload",
            which,
            "--capacity",
            "16MiB",
            "--bytes",
            "64MiB",
            "--json",
            "-q",
        ]);
        result["trace"]["path"].as_str().map(str::to_owned)
    };
    assert_eq!(spread("zipf:0.8/in-order"), Some("zipf:0.8/in-order --bytes 64MiB".into()));
    fails(2, &["run", "--workload", "zipf:0.8/backwards"], &["zipf:0.99/in-order"]);
}

#[test]
fn what_makes_no_drive_is_refused_with_the_remedy() {
    let folder = folder();
    let run = |options: &[&str], said: &[&str]| fails(2, &[&MICRON[..], options].concat(), said);
    run(&["--workload", "uniform", "--sample", "1/2"], &["--sample"]);
    run(&["--workload", "s1"], &["--scale is for patterns"]);
    run(
        &["--workload", "uniform", "--policy", "nftl"],
        &["--scale is for policies that map pages"],
    );
    run(&["--workload", "uniform", "--used", "900GB"], &["--used", "exports"]);
    run(&["--workload", "uniform", "--used", "1"], &["--used", "at least a page"]);
    run(&["--workload", "uniform", "--fill", "none", "--used", "1GiB"], &["--fill"]);
    run(&["--workload", "zones:400/8GiB"], &["has room for 93"]);
    run(&["--workload", "zones:0/8GiB"], &["zones:OPEN/SIZE"]);
    let trace = file(&folder, "t.csv", "time_ns,op,volume,offset,len\n1,write,a,0,4096\n");
    run(&["--trace", &trace], &["--sample 1/4096"]);
    let whole =
        ["run", "--device", "micron-7450-800g", "--scale", "1/65536", "--workload", "uniform"];
    fails(2, &whole, &["--scale 1/65536 leaves 8", "1/16724"]);
    let toml = common::done(&["devices", "micron-7450-800g", "--toml"]);
    for (was, is, said) in [
        ("exported_bytes = 800166076416", "exported_bytes = 2800166076416", "exported_bytes"),
        ("overhead = 0.033", "overhead = 33.0", "overhead"),
        ("victim = \"greedy\"", "victim = \"greed\"", "greedy"),
    ] {
        let own = file(&folder, "own.toml", toml.replace(was, is));
        let ran = common::thermocline(&[
            "run",
            "--device",
            &own,
            "--scale",
            "1/4096",
            "--workload",
            "uniform",
        ]);
        assert!(ran.code > 1 && ran.err.contains(said), "{} {}", ran.code, ran.err);
    }
}

/// A tool of whose counters each call prints the next: a fake `nvme`.
fn tool(folder: &tempfile::TempDir) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    let put = |name: &str, script: &str| {
        let path = tools.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    };
    put(
        "nvme",
        r#"read n < "$0.n" || n=0
           case "$1" in
             smart-log) n=$((n + 1)); echo $n > "$0.n"; echo "{\"data_units_written\": $((1000 * n))}";;
             ocp) echo "{\"physical_media_units_written\": {\"hi\": 0, \"lo\": $((1280000000 * n))}}";;
           esac"#,
    );
    put("broken", "echo no such device >&2; exit 1");
    tools
}

#[test]
fn a_drive_is_polled_by_the_ordinary_tool_and_its_printouts_are_imported() {
    let folder = folder();
    let tools = tool(&folder);
    std::fs::write(tools.join("nvme.n"), "0").expect("written");
    let record = |args: &[&str]| {
        let mut command = common::command(&[&["measured", "record"], args].concat());
        let path = format!("{}:/usr/bin:/bin", tools.display());
        let ran = command.current_dir(folder.path()).env("PATH", path).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
    };
    // /dev/null stands for a drive that is not NVMe; the command for an NVMe drive.
    let script = "nvme smart-log && nvme ocp";
    let own = ["--every", "20ms", "--for", "100ms", "-o", "run.json", "--", "sh", "-c", script];
    let (code, _, said) = record(&own);
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read_to_string(folder.path().join("run.json")).expect("written");
    let measured: Value = serde_json::from_str(&text).expect("JSON");
    let points = measured["points"].as_array().expect("a list");
    assert!(points.len() >= 2, "{text}");
    for (at, point) in points.iter().enumerate() {
        assert_eq!(point["host_bytes"], 512_000_000 * at as u64, "{text}");
        assert_eq!(point["physical_bytes"], 1_280_000_000 * at as u64, "{text}");
    }
    assert!(measured["counters"][0].as_str().is_some_and(|text| text.contains("512,000")));
    let (code, _, said) = record(&["--every", "20ms", "--for", "20ms", "--", "broken"]);
    assert!(code == Some(1) && said.contains("no such device"), "{code:?} {said}");
    let (code, _, said) = record(&["--for", "20ms", "/dev/null"]);
    assert!(code == Some(2) && said.contains("smartctl") && said.contains("--"), "{said}");
    let (code, _, said) = record(&["--for", "20ms", "/dev/nvme99"]);
    assert!(code == Some(2) && said.contains("no such device"), "{said}");
    // The file is a measurement again, as CSV too.
    let path = folder.path().join("run.json").display().to_string();
    let csv = common::done(&["measured", "import", &path]);
    assert!(csv.contains("seconds,host_bytes,physical_bytes\n0,0,0\n"), "{csv}");
    let csv = file(&folder, "run.csv", csv);
    let output = folder.path().join("again.json").display().to_string();
    common::done(&["measured", "import", &csv, "-o", &output]);
    assert_eq!(std::fs::read_to_string(output).expect("written"), text);
    let log = file(
        &folder,
        "log.json",
        "{\"data_units_written\": 1}\n{\"data_units_written\": 5}\n{\"data_units_written\": 2}",
    );
    fails(3, &["measured", "import", &log], &["log.json:1", "--every"]);
    let ran = common::thermocline(&["measured", "import", &log, "--every", "10s"]);
    assert!(ran.code == 0 && ran.err.contains("log.json:3: host_bytes falls from 5 to 2"));
    assert!(ran.out.ends_with("0,0\n10,2048000\n"), "{}", ran.out);
    let formats = json(&["measured", "formats", "--json"]);
    assert_eq!(
        formats.as_array().map(Vec::len),
        Some(thermocline_measured::formats::FORMATS.len())
    );
    assert!(common::done(&["measured", "formats"]).contains("TN-FD-23"));
}

#[test]
fn a_drive_is_identified_and_its_life_predicted() {
    let folder = folder();
    // The counters of a drive that is the profile's, read five times.
    let mut csv = String::from("seconds,host_bytes,physical_bytes\n0,0,0\n");
    for capacities in 1..=4_u64 {
        let bytes = capacities * 800_000_000_000;
        let ran = run(&[
            "--workload",
            "uniform",
            "--preconditioned",
            "shuffled",
            "--bytes",
            &bytes.to_string(),
        ]);
        let amplification = ran["drive_write_amplification"].as_f64().expect("written");
        let physical = (bytes as f64 * amplification) as u64;
        csv += &format!("{},{bytes},{physical}\n", 1000 * capacities);
    }
    let measured = file(&folder, "run.csv", csv);
    let toml = folder.path().join("drive.toml").display().to_string();
    let page = folder.path().join("found.html").display().to_string();
    let own = [
        &["identify", "--exports", "800166076416", "--overhead", "3.3%", "--pages", "16384"][..],
        &["--families", "greedy+sep-gc,fifo+sep-gc", "--preconditioned", "shuffled"],
        &["--measured", &measured, "--workload", "uniform"],
    ];
    let own = own.concat();
    let found = json(&[&own[..], &["--json", "-o", &toml, "--report", &page]].concat());
    let best = &found["ranking"][0];
    let spare = best["over_provisioning"].as_f64().expect("a share");
    assert!((spare - 0.452).abs() < 0.02, "{best}");
    assert_eq!(best["family"], "greedy, survivors apart", "{found}");
    assert_eq!(json(&[&own[..], &["--json", "-j", "1"]].concat())["ranking"], found["ranking"]);
    let shown = common::done(&own);
    for part in ["Answer: greedy, survivors apart", "run 1: run (uniform)", "fifo, survivors apart"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(std::fs::read_to_string(page).expect("written").contains("measured"));
    // The written profile is a drive like any other.
    let result = json(&[
        "run",
        "--device",
        &toml,
        "--scale",
        "1/4096",
        "--workload",
        "uniform",
        "--json",
        "-q",
    ]);
    assert_eq!(result["config"]["victim"], "greedy");
    let measured = found["runs"][0]["write_amplification"].as_f64().expect("measured");
    let again = result["drive_write_amplification"].as_f64().expect("written");
    assert!((again / measured - 1.0).abs() < 0.05, "{again} {measured}");
    let predict = ["predict", "--device", &toml, "--scale", "1/8192", "--workload", "zipf:1"];
    let more = ["--fit-error", "4%", "--daily-writes", "500GB", "--warranty-dwpd", "3", "--json"];
    let told = json(&[&predict[..], &more, &["-q"]].concat());
    let figure = |key: &str, part: &str| told[key][part].as_f64().expect("a figure");
    for key in ["drive_write_amplification", "tbw_bytes", "years"] {
        assert!((figure(key, "high") / figure(key, "value") - 1.04).abs() < 1e-9, "{told}");
        assert!((figure(key, "low") * 1.04 / figure(key, "value") - 1.0).abs() < 1e-9, "{told}");
    }
    let years = figure("tbw_bytes", "value") / 500e9 / 365.25;
    assert!((years / figure("years", "value") - 1.0).abs() < 0.01, "{told}");
    assert!((told["warranty"]["dwpd"].as_f64().expect("given") - 3.0).abs() < 1e-9, "{told}");
    let text = common::done(&[&predict[..], &more[..6], &["-q"]].concat());
    assert!(text.contains("warranted") && text.contains("3.00 DWPD"), "{text}");
    fails(2, &["predict", "--workload", "uniform"], &["slc-generic", "identify --output"]);
    fails(2, &["identify", "--exports", "1TB", "--measured", &toml], &["--workload"]);
    let gone = ["identify", "--exports", "1TB", "--measured", &toml, "--workload", "uniform"];
    fails(3, &gone, &["drive.toml:1", "seconds,host_bytes"]);
    fails(
        2,
        &["identify", "--device", "slc-generic", "--measured", &toml, "--workload", "uniform"],
        &["--exports"],
    );
}

#[test]
fn options_belong_to_the_measurement_before_them() {
    let folder = folder();
    let csv = "seconds,host_bytes,physical_bytes\n0,0,0\n9,1000000000,1100000000\n";
    let (a, b) = (file(&folder, "a.csv", csv), file(&folder, "b.csv", csv));
    let found = json(&[
        "identify",
        "--exports",
        "256MiB",
        "--families",
        "greedy+one-stream",
        "--pages",
        "4096",
        "--workload",
        "uniform",
        "--preconditioned",
        "fresh",
        "--measured",
        &a,
        "--measured",
        &b,
        "--workload",
        "zipf:0.9",
        "--json",
    ]);
    let names: Vec<_> = (0..2).map(|at| found["runs"][at]["name"].as_str()).collect();
    assert_eq!(names, [Some("a (uniform)"), Some("b (zipf:0.9)")]);
    // A state that was given is not searched for.
    assert!(found["ranking"][0]["runs"][0].get("state").is_none(), "{found}");
}

/// A client of a served chip: writes, many at a time.
struct Disk(std::os::unix::net::UnixStream);

impl Disk {
    /// Connects as soon as the server listens. Returns the exported bytes.
    fn open(socket: &std::path::Path) -> (Self, u64) {
        use std::io::{Read, Write};
        let mut tries = 0;
        let mut stream = loop {
            match std::os::unix::net::UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) => assert!(tries < 600, "{error}"),
            }
            tries += 1;
            std::thread::sleep(std::time::Duration::from_millis(50));
        };
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).expect("a greeting");
        // Fixed newstyle without zeroes, and the default export.
        let hello = [&3_u32.to_be_bytes()[..], b"IHAVEOPT", &1_u32.to_be_bytes(), &[0; 4]].concat();
        stream.write_all(&hello).expect("sent");
        let mut export = [0; 10];
        stream.read_exact(&mut export).expect("an export");
        let size = u64::from_be_bytes(export[..8].try_into().expect("eight bytes"));
        (Self(stream), size)
    }

    /// Writes pages.
    fn write(&mut self, pages: &[u64]) {
        use std::io::{Read, Write};
        const PAGE: u32 = 4096;
        for batch in pages.chunks(16) {
            let mut sent = Vec::new();
            for page in batch {
                sent.extend(0x2560_9513_u32.to_be_bytes());
                sent.extend([0, 0, 0, 1]);
                sent.extend(page.to_be_bytes());
                sent.extend((page * u64::from(PAGE)).to_be_bytes());
                sent.extend(PAGE.to_be_bytes());
                sent.extend([*page as u8; PAGE as usize]);
            }
            self.0.write_all(&sent).expect("sent");
            for _ in batch {
                let mut answer = [0; 16];
                self.0.read_exact(&mut answer).expect("an answer");
                assert_eq!(answer[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0], "no error");
            }
        }
    }
}

/// A program that ends with the test.
struct Ended(std::process::Child);

impl Ended {
    fn of(mut command: std::process::Command) -> Self {
        Self(command.spawn().expect("it starts"))
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_served_chip_is_polled_while_it_is_written_and_found_out() {
    const POLLS: usize = 17;
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let socket = at("s");
    let serve = ["serve", "ram:", "--capacity", "32MiB", "--block-size", "256KiB"];
    let layer = ["--over-provisioning", "25%", "--policy", "greedy", "--log", "error", "--unix"];
    let (unix, path) = (socket.display().to_string(), at("control").display().to_string());
    let server = common::command(&[&serve[..], &layer, &[&unix, "--control", &path]].concat());
    let mut server = Ended::of(server);
    let (mut disk, exported) = Disk::open(&socket);
    let stat = json(&["ctl", &path, "stat", "--json"]);
    let number = |key: &str| stat[key].as_f64().expect("a number");
    let blocks = number("blocks") - number("index_blocks");
    let spare = blocks * 64.0 / number("logical_pages") - 1.0;
    // Each reading waits for a quarter of the capacity to be written.
    let pipes = ["go", "done"].map(|name| at(name).display().to_string());
    let made = std::process::Command::new("mkfifo").args(&pipes).status().expect("it runs");
    assert!(made.success());
    let binary = env!("CARGO_BIN_EXE_thermocline");
    let script = format!(
        "echo > '{}'; read x < '{}'; '{binary}' ctl '{path}' stat --json",
        pipes[0], pipes[1]
    );
    let csv = at("run.csv").display().to_string();
    let args = ["measured", "record", "--every", "10ms", "--for", "160ms", "-o", &csv, "--"];
    let record = common::command(&[&args[..], &["sh", "-c", &script]].concat());
    let mut record = Ended::of(record);
    let mut draws = thermocline_testing::Draws(5);
    let pages = exported / 4096;
    for poll in 0..POLLS {
        std::fs::read(&pipes[0]).expect("asked for");
        let some = if poll == 0 { 0 } else { pages / 4 };
        let drawn: Vec<_> = (0..some).map(|_| draws.next() % pages).collect();
        disk.write(&drawn);
        std::fs::write(&pipes[1], "\n").expect("told");
    }
    assert!(record.0.wait().expect("it ends").success());
    drop(disk);
    common::done(&["ctl", &path, "stop"]);
    assert!(server.0.wait().expect("it ends").success());
    let measured = thermocline_measured::import([&csv], &Default::default()).expect("a table");
    let curve = measured.measurement.curve().expect("both are counted");
    assert_eq!((curve.len(), curve[16].0), (POLLS, pages / 4 * 16 * 4096));
    let found = json(&[
        "identify",
        "--exports",
        &exported.to_string(),
        "--families",
        "greedy+one-stream,fifo+one-stream",
        "--overhead",
        "0",
        "--measured",
        &csv,
        "--workload",
        "uniform",
        "--preconditioned",
        "fresh",
        "--json",
    ]);
    let best = &found["ranking"][0];
    let off = best["over_provisioning"].as_f64().expect("a share") - spare;
    // Uniform traffic alone hardly separates fewer superblocks from less over-provisioning.
    assert!(off.abs() < 0.02, "{spare}: {best}");
    let factor = best["superblocks"].as_f64().expect("a number") / blocks;
    assert!((0.5..=2.0).contains(&factor), "{blocks}: {best}");
}
