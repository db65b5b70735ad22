//! A zoned block device of Linux: an SSD with zoned namespaces, a disk with host-managed shingled zones, the
//! kernel's null block device.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    str::FromStr,
};

use super::{
    abi,
    device::{Device, Shape, Zone},
};
use crate::{
    MediumError,
    image::{
        Damage, ImageError,
        disk::{Disk, How},
        entry::refused,
        store::Store,
    },
};

/// A zoned block device, read and written past the system's cache.
#[derive(Debug)]
pub(super) struct Block {
    disk: Disk,
    /// Zones are managed through it. If it may write, it keeps others from the device: those who would mount
    /// it, too.
    zones: File,
    shape: Shape,
}

impl Block {
    /// Opens a device; nothing where it is a file of another kind.
    pub(super) fn open(path: &Path, read_only: bool) -> Result<Option<Self>, MediumError> {
        let at = |what| refused(ImageError { path: path.into(), what });
        let system = |error: io::Error| match error.kind() {
            io::ErrorKind::ResourceBusy => {
                at(Damage::InUse(Some("a mounted file system or another program".into())))
            }
            _ => MediumError::Unusable(format!("{}: {error}", path.display())),
        };
        let is = fs::metadata(path).map_err(system)?;
        if !is.file_type().is_block_device() {
            return Ok(None);
        }
        let queue = Queue::of(is.rdev());
        let model: String = queue.get("zoned", path)?;
        if model != "host-managed" {
            return Err(MediumError::Unusable(format!(
                "{}: is not zoned (its model is `{model}`, and `host-managed` is needed); \
                 `device:{}` uses it as a disk",
                path.display(),
                path.display()
            )));
        }
        let mut options = File::options();
        options.read(true).write(!read_only);
        if !read_only {
            options.custom_flags(rustix::fs::OFlags::EXCL.bits() as i32);
        }
        let zones = options.open(path).map_err(system)?;
        let how = How { write: !read_only, lock: true, direct: true };
        let disk = Disk::open_any(path, how).map_err(at)?;
        let shape = Shape {
            block: queue.get("logical_block_size", path)?,
            zone: queue.get::<u64>("chunk_sectors", path)? * 512,
            zones: queue.get("nr_zones", path)?,
            most_open: queue.get("max_open_zones", path)?,
            most_active: queue.get("max_active_zones", path)?,
        };
        Ok(Some(Self { disk, zones, shape }))
    }
}

/// The system's description of a device in sysfs.
struct Queue(PathBuf);

impl Queue {
    fn of(device: u64) -> Self {
        let (major, minor) = (libc::major(device), libc::minor(device));
        let folder = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        let own = folder.join("queue");
        // A partition has its disk's.
        Self(if own.is_dir() { own } else { folder.join("../queue") })
    }

    fn get<N: FromStr>(&self, name: &str, path: &Path) -> Result<N, MediumError> {
        let file = self.0.join(name);
        let text = fs::read_to_string(&file);
        let value = text.ok().and_then(|text| text.trim().parse().ok());
        value.ok_or_else(|| {
            MediumError::Unusable(format!(
                "{}: the kernel does not say its {name} ({}); zones take Linux 5.9 or later",
                path.display(),
                file.display()
            ))
        })
    }
}

impl Device for Block {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn report(&self) -> io::Result<Vec<Zone>> {
        abi::report(&self.zones)
    }

    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.disk.read_at(into, at)
    }

    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()> {
        self.disk.write_at(from, at)
    }

    fn reset(&self, start: u64) -> io::Result<()> {
        abi::reset(&self.zones, start, self.shape.zone)
    }

    fn finish(&self, start: u64) -> io::Result<()> {
        abi::finish(&self.zones, start, self.shape.zone)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }
}
