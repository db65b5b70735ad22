//! Named combinations, as the papers and their readers use them.

use crate::PolicyInfo;

/// The translation layer a preset runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// Out-of-place updates, page by page.
    PageMapped,
    /// Every page has its place; an update erases its block.
    InPlace,
}

/// A full combination of policies.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name users write.
    pub name: &'static str,
    /// The layer.
    pub layer: LayerKind,
    /// The victim policy.
    pub victim: &'static str,
    /// The placement.
    pub placement: &'static str,
    /// Read-only and writable data in separate blocks.
    pub read_only_separation: bool,
    /// The most and the least erased blocks are swapped near the end of life.
    pub swap: bool,
    /// Where it comes from.
    pub source: &'static str,
    /// One line: what it is and when to use it.
    pub summary: &'static str,
}

const PAGE_MAPPED: Preset = Preset {
    name: "",
    layer: LayerKind::PageMapped,
    victim: "greedy",
    placement: "one-stream",
    read_only_separation: false,
    swap: false,
    source: "",
    summary: "",
};

/// Every preset there is.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "in-place",
        layer: LayerKind::InPlace,
        source: "CAT paper Figure 1",
        summary: "updates in place: read the block, erase it, write it back; why flash needs the rest",
        ..PAGE_MAPPED
    },
    Preset {
        name: "greedy",
        source: "CAT paper §5; Wu and Zwaenepoel 1994",
        summary: "greedy victims, one stream; the best there is under uniform traffic",
        ..PAGE_MAPPED
    },
    Preset {
        name: "cost-benefit",
        victim: "cost-benefit",
        placement: "segment-split",
        source: "CAT paper §5; Kawaguchi, Nishioka, Motoda 1995",
        summary: "cost-benefit victims, cold blocks' survivors apart; locality without memory per page",
        ..PAGE_MAPPED
    },
    Preset {
        name: "lfs",
        victim: "lfs",
        placement: "age-sort",
        source: "Rosenblum and Ousterhout 1992",
        summary: "the log-structured file system's cleaner, one block at a time",
        ..PAGE_MAPPED
    },
    Preset {
        name: "cat",
        victim: "cat",
        placement: "fine-grained",
        read_only_separation: true,
        swap: true,
        source: "CAT paper §3.2",
        summary: "cost, age, times: hot, cold and read-only pages apart, wear even",
        ..PAGE_MAPPED
    },
    Preset {
        name: "fifo",
        victim: "fifo",
        source: "Desnoyers 2012",
        summary: "a circular log; perfectly even wear, a yardstick",
        ..PAGE_MAPPED
    },
    Preset {
        name: "random",
        victim: "random",
        source: "Van Houdt 2013",
        summary: "random victims; the yardstick nobody should lose to",
        ..PAGE_MAPPED
    },
    Preset {
        name: "d-choices",
        victim: "d-choices",
        source: "Van Houdt 2013",
        summary: "the least valid of d random blocks; nearly greedy",
        ..PAGE_MAPPED
    },
    Preset {
        name: "midas",
        victim: "cost-benefit",
        placement: "midas",
        source: "MiDAS, FAST 2024",
        summary: "a chain of groups sized by a model; the last cleaned by cost-benefit",
        ..PAGE_MAPPED
    },
    Preset {
        name: "multi-log",
        placement: "multi-log",
        source: "Stoica and Ailamaki, VLDB 2013",
        summary: "a log for each update frequency; greedy where no log has a block to give",
        ..PAGE_MAPPED
    },
    Preset {
        name: "sfs",
        victim: "cost-hotness",
        placement: "sfs",
        source: "SFS, FAST 2012",
        summary: "blocks of like hotness, hot ones left to die; for skewed traffic",
        ..PAGE_MAPPED
    },
    Preset {
        name: "envy",
        victim: "fifo",
        placement: "envy",
        source: "Wu and Zwaenepoel 1994; CAT paper Table 7",
        summary: "eNVy's hybrid of FIFO and locality gathering; a yardstick",
        ..PAGE_MAPPED
    },
];

/// The preset called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The catalogue entries of a preset's victim policy and placement.
#[must_use]
pub fn axes(preset: &Preset) -> (&'static PolicyInfo, &'static PolicyInfo) {
    (
        &crate::victim::find(preset.victim).expect("presets name registered victims").info,
        crate::placement::find(preset.placement).expect("presets name registered placements"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_name_registered_policies_and_no_name_stands_twice() {
        for preset in PRESETS {
            let _ = axes(preset);
        }
        let mut names: std::vec::Vec<_> = PRESETS.iter().map(|p| p.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PRESETS.len());
    }
}
