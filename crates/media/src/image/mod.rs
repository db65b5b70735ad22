//! A chip in a file: the file *is* the chip, page by page with its out-of-band areas.
//!
//! The layout is in `docs/format-image.md`. The rules by which it survives any loss of power:
//!
//! * A page is its payload and a record with the payload's checksum, written in this order but
//!   lasting in any. The record decides: without one the page is blank, and with one whose checksum
//!   does not fit the payload it is unreadable.
//! * On NAND, pages and records are gathered in memory and go to the file in runs: when a run is
//!   full, when another block needs its place, and before every sync. What is not on the file yet is
//!   lost even if only the process dies, which no sync has promised to survive.
//! * An erase is noted in memory. It is carried out (records blanked, erase count written) once a
//!   sync that was begun after it is over, so nothing of it lasts before all that was programmed
//!   before it. A program into a block whose erase waits does that sync first.
//! * Carried out is not lasting: until the next sync, power may bring back any of the block's old
//!   pages, or what was programmed anew, page by page. An old record beside new payload is
//!   unreadable, so what comes back is whole; and as everything programmed before the erase lasts,
//!   it is older than what replaced it.
//! * The areas, and the pages of the index log, stand twice in the file (`image::second`): one sector that
//!   cannot be read, or holds something else, costs nothing of them.
//! * A record, and every other thing that changes in place, lies within a sector of 512 bytes, which
//!   a disk writes whole or not at all. The block table does not rely even on that.
//! * After a sync that failed none succeeds: nobody knows what was lost. Where the file system had no
//!   room, what the last good sync does not cover is first written once more (`image::unsynced`).
//! * Whoever opens an image syncs the file, and reads past what the system has cached of it: what was
//!   not written when a sync failed, in whichever process, is not there.

mod ahead;
mod areas;
mod buffer;
#[cfg(target_os = "linux")]
mod cached;
mod chip;
#[cfg(target_os = "linux")]
pub(crate) mod device;
pub(crate) mod disk;
pub(crate) mod entry;
pub(crate) mod error;
mod layout;
mod runs;
mod second;
pub(crate) mod store;
mod syncing;
mod table;
pub mod tape;
#[cfg(test)]
mod tests;
mod unread;
mod unsynced;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use thermocline_files::{Kind as FileKind, Rights, Successor};
use thermocline_flash::{BlockId, Geometry, Kind, Ppn, Rules};

pub(crate) use entry::ENTRY;
pub use error::{Damage, ImageError};
pub use layout::{FORMAT_VERSION, Header, PROFILE_BYTES};

use crate::{
    Medium, Replace,
    record::{self, checksum},
};
use ahead::Ahead;
use areas::Areas;
pub use disk::lock_holders;
use disk::{Disk, How};
use layout::{Layout, PAGE};
use runs::Runs;
use store::{Guarded, Store, read_anew};
use syncing::Waiting;
use table::Table;
use unread::{FILLER, Unread, is_unreadable};

/// How to make an image.
#[derive(Clone, Debug)]
pub struct Options {
    /// NAND, or NOR in the papers' layout.
    pub kind: Kind,
    /// The shape of the chip.
    pub geometry: Geometry,
    /// The rules of the chip.
    pub rules: Rules,
    /// The device profile, in whatever form it is wanted back; at most [`PROFILE_BYTES`] long.
    pub profile: String,
    /// Blocks that are bad from the factory.
    pub bad_blocks: Vec<BlockId>,
    /// Allocates the whole file now, so that the disk cannot be full later. NOR images always are.
    pub preallocate: bool,
    /// What becomes of a file that is there.
    pub replace: Replace,
    /// Whose rights the file gets, where it replaces none.
    pub rights: Option<Rights>,
}

/// How to open an image.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Nothing can be changed: programs, erases and marks fail with system error 30 (read-only file
    /// system).
    pub read_only: bool,
    /// Locks the file: alone, or with other readers if read-only.
    pub lock: bool,
    /// Reads and writes past the system's page cache (`O_DIRECT`).
    pub direct: bool,
    /// Makes a file that was cut off as long as it was: what stood behind cannot be read.
    pub lengthen: bool,
    /// Gives the payload of erased blocks back to the file system.
    pub punch_erased: bool,
    /// Makes erases past the rated endurance fail.
    pub wears_out: bool,
}

impl Default for Open {
    fn default() -> Self {
        Self {
            read_only: false,
            lock: true,
            direct: false,
            lengthen: false,
            punch_erased: false,
            wears_out: false,
        }
    }
}

/// A chip in a file.
#[derive(Debug)]
pub struct Image {
    path: PathBuf,
    header: Header,
    layout: Layout,
    store: Arc<Guarded>,
    table: Table,
    areas: Areas,
    runs: Runs,
    ahead: Ahead,
    waiting: Waiting,
    open: Open,
    failed_reads: u64,
    /// The page whose payload the disk could not read, if that was the last one read.
    refused: Option<Ppn>,
    lost_groups: u32,
    /// The copy of the header page that is damaged.
    damaged_header: Option<Copy>,
    /// A page, for who wants none of it.
    page: Vec<u8>,
    /// The name that it has yet to take.
    unnamed: Option<Unnamed>,
    /// What an operator should know of how it was opened.
    remarks: Vec<String>,
}

/// What a new image needs to be found.
#[derive(Debug)]
enum Unnamed {
    /// Its name.
    File {
        successor: Successor,
        /// Nothing had the name, and nothing may have got it since.
        is_first: bool,
        /// The file that it replaces. It is locked until then: nobody uses it.
        _replaces: Option<Disk>,
    },
    /// Its header pages: a block device has a name.
    #[cfg(target_os = "linux")]
    Device,
}

impl Image {
    /// Makes an image, and opens it for writing.
    ///
    /// # Errors
    /// [`ImageError`]; a file of that name is then as it was.
    pub fn create(path: &Path, options: &Options) -> Result<Self, ImageError> {
        let mut image = Self::create_unnamed(path, options)?;
        image.take_name().map_err(|what| ImageError { path: path.into(), what })?;
        Ok(image)
    }

    /// Makes an image that takes its name, and the place of a file that has it, when it is told to
    /// ([`Medium::publish`]). Dropped before, it leaves nothing behind.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn create_unnamed(path: &Path, options: &Options) -> Result<Self, ImageError> {
        let create = || {
            let (header, layout) = plan(options)?;
            let how = How { write: true, lock: true, direct: false };
            let kind = FileKind::of(path).map_err(Damage::when("create the file"))?;
            let is_first = kind == FileKind::Nothing;
            let replaces = match kind {
                FileKind::Nothing => None,
                FileKind::File => match options.replace {
                    Replace::Never => return Err(Damage::Exists),
                    Replace::Unused => Some(Disk::open(path, how)?),
                    Replace::Locked => None,
                },
                kind => return Err(Damage::NotAFile { is: kind.name() }),
            };
            let begin = || {
                let mut successor = Successor::beside(path)?;
                successor.inherit(options.rights.clone())?;
                let file = successor.file().try_clone()?;
                Ok((successor, file))
            };
            let (successor, file) = begin().map_err(Damage::when("create the file"))?;
            let disk = Disk::of_file(file, how)?;
            let store = fill(disk, &header, &layout, options)?;
            let mut image = Self::over(path, store, Open::default())?;
            image.unnamed = Some(Unnamed::File { successor, is_first, _replaces: replaces });
            Ok(image)
        };
        create().map_err(|what| ImageError { path: path.into(), what })
    }

    fn take_name(&mut self) -> Result<(), Damage> {
        let (successor, is_first, _replaces) = match self.unnamed.take() {
            None => return Ok(()),
            #[cfg(target_os = "linux")]
            Some(Unnamed::Device) => {
                return write_headers(&*self.store, &self.header, &self.layout)
                    .map_err(Damage::when("write the header page"));
            }
            Some(Unnamed::File { successor, is_first, _replaces }) => {
                (successor, is_first, _replaces)
            }
        };
        let named = if is_first { successor.finish_first() } else { successor.finish() };
        named.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Damage::Exists,
            _ => Damage::System { doing: "name the file", error },
        })
    }

    /// Opens an image. Takes no longer for a large one, but for the block table (4 bytes a block).
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn open(path: &Path, open: Open) -> Result<Self, ImageError> {
        let how = How { write: !open.read_only, lock: open.lock, direct: open.direct };
        let disk = Disk::open(path, how);
        disk.and_then(|disk| Self::reopen(path, Box::new(disk), open))
            .map_err(|what| ImageError { path: path.into(), what })
    }

    /// Opens what a store held before: nothing is believed that only the system's cache may know. What is
    /// read lasts.
    fn reopen(path: &Path, mut store: Box<dyn Store>, open: Open) -> Result<Self, Damage> {
        // Nothing ever changes in the header: the cache may be asked.
        let header = store.len().ok().and_then(|is| read_header(&*store, is).ok());
        let layout = header.map(|(header, ..)| Layout::of(header.kind, &header.geometry));
        let fits = |unit| layout.is_some_and(|layout| layout.fits(unit));
        let remarks = read_anew(&mut *store, open.read_only, &fits)?;
        let mut image = Self::over(path, store, open)?;
        image.remarks = remarks;
        if !open.read_only && !open.lengthen && image.areas.unread.cut_at().is_some() {
            // Else the next damage would find one copy only.
            let mended = image.mend();
            image.remarks.extend(mended.map_err(|_| Damage::Header)?);
            image.areas.unread = Unread::default();
        }
        Ok(image)
    }

    /// Opens what a store holds.
    fn over(path: &Path, store: Box<dyn Store>, open: Open) -> Result<Self, Damage> {
        let long = store.len().map_err(Damage::when("read the file's length"))?;
        if long < PAGE as u64 {
            return Err(Damage::Stub(long));
        }
        let (header, should, damaged_header) = read_header(&*store, long)?;
        // A repair that made it longer and was cut off itself says how long it was.
        let marked = (damaged_header == Some(Copy::Second)).then(|| read_cut(&*store, should));
        let is = marked.flatten().unwrap_or(long);
        let layout = Layout::of(header.kind, &header.geometry);
        let is_whole = is >= layout.second_copies();
        // What is left of one that was cut off can be read; and used, where nothing was lost.
        if is > should || is < should && !(open.read_only || open.lengthen || is_whole) {
            return Err(Damage::Length { is, should });
        }
        let is_lengthened = long < should && !open.read_only;
        if is_lengthened {
            lengthen(&*store, is, should, is_whole)?;
        }
        let damaged_header = if is_lengthened { Some(Copy::Second) } else { damaged_header };
        let mut unread = Unread::new(is, should, layout.second_copies());
        let size = header.geometry.page_size as usize;
        let unit = store.unit();
        if !layout.fits(unit) {
            let why = format!("the disk has blocks of {unit} bytes, and a page is {size} long");
            return Err(Damage::Direct(why));
        }
        let (table, lost_groups) = Table::read(&*store, &layout, &mut unread)?;
        Ok(Self {
            path: path.into(),
            layout,
            store: Guarded::new(store),
            table,
            areas: Areas::new(layout, unread),
            runs: Runs::new(&layout),
            ahead: Ahead::new(),
            waiting: Waiting::new(header.geometry.blocks()),
            open,
            failed_reads: 0,
            refused: None,
            lost_groups,
            damaged_header,
            page: vec![0; size],
            unnamed: None,
            remarks: Vec::new(),
            header,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the image says of itself.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes of the file.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.layout.length
    }

    /// Groups of the block table that could not be read when the image was opened. Their erase
    /// counts are estimates, and their bad marks are lost. No loss of power brings this about.
    #[must_use]
    pub const fn lost_groups(&self) -> u32 {
        self.lost_groups
    }
}

/// The two copies of the header page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copy {
    First,
    Second,
}

impl Copy {
    const fn name(self) -> &'static str {
        match self {
            Self::First => "the first copy of the header page (at the start of the file)",
            Self::Second => "the second copy of the header page (at the end of the file)",
        }
    }
}

/// Reads the header page, and its second copy from the end of the file if the first is damaged. Tells
/// which of them is.
fn read_header(store: &dyn Store, is: u64) -> Result<(Header, u64, Option<Copy>), Damage> {
    let mut page = vec![0; PAGE];
    let mut copy = |at: u64| match store.read_at(&mut page, at) {
        Ok(()) => Header::decode(&page),
        Err(error) if is_unreadable(&error) => Err(Damage::Unreadable { at }),
        Err(error) => Err(Damage::System { doing: "read the header page", error }),
    };
    let first = copy(0);
    // The last whole page of a file of any length is where the copy is, or nothing that passes for one.
    let second = copy(is.saturating_sub(PAGE as u64));
    match (first, second) {
        (Ok((header, should)), Ok((copy, _))) if copy == header => Ok((header, should, None)),
        // Of another length it is no image, whatever its end holds.
        (Ok((header, should)), _) if should != is => Ok((header, should, None)),
        (Ok((header, should)), _) => Ok((header, should, Some(Copy::Second))),
        (Err(_), Ok((header, should))) if should == is => Ok((header, should, Some(Copy::First))),
        (Err(damage), _) => Err(damage),
    }
}

/// Stands in the last sector of the second header page's place while a file is repaired that was cut off: behind it the
/// length that it had.
const CUT: [u8; 8] = *b"THERMCUT";
const CUT_AT: usize = PAGE - 512;

/// The page that says how long a file was before it was made longer.
fn cut_page(is: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    page[CUT_AT..][..8].copy_from_slice(&CUT);
    page[CUT_AT + 8..][..8].copy_from_slice(&is.to_le_bytes());
    let sum = checksum(&page[CUT_AT..][..16]);
    page[CUT_AT + 16..][..4].copy_from_slice(&sum.to_le_bytes());
    page
}

/// How long a file was that is as long as it should be again, if a repair of it was cut off.
fn read_cut(store: &dyn Store, should: u64) -> Option<u64> {
    let mut page = vec![0; PAGE];
    store.read_at(&mut page, should.checked_sub(PAGE as u64)?).ok()?;
    let is = u64::from_le_bytes(*page[CUT_AT + 8..].first_chunk()?);
    (page == cut_page(is) && is < should).then_some(is)
}

/// Makes a file as long as it was. Where only second copies were lost, what stands in their place is nothing; else the
/// length that it had stands at its end, until all that is lost is known to be.
fn lengthen(store: &dyn Store, is: u64, should: u64, is_whole: bool) -> Result<(), Damage> {
    let refused = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::Unsupported => Damage::Length { is, should },
        _ => Damage::System { doing: "make the file as long as it was", error },
    };
    // Whether it can be made longer at all.
    store.set_len(is).map_err(refused)?;
    if !is_whole {
        return store.write_at(&cut_page(is), should - PAGE as u64).map_err(refused);
    }
    // One after another: should that be cut off, the length says how far it got.
    let filler = vec![FILLER; 1 << 20];
    // Whole blocks of the disk.
    let unit = store.unit() as u64;
    let mut at = is.next_multiple_of(unit).min(should);
    while at < should {
        let here = (should - at).min(filler.len() as u64);
        store.write_at(&filler[..here as usize], at).map_err(refused)?;
        at += here;
    }
    Ok(())
}

/// Whether a file has no header page that can be read, in neither place. Of a header of another version, or of a
/// system that fails, that is not said.
///
/// # Errors
/// [`ImageError`], where the file cannot be opened.
pub fn has_lost_header(path: &Path) -> Result<bool, ImageError> {
    let look = || {
        let disk = Disk::open(path, How { write: false, lock: true, direct: false })?;
        let is = disk.len().map_err(Damage::when("read the file's length"))?;
        let found = if is < PAGE as u64 { return Ok(false) } else { read_header(&disk, is) };
        Ok(matches!(found, Err(Damage::NotAnImage | Damage::Header | Damage::Unreadable { .. })))
    };
    look().map_err(|what| ImageError { path: path.into(), what })
}

/// Writes both copies of a header page into a file that is as long as such an image. False if it is not, or if
/// there can be no such chip.
///
/// # Errors
/// [`ImageError`], where the file cannot be written.
pub fn renew_header(path: &Path, header: &Header) -> Result<bool, ImageError> {
    let renew = || {
        let Header { kind, geometry, profile, .. } = header;
        let layout = geometry.check().ok().and_then(|()| Layout::checked(*kind, geometry).ok());
        let Some(layout) = layout.filter(|_| profile.len() <= PROFILE_BYTES) else {
            return Ok(false);
        };
        let disk = Disk::open(path, How { write: true, lock: true, direct: false })?;
        if disk.len().map_err(Damage::when("read the file's length"))? != layout.length {
            return Ok(false);
        }
        let written = disk
            .write_at(&header.encode(), layout.second_header())
            .and_then(|()| disk.write_at(&header.encode(), 0))
            .and_then(|()| disk.sync_all());
        written.map_err(Damage::when("write the header page")).map(|()| true)
    };
    renew().map_err(|what| ImageError { path: path.into(), what })
}

/// The header of a new image, if there can be such a chip.
fn plan(options: &Options) -> Result<(Header, Layout), Damage> {
    let geometry = options.geometry;
    geometry.check()?;
    if options.profile.len() > PROFILE_BYTES {
        return Err(Damage::LongProfile);
    }
    let layout = Layout::checked(options.kind, &geometry)?;
    let mut id = [0; 16];
    // Not from /dev: a container may have none.
    getrandom::fill(&mut id)
        .map_err(|error| Damage::when("draw an identifier")(io::Error::other(error.to_string())))?;
    let Options { kind, rules, ref profile, .. } = *options;
    Ok((Header { id, kind, geometry, rules, profile: profile.clone() }, layout))
}

/// Makes a new, empty file an image.
fn fill(
    disk: Disk,
    header: &Header,
    layout: &Layout,
    options: &Options,
) -> Result<Box<dyn Store>, Damage> {
    let resize = Damage::when("make the file as long as the chip");
    disk.set_len(layout.length).map_err(resize)?;
    if options.preallocate {
        disk.allocate(layout.length)?;
    }
    write_blank(&disk, layout, &options.bad_blocks)
        .and_then(|()| write_headers(&disk, header, layout))
        .and_then(|()| disk.sync_all())
        .map_err(Damage::when("write the file"))?;
    Ok(Box::new(disk))
}

/// Writes what stands in the image of an erased chip, but for the header pages, which come last: what was cut off is
/// no image.
fn write_blank(store: &dyn Store, layout: &Layout, bad: &[BlockId]) -> std::io::Result<()> {
    Table::new(layout, bad).write_new(store, layout)?;
    if layout.kind == Kind::Nor {
        let (mut areas, runs) = (Areas::new(*layout, Unread::default()), Runs::new(layout));
        for block in (0..layout.geometry.blocks()).map(BlockId) {
            areas.blank(block, &record::segment::erased(block, 0), &runs, store)?;
        }
    }
    store.sync()
}

fn write_headers(store: &dyn Store, header: &Header, layout: &Layout) -> std::io::Result<()> {
    store.write_at(&header.encode(), layout.second_header())?;
    store.write_at(&header.encode(), 0)?;
    store.sync()
}
