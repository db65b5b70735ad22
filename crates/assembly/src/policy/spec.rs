//! A full combination of policies, from the user's words.

use thermocline_policy::{
    Args, ParamInfo,
    bank::BankAssignment,
    dead, idle,
    params::NoParams,
    placement::{self, STREAM},
    preset::{self, LayerKind},
    trigger::{Pacing, Trigger},
    victim::{self, SCORE},
};

use super::{Call, Own, build::usage};
use crate::{AssemblyError, demand_paged, names::unknown};

/// A preset's arguments that replace its victim policy and its placement.
const VICTIM: &str = "victim";
const PLACEMENT: &str = "placement";
/// A log with nothing of its own.
pub(super) const PLAIN: &str = "greedy";

/// The policies that others are measured against, and their placements: what both know is the same.
pub const ORACLE: &str = "oracle";
/// See [`ORACLE`].
pub const CALENDAR: &str = "calendar";

/// A full combination: a preset, or axes chosen one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySpec {
    /// Its name in results.
    pub name: String,
    /// The translation layer.
    pub layer: LayerKind,
    /// The victim policy.
    pub victim: Call,
    /// The placement.
    pub placement: Call,
    /// Read-only and writable data in separate blocks.
    pub read_only_separation: bool,
    /// The most and the least erased blocks are swapped near the end of life.
    pub swap: bool,
    /// How pages are spread over banks.
    pub bank_assignment: BankAssignment,
    /// The trigger of garbage collection.
    pub trigger: Trigger,
    /// Whether victims are cleaned in steps.
    pub pacing: Pacing,
    /// Blocks cleaned at once, where survivors are sorted.
    pub batch: u32,
    /// The work between requests that arrive.
    pub idle: Option<Call>,
    /// The source of dead marks.
    pub dead_data: Call,
    /// Parameters of the layer, where it has any.
    pub layer_args: Args,
    /// The victim policy where it is the user's own.
    pub own_victim: Option<Own>,
    /// The placement where it is the user's own.
    pub own_placement: Option<Own>,
}

impl PolicySpec {
    /// A preset, with arguments for either of its axes, or with another victim policy or placement:
    /// `cat(tau=5s)`, `cat(victim=greedy)`. Or a score, which is the victim policy of a plain log, or a stream, which is its
    /// placement.
    /// Then single axes are overridden.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], with the nearest name there is.
    pub fn parse(
        policy: &str,
        victim: Option<&str>,
        placement: Option<&str>,
    ) -> Result<Self, AssemblyError> {
        let mut call = Call::parse(policy)?;
        let shown = call.show();
        let axis = [(SCORE, VICTIM), (STREAM, PLACEMENT)].into_iter().find(|it| it.0 == call.name);
        if let Some((_, axis)) = axis {
            let given =
                std::mem::replace(&mut call, Call { name: PLAIN.into(), args: Args::default() });
            call.set(axis, &given.show());
        }
        if let Some(wish) = preset::IMPOSSIBLE.iter().find(|wish| wish.is_called(&call.name)) {
            return Err(AssemblyError::Usage(format!(
                "policy `{}` cannot be run on flash: it {}",
                call.name, wish.summary
            )));
        }
        let preset = preset::find(&call.name).ok_or_else(|| {
            let known = preset::PRESETS.iter().map(|p| p.name);
            unknown("policy", &call.name, known, "`thermocline policies` lists them")
        })?;
        let (own_victim, own_placement) = (call.take(VICTIM), call.take(PLACEMENT));
        let victim_here = victim.or(own_victim.as_deref());
        let placement_here = placement.or(own_placement.as_deref());
        refuse_axes(preset.layer, &call.name, victim_here, placement_here)?;
        let mut spec = Self {
            name: shown,
            layer: preset.layer,
            victim: Call::parse(preset.victim)?,
            placement: Call::parse(preset.placement)?,
            read_only_separation: preset.read_only_separation,
            swap: preset.swap,
            bank_assignment: preset.bank_assignment,
            trigger: preset.trigger,
            pacing: Pacing::Off,
            batch: preset.batch,
            idle: preset.idle.map(Call::parse).transpose()?,
            dead_data: Call::parse(preset.dead_data)?,
            layer_args: Args::default(),
            own_victim: None,
            own_placement: None,
        };
        for (key, value) in &call.args.0 {
            spec.give(preset, key, value)?;
        }
        for (text, axis) in [(&own_victim, &mut spec.victim), (&own_placement, &mut spec.placement)]
        {
            if let Some(text) = text {
                *axis = Call::parse(text)?;
            }
        }
        if let Some(text) = victim {
            spec.victim = Call::parse(text)?;
            spec.name = format!("{} victim={}", spec.name, spec.victim.show());
        }
        if let Some(text) = placement {
            spec.placement = Call::parse(text)?;
            spec.name = format!("{} placement={}", spec.name, spec.placement.show());
        }
        spec.check_names()?;
        spec.check_args()?;
        Ok(spec)
    }

    /// Gives an argument to all axes of a preset that know it.
    fn give(
        &mut self,
        preset: &preset::Preset,
        key: &str,
        value: &str,
    ) -> Result<(), AssemblyError> {
        let (victim, placement) = preset::axes(preset);
        let mut layer = Call { name: String::new(), args: std::mem::take(&mut self.layer_args) };
        let idle = preset.idle.and(self.idle.as_mut());
        let idle = idle.and_then(|call| Some((&idle::find(&call.name)?.info, call)));
        let dead = dead::find(&self.dead_data.name).map(|info| (info, &mut self.dead_data));
        let layer_info = self.layer.info().map(|info| (info, &mut layer));
        let axes = [(victim, &mut self.victim), (placement, &mut self.placement)]
            .into_iter()
            .chain(idle)
            .chain(dead)
            .chain(layer_info);
        let (mut known, mut taken) = (Vec::new(), false);
        for (info, call) in axes {
            let params = (info.params)();
            if has_param(&params, key) {
                call.set(key, value);
                taken = true;
            }
            known.extend(params.iter().map(|p| p.name));
        }
        self.layer_args = layer.args;
        if taken {
            return Ok(());
        }
        known.dedup();
        Err(AssemblyError::Usage(format!(
            "policy `{}` has no parameter `{key}`; {}",
            preset.name,
            if known.is_empty() {
                "it takes none".to_owned()
            } else {
                format!("it has {}", known.join(", "))
            }
        )))
    }

    /// The policy with other idle work and other news of dead data, where they are named. It keeps
    /// its name.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], with the nearest name there is.
    pub fn with(
        mut self,
        idle: Option<&str>,
        dead_data: Option<&str>,
    ) -> Result<Self, AssemblyError> {
        if let Some(text) = idle {
            let call = Call::parse(text)?;
            self.idle = if call.name == "none" {
                NoParams::read(&call.args).map_err(|e| usage("idle", &call, &e))?;
                None
            } else {
                Some(call)
            };
        }
        if let Some(text) = dead_data {
            self.dead_data = Call::parse(text)?;
        }
        self.check_names()?;
        self.check_args()?;
        Ok(self)
    }

    /// As above, with an optional policy: without one the axes apply to a plain log, by default
    /// greedy and one stream.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], with the nearest name there is.
    pub fn of(
        policy: Option<&str>,
        victim: Option<&str>,
        placement: Option<&str>,
    ) -> Result<Self, AssemblyError> {
        if let Some(policy) = policy {
            return Self::parse(policy, victim, placement);
        }
        let mut spec = Self::parse(PLAIN, victim, placement)?;
        spec.name = format!("{} + {}", spec.victim.show(), spec.placement.show());
        Ok(spec)
    }

    /// The policy on a chip of this kind of layer. A page-mapped policy runs with the map in memory or on the chip; on
    /// the chip, one that switches victim policies by the traffic uses CAT.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], where it needs memory per page and the map is on the chip.
    pub fn on(mut self, layer: LayerKind) -> Result<Self, AssemblyError> {
        if layer == LayerKind::DemandPaged && self.layer == LayerKind::PageMapped {
            if self.victim == Call::parse("adaptive")? {
                self.victim = Call::parse("cat")?;
                self.name = format!("{} victim=cat", self.name);
            }
            demand_paged::halves(&self, "the demand-paged layer")?;
            self.layer = layer;
        }
        Ok(self)
    }

    /// Whether it needs to know what becomes of the pages it writes.
    #[must_use]
    pub fn sees_future(&self) -> bool {
        self.layer == LayerKind::PageMapped && placement::sees_future(&self.placement.name)
    }

    /// Whether it reads the placement hints of writes.
    #[must_use]
    pub fn reads_hints(&self) -> bool {
        self.layer == LayerKind::PageMapped
            && placement::reads_hints(&self.placement.name, &self.placement.args)
    }

    /// Whether it is the oracle's placement without a given number of classes.
    #[must_use]
    pub fn takes_what_there_is(&self) -> bool {
        let asked = self.placement.args.0.iter().any(|(key, _)| key == "classes");
        self.sees_future() && self.placement.name == ORACLE && !asked
    }

    /// Whether it uses the contents of requests.
    #[must_use]
    pub fn wants_contents(&self) -> bool {
        self.dead_data.name == "fsaf"
    }

    fn check_names(&self) -> Result<(), AssemblyError> {
        if self.own_victim.is_none() && victim::find(&self.victim.name).is_none() {
            let known = victim::VICTIMS.iter().map(|v| v.info.name);
            return Err(unknown(
                "victim policy",
                &self.victim.name,
                known,
                "`thermocline policies` lists them",
            ));
        }
        if self.own_placement.is_none() && placement::find(&self.placement.name).is_none() {
            let known = placement::PLACEMENTS.iter().map(|p| p.name);
            return Err(unknown(
                "placement",
                &self.placement.name,
                known,
                "`thermocline policies` lists them",
            ));
        }
        if let Some(call) = self.idle.as_ref().filter(|call| idle::find(&call.name).is_none()) {
            let known = idle::IDLES.iter().map(|i| i.info.name).chain(["none"]);
            return Err(unknown("‹idle›", &call.name, known, "none, timer or slac"));
        }
        if dead::find(&self.dead_data.name).is_none() {
            let known = dead::DEAD_DATA.iter().map(|d| d.name);
            return Err(unknown("‹dead-data›", &self.dead_data.name, known, "none, trim or fsaf"));
        }
        Ok(())
    }
}

/// Refuses axes that the layer does not have.
fn refuse_axes(
    layer: LayerKind,
    policy: &str,
    victim: Option<&str>,
    placement: Option<&str>,
) -> Result<(), AssemblyError> {
    let (what, option) = match (layer, victim, placement) {
        (LayerKind::InPlace, Some(_), _) => {
            ("updates pages in place and chooses neither victims nor blocks", "‹victim›")
        }
        (LayerKind::InPlace, _, Some(_)) => {
            ("updates pages in place and chooses neither victims nor blocks", "‹placement›")
        }
        (LayerKind::Nftl, _, Some(_)) => {
            ("keeps every page in the blocks of its address and places none", "‹placement›")
        }
        (LayerKind::Dftl, _, Some(_)) => {
            ("has a block for data and one for the map, and separates nothing else", "‹placement›")
        }
        _ => return Ok(()),
    };
    Err(AssemblyError::Usage(format!(
        "policy `{policy}` {what}; leave out {option}, or take another policy"
    )))
}

fn has_param(params: &[ParamInfo], key: &str) -> bool {
    params.iter().any(|p| p.name == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_to_the_axes_that_know_them() {
        let spec = PolicySpec::parse("cat(tau=5s, offset=0)", None, None).expect("known");
        assert_eq!(spec.victim.show(), "cat(tau=5s, offset=0)");
        assert_eq!(spec.placement.show(), "fine-grained(tau=5s)");
        let spec = PolicySpec::parse("greedy", None, Some("M6")).expect("known");
        assert_eq!((spec.victim.show().as_str(), spec.placement.show().as_str()), ("greedy", "M6"));
        let spec = PolicySpec::parse("fk(classes=8, exponent=1)", None, None).expect("known");
        assert_eq!(spec.name, "fk(classes=8, exponent=1)");
        assert_eq!(spec.victim.show(), "cost-benefit(transform=power, exponent=1)");
        assert_eq!(spec.placement.show(), "oracle(spacing=linear, classes=8)");
    }

    #[test]
    fn a_preset_takes_another_victim_policy_and_a_score_stands_alone() {
        let spec =
            PolicySpec::parse("dac(victim=cat(tau=5s), regions=3)", None, None).expect("known");
        assert_eq!(spec.name, "dac(victim=cat(tau=5s), regions=3)");
        assert_eq!(spec.victim.show(), "cat(tau=5s)");
        assert_eq!(spec.placement.show(), "dac(regions=3)");
        let text = "score(min(valid, 3) <= u, age=closed)";
        let spec = PolicySpec::parse(text, None, Some("M6")).expect("a score");
        assert_eq!((spec.victim.show().as_str(), spec.placement.show().as_str()), (text, "M6"));
        assert_eq!(spec.name, format!("{text} placement=M6"));
        let text = "stream(min(writes, 2), streams=3)";
        let spec = PolicySpec::parse(text, None, None).expect("a stream");
        assert_eq!((spec.victim.show().as_str(), spec.placement.show().as_str()), ("greedy", text));
        let spec = PolicySpec::parse("cat(placement=stream(survivor))", None, None).expect("one");
        assert_eq!(spec.placement.show(), "stream(survivor)");
        let wrong = PolicySpec::parse("stream(survivor + agee)", None, None).expect_err("no name");
        assert!(wrong.to_string().contains("column 12 of the expression"), "{wrong}");
    }

    #[test]
    fn wrong_names_get_the_nearest_right_one() {
        let message = |policy: &str, victim: Option<&str>| {
            PolicySpec::parse(policy, victim, None).expect_err("no such name").to_string()
        };
        assert!(message("gredy", None).contains("did you mean `greedy`?"));
        assert!(message("cat(teu=5s)", None).contains("no parameter `teu`"));
        assert!(message("cat", Some("kat")).contains("did you mean `cat`?"));
        assert!(message("CAT", None).contains("did you mean `cat`?"));
        assert!(message("cost", None).contains("did you mean `cost-benefit`?"));
        let long = message(&"é".repeat(10_000), None);
        assert!(long.contains(&format!("`{}…`", "é".repeat(60))), "{long}");
        assert!(message("cat(tau", None).contains("not closed"));
        assert!(message("cat(tau=1s, tau=2s)", None).contains("`tau` is given twice"));
        assert!(message("greedy", Some("cat(tau=1s,tau=1s)")).contains("`tau` is given twice"));
        assert!(message("cat(tau=soon)", None).contains("expected a time"));
        for preset in preset::PRESETS {
            PolicySpec::parse(preset.name, None, None).expect("its own arguments");
        }
    }

    #[test]
    fn a_layer_without_axes_takes_none() {
        PolicySpec::parse("in-place", None, None).expect("a preset");
        for (victim, placement, option) in
            [(Some("cat"), None, "‹victim›"), (None, Some("M6"), "‹placement›")]
        {
            let error = PolicySpec::parse("in-place", victim, placement).expect_err("no axes");
            assert!(
                matches!(&error, AssemblyError::Usage(text) if text.contains(option)),
                "{error}"
            );
        }
    }
}
