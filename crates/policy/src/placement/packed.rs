//! What is known of each page, packed as long as all of it fits.
//!
//! A cache line then has what is known of twice as many pages. The first page whose record does not fit widens all.

use alloc::{vec, vec::Vec};
use core::fmt::Debug;

use thermocline_flash::{Lpn, prefetch};

/// A record that has a shorter form.
pub(super) trait Packs: Copy + Debug {
    type Packed: Copy + Debug;

    /// The shorter form, if the record fits it.
    fn pack(self) -> Option<Self::Packed>;

    fn unpack(packed: Self::Packed) -> Self;
}

/// A record of each page.
#[derive(Clone, Debug)]
pub(super) enum Packed<R: Packs> {
    Narrow(Vec<R::Packed>),
    Wide(Vec<R>),
}

impl<R: Packs> Packed<R> {
    /// The same record, which fits, of so many pages.
    pub(super) fn filled(record: R::Packed, pages: u32) -> Self {
        Self::Narrow(vec![record; pages as usize])
    }

    /// Number of pages.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Narrow(pages) => pages.len() as u32,
            Self::Wide(pages) => pages.len() as u32,
        }
    }

    #[inline(always)]
    pub(super) fn of(&self, lpn: Lpn) -> R {
        match self {
            Self::Narrow(pages) => R::unpack(pages[lpn.index()]),
            Self::Wide(pages) => pages[lpn.index()],
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, lpn: Lpn, record: R) {
        match (&mut *self, record.pack()) {
            (Self::Narrow(pages), Some(packed)) => pages[lpn.index()] = packed,
            (Self::Wide(pages), _) => pages[lpn.index()] = record,
            (Self::Narrow(_), None) => self.widen(lpn, record),
        }
    }

    /// A record does not fit.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, lpn: Lpn, record: R) {
        if let Self::Narrow(pages) = self {
            *self = Self::Wide(pages.iter().map(|&packed| R::unpack(packed)).collect());
        }
        self.set(lpn, record);
    }

    /// The records of several pages, which are asked for ahead. That they are packed is looked at once.
    #[inline(always)]
    pub(super) fn of_each(&self, lpns: &[Lpn], mut visit: impl FnMut(usize, R)) {
        match self {
            Self::Narrow(pages) => each(pages, lpns, |i, packed| visit(i, R::unpack(packed))),
            // Seldom, so the loop is not made twice.
            Self::Wide(pages) => {
                let visit: &mut dyn FnMut(usize, R) = &mut visit;
                each(pages, lpns, visit);
            }
        }
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        match self {
            Self::Narrow(pages) => prefetch(pages, lpn.index()),
            Self::Wide(pages) => prefetch(pages, lpn.index()),
        }
    }
}

#[inline(always)]
fn each<T: Copy>(pages: &[T], lpns: &[Lpn], mut visit: impl FnMut(usize, T)) {
    for lpn in lpns {
        prefetch(pages, lpn.index());
    }
    for (i, lpn) in lpns.iter().enumerate() {
        visit(i, pages[lpn.index()]);
    }
}
