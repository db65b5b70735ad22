//! The processor hint used in hot loops: prefetch of a cache line.

/// Prefetches the cache line of `table[index]`. Does nothing if the element does not exist.
///
/// The simulator knows the next requests, and a cleaner knows its victim's survivors, long before
/// it needs their table entries. Early prefetches overlap, so memory latency is paid once for many
/// entries.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let element = table.as_ptr().wrapping_add(index);
        #[allow(unsafe_code)]
        // SAFETY: a prefetch of any address affects only caches and never faults.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(element.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}
