//! From what the user wrote to a full combination of policies.

use serde::Serialize;
use thermocline_policy::{
    Args, Context, ParamError, ParamInfo, PolicyInfo,
    bank::BankAssignment,
    dead::{self, DeadData, Fsaf},
    idle::{self, Idle},
    nftl::{self, Nftl},
    params::{NoParams, ParamValue},
    placement,
    preset::{self, LayerKind},
    trigger::Trigger,
    victim,
};

use crate::{SimError, error::nearest};

/// The policy that others are measured against, and its placement.
pub(crate) const ORACLE: &str = "oracle";

/// A policy name with its arguments: `cat`, `cat(tau=5s)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name.
    pub name: String,
    /// The arguments, in order.
    pub args: Args,
}

impl Call {
    /// Reads `name` or `name(key=value, …)`.
    ///
    /// # Errors
    /// [`SimError::Usage`], saying what was expected.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let text = text.trim();
        let Some((name, rest)) = text.split_once('(') else {
            return Ok(Self { name: text.into(), args: Args::default() });
        };
        let Some(inner) = rest.strip_suffix(')') else {
            return Err(SimError::Usage(format!("`{text}`: the bracket is not closed")));
        };
        let mut args = Vec::new();
        for pair in inner.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(SimError::Usage(format!("`{text}`: `{pair}` is not key=value")));
            };
            let key = key.trim();
            if args.iter().any(|(other, _)| other == key) {
                return Err(SimError::Usage(format!("`{text}`: `{key}` is given twice")));
            }
            args.push((key.to_owned(), value.trim().to_owned()));
        }
        Ok(Self { name: name.trim().into(), args: Args(args) })
    }

    /// Gives an argument, in place of the one there is.
    fn set(&mut self, key: &str, value: &str) {
        self.args.0.retain(|(other, _)| other != key);
        self.args.0.push((key.into(), value.into()));
    }

    /// As the user would write it.
    #[must_use]
    pub fn show(&self) -> String {
        if self.args.0.is_empty() {
            return self.name.clone();
        }
        let args: Vec<_> = self.args.0.iter().map(|(k, v)| format!("{k}={v}")).collect();
        format!("{}({})", self.name, args.join(", "))
    }
}

/// Splits a list of calls at the commas outside brackets.
#[must_use]
pub fn split_list(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// A full combination: a preset, or axes chosen one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySpec {
    /// What results call it.
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
    /// What makes cleaning start.
    pub trigger: Trigger,
    /// Blocks cleaned at once, where survivors are sorted.
    pub batch: u32,
    /// What is done between requests that arrive.
    pub idle: Option<Call>,
    /// Whom the layer believes that data are dead.
    pub dead_data: Call,
    /// Parameters of the layer, where it has any.
    pub layer_args: Args,
}

impl PolicySpec {
    /// A preset (with arguments for either of its axes), a victim policy, or a placement, with
    /// single axes overridden.
    ///
    /// # Errors
    /// [`SimError::Usage`], with the nearest name there is.
    pub fn parse(
        policy: &str,
        victim: Option<&str>,
        placement: Option<&str>,
    ) -> Result<Self, SimError> {
        let call = Call::parse(policy)?;
        if let Some(wish) = preset::IMPOSSIBLE.iter().find(|wish| wish.is_called(&call.name)) {
            return Err(SimError::Usage(format!(
                "policy `{}` cannot be run on flash: it {}",
                call.name, wish.summary
            )));
        }
        let preset = preset::find(&call.name).ok_or_else(|| {
            let known = preset::PRESETS.iter().map(|p| p.name);
            unknown("policy", &call.name, known, "`thermocline policies` lists them")
        })?;
        refuse_axes(preset.layer, &call.name, victim, placement)?;
        let mut spec = Self {
            name: call.show(),
            layer: preset.layer,
            victim: Call::parse(preset.victim)?,
            placement: Call::parse(preset.placement)?,
            read_only_separation: preset.read_only_separation,
            swap: preset.swap,
            bank_assignment: preset.bank_assignment,
            trigger: preset.trigger,
            batch: preset.batch,
            idle: preset.idle.map(Call::parse).transpose()?,
            dead_data: Call::parse(preset.dead_data)?,
            layer_args: Args::default(),
        };
        for (key, value) in &call.args.0 {
            spec.give(preset, key, value)?;
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
    fn give(&mut self, preset: &preset::Preset, key: &str, value: &str) -> Result<(), SimError> {
        let (victim, placement) = preset::axes(preset);
        let mut layer = Call { name: String::new(), args: std::mem::take(&mut self.layer_args) };
        let idle = preset.idle.and(self.idle.as_mut());
        let idle = idle.and_then(|call| Some((&idle::find(&call.name)?.info, call)));
        let dead = dead::find(&self.dead_data.name).map(|info| (info, &mut self.dead_data));
        let layer_info = (self.layer == LayerKind::Nftl).then_some((&nftl::INFO, &mut layer));
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
        Err(SimError::Usage(format!(
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
    /// [`SimError::Usage`], with the nearest name there is.
    pub fn with(mut self, idle: Option<&str>, dead_data: Option<&str>) -> Result<Self, SimError> {
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

    /// Whether it needs to know what becomes of the pages it writes.
    pub(crate) fn sees_future(&self) -> bool {
        self.layer == LayerKind::PageMapped && placement::sees_future(&self.placement.name)
    }

    /// Whether it is the oracle's placement, and nobody asked for a number of classes.
    pub(crate) fn takes_what_there_is(&self) -> bool {
        let asked = self.placement.args.0.iter().any(|(key, _)| key == "classes");
        self.sees_future() && self.placement.name == ORACLE && !asked
    }

    /// Whether it makes use of what is known of the contents of requests.
    #[must_use]
    pub fn wants_contents(&self) -> bool {
        self.dead_data.name == "fsaf"
    }

    /// What is done between requests, built.
    ///
    /// # Errors
    /// [`SimError::Usage`], naming the argument.
    pub fn build_idle(&self) -> Result<Option<Box<dyn Idle>>, SimError> {
        let Some(call) = &self.idle else { return Ok(None) };
        let entry = idle::find(&call.name).expect("names were checked when the policy was read");
        (entry.build)(&call.args).map(Some).map_err(|e| usage("idle", call, &e))
    }

    /// Whom the layer believes, built.
    ///
    /// # Errors
    /// [`SimError::Usage`], naming the argument.
    pub fn build_dead_data(&self) -> Result<DeadData, SimError> {
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
    /// [`SimError::Usage`], naming the argument.
    pub fn build_nftl(&self) -> Result<Nftl, SimError> {
        let params = Nftl::read(&self.layer_args)
            .map_err(|e| SimError::Usage(format!("policy {}: {e}", self.name)))?;
        if params.start == 0 || params.stop < params.start || params.stop >= 100 {
            return Err(SimError::Usage(format!(
                "policy {}: 0 < start <= stop < 100 must hold, they are percentages of free blocks",
                self.name
            )));
        }
        Ok(params)
    }

    /// The same where no policy need be named: the axes then stand on a log and nothing else, greedy
    /// and one stream where they are not named either.
    ///
    /// # Errors
    /// [`SimError::Usage`], with the nearest name there is.
    pub fn of(
        policy: Option<&str>,
        victim: Option<&str>,
        placement: Option<&str>,
    ) -> Result<Self, SimError> {
        if let Some(policy) = policy {
            return Self::parse(policy, victim, placement);
        }
        let mut spec = Self::parse("greedy", victim, placement)?;
        spec.name = format!("{} + {}", spec.victim.show(), spec.placement.show());
        Ok(spec)
    }

    /// Builds the axes for the smallest of devices, so that wrong arguments show before a run.
    fn check_args(&self) -> Result<(), SimError> {
        struct Nothing;
        impl placement::Visitor for Nothing {
            type Output = ();
            fn visit<P: placement::Placement + 'static>(self, _: P) {}
        }
        let context = Context::smallest();
        let (victim, placement) = (&self.victim, &self.placement);
        if let Some(Err(e)) =
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
        match placement::dispatch(&placement.name, &placement.args, &context, Nothing) {
            Some(Err(e)) => Err(usage("placement", placement, &e)),
            _ => Ok(()),
        }
    }

    /// NFTL chooses pairs of blocks, by one of two rules.
    fn check_pairs(&self) -> Result<(), SimError> {
        match self.victim.name.as_str() {
            "greedy" | "cost-benefit" if self.victim.args.0.is_empty() => Ok(()),
            _ => Err(SimError::Usage(format!(
                "policy {}: NFTL chooses pairs of blocks by `greedy` or `cost-benefit`, without \
                 arguments, and not by `{}`",
                self.name,
                self.victim.show()
            ))),
        }
    }

    fn check_names(&self) -> Result<(), SimError> {
        if victim::find(&self.victim.name).is_none() {
            let known = victim::VICTIMS.iter().map(|v| v.info.name);
            return Err(unknown(
                "victim policy",
                &self.victim.name,
                known,
                "`thermocline policies` lists them",
            ));
        }
        if placement::find(&self.placement.name).is_none() {
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
            return Err(unknown("--idle", &call.name, known, "none, timer or slac"));
        }
        if dead::find(&self.dead_data.name).is_none() {
            let known = dead::DEAD_DATA.iter().map(|d| d.name);
            return Err(unknown("--dead-data", &self.dead_data.name, known, "none, trim or fsaf"));
        }
        Ok(())
    }
}

fn usage(axis: &str, call: &Call, error: &ParamError) -> SimError {
    SimError::Usage(format!("{axis} {}: {error}", call.name))
}

/// Layers that choose nothing, or only some of it, take no axis for it.
fn refuse_axes(
    layer: LayerKind,
    policy: &str,
    victim: Option<&str>,
    placement: Option<&str>,
) -> Result<(), SimError> {
    let (what, option) = match (layer, victim, placement) {
        (LayerKind::InPlace, Some(_), _) => {
            ("updates pages in place and chooses neither victims nor blocks", "--victim")
        }
        (LayerKind::InPlace, _, Some(_)) => {
            ("updates pages in place and chooses neither victims nor blocks", "--placement")
        }
        (LayerKind::Nftl, _, Some(_)) => {
            ("keeps every page in the blocks of its address and places none", "--placement")
        }
        _ => return Ok(()),
    };
    Err(SimError::Usage(format!(
        "policy `{policy}` {what}; leave out {option}, or take another policy"
    )))
}

fn has_param(params: &[ParamInfo], key: &str) -> bool {
    params.iter().any(|p| p.name == key)
}

/// "there is no X; did you mean Y?"
#[must_use]
pub fn unknown<'a>(
    what: &str,
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
    remedy: &str,
) -> SimError {
    let wrong = &shortened(wrong);
    SimError::Usage(match nearest(wrong, known) {
        Some(near) => format!("there is no {what} `{wrong}`; did you mean `{near}`? ({remedy})"),
        None => format!("there is no {what} `{wrong}`; {remedy}"),
    })
}

/// Enough of a wrong name to recognise it by, on one line.
fn shortened(name: &str) -> String {
    const MOST: usize = 60;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// A preset or a single axis, as the catalogue shows it.
#[derive(Clone, Debug, Serialize)]
pub struct CatalogueEntry {
    /// `preset`, `victim`, `placement`, `idle`, `dead-data`, `layer`, or `impossible` on flash.
    pub axis: &'static str,
    /// The name users write.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: Vec<&'static str>,
    /// One line: what it does and when to use it.
    pub summary: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// For a preset, its victim policy and placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combines: Option<String>,
    /// Its parameters.
    pub parameters: Vec<CatalogueParam>,
}

/// A parameter, as the catalogue shows it.
#[derive(Clone, Debug, Serialize)]
pub struct CatalogueParam {
    /// The key.
    pub name: &'static str,
    /// What it means.
    pub meaning: String,
    /// The value where none is given.
    pub default: String,
    /// What values look like.
    pub expected: &'static str,
}

/// Everything `thermocline policies` lists.
#[must_use]
pub fn catalogue() -> Vec<CatalogueEntry> {
    let params = |info: &PolicyInfo| {
        (info.params)()
            .into_iter()
            .map(|p| CatalogueParam {
                name: p.name,
                meaning: p.doc,
                default: p.default,
                expected: p.expected,
            })
            .collect()
    };
    let axis = |axis: &'static str, info: &PolicyInfo| CatalogueEntry {
        axis,
        name: info.name,
        aliases: info.aliases.to_vec(),
        summary: info.summary,
        source: info.source,
        combines: None,
        parameters: params(info),
    };
    let mut entries: Vec<_> = preset::PRESETS
        .iter()
        .map(|p| CatalogueEntry {
            axis: "preset",
            name: p.name,
            aliases: p.aliases.to_vec(),
            summary: p.summary,
            source: p.source,
            combines: (p.layer != LayerKind::InPlace).then(|| {
                let idle = p.idle.map_or(String::new(), |idle| format!(" + idle {idle}"));
                let dead = match p.dead_data {
                    "trim" => String::new(),
                    other => format!(" + {other}"),
                };
                if p.layer == LayerKind::Nftl {
                    return format!("NFTL, {} pairs{idle}{dead}", p.victim);
                }
                let read_only = if p.read_only_separation { " + read-only apart" } else { "" };
                let swap = if p.swap { " + swap" } else { "" };
                let trigger = match p.trigger {
                    Trigger::Lazy => String::new(),
                    other => format!(" + {} cleaning", other.show()),
                };
                let batch = match p.batch {
                    1 => String::new(),
                    n => format!(" + {n} blocks at once"),
                };
                let banks = match p.bank_assignment {
                    BankAssignment::Static => "",
                    BankAssignment::Dynamic => " + dynamic banks",
                };
                format!(
                    "{} + {}{read_only}{swap}{trigger}{batch}{banks}{idle}{dead}",
                    p.victim, p.placement
                )
            }),
            parameters: Vec::new(),
        })
        .collect();
    entries.extend(victim::VICTIMS.iter().map(|v| axis("victim", &v.info)));
    entries.extend(placement::PLACEMENTS.iter().map(|p| axis("placement", p)));
    entries.extend(idle::IDLES.iter().map(|i| axis("idle", &i.info)));
    entries.extend(dead::DEAD_DATA.iter().map(|d| axis("dead-data", d)));
    entries.push(axis("layer", &nftl::INFO));
    entries.extend(preset::IMPOSSIBLE.iter().map(|wish| axis("impossible", wish)));
    entries
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
            [(Some("cat"), None, "--victim"), (None, Some("M6"), "--placement")]
        {
            let error = PolicySpec::parse("in-place", victim, placement).expect_err("no axes");
            assert!(matches!(&error, SimError::Usage(text) if text.contains(option)), "{error}");
        }
    }

    #[test]
    fn lists_split_outside_brackets() {
        assert_eq!(split_list("a, b(x=1, y=2) ,c"), ["a", "b(x=1, y=2)", "c"]);
    }
}
