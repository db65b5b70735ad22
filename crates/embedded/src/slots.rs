//! A part of the layer's memory: the caller's, or from an allocator.

use core::ops::{Deref, DerefMut};

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

/// A slice that the layer works in.
#[derive(Debug)]
pub enum Slots<'a, T> {
    /// The caller's.
    Lent(&'a mut [T]),
    /// From an allocator, once; it never grows.
    #[cfg(feature = "alloc")]
    Owned(Box<[T]>),
}

impl<T> Slots<'_, T> {
    /// The first so many of them; nothing if there are fewer.
    pub(crate) fn first(self, count: usize) -> Option<Self> {
        match self {
            Self::Lent(slots) => slots.get_mut(..count).map(Self::Lent),
            #[cfg(feature = "alloc")]
            Self::Owned(slots) => {
                let mut slots = slots.into_vec();
                let enough = slots.len() >= count;
                slots.truncate(count);
                enough.then(|| Self::Owned(slots.into()))
            }
        }
    }
}

impl<T> Deref for Slots<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Lent(slots) => slots,
            #[cfg(feature = "alloc")]
            Self::Owned(slots) => slots,
        }
    }
}

impl<T> DerefMut for Slots<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Lent(slots) => slots,
            #[cfg(feature = "alloc")]
            Self::Owned(slots) => slots,
        }
    }
}

impl<'a, T> From<&'a mut [T]> for Slots<'a, T> {
    fn from(slots: &'a mut [T]) -> Self {
        Self::Lent(slots)
    }
}

impl<'a, T, const N: usize> From<&'a mut [T; N]> for Slots<'a, T> {
    fn from(slots: &'a mut [T; N]) -> Self {
        Self::Lent(slots)
    }
}
