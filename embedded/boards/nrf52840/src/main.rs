//! A log on a W25N01GV beside an nRF52840, with Embassy: P0.26 is the chip's /CS, P0.27 its CLK, P0.30 its DO, P0.31 its DI; /WP
//! and /HOLD are high. While the chip works, other tasks run.

#![no_std]
#![no_main]

use embassy_embedded_hal::shared_bus::asynch::spi::SpiDevice;
use embassy_executor::Spawner;
use embassy_nrf::{
    bind_interrupts,
    gpio::{Level, Output, OutputDrive},
    peripherals::SPI3,
    spim::{Config as Bus, Frequency, InterruptHandler, Spim},
};
use embassy_sync::{blocking_mutex::raw::NoopRawMutex, mutex::Mutex};
use embassy_time::{Delay, Duration, Ticker};
use panic_halt as _;
use static_cell::{ConstStaticCell, StaticCell};
use thermocline_embedded::{
    Config, Error, Static,
    asynchronous::{Ftl, Nand},
    policy::{Cat, Dac},
};
use thermocline_spi_nand::asynchronous::SpiNand;

bind_interrupts!(struct Interrupts { SPIM3 => InterruptHandler<SPI3>; });

const PAGE: usize = 2048;
/// 16 KiB for a W25N01GV: blocks, pages of the map, changes, bytes of a page.
static MEMORY: ConstStaticCell<Static<1024, 86, 1000, PAGE>> = ConstStaticCell::new(Static::new());
static DATA: ConstStaticCell<[u8; PAGE]> = ConstStaticCell::new([0; PAGE]);

/// The bus, for this chip and others.
static BUS: StaticCell<Mutex<NoopRawMutex, Spim<'static>>> = StaticCell::new();

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let board = embassy_nrf::init(Default::default());
    let mut bus = Bus::default();
    bus.frequency = Frequency::M32;
    let spi = Spim::new(board.SPI3, Interrupts, board.P0_27, board.P0_30, board.P0_31, bus);
    let select = Output::new(board.P0_26, Level::High, OutputDrive::Standard);
    let led = Output::new(board.P0_13, Level::High, OutputDrive::Standard);
    if let Ok(blinks) = blink(led) {
        spawner.spawn(blinks);
    }
    let device = SpiDevice::new(BUS.init(Mutex::new(spi)), select);
    if let Ok(nand) = SpiNand::new(device, Delay).await {
        let _ = log(nand).await;
    }
}

/// Another task.
#[embassy_executor::task]
async fn blink(mut led: Output<'static>) {
    let mut ticks = Ticker::every(Duration::from_millis(500));
    loop {
        led.toggle();
        ticks.next().await;
    }
}

/// Counts in page 0 how often it was started, and writes a page a second behind it.
async fn log(nand: impl Nand) -> Result<(), Error> {
    let mut store = Ftl::unmounted(nand, MEMORY.take().memory(), Cat::default(), Dac::<3>)?;
    match store.remount().await {
        Err(Error::NotFormatted) => {
            store.reformat(Config { logical_pages: 58_000, ..Config::default() }).await?;
        }
        mounted => mounted?,
    }
    let page = DATA.take();
    store.read(0, page).await?;
    let [a, b, c, d, ..] = *page;
    let starts = u32::from_le_bytes([a, b, c, d]).wrapping_add(1);
    page[..4].copy_from_slice(&starts.to_le_bytes());
    store.write(0, page).await?;
    let mut ticks = Ticker::every(Duration::from_secs(1));
    for second in 0_u32.. {
        page[4..8].copy_from_slice(&second.to_le_bytes());
        store.write(1 + second % 57_999, page).await?;
        store.flush().await?;
        ticks.next().await;
    }
    Ok(())
}
