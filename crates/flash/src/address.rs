//! Logical pages, physical pages and erase blocks: three numbers that must not be mixed up.

use core::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number that stands for "none".
            pub const NONE: Self = Self(u32::MAX);

            /// As an index into a table.
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
    /// Logical page number: what the host names.
    Lpn
}
number! {
    /// Erase block number, over all banks.
    BlockId
}
number! {
    /// Physical page: erase block and page in it, packed by [`Geometry::ppn`](crate::Geometry::ppn)
    /// so that both are found by a shift and a mask, whatever the number of pages in a block.
    Ppn
}
