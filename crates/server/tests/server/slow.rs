//! A chip in memory with slow syncs, which fail on request and report the covered programs.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Oob, Ppn, SimulatedTime};
use thermocline_media::{Durable, Medium, Ram, Syncing};

use crate::layer::{RULES, geometry};

/// The test's view of the chip.
#[derive(Debug, Default)]
pub struct Known {
    pub programs: AtomicU64,
    /// Programs that last.
    pub lasting: AtomicU64,
    pub syncs: AtomicU64,
    pub sync_ms: AtomicU64,
    pub syncs_fail: AtomicBool,
    /// They find no room.
    pub syncs_are_full: AtomicBool,
    /// The file system below has no room.
    pub is_full: AtomicBool,
    /// The physical page that cannot be read, plus 1.
    pub unreadable: AtomicU64,
    pub gate: Gate,
}

/// Where programs and copies wait, while it is closed, until each is let through.
#[derive(Debug, Default)]
pub struct Gate {
    /// How many may pass, and whether one waits; nothing while it is open.
    state: Mutex<Option<(u64, bool)>>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((left, waits)) = &mut *state {
            if *left > 0 {
                (*left, *waits) = (*left - 1, false);
                return;
            }
            *waits = true;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub fn close(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some((0, false));
    }

    fn open(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.changed.notify_all();
    }

    fn is_waited_at(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(&*state, Some((0, true)))
    }

    /// Lets one after another through until `is_over`, and then all; how many that took, if not more than that. Each
    /// one waits first, so that on a busy machine, too, whoever asks has come before most of them.
    pub fn let_through(&self, most: u32, is_over: impl Fn() -> bool) -> Option<u32> {
        let mut passed = 0;
        while !is_over() && passed < most {
            std::thread::sleep(Duration::from_millis(100));
            if self.is_waited_at() {
                self.let_one_through();
                passed += 1;
            }
        }
        let is_over = is_over();
        self.open();
        is_over.then_some(passed)
    }

    /// Waits until something waits there.
    pub fn wait(&self) {
        let begun = Instant::now();
        while !self.is_waited_at() {
            assert!(begun.elapsed() < Duration::from_secs(30), "nothing comes");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn let_one_through(&self) {
        if let Some((left, _)) = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            *left += 1;
        }
        self.changed.notify_all();
    }
}

/// The chip.
pub struct Slow {
    ram: Ram,
    known: Arc<Known>,
}

impl Slow {
    pub fn chip(blocks: u32, sync: Duration) -> (Box<dyn Medium>, Arc<Known>) {
        let known = Arc::new(Known::default());
        known.sync_ms.store(sync.as_millis() as u64, SeqCst);
        (Box::new(Self { ram: Ram::new(geometry(blocks), RULES), known: known.clone() }), known)
    }
}

#[derive(Debug)]
struct Below(Arc<Known>);

impl Durable for Below {
    fn sync(&self) -> io::Result<()> {
        self.0.syncs.fetch_add(1, SeqCst);
        std::thread::sleep(Duration::from_millis(self.0.sync_ms.load(SeqCst)));
        if self.0.syncs_are_full.load(SeqCst) {
            return Err(io::Error::from_raw_os_error(28));
        }
        if self.0.syncs_fail.load(SeqCst) {
            return Err(io::Error::other("the disk is on fire"));
        }
        Ok(())
    }
}

impl Flash for Slow {
    fn geometry(&self) -> &Geometry {
        self.ram.geometry()
    }
    fn in_order(&self) -> bool {
        self.ram.in_order()
    }
    fn is_bad(&self, block: BlockId) -> bool {
        self.ram.is_bad(block)
    }
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        if self.known.unreadable.load(SeqCst) == u64::from(from.0) + 1 {
            return Err(FlashError::Unreadable(from));
        }
        self.ram.read(from, into)
    }
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        self.ram.read_oob(from)
    }
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        if self.known.is_full.load(SeqCst) {
            return Err(FlashError::Medium(28));
        }
        self.known.programs.fetch_add(1, SeqCst);
        self.known.gate.pass();
        self.ram.program(to, oob, data)
    }
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.known.gate.pass();
        self.ram.copy(from, to, oob)
    }
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.ram.erase(block)
    }
    fn sync(&mut self) -> Result<(), FlashError> {
        Below(self.known.clone()).sync().map_err(|_| FlashError::Medium(5))?;
        self.known.lasting.store(self.known.programs.load(SeqCst), SeqCst);
        Ok(())
    }
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.ram.mark_bad(block)
    }
}

impl Condition for Slow {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.ram.erase_count(block)
    }
}

impl SimulatedTime for Slow {}

impl Medium for Slow {
    fn begin_sync(&mut self) -> Result<Syncing, FlashError> {
        if self.known.is_full.load(SeqCst) {
            return Err(FlashError::Medium(28));
        }
        let generation = self.known.programs.load(SeqCst);
        Ok(Syncing { generation, target: Some(Arc::new(Below(self.known.clone()))) })
    }
    fn finish_sync(&mut self, done: &Syncing) -> Result<(), FlashError> {
        self.known.lasting.fetch_max(done.generation, SeqCst);
        Ok(())
    }
}
