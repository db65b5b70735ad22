//! A layer that is an array, and a disk of sectors on top of it.

use std::collections::{BTreeSet, HashMap};

use thermocline_flash::{BlockId, Lpn, Ppn};
use thermocline_fswatch::{Config, Watched};
use thermocline_ftl::{
    Counters, DeadDataCounters, DeadPages, FtlError, Holds, Inspect, Layer, PageIo, Upkeep,
};

use thermocline_testing::Draws;

pub const SECTOR: usize = 512;

pub type Sector = [u8; SECTOR];

/// When a marked page is dropped.
pub enum Drops {
    AtOnce,
    Never,
    /// Half of the pages at once, the others at a later mark; those may be revived before.
    Sometimes(Draws),
}

/// An array of pages that drops marked ones.
pub struct Model {
    pages: HashMap<u32, Box<[u8]>>,
    marked: BTreeSet<u32>,
    logical_pages: u32,
    drops: Drops,
    counters: Counters,
    chip: (),
    /// The contents of dropped pages.
    pub dropped: Vec<(u32, Box<[u8]>)>,
    /// All calls that reached the layer.
    pub calls: Vec<(char, u32)>,
    pub keeps_calls: bool,
    /// The next write fails.
    pub fails: bool,
}

impl Model {
    pub fn new(logical_pages: u32, drops: Drops) -> Self {
        Self {
            pages: HashMap::new(),
            marked: BTreeSet::new(),
            logical_pages,
            drops,
            counters: Counters::default(),
            chip: (),
            dropped: Vec::new(),
            calls: Vec::new(),
            keeps_calls: false,
            fails: false,
        }
    }

    fn call(&mut self, what: char, lpn: Lpn) -> Result<(), FtlError> {
        if self.keeps_calls {
            self.calls.push((what, lpn.0));
        }
        if lpn.0 < self.logical_pages { Ok(()) } else { Err(FtlError::OutOfRange(lpn)) }
    }

    fn drop_page(&mut self, lpn: u32) {
        self.marked.remove(&lpn);
        let content = self.pages.remove(&lpn).expect("a marked page holds data");
        self.dropped.push((lpn, content));
    }

    pub fn marked(&self) -> usize {
        self.marked.len()
    }
}

impl PageIo for Model {
    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn fill(&mut self, lpn: Lpn, _: bool, now: u64) -> Result<(), FtlError> {
        self.write(lpn, &[], now)
    }

    fn write(&mut self, lpn: Lpn, data: &[u8], _: u64) -> Result<(), FtlError> {
        self.call('w', lpn)?;
        if std::mem::take(&mut self.fails) {
            return Err(FtlError::NoSpace);
        }
        self.counters.host_writes += 1;
        self.marked.remove(&lpn.0);
        self.pages.insert(lpn.0, data.into());
        Ok(())
    }

    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        self.call('r', lpn)?;
        into.fill(0);
        let Some(page) = self.pages.get(&lpn.0) else { return Ok(false) };
        self.counters.host_reads += 1;
        if page.len() == into.len() {
            into.copy_from_slice(page);
        }
        Ok(true)
    }

    fn trim(&mut self, lpn: Lpn, _: u64) -> Result<bool, FtlError> {
        self.call('t', lpn)?;
        self.marked.remove(&lpn.0);
        Ok(self.pages.remove(&lpn.0).is_some())
    }
}

impl Upkeep for Model {}

impl Inspect for Model {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn holds(&self, lpn: Lpn) -> Holds {
        if self.pages.contains_key(&lpn.0) { Holds::Data } else { Holds::Nothing }
    }

    fn locate(&self, lpn: Lpn) -> Ppn {
        if self.pages.contains_key(&lpn.0) { Ppn(lpn.0) } else { Ppn::NONE }
    }

    fn erases(&self, _: BlockId) -> u32 {
        0
    }

    fn valid_pages(&self, _: BlockId) -> u32 {
        0
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

impl DeadPages for Model {
    fn mark_dead(&mut self, lpn: Lpn, _: u64) -> Result<bool, FtlError> {
        self.call('d', lpn)?;
        if !self.pages.contains_key(&lpn.0) || !self.marked.insert(lpn.0) {
            return Ok(false);
        }
        let doomed = match &mut self.drops {
            Drops::AtOnce => Some(lpn.0),
            Drops::Never => None,
            Drops::Sometimes(draws) => {
                let from = draws.below(self.logical_pages);
                let late = self.marked.range(from..).next().copied();
                if draws.one_in(2) { Some(lpn.0) } else { late }
            }
        };
        if let Some(doomed) = doomed {
            self.drop_page(doomed);
        }
        Ok(true)
    }

    fn revive(&mut self, lpn: Lpn, _: u64) -> Result<bool, FtlError> {
        self.call('v', lpn)?;
        Ok(self.marked.remove(&lpn.0))
    }
}

impl Layer for Model {
    type Chip = ();

    fn chip(&self) -> &() {
        &self.chip
    }

    fn chip_mut(&mut self) -> &mut () {
        &mut self.chip
    }

    fn upkeep(&mut self) -> &mut dyn Upkeep {
        self
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }

    fn dead_pages(&mut self) -> Option<&mut dyn DeadPages> {
        Some(self)
    }
}

/// A disk as the host sees it: sectors, read and written singly.
pub struct Disk {
    pub layer: Watched<Model>,
    per_page: usize,
    now: u64,
}

impl Disk {
    /// An empty disk of `sectors` in pages of `per_page` sectors that drops marked pages at once.
    pub fn new(sectors: u64, per_page: usize) -> Self {
        Self::with(sectors, per_page, Drops::AtOnce, |_| {})
    }

    pub fn with(
        sectors: u64,
        per_page: usize,
        drops: Drops,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let pages = (sectors / per_page as u64) as u32;
        let mut config = Config::new((per_page * SECTOR) as u32);
        config.small_media = true;
        configure(&mut config);
        Self { layer: Watched::new(Box::new(Model::new(pages, drops)), config), per_page, now: 0 }
    }

    /// Cuts the power. The medium keeps its content; the watcher's state is lost.
    pub fn power_cycle(self) -> Self {
        let config = *self.layer.config();
        let mut model = self.layer.into_inner();
        // Marks are in memory only.
        model.marked.clear();
        Self { layer: Watched::new(model, config), ..self }
    }

    pub fn read(&mut self, sector: u64) -> Sector {
        let (lpn, at) = self.place(sector);
        let mut page = vec![0; self.per_page * SECTOR];
        self.layer.read(lpn, &mut page).expect("in range");
        page[at..at + SECTOR].try_into().expect("a sector")
    }

    pub fn write(&mut self, sector: u64, content: &Sector) {
        let (lpn, at) = self.place(sector);
        self.now += 1;
        let mut page = vec![0; self.per_page * SECTOR];
        if self.per_page > 1 {
            self.layer.read(lpn, &mut page).expect("in range");
        }
        page[at..at + SECTOR].copy_from_slice(content);
        self.layer.write(lpn, &page, self.now).expect("written");
    }

    pub fn write_all(&mut self, image: &[(u64, Sector)]) {
        for (sector, content) in image {
            self.write(*sector, content);
        }
    }

    fn place(&self, sector: u64) -> (Lpn, usize) {
        let per_page = self.per_page as u64;
        (Lpn((sector / per_page) as u32), (sector % per_page) as usize * SECTOR)
    }

    pub fn trim(&mut self, sector: u64) {
        let (lpn, _) = self.place(sector);
        self.layer.trim(lpn, self.now).expect("in range");
    }

    /// Writes zeros to a page as a host does that asks for zeros and does not send them.
    pub fn zero(&mut self, sector: u64) {
        let (lpn, _) = self.place(sector);
        self.now += 1;
        self.layer.zero(lpn, self.now).expect("in range");
    }

    pub fn dead(&self) -> DeadDataCounters {
        self.layer.dead_data().expect("a watched layer counts")
    }

    pub fn dropped(&self) -> u64 {
        self.layer.inner().dropped.len() as u64 * self.per_page as u64
    }

    pub fn is_watched(&self) -> bool {
        self.layer.volumes() > 0
    }
}

/// The last sector of the image with this number.
pub fn at(image: &mut [(u64, Sector)], sector: u64) -> &mut Sector {
    let found = image.iter_mut().rev().find(|(at, _)| *at == sector);
    &mut found.expect("a written sector").1
}

/// A sector with unique content.
pub fn stamp(a: u64, b: u64) -> Sector {
    let mut draws = Draws(a.wrapping_mul(0x9e37) ^ b.rotate_left(40) ^ 0x5ec7);
    let mut sector = [0; SECTOR];
    for word in sector.chunks_exact_mut(8) {
        word.copy_from_slice(&draws.next().to_le_bytes());
    }
    sector[..8].copy_from_slice(&a.to_le_bytes());
    sector[8..16].copy_from_slice(&b.to_le_bytes());
    sector
}
