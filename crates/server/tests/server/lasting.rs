//! The image file at a loss of power: it has what a flush made durable, and no more.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tempfile::TempDir;
use thermocline_assembly::{Device as Chips, PolicySpec, Store, device::Overrides};
use thermocline_flash::{
    BlockId, Condition, Flash, FlashError, Geometry, Kind, Lpn, Oob, Ppn, SimulatedTime,
};
use thermocline_ftl::{Format, FtlError, Mount, index};
use thermocline_media::{Durable, Medium, Replace, Syncing, image};
use thermocline_server::{AnyLayer, Device, Opening};

const PAGE: usize = 4096;

type Work = Box<dyn FnOnce() + Send>;

/// A chip during whose next sync something happens.
struct Meanwhile {
    chip: Box<dyn Medium>,
    work: Arc<Mutex<Option<Work>>>,
}

struct Target {
    inner: Option<Arc<dyn Durable>>,
    work: Arc<Mutex<Option<Work>>>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Durable for Target {
    fn sync(&self) -> std::io::Result<()> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(work) = work {
            work();
        }
        self.inner.as_ref().map_or(Ok(()), |inner| inner.sync())
    }
}

impl Flash for Meanwhile {
    fn geometry(&self) -> &Geometry {
        self.chip.geometry()
    }
    fn in_order(&self) -> bool {
        self.chip.in_order()
    }
    fn is_bad(&self, block: BlockId) -> bool {
        self.chip.is_bad(block)
    }
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.chip.read(from, into)
    }
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        self.chip.read_oob(from)
    }
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.chip.program(to, oob, data)
    }
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.chip.copy(from, to, oob)
    }
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.chip.erase(block)
    }
    fn sync(&mut self) -> Result<(), FlashError> {
        self.chip.sync()
    }
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.chip.mark_bad(block)
    }
}

impl Condition for Meanwhile {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.chip.erase_count(block)
    }
    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        self.chip.read_with_oob(from, into)
    }
}

impl SimulatedTime for Meanwhile {}

impl Medium for Meanwhile {
    fn begin_sync(&mut self) -> Result<Syncing, FlashError> {
        let Syncing { generation, target: inner } = self.chip.begin_sync()?;
        let target = Arc::new(Target { inner, work: Arc::clone(&self.work) });
        Ok(Syncing { generation, target: Some(target) })
    }
    fn finish_sync(&mut self, done: &Syncing) -> Result<(), FlashError> {
        self.chip.finish_sync(done)
    }
}

/// A store on an image in a folder of its own, and what happens during its next sync.
struct Served {
    folder: TempDir,
    store: Store,
    device: Arc<Device>,
    work: Arc<Mutex<Option<Work>>>,
}

impl Served {
    fn new() -> Self {
        let overrides = Overrides { capacity: Some(8 << 20), ..Overrides::default() };
        let chips = Chips::load("slc-generic").and_then(|device| device.with(&overrides));
        let mut chips = chips.expect("a chip of 8 MiB");
        let pages = chips.exported_pages(0.5);
        chips.profile.geometry.system_blocks =
            index::system_blocks_for(&chips.profile.geometry, pages);
        let options = image::Options {
            kind: Kind::Nand,
            geometry: chips.profile.geometry,
            rules: chips.profile.rules,
            profile: String::new(),
            bad_blocks: Vec::new(),
            preallocate: false,
            replace: Replace::Never,
            rights: None,
        };
        let folder = TempDir::new().expect("there is room for a folder");
        let policy = PolicySpec::parse("greedy", None, None).expect("it is a preset");
        let store = Store::new(chips, policy, pages);
        let chip = image::Image::create(&folder.path().join("chip"), &options).expect("a new file");
        let work = Arc::default();
        let chip: Box<dyn Medium> =
            Box::new(Meanwhile { chip: Box::new(chip), work: Arc::clone(&work) });
        let layer = store.format(chip, Format::default()).expect("it can be formatted");
        let device = Arc::new(Device::new(Opening::new(layer), None));
        Self { folder, store, device, work }
    }

    fn write(&self, page: u64, byte: u8) {
        write(&self.device, page, byte);
    }

    fn flush(&self) {
        let changes = self.device.lock().expect("it is in order").changes();
        self.device.settle(changes, 1).expect("the file can be synced");
    }

    fn during_the_next_sync(&self, work: impl FnOnce() + Send + 'static) {
        *self.work.lock().expect("nobody died with it") = Some(Box::new(work));
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("chip")
    }

    /// The layer after a loss of power that left this file.
    fn after(&self, file: &Path) -> AnyLayer {
        let chip = image::Image::open(file, image::Open::default()).expect("it is an image");
        let (layer, recovery) = self
            .store
            .mount(Box::new(chip) as Box<dyn Medium>, Mount::Quick)
            .expect("it can be mounted");
        assert!(!recovery.clean);
        layer
    }
}

fn write(device: &Device, page: u64, byte: u8) {
    let mut held = device.lock().expect("it is in order");
    held.write(page * PAGE as u64, &[byte; PAGE]).expect("there is room");
}

fn read(layer: &mut AnyLayer, page: u32) -> Result<u8, FtlError> {
    let mut data = vec![0; PAGE];
    layer.read(Lpn(page), &mut data)?;
    assert!(data.iter().all(|byte| *byte == data[0]));
    Ok(data[0])
}

#[test]
fn a_trim_that_was_flushed_lasts() {
    let served = Served::new();
    served.write(3, 1);
    served.flush();
    let mut held = served.device.lock().expect("it is in order");
    held.trim(3 * PAGE as u64, PAGE as u64).expect("on the device");
    drop(held);
    served.flush();
    let copy = served.folder.path().join("copy");
    std::fs::copy(served.image(), &copy).expect("there is room");
    assert_eq!(read(&mut served.after(&copy), 3), Ok(0));
}

/// A write during a sync is not known to be durable at its end: torn by a loss of power, it counts as never
/// written.
#[test]
fn a_sync_says_nothing_of_what_was_written_while_it_ran() {
    const TORN: u8 = 0xb7;
    let served = Served::new();
    served.write(3, 1);
    served.flush();
    served.write(4, 2);
    let device = Arc::clone(&served.device);
    served.during_the_next_sync(move || write(&device, 3, TORN));
    served.flush();
    // The next page carries the watermark; it reaches the file with the torn one.
    served.write(5, 3);
    let (image, copy) = (served.image(), served.folder.path().join("copy"));
    let into = copy.clone();
    served.during_the_next_sync(move || {
        std::fs::copy(image, into).expect("there is room");
    });
    served.flush();
    let mut bytes = std::fs::read(&copy).expect("it was made");
    let at = bytes.windows(PAGE).position(|page| page.iter().all(|byte| *byte == TORN));
    bytes[at.expect("it was written before the sync")] ^= 1;
    std::fs::write(&copy, bytes).expect("there is room");
    let mut layer = served.after(&copy);
    assert_eq!([3, 4, 5].map(|page| read(&mut layer, page)), [Ok(1), Ok(2), Ok(3)]);
    let copy = served.folder.path().join("later");
    std::fs::copy(served.image(), &copy).expect("there is room");
    assert_eq!(read(&mut served.after(&copy), 3), Ok(TORN), "the second flush covers it");
}
