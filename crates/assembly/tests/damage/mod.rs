//! Images damaged on purpose in thousands of ways: no read may return wrong data without an error.
//!
//! A device is used as a server uses it, then stopped or killed. Parts of its image are changed, swapped or restored to
//! an earlier state, and it is served and read. Some images are used further, stopped, killed, repaired and read again:
//! an error stays an error. Each variant is *exact* (all reads are right), *refused* (it does not mount), *EIO* (some
//! reads fail, the others are right), or *silent* (a read returns wrong data without an error). `docs/format.md` lists
//! damage that no image can detect.
//!
//! `THERMOCLINE_DAMAGE_SECONDS` sets the time of the search for faults, `THERMOCLINE_DAMAGE_SEED` runs
//! only the history with a found fault.

mod export;
mod forged;
mod harm;
mod headless;
mod history;

use std::{
    collections::BTreeMap,
    ops::Range,
    time::{Duration, Instant},
};

use export::{Export, goes_on};
use harm::{CLASSES, Class, Harm, LOG_AREAS};
use history::{End, History};
use tempfile::TempDir;
use thermocline_assembly::{Progress, Verdict, check};
use thermocline_policy::preset::LayerKind;

/// Variants of each history.
const VARIANTS: u32 = 150;
/// Histories that are looked at, where no time is given.
const HISTORIES: u64 = 16;

/// Numbers to draw by, from a seed.
#[derive(Clone, Debug)]
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.next() >> 32) * u64::from(limit.max(1))) >> 32) as u32
    }

    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

/// The outcome of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Exact,
    Refused,
    Eio,
    Silent,
}

type Table = BTreeMap<(End, &'static str), [u32; 4]>;

fn print(table: &Table) {
    eprintln!("{:10} {:22} {:>6} {:>8} {:>6} {:>7}", "", "", "exact", "refused", "EIO", "silent");
    for ((end, class), [exact, refused, eio, silent]) in table {
        let end = format!("{end:?}").to_lowercase();
        eprintln!("{end:10} {class:22} {exact:6} {refused:8} {eio:6} {silent:7}");
    }
}

/// Serves an image and reads all of it as a host does. Returns the export, if there is one.
fn outcome(history: &History, rebuild: bool) -> (Outcome, String, Option<Export>) {
    let Ok(layer) = history.serve(rebuild) else {
        return (Outcome::Refused, String::new(), None);
    };
    let mut export = Export::of(layer);
    let mut worst = (Outcome::Exact, String::new());
    for lpn in 0..history.pages() {
        let found = match export.read(lpn) {
            Ok(found) if history.may_hold(lpn).contains(&found) => continue,
            Ok(found) => {
                let text = format!("page {lpn}: {found:?}, not {:?}", history.may_hold(lpn));
                (Outcome::Silent, text)
            }
            Err(()) => (Outcome::Eio, String::new()),
        };
        worst = worst.max(found);
    }
    (worst.0, worst.1, Some(export))
}

#[test]
fn no_damage_of_an_image_makes_a_read_wrong_without_an_error() {
    damage(LayerKind::PageMapped, HISTORIES);
}

#[test]
fn nor_does_damage_of_one_that_nftl_wrote() {
    damage(LayerKind::Nftl, HISTORIES / 2);
}

#[test]
fn nor_does_damage_of_one_that_was_updated_in_place() {
    damage(LayerKind::InPlace, HISTORIES / 2);
}

#[test]
fn nor_does_damage_of_one_whose_map_lies_on_it() {
    // It cannot tell whole old parts from new ones, nor damage of the last write from a torn page.
    damage_by(LayerKind::DemandPaged, 1..HISTORIES + 1, |end, class| {
        let puts_old_back = class.starts_with("older") || class.starts_with("pages");
        end == End::Stopped && !puts_old_back && class != "several"
    });
}

/// Junk over the end of the log of a killed store once brought trimmed data back in it.
#[test]
fn trims_that_were_flushed_are_not_undone_with_the_end_of_the_log() {
    damage_by(LayerKind::PageMapped, 24..25, |_, _| true);
}

fn damage(layer: LayerKind, histories: u64) {
    damage_by(layer, 1..histories + 1, |_, _| true);
}

/// The same, by some kinds of damage.
fn damage_by(layer: LayerKind, seeds: Range<u64>, is_meant: impl Fn(End, &str) -> bool) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = number("THERMOCLINE_DAMAGE_SEED");
    let seconds = number("THERMOCLINE_DAMAGE_SECONDS").map(Duration::from_secs);
    let seeds = if seconds.is_some() { seeds.start..u64::MAX } else { seeds };
    // The log of a store with its map on the chip has nothing but the summary.
    let has_log = |class: &&Class| layer != LayerKind::DemandPaged || class.name != LOG_AREAS;
    let classes: Vec<Class> = CLASSES.iter().filter(has_log).copied().collect();
    let begun = Instant::now();
    let folder = ["/dev/shm", "."].iter().find_map(|place| TempDir::new_in(place).ok());
    let folder = folder.expect("a folder");
    let (mut table, mut silent, mut unseen) = (Table::new(), Vec::new(), Vec::new());
    let mut later = BTreeMap::<&str, u32>::new();
    for seed in seed.map_or(seeds, |seed| seed..seed + 1) {
        let history = History::write(seed, layer, folder.path());
        let (mut draws, mut later_draws) = (Draws(!seed), Draws(seed << 32));
        let whole = (0..2).map(|rebuild| {
            history.put(history.image());
            outcome(&history, rebuild == 1)
        });
        // A kill loses the block that is being rewritten in place.
        let least = match (layer, history.end) {
            (LayerKind::InPlace, End::Killed) => Outcome::Eio,
            _ => Outcome::Exact,
        };
        for (undamaged, text, _) in whole {
            assert!(undamaged <= least, "seed {seed}, without damage: {undamaged:?} {text}");
        }
        for variant in 0..VARIANTS {
            let class = classes[(variant as usize) % classes.len()];
            if !is_meant(history.end, class.name) {
                continue;
            }
            let Some(image) = Harm::of(&history, class, &mut draws) else { continue };
            let rebuild = draws.one_in(4);
            history.put(&image.bytes);
            let sound = check(&history.place(), false, &Progress::default())
                .is_ok_and(|report| report.verdict() == Verdict::Sound);
            let (mut found, mut text, export) = outcome(&history, rebuild);
            if let Some(export) =
                export.filter(|_| later_draws.one_in(if found == Outcome::Eio { 6 } else { 24 }))
            {
                match goes_on(&history, export, &mut later_draws) {
                    Ok(end) => *later.entry(end).or_default() += 1,
                    Err(wrong) => (found, text) = (Outcome::Silent, format!("later{wrong}")),
                }
            }
            table.entry((history.end, class.name)).or_default()[found as usize] += 1;
            let case = || {
                let (end, n) = (history.end, history.written);
                format!(
                    "seed {seed}, {end:?} after {n} writes, rebuild {rebuild}, {}: {text}",
                    image.what
                )
            };
            if found == Outcome::Silent {
                silent.push(case());
            }
            if sound && found != Outcome::Exact {
                unseen.push(case());
            }
        }
        if seconds.is_some_and(|seconds| begun.elapsed() > seconds) {
            break;
        }
    }
    print(&table);
    eprintln!("later: {later:?}");
    let first = |cases: &[String]| cases.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
    assert!(silent.is_empty(), "{} silent:\n{}", silent.len(), first(&silent));
    assert!(unseen.is_empty(), "{} called sound:\n{}", unseen.len(), first(&unseen));
}
