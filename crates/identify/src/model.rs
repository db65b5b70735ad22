//! A candidate drive and its simulation.

use thermocline_flash::{Drive, Profile};
use thermocline_sim::{Device, Fill, Job};

use crate::{Family, MeasuredRun, RunInput};

/// Minimum number of pages of a scaled-down superblock that behaves like the real one.
pub(crate) const LEAST_PAGES: u32 = 32;

/// A hypothesis about a drive.
#[derive(Clone, Debug)]
pub struct Model {
    /// The family of its translation layer.
    pub family: Family,
    /// Flash over exported capacity, minus 1.
    pub over_provisioning: f64,
    /// Number of superblocks.
    pub superblocks: u32,
}

/// Known properties of the drive.
#[derive(Clone, Debug)]
pub(crate) struct Drives {
    /// Times, rules, page size.
    pub base: Profile,
    /// Bytes that the host can address.
    pub exported_bytes: u64,
    /// Number of pages that a simulated page stands for.
    pub scale: u32,
    /// The seed of all simulations.
    pub seed: u64,
}

impl Drives {
    /// Number of bytes that a simulated page stands for.
    pub(crate) fn page_bytes(&self) -> f64 {
        f64::from(self.base.geometry.page_size) * f64::from(self.scale)
    }

    /// Number of pages in a scaled-down superblock.
    pub(crate) fn pages(&self, model: &Model) -> u32 {
        let all = self.exported_bytes as f64 / self.page_bytes() * (1.0 + model.over_provisioning);
        (all / f64::from(model.superblocks)).round() as u32
    }

    /// Maximum number of superblocks that are not too small at this scale.
    pub(crate) fn most_superblocks(&self) -> u32 {
        (self.exported_bytes as f64 / self.page_bytes() / f64::from(LEAST_PAGES)) as u32
    }

    /// The profile of a whole drive.
    pub(crate) fn profile(&self, model: &Model, overhead: f64) -> Profile {
        let mut profile = self.base.clone();
        let page = f64::from(profile.geometry.page_size);
        let all = self.exported_bytes as f64 / page * (1.0 + model.over_provisioning);
        let geometry = &mut profile.geometry;
        (geometry.banks, geometry.channels) = (1, 1);
        (geometry.header_pages, geometry.system_blocks) = (0, 0);
        geometry.blocks_per_bank = model.superblocks;
        geometry.pages_per_block = (all / f64::from(model.superblocks)).round() as u32;
        profile.drive = Some(Drive {
            exported_bytes: self.exported_bytes,
            overhead,
            victim: model.family.policy.victim.show(),
            placement: model.family.policy.placement.show(),
        });
        profile
    }

    /// A job on a scaled-down drive; `None` if its superblocks would be too small.
    pub(crate) fn job<'a>(
        &self,
        model: &Model,
        run: &'a MeasuredRun,
        state: Fill,
    ) -> Option<Job<'a>> {
        let pages = self.pages(model);
        if pages < LEAST_PAGES {
            return None;
        }
        let mut profile = self.profile(model, 0.0);
        profile.geometry.pages_per_block = pages * self.scale;
        let device = Device { profile, fixed_capacity: true, over_provisioning: None };
        let device = device.scaled(self.scale).ok()?;
        let all = f64::from(pages) * f64::from(model.superblocks);
        // Gives exactly this over-provisioning although the pages of a superblock are rounded.
        let logical = (all / (1.0 + model.over_provisioning)).round() as u32;
        let share = |bytes: u64| bytes as f64 / self.exported_bytes as f64;
        let used = run.used.map(|bytes| (share(bytes).min(1.0) * f64::from(logical)) as u64);
        let scale = match run.input {
            RunInput::Workload(_) => self.scale,
            RunInput::Trace(_) => 1,
        };
        Some(Job {
            fill: state,
            over_provisioning: model.over_provisioning,
            logical_pages: Some(logical),
            used,
            scale,
            wrap: matches!(run.input, RunInput::Trace(_)),
            history: true,
            seed: self.seed,
            ..Job::new(device, model.family.policy.clone(), run.input(self.page_bytes()))
        })
    }
}
