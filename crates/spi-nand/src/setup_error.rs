//! Why a chip cannot be used.

use thermocline_embedded::NandError;

/// Why a chip cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SetupError {
    /// Nothing answers: no chip, no power, or a line that is not connected.
    NoAnswer,
    /// A chip that has no row: what it says after a dummy byte and at once. [`SpiNand::among`](crate::SpiNand::among) takes rows of your own.
    Unknown([u8; 4], [u8; 4]),
    /// The chip does not keep what its registers are set to: it is locked, or the bus is too fast.
    NotSet,
}

impl core::fmt::Display for SetupError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoAnswer => f.write_str("no SPI NAND answers"),
            Self::Unknown(after, at_once) => write!(
                f,
                "this SPI NAND is not known: it says {after:02x?} after a dummy byte, {at_once:02x?} at once"
            ),
            Self::NotSet => f.write_str("the SPI NAND does not keep what its registers are set to"),
        }
    }
}

impl core::error::Error for SetupError {}

impl From<NandError> for SetupError {
    fn from(_: NandError) -> Self {
        Self::NoAnswer
    }
}
