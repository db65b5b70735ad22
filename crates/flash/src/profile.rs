//! Descriptions of real devices: data files with the sources of their figures.

use alloc::{string::String, vec::Vec};

use crate::{Energy, Geometry, Kind, PagePairs, Rules, SlcCache, Suspend, Timing, WriteBuffer};

/// A device: geometry, rules, timing and, where a source gives it, energy.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Profile {
    /// Name of the profile, as given to `--device`.
    pub name: String,
    /// One-line description.
    pub summary: String,
    /// NOR or NAND.
    pub kind: Kind,
    /// Sources of the figures, one sentence each.
    pub sources: Vec<String>,
    /// The shape.
    pub geometry: Geometry,
    /// The rules of the medium.
    pub rules: Rules,
    /// Times of the operations.
    #[cfg_attr(feature = "serde", serde(with = "microseconds"))]
    pub timing: Timing,
    /// Times to suspend a program or an erase; absent where no source gives them.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "serde", serde(with = "suspend"))]
    pub suspend: Option<Suspend>,
    /// Times of programs by the page of a pair, whose mean is that of the timing; absent where pages are alike.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub page_pairs: Option<PagePairs>,
    /// Energy of the operations; absent where no source gives it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub energy: Option<Energy>,
    /// Facts about a whole drive beyond its flash; absent for a chip.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub drive: Option<Drive>,
    /// Its write buffer; absent where there is none. Only the simulator models this and what follows.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub write_buffer: Option<WriteBuffer>,
    /// Its SLC cache; absent where there is none.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub slc_cache: Option<SlcCache>,
    /// Pages of a stripe over the dies of a superblock, where one of them is parity; the geometry has only the others.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stripe_pages: Option<u32>,
    /// Bytes that it programs for metadata beside each byte of a page; with a drive, in place of its overhead.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub overhead: Option<f64>,
}

impl Profile {
    /// Bytes programmed for metadata beside each byte of a page.
    #[must_use]
    pub fn metadata(&self) -> Option<f64> {
        self.overhead.or_else(|| self.drive.as_ref().map(|drive| drive.overhead))
    }

    /// Bytes programmed for the parity of stripes beside each byte of a page.
    #[must_use]
    pub fn parity(&self) -> Option<f64> {
        self.stripe_pages.map(|pages| 1.0 / f64::from(pages - 1))
    }
}

/// How a commercial drive uses its flash. The blocks of its geometry are its superblocks.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Drive {
    /// Bytes that the host can address.
    pub exported_bytes: u64,
    /// Bytes that the drive programs for parity and metadata, as a share of the data bytes.
    pub overhead: f64,
    /// The victim policy of its translation layer.
    pub victim: String,
    /// The placement of its translation layer.
    pub placement: String,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        /// The built-in profiles: name and TOML text, as in the folder `profiles`.
        pub const BUILT_IN_PROFILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),*];
    };
}

built_in!(
    "intel-series2plus-24m",
    "intel-series2plus-24m-486",
    "toshiba-tc58dvm72-64m",
    "samsung-k9f6408-8m",
    "jasmine-64g",
    "slc-generic",
    "mlc-generic",
    "tlc-generic",
    "qlc-generic",
    "emmc-5.1",
    "ufs-3.1",
    "sd-card",
    "usb-stick",
    "nvme-mlc-client",
    "nvme-tlc-client",
    "nvme-qlc-client",
    "nvme-tlc-datacenter",
    "nvme-qlc-datacenter",
    "3d-tlc-gen3",
    "3d-tlc-gen4",
    "3d-tlc-2024",
    "3d-qlc-2024",
    "solidigm-d7-p5520",
    "micron-7450-800g",
);

/// Nanoseconds of a time in microseconds.
#[cfg(feature = "serde")]
fn ns<E: serde::de::Error>(us: f64, field: &str) -> Result<u64, E> {
    // An hour is beyond any operation of any chip.
    if (0.0..3.6e9).contains(&us) {
        Ok((us * 1000.0 + 0.5) as u64)
    } else {
        Err(E::custom(alloc::format!("{field} = {us} is not a time in microseconds")))
    }
}

#[cfg(feature = "serde")]
mod suspend {
    //! The times of [`Suspend`] in microseconds.

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::ns;
    use crate::Suspend;

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Microseconds {
        program_us: f64,
        erase_us: f64,
    }

    pub(super) fn serialize<S: Serializer>(
        suspend: &Option<Suspend>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let us = |ns: u64| ns as f64 / 1000.0;
        let of = |it: &Suspend| Microseconds {
            program_us: us(it.program_ns),
            erase_us: us(it.erase_ns),
        };
        suspend.as_ref().map(of).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Suspend>, D::Error> {
        let Some(us) = Option::<Microseconds>::deserialize(from)? else { return Ok(None) };
        Ok(Some(Suspend {
            program_ns: ns(us.program_us, "program_us")?,
            erase_ns: ns(us.erase_us, "erase_us")?,
        }))
    }
}

#[cfg(feature = "serde")]
mod microseconds {
    //! Profiles give times in microseconds; the chip counts nanoseconds.

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::ns;
    use crate::Timing;

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Microseconds {
        #[serde(default)]
        read_setup_us: f64,
        read_us: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        oob_read_us: Option<f64>,
        #[serde(default)]
        program_setup_us: f64,
        program_us: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy_setup_us: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy_us: Option<f64>,
        #[serde(default)]
        erase_setup_us: f64,
        erase_us: f64,
        #[serde(default)]
        hotness_scan_us: f64,
    }

    pub(super) fn serialize<S: Serializer>(t: &Timing, to: S) -> Result<S::Ok, S::Error> {
        let us = |ns: u64| ns as f64 / 1000.0;
        Microseconds {
            read_setup_us: us(t.read_setup_ns),
            read_us: us(t.read_ns),
            oob_read_us: Some(us(t.oob_read_ns)),
            program_setup_us: us(t.program_setup_ns),
            program_us: us(t.program_ns),
            copy_setup_us: Some(us(t.copy_setup_ns)),
            copy_us: Some(us(t.copy_ns)),
            erase_setup_us: us(t.erase_setup_ns),
            erase_us: us(t.erase_ns),
            hotness_scan_us: us(t.hotness_scan_ns),
        }
        .serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timing, D::Error> {
        let m = Microseconds::deserialize(from)?;
        let mut t = Timing {
            read_setup_ns: ns(m.read_setup_us, "read_setup_us")?,
            read_ns: ns(m.read_us, "read_us")?,
            // The array is read in any case; the transfer of the few bytes is negligible.
            oob_read_ns: ns(m.oob_read_us.unwrap_or(m.read_us), "oob_read_us")?,
            program_setup_ns: ns(m.program_setup_us, "program_setup_us")?,
            program_ns: ns(m.program_us, "program_us")?,
            copy_setup_ns: 0,
            copy_ns: 0,
            erase_setup_ns: ns(m.erase_setup_us, "erase_setup_us")?,
            erase_ns: ns(m.erase_us, "erase_us")?,
            hotness_scan_ns: ns(m.hotness_scan_us, "hotness_scan_us")?,
        };
        // Without a figure of its own a copy costs a read and a program through the controller.
        t.copy_ns = match m.copy_us {
            Some(us) => ns(us, "copy_us")?,
            None => t.read() + t.program(),
        };
        t.copy_setup_ns = match (m.copy_setup_us, m.copy_us) {
            (Some(us), _) => ns(us, "copy_setup_us")?,
            (None, Some(_)) => 0,
            (None, None) => t.read_setup_ns + t.program_setup_ns,
        };
        if t.copy_setup_ns > t.copy_ns {
            return Err(D::Error::custom(
                "copy_setup_us is a part of copy_us and cannot exceed it",
            ));
        }
        Ok(t)
    }
}
