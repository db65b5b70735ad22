//! The scenarios and benchmarks of the thesis, by name.

use std::fmt;

/// A script of file operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scenario {
    /// Huge files created and deleted.
    S1,
    /// Medium files created, deleted, overwritten and appended to.
    S2,
    /// Small files created, deleted, overwritten and appended to.
    S3,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Scenario; 3] = [Scenario::S1, Scenario::S2, Scenario::S3];

    /// How it is written on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scenario::S1 => "s1",
            Scenario::S2 => "s2",
            Scenario::S3 => "s3",
        }
    }

    /// The scenario of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    /// Bytes that are written after the prelude where nothing else is said, on a device that
    /// exports so many bytes.
    #[must_use]
    pub fn default_bytes(self, volume_bytes: u64) -> u64 {
        let percent = match self {
            Scenario::S1 => 100,
            Scenario::S2 => 60,
            Scenario::S3 => 100,
        };
        (u128::from(volume_bytes) * percent / 100) as u64
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
