//! Shared by the policy tests: a small random number generator, and every variant of every
//! registered victim policy.

#![allow(dead_code)]

use thermocline_policy::{
    Args, Context, Ticks,
    age::{Shape, Transform},
    params::ParamValue,
    victim::{VICTIMS, Victim, VictimEntry},
};

pub use thermocline_testing::Draws;

pub use words::WithWords;

mod words;

/// A victim policy with its arguments.
#[derive(Clone)]
pub struct Variant {
    pub entry: &'static VictimEntry,
    pub args: Args,
}

impl Variant {
    pub fn named(name: &str, args: &[(&str, &str)]) -> Self {
        let entry = thermocline_policy::victim::find(name).expect("registered");
        let args = args.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Self { entry, args: Args(args) }
    }

    pub fn build(&self, context: &Context) -> Box<dyn Victim> {
        (self.entry.build)(&self.args, context).unwrap_or_else(|e| panic!("{self:?}: {e}"))
    }

    /// The age transformation given by its parameters; the identity without any.
    pub fn transform(&self, time_scale: f64) -> Transform {
        let value = |key: &str| {
            let given = self.args.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
            let params = (self.entry.info.params)();
            given.or_else(|| params.iter().find(|p| p.name == key).map(|p| p.default.clone()))
        };
        let shape = value("transform").map(|v| Shape::parse(&v).expect("the name of a shape"));
        let tau = value("tau").and_then(|v| Option::<Ticks>::parse(&v).expect("a time"));
        // An exponent without a shape means powers of the age in ticks.
        let (shape, tau) = match shape {
            None if value("exponent").is_some() => (Shape::Power, Some(Ticks(1))),
            None => (Shape::Identity, tau),
            Some(shape) => (shape, tau),
        };
        let exponent = value("exponent").map_or(1.0, |v| f64::parse(&v).expect("a number"));
        Transform::new(shape, tau, time_scale, exponent)
    }
}

impl std::fmt::Debug for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let args: Vec<_> = self.args.0.iter().map(|(k, v)| format!("{k}={v}")).collect();
        write!(f, "{}({})", self.entry.info.name, args.join(", "))
    }
}

/// Every registered policy with every combination of its named values, and with offsets of 0 and 1.
pub fn variants() -> Vec<Variant> {
    let mut all = Vec::new();
    for entry in VICTIMS {
        let mut sets = vec![Vec::new()];
        for param in (entry.info.params)() {
            let values: Vec<&str> = match param.name {
                "offset" => vec!["0", "1"],
                _ if param.expected.contains(" | ") => param.expected.split(" | ").collect(),
                _ => continue,
            };
            sets = sets
                .iter()
                .flat_map(|set: &Vec<(String, String)>| {
                    values.iter().map(|value| {
                        let mut set = set.clone();
                        set.push((param.name.to_owned(), (*value).to_owned()));
                        set
                    })
                })
                .collect();
        }
        all.extend(sets.into_iter().map(|set| Variant { entry, args: Args(set) }));
    }
    all
}

/// The policies that choose at random, by counting or by a second index. All others, including
/// future ones, choose the lowest `ratio · wear / T(age)`, so a scan of all blocks can check them.
pub const BY_OTHER_RULES: [&str; 6] =
    ["random", "d-choices", "adaptive", "weight", "linux-ftl", "windowed-greedy"];
