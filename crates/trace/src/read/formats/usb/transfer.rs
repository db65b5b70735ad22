//! A transfer on the bus.

/// A bulk transfer that moved bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer<'a> {
    /// Nanoseconds since the capture began.
    pub(super) time_ns: u64,
    /// The bus, where the capture names it.
    pub(super) bus: Option<u16>,
    /// The device's address on it.
    pub(super) device: u16,
    /// From the device.
    pub(super) inward: bool,
    /// Bytes moved.
    pub(super) length: u64,
    /// Those that were captured, from the first on.
    pub(super) data: &'a [u8],
}

/// A device's address: bus and number.
pub(super) type Address = (Option<u16>, u16);
