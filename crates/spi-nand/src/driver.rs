//! The driver.
//!
//! * One page is in the chip's register. What it is, and what the error correction said of it, is remembered: reading another
//!   part of it loads nothing. A page that could not be corrected is loaded again each time.
//! * A chip that loses its power on its own comes back with all blocks protected. The last thing that the driver asks in each
//!   operation is whether it is not: else what was read is no page, what was programmed may not be, and what failed did not.
//!   The chip is set up again; a read is done again, a program or an erase is [`NandError::Device`].
//! * The chip says that it heard that it may write, before the page goes over the bus.
//! * No operation waits for ever, and no answer of a chip can panic.

use thermocline_embedded::{AREA, Geometry, NandError};

use super::{
    CAN_BE_DROPPED, Nand, bisync,
    hal::{
        delay::DelayNs,
        spi::{Operation, SpiDevice},
    },
};
use crate::{
    SetupError,
    chips::{self, Chip, Dies, OTP},
    ecc::More,
    onfi::Parameters,
};

const RESET: u8 = 0xff;
const READ_ID: u8 = 0x9f;
const GET: u8 = 0x0f;
const SET: u8 = 0x1f;
const WRITE_ENABLE: u8 = 0x06;
const LOAD_PAGE: u8 = 0x13;
const READ: u8 = 0x03;
/// Fills the register with ones first.
const FILL: u8 = 0x02;
/// Leaves what is in the register.
const PATCH: u8 = 0x84;
const PROGRAM: u8 = 0x10;
const ERASE: u8 = 0xd8;
const SELECT_DIE: u8 = 0xc2;

const PROTECTION: u8 = 0xa0;
const CONFIGURATION: u8 = 0xb0;
const STATUS: u8 = 0xc0;
const DIE: u8 = 0xd0;

const BUSY: u8 = 1;
const WRITABLE: u8 = 1 << 1;
const ERASE_FAILED: u8 = 1 << 2;
const PROGRAM_FAILED: u8 = 1 << 3;

/// Microseconds between two looks at the status, and how often it is looked at. The longest that a data sheet allows are a
/// fifth: 300 µs for a load, 1.2 ms for a program, 10 ms for an erase, 1.4 ms for a reset.
type Patience = (u32, u32);
const LOADS: Patience = (10, 150);
const PROGRAMS: Patience = (50, 120);
const ERASES: Patience = (200, 250);
const RESETS: Patience = (100, 100);

/// What is read of a page.
enum Part<'p> {
    /// Bytes from a column on.
    Bytes(u32, &'p mut [u8]),
    Area(&'p mut [u8; AREA]),
}

/// A chip on a bus.
#[derive(Debug)]
pub struct SpiNand<S, D> {
    spi: S,
    delay: D,
    chip: &'static Chip,
    /// The page in the register, and the bits that were corrected in it.
    loaded: Option<(u32, u8)>,
    die: u8,
    corrected: u8,
    refresh_from: u32,
    /// An operation was begun that is not over: if nothing is going on, its future was dropped.
    is_entered: bool,
}

#[bisync]
impl<S: SpiDevice, D: DelayNs> SpiNand<S, D> {
    /// Resets and identifies a chip and sets it up. The bus is at most as fast as the chip's `03h` allows, some 50 MHz.
    ///
    /// # Errors
    /// [`SetupError`].
    pub async fn new(spi: S, delay: D) -> Result<Self, SetupError> {
        Self::among(spi, delay, chips::ALL).await
    }

    /// The same among some rows: firmware that knows its chips needs not have all of them, and may have others.
    ///
    /// # Errors
    /// [`SetupError`].
    pub async fn among(spi: S, delay: D, rows: &'static [Chip]) -> Result<Self, SetupError> {
        let Some(first) = rows.first() else {
            return Err(SetupError::Unknown([0; 4], [0; 4]));
        };
        let (loaded, die, corrected, refresh_from) = (None, 0, 0, 0);
        let mut made = Self {
            spi,
            delay,
            chip: first,
            loaded,
            die,
            corrected,
            refresh_from,
            is_entered: false,
        };
        made.command(&[RESET]).await?;
        made.wait(RESETS).await?;
        let (mut after, mut at_once) = ([0; 4], [0; 4]);
        made.exchange(&[READ_ID, 0], &mut after).await?;
        made.exchange(&[READ_ID], &mut at_once).await?;
        if after == [0; 4] || after == [0xff; 4] {
            return Err(SetupError::NoAnswer);
        }
        let found = chips::find(rows, &after, &at_once);
        made.chip = found.ok_or(SetupError::Unknown(after, at_once))?;
        made.refresh_from = made.chip.refresh_from();
        made.set_up().await?;
        Ok(made)
    }

    /// Registers of all dies. A chip of which a die is not as it should be is not used.
    async fn set_up(&mut self) -> Result<(), SetupError> {
        let (on, off) = self.chip.configuration;
        for die in (0..self.dies()).rev() {
            self.choose(die).await?;
            if die > 0 {
                self.command(&[RESET]).await?;
                self.wait(RESETS).await?;
            }
            let wanted = self.get(CONFIGURATION).await? & !off | on;
            self.set(CONFIGURATION, wanted).await?;
            self.set(PROTECTION, 0).await?;
            if self.get(CONFIGURATION).await? & (on | off) != on || self.get(PROTECTION).await? != 0
            {
                return Err(SetupError::NotSet);
            }
        }
        Ok(())
    }

    /// The row of the chip.
    #[must_use]
    pub const fn chip(&self) -> &'static Chip {
        self.chip
    }

    /// Moves pages from so many corrected bits on, in place of three quarters of what the chip corrects; 0 for never.
    pub const fn set_refresh_from(&mut self, bits: u32) {
        self.refresh_from = bits;
    }

    /// The bus and the delay.
    pub fn release(self) -> (S, D) {
        (self.spi, self.delay)
    }

    /// What the chip says of itself in its parameter page (ONFI): for a look at a chip that has no row, by
    /// [`among`](Self::among) with a row that is near. Nothing if the chip has none, or none that is whole.
    ///
    /// # Errors
    /// [`NandError::Device`].
    pub async fn parameters(&mut self) -> Result<Option<Parameters>, NandError> {
        self.enter().await?;
        let told = self.parameters_entered().await;
        self.exit();
        told
    }

    async fn parameters_entered(&mut self) -> Result<Option<Parameters>, NandError> {
        self.loaded = None;
        let before = self.get(CONFIGURATION).await?;
        self.set(CONFIGURATION, before | OTP).await?;
        let read = self.read_parameters().await;
        self.loaded = None;
        self.set(CONFIGURATION, before).await?;
        read
    }

    async fn read_parameters(&mut self) -> Result<Option<Parameters>, NandError> {
        self.command(&[LOAD_PAGE, 0, 0, 1]).await?;
        self.wait(LOADS).await?;
        // Three copies, of which one may be damaged.
        for copy in 0..3_u16 {
            let mut bytes = [0; Parameters::BYTES];
            let [high, low] = (copy * Parameters::BYTES as u16).to_be_bytes();
            self.exchange(&self.column(high, low), &mut bytes).await?;
            if let Some(found) = Parameters::decode(&bytes) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    async fn command(&mut self, bytes: &[u8]) -> Result<(), NandError> {
        self.spi.write(bytes).await.map_err(|_| NandError::Device)
    }

    async fn exchange(&mut self, out: &[u8], into: &mut [u8]) -> Result<(), NandError> {
        let mut both = [Operation::Write(out), Operation::Read(into)];
        self.spi.transaction(&mut both).await.map_err(|_| NandError::Device)
    }

    async fn get(&mut self, register: u8) -> Result<u8, NandError> {
        let mut value = [0];
        self.exchange(&[GET, register], &mut value).await?;
        Ok(value[0])
    }

    async fn set(&mut self, register: u8, value: u8) -> Result<(), NandError> {
        self.command(&[SET, register, value]).await
    }

    /// Waits until the chip is ready, and says its status.
    async fn wait(&mut self, (step, looks): Patience) -> Result<u8, NandError> {
        for _ in 0..looks {
            let status = self.get(STATUS).await?;
            if status & BUSY == 0 {
                return Ok(status);
            }
            self.delay.delay_us(step).await;
        }
        Err(NandError::Device)
    }

    fn dies(&self) -> u8 {
        if self.chip.dies == Dies::One { 1 } else { 2 }
    }

    /// The die that commands go to from now on.
    async fn choose(&mut self, die: u8) -> Result<(), NandError> {
        match self.chip.dies {
            Dies::One => {}
            Dies::Command => self.command(&[SELECT_DIE, die]).await?,
            Dies::Register => self.set(DIE, die << 6).await?,
        }
        self.die = die;
        Ok(())
    }

    /// The number that a page has on its die, which is chosen; an error if the chip has no such page.
    async fn on_die(&mut self, page: u32) -> Result<[u8; 3], NandError> {
        let of_a_block = u32::from(self.chip.pages);
        let of_a_die = u32::from(self.chip.blocks) / u32::from(self.dies()) * of_a_block;
        let (die, page) =
            if page < of_a_die { (0, page) } else { (1, page.wrapping_sub(of_a_die)) };
        if page >= of_a_die || die >= self.dies() {
            return Err(NandError::Device);
        }
        if die != self.die {
            self.loaded = None;
            self.choose(die).await?;
        }
        let [_, high, middle, low] = page.to_be_bytes();
        Ok([high, middle, low])
    }

    /// A column of a page, with the bit of its plane: two bytes.
    fn in_plane(&self, page: u32, column: u32) -> [u8; 2] {
        let mut bits = column as u16;
        if self.chip.planes && self.plane(page) {
            bits |= self.chip.page_size << 1;
        }
        bits.to_be_bytes()
    }

    /// The plane of the block of a page.
    fn plane(&self, page: u32) -> bool {
        (page / u32::from(self.chip.pages.max(1))) & 1 == 1
    }

    fn column(&self, high: u8, low: u8) -> [u8; 4] {
        if self.chip.long_column { [READ, 0, high, low] } else { [READ, high, low, 0] }
    }

    /// Has a page in the register: the bits that were corrected, or nothing if it could not be.
    async fn load(&mut self, page: u32) -> Result<Option<u8>, NandError> {
        let [high, middle, low] = self.on_die(page).await?;
        if let Some((at, bits)) = self.loaded
            && at == page
        {
            return Ok(Some(bits));
        }
        self.loaded = None;
        self.command(&[LOAD_PAGE, high, middle, low]).await?;
        let status = self.wait(LOADS).await?;
        let more = match self.chip.ecc.more(status) {
            More::No => 0,
            More::Register(register) => self.get(register).await?,
            More::Command(command) => {
                let mut value = [0];
                self.exchange(&[command, 0], &mut value).await?;
                value[0]
            }
        };
        let bits = self.chip.ecc.corrected(status, more, self.chip.strength);
        self.loaded = bits.map(|bits| (page, bits));
        Ok(bits)
    }

    /// Bytes of the page in the register.
    async fn fetch(&mut self, page: u32, column: u32, into: &mut [u8]) -> Result<(), NandError> {
        let [high, low] = self.in_plane(page, column);
        self.exchange(&self.column(high, low), into).await
    }

    /// The area of the page in the register.
    async fn fetch_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        let spare = self.chip.spare;
        let mut column = u32::from(self.chip.page_size) + u32::from(spare.first);
        // All sections at once: four commands would be longer than what lies between.
        let mut sections = [0; 64];
        let runs = AREA.div_ceil(usize::from(spare.run.max(1)));
        let length = (runs - 1) * usize::from(spare.stride) + usize::from(spare.run);
        if let Some(all) = sections.get_mut(..length) {
            self.fetch(page, column, all).await?;
            let of_a_run = sections.chunks(usize::from(spare.stride.max(1)));
            for (to, from) in into.chunks_mut(usize::from(spare.run.max(1))).zip(of_a_run) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            }
        } else {
            for run in into.chunks_mut(usize::from(spare.run.max(1))) {
                self.fetch(page, column, run).await?;
                column += u32::from(spare.stride);
            }
        }
        Ok(())
    }

    /// Allows one program or erase. The chip says that it heard it.
    async fn enable(&mut self) -> Result<(), NandError> {
        self.loaded = None;
        self.command(&[WRITE_ENABLE]).await?;
        if self.get(STATUS).await? & WRITABLE == 0 {
            return Err(NandError::Device);
        }
        Ok(())
    }

    /// The area goes to its bytes of the register.
    async fn patch(&mut self, page: u32, area: &[u8; AREA]) -> Result<(), NandError> {
        let spare = self.chip.spare;
        let mut column = u32::from(self.chip.page_size) + u32::from(spare.first);
        for run in area.chunks(usize::from(spare.run.max(1))) {
            self.send(PATCH, page, column, run).await?;
            column += u32::from(spare.stride);
        }
        Ok(())
    }

    async fn send(
        &mut self,
        command: u8,
        page: u32,
        column: u32,
        bytes: &[u8],
    ) -> Result<(), NandError> {
        let [high, low] = self.in_plane(page, column);
        let head = [command, high, low];
        let mut both = [Operation::Write(&head), Operation::Write(bytes)];
        self.spi.transaction(&mut both).await.map_err(|_| NandError::Device)
    }

    /// Programs what is in the register, or erases a block.
    async fn execute(&mut self, command: u8, at: [u8; 3]) -> Result<(), NandError> {
        let (patience, failed) =
            if command == ERASE { (ERASES, ERASE_FAILED) } else { (PROGRAMS, PROGRAM_FAILED) };
        self.command(&[command, at[0], at[1], at[2]]).await?;
        let status = self.wait(patience).await?;
        if !self.stayed().await? {
            return Err(NandError::Device);
        }
        if status & failed == 0 { Ok(()) } else { Err(NandError::Failed) }
    }

    /// Whether the chip had power all the time since it was set up. Where it had not, it is set up again.
    async fn stayed(&mut self) -> Result<bool, NandError> {
        if self.get(PROTECTION).await? == 0 {
            return Ok(true);
        }
        self.loaded = None;
        self.set_up().await.map_err(|_| NandError::Device)?;
        Ok(false)
    }

    /// Reads a part of a page, and says the bits that were corrected in the page: once more, if the chip lost its power.
    async fn sound(&mut self, page: u32, mut part: Part<'_>) -> Result<Option<u8>, NandError> {
        for _ in 0..2 {
            let bits = self.load(page).await?;
            match &mut part {
                Part::Bytes(column, into) => self.fetch(page, *column, into).await?,
                Part::Area(into) => self.fetch_area(page, into).await?,
            }
            if self.stayed().await? {
                return Ok(bits);
            }
        }
        Err(NandError::Device)
    }

    /// Before an operation: where the one before was given up half-way, the chip may be busy with it, or be set up for it.
    async fn enter(&mut self) -> Result<(), NandError> {
        if CAN_BE_DROPPED {
            if self.is_entered {
                self.recover().await?;
            }
            self.is_entered = true;
        }
        Ok(())
    }

    /// It is over, whatever came of it.
    fn exit(&mut self) {
        if CAN_BE_DROPPED {
            self.is_entered = false;
        }
    }

    /// Waits for whatever the chip is doing, and sets it up again.
    async fn recover(&mut self) -> Result<(), NandError> {
        self.loaded = None;
        self.wait(ERASES).await?;
        for die in (0..self.dies()).rev() {
            self.choose(die).await?;
            self.wait(ERASES).await?;
        }
        self.set_up().await.map_err(|_| NandError::Device)
    }

    async fn read_entered(
        &mut self,
        page: u32,
        offset: u32,
        into: &mut [u8],
    ) -> Result<(), NandError> {
        if (offset as usize).saturating_add(into.len()) > usize::from(self.chip.page_size) {
            return Err(NandError::Device);
        }
        let bits = self.sound(page, Part::Bytes(offset, into)).await?;
        self.corrected = bits.ok_or(NandError::Unreadable)?;
        Ok(())
    }

    /// Where the page cannot be corrected the area is given as it is, for it has a check of its own; but never as blank.
    async fn read_area_entered(
        &mut self,
        page: u32,
        into: &mut [u8; AREA],
    ) -> Result<(), NandError> {
        let bits = self.sound(page, Part::Area(into)).await?;
        if bits.is_none() && *into == [0xff; AREA] {
            return Err(NandError::Unreadable);
        }
        Ok(())
    }

    async fn program_entered(
        &mut self,
        page: u32,
        data: &[u8],
        area: &[u8; AREA],
    ) -> Result<(), NandError> {
        if data.len() > usize::from(self.chip.page_size) {
            return Err(NandError::Device);
        }
        let at = self.on_die(page).await?;
        self.enable().await?;
        self.send(FILL, page, 0, data).await?;
        self.patch(page, area).await?;
        self.execute(PROGRAM, at).await
    }

    async fn erase_entered(&mut self, block: u32) -> Result<(), NandError> {
        let at = self.on_die(block.saturating_mul(u32::from(self.chip.pages))).await?;
        self.enable().await?;
        self.execute(ERASE, at).await
    }

    /// Two bits of a mark must be zero: where nothing corrects the mark, one that turned by itself is no mark.
    async fn is_bad_entered(&mut self, block: u32) -> Result<bool, NandError> {
        let first = block.saturating_mul(u32::from(self.chip.pages));
        // The first page comes last: its area is what a mount reads next.
        for page in (first..first.saturating_add(u32::from(self.chip.marks))).rev() {
            // The mark counts whatever the page is.
            let mut mark = [0];
            let column = u32::from(self.chip.page_size);
            self.sound(page, Part::Bytes(column, &mut mark)).await?;
            if mark[0].count_zeros() > 1 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn mark_bad_entered(&mut self, block: u32) -> Result<(), NandError> {
        let page = block.saturating_mul(u32::from(self.chip.pages));
        let at = self.on_die(page).await?;
        self.enable().await?;
        self.send(FILL, page, u32::from(self.chip.page_size), &[0]).await?;
        match self.execute(PROGRAM, at).await {
            // What it refuses it refuses, and the block fails again.
            Ok(()) | Err(NandError::Failed) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// The page stays in the chip, corrected; but its register does not reach over planes and dies.
    async fn copy_entered(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        buffer: &mut [u8],
    ) -> Result<(), NandError> {
        let is_apart =
            self.chip.dies != Dies::One || self.chip.planes && self.plane(from) != self.plane(to);
        if is_apart {
            self.read_entered(from, 0, buffer).await?;
            return self.program_entered(to, buffer, area).await;
        }
        let at = self.on_die(to).await?;
        self.load(from).await?.ok_or(NandError::Unreadable)?;
        self.enable().await?;
        self.patch(to, area).await?;
        self.execute(PROGRAM, at).await
    }
}

#[bisync]
impl<S: SpiDevice, D: DelayNs> Nand for SpiNand<S, D> {
    fn geometry(&self) -> Geometry {
        self.chip.geometry()
    }

    async fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        self.enter().await?;
        let done = self.read_entered(page, offset, into).await;
        self.exit();
        done
    }

    async fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.enter().await?;
        let done = self.read_area_entered(page, into).await;
        self.exit();
        done
    }

    async fn program(
        &mut self,
        page: u32,
        data: &[u8],
        area: &[u8; AREA],
    ) -> Result<(), NandError> {
        self.enter().await?;
        let done = self.program_entered(page, data, area).await;
        self.exit();
        done
    }

    async fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.enter().await?;
        let done = self.erase_entered(block).await;
        self.exit();
        done
    }

    async fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        self.enter().await?;
        let done = self.is_bad_entered(block).await;
        self.exit();
        done
    }

    async fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        self.enter().await?;
        let done = self.mark_bad_entered(block).await;
        self.exit();
        done
    }

    async fn copy(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        buffer: &mut [u8],
    ) -> Result<(), NandError> {
        self.enter().await?;
        let done = self.copy_entered(from, to, area, buffer).await;
        self.exit();
        done
    }

    fn corrected(&mut self) -> u32 {
        u32::from(self.corrected)
    }

    fn refresh_from(&self) -> u32 {
        self.refresh_from
    }
}
