//! The catalogues, as `--json` prints them.

use serde::Serialize;
use thermocline_assembly::{device, policy};
use thermocline_trace::read;

/// Presets, victim policies, placements and the rest, with their parameters and sources.
#[must_use]
pub fn policies() -> impl Serialize {
    policy::catalogue()
}

/// Built-in devices, with their figures and sources.
#[must_use]
pub fn devices() -> impl Serialize {
    device::built_in()
}

#[derive(Serialize)]
struct Workload {
    syntax: &'static str,
    summary: &'static str,
    when: &'static str,
    source: &'static str,
}

/// Workloads that can be generated.
#[must_use]
pub fn workloads() -> impl Serialize {
    let all = thermocline_workloads::all().map(|w| Workload {
        syntax: w.syntax,
        summary: w.summary,
        when: w.when,
        source: w.source,
    });
    all.collect::<Vec<_>>()
}

#[derive(Serialize)]
struct Format {
    name: &'static str,
    about: &'static str,
    source: &'static str,
}

/// Formats of traces that can be read.
#[must_use]
pub fn formats() -> impl Serialize {
    let one = |f: read::Format| Format { name: f.name(), about: f.about(), source: f.source() };
    read::Format::all().map(one).collect::<Vec<_>>()
}
