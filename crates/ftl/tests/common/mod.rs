//! Shared by the layer's tests: a small random generator, a layer of any placement, and a chip that
//! records the place of each version of each page.

#![allow(dead_code)]

pub mod faulty;
pub mod foreign;

use std::{
    any::Any,
    cell::RefCell,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    rc::Rc,
};

use thermocline_flash::{
    BlockId, Chip, Condition, CountingChip, Flash, FlashError, Geometry, Lpn, Oob, Ppn, Rules,
    SimulatedTime,
};
use thermocline_ftl::{Config, DeadPages, FtlError, Inspect, Layer, PageMapped, Upkeep};
use thermocline_policy::{
    Args, BlockView, Context,
    bank::BankAssignment,
    placement::{self, PLACEMENTS, Placement},
    victim::{self, VICTIMS, Victim},
};

pub use thermocline_testing::Draws;

/// A chip of any kind, so that the layer is compiled once for all chips: compiling it for every
/// placement takes long enough.
pub trait AnyChip: Chip + Any {}

impl<C: Chip + Any> AnyChip for C {}

/// A page-mapped layer, whatever its placement and chip.
pub trait Ftl: Layer<Chip = Box<dyn AnyChip>> + DeadPages + Inspect + Upkeep {
    fn free_pages(&self) -> u64;
    fn least_free_blocks(&self) -> u32;
    fn blocks(&self) -> &BlockView;
}

impl<P: Placement> Ftl for PageMapped<Box<dyn AnyChip>, P> {
    fn free_pages(&self) -> u64 {
        PageMapped::free_pages(self)
    }
    fn least_free_blocks(&self) -> u32 {
        PageMapped::least_free_blocks(self)
    }
    fn blocks(&self) -> &BlockView {
        PageMapped::blocks(self, 0)
    }
}

/// A layer that was built on a `C`.
pub struct On<C> {
    layer: Box<dyn Ftl>,
    chip: PhantomData<C>,
}

impl<C: AnyChip> On<C> {
    pub fn chip(&self) -> &C {
        let chip: &dyn Any = &**self.layer.chip();
        chip.downcast_ref().expect("it was built on one")
    }

    pub fn chip_mut(&mut self) -> &mut C {
        let chip: &mut dyn Any = &mut **self.layer.chip_mut();
        chip.downcast_mut().expect("it was built on one")
    }
}

impl<C> Deref for On<C> {
    type Target = dyn Ftl;
    fn deref(&self) -> &Self::Target {
        &*self.layer
    }
}

impl<C> DerefMut for On<C> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.layer
    }
}

/// A policy's name and arguments, as a user writes them.
#[derive(Clone, Debug)]
pub struct Named(pub &'static str, pub Vec<(String, String)>);

impl Named {
    pub fn plain(name: &'static str) -> Self {
        Self(name, Vec::new())
    }

    pub fn with(name: &'static str, args: &[(&str, &str)]) -> Self {
        Self(name, args.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }
}

/// Every registered victim policy, and those with ages once for each source of ages.
pub fn victims() -> Vec<Named> {
    let mut all = Vec::new();
    for entry in VICTIMS {
        all.push(Named::plain(entry.info.name));
        for param in (entry.info.params)().iter().filter(|p| p.expected.contains(" | ")) {
            for value in param.expected.split(" | ").filter(|v| *v != param.default) {
                all.push(Named::with(entry.info.name, &[(param.name, value)]));
            }
        }
    }
    all
}

/// Every registered placement, and one from elsewhere.
pub fn placements() -> Vec<Named> {
    let registered = PLACEMENTS.iter().map(|info| info.name);
    registered.chain([foreign::DAC]).map(Named::plain).collect()
}

/// A device and what runs on it.
#[derive(Clone, Debug)]
pub struct Setup {
    pub geometry: Geometry,
    pub rules: Rules,
    pub bad: Vec<BlockId>,
    pub wears_out: bool,
    pub victim: Named,
    pub placement: Named,
    pub config: Config,
    pub time_scale: f64,
    pub seed: u64,
}

/// The paper's card: 191 data blocks of 31 data pages, one system block.
pub const CARD: Geometry = Geometry {
    banks: 1,
    channels: 1,
    blocks_per_bank: 192,
    pages_per_block: 32,
    page_size: 4096,
    oob_size: 0,
    header_pages: 1,
    system_blocks: 1,
};

impl Setup {
    /// Policies on a chip without defects, reserve 2, nothing else switched on.
    pub fn new(geometry: Geometry, logical_pages: u32, victim: Named, placement: Named) -> Self {
        Self {
            geometry,
            rules: Rules { in_order: true, endurance: 100_000, initial_bad_blocks: 0 },
            bad: Vec::new(),
            wears_out: false,
            victim,
            placement,
            config: Config::new(logical_pages),
            time_scale: 1700.0,
            seed: 1,
        }
    }

    /// The most logical pages the layer takes: beside the reserve, an open block for each stream.
    pub fn most_logical_pages(&self) -> u32 {
        let open = u32::from(self.most_streams()) + u32::from(self.config.read_only_separation);
        let usable = |bank: u32| {
            let first = bank * self.geometry.blocks_per_bank;
            (first..first + self.geometry.blocks_per_bank)
                .filter(|&b| b < self.geometry.data_blocks() && !self.bad.contains(&BlockId(b)))
                .count() as u32
        };
        let data = (0..self.geometry.banks)
            .map(|bank| usable(bank).saturating_sub(self.config.watermarks.reserve + open));
        let pages = self.geometry.data_pages_per_block();
        match self.config.bank_assignment {
            BankAssignment::Static => {
                data.min().expect("a device has a bank") * self.geometry.banks * pages
            }
            // While one bank is full of data, another must have room.
            BankAssignment::Dynamic => data.sum::<u32>() * pages,
        }
    }

    pub fn chip(&self) -> CountingChip {
        let chip = CountingChip::new(self.geometry, self.rules).with_bad_blocks(&self.bad);
        if self.wears_out { chip.that_wears_out() } else { chip }
    }

    pub fn context(&self) -> Context {
        Context {
            logical_pages: self.config.logical_pages,
            blocks: self.geometry.blocks(),
            pages_per_block: self.geometry.data_pages_per_block(),
            banks: self.geometry.banks,
            bank_assignment: self.config.bank_assignment,
            time_scale: self.time_scale,
            seed: self.seed,
            ..Context::smallest()
        }
    }

    pub fn build_victim(&self) -> Box<dyn Victim> {
        if let Some(foreign) = foreign::victim(self.victim.0, &self.context()) {
            return foreign;
        }
        let entry = victim::find(self.victim.0).expect("registered");
        (entry.build)(&Args(self.victim.1.clone()), &self.context()).expect("arguments")
    }

    /// The layer on `chip`, for where speed does not matter.
    pub fn build_on<C: AnyChip>(&self, chip: C) -> Result<On<C>, FtlError> {
        let layer = self.build_boxed(Box::new(chip))?;
        Ok(On { layer, chip: PhantomData })
    }

    fn build_boxed(&self, chip: Box<dyn AnyChip>) -> Result<Box<dyn Ftl>, FtlError> {
        struct Build<'a>(Box<dyn AnyChip>, &'a Setup);
        impl placement::Visitor for Build<'_> {
            type Output = Result<Box<dyn Ftl>, FtlError>;
            fn visit<P: Placement + 'static>(self, placement: P) -> Self::Output {
                let victim = |_| self.1.build_victim();
                let layer = PageMapped::new(self.0, placement, victim, self.1.config)?;
                Ok(Box::new(layer))
            }
        }
        self.with_placement(Build(chip, self))
    }

    fn with_placement<V: placement::Visitor>(&self, visitor: V) -> V::Output {
        if self.placement.0 == foreign::DAC {
            return visitor.visit(foreign::dac(&self.context(), 64));
        }
        let args = Args(self.placement.1.clone());
        placement::dispatch(self.placement.0, &args, &self.context(), visitor)
            .expect("registered")
            .expect("arguments")
    }

    pub fn build(&self) -> On<CountingChip> {
        self.build_on(self.chip()).expect("it fits")
    }

    /// The most streams the placement would use: some take fewer where less space is spare.
    pub fn most_streams(&self) -> u8 {
        let mut empty = self.clone();
        empty.config.logical_pages = 1;
        empty.streams()
    }

    /// Streams the placement uses for writable data.
    pub fn streams(&self) -> u8 {
        struct Streams;
        impl placement::Visitor for Streams {
            type Output = u8;
            fn visit<P: Placement + 'static>(self, placement: P) -> u8 {
                placement.streams()
            }
        }
        self.with_placement(Streams)
    }
}

/// Notified of a chip's operations before they happen.
pub trait Listener {
    /// A page is programmed, or copied `from` another.
    fn put(&mut self, geometry: &Geometry, from: Option<Ppn>, to: Ppn, oob: Oob);

    fn erase(&mut self, block: BlockId) {
        let _ = block;
    }
}

/// A chip with a listener.
pub struct Heard<L>(pub CountingChip, pub L);

impl<L: Listener> Flash for Heard<L> {
    fn geometry(&self) -> &Geometry {
        self.0.geometry()
    }
    fn in_order(&self) -> bool {
        self.0.in_order()
    }
    fn is_bad(&self, block: BlockId) -> bool {
        self.0.is_bad(block)
    }
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.0.read(from, into)
    }
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        self.0.read_oob(from)
    }
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.1.put(self.0.geometry(), None, to, oob);
        self.0.program(to, oob, data)
    }
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.1.put(self.0.geometry(), Some(from), to, oob);
        self.0.copy(from, to, oob)
    }
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.1.erase(block);
        self.0.erase(block)
    }
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.0.mark_bad(block)
    }
    fn sync(&mut self) -> Result<(), FlashError> {
        self.0.sync()
    }
}

impl<L: Listener> Condition for Heard<L> {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.0.erase_count(block)
    }
}

impl<L> SimulatedTime for Heard<L> {
    fn is_idle(&self, bank: u32) -> bool {
        self.0.is_idle(bank)
    }
    fn wait_for_a_bank(&mut self) {
        self.0.wait_for_a_bank();
    }
}

/// The expected state of a chip: the newest version of each logical page, and its place.
#[derive(Debug, Default)]
pub struct Truth {
    /// Version and place of each page's data; `None` if it was never written, trimmed, or marked dead.
    pub live: Vec<Option<(u32, Ppn)>>,
    /// As `live`, for pages marked dead whose block is not erased.
    pub marked: Vec<Option<(u32, Ppn)>>,
    /// Marked pages erased with their block, except the one that the host was about to write.
    pub dropped: u64,
    /// The page and version that were read last.
    pub read: Option<(Lpn, u32)>,
    /// The page and version the host is about to write.
    pub pending: Option<(Lpn, u32)>,
    /// How often each logical page was copied.
    pub copied: Vec<u32>,
}

/// A chip that stores the version and logical page of each program instead of a payload, and panics
/// if the layer copies a page that is not current or erases one that is.
pub struct ModelChip {
    pub inner: CountingChip,
    pub content: Vec<Option<(Lpn, u32)>>,
    pub truth: Rc<RefCell<Truth>>,
}

impl ModelChip {
    pub fn new(inner: CountingChip, logical_pages: u32) -> Self {
        let geometry = *inner.geometry();
        let pages = (geometry.blocks() as usize) << geometry.page_bits();
        let truth = Truth {
            live: vec![None; logical_pages as usize],
            marked: vec![None; logical_pages as usize],
            dropped: 0,
            read: None,
            pending: None,
            copied: vec![0; logical_pages as usize],
        };
        Self { inner, content: vec![None; pages], truth: Rc::new(RefCell::new(truth)) }
    }
}

impl Flash for ModelChip {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn in_order(&self) -> bool {
        self.inner.in_order()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.inner.is_bad(block)
    }

    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        let content = self.content[from.index()];
        assert!(content.is_some(), "{from:?} is read and was not programmed");
        self.truth.borrow_mut().read = content;
        self.inner.read(from, into)
    }

    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        self.inner.read_oob(from)
    }

    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.inner.program(to, oob, data)?;
        let mut truth = self.truth.borrow_mut();
        let (lpn, version) = truth.pending.take().expect("one program for one host write");
        assert_eq!(lpn, oob.lpn, "{to:?} is programmed for another page");
        self.content[to.index()] = Some((oob.lpn, version));
        truth.live[oob.lpn.index()] = Some((version, to));
        truth.marked[oob.lpn.index()] = None;
        Ok(())
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.inner.copy(from, to, oob)?;
        let mut truth = self.truth.borrow_mut();
        let Some((lpn, version)) = self.content[from.index()] else {
            panic!("{from:?} is copied and was not programmed");
        };
        assert_eq!(lpn, oob.lpn, "{from:?} is copied for another page");
        assert_eq!(
            truth.live[lpn.index()],
            Some((version, from)),
            "{from:?} is copied and holds no current data of {lpn:?}"
        );
        self.content[to.index()] = Some((lpn, version));
        truth.live[lpn.index()] = Some((version, to));
        truth.copied[lpn.index()] += 1;
        Ok(())
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.inner.erase(block)?;
        let geometry = *self.inner.geometry();
        let first = geometry.ppn(block, 0).index();
        let mut truth = self.truth.borrow_mut();
        for page in first..first + geometry.pages_per_block as usize {
            if let Some((lpn, _)) = self.content[page].take() {
                let place = truth.live[lpn.index()].map(|(_, place)| place.index());
                assert_ne!(place, Some(page), "{block:?} is erased with current data of {lpn:?}");
                let marked = truth.marked[lpn.index()].map(|(_, place)| place.index());
                if marked == Some(page) {
                    truth.marked[lpn.index()] = None;
                    let overwritten = truth.pending.is_some_and(|(pending, _)| pending == lpn);
                    truth.dropped += u64::from(!overwritten);
                }
            }
        }
        Ok(())
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.inner.mark_bad(block)
    }

    fn sync(&mut self) -> Result<(), FlashError> {
        self.inner.sync()
    }
}

impl Condition for ModelChip {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.inner.erase_count(block)
    }
}

impl SimulatedTime for ModelChip {}

/// A layer on a [`ModelChip`], with the versions the host wrote.
pub struct Modelled {
    pub layer: On<ModelChip>,
    pub truth: Rc<RefCell<Truth>>,
    /// The last version of each page; `None` if it was never written, or trimmed.
    pub last: Vec<Option<u32>>,
    /// Pages marked dead on the layer, which may be gone.
    pub dead: Vec<bool>,
    version: u32,
    pub writes: u64,
    free_at_start: u64,
}

impl Modelled {
    pub fn new(setup: &Setup) -> Result<Self, FtlError> {
        let logical = setup.config.logical_pages;
        let chip = ModelChip::new(setup.chip(), logical);
        let truth = Rc::clone(&chip.truth);
        let layer = setup.build_on(chip)?;
        let free_at_start = layer.free_pages();
        let last = vec![None; logical as usize];
        let dead = vec![false; logical as usize];
        Ok(Self { layer, truth, last, dead, version: 0, writes: 0, free_at_start })
    }

    fn put(
        &mut self,
        lpn: u32,
        put: impl FnOnce(&mut dyn Ftl) -> Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        self.version += 1;
        self.truth.borrow_mut().pending = Some((Lpn(lpn), self.version));
        let result = put(&mut *self.layer);
        if result.is_ok() {
            assert_eq!(self.truth.borrow().pending, None, "a write programs a page");
            self.last[lpn as usize] = Some(self.version);
            self.dead[lpn as usize] = false;
            self.writes += 1;
        }
        result
    }

    pub fn fill(&mut self, lpn: u32, now: u64) -> Result<(), FtlError> {
        self.put(lpn, |layer| layer.fill(Lpn(lpn), false, now))
    }

    pub fn write(&mut self, lpn: u32, now: u64) -> Result<(), FtlError> {
        self.put(lpn, |layer| layer.write(Lpn(lpn), &[], now))
    }

    pub fn write_read_only(&mut self, lpn: u32, now: u64) -> Result<(), FtlError> {
        self.put(lpn, |layer| layer.write_read_only(Lpn(lpn), &[], now))
    }

    /// The version that must be read of a page: the last, unless it was marked dead and its block
    /// was erased since.
    fn expected(&self, lpn: u32) -> Option<u32> {
        let truth = self.truth.borrow();
        let gone = self.dead[lpn as usize] && truth.marked[lpn as usize].is_none();
        self.last[lpn as usize].filter(|_| !gone)
    }

    pub fn trim(&mut self, lpn: u32, now: u64) {
        let expected = self.expected(lpn).is_some();
        let held = self.layer.trim(Lpn(lpn), now).expect("trimmed");
        assert_eq!(held, expected, "what trim says of page {lpn}");
        self.last[lpn as usize] = None;
        self.dead[lpn as usize] = false;
        let mut truth = self.truth.borrow_mut();
        truth.live[lpn as usize] = None;
        truth.marked[lpn as usize] = None;
    }

    /// Marks a page dead on the layer.
    pub fn mark(&mut self, lpn: u32, now: u64) {
        let expected = self.truth.borrow().live[lpn as usize].is_some();
        let marked = self.layer.mark_dead(Lpn(lpn), now).expect("marked");
        assert_eq!(marked, expected, "whether page {lpn} was marked");
        self.dead[lpn as usize] = self.last[lpn as usize].is_some();
        let mut truth = self.truth.borrow_mut();
        if let Some(live) = truth.live[lpn as usize].take() {
            truth.marked[lpn as usize] = Some(live);
        }
    }

    /// Revives a page on the layer.
    pub fn revive(&mut self, lpn: u32, now: u64) {
        let marked = self.truth.borrow_mut().marked[lpn as usize].take();
        let revived = self.layer.revive(Lpn(lpn), now).expect("revived");
        assert_eq!(revived, marked.is_some(), "whether page {lpn} was revived");
        if revived {
            self.truth.borrow_mut().live[lpn as usize] = marked;
            self.dead[lpn as usize] = false;
        }
    }

    pub fn read(&mut self, lpn: u32) {
        self.truth.borrow_mut().read = None;
        let holds = self.layer.read(Lpn(lpn), &mut []).expect("read");
        let expected = self.expected(lpn).map(|version| (Lpn(lpn), version));
        assert_eq!(self.truth.borrow().read, expected, "what is read of page {lpn}");
        assert_eq!(holds, expected.is_some(), "whether page {lpn} holds data");
    }

    /// Everything that must hold at any time.
    pub fn check(&self) {
        self.layer.check().unwrap_or_else(|e| panic!("{e}"));
        for lpn in 0..self.last.len() as u32 {
            let at = self.layer.locate(Lpn(lpn));
            let found = (at != Ppn::NONE).then(|| self.layer.chip().content[at.index()]);
            let expected = self.expected(lpn).map(|version| Some((Lpn(lpn), version)));
            assert_eq!(found, expected, "what is read of page {lpn} at {at:?}");
        }
        assert_eq!(self.layer.counters().dead_left, self.truth.borrow().dropped, "pages dropped");
        // Each current page is counted once, and no marked one.
        let geometry = self.layer.chip().geometry();
        let mut current = vec![0; geometry.blocks() as usize];
        for (_, at) in self.truth.borrow().live.iter().flatten() {
            current[geometry.block_of(*at).index()] += 1;
        }
        for (block, current) in (0..).map(BlockId).zip(current) {
            assert_eq!(self.layer.valid_pages(block), current, "current pages of {block:?}");
        }
    }

    /// Every page programmed was free before or erased since.
    pub fn check_conservation(&self) {
        let pages = u64::from(self.layer.blocks().pages());
        let counters = self.layer.counters();
        assert_eq!(
            counters.erases * pages + self.free_at_start,
            self.writes + counters.copies + self.layer.free_pages(),
            "pages are conserved: {counters:?}"
        );
    }
}
