//! What there is to choose from, as `--json` prints it.

use serde_json::{Value, json};
use thermocline_assembly::{device, policy};
use thermocline_trace::read::Format;

/// Presets, victim policies, placements and the rest, with their parameters and sources.
///
/// # Panics
/// Never: the catalogue is made of text and numbers.
#[must_use]
pub fn policies() -> Value {
    serde_json::to_value(policy::catalogue()).expect("text and numbers")
}

/// Built-in devices, with their figures and sources.
///
/// # Panics
/// Never: profiles are made of text and numbers.
#[must_use]
pub fn devices() -> Value {
    serde_json::to_value(device::built_in()).expect("text and numbers")
}

/// Workloads that can be generated.
#[must_use]
pub fn workloads() -> Value {
    thermocline_workloads::all()
        .map(|w| {
            json!({ "syntax": w.syntax, "summary": w.summary, "when": w.when, "source": w.source })
        })
        .collect()
}

/// Formats of traces that can be read.
#[must_use]
pub fn formats() -> Value {
    let one = |f: Format| json!({"name": f.name(), "about": f.about(), "source": f.source()});
    Format::all().map(one).collect()
}
