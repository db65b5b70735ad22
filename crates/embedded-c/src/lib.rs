//! The C side of [`thermocline_embedded`] and of [`thermocline_spi_nand`]: what `include/thermocline.h` declares, and
//! `include/thermocline_simulated.h` for computers. The headers are the documentation.

#![cfg_attr(not(feature = "std"), no_std)]

mod chip;
mod memory;
mod policy;
#[cfg(feature = "simulated")]
mod simulated;
mod spi;
mod store;

pub use chip::ThermoclineNand;
#[cfg(feature = "simulated")]
pub use simulated::{
    thermocline_simulated_cut, thermocline_simulated_power_on, thermocline_simulated_w25n01gv,
};
pub use spi::{ThermoclineSpi, thermocline_spi_nand_name, thermocline_spi_nand_open};
pub use store::{
    ThermoclineCounters, ThermoclineHealth, thermocline_checkpoint, thermocline_counters,
    thermocline_error_text, thermocline_flush, thermocline_format, thermocline_health,
    thermocline_most_pages, thermocline_mount, thermocline_pages, thermocline_ram,
    thermocline_read, thermocline_read_at, thermocline_trim, thermocline_write,
    thermocline_write_at, thermocline_writes_left,
};

/// On bare metal nobody hears of a panic, and none happens: the invariants that could are checked by the tests.
#[cfg(all(not(feature = "std"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
