//! What a host write costs on NFTL, whatever the device's size: run it under callgrind, which counts
//! instructions of `measured` alone.
//!
//! ```text
//! cargo build --release --package thermocline-ftl --example nftl_cost
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no \
//!   --toggle-collect='*measured*' target/release/examples/nftl_cost 4096 greedy 200000
//! ```
//!
//! Arguments: blocks of 32 pages; `greedy` or `cost-benefit`; writes measured; `hints` if every tenth
//! write is followed by news of dead pages. Seven eighths of the device are full; the writes are
//! uniform, and as many go before as bring it to the point where it collects.

use std::{env, process::ExitCode, time::Instant};

use thermocline_flash::{CountingChip, Geometry, Lpn, Rules};
use thermocline_ftl::{
    DeadPages, Inspect, PageIo,
    nftl::{Choice, Config, Nftl},
};

/// A step of SplitMix64, scaled.
fn draw(state: &mut u64, below: u32) -> u32 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((u128::from(z ^ (z >> 31)) * u128::from(below)) >> 64) as u32
}

#[inline(never)]
fn measured(layer: &mut Nftl<CountingChip>, state: &mut u64, writes: u64, hints: bool) {
    let logical = layer.logical_pages();
    for now in 0..writes {
        layer.write(Lpn(draw(state, logical)), &[], now).expect("written");
        if hints && now % 10 == 0 {
            let first = draw(state, logical - 8);
            for lpn in (first..first + 8).map(Lpn) {
                layer.mark_dead(lpn, now).expect("marked");
            }
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let number = |at: usize| args.get(at).and_then(|arg| arg.parse::<u32>().ok());
    let (Some(blocks @ 64..), Some(writes)) = (number(0), number(2)) else {
        eprintln!("usage: nftl_cost BLOCKS greedy|cost-benefit WRITES [hints]; at least 64 blocks");
        return ExitCode::from(2);
    };
    let choice = match args[1].as_str() {
        "cost-benefit" => Choice::CostBenefit,
        _ => Choice::Greedy,
    };
    let hints = args.get(3).is_some_and(|arg| arg == "hints");
    let geometry = Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: blocks,
        pages_per_block: 32,
        page_size: 512,
        oob_size: 16,
        header_pages: 0,
        system_blocks: 0,
    };
    let rules = Rules { in_order: false, endurance: 100_000, initial_bad_blocks: 0 };
    let logical = blocks / 8 * 7 * 32;
    let config = Config { choice, ..Config::new(logical) };
    let mut layer = Nftl::new(CountingChip::new(geometry, rules), config).expect("it fits");
    for lpn in 0..logical {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
    }
    let mut state = 1;
    while layer.counters().cleaning_runs == 0 {
        let lpn = Lpn(draw(&mut state, logical));
        layer.write(lpn, &[], 0).expect("written");
    }
    let before = *layer.counters();
    let start = Instant::now();
    measured(&mut layer, &mut state, u64::from(writes), hints);
    let ns = start.elapsed().as_nanos() as f64 / f64::from(writes);
    let done = layer.counters().since(&before);
    println!(
        "{blocks} blocks: {ns:.0} ns a write; per write {:.3} folds, {:.3} copies; {} collections",
        done.folds as f64 / f64::from(writes),
        done.copies as f64 / f64::from(writes),
        done.cleaning_runs
    );
    ExitCode::SUCCESS
}
