//! The scenarios and benchmarks of the thesis, by name.

use crate::{
    script::Script,
    scripts::{
        cell_phone::CellPhone, churn::Churn, event_recorder::EventRecorder, fax::Fax, jpeg::Jpeg,
        player::Player,
    },
};
use std::fmt;
use thermocline_trace::generate::WorkloadInfo;

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
    /// One picture compressed and written every few hundred milliseconds.
    Jpeg,
    /// Songs decoded into the page cache.
    Mad,
    /// A song played while another is written in sequence.
    Mp3,
    /// A film played while another is recorded, in a steady stream.
    Mpeg,
}

/// The registry entry of a scenario.
struct Row {
    name: &'static str,
    summary: &'static str,
    when: &'static str,
    /// Bytes written after the prelude by default, in percent of the device. With it a greedy NFTL
    /// on the chip of the thesis erases about as many blocks as in its Tables II to IV.
    percent: u16,
    script: fn() -> Box<dyn Script + Send>,
}

/// All scenarios, in the order of [`Scenario::ALL`].
static ROWS: [Row; Scenario::ALL.len()] = [
    Row {
        name: "s1",
        summary: "files of 4 to 32 MiB created and deleted on FAT32, 80 % full",
        when: "dead data in long runs",
        percent: 88,
        script: || Box::new(Churn::huge()),
    },
    Row {
        name: "s2",
        summary: "files of 64 KiB to 2 MiB created, deleted and now and then changed, \
                  likewise",
        when: "dead data in runs of some blocks, a camera's card",
        percent: 52,
        script: || Box::new(Churn::medium()),
    },
    Row {
        name: "s3",
        summary: "files of 2 to 32 KiB created, deleted and often changed, likewise",
        when: "dead data in pieces smaller than a block, and much metadata",
        percent: 35,
        script: || Box::new(Churn::small()),
    },
    Row {
        name: "cell-phone",
        summary: "records updated in place, messages, pictures, each synced, seconds apart",
        when: "a long slack after every few requests",
        percent: 84,
        script: || Box::new(CellPhone::new()),
    },
    Row {
        name: "event-recorder",
        summary: "hundreds of small synced appends at once, then nothing for a minute",
        when: "no slack where it is needed",
        percent: 55,
        script: || Box::new(EventRecorder::new()),
    },
    Row {
        name: "fax",
        summary: "pages appended strip by strip, seconds between pages, written back by the page cache",
        when: "slack between write-backs, of lengths that are hard to predict",
        percent: 95,
        script: || Box::new(Fax::new()),
    },
    Row {
        name: "jpeg",
        summary: "sources read, and a compressed picture written every few hundred \
                  milliseconds",
        when: "regular slacks of ten folds between reads and writes",
        percent: 34,
        script: || Box::new(Jpeg::new()),
    },
    Row {
        name: "mad",
        summary: "songs decoded into the page cache, which is written back in long bursts",
        when: "large requests, and slack only between write-backs",
        percent: 20,
        script: || Box::new(Player::mad()),
    },
    Row {
        name: "mp3",
        summary: "a song played while a download is written in sequence",
        when: "sequential writes with a slack after each",
        percent: 330,
        script: || Box::new(Player::mp3()),
    },
    Row {
        name: "mpeg",
        summary: "a film played while another is recorded, a steady stream",
        when: "slacks of nearly the same length, so that they can be predicted",
        percent: 51,
        script: || Box::new(Player::mpeg()),
    },
];

impl Scenario {
    /// All scenarios.
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

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The scenario with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    /// Description for listings.
    #[must_use]
    pub const fn info(self) -> WorkloadInfo {
        let &Row { name, summary, when, .. } = self.row();
        let source = "Mylavarapu 2008 (SLAC and FSAF), its benchmarks";
        WorkloadInfo { syntax: name, summary, when, source }
    }

    /// Default number of bytes written after the prelude, on a device that exports this many bytes.
    #[must_use]
    pub fn default_bytes(self, volume_bytes: u64) -> u64 {
        (u128::from(volume_bytes) * u128::from(self.row().percent) / 100) as u64
    }

    /// A new script of the scenario.
    pub(crate) fn script(self) -> Box<dyn Script + Send> {
        (self.row().script)()
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scenario_has_its_own_row() {
        let names = Scenario::ALL.map(|scenario| scenario.name().replace('-', ""));
        assert_eq!(names, Scenario::ALL.map(|scenario| format!("{scenario:?}").to_lowercase()));
    }
}
