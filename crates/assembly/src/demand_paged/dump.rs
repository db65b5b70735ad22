//! Dumps of NAND chips of microcontrollers: every page, followed by its spare bytes, which contain the layer's area at
//! some offset.
//!
//! A dump becomes an image that is served, checked and repaired like any other, and an image becomes a dump.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Write},
    path::Path,
    str::FromStr,
};

use serde::Serialize;
use thermocline_embedded::{AREA, Area, Content, Found};
use thermocline_files::{Rights, Successor};
use thermocline_flash::{BlockId, Flash, FlashError, Lpn, Oob};
use thermocline_ftl::index;
use thermocline_media::{Medium, Place, Replace};
use thermocline_policy::preset::LayerKind;

use super::nand::{bytes, oob_of};
use crate::{
    Access, AssemblyError, Device, PolicySpec, Progress, Store, chips, format::create,
    store::new_format,
};

/// The spare bytes of a page in a dump, and the first of those that are the layer's: `64@4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// Bytes behind each page.
    pub bytes: u32,
    /// Where among them the layer's are. Where that is not 0, byte 0 of a block's first page marks a bad block, as the
    /// makers of chips do.
    pub at: u32,
}

impl FromStr for Spare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (bytes, at) = text.split_once('@').unwrap_or((text, "0"));
        match (bytes.parse::<u32>(), at.parse::<u32>()) {
            (Ok(bytes), Ok(at)) if u64::from(at) + AREA as u64 <= u64::from(bytes) => {
                Ok(Self { bytes, at })
            }
            (Ok(_), Ok(_)) => Err(format!("`{text}`: {AREA} bytes from there do not fit")),
            _ => Err(format!(
                "`{text}`: write the spare bytes of a page and where the layer's begin, such as 64@4"
            )),
        }
    }
}

/// The pages read or written.
#[derive(Clone, Debug, Serialize)]
pub struct Dumped {
    /// Erase blocks.
    pub blocks: u32,
    /// Those that are bad.
    pub bad_blocks: u32,
    /// Pages that were programmed.
    pub pages: u64,
    /// Those of which the layer's bytes make no sense: cut off, or of another shape.
    pub torn: u64,
    /// Bytes that the store exports.
    pub exported_bytes: u64,
}

/// Stands beside a page that was cut off.
const TORN: u8 = u8::MAX;

/// Makes an image of a dump, by the page and the block of a device.
///
/// # Errors
/// [`AssemblyError::Input`], where the dump holds no store of that shape; nothing is left of the image then.
pub fn read_dump(
    from: &Path,
    to: &Path,
    spare: Spare,
    device: &Device,
    progress: &Progress,
) -> Result<Dumped, AssemblyError> {
    let of_dump =
        |e: &dyn std::fmt::Display| AssemblyError::Input(format!("{}: {e}", from.display()));
    let file = File::open(from).map_err(|e| of_dump(&e))?;
    let length = file.metadata().map_err(|e| of_dump(&e))?.len();
    let shape = device.profile.geometry;
    let (page_size, pages) = (shape.page_size as usize, shape.data_pages_per_block());
    let block_bytes = u64::from(pages) * (page_size as u64 + u64::from(spare.bytes));
    let blocks = length / block_bytes;
    if length == 0 || blocks * block_bytes != length || blocks > 1 << 24 {
        return Err(of_dump(&format!(
            "has {length} bytes, which are no whole blocks of {pages} pages of {page_size} + {} bytes; \
             ‹page-size›, ‹block-size› and ‹nand› say what a block is",
            spare.bytes
        )));
    }
    let (chip, store) = chip_for(to, device, blocks as u32, Rights::of(from))?;
    let mut dumped =
        Dumped { blocks: blocks as u32, bad_blocks: 0, pages: 0, torn: 0, exported_bytes: 0 };
    let mut chip = chip;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut block_content = vec![0; block_bytes as usize];
    progress.expect(blocks);
    for block in (0..blocks as u32).map(BlockId) {
        step(progress)?;
        file.read_exact(&mut block_content).map_err(|e| of_dump(&e))?;
        copy_block(&mut chip, block, &block_content, page_size, spare, &mut dumped)
            .map_err(|e| AssemblyError::failed(&to.display(), e))?;
    }
    let mounted = store.salvage(chip, new_format()?).map_err(|e| {
        of_dump(&format!(
            "no store can be mounted of {} pages ({} torn): {e}",
            dumped.pages, dumped.torn
        ))
    });
    let (mut layer, _) = mounted?;
    dumped.exported_bytes = u64::from(layer.logical_pages()) * page_size as u64;
    layer.upkeep().unmount(1).map_err(|e| AssemblyError::failed(&to.display(), e))?;
    let chip = layer.chip_mut();
    chip.sync().map_err(|e| AssemblyError::failed(&to.display(), e))?;
    chip.publish()?;
    Ok(dumped)
}

/// A blank chip with the given data blocks, and the store to mount from it.
fn chip_for(
    to: &Path,
    device: &Device,
    blocks: u32,
    rights: Option<Rights>,
) -> Result<(chips::Chip, Store), AssemblyError> {
    let mut profile = device.profile.clone();
    let geometry = &mut profile.geometry;
    (geometry.banks, geometry.channels, geometry.header_pages) = (1, 1, 0);
    geometry.pages_per_block = device.profile.geometry.data_pages_per_block();
    geometry.system_blocks = index::blocks_for_heads(blocks);
    geometry.blocks_per_bank = blocks + geometry.system_blocks;
    geometry.check().map_err(|e| AssemblyError::Input(e.to_string()))?;
    let policy = PolicySpec::parse("greedy", None, None)?.on(LayerKind::DemandPaged)?;
    // The map gives the number of logical pages.
    let store = Store::new(Device::of_chip(profile), policy, 1);
    let name = to.to_str().ok_or_else(|| {
        AssemblyError::Usage(format!("{}: name a path that is UTF-8", to.display()))
    })?;
    let Ok(place) = format!("file:{name}").parse::<Place>();
    Ok((create(&place, &store, false, Replace::Never, rights)?, store))
}

/// Programs the pages of a block of the dump.
fn copy_block(
    chip: &mut dyn Medium,
    block: BlockId,
    content: &[u8],
    page_size: usize,
    spare: Spare,
    dumped: &mut Dumped,
) -> Result<(), FlashError> {
    let at = page_size + spare.at as usize;
    let is_blank = |page: &[u8]| page.iter().all(|&byte| byte == 0xff);
    let pages: Vec<&[u8]> = content.chunks_exact(page_size + spare.bytes as usize).collect();
    if spare.at > 0 && pages[0][page_size] != 0xff {
        dumped.bad_blocks += 1;
        return chip.mark_bad(block);
    }
    let beside = |page: &[u8]| page[at..at + AREA].try_into().unwrap_or([0xff; AREA]);
    if matches!(
        Area::decode(&beside(pages[0])),
        Found::Page(Area { content: Content::Snapshot, .. })
    ) {
        // What firmware left for its own next mount; a blank block says that there is none.
        return Ok(());
    }
    let programmed = pages.iter().rposition(|page| !is_blank(page)).map_or(0, |last| last + 1);
    for (number, page) in (0..).zip(&pages[..programmed]) {
        let oob = oob_of(&beside(page), 0).unwrap_or_else(|| {
            dumped.torn += 1;
            Oob { lpn: Lpn(0), stream: TORN, sequence: 0, time: 0, note: 0 }
        });
        dumped.pages += 1;
        let to = chip.geometry().ppn(block, number);
        chip.program(to, oob, &page[..page_size])?;
    }
    Ok(())
}

/// Writes a chip of this layer as a dump: its blocks for data, in whatever state it is.
///
/// # Errors
/// [`AssemblyError::Usage`] if the chip has another layer.
pub fn write_dump(
    from: &Place,
    to: &Path,
    spare: Spare,
    replace: bool,
    progress: &Progress,
) -> Result<Dumped, AssemblyError> {
    let opened = chips::open(from, &Access::read_only())?;
    if opened.kind() != LayerKind::DemandPaged {
        return Err(AssemblyError::Usage(format!(
            "‹nand›: {from} has the {} layer, which no firmware reads; import what it exports into a \
             chip with ‹layer demand-paged›",
            opened.kind().name()
        )));
    }
    let logical_pages = opened.summary.logical_pages;
    let mut chip = opened.chip;
    let geometry = *chip.geometry();
    let of_dump = |e: std::io::Error| AssemblyError::failed(&to.display(), e);
    let mut successor = Successor::beside(to).map_err(of_dump)?;
    successor.inherit(from.path().and_then(Rights::of)).map_err(of_dump)?;
    let mut file = BufWriter::with_capacity(1 << 20, successor.file());
    let page_size = geometry.page_size as usize;
    let mut page = vec![0; page_size + spare.bytes as usize];
    let mut dumped = Dumped {
        blocks: geometry.data_blocks(),
        bad_blocks: 0,
        pages: 0,
        torn: 0,
        exported_bytes: u64::from(logical_pages) * page_size as u64,
    };
    progress.expect(geometry.data_blocks().into());
    for block in (0..geometry.data_blocks()).map(BlockId) {
        step(progress)?;
        let is_bad = chip.is_bad(block);
        dumped.bad_blocks += u32::from(is_bad);
        for number in geometry.header_pages..geometry.pages_per_block {
            page.fill(0xff);
            if is_bad {
                page[page_size] = 0;
            } else {
                let at = geometry.ppn(block, number);
                put_page(&mut *chip, at, &mut page, page_size, spare, &mut dumped)
                    .map_err(|e| AssemblyError::failed(from, e))?;
            }
            file.write_all(&page).map_err(of_dump)?;
        }
    }
    file.flush().map_err(of_dump)?;
    drop(file);
    let named = if replace { successor.finish() } else { successor.finish_first() };
    named.map_err(of_dump)?;
    Ok(dumped)
}

fn put_page(
    chip: &mut dyn Medium,
    at: thermocline_flash::Ppn,
    page: &mut [u8],
    page_size: usize,
    spare: Spare,
    dumped: &mut Dumped,
) -> Result<(), FlashError> {
    let area = match chip.read_oob(at) {
        Ok(None) => return Ok(()),
        Ok(Some(oob)) => bytes(oob),
        Err(FlashError::Unreadable(_)) => [0; AREA],
        Err(e) => return Err(e),
    };
    dumped.pages += 1;
    dumped.torn += u64::from(!matches!(Area::decode(&area), Found::Page(_)));
    let is_readable = match chip.read(at, &mut page[..page_size]) {
        Ok(()) => true,
        Err(FlashError::Unreadable(_)) => false,
        Err(e) => return Err(e),
    };
    // A dump shows an unreadable page only by an area without content.
    let from = page_size + spare.at as usize;
    page[from..from + AREA].copy_from_slice(if is_readable { &area } else { &[0; AREA] });
    Ok(())
}

fn step(progress: &Progress) -> Result<(), AssemblyError> {
    progress.advance(1);
    if progress.is_cancelled() { Err(AssemblyError::Interrupted) } else { Ok(()) }
}
