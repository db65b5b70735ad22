//! A store on SPI NOR, with a checksum of each page, as NOR corrects nothing. `driver.rs` is what firmware takes; here a chip in memory
//! takes the place of one on a board.

mod chip;
mod driver;

use thermocline_embedded::{
    Config, Error, Ftl, Nand, Nor, Static, most_logical_pages,
    policy::{Cat, Dac},
};

use chip::Simulated;
use driver::W25q;

const PAGE: usize = 512;
/// Four sectors: 30 pages, each with its area and a checksum.
const BLOCK: u32 = 16 << 10;

/// The chip as the layer wants it.
fn nor(chip: &Simulated) -> Result<impl Nand, Error> {
    let flash = W25q::new(chip.clone(), chip.clone()).map_err(|error| {
        eprintln!("{error}");
        Error::Device
    })?;
    Ok(Nor::checked(flash, BLOCK, PAGE as u32).expect("the shape is right"))
}

/// Runs it.
pub fn main() -> Result<(), Error> {
    let chip = Simulated::w25q64();
    // 512 blocks; a page of the map for each 165 logical pages.
    let mut memory = Box::new(Static::<512, 100, 600, PAGE>::new());

    let nand = nor(&chip)?;
    let logical_pages = most_logical_pages(&nand.geometry(), 2, 3).min(14_000);
    let config = Config { logical_pages, ..Config::default() };
    let mut store = Ftl::format(nand, memory.memory(), Cat::default(), Dac::<3>, config)?;
    for number in 0..500 {
        store.write(number * 13, &[number as u8; PAGE])?;
    }
    store.flush()?;

    // The power fails in the midst of a program.
    chip.cut_in(31);
    let failed = (0..).find_map(|number| store.write(5, &[number; PAGE]).err());
    assert_eq!(failed, Some(Error::Device));

    chip.power_on();
    let mut store = Ftl::mount(nor(&chip)?, memory.memory(), Cat::default(), Dac::<3>)?;
    let mut page = [0; PAGE];
    for number in 0..500 {
        store.read(number * 13, &mut page)?;
        assert!(page == [number as u8; PAGE], "page {number}");
    }
    println!("500 of {logical_pages} pages of {PAGE} bytes, after the power failed");
    Ok(())
}
