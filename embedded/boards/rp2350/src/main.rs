//! A log on a W25N01GV beside a Raspberry Pi Pico 2: GPIO 4 is the chip's DO, 5 its /CS, 6 its CLK, 7 its DI; /WP and /HOLD are high.

#![no_std]
#![no_main]

use embedded_hal::{delay::DelayNs, spi::MODE_0};
use embedded_hal_bus::spi::ExclusiveDevice;
use panic_halt as _;
use rp235x_hal::{
    Clock, Sio, Spi, Timer, Watchdog,
    block::ImageDef,
    clocks::init_clocks_and_plls,
    entry,
    fugit::RateExtU32,
    gpio::{FunctionSpi, Pins},
    pac::Peripherals,
};
use static_cell::ConstStaticCell;
use thermocline_embedded::{
    Config, Error, Ftl, Nand, Static,
    policy::{Cat, Dac},
};
use thermocline_spi_nand::SpiNand;

/// How the boot ROM starts this.
#[unsafe(link_section = ".start_block")]
#[used]
static IMAGE: ImageDef = ImageDef::secure_exe();
const CRYSTAL: u32 = 12_000_000;

const PAGE: usize = 2048;
/// 16 KiB for a W25N01GV: blocks, pages of the map, changes, bytes of a page.
static MEMORY: ConstStaticCell<Static<1024, 86, 1000, PAGE>> = ConstStaticCell::new(Static::new());
static DATA: ConstStaticCell<[u8; PAGE]> = ConstStaticCell::new([0; PAGE]);

#[entry]
fn main() -> ! {
    let mut board = Peripherals::take().expect("it is taken once");
    let mut watchdog = Watchdog::new(board.WATCHDOG);
    let clocks = init_clocks_and_plls(
        CRYSTAL,
        board.XOSC,
        board.CLOCKS,
        board.PLL_SYS,
        board.PLL_USB,
        &mut board.RESETS,
        &mut watchdog,
    );
    let Ok(clocks) = clocks else { stop() };
    let timer = Timer::new_timer0(board.TIMER0, &mut board.RESETS, &clocks);
    let sio = Sio::new(board.SIO);
    let pins = Pins::new(board.IO_BANK0, board.PADS_BANK0, sio.gpio_bank0, &mut board.RESETS);
    let lines = (
        pins.gpio7.into_function::<FunctionSpi>(),
        pins.gpio4.into_function::<FunctionSpi>(),
        pins.gpio6.into_function::<FunctionSpi>(),
    );
    let spi = Spi::<_, _, _, 8>::new(board.SPI0, lines).init(
        &mut board.RESETS,
        clocks.peripheral_clock.freq(),
        40.MHz(),
        MODE_0,
    );
    let Ok(device) = ExclusiveDevice::new(spi, pins.gpio5.into_push_pull_output(), timer);
    let Ok(nand) = SpiNand::new(device, timer) else { stop() };
    let _ = log(nand, timer);
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
