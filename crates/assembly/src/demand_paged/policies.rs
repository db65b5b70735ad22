//! The policies that need no memory per page, by the names that all others have.

use thermocline_embedded::policy::{
    Cat, CostBenefit, Dac, Greedy, HotCold, OneStream, Placement, UpdateInterval, Victim,
};
use thermocline_policy::preset::LayerKind;

use crate::{AssemblyError, PolicySpec, policy::Call};

const VICTIMS: &str = "greedy, cost-benefit, cat";
const PLACEMENTS: &str = "one-stream, sep-gc, update-interval, dac";

/// The two halves of a policy as the demand-paged layer takes them.
pub type Halves = (Box<dyn Victim + Send>, Box<dyn Placement + Send>);

/// The policy's victim and placement for `place`, which asks for them.
///
/// # Errors
/// [`AssemblyError::Usage`], where it cannot run without memory per page.
pub fn halves(policy: &PolicySpec, place: &str) -> Result<Halves, AssemblyError> {
    if !matches!(policy.layer, LayerKind::PageMapped | LayerKind::DemandPaged) {
        return Err(AssemblyError::Usage(format!(
            "{place} is for policies that map pages; {} maps blocks",
            policy.name
        )));
    }
    let refused = |axis: &str, call: &Call, known: &str| {
        AssemblyError::Usage(format!(
            "{place} is for policies without memory per page: {axis} {known}; {} has {}",
            policy.name,
            call.show()
        ))
    };
    let victim: Box<dyn Victim + Send> = match plain(&policy.victim) {
        Some("greedy") => Box::new(Greedy),
        Some("cost-benefit") => Box::<CostBenefit>::default(),
        Some("cat") => Box::<Cat>::default(),
        _ => return Err(refused("‹victim›", &policy.victim, VICTIMS)),
    };
    let placement: Box<dyn Placement + Send> = match plain(&policy.placement) {
        Some("one-stream") => Box::new(OneStream),
        Some("sep-gc") => Box::new(HotCold),
        Some("update-interval") => Box::new(UpdateInterval),
        Some("dac") => Box::new(Dac::<4>),
        _ => return Err(refused("‹placement›", &policy.placement, PLACEMENTS)),
    };
    Ok((victim, placement))
}

/// The name of a policy without arguments.
fn plain(call: &Call) -> Option<&str> {
    call.args.0.is_empty().then_some(call.name.as_str())
}
