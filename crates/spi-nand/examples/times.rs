//! What the layer takes on a W25N01GV behind one line of SPI at 40 MHz, in the simulated chip's time: 90 % of the chip in use,
//! nine writes of ten to a tenth of the pages.
//!
//! `cargo run --release -p thermocline-spi-nand --features simulated --example times`

use thermocline_embedded::{
    AREA, Config, Error, Ftl, Geometry, Memory, Nand, NandError, Static,
    policy::{Cat, Dac},
};
use thermocline_spi_nand::{SpiNand, simulated::Simulated};

const LOGICAL: u32 = 58_000;
type Plain = Counted<SpiNand<Simulated, Simulated>>;

/// A chip whose reads are counted.
struct Counted<N> {
    nand: N,
    reads: u64,
}

impl<N: Nand> Nand for Counted<N> {
    fn geometry(&self) -> Geometry {
        self.nand.geometry()
    }
    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        self.reads += 1;
        self.nand.read(page, offset, into)
    }
    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.reads += 1;
        self.nand.read_area(page, into)
    }
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        self.nand.program(page, data, area)
    }
    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.nand.erase(block)
    }
    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        self.reads += 1;
        self.nand.is_bad(block)
    }
    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        self.nand.mark_bad(block)
    }
    fn copy(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        buffer: &mut [u8],
    ) -> Result<(), NandError> {
        self.reads += 1;
        self.nand.copy(from, to, area, buffer)
    }
}

/// What happens between two looks at the chip.
fn measure(
    what: &str,
    each: u64,
    chip: &Simulated,
    store: &mut Ftl<'_, Plain, Cat, Dac<3>>,
    work: impl FnOnce(&mut Ftl<'_, Plain, Cat, Dac<3>>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (time, (loads, ..), reads) = (chip.nanoseconds(), chip.operations(), store.nand().reads);
    work(store)?;
    let per = |n: u64| n as f64 / each as f64;
    println!(
        "| {what} | {:.2} ms | {:.1} | {:.1} |",
        per(chip.nanoseconds() - time) / 1e6,
        per(store.nand().reads - reads),
        per(chip.operations().0 - loads),
    );
    Ok(())
}

struct Draws(u32);

impl Draws {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.0) * u64::from(bound)) >> 32) as u32
    }

    fn page(&mut self) -> u32 {
        if self.below(10) == 0 { self.below(LOGICAL) } else { self.below(LOGICAL / 10) }
    }
}

fn mounted<'a>(
    chip: &Simulated,
    memory: Memory<'a>,
) -> Result<Ftl<'a, Plain, Cat, Dac<3>>, Box<dyn std::error::Error>> {
    let nand = SpiNand::new(chip.clone(), chip.clone())?;
    let nand = Counted { nand, reads: 0 };
    Ok(Ftl::unmounted(nand, memory, Cat::default(), Dac::<3>)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let chip = Simulated::w25n01gv();
    let mut memory = Static::<1024, 86, 1000, 2048>::new();
    let config = Config { logical_pages: LOGICAL, ..Config::default() };
    let mut store = mounted(&chip, memory.memory())?;
    store.reformat(config)?;
    let (mut page, mut draws) = ([0x5a; 2048], Draws(1));
    (0..LOGICAL).try_for_each(|lpn| store.write(lpn, &page))?;
    println!("| what | time | reads of pages or parts | page loads |\n|---|---|---|---|");
    measure("write", 60_000, &chip, &mut store, |store| {
        (0..60_000).try_for_each(|_| store.write(draws.page(), &page))
    })?;
    measure("read", 10_000, &chip, &mut store, |store| {
        (0..10_000).try_for_each(|_| store.read(draws.page(), &mut page).map(drop))
    })?;
    drop(store);
    chip.power_on();
    let mut store = mounted(&chip, memory.memory())?;
    measure("mount after a power cut", 1, &chip, &mut store, |store| store.remount())?;
    store.checkpoint()?;
    drop(store);
    chip.power_on();
    let mut store = mounted(&chip, memory.memory())?;
    measure("mount after a checkpoint", 1, &chip, &mut store, |store| store.remount())?;
    Ok(())
}
