//! The one hint the processor needs: a cache line will be wanted soon.

/// Asks for the cache line of `table[index]`; nothing happens where there is no such element.
///
/// The simulator knows the next requests, and a cleaner its victim's survivors, long before their
/// table entries are needed; asking ahead turns the latency of memory into its bandwidth.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = table.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[allow(unsafe_code)]
        // SAFETY: a prefetch has no effect but on caches, and the address is that of a live element.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(element).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}
