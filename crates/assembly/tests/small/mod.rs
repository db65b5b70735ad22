//! Small stores in recorded images, of each layer, served as a server serves them.

use thermocline_assembly::{
    AssemblyError, Device as Chip, PolicySpec, Store, chips::Opened, device::Overrides,
};
use thermocline_ftl::{Format, Mount, index};
use thermocline_media::{
    Medium,
    image::tape::{Part, Tape},
};
use thermocline_policy::preset::LayerKind;
use thermocline_server::{Device, Opening};

/// Pages of an erase block.
const BLOCK: u64 = 8;

/// A store, and who uses it.
pub struct World {
    pub store: Store,
    pub policy: &'static str,
    /// Bytes of a page.
    pub page: u64,
}

impl World {
    /// A store of a policy on a device with the given page size and blocks, and its image. `demand-paged` stands
    /// for a policy of that layer.
    pub fn of(profile: &str, policy: &'static str, page: u64, blocks: u64) -> (Self, Tape) {
        let overrides = Overrides {
            capacity: Some(blocks * BLOCK * page),
            block_size: Some(BLOCK * page),
            page_size: Some(page),
            ..Overrides::default()
        };
        let device = Chip::load(profile).and_then(|device| device.with(&overrides));
        let spec = match policy {
            "demand-paged" => PolicySpec::parse("greedy", None, None)
                .and_then(|policy| policy.on(LayerKind::DemandPaged)),
            policy => PolicySpec::parse(policy, None, None),
        };
        let store = Store::fit(device.expect("a small device"), 0.3, spec.expect("a preset"));
        let store = store.expect("it fits");
        let tape = formatted(&store);
        (Self { store, policy, page }, tape)
    }

    /// Serves a file.
    pub fn serve(&self, tape: &Tape, mount: Mount) -> Result<Device, String> {
        let chip: Box<dyn Medium> = Box::new(tape.open().map_err(|e| e.to_string())?);
        let (layer, _) = self.store.mount(chip, mount).map_err(|e| e.to_string())?;
        Ok(Device::new(Opening::new(layer), None))
    }

    /// Opens a file as a read-only command does.
    pub fn open(&self, tape: &Tape) -> Result<Opened, AssemblyError> {
        let failed = |e: &dyn std::fmt::Display| AssemblyError::Failed(e.to_string());
        let mut chip: Box<dyn Medium> = Box::new(tape.open().map_err(|e| failed(&e))?);
        let summary = index::find_summary(&mut *chip).map_err(|e| failed(&e))?;
        let summary = summary.ok_or_else(|| failed(&"no head"))?;
        Ok(Opened { chip, device: self.store.device.clone(), summary })
    }

    /// As `repair` does.
    pub fn repair(&self, tape: &Tape) -> Result<(), String> {
        let chip: Box<dyn Medium> = Box::new(tape.open().map_err(|e| e.to_string())?);
        let (mut layer, found) =
            self.store.mount(chip, Mount::Repair).map_err(|e| e.to_string())?;
        layer.inspect().check()?;
        layer.chip_mut().mend().map_err(|e| e.to_string())?;
        layer.upkeep().unmount(found.newest_time + 1).map_err(|e| e.to_string())?;
        layer.chip_mut().sync().map_err(|e| e.to_string())
    }

    pub fn write(&self, device: &Device, page: u64, content: u64) -> Result<(), String> {
        let bytes = content.to_le_bytes().repeat(self.page as usize / 8);
        let mut held = device.lock().map_err(|e| e.to_string())?;
        held.write(page * self.page, &bytes).map_err(|e| e.to_string())
    }

    /// The content of a page, by the calls of a connection; an error in words.
    pub fn read(&self, device: &Device, page: u64) -> Result<u64, String> {
        let mut held = device.lock().map_err(|e| e.to_string())?;
        if !held.run(page * self.page, self.page, 1).0 {
            return Ok(0);
        }
        let mut bytes = vec![1; self.page as usize];
        held.read(page * self.page, &mut bytes).map_err(|e| e.to_string())?;
        Ok(number(&bytes))
    }

    /// An update in place loses the block that is being rewritten.
    pub fn may_lose(&self) -> bool {
        self.policy == "in-place"
    }

    /// The part of its image in a sector.
    pub fn part(&self, sector: u64) -> Part {
        let profile = &self.store.device.profile;
        Tape::part(profile.kind, profile.geometry, sector)
    }
}

/// A new image with an empty store.
pub fn formatted(store: &Store) -> Tape {
    let profile = &store.device.profile;
    let tape = Tape::blank(profile.kind, profile.geometry, profile.rules).expect("an image");
    let chip: Box<dyn Medium> = Box::new(tape.open().expect("opened"));
    let mut layer = store.format(chip, Format::default()).expect("formatted");
    layer.upkeep().unmount(0).expect("unmounted");
    layer.chip_mut().sync().expect("synced");
    tape
}

/// The number that fills a page; the greatest for a page of mixed content.
pub fn number(page: &[u8]) -> u64 {
    let words = page.as_chunks::<8>().0;
    let is_whole = words.iter().all(|word| *word == words[0]);
    if is_whole { u64::from_le_bytes(words[0]) } else { u64::MAX }
}

pub fn flush(device: &Device) -> Result<(), String> {
    let changes = device.lock().map_err(|e| e.to_string())?.changes();
    device.settle(changes, 1).map_err(|e| e.to_string())
}
