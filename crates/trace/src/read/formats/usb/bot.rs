//! Bulk-Only Transport: a command block wrapper goes out, data may follow in either direction, and
//! a command status wrapper comes back (USB Mass Storage Class, Bulk-Only Transport 1.0, §5). A
//! device executes one command at a time. Numbers are little endian, except within SCSI commands.

use super::transfer::Transfer;

/// Lengths of the two wrappers in bytes.
const COMMAND: u64 = 31;
const STATUS: u64 = 13;

const COMMAND_SIGNATURE: &[u8] = b"USBC";
const STATUS_SIGNATURE: &[u8] = b"USBS";

/// A command block wrapper.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrapper {
    pub(super) tag: u32,
    /// Bytes that the host expects to move.
    pub(super) length: u32,
    pub(super) lun: u16,
    pub(super) cdb: [u8; 16],
}

/// A transfer to a device.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outward {
    Command(Wrapper),
    /// A command whose end was not captured.
    Cut,
    Data,
}

/// A transfer from a device.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inward {
    /// The end of a command: its tag if captured, and whether it succeeded.
    Status(Option<u32>, bool),
    Data,
}

/// Classifies a transfer to a device.
#[inline]
pub(super) fn outward(transfer: &Transfer<'_>) -> Outward {
    let bytes = transfer.data;
    if transfer.length != COMMAND || !bytes.starts_with(COMMAND_SIGNATURE) {
        return Outward::Data;
    }
    let Some(cdb) = bytes.get(15..31).and_then(|cdb| cdb.try_into().ok()) else {
        return Outward::Cut;
    };
    Outward::Command(Wrapper {
        tag: u32_at(bytes, 4),
        length: u32_at(bytes, 8),
        lun: u16::from(bytes[13] & 0x0f),
        cdb,
    })
}

/// Classifies a transfer from a device.
///
/// A status that was not captured counts as success, which is nearly always right.
#[inline]
pub(super) fn inward(transfer: &Transfer<'_>) -> Inward {
    let bytes = transfer.data;
    let seen = bytes.len().min(STATUS_SIGNATURE.len());
    if transfer.length != STATUS || bytes[..seen] != STATUS_SIGNATURE[..seen] {
        return Inward::Data;
    }
    let tag = (bytes.len() >= 8).then(|| u32_at(bytes, 4));
    Inward::Status(tag, bytes.get(12).is_none_or(|&status| status == 0))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(data: &[u8], length: u64) -> Transfer<'_> {
        Transfer { time_ns: 0, bus: None, device: 1, inward: false, length, data }
    }

    /// The example in the kernel's documentation: READ(10), LBA 20h, 64 blocks.
    const READ: [u8; 31] = [
        0x55, 0x53, 0x42, 0x43, 0xad, 0, 0, 0, 0, 0x80, 0, 0, 0x80, 1, 0x0a, 0x28, 0x20, 0, 0, 0,
        0x20, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    fn a_command_block_wrapper_is_decoded() {
        let Outward::Command(wrapper) = outward(&transfer(&READ, 31)) else {
            panic!("a command");
        };
        assert_eq!((wrapper.tag, wrapper.length, wrapper.lun), (0xad, 32_768, 1));
        assert_eq!(wrapper.cdb[..2], [0x28, 0x20]);
        assert_eq!(outward(&transfer(&READ[..30], 31)), Outward::Cut);
        assert_eq!(outward(&transfer(&READ[..3], 31)), Outward::Data);
        assert_eq!(outward(&transfer(&READ, 512)), Outward::Data, "a file that holds one");
    }

    #[test]
    fn a_command_status_wrapper_names_its_command_and_outcome() {
        let status = |data: &[u8]| inward(&transfer(data, 13));
        let good = b"USBS\xad\0\0\0\0\0\0\0\0";
        assert_eq!(status(good), Inward::Status(Some(0xad), true));
        assert_eq!(status(b"USBS\xad\0\0\0\0\0\0\0\x01"), Inward::Status(Some(0xad), false));
        assert_eq!(status(&good[..8]), Inward::Status(Some(0xad), true));
        assert_eq!(status(b""), Inward::Status(None, true));
        assert_eq!(status(b"USBX\xad\0\0\0\0\0\0\0\0"), Inward::Data);
        assert_eq!(inward(&transfer(good, 512)), Inward::Data);
    }
}
