//! Families of translation layers.

use thermocline_assembly::{AssemblyError, PolicySpec};

/// A family: a victim policy and a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Name for users.
    pub name: String,
    /// Its policies.
    pub policy: PolicySpec,
}

impl Family {
    /// The family with these policies.
    ///
    /// # Errors
    /// If there is no such policy.
    pub fn of(victim: &str, placement: &str) -> Result<Self, AssemblyError> {
        let how = match placement {
            "one-stream" => "one log",
            "sep-gc" => "survivors apart",
            other => other,
        };
        let policy = PolicySpec::of(None, Some(victim), Some(placement))?;
        Ok(Self { name: format!("{victim}, {how}"), policy })
    }

    /// Parses a preset or `VICTIM+PLACEMENT`.
    ///
    /// # Errors
    /// If there is no such policy.
    pub fn parse(text: &str) -> Result<Self, AssemblyError> {
        match text.split_once('+') {
            Some((victim, placement)) => Self::of(victim.trim(), placement.trim()),
            None => {
                let policy = PolicySpec::parse(text, None, None)?;
                Ok(Self { name: text.to_owned(), policy })
            }
        }
    }
}

/// The families to try: with one log, with separate survivors, and the presets with more streams.
#[must_use]
pub fn families() -> Vec<Family> {
    let victims = ["fifo", "greedy", "windowed-greedy", "cost-benefit"];
    let simple = ["one-stream", "sep-gc"]
        .into_iter()
        .flat_map(|placement| victims.map(|victim| Family::of(victim, placement)));
    let presets = ["cat", "dac", "sep-bit", "midas", "multi-log"].map(Family::parse);
    let all = simple.chain(presets).collect::<Result<Vec<_>, _>>();
    all.expect("they are built in")
}
