//! The layer with a policy on the driver for SPI NAND: what the two take of flash and of the stack. The chip is a part of the
//! program, and is what `emulator` is in its symbols.

#![no_std]
#![no_main]

use core::{cell::UnsafeCell, hint::black_box, mem::MaybeUninit};

use embedded_hal::{
    delay::DelayNs,
    spi::{ErrorKind, ErrorType, Operation, SpiDevice},
};
use thermocline_embedded::{
    Config, Error, Ftl, Memory, Static,
    policy::{Cat, Dac},
};
use thermocline_on_target::{Outside, code_size, stack_used};
use thermocline_spi_nand::{Chip, Id, SpiNand, chips::W25N01GV};

const BLOCKS: usize = 64;
const PAGES: usize = 16;
const PAGE: usize = 512;
const ALL: usize = PAGE + 64;

/// A W25N01GV, but small.
static SMALL: [Chip; 1] = [Chip {
    id: Id::AfterDummy(&[0xef]),
    blocks: BLOCKS as u16,
    pages: PAGES as u8,
    page_size: PAGE as u16,
    ..W25N01GV
}];

struct Shared<T>(UnsafeCell<T>);
// SAFETY: one thread runs here.
unsafe impl<T> Sync for Shared<T> {}

static CELLS: Shared<[[u8; ALL]; BLOCKS * PAGES]> =
    Shared(UnsafeCell::new([[0; ALL]; BLOCKS * PAGES]));
static STORE: Shared<MaybeUninit<Store>> = Shared(UnsafeCell::new(MaybeUninit::uninit()));
static MEMORY: Shared<Static<BLOCKS, 5, 100, PAGE>> = Shared(UnsafeCell::new(Static::new()));

/// The chip: its registers, and the page in its register.
struct Bus {
    register: &'static mut [u8; ALL],
    status: u8,
    values: [u8; 2],
}

static REGISTER: Shared<[u8; ALL]> = Shared(UnsafeCell::new([0; ALL]));

impl Bus {
    fn cells(&mut self, page: usize) -> &'static mut [u8; ALL] {
        // SAFETY: one thread runs here, and no other reference is kept.
        unsafe { &mut (&mut *black_box(CELLS.0.get()))[page % (BLOCKS * PAGES)] }
    }

    #[inline(never)]
    fn emulator(&mut self, command: &[u8], data: &[u8], into: &mut [u8]) {
        let at = |i: usize| command.get(i).copied().unwrap_or(0);
        let column = usize::from(u16::from_be_bytes([at(1), at(2)]));
        let page = usize::from(u16::from_be_bytes([at(2), at(3)]));
        match at(0) {
            0x9f => into.iter_mut().zip([0xef, 0xaa, 0x21, 0xff]).for_each(|(to, from)| *to = from),
            0x0f => {
                let value = match at(1) {
                    0xc0 => self.status,
                    0xa0 => self.values[0],
                    _ => self.values[1],
                };
                into.fill(value);
            }
            0x1f => self.values[usize::from(at(1) == 0xb0)] = at(2),
            0x06 => self.status = 2,
            0x13 => {
                let cells = self.cells(page);
                self.register.copy_from_slice(cells);
            }
            0x03 => {
                for (to, from) in into.iter_mut().zip(self.register.iter().skip(column)) {
                    *to = *from;
                }
            }
            0x02 | 0x84 => {
                if at(0) == 2 {
                    self.register.fill(0xff);
                }
                let bytes = command.iter().skip(3).chain(data);
                for (to, from) in self.register.iter_mut().skip(column).zip(bytes) {
                    *to = *from;
                }
            }
            0x10 => {
                self.cells(page).copy_from_slice(self.register);
                self.status = 0;
            }
            0xd8 => {
                for page in page..page + PAGES {
                    self.cells(page).fill(0xff);
                }
                self.status = 0;
            }
            _ => {}
        }
    }
}

impl ErrorType for Bus {
    type Error = ErrorKind;
}

impl SpiDevice for Bus {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), ErrorKind> {
        match operations {
            [Operation::Write(command)] => self.emulator(command, &[], &mut []),
            [Operation::Write(command), Operation::Write(data)] => {
                self.emulator(command, data, &mut []);
            }
            [Operation::Write(command), Operation::Read(into)] => self.emulator(command, &[], into),
            _ => return Err(ErrorKind::Other),
        }
        Ok(())
    }
}

struct Delay;

impl DelayNs for Delay {
    fn delay_ns(&mut self, ns: u32) {
        black_box(ns);
    }
}

type Store = Ftl<'static, SpiNand<Bus, Delay>, Cat, Dac<3>>;

fn memory() -> Memory<'static> {
    // SAFETY: one thread runs here, and a store is gone when the next is made.
    unsafe { &mut *MEMORY.0.get() }.memory()
}

#[inline(never)]
fn unmounted() -> Result<&'static mut Store, Error> {
    // SAFETY: one thread runs here, and a chip is gone when the next is made.
    let register = unsafe { &mut *REGISTER.0.get() };
    let bus = Bus { register, status: 0, values: [0x7c, 0x10] };
    let nand = SpiNand::among(bus, Delay, &SMALL).map_err(|_| Error::Device)?;
    let store = Ftl::unmounted(nand, memory(), Cat::default(), Dac)?;
    // SAFETY: one thread runs here, and nothing of a store before is used any more.
    Ok(unsafe { &mut *STORE.0.get() }.write(store))
}

fn write(page: &mut [u8; PAGE]) -> Result<(), Error> {
    let config = Config { logical_pages: black_box(700), ..Config::default() };
    let store = unmounted()?;
    store.reformat(config)?;
    for i in 0..3000_u32 {
        page[0] = i as u8;
        let lpn = i.wrapping_mul(2_654_435_761) >> 16;
        store.write(lpn % 700, page)?;
    }
    store.trim(3)?;
    store.flush()?;
    store.checkpoint()
}

fn read(page: &mut [u8; PAGE]) -> Result<bool, Error> {
    let store = unmounted()?;
    store.remount()?;
    store.read(3, page)
}

#[unsafe(no_mangle)]
extern "C" fn program() -> bool {
    // SAFETY: one thread runs here. A chip is blank, and has no marks.
    unsafe { &mut *CELLS.0.get() }.as_flattened_mut().fill(0xff);
    let mut page = [0; PAGE];
    if write(&mut page).is_err() || read(&mut page) != Ok(false) {
        return false;
    }
    Outside.words("code and constants: ");
    Outside.number(code_size());
    Outside.words(" bytes, all of the program, the chip included; stack: ");
    Outside.number(stack_used());
    Outside.words(" bytes, a page for the data included; the store with the driver: ");
    Outside.number(size_of::<Store>());
    Outside.words(" bytes of RAM\n");
    true
}
