//! What every port should pass, on the host and on the target: a chip in memory that loses power and whose blocks
//! fail, and histories of reads, writes, trims and flushes that are cut at each operation of that chip.
//!
//! Nothing here allocates, prints or panics: what is wrong is a [`Fault`].

use crate::{
    AREA, Config, Error, Ftl, Geometry, Nand, NandError, Static, map_pages,
    policy::{Placement, Victim},
};

/// Bytes of a page of the [`Chip`].
pub const PAGE: usize = 64;
/// The shape of the [`Chip`].
pub const SHAPE: Geometry = Geometry { blocks: 23, pages: 8, page_size: PAGE as u32 };
/// Logical pages of the store on it.
pub const LOGICAL_PAGES: usize = 48;

const DIRECTORY: usize = map_pages(PAGE as u32, LOGICAL_PAGES as u32) as usize;
/// Few, so that pages of the map are written all the time.
const CHANGES: usize = 3 * DIRECTORY;
const PAGES: usize = (SHAPE.blocks * SHAPE.pages) as usize;
/// Where the operations of a history end at the latest.
const ENDLESS: u32 = u32::MAX;

/// What a page of the [`Chip`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageIs {
    Blank,
    Programmed,
    Torn,
    /// Torn, but what stands beside it can be read.
    TornBesideArea,
}

/// A chip in memory that checks the rules of NAND, fails, and loses power.
#[derive(Debug)]
pub struct Chip {
    data: [[u8; PAGE]; PAGES],
    areas: [[u8; AREA]; PAGES],
    is: [PageIs; PAGES],
    bad: [bool; SHAPE.blocks as usize],
    /// Blocks of which a program or an erase failed.
    failed: [bool; SHAPE.blocks as usize],
    /// Operations until the power fails.
    left: u32,
    /// Operations so far.
    done: u32,
    /// One program or erase in so many fails; 0 for none.
    failing: u32,
    /// What the operation leaves that the power cuts off.
    draws: Draws,
    /// The first rule that the layer broke.
    broken: Option<Fault>,
}

/// What a conformance test found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The layer programmed a page twice, out of order, in a bad block, or in one that failed.
    Rule(u32),
    /// A logical page does not hold what it must: its number, and the version found.
    Lost(u32, u32),
    /// An operation failed that must not.
    Failed(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Numbers that look random (Marsaglia's xorshift).
#[derive(Clone, Copy, Debug)]
struct Draws(u32);

impl Draws {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        ((u64::from(self.0) * u64::from(bound)) >> 32) as u32
    }
}

impl Default for Chip {
    fn default() -> Self {
        Self::new()
    }
}

impl Chip {
    /// An erased chip.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            data: [[0xff; PAGE]; PAGES],
            areas: [[0xff; AREA]; PAGES],
            is: [PageIs::Blank; PAGES],
            bad: [false; SHAPE.blocks as usize],
            failed: [false; SHAPE.blocks as usize],
            left: ENDLESS,
            done: 0,
            failing: 0,
            draws: Draws(1),
            broken: None,
        }
    }

    fn clear(&mut self, seed: u32) {
        self.is.fill(PageIs::Blank);
        self.areas.fill([0xff; AREA]);
        self.bad.fill(false);
        self.failed.fill(false);
        (self.left, self.done, self.failing) = (ENDLESS, 0, 0);
        self.draws = Draws(seed.wrapping_mul(0x9e37_79b9) | 1);
        self.broken = None;
    }

    fn set(&mut self, page: usize, is: PageIs) {
        self.is[page] = is;
        if is == PageIs::Blank {
            self.areas[page] = [0xff; AREA];
        }
    }

    /// Another program, erase or mark. Of the one that the power cuts off: how much of it is done, 0 to 3.
    fn operation(&mut self) -> Result<Option<u32>, NandError> {
        if self.left == 0 {
            return Err(NandError::Device);
        }
        self.left -= 1;
        self.done += 1;
        Ok((self.left == 0).then(|| self.draws.below(4)))
    }

    fn fails(&mut self, block: u32) -> bool {
        let fails = self.failing > 0 && self.draws.below(self.failing) == 0;
        self.failed[block as usize] |= fails;
        fails
    }

    /// What could not be read can be read now.
    fn heal(&mut self) {
        for page in &mut self.is {
            if *page != PageIs::Blank {
                *page = PageIs::Programmed;
            }
        }
    }

    fn check(&mut self, page: u32) {
        let (first, at) = (page / SHAPE.pages * SHAPE.pages, page as usize);
        let blank = |page: &PageIs| *page == PageIs::Blank;
        let in_order = self.is[at..][..(first + SHAPE.pages - page) as usize].iter().all(blank);
        let block = (page / SHAPE.pages) as usize;
        if !in_order || self.bad[block] || self.failed[block] {
            self.broken.get_or_insert(Fault::Rule(page));
        }
    }
}

impl Nand for Chip {
    fn geometry(&self) -> Geometry {
        SHAPE
    }

    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        let at = page as usize;
        match self.is[at] {
            _ if self.left == 0 => Err(NandError::Device),
            PageIs::Torn | PageIs::TornBesideArea => Err(NandError::Unreadable),
            PageIs::Blank => {
                into.fill(0xff);
                Ok(())
            }
            PageIs::Programmed => {
                into.copy_from_slice(&self.data[at][offset as usize..][..into.len()]);
                Ok(())
            }
        }
    }

    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        *into = self.areas[page as usize];
        match self.is[page as usize] {
            _ if self.left == 0 => Err(NandError::Device),
            PageIs::Torn => Err(NandError::Unreadable),
            _ => Ok(()),
        }
    }

    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        let cut = self.operation()?;
        self.check(page);
        let at = page as usize;
        self.data[at].copy_from_slice(data);
        self.areas[at] = *area;
        if self.fails(page / SHAPE.pages) {
            self.set(at, PageIs::Torn);
            return Err(NandError::Failed);
        }
        let is = match cut {
            Some(0) => PageIs::Blank,
            Some(1) => PageIs::Torn,
            Some(2) => PageIs::TornBesideArea,
            Some(_) | None => PageIs::Programmed,
        };
        self.set(at, is);
        if cut.is_some() { Err(NandError::Device) } else { Ok(()) }
    }

    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        let cut = self.operation()?;
        if self.bad[block as usize] {
            self.broken.get_or_insert(Fault::Rule(block * SHAPE.pages));
        }
        let pages = (block * SHAPE.pages) as usize..((block + 1) * SHAPE.pages) as usize;
        if self.fails(block) {
            pages.for_each(|page| self.set(page, PageIs::Torn));
            return Err(NandError::Failed);
        }
        for page in pages {
            match cut {
                Some(0) => {}
                Some(1) => self.set(page, PageIs::Torn),
                Some(2) if page % 2 == 0 => self.set(page, PageIs::Torn),
                Some(_) | None => self.set(page, PageIs::Blank),
            }
        }
        if cut.is_some() { Err(NandError::Device) } else { Ok(()) }
    }

    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        if self.left == 0 { Err(NandError::Device) } else { Ok(self.bad[block as usize]) }
    }

    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        let cut = self.operation()?;
        self.bad[block as usize] = cut.is_none_or(|done| done > 1);
        if cut.is_some() { Err(NandError::Device) } else { Ok(()) }
    }
}

/// What a logical page may hold: versions, 0 for nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    /// What the last operation left.
    now: u32,
    /// What a loss of power may leave in its place: what a trim that was not flushed hides, or what an operation that
    /// was cut off would have written.
    or: [u32; Self::MOST],
    others: usize,
}

impl Expected {
    /// After a mount until the first change: what was cut off may be seen by one mount and not by another.
    const MOST: usize = 8;

    fn may_be(&mut self, version: u32) {
        if !self.or[..self.others].contains(&version) && self.others < Self::MOST {
            self.or[self.others] = version;
            self.others += 1;
        }
    }

    fn is(&mut self, version: u32) {
        (self.now, self.others) = (version, 0);
    }
}

/// The memory of a conformance test, for a `static` where the stack is small.
#[derive(Debug)]
pub struct Bench {
    chip: Chip,
    memory: Static<{ SHAPE.blocks as usize }, DIRECTORY, CHANGES, PAGE>,
    expected: [Expected; LOGICAL_PAGES],
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

/// How a history went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Programs, erases and marks of the chip.
    pub operations: u32,
    /// Times that the power was cut.
    pub cuts: u32,
}

fn content(lpn: u32, version: u32) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    if version > 0 {
        for (i, word) in page.chunks_exact_mut(4).enumerate() {
            word.copy_from_slice(&(version ^ lpn << 20 ^ (i as u32) << 28).to_le_bytes());
        }
    }
    page
}

impl Bench {
    /// With an erased chip.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            chip: Chip::new(),
            memory: Static::new(),
            expected: [Expected { now: 0, or: [0; Expected::MOST], others: 0 }; LOGICAL_PAGES],
        }
    }

    /// Cuts the power at each operation of a history of so many requests, and looks whether all is there that must
    /// be, and goes on, through a second cut. One program or erase in `failing` fails; 0 for none.
    ///
    /// # Errors
    /// The first fault, with the history and the cut that show it: `seed` and the number of the operation.
    pub fn cut_everywhere<V: Victim + Default, P: Placement + Default>(
        &mut self,
        seed: u32,
        requests: u32,
        failing: u32,
    ) -> Result<Report, (Fault, u32)> {
        let mut report = Report::default();
        let whole = self.history::<V, P>(seed, requests, failing, ENDLESS).map_err(|f| (f, 0))?;
        report.operations = whole;
        for cut in 1..=whole {
            self.history::<V, P>(seed, requests, failing, cut).map_err(|f| (f, cut))?;
            report.cuts += 1;
        }
        Ok(report)
    }

    /// A history with one cut, or none. Returns the operations of the chip.
    fn history<V: Victim + Default, P: Placement + Default>(
        &mut self,
        seed: u32,
        requests: u32,
        failing: u32,
        cut: u32,
    ) -> Result<u32, Fault> {
        let Self { chip, memory, expected } = self;
        chip.clear(seed ^ cut << 12);
        expected.fill(Expected::default());
        let config = Config { logical_pages: LOGICAL_PAGES as u32, spare_blocks: 1 };
        drop(Ftl::format(&mut *chip, memory.memory(), V::default(), P::default(), config)?);
        (chip.done, chip.failing) = (0, failing);
        chip.left = cut;
        let mut draws = Draws(seed.wrapping_mul(0x85eb_ca6b) | 1);
        let mut version = 0;
        // Mounting is cut as well: the second time in the operations of the mount or after it.
        for attempt in 0..4 {
            let mut ftl = match Ftl::mount(&mut *chip, memory.memory(), V::default(), P::default())
            {
                Ok(ftl) => ftl,
                Err(Error::Device) => {
                    power_on(chip, &mut draws, attempt);
                    continue;
                }
                Err(e) => return Err(e.into()),
            };
            let done = verify(&mut ftl, expected, true).and_then(|()| {
                requests_of(&mut ftl, &mut draws, expected, &mut version, requests)?;
                verify(&mut ftl, expected, false)?;
                if attempt % 2 == 1 {
                    ftl.checkpoint()?;
                }
                Ok(())
            });
            match done {
                Ok(()) | Err(Fault::Failed(Error::Device)) => {}
                // Blocks fail until none is left; what was written stays.
                Err(Fault::Failed(Error::WornOut)) if failing > 0 => {}
                Err(fault) => return Err(fault),
            }
            drop(ftl);
            if let Some(fault) = chip.broken {
                return Err(fault);
            }
            if cut == ENDLESS {
                return Ok(chip.done);
            }
            power_on(chip, &mut draws, attempt);
        }
        chip.left = ENDLESS;
        let mut ftl = Ftl::mount(&mut *chip, memory.memory(), V::default(), P::default())?;
        verify(&mut ftl, expected, true)?;
        Ok(chip.done)
    }
}

/// The power is back, and fails once more, soon. What a mount could not read, the next one may be able to.
fn power_on(chip: &mut Chip, draws: &mut Draws, attempt: u32) {
    // A mark that the power cut off is not there.
    chip.failed.fill(false);
    if attempt > 0 {
        chip.heal();
    }
    chip.left = if attempt == 0 { 1 + draws.below(60) } else { ENDLESS };
}

/// Requests of all kinds, mostly writes of a few pages.
fn requests_of<N: Nand, V: Victim, P: Placement>(
    ftl: &mut Ftl<'_, N, V, P>,
    draws: &mut Draws,
    expected: &mut [Expected; LOGICAL_PAGES],
    version: &mut u32,
    requests: u32,
) -> Result<(), Fault> {
    let mut changed = false;
    for _ in 0..requests {
        let all = LOGICAL_PAGES as u32;
        let lpn = if draws.below(3) == 0 { draws.below(all) } else { draws.below(all / 8) };
        let page = &mut expected[lpn as usize];
        let request = draws.below(16);
        match request {
            0 => {
                let before = *page;
                if page.now != 0 {
                    page.may_be(page.now);
                    page.now = 0;
                }
                if let Err(e) = ftl.trim(lpn) {
                    if e == Error::WornOut {
                        *page = before;
                    }
                    return Err(e.into());
                }
            }
            1 => {
                ftl.flush()?;
                // No trim is undone any more.
                expected.iter_mut().for_each(|page| page.is(page.now));
            }
            2 => read(ftl, lpn, page, false)?,
            _ => {
                *version += 1;
                page.may_be(*version);
                ftl.write(lpn, &content(lpn, *version))?;
                page.is(*version);
            }
        }
        if !changed && request != 2 {
            // What the mount found lasts from the first change on.
            changed = true;
            let others = |page: &mut Expected| page.is(page.now);
            expected
                .iter_mut()
                .zip(0..)
                .filter(|(_, other)| request > 0 || *other != lpn)
                .for_each(|(page, _)| others(page));
        }
    }
    Ok(())
}

fn verify<N: Nand, V: Victim, P: Placement>(
    ftl: &mut Ftl<'_, N, V, P>,
    expected: &mut [Expected; LOGICAL_PAGES],
    mounted: bool,
) -> Result<(), Fault> {
    for (page, lpn) in expected.iter_mut().zip(0..) {
        read(ftl, lpn, page, mounted)?;
    }
    Ok(())
}

/// Reads a page: it holds what was written last, or after a mount what may be instead.
fn read<N: Nand, V: Victim, P: Placement>(
    ftl: &mut Ftl<'_, N, V, P>,
    lpn: u32,
    page: &mut Expected,
    mounted: bool,
) -> Result<(), Fault> {
    let mut into = [0; PAGE];
    ftl.read(lpn, &mut into)?;
    let is = |version: &u32| into == content(lpn, *version);
    let others: &[u32] = if mounted { &page.or[..page.others] } else { &[] };
    let Some(&seen) = core::iter::once(&page.now).chain(others).find(|version| is(version)) else {
        let word = u32::from_le_bytes([into[0], into[1], into[2], into[3]]);
        return Err(Fault::Lost(lpn, word ^ lpn << 20));
    };
    if mounted {
        page.may_be(page.now);
        page.now = seen;
    }
    Ok(())
}
