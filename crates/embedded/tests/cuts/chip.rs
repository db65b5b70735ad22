//! A strict chip in memory: it checks the rules of NAND, and does to a layer whatever a chip may do.
//!
//! A page and the area beside it fail apart. What a loss of power leaves of a program or an erase is drawn from all that
//! has been seen: also a page that reads well now and fails later, and a block that reads as blank and is not erased.

use thermocline_embedded::{AREA, Area, Found, Geometry, Nand, NandError};

/// Numbers that look random (SplitMix64).
#[derive(Clone, Debug)]
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }

    /// True once in so many times; never for 0.
    pub fn once_in(&mut self, times: u32) -> bool {
        times > 0 && self.below(times) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}

/// What may happen to a chip. A number is "once in so many operations", 0 is never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A cut leaves more than all of an operation or nothing of it.
    pub torn: bool,
    /// Or the area of a page is written, and its data are not.
    pub area_alone: bool,
    /// A program that a cut ends leaves a page that cannot be read, beside an area that is blank.
    pub unseen: bool,
    /// Pages that a cut left torn can be read at one time and not at another.
    pub flicker: bool,
    /// A program that a cut ends may read well at first and fail later.
    pub unstable: bool,
    /// Programs and erases fail, done or not.
    pub failing: u32,
    /// Blocks that fail at most.
    pub failing_blocks: u32,
    /// Operations time out, done or not, and so do reads.
    pub timeouts: u32,
    /// Programmed pages that fail after some reads.
    pub weak: u32,
    /// Erases that a block stands.
    pub endurance: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Blank,
    Programmed,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    is: Is,
    data_reads: bool,
    area_reads: bool,
    /// Reads until it can be read no more.
    reads_left: u32,
    /// Its program was done.
    whole: bool,
    flickers: bool,
}

const BLANK: Cell = Cell {
    is: Is::Blank,
    data_reads: true,
    area_reads: true,
    reads_left: u32::MAX,
    whole: true,
    flickers: false,
};

#[derive(Clone, Copy, Debug, Default)]
struct Home {
    /// Marked as bad.
    bad: bool,
    /// A program or an erase of it failed: others do so as well.
    failing: bool,
    /// It failed since the layer was made: nothing may be programmed.
    failed: bool,
    /// An erase of it was cut off, and none was done since.
    half_erased: bool,
    erases: u32,
}

/// What the power's failing leaves of an operation.
enum Ends {
    Done,
    Fails,
    /// The chip does not answer: done or not.
    TimesOut,
    Cut,
}

/// Operations of a chip.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub loads: u64,
    pub programs: u64,
    pub erases: u64,
}

/// The chip.
#[derive(Clone, Debug)]
pub struct Chip {
    pub shape: Geometry,
    pub faults: Faults,
    pub draws: Draws,
    cells: Vec<Cell>,
    data: Vec<u8>,
    areas: Vec<[u8; AREA]>,
    homes: Vec<Home>,
    /// Programs, erases and marks until the power fails.
    left: u32,
    off: bool,
    /// What was done since the chip was made.
    pub counts: Counts,
    /// Reads since the layer was called.
    reads: u64,
    /// The bus gives ones, and no error.
    pub ones: bool,
    /// The next program is done, and this is what the chip says of it.
    pub answer_once: Option<NandError>,
    /// The first rule that was broken.
    pub broken: Option<String>,
    /// What pages held that failed though their program was done, since [`Chip::take_failed`].
    failed: Vec<Vec<u8>>,
    /// The page that was programmed last. It is not lost before another one is done: with the program behind it cut off nothing
    /// on the chip tells a page that is lost from one that was cut off, so no layer can say whose page that was.
    last: Option<usize>,
    /// A page may be lost, until the store has said so and, after the next mount, has written all of its map: what two losses
    /// at once take is more than anything on the chip can tell.
    pub may_lose: bool,
    /// One was since the last mount.
    pub lost_since: bool,
    /// The driver takes no snapshots.
    pub declines_snapshots: bool,
}

/// Reads in one call of the layer, beyond which it does not end.
const ENDLESS: u64 = 2_000_000;

impl Chip {
    pub fn new(shape: Geometry, seed: u64) -> Self {
        let pages = (shape.blocks * shape.pages) as usize;
        Self {
            shape,
            faults: Faults::default(),
            draws: Draws(seed),
            cells: vec![BLANK; pages],
            data: vec![0xff; pages * shape.page_size as usize],
            areas: vec![[0xff; AREA]; pages],
            homes: vec![Home::default(); shape.blocks as usize],
            left: u32::MAX,
            off: false,
            counts: Counts::default(),
            reads: 0,
            ones: false,
            answer_once: None,
            broken: None,
            failed: Vec::new(),
            last: None,
            may_lose: true,
            lost_since: false,
            declines_snapshots: false,
        }
    }

    /// The maker found it bad.
    pub fn bad_from_the_factory(&mut self, block: u32) {
        self.homes[block as usize].bad = true;
    }

    /// Blocks that failed or are marked as bad.
    pub fn lost_blocks(&self) -> u32 {
        self.homes.iter().filter(|home| home.bad || home.failing).count() as u32
    }

    pub fn is_off(&self) -> bool {
        self.off
    }

    /// The power is back, for so many operations.
    pub fn power_on(&mut self, left: u32) {
        (self.off, self.left) = (false, left);
        if self.faults.flicker {
            for at in 0..self.cells.len() {
                if self.cells[at].flickers {
                    let (data, area) = (self.draws.once_in(2), self.draws.once_in(2));
                    (self.cells[at].data_reads, self.cells[at].area_reads) = (data, data || area);
                }
            }
        }
    }

    /// A layer is made, which knows of no failure that the chip is not marked with.
    pub fn begun(&mut self) {
        self.called();
        self.lost_since = false;
        for home in &mut self.homes {
            home.failed = false;
        }
    }

    /// The layer is called.
    pub fn called(&mut self) {
        self.reads = 0;
    }

    /// What pages held that failed since it was asked.
    pub fn take_failed(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.failed)
    }

    /// What a page was programmed with.
    pub fn content(&self, page: u32) -> &[u8] {
        let size = self.shape.page_size as usize;
        &self.data[page as usize * size..][..size]
    }

    /// A page that was programmed, can be read, and can be damaged; with `settled`, one that is not the last of its block.
    pub fn a_programmed_page(&mut self, settled: bool) -> Option<u32> {
        let good = |at: usize| {
            let cell = self.cells.get(at);
            cell.is_some_and(|c| c.is == Is::Programmed && c.data_reads && c.area_reads)
        };
        for _ in 0..200 {
            let page = self.draws.0 % self.cells.len() as u64;
            self.draws.next();
            let at = page as usize;
            let last = (page + 1).is_multiple_of(u64::from(self.shape.pages));
            if good(at) && (!settled || !last && good(at + 1)) {
                return Some(page as u32);
            }
        }
        None
    }

    /// Whether a later page of its block is programmed.
    pub fn is_followed(&self, page: u32) -> bool {
        let later = page as usize + 1;
        !later.is_multiple_of(self.shape.pages as usize) && self.cells[later].is == Is::Programmed
    }

    /// The page, and perhaps its area, cannot be read from now on.
    pub fn damage(&mut self, page: u32, area: bool) {
        self.cells[page as usize].data_reads = false;
        self.cells[page as usize].area_reads &= !area;
    }

    /// Whether bits beside a page turned before.
    pub fn is_turned(&self, page: u32) -> bool {
        Area::decode(&self.areas[page as usize]) == Found::Torn
    }

    /// Bits beside a page turn.
    pub fn turn_area(&mut self, page: u32, bit: u32) {
        self.areas[page as usize][bit as usize / 8] ^= 1 << (bit % 8);
    }

    /// The chip's correction makes of a page something else, and says that it is well.
    pub fn miscorrect(&mut self, page: u32) {
        let size = self.shape.page_size;
        for _ in 0..=self.draws.below(4) {
            let at = page * size + self.draws.below(size);
            self.data[at as usize] ^= 1 << self.draws.below(8);
        }
    }

    fn rule(&mut self, kept: bool, rule: &str, at: u32) {
        if !kept && self.broken.is_none() {
            self.broken = Some(format!("{rule}: {at}"));
        }
    }

    fn looked_at(&mut self, page: u32) -> Result<usize, NandError> {
        if self.off {
            return Err(NandError::Device);
        }
        self.reads += 1;
        self.counts.loads += 1;
        let on_chip = (page as usize) < self.cells.len();
        self.rule(on_chip, "a page beyond the chip is read", page);
        self.rule(self.reads < ENDLESS, "a call does not end; page", page);
        if !on_chip || self.reads >= ENDLESS || self.draws.once_in(self.faults.timeouts * 500) {
            return Err(NandError::Device);
        }
        let mut cell = self.cells[page as usize];
        if cell.reads_left != u32::MAX {
            let may_lose = self.may_lose && self.last != Some(page as usize);
            if cell.reads_left == 0 && cell.data_reads && (may_lose || !cell.whole) {
                (cell.data_reads, cell.area_reads) = (false, false);
                if cell.whole {
                    (self.may_lose, self.lost_since) = (false, true);
                    self.failed.push(self.content(page).to_vec());
                }
            }
            cell.reads_left = cell.reads_left.saturating_sub(1);
            self.cells[page as usize] = cell;
        }
        Ok(page as usize)
    }

    fn ends(&mut self, block: u32) -> Result<Ends, NandError> {
        if self.off {
            return Err(NandError::Device);
        }
        if self.left != u32::MAX {
            if self.left == 0 {
                self.off = true;
                return Ok(Ends::Cut);
            }
            self.left -= 1;
        }
        let failing = self.homes.iter().filter(|home| home.failing).count() as u32;
        let home = &mut self.homes[block as usize];
        let worn = self.faults.endurance > 0 && home.erases >= self.faults.endurance;
        let may_fail = home.failing && self.draws.once_in(2)
            || worn && self.draws.once_in(4)
            || failing < self.faults.failing_blocks && self.draws.once_in(self.faults.failing);
        if may_fail {
            (home.failing, home.failed) = (true, true);
            return Ok(Ends::Fails);
        }
        Ok(if self.draws.once_in(self.faults.timeouts) { Ends::TimesOut } else { Ends::Done })
    }

    fn set(&mut self, page: usize, data: &[u8], area: &[u8; AREA]) {
        let size = self.shape.page_size as usize;
        self.data[page * size..][..size].copy_from_slice(data);
        self.areas[page] = *area;
        self.cells[page] = Cell { is: Is::Programmed, ..BLANK };
    }

    fn blank(&mut self, page: usize) {
        let size = self.shape.page_size as usize;
        self.data[page * size..][..size].fill(0xff);
        self.areas[page] = [0xff; AREA];
        self.cells[page] = BLANK;
    }

    /// What is left of a program that was cut off.
    fn cut_program(&mut self, page: usize, data: &[u8], area: &[u8; AREA]) {
        if self.faults.unseen {
            self.set(page, data, &[0xff; AREA]);
            self.cells[page].data_reads = false;
            return;
        }
        let all = if self.faults.torn { 5 + u32::from(self.faults.area_alone) } else { 2 };
        let outcome = self.draws.below(all);
        if self.faults.unstable && self.draws.once_in(2) {
            self.set(page, data, area);
            self.cells[page].reads_left = 1 + self.draws.below(12);
            self.cells[page].whole = false;
            return;
        }
        match outcome {
            0 => {}
            1 => self.set(page, data, area),
            // A part of the cells has its charge; the area may be read raw.
            2 => {
                let programmed = self.draws.below(AREA as u32) as usize;
                let mut raw = [0xff; AREA];
                raw[..programmed].copy_from_slice(&area[..programmed]);
                self.set(page, data, &raw);
                self.cells[page].data_reads = false;
            }
            3 => {
                self.set(page, data, area);
                self.cells[page].data_reads = false;
                self.cells[page].flickers = true;
            }
            4 => {
                self.set(page, data, area);
                (self.cells[page].data_reads, self.cells[page].area_reads) = (false, false);
                self.cells[page].flickers = true;
            }
            // The area is there, the data are not.
            _ => {
                let ones = vec![0xff; data.len()];
                self.set(page, &ones, area);
            }
        }
    }

    /// What is left of a block of which an erase was cut off.
    fn cut_erase(&mut self, block: u32) {
        let pages = self.pages_of(block);
        let outcome = self.draws.below(if self.faults.torn { 6 } else { 2 });
        if outcome == 0 {
            return;
        }
        self.homes[block as usize].half_erased = outcome != 1;
        let first = self.draws.below(self.shape.pages) as usize + pages.start;
        let front = self.draws.once_in(2);
        for page in pages {
            match outcome {
                // All that shows; it is erased (1), or not (2).
                1 | 2 => self.blank(page),
                3 if (page < first) == front => self.blank(page),
                3 => {}
                // Data are gone, areas can be read.
                4 if self.cells[page].is != Is::Blank => {
                    self.cells[page].data_reads = false;
                    self.cells[page].flickers = false;
                }
                4 => {}
                _ => {
                    self.set(page, &vec![0; self.shape.page_size as usize], &[0x5a; AREA]);
                    (self.cells[page].data_reads, self.cells[page].area_reads) = (false, false);
                }
            }
        }
    }

    fn pages_of(&self, block: u32) -> std::ops::Range<usize> {
        (block * self.shape.pages) as usize..((block + 1) * self.shape.pages) as usize
    }
}

impl Nand for Chip {
    fn geometry(&self) -> Geometry {
        self.shape
    }

    fn keeps_snapshots(&self) -> bool {
        !self.declines_snapshots
    }

    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        let at = self.looked_at(page)?;
        let inside = offset as usize + into.len() <= self.shape.page_size as usize;
        self.rule(inside, "bytes beyond a page are read", page);
        if !self.cells[at].data_reads || !inside {
            return Err(NandError::Unreadable);
        }
        if self.ones {
            into.fill(0xff);
            return Ok(());
        }
        let from = at * self.shape.page_size as usize + offset as usize;
        into.copy_from_slice(&self.data[from..][..into.len()]);
        Ok(())
    }

    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        let at = self.looked_at(page)?;
        if !self.cells[at].area_reads {
            return Err(NandError::Unreadable);
        }
        *into = if self.ones { [0xff; AREA] } else { self.areas[at] };
        Ok(())
    }

    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        let (at, block) = (page as usize, page / self.shape.pages);
        let on_chip = at < self.cells.len() && data.len() == self.shape.page_size as usize;
        self.rule(on_chip, "a page beyond the chip is programmed", page);
        if !on_chip {
            return Err(NandError::Device);
        }
        let home = self.homes[block as usize];
        let ends = self.ends(block)?;
        let pages = self.pages_of(block);
        self.rule(!home.bad, "a page of a bad block is programmed", page);
        self.rule(!home.failed, "a page of a block that failed is programmed", page);
        self.rule(
            !home.half_erased,
            "a page of a block whose erase was cut off is programmed",
            page,
        );
        let is = self.cells[at].is;
        self.rule(is != Is::Programmed, "a page is programmed twice", page);
        let in_order = self.cells[at + 1..pages.end].iter().all(|cell| cell.is == Is::Blank);
        self.rule(in_order, "pages are programmed out of order", page);
        match ends {
            Ends::Done => {
                self.counts.programs += 1;
                self.last = Some(at);
                self.set(at, data, area);
                if let Some(answer) = self.answer_once.take() {
                    return Err(answer);
                }
                if self.draws.once_in(self.faults.weak) {
                    self.cells[at].reads_left = self.draws.below(40);
                }
                Ok(())
            }
            Ends::Fails => {
                match self.draws.below(4) {
                    0 => {}
                    1 => self.set(at, data, area),
                    _ => {
                        self.set(at, data, area);
                        self.cells[at].data_reads = false;
                        self.cells[at].area_reads = self.draws.once_in(2);
                    }
                }
                Err(NandError::Failed)
            }
            Ends::TimesOut => {
                match self.draws.below(3) {
                    0 => {}
                    1 => self.set(at, data, area),
                    _ => self.cut_program(at, data, area),
                }
                Err(NandError::Device)
            }
            Ends::Cut => {
                self.cut_program(at, data, area);
                Err(NandError::Device)
            }
        }
    }

    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        let on_chip = block < self.shape.blocks;
        self.rule(on_chip, "a block beyond the chip is erased", block);
        if !on_chip {
            return Err(NandError::Device);
        }
        let ends = self.ends(block)?;
        self.rule(!self.homes[block as usize].bad, "a bad block is erased", block);
        if matches!(ends, Ends::Cut) {
            self.cut_erase(block);
            return Err(NandError::Device);
        }
        let done = !matches!(ends, Ends::Fails | Ends::TimesOut) || self.draws.once_in(2);
        if done {
            self.pages_of(block).for_each(|page| self.blank(page));
            self.homes[block as usize].half_erased = false;
            self.homes[block as usize].erases += 1;
            self.counts.erases += 1;
        }
        match ends {
            Ends::Fails => Err(NandError::Failed),
            Ends::TimesOut => Err(NandError::Device),
            Ends::Done | Ends::Cut => Ok(()),
        }
    }

    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        if self.off || block >= self.shape.blocks || self.draws.once_in(self.faults.timeouts * 500)
        {
            return Err(NandError::Device);
        }
        Ok(self.homes[block as usize].bad)
    }

    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        let ends = self.ends(block)?;
        let done = matches!(ends, Ends::Done) || self.draws.once_in(2);
        self.homes[block as usize].bad |= done;
        match ends {
            Ends::Cut | Ends::TimesOut => Err(NandError::Device),
            Ends::Done | Ends::Fails => Ok(()),
        }
    }
}
