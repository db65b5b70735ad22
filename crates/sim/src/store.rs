//! A layer over a chip that holds data, put together as a simulation of the same device and policy
//! would be: the same watermarks, the same time scale, the same seeds. What the simulator counts for a
//! trace is therefore what a server counts that gets the same requests.

use thermocline_flash::Chip;
use thermocline_fswatch::Watched;
use thermocline_ftl::{Format, Layer, Mount, MountError, PageMapped, Recovery};
use thermocline_policy::{
    dead::DeadData,
    placement::{self, Placement},
    preset::LayerKind,
    trigger::Watermarks,
};
use thermocline_trace::generate::PatternSpec;

use crate::{Device, Fill, Input, Job, PolicySpec, SimError, Workload, setup::Setup};

/// A layer of a kind that is known only when the program runs.
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

    /// Whether the device has room for it, without a chip.
    ///
    /// # Errors
    /// Those of [`format`](Self::format).
    pub fn check(&self) -> Result<(), SimError> {
        self.setup().map(|_| ())
    }

    /// Makes an empty store of a chip; what it held is lost.
    ///
    /// # Errors
    /// [`SimError::Usage`] if the policy keeps nothing on a chip, [`SimError::Input`] if the device has
    /// no room for it, [`SimError::Failed`] if the chip fails.
    pub fn format<C: Chip + Send + 'static>(
        &self,
        chip: C,
        format: Format,
    ) -> Result<AnyLayer<C>, SimError> {
        self.make(chip, How::Format(format)).map(|(layer, _)| layer)
    }

    /// Finds again what a chip holds. Nothing is written before the first change.
    ///
    /// # Errors
    /// Those of [`format`](Self::format), and [`SimError::Input`] if the chip does not hold a store that
    /// can be read.
    pub fn mount<C: Chip + Send + 'static>(
        &self,
        chip: C,
        how: Mount,
    ) -> Result<(AnyLayer<C>, Recovery), SimError> {
        let (layer, recovery) = self.make(chip, How::Mount(how))?;
        Ok((layer, recovery.expect("a mount tells what it found")))
    }

    /// Finds what a chip holds of which no head of the index log can be read, from its pages alone. The
    /// next unmount writes heads again, with this format.
    ///
    /// # Errors
    /// Those of [`mount`](Self::mount).
    pub fn salvage<C: Chip + Send + 'static>(
        &self,
        chip: C,
        format: Format,
    ) -> Result<(AnyLayer<C>, Recovery), SimError> {
        let (layer, recovery) = self.make(chip, How::Salvage(format))?;
        Ok((layer, recovery.expect("a mount tells what it found")))
    }

    /// What is to be worked out, as for a simulation.
    fn setup(&self) -> Result<Setup, SimError> {
        let policy = &self.policy;
        if policy.layer != LayerKind::PageMapped || policy.sees_future() {
            return Err(SimError::Usage(format!(
                "policy {} cannot keep data on a chip: {}; take a page-mapped one, such as dac",
                policy.name,
                match policy.layer {
                    LayerKind::PageMapped => "it has to know the future",
                    LayerKind::Nftl => "its layer loses trims when power fails",
                    LayerKind::InPlace =>
                        "a page that is overwritten in place is lost with the power",
                }
            )));
        }
        // The input decides nothing here but the clock, and that is left to the requests.
        let nothing = Workload {
            spec: "uniform".parse::<PatternSpec>().expect("a workload of that name exists"),
            bytes: Some(0),
            request_bytes: None,
            interarrival_ns: None,
            read_share: 0.0,
        };
        let job = Job {
            fill: Fill::Nothing,
            logical_pages: Some(self.logical_pages),
            time_scale_ns: self.time_scale_ns,
            watermarks: self.watermarks,
            seed: self.seed,
            ..Job::new(self.device.clone(), policy.clone(), Input::Workload(&nothing))
        };
        Setup::of(&job)
    }

    fn make<C: Chip + Send + 'static>(
        &self,
        chip: C,
        how: How,
    ) -> Result<(AnyLayer<C>, Option<Recovery>), SimError> {
        let (policy, setup) = (&self.policy, self.setup()?);
        let context = setup.context(self.seed, None);
        let maker = Maker { store: self, setup: &setup, chip, how };
        placement::dispatch(&policy.placement.name, &policy.placement.args, &context, maker)
            .expect("names were checked when the policy was read")
            .map_err(|e| SimError::Usage(format!("placement {}: {e}", policy.placement.name)))?
    }
}

/// Lets an empty store begin as a simulation of it does: with an open block for each stream. One that
/// holds data goes on as it was left, without this.
///
/// # Errors
/// [`SimError::Failed`] if the chip fails.
pub fn begin<C>(layer: &mut AnyLayer<C>, now: u64) -> Result<(), SimError> {
    layer.upkeep().filled(now).map_err(|e| SimError::of_layer(e, 0))
}

/// What is to be done with a chip.
enum How {
    Format(Format),
    Mount(Mount),
    Salvage(Format),
}

struct Maker<'a, C> {
    store: &'a Store,
    setup: &'a Setup,
    chip: C,
    how: How,
}

impl<C: Chip + Send + 'static> placement::Visitor for Maker<'_, C> {
    type Output = Result<(AnyLayer<C>, Option<Recovery>), SimError>;

    fn visit<P: Placement + 'static>(self, placement: P) -> Self::Output {
        let Self { store, setup, chip, how } = self;
        let victims = setup.victims(&store.policy, store.seed);
        let config = setup.page_mapped(&store.policy);
        let (layer, recovery) = match how {
            How::Format(format) => (
                PageMapped::format(chip, placement, victims, config, format).map_err(of_mount)?,
                None,
            ),
            How::Salvage(format) => {
                let (layer, recovery) =
                    PageMapped::salvage(chip, placement, victims, config, format)
                        .map_err(of_mount)?;
                (layer, Some(recovery))
            }
            How::Mount(how) => {
                let (layer, recovery) =
                    PageMapped::mount(chip, placement, victims, config, how).map_err(of_mount)?;
                (layer, Some(recovery))
            }
        };
        let layer: AnyLayer<C> = match store.policy.build_dead_data()? {
            DeadData::Fsaf(fsaf) => {
                let layer: AnyLayer<C> = Box::new(layer);
                Box::new(Watched::new(layer, setup.watch(&fsaf)))
            }
            DeadData::None | DeadData::Trim => Box::new(layer),
        };
        Ok((layer, recovery))
    }
}

fn of_mount(error: MountError) -> SimError {
    SimError::Input(error.to_string())
}
