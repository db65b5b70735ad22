//! Pages per second of the chips that hold data, the time to open an image, and to read the areas
//! that a mount reads. `cargo bench -p thermocline-media --bench chips -- /dev/shm /some/disk`
//! (folders for images; /dev/shm if none is named).

use std::{error::Error, hint::black_box, path::Path, time::Instant};

use thermocline_flash::{BlockId, Flash, FlashError, Geometry, Kind, Lpn, Oob, Rules};
use thermocline_media::{
    Ram, Replace,
    image::{Image, Open, Options},
};

/// 16 GiB, in 65,536 blocks.
const LARGE: Geometry = Geometry {
    banks: 1,
    channels: 1,
    blocks_per_bank: 65_536,
    pages_per_block: 64,
    page_size: 4096,
    oob_size: 64,
    header_pages: 0,
    system_blocks: 0,
};
const SMALL: Geometry = Geometry { blocks_per_bank: 1024, ..LARGE };
const RULES: Rules = Rules { in_order: true, endurance: 1_000_000, initial_bad_blocks: 0 };

fn options(geometry: Geometry) -> Options {
    Options {
        kind: Kind::Nand,
        geometry,
        rules: RULES,
        profile: "bench".into(),
        bad_blocks: Vec::new(),
        preallocate: false,
        replace: Replace::Unused,
        rights: None,
    }
}

/// Seconds of processor time of this thread, where the system tells.
fn cpu_seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedule.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

/// Programs, copies and reads every page once, as often as `rounds` says, and says how fast.
fn throughput(name: &str, chip: &mut impl Flash, rounds: u32) -> Result<(), Box<dyn Error>> {
    let geometry = *chip.geometry();
    let half = geometry.blocks() / 2;
    let pages = u64::from(half) * u64::from(geometry.pages_per_block);
    let all = |of: u32| {
        (0..half).flat_map(move |block| {
            (0..geometry.pages_per_block).map(move |page| geometry.ppn(BlockId(of + block), page))
        })
    };
    let data = vec![0x5a; geometry.page_size as usize];
    let mut into = data.clone();
    let oob = Oob { lpn: Lpn(1), stream: 0, sequence: 1, time: 1, note: 0 };
    let timed = |what: &str, work: &mut dyn FnMut() -> Result<(), FlashError>| {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        work()?;
        let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        let pages = pages as f64;
        println!(
            "{name}: {:.0} k {what}/s, {:.2} us of CPU each",
            pages / wall / 1e3,
            cpu / pages * 1e6
        );
        Ok::<(), FlashError>(())
    };
    for round in 0..rounds {
        println!("{name}: round {round}");
        for block in (0..geometry.blocks()).map(BlockId) {
            chip.erase(block)?;
        }
        chip.sync()?;
        timed("programs", &mut || all(0).try_for_each(|page| chip.program(page, oob, &data)))?;
        timed("copies", &mut || {
            all(0).zip(all(half)).try_for_each(|(from, to)| chip.copy(from, to, oob))
        })?;
        // In an order that no cache of areas likes.
        let in_block = u64::from(geometry.pages_per_block);
        timed("random reads", &mut || {
            (0..pages).map(|at| at * 7_368_787 % pages).try_for_each(|at| {
                let block = BlockId((at / in_block) as u32);
                chip.read(geometry.ppn(block, (at % in_block) as u32), &mut into)
            })
        })?;
        let start = Instant::now();
        chip.sync()?;
        println!("{name}: sync {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}

fn mount(folder: &Path) -> Result<(), Box<dyn Error>> {
    let path = folder.join("thermocline-bench.img");
    drop(Image::create(&path, &options(LARGE))?);
    let oob = Oob { lpn: Lpn(1), stream: 0, sequence: 1, time: 1, note: 0 };
    for used in [false, true] {
        let start = Instant::now();
        let mut image = Image::open(&path, Open::default())?;
        println!(
            "{}: opened 16 GiB in {:.2} ms",
            folder.display(),
            start.elapsed().as_secs_f64() * 1e3
        );
        if used {
            for block in (0..65_536).map(BlockId) {
                image.program(LARGE.ppn(block, 0), oob, &[])?;
            }
            image.sync()?;
            drop(image);
            image = Image::open(&path, Open::default())?;
        }
        let first = Instant::now();
        for block in (0..65_536).map(BlockId) {
            black_box(image.read_oob(LARGE.ppn(block, 0))?);
        }
        let first = first.elapsed().as_secs_f64();
        let every = Instant::now();
        for block in (0..65_536).map(BlockId) {
            for page in 0..LARGE.pages_per_block {
                black_box(image.read_oob(LARGE.ppn(block, page))?);
            }
        }
        println!(
            "{}: areas of 65,536 blocks {}: {:.1} ms for the first page of each, {:.1} ms for every page",
            folder.display(),
            if used { "with one page each" } else { "without any page" },
            first * 1e3,
            every.elapsed().as_secs_f64() * 1e3
        );
    }
    std::fs::remove_file(&path)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    throughput("ram", &mut Ram::try_new(SMALL, RULES)?, 2)?;
    let mut folders: Vec<_> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if folders.is_empty() {
        folders.push("/dev/shm".into());
    }
    for folder in folders {
        let folder = Path::new(&folder);
        let path = folder.join("thermocline-bench.img");
        throughput(
            &format!("{}", folder.display()),
            &mut Image::create(&path, &options(SMALL))?,
            2,
        )?;
        let direct = Open { direct: true, ..Open::default() };
        match Image::open(&path, direct) {
            Ok(mut image) => throughput(&format!("{}, direct", folder.display()), &mut image, 1)?,
            Err(error) => println!("{error}"),
        }
        mount(folder)?;
    }
    Ok(())
}
