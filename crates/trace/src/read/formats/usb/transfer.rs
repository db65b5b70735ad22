//! A transfer on the bus.

/// A bulk transfer that moved bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer<'a> {
    /// Nanoseconds since the start of the capture.
    pub(super) time_ns: u64,
    /// The bus, if the capture gives it.
    pub(super) bus: Option<u16>,
    /// The device's address on the bus.
    pub(super) device: u16,
    /// Whether it came from the device.
    pub(super) inward: bool,
    /// Bytes moved.
    pub(super) length: u64,
    /// The captured bytes, from the first on.
    pub(super) data: &'a [u8],
}

/// A device's address: bus and number.
pub(super) type Address = (Option<u16>, u16);
