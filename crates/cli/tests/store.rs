//! The commands that look at chips, on chips that are damaged.

mod common;

use std::{fs, path::Path};

use common::{done, json, thermocline};
use serde_json::Value;
use tempfile::TempDir;
use thermocline_assembly::{
    Access, AnyLayer,
    chips::{self, Chip},
};
use thermocline_flash::{Flash, Lpn};
use thermocline_ftl::Mount;
use thermocline_media::{NewChip, OpenChip, Place, Replace};

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

/// Changes the byte after every occurrence of `bytes` in a file. Returns the number of occurrences.
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

/// The card of the CAT paper with the blocks of 1 KiB of its HP traces (§6.2).
#[test]
fn a_card_with_blocks_of_1_kib_is_formatted_with_enough_header_pages() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("card.img").to_str().expect("UTF-8").to_owned();
    let card = ["format", &path, "--device", "intel-series2plus-24m", "--page-size", "1KiB"];
    common::fails(3, &card, &["--header-pages", "at least 4"]);
    done(&[&card[..], &["--header-pages", "4"]].concat());
    let stat = json(&["stat", &path, "--json"]);
    assert_eq!(stat["page_size"], 1024, "{stat}");
    done(&["check", &path]);
}

#[test]
fn repair_lists_the_pages_that_it_rolls_back_and_those_that_are_lost() {
    let (_folder, path) = formatted();
    let mut layer = mounted(&path);
    layer.write(Lpn(5), &[0x15; PAGE], 1).expect("written");
    layer.write(Lpn(6), &[0x16; PAGE], 2).expect("written");
    flush(&mut layer);
    // A second flush, recorded by the next page, and then a page without any record.
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
    assert!(damage(&path, b"TCIX\x02\x01") > 0, "there are heads");
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

/// Serves an image while a shell script runs in the image's folder, with `$T` for the program.
fn serving(image: &str, more: &[&str], script: &str) {
    let folder = std::path::Path::new(image).parent().expect("a folder");
    let script = format!("set -e; cd {}; {script}", folder.display());
    let args = [&["serve", image, "--run", &script], more].concat();
    let mut command = common::command(&args);
    let ran = command.env("T", env!("CARGO_BIN_EXE_thermocline")).output().expect("it runs");
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{script}: {told}");
}

/// The control socket that a server's log names.
fn control(log: &str) -> String {
    let (_, line) = log.split_once("socket=\"").expect("it is said");
    line.split_once('"').expect("quoted").0.to_owned()
}

/// The byte that fills a page.
fn filling(lpn: u32) -> u8 {
    (lpn % 250) as u8 + 1
}

/// Pages of an image with something in them, and two that are not in a row.
fn filled() -> (TempDir, String) {
    let (folder, path) = formatted();
    let mut layer = mounted(&path);
    for lpn in (0..400).chain([9000, 12_000]) {
        layer.write(Lpn(lpn), &[filling(lpn); PAGE], 1).expect("written");
    }
    layer.upkeep().unmount(2).expect("unmounted");
    layer.chip_mut().sync().expect("synced");
    (folder, path)
}

#[test]
fn a_chip_that_is_served_is_seen_checked_changed_and_copied() {
    let (folder, path) = filled();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let script = r#"
        $T stat disk.img --json > stat.json
        $T stat disk.img > stat.txt
        $T check disk.img --json > check.json
        $T ctl disk.img flush
        $T ctl disk.img scrub
        $T ctl disk.img policy cat
        $T ctl disk.img watermarks --low 4 --high 6 --json > set.json
        $T ctl disk.img stat --json > after.json
        $T backup disk.img copy.img
        $T export disk.img raw
        ! $T ctl disk.img watermarks --high 100000 2> refused.txt
        ! $T grow disk.img --capacity 128MiB 2>> refused.txt
    "#;
    serving(&path, &["--log-file", &at("log")], script);
    let read = |name: &str| fs::read_to_string(at(name)).expect(name);
    let parsed = |name: &str| serde_json::from_str::<Value>(&read(name)).expect("JSON");
    let stat = parsed("stat.json");
    assert_eq!((&stat["served"], &stat["pages_with_data"]), (&true.into(), &402.into()), "{stat}");
    let at_rest = json(&["stat", &path, "--json"]);
    for key in ["image", "id", "device", "exported_bytes", "blocks", "index_blocks", "page_size"] {
        assert_eq!(stat[key], at_rest[key], "{key}");
    }
    assert!(read("stat.txt").contains("policy"), "{}", read("stat.txt"));
    assert_eq!(parsed("check.json")["pages_verified"], 402);
    assert_eq!(parsed("after.json")["settings"]["policy"], "cat");
    assert_eq!(parsed("set.json")["settings"]["high"], 6);
    let refused = read("refused.txt");
    assert!(refused.contains("--high 100000") && refused.contains("is served"), "{refused}");
    assert!(read("log").contains("a copy is begun"), "{}", read("log"));
    assert!(!Path::new(&control(&read("log"))).exists(), "it is gone with its server");

    done(&["check", &at("copy.img")]);
    done(&["export", &at("copy.img"), &at("raw2")]);
    let raw = fs::read(at("raw")).expect("readable");
    assert!(raw == fs::read(at("raw2")).expect("readable"), "the copy differs");
    assert!(
        raw[399 * PAGE..400 * PAGE] == [filling(399); PAGE]
            && raw[500 * PAGE..501 * PAGE] == [0; PAGE]
    );
    let piped = common::command(&["export", &path, "-"]).output().expect("it runs").stdout;
    assert!(piped == raw, "standard output differs");
    assert_ne!(json(&["stat", &at("copy.img"), "--json"])["id"], at_rest["id"]);
}

#[test]
fn a_raw_image_goes_in_and_comes_out_and_an_image_grows_around_what_it_holds() {
    let folder = common::folder();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    // Data, a hole, data, and an end in the middle of a page.
    let mut raw = vec![0; (9 << 20) + 1000];
    raw[..PAGE * 3].fill(7);
    raw[(8 << 20) + 5..].fill(9);
    fs::write(at("raw"), &raw).expect("written");
    done(&["import", &at("raw"), &at("disk.img")]);
    done(&["check", &at("disk.img")]);
    let stat = json(&["stat", &at("disk.img"), "--json"]);
    assert_eq!(stat["logical_pages"], (9 << 20 >> 12) + 1);
    done(&["export", &at("disk.img"), &at("out")]);
    raw.resize(raw.len().next_multiple_of(PAGE), 0);
    assert!(raw == fs::read(at("out")).expect("readable"));

    let grown = json(&["grow", &at("disk.img"), "--capacity", "32MiB", "--json"]);
    assert!(grown["exported_bytes"].as_u64().expect("a number") > 15 << 20, "{grown}");
    done(&["check", &at("disk.img")]);
    done(&["export", &at("disk.img"), &at("out"), "--force"]);
    let out = fs::read(at("out")).expect("readable");
    assert!(out.len() as u64 == grown["exported_bytes"] && out[..raw.len()] == raw);
    assert!(out[raw.len()..].iter().all(|byte| *byte == 0));
    serving(&at("disk.img"), &[], "$T stat disk.img > /dev/null");

    let refused = common::fails;
    refused(2, &["grow", &at("disk.img"), "--capacity", "16MiB"], &["exports", "already"]);
    refused(2, &["export", &at("disk.img"), &at("out")], &["out: exists already"]);
    refused(2, &["backup", &at("disk.img"), &at("out")], &["out: exists already"]);
    refused(2, &["import", &at("raw"), &at("disk.img")], &["disk.img: exists already"]);
    refused(1, &["ctl", &at("disk.img"), "stat"], &["no server has it"]);
    let names: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(names.len(), 3, "nothing is left over: {names:?}");
}

#[test]
fn every_kind_of_layer_is_served_checked_copied_and_grown_as_that_kind() {
    for layer in ["nftl", "in-place"] {
        let folder = common::folder();
        let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        let mut raw = vec![0; 5 << 20];
        raw[..PAGE * 300].fill(7);
        raw[PAGE * 1000..PAGE * 1001].fill(9);
        fs::write(at("raw"), &raw).expect("written");
        done(&["import", &at("raw"), &at("disk.img"), "--layer", layer]);
        let script = r#"
            $T stat disk.img --json > stat.json
            $T check disk.img > /dev/null
            $T ctl disk.img flush
            $T backup disk.img copy.img
            ! $T ctl disk.img policy dac 2> refused.txt
        "#;
        serving(&at("disk.img"), &["--log-file", &at("log")], script);
        let read = |name: &str| fs::read_to_string(at(name)).expect(name);
        let stat: Value = serde_json::from_str(&read("stat.json")).expect("JSON");
        assert_eq!((&stat["layer"], &stat["settings"]["policy"]), (&layer.into(), &layer.into()));
        assert!(read("refused.txt").contains("formatted for"), "{}", read("refused.txt"));
        let warns = read("log").contains("a baseline, not for data");
        assert_eq!(warns, layer == "in-place", "{}", read("log"));
        for image in ["disk.img", "copy.img"] {
            assert_eq!(json(&["check", &at(image), "--json"])["sound"], true);
            assert_eq!(json(&["stat", &at(image), "--json"])["layer"], layer, "{image}");
            done(&["export", &at(image), &at("out"), "--force"]);
            assert!(raw == fs::read(at("out")).expect("readable"), "{image} differs");
        }
        done(&["grow", &at("copy.img"), "--capacity", "32MiB"]);
        assert_eq!(json(&["stat", &at("copy.img"), "--json"])["layer"], layer);
        done(&["export", &at("copy.img"), &at("out"), "--force"]);
        assert!(fs::read(at("out")).expect("readable").starts_with(&raw));
        done(&["repair", &at("copy.img")]);
        done(&["check", &at("copy.img")]);
        let made =
            json(&["format", &at("fresh.img"), "--capacity", "16MiB", "--layer", layer, "--json"]);
        assert_eq!(made["caution"].is_string(), layer == "in-place", "{made}");
    }
}

#[test]
fn data_that_are_written_once_are_kept_apart_where_the_operator_says_so() {
    let (folder, path) = formatted();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let serve = ["serve", path.as_str(), "--run", "true", "--separate"];
    let refused = |region: &str, says: &str| {
        common::fails(2, &[&serve[..], &[region]].concat(), &["--separate", says]);
    };
    refused("8MiB", "is no region");
    refused("8MiB..8MiB", "is an empty region");
    refused("mail=0..8MiB", "no export \"mail\"");
    refused("0..1GiB", "and the export has");
    if thermocline_testing::program("nbdcopy").is_none() {
        return;
    }
    fs::write(at("raw"), vec![7; 12 << 20]).expect("written");
    let script = r#"nbdcopy raw "$uri"
        $T stat disk.img --json > stat.json
        $T stat disk.img > stat.txt"#;
    serving(&path, &["--policy", "greedy", "--separate", "0..8MiB"], script);
    let stat: Value =
        serde_json::from_str(&fs::read_to_string(at("stat.json")).expect("there")).expect("JSON");
    assert_eq!(stat["banks"][0]["read_only_pages"], 2048, "{stat}");
    let text = fs::read_to_string(at("stat.txt")).expect("there");
    assert!(text.contains("read-only data apart") && text.contains("2,048 pages"), "{text}");
    done(&["check", &path]);
}

#[test]
#[cfg(target_os = "linux")]
fn an_emulated_zoned_device_is_formatted_served_killed_and_served_again() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let chip = format!("zoned:{}", at("zones.img"));
    let blank = fs::File::create(at("zones.img")).and_then(|file| file.set_len(48 << 20));
    blank.expect("a blank file");
    common::fails(3, &["stat", &chip], &["a blank file", "thermocline format zoned:"]);
    fs::write(at("zones.img.zones"), "capacity 448KiB\nconventional 2\nmax-active 4\nblock 512")
        .expect("written");
    common::fails(2, &["format", &chip, "--capacity", "32MiB"], &["--capacity", "zoned"]);
    common::fails(2, &["format", &chip], &["4 active zones (max_active_zones)", "greedy needs 5"]);
    // Nothing was written to it so far.
    fs::File::create(at("zones.img")).and_then(|file| file.set_len(48 << 20)).expect("blank");
    fs::write(at("zones.img.zones"), "capacity 448KiB\nconventional 2\nmax-active 8\nblock 512")
        .expect("written");
    done(&["format", &chip]);
    common::fails(2, &["format", &chip], &["is formatted already", "--force"]);
    let stat = json(&["stat", &chip, "--json"]);
    assert_eq!((&stat["blocks"], &stat["page_size"]), (&90.into(), &4096.into()), "{stat}");
    let refused = thermocline(&["serve", &chip, "--policy", "sep-bit", "--run", "true"]);
    assert!(refused.err.contains("allows 8 active zones"), "{}", refused.err);
    if thermocline_testing::program("nbdcopy").is_none() {
        return;
    }
    let raw: Vec<u8> = (0..12_u32 << 18).flat_map(|word| (word / 1024 + 1).to_le_bytes()).collect();
    fs::write(at("raw"), &raw).expect("written");
    let script = format!(
        "cd {}; for i in 1 2 3 4; do nbdcopy --flush raw \"$uri\"; done; kill -9 $PPID",
        folder.path().display()
    );
    let args = ["serve", &chip, "--policy", "greedy", "--run", &script];
    let killed = common::command(&args).output().expect("it runs").status;
    assert!(!killed.success());
    let check = json(&["check", &chip, "--json"]);
    assert_eq!((&check["sound"], &check["clean"]), (&true.into(), &false.into()), "{check}");
    assert_eq!(check["pages_verified"], 3072, "{check}");
    let script = format!("cd {}; nbdcopy --flush raw \"$uri\"", folder.path().display());
    done(&["serve", &chip, "--policy", "greedy", "--run", &script]);
    done(&["backup", &chip, &at("copy.img")]);
    for image in [&chip, &at("copy.img")] {
        done(&["export", image, &at("out"), "--force"]);
        assert!(fs::read(at("out")).expect("there").starts_with(&raw), "{image}");
    }
    done(&["repair", &chip]);
    // The rest of a zone that was sealed is no leak.
    let check = json(&["check", &chip, "--json"]);
    assert_eq!((&check["sound"], &check["leaked_pages"]), (&true.into(), &0.into()), "{check}");
    assert_eq!(check["clean"], true, "{check}");
}

#[test]
fn a_page_that_cannot_be_read_is_in_no_copy_unless_that_is_wanted() {
    let (folder, path) = filled();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    assert!(damage(&path, &[10; PAGE - 1]) > 0);
    common::fails(1, &["backup", &path, &at("copy.img")], &["page 9 cannot", "--skip-unreadable"]);
    assert!(!folder.path().join("copy.img").exists());
    let copied = json(&["backup", &path, &at("copy.img"), "--skip-unreadable", "--json"]);
    assert_eq!(copied["lost_pages"][0], 9, "{copied}");
    let script =
        "! $T backup disk.img live.img 2> refused; $T backup disk.img live.img --skip-unreadable";
    serving(&path, &[], script);
    done(&["check", &at("live.img")]);
}

#[test]
fn a_socket_beside_an_image_is_believed_only_of_a_server_of_that_image() {
    let (folder, path) = filled();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    done(&["format", &at("other.img"), "--capacity", "16MiB"]);
    // A server of one's own, which has another image.
    let script = "
        $T stat disk.img --json > stat.json 2> told; grep -q 'does not have the image open' told
        $T export disk.img raw 2> /dev/null
        ! $T ctl disk.img stat 2>> told; grep -q 'no server has it' told
        $T ctl disk.img.ctl stat > /dev/null
        $T backup disk.img.ctl copy.img; test $(stat -c %a copy.img) = 600; rm copy.img";
    serving(&at("other.img"), &["--control", &at("disk.img.ctl")], script);
    let stat: Value =
        serde_json::from_slice(&fs::read(at("stat.json")).expect("there")).expect("JSON");
    assert_eq!((&stat["served"], &stat["pages_with_data"]), (&Value::Null, &402.into()), "{stat}");
    assert_eq!(fs::read(at("raw")).expect("there")[..PAGE], [filling(0); PAGE]);
    // Its own server is found there, too.
    serving(&path, &["--control", &at("disk.img.ctl")], "$T ctl disk.img stat > /dev/null");

    if !rustix::process::geteuid().is_root() {
        return thermocline_testing::skip("no server of a stranger: only root is several users");
    }
    // A stranger's, in a folder where everybody may put one.
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    let shared = fs::Permissions::from_mode(0o1777);
    fs::set_permissions(folder.path(), shared).expect("set");
    for (file, mode) in [(&path, 0o600), (&at("other.img"), 0o600)] {
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("set");
    }
    std::os::unix::fs::chown(at("other.img"), Some(65534), Some(65534)).expect("root may");
    let program = folder.path().join("thermocline");
    fs::copy(env!("CARGO_BIN_EXE_thermocline"), &program).expect("room");
    // Nor does a server take orders of a stranger, whoever lets him in.
    let script = "
        chmod 666 own; $T ctl own stat > /dev/null
        ! setpriv --reuid 65534 --regid 65534 --clear-groups ./thermocline ctl own stat 2> told";
    serving(&path, &["--control", &at("own")], script);
    let mut stranger = std::process::Command::new(&program);
    let (socket, control) = (at("s"), at("disk.img.ctl"));
    stranger.args(["serve", &at("other.img"), "--unix", &socket, "--control", &control]);
    stranger.uid(65534).gid(65534).stderr(std::process::Stdio::null());
    let mut stranger = Stranger(stranger.spawn().expect("it starts"));
    while !Path::new(&control).exists() {
        assert!(stranger.0.try_wait().expect("ours").is_none(), "it has ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for args in [&["stat", &path, "--json"][..], &["export", &path, &at("raw"), "--force"]] {
        let ran = thermocline(args);
        assert!(ran.code == 0 && ran.err.contains("user 65534, who is not believed"), "{ran:?}");
    }
    assert_eq!(fs::read(at("raw")).expect("there")[..PAGE], [filling(0); PAGE]);
    let ran = thermocline(&["ctl", &path, "stat"]);
    assert!(ran.code == 1 && ran.err.contains("no server has it"), "{ran:?}");
    common::fails(1, &["ctl", &control, "stat"], &["not believed"]);
    common::fails(1, &["backup", &control, &at("copy.img")], &["not believed"]);
}

/// A process of somebody else's, until the test is over.
struct Stranger(std::process::Child);

impl Drop for Stranger {
    fn drop(&mut self) {
        // Both fail where it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn copies_and_larger_images_have_the_rights_of_the_image_and_links_stay() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    let folder = common::folder();
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let is_root = rustix::process::geteuid().is_root();
    done(&["format", &at("disk.img"), "--capacity", "16MiB"]);
    fs::set_permissions(at("disk.img"), fs::Permissions::from_mode(0o604)).expect("set");
    if is_root {
        chown(at("disk.img"), Some(7), Some(8)).expect("root may");
    }
    symlink("disk.img", at("link")).expect("a link");
    done(&["backup", &at("link"), &at("copy.img")]);
    done(&["export", &at("link"), &at("raw")]);
    done(&["import", &at("raw"), &at("in.img")]);
    done(&["grow", &at("link"), "--capacity", "32MiB"]);
    assert!(folder.path().join("link").is_symlink(), "what is behind it has grown");
    assert_eq!(json(&["stat", &at("disk.img"), "--json"])["blocks"], 128);
    done(&["format", &at("in.img"), "--capacity", "8MiB", "--force"]);
    fs::set_permissions(at("raw"), fs::Permissions::from_mode(0o640)).expect("set");
    done(&["export", &at("link"), &at("raw"), "--force"]);
    for (name, mode) in
        [("disk.img", 0o604), ("copy.img", 0o604), ("in.img", 0o604), ("raw", 0o640)]
    {
        let is = fs::metadata(at(name)).expect(name);
        assert_eq!(is.permissions().mode() & 0o777, mode, "{name}");
        assert!(!is_root || (is.uid(), is.gid()) == (7, 8), "{name}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 5, "nothing is left over");
}

#[test]
fn a_policy_that_does_not_fit_is_refused_and_the_export_goes_on() {
    let folder = common::folder();
    let path = folder.path().join("nor.img").to_str().expect("UTF-8").to_owned();
    done(&["format", &path, "--device", "intel-series2plus-24m", "--capacity", "6MiB"]);
    let script = "
        ! $T ctl nor.img policy 'dac(regions=8)' 2> told; grep -q 'fewer open blocks' told
        test \"$($T ctl nor.img stat --json | grep -c '\"policy\": \"cat\"')\" = 1
        $T ctl nor.img flush; $T ctl nor.img check > /dev/null; $T ctl nor.img policy greedy";
    serving(&path, &["--policy", "cat"], script);
    done(&["check", &path]);
}

#[test]
fn who_may_connect_is_said_in_words_that_are_checked() {
    let (folder, path) = formatted();
    let refused = |args: &[&str], says: &[&str]| {
        common::fails(2, &[&["serve", &path], args, &["--run", "true"]].concat(), says);
    };
    refused(&["--allow", "here"], &["`here` is no range", "192.168.7.0/24"]);
    refused(&["--allow", "mail=10.0.0.0/8"], &["no export \"mail\"", "disk.img"]);
    refused(&["--unix", "s", "--unix-mode", "999"], &["`999` are no permissions", "660"]);
    refused(&["--unix", "s", "--unix-owner", "no such user"], &["there is no user no such user"]);
    let socket = folder.path().join("s");
    let name = socket.to_str().expect("UTF-8");
    let log = folder.path().join("log");
    let log = log.to_str().expect("UTF-8");
    let rights = ["--log-file", log, "--unix", name, "--unix-mode", "620", "--unix-owner", ":0"];
    let script = "test $(stat -c %a s) = 620
        control=$(grep -o 'socket=\"[^\"]*' log | cut -d'\"' -f2); test $(stat -c %a $control) = 600
        for other in . ..; do test ! -e $other/disk.img.ctl; done";
    if rustix::process::geteuid().is_root() {
        serving(&path, &rights, script);
    } else {
        serving(&path, &rights[..6], script);
    }
    let warned = thermocline(&["serve", &path, "--tcp", "0.0.0.0:0", "--run", "true"]);
    assert!(warned.err.contains("need not encrypt"), "{}", warned.err);
    let quiet = thermocline(&["serve", &path, "--tcp", "127.0.0.1:0", "--run", "true"]);
    assert!(!quiet.err.contains("need not encrypt"), "{}", quiet.err);
}

/// A loop device over a file, where this machine lets us have one.
struct Loop(String);

impl Loop {
    fn over(file: &std::path::Path) -> Option<Self> {
        let made =
            std::process::Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        let made = made.ok().filter(|made| made.status.success())?;
        Some(Self(String::from_utf8(made.stdout).expect("UTF-8").trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn a_block_device_is_a_chip_of_its_own_size_and_is_never_cut_or_removed() {
    let folder = common::folder();
    let file = folder.path().join("disk");
    let bytes = (64 << 20) + 4096 * 5;
    fs::File::create(&file).and_then(|file| file.set_len(bytes)).expect("a file");
    let Some(disk) = Loop::over(&file) else {
        return thermocline_testing::skip("no chip on a block device: losetup gives none here");
    };
    let place = format!("device:{}", disk.0);
    let made = json(&["format", &place, "--json"]);
    let chip = made["chip_bytes"].as_u64().expect("a number");
    assert!(chip < bytes && chip > 60 << 20, "{made}");
    common::fails(2, &["format", &place], &["is not blank", "--force"]);
    let mut layer = mounted(&place);
    for lpn in 0..300 {
        layer.write(Lpn(lpn), &[filling(lpn); PAGE], 1).expect("written");
    }
    layer.upkeep().unmount(2).expect("unmounted");
    layer.chip_mut().sync().expect("synced");
    drop(layer);
    done(&["check", &place]);
    let control = folder.path().join("ctl");
    let control = control.to_str().expect("UTF-8");
    let copy = folder.path().join("copy.img");
    let script = format!(
        "$T ctl {control} stat > /dev/null; $T backup {control} {}; ! $T format {place} --force",
        copy.display()
    );
    let args = ["serve", &place, "--log", "error", "--control", control, "--run", &script];
    let ran = common::command(&args).env("T", env!("CARGO_BIN_EXE_thermocline")).output();
    let ran = ran.expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    done(&["check", copy.to_str().expect("UTF-8")]);
    let mut layer = mounted(&place);
    let mut page = [0; PAGE];
    layer.read(Lpn(299), &mut page).expect("read");
    assert_eq!(page, [filling(299); PAGE]);
    drop(layer);
    common::fails(3, &["format", &place, "--force", "--capacity", "128MiB"], &["less --capacity"]);
    done(&["check", &place]);
    done(&["format", &place, "--force"]);
    assert_eq!(json(&["stat", &place, "--json"])["pages_with_data"], 0);
    // A format interrupted before the store is complete leaves no image, and nothing of the one
    // before.
    let Ok(device) = place.parse::<Place>();
    let whole =
        device.open(&OpenChip { read_only: true, ..OpenChip::default() }).expect("formatted");
    let geometry = *whole.chip.geometry();
    let made = whole.description.clone().expect("kept");
    drop(whole);
    let (kind, rules, profile) = (made.kind, made.rules, made.profile);
    let (preallocate, replace, rights) = (false, Replace::Unused, None);
    let new = NewChip { kind, geometry, rules, profile, preallocate, replace, rights };
    drop(device.create(&new).expect("blank"));
    common::fails(3, &["serve", &place, "--run", "true"], &["not an image", "thermocline format"]);
    done(&["format", &place, "--force"]);
    done(&["check", &place]);
    assert_eq!(fs::metadata(&file).expect("there").len(), bytes, "it was cut");
    common::fails(2, &["format", "device:/dev/null"], &["is no block device"]);
}

/// The shaded blocks of a page, as one script.
fn blocks(page: &str) -> String {
    let text = fs::read_to_string(common::repository().join(page)).expect(page);
    let mut inside = false;
    let mut script = String::from("set -e\n");
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => script += &format!("{line}\n"),
            _ => {}
        }
    }
    script
}

#[test]
fn the_operators_first_and_worst_day_are_as_the_guide_says() {
    let tools = ["nbdinfo", "nbdcopy"].map(thermocline_testing::program);
    if tools.iter().any(Option::is_none) {
        return;
    }
    let folder = common::folder();
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_thermocline")).parent().expect("a folder");
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap_or_default());
    let script = blocks("docs/operations.md");
    assert!(script.contains("thermocline repair"), "{script}");
    // A server that does not start is waited for.
    let ran = std::process::Command::new("timeout")
        .args(["300", "bash", "-x", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .output()
        .expect("there is bash");
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{told}\n{}", String::from_utf8_lossy(&ran.stdout));
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit_and_starts_the_server_with_its_first_client() {
    let has = |name: &str| std::process::Command::new(name).arg("--version").output().is_ok();
    if !has("systemd-analyze") || !has("systemd-socket-activate") || !has("nbdinfo") {
        return thermocline_testing::skip(
            "no test of the systemd unit: systemd or nbdinfo is missing",
        );
    }
    let (folder, path) = formatted();
    let program = env!("CARGO_BIN_EXE_thermocline");
    for (from, to) in [("@.service", "@disk.service"), ("@.socket", "@disk.socket")] {
        let from = common::repository().join(format!("contrib/systemd/thermocline{from}"));
        let unit = fs::read_to_string(from).expect("it is there");
        let unit = unit.replace("/usr/local/bin/thermocline", program);
        fs::write(folder.path().join(format!("thermocline{to}")), unit).expect("written");
    }
    let verified = std::process::Command::new("systemd-analyze")
        .args(["verify", "--man=no", "./thermocline@disk.service", "./thermocline@disk.socket"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&verified.stderr).into_owned();
    let ours: Vec<_> = told.lines().filter(|line| line.contains("thermocline@")).collect();
    assert!(verified.status.success() && ours.is_empty(), "{told}");

    // What systemd does with the socket: the first client starts the server.
    let socket = folder.path().join("s");
    let mut activated = std::process::Command::new("systemd-socket-activate")
        .arg(format!("--listen={}", socket.display()))
        .args([program, "serve", &path])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it runs");
    let uri = format!("nbd+unix:///?socket={}", socket.display());
    let size = || std::process::Command::new("nbdinfo").args(["--size", &uri]).output();
    let begun = std::time::Instant::now();
    while !socket.exists() && begun.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let answered = size().expect("it runs");
    let stopped = thermocline(&["ctl", &path, "stop"]);
    let ended = activated.wait().expect("it ends");
    let stat = json(&["stat", &path, "--json"]);
    assert_eq!(
        String::from_utf8_lossy(&answered.stdout).trim(),
        stat["exported_bytes"].to_string()
    );
    assert!(stopped.code == 0 && ended.success(), "{}", stopped.err);
}
