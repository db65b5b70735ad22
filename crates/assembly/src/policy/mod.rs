//! Policies by name: from `cat(tau=5s)` to a full combination that can be built.

mod build;
mod call;
mod catalogue;
mod own;
mod spec;

pub use call::Call;
pub use catalogue::{CatalogueEntry, CatalogueParam, catalogue};
pub use own::{Faults, Own, OwnPolicies, OwnPolicy};
pub use spec::{CALENDAR, ORACLE, PolicySpec};
pub use thermocline_units::split_list;
