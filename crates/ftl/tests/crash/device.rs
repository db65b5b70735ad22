//! Small devices with all sorts of policies, formatted and mounted.

use thermocline_flash::{BlockId, Flash, Geometry, Lpn, Ppn};
use thermocline_ftl::{
    Config, Format, FtlError, InPlace, Inspect, Layer, Mount, MountError, Nftl, PageMapped,
    Recovery, Upkeep, index,
    nftl::{Choice, Config as NftlConfig},
};
use thermocline_policy::{
    Args, BlockView, Context, State as BlockState,
    bank::BankAssignment,
    placement::{
        Dac, FineGrained, HostWrite, Midas, Placement, Registered, SepBit, Sequential, Streams,
        TwoLevelLru, Visitor,
    },
    trigger::{Pacing, Trigger},
    victim::{self, Victim},
    wear::WearLeveling,
};

use super::{chip::Slate, common::Draws};

pub const PAGE: usize = 256;
/// The content of a page that is an error.
pub const LOST: u64 = u64::MAX;

/// A layer over a [`Slate`], whatever its placement.
pub trait Device: Layer<Chip = Slate> + Inspect + Upkeep {
    /// The table of a bank's blocks, where there are banks.
    fn table(&self, bank: u32) -> Option<&BlockView>;
}

impl Device for Nftl<Slate> {
    fn table(&self, _bank: u32) -> Option<&BlockView> {
        None
    }
}

impl Device for InPlace<Slate> {
    fn table(&self, _bank: u32) -> Option<&BlockView> {
        None
    }
}

impl<P: Placement> Device for PageMapped<Slate, P> {
    fn table(&self, bank: u32) -> Option<&BlockView> {
        Some(self.blocks(bank))
    }
}

/// Whether a victim is partly cleaned.
pub fn is_emptying(device: &dyn Device, banks: u32) -> bool {
    let tables = (0..banks).filter_map(|bank| device.table(bank));
    tables.into_iter().any(|table| {
        let mut blocks = (0..table.len()).map(|n| table.block(table.nth(n)));
        blocks.any(|block| block.state == BlockState::Emptying)
    })
}

/// Policies and their numbers of streams.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub victim: &'static str,
    pub placement: &'static str,
    pub args: &'static [(&'static str, &'static str)],
    pub streams: u32,
}

pub const POLICIES: [Policy; 7] = [
    Policy { victim: "greedy", placement: "sequential", args: &[], streams: 1 },
    Policy { victim: "cat", placement: "fine-grained", args: &[], streams: 2 },
    Policy { victim: "cost-benefit", placement: "dac", args: &[("regions", "3")], streams: 3 },
    Policy { victim: "greedy", placement: "sep-bit", args: &[("classes", "4")], streams: 4 },
    Policy { victim: "greedy", placement: "midas", args: &[("groups", "3")], streams: 3 },
    Policy { victim: "fifo", placement: "two-level-lru", args: &[], streams: 2 },
    Policy { victim: "greedy", placement: "waning", args: &[], streams: 3 },
];

/// Uses one of its streams, two, all three, and one again: the open blocks of the others are closed half full.
struct Waning {
    written: u64,
}

impl Waning {
    const PHASE: u64 = 13;

    fn used(&self) -> u32 {
        1 + (self.written / Self::PHASE % 3) as u32
    }
}

impl Streams for Waning {
    fn streams(&self) -> u8 {
        3
    }

    fn is_used(&self, stream: u8) -> bool {
        u32::from(stream) < self.used()
    }
}

impl Placement for Waning {
    type Page = ();

    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        (write.lpn().0 % self.used()) as u8
    }

    fn written(&mut self, (): &mut (), _: Lpn, _: u64) {
        self.written += 1;
    }

    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        0
    }
}

/// A chip's shape and its format.
#[derive(Clone, Debug)]
pub struct World {
    pub geometry: Geometry,
    pub in_order: bool,
    pub config: Config,
    pub policies: [Policy; 2],
    /// It is an NFTL, set up one way or the other.
    pub nftl: Option<[NftlConfig; 2]>,
    /// It is updated in place.
    pub in_place: bool,
}

impl World {
    pub fn draw(draws: &mut Draws, rough: bool) -> Self {
        let policies = [0, 1].map(|_| POLICIES[draws.below(POLICIES.len() as u32) as usize]);
        let read_only_separation = draws.one_in(3);
        let streams = policies.iter().map(|policy| policy.streams).max().unwrap_or(1);
        let open = streams + u32::from(read_only_separation);
        let pages = 4 + draws.below(5);
        let banks = 1 + u32::from(draws.one_in(4));
        let reserve = 2;
        let full = 2 + draws.below(3);
        // One block may fail.
        let data = reserve + open + full + u32::from(rough);
        let mut geometry = Geometry {
            banks,
            channels: 1,
            blocks_per_bank: data,
            pages_per_block: pages + draws.below(2),
            page_size: PAGE as u32,
            oob_size: 32,
            header_pages: 0,
            system_blocks: 0,
        };
        geometry.header_pages = geometry.pages_per_block - pages;
        let least = banks * full * pages;
        let logical_pages = least - draws.below(pages);
        // Two blocks more than it takes, of which one may be bad from the start, and one may fail.
        let mut system = 0;
        while system < index::system_blocks_for(&geometry, logical_pages) + 1 {
            system = index::system_blocks_for(&geometry, logical_pages) + 1;
            geometry.system_blocks = system;
            geometry.blocks_per_bank = data + system;
        }
        let mut config = Config::new(logical_pages);
        config.read_only_separation = read_only_separation;
        config.bank_assignment =
            if draws.one_in(2) { BankAssignment::Static } else { BankAssignment::Dynamic };
        config.trigger = [Trigger::Lazy, Trigger::Lazy, Trigger::Eager][draws.below(3) as usize];
        config.idle_free = reserve + draws.below(2);
        config.batch = 1 + draws.below(2);
        if draws.one_in(4) {
            config.wear_leveling =
                WearLeveling::Swap(thermocline_policy::wear::Swap { from_erases: 1, gap: 1 });
        }
        let in_order = !draws.one_in(4);
        config.pacing = [Pacing::Off, Pacing::Paced, Pacing::Most(1)][(logical_pages % 3) as usize];
        Self { geometry, in_order, config, policies, nftl: None, in_place: false }
    }

    /// A chip for an NFTL, on which two blocks may fail.
    pub fn draw_nftl(draws: &mut Draws) -> Self {
        let mut world = Self::draw(draws, true);
        let pages = world.geometry.data_pages_per_block();
        let virtual_blocks = 1 + draws.below(4);
        let logical_pages = virtual_blocks * pages - draws.below(pages);
        let data = virtual_blocks + 2 + 2 + draws.below(3);
        world.geometry.banks = 1;
        world.geometry.system_blocks = index::system_blocks_for(&world.geometry, logical_pages) + 1;
        world.geometry.blocks_per_bank = data + world.geometry.system_blocks;
        let system = index::system_blocks_for(&world.geometry, logical_pages) + 1;
        world.geometry.system_blocks = system;
        world.geometry.blocks_per_bank = data + system;
        world.config.logical_pages = logical_pages;
        world.in_order = draws.one_in(2);
        world.nftl = Some([0, 1].map(|_| NftlConfig {
            choice: if draws.one_in(2) { Choice::Greedy } else { Choice::CostBenefit },
            start_percent: draws.below(40),
            stop_percent: 40,
            wear_gap: draws.one_in(2).then_some(1 + draws.below(3)),
            idle_dead_pages: draws.below(3),
            idle_short_percent: draws.below(50),
            ..NftlConfig::new(logical_pages)
        }));
        world
    }

    /// A chip that is updated in place.
    pub fn draw_in_place(draws: &mut Draws) -> Self {
        let world = Self::draw_nftl(draws);
        Self { nftl: None, in_place: true, ..world }
    }

    /// A chip of that kind with nothing special about it.
    pub fn of(nftl: bool, in_place: bool, in_order: bool) -> Self {
        let geometry = Geometry {
            banks: 1,
            channels: 1,
            blocks_per_bank: 0,
            pages_per_block: 8,
            page_size: PAGE as u32,
            oob_size: 32,
            header_pages: 0,
            system_blocks: 0,
        };
        let nftl = nftl.then(|| [0, 1].map(|_| NftlConfig::new(0)));
        let (config, policies) = (Config::new(0), [POLICIES[0]; 2]);
        Self { geometry, in_order, config, policies, nftl, in_place }
    }

    /// The same world with `percent` of its capacity in use, and these policies.
    pub fn filled(mut self, percent: u32, policies: [usize; 2]) -> Self {
        const FULL: u32 = 24;
        self.policies = policies.map(|policy| POLICIES[policy]);
        let streams = self.policies.iter().map(|policy| policy.streams).max().unwrap_or(1);
        // The reserve and a block for each stream; an NFTL keeps two.
        let apart = if self.nftl.is_some() { 2 } else { 2 + streams };
        let logical_pages = FULL * self.geometry.pages_per_block * percent / 100;
        self.config.logical_pages = logical_pages;
        if let Some(configs) = &mut self.nftl {
            configs.iter_mut().for_each(|config| config.logical_pages = logical_pages);
        }
        let mut system = 0;
        while system < index::system_blocks_for(&self.geometry, logical_pages) {
            system = index::system_blocks_for(&self.geometry, logical_pages);
            self.geometry.system_blocks = system;
            self.geometry.blocks_per_bank = FULL + apart + system;
        }
        self
    }

    pub fn chip(&self, state: super::chip::State) -> Slate {
        Slate::new(self.geometry, self.in_order, state)
    }

    fn context(&self) -> Context {
        Context {
            logical_pages: self.config.logical_pages,
            blocks: self.geometry.blocks(),
            banks: self.geometry.banks,
            pages_per_block: self.geometry.data_pages_per_block(),
            time_scale: 100.0,
            seed: 1,
            ..Context::smallest()
        }
    }

    pub fn format(&self, chip: Slate) -> Result<Box<dyn Device>, MountError> {
        let format = Format { id: [7; 16], created: 1 };
        if self.in_place {
            return InPlace::format(chip, self.config.logical_pages, format)
                .map(|layer| Box::new(layer) as _);
        }
        if let Some([config, _]) = &self.nftl {
            return Nftl::format(chip, config.clone(), format).map(|layer| Box::new(layer) as _);
        }
        self.visit(0, Make { world: self, chip, how: How::Format(format) }).map(|made| made.0)
    }

    pub fn mount(
        &self,
        chip: Slate,
        policy: usize,
        how: Mount,
    ) -> Result<(Box<dyn Device>, Recovery), MountError> {
        if self.in_place {
            return InPlace::mount(chip, self.config.logical_pages, how)
                .map(|(layer, recovery)| (Box::new(layer) as _, recovery));
        }
        if let Some(configs) = &self.nftl {
            return Nftl::mount(chip, configs[policy].clone(), how)
                .map(|(layer, recovery)| (Box::new(layer) as _, recovery));
        }
        self.visit(policy, Make { world: self, chip, how: How::Mount(how, policy) })
    }

    /// Mounts a chip of which no head of the log is left.
    pub fn salvage(&self, chip: Slate) -> Result<(Box<dyn Device>, Recovery), MountError> {
        if self.in_place {
            return InPlace::salvage(chip, self.config.logical_pages, Format::default())
                .map(|(layer, recovery)| (Box::new(layer) as _, recovery));
        }
        if let Some([config, _]) = &self.nftl {
            return Nftl::salvage(chip, config.clone(), Format::default())
                .map(|(layer, recovery)| (Box::new(layer) as _, recovery));
        }
        self.visit(0, Make { world: self, chip, how: How::Salvage })
    }

    fn visit(&self, policy: usize, make: Make<'_>) -> Made {
        let policy = self.policies[policy];
        let pairs = policy.args.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let (args, context) = (Args(pairs.collect()), self.context());
        // Those few, for every placement is a layer of its own to be compiled.
        match policy.placement {
            "sequential" => make.visit(built::<Sequential>(&args, &context)),
            "fine-grained" => make.visit(built::<FineGrained>(&args, &context)),
            "dac" => make.visit(built::<Dac>(&args, &context)),
            "sep-bit" => make.visit(built::<SepBit>(&args, &context)),
            "midas" => make.visit(built::<Midas>(&args, &context)),
            "waning" => make.visit(Waning { written: 0 }),
            _ => make.visit(built::<TwoLevelLru>(&args, &context)),
        }
    }

    fn victim(&self, policy: usize) -> Box<dyn Victim> {
        let name = self.policies[policy].victim;
        let entry = victim::VICTIMS.iter().find(|entry| entry.info.is_called(name));
        let entry = entry.expect("a registered victim policy");
        (entry.build)(&Args(Vec::new()), &self.context()).expect("it has defaults")
    }
}

fn built<P: Registered>(args: &Args, context: &Context) -> P {
    P::build(args, context).unwrap_or_else(|e| panic!("{}: {e}", P::INFO.name))
}

type Made = Result<(Box<dyn Device>, Recovery), MountError>;

enum How {
    Format(Format),
    Mount(Mount, usize),
    Salvage,
}

struct Make<'a> {
    world: &'a World,
    chip: Slate,
    how: How,
}

impl Visitor for Make<'_> {
    type Output = Made;
    fn visit<P: Placement + 'static>(self, placement: P) -> Made {
        let world = self.world;
        match self.how {
            How::Format(format) => {
                let victim = |_| world.victim(0);
                PageMapped::format(self.chip, placement, victim, world.config, format)
                    .map(|layer| (Box::new(layer) as Box<dyn Device>, Recovery::default()))
            }
            How::Salvage => {
                let (victim, format) = (|_| world.victim(0), Format::default());
                PageMapped::salvage(self.chip, placement, victim, world.config, format)
                    .map(|(layer, recovery)| (Box::new(layer) as Box<dyn Device>, recovery))
            }
            How::Mount(how, policy) => {
                let victim = |_| world.victim(policy);
                PageMapped::mount(self.chip, placement, victim, world.config, how)
                    .map(|(layer, recovery)| (Box::new(layer) as Box<dyn Device>, recovery))
            }
        }
    }
}

/// The observable tables.
#[derive(Debug, PartialEq)]
pub struct Tables {
    map: Vec<Ppn>,
    blocks: Vec<(u32, u32, u8, BlockState, u64)>,
}

pub fn tables(world: &World, device: &dyn Device) -> Tables {
    let mut blocks = Vec::new();
    for bank in 0..world.geometry.banks {
        let Some(table) = device.table(bank) else { continue };
        for n in 0..table.len() {
            let (id, block) = (table.nth(n), table.block(table.nth(n)));
            blocks.push((block.valid, block.erases, block.stream, block.state, table.stamp(id)));
        }
    }
    Tables { map: (0..world.config.logical_pages).map(|l| device.locate(Lpn(l))).collect(), blocks }
}

/// Blocks of the index log that a chip of that world may lack.
pub fn a_system_block(world: &World, draws: &mut Draws) -> BlockId {
    BlockId(world.geometry.data_blocks() + draws.below(world.geometry.system_blocks))
}

/// The content of a page, or [`LOST`] if the layer reports that.
pub fn content(device: &mut dyn Device, lpn: u32) -> u64 {
    let mut page = [1; PAGE];
    match device.read(Lpn(lpn), &mut page) {
        Ok(_) => {}
        Err(FtlError::Lost(_)) => return LOST,
        Err(e) => panic!("page {lpn} is read: {e}"),
    }
    assert!(page[8..].iter().all(|&byte| byte == 0), "page {lpn} is whole");
    u64::from_le_bytes(*page.first_chunk().expect("a page is longer"))
}

pub fn ops(device: &mut dyn Device) -> Vec<super::chip::Op> {
    core::mem::take(&mut device.chip_mut().ops)
}

pub fn sync(device: &mut dyn Device) {
    device.chip_mut().sync().expect("synced");
}

/// Prints all copies of a page on a chip.
pub fn explain(chip: &mut Slate, lpn: u32) {
    let geometry = *chip.geometry();
    for block in (0..geometry.data_blocks()).map(BlockId) {
        for at in (0..geometry.pages_per_block).map(|page| geometry.ppn(block, page)) {
            if let Ok(Some(oob)) = chip.read_oob(at)
                && oob.lpn == Lpn(lpn)
            {
                let mut page = [0; PAGE];
                let read = chip.read(at, &mut page).map(|()| page[0]);
                eprintln!("{at:?} in {block}, bad {}: {oob:?}, {read:?}", chip.is_bad(block));
            }
        }
    }
    for entry in index::entries(chip).expect("the log is read") {
        let Some((header, record)) = entry.record else { continue };
        let about = header.first..header.first + header.count;
        let says = match record {
            index::Record::Trims(runs) | index::Record::Absent(runs) => {
                let absent = runs.iter().any(|&(first, n)| (first..first + n).contains(&lpn));
                format!("absent: {absent}, of {about:?}")
            }
            index::Record::Map(map) if about.contains(&lpn) => {
                format!("at {:?}", map[(lpn - header.first) as usize])
            }
            index::Record::Head(head) => format!("{:?} {:?}", head.complete, head.known),
            other => format!("{other:?}").chars().take(60).collect(),
        };
        eprintln!("turn {:?} {:?} {}: {says}", entry.turn, header.kind, header.sequence);
    }
}

/// Prints the block tables of a device that cannot go on, and the chip that it mounted.
pub fn describe(world: &World, device: &dyn Device, left: &super::chip::State) {
    let geometry = world.geometry;
    eprintln!("{world:?}");
    let mut chip = world.chip(left.clone());
    let mut now = device.chip().clone();
    for bank in 0..geometry.banks {
        let Some(table) = device.table(bank) else { continue };
        for block in (0..table.len()).map(|n| table.nth(n)) {
            if block.0 >= geometry.data_blocks() {
                continue;
            }
            let show = |chip: &mut Slate| -> String {
                let pages = geometry.header_pages..geometry.pages_per_block;
                let show = |page| match chip.read_oob(geometry.ppn(block, page)) {
                    Ok(None) => " .".to_owned(),
                    Ok(Some(oob)) => format!(" {}", oob.lpn),
                    Err(_) => " !".to_owned(),
                };
                pages.map(show).collect()
            };
            let (before, after) = (show(&mut chip), show(&mut now));
            let is = table.block(block);
            eprintln!(
                "{block} {:?} {} valid, stream {}: {before} then {after}",
                is.state, is.valid, is.stream
            );
        }
    }
}
