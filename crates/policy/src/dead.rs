//! What is known to be garbage before it is overwritten.

use alloc::format;

use crate::{Args, ParamError, PolicyInfo, params, params::NoParams};

/// Erasing blocks of nothing but dead data ahead of cleaning, on the block-mapped layer (FSAF,
/// §4.2.3 of the thesis): when more than `delta` of the pages are dead and `mu` of the blocks are in
/// use, until `target` are left. The part of [`Fsaf`] that a layer needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Reclaim {
    /// Share of the device's pages that must be dead (the thesis' δ).
    pub delta: f64,
    /// Share of the blocks that must be in use (μ).
    pub mu: f64,
    /// Share of dead pages at which it ends (Δ).
    pub target: f64,
    /// No more than delta - target of the blocks at a time, so that no request waits for all.
    pub cap: bool,
    /// Whether a collection erases such blocks before it folds; else only this does.
    pub collect: bool,
}

impl Default for Reclaim {
    fn default() -> Self {
        Fsaf::default().reclaim()
    }
}

/// Whom a layer believes that data are dead.
#[derive(Clone, Debug, PartialEq)]
pub enum DeadData {
    /// Nobody: trims are ignored.
    None,
    /// The host's trims.
    Trim,
    /// The host's trims, and what a watcher of its FAT file system infers.
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
    /// What must be seen before a sector is called dead.
    pub enum Guards {
        /// Both copies of the FAT agree, and the sector of the FAT was written twice since the data.
        Full = "full",
        /// One copy of the FAT says so: unsafe, for comparison.
        Thesis = "thesis",
    }
}

impl Fsaf {
    /// Reads the arguments.
    ///
    /// # Errors
    /// [`ParamError`], naming the one that is no share, or a `target` above `delta`, at which erasing
    /// ahead would end before it begins.
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

    /// The part that is about erasing ahead.
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

/// What the catalogue lists.
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
        summary: "trims, and what the writes of a FAT32 or exFAT file system's tables tell; needs a \
                  trace with contents, and is off unless asked for, for it must guess",
        params: Fsaf::info,
    },
];

/// The entry users mean by `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    DEAD_DATA.iter().find(|info| info.is_called(name))
}
