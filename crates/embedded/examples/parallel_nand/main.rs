//! A store on raw NAND with a parallel bus. `driver.rs` is what firmware takes, with `Mapped` as its bus; here a chip in
//! memory takes the place of one on a board.

mod chip;
mod driver;

use thermocline_embedded::{
    Config, Error, Ftl, Nand, Static,
    policy::{Cat, Dac},
};

use chip::Simulated;
use driver::{PAGE, ParallelNand};

const PAGES: u32 = 58_000;

fn page_of(number: u32) -> [u8; PAGE] {
    let mut page = [number as u8; PAGE];
    page[..4].copy_from_slice(&number.to_le_bytes());
    page
}

/// Runs it.
pub fn main() -> Result<(), Error> {
    let chip = Simulated::default();
    let mut memory = Box::new(Static::<1024, 86, 1000, PAGE>::new());
    let device = |_| Error::Device;

    let mut nand = ParallelNand::new(chip.clone()).map_err(device)?;
    assert_eq!(nand.is_bad(7), Ok(false));
    nand.mark_bad(7).map_err(device)?;
    let config = Config { logical_pages: PAGES, ..Config::default() };
    let mut store = Ftl::format(nand, memory.memory(), Cat::default(), Dac::<3>, config)?;
    for number in 0..300 {
        store.write(number * 7 % PAGES, &page_of(number))?;
    }
    store.flush()?;

    // The power fails in the midst of a program.
    chip.cut_in(20);
    let failed = (0..).find_map(|number| store.write(3, &page_of(1000 + number)).err());
    assert_eq!(failed, Some(Error::Device));

    chip.power_on();
    let nand = ParallelNand::new(chip.clone()).map_err(device)?;
    let mut store = Ftl::mount(nand, memory.memory(), Cat::default(), Dac::<3>)?;
    let mut page = [0; PAGE];
    for number in 0..300 {
        store.read(number * 7 % PAGES, &mut page)?;
        assert!(page == page_of(number), "page {number}");
    }
    // Of each sector one bit turns, and the page is moved.
    let mut at = 0;
    store.each_mapped(|page, found| at = if page == 70 { found } else { at })?;
    (0..8).for_each(|sector| chip.turn(at, sector * 256 + 31 * sector, sector as u8));
    store.read(70, &mut page)?;
    assert!(page == page_of(10));
    let health = store.health();
    println!(
        "300 pages, {} of them moved, {} bad block",
        store.counters().refreshed,
        health.bad_blocks
    );
    assert_eq!((store.counters().refreshed, health.bad_blocks), (1, 1));
    Ok(())
}
