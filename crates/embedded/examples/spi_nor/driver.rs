//! A driver for SPI NOR that erases sectors of 4 KiB, such as W25Q64: behind `NorFlash`, as [`Nor`](thermocline_embedded::Nor)
//! wants it. With an `SpiDevice` and a `DelayNs` of a HAL it is what firmware takes.

use core::fmt;

use embedded_hal::{
    delay::DelayNs,
    spi::{Operation, SpiDevice},
};
use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read,
    check_write,
};

const SECTOR: usize = 4096;
/// What one program takes at most, all of it in one of the chip's pages.
const PROGRAM: usize = 256;
/// An erase takes 400 ms at most, a program 3 ms.
const MOST_WAITS: u32 = 20_000;
const WAIT: u32 = 25;

#[derive(Debug)]
pub enum Error {
    /// The bus.
    Bus,
    /// Not a chip of that size, by its answer to 9Fh.
    Unknown([u8; 3]),
    /// It is busy for longer than its data sheet says.
    Busy,
    /// Addresses beyond the chip, or not aligned.
    Request(NorFlashErrorKind),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bus => f.write_str("the bus fails"),
            Self::Unknown(id) => {
                write!(f, "no W25Q of at most 16 MiB: it answers 9Fh with {id:02x?}")
            }
            Self::Busy => f.write_str("the chip stays busy"),
            Self::Request(kind) => write!(f, "{kind}"),
        }
    }
}

impl NorFlashError for Error {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Request(kind) => *kind,
            _ => NorFlashErrorKind::Other,
        }
    }
}

pub struct W25q<S, D> {
    spi: S,
    delay: D,
    size: usize,
}

impl<S: SpiDevice, D: DelayNs> W25q<S, D> {
    /// A chip of at most 16 MiB.
    ///
    /// # Errors
    /// [`Error::Bus`], [`Error::Unknown`], [`Error::Busy`].
    pub fn new(spi: S, delay: D) -> Result<Self, Error> {
        let mut chip = Self { spi, delay, size: 0 };
        // What was going on when the processor started anew.
        chip.ready()?;
        let mut id = [0; 3];
        chip.ask(&[0x9f], &mut id)?;
        match id {
            [0xef, _, log @ 0x10..=0x18] => chip.size = 1 << log,
            _ => return Err(Error::Unknown(id)),
        }
        Ok(chip)
    }

    fn ask(&mut self, command: &[u8], into: &mut [u8]) -> Result<(), Error> {
        let mut operations = [Operation::Write(command), Operation::Read(into)];
        self.spi.transaction(&mut operations).map_err(|_| Error::Bus)
    }

    fn tell(&mut self, command: &[u8], data: &[u8]) -> Result<(), Error> {
        let mut operations = [Operation::Write(command), Operation::Write(data)];
        self.spi.transaction(&mut operations).map_err(|_| Error::Bus)
    }

    fn ready(&mut self) -> Result<(), Error> {
        for _ in 0..MOST_WAITS {
            let mut status = [0];
            self.ask(&[0x05], &mut status)?;
            if status[0] & 1 == 0 {
                return Ok(());
            }
            self.delay.delay_us(WAIT);
        }
        Err(Error::Busy)
    }

    fn change(&mut self, command: u8, at: u32, data: &[u8]) -> Result<(), Error> {
        let [_, high, middle, low] = at.to_be_bytes();
        self.tell(&[0x06], &[])?;
        self.tell(&[command, high, middle, low], data)?;
        self.ready()
    }
}

impl<S, D> ErrorType for W25q<S, D> {
    type Error = Error;
}

impl<S: SpiDevice, D: DelayNs> ReadNorFlash for W25q<S, D> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        check_read(self, offset, bytes.len()).map_err(Error::Request)?;
        let [_, high, middle, low] = offset.to_be_bytes();
        self.ask(&[0x03, high, middle, low], bytes)
    }

    fn capacity(&self) -> usize {
        self.size
    }
}

impl<S: SpiDevice, D: DelayNs> NorFlash for W25q<S, D> {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        check_erase(self, from, to).map_err(Error::Request)?;
        (from..to).step_by(SECTOR).try_for_each(|sector| self.change(0x20, sector, &[]))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        check_write(self, offset, bytes.len()).map_err(Error::Request)?;
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let length = rest.len().min(PROGRAM - at as usize % PROGRAM);
            let (part, others) = rest.split_at(length);
            self.change(0x02, at, part)?;
            (at, rest) = (at + length as u32, others);
        }
        Ok(())
    }
}
