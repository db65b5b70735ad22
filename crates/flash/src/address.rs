//! Logical pages, physical pages and erase blocks as separate number types, so that they cannot be
//! confused.

use core::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number reserved for "none".
            pub const NONE: Self = Self(u32::MAX);

            /// The number as an index into a table.
            #[inline(always)]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if *self == Self::NONE {
                    f.write_str(concat!(stringify!($name), "(none)"))
                } else {
                    write!(f, concat!(stringify!($name), "({})"), self.0)
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number! {
    /// Logical page number: the host's address of a page.
    Lpn
}
number! {
    /// Erase block number, over all banks.
    BlockId
}
number! {
    /// Physical page number. [`Geometry::ppn`](crate::Geometry::ppn) packs the erase block and the
    /// page within it, so a shift and a mask unpack both for any number of pages in a block.
    Ppn
}
