//! An error is one line, with the exit code of its kind.

mod common;

use common::{CARD, check_failure, corpus, csv_trace, fails, fed, file, folder, nbdkit_log};

const WORKLOAD: [&str; 3] = ["run", "--workload", "uniform"];

fn workload(more: &[&'static str]) -> Vec<&'static str> {
    [&WORKLOAD[..], more].concat()
}

#[test]
fn a_truncated_trace_is_bad_input() {
    let folder = folder();
    for (whole, name) in [(corpus("developer-ext4.tct"), "cut.tct"), (nbdkit_log(), "cut.log.zst")]
    {
        let whole = std::fs::read(whole).expect("readable");
        let cut = file(&folder, name, &whole[..whole.len() / 2]);
        for command in ["run", "compare"] {
            fails(3, &[command, "--trace", &cut], &[name]);
        }
        fails(3, &["trace", "info", &cut], &[name]);
    }
}

#[test]
fn a_broken_line_is_named_with_its_field() {
    let folder = folder();
    let mut lines: Vec<_> = csv_trace(2000, 100).lines().map(str::to_owned).collect();
    lines[999] = lines[999].replace(",4096", ",40x6");
    let trace = file(&folder, "broken.csv", lines.join("\n"));
    fails(3, &["run", "--trace", &trace], &["broken.csv:1000", "len", "--skip-bad-lines"]);
    let skipped = common::thermocline(&["run", "--trace", &trace, "--skip-bad-lines"]);
    assert_eq!(skipped.code, 0, "{}", skipped.err);
    assert!(skipped.err.contains("warning: "), "{}", skipped.err);
}

#[test]
fn addresses_beyond_the_device_are_bad_input() {
    let folder = folder();
    let trace = file(&folder, "far.csv", csv_trace(100, 100_000));
    let args = ["run", "--trace", &trace, "--absolute", "--capacity", "16MiB"];
    fails(3, &args, &["--capacity", "--wrap"]);
}

#[test]
fn impossible_devices_are_bad_input() {
    fails(3, &workload(&["--fill", "100%"]), &["--fill 100%", "at most"]);
    fails(3, &workload(&["--block-size", "100000"]), &["multiple of --page-size"]);
    fails(3, &workload(&["--capacity", "1MiB", "--banks", "3"]), &["3 banks"]);
    fails(2, &workload(&["--reserve", "0"]), &["watermarks"]);
    fails(2, &workload(&["--device", "slc-genric"]), &["did you mean `slc-generic`?"]);
    fails(3, &workload(&["--device", "/nowhere/chip.toml"]), &["/nowhere/chip.toml"]);
    let folder = folder();
    let toml = file(&folder, "chip.toml", "name = \"x\"\nsummary = 3\n");
    fails(3, &["run", "--workload", "uniform", "--device", &toml], &["chip.toml: line 2"]);
}

#[test]
fn unknown_names_get_the_nearest_known_one() {
    fails(2, &workload(&["--policy", "cta"]), &["did you mean `cat`?"]);
    fails(2, &workload(&["--policy", "cat(teu=5s)"]), &["no parameter `teu`"]);
    fails(2, &workload(&["--policy", "cat(tau=soon)"]), &["tau=soon"]);
    fails(2, &workload(&["--victim", "gredy"]), &["did you mean `greedy`?"]);
    fails(2, &["compare", "--workload", "uniform", "--policies", "greedy,kat"], &["kat"]);
    fails(2, &workload(&["--policy", "catt"]), &["did you mean `cat`?"]);
    fails(2, &workload(&["--device", "slc"]), &["did you mean `slc-generic`?"]);
    fails(2, &["policies", "gredy"], &["did you mean `greedy`?"]);
    fails(2, &["run", "--workload", "hotcold"], &["hotcold"]);
}

#[test]
fn a_wrong_command_line_is_a_matter_of_usage() {
    fails(2, &workload(&["--polic", "cat"]), &["--polic", "--policy", "thermocline run --help"]);
    fails(2, &workload(&["--bytes", "4kB"]), &["`4KiB`"]);
    fails(2, &workload(&["--fill", "lots"]), &["15% or 0.15"]);
    fails(2, &workload(&["--interarrival", "20"]), &["20ms"]);
    fails(2, &workload(&["--trace", "x"]), &["--trace"]);
    fails(2, &["run"], &["--trace"]);
    fails(2, &["rum"], &["run"]);
    fails(2, &["completions", "tcsh"], &["bash"]);
    fails(2, &["trace", "convert", "a", "b.xyz"], &["b.xyz", "--to"]);
    fails(2, &["run", "--trace", "x", "--trace-format", "xyz"], &["xyz", "msr"]);
    fails(2, &["run", "--trace", "x", "--loop", "0"], &["--loop"]);
    // A trace by its name alone is one.
    fails(2, &["run", "x", "--request", "4KiB"], &["--request is for a --workload"]);
    fails(2, &["run", "x", "--workload", "uniform"], &["cannot be used with", "--workload"]);
    fails(2, &["run", "x", "y"], &["y"]);
}

#[test]
fn near_misses_teach() {
    // A suggestion is a similar option, or the name used here.
    fails(2, &["serve", "memory", "--port", "10809"], &["--port", "write `--tcp 127.0.0.1:10809`"]);
    fails(2, &["watch", "--workload", "uniform", "--port", "1"], &["write `--listen PORT`"]);
    fails(2, &["tune", "web.tct"], &["write `--trace FILE`"]);
    fails(2, &["compare", "--file", "web.tct"], &["write `--trace FILE`"]);
    let far = common::thermocline(&["serve", "memory", "--port", "10809"]);
    assert!(!far.err.contains("--separate"), "{}", far.err);
    fails(
        2,
        &["trace", "info", "x", "--shift", "63"],
        &["63s for sectors of 512 bytes, 63B for bytes"],
    );
}

#[test]
fn traces_that_cannot_be_used_are_bad_input() {
    let folder = folder();
    fails(3, &["run", "--trace", "/nowhere/trace.csv"], &["/nowhere/trace.csv"]);
    let prose =
        file(&folder, "prose.txt", "It was the best of times,\nit was the worst of times\n");
    fails(3, &["run", "--trace", &prose], &["prose.txt", "--trace-format"]);
    let empty = file(&folder, "empty.csv", "");
    fails(3, &["run", "--trace", &empty], &["empty"]);
    // libCacheSim's records of time, key, size and next access: no operation.
    let mut cache = Vec::new();
    for i in 0..500_u32 {
        cache.extend(i.to_le_bytes());
        cache.extend(u64::from(i % 50).to_le_bytes());
        cache.extend(4096_u32.to_le_bytes());
        cache.extend((i64::from(i) + 50).to_le_bytes());
    }
    let keys = file(&folder, "keys.oracleGeneral", cache);
    fails(3, &["compare", "--trace", &keys], &["keys but no operation"]);
    let reads = csv_trace(50, 50);
    let args = ["run", "--trace", "-", "--ops", "trim"];
    check_failure(&fed(&args, reads.as_bytes()), 3, &args, &["none that were asked for"]);
    let args = ["run", "--trace", "-", "--volume", "other"];
    check_failure(&fed(&args, reads.as_bytes()), 2, &args, &["no volume `other`", "disk"]);
}

#[test]
fn a_clock_that_goes_back_by_much_is_no_arrival_times() {
    let rows = |times: &[u64]| {
        let line = |(at, ms): (usize, &u64)| {
            format!("{},write,disk,{},4096\n", ms * 1_000_000, at % 50 * 4096)
        };
        let lines: String = times.iter().enumerate().map(line).collect();
        format!("time_ns,op,volume,offset,len\n{lines}")
    };
    let run = ["run", "--trace", "-"];
    // A clock that restarts, as in two concatenated recordings, and a 16-bit clock with lost wraps.
    let twice: Vec<u64> = (0..400).map(|n| n % 200 * 1000).collect();
    let lost: Vec<u64> = (0..400).map(|n| n * 40_009 % 65_536).collect();
    for times in [&twice, &lost] {
        let trace = rows(times);
        let ran = fed(&run, trace.as_bytes());
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
        for part in ["the clock goes back by up to", "--sort-window", "--clock device"] {
            assert!(ran.err.contains(part), "{part}: {}", ran.err);
        }
        for way_out in [&["--clock", "device"][..], &["--sort-window", "200s"]] {
            let ran = fed(&[&run, way_out].concat(), trace.as_bytes());
            assert_eq!(ran.code, 0, "{way_out:?}: {}", ran.err);
        }
    }
    // Rows a little out of order are warned of, as ever.
    let near: Vec<u64> = (0..400).map(|n| n * 1000 + n % 2 * 3000).collect();
    let ran = fed(&run, rows(&near).as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("sort the trace if order matters"), "{}", ran.err);
}

#[test]
fn outputs_that_cannot_be_written_fail_before_the_work() {
    let args = [&["run"], &CARD[..], &["--output", "/nowhere/result.json"]].concat();
    let names_the_target = |args: &[&str], target: &str| {
        fails(1, args, &[&format!("cannot write to {target}: No such file or directory")]);
        let said = common::thermocline(args).err;
        assert!(!said.contains(".part") && !said.contains("at path"), "{said}");
    };
    names_the_target(&args, "/nowhere/result.json");
    names_the_target(&["trace", "generate", "uniform", "/nowhere/u.csv"], "/nowhere/u.csv");
}

#[test]
fn a_device_that_wears_out_ends_the_run_with_a_result() {
    let folder = folder();
    let chip = common::done(&["devices", "slc-generic", "--json"]);
    assert!(chip.contains("\"endurance\": 100000"));
    let toml = std::fs::read_to_string(
        common::repository().join("crates/flash/profiles/slc-generic.toml"),
    )
    .expect("a profile")
    .replace("endurance = 100000", "endurance = 2");
    let weak = file(&folder, "weak.toml", toml);
    let args = ["run", "--workload", "uniform", "--device", &weak, "--wear-out"];
    let ran =
        common::thermocline(&[&args[..], &["--capacity", "16MiB", "--bytes", "1GiB"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("wore out"), "{}", ran.err);
}

#[test]
fn options_for_the_other_kind_of_input_are_refused() {
    let of_traces: [&[&str]; 17] = [
        &["--loop", "2"],
        &["--absolute"],
        &["--wrap"],
        &["--footprint", "written"],
        &["--ops", "write"],
        &["--limit", "5"],
        &["--volume", "x"],
        &["--shift=-7s"],
        &["--sort-window", "64"],
        &["--dedup-window", "1ms"],
        &["--trace-format", "csv"],
        &["--columns", "all=write,offset=1,size=2"],
        &["--action", "Q"],
        &["--invert-ops"],
        &["--time-unit", "us"],
        &["--sector-size", "512"],
        &["--skip-bad-lines"],
    ];
    let folder = folder();
    let trace = file(&folder, "t.csv", csv_trace(100, 10));
    let of_workloads: [&[&str]; 4] = [
        &["--bytes", "1MiB"],
        &["--request", "4k"],
        &["--interarrival", "1ms"],
        &["--reads", "5%"],
    ];
    for command in ["run", "compare"] {
        for option in of_traces {
            let name = option[0].split('=').next().expect("a name");
            let args = [&[command, "--workload", "uniform"], option].concat();
            fails(2, &args, &[name, "the input is a --workload", &format!("{command} --help")]);
        }
        for option in of_workloads {
            let args = [&[command, "--trace", &trace], option].concat();
            fails(2, &args, &[option[0], "the input is a --trace"]);
        }
    }
    let both = ["compare", "--trace", &trace, "--workload", "uniform", "--policies", "greedy"];
    let options = ["--loop", "2", "--bytes", "1MiB", "--capacity", "16MiB"];
    common::done(&[&both[..], &options[..]].concat());
}

#[test]
fn policies_that_contradict_themselves_are_refused() {
    let in_place = workload(&["--policy", "in-place"]);
    fails(2, &[&in_place[..], &["--victim", "greedy"]].concat(), &["in-place", "--victim"]);
    fails(2, &[&in_place[..], &["--placement", "M6"]].concat(), &["in-place", "--placement"]);
    fails(2, &workload(&["--policy", "cat(tau=1s,tau=2s)"]), &["`tau` is given twice"]);
}

#[test]
fn lists_that_name_nothing_are_refused() {
    for option in ["--policies", "--victim", "--placement"] {
        for list in ["", " ", ",,"] {
            fails(
                2,
                &["compare", "--workload", "uniform", option, list],
                &[option, "names nothing"],
            );
        }
    }
}

#[test]
fn a_request_nothing_can_be_done_with_is_bad_input() {
    let folder = folder();
    let text = csv_trace(100, 10);
    let good = file(&folder, "good.csv", &text);
    let huge = file(&folder, "huge.csv", text + "100000000,write,disk,0,99999999999999\n");
    let out = folder.path().join("out.csv");
    let out = out.to_str().expect("UTF-8");
    for command in [&["run", "--trace"][..], &["compare", "--trace"], &["trace", "info"]] {
        fails(3, &[command, &[&huge]].concat(), &["huge.csv: ", "larger than any device takes"]);
        let shifted = [command, &[&good, "--shift=-7s"]].concat();
        fails(3, &shifted, &["good.csv: ", "leave the address space"]);
        fails(2, &[command, &[&good, "--shift=far"]].concat(), &["--shift"]);
        fails(2, &[command, &[&good, "--volume", "other"]].concat(), &["no volume `other`"]);
        fails(2, &[command, &[&good, "--sector-size", "0"]].concat(), &["sector"]);
    }
    fails(3, &["trace", "convert", &good, out, "--shift=-7s"], &["good.csv: "]);
}

#[test]
fn columns_are_described_alike_as_an_option_and_as_a_format() {
    let text = "1 x 0 W 8 8\n2 x 0 R 16 8\n";
    let spec = "sep=space,time=1:s,op=4:W/R,offset=5:sectors,size=6:sectors";
    let info = |args: &[&str]| {
        let ran = fed(&[&["trace", "info", "-", "--json"], args].concat(), text.as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(
            ran.out.contains("\"writes\": 1") && ran.out.contains("\"reads\": 1"),
            "{}",
            ran.out
        );
    };
    info(&["--columns", spec]);
    info(&["--trace-format", &format!("columns:{spec}")]);
    for args in [["--columns", "sep=dot"], ["--trace-format", "columns:sep=dot"]] {
        let args = [&["trace", "info", "-"], &args[..]].concat();
        let says =
            ["blank or space", "like sep=comma,", "after `columns:` in the name of a format"];
        fails(2, &args, &says);
    }
}

/// The text of every string in a source, outside its tests.
fn strings(source: &str) -> Vec<&str> {
    let source = source.split("\n#[cfg(test)]\nmod ").next().unwrap_or(source);
    let (mut found, mut rest) = (Vec::new(), source);
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, here) = rest.split_at(at);
        let is_raw = here.starts_with('"')
            && before.trim_end_matches('#').ends_with('r')
            && !before.trim_end_matches('#').trim_end_matches('r').ends_with(char::is_alphanumeric);
        let length = if here.starts_with("//") {
            here.find('\n').unwrap_or(here.len())
        } else if is_raw {
            let end =
                format!("\"{}", "#".repeat(before.len() - before.trim_end_matches('#').len()));
            let length = here[1..].find(&end).expect("a raw string ends") + 1;
            found.push(&here[1..length]);
            length + end.len()
        } else if let Some(inside) = here.strip_prefix('"') {
            let mut escaped = false;
            let end = inside.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let length = end.expect("a string ends") + 1;
            found.push(&here[1..length]);
            length + 1
        } else {
            // A character such as '"', or a lifetime.
            match here.strip_prefix("'\\") {
                Some(escaped) => 3 + escaped[1..].find('\'').expect("a character ends"),
                None if here.starts_with('\'') => {
                    let next = here[1..].chars().next().map_or(0, char::len_utf8);
                    if here[1 + next..].starts_with('\'') { next + 2 } else { 1 }
                }
                None => 1,
            }
        };
        rest = &here[length..];
    }
    found
}

#[test]
fn no_library_writes_a_setting_as_the_command_line_does() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = std::fs::read_dir(crates)
        .expect("the crates")
        .map(|entry| entry.expect("a crate").path())
        .filter(|folder| !folder.ends_with("cli"))
        .map(|folder| folder.join("src"))
        .collect();
    let (mut read, mut wrong) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = std::fs::read_to_string(&path).expect("a source");
                for text in strings(&source) {
                    read += 1;
                    // Properties of style sheets have the same dashes.
                    let options = text.match_indices("--").filter(|(at, _)| {
                        text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
                            && !text[..*at].ends_with("var(")
                    });
                    if options.count() > 0 {
                        wrong.push(format!("{}: {text}", path.display()));
                    }
                }
            }
        }
    }
    assert!(read > 5000, "{read} strings are not all there are");
    assert!(wrong.is_empty(), "write ‹name› or ‹name value›, see units::naming: {wrong:#?}");
}
