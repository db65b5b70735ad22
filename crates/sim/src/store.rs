//! A layer over a chip that holds data, put together as a simulation of the same device and policy
//! would be: the same watermarks, the same time scale, the same seeds. What the simulator counts for a
//! trace is therefore what a server counts that gets the same requests.

use thermocline_flash::Flash;
use thermocline_ftl::{
    Layer, PageMapped,
    dead::Watched,
    page_mapped::{Format, Mount, MountError, Recovery},
};
use thermocline_policy::{
    dead::DeadData,
    placement::{self, Placement},
    preset::LayerKind,
    trigger::Watermarks,
};
use thermocline_trace::generate::WorkloadSpec;

use crate::{Device, Fill, Input, Job, PolicySpec, SimError, Workload, setup::Setup};

/// A layer whose chip is known only when the program runs.
pub type AnyLayer<C> = Box<dyn Layer<Chip = C> + Send>;

/// What a layer over a chip that holds data is made of.
#[derive(Clone, Debug)]
pub struct Store {
    /// The device, with the chip's own geometry.
    pub device: Device,
    /// The policies.
    pub policy: PolicySpec,
    /// Logical pages it exports.
    pub logical_pages: u32,
    /// When cleaning starts and stops, in each bank.
    pub watermarks: Watermarks,
    /// The time scale of age transformations, in nanoseconds; by default 363 erase times.
    pub time_scale_ns: Option<f64>,
    /// The seed.
    pub seed: u64,
}

impl Store {
    /// A store with every choice at its default.
    #[must_use]
    pub fn new(device: Device, policy: PolicySpec, logical_pages: u32) -> Self {
        let watermarks = Watermarks::default();
        Self { device, policy, logical_pages, watermarks, time_scale_ns: None, seed: 1 }
    }

    /// Makes an empty store of a chip; what it held is lost.
    ///
    /// # Errors
    /// [`SimError::Usage`] if the policy keeps nothing on a chip, [`SimError::Input`] if the device has
    /// not enough room for it, [`SimError::Failed`] if the chip fails.
    pub fn format<C: Flash + Send + 'static>(
        &self,
        chip: C,
        format: &Format,
    ) -> Result<AnyLayer<C>, SimError> {
        self.make(chip, |assembly| {
            let Assembly { chip, placement, setup, store } = assembly;
            let victims = setup.victims(&store.policy, store.seed);
            let config = setup.page_mapped(&store.policy);
            PageMapped::format(chip, placement, victims, config, format)
                .map(|layer| (layer, ()))
        })
        .map(|(layer, ())| layer)
    }
}
