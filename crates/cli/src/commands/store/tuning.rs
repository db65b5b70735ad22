//! Other policies for a chip that is served, by their names.

use thermocline_assembly::{AssemblyError, PolicySpec, Remounter, chips::Chip};
use thermocline_policy::trigger::Watermarks;
use thermocline_server::{Change, Remount, Remounted, Settings};

use thermocline_study::{Door, jobs, settings::cleaning::CleaningArgs};

/// Mounts a chip by the policies that an operator names.
pub struct Tuning {
    /// As it is mounted now.
    now: Remounter,
    next: Remounter,
    /// The policy by the words of the start.
    asked: String,
    cleaning: CleaningArgs,
}

impl Tuning {
    /// Of a chip that was mounted so, by the policy of that name.
    pub fn new(now: Remounter, asked: &str, cleaning: &CleaningArgs) -> Self {
        Self { next: now.clone(), now, asked: asked.into(), cleaning: cleaning.clone() }
    }

    /// Its settings for an operator.
    pub fn settings(&self) -> Result<Settings, AssemblyError> {
        settings(&self.now)
    }

    fn changed(&self, change: &Change) -> Result<Remounter, AssemblyError> {
        let (victim, placement) = (change.victim.as_deref(), change.placement.as_deref());
        let policy = if change.policy.is_none() && victim.is_none() && placement.is_none() {
            self.now.policy().clone()
        } else {
            let name = change.policy.as_deref().unwrap_or(&self.asked);
            let policy = PolicySpec::of(Some(name), victim, placement)?;
            jobs::adjusted(&policy, &self.cleaning)
        };
        let before = self.now.asked();
        let watermarks = Watermarks {
            reserve: change.reserve.unwrap_or(before.reserve),
            low: change.low.unwrap_or(before.low),
            high: change.high.unwrap_or(before.high),
        };
        self.now.with(policy, watermarks)
    }
}

impl Remount for Tuning {
    fn prepare(&mut self, change: &Change) -> Result<(), String> {
        self.next = self.changed(change).map_err(in_words)?;
        Ok(())
    }

    fn mount(&mut self, chip: Chip) -> Result<Remounted, String> {
        let (layer, recovery) = self.next.mount(chip).map_err(in_words)?;
        let settings = settings(&self.next).map_err(in_words)?;
        self.now = self.next.clone();
        Ok(Remounted { layer, settings, time_ns: recovery.newest_time.saturating_add(1) })
    }
}

/// An error as its operator, who works on a command line, reads it.
fn in_words(error: AssemblyError) -> String {
    Door::CommandLine.words(&error.to_string()).into_owned()
}

fn settings(of: &Remounter) -> Result<Settings, AssemblyError> {
    let Watermarks { reserve, low, high } = of.watermarks()?;
    Ok(Settings { policy: of.policy().name.clone(), reserve, low, high })
}
