//! Policies as tables of C functions, as declared in `include/thermocline_policy.h`.
//!
//! This is the only file of the crate with `unsafe`. Every block below relies on the contract of
//! the header: functions respect the lengths they are given and keep no pointer beyond a call,
//! names and messages are terminated, a state is used by one thread at a time, and nothing unwinds.
//! A table that breaks the contract causes undefined behaviour.
//!
//! Versions: a table begins with the version of the interface and its own size. Later versions only
//! append fields. Fields that a table does not have are null here.

#![allow(unsafe_code)]

use alloc::{boxed::Box, format, string::String, vec, vec::Vec};
use core::{
    any::Any,
    ffi::{CStr, c_char, c_int, c_void},
    mem, ptr,
};

use super::{
    BatchPlacement, BatchVictim, Columns, Failure, PlacementShape, VictimShape, Wrong, least, wrong,
};
use crate::{BlockView, Context, age::AgeSource, placement::Cleaning};

/// The version of the interface.
pub const VERSION: u32 = 1;

const WRITTEN_AHEAD: u32 = 1;

/// The device, as a policy sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Size of this struct in bytes.
    pub size: u32,
    /// Logical pages that the device exports.
    pub logical_pages: u32,
    /// Erase blocks in all banks.
    pub blocks: u32,
    /// Data pages in a block.
    pub pages_per_block: u32,
    /// Banks that are cleaned independently.
    pub banks: u32,
    /// The bank of the policy; for victim policies only.
    pub bank: u32,
    /// Time scale of age transformations, in nanoseconds.
    pub time_scale: f64,
    /// Seed for random numbers.
    pub seed: u64,
}

impl Device {
    fn of(context: &Context, bank: u32) -> Self {
        Self {
            size: mem::size_of::<Self>() as u32,
            logical_pages: context.logical_pages,
            blocks: context.blocks,
            pages_per_block: context.pages_per_block,
            banks: context.banks,
            bank,
            time_scale: context.time_scale,
            seed: context.seed,
        }
    }
}

/// The block being cleaned.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Victim {
    /// Size of this struct in bytes.
    pub size: u32,
    /// The bank.
    pub bank: u32,
    /// The block.
    pub block: u32,
    /// The stream for which the block was opened.
    pub stream: u32,
    /// Its valid pages.
    pub valid: u32,
    /// Data pages in a block.
    pub pages: u32,
    /// Logical pages that hold data.
    pub mapped: u32,
    /// Logical pages that the device exports.
    pub capacity: u32,
    /// Time of the cleaning.
    pub now: u64,
}

type State = *mut c_void;
type Open = unsafe extern "C" fn(State, *const Device) -> State;
type Close = unsafe extern "C" fn(State);
type Message = unsafe extern "C" fn(State, c_int) -> *const c_char;

/// The fields with which both kinds of table begin.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// [`VERSION`].
    pub version: u32,
    /// Size of the table in bytes.
    pub size: u32,
    /// Name in results; may be null.
    pub name: *const c_char,
    /// Passed to `open`. Used as the state if `open` is null.
    pub data: State,
    /// Creates the state of a run; null is an error.
    pub open: Option<Open>,
    /// Frees the state.
    pub close: Option<Close>,
    /// Returns the text for an error code.
    pub message: Option<Message>,
}

/// `struct thermocline_placement`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header has the contract of each")]
pub struct PlacementTable {
    pub head: Head,
    pub streams: u32,
    pub batch: u32,
    pub flags: u32,
    pub reserved: u32,
    pub host: Option<unsafe extern "C" fn(State, *const u32, usize, u64, *mut u8) -> c_int>,
    pub survivors:
        Option<unsafe extern "C" fn(State, *const Victim, *const u32, usize, *mut u8) -> c_int>,
    pub written:
        Option<unsafe extern "C" fn(State, *const u32, *const u8, *const u64, usize) -> c_int>,
    pub filled: Option<unsafe extern "C" fn(State, *const u32, usize, u64) -> c_int>,
    pub trimmed: Option<unsafe extern "C" fn(State, *const u32, usize) -> c_int>,
    pub spilt: Option<unsafe extern "C" fn(State, u32, u8, u64) -> c_int>,
    pub block: Option<unsafe extern "C" fn(State, c_int, u32, u32, u8) -> c_int>,
}

type Score = unsafe extern "C" fn(
    State,
    usize,
    *const u32,
    *const u32,
    *const u64,
    *const u8,
    *const u8,
    u64,
    *mut f64,
) -> c_int;
type Choose = unsafe extern "C" fn(
    State,
    usize,
    *const u32,
    *const u32,
    *const u64,
    *const u8,
    *const u8,
    u64,
    *mut i64,
) -> c_int;

/// `struct thermocline_victim`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header has the contract of each")]
pub struct VictimTable {
    pub head: Head,
    pub ages: u32,
    pub reserved: u32,
    pub ratio: Option<unsafe extern "C" fn(State, u32, u32, *mut f64, *mut f64) -> c_int>,
    pub age: Option<unsafe extern "C" fn(State, u64) -> f64>,
    pub score: Option<Score>,
    pub choose: Option<Choose>,
    pub written: Option<unsafe extern "C" fn(State, *const u32, usize) -> c_int>,
    pub answered: Option<unsafe extern "C" fn(State, c_int) -> c_int>,
}

/// A table of either kind.
///
/// # Safety
/// All zeros must be a valid value, and the first field must be a [`Head`].
pub unsafe trait Table: Copy {
    /// The head of the table.
    fn head(&self) -> &Head;
}

// SAFETY: the fields are integers and nullable pointers in C layout; the first is the head.
unsafe impl Table for PlacementTable {
    fn head(&self) -> &Head {
        &self.head
    }
}

// SAFETY: as above.
unsafe impl Table for VictimTable {
    fn head(&self) -> &Head {
        &self.head
    }
}

/// Copies a C table of this version of the interface or of an earlier size.
///
/// # Safety
/// `table` is null, or points at a table of this kind as the header declares it.
///
/// # Errors
/// The pointer is null, or the version differs.
pub unsafe fn read<T: Table>(table: *const T) -> Result<T, Failure> {
    if table.is_null() {
        return Err(Box::new(Wrong("the table of the policy is null".into())));
    }
    // SAFETY: the caller promises a table; it begins with its version and its size.
    let (version, size) = unsafe { (*table.cast::<u32>(), *table.cast::<u32>().add(1)) };
    if version != VERSION || (size as usize) < mem::size_of::<Head>() {
        return Err(Box::new(Wrong(format!(
            "the policy's table is of version {version} with {size} bytes, and this program knows version \
             {VERSION}; build it with the header of this program"
        ))));
    }
    let bytes = (size as usize).min(mem::size_of::<T>());
    // SAFETY: all zeros are a valid table. The source has at least this many bytes by its own size,
    // the target by its type.
    unsafe {
        let mut copy = mem::zeroed::<T>();
        ptr::copy_nonoverlapping(table.cast::<u8>(), (&raw mut copy).cast::<u8>(), bytes);
        Ok(copy)
    }
}

/// The name in a table.
///
/// # Safety
/// The table's name is null or terminated.
pub unsafe fn name<T: Table>(table: &T) -> Option<String> {
    let name = table.head().name;
    // SAFETY: by the caller's promise.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// A table with the state of one run.
struct Opened<T: Table> {
    name: String,
    table: T,
    state: State,
    /// Owner of data that must outlive the state.
    _kept: Box<dyn Any + Send>,
}

// SAFETY: by the contract a state may move between threads if one thread uses it at a time;
// ownership ensures that.
unsafe impl<T: Table> Send for Opened<T> {}

impl<T: Table> Opened<T> {
    /// # Safety
    /// The table's functions meet the header's contract while `kept` exists.
    unsafe fn new(
        name: &str,
        table: T,
        device: &Device,
        kept: Box<dyn Any + Send>,
    ) -> Result<Self, Failure> {
        let Head { data, open, .. } = *table.head();
        let state = match open {
            None => data,
            Some(open) => {
                // SAFETY: promised by the caller; the device outlives the call.
                let state = unsafe { open(data, device) };
                if state.is_null() {
                    return Err(wrong(name, "open", format_args!("returned null")));
                }
                state
            }
        };
        Ok(Self { name: name.into(), table, state, _kept: kept })
    }

    /// Turns a non-zero return code into an error.
    #[inline(always)]
    fn done(&self, method: &str, code: c_int) -> Result<(), Failure> {
        if code == 0 { Ok(()) } else { Err(self.failed(method, code)) }
    }

    #[cold]
    fn failed(&self, method: &str, code: c_int) -> Failure {
        // SAFETY: the state is open, and the result is null or terminated.
        let text = self.table.head().message.and_then(|message| unsafe {
            let text = message(self.state, code);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        });
        match text {
            Some(text) => wrong(&self.name, method, format_args!("failed: {text}")),
            None => wrong(&self.name, method, format_args!("failed with code {code}")),
        }
    }
}

impl<T: Table> Drop for Opened<T> {
    fn drop(&mut self) {
        let Head { open, close, .. } = *self.table.head();
        if let (Some(_), Some(close)) = (open, close) {
            // SAFETY: the state is open and is not used afterwards.
            unsafe { close(self.state) };
        }
    }
}

/// Builds a placement from a C table. `kept` is dropped with it.
///
/// # Safety
/// The table's functions meet the header's contract while `kept` exists.
///
/// # Errors
/// Its `open` fails.
pub unsafe fn placement(
    name: &str,
    table: PlacementTable,
    context: &Context,
    kept: Box<dyn Any + Send>,
) -> Result<Box<dyn BatchPlacement>, Failure> {
    // SAFETY: promised by the caller.
    let opened = unsafe { Opened::new(name, table, &Device::of(context, 0), kept) }?;
    Ok(Box::new(opened))
}

/// Builds a victim policy for a bank from a C table. `kept` is dropped with it.
///
/// # Safety
/// The table's functions meet the header's contract while `kept` exists.
///
/// # Errors
/// Its `open` fails.
pub unsafe fn victim(
    name: &str,
    table: VictimTable,
    context: &Context,
    bank: u32,
    kept: Box<dyn Any + Send>,
) -> Result<Box<dyn BatchVictim>, Failure> {
    // SAFETY: promised by the caller.
    let opened = unsafe { Opened::new(name, table, &Device::of(context, bank), kept) }?;
    Ok(Box::new(Chooser { opened, columns: Columns::default(), scores: Vec::new() }))
}

impl BatchPlacement for Opened<PlacementTable> {
    fn shape(&self) -> PlacementShape {
        let t = &self.table;
        PlacementShape {
            streams: u8::try_from(t.streams).unwrap_or(u8::MAX),
            host: t.host.is_some(),
            survivors: t.survivors.is_some(),
            batch: t.batch.max(1),
            stale: t.flags & WRITTEN_AHEAD != 0,
            written: t.written.is_some(),
            filled: t.filled.is_some(),
            trimmed: t.trimmed.is_some(),
            spilt: t.spilt.is_some(),
            blocks: t.block.is_some(),
        }
    }

    #[inline]
    fn host(&mut self, pages: &[u32], now: u64, streams: &mut [u8]) -> Result<(), Failure> {
        let Some(host) = self.table.host else { return Ok(()) };
        // SAFETY: both lists have the length passed.
        let code =
            unsafe { host(self.state, pages.as_ptr(), pages.len(), now, streams.as_mut_ptr()) };
        self.done("host", code)
    }

    fn survivors(
        &mut self,
        victim: &Cleaning,
        pages: &[u32],
        streams: &mut [u8],
    ) -> Result<(), Failure> {
        let Some(survivors) = self.table.survivors else { return Ok(()) };
        let victim = Victim {
            size: mem::size_of::<Victim>() as u32,
            bank: victim.bank,
            block: victim.block.0,
            stream: victim.stream.into(),
            valid: victim.valid,
            pages: victim.pages,
            mapped: victim.mapped,
            capacity: victim.capacity,
            now: victim.now,
        };
        let (list, count) = (pages.as_ptr(), pages.len());
        // SAFETY: both lists have the length passed, and the victim outlives the call.
        let code = unsafe { survivors(self.state, &victim, list, count, streams.as_mut_ptr()) };
        self.done("survivors", code)
    }

    #[inline]
    fn written(&mut self, pages: &[u32], streams: &[u8], times: &[u64]) -> Result<(), Failure> {
        let Some(written) = self.table.written else { return Ok(()) };
        let (streams, times) = (streams.as_ptr(), times.as_ptr());
        // SAFETY: the lists have the length passed.
        let code = unsafe { written(self.state, pages.as_ptr(), streams, times, pages.len()) };
        self.done("written", code)
    }

    fn filled(&mut self, pages: &[u32], now: u64) -> Result<(), Failure> {
        let Some(filled) = self.table.filled else { return Ok(()) };
        // SAFETY: the list has the length passed.
        let code = unsafe { filled(self.state, pages.as_ptr(), pages.len(), now) };
        self.done("filled", code)
    }

    fn trimmed(&mut self, pages: &[u32]) -> Result<(), Failure> {
        let Some(trimmed) = self.table.trimmed else { return Ok(()) };
        // SAFETY: the list has the length passed.
        let code = unsafe { trimmed(self.state, pages.as_ptr(), pages.len()) };
        self.done("trimmed", code)
    }

    fn spilt(&mut self, page: u32, stream: u8, now: u64) -> Result<(), Failure> {
        let Some(spilt) = self.table.spilt else { return Ok(()) };
        // SAFETY: only numbers are passed.
        let code = unsafe { spilt(self.state, page, stream, now) };
        self.done("spilt", code)
    }

    fn block(&mut self, full: bool, bank: u32, block: u32, stream: u8) -> Result<(), Failure> {
        let Some(told) = self.table.block else { return Ok(()) };
        // SAFETY: only numbers are passed.
        let code = unsafe { told(self.state, c_int::from(full), bank, block, stream) };
        self.done("block", code)
    }
}

/// A C victim policy with buffers for its arguments.
struct Chooser {
    opened: Opened<VictimTable>,
    columns: Columns,
    scores: Vec<f64>,
}

impl BatchVictim for Chooser {
    fn shape(&mut self, pages: u32) -> Result<VictimShape, Failure> {
        let Opened { name, table, state, .. } = &self.opened;
        let ages = match table.ages {
            0 => None,
            1 => Some(AgeSource::Created),
            2 => Some(AgeSource::Closed),
            3 => Some(AgeSource::Youngest),
            4 => Some(AgeSource::LastInvalidation),
            n => return Err(wrong(name, "ages", format_args!("is {n}; choose from 0 to 4"))),
        };
        let ratios = match table.ratio {
            None if table.score.is_none() && table.choose.is_none() => {
                let what =
                    format_args!("is null, and so are score and choose; give it one of them");
                return Err(wrong(name, "ratio", what));
            }
            None => None,
            Some(ratio) => {
                let mut all = vec![(0.0, 1.0); pages as usize];
                for (valid, (numerator, denominator)) in (0..).zip(&mut all) {
                    // SAFETY: both pointers are valid for writes.
                    let code = unsafe { ratio(*state, valid, pages, numerator, denominator) };
                    self.opened.done("ratio", code)?;
                }
                Some(all)
            }
        };
        Ok(VictimShape {
            ratios,
            ages,
            transforms: table.age.is_some(),
            watches: table.written.is_some(),
            answered: table.answered.is_some(),
        })
    }

    fn choose(&mut self, blocks: &BlockView, now: u64) -> Result<Option<u32>, Failure> {
        let Self { opened, columns, scores } = self;
        columns.copy(blocks);
        let count = columns.valid.len();
        let (valid, erases) = (columns.valid.as_ptr(), columns.erases.as_ptr());
        let (stamps, streams) = (columns.stamps.as_ptr(), columns.streams.as_ptr());
        let candidates = columns.candidates.as_ptr();
        let state = opened.state;
        if let Some(choose) = opened.table.choose {
            let mut chosen = -1_i64;
            // SAFETY: the columns have the length passed, and the pointer to the result is valid.
            let code = unsafe {
                choose(state, count, valid, erases, stamps, streams, candidates, now, &mut chosen)
            };
            opened.done("choose", code)?;
            // The caller detects a number beyond the last block.
            return Ok((chosen >= 0).then(|| u32::try_from(chosen).unwrap_or(u32::MAX)));
        }
        let Some(score) = opened.table.score else { return Ok(None) };
        scores.clear();
        scores.resize(count, 0.0);
        let into = scores.as_mut_ptr();
        // SAFETY: the columns and the scores have the length passed.
        let code =
            unsafe { score(state, count, valid, erases, stamps, streams, candidates, now, into) };
        opened.done("score", code)?;
        least(&opened.name, scores.iter().copied(), |block| columns.candidates[block] != 0)
    }

    fn age(&self, age: u64) -> Result<f64, Failure> {
        // SAFETY: only numbers are passed.
        Ok(self.opened.table.age.map_or(1.0, |factor| unsafe { factor(self.opened.state, age) }))
    }

    fn written(&mut self, pages: &[u32]) -> Result<(), Failure> {
        let Some(written) = self.opened.table.written else { return Ok(()) };
        // SAFETY: the list has the length passed.
        let code = unsafe { written(self.opened.state, pages.as_ptr(), pages.len()) };
        self.opened.done("written", code)
    }

    fn answered(&mut self, cleaned: bool) -> Result<(), Failure> {
        let Some(answered) = self.opened.table.answered else { return Ok(()) };
        // SAFETY: only numbers are passed.
        let code = unsafe { answered(self.opened.state, c_int::from(cleaned)) };
        self.opened.done("answered", code)
    }
}
