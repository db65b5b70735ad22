//! A small device in use, with what its image was at some moments, and what its pages may hold in the end.

use std::{
    fs,
    path::{Path, PathBuf},
};

use thermocline_assembly::{
    Access, AnyLayer, AssemblyError, Candidate, Device, FormatOptions, PolicySpec, ServeOptions,
    chips::plainest, device::Overrides, format,
};
use thermocline_flash::{Flash, Geometry, Lpn};
use thermocline_media::{Medium, Place};
use thermocline_policy::{preset::LayerKind, trigger::Watermarks};

use super::Draws;

type Chip = Box<dyn Medium>;
pub type Layer = AnyLayer<Chip>;

/// How the use of a device ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Stopped,
    Killed,
}

/// The content of a page: 0 for zeros, else the number of the write.
pub type Content = u64;

pub struct History {
    pub end: End,
    layer: LayerKind,
    pub geometry: Geometry,
    file: PathBuf,
    /// The image at moments in the past, oldest first, and in the end.
    images: Vec<Vec<u8>>,
    /// The content of each page at its last certain flush, and all later ones.
    contents: Vec<Vec<Content>>,
    pub written: Content,
}

fn place(file: &Path) -> Place {
    let Ok(place) = file.to_str().expect("UTF-8").parse();
    place
}

fn serve(file: &Path, policy: &str, rebuild: bool) -> Result<AnyLayer<Chip>, AssemblyError> {
    let options = ServeOptions {
        policy: PolicySpec::parse(policy, None, None).expect("a preset"),
        over_provisioning: 0.3,
        watermarks: Watermarks::default(),
        grouped: false,
        time_scale_ns: None,
        seed: 1,
        separate: Vec::new(),
        rebuild,
        map_cache: None,
    };
    let access = Access::default();
    let found = Candidate::find(&place(file), &access, || Err(AssemblyError::Interrupted))?;
    Ok(found.start(&access, &options, |chip, _| chip)?.layer)
}

impl History {
    /// Uses a new device, by numbers drawn from a seed.
    pub fn write(seed: u64, layer: LayerKind, folder: &Path) -> Self {
        let mut draws = Draws(seed);
        let file = folder.join("chip");
        let _ = fs::remove_file(&file);
        let overrides = Overrides {
            capacity: Some((56 + u64::from(draws.below(40))) * 8 * 512),
            block_size: Some(8 * 512),
            page_size: Some(512),
            ..Overrides::default()
        };
        let device = Device::load("slc-generic").and_then(|device| device.with(&overrides));
        let options = FormatOptions {
            device: device.expect("a small device"),
            over_provisioning: 0.3,
            layer,
            preallocate: false,
            force: false,
        };
        format(&place(&file), &options).expect("formatted");
        let policy = match layer {
            LayerKind::Nftl => "nftl",
            LayerKind::InPlace => "in-place",
            LayerKind::DemandPaged if draws.one_in(2) => "greedy",
            LayerKind::DemandPaged => "hot-cold",
            _ if draws.one_in(2) => "greedy",
            _ => "dac",
        };
        let device = serve(&file, policy, false).expect("served");
        let pages = device.logical_pages();
        let geometry = *device.chip().geometry();
        let end = if seed.is_multiple_of(2) { End::Killed } else { End::Stopped };
        let images = Vec::new();
        let mut history = Self {
            end,
            layer,
            geometry,
            file,
            images,
            contents: vec![vec![0]; pages as usize],
            written: 0,
        };
        let mut user = User {
            layer: device,
            now: 1,
            written: 0,
            flushes: Vec::new(),
            since: 0,
            forgotten: vec![0; pages as usize],
            // Only a map page records them: if it is lost, they are undone.
            trims: layer != LayerKind::DemandPaged,
        };
        let most = if draws.one_in(3) { 300 } else { 3000 };
        let length = 200 + draws.below(most);
        let every = length / 10;
        for step in 0..length {
            user.operate(&mut draws, &mut history.contents);
            if step % every == every - 1 {
                history.images.push(fs::read(&history.file).expect("the image is read"));
            }
            if draws.one_in(900) {
                user.stop(&mut history.contents);
                user.layer = serve(&history.file, policy, false).expect("served again");
            }
        }
        if end == End::Stopped {
            user.stop(&mut history.contents);
        }
        history.images.push(fs::read(&history.file).expect("the image is read"));
        history.written = user.written;
        drop(user);
        history
    }

    pub fn serve(&self, rebuild: bool) -> Result<AnyLayer<Chip>, AssemblyError> {
        let policy = plainest(self.layer);
        serve(&self.file, policy, rebuild)
    }

    pub fn place(&self) -> Place {
        place(&self.file)
    }

    pub fn pages(&self) -> u32 {
        self.contents.len() as u32
    }

    pub fn may_hold(&self, lpn: u32) -> &[Content] {
        &self.contents[lpn as usize]
    }

    /// The image in the end.
    pub fn image(&self) -> &[u8] {
        self.images.last().expect("there is one")
    }

    /// The images of before.
    pub fn older(&self) -> &[Vec<u8>] {
        &self.images[..self.images.len() - 1]
    }

    /// Makes the file that long.
    pub fn lengthen(&self, bytes: u64) {
        let file = fs::File::options().write(true).open(&self.file).expect("the image is there");
        // Where the file system takes it.
        let _ = file.set_len(bytes);
    }

    /// Makes the file this image.
    pub fn put(&self, image: &[u8]) {
        fs::write(&self.file, image).expect("the image is written");
    }
}

/// Whoever uses a device.
struct User {
    layer: AnyLayer<Chip>,
    now: u64,
    /// Writes so far.
    written: Content,
    /// Flushes that too few pages record yet.
    flushes: Vec<Flushed>,
    /// Writes since the last flush.
    since: u32,
    /// The number of forgotten contents of each page.
    forgotten: Vec<usize>,
    trims: bool,
}

/// The number of contents of each page at a flush, and the blocks that record it: in the file, or in memory
/// until the next sync.
struct Flushed {
    contents: Vec<usize>,
    blocks: Vec<u32>,
    waiting: Vec<u32>,
}

/// Pages after a flush that record it, beside the first page of each block.
const TELL: u32 = 8;
/// Blocks that must record a flush: damage of one or two leaves another.
const BLOCKS: usize = 3;

impl User {
    fn operate(&mut self, draws: &mut Draws, contents: &mut [Vec<Content>]) {
        self.now += u64::from(draws.below(1000));
        // Most writes go to few pages.
        let pages = contents.len() as u32;
        let most = if draws.one_in(3) { pages } else { pages / 4 };
        match draws.below(40) {
            0 if self.trims => {
                let first = draws.below(pages);
                for lpn in first..(first + 1 + draws.below(6)).min(pages) {
                    self.layer.trim(Lpn(lpn), self.now).expect("trimmed");
                    contents[lpn as usize].push(0);
                }
            }
            1..=3 => self.flush(contents),
            4..=8 => {
                let first = draws.below(pages);
                for lpn in first..(first + 1 + draws.below(16)).min(pages) {
                    self.write(lpn, contents);
                }
            }
            9 => drop(self.layer.upkeep().scrub(self.now).expect("scrubbed")),
            _ => self.write(draws.below(most), contents),
        }
    }

    fn write(&mut self, lpn: u32, contents: &mut [Vec<Content>]) {
        self.written += 1;
        let size = self.layer.chip().geometry().page_size as usize;
        let page = self.written.to_le_bytes().repeat(size / 8);
        self.layer.write(Lpn(lpn), &page, self.now).expect("written");
        contents[lpn as usize].push(self.written);
        let at = self.layer.inspect().locate(Lpn(lpn));
        let geometry = self.layer.chip().geometry();
        let (block, page) = (geometry.block_of(at).0, geometry.page_of(at));
        self.since += 1;
        if self.since > TELL && page > 0 {
            return;
        }
        for flush in &mut self.flushes {
            flush.waiting.push(block);
        }
    }

    /// Contents before a flush are gone.
    fn certain(&mut self, flushed: &[usize], contents: &mut [Vec<Content>]) {
        for ((page, count), forgotten) in contents.iter_mut().zip(flushed).zip(&mut self.forgotten)
        {
            page.drain(..count - 1 - *forgotten);
            *forgotten = count - 1;
        }
    }

    fn counts(&self, contents: &[Vec<Content>]) -> Vec<usize> {
        contents
            .iter()
            .zip(&self.forgotten)
            .map(|(page, forgotten)| page.len() + forgotten)
            .collect()
    }

    /// As a server does.
    fn flush(&mut self, contents: &mut [Vec<Content>]) {
        self.layer.upkeep().settle(self.now).expect("settled");
        let covered = self.layer.upkeep().last_program();
        self.layer.chip_mut().sync().expect("synced");
        self.layer.upkeep().synced(covered);
        for flush in &mut self.flushes {
            flush.blocks.append(&mut flush.waiting);
            flush.blocks.sort_unstable();
            flush.blocks.dedup();
        }
        while self.flushes.first().is_some_and(|flush| flush.blocks.len() >= BLOCKS) {
            let flush = self.flushes.remove(0);
            self.certain(&flush.contents, contents);
        }
        let (contents, [blocks, waiting]) = (self.counts(contents), [const { Vec::new() }; 2]);
        self.flushes.push(Flushed { contents, blocks, waiting });
        self.since = 0;
    }

    fn stop(&mut self, contents: &mut [Vec<Content>]) {
        self.layer.upkeep().unmount(self.now).expect("unmounted");
        self.layer.chip_mut().sync().expect("synced");
        self.flushes.clear();
        self.certain(&self.counts(contents), contents);
        // The chip is locked by one at a time.
        let nobody = serve_nothing();
        self.layer = nobody;
    }
}

/// An unused device.
fn serve_nothing() -> AnyLayer<Chip> {
    let Ok(place) = "ram:".parse::<Place>();
    let overrides = Overrides { capacity: Some(16 << 20), ..Overrides::default() };
    let access = Access::default();
    let device = || Device::load("slc-generic").and_then(|device| device.with(&overrides));
    let options = ServeOptions {
        policy: PolicySpec::parse("greedy", None, None).expect("a preset"),
        over_provisioning: 0.3,
        watermarks: Watermarks::default(),
        grouped: false,
        time_scale_ns: None,
        seed: 1,
        separate: Vec::new(),
        rebuild: false,
        map_cache: None,
    };
    let found = Candidate::find(&place, &access, device).expect("memory");
    found.start(&access, &options, |chip, _| chip).expect("served").layer
}
