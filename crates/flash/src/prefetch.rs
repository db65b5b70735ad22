//! The one hint the processor needs: a cache line will be wanted soon.

/// Asks for the cache line of `table[index]`; nothing comes of it where there is no such element.
///
/// The simulator knows the next requests, and a cleaner its victim's survivors, long before their
/// table entries are needed; asking ahead turns the latency of memory into its bandwidth.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let element = table.as_ptr().wrapping_add(index);
        #[allow(unsafe_code)]
        // SAFETY: a prefetch of any address has no effect but on caches, and faults nowhere.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(element.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}
