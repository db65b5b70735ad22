//! Catalogue entries of policies.

use alloc::vec::Vec;

use crate::params::ParamInfo;

/// The catalogue entry of a policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// The name.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// Source: paper and section.
    pub source: &'static str,
    /// One line: what the policy does and when to use it.
    pub summary: &'static str,
    /// Its parameters.
    pub params: fn() -> Vec<ParamInfo>,
}

impl PolicyInfo {
    /// Whether `name` is the name or an alias of this policy.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}
