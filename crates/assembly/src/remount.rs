//! A chip that is in use, mounted by other policies than it was served with.

use thermocline_ftl::{Mount, Recovery};
use thermocline_policy::trigger::Watermarks;

use crate::{AnyLayer, AssemblyError, Device, PolicySpec, ServeOptions, Store, chips::Chip};

/// Everything needed to mount a chip again.
#[derive(Clone, Debug)]
pub struct Remounter {
    device: Device,
    logical_pages: u32,
    options: ServeOptions,
}

impl Remounter {
    pub(crate) const fn new(device: Device, logical_pages: u32, options: ServeOptions) -> Self {
        Self { device, logical_pages, options }
    }

    /// The policy it would be mounted by.
    #[must_use]
    pub const fn policy(&self) -> &PolicySpec {
        &self.options.policy
    }

    /// The watermarks that were asked for.
    #[must_use]
    pub const fn asked(&self) -> Watermarks {
        self.options.watermarks
    }

    /// The watermarks it would be mounted with, in each bank.
    ///
    /// # Errors
    /// Those of [`Store::plan`].
    pub fn watermarks(&self) -> Result<Watermarks, AssemblyError> {
        Ok(self.store().plan()?.watermarks)
    }

    /// A remounter with another policy and other watermarks. Idle work and dead data stay.
    ///
    /// # Errors
    /// Those of [`Store::plan`]: the device has no room for it.
    pub fn with(&self, policy: PolicySpec, watermarks: Watermarks) -> Result<Self, AssemblyError> {
        let PolicySpec { idle, dead_data, .. } = self.options.policy.clone();
        let before = self.options.policy.layer;
        let policy = policy.on(before)?;
        if policy.layer != before {
            return Err(AssemblyError::Usage(format!(
                "policy {} is of another kind of layer than {}, which the chip was formatted for; take one \
                 of {}",
                policy.name,
                self.options.policy.name,
                before.name()
            )));
        }
        let policy = PolicySpec { idle, dead_data, ..policy };
        let options = ServeOptions { policy, watermarks, ..self.options.clone() };
        let changed = Self { options, ..self.clone() };
        changed.store().plan().map_err(|e| e.of_policy(&changed.options.policy.name))?;
        Ok(changed)
    }

    /// Mounts a chip that was unmounted in order, if everything on it is found again and it takes writes.
    ///
    /// # Errors
    /// Those of [`Store::mount`]; [`AssemblyError::Failed`] where something is not found, or where too few
    /// blocks are good for this policy.
    pub fn mount(&self, chip: Chip) -> Result<(AnyLayer<Chip>, Recovery), AssemblyError> {
        let policy = &self.options.policy.name;
        let store = self.store();
        store.fits_open_blocks(&chip)?;
        let mounted = store.mount(chip, Mount::Quick).map_err(|e| e.of_policy(policy));
        let (layer, recovery) = mounted?;
        if !recovery.clean || !recovery.lost.is_empty() {
            return Err(AssemblyError::Failed(
                "not everything that was written could be read back; try it again, and see `check`"
                    .into(),
            ));
        }
        if let Some(why) = layer.inspect().end_of_life() {
            return Err(AssemblyError::Failed(format!(
                "by policy {policy} the chip would take no writes ({why}); take one with fewer open blocks"
            )));
        }
        Ok((layer, recovery))
    }

    fn store(&self) -> Store {
        Store {
            watermarks: self.options.watermarks,
            time_scale_ns: self.options.time_scale_ns,
            seed: self.options.seed,
            separate: self.options.separate.clone(),
            map_cache: self.options.map_cache,
            ..Store::new(self.device.clone(), self.options.policy.clone(), self.logical_pages)
        }
    }
}
