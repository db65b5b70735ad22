//! A log on a W25N01GV beside an STM32F411: PA4 is the chip's /CS, PA5 its CLK, PA6 its DO, PA7 its DI; /WP and /HOLD are high.

#![no_std]
#![no_main]

use cortex_m_rt::entry;
use embedded_hal::delay::DelayNs;
use embedded_hal_bus::spi::ExclusiveDevice;
use panic_halt as _;
use static_cell::ConstStaticCell;
use stm32f4xx_hal::{
    gpio::Speed,
    pac::Peripherals,
    prelude::*,
    rcc::Config as Clocks,
    spi::{Mode, Phase, Polarity, Spi},
};
use thermocline_embedded::{
    Config, Error, Ftl, Nand, Static,
    policy::{Cat, Dac},
};
use thermocline_spi_nand::SpiNand;

const PAGE: usize = 2048;
/// 16 KiB for a W25N01GV: blocks, pages of the map, changes, bytes of a page.
static MEMORY: ConstStaticCell<Static<1024, 86, 1000, PAGE>> = ConstStaticCell::new(Static::new());
static DATA: ConstStaticCell<[u8; PAGE]> = ConstStaticCell::new([0; PAGE]);

#[entry]
fn main() -> ! {
    let board = Peripherals::take().expect("it is taken once");
    let mut rcc = board.RCC.freeze(Clocks::hsi().sysclk(100.MHz()));
    let pins = board.GPIOA.split(&mut rcc);
    let lines = (
        Some(pins.pa5.into_alternate().speed(Speed::VeryHigh)),
        Some(pins.pa6.into_alternate()),
        Some(pins.pa7.into_alternate().speed(Speed::VeryHigh)),
    );
    let mode = Mode { polarity: Polarity::IdleLow, phase: Phase::CaptureOnFirstTransition };
    let spi = Spi::new(board.SPI1, lines, mode, 50.MHz(), &mut rcc);
    let between = board.TIM2.delay_us(&mut rcc);
    let Ok(device) = ExclusiveDevice::new(spi, pins.pa4.into_push_pull_output(), between);
    let Ok(nand) = SpiNand::new(device, board.TIM3.delay_us(&mut rcc)) else { stop() };
    let _ = log(nand, board.TIM5.delay_us(&mut rcc));
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
