//! USB sessions in the formats of usbmon, tcpdump, Wireshark and USBPcap.

use std::fmt::Write;

/// One transfer with its submission and its completion.
#[derive(Clone, Debug)]
pub struct Urb {
    pub submitted_us: u64,
    pub completed_us: u64,
    pub bus: u16,
    pub device: u8,
    pub inward: bool,
    pub bytes: Vec<u8>,
}

/// Transfers of any number of devices.
#[derive(Clone, Debug, Default)]
pub struct Session {
    pub urbs: Vec<Urb>,
    /// Start of the capture.
    pub start_us: u64,
}

/// The data stage of a command.
#[derive(Clone, Debug)]
pub enum Data {
    None,
    Out(Vec<u8>),
    In(Vec<u8>),
}

/// Maximum number of bytes that a host moves in one transfer.
const TRANSFER: usize = 120 << 10;

/// A command block: the operation code and the given bytes, padded with zeros.
pub fn cdb(bytes: &[u8]) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[..bytes.len()].copy_from_slice(bytes);
    cdb
}

/// READ(10), WRITE(10) and commands with the same layout.
pub fn ten(code: u8, block: u32, count: u16) -> [u8; 16] {
    let (block, count) = (block.to_be_bytes(), count.to_be_bytes());
    cdb(&[code, 0, block[0], block[1], block[2], block[3], 0, count[0], count[1]])
}

/// The reply to READ CAPACITY(10).
pub fn capacity(last: u32, sector: u32) -> Vec<u8> {
    [last.to_be_bytes(), sector.to_be_bytes()].concat()
}

/// The parameter list of an UNMAP.
pub fn unmap_list(ranges: &[(u64, u32)]) -> Vec<u8> {
    let bytes = ranges.len() as u16 * 16;
    let mut list = [(bytes + 6).to_be_bytes(), bytes.to_be_bytes()].concat();
    list.extend([0; 4]);
    for (first, count) in ranges {
        list.extend(first.to_be_bytes());
        list.extend(count.to_be_bytes());
        list.extend([0; 4]);
    }
    list
}

impl Session {
    /// A transfer that takes 10 µs.
    pub fn urb(&mut self, at_us: u64, (bus, device): (u16, u8), inward: bool, bytes: Vec<u8>) {
        let completed_us = at_us + 10;
        self.urbs.push(Urb { submitted_us: at_us, completed_us, bus, device, inward, bytes });
    }

    /// A command wrapper. `length` is what the host expects to move.
    pub fn wrapper(
        &mut self,
        at_us: u64,
        to: (u16, u8),
        (lun, tag): (u8, u32),
        cdb: [u8; 16],
        data: &Data,
    ) {
        let (length, flags) = match data {
            Data::None => (0, 0),
            Data::Out(bytes) => (bytes.len() as u32, 0),
            Data::In(bytes) => (bytes.len() as u32, 0x80),
        };
        let mut bytes = b"USBC".to_vec();
        bytes.extend(tag.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend([flags, lun, 16]);
        bytes.extend(cdb);
        self.urb(at_us, to, false, bytes);
    }

    /// The data of a command, 20 µs for each transfer.
    pub fn data(&mut self, mut at_us: u64, to: (u16, u8), data: &Data) {
        let (bytes, inward) = match data {
            Data::None => return,
            Data::Out(bytes) => (bytes, false),
            Data::In(bytes) => (bytes, true),
        };
        for part in bytes.chunks(TRANSFER) {
            self.urb(at_us, to, inward, part.to_vec());
            at_us += 20;
        }
    }

    /// The answer to a command.
    pub fn status(&mut self, at_us: u64, to: (u16, u8), tag: u32, status: u8) {
        let mut bytes = b"USBS".to_vec();
        bytes.extend(tag.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.push(status);
        self.urb(at_us, to, true, bytes);
    }

    /// A complete command, from wrapper to answer. The data come after 100 µs, the answer after
    /// 900.
    pub fn command(
        &mut self,
        at_us: u64,
        to: (u16, u8),
        (lun, tag): (u8, u32),
        cdb: [u8; 16],
        data: Data,
        status: u8,
    ) {
        self.wrapper(at_us, to, (lun, tag), cdb, &data);
        self.data(at_us + 100, to, &data);
        self.status(at_us + 900, to, tag, status);
    }

    /// A command unit of USB Attached SCSI.
    pub fn unit(&mut self, to: (u16, u8), at_us: u64, tag: u16, cdb: [u8; 16]) {
        let mut unit = vec![1, 0];
        unit.extend(tag.to_be_bytes());
        unit.extend([0; 12]);
        unit.extend(cdb);
        self.urb(at_us, to, false, unit);
    }

    /// The sense unit of a command.
    pub fn sense(&mut self, to: (u16, u8), at_us: u64, tag: u16, status: u8) {
        let mut unit = vec![3, 0];
        unit.extend(tag.to_be_bytes());
        unit.extend([0, 0, status]);
        unit.resize(16, 0);
        self.urb(at_us, to, true, unit);
    }

    /// Submissions and completions in the order of their times.
    fn events(&self) -> Vec<(u64, bool, &Urb)> {
        let mut all: Vec<_> = self
            .urbs
            .iter()
            .flat_map(|urb| [(urb.submitted_us, true, urb), (urb.completed_us, false, urb)])
            .collect();
        all.sort_by_key(|(time, ..)| *time);
        all
    }

    /// The text of usbmon: `1u`, or `1t` without the bus.
    pub fn text(&self, with_bus: bool) -> Vec<u8> {
        let mut text =
            String::from("d5ea89a0 3575914555 S Ci:1:001:0 s a3 00 0000 0003 0004 4 <\n");
        text.push_str("d5ea89a0 3575914556 C Ci:1:001:0 0 4 = 01050000\n");
        text.push_str("d5ea89a0 3575914557 S Ii:1:001:1 -115:2048 4 <\n");
        if !with_bus {
            text = text.replace("i:1:001:", "i:001:0");
        }
        for (time, submitted, urb) in self.events() {
            let (way, endpoint) = if urb.inward { ('i', 1) } else { ('o', 2) };
            let event = if submitted { 'S' } else { 'C' };
            let status = if submitted { -115 } else { 0 };
            let bus = if with_bus { format!("{}:", urb.bus) } else { String::new() };
            let endpoint = if with_bus { format!("{endpoint}") } else { format!("{endpoint:02}") };
            write!(
                text,
                "ffff88003b6e1c00 {} {event} B{way}:{bus}{:03}:{endpoint} {status} {} ",
                3_575_914_555 + time,
                urb.device,
                urb.bytes.len(),
            )
            .expect("a string takes everything");
            if submitted != urb.inward {
                text.push('=');
                for word in urb.bytes[..urb.bytes.len().min(32)].chunks(4) {
                    text.push(' ');
                    word.iter().for_each(|byte| {
                        write!(text, "{byte:02x}").expect("a string takes everything");
                    });
                }
            } else {
                text.push(if urb.inward { '<' } else { '>' });
            }
            text.push('\n');
        }
        text.into_bytes()
    }

    /// A capture file. The first packet is a control transfer at the start.
    pub fn capture(&self, file: File) -> Vec<u8> {
        let mut out = file.start();
        let control = Urb {
            submitted_us: self.start_us,
            completed_us: self.start_us + 1,
            bus: 1,
            device: 1,
            inward: true,
            bytes: vec![1, 5, 0, 0],
        };
        let start = self.start_us;
        file.packet(&mut out, start, &file.link.header(2, start, true, &control, file.big));
        for (time, submitted, urb) in self.events() {
            let mut packet = file.link.header(3, time, submitted, urb, file.big);
            if submitted != urb.inward {
                packet.extend(&urb.bytes);
            }
            file.packet(&mut out, time, &packet);
        }
        out
    }
}

/// The headers before a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Linux,
    Mmapped,
    UsbPcap,
}

/// The variants of capture files.
#[derive(Clone, Copy, Debug)]
pub struct File {
    pub link: Link,
    pub big: bool,
    /// Whether it is pcapng; else pcap.
    pub next: bool,
    /// Whether times are in nanoseconds; else microseconds.
    pub nanos: bool,
    /// Captured bytes of a packet.
    pub snap: usize,
}

/// Start of captures: 2023.
const START_S: u64 = 1_700_000_000;

fn word(out: &mut Vec<u8>, value: u64, size: usize, big: bool) {
    match big {
        true => out.extend(&value.to_be_bytes()[8 - size..]),
        false => out.extend(&value.to_le_bytes()[..size]),
    }
}

impl Link {
    fn number(self) -> u64 {
        match self {
            Link::Linux => 189,
            Link::Mmapped => 220,
            Link::UsbPcap => 249,
        }
    }

    fn header(self, kind: u8, time: u64, submitted: bool, urb: &Urb, big: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let here = submitted != urb.inward;
        let captured = if here { urb.bytes.len() as u64 } else { 0 };
        let endpoint = if urb.inward { 0x81 } else { 2 };
        if self == Link::UsbPcap {
            word(&mut out, 27, 2, false);
            word(&mut out, 0xffff_a60c_e07d_7a20, 8, false);
            word(&mut out, 0, 4, false);
            word(&mut out, 9, 2, false);
            out.push(u8::from(!submitted));
            word(&mut out, u64::from(urb.bus), 2, false);
            word(&mut out, u64::from(urb.device), 2, false);
            out.extend([endpoint, kind]);
            word(&mut out, captured, 4, false);
            return out;
        }
        word(&mut out, 0xffff_8800_3b6e_1c00, 8, big);
        out.extend([if submitted { b'S' } else { b'C' }, kind, endpoint, urb.device]);
        word(&mut out, u64::from(urb.bus), 2, big);
        let absent = if urb.inward { b'<' } else { b'>' };
        out.extend([b'-', if here { 0 } else { absent }]);
        word(&mut out, START_S, 8, big);
        word(&mut out, time, 4, big);
        word(&mut out, if submitted { (-115_i32) as u32 as u64 } else { 0 }, 4, big);
        word(&mut out, urb.bytes.len() as u64, 4, big);
        word(&mut out, captured, 4, big);
        out.extend([0; 8]);
        if self == Link::Mmapped {
            out.extend([0; 16]);
        }
        out
    }
}

impl File {
    fn start(self) -> Vec<u8> {
        let mut out = Vec::new();
        let big = self.big;
        if !self.next {
            word(&mut out, if self.nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }, 4, big);
            word(&mut out, 2, 2, big);
            word(&mut out, 4, 2, big);
            word(&mut out, 0, 8, big);
            word(&mut out, self.snap.min(262_144) as u64, 4, big);
            word(&mut out, self.link.number(), 4, big);
            return out;
        }
        let mut section = Vec::new();
        word(&mut section, 0x1a2b_3c4d, 4, big);
        word(&mut section, 1, 2, big);
        word(&mut section, 0, 2, big);
        word(&mut section, u64::MAX, 8, big);
        self.block(&mut out, 0x0a0d_0d0a, &section);
        // An interface that is not USB, and the USB one, with the clock's resolution.
        for link in [1, self.link.number()] {
            let mut interface = Vec::new();
            word(&mut interface, link, 2, big);
            word(&mut interface, 0, 2, big);
            word(&mut interface, 262_144, 4, big);
            if self.nanos {
                word(&mut interface, 9, 2, big);
                word(&mut interface, 1, 2, big);
                interface.extend([9, 0, 0, 0, 0, 0, 0, 0]);
            }
            self.block(&mut out, 1, &interface);
        }
        // Other blocks written by capturing programs: names, user-defined ones.
        self.block(&mut out, 4, &[0; 4]);
        self.block(&mut out, 0x8000_0bad, b"anything");
        out
    }

    /// A packet with a time of this many microseconds after the start.
    pub fn packet(self, out: &mut Vec<u8>, time_us: u64, bytes: &[u8]) {
        let big = self.big;
        let kept = &bytes[..bytes.len().min(self.snap)];
        if !self.next {
            word(out, START_S + time_us / 1_000_000, 4, big);
            let fraction = time_us % 1_000_000 * if self.nanos { 1000 } else { 1 };
            word(out, fraction, 4, big);
            word(out, kept.len() as u64, 4, big);
            word(out, bytes.len() as u64, 4, big);
            out.extend(kept);
            return;
        }
        let ticks = (START_S * 1_000_000 + time_us) * if self.nanos { 1000 } else { 1 };
        let mut block = Vec::new();
        word(&mut block, 1, 4, big);
        word(&mut block, ticks >> 32, 4, big);
        word(&mut block, ticks & 0xffff_ffff, 4, big);
        word(&mut block, kept.len() as u64, 4, big);
        word(&mut block, bytes.len() as u64, 4, big);
        block.extend(kept);
        block.resize(block.len().next_multiple_of(4), 0);
        self.block(out, 6, &block);
    }

    fn block(self, out: &mut Vec<u8>, kind: u64, content: &[u8]) {
        let length = content.len() as u64 + 12;
        word(out, kind, 4, self.big);
        word(out, length, 4, self.big);
        out.extend(content);
        word(out, length, 4, self.big);
    }
}

/// All variants of capture files.
pub fn files() -> Vec<File> {
    let mut all = Vec::new();
    for link in [Link::Linux, Link::Mmapped, Link::UsbPcap] {
        for (big, next, nanos) in
            [(false, false, false), (true, false, true), (false, true, true), (true, true, false)]
        {
            all.push(File { link, big, next, nanos, snap: 262_144 });
        }
    }
    all
}

/// Two sticks on bus 1, as they are plugged in and used.
///
/// The first has sectors of 512 bytes, the second of 4096. Their requests overlap.
pub fn two_sticks() -> Session {
    let (one, two) = ((1, 5), (1, 6));
    let mut all = Session::default();
    all.command(1000, one, (0, 1), cdb(&[0x12, 0, 0, 0, 36]), Data::In(vec![0; 36]), 0);
    // TEST UNIT READY fails once after plugging in, and the sense data give the reason.
    all.command(2000, one, (0, 2), cdb(&[0]), Data::None, 1);
    all.command(3000, one, (0, 3), cdb(&[3, 0, 0, 0, 18]), Data::In(vec![0x70; 18]), 0);
    all.command(4000, one, (0, 4), ten(0x25, 0, 0), Data::In(capacity(0x1d_ffff, 512)), 0);
    let mut long = 0xff_ffff_u64.to_be_bytes().to_vec();
    long.extend(4096_u32.to_be_bytes());
    long.resize(32, 0);
    let sixteen = cdb(&[0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32]);
    all.command(5000, two, (0, 1), sixteen, Data::In(long), 0);

    // The second stick answers first, although its request came last.
    let written = Data::Out(pattern(1, 4096));
    all.wrapper(10_000, one, (0, 5), ten(0x2a, 2048, 8), &written);
    all.data(10_100, one, &written);
    all.command(10_200, two, (0, 2), ten(0x28, 3, 1), Data::In(pattern(2, 4096)), 0);
    all.status(12_000, one, 5, 0);

    all.command(20_000, one, (0, 6), ten(0x2a, 9999, 1), Data::Out(pattern(3, 512)), 1);
    all.command(21_000, one, (0, 7), cdb(&[0x08, 0, 0, 63, 2]), Data::In(pattern(4, 1024)), 0);
    all.command(22_000, one, (0, 8), ten(0x35, 0, 0), Data::None, 0);
    let list = unmap_list(&[(4096, 256)]);
    all.command(23_000, one, (0, 9), ten(0x42, 0, list.len() as u16), Data::Out(list), 0);
    // A card reader's second slot, whose sector size follows from the length that the host expects
    // to move.
    all.command(24_000, two, (1, 3), ten(0x2a, 7, 1), Data::Out(pattern(5, 2048)), 0);
    let cut = Data::Out(pattern(6, 512));
    all.wrapper(30_000, one, (0, 10), ten(0x2a, 1, 1), &cut);
    all
}

/// A disk with USB Attached SCSI and sectors of 4096 bytes, which executes several commands at
/// once.
pub fn attached_disk() -> Session {
    let to = (1, 5);
    let mut session = Session::default();
    let mut reply = 99_999_u64.to_be_bytes().to_vec();
    reply.extend(4096_u32.to_be_bytes());
    reply.resize(32, 0);
    session.unit(to, 1000, 1, cdb(&[0x9e, 0x10]));
    session.urb(1020, to, true, reply);
    session.sense(to, 1040, 1, 0);
    // Data may precede their command. A write of one sector is unambiguous.
    session.urb(2000, to, false, pattern(1, 4096));
    session.unit(to, 2010, 2, ten(0x2a, 7, 1));
    session.unit(to, 2020, 3, ten(0x28, 8, 2));
    session.unit(to, 2030, 4, ten(0x2a, 9, 1));
    let list = unmap_list(&[(16, 4), (32, 8)]);
    session.urb(2035, to, false, list.clone());
    session.unit(to, 2040, 5, ten(0x42, 0, list.len() as u16));
    session.sense(to, 2100, 5, 0);
    session.sense(to, 2110, 3, 0);
    session.sense(to, 2120, 4, 2);
    session.sense(to, 2130, 2, 0);
    session.unit(to, 3000, 6, ten(0x35, 0, 0));
    session.sense(to, 3100, 6, 0);
    session
}

/// Bytes that identify a request.
pub fn pattern(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| seed.wrapping_mul(31).wrapping_add((at * 7 + at / 256) as u8)).collect()
}
