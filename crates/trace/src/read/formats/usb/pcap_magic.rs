//! Magic numbers of capture files, pcap and pcapng.

#[cfg(not(feature = "usb-captures"))]
use crate::read::entry::Refused;

/// The message for a capture in a build that cannot read it.
#[cfg(not(feature = "usb-captures"))]
pub(in crate::read::formats) const CAPTURE_REFUSED: Refused = Refused {
    detect: |sample| is_capture(sample.bytes),
    what: "this is a capture in pcap or pcapng, which this build does not read",
    remedy: "build it with the feature usb-captures, or record usbmon's text",
};

/// Magic numbers of pcapng, and of pcap in either byte order: with microseconds, with nanoseconds,
/// and with longer packet headers.
pub(super) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const LEGACY: [u32; 3] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];

/// Whether bytes begin with the magic number of a capture file.
pub(super) fn is_capture(bytes: &[u8]) -> bool {
    let legacy = bytes.first_chunk::<4>().is_some_and(|magic| {
        LEGACY.contains(&u32::from_le_bytes(*magic)) || LEGACY.contains(&u32::from_be_bytes(*magic))
    });
    legacy || is_next(bytes)
}

/// Whether bytes begin with the section header of pcapng.
pub(super) fn is_next(bytes: &[u8]) -> bool {
    bytes.starts_with(&SECTION)
        && bytes.get(8..12).is_some_and(|magic| {
            matches!(magic, [0x1a, 0x2b, 0x3c, 0x4d] | [0x4d, 0x3c, 0x2b, 0x1a])
        })
}
