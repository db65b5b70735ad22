//! Images of every layer whose checksums fit and whose numbers lie, and every command on them.
//!
//! The first byte chooses the layer; of the rest each eight bytes are a place in the image and what stands there.

#![no_main]

use std::{fs, path::Path, sync::OnceLock};

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use thermocline_assembly::{
    Access, AssemblyError, Device, FormatOptions, Progress, check, chips, device::Overrides,
    format, repair, status,
};
use thermocline_flash::Lpn;
use thermocline_ftl::{Mount, index};
use thermocline_media::Place;
use thermocline_policy::preset::LayerKind;

const PAGE: usize = 4096;
const BLOCKS: usize = 64;
const PAGES: usize = 8;
const PAGE_SIZE: usize = 512;
const LAYERS: [LayerKind; 4] =
    [LayerKind::PageMapped, LayerKind::Nftl, LayerKind::InPlace, LayerKind::DemandPaged];

fn place(file: &Path) -> Place {
    let Ok(place) = file.to_string_lossy().parse();
    place
}

/// An image of each layer, with some pages of data.
fn images() -> &'static [Vec<u8>] {
    static IMAGES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    IMAGES.get_or_init(|| LAYERS.map(|layer| made(layer).unwrap_or_default()).into())
}

fn made(layer: LayerKind) -> Result<Vec<u8>, AssemblyError> {
    let failed = |e: std::io::Error| AssemblyError::Failed(e.to_string());
    let folder = TempDir::new().map_err(failed)?;
    let file = folder.path().join("chip");
    let overrides = Overrides {
        capacity: Some((BLOCKS * PAGES * PAGE_SIZE) as u64),
        block_size: Some((PAGES * PAGE_SIZE) as u64),
        page_size: Some(PAGE_SIZE as u64),
        ..Overrides::default()
    };
    let device = Device::load("slc-generic")?.with(&overrides)?;
    let options =
        FormatOptions { device, over_provisioning: 0.3, layer, preallocate: false, force: false };
    format(&place(&file), &options)?;
    let (mut chip, _) = chips::open(&place(&file), &Access::default())?.mount(Mount::Quick)?;
    let pages = chip.logical_pages();
    for lpn in (0..pages * 2).map(|n| n * 7 % pages) {
        let written = chip.write(Lpn(lpn), &[lpn as u8; PAGE_SIZE], 1);
        written.map_err(|e| AssemblyError::Failed(e.to_string()))?;
    }
    chip.upkeep().unmount(2).map_err(|e| AssemblyError::Failed(e.to_string()))?;
    drop(chip);
    fs::read(&file).map_err(failed)
}

/// CRC-32C.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    let step = |sum: u32, _| sum >> 1 ^ if sum & 1 == 0 { 0 } else { 0x82f6_3b78 };
    (!bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), step))).to_le_bytes()
}

/// Makes the checksums right of what holds one of these places.
fn settle(image: &mut [u8], places: &[usize]) {
    let areas = 3 * PAGE;
    let payload = areas + BLOCKS * 512;
    for &at in places {
        let page = if at < PAGE {
            let sum = checksum(&image[..PAGE - 4]);
            image[PAGE - 4..PAGE].copy_from_slice(&sum);
            let second = image.len() - PAGE;
            image.copy_within(..PAGE, second);
            continue;
        } else if at < areas {
            let slot = at / PAGE * PAGE;
            let sum = checksum(&image[slot + 4..slot + PAGE]);
            image[slot..slot + 4].copy_from_slice(&sum);
            continue;
        } else if at < payload {
            let (block, record) = ((at - areas) / 512, (at - areas) % 512 / 32);
            block * PAGES + record.min(PAGES - 1)
        } else {
            (at - payload) / PAGE_SIZE
        };
        if page >= BLOCKS * PAGES {
            continue;
        }
        let record = areas + page / PAGES * 512 + page % PAGES * 32;
        let content = payload + page * PAGE_SIZE;
        let sum = checksum(&image[content..content + PAGE_SIZE]);
        image[record + 24..record + 28].copy_from_slice(&sum);
        image[record + 28..record + 32].copy_from_slice(&(page as u32).to_le_bytes());
        let sum = checksum(&image[record..record + 32]);
        image[record + 28..record + 32].copy_from_slice(&sum);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&layer, edits)) = data.split_first() else { return };
    let mut image = images()[usize::from(layer) % LAYERS.len()].clone();
    if image.is_empty() {
        return;
    }
    let mut places = Vec::new();
    for edit in edits.as_chunks::<8>().0 {
        let [a, b, c, d, new @ ..] = *edit;
        let at = u32::from_le_bytes([a, b, c, d]) as usize % (image.len() - 4);
        image[at..at + 4].copy_from_slice(&new);
        places.push(at);
    }
    settle(&mut image, &places);
    let Ok(folder) = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()) else { return };
    let file = folder.path().join("chip");
    if fs::write(&file, &image).is_err() {
        return;
    }
    let (place, progress) = (place(&file), Progress::default());
    let _ = status(&place);
    let _ = check(&place, false, &progress);
    if let Ok(mut opened) = chips::open(&place, &Access::read_only()) {
        let _ = index::entries(&mut *opened.chip);
    }
    let mounted = chips::open(&place, &Access::default()).and_then(|chip| chip.mount(Mount::Quick));
    if let Ok((mut chip, _)) = mounted {
        let mut page = [0; PAGE_SIZE];
        for lpn in 0..chip.logical_pages().min(1024) {
            let _ = (chip.read(Lpn(lpn), &mut page), chip.write(Lpn(lpn), &page, 3));
        }
        let _ = chip.upkeep().unmount(4);
    }
    let _ = repair(&place, &Access::default(), &progress);
});
