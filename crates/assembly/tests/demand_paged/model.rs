//! A small store in use, and what its pages may hold.

use thermocline_assembly::{AnyLayer, Device, PolicySpec, Store};
use thermocline_flash::{Chip, Flash, Geometry, Lpn, Rules};
use thermocline_ftl::{Format, FtlError, Holds, Mount, Recovery};
use thermocline_media::{Faults, Faulty, Ram};
use thermocline_policy::preset::LayerKind;
use thermocline_testing::Draws;

pub const PAGES: u32 = 120;
pub type OfChip = Faulty<Ram>;

pub const GEOMETRY: Geometry = Geometry {
    banks: 1,
    channels: 1,
    blocks_per_bank: 40,
    pages_per_block: 8,
    page_size: 256,
    oob_size: 64,
    header_pages: 0,
    system_blocks: 2,
};

pub fn store(policy: &str) -> Store {
    let mut device = Device::load("slc-generic").expect("a profile");
    device.profile.geometry = GEOMETRY;
    device.profile.rules = Rules { in_order: true, endurance: 1 << 30, initial_bad_blocks: 0 };
    let policy = PolicySpec::parse(policy, None, None).and_then(|p| p.on(LayerKind::DemandPaged));
    // Room for few changes: pages of the map are written all the time.
    let map_cache = Some(480);
    Store { map_cache, ..Store::new(device, policy.expect("a policy"), PAGES) }
}

pub fn chip(faults: Faults) -> OfChip {
    let rules = Rules { in_order: true, endurance: 1 << 30, initial_bad_blocks: 0 };
    Faulty::with_faults(Ram::new(GEOMETRY, rules), faults)
}

/// The allowed contents of each page: the last flushed one, and all later ones. A number fills a page;
/// 0 is zeros.
#[derive(Clone, Debug)]
pub struct Model {
    pub may: Vec<Vec<u32>>,
    written: u32,
    now: u64,
}

fn page(content: u32) -> Vec<u8> {
    content.to_le_bytes().repeat(GEOMETRY.page_size as usize / 4)
}

impl Model {
    pub fn new() -> Self {
        Self { may: vec![vec![0]; PAGES as usize], written: 0, now: 1 }
    }

    /// Performs one operation, whatever its result.
    pub fn operate<C: Chip>(
        &mut self,
        layer: &mut AnyLayer<C>,
        draws: &mut Draws,
    ) -> Result<(), FtlError> {
        self.now += 1;
        // Most writes go to few pages.
        let among = if draws.one_in(3) { PAGES } else { PAGES / 5 };
        let lpn = draws.below(among);
        match draws.below(24) {
            0 => {
                // It holds nothing at once, and that lasts after the next flush.
                self.may[lpn as usize].push(0);
                layer.trim(Lpn(lpn), self.now).map(drop)
            }
            1 => self.flush(layer),
            _ => self.write(layer, lpn),
        }
    }

    pub fn write<C: Chip>(&mut self, layer: &mut AnyLayer<C>, lpn: u32) -> Result<(), FtlError> {
        self.now += 1;
        self.written += 1;
        self.may[lpn as usize].push(self.written);
        layer.write(Lpn(lpn), &page(self.written), self.now)
    }

    pub fn flush<C: Chip>(&mut self, layer: &mut AnyLayer<C>) -> Result<(), FtlError> {
        layer.upkeep().settle(self.now)?;
        layer.chip_mut().sync()?;
        self.flushed();
        Ok(())
    }

    pub fn unmount<C: Chip>(&mut self, layer: &mut AnyLayer<C>) -> Result<(), FtlError> {
        layer.upkeep().unmount(self.now)?;
        layer.chip_mut().sync()?;
        self.flushed();
        Ok(())
    }

    fn flushed(&mut self) {
        for may in &mut self.may {
            let newest = may.last().copied();
            may.clear();
            may.extend(newest);
        }
    }

    /// While it is in use, each page holds the newest.
    pub fn holds_the_newest<C: Chip>(&self, layer: &mut AnyLayer<C>) {
        self.read(layer, |may, found| may.last() == Some(&found));
    }

    /// After a loss of power each page has an allowed content, the only one from then on.
    pub fn recovered<C: Chip>(&mut self, layer: &mut AnyLayer<C>) {
        let found = self.read(layer, |may, found| may.contains(&found));
        for (may, found) in self.may.iter_mut().zip(found) {
            may.clear();
            may.push(found);
        }
    }

    /// After a page of the chip was lost each holds something that it may, or is an error: those are given.
    pub fn survived<C: Chip>(&mut self, layer: &mut AnyLayer<C>, case: &str) -> Vec<u32> {
        let mut into = page(7);
        let mut lost = Vec::new();
        for (lpn, may) in (0..PAGES).zip(&mut self.may) {
            match layer.read(Lpn(lpn), &mut into) {
                Ok(_) => {
                    let found = u32::from_le_bytes([into[0], into[1], into[2], into[3]]);
                    assert_eq!(into, page(found), "{case}: {lpn} is not whole");
                    assert!(may.contains(&found), "{case}: {lpn} holds {found}, not {may:?}");
                    *may = vec![found];
                }
                Err(FtlError::Lost(_) | FtlError::Flash(_)) => lost.push(lpn),
                Err(e) => panic!("{case}: {lpn}: {e}"),
            }
        }
        assert_eq!(layer.inspect().check(), Ok(()), "{case}");
        lost
    }

    fn read<C: Chip>(
        &self,
        layer: &mut AnyLayer<C>,
        is_right: impl Fn(&[u32], u32) -> bool,
    ) -> Vec<u32> {
        let mut into = page(7);
        let mut all = Vec::new();
        for (lpn, may) in (0..PAGES).map(Lpn).zip(&self.may) {
            let holds = layer.read(lpn, &mut into).unwrap_or_else(|e| panic!("{lpn:?}: {e}"));
            let found = u32::from_le_bytes([into[0], into[1], into[2], into[3]]);
            assert_eq!(into, page(found), "{lpn:?} is not whole");
            assert_eq!(holds, found != 0, "{lpn:?}");
            let told = if holds { Holds::Data } else { Holds::Nothing };
            assert_eq!(layer.inspect().holds(lpn), told, "{lpn:?}");
            assert!(is_right(may, found), "{lpn:?} holds {found}, not one of {may:?}");
            all.push(found);
        }
        let done = layer.inspect().check();
        assert_eq!(done, Ok(()));
        all
    }
}

pub fn format(store: &Store, faults: Faults) -> AnyLayer<OfChip> {
    let mut layer = store.format(chip(faults), Format::default()).expect("formatted");
    layer.chip_mut().sync().expect("synced");
    layer
}

/// The chip with its power back, mounted.
pub fn mount(store: &Store, mut chip: OfChip, how: Mount) -> (AnyLayer<OfChip>, Recovery) {
    chip.power_on();
    store.mount(chip, how).expect("it can be mounted")
}
