//! The file itself: opened, locked, allocated, read and written, by the page cache or past it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    sync::Mutex,
};

use thermocline_files::Kind;

#[cfg(target_os = "linux")]
use super::cached;
use super::{error::Damage, layout::PAGE, store::Store, unread::is_unreadable};

/// How a file is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub write: bool,
    pub lock: bool,
    pub direct: bool,
}

/// A file.
#[derive(Debug)]
pub(crate) struct Disk {
    file: File,
    direct: Option<Direct>,
}

/// The needs of reads and writes that bypass the page cache.
#[derive(Debug)]
struct Direct {
    /// Ranges begin and end at multiples of it.
    unit: usize,
    /// Memory that begins where the system wants it: the callers' bytes pass through.
    through: Mutex<Aligned>,
}

impl Disk {
    pub(crate) fn open(path: &Path, how: How) -> Result<Self, Damage> {
        // Opening a pipe would wait for its other end.
        let kind = Kind::of(path).map_err(Damage::when("open the file"))?;
        if let Kind::Special(_) = kind {
            return Err(Damage::NotAFile { is: kind.name() });
        }
        Self::open_any(path, how)
    }

    /// Opens a file or a block device.
    pub(crate) fn open_any(path: &Path, how: How) -> Result<Self, Damage> {
        let mut options = OpenOptions::new();
        options.read(true).write(how.write);
        if how.direct {
            options.custom_flags(direct_flag()?);
        }
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error) => return Err(refused(error, how)),
        };
        Self::of_file(file, how)
    }

    /// A file that is open.
    pub(super) fn of_file(file: File, how: How) -> Result<Self, Damage> {
        if how.lock {
            lock(&file, how.write)?;
        }
        let direct = if how.direct { Some(Direct::probe(&file)?) } else { None };
        Ok(Self { file, direct })
    }

    /// Allocates all of the file.
    pub(super) fn allocate(&self, bytes: u64) -> Result<(), Damage> {
        allocate(&self.file, bytes).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => Damage::Preallocate(error),
            _ => Damage::System { doing: "allocate the file", error },
        })
    }

    /// From now on reads and writes go past the page cache, if the image `fits` the unit of such.
    #[cfg(target_os = "linux")]
    fn go_direct(&mut self, fits: &dyn Fn(usize) -> bool) -> Result<(), Damage> {
        if self.direct.is_some() {
            return Ok(());
        }
        let no = |error: rustix::io::Errno| Damage::Direct(error.to_string());
        let flags = rustix::fs::fcntl_getfl(&self.file).map_err(no)?;
        rustix::fs::fcntl_setfl(&self.file, flags | rustix::fs::OFlags::DIRECT).map_err(no)?;
        let direct = Direct::probe(&self.file).and_then(|direct| match direct.unit {
            unit if fits(unit) => Ok(direct),
            unit => Err(Damage::Direct(format!("its pages are not whole blocks of {unit} bytes"))),
        });
        if direct.is_err() {
            rustix::fs::fcntl_setfl(&self.file, flags).map_err(no)?;
        }
        self.direct = Some(direct?);
        Ok(())
    }

    /// Makes the page cache forget the first bytes of a file, all of which were synced. Where it does not, what is
    /// read goes past it from now on. Says in words what an operator should know.
    #[cfg(target_os = "linux")]
    pub(super) fn forget(&mut self, bytes: u64, fits: &dyn Fn(usize) -> bool) -> Option<String> {
        if is_in_memory(&self.file) {
            return None;
        }
        let why = match cached::forget(&self.file, bytes) {
            Ok(true) => return None,
            Ok(false) => "another program keeps pages of the image in the system's cache".into(),
            Err(error) => format!("the system's cache of the image cannot be dropped ({error})"),
        };
        Some(match self.go_direct(fits) {
            Ok(()) => format!("{why}: it is read and written past the cache"),
            Err(refused) => format!(
                "{why}, and {refused}. If a sync of it has failed before, what is read here may not be \
                 what the disk holds: stop that program, or restart the machine, and start again"
            ),
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn forget(&mut self, _: u64, _: &dyn Fn(usize) -> bool) -> Option<String> {
        Some(
            "this system cannot drop what it has cached of the image: after a sync that failed, \
             restart the machine"
                .into(),
        )
    }

    /// Waits until the file's length and place in the file system last as well.
    pub(super) fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

fn refused(error: io::Error, how: How) -> Damage {
    match error.kind() {
        io::ErrorKind::InvalidInput if how.direct => {
            Damage::Direct("the file system does not know it".into())
        }
        _ => Damage::System { doing: "open the file", error },
    }
}

/// One writer, or any number of readers.
fn lock(file: &File, exclusive: bool) -> Result<(), Damage> {
    let locked = if exclusive { file.try_lock() } else { file.try_lock_shared() };
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => Damage::InUse(holder(file)),
        TryLockError::Error(error) => Damage::System { doing: "lock the file", error },
    })
}

/// The process that holds a lock on a file, if the system reports it.
fn holder(file: &File) -> Option<String> {
    let process = *lock_holders(&file.metadata().ok()?).first()?;
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    Some(format!("process {process} ({name})").replace(" ()", ""))
}

/// The processes that hold a lock on a file, as far as the system reports them.
#[must_use]
pub fn lock_holders(file: &std::fs::Metadata) -> Vec<i32> {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{}", file.ino());
    // "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let holder = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (kind, process) = (words.next()?, words.nth(2)?);
        let is_meant = kind == "FLOCK" && words.next()?.ends_with(&inode);
        is_meant.then(|| process.parse().ok()).flatten()
    };
    locks.lines().filter_map(holder).collect()
}

impl Store for Disk {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let Some(direct) = &self.direct else { return self.file.read_exact_at(into, at) };
        let mut through = direct.through();
        let bytes = through.bytes(into.len());
        self.file.read_exact_at(bytes, at)?;
        into.copy_from_slice(bytes);
        Ok(())
    }

    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()> {
        let Some(direct) = &self.direct else { return self.file.write_all_at(from, at) };
        let mut through = direct.through();
        let bytes = through.bytes(from.len());
        bytes.copy_from_slice(from);
        self.file.write_all_at(bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|of| of.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn punch(&self, at: u64, bytes: u64) -> io::Result<()> {
        punch(&self.file, at, bytes)
    }

    fn waits_for_disk(&self) -> bool {
        !is_in_memory(&self.file)
    }

    fn forget_cached(&mut self, fits: &dyn Fn(usize) -> bool) -> io::Result<Option<String>> {
        let bytes = self.len()?;
        Ok(self.forget(bytes, fits))
    }

    #[cfg(target_os = "linux")]
    fn evict(&self) -> io::Result<bool> {
        Ok(is_in_memory(&self.file) || cached::forget(&self.file, self.len()?)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn evict(&self) -> io::Result<bool> {
        Ok(false)
    }

    fn unit(&self) -> usize {
        self.direct.as_ref().map_or(1, |direct| direct.unit)
    }
}

impl Direct {
    /// Finds the unit by reads. A value reported by a stacked file system may be wrong.
    fn probe(file: &File) -> Result<Self, Damage> {
        let mut through = Aligned::default();
        for unit in [512, PAGE] {
            // An empty file returns no data, but refuses unaligned reads too.
            match file.read_at(through.bytes(unit), unit as u64) {
                Ok(_) => return Ok(Self { unit, through: Mutex::new(through) }),
                // The range is one that it would read.
                Err(error) if is_unreadable(&error) => {
                    return Ok(Self { unit, through: Mutex::new(through) });
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                Err(error) => return Err(Damage::System { doing: "read the file", error }),
            }
        }
        Err(Damage::Direct(format!("the disk has blocks of more than {PAGE} bytes")))
    }

    fn through(&self) -> std::sync::MutexGuard<'_, Aligned> {
        // A thread that panicked with the lock left bytes that are never read.
        self.through.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Bytes in memory that begin at a multiple of [`PAGE`].
#[derive(Debug, Default)]
struct Aligned(Vec<u8>);

impl Aligned {
    /// That many bytes, with whatever is in them.
    fn bytes(&mut self, count: usize) -> &mut [u8] {
        if self.0.len() < count + PAGE {
            self.0 = vec![0; count + PAGE];
        }
        let skip = self.0.as_ptr().align_offset(PAGE);
        &mut self.0[skip..][..count]
    }
}

#[cfg(target_os = "linux")]
fn direct_flag() -> Result<i32, Damage> {
    Ok(rustix::fs::OFlags::DIRECT.bits() as i32)
}

/// Whether a file is of a file system without a disk.
#[cfg(target_os = "linux")]
fn is_in_memory(file: &File) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    rustix::fs::fstatfs(file).is_ok_and(|of| matches!(of.f_type as u64, TMPFS | RAMFS))
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &File) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes)?)
}

#[cfg(target_os = "linux")]
fn punch(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, hole, at, bytes)?)
}

#[cfg(not(target_os = "linux"))]
fn direct_flag() -> Result<i32, Damage> {
    Err(Damage::Direct("only Linux has it".into()))
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn punch(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
