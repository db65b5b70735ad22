//! One request of a block trace.

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read `len` bytes at `offset`.
    Read,
    /// Write `len` bytes at `offset`.
    Write,
    /// The host no longer needs `len` bytes at `offset` (discard, unmap).
    Trim,
    /// Make everything acknowledged so far durable; `offset` and `len` are 0.
    Flush,
}

/// One request, in bytes and nanoseconds, independent of the units of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival, in nanoseconds since the trace's origin (see the reader's documentation).
    pub time_ns: u64,
    /// First byte, on its volume.
    pub offset: u64,
    /// Length in bytes, without any alignment.
    pub len: u64,
    /// Index of the volume (disk, LUN, ASU, `major:minor`) in the order of first appearance.
    pub volume: u32,
    /// The operation.
    pub op: Op,
    /// Placement hint: the handle, stream or temperature class that the host names for the data of
    /// a write; 0 is none.
    pub hint: u16,
}

// A hint lies in what was padding: it makes no trace larger in memory.
const _: () = assert!(size_of::<Request>() == 32);
