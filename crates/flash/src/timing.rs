//! Times and energy of the operations.

/// Times of one operation each, in nanoseconds.
///
/// The setup phase occupies the channel (command, address, transfer), the busy phase occupies the
/// bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Setup phase of a read.
    pub read_setup_ns: u64,
    /// Busy phase of a read.
    pub read_ns: u64,
    /// Read of only the out-of-band area of a page, both phases.
    pub oob_read_ns: u64,
    /// Setup phase of a program.
    pub program_setup_ns: u64,
    /// Busy phase of a program.
    pub program_ns: u64,
    /// Setup phase of copying one valid page during cleaning; 0 if the data stay in the bank.
    pub copy_setup_ns: u64,
    /// Copy of one valid page during cleaning, both phases.
    pub copy_ns: u64,
    /// Setup phase of an erase.
    pub erase_setup_ns: u64,
    /// Busy phase of an erase.
    pub erase_ns: u64,
    /// Processor time of one recomputation of a mean over all pages.
    pub hotness_scan_ns: u64,
}

impl Timing {
    /// Time of a whole read, in nanoseconds.
    #[must_use]
    pub const fn read(&self) -> u64 {
        self.read_setup_ns + self.read_ns
    }

    /// Time of a whole program, in nanoseconds.
    #[must_use]
    pub const fn program(&self) -> u64 {
        self.program_setup_ns + self.program_ns
    }

    /// Time of a whole erase, in nanoseconds.
    #[must_use]
    pub const fn erase(&self) -> u64 {
        self.erase_setup_ns + self.erase_ns
    }
}

/// The busy phases of programs of the two pages that share cells of two bits, in microseconds. Even pages of a block
/// are the lower ones.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct PagePairs {
    /// Of a lower page.
    pub lower_us: f64,
    /// Of an upper page.
    pub upper_us: f64,
}

impl PagePairs {
    /// In nanoseconds: of a lower page, of an upper page.
    #[must_use]
    pub fn ns(&self) -> [u64; 2] {
        [self.lower_us, self.upper_us].map(|us| (us * 1000.0 + 0.5) as u64)
    }
}

/// Times from the command to suspend a running operation until the chip can read, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspend {
    /// Of a program, and of a copy.
    pub program_ns: u64,
    /// Of an erase.
    pub erase_ns: u64,
}

impl Suspend {
    pub(crate) const fn of(&self, erase: bool) -> u64 {
        if erase { self.erase_ns } else { self.program_ns }
    }
}

/// Energy of one operation each, in microjoules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Energy {
    /// A page read.
    pub read_uj: f64,
    /// A page program.
    pub program_uj: f64,
    /// A block erase.
    pub erase_uj: f64,
}
