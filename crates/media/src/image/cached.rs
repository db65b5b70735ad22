//! The system's page cache of a file, and how to drop it.
//!
//! After a failed sync the system marks the pages that it could not write as clean. The cache then returns
//! data that are not on the disk, to this process and to later ones, until it evicts them.

#![allow(unsafe_code)]

use std::{fs::File, io, os::fd::AsRawFd};

use rustix::fs::{Advice, fadvise};

use crate::sparse;

/// Bytes of a file in one query.
const WINDOW: u64 = 1 << 30;
/// Attempts to drop the cache. A page stays while another program reads it.
const ATTEMPTS: u32 = 3;
/// The number of the system call that counts the cached pages of a file (Linux 6.5).
const CACHESTAT: libc::c_long = 451;

/// Drops a file that has just been synced from the cache. False if pages remain because another program has
/// the file mapped or locked in memory.
pub(super) fn forget(file: &File, bytes: u64) -> io::Result<bool> {
    for _ in 0..ATTEMPTS {
        fadvise(file, 0, None, Advice::DontNeed)?;
        if !is_cached(file, bytes)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether any page of a file is in the cache.
fn is_cached(file: &File, bytes: u64) -> io::Result<bool> {
    match count_cached(file) {
        Ok(pages) => Ok(pages > 0),
        // The system is older, or forbids the call.
        Err(_) => is_data_cached(file, bytes),
    }
}

/// The pages of a file that are in the cache.
fn count_cached(file: &File) -> io::Result<u64> {
    /// Of a length of zero the system counts to the end.
    #[repr(C)]
    struct Range {
        offset: u64,
        length: u64,
    }
    #[repr(C)]
    #[derive(Default)]
    struct Pages {
        cached: u64,
        dirty: u64,
        writeback: u64,
        evicted: u64,
        recently_evicted: u64,
    }
    let (whole, mut pages) = (Range { offset: 0, length: 0 }, Pages::default());
    // SAFETY: both are as the system defines them, and there while it is called.
    let done = unsafe {
        let (whole, pages) = (std::ptr::from_ref(&whole), std::ptr::from_mut(&mut pages));
        libc::syscall(CACHESTAT, file.as_raw_fd(), whole, pages, 0)
    };
    if done == 0 { Ok(pages.cached) } else { Err(io::Error::last_os_error()) }
}

/// [`is_cached`] on older systems, by a query of each page. Holes are skipped.
fn is_data_cached(file: &File, bytes: u64) -> io::Result<bool> {
    for data in sparse::data(file, bytes) {
        let data = data?;
        // A mapping begins at a whole page.
        let mut from = data.start & !0xffff;
        while from < data.end {
            let length = (data.end - from).min(WINDOW);
            if is_window_cached(file, from, length as usize)? {
                return Ok(true);
            }
            from += length;
        }
    }
    Ok(false)
}

fn is_window_cached(file: &File, at: u64, length: usize) -> io::Result<bool> {
    // The least page there is: a byte for each suffices with larger ones.
    let mut pages = vec![0_u8; length.div_ceil(4096)];
    // SAFETY: a new mapping, at a place that the system chooses. Nothing reads through it.
    let window = unsafe {
        let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
        libc::mmap(std::ptr::null_mut(), length, read, shared, file.as_raw_fd(), at as libc::off_t)
    };
    if window == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the window is mapped, and there is a byte for each of its pages.
    let asked = unsafe { libc::mincore(window, length, pages.as_mut_ptr()) };
    let asked = if asked == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: it was mapped above, whole, and nothing refers to it.
    unsafe { libc::munmap(window, length) };
    asked.map(|()| pages.iter().any(|page| page & 1 != 0))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::disk::{Disk, How};
    use super::*;

    #[test]
    fn what_was_synced_is_dropped_or_read_past_the_cache() {
        const BYTES: u64 = 300_000;
        let folder = tempfile::TempDir::new().expect("there is room for a folder");
        let path = folder.path().join("file");
        let mut file = File::create_new(&path).expect("the folder is fresh");
        file.write_all(&[1; BYTES as usize]).expect("there is room");
        file.sync_all().expect("it can be synced");
        let open = || Disk::open(&path, How { write: false, lock: false, direct: false });
        let mut disk = open().expect("it is a file");
        if !super::super::store::Store::waits_for_disk(&disk) {
            return;
        }
        let asked = || {
            let counted = is_cached(&file, BYTES).expect("the system tells");
            assert_eq!(is_data_cached(&file, BYTES).expect("the system tells"), counted);
            counted
        };
        assert!(asked(), "it was just written");
        assert_eq!(disk.forget(BYTES, &|_| true), None);
        assert!(!asked());

        // SAFETY: a new mapping of a file that is as long; nobody cuts it.
        let window = unsafe {
            let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
            libc::mmap(std::ptr::null_mut(), 4096, read, shared, file.as_raw_fd(), 0)
        };
        assert_ne!(window, libc::MAP_FAILED);
        // SAFETY: the window is mapped and readable.
        assert_eq!(unsafe { window.cast::<u8>().read_volatile() }, 1);
        let remark = disk.forget(BYTES, &|_| false).expect("it is mapped");
        assert!(remark.contains("another program") && remark.contains("whole blocks"), "{remark}");
        let remark = open().expect("it is a file").forget(BYTES, &|_| true).expect("it is mapped");
        assert!(remark.contains("past the cache") || remark.contains("restart"), "{remark}");
        // SAFETY: it was mapped above, and is not used any more.
        unsafe { libc::munmap(window, 4096) };
    }
}
