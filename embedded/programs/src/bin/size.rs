//! All of a store with one policy on a chip that the linker knows nothing of: what it takes of flash and of the stack.

#![no_std]
#![no_main]

use core::{cell::UnsafeCell, fmt::Write, hint::black_box};

use thermocline_embedded::{
    AREA, Config, Ftl, Geometry, Nand, NandError, Static,
    policy::{Cat, Dac},
};
use thermocline_on_target::{Outside, code_size, stack_used};

const BLOCKS: usize = 64;
const PAGES: usize = 16;
const PAGE: usize = 512;

/// The machine's second memory, as a chip on a bus: nothing is known of it when this is compiled.
struct Bus(*mut u8);

impl Bus {
    fn byte(&self, page: u32, offset: usize) -> *mut u8 {
        // SAFETY: within the machine's memory.
        unsafe { self.0.add(page as usize * (PAGE + AREA) + offset) }
    }
}

#[inline(never)]
fn out(to: *mut u8, bytes: &[u8]) {
    for (i, &byte) in bytes.iter().enumerate() {
        // SAFETY: within the machine's memory.
        unsafe { to.add(i).write_volatile(byte) }
    }
}

#[inline(never)]
fn into(from: *mut u8, bytes: &mut [u8]) {
    for (i, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: within the machine's memory.
        *byte = unsafe { from.add(i).read_volatile() };
    }
}

impl Nand for Bus {
    fn geometry(&self) -> Geometry {
        Geometry { blocks: BLOCKS as u32, pages: PAGES as u32, page_size: PAGE as u32 }
    }
    fn read(&mut self, page: u32, offset: u32, bytes: &mut [u8]) -> Result<(), NandError> {
        into(self.byte(page, offset as usize), bytes);
        Ok(())
    }
    fn read_area(&mut self, page: u32, area: &mut [u8; AREA]) -> Result<(), NandError> {
        into(self.byte(page, PAGE), area);
        Ok(())
    }
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        out(self.byte(page, 0), data);
        out(self.byte(page, PAGE), area);
        Ok(())
    }
    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        let ones = [0xff; PAGE + AREA];
        for page in 0..PAGES as u32 {
            out(self.byte(block * PAGES as u32 + page, 0), &ones);
        }
        Ok(())
    }
    fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }
    fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        Ok(())
    }
}

struct Shared<T>(UnsafeCell<T>);
// SAFETY: one thread runs here.
unsafe impl<T> Sync for Shared<T> {}

static MEMORY: Shared<Static<BLOCKS, 5, 100, PAGE>> = Shared(UnsafeCell::new(Static::new()));
/// The chip's cells, where `black_box` hides that they are ours.
static CELLS: Shared<[u8; BLOCKS * PAGES * (PAGE + AREA)]> =
    Shared(UnsafeCell::new([0; BLOCKS * PAGES * (PAGE + AREA)]));

#[unsafe(no_mangle)]
extern "C" fn program() -> bool {
    let chip = || Bus(black_box(CELLS.0.get().cast()));
    // SAFETY: one thread runs here, and a store is gone when the next is made.
    let memory = || unsafe { &mut *MEMORY.0.get() }.memory();
    let config = Config { logical_pages: black_box(700), ..Config::default() };
    let Ok(mut store) = Ftl::format(chip(), memory(), Cat::default(), Dac::<3>, config) else {
        return false;
    };
    let mut page = [0; PAGE];
    for i in 0..3000_u32 {
        page[0] = i as u8;
        let lpn = i.wrapping_mul(2_654_435_761) >> 16;
        if store.write(lpn % 700, &page).is_err() {
            return false;
        }
    }
    if store.trim(3).is_err() || store.flush().is_err() || store.checkpoint().is_err() {
        return false;
    }
    drop(store);
    let Ok(mut store) = Ftl::mount(chip(), memory(), Cat::default(), Dac::<3>) else { return false };
    let read = store.read(3, &mut page) == Ok(false);
    let _ = writeln!(
        Outside,
        "code and constants: {} bytes, all of the program; stack: {} bytes, a page of {PAGE} for the data included",
        code_size(),
        stack_used()
    );
    read
}
