//! The functions of the header.

use core::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::{MaybeUninit, align_of, size_of},
    slice::{from_raw_parts, from_raw_parts_mut},
};

use thermocline_embedded::{Config, Error, Ftl, Part, most_logical_pages, policy::Placement};

use crate::{
    chip::ThermoclineNand,
    memory,
    policy::{AnyPlacement, AnyVictim},
};

type Store = Ftl<'static, ThermoclineNand, AnyVictim, AnyPlacement>;

/// What is in the caller's `thermocline`. Zeros are a store that is not open.
#[repr(C)]
struct Handle {
    /// [`OPEN`] where there is a store.
    is_open: u32,
    store: MaybeUninit<Store>,
}

const OPEN: u32 = 0x6c63_7468;

/// `struct thermocline_health`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ThermoclineHealth {
    /// Erases of the good block that was erased least.
    pub least_erases: u32,
    /// Of the good blocks in the mean.
    pub mean_erases: u32,
    /// Of the one that was erased most.
    pub most_erases: u32,
    /// Blocks that are bad.
    pub bad_blocks: u32,
    /// Blocks that may go bad yet.
    pub spare_blocks: u32,
    /// Blocks that can be opened.
    pub free_blocks: u32,
    /// Reads in which the chip corrected bits.
    pub corrected_reads: u32,
    /// The most that it corrected.
    pub most_corrected: u32,
    /// Pages that were moved for that.
    pub refreshed: u32,
    /// Pages that could not be moved.
    pub lost: u32,
}

/// The bytes of the header's union, aligned as it is.
const STORE_BYTES: usize = 180 * size_of::<usize>();
const _: () = assert!(size_of::<Handle>() <= STORE_BYTES && align_of::<Handle>() <= 8);

/// `struct thermocline_counters`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ThermoclineCounters {
    /// Pages that the host wrote.
    pub host_writes: u64,
    /// Pages that cleaning moved.
    pub copies: u64,
    /// Pages of the map that were written.
    pub map_writes: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks that failed.
    pub failed_blocks: u32,
    /// Pages that could not be moved.
    pub lost: u32,
}

const OK: c_int = 0;
const NO_SUCH_POLICY: c_int = -12;
const NOT_OPEN: c_int = -14;

const fn code(error: Error) -> c_int {
    match error {
        Error::OutOfRange(_) => -1,
        Error::WrongLength(_) => -2,
        Error::Unreadable(_) => -3,
        Error::Misplaced(_) => -4,
        Error::MapUnreadable(_) => -5,
        Error::WornOut => -6,
        Error::NotFormatted => -7,
        Error::Version(_) => -8,
        Error::Shape(_) => -9,
        Error::Memory(_) => -10,
        Error::TooLarge(_) => -11,
        Error::Device => -13,
    }
}

fn done(result: Result<(), Error>) -> c_int {
    result.map_or_else(code, |()| OK)
}

fn answer(result: Result<bool, Error>) -> c_int {
    result.map_or_else(code, c_int::from)
}

/// In words what a code says.
#[unsafe(no_mangle)]
pub extern "C" fn thermocline_error_text(code: c_int) -> *const c_char {
    let text: &CStr = match code {
        0 => c"done",
        -1 => c"no such logical page",
        -2 => c"wrong length",
        -3 => c"the logical page cannot be read; write it again",
        -4 => c"another page lies where the logical page should be",
        -5 => c"a page of the map cannot be read",
        -6 => c"too few good blocks are left: the store is read-only",
        -7 => c"the chip holds no store: format it",
        -8 => c"the chip's store has a version that this library cannot read",
        -9 => c"the chip's shape cannot be used",
        -10 => c"the memory is too small: see thermocline_ram",
        -11 => c"so many logical pages do not fit on the chip",
        -12 => c"no such policy",
        -13 => c"the chip does not answer",
        -14 => c"the store is not open: format it or mount it",
        -15 => c"no chip answers on the bus",
        -16 => c"the chip on the bus is not known",
        -17 => c"the chip does not keep what its registers are set to",
        _ => c"no error of this library",
    };
    text.as_ptr()
}

/// Bytes of memory for a chip, with so many changes of the map.
///
/// # Safety
/// `nand` points to a chip.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_ram(nand: *const ThermoclineNand, changes: u32) -> usize {
    // SAFETY: the caller's promise.
    let shape = unsafe { &*nand }.shape();
    let changes = (changes as usize).saturating_mul(size_of::<thermocline_embedded::Change>());
    if shape.check().is_ok() { memory::fixed(&shape).saturating_add(changes) } else { 0 }
}

/// The most logical pages that fit on a chip of which so many blocks are bad, or may become so.
///
/// # Safety
/// `nand` points to a chip.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_most_pages(
    nand: *const ThermoclineNand,
    placement: c_int,
    bad_blocks: u32,
) -> u32 {
    // SAFETY: the caller's promise.
    let shape = unsafe { &*nand }.shape();
    match AnyPlacement::of(placement) {
        Some(placement) if shape.check().is_ok() => {
            most_logical_pages(&shape, bad_blocks, placement.streams())
        }
        _ => 0,
    }
}

/// What a store is opened with: the chip, the policies, the memory.
///
/// # Safety
/// That of the header's functions.
unsafe fn parts(
    nand: *const ThermoclineNand,
    (victim, placement): (c_int, c_int),
    (bytes, length): (*mut c_void, usize),
) -> Result<(ThermoclineNand, AnyVictim, AnyPlacement, thermocline_embedded::Memory<'static>), c_int>
{
    // SAFETY: the caller's promise.
    let nand = unsafe { *nand };
    let policies = AnyVictim::of(victim).zip(AnyPlacement::of(placement));
    let (victim, placement) = policies.ok_or(NO_SUCH_POLICY)?;
    nand.shape().check().map_err(code)?;
    // SAFETY: the memory is the store's from now on, by the caller's promise.
    let memory = unsafe { memory::cut(bytes.cast(), length, &nand.shape()) };
    Ok((nand, victim, placement, memory.ok_or(code(Error::Memory(Part::Blocks)))?))
}

/// Opens a store, or leaves it closed.
///
/// # Safety
/// That of the header's functions.
unsafe fn open(
    handle: *mut c_void,
    nand: *const ThermoclineNand,
    policies: (c_int, c_int),
    memory: (*mut c_void, usize),
    how: impl FnOnce(
        ThermoclineNand,
        thermocline_embedded::Memory<'static>,
        AnyVictim,
        AnyPlacement,
    ) -> Result<Store, Error>,
) -> c_int {
    let handle = handle.cast::<Handle>();
    if handle.is_null() || nand.is_null() {
        return NOT_OPEN;
    }
    // SAFETY: it has room there, as is asserted above.
    unsafe { (&raw mut (*handle).is_open).write(0) };
    // SAFETY: the caller's promise.
    let made =
        unsafe { parts(nand, policies, memory) }.and_then(|(nand, victim, placement, memory)| {
            how(nand, memory, victim, placement).map_err(code)
        });
    match made {
        Ok(made) => {
            let open = Handle { is_open: OPEN, store: MaybeUninit::new(made) };
            // SAFETY: as above.
            unsafe { handle.write(open) };
            OK
        }
        Err(code) => code,
    }
}

/// Makes an empty store.
///
/// # Safety
/// As the header says: `store` and `memory` are the library's until the store is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_format(
    store: *mut c_void,
    nand: *const ThermoclineNand,
    victim: c_int,
    placement: c_int,
    memory: *mut c_void,
    bytes: usize,
    logical_pages: u32,
    spare_blocks: u32,
) -> c_int {
    let config = Config { logical_pages, spare_blocks };
    // SAFETY: the caller's promise.
    unsafe {
        open(
            store,
            nand,
            (victim, placement),
            (memory, bytes),
            |nand, memory, victim, placement| Ftl::format(nand, memory, victim, placement, config),
        )
    }
}

/// Mounts the store of a chip.
///
/// # Safety
/// As of [`thermocline_format`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_mount(
    store: *mut c_void,
    nand: *const ThermoclineNand,
    victim: c_int,
    placement: c_int,
    memory: *mut c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { open(store, nand, (victim, placement), (memory, bytes), Ftl::mount) }
}

/// The store that a caller opened; nothing where none is open.
///
/// # Safety
/// The bytes are zeros, or what a function above left; nobody else uses them now.
unsafe fn store<'s>(handle: *mut c_void) -> Option<&'s mut Store> {
    let handle = handle.cast::<Handle>();
    // SAFETY: the caller's promise.
    if handle.is_null() || unsafe { (&raw const (*handle).is_open).read() } != OPEN {
        return None;
    }
    // SAFETY: a store was written there before it was called open.
    Some(unsafe { (*handle).store.assume_init_mut() })
}

/// What a store answers; [`NOT_OPEN`] where none is open.
///
/// # Safety
/// That of [`store`].
unsafe fn with(handle: *mut c_void, what: impl FnOnce(&mut Store) -> c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { store(handle) }.map_or(NOT_OPEN, what)
}

/// Logical pages; none where no store is open.
///
/// # Safety
/// `handle` is a store's bytes, open or not; so it is below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_pages(handle: *mut c_void) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { store(handle) }.map_or(0, |store| store.logical_pages())
}

/// Reads a page.
///
/// # Safety
/// `into` has room for a page.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_read(
    handle: *mut c_void,
    page: u32,
    into: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with(handle, |store| {
            let length = store.page_size() as usize;
            answer(store.read(page, from_raw_parts_mut(into.cast(), length)))
        })
    }
}

/// Writes a page.
///
/// # Safety
/// `data` is a page.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_write(
    handle: *mut c_void,
    page: u32,
    data: *const c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with(handle, |store| {
            let length = store.page_size() as usize;
            done(store.write(page, from_raw_parts(data.cast(), length)))
        })
    }
}

/// Reads bytes.
///
/// # Safety
/// `into` has room for `length` bytes, `page` for a page.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_read_at(
    handle: *mut c_void,
    offset: u64,
    into: *mut c_void,
    length: usize,
    page: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with(handle, |store| {
            let page = from_raw_parts_mut(page.cast(), store.page_size() as usize);
            done(store.read_at(offset, from_raw_parts_mut(into.cast(), length), page))
        })
    }
}

/// Writes bytes.
///
/// # Safety
/// `data` is `length` bytes, and `page` has room for a page.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_write_at(
    handle: *mut c_void,
    offset: u64,
    data: *const c_void,
    length: usize,
    page: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with(handle, |store| {
            let page = from_raw_parts_mut(page.cast(), store.page_size() as usize);
            done(store.write_at(offset, from_raw_parts(data.cast(), length), page))
        })
    }
}

/// Forgets a page.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_trim(handle: *mut c_void, page: u32) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(handle, |store| done(store.trim(page).map(drop))) }
}

/// Makes all that was done last.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_flush(handle: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(handle, |store| done(store.flush())) }
}

/// Writes all of the map.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_checkpoint(handle: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(handle, |store| done(store.checkpoint())) }
}

/// Cleans ahead.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_clean(handle: *mut c_void, pages: u32) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(handle, |store| answer(store.clean(pages))) }
}

/// Looks for pages that should be moved.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_scrub(handle: *mut c_void, pages: u32) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(handle, |store| store.scrub(pages).map_or_else(code, |next| next.cast_signed())) }
}

/// Counts reads of each block.
///
/// # Safety
/// `counts` has room for one of each block, and is the store's from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_count_reads(
    handle: *mut c_void,
    counts: *mut u16,
    most: u16,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        with(handle, |store| {
            let blocks = store.nand().shape().blocks as usize;
            if counts.is_null() {
                return code(Error::Memory(Part::Blocks));
            }
            for block in 0..blocks {
                counts.add(block).write(0);
            }
            store.count_reads(from_raw_parts_mut(counts, blocks), most);
            OK
        })
    }
}

/// The most pages that one write programs; 0 where no store is open.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_longest_write(handle: *mut c_void) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { store(handle) }.map_or(0, |store| store.longest_write())
}

/// What the store did.
///
/// # Safety
/// `into` has room for the counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_counters(handle: *mut c_void, into: *mut ThermoclineCounters) {
    // SAFETY: the caller's promise.
    let counters = unsafe { store(handle) }.map_or_else(ThermoclineCounters::default, |store| {
        let did = store.counters();
        ThermoclineCounters {
            host_writes: did.host_writes,
            copies: did.copies,
            map_writes: did.map_writes,
            erases: did.erases,
            failed_blocks: did.failed_blocks,
            lost: did.lost,
        }
    });
    // SAFETY: the caller's promise.
    unsafe { into.write(counters) };
}

/// How worn the store is; zeros where none is open.
///
/// # Safety
/// `into` has room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_health(handle: *mut c_void, into: *mut ThermoclineHealth) {
    // SAFETY: the caller's promise.
    let health = unsafe { store(handle) }.map_or_else(ThermoclineHealth::default, |store| {
        let is = store.health();
        ThermoclineHealth {
            least_erases: is.least_erases,
            mean_erases: is.mean_erases,
            most_erases: is.most_erases,
            bad_blocks: is.bad_blocks,
            spare_blocks: is.spare_blocks,
            free_blocks: is.free_blocks,
            corrected_reads: is.corrected_reads,
            most_corrected: is.most_corrected,
            refreshed: is.refreshed,
            lost: is.lost,
        }
    });
    // SAFETY: the caller's promise.
    unsafe { into.write(health) };
}

/// Pages that can be written yet; all ones where there is no rate, 0 where no store is open.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_writes_left(handle: *mut c_void, endurance: u32) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { store(handle) }.map_or(0, |store| store.writes_left(endurance).unwrap_or(u64::MAX))
}
