//! USB Attached SCSI: information units on four pipes, with many commands at once, identified by
//! tags (ISO/IEC 14776-251, UAS). Numbers are big endian.
//!
//! A capture does not show to which command the data on the data pipes belong (usbmon omits the
//! stream), so commands are read without their data.

use super::transfer::Transfer;

/// Bytes of a command unit with a 16-byte command block.
const COMMAND: u64 = 32;

/// Bytes of a sense unit, without and with the maximum of sense data.
const SENSE: std::ops::RangeInclusive<u64> = 16..=16 + 252;

/// Bytes of a response unit.
const RESPONSE: u64 = 8;

/// A command unit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) tag: u16,
    pub(super) lun: u16,
    pub(super) cdb: [u8; 16],
}

/// Parses a transfer to a device as a command unit.
///
/// A capture that begins late has no descriptors of the device, so a unit must be valid in every
/// byte that the standard fixes.
#[inline]
pub(super) fn command(transfer: &Transfer<'_>) -> Option<Unit> {
    let bytes = transfer.data;
    if transfer.length != COMMAND || bytes.first() != Some(&1) {
        return None;
    }
    let cdb: [u8; 16] = bytes.get(16..32)?.try_into().ok()?;
    let reserved = [bytes[1], bytes[4] & 0x80, bytes[5], bytes[6], bytes[7]];
    // Peripheral device or flat space addressing of a single level (SAM-5, 4.7).
    let single_level = bytes[8] & 0x80 == 0 && bytes[10..16] == [0; 6];
    let tag = u16_at(bytes, 2);
    (reserved == [0; 5] && single_level && tag != 0 && is_padded(&cdb)).then(|| Unit {
        tag,
        lun: u16_at(bytes, 8) & 0x3fff,
        cdb,
    })
}

/// Parses a transfer from a device as the end of a command: its tag, and whether it succeeded.
#[inline]
pub(super) fn status(transfer: &Transfer<'_>) -> Option<(u16, bool)> {
    let bytes = transfer.data;
    match bytes {
        [3, 0, _, _, _, _, status, ..] if SENSE.contains(&transfer.length) => {
            let reserved = bytes.get(7..14).is_none_or(|reserved| reserved == [0; 7]);
            reserved.then_some((u16_at(bytes, 2), *status == 0))
        }
        // Sent instead of a sense unit after an invalid command.
        [4, 0, ..] if transfer.length == RESPONSE && bytes.len() >= 4 => {
            Some((u16_at(bytes, 2), false))
        }
        _ => None,
    }
}

/// Whether a command block has only zeros after the length given by its operation code (SPC-5,
/// 4.2.5.1).
fn is_padded(cdb: &[u8; 16]) -> bool {
    let length = match cdb[0] >> 5 {
        0 => 6,
        1 | 2 => 10,
        4 => 16,
        5 => 12,
        // Variable length, or vendor-specific.
        _ => return false,
    };
    cdb[length..].iter().all(|&byte| byte == 0)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(data: &[u8]) -> Transfer<'_> {
        let length = data.len() as u64;
        Transfer { time_ns: 0, bus: None, device: 1, inward: false, length, data }
    }

    fn read10() -> [u8; 32] {
        let mut unit = [0; 32];
        unit[..4].copy_from_slice(&[1, 0, 0, 7]);
        unit[9] = 2;
        unit[16..26].copy_from_slice(&[0x28, 0, 0, 0, 0, 9, 0, 0, 8, 0]);
        unit
    }

    #[test]
    fn a_command_unit_is_right_in_every_fixed_byte() {
        let unit = command(&transfer(&read10())).expect("a command");
        assert_eq!((unit.tag, unit.lun, unit.cdb[5]), (7, 2, 9));
        for at in [0, 1, 5, 6, 7, 12, 30] {
            let mut other = read10();
            other[at] = 0x55;
            assert_eq!(command(&transfer(&other)), None, "byte {at}");
        }
        assert_eq!(command(&transfer(&read10()[..31])), None);
    }

    #[test]
    fn a_status_unit_is_distinguished_from_data() {
        let mut sense = [0; 16];
        sense[..4].copy_from_slice(&[3, 0, 0, 7]);
        assert_eq!(status(&transfer(&sense)), Some((7, true)));
        sense[6] = 2;
        assert_eq!(status(&transfer(&sense)), Some((7, false)));
        sense[9] = 1;
        assert_eq!(status(&transfer(&sense)), None);
        assert_eq!(status(&transfer(&[4, 0, 0, 7, 0, 0, 0, 2])), Some((7, false)));
        assert_eq!(status(&transfer(&[6, 0, 0, 7])), None, "a read-ready unit");
        assert_eq!(status(&transfer(&[3; 512])), None);
    }
}
