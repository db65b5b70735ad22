//! The result of a search.

use serde::Serialize;
use thermocline_flash::{Profile, SlcCache};

use crate::{
    Model, Next, Settings,
    curve::{Curve, Distance},
};

/// The fit of one run.
#[derive(Clone, Debug, Serialize)]
pub struct RunFit {
    /// Its distance from the measurement.
    #[serde(flatten)]
    pub distance: Distance,
    /// The initial state of the drive, if it was searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// The simulated curve, without the overhead.
    #[serde(skip)]
    pub curve: Curve,
}

/// A model and its fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The model.
    pub model: Model,
    /// Its overhead; `None` if it cannot be determined.
    pub overhead: Option<f64>,
    /// The fit of each run.
    pub runs: Vec<RunFit>,
    /// The root mean square of the distances of all runs.
    pub distance: f64,
}

/// The best model of a family.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// The fit.
    pub fit: Fit,
    /// Range of over-provisioning that is as good.
    pub over_provisioning: Option<(f64, f64)>,
    /// Numbers of superblocks tried that are as good.
    pub superblocks: Vec<u32>,
    /// Whether it cannot be distinguished from the best.
    pub as_good: bool,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Identified {
    /// The families, the best first.
    pub ranking: Vec<Ranked>,
    /// Number of simulations.
    pub simulations: usize,
    /// Number of pages that a page stood for in the last of them.
    pub scale: u32,
    /// Relative change of write amplification when superblocks have twice the pages: the error due
    /// to the scale.
    pub of_scale: Option<f64>,
    /// How well each run distinguishes families: the range of their write amplification in its last
    /// quarter.
    pub tells: Vec<f64>,
    /// Measurements that would distinguish the remaining models, the best first.
    pub next: Vec<Next>,
    /// The SLC cache that was assumed because the drive programs each page twice, or that it is known to have.
    pub slc_cache: Option<SlcCache>,
    /// Whether the search was stopped early.
    pub stopped: bool,
}

impl Identified {
    /// The best family.
    #[must_use]
    pub fn best(&self) -> &Ranked {
        &self.ranking[0]
    }

    /// The drive as a profile.
    #[must_use]
    pub fn profile(&self, settings: &Settings) -> Profile {
        let fit = &self.best().fit;
        let mut drives = settings.drives();
        drives.base.slc_cache = self.slc_cache;
        drives.profile(&fit.model, fit.overhead.unwrap_or(0.0))
    }
}
