//! A zoned device: zones that are written at a pointer and reset whole.

use std::{fmt, io};

/// What a zone takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Writes anywhere.
    Conventional,
    /// Writes at the pointer alone.
    Sequential,
}

/// The state of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It has no pointer: it is conventional.
    NoPointer,
    /// Nothing was written since it was reset.
    Empty,
    /// It takes one of the device's places for open zones.
    Open,
    /// It is partly written. It takes one of the places for active zones, as an open one does.
    Closed,
    /// Nothing more can be written.
    Full,
    /// It can only be read, for good.
    ReadOnly,
    /// It can be neither read nor written, for good.
    Offline,
}

/// A zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Where it begins, in bytes.
    pub start: u64,
    /// Bytes that can be written; at most its size.
    pub capacity: u64,
    /// Bytes from its start to its pointer. Means nothing in a zone that can only be read, or not even that.
    pub pointer: u64,
    /// What it takes.
    pub kind: Kind,
    /// Its state.
    pub condition: Condition,
}

impl Zone {
    /// Whether it takes one of the device's places for active zones.
    pub(crate) const fn is_active(&self) -> bool {
        matches!(self.condition, Condition::Open | Condition::Closed)
    }
}

/// What does not change of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a block: reads and writes are whole blocks.
    pub block: u32,
    /// Bytes from one zone to the next.
    pub zone: u64,
    /// Zones.
    pub zones: u32,
    /// The most open zones; 0 for any number. A further one closes another.
    pub most_open: u32,
    /// The most active zones, which are open or closed; 0 for any number. A further one is an error.
    pub most_active: u32,
}

/// A zoned device.
pub(crate) trait Device: fmt::Debug + Send + Sync {
    /// What does not change of it.
    fn shape(&self) -> Shape;

    /// All its zones.
    fn report(&self) -> io::Result<Vec<Zone>>;

    /// Reads exactly that many bytes: whole blocks.
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes whole blocks at the pointer of a zone.
    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()>;

    /// Empties the zone that begins there.
    fn reset(&self, start: u64) -> io::Result<()>;

    /// Makes the zone that begins there full.
    fn finish(&self, start: u64) -> io::Result<()>;

    /// Waits until all that was done before lasts.
    fn sync(&self) -> io::Result<()>;

    /// Whether that waits for a disk.
    fn waits_for_disk(&self) -> bool {
        true
    }
}
