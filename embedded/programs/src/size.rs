//! A store with one policy on a chip that the linker knows nothing of, for the two programs whose size is measured.

use core::{cell::UnsafeCell, hint::black_box, mem::MaybeUninit};

use thermocline_embedded::{
    AREA, Config, Error, Geometry, Memory, NandError, Static,
    policy::{Cat, Dac},
};
use thermocline_on_target::{Outside, code_size, stack_used};

use super::{Ftl, Nand, bisync};

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

#[bisync]
impl Nand for Bus {
    fn geometry(&self) -> Geometry {
        Geometry { blocks: BLOCKS as u32, pages: PAGES as u32, page_size: PAGE as u32 }
    }
    async fn read(&mut self, page: u32, offset: u32, bytes: &mut [u8]) -> Result<(), NandError> {
        into(self.byte(page, offset as usize), bytes);
        Ok(())
    }
    async fn read_area(&mut self, page: u32, area: &mut [u8; AREA]) -> Result<(), NandError> {
        into(self.byte(page, PAGE), area);
        Ok(())
    }
    async fn program(
        &mut self,
        page: u32,
        data: &[u8],
        area: &[u8; AREA],
    ) -> Result<(), NandError> {
        out(self.byte(page, 0), data);
        out(self.byte(page, PAGE), area);
        Ok(())
    }
    async fn erase(&mut self, block: u32) -> Result<(), NandError> {
        for page in 0..PAGES as u32 {
            for offset in (0..PAGE + AREA).step_by(AREA) {
                out(self.byte(block * PAGES as u32 + page, offset), &[0xff; AREA]);
            }
        }
        Ok(())
    }
    async fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }
    async fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        Ok(())
    }
}

struct Shared<T>(UnsafeCell<T>);
// SAFETY: one thread runs here.
unsafe impl<T> Sync for Shared<T> {}

static STORE: Shared<MaybeUninit<Store>> = Shared(UnsafeCell::new(MaybeUninit::uninit()));
static MEMORY: Shared<Static<BLOCKS, 5, 100, PAGE>> = Shared(UnsafeCell::new(Static::new()));
/// The chip's cells, where `black_box` hides that they are ours.
static CELLS: Shared<[u8; BLOCKS * PAGES * (PAGE + AREA)]> =
    Shared(UnsafeCell::new([0; BLOCKS * PAGES * (PAGE + AREA)]));

type Store = Ftl<'static, Bus, Cat, Dac<3>>;

fn chip() -> Bus {
    Bus(black_box(CELLS.0.get().cast()))
}

fn memory() -> Memory<'static> {
    // SAFETY: one thread runs here, and a store is gone when the next is made.
    unsafe { &mut *MEMORY.0.get() }.memory()
}

/// The store is where firmware has it, and where RAM is counted: `format` and `mount` return one, by way of the stack.
#[inline(never)]
fn unmounted() -> Result<&'static mut Store, Error> {
    let store = Ftl::unmounted(chip(), memory(), Cat::default(), Dac)?;
    // SAFETY: one thread runs here, and nothing of a store before is used any more.
    Ok(unsafe { &mut *STORE.0.get() }.write(store))
}

#[bisync]
async fn write(page: &mut [u8; PAGE]) -> Result<(), Error> {
    let config = Config { logical_pages: black_box(700), ..Config::default() };
    let store = unmounted()?;
    store.reformat(config).await?;
    for i in 0..3000_u32 {
        page[0] = i as u8;
        let lpn = i.wrapping_mul(2_654_435_761) >> 16;
        store.write(lpn % 700, page).await?;
    }
    store.trim(3).await?;
    store.flush().await?;
    store.checkpoint().await
}

#[bisync]
async fn read(page: &mut [u8; PAGE]) -> Result<bool, Error> {
    let store = unmounted()?;
    store.remount().await?;
    store.read(3, page).await
}

/// All of the program: whether all went well.
#[bisync]
pub async fn work() -> bool {
    let mut page = [0; PAGE];
    write(&mut page).await.is_ok() && read(&mut page).await == Ok(false)
}

pub fn report() {
    Outside.words("code and constants: ");
    Outside.number(code_size());
    Outside.words(" bytes, all of the program; stack: ");
    Outside.number(stack_used());
    Outside.words(" bytes, a page for the data included; the store itself: ");
    Outside.number(size_of::<Store>());
    Outside.words(" bytes of RAM\n");
}
