//! A driver for raw NAND with a parallel bus of eight bits, as memory controllers have it (FSMC, FMC): bytes written where one address line is
//! high are commands, where another one is high they are parts of addresses.
//!
//! For SLC chips of which one turned bit in 512 bytes must be corrected, such as S34ML01G1: pages of 2 KiB with 64 spare bytes. The
//! code corrects one bit in 256 bytes. A chip that wants more has a controller that corrects, or corrects by itself.

use thermocline_embedded::{AREA, Geometry, Nand, NandError};

pub const PAGE: usize = 2048;
pub const SPARE: usize = 64;
const SECTOR: usize = 256;

/// Spare bytes: the maker's mark, the area, and the codes of eight sectors where Linux keeps them.
const MARK: usize = PAGE;
const AREA_AT: usize = PAGE + 2;
const CODES: usize = PAGE + 40;

/// Looks at a chip that is busy. It takes 3 ms at most, a look some 100 ns.
const MOST_LOOKS: u32 = 100_000;
const READY: u8 = 1 << 6;
const WRITABLE: u8 = 1 << 7;
const FAILED: u8 = 1;

/// What goes over the bus.
pub trait Bus {
    fn command(&mut self, byte: u8);
    fn address(&mut self, byte: u8);
    fn write(&mut self, byte: u8);
    fn read(&mut self) -> u8;
}

/// A bus in the processor's memory: CLE is A16, ALE is A17, as on boards with an STM32.
pub struct Mapped {
    base: *mut u8,
}

impl Mapped {
    /// # Safety
    /// The memory controller has the chip there, and nobody else uses it.
    #[allow(unsafe_code, dead_code, reason = "registers; on a board")]
    pub const unsafe fn new(base: *mut u8) -> Self {
        Self { base }
    }
}

#[allow(unsafe_code, reason = "registers")]
impl Bus for Mapped {
    fn command(&mut self, byte: u8) {
        // SAFETY: by `new`.
        unsafe { self.base.add(1 << 16).write_volatile(byte) }
    }

    fn address(&mut self, byte: u8) {
        // SAFETY: by `new`.
        unsafe { self.base.add(1 << 17).write_volatile(byte) }
    }

    fn write(&mut self, byte: u8) {
        // SAFETY: by `new`.
        unsafe { self.base.write_volatile(byte) }
    }

    fn read(&mut self) -> u8 {
        // SAFETY: by `new`.
        unsafe { self.base.read_volatile() }
    }
}

pub struct ParallelNand<B> {
    bus: B,
    corrected: u32,
}

impl<B: Bus> ParallelNand<B> {
    /// Resets the chip.
    ///
    /// # Errors
    /// [`NandError::Device`]: it does not answer.
    pub fn new(bus: B) -> Result<Self, NandError> {
        let mut nand = Self { bus, corrected: 0 };
        nand.bus.command(0xff);
        nand.ready()?;
        Ok(nand)
    }

    /// Waits, and returns the status.
    fn ready(&mut self) -> Result<u8, NandError> {
        self.bus.command(0x70);
        (0..MOST_LOOKS)
            .map(|_| self.bus.read())
            .find(|status| status & READY > 0)
            .ok_or(NandError::Device)
    }

    fn row(&mut self, page: u32) {
        let [low, middle, ..] = page.to_le_bytes();
        self.bus.address(low);
        self.bus.address(middle);
    }

    fn column(&mut self, column: usize) {
        let [low, high] = (column as u16).to_le_bytes();
        self.bus.address(low);
        self.bus.address(high);
    }

    /// Loads a page into the chip's register.
    fn load(&mut self, page: u32) -> Result<(), NandError> {
        self.bus.command(0x00);
        self.column(0);
        self.row(page);
        self.bus.command(0x30);
        self.ready()?;
        // Back from the status to the data.
        self.bus.command(0x00);
        Ok(())
    }

    /// Bytes of the register.
    fn bytes(&mut self, column: usize, into: &mut [u8]) {
        self.bus.command(0x05);
        self.column(column);
        self.bus.command(0xe0);
        into.iter_mut().for_each(|byte| *byte = self.bus.read());
    }

    /// What a program or an erase came to.
    fn done(&mut self) -> Result<(), NandError> {
        match self.ready()? {
            status if status & WRITABLE == 0 => Err(NandError::Device),
            status if status & FAILED > 0 => Err(NandError::Failed),
            _ => Ok(()),
        }
    }
}

impl<B: Bus> Nand for ParallelNand<B> {
    fn geometry(&self) -> Geometry {
        Geometry { blocks: 1024, pages: 64, page_size: PAGE as u32 }
    }

    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        self.load(page)?;
        self.corrected = 0;
        let mut at = offset as usize;
        let mut rest = into;
        while !rest.is_empty() {
            let (sector, from) = (at / SECTOR, at % SECTOR);
            let (mut data, mut code) = ([0; SECTOR], [0; 3]);
            self.bytes(sector * SECTOR, &mut data);
            self.bytes(CODES + 3 * sector, &mut code);
            let bits = correct(&mut data, code).ok_or(NandError::Unreadable)?;
            self.corrected = self.corrected.max(bits);
            let length = rest.len().min(SECTOR - from);
            let (part, others) = rest.split_at_mut(length);
            part.copy_from_slice(&data[from..from + length]);
            (at, rest) = (at + length, others);
        }
        Ok(())
    }

    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.load(page)?;
        self.bytes(AREA_AT, into);
        Ok(())
    }

    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        self.bus.command(0x80);
        self.column(0);
        self.row(page);
        data.iter().for_each(|byte| self.bus.write(*byte));
        for (column, bytes) in [(AREA_AT, &area[..])].into_iter().chain([(CODES, &codes(data)[..])])
        {
            self.bus.command(0x85);
            self.column(column);
            bytes.iter().for_each(|byte| self.bus.write(*byte));
        }
        self.bus.command(0x10);
        self.done()
    }

    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.bus.command(0x60);
        self.row(block * 64);
        self.bus.command(0xd0);
        self.done()
    }

    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        for page in [block * 64 + 1, block * 64] {
            let mut mark = [0];
            self.load(page)?;
            self.bytes(MARK, &mut mark);
            // Nothing corrects it: one turned bit is no mark.
            if mark[0].count_zeros() > 1 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        self.bus.command(0x80);
        self.column(MARK);
        self.row(block * 64);
        self.bus.write(0);
        self.bus.command(0x10);
        // A block that refuses it fails again.
        self.ready().map(drop)
    }

    fn corrected(&mut self) -> u32 {
        self.corrected
    }

    fn refresh_from(&self) -> u32 {
        1
    }
}

fn codes(data: &[u8]) -> [u8; 24] {
    let mut codes = [0xff; 24];
    for (code, sector) in codes.chunks_exact_mut(3).zip(data.chunks(SECTOR)) {
        code.copy_from_slice(&code_of(sector).to_le_bytes()[..3]);
    }
    codes
}

/// The exclusive or of the positions of all set bits, eleven bits, and that of the inverted positions; all inverted, so that the code of
/// blank bytes is blank.
fn code_of(sector: &[u8]) -> u32 {
    let (mut columns, mut lines, mut inverted) = (0, 0, 0);
    for (line, byte) in (0..).zip(sector) {
        columns ^= byte;
        if byte.count_ones() % 2 == 1 {
            (lines, inverted) = (lines ^ line, inverted ^ !line & 0xff);
        }
    }
    let set = || (0..8).filter(|bit| columns >> bit & 1 == 1);
    let position = lines << 3 | set().fold(0, |all, bit| all ^ bit);
    let opposite = inverted << 3 | set().fold(0, |all, bit| all ^ !bit & 7);
    !(position << 11 | opposite) & 0xff_ffff
}

/// Bits that were corrected; nothing if there are too many.
fn correct(data: &mut [u8; SECTOR], [a, b, c]: [u8; 3]) -> Option<u32> {
    let differs = code_of(data) ^ u32::from_le_bytes([a, b, c, 0]);
    let (position, opposite) = (differs >> 11 & 0x7ff, differs & 0x7ff);
    match differs.count_ones() {
        0 => Some(0),
        // A bit of the code itself.
        1 => Some(1),
        _ if differs >> 22 == 0 && position ^ opposite == 0x7ff => {
            data[position as usize / 8] ^= 1 << (position % 8);
            Some(1)
        }
        _ => None,
    }
}
