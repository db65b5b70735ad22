//! The gain of separation: write amplification of the stream schemes when nine in ten writes go to a
//! tenth of the pages.

use crate::common;

use common::{Draws, Named, Setup};
use thermocline_flash::{Geometry, Lpn};

/// 1024 blocks of 32 pages, 85 % data.
const DEVICE: Geometry = Geometry {
    banks: 1,
    channels: 1,
    blocks_per_bank: 1024,
    pages_per_block: 32,
    page_size: 4096,
    oob_size: 0,
    header_pages: 0,
    system_blocks: 0,
};

/// Where the hot pages are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hot {
    Scattered,
    /// One range, which schemes that look at ranges can see.
    Together,
    /// The same, and 16 pages at a time, for schemes that look at requests.
    TogetherBySixteen,
}

/// Pages written to the chip for each page the host writes, once that is steady.
fn write_amplification(hot: Hot, victim: &'static str, placement: Named) -> f64 {
    let tenth = 1024 * 32 * 85 / 1000 / 16 * 16;
    let logical = 10 * tenth;
    let setup = Setup::new(DEVICE, logical, Named::plain(victim), placement);
    let mut layer = setup.build();
    for lpn in 0..logical {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
    }
    layer.filled(0).expect("filled");
    let mut draws = Draws(23);
    let mut now = 0;
    let mut run = |writes| {
        let request = if hot == Hot::TogetherBySixteen { 16 } else { 1 };
        for _ in 0..writes / request {
            let row = draws.below(tenth / request) * request;
            let column = if draws.one_in(10) { 1 + draws.below(9) } else { 0 };
            let first =
                if hot == Hot::Scattered { 10 * row + column } else { tenth * column + row };
            for lpn in first..first + request {
                now += 1;
                layer.write(Lpn(lpn), &[], now).expect("written");
            }
        }
        *layer.counters()
    };
    let before = run(10 * logical);
    let done = run(10 * logical).since(&before);
    let amplification = 1.0 + done.copies as f64 / done.host_writes as f64;
    println!("{hot:?}, {:?} with {victim}: {amplification:.3}", setup.placement);
    amplification
}

/// `schemes` write less than `sep-gc`, which only separates host writes from survivors, with the
/// same victims.
fn gain_over_sep_gc(hot: Hot, victim: &'static str, schemes: &[Named]) {
    let copies_apart = write_amplification(hot, victim, Named::plain("sep-gc"));
    for scheme in schemes {
        let theirs = write_amplification(hot, victim, scheme.clone());
        assert!(theirs < 0.99 * copies_apart, "{scheme:?} with {victim}: {theirs}, {copies_apart}");
    }
}

#[test]
fn each_step_of_separation_gains() {
    let run =
        |victim, placement| write_amplification(Hot::Scattered, victim, Named::plain(placement));
    let none = run("greedy", "one-stream");
    let copies_apart = run("greedy", "sep-gc");
    let inferred = run("cost-benefit-sqrt", "sep-bit");
    assert!(copies_apart < 0.95 * none, "{copies_apart} {none}");
    assert!(inferred < 0.95 * copies_apart, "{inferred} {copies_apart}");
}

#[test]
fn schemes_that_know_pages_gain_wherever_the_hot_ones_lie() {
    let schemes = ["sep-bit", "warcip", "multi-stream"].map(Named::plain);
    gain_over_sep_gc(Hot::Scattered, "greedy", &schemes);
    let schemes = ["sep-bit", "dac-simple", "fadac", "warcip", "multi-stream"].map(Named::plain);
    gain_over_sep_gc(Hot::Scattered, "cost-benefit-sqrt", &schemes);
}

/// Six streams end at 55 writes to a chunk, which on a small device is soon true of all chunks.
#[test]
fn schemes_that_know_ranges_gain_where_the_hot_pages_lie_together() {
    let schemes =
        ["auto-stream-mq", "auto-stream-sfr"].map(|name| Named::with(name, &[("streams", "12")]));
    gain_over_sep_gc(Hot::Together, "greedy", &schemes);
    gain_over_sep_gc(Hot::TogetherBySixteen, "greedy", &[Named::plain("eti")]);
}
