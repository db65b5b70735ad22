//! The commands that look at chips, on chips that are damaged.

mod common;

use std::fs;

use common::{done, json, thermocline};
use serde_json::Value;
use tempfile::TempDir;
use thermocline_assembly::{
    Access, AnyLayer,
    chips::{self, Chip},
};
use thermocline_flash::{Flash, Lpn};
use thermocline_ftl::Mount;

const PAGE: usize = 4096;

/// An image of 64 MiB in a folder of its own.
fn formatted() -> (TempDir, String) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("disk.img").to_str().expect("UTF-8").to_owned();
    done(&["format", &path, "--capacity", "64MiB"]);
    (folder, path)
}

/// The layer on an image, as a server has it.
fn mounted(path: &str) -> AnyLayer<Chip> {
    let Ok(place) = path.parse();
    let opened = chips::open(&place, &Access::default()).expect("formatted");
    opened.mount(Mount::Quick).expect("mounted").0
}

fn flush(layer: &mut AnyLayer<Chip>) {
    layer.upkeep().settle(9).expect("settled");
    let covered = layer.upkeep().last_program();
    layer.chip_mut().sync().expect("synced");
    layer.upkeep().synced(covered);
}

/// Changes a byte behind every place in a file where these bytes stand; how many there are.
fn damage(path: &str, bytes: &[u8]) -> usize {
    let mut file = fs::read(path).expect("read");
    let places: Vec<usize> = (0..file.len() - bytes.len())
        .step_by(16)
        .filter(|&at| file[at..].starts_with(bytes))
        .collect();
    for at in &places {
        file[at + bytes.len()] ^= 0x55;
    }
    fs::write(path, file).expect("written");
    places.len()
}

fn numbers(pages: &Value) -> Vec<u64> {
    let pages = pages.as_array().expect("a list");
    pages.iter().map(|page| page["lpn"].as_u64().expect("a number")).collect()
}

#[test]
fn format_and_stat_say_how_many_blocks_may_fail_and_promise_no_more_than_was_looked_at() {
    let (_folder, path) = formatted();
    let stat = json(&["stat", &path, "--json"]);
    assert_eq!(stat["state"], "unmounted in order");
    assert!(stat["action"].as_str().expect("text").contains("check"), "{stat}");
    let spare = stat["spare_blocks"].as_u64().expect("a number");
    assert!(spare > 0 && spare < stat["blocks"].as_u64().expect("a number"), "{stat}");
    let again = json(&["format", &path, "--capacity", "64MiB", "--force", "--json"]);
    assert_eq!(again["spare_blocks"], spare);
}

#[test]
fn repair_lists_the_pages_that_it_rolls_back_and_those_that_are_lost() {
    let (_folder, path) = formatted();
    let mut layer = mounted(&path);
    layer.write(Lpn(5), &[0x15; PAGE], 1).expect("written");
    layer.write(Lpn(6), &[0x16; PAGE], 2).expect("written");
    flush(&mut layer);
    // Flushed once more, and the next page says so; and then one that nothing speaks for.
    layer.write(Lpn(6), &[0x26; PAGE], 3).expect("written");
    flush(&mut layer);
    layer.write(Lpn(5), &[0x25; PAGE], 4).expect("written");
    drop(layer);
    assert_eq!((damage(&path, &[0x25; PAGE - 1]), damage(&path, &[0x26; PAGE - 1])), (1, 1));
    let repaired = json(&["repair", &path, "--json"]);
    assert_eq!(numbers(&repaired["rolled_back"]), [5], "{repaired}");
    assert_eq!(numbers(&repaired["lost"]), [6], "{repaired}");
    let mut layer = mounted(&path);
    let mut page = [0; PAGE];
    layer.read(Lpn(5), &mut page).expect("read");
    assert_eq!(page, [0x15; PAGE]);
    layer.read(Lpn(6), &mut page).expect_err("flushed, and damaged");
    drop(layer);
    let text = done(&["repair", &path]);
    assert!(text.contains("lost: logical page 6 (block"), "{text}");
}

#[test]
fn a_chip_whose_log_has_lost_its_heads_is_not_called_unformatted_and_repair_brings_it_back() {
    let (_folder, path) = formatted();
    let mut layer = mounted(&path);
    for lpn in 0..50 {
        layer.write(Lpn(lpn), &[lpn as u8 + 1; PAGE], 1).expect("written");
    }
    layer.upkeep().unmount(2).expect("unmounted");
    layer.chip_mut().sync().expect("synced");
    drop(layer);
    let pages = json(&["stat", &path, "--json"])["logical_pages"].clone();
    assert!(damage(&path, b"TCIX\x01\x01") > 0, "there are heads");
    for command in ["stat", "serve", "dump"] {
        let more: &[&str] = match command {
            "serve" => &["--unix", "s"],
            "dump" => &["index"],
            _ => &[],
        };
        let ran = thermocline(&[&[command, path.as_str()], more].concat());
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains("50 pages of data"), "{}", ran.err);
        assert!(ran.err.contains("do not format it") && ran.err.contains("repair"), "{}", ran.err);
        assert!(!ran.err.contains("make it so"), "{}", ran.err);
    }
    let repaired = json(&["repair", &path, "--json"]);
    assert_eq!(repaired["headless"], true);
    assert_eq!(repaired["logical_pages"], pages);
    assert_eq!(repaired["pages_with_data"], 50);
    done(&["check", &path]);
    let mut layer = mounted(&path);
    let mut page = [0; PAGE];
    for lpn in 0..50 {
        layer.read(Lpn(lpn), &mut page).expect("read");
        assert_eq!(page, [lpn as u8 + 1; PAGE]);
    }
}
