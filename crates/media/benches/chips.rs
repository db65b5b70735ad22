//! Pages per second of the chips that hold data, the time to open an image, and to read the areas
//! that a mount reads. `cargo bench -p thermocline-media --bench chips -- /dev/shm /some/disk`
//! (folders for images; /dev/shm if none is named).

use std::{error::Error, hint::black_box, path::Path, time::Instant};

use thermocline_flash::{BlockId, Flash, Geometry, Kind, Lpn, Oob, Rules};
use thermocline_media::{
    Ram,
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
        replace: true,
    }
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
    for round in 0..rounds {
        for block in (0..geometry.blocks()).map(BlockId) {
            chip.erase(block)?;
        }
        chip.sync()?;
        let start = Instant::now();
        for page in all(0) {
            chip.program(page, oob, &data)?;
        }
        let program = start.elapsed();
        let start = Instant::now();
        for (from, to) in all(0).zip(all(half)) {
            chip.copy(from, to, oob)?;
        }
        let copy = start.elapsed();
        // In an order that no cache of areas likes.
        let start = Instant::now();
        for at in 0..pages {
            let at = at * 7_368_787 % pages;
            let block = BlockId((at / u64::from(geometry.pages_per_block)) as u32);
            chip.read(
                geometry.ppn(block, (at % u64::from(geometry.pages_per_block)) as u32),
                &mut into,
            )?;
        }
        let read = start.elapsed();
        let start = Instant::now();
        chip.sync()?;
        let rate = |time: std::time::Duration| pages as f64 / time.as_secs_f64() / 1e3;
        println!(
            "{name}, round {round}: {:.0} k programs/s, {:.0} k copies/s, {:.0} k random reads/s, sync {:.1} ms",
            rate(program),
            rate(copy),
            rate(read),
            start.elapsed().as_secs_f64() * 1e3
        );
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
