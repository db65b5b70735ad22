//! Sources of information about dead data: data that are garbage before they are overwritten.

use alloc::format;

use crate::{Args, ParamError, PolicyInfo, params, params::NoParams};

/// Reclamation ahead of cleaning on the block-mapped layer (FSAF, §4.2.3 of the thesis): erases
/// blocks that hold only dead data. It starts when more than `delta` of the pages are dead and `mu`
/// of the blocks are in use, and ends at `target`. This is the part of [`Fsaf`] that a layer needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Reclaim {
    /// Share of the device's pages that must be dead to start (the thesis' δ).
    pub delta: f64,
    /// Share of the blocks that must be in use to start (μ).
    pub mu: f64,
    /// Share of dead pages at which reclamation ends (Δ).
    pub target: f64,
    /// Limits one run to delta - target of the blocks, so that no request waits for all of them.
    pub cap: bool,
    /// Whether a collection erases fully dead blocks before it folds. Otherwise only reclamation
    /// does.
    pub collect: bool,
}

impl Default for Reclaim {
    fn default() -> Self {
        Fsaf::default().reclaim()
    }
}

/// Which sources of dead data a layer uses.
#[derive(Clone, Debug, PartialEq)]
pub enum DeadData {
    /// None: trims are ignored.
    None,
    /// The host's trims.
    Trim,
    /// The host's trims, and inferences from the host's FAT file system.
    Fsaf(Fsaf),
}

params! {
    /// Parameters of FSAF.
    pub struct Fsaf {
        /// NFTL: share of the pages that must be dead before blocks of nothing but dead data are
        /// erased ahead (the thesis' δ).
        delta: f64 = 0.20,
        /// NFTL: share of the blocks that must be in use for that (μ).
        mu: f64 = 0.85,
        /// NFTL: share of dead pages at which it ends (Δ).
        target: f64 = 0.18,
        /// NFTL: no more than delta - target of the blocks at a time, so that no request waits for
        /// all of them.
        cap: bool = true,
        /// NFTL: whether a collection erases blocks of nothing but dead data before it folds; the thesis
        /// says that of reclamation ahead only.
        collect: bool = true,
        /// What must be seen before a sector is called dead: the full rule, or the thesis' own,
        /// which loses live data.
        guards: Guards = Guards::Full,
    }
}

crate::choice! {
    /// The evidence required before a sector is considered dead.
    pub enum Guards {
        /// Both copies of the FAT agree, and the FAT sector was written twice since the data.
        Full = "full",
        /// One copy of the FAT. Unsafe; for comparison with the thesis.
        Thesis = "thesis",
    }
}

impl Fsaf {
    /// Parses the arguments.
    ///
    /// # Errors
    /// [`ParamError`], naming the parameter that is not a share, or a `target` above `delta`, with
    /// which reclamation would end before it begins.
    pub fn build(args: &Args) -> Result<Self, ParamError> {
        let fsaf = Self::read(args)?;
        let most = fsaf.delta.min(1.0);
        for (key, value, most) in
            [("delta", fsaf.delta, 1.0), ("mu", fsaf.mu, 1.0), ("target", fsaf.target, most)]
        {
            if !(0.0..=most).contains(&value) {
                let expected = match key {
                    "target" => format!("a share from 0 to delta, which is {most}"),
                    _ => "a share from 0 to 1".into(),
                };
                return Err(ParamError::Value {
                    key: key.into(),
                    value: format!("{value:?}"),
                    expected,
                });
            }
        }
        Ok(fsaf)
    }

    /// The parameters of reclamation.
    #[must_use]
    pub const fn reclaim(&self) -> Reclaim {
        Reclaim {
            delta: self.delta,
            mu: self.mu,
            target: self.target,
            cap: self.cap,
            collect: self.collect,
        }
    }
}

/// The catalogue entries.
pub const DEAD_DATA: &[PolicyInfo] = &[
    PolicyInfo {
        name: "none",
        aliases: &[],
        source: "for comparison",
        summary: "ignores trims; to see what they are worth",
        params: NoParams::info,
    },
    PolicyInfo {
        name: "trim",
        aliases: &[],
        source: "SCSI UNMAP, ATA TRIM, NVMe deallocate, eMMC discard",
        summary: "believes the host's trims and nothing else; the default",
        params: NoParams::info,
    },
    PolicyInfo {
        name: "fsaf",
        aliases: &[],
        source: "Mylavarapu 2008, §4.2: file system aware FTL",
        summary: "trims, and what the writes of a FAT, exFAT, ext or NTFS file system's tables tell; needs \
                  a trace with contents, and is off unless asked for, for it must guess",
        params: Fsaf::info,
    },
];

/// The entry with this name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    DEAD_DATA.iter().find(|info| info.is_called(name))
}
