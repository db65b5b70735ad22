//! A chip in memory behind the same bus: commands, registers, busy times, error correction, failures, bad blocks, and a loss
//! of power at any byte.
//!
//! Time is the chip's own: bytes on the bus and the driver's delays are all that makes it pass, so every run is the same. The
//! chip knows nothing of the driver, and of its row only the shape, the identification, and how it tells what it corrected:
//! what its spare bytes are is said by a [map](SpareByte) of its data sheet.
//!
//! What a power cut leaves of a program or an erase that was going on is the test's choice ([`Torn`]).

use alloc::{collections::BTreeMap, rc::Rc, vec, vec::Vec};
use core::cell::RefCell;

use embedded_hal::{
    delay::DelayNs,
    spi::{Error, ErrorKind, ErrorType, Operation, SpiDevice},
};

use crate::{
    chips::{Chip, Dies, Id, W25N01GV},
    ecc::Ecc,
    onfi::{Parameters, crc},
};

/// What a spare byte is for, by the data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpareByte {
    /// Stored as it is.
    Free,
    /// Corrected with the sector of this number.
    Covered(u8),
    /// The chip's own: what is programmed there is ignored.
    Parity,
}

/// The spare bytes of a W25N01GV.
#[must_use]
pub const fn w25n01gv_spare(byte: usize) -> SpareByte {
    match byte % 16 {
        0..4 => SpareByte::Free,
        4..8 => SpareByte::Covered((byte / 16) as u8),
        _ => SpareByte::Parity,
    }
}

/// What a power cut leaves of a program or an erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torn {
    /// Nothing was done.
    Undone,
    /// A page cannot be read, and its spare bytes are blank; of a block no page can be read, and all spare bytes are there.
    Begun,
    /// A page has some of its bits, and so many errors that it cannot be read; of a block every other page.
    Half,
    /// Of a page the spare bytes are right and the rest cannot be read; a block reads as ones, with errors in its pages.
    AlmostDone,
    /// All was done, and nobody knows.
    Done,
}

/// All ways.
pub const TORN: [Torn; 5] = [Torn::Undone, Torn::Begun, Torn::Half, Torn::AlmostDone, Torn::Done];

/// The power is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerOff;

impl Error for PowerOff {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

const BUSY: u8 = 1;
const WRITABLE: u8 = 1 << 1;
const ERASE_FAILED: u8 = 1 << 2;
const PROGRAM_FAILED: u8 = 1 << 3;
const OTP: u8 = 1 << 6;
const ECC_ON: u8 = 1 << 4;

/// Nanoseconds: a byte at 40 MHz on one line, and what operations take by the W25N01GV's data sheet, typically.
const BYTE: u64 = 200;
const LOAD: u64 = 60_000;
const PROGRAM: u64 = 250_000;
const ERASE: u64 = 2_000_000;
const RESET: u64 = 500_000;

/// Cells of a page that is not blank.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cells {
    bytes: Vec<u8>,
    /// Bits that turned: column and bit.
    turned: Vec<(u16, u8)>,
    /// No correction helps.
    ruined: bool,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    Program(u32),
    Erase(u32),
}

/// A chip. Clones are the same chip: one may be the bus, one the delay, one the test's hand.
#[derive(Clone, Debug)]
pub struct Simulated(Rc<RefCell<State>>);

#[derive(Clone, Debug)]
struct State {
    chip: &'static Chip,
    spare: fn(usize) -> SpareByte,
    spare_bytes: usize,
    pages: BTreeMap<u32, Cells>,
    /// One of each plane.
    registers: [Vec<u8>; 2],
    /// Registers of each die: protection, configuration.
    protection: [u8; 2],
    configuration: [u8; 2],
    die: u8,
    /// Status but for BUSY, which is a matter of time.
    status: u8,
    more: u8,
    now: u64,
    ready: u64,
    doing: Doing,
    failing: Vec<u32>,
    /// Bytes until the power fails, and what it leaves.
    left: Option<(u64, Torn)>,
    /// Programs and erases until the power fails in the midst of one, and what it leaves.
    in_midst: Option<(u64, Torn)>,
    /// The power fails for a moment alone.
    is_short: bool,
    is_off: bool,
    was_torn: bool,
    bytes: u64,
    loads: u64,
    programs: u64,
    erases: u64,
    broken: Option<u32>,
}

impl Simulated {
    /// A W25N01GV, blank.
    #[must_use]
    pub fn w25n01gv() -> Self {
        Self::new(&W25N01GV, 64, w25n01gv_spare)
    }

    /// Another chip, with so many spare bytes and what they are for.
    #[must_use]
    pub fn new(chip: &'static Chip, spare_bytes: usize, spare: fn(usize) -> SpareByte) -> Self {
        let all = usize::from(chip.page_size) + spare_bytes;
        let mut state = State {
            chip,
            spare,
            spare_bytes,
            pages: BTreeMap::new(),
            registers: [vec![0xff; all], vec![0xff; all]],
            protection: [0; 2],
            configuration: [0; 2],
            die: 0,
            status: 0,
            more: 0,
            now: 0,
            ready: 0,
            doing: Doing::Nothing,
            failing: Vec::new(),
            left: None,
            in_midst: None,
            is_short: false,
            is_off: false,
            was_torn: false,
            bytes: 0,
            loads: 0,
            programs: 0,
            erases: 0,
            broken: None,
        };
        state.power_on();
        Self(Rc::new(RefCell::new(state)))
    }

    /// The bus and the delay of a driver.
    #[must_use]
    pub fn into_bus(self) -> (Self, Self) {
        (self.clone(), self)
    }

    /// The power fails after so many bytes on the bus.
    pub fn cut_after(&self, bytes: u64, torn: Torn) {
        let mut state = self.0.borrow_mut();
        (state.left, state.is_short) = (Some((bytes, torn)), false);
    }

    /// The power fails in the midst of a program or an erase, after so many others.
    pub fn cut_in(&self, others: u64, torn: Torn) {
        let mut state = self.0.borrow_mut();
        (state.in_midst, state.is_short) = (Some((others, torn)), false);
    }

    /// The chip alone loses its power after so many bytes, for a moment: what else is said to it until it is deselected is lost.
    pub fn brown_out_after(&self, bytes: u64, torn: Torn) {
        let mut state = self.0.borrow_mut();
        (state.left, state.is_short) = (Some((bytes, torn)), true);
    }

    /// The power is back: registers are as after any power-up.
    pub fn power_on(&self) {
        self.0.borrow_mut().power_on();
    }

    /// Another chip with the same cells, without power.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let mut state = self.0.borrow().clone();
        (state.is_off, state.left, state.in_midst, state.was_torn) = (true, None, None, false);
        Self(Rc::new(RefCell::new(state)))
    }

    /// Whether the cells are those of another chip.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.0.borrow().pages == other.0.borrow().pages
    }

    /// Whether the last loss of power met a program or an erase.
    #[must_use]
    pub fn was_torn(&self) -> bool {
        self.0.borrow().was_torn
    }

    /// The chip alone loses its power for a moment, while nothing is being done.
    pub fn brown_out(&self) {
        self.0.borrow_mut().power_on();
    }

    /// The maker marks a block as bad.
    pub fn mark(&self, block: u32) {
        let mut state = self.0.borrow_mut();
        let (page, column) = (block * state.of_a_block(), usize::from(state.chip.page_size));
        state.cells(page).bytes[column] = 0;
    }

    /// Programs and erases of a block fail from now on.
    pub fn fail(&self, block: u32) {
        self.0.borrow_mut().failing.push(block);
    }

    /// A bit of a page turns.
    pub fn turn(&self, page: u32, column: u16, bit: u8) {
        self.0.borrow_mut().cells(page).turned.push((column, bit & 7));
    }

    /// Simulated time.
    #[must_use]
    pub fn nanoseconds(&self) -> u64 {
        self.0.borrow().now
    }

    /// Bytes on the bus so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.borrow().bytes
    }

    /// Page loads, programs and erases so far.
    #[must_use]
    pub fn operations(&self) -> (u64, u64, u64) {
        let state = self.0.borrow();
        (state.loads, state.programs, state.erases)
    }

    /// The first page that was programmed when it was not blank, but for marks, or a command that came while the chip was
    /// busy.
    #[must_use]
    pub fn broken(&self) -> Option<u32> {
        self.0.borrow().broken
    }

    /// What the chip says of a page whose worst sector has so many bits turned: for tests of all makers.
    #[must_use]
    pub fn says(ecc: Ecc, bits: Option<u8>) -> (u8, u8) {
        says(ecc, bits)
    }
}

/// A status and what the chip answers to a question after it.
fn says(ecc: Ecc, bits: Option<u8>) -> (u8, u8) {
    let Some(bits) = bits else {
        return match ecc {
            Ecc::ThreeToEight => (7 << 4, 0),
            Ecc::Four => (8 << 2, 0),
            Ecc::HighFour => (15 << 4, 0),
            _ => (2 << 4, 15),
        };
    };
    match (ecc, bits) {
        (_, 0) => (0, 0),
        (Ecc::Plain | Ecc::Command, _) => (1 << 4, bits),
        (Ecc::MostBits, _) => (if bits > 4 { 3 << 4 } else { 1 << 4 }, bits << 4),
        (Ecc::Ranges, 1..=3) => (1 << 4, 0),
        (Ecc::Ranges, 4..=6) => (3 << 4, 0),
        (Ecc::Ranges, _) => (5 << 4, 0),
        (Ecc::ThreeToEight, 1..=3) => (1 << 4, 0),
        (Ecc::ThreeToEight, _) => ((bits - 2) << 4, 0),
        (Ecc::OneToFour, _) => (1 << 4, (bits - 1) << 4),
        (Ecc::Four, 8) => (12 << 2, 0),
        (Ecc::Four, _) => (bits << 2, 0),
        (Ecc::HighFour, _) => (bits << 4, 0),
        (_, 8) => (3 << 4, 0),
        (Ecc::FourToSeven, _) => (1 << 4, bits.saturating_sub(4) << 4),
        (Ecc::HighTwo, _) => (1 << 4 | bits.saturating_sub(4) << 6, 0),
        (Ecc::UpToSeven, _) => (1 << 4, 0),
    }
}

impl State {
    fn of_a_block(&self) -> u32 {
        u32::from(self.chip.pages)
    }

    fn cells(&mut self, page: u32) -> &mut Cells {
        let all = self.registers[0].len();
        let blank = || Cells { bytes: vec![0xff; all], turned: Vec::new(), ruined: false };
        self.pages.entry(page).or_insert_with(blank)
    }

    fn power_on(&mut self) {
        (self.left, self.in_midst) = (None, None);
        self.is_off = false;
        (self.doing, self.status, self.die) = (Doing::Nothing, 0, 0);
        // All blocks are protected, and the error correction is on.
        self.protection = [0x7c; 2];
        self.configuration = [ECC_ON; 2];
        self.registers.iter_mut().for_each(|register| register.fill(0xff));
        self.ready = self.now;
    }

    fn is_busy(&self) -> bool {
        self.now < self.ready
    }

    /// What is being done is done, if its time is over.
    fn settle(&mut self) {
        if !self.is_busy() {
            match core::mem::replace(&mut self.doing, Doing::Nothing) {
                Doing::Program(page) => self.program(page, Torn::Done),
                Doing::Erase(block) => self.erase(block, Torn::Done),
                Doing::Nothing => {}
            }
        }
    }

    fn program(&mut self, page: u32, torn: Torn) {
        let (page_size, spare, register) = (
            usize::from(self.chip.page_size),
            self.spare,
            self.registers[self.plane(page)].clone(),
        );
        let is_mark = register.iter().filter(|byte| **byte != 0xff).count() <= 1;
        if torn == Torn::Undone {
            return;
        }
        if self.pages.contains_key(&page) && !is_mark {
            self.broken.get_or_insert(page);
        }
        let cells = self.cells(page);
        for (column, (cell, byte)) in cells.bytes.iter_mut().zip(register).enumerate() {
            let is_spare = column >= page_size;
            let is_parity = is_spare && spare(column - page_size) == SpareByte::Parity;
            let is_left = torn == Torn::Begun || torn == Torn::Half && column % 2 == 1;
            if !is_parity && !is_left {
                *cell &= byte;
            }
        }
        cells.ruined |= torn != Torn::Done;
    }

    fn erase(&mut self, block: u32, torn: Torn) {
        let pages = block * self.of_a_block()..(block + 1) * self.of_a_block();
        match torn {
            Torn::Undone => {}
            Torn::Done => self.pages.retain(|page, _| !pages.contains(page)),
            Torn::Begun | Torn::Half => {
                for page in pages.step_by(if torn == Torn::Half { 2 } else { 1 }) {
                    self.cells(page).ruined = true;
                }
            }
            Torn::AlmostDone => {
                for page in pages {
                    let cells = self.cells(page);
                    cells.bytes.fill(0xff);
                    cells.turned.clear();
                    cells.ruined = true;
                }
            }
        }
    }

    fn cut(&mut self, torn: Torn) {
        self.settle();
        self.was_torn = true;
        match core::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Program(page) => self.program(page, torn),
            Doing::Erase(block) => self.erase(block, torn),
            Doing::Nothing => self.was_torn = false,
        }
        self.is_off = true;
        self.left = None;
    }

    /// A byte goes by. Whether the chip is what it was before.
    fn tick(&mut self) -> Result<bool, PowerOff> {
        if self.is_off {
            return Err(PowerOff);
        }
        let mut stayed = true;
        if let Some((left, torn)) = &mut self.left {
            if *left == 0 {
                let torn = *torn;
                self.cut(torn);
                if !self.is_short {
                    return Err(PowerOff);
                }
                self.power_on();
                stayed = false;
            } else {
                *left -= 1;
            }
        }
        self.bytes += 1;
        self.now += BYTE;
        Ok(stayed)
    }

    fn load(&mut self, page: u32) {
        self.loads += 1;
        self.ready = self.now + LOAD;
        (self.status, self.more) = (self.status & WRITABLE, 0);
        let plane = self.plane(page);
        self.registers[plane].fill(0xff);
        if self.configuration[usize::from(self.die)] & OTP != 0 {
            self.parameter_page();
            return;
        }
        let Some(cells) = self.pages.get(&page) else { return };
        let register = &mut self.registers[plane];
        register.copy_from_slice(&cells.bytes);
        let page_size = usize::from(self.chip.page_size);
        let sector_of = |column: usize| match column.checked_sub(page_size).map(self.spare) {
            None => Some(column * 4 / page_size),
            Some(SpareByte::Covered(sector)) => Some(usize::from(sector)),
            Some(_) => None,
        };
        let mut errors = [0_u8; 4];
        for (column, _) in &cells.turned {
            if let Some(sector) = sector_of(usize::from(*column)) {
                errors[sector & 3] += 1;
            }
        }
        let worst = errors.iter().max().copied().unwrap_or(0);
        let is_lost = cells.ruined || worst > self.chip.strength;
        for (column, bit) in &cells.turned {
            let sector = sector_of(usize::from(*column));
            if sector.is_none_or(|sector| errors[sector & 3] > self.chip.strength) {
                register[usize::from(*column)] ^= 1 << bit;
            }
        }
        if cells.ruined {
            // Data that nobody wrote. The spare bytes stay as they are.
            register[..page_size].iter_mut().step_by(7).for_each(|byte| *byte ^= 0x11);
        }
        let (status, more) = says(self.chip.ecc, (!is_lost).then_some(worst));
        (self.status, self.more) = (self.status | status, more);
    }

    /// Three copies, of which the first is damaged.
    fn parameter_page(&mut self) {
        let mut page = [0; Parameters::BYTES];
        page[..4].copy_from_slice(b"ONFI");
        page[32..64].fill(b' ');
        page[32..39].copy_from_slice(b"WINBOND");
        let name = self.chip.name.as_bytes();
        page[44..64].iter_mut().zip(name).for_each(|(to, from)| *to = *from);
        page[80..84].copy_from_slice(&u32::from(self.chip.page_size).to_le_bytes());
        page[84..86].copy_from_slice(&(self.spare_bytes as u16).to_le_bytes());
        page[92..96].copy_from_slice(&u32::from(self.chip.pages).to_le_bytes());
        page[96..100].copy_from_slice(&u32::from(self.chip.blocks).to_le_bytes());
        (page[100], page[112]) = (1, self.chip.strength);
        let sum = crc(&page[..254]).to_le_bytes();
        page[254..].copy_from_slice(&sum);
        for copy in self.registers[0].chunks_exact_mut(Parameters::BYTES).take(3) {
            copy.copy_from_slice(&page);
        }
        self.registers[0][50] ^= 0xff;
    }

    fn address(&self, command: &[u8]) -> Option<u32> {
        let [high, middle, low] = *command.get(1..4)? else { return None };
        let on_die = u32::from_be_bytes([0, high, middle, low]);
        let pages = u32::from(self.chip.blocks) * self.of_a_block();
        let of_a_die = if self.chip.dies == Dies::One { pages } else { pages / 2 };
        (on_die < of_a_die).then(|| on_die + u32::from(self.die) * of_a_die)
    }

    /// The plane of a page: the lowest bit of its block.
    fn plane(&self, page: u32) -> usize {
        if self.chip.planes { ((page / self.of_a_block()) & 1) as usize } else { 0 }
    }

    /// The plane and the column of a command.
    fn column(&self, bytes: [u8; 2]) -> (usize, usize) {
        let plane = if self.chip.planes { self.chip.page_size << 1 } else { 0 };
        let column = u16::from_be_bytes(bytes);
        (usize::from(column & plane != 0), usize::from(column & !plane))
    }

    /// The byte that the chip sends while this is the command so far.
    fn send(&mut self, command: &[u8]) -> u8 {
        self.settle();
        let Some((first, rest)) = command.split_first() else { return 0xff };
        let position = rest.len();
        match first {
            0x0f => match rest.first() {
                Some(0xc0) => self.status | if self.is_busy() { BUSY } else { 0 },
                Some(0xa0) => self.protection[usize::from(self.die)],
                Some(0xb0) => self.configuration[usize::from(self.die)],
                Some(0x30 | 0xf0) => self.more,
                _ => 0,
            },
            0x7c if position > 0 => self.more,
            0x9f => {
                let (id, from) = match self.chip.id {
                    Id::AfterDummy(id) => (id, 1),
                    Id::AtOnce(id) => (id, 0),
                };
                position.checked_sub(from).and_then(|at| id.get(at)).copied().unwrap_or(0xff)
            }
            0x03 if position >= 3 && !self.is_busy() => {
                let at =
                    if self.chip.long_column { [rest[1], rest[2]] } else { [rest[0], rest[1]] };
                let (plane, column) = self.column(at);
                self.registers[plane].get(column + position - 3).copied().unwrap_or(0xff)
            }
            _ => 0xff,
        }
    }

    /// The command is over.
    fn end(&mut self, command: &[u8]) {
        self.settle();
        let Some(first) = command.first() else { return };
        if self.is_busy() && ![0x0f, 0xff].contains(first) {
            self.broken.get_or_insert(u32::MAX);
            return;
        }
        let die = usize::from(self.die);
        match (*first, command) {
            (0xff, _) => {
                self.status = 0;
                self.ready = self.now + RESET;
            }
            (0x1f, [_, 0xa0, value]) => self.protection[die] = *value,
            (0x1f, [_, 0xb0, value]) => self.configuration[die] = *value,
            (0x1f, [_, 0xd0, value]) if self.chip.dies == Dies::Register => {
                self.die = value >> 6 & 1
            }
            (0xc2, [_, value]) if self.chip.dies == Dies::Command => self.die = value & 1,
            (0x06, _) => self.status |= WRITABLE,
            (0x13, _) => {
                if let Some(page) = self.address(command) {
                    self.load(page);
                }
            }
            (0x02 | 0x84, [_, high, low, data @ ..]) if self.status & WRITABLE != 0 => {
                let (plane, column) = self.column([*high, *low]);
                let register = &mut self.registers[plane];
                if *first == 0x02 {
                    register.fill(0xff);
                }
                register.iter_mut().skip(column).zip(data).for_each(|(to, from)| *to = *from);
            }
            (0x10 | 0xd8, _) if self.status & WRITABLE != 0 => {
                let Some(page) = self.address(command) else { return };
                let (is_erase, block) = (*first == 0xd8, page / self.of_a_block());
                self.status = 0;
                self.ready = self.now + if is_erase { ERASE } else { PROGRAM };
                self.in_midst = match self.in_midst {
                    // The next byte on the bus is the last one.
                    Some((0, torn)) => {
                        self.left = Some((1, torn));
                        None
                    }
                    others => others.map(|(others, torn)| (others - 1, torn)),
                };
                if self.protection[die] != 0 || self.failing.contains(&block) {
                    self.status = if is_erase { ERASE_FAILED } else { PROGRAM_FAILED };
                    if self.protection[die] == 0 && !is_erase {
                        self.program(page, Torn::Half);
                    }
                } else if is_erase {
                    self.erases += 1;
                    self.doing = Doing::Erase(block);
                } else {
                    self.programs += 1;
                    self.doing = Doing::Program(page);
                }
            }
            _ => {}
        }
    }
}

impl ErrorType for Simulated {
    type Error = PowerOff;
}

impl SpiDevice for Simulated {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), PowerOff> {
        let mut state = self.0.borrow_mut();
        let mut command = Vec::new();
        let mut stayed = true;
        for operation in operations {
            match operation {
                Operation::Write(out) => {
                    for byte in *out {
                        stayed &= state.tick()?;
                        command.push(*byte);
                    }
                }
                Operation::Read(into) => {
                    for byte in into.iter_mut() {
                        stayed &= state.tick()?;
                        *byte = if stayed { state.send(&command) } else { 0xff };
                        command.push(0);
                    }
                }
                Operation::Transfer(into, out) => {
                    for at in 0..into.len().max(out.len()) {
                        stayed &= state.tick()?;
                        let answer = if stayed { state.send(&command) } else { 0xff };
                        if let Some(byte) = into.get_mut(at) {
                            *byte = answer;
                        }
                        command.push(out.get(at).copied().unwrap_or(0));
                    }
                }
                Operation::TransferInPlace(both) => {
                    for byte in both.iter_mut() {
                        stayed &= state.tick()?;
                        let answer = if stayed { state.send(&command) } else { 0xff };
                        command.push(core::mem::replace(byte, answer));
                    }
                }
                Operation::DelayNs(ns) => state.now += u64::from(*ns),
            }
        }
        if stayed {
            state.end(&command);
        }
        Ok(())
    }
}

impl DelayNs for Simulated {
    fn delay_ns(&mut self, ns: u32) {
        self.0.borrow_mut().now += u64::from(ns);
    }
}
