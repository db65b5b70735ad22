//! The headers before a USB transfer in a packet, by link type (tcpdump.org, "Link-layer header
//! types"; Linux `Documentation/usb/usbmon.rst`; USBPcap, "Capture format specification").

use super::{super::transfer::Transfer, capture::Packet};

/// usbmon's header of 48 bytes, in the capturing machine's byte order.
const LINUX: u32 = 189;
/// usbmon's header with 16 more bytes.
const LINUX_MMAPPED: u32 = 220;
/// USBPcap's header on Windows, always little endian.
const USBPCAP: u32 = 249;

/// USB link types that are not supported, with their names.
const OTHERS: [(u32, &str); 8] = [
    (186, "FreeBSD's USB captures"),
    (266, "macOS's USB captures"),
    (288, "packets on the wire of USB 2.0"),
    (293, "packets on the wire of USB 1.0 low speed"),
    (294, "packets on the wire of USB 1.1 full speed"),
    (295, "packets on the wire of USB 2.0 high speed"),
    (1, "Ethernet"),
    (105, "Wi-Fi"),
];

/// The bulk transfer type, in all formats.
const BULK: u8 = 3;

/// The endpoint bit for transfers from the device.
const INWARD: u8 = 0x80;

/// Bytes of USBPcap's header before the part for the transfer type.
const USBPCAP_HEADER: usize = 27;

/// The content of a packet.
pub(super) enum Found<'a> {
    Transfer(Transfer<'a>),
    /// A transfer of another type, or the end of a transfer that does not have its bytes.
    Nothing,
    /// The packet was cut off within its header.
    Cut,
    /// The link type is not supported.
    OtherLink,
}

/// Whether a link type is supported.
pub(super) fn is_read(link: u32) -> bool {
    matches!(link, LINUX | LINUX_MMAPPED | USBPCAP)
}

/// The name of a link type.
pub(super) fn name(link: u32) -> String {
    match OTHERS.iter().find(|(other, _)| *other == link) {
        Some((_, name)) => format!("link type {link}, {name}"),
        None => format!("link type {link}"),
    }
}

/// The transfer in a packet. Its time counts from `start_ns`.
#[inline]
pub(super) fn transfer<'a>(packet: &Packet<'a>, start_ns: u64) -> Found<'a> {
    let time_ns = packet.time_ns.saturating_sub(start_ns);
    match packet.link {
        LINUX => linux(packet, time_ns, 48),
        LINUX_MMAPPED => linux(packet, time_ns, 64),
        USBPCAP => usbpcap(packet.bytes, time_ns),
        _ => Found::OtherLink,
    }
}

#[inline]
fn linux<'a>(packet: &Packet<'a>, time_ns: u64, size: usize) -> Found<'a> {
    let Some((header, rest)) = packet.bytes.split_at_checked(size) else { return Found::Cut };
    let u32_at = |at| match packet.big {
        true => u32::from_be_bytes(word(header, at)),
        false => u32::from_le_bytes(word(header, at)),
    };
    let inward = header[10] & INWARD != 0;
    let moment = if inward { b'C' } else { b'S' };
    let length = u32_at(32);
    if header[9] != BULK || header[8] != moment || length == 0 {
        return Found::Nothing;
    }
    let bus = [header[12], header[13]];
    let bus = if packet.big { u16::from_be_bytes(bus) } else { u16::from_le_bytes(bus) };
    // A flag other than 0 is a letter that gives the reason for missing data.
    let captured = if header[15] == 0 { u32_at(36).min(length) } else { 0 };
    Found::Transfer(Transfer {
        time_ns,
        bus: Some(bus),
        device: u16::from(header[11]),
        inward,
        length: u64::from(length),
        data: &rest[..rest.len().min(captured as usize)],
    })
}

#[inline]
fn usbpcap(bytes: &[u8], time_ns: u64) -> Found<'_> {
    let Some(header) = bytes.first_chunk::<USBPCAP_HEADER>() else { return Found::Cut };
    let u16_at = |at| u16::from_le_bytes([header[at], header[at + 1]]);
    let size = usize::from(u16_at(0)).max(USBPCAP_HEADER);
    let inward = header[21] & INWARD != 0;
    // Bit 0: from the device driver upwards, that is, at the end of a transfer.
    let is_end = header[16] & 1 != 0;
    let length = u32::from_le_bytes(word(header, 23));
    if header[22] != BULK || inward != is_end || length == 0 {
        return Found::Nothing;
    }
    let rest = bytes.get(size..).unwrap_or_default();
    Found::Transfer(Transfer {
        time_ns,
        bus: Some(u16_at(17)),
        device: u16_at(19),
        inward,
        length: u64::from(length),
        data: &rest[..rest.len().min(length as usize)],
    })
}

fn word(bytes: &[u8], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}
