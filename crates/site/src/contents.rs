//! The pages of the site, and their order.

/// A part of the site: its name, and its pages.
pub type Section = (&'static str, &'static [Entry]);

/// A Markdown file of the repository, and its page's path without `.html`.
pub type Entry = (&'static str, &'static str);

/// The first page.
pub const FIRST: Entry = ("docs/README.md", "index");

/// All other pages.
pub const SECTIONS: [Section; 7] = [
    (
        "Start",
        &[
            ("README.md", "overview"),
            ("docs/install.md", "install"),
            ("docs/playground.md", "playground"),
            ("docs/exercises.md", "exercises"),
            ("GLOSSARY.md", "glossary"),
        ],
    ),
    (
        "Decide",
        &[
            ("docs/trace-analyst.md", "trace-analyst"),
            ("docs/trace-inputs.md", "trace-inputs"),
            ("docs/reports.md", "reports"),
            ("docs/sweeps.md", "sweeps"),
            ("docs/sampling.md", "sampling"),
            ("docs/fdp.md", "fdp"),
            ("docs/cards-and-sticks.md", "cards-and-sticks"),
            ("docs/python.md", "python"),
        ],
    ),
    (
        "Operate",
        &[
            ("docs/server.md", "server"),
            ("docs/operations.md", "operations"),
            ("docs/watching.md", "watching"),
            ("docs/zoned.md", "zoned"),
            ("docs/nand.md", "nand"),
        ],
    ),
    (
        "Embed",
        &[
            ("docs/embedding.md", "embedding"),
            ("docs/spi-nand.md", "spi-nand"),
            ("docs/zephyr-esp-idf.md", "zephyr-esp-idf"),
            ("crates/embedded/README.md", "embedded-in-rust"),
            ("crates/embedded-c/README.md", "embedded-in-c"),
        ],
    ),
    (
        "Research",
        &[
            ("docs/findings.md", "findings"),
            ("docs/papers/README.md", "papers/index"),
            ("docs/papers/cat.md", "papers/cat"),
            ("docs/papers/dac.md", "papers/dac"),
            ("docs/papers/striping.md", "papers/striping"),
            ("docs/papers/slac.md", "papers/slac"),
            ("docs/papers/fsaf.md", "papers/fsaf"),
            ("docs/papers/update-interval.md", "papers/update-interval"),
            ("docs/papers/today.md", "papers/today"),
            ("docs/thermocline-policy.md", "thermocline-policy"),
            ("docs/oracle.md", "oracle"),
            ("docs/real-drives.md", "real-drives"),
            ("docs/latency.md", "latency"),
            ("docs/parallelism.md", "parallelism"),
            ("docs/slac-fsaf.md", "slac-fsaf"),
        ],
    ),
    (
        "Reference",
        &[
            ("docs/policies.md", "policies"),
            ("docs/results.md", "results"),
            ("docs/devices.md", "devices"),
            ("docs/server-reference.md", "server-reference"),
            ("docs/format.md", "format"),
            ("docs/format-image.md", "format-image"),
            ("papers/README.md", "experiment-files"),
            ("corpus/README.md", "corpus"),
            ("CHANGELOG.md", "changelog"),
        ],
    ),
    (
        "Internals",
        &[
            ("docs/guarantees.md", "guarantees"),
            ("ARCHITECTURE.md", "architecture"),
            ("docs/performance.md", "performance"),
            ("CONTRIBUTING.md", "contributing"),
            ("examples/README.md", "examples"),
            ("systems/README.md", "systems"),
            ("mutants/README.md", "mutants"),
            ("SECURITY.md", "security"),
        ],
    ),
];

/// Every page, in order.
pub fn entries() -> impl Iterator<Item = Entry> {
    std::iter::once(FIRST).chain(SECTIONS.iter().flat_map(|(_, entries)| entries.iter().copied()))
}
