//! The checks a device must pass to be used as a chip, and the errors of those that fail.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    str::FromStr,
};

use thermocline_flash::{Geometry, GeometryError};

use super::abi;

/// How to open a device: what the chip cannot know of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MtdOptions {
    /// Pages at the start of each block that hold no data.
    pub header_pages: u32,
    /// Blocks (the last ones) that hold the layer's own records.
    pub system_blocks: u32,
    /// Open for reading only. Several readers may share the device.
    pub read_only: bool,
    /// Read the corrections of each read from the kernel where it supports that (`MEMREAD`, Linux 6.1).
    /// Totals before and after a read also count the reads of other programs.
    pub per_read_statistics: bool,
}

impl Default for MtdOptions {
    fn default() -> Self {
        Self { header_pages: 0, system_blocks: 0, read_only: false, per_read_statistics: true }
    }
}

/// Why a device is not used.
#[derive(Debug, thiserror::Error)]
pub enum MtdError {
    /// Not an MTD character device.
    #[error("{0} is not an MTD character device; name one, such as /dev/mtd0")]
    NotMtd(PathBuf),
    /// The system does not let this user in.
    #[error("{0}: no permission; MTD devices are root's, unless their mode or owner is changed")]
    Permission(PathBuf),
    /// Another kind of medium.
    #[error("{path} is {kind} and not SLC NAND: {why}")]
    Kind {
        /// The device.
        path: PathBuf,
        /// Its kind.
        kind: String,
        /// Why that will not do.
        why: &'static str,
    },
    /// Too little room beside a page.
    #[error(
        "{path} has {available} free out-of-band bytes beside a page; a record takes {needed}. Chips \
         with pages of 2 KiB and 64 out-of-band bytes usually have them"
    )]
    SmallOob {
        /// The device.
        path: PathBuf,
        /// Bytes that the error correction leaves free.
        available: u32,
        /// Bytes of a record.
        needed: usize,
    },
    /// Somebody else uses it through the kernel.
    #[error("{path} is in use: {by}")]
    Busy {
        /// The device.
        path: PathBuf,
        /// Who uses it, and the remedy.
        by: String,
    },
    /// Another process has opened it for itself.
    #[error("{0} is locked: another process serves it or looks at it")]
    Locked(PathBuf),
    /// It cannot be written to.
    #[error("{0} is write-protected; it can be opened read-only")]
    WriteProtected(PathBuf),
    /// A shape that no chip can have.
    #[error("{path}: {error}")]
    Shape {
        /// The device.
        path: PathBuf,
        /// The fault of the geometry.
        error: GeometryError,
    },
    /// The system failed.
    #[error("{path}: {error}")]
    System {
        /// The file in use.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

/// An opened device that passed the checks.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) device: File,
    pub(super) geometry: Geometry,
    /// Bits that can be corrected in a step of the error correction; 0 if there is none.
    pub(super) correctable: u32,
}

/// Opens, locks and checks a device.
pub(super) fn open(path: &Path, options: &MtdOptions) -> Result<Opened, MtdError> {
    let system = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => MtdError::Permission(path.into()),
        _ => MtdError::System { path: path.into(), error },
    };
    let facts = Facts::of(path).map_err(system)?.ok_or_else(|| MtdError::NotMtd(path.into()))?;
    if facts.is_for_reading && !options.read_only {
        return Err(MtdError::WriteProtected(path.into()));
    }
    let device =
        OpenOptions::new().read(true).write(!options.read_only).open(path).map_err(system)?;
    let info = abi::info(&device).map_err(system)?;
    refuse_kind(path, &info, options)?;

    let available = facts.number("oobavail")?;
    if (available as usize) < crate::record::BYTES {
        return Err(MtdError::SmallOob {
            path: path.into(),
            available,
            needed: crate::record::BYTES,
        });
    }
    let locked = if options.read_only { device.try_lock_shared() } else { device.try_lock() };
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(MtdError::Locked(path.into())),
        Err(TryLockError::Error(error)) => return Err(system(error)),
    }
    if let Some(by) = facts.user() {
        return Err(MtdError::Busy { path: path.into(), by });
    }
    // The size of the ioctl is modulo 2^32.
    let size: u64 = facts.number("size")?;
    let blocks = size / u64::from(info.erasesize.max(1));
    let geometry = Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: u32::try_from(blocks).unwrap_or(u32::MAX),
        pages_per_block: info.erasesize / info.writesize.max(1),
        page_size: info.writesize,
        oob_size: available,
        header_pages: options.header_pages,
        system_blocks: options.system_blocks,
    };
    geometry.check().map_err(|error| MtdError::Shape { path: path.into(), error })?;
    Ok(Opened { device, geometry, correctable: facts.number("ecc_strength")? })
}

fn refuse_kind(path: &Path, info: &abi::Info, options: &MtdOptions) -> Result<(), MtdError> {
    let (kind, why) = match info.kind {
        abi::NAND if options.read_only || info.flags & abi::WRITEABLE != 0 => return Ok(()),
        abi::NAND => return Err(MtdError::WriteProtected(path.into())),
        abi::MLC_NAND => (
            "multi-level NAND".to_owned(),
            "a program cut off by a loss of power can spoil pages written long before",
        ),
        kind => (
            match kind {
                1 => "memory".to_owned(),
                2 => "read-only memory".to_owned(),
                3 => "NOR".to_owned(),
                6 => "DataFlash".to_owned(),
                7 => "an UBI volume".to_owned(),
                kind => format!("of kind {kind}"),
            },
            "it has no out-of-band areas to recover from",
        ),
    };
    Err(MtdError::Kind { path: path.into(), kind, why })
}

/// The system's description of a device in sysfs.
struct Facts {
    number: u32,
    is_for_reading: bool,
    folder: PathBuf,
}

impl Facts {
    /// Nothing if the path is not that of an MTD character device.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        const MTD_MAJOR: u32 = 90;
        let data = fs::metadata(path)?;
        if !data.file_type().is_char_device() || libc::major(data.rdev()) != MTD_MAJOR {
            return Ok(None);
        }
        // An even minor number is the device, the odd one behind it the same for reading only.
        let minor = libc::minor(data.rdev());
        let (number, is_for_reading) = (minor / 2, minor % 2 == 1);
        Ok(Some(Self {
            number,
            is_for_reading,
            folder: PathBuf::from(format!("/sys/class/mtd/mtd{number}")),
        }))
    }

    /// A number from sysfs.
    fn number<N: FromStr>(&self, name: &str) -> Result<N, MtdError> {
        let path = self.folder.join(name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return Err(MtdError::System { path, error }),
        };
        text.trim().parse().map_err(|_| {
            let error = io::Error::new(io::ErrorKind::InvalidData, "not a number");
            MtdError::System { path, error }
        })
    }

    /// Who uses the device through the kernel, if anybody: a mount, or UBI.
    fn user(&self) -> Option<String> {
        let number = self.number;
        let name = fs::read_to_string(self.folder.join("name")).unwrap_or_default();
        let names = [
            format!("mtd{number}"),
            format!("/dev/mtd{number}"),
            format!("/dev/mtdblock{number}"),
            format!("mtd:{}", name.trim()),
        ];
        for mount in fs::read_to_string("/proc/self/mounts").unwrap_or_default().lines() {
            let mut fields = mount.split(' ');
            if let (Some(what), Some(place)) = (fields.next(), fields.next())
                && names.iter().any(|name| name == what)
            {
                return Some(format!("it is mounted on {place}; unmount that"));
            }
        }
        for ubi in fs::read_dir("/sys/class/ubi").ok()?.flatten() {
            let attached = fs::read_to_string(ubi.path().join("mtd_num")).unwrap_or_default();
            if attached.trim().parse() == Ok(number) {
                let ubi = ubi.file_name();
                let ubi = ubi.display();
                return Some(format!("UBI is attached to it as {ubi}; detach it"));
            }
        }
        None
    }
}
