//! A zoned device in memory of which every operation is recorded, for tests of what a loss of power leaves.
//!
//! A device may keep, of what was done to a zone since the last sync, any beginning: zones are written in order. Of what
//! was written to a conventional zone it may keep anything.
//! Of what it kept, blocks may hold something else: a pointer proves nothing of the data before it.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use super::device::{Condition, Kind, Shape, Zone};
use super::{Zoned, device::Device, rules::Zones};
use crate::MediumError;

/// What was done to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes were written there.
    Write(u64, Vec<u8>),
    /// The zone that begins there was reset.
    Reset(u64),
    /// The zone that begins there was made full.
    Finish(u64),
    /// All before lasts.
    Sync,
}

/// What a device holds: its bytes and its zones.
#[derive(Clone, Debug)]
pub struct State {
    bytes: Vec<u8>,
    zones: Zones,
}

impl State {
    /// A new device whose first zones are conventional.
    #[must_use]
    pub fn new(shape: Shape, capacity: u64, conventional: u32) -> Self {
        let bytes = vec![0; (u64::from(shape.zones) * shape.zone) as usize];
        Self { bytes, zones: Zones::new(shape, capacity, conventional) }
    }

    /// The zones, for those who change them as a failing device does.
    pub fn zones(&mut self) -> &mut [Zone] {
        &mut self.zones.zones
    }

    /// The bytes of a zone, for those who spoil them.
    pub fn bytes(&mut self, zone: usize) -> &mut [u8] {
        let size = self.zones.shape.zone as usize;
        &mut self.bytes[zone * size..][..size]
    }

    fn apply(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Write(at, bytes) => {
                self.zones.write(bytes.len(), *at)?;
                self.bytes[*at as usize..][..bytes.len()].copy_from_slice(bytes);
            }
            Event::Reset(start) => {
                let zone = self.zones.reset(*start)?;
                self.bytes(zone).fill(0);
            }
            Event::Finish(start) => drop(self.zones.finish(*start)?),
            Event::Sync => {}
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Reel {
    state: State,
    events: Vec<Event>,
    /// Writes from now on fail, after so many more.
    fails_after: Option<u64>,
}

/// The device, shared with whoever reads the record.
#[derive(Clone, Debug)]
pub struct Tape(Arc<Mutex<Reel>>);

impl Tape {
    /// A device that holds this.
    #[must_use]
    pub fn of(state: State) -> Self {
        Self(Arc::new(Mutex::new(Reel { state, events: Vec::new(), fails_after: None })))
    }

    /// The chip on it.
    ///
    /// # Errors
    /// [`MediumError`].
    pub fn open(&self, read_only: bool, system_blocks: u32) -> Result<Zoned, MediumError> {
        Zoned::over("tape".as_ref(), Arc::new(self.clone()), read_only, system_blocks)
    }

    /// What it holds, as long as the power is on.
    #[must_use]
    pub fn state(&self) -> State {
        self.reel().state.clone()
    }

    /// What was done so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.reel().events.clone()
    }

    /// How much that is.
    #[must_use]
    pub fn len(&self) -> usize {
        self.reel().events.len()
    }

    /// Whether nothing was done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every change after so many more fails, or none does.
    pub fn fail_after(&self, changes: Option<u64>) {
        self.reel().fails_after = changes;
    }

    fn reel(&self) -> MutexGuard<'_, Reel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, event: Event) -> io::Result<()> {
        let mut reel = self.reel();
        if let Some(left) = &mut reel.fails_after {
            *left = left.checked_sub(1).ok_or_else(|| io::Error::from_raw_os_error(5))?;
        }
        reel.state.apply(&event)?;
        reel.events.push(event);
        Ok(())
    }
}

impl Device for Tape {
    fn shape(&self) -> Shape {
        self.reel().state.zones.shape
    }

    fn report(&self) -> io::Result<Vec<Zone>> {
        Ok(self.reel().state.zones.zones.clone())
    }

    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let reel = self.reel();
        reel.state.zones.read(into.len(), at)?;
        into.copy_from_slice(&reel.state.bytes[at as usize..][..into.len()]);
        Ok(())
    }

    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()> {
        self.change(Event::Write(at, from.to_vec()))
    }

    fn reset(&self, start: u64) -> io::Result<()> {
        self.change(Event::Reset(start))
    }

    fn finish(&self, start: u64) -> io::Result<()> {
        self.change(Event::Finish(start))
    }

    fn sync(&self) -> io::Result<()> {
        self.change(Event::Sync)
    }
}

/// What a device may hold as a record goes on.
#[derive(Clone, Debug)]
pub struct Power {
    lasting: State,
    /// With the limits of the device. They held for what was done, zone after zone, and not for any part of it.
    shape: Shape,
    /// What was done to each zone since the last sync.
    since: Vec<Vec<Event>>,
}

impl Power {
    /// All that a device holds lasts.
    #[must_use]
    pub fn of(mut state: State) -> Self {
        let since = vec![Vec::new(); state.zones.zones.len()];
        let shape = state.zones.shape;
        state.zones.shape = Shape { most_open: 0, most_active: 0, ..shape };
        Self { lasting: state, shape, since }
    }

    /// Something more was done.
    pub fn then(&mut self, event: &Event) {
        match event {
            Event::Sync => {
                for event in std::mem::take(&mut self.since).iter().flatten() {
                    let done = self.lasting.apply(event);
                    debug_assert!(done.is_ok(), "{done:?}");
                }
                self.since = vec![Vec::new(); self.lasting.zones.zones.len()];
            }
            Event::Write(at, _) | Event::Reset(at) | Event::Finish(at) => {
                let zone = (at / self.lasting.zones.shape.zone) as usize;
                self.since[zone].push(event.clone());
            }
        }
    }

    /// What is left when power fails. `choose` draws a number below the one that it is given.
    pub fn cut(&self, mut choose: impl FnMut(usize) -> usize) -> State {
        let mut left = self.lasting.clone();
        let shape = self.shape;
        for (zone, events) in self.since.iter().enumerate() {
            let is_conventional = left.zones.zones[zone].kind == Kind::Conventional;
            let kept = if is_conventional { events.len() } else { choose(events.len() + 1) };
            for (event, number) in events.iter().zip(0..=kept) {
                if is_conventional && choose(2) == 0 {
                    continue;
                }
                let Event::Write(at, bytes) = event else {
                    if number < kept {
                        let done = left.apply(event);
                        debug_assert!(done.is_ok(), "{done:?}");
                    }
                    continue;
                };
                let mut bytes = bytes.clone();
                if number == kept {
                    // The last of it is cut off at any block.
                    let blocks = choose(bytes.len() / shape.block as usize);
                    bytes.truncate(blocks * shape.block as usize);
                }
                for block in bytes.chunks_mut(shape.block as usize) {
                    match choose(12) {
                        0 => block.fill(0),
                        1 => block.fill(0x5a),
                        _ => {}
                    }
                }
                if !bytes.is_empty() {
                    let done = left.apply(&Event::Write(*at, bytes));
                    debug_assert!(done.is_ok(), "{done:?}");
                }
            }
        }
        left.zones = Zones::of(shape, left.zones.zones);
        left
    }
}
