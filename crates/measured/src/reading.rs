//! What one printout says.

use std::fmt;

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A counted quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bytes that the host wrote.
    Host,
    /// Bytes that the drive programmed.
    Physical,
}

impl Quantity {
    /// Its column.
    #[must_use]
    pub const fn column(self) -> &'static str {
        match self {
            Self::Host => "host_bytes",
            Self::Physical => "physical_bytes",
        }
    }
}

/// A counter's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// As the drive has it.
    pub raw: u128,
    /// Bytes that it counts by.
    pub unit: u64,
    /// Which counter it is, with the source of its unit.
    pub what: String,
}

/// What one printout says.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Where it stands.
    pub place: Place,
    /// When it was printed, in seconds; since when is of no account.
    pub time: Option<f64>,
    /// Bytes that the host wrote.
    pub host: Option<Count>,
    /// Bytes that the drive programmed.
    pub physical: Option<Count>,
    /// Share of the drive's life that is used up, in percent, as the drive says.
    pub life_used: Option<f64>,
    /// The drive's model.
    pub drive: Option<String>,
}

impl Reading {
    pub(crate) fn at(place: &Place, time: Option<f64>) -> Self {
        let place = place.clone();
        Self { place, time, host: None, physical: None, life_used: None, drive: None }
    }

    pub(crate) const fn count(&self, quantity: Quantity) -> Option<&Count> {
        match quantity {
            Quantity::Host => self.host.as_ref(),
            Quantity::Physical => self.physical.as_ref(),
        }
    }

    /// Whether it says anything.
    pub(crate) const fn is_empty(&self) -> bool {
        self.host.is_none() && self.physical.is_none() && self.life_used.is_none()
    }
}
