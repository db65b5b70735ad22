//! An allocator that asks the system for huge pages where they pay.
//!
//! A translation table of a large device is read at random: with 4 KiB pages nearly every access
//! also misses the processor's table of virtual addresses. Linux grants 2 MiB pages to memory that
//! is aligned and asks for them; elsewhere this is the system's allocator.
//!
//! It also counts, for each thread, the bytes that are allocated less those that were freed: the RAM
//! of a translation layer is what a thread has more of after it was built than before.

#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

const HUGE: usize = 2 << 20;

thread_local! {
    /// Bytes this thread allocated less those it freed; none before it allocated anything, and none
    /// in a program with another allocator.
    static HELD: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Counts on this thread, wrapping rather than failing.
fn count(bytes: i64) {
    // A thread that ends has nothing to measure.
    let _ = HELD.try_with(|held| held.set(Some(held.get().unwrap_or(0).wrapping_add(bytes))));
}

fn held() -> Option<i64> {
    HELD.try_with(Cell::get).ok().flatten()
}

/// Measures what the thread allocates from now on and keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter(Option<i64>);

impl Meter {
    pub(crate) fn start() -> Self {
        Self(held())
    }

    /// Bytes kept since the start; none if the program has another allocator.
    pub(crate) fn bytes(self) -> Option<u64> {
        let (then, now) = self.0.zip(held())?;
        u64::try_from(now.wrapping_sub(then)).ok()
    }
}

/// The system's allocator, with tables of several megabytes on huge pages. A program chooses it by
/// `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct HugePages;

impl HugePages {
    fn aligned(layout: Layout) -> Option<Layout> {
        (layout.size() >= 2 * HUGE).then(|| layout.align_to(HUGE).ok()).flatten()
    }

    fn advise(memory: *mut u8, size: usize) {
        #[cfg(target_os = "linux")]
        if !memory.is_null() {
            // SAFETY: the range was just allocated, and the advice changes no content of it. Whether
            // it is taken does not matter.
            unsafe { libc::madvise(memory.cast(), size, libc::MADV_HUGEPAGE) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (memory, size);
    }
}

// SAFETY: everything is the system allocator's; `aligned` depends on the layout alone, so memory is
// given back with the layout it was taken with, and it only ever raises size's alignment.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        match Self::aligned(layout) {
            // SAFETY: the caller's contract, with a greater alignment.
            Some(layout) => unsafe {
                let memory = System.alloc(layout);
                Self::advise(memory, layout.size());
                memory
            },
            // SAFETY: the caller's contract.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        match Self::aligned(layout) {
            // SAFETY: the caller's contract, with a greater alignment; the memory is as long as
            // `layout` says.
            Some(layout) => unsafe {
                let memory = System.alloc(layout);
                Self::advise(memory, layout.size());
                if !memory.is_null() {
                    memory.write_bytes(0, layout.size());
                }
                memory
            },
            // SAFETY: the caller's contract.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: memory was taken with this very layout.
        unsafe { System.dealloc(memory, Self::aligned(layout).unwrap_or(layout)) }
    }

    // `realloc` is the default one: allocate, copy, free, by the methods above.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_memory_is_zero_aligned_and_given_back() {
        for size in [8, HUGE, 2 * HUGE, 5 * HUGE + 12345] {
            let layout = Layout::from_size_align(size, 8).expect("a layout");
            // SAFETY: the layout is not empty; memory is used within it and given back once.
            unsafe {
                let memory = HugePages.alloc_zeroed(layout);
                assert!(!memory.is_null());
                assert_eq!(memory.addr() % if size >= 2 * HUGE { HUGE } else { 8 }, 0);
                assert_eq!((*memory, *memory.add(size - 1)), (0, 0));
                memory.add(size - 1).write(7);
                let larger = HugePages.realloc(memory, layout, size + 100);
                assert_eq!(*larger.add(size - 1), 7);
                let layout = Layout::from_size_align(size + 100, 8).expect("a layout");
                HugePages.dealloc(larger, layout);
            }
        }
    }
}
