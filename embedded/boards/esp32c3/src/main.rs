//! A log on a W25N01GV beside an ESP32-C3: GPIO 2 is the chip's DO, 6 its CLK, 7 its DI, 10 its /CS; /WP and /HOLD are high.

#![no_std]
#![no_main]

use embedded_hal::delay::DelayNs;
use embedded_hal_bus::spi::ExclusiveDevice;
use esp_hal::{
    delay::Delay,
    gpio::{Level, Output, OutputConfig},
    spi::{
        Mode,
        master::{Config as Bus, Spi},
    },
    time::Rate,
};
use panic_halt as _;
use static_cell::ConstStaticCell;
use thermocline_embedded::{
    Config, Error, Ftl, Nand, Static,
    policy::{Cat, Dac},
};
use thermocline_spi_nand::SpiNand;

esp_bootloader_esp_idf::esp_app_desc!();

const PAGE: usize = 2048;
/// 16 KiB for a W25N01GV: blocks, pages of the map, changes, bytes of a page.
static MEMORY: ConstStaticCell<Static<1024, 86, 1000, PAGE>> = ConstStaticCell::new(Static::new());
static DATA: ConstStaticCell<[u8; PAGE]> = ConstStaticCell::new([0; PAGE]);

#[esp_hal::main]
fn main() -> ! {
    let board = esp_hal::init(esp_hal::Config::default());
    let bus = Bus::default().with_frequency(Rate::from_mhz(40)).with_mode(Mode::_0);
    let Ok(spi) = Spi::new(board.SPI2, bus) else { stop() };
    let spi = spi.with_sck(board.GPIO6).with_mosi(board.GPIO7).with_miso(board.GPIO2);
    let select = Output::new(board.GPIO10, Level::High, OutputConfig::default());
    let Ok(device) = ExclusiveDevice::new(spi, select, Delay::new());
    let Ok(nand) = SpiNand::new(device, Delay::new()) else { stop() };
    let _ = log(nand, Delay::new());
    stop()
}

/// Counts in page 0 how often it was started, and writes a page a second behind it.
fn log(nand: impl Nand, mut delay: impl DelayNs) -> Result<(), Error> {
    let mut store = Ftl::unmounted(nand, MEMORY.take().memory(), Cat::default(), Dac::<3>)?;
    match store.remount() {
        Err(Error::NotFormatted) => {
            store.reformat(Config { logical_pages: 58_000, ..Config::default() })?;
        }
        mounted => mounted?,
    }
    let page = DATA.take();
    store.read(0, page)?;
    let [a, b, c, d, ..] = *page;
    let starts = u32::from_le_bytes([a, b, c, d]).wrapping_add(1);
    page[..4].copy_from_slice(&starts.to_le_bytes());
    store.write(0, page)?;
    for second in 0_u32.. {
        page[4..8].copy_from_slice(&second.to_le_bytes());
        store.write(1 + second % 57_999, page)?;
        store.flush()?;
        delay.delay_ms(1000);
    }
    Ok(())
}

/// No chip, or one that does not work.
fn stop() -> ! {
    loop {
        core::hint::spin_loop();
    }
}
