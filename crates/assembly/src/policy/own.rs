//! Policies of a user's own, which no catalogue lists: by names that begin with `own:`.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use thermocline_policy::{
    foreign::{Failure, Maker, Report},
    preset::LayerKind,
};

use super::{Call, PolicySpec, spec::PLAIN};
use crate::AssemblyError;

/// The prefix of such policies' names.
const OWN: &str = "own:";

/// A policy of the user's own.
#[derive(Clone)]
pub struct Own(pub Arc<dyn Maker>);

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Own").field(&self.0.name()).finish()
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Own {}

/// A victim policy, a placement, or both, that stand on a policy of the catalogue.
#[derive(Clone, Debug, Default)]
pub struct OwnPolicy {
    /// The name without `own:`, which says which it is.
    pub name: String,
    /// Its name in results.
    pub shown: String,
    /// Its base policy; a plain log by default.
    pub policy: Option<String>,
    /// Its victim policy, as text.
    pub victim: Option<String>,
    /// A user-defined victim policy.
    pub own_victim: Option<Own>,
    /// Its placement, as text.
    pub placement: Option<String>,
    /// A user-defined placement.
    pub own_placement: Option<Own>,
}

/// All policies of the user's own.
#[derive(Clone, Debug, Default)]
pub struct OwnPolicies(pub Arc<Vec<OwnPolicy>>);

impl OwnPolicies {
    fn find(&self, word: Option<&str>) -> Result<Option<&OwnPolicy>, AssemblyError> {
        let Some(name) = word.and_then(|word| word.strip_prefix(OWN)) else { return Ok(None) };
        let found = self.0.iter().find(|own| own.name == name);
        found.map(Some).ok_or_else(|| {
            AssemblyError::Usage(format!(
                "there is no policy `{OWN}{name}` here; policies of your own are objects of the Python package, given in \
                 place of a name, and run in the process that has them"
            ))
        })
    }

    /// The policy of these names, as [`PolicySpec::of`], be they of the catalogue or the user's own.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`], with the nearest name there is.
    pub fn spec(
        &self,
        policy: Option<&str>,
        victim: Option<&str>,
        placement: Option<&str>,
    ) -> Result<PolicySpec, AssemblyError> {
        let whole = self.find(policy)?;
        let (by_victim, by_placement) = (self.find(victim)?, self.find(placement)?);
        if whole.is_none() && by_victim.is_none() && by_placement.is_none() {
            return PolicySpec::of(policy, victim, placement);
        }
        let named =
            |word: Option<&'_ str>| word.filter(|word| !word.starts_with(OWN)).map(String::from);
        let base = whole.map_or(named(policy), |own| own.policy.clone());
        let pick = |own: Option<&OwnPolicy>, axis: fn(&OwnPolicy) -> &Option<Own>, which: &str| {
            match own {
                None => Ok(None),
                Some(own) => axis(own)
                    .clone()
                    .map(Some)
                    .ok_or_else(|| AssemblyError::Usage(format!("{} is no {which}", own.shown))),
            }
        };
        let own_victim = pick(by_victim, |own| &own.own_victim, "victim policy")?
            .or_else(|| whole.filter(|_| victim.is_none()).and_then(|own| own.own_victim.clone()));
        let own_placement =
            pick(by_placement, |own| &own.own_placement, "placement")?.or_else(|| {
                whole.filter(|_| placement.is_none()).and_then(|own| own.own_placement.clone())
            });
        let victim_word = named(victim).or_else(|| whole.and_then(|own| own.victim.clone()));
        let placement_word =
            named(placement).or_else(|| whole.and_then(|own| own.placement.clone()));
        let mut spec = PolicySpec::of(
            Some(base.as_deref().unwrap_or(PLAIN)),
            victim_word.as_deref().filter(|_| own_victim.is_none()),
            placement_word.as_deref().filter(|_| own_placement.is_none()),
        )?;
        if spec.layer != LayerKind::PageMapped {
            return Err(AssemblyError::Usage(format!(
                "policy `{}` takes no policy of your own; take a page-mapped one",
                spec.name
            )));
        }
        let called = |own: &Own| Call { name: own.0.name().into(), args: Default::default() };
        if let Some(own) = own_victim {
            spec.victim = called(&own);
            spec.own_victim = Some(own);
        }
        if let Some(own) = own_placement {
            spec.placement = called(&own);
            spec.own_placement = Some(own);
        }
        spec.name = match (whole, policy) {
            (None, None) => format!("{} + {}", spec.victim.show(), spec.placement.show()),
            (whole, policy) => {
                let axis = |given: Option<&str>, axis: &str, call: &Call| {
                    given.map_or_else(String::new, |_| format!(" {axis}={}", call.show()))
                };
                let name = whole.map(|own| own.shown.as_str()).or(policy).unwrap_or_default();
                let victim = axis(victim, "victim", &spec.victim);
                format!("{name}{victim}{}", axis(placement, "placement", &spec.placement))
            }
        };
        Ok(spec)
    }
}

/// The first failure of a run's own policies.
#[derive(Clone, Default)]
pub struct Faults(Arc<First>);

#[derive(Default)]
struct First {
    any: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faults").field(&self.any()).finish()
    }
}

impl Faults {
    /// Whether a policy failed.
    #[must_use]
    pub fn any(&self) -> bool {
        self.0.any.load(Relaxed)
    }

    /// Why it did.
    #[must_use]
    pub fn take(&self) -> Option<Failure> {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The receiver of reports.
    pub(crate) fn report(&self) -> Arc<dyn Report> {
        let report: Arc<First> = Arc::clone(&self.0);
        report
    }
}

impl Report for First {
    fn failed(&self, failure: Failure) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        self.any.store(true, Relaxed);
    }
}
