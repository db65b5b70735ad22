//! Returns memory to the system after a flood of clients.
//!
//! The C library keeps freed memory in arenas, each for a few threads. A server that had a thousand
//! clients would keep their buffers.

#![allow(unsafe_code)]

/// Gives memory that is free in the C library's arenas back to the system. Takes about a millisecond.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` touches free memory only, and may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
