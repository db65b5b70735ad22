//! Memory goes back to the system after a flood of clients.
//!
//! The C library keeps what is freed for the next allocation, in an arena for each few threads. A server
//! that had a thousand clients would hold on to their buffers for good.

#![allow(unsafe_code)]

/// Gives memory that is free in the C library's arenas back to the system. Takes about a millisecond.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` touches free memory only, and may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
