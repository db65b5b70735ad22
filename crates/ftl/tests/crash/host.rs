//! The host's model: the contents that each page may have after a crash.

use thermocline_flash::{BlockId, Flash, Lpn};
use thermocline_ftl::FtlError;

use super::{
    chip::Op,
    common::Draws,
    device::{Device, PAGE, content, sync},
};

/// No data.
pub const ZEROS: u64 = 0;

/// An action of the host, and the number of chip operations before it.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Write(u32, u64),
    Trim(u32),
    /// Taken for garbage: it may be gone from now on.
    Marked(u32),
    /// The last operation on a page failed: it may hold the new or the old content.
    Maybe(u32, u64),
    /// Flushed, with a sync that was the operation of that number.
    Flushed,
}

/// The allowed contents of pages.
#[derive(Clone, Debug)]
pub struct Host {
    /// Contents since the last flush, the one flushed first.
    allowed: Vec<Vec<u64>>,
    /// The allowed contents of each page now.
    now: Vec<Vec<u64>>,
}

impl Host {
    pub fn of(contents: &[u64]) -> Self {
        let each: Vec<Vec<u64>> = contents.iter().map(|&content| vec![content]).collect();
        Self { allowed: each.clone(), now: each }
    }

    /// Each page showed an allowed content, and has it from now on.
    pub fn shown(&mut self, contents: &[u64]) {
        self.now = contents.iter().map(|&content| vec![content]).collect();
    }

    pub fn learn(&mut self, event: Event) {
        match event {
            Event::Write(lpn, content) => self.set(lpn, content),
            Event::Trim(lpn) => self.set(lpn, ZEROS),
            Event::Marked(lpn) => self.may(lpn, ZEROS),
            Event::Maybe(lpn, content) => self.may(lpn, content),
            Event::Flushed => self.allowed.clone_from(&self.now),
        }
    }

    fn may(&mut self, lpn: u32, content: u64) {
        for list in [&mut self.allowed, &mut self.now] {
            let list = &mut list[lpn as usize];
            if !list.contains(&content) {
                list.push(content);
            }
        }
    }

    fn set(&mut self, lpn: u32, content: u64) {
        let allowed = &mut self.allowed[lpn as usize];
        if !allowed.contains(&content) {
            allowed.push(content);
        }
        let now = &mut self.now[lpn as usize];
        now.clear();
        now.push(content);
    }

    pub fn may_hold(&self, lpn: u32) -> &[u64] {
        &self.allowed[lpn as usize]
    }

    pub fn holds(&self, lpn: u32) -> &[u64] {
        &self.now[lpn as usize]
    }

    pub fn pages(&self) -> u32 {
        self.now.len() as u32
    }
}

/// Programs and erases of the index log before a sync. No data are erased, and at most one page is programmed: the last
/// one before the mount.
pub fn settle(device: &mut dyn Device, now: u64) -> Result<(u32, u32), FtlError> {
    let before = device.chip().ops.len();
    let done = device.settle(now);
    let chip = device.chip();
    let is_data = |block: BlockId| block.0 < chip.geometry().data_blocks();
    let (mut data, mut log) = (0, (0, 0));
    for op in &chip.ops[before..] {
        match op {
            Op::Program(page, _) if is_data(chip.geometry().block_of(*page)) => data += 1,
            Op::Program(..) => log.0 += 1,
            Op::Erase(block) => {
                assert!(!is_data(*block), "a flush erases {block:?}");
                log.1 += 1;
            }
            Op::Bad(_) | Op::Sync | Op::SyncPrograms => {}
        }
    }
    assert!(data <= 1, "a flush programs {data} pages of data");
    done.map(|()| log)
}

/// A host that uses a device and records its actions.
pub struct Use<'a> {
    pub device: &'a mut dyn Device,
    pub host: Host,
    /// With the number of chip operations before each.
    pub events: Vec<(usize, Event)>,
    pub now: &'a mut u64,
    /// The number of the last content.
    pub last: &'a mut u64,
}

impl Use<'_> {
    pub fn note(&mut self, event: Event) {
        let ops = self.device.chip().ops.len();
        self.host.learn(event);
        self.events.push((ops, event));
    }

    /// One random operation.
    pub fn operate(&mut self, draws: &mut Draws) -> Result<(), FtlError> {
        *self.now += u64::from(draws.below(3));
        let now = *self.now;
        let pages = self.host.pages();
        let lpn = draws.below(pages) >> draws.below(3);
        match draws.below(32) {
            0..=1 => {
                let end = pages.min(lpn + 1 + draws.below(6));
                for lpn in lpn..end {
                    self.trim(lpn)?;
                }
            }
            2 => {
                self.note(Event::Marked(lpn));
                if let Some(dead) = self.device.dead_pages() {
                    dead.mark_dead(Lpn(lpn), now)?;
                }
            }
            3 => {
                if let Some(dead) = self.device.dead_pages() {
                    dead.revive(Lpn(lpn), now)?;
                }
            }
            4..=5 => self.flush()?,
            6 => self.flush_late(lpn)?,
            7 if draws.one_in(2) => {
                self.device.clean_in_idle_time(now)?;
            }
            7 => {
                for _ in 0..draws.below(6) {
                    self.device.step_in_idle_time(now)?;
                }
            }
            8 => self.check(lpn),
            9 => {
                self.device.scrub(now)?;
            }
            how => self.write(lpn, how == 10)?,
        }
        Ok(())
    }

    pub fn write(&mut self, lpn: u32, read_only: bool) -> Result<(), FtlError> {
        *self.last += 1;
        let mut page = [0; PAGE];
        page[..8].copy_from_slice(&self.last.to_le_bytes());
        self.note(Event::Write(lpn, *self.last));
        if read_only {
            self.device.write_read_only(Lpn(lpn), &page, *self.now)
        } else {
            self.device.write(Lpn(lpn), &page, *self.now)
        }
    }

    pub fn trim(&mut self, lpn: u32) -> Result<(), FtlError> {
        self.note(Event::Trim(lpn));
        self.device.trim(Lpn(lpn), *self.now).map(drop)
    }

    pub fn flush(&mut self) -> Result<(), FtlError> {
        settle(self.device, *self.now)?;
        let covered = self.device.last_program();
        sync(self.device);
        self.device.synced(covered);
        self.note(Event::Flushed);
        Ok(())
    }

    /// The layer hears of a sync only after the host went on: blocks may have been erased since that it does
    /// not cover.
    fn flush_late(&mut self, lpn: u32) -> Result<(), FtlError> {
        settle(self.device, *self.now)?;
        let covered = self.device.last_program();
        sync(self.device);
        self.note(Event::Flushed);
        for lpn in lpn..self.host.pages().min(lpn + 4) {
            self.write(lpn, false)?;
        }
        self.device.synced(covered);
        Ok(())
    }

    pub fn check(&mut self, lpn: u32) {
        let found = content(self.device, lpn);
        let holds = self.host.holds(lpn);
        assert!(holds.contains(&found), "page {lpn} holds {found}, not {holds:?}");
    }

    pub fn check_all(&mut self) {
        for lpn in 0..self.host.pages() {
            self.check(lpn);
        }
        self.device.check().unwrap_or_else(|e| panic!("{e}"));
    }
}
