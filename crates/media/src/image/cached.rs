//! What the system's page cache knows of a file, and how it forgets that.
//!
//! After a sync that failed, the system takes what it could not write for clean: the cache then shows
//! data that the disk does not have, to this process and to all later ones, until it happens to drop them.

#![allow(unsafe_code)]

use std::{fs::File, io, os::fd::AsRawFd};

use rustix::fs::{Advice, fadvise};

/// Bytes of a file that are asked about at once.
const WINDOW: u64 = 1 << 30;
/// How often the system is asked to forget: a page that another program reads just then stays.
const ATTEMPTS: u32 = 3;

/// Makes the cache forget what it holds of a file that has just been synced. False if it does not: another
/// program has the file mapped or locked in memory.
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
    // The least page there is: a byte for each suffices with larger ones.
    let mut pages = vec![0_u8; (WINDOW.min(bytes) as usize).div_ceil(4096)];
    for at in (0..bytes).step_by(WINDOW as usize) {
        let length = (bytes - at).min(WINDOW) as usize;
        if is_window_cached(file, at, length, &mut pages)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_window_cached(file: &File, at: u64, length: usize, pages: &mut [u8]) -> io::Result<bool> {
    pages.fill(0);
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
        assert!(is_cached(&file, BYTES).expect("the system tells"), "it was just written");
        assert_eq!(disk.forget(BYTES, &|_| true), None);
        assert!(!is_cached(&file, BYTES).expect("the system tells"));

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
