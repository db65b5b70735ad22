//! A pcap capture of a USB stick, as `tcpdump -i usbmon1` writes it (LINKTYPE_USB_LINUX_MMAPPED).

/// Bytes that a host moves in one transfer.
const TRANSFER: usize = 32 << 10;
/// When capturing began, in seconds since 1970.
const START: u64 = 1_700_000_000;
/// The stick: bus 1, device 5.
const BUS: u16 = 1;
const DEVICE: u8 = 5;

/// A recording under way.
pub struct Capture {
    file: Vec<u8>,
    /// Microseconds since the beginning.
    now: u64,
    tag: u32,
}

impl Capture {
    pub fn begin() -> Self {
        let mut file = Vec::new();
        file.extend(0xa1b2_c3d4_u32.to_le_bytes());
        file.extend([2_u16, 4].map(u16::to_le_bytes).concat());
        file.extend([0, 0, 262_144, 220].map(u32::to_le_bytes).concat());
        Self { file, now: 0, tag: 0 }
    }

    pub fn end(self) -> Vec<u8> {
        self.file
    }

    pub fn pause(&mut self, us: u64) {
        self.now += us;
    }

    /// READ CAPACITY(10) of a disk with sectors of 512 bytes.
    pub fn capacity(&mut self, sectors: u32) {
        let reply = [sectors - 1, 512].map(u32::to_be_bytes).concat();
        self.command(&[0x25], Some(&reply), None);
    }

    pub fn read(&mut self, sector: u64, bytes: &[u8]) {
        self.command(&ten(0x28, sector, bytes), Some(bytes), None);
    }

    pub fn write(&mut self, sector: u64, bytes: &[u8]) {
        self.command(&ten(0x2a, sector, bytes), None, Some(bytes));
    }

    /// SYNCHRONIZE CACHE.
    pub fn flush(&mut self) {
        self.command(&[0x35], None, None);
    }

    /// A command of the bulk-only transport: wrapper, data, answer.
    fn command(&mut self, cdb: &[u8], inward: Option<&[u8]>, outward: Option<&[u8]>) {
        self.tag += 1;
        let length = inward.or(outward).map_or(0, <[u8]>::len) as u32;
        let mut wrapper = b"USBC".to_vec();
        wrapper.extend([self.tag, length].map(u32::to_le_bytes).concat());
        wrapper.extend([if inward.is_some() { 0x80 } else { 0 }, 0, 16]);
        wrapper.extend(cdb);
        wrapper.resize(31, 0);
        self.transfer(false, &wrapper);
        for part in inward.unwrap_or_default().chunks(TRANSFER) {
            self.transfer(true, part);
        }
        for part in outward.unwrap_or_default().chunks(TRANSFER) {
            self.transfer(false, part);
        }
        let mut status = b"USBS".to_vec();
        status.extend([self.tag, 0].map(u32::to_le_bytes).concat());
        status.push(0);
        self.transfer(true, &status);
    }

    /// A bulk transfer, its submission and its completion.
    fn transfer(&mut self, inward: bool, bytes: &[u8]) {
        for submitted in [true, false] {
            self.now += 50;
            // Bytes are where they are known first.
            let here = if submitted != inward { bytes } else { &[] };
            let (seconds, us) = (START + self.now / 1_000_000, (self.now % 1_000_000) as u32);
            let mut packet = 0xffff_8800_3b6e_1c00_u64.to_le_bytes().to_vec();
            packet.extend([if submitted { b'S' } else { b'C' }, 3]);
            packet.extend([if inward { 0x81 } else { 2 }, DEVICE]);
            packet.extend(BUS.to_le_bytes());
            packet.extend([b'-', if here.is_empty() { b'<' } else { 0 }]);
            packet.extend(seconds.to_le_bytes());
            packet.extend(us.to_le_bytes());
            packet.extend((if submitted { -115_i32 } else { 0 }).to_le_bytes());
            packet.extend([bytes.len() as u32, here.len() as u32].map(u32::to_le_bytes).concat());
            packet.resize(64, 0);
            packet.extend(here);
            let length = packet.len() as u32;
            self.file.extend([seconds as u32, us, length, length].map(u32::to_le_bytes).concat());
            self.file.extend(packet);
        }
    }
}

/// READ(10) and WRITE(10).
fn ten(code: u8, sector: u64, bytes: &[u8]) -> Vec<u8> {
    let (sector, count) = (sector as u32, (bytes.len() / 512) as u16);
    [&[code, 0], &sector.to_be_bytes()[..], &[0], &count.to_be_bytes()].concat()
}
