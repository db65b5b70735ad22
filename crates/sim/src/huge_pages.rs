//! An allocator that requests huge pages from the system where they help.
//!
//! The translation table of a large device is accessed randomly. With 4 KiB pages, nearly every
//! access also misses the processor's TLB. Linux grants 2 MiB pages to aligned memory on request.
//! On other systems this is the system's allocator.
//!
//! It also counts, for each thread, the bytes allocated minus the bytes freed. The RAM of a
//! translation layer is the increase of that while it is built.

#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

#[cfg(any(target_os = "linux", test))]
const HUGE: usize = 2 << 20;

thread_local! {
    /// Bytes that this thread allocated minus those it freed; `None` before its first allocation,
    /// and in a program with another allocator.
    static HELD: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Adds to this thread's count. Wraps instead of failing.
fn count(bytes: i64) {
    // A thread that is ending has nothing to measure.
    let _ = HELD.try_with(|held| held.set(Some(held.get().unwrap_or(0).wrapping_add(bytes))));
}

fn held() -> Option<i64> {
    HELD.try_with(Cell::get).ok().flatten()
}

/// Measures the memory that the thread allocates and keeps from now on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter(Option<i64>);

impl Meter {
    pub(crate) fn start() -> Self {
        Self(held())
    }

    /// Bytes kept since the start; `None` if the program has another allocator.
    pub(crate) fn bytes(self) -> Option<u64> {
        let (then, now) = self.0.zip(held())?;
        u64::try_from(now.wrapping_sub(then)).ok()
    }
}

/// The system's allocator, with tables of several megabytes on huge pages. A program selects it
/// with `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct HugePages;

/// A separate mapping, aligned to huge pages, for allocations that need several of them.
///
/// Its pages are zero, and the system backs them at the first access. So a chip in memory, or a
/// table of a device that is not fully written, costs only what is used of it.
#[cfg(target_os = "linux")]
mod mapping {
    use std::{alloc::Layout, ptr};

    use super::HUGE;

    pub(super) fn suits(layout: Layout) -> bool {
        layout.size() >= 2 * HUGE && layout.align() <= HUGE
    }

    /// The length of the mapping for a layout.
    fn length(layout: Layout) -> usize {
        // A layout is at most `isize::MAX` bytes long, so this does not overflow.
        layout.size().next_multiple_of(HUGE)
    }

    /// Allocates zeroed memory; null if the system has none.
    pub(super) fn take(layout: Layout) -> *mut u8 {
        let length = length(layout);
        // SAFETY: a new mapping overlaps nothing. The parts unmapped and advised lie within it.
        unsafe {
            let memory = libc::mmap(
                ptr::null_mut(),
                length + HUGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return ptr::null_mut();
            }
            let before = memory.addr().wrapping_neg() & (HUGE - 1);
            let aligned = memory.cast::<u8>().add(before);
            if before > 0 {
                libc::munmap(memory, before);
            }
            if before < HUGE {
                libc::munmap(aligned.add(length).cast(), HUGE - before);
            }
            // Whole huge pages only, because the rest of the last one would never be used. The
            // advice may be ignored.
            libc::madvise(aligned.cast(), layout.size() & !(HUGE - 1), libc::MADV_HUGEPAGE);
            aligned
        }
    }

    /// # Safety
    /// The memory was allocated with this layout.
    pub(super) unsafe fn give(memory: *mut u8, layout: Layout) {
        // SAFETY: a mapping of this length begins here.
        unsafe { libc::munmap(memory.cast(), length(layout)) };
    }
}

/// On other systems the system's allocator does everything.
#[cfg(not(target_os = "linux"))]
mod mapping {
    use std::{alloc::Layout, ptr};

    pub(super) fn suits(_: Layout) -> bool {
        false
    }

    pub(super) fn take(_: Layout) -> *mut u8 {
        ptr::null_mut()
    }

    pub(super) unsafe fn give(_: *mut u8, _: Layout) {}
}

// SAFETY: the layout alone decides whether a mapping or the system's allocator is used, and memory
// is freed with the layout with which it was allocated.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        if mapping::suits(layout) {
            return mapping::take(layout);
        }
        // SAFETY: by the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        if mapping::suits(layout) {
            return mapping::take(layout);
        }
        // SAFETY: by the caller's contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        if mapping::suits(layout) {
            // SAFETY: the memory was allocated with this layout.
            return unsafe { mapping::give(memory, layout) };
        }
        // SAFETY: by the caller's contract.
        unsafe { System.dealloc(memory, layout) }
    }

    // The default `realloc` allocates, copies and frees with the methods above.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_memory_is_zero_aligned_and_given_back() {
        for size in [8, HUGE, 2 * HUGE, 5 * HUGE + 12345] {
            let layout = Layout::from_size_align(size, 8).expect("a layout");
            // SAFETY: the layout is not empty; the memory is used within its bounds and freed once.
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

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_not_used_is_not_backed() {
        let layout = Layout::from_size_align(64 * HUGE, 8).expect("a layout");
        // SAFETY: as above; a page is at least 4 KiB, and the vector has one byte for each.
        let backed = unsafe {
            let memory = HugePages.alloc_zeroed(layout);
            assert!(!memory.is_null());
            memory.write(7);
            let mut pages = vec![0_u8; layout.size() / 4096];
            assert_eq!(libc::mincore(memory.cast(), layout.size(), pages.as_mut_ptr()), 0);
            HugePages.dealloc(memory, layout);
            pages.iter().filter(|&&page| page & 1 == 1).count()
        };
        assert!((1..=HUGE / 4096).contains(&backed), "{backed} pages");
    }
}
