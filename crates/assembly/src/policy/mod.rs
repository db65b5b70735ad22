//! Policies by name: from `cat(tau=5s)` to a full combination that can be built.

mod build;
mod call;
mod catalogue;
mod own;
mod spec;

pub use call::{Call, split_list};
pub use catalogue::{CatalogueEntry, CatalogueParam, catalogue};
pub use own::{Faults, Own, OwnPolicies, OwnPolicy};
pub use spec::{ORACLE, PolicySpec};
