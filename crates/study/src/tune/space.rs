//! The space of a search: policies with their parameters, and lists of settings.
//!
//! Everything is a list of values as texts. Numbers are tried at a quarter, half, double and four times their
//! defaults: the magnitude of a parameter matters, not its digits.

use serde::Serialize;
use thermocline_assembly::{
    PolicySpec,
    policy::{CatalogueEntry, catalogue, split_list},
};
use thermocline_policy::preset::{self, LayerKind};
use thermocline_sim::SimError;
use thermocline_sweep::{Setting, Settings, Values, listed};
use thermocline_units::parse_share;

use crate::{
    settings::sweep::{Given, Kind, Swept},
    usage,
};

/// The watermark option, and its values in a search.
const WATERMARK: &str = "high";
const WATERMARKS: [&str; 3] = ["8", "16", "32"];
/// Times that are tried where the default is worked out from the input.
const TIMES: [&str; 5] = ["100ms", "1s", "10s", "100s", "1000s"];
/// Counts, likewise.
const COUNTS: [&str; 4] = ["4", "8", "16", "32"];
/// Shares of the default that are tried.
const FACTORS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// Options that a search has one value of.
const ONE: [&str; 3] = ["trace", "workload", "seed"];

/// Something that is chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Dimension {
    /// The option, or the parameter.
    pub name: String,
    /// Its values; none is left at its default.
    pub values: Vec<Option<String>>,
    /// Neighbours are alike.
    pub ordered: bool,
    /// The value to begin with.
    pub first: usize,
}

/// A policy, and its choices.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// As users write it.
    pub call: String,
    /// Its parameters.
    pub parameters: Vec<Dimension>,
}

/// All that may be chosen.
#[derive(Clone, Debug)]
pub struct Space {
    /// Settings common to all.
    pub fixed: Vec<Setting>,
    /// Settings given as lists.
    pub common: Vec<Dimension>,
    /// Policies.
    pub policies: Vec<Choice>,
}

/// One choice of everything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The policy.
    pub policy: usize,
    /// The value of each common dimension.
    pub common: Vec<usize>,
    /// The value of each parameter of the policy.
    pub parameters: Vec<usize>,
}

impl Space {
    /// The space that these settings leave open.
    ///
    /// # Errors
    /// A list that is not understood, or a policy that there is not.
    pub fn of(swept: &Swept, with_parameters: bool) -> Result<Self, SimError> {
        let mut space = Self { fixed: Vec::new(), common: Vec::new(), policies: Vec::new() };
        let mut named = Vec::new();
        for given in &swept.0 {
            let values = values_of(given)?;
            match (given.option.as_str(), &values[..]) {
                ("policy", _) => named.extend(values),
                (_, _) if given.kind == Kind::Flag => {
                    space.fixed.push(Setting::flag(&given.option));
                }
                (option, _) if given.kind == Kind::One => {
                    space.fixed.extend(values.iter().map(|value| Setting::new(option, value)));
                }
                (option, [_, _, ..]) if ONE.contains(&option) => {
                    return Err(usage(format!("a search has one ‹{option}›; give one")));
                }
                (option, [only]) => space.fixed.push(Setting::new(option, only)),
                (option, _) => space.common.push(Dimension::of_list(option, values)),
            }
        }
        if named.is_empty() {
            named = usual(swept);
        }
        let entries = catalogue();
        for call in named {
            let parameters = match with_parameters && !call.contains('(') {
                true => parameters(&call, &entries),
                false => Vec::new(),
            };
            space.policies.push(Choice { call, parameters });
        }
        let given = |option: &str| swept.0.iter().any(|given| given.option == option);
        if with_parameters && !given(WATERMARK) && !given("low") {
            let values = WATERMARKS.map(|value| Some(value.to_owned()));
            let values = [None].into_iter().chain(values).collect();
            let name = WATERMARK.to_owned();
            space.common.push(Dimension { name, values, ordered: true, first: 0 });
        }
        Ok(space)
    }

    /// Whether lists of an option were given.
    #[must_use]
    pub fn varies(&self, option: &str) -> bool {
        self.common.iter().any(|dimension| dimension.name == option)
    }

    /// A policy as it comes.
    #[must_use]
    pub fn plain(&self, policy: usize) -> Candidate {
        let first = |all: &[Dimension]| all.iter().map(|dimension| dimension.first).collect();
        let parameters = first(&self.policies[policy].parameters);
        Candidate { policy, common: first(&self.common), parameters }
    }

    /// The number of candidates, as far as it can be counted.
    #[must_use]
    pub fn size(&self) -> usize {
        let product = |all: &[Dimension]| {
            all.iter().fold(1_usize, |size, one| size.saturating_mul(one.values.len()))
        };
        let policies = self.policies.iter().map(|choice| product(&choice.parameters));
        policies.fold(0_usize, usize::saturating_add).saturating_mul(product(&self.common))
    }

    /// The settings of a run.
    #[must_use]
    pub fn settings(&self, candidate: &Candidate) -> Settings {
        let choice = &self.policies[candidate.policy];
        let values = |all: &[Dimension], chosen: &[usize]| -> Vec<(String, String)> {
            let pairs = all.iter().zip(chosen);
            let named =
                pairs.filter_map(|(one, at)| Some((one.name.clone(), one.values[*at].clone()?)));
            named.collect()
        };
        let parameters = values(&choice.parameters, &candidate.parameters);
        let parameters: Vec<_> =
            parameters.iter().map(|(key, text)| format!("{key}={text}")).collect();
        let call = match parameters.is_empty() {
            true => choice.call.clone(),
            false => format!("{}({})", choice.call, parameters.join(", ")),
        };
        let mut settings = self.fixed.clone();
        settings.push(Setting::new("policy", call));
        let common = values(&self.common, &candidate.common);
        settings.extend(common.into_iter().map(|(option, value)| Setting::new(option, value)));
        Settings(settings)
    }
}

impl Dimension {
    /// Of values that were listed; numbers are in order, and the middle comes first.
    fn of_list(option: &str, mut values: Vec<String>) -> Self {
        let number = |text: &String| {
            parse_share(text)
                .ok()
                .or_else(|| thermocline_units::parse_size(text).ok().map(|n| n as f64))
        };
        let ordered = values.iter().all(|value| number(value).is_some());
        if ordered {
            values.sort_by(|a, b| {
                number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        values.dedup();
        let first = if ordered { values.len() / 2 } else { 0 };
        let values = values.into_iter().map(Some).collect();
        Self { name: option.to_owned(), values, ordered, first }
    }

    /// Of a parameter with this default; nothing if there is nothing to try.
    fn of_parameter(name: &str, default: &str, expected: &str) -> Option<Self> {
        let alternatives: Vec<_> = expected.split(" | ").map(str::trim).collect();
        let (texts, ordered): (Vec<String>, bool) = if alternatives.len() > 1 {
            (alternatives.into_iter().map(str::to_owned).collect(), false)
        } else if expected.starts_with("yes") {
            (["no", "yes"].map(str::to_owned).into(), false)
        } else if default == "auto" {
            let all: &[&str] = if expected.contains("time") { &TIMES } else { &COUNTS };
            (all.iter().map(|text| (*text).to_owned()).collect(), true)
        } else if expected.contains("whole") {
            let number: f64 = default.parse().ok()?;
            let scaled = FACTORS.map(|factor| (number * factor).round().max(1.0));
            (scaled.map(|number| format!("{number:.0}")).into(), true)
        } else {
            let number: f64 = default.parse().ok()?;
            (FACTORS.map(|factor| format!("{}", number * factor)).into(), true)
        };
        // The default is an absent setting, so that it stays the default of any device.
        let mut values: Vec<Option<String>> = Vec::new();
        for text in texts {
            let value = (text != default).then_some(text);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if !values.contains(&None) {
            values.insert(0, None);
        }
        let first = values.iter().position(Option::is_none)?;
        Some(Self { name: name.to_owned(), values, ordered, first })
    }
}

/// The values of an option given as a list.
fn values_of(given: &Given) -> Result<Vec<String>, SimError> {
    let wrong = |why: String| usage(format!("‹{}›: {why}", given.option));
    let mut values = Vec::new();
    for text in &given.texts {
        match given.kind {
            Kind::List => match listed(text).map_err(wrong)? {
                Values::Listed(more) | Values::Open(more, _) => values.extend(more),
            },
            Kind::Flag | Kind::Values | Kind::One => values.push(text.clone()),
        }
    }
    Ok(values
        .into_iter()
        .flat_map(|value| match given.option.as_str() {
            "policy" => split_list(&value),
            _ => vec![value],
        })
        .collect())
}

/// The policies where none are named: the usual presets, or a plain log where one of its axes is named.
fn usual(swept: &Swept) -> Vec<String> {
    if swept.0.iter().any(|given| ["victim", "placement"].contains(&given.option.as_str())) {
        return vec!["greedy".into()];
    }
    preset::usual().map(|preset| preset.name.to_owned()).collect()
}

/// The parameters of a preset's victim policy and placement that the preset takes by name.
fn parameters(call: &str, entries: &[CatalogueEntry]) -> Vec<Dimension> {
    let Some(preset) = preset::find(call) else { return Vec::new() };
    if preset.layer != LayerKind::PageMapped {
        return Vec::new();
    }
    let (victim, placement) = preset::axes(preset);
    let is_axis = |entry: &&CatalogueEntry| match entry.axis {
        "victim" => entry.name == victim.name,
        "placement" => entry.name == placement.name,
        _ => false,
    };
    let all = entries.iter().filter(is_axis).flat_map(|entry| &entry.parameters);
    let dimensions = all.filter_map(|p| Dimension::of_parameter(p.name, &p.default, p.expected));
    let mut known: Vec<Dimension> = Vec::new();
    for mut dimension in dimensions {
        let is_taken = |value: &Option<String>| match value {
            None => true,
            Some(value) => {
                let call = format!("{call}({}={value})", dimension.name);
                PolicySpec::parse(&call, None, None).is_ok()
            }
        };
        let taken: Vec<_> = dimension.values.iter().map(is_taken).collect();
        let mut taken = taken.into_iter();
        dimension.values.retain(|_| taken.next().unwrap_or(false));
        dimension.first = dimension.values.iter().position(Option::is_none).unwrap_or(0);
        let is_new = !known.iter().any(|other| other.name == dimension.name);
        if dimension.values.len() > 1 && is_new {
            known.push(dimension);
        }
    }
    known
}
