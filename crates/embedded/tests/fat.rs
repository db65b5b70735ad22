//! A FAT file system on NAND, as a data logger has it: `embedded-sdmmc` writes it, `fatfs` made it and reads it again, and
//! the power fails in every operation of the chip.

use std::io::{self, Read, Seek, SeekFrom, Write};

use embedded_sdmmc::{Mode, TimeSource, Timestamp, VolumeIdx, VolumeManager};
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};
use thermocline_embedded::{
    AREA, Config, Error, Ftl, Geometry, Nand, NandError, Sectors, Static,
    policy::{Cat, Dac},
};

const PAGE: usize = 2048;
const SHAPE: Geometry = Geometry { blocks: 96, pages: 32, page_size: PAGE as u32 };
const STEP: usize = PAGE + AREA;
const LOGICAL: u32 = 2400;
/// The sectors before the partition, and those of it: few clusters more than a FAT12 has at most.
const BEFORE: u64 = 8;
const SECTORS: u64 = 4400;

type Room = Static<96, 5, 300, PAGE>;

/// NAND that loses power after so many programs and erases.
#[derive(Clone)]
struct Chip {
    bytes: Vec<u8>,
    left: u32,
}

impl Chip {
    fn operation(&mut self) -> Result<(), NandError> {
        self.left = self.left.checked_sub(1).ok_or(NandError::Device)?;
        Ok(())
    }
}

impl Nand for Chip {
    fn geometry(&self) -> Geometry {
        SHAPE
    }
    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        let from = page as usize * STEP + offset as usize;
        into.copy_from_slice(&self.bytes[from..][..into.len()]);
        Ok(())
    }
    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.read(page, PAGE as u32, into)
    }
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        self.operation()?;
        let to = &mut self.bytes[page as usize * STEP..][..STEP];
        assert!(to.iter().all(|&byte| byte == 0xff), "a page is programmed once");
        to[..PAGE].copy_from_slice(data);
        to[PAGE..].copy_from_slice(area);
        Ok(())
    }
    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.operation()?;
        self.bytes[block as usize * 32 * STEP..][..32 * STEP].fill(0xff);
        Ok(())
    }
    fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }
    fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        Ok(())
    }
}

type OnChip<'a> = Ftl<'a, &'a mut Chip, Cat, Dac<4>>;

fn mount<'a>(chip: &'a mut Chip, room: &'a mut Room) -> OnChip<'a> {
    chip.left = u32::MAX;
    Ftl::mount(chip, room.memory(), Cat::default(), Dac::<4>).expect("mounted")
}

/// The partition as `fatfs` wants it.
struct Partition<'f, 'a> {
    ftl: &'f mut OnChip<'a>,
    at: u64,
}

fn failed(error: Error) -> io::Error {
    io::Error::other(error)
}

impl Read for Partition<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min((SECTORS * 512 - self.at) as usize);
        let at = BEFORE * 512 + self.at;
        self.ftl.read_at(at, &mut into[..count], &mut [0; PAGE]).map_err(failed)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Partition<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min((SECTORS * 512 - self.at) as usize);
        let at = BEFORE * 512 + self.at;
        self.ftl.write_at(at, &bytes[..count], &mut [0; PAGE]).map_err(failed)?;
        self.at += count as u64;
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.ftl.flush().map_err(failed)
    }
}

impl Seek for Partition<'_, '_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(by) => (SECTORS * 512).saturating_add_signed(by),
        };
        Ok(self.at)
    }
}

/// A chip with an empty FAT16 in the first partition.
fn formatted() -> Chip {
    let mut chip = Chip { bytes: vec![0xff; 96 * 32 * STEP], left: u32::MAX };
    let mut room = Room::new();
    let config = Config { logical_pages: LOGICAL, ..Config::default() };
    let mut ftl =
        Ftl::format(&mut chip, room.memory(), Cat::default(), Dac::<4>, config).expect("formatted");
    let mut record = [0; 512];
    record[446 + 4] = 0x06;
    record[446 + 8..][..4].copy_from_slice(&(BEFORE as u32).to_le_bytes());
    record[446 + 12..][..4].copy_from_slice(&(SECTORS as u32).to_le_bytes());
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    ftl.write_at(0, &record, &mut [0; PAGE]).expect("written");
    let options = FormatVolumeOptions::new().fat_type(FatType::Fat16).bytes_per_cluster(512);
    fatfs::format_volume(Partition { ftl: &mut ftl, at: 0 }, options).expect("a FAT16");
    drop(ftl);
    chip
}

struct NoClock;

impl TimeSource for NoClock {
    fn get_timestamp(&self) -> Timestamp {
        Timestamp::from_fat(0x21, 0)
    }
}

fn line(number: u32) -> String {
    format!("{number:07} degrees\n")
}

/// Appends lines to a file, each flushed, until the power fails. How many were flushed.
fn log(chip: &mut Chip, left: u32, lines: u32) -> u32 {
    let (mut room, mut page) = (Room::new(), [0; PAGE]);
    let ftl = mount(chip, &mut room);
    let mut sectors = Sectors::new(ftl, &mut page).expect("a page");
    sectors.ftl().nand_mut().left = left;
    let volumes = VolumeManager::new(sectors, NoClock);
    let mut flushed = 0;
    let mut append = || -> Result<(), embedded_sdmmc::Error<Error>> {
        let volume = volumes.open_volume(VolumeIdx(0))?;
        let root = volume.open_root_dir()?;
        for number in 0..lines {
            let file = root.open_file_in_dir("LOG.TXT", Mode::ReadWriteCreateOrAppend)?;
            file.write(line(number).as_bytes())?;
            file.close()?;
            flushed += 1;
        }
        Ok(())
    };
    // Where the power fails, all that is in memory is gone.
    let done = append();
    assert!(done.is_ok() || left < u32::MAX, "{done:?}");
    flushed
}

/// What the other implementation finds in the file.
fn read_back(chip: &mut Chip) -> String {
    let mut room = Room::new();
    let mut ftl = mount(chip, &mut room);
    let volume =
        FileSystem::new(Partition { ftl: &mut ftl, at: 0 }, FsOptions::new()).expect("a FAT");
    let mut text = Vec::new();
    if let Ok(mut file) = volume.root_dir().open_file("LOG.TXT") {
        file.read_to_end(&mut text).expect("readable");
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn lines_that_were_flushed_are_there_whenever_the_power_fails() {
    let chip = formatted();
    let lines = 60;
    let mut whole = chip.clone();
    assert_eq!(log(&mut whole, u32::MAX, lines), lines);
    assert_eq!(read_back(&mut whole), (0..lines).map(line).collect::<String>());
    let mut cuts = 0;
    for left in 0.. {
        let mut chip = chip.clone();
        let flushed = log(&mut chip, left, lines);
        if flushed == lines {
            break;
        }
        cuts += 1;
        let text = read_back(&mut chip);
        let there: String = (0..flushed).map(line).collect();
        assert!(text.starts_with(&there), "cut {left}, {flushed} lines flushed: {text}");
    }
    assert!(cuts > 100, "{cuts}");
}
