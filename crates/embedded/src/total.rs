//! Tables that can be asked for any entry: what a chip says names blocks and pages, and no name may end the program.

use core::ops::{Deref, DerefMut, Index, IndexMut};

/// A table, and what stands for the entries that it does not have.
pub(crate) struct Total<S, T> {
    entries: S,
    beyond: T,
}

impl<S, T> Total<S, T> {
    pub(crate) const fn new(entries: S, beyond: T) -> Self {
        Self { entries, beyond }
    }
}

impl<S: Deref<Target = [T]>, T> Index<usize> for Total<S, T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        self.entries.get(at).unwrap_or(&self.beyond)
    }
}

impl<S: DerefMut<Target = [T]>, T> IndexMut<usize> for Total<S, T> {
    fn index_mut(&mut self, at: usize) -> &mut T {
        self.entries.get_mut(at).unwrap_or(&mut self.beyond)
    }
}

impl<S: Deref<Target = [T]>, T> Deref for Total<S, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries
    }
}

impl<S: DerefMut<Target = [T]>, T> DerefMut for Total<S, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.entries
    }
}
