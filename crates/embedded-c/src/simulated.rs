//! A simulated chip as a bus of two functions.

use core::{
    ffi::{c_int, c_void},
    slice::{from_raw_parts, from_raw_parts_mut},
};

use embedded_hal::{
    delay::DelayNs,
    spi::{Operation, SpiDevice},
};
use thermocline_spi_nand::simulated::{Simulated, Torn};

use crate::spi::ThermoclineSpi;

/// # Safety
/// As the header says of a bus; the context is a simulated chip.
unsafe extern "C" fn transfer(
    chip: *mut c_void,
    command: *const u8,
    command_length: u32,
    data: *const u8,
    data_length: u32,
    into: *mut u8,
    into_length: u32,
) -> c_int {
    // SAFETY: the caller's promise; null is no slice, but of none is asked for anything.
    let (chip, command, data, into) = unsafe {
        (
            &mut *chip.cast::<Simulated>(),
            from_raw_parts(command, command_length as usize),
            if data.is_null() { &[] } else { from_raw_parts(data, data_length as usize) },
            if into.is_null() { &mut [] } else { from_raw_parts_mut(into, into_length as usize) },
        )
    };
    let mut operations = [Operation::Write(command), Operation::Write(data), Operation::Read(into)];
    chip.transaction(&mut operations).map_or(1, |()| 0)
}

/// # Safety
/// The context is a simulated chip.
unsafe extern "C" fn delay(chip: *mut c_void, microseconds: u32) {
    // SAFETY: the caller's promise.
    unsafe { &mut *chip.cast::<Simulated>() }.delay_us(microseconds);
}

/// A blank chip, which lives as long as the program.
///
/// # Safety
/// `bus` has room for the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_simulated_w25n01gv(bus: *mut ThermoclineSpi) {
    let chip = Box::into_raw(Box::new(Simulated::w25n01gv()));
    let made =
        ThermoclineSpi { context: chip.cast(), transfer: Some(transfer), delay: Some(delay) };
    // SAFETY: the caller's promise.
    unsafe { bus.write(made) };
}

/// Cuts the power after so many bytes on the bus.
///
/// # Safety
/// The bus is one of [`thermocline_simulated_w25n01gv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_simulated_cut(bus: *const ThermoclineSpi, bytes: u64) {
    // SAFETY: the caller's promise.
    unsafe { &*(*bus).context.cast::<Simulated>() }.cut_after(bytes, Torn::Half);
}

/// The power is back.
///
/// # Safety
/// The bus is one of [`thermocline_simulated_w25n01gv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_simulated_power_on(bus: *const ThermoclineSpi) {
    // SAFETY: the caller's promise.
    unsafe { &*(*bus).context.cast::<Simulated>() }.power_on();
}
