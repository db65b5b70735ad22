//! Packets of a capture file, pcap or pcapng, in either byte order.
//!
//! `pcap-parser` parses the blocks. This module adds what spans blocks (sections, interfaces,
//! clocks) and bounds for damaged files.

use pcap_parser::{
    Block, LegacyPcapBlock, PcapError, nom, parse_block_be, parse_block_le, parse_pcap_frame,
    parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header, parse_sectionheaderblock,
    parse_unknownblock_be, parse_unknownblock_le,
};

use super::super::pcap_magic::{SECTION, is_next};

/// Types of the pcapng blocks that are used.
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Maximum number of interfaces in a section.
const MOST_INTERFACES: usize = 1 << 16;

const SECOND_NS: u128 = 1_000_000_000;

type Frame = fn(&[u8]) -> nom::IResult<&[u8], LegacyPcapBlock<'_>, PcapError<&[u8]>>;

/// State of reading a capture.
pub(super) struct Capture {
    kind: Kind,
    /// Number of packets so far.
    packets: u64,
}

enum Kind {
    Legacy { frame: Frame, big: bool, link: u32, ns_per_tick: u64 },
    Next { big: bool, interfaces: Vec<Interface> },
}

/// How to read the packets of an interface.
#[derive(Clone, Copy)]
struct Interface {
    link: u32,
    ticks_per_second: u64,
    offset_s: i64,
}

/// A packet.
pub(super) struct Packet<'a> {
    /// Nanoseconds since the epoch of the capturing machine.
    pub(super) time_ns: u64,
    /// Its LINKTYPE.
    pub(super) link: u32,
    /// Whether the file is big-endian, and with it headers in the host's byte order.
    pub(super) big: bool,
    pub(super) bytes: &'a [u8],
}

/// The next element of the input.
pub(super) enum Step<'a> {
    /// A packet, and its length in the input.
    Packet(Packet<'a>, usize),
    /// Another element of this length.
    Other(usize),
    /// A packet without a time, which cannot be used, of this length.
    Timeless(usize),
    /// More bytes are needed.
    More,
    /// The file is damaged.
    Bad(String),
}

impl Capture {
    /// The capture with this beginning, and the length of its header. `None` if it is not a
    /// capture, or if there are too few bytes.
    pub(super) fn of(bytes: &[u8]) -> Option<(Capture, usize)> {
        if is_next(bytes) {
            let kind = Kind::Next { big: false, interfaces: Vec::new() };
            return Some((Capture { kind, packets: 0 }, 0));
        }
        let (rest, header) = parse_pcap_header(bytes).ok()?;
        let big = header.is_bigendian();
        let frame: Frame = match big {
            _ if header.is_modified_format() => parse_pcap_frame_modified,
            true => parse_pcap_frame_be,
            false => parse_pcap_frame,
        };
        // The upper bits say whether frames end in a checksum.
        let link = header.network.0 as u32 & 0x03ff_ffff;
        let ns_per_tick = if header.is_nanosecond_precision() { 1 } else { 1000 };
        let kind = Kind::Legacy { frame, big, link, ns_per_tick };
        Some((Capture { kind, packets: 0 }, bytes.len() - rest.len()))
    }

    /// The number of the last packet, counted from 1 as in other programs.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// The link type of all packets, if the file has only one.
    pub(super) fn link(&self) -> Option<u32> {
        match self.kind {
            Kind::Legacy { link, .. } => Some(link),
            Kind::Next { .. } => None,
        }
    }

    /// Parses the next element of `bytes`.
    #[inline]
    pub(super) fn step<'a>(&mut self, bytes: &'a [u8]) -> Step<'a> {
        let step = match &mut self.kind {
            Kind::Legacy { frame, big, link, ns_per_tick } => match frame(bytes) {
                Ok((rest, block)) => {
                    let packet = Packet {
                        time_ns: u64::from(block.ts_sec) * SECOND_NS as u64
                            + u64::from(block.ts_usec) * *ns_per_tick,
                        link: *link,
                        big: *big,
                        bytes: block.data,
                    };
                    Step::Packet(packet, bytes.len() - rest.len())
                }
                Err(nom::Err::Incomplete(_)) => Step::More,
                Err(_) => Step::Bad("the header of a packet cannot be read".into()),
            },
            Kind::Next { big, interfaces } => block(big, interfaces, bytes),
        };
        self.packets += u64::from(matches!(step, Step::Packet(..) | Step::Timeless(_)));
        step
    }
}

/// Parses a pcapng block.
#[inline]
fn block<'a>(big: &mut bool, interfaces: &mut Vec<Interface>, bytes: &'a [u8]) -> Step<'a> {
    let Some(head) = bytes.first_chunk::<12>() else { return Step::More };
    let [kind, length] = [0, 4].map(|at| {
        let word = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        // A section header defines its own byte order.
        let big = if head.starts_with(&SECTION) { head[8] == 0x1a } else { *big };
        if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    });
    // If the block is complete, anything the parser still lacks is missing inside it.
    let is_here = bytes.len() >= length as usize;
    let damaged = || Step::Bad(format!("a block of type {kind} and {length} bytes is damaged"));
    if head.starts_with(&SECTION) {
        return match parse_sectionheaderblock(bytes) {
            Ok((rest, section)) => {
                *big = section.big_endian();
                interfaces.clear();
                Step::Other(bytes.len() - rest.len())
            }
            Err(nom::Err::Incomplete(_)) if !is_here => Step::More,
            Err(_) => damaged(),
        };
    }
    // Other blocks may have any content.
    let parse = match (kind, *big) {
        (INTERFACE | SIMPLE_PACKET | ENHANCED_PACKET, false) => parse_block_le,
        (INTERFACE | SIMPLE_PACKET | ENHANCED_PACKET, true) => parse_block_be,
        (_, big) => return skip(kind, big, bytes, is_here).unwrap_or_else(damaged),
    };
    let (rest, block) = match parse(bytes) {
        Ok(parsed) => parsed,
        Err(nom::Err::Incomplete(_)) if !is_here => return Step::More,
        Err(_) => return damaged(),
    };
    let taken = bytes.len() - rest.len();
    match block {
        Block::InterfaceDescription(about) => {
            if interfaces.len() >= MOST_INTERFACES {
                return Step::Bad(format!("more than {MOST_INTERFACES} interfaces are described"));
            }
            let Some(ticks_per_second) = about.ts_resolution().filter(|ticks| *ticks > 0) else {
                return Step::Bad("the resolution of an interface's clock is impossible".into());
            };
            interfaces.push(Interface {
                link: about.linktype.0 as u32,
                ticks_per_second,
                offset_s: about.if_tsoffset,
            });
            Step::Other(taken)
        }
        Block::EnhancedPacket(packet) => {
            let Some(interface) = interfaces.get(packet.if_id as usize) else {
                return Step::Bad(format!("interface {} is not described", packet.if_id));
            };
            let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let Some(time_ns) = interface.time_ns(ticks) else {
                return Step::Bad("the time of a packet is past 584 years".into());
            };
            let captured = packet.data.len().min(packet.caplen as usize);
            let bytes = &packet.data[..captured];
            Step::Packet(Packet { time_ns, link: interface.link, big: *big, bytes }, taken)
        }
        _ => Step::Timeless(taken),
    }
}

/// Skips a block; `None` if it is damaged.
fn skip(kind: u32, big: bool, bytes: &[u8], is_here: bool) -> Option<Step<'_>> {
    let parse = if big { parse_unknownblock_be } else { parse_unknownblock_le };
    match parse(bytes) {
        Ok((rest, _)) if kind == OBSOLETE_PACKET => Some(Step::Timeless(bytes.len() - rest.len())),
        Ok((rest, _)) => Some(Step::Other(bytes.len() - rest.len())),
        Err(nom::Err::Incomplete(_)) if !is_here => Some(Step::More),
        Err(_) => None,
    }
}

impl Interface {
    fn time_ns(&self, ticks: u64) -> Option<u64> {
        let ns = u128::from(ticks) * SECOND_NS / u128::from(self.ticks_per_second);
        let offset = i128::from(self.offset_s) * SECOND_NS as i128;
        u64::try_from(i128::try_from(ns).ok()? + offset).ok()
    }
}
