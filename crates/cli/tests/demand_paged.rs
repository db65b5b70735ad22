//! Chips with the map on them: made, served, inspected, copied, grown and repaired as that kind.

mod common;

use std::{fs, path::Path};

use common::{done, fails, json};
use serde_json::Value;
use tempfile::TempDir;
use thermocline_assembly::{Access, chips};
use thermocline_flash::{Flash, Lpn};
use thermocline_ftl::Mount;

const PAGE: usize = 4096;

fn at(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().expect("UTF-8").to_owned()
}

/// Serves an image while a shell script runs in its folder, with `$T` for the program.
fn serving(image: &str, more: &[&str], script: &str) {
    let folder = Path::new(image).parent().expect("a folder");
    let script = format!("set -e; cd {}; {script}", folder.display());
    let args = [&["serve", image, "--run", &script], more].concat();
    let mut command = common::command(&args);
    let ran = command.env("T", env!("CARGO_BIN_EXE_thermocline")).output().expect("it runs");
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{script}: {told}");
}

/// A raw image, and a chip with it.
fn imported(folder: &TempDir) -> Vec<u8> {
    let mut raw = vec![0; 5 << 20];
    for (number, page) in raw.chunks_exact_mut(PAGE).enumerate().take(300) {
        page.fill((number % 250) as u8 + 1);
    }
    raw[PAGE * 1000..PAGE * 1001].fill(9);
    fs::write(at(folder, "raw"), &raw).expect("written");
    done(&["import", &at(folder, "raw"), &at(folder, "disk.img"), "--layer", "demand-paged"]);
    raw
}

#[test]
fn it_is_served_checked_copied_and_grown_as_that_kind() {
    let folder = common::folder();
    let raw = imported(&folder);
    let script = r#"
        $T stat disk.img --json > stat.json
        $T check disk.img > /dev/null
        $T ctl disk.img flush
        $T backup disk.img copy.img
        ! $T ctl disk.img policy nftl 2> refused.txt
        ! $T ctl disk.img policy sep-bit 2> memory.txt
        $T ctl disk.img policy hot-cold
        $T stat disk.img --json > after.json
    "#;
    let disk = at(&folder, "disk.img");
    serving(&disk, &["--map-cache", "64KiB", "--log-file", &at(&folder, "log")], script);
    let read = |name: &str| fs::read_to_string(at(&folder, name)).expect(name);
    let stat = |name: &str| serde_json::from_str::<Value>(&read(name)).expect("JSON");
    assert_eq!(stat("stat.json")["layer"], "demand-paged");
    assert_eq!(stat("stat.json")["settings"]["policy"], "dac victim=cat");
    assert_eq!(stat("after.json")["settings"]["policy"], "hot-cold");
    assert!(read("refused.txt").contains("formatted for"), "{}", read("refused.txt"));
    assert!(read("memory.txt").contains("memory per page"), "{}", read("memory.txt"));
    for image in [&disk, &at(&folder, "copy.img")] {
        let check = json(&["check", image, "--json"]);
        assert_eq!((&check["sound"], &check["clean"]), (&true.into(), &true.into()), "{check}");
        assert_eq!(check["pages_verified"], 301);
        let stat = json(&["stat", image, "--json"]);
        assert_eq!(
            (&stat["layer"], &stat["pages_with_data"]),
            (&"demand-paged".into(), &301.into())
        );
        done(&["export", image, &at(&folder, "out"), "--force"]);
        assert!(raw == fs::read(at(&folder, "out")).expect("readable"), "{image} differs");
    }
    let copy = at(&folder, "copy.img");
    done(&["grow", &copy, "--capacity", "48MiB"]);
    assert_eq!(json(&["stat", &copy, "--json"])["layer"], "demand-paged");
    done(&["export", &copy, &at(&folder, "out"), "--force"]);
    assert!(fs::read(at(&folder, "out")).expect("readable").starts_with(&raw));
    done(&["repair", &copy]);
    assert_eq!(json(&["check", &copy, "--json"])["sound"], true);
    // A page with data, a page without, and the chip's entries.
    let map = json(&["dump", &copy, "--json", "map", "299", "2"]);
    assert!(map[0]["block"].is_u64() && map[1]["block"].is_null(), "{map}");
}

#[test]
fn whoever_only_looks_changes_nothing_and_a_kill_is_recovered_from() {
    let folder = common::folder();
    imported(&folder);
    let disk = at(&folder, "disk.img");
    let Ok(place) = disk.parse();
    let opened = chips::open(&place, &Access::default()).expect("formatted");
    let (mut layer, _) = opened.mount_by("dac", Mount::Quick).expect("mounted");
    for lpn in (0..300).chain(0..40) {
        layer.write(Lpn(lpn), &[77; PAGE], 5).expect("written");
    }
    layer.trim(Lpn(1000), 6).expect("trimmed");
    layer.upkeep().settle(7).expect("settled");
    layer.chip_mut().sync().expect("synced");
    // Without an unmount.
    drop(layer);
    let before = fs::read(&disk).expect("readable");
    let stat = json(&["stat", &disk, "--json"]);
    assert_eq!(stat["state"], "in use or crashed", "{stat}");
    let check = json(&["check", &disk, "--json"]);
    assert_eq!((&check["sound"], &check["clean"]), (&true.into(), &false.into()), "{check}");
    assert_eq!(check["pages_verified"], 300);
    done(&["export", &disk, &at(&folder, "out"), "--force"]);
    assert!(before == fs::read(&disk).expect("readable"), "a look changed the chip");
    let out = fs::read(at(&folder, "out")).expect("readable");
    assert!(out[..PAGE * 300].iter().all(|&byte| byte == 77));
    assert!(out[PAGE * 300..].iter().all(|&byte| byte == 0));
    done(&["repair", &disk]);
    let check = json(&["check", &disk, "--json"]);
    assert_eq!((&check["sound"], &check["clean"]), (&true.into(), &true.into()), "{check}");
}

#[test]
fn a_chip_that_has_lost_its_heads_is_brought_back_from_its_own_map() {
    let folder = common::folder();
    let raw = imported(&folder);
    let disk = at(&folder, "disk.img");
    let pages = json(&["stat", &disk, "--json"])["logical_pages"].clone();
    let mut file = fs::read(&disk).expect("read");
    let places: Vec<usize> = (0..file.len() - 16)
        .step_by(16)
        .filter(|&at| file[at..].starts_with(b"TCIX\x02\x01"))
        .collect();
    assert!(!places.is_empty(), "there are heads");
    places.iter().for_each(|at| file[at + 6] ^= 0x55);
    fs::write(&disk, file).expect("written");
    fails(3, &["stat", &disk], &["do not format it", "repair"]);
    let repaired = json(&["repair", &disk, "--json"]);
    assert_eq!((&repaired["headless"], &repaired["logical_pages"]), (&true.into(), &pages));
    assert_eq!(json(&["stat", &disk, "--json"])["layer"], "demand-paged");
    done(&["export", &disk, &at(&folder, "out"), "--force"]);
    assert!(raw == fs::read(at(&folder, "out")).expect("readable"));
}

#[test]
fn what_the_layer_does_not_do_is_refused_with_the_reason() {
    let folder = common::folder();
    let disk = at(&folder, "disk.img");
    done(&["format", &disk, "--capacity", "32MiB", "--layer", "demand-paged"]);
    let plain = at(&folder, "plain.img");
    done(&["format", &plain, "--capacity", "32MiB"]);
    let refused = |image: &str, more: &[&str], words: &[&str]| {
        fails(2, &[&["serve", image, "--run", "true"], more].concat(), words);
    };
    refused(&plain, &["--map-cache", "64KiB"], &["--map-cache", "format a chip", "demand-paged"]);
    refused(&disk, &["--policy", "midas"], &["memory per page", "--placement"]);
    refused(&disk, &["--map-cache", "1KiB"], &["--map-cache 1024 is too small", "needs"]);
    refused(&disk, &["--map-cache", "1GiB"], &["--map-cache", "too large", "page-mapped"]);
    refused(&disk, &["--low", "9"], &["watermarks of its own", "--low"]);
    refused(&disk, &["--idle", "timer"], &["idle", "--idle"]);
    refused(&disk, &["--dead-data", "fsaf"], &["dead data", "--dead-data"]);
    refused(&disk, &["--separate", "0..1MiB"], &["--separate", "keeps no data apart"]);
}

#[test]
fn a_chip_in_memory_has_its_map_on_it_where_somebody_says_how_much_of_it_memory_holds() {
    let folder = common::folder();
    let (socket, out) = (at(&folder, "s"), at(&folder, "out"));
    let script = format!("$T stat {socket} --json > {out}");
    let args =
        ["serve", "ram:", "--capacity", "32MiB", "--map-cache", "64KiB", "--control", &socket];
    let mut command = common::command(&[&args[..], &["--run", &script]].concat());
    let ran = command.env("T", env!("CARGO_BIN_EXE_thermocline")).output().expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let stat: Value = serde_json::from_str(&fs::read_to_string(out).expect("told")).expect("JSON");
    assert_eq!(stat["layer"], "demand-paged", "{stat}");
}

#[test]
fn a_chip_is_written_as_the_nand_of_a_device_and_read_again() {
    let folder = common::folder();
    let raw = imported(&folder);
    let (disk, nand, back) =
        (at(&folder, "disk.img"), at(&folder, "nand"), at(&folder, "back.img"));
    let written = json(&["export", &disk, &nand, "--nand", "64@4", "--json"]);
    assert_eq!(written["torn"], 0);
    let blocks = written["blocks"].as_u64().expect("a number");
    let bytes = fs::metadata(&nand).expect("it is there").len();
    assert_eq!(bytes, blocks * 64 * (PAGE as u64 + 64));
    let read = json(&["import", &nand, &back, "--nand", "64@4", "--json"]);
    assert_eq!((&read["blocks"], &read["pages"]), (&blocks.into(), &written["pages"]));
    assert_eq!(json(&["check", &back, "--json"])["sound"], true);
    done(&["export", &back, &at(&folder, "out")]);
    assert!(raw == fs::read(at(&folder, "out")).expect("readable"));
    fails(3, &["import", &nand, &at(&folder, "no.img"), "--nand", "32@4"], &["no whole blocks"]);
    fails(3, &["import", &nand, &at(&folder, "no.img"), "--nand", "64@9"], &["no store", "torn"]);
    fails(2, &["export", &disk, &nand, "--nand", "16@9"], &["do not fit"]);
    let plain = at(&folder, "plain.img");
    done(&["format", &plain, "--capacity", "32MiB"]);
    fails(2, &["export", &plain, &at(&folder, "x"), "--nand", "64@4"], &["no firmware reads"]);
}
