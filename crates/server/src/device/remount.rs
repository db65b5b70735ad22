//! Changes policies and watermarks of a device in use: unmounts the layer and mounts it again.
//!
//! Nothing on a chip depends on policies, so the choices of `serve` can be changed between two requests,
//! by a checkpoint and the quick mount that reads it. Hosts wait for these two and lose nothing. The
//! policies' state in memory starts afresh, as after a restart, and so do the layer's counters.
//!
//! Invariant: the chip is only lent to the new layer until that is mounted. If the mount fails, the
//! chip returns to the old layer, which was kept and continues.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use thermocline_flash::{Geometry, Rules};
use thermocline_media::{Lent, Medium, Ram};

use super::{AnyLayer, Device, Fault, held::Careful};

/// The requested changes; the rest stays.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Change {
    /// The policy.
    pub policy: Option<String>,
    /// The victim policy, in place of the policy's own.
    pub victim: Option<String>,
    /// The placement, in place of the policy's own.
    pub placement: Option<String>,
    /// Free blocks of each bank kept for garbage collection.
    pub reserve: Option<u32>,
    /// Free blocks below which it starts.
    pub low: Option<u32>,
    /// Free blocks at which it stops.
    pub high: Option<u32>,
}

/// The policies that a device runs by.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Settings {
    /// The policy.
    pub policy: String,
    /// Free blocks of each bank kept for garbage collection.
    pub reserve: u32,
    /// Free blocks below which it starts.
    pub low: u32,
    /// Free blocks at which it stops.
    pub high: u32,
}

/// Mounts a chip by other policies.
pub trait Remount: Send {
    /// Checks a change, and stores it. Changes nothing else.
    ///
    /// # Errors
    /// Why it cannot, in words.
    fn prepare(&mut self, change: &Change) -> Result<(), String>;

    /// Mounts the chip as was prepared.
    ///
    /// # Errors
    /// Why it could not be mounted, in words. The chip is dropped then, and what holds is as before
    /// [`prepare`](Self::prepare).
    fn mount(&mut self, chip: Box<dyn Medium>) -> Result<Remounted, String>;
}

/// The new mount.
pub struct Remounted {
    /// The layer.
    pub layer: AnyLayer,
    /// Its policies.
    pub settings: Settings,
    /// The time from which its clock may go on.
    pub time_ns: u64,
}

impl Device {
    /// Goes on by other policies. Returns how long hosts waited.
    ///
    /// # Errors
    /// Why not, in words; the device goes on as before.
    pub(crate) fn change(&self, change: &Change) -> Result<Duration, String> {
        if self.read_only {
            return Err("the export is read-only: its layer cannot be unmounted".into());
        }
        let mut remount = self.remount.lock();
        let remount =
            remount.as_mut().ok_or("this export keeps its policy until it is restarted")?;
        remount.prepare(change)?;
        let mut waited = Duration::ZERO;
        let mut why = String::new();
        let done = self.commit.alone(|| {
            let mut state = Careful(self.state.lock());
            state.check()?;
            if state.snapshot.is_some() {
                why = "a copy of this export is being made; change it when that is done".into();
                return Err(Fault::ShuttingDown);
            }
            let began = Instant::now();
            state.now = state.now.max(self.clock.read());
            let now = state.now;
            let unmounted = state.layer.upkeep().unmount(now);
            unmounted.map_err(|e| Fault::of_layer(e, 0, self.page_size))?;
            state.layer.chip_mut().sync().map_err(Fault::of_chip_sync)?;
            // A panic in the mount leaves it so.
            state.broken = true;
            let none = no_chip(&state.layer);
            let chip = std::mem::replace(state.layer.chip_mut(), none);
            let (lent, lender) = Lent::new(chip);
            match remount.mount(Box::new(lent)) {
                Ok(mut mounted) => {
                    // The loan ends where it is: the chip itself takes its place.
                    let none = no_chip(&state.layer);
                    drop(std::mem::replace(mounted.layer.chip_mut(), none));
                    state.layer = mounted.layer;
                    state.settings = mounted.settings;
                    state.now = state.now.max(mounted.time_ns);
                    state.idle_step = state.layer.upkeep().idle_step_ns(&self.timing);
                }
                Err(e) => why = format!("{e}; the export goes on as before"),
            }
            *state.layer.chip_mut() = lender.take_back().ok_or(Fault::Broken)?;
            state.broken = false;
            if why.is_empty() {
                self.news.begin_again(&state.layer);
            }
            waited = began.elapsed();
            Ok(state.changes)
        });
        match done {
            _ if !why.is_empty() => Err(why),
            Ok(()) => Ok(waited),
            Err(fault) => Err(fault.to_string()),
        }
    }
}

/// Stands where a layer has its chip, while that is elsewhere.
fn no_chip(layer: &AnyLayer) -> Box<dyn Medium> {
    let geometry = Geometry { blocks_per_bank: 0, ..*layer.chip().geometry() };
    let rules = Rules { in_order: true, endurance: 1, initial_bad_blocks: 0 };
    Box::new(Ram::new(geometry, rules))
}
