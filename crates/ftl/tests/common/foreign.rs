//! Policies of the catalogue as tables of C functions, for the same tests.

#![allow(unsafe_code)]

use std::{
    ffi::{c_int, c_void},
    mem, ptr, slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use thermocline_policy::{
    Context,
    foreign::{
        Failure, ForeignPlacement, ForeignVictim, Report,
        abi::{self, Device, Head, PlacementTable, VictimTable},
    },
    victim::Victim,
};

/// The placement, `dac` with four regions.
pub const DAC: &str = "foreign-dac";
/// `greedy` by scores of all blocks, and by a formula `cost-benefit(transform=identity)`.
pub const VICTIMS: [&str; 2] = ["foreign-greedy", "foreign-cost-benefit"];

const TOP: u8 = 3;
const NOWHERE: u8 = 31;

/// Fails the test if a policy fails.
#[derive(Default)]
pub struct Strict;

impl Report for Strict {
    fn failed(&self, failure: Failure) {
        panic!("{failure}");
    }
}

/// Remembers that a policy failed.
#[derive(Default)]
pub struct Lenient(pub AtomicBool);

impl Report for Lenient {
    fn failed(&self, _: Failure) {
        self.0.store(true, Relaxed);
    }
}

fn head(size: usize) -> Head {
    Head {
        version: abi::VERSION,
        size: size as u32,
        name: c"twin".as_ptr(),
        data: ptr::null_mut(),
        open: None,
        close: None,
        message: None,
    }
}

/// `dac` with batches of `batch` pages.
pub fn dac(context: &Context, batch: u32) -> ForeignPlacement {
    let table = PlacementTable {
        head: Head {
            open: Some(open),
            close: Some(close),
            ..head(mem::size_of::<PlacementTable>())
        },
        streams: u32::from(TOP) + 1,
        batch,
        flags: 0,
        reserved: 0,
        host: Some(host),
        survivors: Some(survivors),
        written: Some(written),
        filled: Some(filled),
        trimmed: Some(trimmed),
        spilt: Some(spilt),
        block: None,
    };
    // SAFETY: the table is one; the functions below keep to the header.
    let policy = unsafe {
        let table = abi::read(&raw const table).expect("this version");
        assert_eq!(abi::name(&table).as_deref(), Some("twin"));
        abi::placement(DAC, table, context, Box::new(())).expect("opened")
    };
    ForeignPlacement::new(DAC, policy, context.logical_pages, Arc::new(Strict)).expect("sound")
}

/// One of [`VICTIMS`], if that is its name.
pub fn victim(name: &str, context: &Context) -> Option<Box<dyn Victim>> {
    let is_greedy = name == VICTIMS[0];
    let table = VictimTable {
        head: head(mem::size_of::<VictimTable>()),
        ages: u32::from(!is_greedy),
        reserved: 0,
        ratio: (!is_greedy).then_some(ratio),
        age: None,
        score: is_greedy.then_some(score),
        choose: None,
        written: None,
        answered: None,
    };
    VICTIMS.contains(&name).then(|| {
        // SAFETY: the functions below keep to the header.
        let made = unsafe { abi::victim(name, table, context, 0, Box::new(())) };
        let pages = context.pages_per_block;
        let victim = ForeignVictim::new(name, made, pages, Arc::new(Strict));
        Box::new(victim) as Box<dyn Victim>
    })
}

unsafe extern "C" fn open(_: *mut c_void, device: *const Device) -> *mut c_void {
    // SAFETY: the caller gives a device.
    let pages = unsafe { (*device).logical_pages };
    Box::into_raw(Box::new(vec![NOWHERE; pages as usize])).cast()
}

unsafe extern "C" fn close(state: *mut c_void) {
    // SAFETY: it was opened above.
    drop(unsafe { Box::from_raw(state.cast::<Vec<u8>>()) });
}

/// The regions, and the pages of a call.
unsafe fn lists<'a>(
    state: *mut c_void,
    pages: *const u32,
    count: usize,
) -> (&'a mut Vec<u8>, &'a [u32]) {
    // SAFETY: the caller passes its own arguments on.
    unsafe { (&mut *state.cast(), slice::from_raw_parts(pages, count)) }
}

unsafe extern "C" fn host(
    state: *mut c_void,
    pages: *const u32,
    count: usize,
    _: u64,
    streams: *mut u8,
) -> c_int {
    // SAFETY: the lists are as long as the call says.
    let ((regions, pages), streams) =
        unsafe { (lists(state, pages, count), slice::from_raw_parts_mut(streams, count)) };
    for (page, stream) in pages.iter().zip(streams) {
        *stream = match regions[*page as usize] {
            NOWHERE => 0,
            region => (region + 1).min(TOP),
        };
    }
    0
}

unsafe extern "C" fn survivors(
    state: *mut c_void,
    _: *const abi::Victim,
    pages: *const u32,
    count: usize,
    streams: *mut u8,
) -> c_int {
    // SAFETY: the lists are as long as the call says.
    let ((regions, pages), streams) =
        unsafe { (lists(state, pages, count), slice::from_raw_parts_mut(streams, count)) };
    for (page, stream) in pages.iter().zip(streams) {
        let region = &mut regions[*page as usize];
        *region = if *region == NOWHERE { 0 } else { region.saturating_sub(1) };
        *stream = *region;
    }
    0
}

unsafe extern "C" fn written(
    state: *mut c_void,
    pages: *const u32,
    streams: *const u8,
    _: *const u64,
    count: usize,
) -> c_int {
    // SAFETY: the lists are as long as the call says.
    let ((regions, pages), streams) =
        unsafe { (lists(state, pages, count), slice::from_raw_parts(streams, count)) };
    for (page, stream) in pages.iter().zip(streams) {
        regions[*page as usize] = (*stream).min(NOWHERE);
    }
    0
}

unsafe extern "C" fn filled(state: *mut c_void, pages: *const u32, count: usize, _: u64) -> c_int {
    // SAFETY: the list is as long as the call says.
    let (regions, pages) = unsafe { lists(state, pages, count) };
    pages.iter().for_each(|page| regions[*page as usize] = 0);
    0
}

unsafe extern "C" fn trimmed(state: *mut c_void, pages: *const u32, count: usize) -> c_int {
    // SAFETY: the list is as long as the call says.
    let (regions, pages) = unsafe { lists(state, pages, count) };
    pages.iter().for_each(|page| regions[*page as usize] = NOWHERE);
    0
}

unsafe extern "C" fn spilt(state: *mut c_void, page: u32, stream: u8, _: u64) -> c_int {
    // SAFETY: no list.
    let (regions, _) = unsafe { lists(state, &raw const page, 1) };
    regions[page as usize] = stream;
    0
}

unsafe extern "C" fn ratio(
    _: *mut c_void,
    valid: u32,
    pages: u32,
    numerator: *mut f64,
    denominator: *mut f64,
) -> c_int {
    // SAFETY: there is room for both.
    unsafe { (*numerator, *denominator) = (f64::from(valid), f64::from(pages - valid)) };
    0
}

unsafe extern "C" fn score(
    _: *mut c_void,
    count: usize,
    valid: *const u32,
    _: *const u32,
    _: *const u64,
    _: *const u8,
    _: *const u8,
    _: u64,
    scores: *mut f64,
) -> c_int {
    // SAFETY: the lists are as long as the call says.
    let (valid, scores) =
        unsafe { (slice::from_raw_parts(valid, count), slice::from_raw_parts_mut(scores, count)) };
    scores.iter_mut().zip(valid).for_each(|(score, valid)| *score = f64::from(*valid));
    0
}
