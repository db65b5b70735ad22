//! Page programs per second, beside random updates of an array of the mapping table's size.
//!
//! `cargo bench -p thermocline-ftl --bench page_programs -- [SIZE_GIB ...] [POLICY ...]`
//!
//! Uniform traffic, 4 KiB pages, 256 pages a block, 15 % over-provisioning, steady state. The
//! machine's own speed is measured before and after each policy, in the same run: the multiple is
//! nanoseconds per page program over nanoseconds per random update of a `u32` array.

use std::{hint::black_box, time::Instant};

use thermocline_flash::{CountingChip, Geometry, Kind, Lpn};
use thermocline_ftl::{Config, Layer, PageMapped};
use thermocline_policy::{
    Args, Context, placement, preset, trigger::Watermarks, victim, wear::WearLeveling,
};

const PAGE: u64 = 4096;
const PAGES_PER_BLOCK: u32 = 256;
/// Requests generated, prefetched and written together, as the simulator does.
const BATCH: usize = 4096;
/// Array updates in each of the machine's own measurements.
const UPDATES: u32 = 30_000_000;
const AHEAD: usize = 24;
const AHEAD_MORE: usize = 12;

/// xorshift64*: a few cycles a draw, so that the layer is what is measured.
struct Draws(u64);

impl Draws {
    #[inline(always)]
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let x = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        (((x >> 32) * u64::from(n)) >> 32) as u32
    }
}

/// Nanoseconds per random update of an array of `len` words.
fn array_update_ns(len: u32) -> f64 {
    let mut table = vec![0_u32; len as usize];
    let mut draws = Draws(42);
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        for i in 0..UPDATES {
            let word = &mut table[draws.below(len) as usize];
            *word = word.wrapping_add(i);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(UPDATES));
    }
    black_box(&table);
    best
}

struct Figures {
    write_amplification: f64,
    ns_per_program: f64,
    bytes_per_page: f64,
}

struct Measure {
    geometry: Geometry,
    logical: u32,
    victim: Box<dyn victim::Victim>,
    /// Page programs to reach the steady state, then to measure, in parts of the device.
    warm: f64,
    measured: f64,
}

impl placement::Visitor for Measure {
    type Output = Figures;

    fn visit<P: placement::Placement + 'static>(self, placement: P) -> Figures {
        let before = resident_bytes();
        let chip = CountingChip::new(self.geometry, CountingChip::default_rules(Kind::Nand));
        let config = Config {
            logical_pages: self.logical,
            watermarks: Watermarks::default(),
            read_only_separation: false,
            wear_leveling: WearLeveling::None,
        };
        let mut layer = PageMapped::new(chip, placement, self.victim, config).expect("it fits");
        for lpn in (0..self.logical).map(Lpn) {
            layer.fill(lpn, false, 0).expect("filled");
        }
        layer.filled(0).expect("filled");
        let bytes_per_page = (resident_bytes() - before) as f64
            / (f64::from(self.geometry.blocks()) * f64::from(PAGES_PER_BLOCK));

        let mut draws = Draws(7);
        let mut now = 0;
        let mut write = |layer: &mut PageMapped<_, P>, parts: f64| {
            let programs = (f64::from(self.logical) * parts) as u64;
            let mut batch = vec![0_u32; BATCH];
            let start = *layer.counters();
            let mut done = start;
            while done.host_writes + done.copies < start.host_writes + start.copies + programs {
                for slot in &mut batch {
                    *slot = draws.below(self.logical);
                }
                for (i, &lpn) in batch.iter().enumerate() {
                    if let Some(&next) = batch.get(i + AHEAD) {
                        layer.prefetch(Lpn(next));
                    }
                    if let Some(&next) = batch.get(i + AHEAD_MORE) {
                        layer.prefetch_more(Lpn(next));
                    }
                    now += 1;
                    layer.write(Lpn(lpn), now).expect("written");
                }
                done = *layer.counters();
            }
            done.since(&start)
        };
        write(&mut layer, self.warm);
        let start = Instant::now();
        let done = write(&mut layer, self.measured);
        let programs = done.host_writes + done.copies;
        Figures {
            write_amplification: programs as f64 / done.host_writes as f64,
            ns_per_program: start.elapsed().as_nanos() as f64 / programs as f64,
            bytes_per_page,
        }
    }
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|p| p.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn run(gib: u64, name: &str) -> (Figures, f64) {
    let (victim_name, placement_name) = match preset::find(name) {
        Some(preset) => (preset.victim, preset.placement),
        None => name.split_once('+').unwrap_or((name, "one-stream")),
    };
    let blocks = (gib << 30) / (PAGE * u64::from(PAGES_PER_BLOCK));
    let geometry = Geometry {
        banks: 1,
        blocks_per_bank: blocks as u32,
        pages_per_block: PAGES_PER_BLOCK,
        page_size: PAGE as u32,
        oob_size: 0,
        header_pages: 0,
        system_blocks: 0,
    };
    let logical = (blocks as f64 * f64::from(PAGES_PER_BLOCK) / 1.15) as u32;
    let context = Context {
        logical_pages: logical,
        blocks: blocks as u32,
        pages_per_block: PAGES_PER_BLOCK,
        time_scale: 0.3 * f64::from(logical),
        seed: 1,
    };
    let victim = victim::find(victim_name).expect("a victim policy");
    let victim = (victim.build)(&Args::default(), &context).expect("arguments");
    // Small devices repeat more often, so that every measurement lasts about a second.
    let measured = (60e6 / f64::from(logical)).clamp(1.0, 100.0);
    let warm = if gib > 64 { 6.0 } else { 12.0 };
    let update_before = array_update_ns(logical);
    let measure = Measure { geometry, logical, victim, warm, measured };
    let figures = placement::dispatch(placement_name, &Args::default(), &context, measure)
        .expect("a placement")
        .expect("arguments");
    (figures, update_before.min(array_update_ns(logical)))
}

fn main() {
    let mut sizes = Vec::new();
    let mut policies = Vec::new();
    for arg in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
        match arg.parse() {
            Ok(gib) => sizes.push(gib),
            Err(_) => policies.push(arg),
        }
    }
    if sizes.is_empty() {
        sizes = vec![1, 16, 256];
    }
    if policies.is_empty() {
        policies = [
            "greedy",
            "cost-benefit+one-stream",
            "cost-benefit",
            "cat+one-stream",
            "cat+segment-split",
            "fifo",
            "d-choices",
            "lfs",
            "cat",
        ]
        .map(String::from)
        .to_vec();
    }
    println!(
        "| device | policy | WA | M page programs/s | ns/program | ns/array update | multiple | bytes/page |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for &gib in &sizes {
        for policy in &policies {
            let (f, update) = run(gib, policy);
            println!(
                "| {gib} GiB | {policy} | {:.3} | {:.1} | {:.2} | {update:.2} | {:.2}× | {:.1} |",
                f.write_amplification,
                1000.0 / f.ns_per_program,
                f.ns_per_program,
                f.ns_per_program / update,
                f.bytes_per_page,
            );
        }
    }
}
