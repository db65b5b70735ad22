//! The C side of [`thermocline_embedded`]: what `include/thermocline.h` declares, and nothing else. The header is the
//! documentation.

#![cfg_attr(not(feature = "std"), no_std)]

mod chip;
mod memory;
mod policy;
mod store;

pub use chip::ThermoclineNand;
pub use store::{
    ThermoclineCounters, thermocline_checkpoint, thermocline_counters, thermocline_error_text,
    thermocline_flush, thermocline_format, thermocline_mount, thermocline_pages, thermocline_ram,
    thermocline_read, thermocline_read_at, thermocline_trim, thermocline_write,
    thermocline_write_at,
};

/// On bare metal nobody hears of a panic, and none happens: the invariants that could are checked by the tests.
#[cfg(all(not(feature = "std"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
