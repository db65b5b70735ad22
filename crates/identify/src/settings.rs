//! The settings of a search.

use thermocline_flash::Profile;

use crate::{Family, model::Drives};

/// The settings of a search.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes that the host can address.
    pub exported_bytes: u64,
    /// Times, endurance, page size.
    pub base: Profile,
    /// Families to try.
    pub families: Vec<Family>,
    /// Number of pages that a simulated page stands for; see [`scale`].
    pub scale: u32,
    /// The drive's overhead, if it is known.
    pub overhead: Option<f64>,
    /// Whether to look for the next measurement.
    pub next: bool,
    /// Number of threads; 0 means one per core.
    pub threads: usize,
    /// The seed of all simulations.
    pub seed: u64,
}

/// Number of pages that a simulated page stands for, so that the simulated drive has about `pages`
/// pages.
#[must_use]
pub fn scale(exported_bytes: u64, page_size: u32, pages: u64) -> u32 {
    u32::try_from(exported_bytes / u64::from(page_size) / pages).unwrap_or(u32::MAX).max(1)
}

impl Settings {
    /// The drives that it tries.
    pub(crate) fn drives(&self) -> Drives {
        Drives {
            base: self.base.clone(),
            exported_bytes: self.exported_bytes,
            scale: self.scale,
            seed: self.seed,
        }
    }
}
