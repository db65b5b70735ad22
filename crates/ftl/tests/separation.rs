//! What separating data gains: write amplification of the stream schemes on traffic of which nine in
//! ten writes go to a tenth of the pages.

mod common;

use common::{Draws, Named, Setup};
use thermocline_flash::{Geometry, Lpn};

/// 1024 blocks of 32 pages, 85 % of them data.
const DEVICE: Geometry = Geometry {
    banks: 1,
    blocks_per_bank: 1024,
    pages_per_block: 32,
    page_size: 4096,
    oob_size: 0,
    header_pages: 0,
    system_blocks: 0,
};

/// Pages written to the chip for each page the host writes, once that is steady.
fn write_amplification(victim: &'static str, placement: &'static str) -> f64 {
    let logical = 1024 * 32 * 85 / 100;
    let setup = Setup::new(DEVICE, logical, Named::plain(victim), Named::plain(placement));
    let mut layer = setup.build();
    for lpn in 0..logical {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
    }
    layer.filled(0).expect("filled");
    let mut draws = Draws(23);
    let mut now = 0;
    let mut run = |writes| {
        for _ in 0..writes {
            now += 1;
            // Hot pages lie scattered.
            let hot = !draws.one_in(10);
            let tenth = draws.below(logical / 10) * 10;
            let lpn = if hot { tenth } else { tenth + 1 + draws.below(9) };
            layer.write(Lpn(lpn), now).expect("written");
        }
        *layer.counters()
    };
    let before = run(10 * logical);
    let done = run(10 * logical).since(&before);
    let amplification = 1.0 + done.copies as f64 / done.host_writes as f64;
    println!("{placement} with {victim}: {amplification:.3}");
    amplification
}

#[test]
fn each_step_of_separation_gains() {
    let none = write_amplification("greedy", "one-stream");
    let copies_apart = write_amplification("greedy", "sep-gc");
    let inferred = write_amplification("cost-benefit-sqrt", "sep-bit");
    assert!(copies_apart < 0.95 * none, "{copies_apart} {none}");
    assert!(inferred < 0.95 * copies_apart, "{inferred} {copies_apart}");
}
