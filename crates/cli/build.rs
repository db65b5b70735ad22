//! Embeds the commit and the features of the build.
//!
//! THERMOCLINE_COMMIT overrides the commit, for packages of a source without its history. The same source at the
//! same commit gives the same program.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-env-changed=THERMOCLINE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let given = env::var("THERMOCLINE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(commit).unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=THERMOCLINE_COMMIT={commit}");
    let features = env::vars_os().filter_map(|(name, _)| {
        let name = name.to_str()?.strip_prefix("CARGO_FEATURE_")?.to_lowercase();
        (name != "default").then(|| name.replace('_', "-"))
    });
    let mut features: Vec<String> = features.collect();
    features.sort();
    let features = if features.is_empty() { "none".into() } else { features.join(", ") };
    println!("cargo::rustc-env=THERMOCLINE_FEATURES={features}");
}

/// The commit of this source; none where there is no git, no history, or only that of a folder around it.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // A new commit changes one of these. A file that is not there would be a change at every build.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if std::path::Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// The output of git; `None` without git or without a history.
fn git(arguments: &[&str]) -> Option<String> {
    let said = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    said.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}
