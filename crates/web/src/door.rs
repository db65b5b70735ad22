//! The door between a page and this library: memory, and functions that the page provides.
//!
//! A page takes memory by [`thermocline_take`], writes a question into it, and calls [`thermocline_ask`]. The answer is
//! memory too: its length in four bytes, and the text. The page gives it back by [`thermocline_give`].
//!
//! A page's functions: `read` copies bytes of one of its files, from a place, into memory, and returns how many, 0 at the end
//! and -1 where there is no such file; `progress` gets pages done and all pages, and pages written by the
//! host and copied; `failed` gets what ended the program.

#![allow(unsafe_code)]

use std::{
    alloc::{Layout, alloc, dealloc},
    io::{self, ErrorKind, Read},
    panic,
    path::Path,
    slice,
    sync::Once,
};

use thermocline_sim::HugePages;
use thermocline_trace::read::open_by;

/// Counts what a layer takes, as in the command line.
#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Bytes before an answer.
const HEAD: usize = 4;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    fn read(name: *const u8, name_length: usize, at: f64, into: *mut u8, length: usize) -> i32;
    fn progress(done: f64, all: f64, written: f64, copied: f64);
    fn failed(text: *const u8, length: usize);
}

/// Memory for a question of this length; null where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn thermocline_take(length: usize) -> *mut u8 {
    match Layout::array::<u8>(length.max(1)) {
        // SAFETY: the layout is not empty.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Takes memory back.
///
/// # Safety
/// The memory was taken with this length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_give(memory: *mut u8, length: usize) {
    if let Ok(layout) = Layout::array::<u8>(length.max(1)) {
        // SAFETY: by the caller's contract.
        unsafe { dealloc(memory, layout) };
    }
}

/// Answers a question.
///
/// # Safety
/// The question has this length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thermocline_ask(question: *const u8, length: usize) -> *mut u8 {
    begin();
    // SAFETY: by the caller's contract.
    let question = unsafe { slice::from_raw_parts(question, length) };
    let answer = crate::answer(&String::from_utf8_lossy(question), |told| {
        let [done, all, written, copied] =
            [told.done, told.all, told.written, told.copied].map(|n| n as f64);
        // SAFETY: numbers.
        unsafe { progress(done, all, written, copied) };
    });
    let memory = thermocline_take(HEAD + answer.len());
    if !memory.is_null() {
        // SAFETY: the memory has room for both.
        let room = unsafe { slice::from_raw_parts_mut(memory, HEAD + answer.len()) };
        room[..HEAD].copy_from_slice(&(answer.len() as u32).to_le_bytes());
        room[HEAD..].copy_from_slice(answer.as_bytes());
    }
    memory
}

/// Before the first question.
fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        open_by(|path| PageFile::open(path).map(|file| Box::new(file) as Box<dyn Read + Send>));
        panic::set_hook(Box::new(|why| {
            let text = why.to_string();
            // SAFETY: the text lives as long as the call.
            unsafe { failed(text.as_ptr(), text.len()) };
        }));
    });
}

/// A file that the page holds.
struct PageFile {
    name: String,
    at: u64,
}

impl PageFile {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = Self { name: path.to_string_lossy().into_owned(), at: 0 };
        file.read(&mut []).map(|_| file)
    }
}

impl Read for PageFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (name, length) = (self.name.as_ptr(), into.len().min(i32::MAX as usize));
        // SAFETY: the page reads the name and writes `length` bytes at most, before it returns.
        let count =
            unsafe { read(name, self.name.len(), self.at as f64, into.as_mut_ptr(), length) };
        let count = usize::try_from(count).map_err(|_| ErrorKind::NotFound)?;
        self.at += count as u64;
        Ok(count)
    }
}
