//! Screens of 80, 120 and 200 columns.
//!
//! `UPDATE_SCREENS=1 cargo test -p thermocline-cli --test screens` records the screens again.

mod common;

use std::{fs, path::Path};

use common::{command, done};

/// Ten policies on a small device.
const TEN: [&str; 9] = [
    "compare",
    "--workload",
    "hot-cold:90/10",
    "--capacity",
    "64MiB",
    "--bytes",
    "256MiB",
    "--policies",
    "in-place,greedy,cost-benefit,lfs,cat,dac,update-interval,sep-bit,midas,fifo",
];

/// Standard output on a screen of this width.
fn on_screen(columns: usize, args: &[&str]) -> String {
    let output = command(args).env("COLUMNS", columns.to_string()).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn check(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens");
    let path = folder.join(name);
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(&path, text).expect("written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} is not as recorded; see the head of this file:\n{text}");
}

#[test]
fn ten_policies_fit_the_screen() {
    let mut columns = Vec::new();
    for width in [80, 120, 200] {
        let text = on_screen(width, &TEN);
        assert!(widest(&text) <= width, "{width}: {text}");
        let header = text.lines().find(|line| line.contains("policy")).expect("a header");
        columns.push(header.split_whitespace().count());
        check(&format!("compare-{width}.txt"), &text);
    }
    assert!(columns.is_sorted() && columns[0] < columns[2], "{columns:?}");
    // The default width is 80 columns.
    assert_eq!(done(&TEN), on_screen(80, &TEN));
    let wide = on_screen(80, &[&TEN[..], &["--wide"]].concat());
    assert!(widest(&wide) > 200 && wide.contains("p99.9"), "{wide}");
}

#[test]
fn lists_and_help_fit_80_columns() {
    for args in [&["policies"][..], &["devices"], &["workloads"], &["policies", "cat"]] {
        let text = on_screen(80, args);
        assert!(widest(&text) <= 80, "{args:?}: {text}");
        check(&format!("{}-80.txt", args.join("-")), &text);
    }
    for args in [&["--help"][..], &["run", "--help"], &["compare", "--help"], &["serve", "--help"]]
    {
        let text = on_screen(80, args);
        assert!(widest(&text) <= 80, "{args:?}: {text}");
    }
}

#[test]
fn one_run_fits_80_columns() {
    let args = ["run", "--workload", "uniform", "--capacity", "16MiB", "--policy", "greedy"];
    let text = on_screen(80, &args);
    assert!(widest(&text) <= 80, "{text}");
}
