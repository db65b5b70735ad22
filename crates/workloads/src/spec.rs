//! The syntax of `--workload`: a pattern or the name of a file workload.

use std::{fmt, str::FromStr};

use thermocline_filehost::Scenario;
use thermocline_trace::{TraceError, generate::PatternSpec};

/// A generated workload; [`open`](crate::open()) opens it.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadSpec {
    /// Addresses drawn from a distribution.
    Pattern(PatternSpec),
    /// A script of file operations on a FAT32 volume.
    Files(Scenario),
}

impl FromStr for WorkloadSpec {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let text = text.trim();
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        match (Scenario::by_name(name), argument) {
            (Some(scenario), None) => Ok(Self::Files(scenario)),
            (Some(_), Some(extra)) => Err(TraceError::usage(
                format!("workload `{name}` takes no argument, but `{extra}` was given"),
                format!("write `{name}` alone"),
            )),
            (None, Some(phases)) if name == "phases" => {
                refuse_scenarios(phases)?;
                text.parse().map(Self::Pattern)
            }
            (None, _) if PatternSpec::is_name(name) => text.parse().map(Self::Pattern),
            (None, _) => Err(TraceError::usage(
                format!("unknown workload `{text}`"),
                format!(
                    "expected {}, or a file workload: s1, cell-phone, … (`thermocline workloads` \
                     lists them)",
                    PatternSpec::FORMS
                ),
            )),
        }
    }
}

/// Refuses file workloads as phases.
fn refuse_scenarios(phases: &str) -> Result<(), TraceError> {
    let names = phases.split(',').filter_map(|phase| phase.split(['@', ':']).next());
    match names.map(str::trim).find(|name| Scenario::by_name(name).is_some()) {
        None => Ok(()),
        Some(name) => Err(TraceError::usage(
            format!("`{name}` cannot be a phase: a file system begins with an empty device"),
            "run it as a workload of its own",
        )),
    }
}

impl fmt::Display for WorkloadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(pattern) => pattern.fmt(f),
            Self::Files(scenario) => scenario.fmt(f),
        }
    }
}
