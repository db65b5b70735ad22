//! What a budget of RAM buys: erasures, write amplification, mount time and the worst write, by chip and policy.
//!
//! `cargo run --release -p thermocline-embedded --example budget [-- 1GiB]` prints the table of docs/embedding.md;
//! `-- power-ups` prints how a store fares whose power fails after every few operations, 2,000 times; `-- longest-write`
//! what the longest write programs, and its bound; `-- mounts` what a mount reads, by chip and memory.
//!
//! Times are those of a SLC NAND on a bus of 50 MB/s: 25 µs to read a page into the chip's register, 200 µs to program
//! it, 1.5 ms to erase a block, 20 ns a byte on the bus. What the processor takes is not counted.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_embedded::{
    AREA, Block, Change, Config, Error, Ftl, Geometry, Memory, Nand, NandError, map_pages,
    policy::{Cat, CostBenefit, Dac, Greedy, HotCold, OneStream, Placement, Victim},
    ram,
};

const PAGE: u32 = 2048;
const PAGES: u32 = 64;
/// Of the chip's pages, those that the host sees.
const FULL: f64 = 0.9;
/// Pages written, over those that the host sees.
const TIMES: f64 = 3.5;

/// A chip in memory that tells the time. Of data it keeps nothing but what stands beside them.
struct Chip {
    shape: Geometry,
    areas: Vec<[u8; AREA]>,
    contents: std::collections::HashMap<u32, Box<[u8]>>,
    ns: u64,
    loads: u64,
    programs: u32,
    /// Programs and erases until the power fails.
    left: u32,
    /// Nanoseconds that a byte takes on the bus.
    byte_ns: u64,
}

impl Chip {
    fn new(blocks: u32) -> Self {
        Self {
            shape: Geometry { blocks, pages: PAGES, page_size: PAGE },
            areas: vec![[0xff; AREA]; (blocks * PAGES) as usize],
            contents: std::collections::HashMap::new(),
            ns: 0,
            loads: 0,
            programs: 0,
            left: u32::MAX,
            byte_ns: 20,
        }
    }

    fn bus(&mut self, array_us: u64, bytes: usize) {
        self.ns += array_us * 1000 + bytes as u64 * self.byte_ns;
    }

    fn load(&mut self, bytes: usize) -> Result<(), NandError> {
        self.bus(25, bytes);
        self.loads += 1;
        if self.left == 0 { Err(NandError::Device) } else { Ok(()) }
    }

    fn operation(&mut self) -> Result<(), NandError> {
        self.left = self.left.checked_sub(1).ok_or(NandError::Device)?;
        Ok(())
    }
}

impl Nand for Chip {
    fn geometry(&self) -> Geometry {
        self.shape
    }

    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        self.load(into.len())?;
        match self.contents.get(&page) {
            Some(content) => into.copy_from_slice(&content[offset as usize..][..into.len()]),
            None if self.areas[page as usize] == [0xff; AREA] => into.fill(0xff),
            None => into.fill(0),
        }
        Ok(())
    }

    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.load(AREA)?;
        *into = self.areas[page as usize];
        Ok(())
    }

    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        self.operation()?;
        self.bus(200, data.len() + AREA);
        self.programs += 1;
        // Data of the host are zeros here, pages of the map are not.
        if data.iter().any(|&byte| byte != 0) {
            self.contents.insert(page, data.into());
        }
        self.areas[page as usize] = *area;
        Ok(())
    }

    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.operation()?;
        self.bus(1500, 0);
        for page in block * PAGES..(block + 1) * PAGES {
            self.contents.remove(&page);
            self.areas[page as usize] = [0xff; AREA];
        }
        Ok(())
    }

    fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }

    fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Work {
    Sequential,
    Uniform,
    HotCold,
    Zipf,
}

impl Work {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Sequential, "sequential"),
        (Self::Uniform, "uniform"),
        (Self::HotCold, "90/10"),
        (Self::Zipf, "zipf 0.99"),
    ];

    /// The pages that the host writes, in order. What is hot is scattered.
    fn pages(self, logical: u32) -> impl Iterator<Item = u32> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let zipf = Zipf::new(f64::from(logical), 0.99).expect("the parameters are in range");
        let mut scattered: Vec<u32> = (0..logical).collect();
        for i in (1..logical as usize).rev() {
            scattered.swap(i, rng.random_range(0..=i));
        }
        let hot = logical / 10;
        (0..).map(move |n: u32| match self {
            Self::Sequential => n % logical,
            Self::Uniform => rng.random_range(0..logical),
            Self::HotCold if rng.random_range(0..10) > 0 => {
                scattered[rng.random_range(0..hot) as usize]
            }
            Self::HotCold => scattered[rng.random_range(hot..logical) as usize],
            Self::Zipf => scattered[(zipf.sample(&mut rng) as usize).min(logical as usize) - 1],
        })
    }
}

struct Run {
    erases: u64,
    amplification: f64,
    mount_ms: u64,
    worst_ms: f64,
    mean_us: f64,
}

/// The memory of a store, of a size in all.
struct Parts {
    blocks: Vec<Block>,
    directory: Vec<u32>,
    changes: Vec<Change>,
    page: Vec<u8>,
}

impl Parts {
    fn new<V, P>(blocks: u32, logical: u32, budget: usize) -> Option<Self> {
        let fixed = ram(blocks, PAGE, logical, 0) + size_of::<Ftl<'_, Chip, V, P>>();
        let changes = budget.checked_sub(fixed)? / size_of::<Change>();
        Some(Self {
            blocks: vec![Block::UNKNOWN; blocks as usize],
            directory: vec![0; map_pages(PAGE, logical) as usize],
            changes: vec![Change::EMPTY; changes],
            page: vec![0; PAGE as usize],
        })
    }

    fn memory(&mut self) -> Memory<'_> {
        Memory {
            blocks: self.blocks.as_mut_slice().into(),
            directory: self.directory.as_mut_slice().into(),
            changes: self.changes.as_mut_slice().into(),
            page: self.page.as_mut_slice().into(),
        }
    }
}

fn run<V: Victim + Clone, P: Placement + Clone>(
    blocks: u32,
    budget: usize,
    (victim, placement): (V, P),
    work: Work,
) -> Option<Run> {
    let logical = (f64::from(blocks * PAGES) * FULL) as u32;
    let mut parts = Parts::new::<V, P>(blocks, logical, budget)?;
    let mut chip = Chip::new(blocks);
    let page = vec![0; PAGE as usize];
    let (mut before, mut worst) = (0, 0);
    let counters = {
        let config = Config { logical_pages: logical, ..Config::default() };
        let mut ftl =
            Ftl::format(&mut chip, parts.memory(), victim.clone(), placement.clone(), config)
                .ok()?;
        for lpn in 0..logical {
            ftl.write(lpn, &page).expect("the chip does not fail");
        }
        let filled = *ftl.counters();
        let began = ftl.nand().ns;
        for lpn in work.pages(logical).take((f64::from(logical) * TIMES) as usize) {
            before = ftl.nand().ns;
            ftl.write(lpn, &page).expect("the chip does not fail");
            worst = worst.max(ftl.nand().ns - before);
        }
        let done = *ftl.counters();
        (filled, done, ftl.nand().ns - began)
    };
    // The power is cut here.
    let cut = chip.ns;
    drop(Ftl::mount(&mut chip, parts.memory(), victim, placement).expect("the store is there"));
    let _ = before;
    let (filled, done, ns) = counters;
    let writes = done.host_writes - filled.host_writes;
    Some(Run {
        erases: done.erases - filled.erases,
        amplification: (done.programs() - filled.programs()) as f64 / writes as f64,
        mount_ms: (chip.ns - cut) / 1_000_000,
        worst_ms: worst as f64 / 1e6,
        mean_us: ns as f64 / writes as f64 / 1e3,
    })
}

fn rows<V: Victim + Clone, P: Placement + Clone>(
    blocks: u32,
    budgets: &[usize],
    policy: (V, P),
    name: &str,
) {
    for &budget in budgets {
        for (work, title) in Work::ALL {
            let Some(Run { erases, amplification, mount_ms, worst_ms, mean_us }) =
                run(blocks, budget, policy.clone(), work)
            else {
                continue;
            };
            println!(
                "| {} KiB | {name} | {title} | {erases} | {amplification:.2} | {mount_ms} ms | {mean_us:.0} µs | {worst_ms:.1} ms |",
                budget >> 10
            );
        }
    }
}

const POWER_UPS: u32 = 2000;

/// A row of what power-ups of so many operations do to a store that is so full.
fn power_ups<V: Victim + Clone, P: Placement + Clone>(
    full: u32,
    operations: u32,
    (victim, placement): (V, P),
    name: &str,
) {
    let (blocks, budget) = (1024, 16 << 10);
    let logical = blocks * PAGES / 100 * full;
    let mut parts = Parts::new::<V, P>(blocks, logical, budget).expect("there is room");
    let mut chip = Chip::new(blocks);
    let page = vec![0; PAGE as usize];
    let mut pages = Work::Uniform.pages(logical);
    let config = Config { logical_pages: logical, ..Config::default() };
    {
        let (victim, placement) = (victim.clone(), placement.clone());
        let mut store = Ftl::format(&mut chip, parts.memory(), victim, placement, config)
            .expect("there is room");
        for lpn in (0..logical).chain(pages.by_ref().take(logical as usize / 2)) {
            store.write(lpn, &page).expect("the chip does not fail");
        }
    }
    let (mut written, mut worst, mut loads, mut mounts, mut refused) = (0, 0, 0, 0, None);
    for up in 0..POWER_UPS {
        (chip.left, chip.loads) = (operations, 0);
        let (victim, placement) = (victim.clone(), placement.clone());
        let Ok(mut store) = Ftl::mount(&mut chip, parts.memory(), victim, placement) else {
            continue;
        };
        worst = worst.max(store.nand().loads);
        (loads, mounts) = (loads + store.nand().loads, mounts + 1);
        let error = loop {
            match store.write(pages.next().expect("they do not end"), &page) {
                Ok(()) => written += 1,
                Err(e) => break e,
            }
        };
        if error != Error::Device {
            refused = Some(format!("read-only after {up}"));
            break;
        }
    }
    chip.left = u32::MAX;
    let mut store =
        Ftl::mount(&mut chip, parts.memory(), victim, placement).expect("the store is there");
    let after = (0..1000)
        .take_while(|_| store.write(pages.next().expect("they do not end"), &page).is_ok())
        .count();
    let fate = refused.unwrap_or_else(|| format!("{POWER_UPS}, writable"));
    println!(
        "| {full} % | {operations} | {name} | {fate} | {written} | {} | {worst} | {after} |",
        loads / mounts.max(1)
    );
}

fn all_power_ups() {
    println!(
        "| full | operations a power-up | policy | power-ups | writes | loads a mount | worst mount | of 1,000 writes after |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for full in [50, 80, 90, 97] {
        for operations in [1, 4, 8, 16, 64] {
            power_ups(full, operations, (Greedy, OneStream), "greedy");
            power_ups(
                full,
                operations,
                (CostBenefit::default(), HotCold),
                "cost-benefit, hot/cold",
            );
            power_ups(full, operations, (Cat::default(), Dac::<3>), "CAT, DAC");
        }
    }
}

/// What the longest write of uniform traffic programs, and what it may.
fn longest_write<V: Victim, P: Placement>(full: u32, budget: usize, policy: (V, P), name: &str) {
    let blocks = 1024;
    let logical = blocks * PAGES / 100 * full;
    let mut parts = Parts::new::<V, P>(blocks, logical, budget).expect("there is room");
    let config = Config { logical_pages: logical, ..Config::default() };
    let mut ftl = Ftl::format(Chip::new(blocks), parts.memory(), policy.0, policy.1, config)
        .expect("there is room");
    let page = vec![0; PAGE as usize];
    let (mut longest, mut all) = (0, 0);
    for lpn in (0..logical).chain(Work::Uniform.pages(logical).take(2 * logical as usize)) {
        ftl.nand_mut().programs = 0;
        ftl.write(lpn, &page).expect("the chip does not fail");
        longest = longest.max(ftl.nand().programs);
        all += ftl.nand().programs;
    }
    let mean = f64::from(all - logical) / f64::from(2 * logical);
    println!(
        "| {full} % | {} KiB | {name} | {mean:.1} | {longest} | {} |",
        budget >> 10,
        ftl.longest_write()
    );
}

fn all_longest_writes() {
    println!("| full | RAM in all | policy | mean | longest | bound |");
    println!("|---|---|---|---|---|---|");
    for full in [50, 80, 90, 93] {
        for budget in [16 << 10, 64 << 10] {
            longest_write(full, budget, (Greedy, OneStream), "greedy");
            longest_write(full, budget, (Cat::default(), Dac::<3>), "CAT, DAC");
        }
    }
}

/// Mounts of each kind.
const MOUNTS: u32 = 24;

/// What mounts read whose power failed at any time of uniform traffic, and after a stop with all of the map on the chip.
fn mounts(blocks: u32, budget: usize, full: u32) {
    let logical = blocks * PAGES / 100 * full;
    let policy = || (Cat::default(), Dac::<3>);
    let Some(mut parts) = Parts::new::<Cat, Dac<3>>(blocks, logical, budget) else { return };
    let mut chip = Chip::new(blocks);
    let page = vec![0; PAGE as usize];
    let mut pages = Work::Uniform.pages(logical);
    let config = Config { logical_pages: logical, ..Config::default() };
    {
        let mut store = Ftl::format(&mut chip, parts.memory(), policy().0, policy().1, config)
            .expect("there is room");
        for lpn in (0..logical).chain(pages.by_ref().take(logical as usize / 2)) {
            store.write(lpn, &page).expect("the chip does not fail");
        }
    }
    // After a cut, and after a checkpoint: all loads, the most, and all nanoseconds, on one line at 40 MHz.
    let mut seen = [(0, 0, 0); 2];
    chip.byte_ns = 200;
    for number in 0..=2 * MOUNTS {
        (chip.loads, chip.ns, chip.left) = (0, 0, u32::MAX);
        let mut store = Ftl::mount(&mut chip, parts.memory(), policy().0, policy().1)
            .expect("the store is there");
        let (loads, ns) = (store.nand().loads, store.nand().ns);
        if number > 0 {
            let (all, most, time) = &mut seen[(number % 2) as usize];
            (*all, *most, *time) = (*all + loads, (*most).max(loads), *time + ns);
        }
        // The next mount is one after a stop.
        if number.is_multiple_of(2) {
            for lpn in pages.by_ref().take(2000 + 97 * number as usize) {
                store.write(lpn, &page).expect("the chip does not fail");
            }
            store.checkpoint().expect("the chip does not fail");
        } else {
            store.nand_mut().left = 4000 + number * 997;
            while store.write(pages.next().expect("they do not end"), &page).is_ok() {}
        }
    }
    for (how, (all, most, ns)) in ["a cut", "a checkpoint"].into_iter().zip(seen) {
        let mounts = u64::from(MOUNTS);
        println!(
            "| {} MiB | {full} % | {} KiB | {how} | {} | {most} | {} ms |",
            blocks / 8,
            budget >> 10,
            all / mounts,
            ns / mounts / 1_000_000
        );
    }
}

fn all_mounts() {
    println!("| chip | full | RAM in all | after | loads | most loads | mean time |");
    println!("|---|---|---|---|---|---|---|");
    for (blocks, budgets) in
        [(1024, [16 << 10, 32 << 10, 64 << 10]), (8192, [64 << 10, 96 << 10, 128 << 10])]
    {
        for budget in budgets {
            mounts(blocks, budget, 80);
        }
    }
}

fn main() {
    if std::env::args().any(|arg| arg == "mounts") {
        return all_mounts();
    }
    if std::env::args().any(|arg| arg == "longest-write") {
        return all_longest_writes();
    }
    if std::env::args().any(|arg| arg == "power-ups") {
        return all_power_ups();
    }
    let large = std::env::args().any(|arg| arg == "1GiB");
    let (blocks, budgets): (u32, &[usize]) =
        if large { (8192, &[64 << 10]) } else { (1024, &[16 << 10, 32 << 10, 64 << 10]) };
    println!(
        "{} MiB, {PAGES} pages of {PAGE} bytes a block, {:.0} % full",
        blocks / 8,
        FULL * 100.0
    );
    println!(
        "| RAM in all | policy | work | erasures | write amplification | mount | mean write | worst write |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    if !large {
        rows(blocks, budgets, (Greedy, OneStream), "greedy");
        rows(blocks, budgets, (CostBenefit::default(), HotCold), "cost-benefit, hot/cold");
    }
    rows(blocks, budgets, (Cat::default(), Dac::<3>), "CAT, DAC");
}
