//! Restores the header page of an image that lost both copies, from the summary in each block of its index log.

use std::{fs::File, os::unix::fs::FileExt, path::Path};

use thermocline_flash::{Geometry, Kind, Rules};
use thermocline_ftl::index::{Record, Summary};
use thermocline_media::{
    Place,
    image::{self, Header},
    sparse,
};

use crate::{AssemblyError, Device, chips::profile_text};

/// Bytes that are looked at at once.
const PIECE: usize = 1 << 20;
/// Bytes of the head of a block of the log that are looked at: more than its summary takes.
const HEAD: usize = 256;
/// Pages begin at multiples of this.
const SECTOR: usize = 512;
/// The devices whose times and ratings stand for those of the chip, for nothing else says them.
const DEVICES: [(Kind, &str); 2] =
    [(Kind::Nand, "slc-generic"), (Kind::Nor, "intel-series2plus-24m")];

/// Rewrites a missing header page if the log has the summary. Returns what was done, in words.
pub(crate) fn renew(place: &Place) -> Result<Option<String>, AssemblyError> {
    let failed = |e: &dyn std::fmt::Display| AssemblyError::failed(place, e);
    let Some(path) = place.path().filter(|path| path.is_file()) else { return Ok(None) };
    // Where it cannot be opened, whoever opens it next says why.
    if !image::has_lost_header(path).unwrap_or(false) {
        return Ok(None);
    }
    for summary in summaries(path).map_err(|e| failed(&e))? {
        for (kind, device) in DEVICES {
            let header = header(&summary, kind, device)?;
            if image::renew_header(path, &header).map_err(|e| failed(&e))? {
                return Ok(Some(format!(
                    "both copies of the header page were lost, and are written anew by what the index log says; \
                     times and ratings are those of {device}"
                )));
            }
        }
    }
    Ok(None)
}

/// The distinct summaries in the log, the last in the file first, since the log is at the end. Skips holes: a file
/// of some KiB may have a size of terabytes.
fn summaries(path: &Path) -> std::io::Result<Vec<Summary>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut piece = vec![0; PIECE + HEAD];
    let mut found: Vec<Summary> = Vec::new();
    for begin in pieces_with_data(&file, length)?.into_iter().rev() {
        let end = (begin + PIECE as u64).min(length);
        let there = (length - begin).min(piece.len() as u64) as usize;
        if file.read_exact_at(&mut piece[..there], begin).is_err() {
            // What cannot be read holds no head.
            for (at, sector) in (begin..).step_by(SECTOR).zip(piece[..there].chunks_mut(SECTOR)) {
                if file.read_exact_at(sector, at).is_err() {
                    sector.fill(0);
                }
            }
        }
        piece[there..].fill(0);
        for head in (0..(end - begin) as usize).step_by(SECTOR).rev() {
            if let Some((_, Record::Head(head))) = Record::decode(&piece[head..head + HEAD])
                && !found.contains(&head.summary)
            {
                found.push(head.summary);
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// Where the pieces of a file begin that hold data, in order.
fn pieces_with_data(file: &File, length: u64) -> std::io::Result<Vec<u64>> {
    let mut begins = Vec::new();
    for data in sparse::data(file, length) {
        let data = data?;
        let first = data.start / PIECE as u64 * PIECE as u64;
        let next = begins.last().map_or(0, |last| last + PIECE as u64);
        begins.extend((first.max(next)..data.end).step_by(PIECE));
    }
    Ok(begins)
}

fn header(summary: &Summary, kind: Kind, device: &str) -> Result<Header, AssemblyError> {
    let mut profile = Device::load(device)?.profile;
    profile.geometry = Geometry {
        banks: summary.banks,
        channels: 1,
        blocks_per_bank: summary.blocks / summary.banks.max(1),
        pages_per_block: summary.pages_per_block,
        page_size: summary.page_size,
        header_pages: summary.header_pages,
        system_blocks: summary.system_blocks,
        ..profile.geometry
    };
    profile.rules = Rules { initial_bad_blocks: 0, ..profile.rules };
    Ok(Header {
        id: summary.id,
        kind,
        geometry: profile.geometry,
        rules: profile.rules,
        profile: profile_text(&profile)?,
    })
}
