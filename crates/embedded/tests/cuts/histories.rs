//! Histories of a store on a chip that fails, each drawn from a seed.
//!
//! `THERMOCLINE_FAULTS=brown-out:17` replays one; `THERMOCLINE_FAULT_HISTORIES=100000` runs so many of each kind, or those of the
//! seeds `100000..200000`, and says how many break which promise; `THERMOCLINE_FAULT_KIND=all` leaves out the other kinds.

use std::collections::BTreeMap;

use thermocline_embedded::{
    Block, Change, Config, Error, Ftl, Geometry, Memory, map_pages, most_logical_pages,
    policy::{
        Candidate, Cat, CostBenefit, Dac, Greedy, HotCold, Old, OneStream, Placement,
        UpdateInterval, Victim, Worth,
    },
};

use crate::{
    chip::{Chip, Draws, Faults},
    promises::{Broken, Promises, broken},
};

/// What happens in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Cuts that leave anything of what they cut off.
    Torn,
    /// Also areas without the data of their pages.
    AreaAlone,
    /// And pages that read well at first.
    Unstable,
    /// And programs and erases that fail.
    Failing,
    /// And operations that time out.
    Timeouts,
    /// And pages that cannot be read any more.
    Unreadable,
    /// And bits beside pages that turn.
    Turned,
    /// And pages that the chip's correction makes worse.
    Miscorrected,
    /// And pages that fail some time after they were programmed.
    Weak,
    /// And blocks that wear out.
    WearOut,
    /// The power fails after a few operations, again and again, and nothing else is wrong.
    BrownOut,
    /// The same, with all that a cut may leave.
    TornBrownOut,
    /// All at once.
    All,
}

use Kind::{
    All, AreaAlone, BrownOut, Failing, Miscorrected, Timeouts, Torn, TornBrownOut, Turned,
    Unreadable, Unstable, Weak, WearOut,
};

/// Those of which some histories still break a promise.
pub const NOT_YET_SURVIVED: [Kind; 2] = [TornBrownOut, All];

/// Histories that broke a promise once, by faults so rare that few of the others meet them.
pub const MENDED: [(&str, u64); 32] = [
    // A block with torn pages was erased, and a number that had been hidden there was given out again.
    ("torn-brown-out", 572),
    // A page of the map was lost between two looks of one mount at it.
    ("all", 193),
    // A page was read that a cut may have touched, and the program that was to keep it timed out.
    ("all", 467),
    // What a mark says of a page before it was not believed, as the mark itself was written last.
    ("torn-brown-out", 360),
    // The first bytes of an area, and ones in place of the others, were taken for an area.
    ("torn-brown-out", 226),
    // Numbers were left out by a program that another one left out: they count.
    ("torn-brown-out", 313),
    // The end of a block that was cut off first was cleaned last, and what annuls it was erased before.
    ("torn-brown-out", 426),
    // The page that was programmed last was lost between two looks of a mount at it.
    ("all", 232),
    // Blocks were erased before the chip said that the page of the map that led to them is lost.
    ("all", 265),
    // A block that failed, and held a page that could not be moved, was written again.
    ("all", 527),
    // A page of the map was lost, and so many changes were found behind the one before it that nobody looked for what was lost.
    ("weak", 61),
    // The newer one of two pages of the map could be read no more when the older one was held against it.
    ("weak", 33),
    // A block was erased that said of another one what never counts there.
    ("torn-brown-out", 13),
    // A part of a damaged page of the map was believed that had been counted as lost: a block was erased too early.
    ("miscorrected", 254),
    // A look at a page beside which a bit had turned took the buffer in which a page of the map was being made.
    ("turned", 359),
    // Numbers that were left out made the sweep go on, and it took the pages that cleaning needed.
    ("brown-out", 166),
    ("torn-brown-out", 0),
    // A block whose last page was left out stayed open for ever, and nothing said that the page before never counts.
    ("timeouts", 1635),
    ("timeouts", 2306),
    // The first program after a doubtful one was cut off a page further than the next mount looked.
    ("timeouts", 2868),
    // A block that was cut off was not erased, as the chip timed out, and what annulled its end was.
    ("timeouts", 809),
    // The host saw that a page was trimmed, by a page of the map that was cut off and failed later.
    ("unstable", 1280),
    // The newest page of the map could be read no more, and no other one had said yet how large the map is.
    ("weak", 1254),
    // RAM was full of changes of a page of the map that is lost: those found so far counted, whatever came later.
    ("weak", 5_000_992),
    // A full block seemed to have one page less that counts, and was erased though that one annulled the end of another.
    ("torn-brown-out", 1843),
    // A mount that wrote changes of the map did not say again what the programs before it left out: after sixteen it was forgotten.
    ("torn-brown-out", 946),
    // Of a page of the map of which several copies are lost, changes were believed that came behind the oldest of these.
    ("weak", 8_003_992),
    // Blocks were erased at the first change of a life before a first program was on the chip.
    ("torn-brown-out", 209),
    // Of two copies of a page with one number the one counted that could not be read.
    ("torn-brown-out", 11_438),
    // The last page of a block was lost before the page of the map that led to it was: areas were to tell all, and did not.
    ("weak", 3_100_626),
    // The only copy of a page of the map was lost, the last page of its block: all that it led to were zeros.
    ("weak", 3_202_340),
    // The first page of a block of the map was lost, and a copy at the end of another block took its place.
    ("weak", 3_200_074),
];

pub const KINDS: [(&str, Kind); 13] = [
    ("torn", Torn),
    ("area-alone", AreaAlone),
    ("unstable", Unstable),
    ("failing", Failing),
    ("timeouts", Timeouts),
    ("unreadable", Unreadable),
    ("turned", Turned),
    ("miscorrected", Miscorrected),
    ("weak", Weak),
    ("wear-out", WearOut),
    ("brown-out", BrownOut),
    ("torn-brown-out", TornBrownOut),
    ("all", All),
];

/// Blocks, pages of a block, bytes of a page.
type Shape = (u32, u32, u32);

const SHAPES: [Shape; 6] =
    [(40, 8, 64), (64, 4, 128), (48, 16, 64), (60, 8, 256), (36, 32, 128), (64, 16, 96)];

/// Those of chips that keep snapshots: of one a block, of two, and of one with many patches.
const SHAPES_WITH_SNAPSHOTS: [Shape; 3] = [(256, 8, 384), (256, 15, 1024), (256, 24, 768)];

type Store<'a> = Ftl<'a, &'a mut Chip, AnyVictim, AnyPlacement>;

/// What a history works with beside its chip.
struct Setting {
    logical_pages: u32,
    /// Blocks that were bad at first.
    bad: u32,
    changes: u32,
    victim: u32,
    placement: u32,
}

/// Policies by number: any of them at each mount.
struct AnyVictim(u32);

impl Victim for AnyVictim {
    fn worth(&self, block: &Candidate) -> Worth {
        match self.0 {
            0 => Greedy.worth(block),
            1 => CostBenefit::default().worth(block),
            _ => Cat::default().worth(block),
        }
    }
}

struct AnyPlacement(u32);

impl AnyPlacement {
    fn with<T>(&self, what: impl Fn(&mut dyn Placement) -> T) -> T {
        match self.0 {
            0 => what(&mut OneStream),
            1 => what(&mut HotCold),
            2 => what(&mut UpdateInterval),
            _ => what(&mut Dac::<3>),
        }
    }
}

impl Placement for AnyPlacement {
    fn streams(&self) -> u8 {
        self.with(|placement| placement.streams())
    }
    fn host(&mut self, old: Option<Old>) -> u8 {
        self.with(|placement| placement.host(old))
    }
    fn survivor(&mut self, stream: u8) -> u8 {
        self.with(|placement| placement.survivor(stream))
    }
}

/// A store from its mount, or its making, to its end.
fn life<T>(
    chip: &mut Chip,
    setting: &Setting,
    format: bool,
    body: impl FnOnce(&mut Store<'_>) -> T,
) -> Result<T, Error> {
    let (victim, placement) = (AnyVictim(setting.victim), AnyPlacement(setting.placement));
    let directory = map_pages(chip.shape.page_size, setting.logical_pages) as usize;
    let mut blocks = vec![Block::UNKNOWN; chip.shape.blocks as usize];
    let mut directory = vec![0x5a5a_5a5a; directory];
    let mut changes = vec![Change::EMPTY; setting.changes as usize];
    let mut page = vec![0x5a; chip.shape.page_size as usize];
    let memory = Memory {
        blocks: blocks.as_mut_slice().into(),
        directory: directory.as_mut_slice().into(),
        changes: changes.as_mut_slice().into(),
        page: page.as_mut_slice().into(),
    };
    chip.begun();
    let mut store = if format {
        let config = Config { logical_pages: setting.logical_pages, spare_blocks: SPARE_BLOCKS };
        Ftl::format(chip, memory, victim, placement, config)?
    } else {
        Ftl::mount(chip, memory, victim, placement)?
    };
    Ok(body(&mut store))
}

/// One history.
struct History {
    kind: Kind,
    draws: Draws,
    promises: Promises,
    setting: Setting,
    data: Vec<u8>,
    acknowledged: u64,
    /// Lives often end with a checkpoint, or soon after one.
    stops: bool,
}

/// What a life went through until its end.
enum End {
    /// All requests were served.
    Served,
    /// The power failed.
    Off,
    /// The store is read-only, as it may be.
    WornOut,
}

impl History {
    fn lpn(&mut self) -> u32 {
        let all = self.setting.logical_pages;
        if self.draws.once_in(3) { self.draws.below(all) } else { self.draws.below(all / 6 + 1) }
    }

    /// Whether the store may be read-only now.
    fn may_be_worn_out(&self, chip: &Chip) -> bool {
        chip.lost_blocks() > self.setting.bad + SPARE_BLOCKS
    }

    /// What an error that came back from a request means.
    fn refused(&self, chip: &Chip, what: &str, e: Error) -> Result<Option<End>, Broken> {
        match e {
            Error::Device if chip.is_off() => Ok(Some(End::Off)),
            Error::Device if chip.faults.timeouts > 0 => Ok(None),
            Error::WornOut if self.may_be_worn_out(chip) => Ok(Some(End::WornOut)),
            Error::WornOut => Err(broken("locked", format!("{what}: {e}"))),
            Error::MapUnreadable(_) if self.promises.map_hurt => Ok(None),
            e => Err(broken("refused", format!("{what}: {e}"))),
        }
    }

    /// What the chip lost in the last call.
    fn note_losses(&mut self, chip: &mut Chip) {
        for content in chip.take_failed() {
            self.promises.lost(&content);
        }
    }

    fn read(&mut self, store: &mut Store<'_>, lpn: u32) -> Result<Option<End>, Broken> {
        self.data.resize(store.page_size() as usize, 0);
        store.nand_mut().called();
        let mut data = std::mem::take(&mut self.data);
        let seen = store.read(lpn, &mut data);
        self.data = data;
        self.note_losses(store.nand_mut());
        if let Err(Error::Device) = seen {
            return self.refused(store.nand(), "read", Error::Device);
        }
        self.promises.seen(lpn, seen, &self.data)?;
        Ok(None)
    }

    fn verify(&mut self, store: &mut Store<'_>) -> Result<Option<End>, Broken> {
        for lpn in 0..self.setting.logical_pages {
            let end = self.read(store, lpn)?;
            if end.is_some() {
                return Ok(end);
            }
        }
        Ok(None)
    }

    fn write(&mut self, store: &mut Store<'_>, lpn: u32) -> Result<Option<End>, Broken> {
        let mut data = std::mem::take(&mut self.data);
        self.promises.next(lpn, &mut data);
        let result = store.write(lpn, &data);
        self.data = data;
        self.note_losses(store.nand_mut());
        self.promises.written(lpn, result);
        self.acknowledged += u64::from(result.is_ok());
        result.map_or_else(|e| self.refused(store.nand(), "write", e), |()| Ok(None))
    }

    fn request(&mut self, store: &mut Store<'_>) -> Result<Option<End>, Broken> {
        store.nand_mut().called();
        let lpn = self.lpn();
        match self.draws.below(24) {
            0 => {
                let result = store.trim(lpn);
                self.note_losses(store.nand_mut());
                self.promises.trimmed(lpn, result)?;
                result.map_or_else(|e| self.refused(store.nand(), "trim", e), |_| Ok(None))
            }
            number @ (1 | 2) => {
                let (what, result) = if number == 1 || self.draws.once_in(2) {
                    ("flush", store.flush())
                } else {
                    ("checkpoint", store.checkpoint())
                };
                self.note_losses(store.nand_mut());
                if result.is_ok() {
                    self.promises.flushed();
                    let chip = store.nand_mut();
                    chip.may_lose |= what == "checkpoint" && !chip.lost_since;
                }
                result.map_or_else(|e| self.refused(store.nand(), what, e), |()| Ok(None))
            }
            3 => self.read(store, lpn),
            _ => self.write(store, lpn),
        }
    }

    /// A checkpoint as the last request of a life, or one of the last.
    fn stop(&mut self, store: &mut Store<'_>) -> Result<End, Broken> {
        store.nand_mut().called();
        let result = store.checkpoint();
        self.note_losses(store.nand_mut());
        if let Err(e) = result {
            return Ok(self.refused(store.nand(), "checkpoint", e)?.unwrap_or(End::Served));
        }
        self.promises.flushed();
        let chip = store.nand_mut();
        chip.may_lose |= !chip.lost_since;
        let more = self.draws.pick(&[0, 0, 1, 2, 9]);
        self.requests(store, more)
    }

    fn requests(&mut self, store: &mut Store<'_>, count: u32) -> Result<End, Broken> {
        for _ in 0..count {
            if let Some(end) = self.request(store)? {
                return Ok(end);
            }
            if self.draws.once_in(40) {
                self.damage(store.nand_mut());
            }
        }
        Ok(End::Served)
    }

    /// Something happens to a page.
    fn damage(&mut self, chip: &mut Chip) {
        let kind = match self.kind {
            All => self.draws.pick(&[Torn, Unreadable, Turned, Miscorrected]),
            kind => kind,
        };
        if !matches!(kind, Unreadable | Turned | Miscorrected) {
            return;
        }
        let Some(page) = chip.a_programmed_page(true) else { return };
        let two_bits = self.draws.once_in(4);
        // One bit is corrected, nothing is lost; two are noticed.
        let is_lost = kind != Turned || two_bits || chip.is_turned(page);
        if is_lost {
            if !chip.may_lose {
                return;
            }
            (chip.may_lose, chip.lost_since) = (false, true);
        }
        match kind {
            Unreadable => {
                let area = self.draws.once_in(2);
                chip.damage(page, area);
                self.promises.lost(chip.content(page));
            }
            Turned => {
                let bit = self.draws.below(128);
                chip.turn_area(page, bit);
                if two_bits {
                    chip.turn_area(page, (bit + 1 + self.draws.below(127)) % 128);
                }
                if is_lost {
                    self.promises.lost(chip.content(page));
                }
            }
            _ => {
                self.promises.miscorrected(chip.content(page));
                chip.miscorrect(page);
            }
        }
    }

    /// A life of so many operations of the chip and requests of the host.
    fn live(&mut self, chip: &mut Chip, operations: u32, requests: u32) -> Result<(), Broken> {
        chip.power_on(operations);
        let mut tries = 0;
        loop {
            self.promises.mounted();
            let setting = Setting { ..self.setting };
            let lived = life(chip, &setting, false, |store| {
                // It was read to its end: what the chip lost by that is known.
                self.note_losses(store.nand_mut());
                if self.draws.below(4) > 0 && self.verify(store)?.is_some() {
                    return Ok(End::Off);
                }
                let mut end = self.requests(store, requests)?;
                if self.stops && matches!(end, End::Served) && self.draws.once_in(2) {
                    end = self.stop(store)?;
                }
                if matches!(end, End::Served | End::WornOut) && self.draws.once_in(2) {
                    self.verify(store)?;
                }
                Ok(end)
            });
            self.note_losses(chip);
            if let Some(rule) = chip.broken.take() {
                return Err(broken("rule", rule));
            }
            match lived {
                Ok(end) => return end.map(drop),
                Err(Error::Device) if chip.is_off() => return Ok(()),
                // A mount of 27,000 loads, of which one in 5,000 times out, takes some hundred of them.
                Err(Error::Device) if chip.faults.timeouts > 0 && tries < 5000 => tries += 1,
                Err(e) => return Err(broken("mount", format!("mount: {e}"))),
            }
        }
    }

    /// Nothing fails any more: all is there, and the store goes on.
    fn ends_well(&mut self, chip: &mut Chip) -> Result<(), Broken> {
        let worn = self.may_be_worn_out(chip);
        let endurance = chip.faults.endurance;
        chip.faults = Faults { endurance, ..Faults::default() };
        for _ in 0..2 {
            chip.power_on(u32::MAX);
            self.promises.mounted();
            let setting = Setting { ..self.setting };
            let went_on = life(chip, &setting, false, |store| {
                self.note_losses(store.nand_mut());
                self.verify(store)?;
                for _ in 0..60 {
                    let lpn = self.lpn();
                    if matches!(self.write(store, lpn)?, Some(End::WornOut)) {
                        break;
                    }
                }
                self.verify(store)
            });
            if let Some(rule) = chip.broken.take() {
                return Err(broken("rule", rule));
            }
            match went_on {
                Ok(done) => {
                    done?;
                }
                Err(Error::WornOut) if worn => {}
                Err(e) => return Err(broken("mount", format!("the last mount: {e}"))),
            }
        }
        Ok(())
    }
}

/// A store that was used for a while on a chip without faults.
#[derive(Clone)]
struct Used {
    chip: Chip,
    promises: Promises,
    logical_pages: u32,
}

const SPARE_BLOCKS: u32 = 2;

fn used((blocks, pages, page_size): Shape, full: u32, bad: u32) -> Used {
    let shape = Geometry { blocks, pages, page_size };
    let mut chip = Chip::new(shape, u64::from(blocks));
    (0..bad).for_each(|i| chip.bad_from_the_factory(i * 7 % blocks));
    let most = most_logical_pages(&shape, SPARE_BLOCKS + bad, 3);
    let logical_pages = (most * full / 100).max(1);
    let changes = 3 * map_pages(page_size, logical_pages) + 8;
    let setting = Setting { logical_pages, bad, changes, victim: 0, placement: 3 };
    let promises = Promises::new(logical_pages, page_size);
    let mut history = History {
        kind: Torn,
        draws: Draws(7),
        promises,
        setting,
        data: Vec::new(),
        acknowledged: 0,
        stops: false,
    };
    let setting = Setting { ..history.setting };
    let lived = life(&mut chip, &setting, true, |store| {
        for lpn in 0..logical_pages {
            history.write(store, lpn)?;
        }
        history.requests(store, 2 * logical_pages)?;
        store.flush().map_err(|e| broken("refused", format!("flush: {e}")))?;
        history.promises.flushed();
        history.verify(store)
    });
    match lived {
        Ok(Ok(_)) => Used { chip, promises: history.promises, logical_pages },
        Ok(Err(e)) => panic!("{shape:?}, {full} % full: {e:?}"),
        Err(e) => panic!("{shape:?}, {full} % full: {e}"),
    }
}

/// The stores that histories begin with.
#[derive(Default)]
pub struct Stores(BTreeMap<(Shape, u32, u32), Used>);

impl Stores {
    /// A history, on a chip that keeps snapshots or on one that is too small for them.
    pub fn history(&mut self, kind: Kind, seed: u64, stops: bool) -> Result<u64, Broken> {
        let mut draws = Draws(seed ^ (kind as u64) << 48);
        let shape = draws.pick(if stops { &SHAPES_WITH_SNAPSHOTS } else { SHAPES.as_slice() });
        let full = draws.pick(&[50, 70, 85, 97]);
        let bad = draws.pick(&[0, 0, 1, 2]);
        let used = self.0.entry((shape, full, bad)).or_insert_with(|| used(shape, full, bad));
        let Used { mut chip, promises, logical_pages } = used.clone();
        let least = 2 * map_pages(chip.shape.page_size, logical_pages);
        let setting = Setting {
            logical_pages,
            bad,
            changes: if stops {
                draws.pick(&[least, 3 * least, 300, 600, 600, 800]).max(least)
            } else {
                draws.pick(&[least, least + 5, 3 * least, logical_pages]).max(least)
            },
            victim: draws.below(3),
            placement: draws.below(4),
        };
        chip.draws = Draws(draws.next());
        chip.faults = faults(kind, &mut draws);
        let mut history =
            History { kind, draws, promises, setting, data: Vec::new(), acknowledged: 0, stops };
        let brown_out = matches!(kind, BrownOut | TornBrownOut);
        let lives = if brown_out && stops {
            40
        } else if brown_out {
            150
        } else {
            2 + history.draws.below(6)
        };
        let longest = if brown_out { history.draws.pick(&[1, 2, 4, 8, 16, 32, 64]) } else { 400 };
        for _ in 0..lives {
            let operations = if brown_out { longest } else { history.draws.below(longest) };
            let requests = if brown_out { u32::MAX } else { history.draws.below(longest) };
            history.live(&mut chip, operations, requests)?;
            history.damage(&mut chip);
            if history.draws.once_in(8) {
                history.setting.victim = history.draws.below(3);
                history.setting.placement = history.draws.below(4);
            }
        }
        history.ends_well(&mut chip)?;
        Ok(history.acknowledged)
    }
}

fn faults(kind: Kind, draws: &mut Draws) -> Faults {
    let torn = Faults { torn: kind != BrownOut, flicker: draws.once_in(2), ..Faults::default() };
    match kind {
        AreaAlone => Faults { area_alone: true, ..torn },
        Unstable => Faults { unstable: true, ..torn },
        Failing => Faults { failing: 40, failing_blocks: draws.pick(&[1, 2, 9]), ..torn },
        Timeouts => Faults { timeouts: draws.pick(&[10, 30, 100]), ..torn },
        Weak => Faults { weak: 60, ..torn },
        WearOut => Faults { endurance: 20, ..torn },
        All => Faults {
            area_alone: true,
            unstable: true,
            failing: 100,
            failing_blocks: 1,
            timeouts: 60,
            weak: 100,
            ..torn
        },
        _ => torn,
    }
}

pub fn replay(name: &str, seed: u64, stops: bool) -> String {
    let test = if stops { "faults_where_snapshots_are_kept" } else { "faults" };
    format!(
        "THERMOCLINE_FAULTS={name}:{seed} cargo test -p thermocline-embedded --test cuts -- --exact faults::{test} --nocapture"
    )
}
