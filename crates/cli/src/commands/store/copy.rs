//! `thermocline backup`, `export`, `import` and `grow`: copies of a store's data.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::unix::fs::FileExt,
    path::Path,
};

use serde_json::json;
use thermocline_assembly::{
    AssemblyError, Device, Progress, Store,
    chips::served,
    copy::{self, Holds, NewImage, Original},
    demand_paged::dump::{self, Dumped},
    device::Overrides,
};
use thermocline_files::{Rights, Successor};
use thermocline_media::{Place, sparse};
use thermocline_policy::preset::LayerKind;
use thermocline_server::control::{
    Command,
    client::{Client, Extent, Part},
};
use thermocline_study::jobs;
use thermocline_units::show_size;

use super::live;
use crate::{
    args::{
        store::{BackupArgs, ExportArgs, GrowArgs, ImportArgs},
        values,
    },
    console::Console,
    exit::Failure,
    interrupt,
    output::Output,
    print::{json, number, table::Pairs},
};

/// Pages that are named one by one.
const MOST_NAMED: usize = 100;

/// Where pages come from.
enum Source {
    AtRest(Box<Original>),
    Served { client: Box<Client>, device: Box<Device>, extent: Extent, layer: LayerKind },
}

/// The result of a copy.
#[derive(Debug, Default)]
struct Copied {
    pages: u64,
    lost: Vec<u32>,
}

impl Source {
    fn open(place: &Place) -> Result<Self, Failure> {
        let Some(mut client) = live::find(place, None)? else {
            return Ok(Self::AtRest(Box::new(Original::open(place, false)?)));
        };
        let failed = |why: String| Failure::failed(format!("{place}: {why}"));
        let head = client.ask(Command::Copy).map_err(failed)?;
        let number = |key: &str| head[key].as_u64().and_then(|n| u32::try_from(n).ok());
        let device = copy::device_from(head["profile"].as_str().unwrap_or_default())?;
        let geometry = &device.profile.geometry;
        let layer = values::served_layer(head["layer"].as_str().unwrap_or_default())
            .map_err(|why| failed(format!("its server says: {why}")))?;
        let most = u64::from(geometry.data_blocks()) * u64::from(geometry.data_pages_per_block());
        let extent = match (number("page_size"), number("logical_pages")) {
            (Some(size), Some(pages)) if size == geometry.page_size && u64::from(pages) <= most => {
                Extent::new(size, pages)
            }
            _ => return Err(failed("its server describes no copy of its device".into())),
        };
        // The chip is in the image, and no larger.
        let file = place.path().and_then(|path| path.metadata().ok()).filter(|is| is.is_file());
        if file.is_some_and(|is| is.len() < geometry.capacity()) {
            return Err(failed("its server describes a larger chip than the image holds".into()));
        }
        Ok(Self::Served { client: client.into(), device: device.into(), extent, layer })
    }

    fn device(&self) -> &Device {
        match self {
            Self::AtRest(original) => &original.device,
            Self::Served { device, .. } => device,
        }
    }

    fn page_size(&self) -> u32 {
        match self {
            Self::AtRest(original) => original.page_size,
            Self::Served { extent, .. } => extent.page_size,
        }
    }

    fn logical_pages(&self) -> u32 {
        match self {
            Self::AtRest(original) => original.logical_pages,
            Self::Served { extent, .. } => extent.logical_pages,
        }
    }

    fn layer(&self) -> LayerKind {
        match self {
            Self::AtRest(original) => original.layer,
            Self::Served { layer, .. } => *layer,
        }
    }

    /// Hands on every page with data, in order.
    fn each(
        self,
        place: &Place,
        skips: bool,
        mut put: impl FnMut(u32, &[u8]) -> Result<(), Failure>,
    ) -> Result<Copied, Failure> {
        let progress = interrupt::progress();
        let (pages, size) = (self.logical_pages(), self.page_size() as usize);
        progress.expect(pages.into());
        let mut copied = Copied::default();
        let lose = |lpn: u32, copied: &mut Copied| {
            copied.lost.push(lpn);
            if skips {
                return Ok(());
            }
            Err(Failure::failed(format!(
                "{place}: logical page {lpn} cannot be read, and no copy without it is kept; \
                 `thermocline check` lists all such pages, --skip-unreadable leaves them out"
            )))
        };
        match self {
            Self::AtRest(mut original) => {
                let mut page = vec![0; size];
                for lpn in 0..pages {
                    step(progress, 1)?;
                    match original.read(lpn, &mut page)? {
                        Holds::Data => put(lpn, &page)?,
                        Holds::Nothing => continue,
                        Holds::Unreadable => {
                            lose(lpn, &mut copied)?;
                            continue;
                        }
                    }
                    copied.pages += 1;
                }
            }
            Self::Served { mut client, mut extent, .. } => {
                let (mut content, mut next) = (Vec::new(), 0);
                loop {
                    let part = client.part(&mut extent, &mut content);
                    let part = part.map_err(|why| Failure::failed(format!("{place}: {why}")))?;
                    let (first, count) = match part {
                        Part::End => break,
                        Part::Lost(lpn) => {
                            lose(lpn, &mut copied)?;
                            continue;
                        }
                        Part::Pages(first, count) => (first, count),
                    };
                    step(progress, (first + count - next).into())?;
                    next = first + count;
                    for (lpn, page) in (first..).zip(content.chunks_exact(size)) {
                        put(lpn, page)?;
                    }
                    copied.pages += u64::from(count);
                }
            }
        }
        Ok(copied)
    }
}

/// Checks before the work that an existing file may be replaced.
fn check_target(path: &Path, replaces: bool) -> Result<(), Failure> {
    if replaces || path.symlink_metadata().is_err() {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::usage(format!("{path}: exists already; remove it, or name another file")))
}

fn step(progress: &Progress, pages: u64) -> Result<(), Failure> {
    progress.advance(pages);
    if progress.is_cancelled() { Err(AssemblyError::Interrupted.into()) } else { Ok(()) }
}

/// `thermocline backup`: a new image with the store's data.
pub fn backup(args: &BackupArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    check_target(&args.to, false)?;
    let source = Source::open(&args.from)?;
    let device = source.device().clone();
    let mut image = NewImage::begin(
        &args.to,
        args.from.path(),
        device,
        source.logical_pages(),
        source.layer(),
    )?;
    let _bar = console.context().runs("copying".into(), 1);
    let bytes = u64::from(source.logical_pages()) * u64::from(source.page_size());
    let copied =
        source.each(&args.from, args.skip_unreadable, |lpn, page| Ok(image.put(lpn, page)?))?;
    image.finish()?;
    let to = args.to.display().to_string();
    tell(&to, bytes, &copied, args.json, output)
}

/// `thermocline export`: a raw image of the block device.
pub fn export(args: &ExportArgs, console: Console) -> Result<(), Failure> {
    let to_stdout = args.to.as_os_str() == "-";
    if !to_stdout {
        check_target(&args.to, args.force)?;
    }
    if let Some(spare) = args.nand {
        if to_stdout {
            return Err(Failure::usage("--nand: a dump is written to a file; name one"));
        }
        if live::find(&args.from, None)?.is_some() {
            return Err(Failure::failed(format!(
                "{}: is served; stop its server first",
                args.from
            )));
        }
        let output = Output::open(None)?;
        let _bar = console.context().runs("dumping".into(), 1);
        let dumped =
            dump::write_dump(&args.from, &args.to, spare, args.force, interrupt::progress())?;
        return tell_dump(&args.to, &dumped, args.json, output);
    }
    let source = Source::open(&args.from)?;
    let size = u64::from(source.page_size());
    let bytes = u64::from(source.logical_pages()) * size;
    let _bar = console.context().runs("copying".into(), 1);
    let failed = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", args.to.display()));
    if to_stdout {
        let mut stdout = io::BufWriter::with_capacity(1 << 20, io::stdout().lock());
        let mut at = 0;
        let written = |source| Failure::Write { target: "standard output".into(), source };
        source.each(&args.from, args.skip_unreadable, |lpn, page| {
            let begin = u64::from(lpn) * size;
            io::copy(&mut io::repeat(0).take(begin - at), &mut stdout).map_err(written)?;
            at = begin + size;
            stdout.write_all(page).map_err(written)
        })?;
        io::copy(&mut io::repeat(0).take(bytes - at), &mut stdout).map_err(written)?;
        return stdout.flush().map_err(written);
    }
    let output = Output::open(None)?;
    let mut successor = Successor::beside(&args.to).map_err(|e| failed(&e))?;
    successor.inherit(args.from.path().and_then(Rights::of)).map_err(|e| failed(&e))?;
    let file = successor.file();
    let copied = source.each(&args.from, args.skip_unreadable, |lpn, page| {
        if copy::is_zero(page) {
            return Ok(());
        }
        file.write_all_at(page, u64::from(lpn) * size).map_err(|e| failed(&e))
    })?;
    file.set_len(bytes).map_err(|e| failed(&e))?;
    let named = if args.force { successor.finish() } else { successor.finish_first() };
    named.map_err(|e| failed(&e))?;
    tell(&args.to.display().to_string(), bytes, &copied, args.json, output)
}

/// `thermocline import`: a new image with the data of a raw one.
pub fn import(args: &ImportArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let failed = |e: &dyn std::fmt::Display| {
        Failure::from(AssemblyError::Input(format!("{}: {e}", args.from.display())))
    };
    check_target(&args.to, false)?;
    if let Some(spare) = args.nand {
        if args.shape.capacity.is_some() {
            return Err(Failure::usage("--capacity: the dump says how many blocks there are"));
        }
        let device = jobs::device(&args.shape)?;
        let _bar = console.context().runs("reading the dump".into(), 1);
        let dumped = dump::read_dump(&args.from, &args.to, spare, &device, interrupt::progress())?;
        return tell_dump(&args.to, &dumped, args.json, output);
    }
    let mut raw = File::open(&args.from).map_err(|e| failed(&e))?;
    let bytes = length(&mut raw).map_err(|e| failed(&e))?;
    if bytes == 0 {
        return Err(failed(
            &"is empty, or a pipe; name a raw image in a file or on a block device",
        ));
    }
    if args.shape.capacity.is_some() {
        return Err(Failure::usage("--capacity: the image is made as large as the raw one needs"));
    }
    let device = jobs::device(&args.shape)?;
    let size = device.profile.geometry.page_size as usize;
    let pages = u32::try_from(bytes.div_ceil(size as u64))
        .map_err(|_| failed(&"has more pages than a store can; take a larger --page-size"))?;
    let store = copy::store_of_pages(device, args.over_provisioning, pages, args.layer)?;
    let mut image = NewImage::begin(&args.to, Some(&args.from), store.device, pages, args.layer)?;
    let progress = interrupt::progress();
    progress.expect(pages.into());
    let _bar = console.context().runs("copying".into(), 1);
    let mut copied = Copied::default();
    let mut content = vec![0; (1 << 20_usize).max(size) / size * size];
    let mut lpn = 0;
    // Holes of the raw image are skipped if the file system reports them.
    for data in sparse::data(&raw, bytes) {
        let data = data.map_err(|e| failed(&e))?;
        let first = lpn.max((data.start / size as u64) as u32);
        step(progress, u64::from(first - lpn))?;
        lpn = first;
        while u64::from(lpn) * (size as u64) < data.end {
            let at = u64::from(lpn) * size as u64;
            let here = content
                .len()
                .min((data.end.next_multiple_of(size as u64).min(bytes) - at) as usize);
            content.fill(0);
            raw.read_exact_at(&mut content[..here], at).map_err(|e| failed(&e))?;
            for page in content[..here.next_multiple_of(size)].chunks_exact(size) {
                copied.pages += u64::from(!copy::is_zero(page));
                image.put(lpn, page)?;
                lpn += 1;
            }
            step(progress, (here / size) as u64)?;
        }
    }
    step(progress, u64::from(pages - lpn))?;
    image.finish()?;
    tell(&args.to.display().to_string(), u64::from(pages) * size as u64, &copied, args.json, output)
}

/// Bytes of a file or a block device.
fn length(file: &mut File) -> io::Result<u64> {
    use std::io::Seek;
    file.seek(io::SeekFrom::End(0))
}

/// `thermocline grow`: a larger image in the place of one.
pub fn grow(args: &GrowArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let place = &args.chip;
    if place.medium().scheme != "file" {
        return Err(Failure::usage(format!(
            "{place}: only an image file grows; `thermocline export` and `import` take what others hold"
        )));
    }
    if live::find(place, None)?.is_some() {
        return Err(Failure::failed(format!("{place}: is served; stop its server first")));
    }
    // Locked until the new image has its name.
    let mut original = Original::open(place, true)?;
    let (device, old_pages) = (original.device.clone(), original.logical_pages);
    let geometry = &device.profile.geometry;
    let data = u64::from(geometry.data_blocks()) * u64::from(geometry.data_pages_per_block());
    let before = data as f64 / f64::from(old_pages) - 1.0;
    let over = args.over_provisioning.unwrap_or(before);
    let size = Overrides { capacity: Some(args.capacity), ..Overrides::default() };
    let larger = device.clone().with(&size)?;
    let layer = original.layer;
    let policy = thermocline_assembly::PolicySpec::parse(served(layer), None, None)?.on(layer)?;
    let store = Store::fit(larger, over, policy)?;
    if store.logical_pages <= old_pages {
        return Err(Failure::usage(format!(
            "--capacity {}: exports {}, and {place} exports {} already; give it more",
            show_size(args.capacity),
            show_size(u64::from(store.logical_pages) * u64::from(original.page_size)),
            show_size(u64::from(old_pages) * u64::from(original.page_size)),
        )));
    }
    let bytes = u64::from(store.logical_pages) * u64::from(original.page_size);
    let mut image = NewImage::replacing(&original, store.device, store.logical_pages)?;
    let progress = interrupt::progress();
    progress.expect(old_pages.into());
    let _bar = console.context().runs("copying".into(), 1);
    let mut copied = Copied::default();
    let mut page = vec![0; original.page_size as usize];
    for lpn in 0..old_pages {
        step(progress, 1)?;
        match original.read(lpn, &mut page)? {
            Holds::Data => {
                image.put(lpn, &page)?;
                copied.pages += 1;
            }
            Holds::Nothing => {}
            Holds::Unreadable => {
                return Err(Failure::failed(format!(
                    "{place}: logical page {lpn} cannot be read; overwrite or trim it, then grow"
                )));
            }
        }
    }
    image.finish()?;
    tell(&place.to_string(), bytes, &copied, args.json, output)
}

fn tell_dump(to: &Path, dumped: &Dumped, as_json: bool, output: Output) -> Result<(), Failure> {
    if as_json {
        return json::print(dumped, output);
    }
    let mut pairs = Pairs::new(&output);
    pairs.group(&to.display().to_string());
    pairs.add("exported", show_size(dumped.exported_bytes));
    pairs.add("erase blocks", number::grouped(dumped.blocks.into()));
    pairs.add("bad", dumped.bad_blocks.to_string());
    pairs.add("programmed pages", number::grouped(dumped.pages));
    pairs.add("of these, torn", number::grouped(dumped.torn));
    output.put_styled(&pairs.finish())
}

fn tell(
    to: &str,
    bytes: u64,
    copied: &Copied,
    as_json: bool,
    output: Output,
) -> Result<(), Failure> {
    if as_json {
        let told = json!({
            "to": to,
            "exported_bytes": bytes,
            "pages_with_data": copied.pages,
            "lost": copied.lost.len(),
            "lost_pages": copied.lost,
        });
        return json::print(&told, output);
    }
    let mut pairs = Pairs::new(&output);
    pairs.group(to);
    pairs.add("exported", show_size(bytes));
    pairs.add("pages with data", number::grouped(copied.pages));
    pairs.add("pages left out", number::grouped(copied.lost.len() as u64));
    let mut text = pairs.finish();
    for lpn in copied.lost.iter().take(MOST_NAMED) {
        text += &format!("cannot be read, zeros in the copy: logical page {lpn}\n");
    }
    output.put_styled(&text)
}
