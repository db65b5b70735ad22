//! What the catalogue says of a policy.

use alloc::vec::Vec;

use crate::params::ParamInfo;

/// What the catalogue says of a policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// The name users write.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// Where it comes from: paper and section.
    pub source: &'static str,
    /// One line: what it does and when to use it.
    pub summary: &'static str,
    /// Its parameters.
    pub params: fn() -> Vec<ParamInfo>,
}

impl PolicyInfo {
    /// Whether users mean this policy by `name`.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}
