//! User-defined policies, written in C or Python.
//!
//! They are called with batches, because one call into another language costs as much as many
//! pages. Their answers are checked here, so a wrong answer is an error of the policy and never
//! corrupts the layer:
//!
//! * [`ForeignPlacement`] makes a [`Placement`](crate::placement::Placement) of a
//!   [`BatchPlacement`]. It asks for the pages that the host will write next, as far as the layer
//!   knows them, and drops answers that a cleaning or a trim may have changed. The decisions equal
//!   those of asking page by page.
//! * [`ForeignVictim`] makes a [`Victim`](crate::victim::Victim) of a [`BatchVictim`].
//! * [`abi`] makes both from tables of C functions.
//!
//! After an error a policy is not called again. The error goes to [`Report`], and the driver of the
//! layer stops it.

pub mod abi;
mod placement;
mod victim;

use alloc::{boxed::Box, format, string::String, sync::Arc};
use core::{error::Error, fmt};

pub use placement::{BatchPlacement, ForeignPlacement, NO_STREAM, PlacementShape};
pub use victim::{BatchVictim, Columns, ForeignVictim, VictimShape, least};

use crate::Context;

/// The error of a policy.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Receives the failure of a policy.
pub trait Report: Send + Sync {
    /// The policy failed. Its answers from here on are substitutes.
    fn failed(&self, failure: Failure);
}

/// Creates a foreign policy for each run.
pub trait Maker: Send + Sync {
    /// Name in results.
    fn name(&self) -> &str;

    /// Number of streams of the placement; `None` for a victim policy.
    fn streams(&self) -> Option<u8>;

    /// Creates a placement for a device.
    ///
    /// # Errors
    /// Those of the policy.
    fn placement(&self, context: &Context) -> Result<Box<dyn BatchPlacement>, Failure>;

    /// Creates a victim policy for a bank of a device.
    ///
    /// # Errors
    /// Those of the policy.
    fn victim(&self, context: &Context, bank: u32) -> Result<Box<dyn BatchVictim>, Failure>;
}

/// An invalid answer of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(pub String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Wrong {}

/// A policy that is not called again after its first failure.
struct Guarded<T> {
    name: String,
    policy: T,
    report: Arc<dyn Report>,
    failed: bool,
}

impl<T> Guarded<T> {
    /// Calls the policy, unless it has failed before.
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

/// The error for an invalid answer of `name.method`.
fn wrong(name: &str, method: &str, what: fmt::Arguments<'_>) -> Failure {
    Box::new(Wrong(format!("{name}.{method} {what}")))
}
