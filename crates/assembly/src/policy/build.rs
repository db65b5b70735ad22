//! The axes of a policy, built from their names.

use thermocline_flash::Geometry;
use thermocline_policy::{
    Context, ParamError,
    dead::{DeadData, Fsaf},
    dftl::Dftl,
    idle::{self, Idle},
    nftl::Nftl,
    params::NoParams,
    placement,
    preset::LayerKind,
    victim,
};

use super::{Call, PolicySpec};
use crate::AssemblyError;

impl PolicySpec {
    /// Builds the idle work.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], naming the argument.
    pub fn build_idle(&self) -> Result<Option<Box<dyn Idle>>, AssemblyError> {
        let Some(call) = &self.idle else { return Ok(None) };
        let entry = idle::find(&call.name).expect("names were checked when the policy was read");
        (entry.build)(&call.args).map(Some).map_err(|e| usage("idle", call, &e))
    }

    /// Whom the layer believes, built.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], naming the argument.
    pub fn build_dead_data(&self) -> Result<DeadData, AssemblyError> {
        let call = &self.dead_data;
        match call.name.as_str() {
            "fsaf" => Fsaf::build(&call.args).map(DeadData::Fsaf),
            name => NoParams::read(&call.args).map(|_| match name {
                "none" => DeadData::None,
                _ => DeadData::Trim,
            }),
        }
        .map_err(|e| usage("dead data", call, &e))
    }

    /// The parameters of the block-mapped layer.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], naming the argument.
    pub fn build_nftl(&self) -> Result<Nftl, AssemblyError> {
        let params = Nftl::read(&self.layer_args)
            .map_err(|e| AssemblyError::Usage(format!("policy {}: {e}", self.name)))?;
        if params.start == 0 || params.stop < params.start || params.stop >= 100 {
            return Err(AssemblyError::Usage(format!(
                "policy {}: 0 < start <= stop < 100 must hold, they are percentages of free blocks",
                self.name
            )));
        }
        Ok(params)
    }

    /// The parameters of DFTL.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], naming the argument.
    pub fn build_dftl(&self) -> Result<Dftl, AssemblyError> {
        let params = Dftl::read(&self.layer_args)
            .map_err(|e| AssemblyError::Usage(format!("policy {}: {e}", self.name)))?;
        if params.protected > 100 {
            return Err(AssemblyError::Usage(format!(
                "policy {}: protected is a percentage, at most 100",
                self.name
            )));
        }
        Ok(params)
    }

    /// The most blocks that it keeps open at a time in each bank; on the fullest possible device if that matters. The
    /// oracle's number is the highest.
    #[must_use]
    pub fn open_blocks(&self, geometry: &Geometry) -> u32 {
        if let Some(own) = &self.own_placement {
            return u32::from(own.0.streams().unwrap_or(1)) + u32::from(self.read_only_separation);
        }
        struct Count;
        impl placement::Visitor for Count {
            type Output = u32;
            fn visit<P: placement::Placement + 'static>(self, placement: P) -> u32 {
                u32::from(placement.streams())
            }
        }
        // The number depends on the parameters and the number of blocks; for one policy also on the spare space.
        // Blocks of one page mean no spare space, and cost little.
        let (blocks, banks) = (geometry.blocks(), geometry.banks);
        let smallest = Context { blocks, banks, ..Context::smallest() };
        let context = if self.takes_what_there_is() {
            smallest
        } else {
            Context { logical_pages: blocks, pages_per_block: 1, ..smallest }
        };
        let count =
            placement::dispatch(&self.placement.name, &self.placement.args, &context, Count);
        count.and_then(Result::ok).unwrap_or(1) + u32::from(self.read_only_separation)
    }

    /// Builds the axes for the smallest of devices, so that wrong arguments show before a run.
    pub(super) fn check_args(&self) -> Result<(), AssemblyError> {
        struct Nothing;
        impl placement::Visitor for Nothing {
            type Output = ();
            fn visit<P: placement::Placement + 'static>(self, _: P) {}
        }
        let context = Context::smallest();
        let (victim, placement) = (&self.victim, &self.placement);
        if self.own_victim.is_none()
            && let Some(Err(e)) =
                victim::find(&victim.name).map(|entry| (entry.build)(&victim.args, &context))
        {
            return Err(usage("victim policy", victim, &e));
        }
        self.build_idle()?;
        self.build_dead_data()?;
        if self.layer == LayerKind::Nftl {
            self.build_nftl()?;
            self.check_pairs()?;
        }
        if self.layer == LayerKind::Dftl {
            self.build_dftl()?;
        }
        if self.own_placement.is_some() {
            return Ok(());
        }
        match placement::dispatch(&placement.name, &placement.args, &context, Nothing) {
            Some(Err(e)) => Err(usage("placement", placement, &e)),
            _ => Ok(()),
        }
    }

    /// NFTL chooses pairs of blocks, by one of two rules.
    fn check_pairs(&self) -> Result<(), AssemblyError> {
        match self.victim.name.as_str() {
            "greedy" | "cost-benefit" if self.victim.args.0.is_empty() => Ok(()),
            _ => Err(AssemblyError::Usage(format!(
                "policy {}: NFTL chooses pairs of blocks by `greedy` or `cost-benefit`, without \
                 arguments, and not by `{}`",
                self.name,
                self.victim.show()
            ))),
        }
    }
}

pub(super) fn usage(axis: &str, call: &Call, error: &ParamError) -> AssemblyError {
    AssemblyError::Usage(format!("{axis} {}: {error}", call.name))
}
