//! Placements with their own order of cleaning: less write amplification with hot data, and not
//! much more without.

use crate::common;

use common::{Draws, Named, Setup};
use thermocline_flash::{Geometry, Lpn};

/// Large enough that a stream's open block is nothing.
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

/// Write amplification at 15 % spare, in the last two of `laps` page writes as many as pages; `hot`
/// tenths of the writes go to a tenth of the pages, which is scattered.
fn amplification(victim: &'static str, placement: &'static str, hot: u32, laps: u64) -> f64 {
    let physical = DEVICE.blocks() * DEVICE.data_pages_per_block();
    let logical = physical * 100 / 115;
    let setup = Setup::new(DEVICE, logical, Named::plain(victim), Named::plain(placement));
    let mut layer = setup.build();
    for lpn in 0..logical {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
    }
    layer.filled(0).expect("filled");
    let mut draws = Draws(29);
    let mut before = *layer.counters();
    for now in 1..=laps * u64::from(logical) {
        let lpn = match draws.below(10) < hot {
            true if hot > 1 => draws.below(logical / 10) * 10,
            _ => draws.below(logical),
        };
        layer.write(Lpn(lpn), &[], now).expect("written");
        if now == (laps - 2) * u64::from(logical) {
            before = *layer.counters();
        }
    }
    layer.check().unwrap_or_else(|e| panic!("{placement}: {e}"));
    let done = layer.counters().since(&before);
    1.0 + done.copies as f64 / done.host_writes as f64
}

#[test]
fn groups_sized_by_the_model_cut_write_amplification_on_hot_and_cold_data() {
    let greedy = amplification("greedy", "one-stream", 9, 16);
    let midas = amplification("cost-benefit", "midas", 9, 16);
    assert!(midas < 0.6 * greedy, "{midas} for {greedy}");
    // As good with greedy in the last group: the queues are what counts.
    let last_greedy = amplification("greedy", "midas", 9, 16);
    assert!(last_greedy < 0.7 * greedy, "{last_greedy} for {greedy}");
}

#[test]
fn where_nothing_is_hot_the_model_finds_nothing_to_gain() {
    let greedy = amplification("greedy", "one-stream", 0, 8);
    let midas = amplification("greedy", "midas", 0, 8);
    assert!(midas < 1.1 * greedy, "{midas} for {greedy}");
}

#[test]
fn logs_and_hotness_beat_greedy_on_hot_and_cold_data() {
    let greedy = amplification("greedy", "one-stream", 9, 10);
    for (victim, placement) in [("greedy", "multi-log"), ("cost-hotness", "sfs")] {
        let own = amplification(victim, placement, 9, 10);
        assert!(own < 0.9 * greedy, "{placement}: {own} for {greedy}");
    }
}

#[test]
fn learned_survival_beats_sep_bit_on_hot_and_cold_data() {
    let sep_bit = amplification("cost-benefit-sqrt", "sep-bit", 9, 10);
    let own = amplification("survival", "survival", 9, 10);
    assert!(own - 1.0 < 0.9 * (sep_bit - 1.0), "{own} for {sep_bit}");
}

#[test]
fn where_nothing_is_to_be_learned_survival_is_greedy() {
    let greedy = amplification("greedy", "one-stream", 0, 8);
    let own = amplification("survival", "survival", 0, 8);
    assert!(own < 1.01 * greedy, "{own} for {greedy}");
}

/// CAT paper, related work: locality gathering moves data that cleaning alone would not. It pays
/// against the order that it cleans in.
#[test]
fn locality_gathering_beats_first_in_first_out() {
    let fifo = amplification("fifo", "one-stream", 9, 16);
    let envy = amplification("fifo", "envy", 9, 16);
    assert!(envy < fifo, "{envy} for {fifo}");
}
