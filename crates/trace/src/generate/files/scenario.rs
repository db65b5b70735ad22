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
    /// Short records, each made durable at once, with seconds between them.
    CellPhone,
    /// Small appends in sudden influxes without slack.
    EventRecorder,
    /// Pages written line by line, with isolated gaps between them.
    Fax,
    /// A picture compressed and written every few hundred milliseconds.
    Jpeg,
    /// Songs decoded into the page cache.
    Mad,
    /// A song played while another is written in sequence.
    Mp3,
    /// A film played while another is recorded, in a steady stream.
    Mpeg,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Scenario; 10] = [
        Scenario::S1,
        Scenario::S2,
        Scenario::S3,
        Scenario::CellPhone,
        Scenario::EventRecorder,
        Scenario::Fax,
        Scenario::Jpeg,
        Scenario::Mad,
        Scenario::Mp3,
        Scenario::Mpeg,
    ];

    /// How it is written on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scenario::S1 => "s1",
            Scenario::S2 => "s2",
            Scenario::S3 => "s3",
            Scenario::CellPhone => "cell-phone",
            Scenario::EventRecorder => "event-recorder",
            Scenario::Fax => "fax",
            Scenario::Jpeg => "jpeg",
            Scenario::Mad => "mad",
            Scenario::Mp3 => "mp3",
            Scenario::Mpeg => "mpeg",
        }
    }

    /// The scenario of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    /// Bytes that are written after the prelude where nothing else is said, on a device that
    /// exports so many bytes: about what makes a greedy NFTL on the thesis' chip erase as many
    /// blocks as its Tables II to IV say.
    #[must_use]
    pub fn default_bytes(self, volume_bytes: u64) -> u64 {
        let percent = match self {
            Scenario::S1 => 88,
            Scenario::S2 => 52,
            Scenario::S3 => 35,
            Scenario::CellPhone => 84,
            Scenario::EventRecorder => 55,
            Scenario::Fax => 95,
            Scenario::Jpeg => 40,
            Scenario::Mad => 21,
            Scenario::Mp3 => 330,
            Scenario::Mpeg => 55,
        };
        (u128::from(volume_bytes) * percent / 100) as u64
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
