//! Policies that are not of this crate: a user's own, written in C or in Python.
//!
//! They are asked in batches, for a call into another language costs as much as many pages. What they answer is
//! checked here, so a wrong answer is an error of the policy and never a layer in disorder:
//!
//! * [`ForeignPlacement`] makes a [`Placement`](crate::placement::Placement) of a [`BatchPlacement`]. It asks for
//!   the pages that the host will write next, as far as the layer knows them, and drops the answers that a cleaning
//!   or a trim may have changed: what is decided is what asking page by page would decide.
//! * [`ForeignVictim`] makes a [`Victim`](crate::victim::Victim) of a [`BatchVictim`].
//! * [`abi`] makes both of tables of C functions.
//!
//! After an error a policy is not asked again. The [`Report`] hears of it, and whoever drives the layer stops it.

pub mod abi;
mod placement;
mod victim;

use alloc::{boxed::Box, format, string::String, sync::Arc};
use core::{error::Error, fmt};

pub use placement::{BatchPlacement, ForeignPlacement, NO_STREAM, PlacementShape};
pub use victim::{BatchVictim, Columns, ForeignVictim, VictimShape, least};

use crate::Context;

/// Why a policy failed.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Hears of a policy's failure.
pub trait Report: Send + Sync {
    /// The policy failed; its answers from here on are made up.
    fn failed(&self, failure: Failure);
}

/// Makes a foreign policy anew for each run.
pub trait Maker: Send + Sync {
    /// What results call it.
    fn name(&self) -> &str;

    /// Streams of its placement; none if it is no placement.
    fn streams(&self) -> Option<u8>;

    /// A placement for a device.
    ///
    /// # Errors
    /// Whatever the policy says.
    fn placement(&self, context: &Context) -> Result<Box<dyn BatchPlacement>, Failure>;

    /// A victim policy for a bank of a device.
    ///
    /// # Errors
    /// Whatever the policy says.
    fn victim(&self, context: &Context, bank: u32) -> Result<Box<dyn BatchVictim>, Failure>;
}

/// A wrong answer of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(pub String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Wrong {}

/// Keeps the first failure of a policy from the second.
struct Guarded<T> {
    name: String,
    policy: T,
    report: Arc<dyn Report>,
    failed: bool,
}

impl<T> Guarded<T> {
    /// Asks the policy, unless it failed before.
    #[inline(always)]
    fn ask<R>(&mut self, what: impl FnOnce(&mut T, &str) -> Result<R, Failure>) -> Option<R> {
        if self.failed {
            return None;
        }
        match what(&mut self.policy, &self.name) {
            Ok(answer) => Some(answer),
            Err(failure) => {
                self.failed = true;
                self.report.failed(failure);
                None
            }
        }
    }
}

/// `name.method` answered what makes no sense.
fn wrong(name: &str, method: &str, what: fmt::Arguments<'_>) -> Failure {
    Box::new(Wrong(format!("{name}.{method} {what}")))
}
