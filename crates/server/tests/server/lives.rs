//! Power fails after a few operations of the chip, many times in a row, while clients write, trim and flush, and
//! operators change the policy, scrub and copy the chip: no flushed data are lost, no older data come back, no
//! write is refused, and a copy is of one point in time.
//!
//! `THERMOCLINE_LIVES` sets the number of lives of each row, `THERMOCLINE_LIVES_ROW` runs only the row with
//! a found fault.

use std::{
    ops::{Deref, DerefMut},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use thermocline_assembly::{AnyLayer, Device as Chips, PolicySpec, Store};
use thermocline_flash::Kind;
use thermocline_ftl::{Format, Mount};
use thermocline_media::{
    Cut, Faults, Faulty, Medium, Ram,
    image::tape::{Power, Tape},
};
use thermocline_nbd::wire;
use thermocline_policy::preset::LayerKind;
use thermocline_server::{
    About, Change, Listener, Opening, Options, Remount, Remounted, Rights, Server, Settings,
    control::{
        Command,
        client::{Client as Operator, Extent, Part},
    },
};
use thermocline_testing::{Deed, Draws, Known};

use crate::client::Client;

const PAGE: u64 = 512;
const ROWS: u64 = 48;
/// Stands for a page that is lost: it is an error until it is written.
const LOST: u64 = u64::MAX;

/// A chip that returns when the server drops it.
struct Kept {
    chip: Option<Faulty<Ram>>,
    home: Arc<Mutex<Option<Faulty<Ram>>>>,
}

impl Deref for Kept {
    type Target = Faulty<Ram>;
    fn deref(&self) -> &Faulty<Ram> {
        self.chip.as_ref().expect("it is here until it is dropped")
    }
}

impl DerefMut for Kept {
    fn deref_mut(&mut self) -> &mut Faulty<Ram> {
        self.chip.as_mut().expect("it is here until it is dropped")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        *self.home.lock().unwrap_or_else(PoisonError::into_inner) = self.chip.take();
    }
}

/// The chip between two lives.
enum Chip {
    Ram(Box<Faulty<Ram>>),
    Image(Vec<u8>),
}

/// Mounts a store by other policies.
struct Again {
    now: Store,
    then: Store,
}

impl Remount for Again {
    fn prepare(&mut self, change: &Change) -> Result<(), String> {
        let name = change.policy.as_deref().unwrap_or("greedy");
        let policy = spec(name, self.now.policy.layer);
        self.then = Store { policy, ..self.now.clone() };
        self.then.plan().map(drop).map_err(|e| e.to_string())
    }

    fn mount(&mut self, chip: Box<dyn Medium>) -> Result<Remounted, String> {
        let (layer, found) = self.then.mount(chip, Mount::Quick).map_err(|e| e.to_string())?;
        if !found.clean || layer.inspect().is_read_only() {
            return Err("it was not unmounted in order, or takes no writes".into());
        }
        self.now = self.then.clone();
        let settings = Settings { policy: self.now.policy.name.clone(), ..Settings::default() };
        Ok(Remounted { layer, settings, time_ns: found.newest_time + 1 })
    }
}

fn spec(name: &str, layer: LayerKind) -> PolicySpec {
    let policy = PolicySpec::parse(name, None, None).and_then(|policy| policy.on(layer));
    policy.expect("a preset of that layer")
}

/// A store, and how its lives go.
struct Row {
    store: Store,
    policies: &'static [&'static str],
    /// Operations of the chip before power fails.
    length: u64,
    is_image: bool,
    /// Operations since the last sync may be lost or torn.
    cache: u32,
}

impl Row {
    fn of(number: u64) -> Self {
        const LENGTHS: [u64; 6] = [1, 2, 4, 8, 16, 64];
        let (layer, policies): (_, &[_]) = match number % 6 {
            0..3 => (LayerKind::PageMapped, &["greedy", "dac", "cat", "thermocline", "lfs-batch"]),
            3 => (LayerKind::Nftl, &["nftl"]),
            4 => (LayerKind::InPlace, &["in-place"]),
            _ => (LayerKind::DemandPaged, &["greedy", "dac", "hot-cold"]),
        };
        let length = LENGTHS[(number / 6) as usize % 6];
        let kind = ["slc-generic", "intel-series2plus-24m"][(number / 2) as usize % 2];
        let mut device = Chips::load(kind).expect("a profile");
        let geometry = &mut device.profile.geometry;
        (geometry.page_size, geometry.pages_per_block) = (PAGE as u32, 8);
        geometry.blocks_per_bank = 40 + number as u32 % 5;
        let over = [0.2, 0.4, 0.8][(number / 3) as usize % 3];
        let store = loop {
            // The fewest blocks that it takes, where so few would not do.
            device.profile.geometry.blocks_per_bank += 1;
            let fits = Store::fit(device.clone(), over, spec(policies[0], layer));
            if let Ok(store) = fits {
                break store;
            }
        };
        let cache = [0, 20][(number / 12) as usize % 2];
        Self { store, policies, length, is_image: number % 4 == 1, cache }
    }

    fn format(&self, seed: u64) -> Chip {
        let profile = &self.store.device.profile;
        let format = |chip: Box<dyn Medium>| {
            let mut layer = self.store.format(chip, Format::default()).expect("formatted");
            layer.upkeep().unmount(0).expect("unmounted");
            layer.chip_mut().sync().expect("synced");
        };
        if self.is_image {
            let tape = Tape::blank(profile.kind, profile.geometry, profile.rules);
            let tape = tape.expect("an image");
            format(Box::new(tape.open().expect("opened")));
            return Chip::Image(tape.bytes());
        }
        let faults = Faults { seed, cache: self.cache, ..Faults::default() };
        let home = Arc::default();
        let chip = Faulty::with_faults(Ram::new(profile.geometry, profile.rules), faults);
        format(Box::new(Kept { chip: Some(chip), home: Arc::clone(&home) }));
        Chip::Ram(Box::new(taken(&home)))
    }

    /// An update in place loses the block that is being rewritten.
    fn may_lose(&self) -> bool {
        self.store.policy.layer == LayerKind::InPlace
    }

    fn opening(&self, layer: AnyLayer<Box<dyn Medium>>, folder: &Path) -> Opening {
        let again = Again { now: self.store.clone(), then: self.store.clone() };
        Opening {
            about: About { folder: Some(folder.into()), ..About::default() },
            remount: Some(Box::new(again)),
            scrub: Some(Duration::from_millis(20)),
            ..Opening::new(layer)
        }
    }
}

/// The chip, once the last thread of the server has dropped it.
fn taken(home: &Mutex<Option<Faulty<Ram>>>) -> Faulty<Ram> {
    let begun = Instant::now();
    loop {
        if let Some(chip) = home.lock().expect("nobody died with it").take() {
            return chip;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the server keeps the chip");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A copy that an operator makes, and what must be in it.
struct Copying {
    operator: Operator,
    expected: Vec<Vec<u64>>,
}

impl Copying {
    fn begin(socket: &Path, expected: &[Vec<u64>]) -> Option<Self> {
        let mut operator = Operator::connect(socket, None).ok()?;
        operator.ask(Command::Copy).ok()?;
        Some(Self { operator, expected: expected.to_vec() })
    }

    /// Takes the whole copy, which may end early where power failed.
    fn end(mut self) -> Result<(), String> {
        let mut found = vec![0; self.expected.len()];
        let (mut extent, mut content) = (Extent::new(PAGE as u32, found.len() as u32), Vec::new());
        loop {
            match self.operator.part(&mut extent, &mut content)? {
                Part::End => break,
                Part::Lost(lpn) => found[lpn as usize] = LOST,
                Part::Pages(first, _) => {
                    for (at, page) in content.chunks_exact(PAGE as usize).enumerate() {
                        found[first as usize + at] = stamp(page);
                    }
                }
            }
        }
        for (page, (found, expected)) in found.iter().zip(&self.expected).enumerate() {
            assert!(
                expected.contains(found),
                "the copy has {found} in page {page}, not {expected:?}"
            );
        }
        Ok(())
    }
}

/// The content of a page, which must be uniform.
fn stamp(page: &[u8]) -> u64 {
    let (words, _) = page.as_chunks::<8>();
    assert!(words.iter().all(|word| *word == words[0]), "a page is torn");
    u64::from_le_bytes(words[0])
}

/// Reads every page, and compares.
fn look(row: &Row, client: &mut Client, known: &Known) -> Result<Vec<Vec<u64>>, String> {
    let mut found = Vec::new();
    for (page, allowed) in (0..).zip(&known.allowed) {
        let mut bytes = [0; PAGE as usize];
        let error = client.read(page * PAGE, &mut bytes).map_err(|e| e.to_string())?;
        let is = if error == 0 { stamp(&bytes) } else { LOST };
        let may_be = allowed.contains(&is) || is == LOST && row.may_lose();
        if !may_be {
            return Err(format!("page {page} holds {is} (error {error}), not {allowed:?}"));
        }
        found.push(vec![is]);
    }
    Ok(found)
}

/// One life: served, read, used until power fails or, if it is to stay on, until all was written once.
fn live(
    row: &Row,
    chip: Chip,
    known: &mut Known,
    draws: &mut Draws,
    last: &mut u64,
    stays: bool,
) -> Result<Chip, String> {
    let folder = tempfile::TempDir::new().map_err(|e| e.to_string())?;
    let home = Arc::default();
    let (medium, tape, bytes): (Box<dyn Medium>, _, _) = match chip {
        Chip::Ram(mut chip) => {
            let ways = [Cut::After, Cut::Torn, Cut::Payload, Cut::Partly(draws.next())];
            chip.power_on();
            if !stays {
                chip.cut_after(row.length, ways[draws.index(4)]);
            }
            (Box::new(Kept { chip: Some(*chip), home: Arc::clone(&home) }), None, Vec::new())
        }
        Chip::Image(bytes) => {
            let tape = Tape::of(bytes.clone());
            (Box::new(tape.open().map_err(|e| e.to_string())?), Some(tape), bytes)
        }
    };
    let moment = || tape.as_ref().map_or(0, Tape::len);
    let mut deeds: Vec<(usize, Deed)> = Vec::new();
    let mut broke = None;
    match row.store.mount(medium, Mount::Quick) {
        Err(e) => broke = Some(format!("mounted: {e}")),
        Ok((layer, _)) => {
            let at = |name: &str| folder.path().join(name);
            let server = Server::new(vec![row.opening(layer, folder.path())], Options::default());
            let mut server = server.map_err(|e| e.to_string())?;
            server.listen(Listener::unix(&at("nbd")).map_err(|e| e.to_string())?);
            let control = Listener::unix_of(&at("ctl"), &Rights::OWNER);
            server.control(control.map_err(|e| e.to_string())?, 0);
            let stopper = server.stopper();
            let running = std::thread::spawn(move || server.run());
            let mut client = Client::connect(&at("nbd"), true).map_err(|e| e.to_string())?;
            let found = look(row, &mut client, known);
            // Its chip is off already, and reads nothing.
            let is_off = found.is_err() && tape.is_none() && !stays;
            if let Ok(found) = &found {
                *known = Known::of(found);
            }
            let pages = known.now.len() as u64;
            let mut operator = Operator::connect(&at("ctl"), None).map_err(|e| e.to_string())?;
            let (mut copying, mut now) = (None, known.now.clone());
            let most = if stays { pages } else { 40 + 8 * row.length };
            for step in 0..if found.is_ok() { most } else { 0 } {
                let page = if stays {
                    step
                } else {
                    u64::from(draws.below(pages as u32) >> draws.below(3))
                };
                let before = moment();
                let fua = if draws.one_in(8) { wire::CMD_FLAG_FUA } else { 0 };
                let mut put = |command, content: u64, data: &[u8]| {
                    let asked = client.ask(command, fua, page * PAGE, PAGE as u32, data);
                    let is_done = matches!(asked, Ok(0));
                    let deed = if is_done { Deed::Put } else { Deed::Tried };
                    deeds.push((before, deed(page, content)));
                    now[page as usize] = vec![content];
                    is_done.then_some(()).ok_or_else(|| format!("page {page}: {asked:?}"))
                };
                let done = match draws.below(if stays { 1 } else { 14 }) {
                    1 => put(wire::CMD_TRIM, 0, &[]),
                    2 => put(wire::CMD_WRITE_ZEROES, 0, &[]),
                    3 | 4 => match client.flush() {
                        Ok(0) => {
                            deeds.push((moment(), Deed::Flushed));
                            Ok(())
                        }
                        other => Err(format!("flush: {other:?}")),
                    },
                    5 => {
                        let policy = row.policies[draws.index(row.policies.len())];
                        let change = Change { policy: Some(policy.into()), ..Change::default() };
                        // It may be refused, and the export goes on.
                        drop(operator.ask(Command::Set(change)));
                        Ok(())
                    }
                    6 if copying.is_none() => {
                        copying = Copying::begin(&at("ctl"), &now);
                        Ok(())
                    }
                    7 => copying.take().map_or(Ok(()), Copying::end),
                    8 => operator.ask(Command::Scrub).map(drop),
                    _ => {
                        *last += 1;
                        put(wire::CMD_WRITE, *last, &last.to_le_bytes().repeat(PAGE as usize / 8))
                    }
                };
                if let Err(e) = done {
                    broke = Some(e);
                    break;
                }
                if !stays && tape.as_ref().is_some_and(|tape| tape.len() as u64 > row.length) {
                    break;
                }
            }
            if stays && broke.is_none() && found.is_ok() {
                let done = client.flush();
                if !matches!(done, Ok(0)) {
                    broke = Some(format!("flush: {done:?}"));
                }
                deeds.push((moment(), Deed::Flushed));
            }
            drop((copying, operator, client));
            stopper.stop();
            let ended = running.join().map_err(|_| "the server panics".to_owned())?;
            if let (Err(e), None, true) = (ended, &broke, tape.is_some() || stays) {
                broke = Some(format!("stopped: {e}"));
            }
            if let Err(e) = found {
                if !is_off {
                    return Err(e);
                }
                broke = Some(e);
            }
        }
    }
    if let Some(tape) = tape {
        if let Some(e) = broke {
            return Err(e);
        }
        let events = tape.events();
        if stays {
            deeds.iter().for_each(|(_, deed)| known.learn(*deed));
            return Ok(Chip::Image(tape.bytes()));
        }
        let end = events.len().min(row.length as usize);
        let mut power = Power::of(bytes);
        events[..end].iter().for_each(|event| power.then(event));
        let reached = deeds.iter().filter(|(before, _)| *before <= end);
        reached.for_each(|(_, deed)| known.learn(*deed));
        let percent = [0, 20, 80, 100][draws.index(4)];
        let left = power.cut(|held| match draws.happens(percent) {
            true => Some(held - 1),
            false => Some(draws.index(4)),
        });
        return Ok(Chip::Image(left));
    }
    let chip = taken(&home);
    deeds.iter().for_each(|(_, deed)| known.learn(*deed));
    match broke {
        Some(e) if chip.is_on() => Err(e),
        _ => Ok(Chip::Ram(Box::new(chip))),
    }
}

fn row(number: u64, lives: u32) {
    let row = Row::of(number);
    let mut draws = Draws(number << 8);
    let mut chip = row.format(number);
    let mut known = Known::of(&vec![vec![0]; row.store.logical_pages as usize]);
    let mut last = 0;
    for life in 0..=lives {
        let stays = life % 20 == 0 || life == lives;
        chip = live(&row, chip, &mut known, &mut draws, &mut last, stays).unwrap_or_else(|e| {
            let Row { store, length, is_image, cache, .. } = &row;
            let (policy, kind) = (&store.policy.name, store.device.profile.kind);
            let nor = if kind == Kind::Nor { "NOR" } else { "NAND" };
            panic!(
                "row {number} ({policy}, {nor}, {length} operations, image {is_image}, cache {cache}), life \
                 {life}, stays on {stays}: {e}"
            )
        });
    }
}

#[test]
fn no_row_of_short_lives_loses_what_was_flushed_brings_back_older_data_or_locks_the_export() {
    let number = |name| std::env::var(name).ok().and_then(|value: String| value.parse().ok());
    let lives = number("THERMOCLINE_LIVES").unwrap_or(6) as u32;
    let rows = number("THERMOCLINE_LIVES_ROW").map_or(0..ROWS, |row| row..row + 1);
    let failed: Vec<u64> =
        rows.filter(|&number| std::panic::catch_unwind(|| row(number, lives)).is_err()).collect();
    assert!(failed.is_empty(), "rows {failed:?}; THERMOCLINE_LIVES_ROW runs one");
}
