//! All of a store with one policy on a chip that the linker knows nothing of: what it takes of flash and of the stack.

#![no_std]
#![no_main]

use thermocline_bisync::blocking as bisync;
use thermocline_embedded::{Ftl, Nand};

#[path = "../size.rs"]
mod size;

#[unsafe(no_mangle)]
extern "C" fn program() -> bool {
    let is_well = size::work();
    if is_well {
        size::report();
    }
    is_well
}
