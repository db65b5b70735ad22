//! A fully resolved layer on a device, and its construction.
//!
//! This code alone builds simulations and stores on chips that hold data, with the same watermarks,
//! time scale and seeds: a server's counters for a trace equal the simulator's.

use std::{fmt, sync::Arc};

use thermocline_flash::Chip;
use thermocline_fswatch::{self as fswatch, Watched};
use thermocline_ftl::{Config, InPlace, Layer, Nftl, PageMapped, nftl};
use thermocline_policy::{
    Context, Future,
    dead::{DeadData, Fsaf, Guards},
    foreign::{ForeignPlacement, ForeignVictim},
    placement::{self, Placement},
    preset::LayerKind,
    trigger::Watermarks,
    victim::{self, Onlooker, Told, Victim},
    wear::{Swap, WearLeveling},
};

use crate::{AssemblyError, Device, PolicySpec, Room, policy::Faults};

/// With grouped erases, one in `GROUP_SHARE` spare blocks of a bank stays free, at most `GROUP_MOST`.
const GROUP_SHARE: u32 = 8;
const GROUP_MOST: u32 = 64;

/// A layer that is ready to be built on a chip of its device.
#[derive(Clone, Debug)]
pub struct LayerPlan {
    /// The device.
    pub device: Device,
    /// The policies.
    pub policy: PolicySpec,
    /// Logical pages it exports.
    pub logical_pages: u32,
    /// When cleaning starts and stops, in each bank.
    pub watermarks: Watermarks,
    /// Free blocks in each bank that are made in idle time.
    pub idle_free: u32,
    /// Blocks of a bank beside those its share of the data takes.
    pub spare_blocks: u32,
    /// The time scale of age transformations, in nanoseconds.
    pub time_scale_ns: f64,
    /// The seed.
    pub seed: u64,
    /// Receives the chosen victims.
    pub onlooker: Onlooking,
    /// Errors of user-defined policies.
    pub faults: Faults,
}

/// Whoever looks over a victim policy's shoulder, if anybody does.
#[derive(Clone, Default)]
pub struct Onlooking(pub Option<Arc<dyn Onlooker>>);

impl fmt::Debug for Onlooking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Onlooking").field(&self.0.is_some()).finish()
    }
}

/// Takes a layer whose type is known only when the program runs.
pub trait LayerVisitor<C> {
    /// The visitor's result.
    type Output;

    /// Takes the layer.
    fn visit<L: Layer<Chip = C> + Send + 'static>(self, layer: L) -> Self::Output;
}

impl LayerPlan {
    /// Plans a layer with the given logical pages, which must fit on the device.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], naming the argument of an idle policy.
    pub fn new(
        device: Device,
        policy: PolicySpec,
        room: &Room,
        logical_pages: u32,
        time_scale_ns: f64,
        seed: u64,
    ) -> Result<Self, AssemblyError> {
        let watermarks = room.watermarks;
        let spare_blocks = room.spare_blocks(&device.profile.geometry, logical_pages);
        let idle_free = policy.build_idle()?.map_or(0, |idle| {
            idle.enough_free().unwrap_or_else(|| watermarks.high + 1 + spare_blocks / 16)
        });
        Ok(Self {
            device,
            policy,
            logical_pages,
            watermarks,
            idle_free,
            spare_blocks,
            time_scale_ns,
            seed,
            onlooker: Onlooking::default(),
            faults: Faults::default(),
        })
    }

    /// Its watermarks raised by an eighth of the spare blocks, so that one sync covers many erases. Garbage
    /// collection loses those blocks.
    #[must_use]
    pub fn grouped(&self) -> Watermarks {
        let Watermarks { reserve, low, high } = self.watermarks;
        let free = (self.spare_blocks / GROUP_SHARE).min(GROUP_MOST);
        let low = low.max(free);
        Watermarks { reserve, low, high: high.max(low) }
    }

    /// Builds the layer on an erased chip. A placement that uses the future gets it.
    ///
    /// # Errors
    /// [`AssemblyError`], if an argument is wrong or the chip has no room.
    pub fn build<C: Chip + Send + 'static, V: LayerVisitor<C>>(
        &self,
        chip: C,
        future: Option<Arc<Future>>,
        visitor: V,
    ) -> Result<V::Output, AssemblyError> {
        let of_layer = |e| AssemblyError::of_layer(e, 0);
        match self.policy.layer {
            LayerKind::InPlace => {
                let layer = InPlace::new(chip, self.logical_pages).map_err(of_layer)?;
                self.watched(layer, visitor)
            }
            LayerKind::Nftl => {
                let layer = Nftl::new(chip, self.nftl()?).map_err(of_layer)?;
                self.watched(layer, visitor)
            }
            // It keeps its map on a chip that holds data: `demand_paged` builds it.
            LayerKind::DemandPaged => Err(AssemblyError::Usage(format!(
                "policy {}: the demand-paged layer is simulated with ‹map-cache›",
                self.policy.name
            ))),
            LayerKind::Dftl => Err(AssemblyError::Usage(format!(
                "policy {} keeps its map on the chip: ‹map-cache SIZE› is the RAM for entries of it",
                self.policy.name
            ))),
            LayerKind::PageMapped => {
                self.with_placement(future, OnErased { plan: self, chip, visitor })?
            }
        }
    }

    /// Hands the placement to a visitor.
    pub(crate) fn with_placement<V: placement::Visitor>(
        &self,
        future: Option<Arc<Future>>,
        visitor: V,
    ) -> Result<V::Output, AssemblyError> {
        let call = &self.policy.placement;
        let context = self.context(self.seed, future);
        if let Some(own) = &self.policy.own_placement {
            let report = self.faults.report();
            let name = own.0.name();
            let made = own.0.placement(&context).and_then(|placement| {
                let pages = context.logical_pages;
                ForeignPlacement::new(name, placement, pages, Arc::clone(&report))
            });
            return match made {
                Ok(placement) => Ok(visitor.visit(placement)),
                Err(failure) => {
                    let text = failure.to_string();
                    report.failed(failure);
                    Err(AssemblyError::Failed(text))
                }
            };
        }
        placement::dispatch(&call.name, &call.args, &context, visitor)
            .expect("names were checked when the policy was read")
            .map_err(|e| AssemblyError::Usage(format!("placement {}: {e}", call.name)))
    }

    /// Wraps a layer in the detection of dead data, if the policy wants it.
    pub(crate) fn watched<C: Chip + 'static, V: LayerVisitor<C>>(
        &self,
        layer: impl Layer<Chip = C> + Send + 'static,
        visitor: V,
    ) -> Result<V::Output, AssemblyError> {
        Ok(match self.policy.build_dead_data()? {
            DeadData::Fsaf(fsaf) => {
                // A watcher for every kind of layer would double the program; a watched run is not
                // about speed.
                let layer: Box<dyn Layer<Chip = C> + Send> = Box::new(layer);
                visitor.visit(Watched::new(layer, self.watch(&fsaf)))
            }
            DeadData::None | DeadData::Trim => visitor.visit(layer),
        })
    }

    fn context(&self, seed: u64, future: Option<Arc<Future>>) -> Context {
        let geometry = &self.device.profile.geometry;
        Context {
            logical_pages: self.logical_pages,
            blocks: geometry.blocks(),
            system_blocks: geometry.system_blocks,
            reserve: self.watermarks.reserve,
            pages_per_block: geometry.data_pages_per_block(),
            banks: geometry.banks,
            bank_assignment: self.policy.bank_assignment,
            time_scale: self.time_scale_ns,
            seed,
            future,
        }
    }

    /// The constructor of each bank's victim policy.
    pub fn victims(&self) -> impl Fn(u32) -> Box<dyn Victim> {
        let call = &self.policy.victim;
        let listed =
            || victim::find(&call.name).expect("names were checked when the policy was read");
        move |bank| {
            let context = self.context(self.seed.wrapping_add(bank.into()), None);
            let victim: Box<dyn Victim> = match &self.policy.own_victim {
                Some(own) => Box::new(ForeignVictim::new(
                    own.0.name(),
                    own.0.victim(&context, bank),
                    context.pages_per_block,
                    self.faults.report(),
                )),
                None => {
                    let victim = (listed().build)(&call.args, &context);
                    victim.expect("arguments were checked with the policy")
                }
            };
            match &self.onlooker.0 {
                Some(onlooker) => Box::new(Told::new(victim, Arc::clone(onlooker))),
                None => victim,
            }
        }
    }

    /// The settings of the page-mapped layer.
    #[must_use]
    pub fn page_mapped(&self) -> Config {
        let policy = &self.policy;
        Config {
            logical_pages: self.logical_pages,
            bank_assignment: policy.bank_assignment,
            trigger: policy.trigger,
            pacing: policy.pacing,
            watermarks: self.watermarks,
            batch: policy.batch,
            idle_free: self.idle_free,
            read_only_separation: policy.read_only_separation,
            wear_leveling: if policy.swap {
                WearLeveling::Swap(Swap::for_endurance(self.device.profile.rules.endurance))
            } else {
                WearLeveling::None
            },
        }
    }

    /// The settings of the block-mapped layer.
    pub(crate) fn nftl(&self) -> Result<nftl::Config, AssemblyError> {
        let policy = &self.policy;
        let (params, idle) = (policy.build_nftl()?, policy.build_idle()?);
        let pages = self.device.profile.geometry.data_pages_per_block();
        Ok(nftl::Config {
            logical_pages: self.logical_pages,
            choice: match policy.victim.name.as_str() {
                "cost-benefit" => nftl::Choice::CostBenefit,
                _ => nftl::Choice::Greedy,
            },
            start_percent: params.start,
            stop_percent: params.stop,
            wear_gap: (params.gap > 0).then_some(params.gap),
            free_order: params.free,
            idle_dead_pages: idle
                .as_ref()
                .map_or(0, |idle| idle.least_dead().unwrap_or(pages).max(1)),
            idle_short_percent: idle.as_ref().map_or(0, |idle| idle.short_percent().min(100)),
            reclaim: match policy.build_dead_data()? {
                DeadData::Fsaf(fsaf) => Some(fsaf.reclaim()),
                DeadData::None | DeadData::Trim => None,
            },
        })
    }

    /// The settings of the watcher of a file system's tables.
    fn watch(&self, fsaf: &Fsaf) -> fswatch::Config {
        let guards = match fsaf.guards {
            Guards::Full => fswatch::Guards::FULL,
            Guards::Thesis => fswatch::Guards::THESIS,
        };
        fswatch::Config { guards, ..fswatch::Config::new(self.device.profile.geometry.page_size) }
    }
}

/// Puts the page-mapped layer on an erased chip.
struct OnErased<'a, C, V> {
    plan: &'a LayerPlan,
    chip: C,
    visitor: V,
}

impl<C: Chip + Send + 'static, V: LayerVisitor<C>> placement::Visitor for OnErased<'_, C, V> {
    type Output = Result<V::Output, AssemblyError>;

    fn visit<P: Placement + 'static>(self, placement: P) -> Self::Output {
        let Self { plan, chip, visitor } = self;
        let layer = PageMapped::new(chip, placement, plan.victims(), plan.page_mapped())
            .map_err(|e| AssemblyError::of_layer(e, 0))?;
        plan.watched(layer, visitor)
    }
}
