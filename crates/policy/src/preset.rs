//! Named combinations of policies, as used in the papers.

use alloc::vec::Vec;

use crate::{ParamInfo, PolicyInfo, bank::BankAssignment, trigger::Trigger};

/// The translation layer of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// Out-of-place updates with a page-level map.
    PageMapped,
    /// Every page has a fixed location. An update erases its block.
    InPlace,
    /// Every logical block has a primary block, and a replacement block that takes its updates.
    Nftl,
    /// Out-of-place updates with a page-level map that is stored on the chip.
    DemandPaged,
    /// The same as DFTL does it: entries of the map are cached. Simulated only.
    Dftl,
}

impl LayerKind {
    /// Name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PageMapped => "page-mapped",
            Self::InPlace => "in-place",
            Self::Nftl => "nftl",
            Self::DemandPaged => "demand-paged",
            Self::Dftl => "dftl",
        }
    }

    /// The catalogue entry of a layer with parameters of its own.
    #[must_use]
    pub const fn info(self) -> Option<&'static PolicyInfo> {
        match self {
            Self::Nftl => Some(&crate::nftl::INFO),
            Self::Dftl => Some(&crate::dftl::INFO),
            Self::PageMapped | Self::InPlace | Self::DemandPaged => None,
        }
    }
}

/// A full combination of policies.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// The layer.
    pub layer: LayerKind,
    /// The victim policy, with its arguments in parentheses where they differ from the defaults.
    pub victim: &'static str,
    /// The placement, in the same form.
    pub placement: &'static str,
    /// Whether read-only and writable data are in separate blocks.
    pub read_only_separation: bool,
    /// Whether the most and the least erased blocks are swapped near the end of life.
    pub swap: bool,
    /// Assignment of pages to banks.
    pub bank_assignment: BankAssignment,
    /// When cleaning starts.
    pub trigger: Trigger,
    /// Number of blocks cleaned at once, where survivors are sorted.
    pub batch: u32,
    /// Idle policy, with its arguments where they differ from the defaults.
    pub idle: Option<&'static str>,
    /// Source of information about dead data.
    pub dead_data: &'static str,
    /// Whether a run takes many times as long as with the others.
    pub costly: bool,
    /// Source: paper and section.
    pub source: &'static str,
    /// One line: what the preset is and when to use it.
    pub summary: &'static str,
}

const PAGE_MAPPED: Preset = Preset {
    name: "",
    aliases: &[],
    layer: LayerKind::PageMapped,
    victim: "greedy",
    placement: "one-stream",
    read_only_separation: false,
    swap: false,
    bank_assignment: BankAssignment::Static,
    trigger: Trigger::Lazy,
    batch: 1,
    idle: None,
    dead_data: "trim",
    costly: false,
    source: "",
    summary: "",
};

const NFTL: Preset = Preset { layer: LayerKind::Nftl, ..PAGE_MAPPED };

/// All presets.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "in-place",
        layer: LayerKind::InPlace,
        source: "CAT paper Figure 1",
        summary: "updates in place: read the block, erase it, write it back; why flash needs the rest",
        ..PAGE_MAPPED
    },
    Preset {
        name: "nftl",
        source: "Ban 1995, as in SLAC and FSAF thesis, chapters 1 and 5",
        summary: "primary and replacement blocks, folded; what cards and sticks with little memory do",
        ..NFTL
    },
    Preset {
        name: "slac",
        idle: Some("timer"),
        source: "SLAC and FSAF thesis, §4.1, in its preemptible form",
        summary: "NFTL that folds full pairs in idle time, one by one until a request comes",
        ..NFTL
    },
    Preset {
        name: "slac-thesis",
        idle: Some("slac"),
        source: "SLAC and FSAF thesis, §4.1",
        summary: "NFTL that folds in predicted slack, as printed; a burst after a lone gap waits long",
        ..NFTL
    },
    Preset {
        name: "fsaf",
        dead_data: "fsaf",
        source: "SLAC and FSAF thesis, §4.2",
        summary: "NFTL that reads from the FAT which data are dead, and leaves them behind",
        ..NFTL
    },
    Preset {
        name: "combo",
        idle: Some("timer"),
        dead_data: "fsaf",
        source: "SLAC and FSAF thesis, chapter 6",
        summary: "slac and fsaf together",
        ..NFTL
    },
    Preset {
        name: "dftl",
        layer: LayerKind::Dftl,
        source: "Gupta, Kim, Urgaonkar, ASPLOS 2009",
        summary: "greedy victims; the map lies on the chip, and RAM caches entries of it",
        ..PAGE_MAPPED
    },
    Preset {
        name: "greedy",
        aliases: &["page-mapping", "no-sep"],
        source: "CAT paper §5; Wu and Zwaenepoel 1994; update-interval paper §4",
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
        name: "lfs-batch",
        victim: "lfs",
        placement: "age-sort",
        batch: 8,
        source: "Rosenblum and Ousterhout 1992; CAT paper §7",
        summary: "the same with the survivors of eight blocks sorted together, as LFS does",
        ..PAGE_MAPPED
    },
    Preset {
        name: "kawaguchi",
        victim: "cost-benefit",
        placement: "segment-split",
        trigger: Trigger::Falling,
        source: "Kawaguchi, Nishioka, Motoda 1995; CAT paper Table 7",
        summary: "cost-benefit that begins early with blocks full of garbage; the fewer blocks are \
                  free, the less garbage it asks for",
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
    Preset {
        name: "linux-ftl",
        victim: "linux-ftl",
        source: "CAT paper §7; Hinds, Linux PCMCIA package",
        summary: "greedy, every 50th time the block erased least; what Linux did for memory cards",
        ..PAGE_MAPPED
    },
    Preset {
        name: "mffs",
        source: "CAT paper §7 and Table 7; Torelli 1995, Microsoft Flash File System",
        summary: "greedy when no free space is left, one block at a time, written in sequence",
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
        name: "dac",
        victim: "adaptive",
        placement: "dac",
        source: "DAC paper",
        summary: "four regions by update frequency, greedy or CAT by the traffic; adapts to changes",
        ..PAGE_MAPPED
    },
    Preset {
        name: "hot-cold",
        aliases: &["2r-greedy"],
        placement: "sep-gc",
        source: "Shin 2011, as in update-interval paper §2; two-region greedy of SSD-iq; Van Houdt 2014",
        summary: "greedy victims, host writes and survivors apart; hard to beat for so little",
        ..PAGE_MAPPED
    },
    Preset {
        name: "double-hot-cold",
        placement: "double-hot-cold",
        source: "Jung et al. 2014, as in update-interval paper §2",
        summary: "greedy victims, survivors and first writes apart",
        ..PAGE_MAPPED
    },
    Preset {
        name: "update-interval",
        placement: "update-interval",
        source: "update-interval paper §3: Kim and Shin 2015",
        summary: "greedy victims, hot, warm, cold and new data apart, without memory per page",
        ..PAGE_MAPPED
    },
    Preset {
        name: "striping-static",
        victim: "weight",
        placement: "two-level-lru",
        trigger: Trigger::Eager,
        source: "striping paper §3.2 and §5",
        summary: "pages striped over banks by number; two lists tell hot pages from cold",
        ..PAGE_MAPPED
    },
    Preset {
        name: "striping-dynamic",
        victim: "weight",
        placement: "two-level-lru",
        bank_assignment: BankAssignment::Dynamic,
        trigger: Trigger::Eager,
        source: "striping paper §3.2 to §5",
        summary: "the same with pages sent to idle banks, hot ones where wear is least, cold ones \
                  where room is most",
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
        name: "windowed-greedy",
        victim: "windowed-greedy",
        source: "Hu et al., SYSTOR 2009",
        summary: "the least valid of the oldest blocks; between FIFO and greedy",
        ..PAGE_MAPPED
    },
    Preset {
        name: "sep-gc",
        victim: "cost-benefit-sqrt",
        placement: "sep-gc",
        source: "SepBIT paper (FAST 2022) §4.1",
        summary: "cost-benefit with √age, host writes and survivors apart; what schemes are measured by",
        ..PAGE_MAPPED
    },
    Preset {
        name: "sep-bit",
        victim: "cost-benefit-sqrt",
        placement: "sep-bit",
        source: "Wang et al., FAST 2022",
        summary: "cost-benefit with √age, pages by when they will probably be overwritten",
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
        name: "dogi",
        victim: "cost-benefit-sqrt(age=created)",
        placement: "dogi",
        source: "Kim et al., FAST 2026",
        summary: "a network foretells when pages will be overwritten; groups of like lives",
        costly: true,
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
        name: "warcip",
        placement: "warcip",
        source: "Yang, Pei, Yang, SYSTOR 2019",
        summary: "greedy victims, host writes in clusters of like rewrite intervals",
        ..PAGE_MAPPED
    },
    Preset {
        name: "fadac",
        placement: "fadac",
        source: "Kremer and Brinkmann, SYSTOR 2019",
        summary: "greedy victims, pages by powers of ten of their write counts",
        ..PAGE_MAPPED
    },
    Preset {
        name: "eti",
        placement: "eti",
        source: "Shafaei, Desnoyers, Fitzpatrick, HotStorage 2016",
        summary: "greedy victims, hot and cold address ranges apart",
        ..PAGE_MAPPED
    },
    Preset {
        name: "auto-stream",
        placement: "auto-stream-sfr",
        source: "Yang, Pandurangan, Choi, Balakrishnan, SYSTOR 2017",
        summary: "greedy victims, streams by sequentiality, frequency and recency of 2 MiB chunks",
        ..PAGE_MAPPED
    },
    Preset {
        name: "multi-stream",
        placement: "multi-stream",
        source: "after Kang, Hyun, Maeng, Cho, HotStorage 2014",
        summary: "greedy victims, streams by the logarithm of fading update counts",
        ..PAGE_MAPPED
    },
    Preset {
        name: "thermocline",
        victim: "survival",
        placement: "survival",
        source: "docs/thermocline-policy.md",
        summary: "streams by learned survival, one byte a page; greedy where there is nothing to learn",
        ..PAGE_MAPPED
    },
    Preset {
        name: "fk",
        victim: "cost-benefit(transform=power, exponent=0.5)",
        placement: "oracle(classes=6, spacing=linear)",
        source: "Wang et al. 2022 (SepBIT, FAST), the FK scheme",
        summary: "knows the future, as SepBIT's authors did: six classes of a block's writes each",
        ..PAGE_MAPPED
    },
    Preset {
        name: "oracle",
        victim: "cost-benefit(transform=identity)",
        placement: "oracle",
        source: "after FK; docs/oracle.md says how it was chosen",
        summary: "knows the future; what the others are measured against and nobody can build",
        ..PAGE_MAPPED
    },
    Preset {
        name: "calendar",
        victim: "cost-benefit(transform=identity)",
        placement: "calendar",
        source: "docs/oracle.md; the problem is that of Lange, Naor and Yadgar (SIGMETRICS 2022)",
        summary: "knows the future; copies almost nothing where the spare space allows that at all",
        ..PAGE_MAPPED
    },
];

/// The presets that are compared where none are named: logs that do not know the future and take no
/// long time to run.
pub fn usual() -> impl Iterator<Item = &'static Preset> {
    PRESETS.iter().filter(|preset| {
        preset.layer == LayerKind::PageMapped
            && !preset.costly
            && !crate::placement::sees_future(axes(preset).1.name)
    })
}

/// The preset with this name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name || preset.aliases.contains(&name))
}

/// Schemes that the papers name and no flash can implement.
pub const IMPOSSIBLE: &[PolicyInfo] = &[PolicyInfo {
    name: "hole-plugging",
    aliases: &["autoraid"],
    source: "HP AutoRAID, Wilkes et al. 1996; Matthews et al. 1997; CAT paper §7",
    summary: "writes survivors into the garbage of other blocks, which flash cannot: a page is \
              programmed once between two erases of its block",
    params: crate::params::NoParams::info,
}];

/// The catalogue entries of a preset's victim policy and placement.
#[must_use]
pub fn axes(preset: &Preset) -> (&'static PolicyInfo, &'static PolicyInfo) {
    let name = |call: &'static str| call.split('(').next().unwrap_or(call);
    (
        &crate::victim::find(name(preset.victim)).expect("presets name registered victims").info,
        crate::placement::find(name(preset.placement)).expect("presets name registered placements"),
    )
}

/// The parameters accepted in parentheses after a preset's name: those of its policies and of its
/// layer.
#[must_use]
pub fn params(preset: &Preset) -> Vec<ParamInfo> {
    let name = |call: &'static str| call.split('(').next().unwrap_or(call);
    let (victim, placement) = axes(preset);
    let idle = preset.idle.and_then(|call| crate::idle::find(name(call)));
    [
        Some(victim),
        Some(placement),
        idle.map(|idle| &idle.info),
        crate::dead::find(name(preset.dead_data)),
        preset.layer.info(),
    ]
    .into_iter()
    .flatten()
    .flat_map(|info| (info.params)())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_name_registered_policies_and_no_name_stands_twice() {
        for preset in PRESETS {
            let _ = axes(preset);
        }
        let names = |p: &Preset| std::iter::once(p.name).chain(p.aliases.iter().copied());
        let mut all: std::vec::Vec<_> = PRESETS.iter().flat_map(names).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
