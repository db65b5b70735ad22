//! A microcontroller writes its NAND; its dump is opened here, changed, and returned.

use std::{fs, path::Path};

use tempfile::TempDir;
use thermocline_assembly::{
    Access, AssemblyError, Device, Progress, Verdict, check, chips,
    demand_paged::dump::{Spare, read_dump, write_dump},
    device::Overrides,
};
use thermocline_embedded::{
    AREA, Config, Ftl, Geometry, Memory, Nand, NandError,
    policy::{Cat, Dac},
};
use thermocline_flash::{Flash, Lpn};
use thermocline_ftl::Mount;
use thermocline_media::Place;
use thermocline_testing::Draws;

const PAGE: usize = 512;
const SPARE: Spare = Spare { bytes: 32, at: 4 };
const STEP: usize = PAGE + SPARE.bytes as usize;
const SHAPE: Geometry = Geometry { blocks: 256, pages: 16, page_size: PAGE as u32 };
const LOGICAL: u32 = 700;

/// The NAND of a device, as its dump has it. Block 5 was bad when it was sold.
struct Device16(Vec<u8>);

impl Device16 {
    fn new() -> Self {
        let mut bytes = vec![0xff; 256 * 16 * STEP];
        bytes[5 * 16 * STEP + PAGE] = 0;
        Self(bytes)
    }

    fn spare(&mut self, page: u32) -> &mut [u8] {
        &mut self.0[page as usize * STEP + PAGE + SPARE.at as usize..][..AREA]
    }
}

impl Nand for Device16 {
    fn geometry(&self) -> Geometry {
        SHAPE
    }
    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        let from = page as usize * STEP + offset as usize;
        into.copy_from_slice(&self.0[from..][..into.len()]);
        Ok(())
    }
    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        into.copy_from_slice(self.spare(page));
        Ok(())
    }
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        self.0[page as usize * STEP..][..PAGE].copy_from_slice(data);
        self.spare(page).copy_from_slice(area);
        Ok(())
    }
    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.0[block as usize * 16 * STEP..][..16 * STEP].fill(0xff);
        Ok(())
    }
    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        Ok(self.0[block as usize * 16 * STEP + PAGE] != 0xff)
    }
    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        self.0[block as usize * 16 * STEP + PAGE] = 0;
        Ok(())
    }
}

fn page(content: u32) -> Vec<u8> {
    content.to_le_bytes().repeat(PAGE / 4)
}

fn device() -> Device {
    let shape = Overrides {
        page_size: Some(PAGE as u64),
        block_size: Some(16 * PAGE as u64),
        capacity: Some(1 << 20),
        ..Overrides::default()
    };
    Device::load("slc-generic").and_then(|device| device.with(&shape)).expect("a device")
}

fn place(path: &Path) -> Place {
    let Ok(place) = path.to_str().expect("UTF-8").parse();
    place
}

/// The device works, and its power fails.
fn written_by_the_device(draws: &mut Draws, holds: &mut [u32]) -> Vec<u8> {
    let mut nand = Device16::new();
    let memory = Memory::allocate(&SHAPE, LOGICAL, 200);
    let config = Config { logical_pages: LOGICAL, spare_blocks: 1 };
    let mut ftl =
        Ftl::format(&mut nand, memory, Cat::default(), Dac::<4>, config).expect("it fits");
    for number in 1..12_000 {
        let lpn = draws.below(if number % 3 == 0 { LOGICAL } else { LOGICAL / 8 });
        if number % 50 == 0 {
            ftl.trim(lpn).expect("trimmed");
            holds[lpn as usize] = 0;
        } else {
            ftl.write(lpn, &page(number)).expect("written");
            holds[lpn as usize] = number;
        }
    }
    // With a snapshot, which nothing here reads, and which no mount of the device may take after it was changed here.
    ftl.checkpoint().expect("saved");
    drop(ftl);
    assert!(nand.0[..3 * 16 * STEP].iter().any(|&byte| byte != 0xff));
    nand.0
}

#[test]
fn the_nand_of_a_device_is_opened_checked_changed_and_given_back() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (mut draws, mut holds) = (Draws(7), vec![0; LOGICAL as usize]);
    fs::write(at("dump"), written_by_the_device(&mut draws, &mut holds)).expect("written");
    let progress = Progress::default();
    let dumped = read_dump(&at("dump"), &at("chip"), SPARE, &device(), &progress).expect("read");
    assert_eq!((dumped.blocks, dumped.bad_blocks, dumped.torn), (256, 1, 0));
    assert_eq!(dumped.exported_bytes, u64::from(LOGICAL) * PAGE as u64);
    let chip = place(&at("chip"));
    let report = check(&chip, false, &progress).expect("checked");
    assert_eq!(report.verdict(), Verdict::Sound, "{report:?}");
    let held = holds.iter().filter(|&&number| number != 0).count() as u64;
    assert_eq!((report.pages_verified, report.clean), (held, true));
    // Here it is read and changed, by another policy.
    let opened = chips::open(&chip, &Access::default()).expect("formatted");
    let (mut layer, _) = opened.mount_by("hot-cold", Mount::Quick).expect("mounted");
    let mut found = page(1);
    for (lpn, &number) in (0..LOGICAL).map(Lpn).zip(&holds) {
        assert_eq!(layer.read(lpn, &mut found), Ok(number != 0), "{lpn:?}");
        assert_eq!(found, page(number), "{lpn:?}");
    }
    for number in 12_000..18_000 {
        let lpn = draws.below(LOGICAL);
        layer.write(Lpn(lpn), &page(number), 9).expect("written");
        holds[lpn as usize] = number;
    }
    layer.upkeep().unmount(10).expect("unmounted");
    layer.chip_mut().sync().expect("synced");
    drop(layer);
    let back = write_dump(&chip, &at("back"), SPARE, false, &progress).expect("written");
    assert_eq!((back.blocks, back.bad_blocks, back.torn), (256, 1, 0));
    let mut nand = Device16(fs::read(at("back")).expect("readable"));
    let memory = Memory::allocate(&SHAPE, LOGICAL, 200);
    let mut ftl = Ftl::mount(&mut nand, memory, Cat::default(), Dac::<4>).expect("mounted");
    for (lpn, &number) in (0..).zip(&holds) {
        assert_eq!(ftl.read(lpn, &mut found), Ok(number != 0), "{lpn}");
        assert_eq!(found, page(number), "{lpn}");
    }
}

#[test]
fn a_dump_of_another_shape_is_refused_and_leaves_nothing() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let mut holds = vec![0; LOGICAL as usize];
    fs::write(at("dump"), written_by_the_device(&mut Draws(8), &mut holds)).expect("written");
    let refused = |spare: Spare| {
        let read = read_dump(&at("dump"), &at("chip"), spare, &device(), &Progress::default());
        let Err(AssemblyError::Input(text)) = read else { panic!("{spare:?}: it was taken") };
        assert!(!at("chip").exists());
        text
    };
    assert!(refused(Spare { bytes: 31, at: 4 }).contains("no whole blocks"));
    assert!(refused(Spare { bytes: 32, at: 8 }).contains("no store"));
    let wrong: [&str; 3] = ["16@1", "x", "@"];
    assert!(wrong.iter().all(|text| text.parse::<Spare>().is_err()));
    assert_eq!("64@4".parse(), Ok(Spare { bytes: 64, at: 4 }));
}
