//! An image on a block device: a partition, a disk, a loop device.
//!
//! The bytes are those of an image file, from the beginning of the device on; what lies behind them is
//! left alone. What always holds: a device is never cut, removed or made; whoever writes to it has it
//! for himself (`O_EXCL`), so one that is mounted is refused; and one that is not blank is formatted only
//! by force.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use thermocline_flash::{BlockId, Kind};

use super::{
    Image, Open, Unnamed,
    disk::{Disk, How},
    entry,
    error::{Damage, ImageError},
    layout::{Header, Layout, PAGE},
    plan,
    store::Store,
    unread::is_unreadable,
    write_blank,
};
use crate::{
    Medium, MediumEntry, MediumError, NewChip, OpenChip, OpenedChip, Replace, registry::Shape,
};

pub(crate) const ENTRY: MediumEntry = MediumEntry {
    scheme: "device",
    pattern: "device:/dev/NODE",
    example: "device:/dev/sdb1",
    summary: "a partition or another block device",
    takes_path: true,
    create: Some(create),
    open: Some(open),
    room: Some(room),
};

/// Bytes at either end that are looked at before a device counts as blank, and that are blanked at once.
const STEP: usize = 1 << 20;
/// Bytes at the end of a device in which the second copy of a header page is looked for.
const BEHIND: u64 = 64 << 20;

/// The device as an image sees it: as long as the image.
#[derive(Debug)]
struct BlockDevice {
    disk: Disk,
    length: u64,
    /// The header page, while a store is made: it is written when that is complete.
    header: Option<Vec<u8>>,
    /// Keeps others from it: those who would mount it, too.
    _claim: Option<File>,
}

impl BlockDevice {
    fn open(path: &Path, open: Open) -> Result<Self, Damage> {
        let claim = if open.read_only { None } else { Some(claim(path)?) };
        let how = How { write: !open.read_only, lock: open.lock, direct: open.direct };
        let (disk, length) = (Disk::open_any(path, how)?, size(path)?);
        Ok(Self { disk, length, header: None, _claim: claim })
    }
}

impl Store for BlockDevice {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        match &self.header {
            Some(page) if at == 0 || at == self.length - PAGE as u64 => {
                into.copy_from_slice(&page[..into.len()]);
                Ok(())
            }
            _ => self.disk.read_at(into, at),
        }
    }

    fn write_at(&self, from: &[u8], at: u64) -> io::Result<()> {
        self.disk.write_at(from, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn punch(&self, at: u64, bytes: u64) -> io::Result<()> {
        self.disk.punch(at, bytes)
    }

    fn forget_cached(&mut self, fits: &dyn Fn(usize) -> bool) -> io::Result<Option<String>> {
        Ok(self.disk.forget(self.length, fits))
    }

    fn evict(&self) -> io::Result<bool> {
        self.disk.evict()
    }

    fn unit(&self) -> usize {
        self.disk.unit()
    }
}

/// Opens a device so that nobody else can who asks for the same; the system does for a mount.
fn claim(path: &Path) -> Result<File, Damage> {
    let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
    File::options().read(true).custom_flags(exclusive).open(path).map_err(|error| {
        if error.kind() == io::ErrorKind::ResourceBusy {
            return Damage::InUse(Some("a mounted file system or another program".into()));
        }
        Damage::System { doing: "open the device", error }
    })
}

fn size(path: &Path) -> Result<u64, Damage> {
    let size = File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    size.map_err(Damage::when("read the device's size"))
}

/// Refuses what is no block device.
fn check(path: &Path) -> Result<(), MediumError> {
    match std::fs::metadata(path) {
        Ok(is) if is.file_type().is_block_device() => Ok(()),
        Ok(_) => Err(MediumError::Usage(format!(
            "{}: is no block device; name an image file without `device:`",
            path.display()
        ))),
        Err(e) => Err(MediumError::Unusable(format!("{}: {e}", path.display()))),
    }
}

fn at(path: &Path) -> impl Fn(Damage) -> MediumError {
    move |what| entry::refused(ImageError { path: path.into(), what })
}

/// The most blocks a bank that a chip can have on a device, of the shape that it has with so many.
fn room(path: &Path, kind: Kind, shape: Shape<'_>) -> Result<u32, MediumError> {
    check(path)?;
    let bytes = size(path).map_err(at(path))?;
    let fits = |blocks_per_bank: u32| {
        let layout = shape(blocks_per_bank).and_then(|shape| Layout::checked(kind, &shape).ok());
        layout.is_some_and(|layout| layout.length <= bytes)
    };
    // Of more, not even the areas find room.
    let most = bytes / 512;
    let (mut small, mut large) = (0, u32::try_from(most).unwrap_or(u32::MAX));
    while large - small > 1 {
        let middle = small.midpoint(large);
        *(if fits(middle) { &mut small } else { &mut large }) = middle;
    }
    if small == 0 {
        let path = path.display();
        return Err(MediumError::Unusable(format!(
            "{path}: has {bytes} bytes, too few for any chip"
        )));
    }
    Ok(small)
}

fn create(path: &Path, new: &NewChip) -> Result<Box<dyn Medium>, MediumError> {
    check(path)?;
    let (header, layout) = plan(&entry::options(new)).map_err(at(path))?;
    let device = BlockDevice::open(path, Open::default()).map_err(at(path))?;
    if layout.length > device.length {
        return Err(MediumError::Unusable(format!(
            "{}: has {} bytes, and the chip takes {}; give it less ‹capacity›, or none, for all there is",
            path.display(),
            device.length,
            layout.length
        )));
    }
    if new.replace == Replace::Never
        && !is_blank(&device).map_err(|e| at(path)(Damage::when("read the device")(e)))?
    {
        return Err(MediumError::Usage(format!(
            "{}: is not blank; ‹force› formats it, and what it holds is lost",
            path.display()
        )));
    }
    let made = || {
        blank(&device, &layout)?;
        write_blank(&device, &layout, &[]).map_err(Damage::when("write the device"))?;
        // What is cut off before the store is complete is no image.
        let device = BlockDevice { length: layout.length, header: Some(header.encode()), ..device };
        let mut image = Image::over(path, Box::new(device), Open::default())?;
        image.unnamed = Some(Unnamed::Device);
        Ok(image)
    };
    Ok(Box::new(made().map_err(at(path))?))
}

/// Whether a device holds nothing that another program would miss: they all leave a mark at either end.
fn is_blank(device: &BlockDevice) -> io::Result<bool> {
    let step = device.length.min(STEP as u64);
    let mut bytes = vec![0; step as usize];
    for at in [0, device.length - step] {
        device.read_at(&mut bytes, at)?;
        if bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes of the table and the areas what they are in a new file, the old header first, and the copy of it.
fn blank(device: &BlockDevice, layout: &Layout) -> Result<(), Damage> {
    let copy = second_header(device)?.map(|end| end - PAGE as u64);
    let blank = || write_zeros(device, layout, copy);
    blank().map_err(Damage::when("write the device"))
}

fn write_zeros(device: &BlockDevice, layout: &Layout, copy: Option<u64>) -> io::Result<()> {
    let zeros = vec![0; STEP];
    device.write_at(&zeros[..PAGE], 0)?;
    if let Some(copy) = copy {
        device.write_at(&zeros[..PAGE], copy)?;
    }
    device.sync()?;
    let areas = layout.second_areas_of(BlockId(0));
    let copies = areas..areas + u64::from(layout.geometry.blocks()) * layout.areas_bytes as u64;
    for range in [PAGE as u64..layout.payload_of(BlockId(0), 0), copies] {
        let mut at = range.start;
        while at < range.end {
            let here = (range.end - at).min(STEP as u64);
            device.write_at(&zeros[..here as usize], at)?;
            at += here;
        }
    }
    Ok(())
}

/// The device, as long as its header says, or the copy of that behind the image, if it is no shorter.
fn sized(device: BlockDevice) -> Result<BlockDevice, Damage> {
    let said = match header_at(&device, 0)? {
        Some(said) => Some(said),
        None => second_header(&device)?,
    };
    Ok(BlockDevice { length: said.map_or(device.length, |said| said.min(device.length)), ..device })
}

/// The length of the image whose header stands there.
fn header_at(device: &BlockDevice, at: u64) -> Result<Option<u64>, Damage> {
    let mut page = vec![0; PAGE];
    if at + PAGE as u64 > device.length {
        return Ok(None);
    }
    match device.read_at(&mut page, at) {
        Ok(()) => Ok(Header::decode(&page).ok().map(|(_, said)| said)),
        Err(error) if is_unreadable(&error) => Ok(None),
        Err(error) => Err(Damage::System { doing: "read the header page", error }),
    }
}

/// The length of an image by the copy of its header page behind it, which is the last page of the image, and
/// near the end of the device.
fn second_header(device: &BlockDevice) -> Result<Option<u64>, Damage> {
    let pages = device.length / PAGE as u64;
    for number in (pages.saturating_sub(BEHIND / PAGE as u64)..pages).rev() {
        let at = number * PAGE as u64;
        if let Some(said) = header_at(device, at)?
            && said == at + PAGE as u64
        {
            return Ok(Some(said));
        }
    }
    Ok(None)
}

fn open(path: &Path, how: &OpenChip) -> Result<OpenedChip, MediumError> {
    check(path)?;
    let open = Open { read_only: how.read_only, direct: how.direct, ..Open::default() };
    let image = BlockDevice::open(path, open)
        .and_then(sized)
        .and_then(|device| Image::reopen(path, Box::new(device), open));
    Ok(entry::opened(image.map_err(at(path))?))
}
