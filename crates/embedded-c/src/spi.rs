//! The driver for SPI NAND over the caller's two functions.

use core::{
    ffi::{c_char, c_int, c_void},
    mem::{MaybeUninit, align_of, size_of},
    ptr::{null, null_mut},
    slice::{from_raw_parts, from_raw_parts_mut},
};

use embedded_hal::{
    delay::DelayNs,
    spi::{ErrorKind, ErrorType, Operation, SpiDevice},
};
use thermocline_embedded::{AREA, Nand, NandError};
use thermocline_spi_nand::{SetupError, SpiNand};

use crate::chip::ThermoclineNand;

type Transfer =
    unsafe extern "C" fn(*mut c_void, *const u8, u32, *const u8, u32, *mut u8, u32) -> c_int;

/// `thermocline_spi`: a bus as a table of functions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ThermoclineSpi {
    pub(crate) context: *mut c_void,
    pub(crate) transfer: Option<Transfer>,
    pub(crate) delay: Option<unsafe extern "C" fn(*mut c_void, u32)>,
}

impl ErrorType for ThermoclineSpi {
    type Error = ErrorKind;
}

impl SpiDevice for ThermoclineSpi {
    /// A command, data, an answer: the driver asks for nothing else.
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), ErrorKind> {
        let nothing: &[u8] = &[];
        let (command, data, into): (&[u8], &[u8], &mut [u8]) = match operations {
            [Operation::Write(command)] => (command, nothing, &mut []),
            [Operation::Write(command), Operation::Write(data)] => (command, data, &mut []),
            [Operation::Write(command), Operation::Read(into)] => (command, nothing, into),
            _ => return Err(ErrorKind::Other),
        };
        let transfer = self.transfer.ok_or(ErrorKind::Other)?;
        let data_at = if data.is_empty() { null() } else { data.as_ptr() };
        let into_at = if into.is_empty() { null_mut() } else { into.as_mut_ptr() };
        // SAFETY: the header demands a function that keeps to what it says, and the buffers are as long as it is told.
        let done = unsafe {
            transfer(
                self.context,
                command.as_ptr(),
                command.len() as u32,
                data_at,
                data.len() as u32,
                into_at,
                into.len() as u32,
            )
        };
        if done == 0 { Ok(()) } else { Err(ErrorKind::Other) }
    }
}

impl DelayNs for ThermoclineSpi {
    fn delay_ns(&mut self, ns: u32) {
        self.delay_us(ns.div_ceil(1000));
    }

    fn delay_us(&mut self, us: u32) {
        if let Some(delay) = self.delay {
            // SAFETY: as above.
            unsafe { delay(self.context, us) }
        }
    }
}

type Chip = SpiNand<ThermoclineSpi, ThermoclineSpi>;

/// What is in the caller's `thermocline_spi_nand`. Zeros are a driver that is not open.
#[repr(C)]
struct Driver {
    /// [`OPEN`] where there is a chip.
    is_open: u32,
    chip: MaybeUninit<Chip>,
}

const OPEN: u32 = 0x6970_7374;

const _: () = assert!(size_of::<Driver>() <= 20 * size_of::<usize>() && align_of::<Driver>() <= 8);

/// The chip of a driver; nothing where none is open.
///
/// # Safety
/// The bytes are zeros, or what [`thermocline_spi_nand_open`] left; nobody else uses them now.
unsafe fn chip<'c>(driver: *mut c_void) -> Option<&'c mut Chip> {
    let driver = driver.cast::<Driver>();
    // SAFETY: the caller's promise.
    if driver.is_null() || unsafe { (&raw const (*driver).is_open).read() } != OPEN {
        return None;
    }
    // SAFETY: a chip was written there before it was called open.
    Some(unsafe { (*driver).chip.assume_init_mut() })
}

fn code(error: NandError) -> c_int {
    match error {
        NandError::Unreadable => 1,
        NandError::Failed => 2,
        NandError::Device => 3,
    }
}

/// What a chip answers.
///
/// # Safety
/// That of [`chip`].
unsafe fn with<T>(
    driver: *mut c_void,
    what: impl FnOnce(&mut Chip) -> Result<T, NandError>,
    answer: impl FnOnce(T) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { chip(driver) }.ok_or(NandError::Device).and_then(what).map_or_else(code, answer)
}

fn done((): ()) -> c_int {
    0
}

// SAFETY of all functions below: the layer calls them by the table, with the driver that is its context, and with buffers as
// long as the header says.
unsafe extern "C" fn read(
    driver: *mut c_void,
    page: u32,
    offset: u32,
    into: *mut c_void,
    length: u32,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let into = from_raw_parts_mut(into.cast(), length as usize);
        with(driver, |chip| chip.read(page, offset, into), done)
    }
}

unsafe extern "C" fn read_area(driver: *mut c_void, page: u32, into: *mut u8) -> c_int {
    // SAFETY: as above.
    unsafe {
        let into = &mut *into.cast::<[u8; AREA]>();
        with(driver, |chip| chip.read_area(page, into), done)
    }
}

unsafe extern "C" fn program(
    driver: *mut c_void,
    page: u32,
    data: *const c_void,
    area: *const u8,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let area = &*area.cast::<[u8; AREA]>();
        let program = |chip: &mut Chip| {
            let length = chip.geometry().page_size as usize;
            chip.program(page, from_raw_parts(data.cast(), length), area)
        };
        with(driver, program, done)
    }
}

unsafe extern "C" fn erase(driver: *mut c_void, block: u32) -> c_int {
    // SAFETY: as above.
    unsafe { with(driver, |chip| chip.erase(block), done) }
}

unsafe extern "C" fn is_bad(driver: *mut c_void, block: u32) -> c_int {
    // SAFETY: as above.
    unsafe { with(driver, |chip| chip.is_bad(block), c_int::from) }
}

unsafe extern "C" fn mark_bad(driver: *mut c_void, block: u32) -> c_int {
    // SAFETY: as above.
    unsafe { with(driver, |chip| chip.mark_bad(block), done) }
}

unsafe extern "C" fn copy(
    driver: *mut c_void,
    from: u32,
    to: u32,
    area: *const u8,
    buffer: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let area = &*area.cast::<[u8; AREA]>();
        let copy = |chip: &mut Chip| {
            let length = chip.geometry().page_size as usize;
            chip.copy(from, to, area, from_raw_parts_mut(buffer.cast(), length))
        };
        with(driver, copy, done)
    }
}

unsafe extern "C" fn corrected(driver: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe { with(driver, |chip| Ok(chip.corrected()), u32::cast_signed) }
}

/// Finds the chip of a bus, and makes it the caller's.
///
/// # Safety
/// As the header says: `driver` is the library's until the chip is not used any more; `id` is null or has room for eight
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_spi_nand_open(
    driver: *mut c_void,
    bus: *const ThermoclineSpi,
    nand: *mut ThermoclineNand,
    id: *mut u8,
) -> c_int {
    let context = driver;
    let driver = driver.cast::<Driver>();
    if driver.is_null() || bus.is_null() || nand.is_null() {
        return -15;
    }
    // SAFETY: the driver has room there, as is asserted above, and the bus is a table.
    let bus = unsafe {
        (&raw mut (*driver).is_open).write(0);
        *bus
    };
    let chip = match SpiNand::new(bus, bus) {
        Ok(chip) => chip,
        Err(SetupError::NoAnswer) => return -15,
        Err(SetupError::Unknown(after, at_once)) => {
            if !id.is_null() {
                // SAFETY: the caller's promise.
                unsafe {
                    id.cast::<[u8; 4]>().write(after);
                    id.add(4).cast::<[u8; 4]>().write(at_once);
                }
            }
            return -16;
        }
        Err(SetupError::NotSet) => return -17,
    };
    let (shape, refresh_from) = (chip.geometry(), chip.refresh_from());
    // SAFETY: the caller's promise.
    unsafe {
        driver.write(Driver { is_open: OPEN, chip: MaybeUninit::new(chip) });
        nand.write(ThermoclineNand {
            context,
            blocks: shape.blocks,
            pages: shape.pages,
            page_size: shape.page_size,
            read: Some(read),
            read_area: Some(read_area),
            program: Some(program),
            erase: Some(erase),
            is_bad: Some(is_bad),
            mark_bad: Some(mark_bad),
            copy: Some(copy),
            sync: None,
            corrected: Some(corrected),
            refresh_from,
        });
    }
    0
}

/// The name of a chip.
///
/// # Safety
/// `into` has room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_spi_nand_name(
    driver: *mut c_void,
    into: *mut c_char,
    length: usize,
) {
    if into.is_null() || length == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let (name, into) = unsafe {
        let name = chip(driver).map_or("", |chip| chip.chip().name);
        (name, from_raw_parts_mut(into.cast::<u8>(), length))
    };
    into.fill(0);
    into.iter_mut().take(length - 1).zip(name.bytes()).for_each(|(to, from)| *to = from);
}
