//! The golden vectors: runs whose erases, copies, wear and free pages are known exactly, from an
//! independent simulation of the papers' mechanisms. One tick a write, cleaning takes no time.

use thermocline_flash::{CountingChip, Kind, Lpn};

use crate::common::{CARD, Named, Setup};

const U: u32 = 5273;
const WRITES: u64 = 49152;

struct Vector {
    workload: &'static str,
    victim: &'static str,
    placement: &'static str,
    erases: u64,
    copies: u64,
    wear: &'static str,
    free_at_end: u64,
    /// Survivors that found no room in their own stream.
    spills: u64,
    /// Percent of the blocks that greedy chose, of a policy that also chooses otherwise.
    greedy: &'static str,
}

const fn v(
    workload: &'static str,
    victim: &'static str,
    placement: &'static str,
    erases: u64,
    copies: u64,
    wear: &'static str,
    free_at_end: u64,
) -> Vector {
    Vector { workload, victim, placement, erases, copies, wear, free_at_end, spills: 0, greedy: "" }
}

/// A row with spills, or of the adaptive policy.
const fn w(spills: u64, greedy: &'static str, vector: Vector) -> Vector {
    Vector { spills, greedy, ..vector }
}

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    v("seq",  "greedy",   "M1", 1567, 0, "2.6329", 73),
    v("seq",  "greedy",   "M4", 1568, 0, "2.6355", 104),
    v("seq",  "greedy",   "M6", 1568, 0, "2.6355", 104),
    v("seq",  "cb",       "M1", 1567, 0, "2.6329", 73),
    v("seq",  "cb inval", "M1", 1567, 0, "2.6329", 73),
    v("seq",  "cb",       "M4", 1568, 0, "2.6355", 104),
    v("seq",  "cb",       "M5", 1568, 0, "2.6355", 104),
    v("seq",  "cat",      "M1", 1567, 0, "2.6329", 73),
    v("seq",  "cat",      "M4", 1568, 0, "2.6355", 104),
    v("seq",  "cat",      "M5", 1568, 0, "2.6355", 104),
    v("seq",  "cat",      "M6", 1568, 0, "2.6355", 104),
    v("rand", "greedy",   "M1", 7105, 171_684, "3.8878", 67),
    v("rand", "greedy",   "M4", 7236, 175_734, "4.3168", 78),
    v("rand", "greedy",   "M6", 7259, 176_450, "4.4802", 75),
    v("rand", "cb",       "M1", 7272, 176_866, "3.0707", 62),
    v("rand", "cb inval", "M1", 7935, 197_417, "3.5154", 64),
    v("rand", "cb",       "M4", 7456, 182_551, "3.1145", 81),
    v("rand", "cb",       "M5", 7407, 181_037, "3.1163", 76),
    v("rand", "cat",      "M1", 7307, 177_951, "2.9216", 62),
    v("rand", "cat",      "M4", 7456, 182_547, "2.9558", 85),
    v("rand", "cat",      "M5", 7458, 182_625, "3.0072", 69),
    v("rand", "cat",      "M6", 7442, 182_122, "2.9596", 76),
    v("hc",   "greedy",   "M1", 8908, 227_582, "11.5876", 62),
    v("hc",   "greedy",   "M4", 7688, 189_747, "15.2696", 77),
    v("hc",   "greedy",   "M6", 6508, 153_154, "15.8969", 90),
    v("hc",   "cb",       "M1", 8486, 214_493, "3.9582", 69),
    v("hc",   "cb inval", "M1", 9004, 230_558, "4.1942", 62),
    v("hc",   "cb",       "M4", 5264, 114_592, "5.0654", 88),
    v("hc",   "cb",       "M5", 3654, 64_693, "5.8783", 77),
    v("hc",   "cat",      "M1", 8501, 214_960, "3.5109", 67),
    v("hc",   "cat",      "M4", 5409, 119_080, "4.0399", 95),
    v("hc",   "cat",      "M5", 3726, 66_900, "4.2931", 102),
    v("hc",   "cat",      "M6", 3679, 65_478, "4.6037", 67),
    // Regions and threshold.
    v("seq", "greedy", "dac 2", 1568, 0, "2.6355", 104),
    v("seq", "greedy", "dac 4", 1570, 0, "2.6028", 166),
    v("seq", "cat", "dac 2", 1568, 0, "2.6355", 104),
    v("seq", "cat", "dac 4", 1570, 0, "2.6028", 166),
    v("seq", "cat", "dac 4 2000", 1570, 0, "2.5887", 166),
    v("seq", "cb", "dac 3 2000", 1569, 0, "2.5860", 135),
    w(0, "100.0", v("seq", "adaptive", "dac 4 2000", 1570, 0, "2.5887", 166)),
    v("rand", "greedy", "dac 2", 7226, 175_426, "4.1304", 76),
    v("rand", "greedy", "dac 4", 7570, 186_066, "4.2825", 100),
    v("rand", "cat", "dac 2", 7467, 182_895, "2.9893", 78),
    v("rand", "cat", "dac 4", 7791, 192_893, "3.1364", 124),
    w(31, "", v("rand", "cat", "dac 4 2000", 7750, 191_637, "3.1394", 109)),
    w(6, "", v("rand", "cb", "dac 3 2000", 7593, 186_791, "3.2177", 88)),
    w(6, "99.4", v("rand", "adaptive", "dac 4 2000", 7538, 185_061, "4.4126", 113)),
    v("hc", "greedy", "dac 2", 7695, 189_961, "13.0588", 80),
    v("hc", "greedy", "dac 4", 7665, 188_997, "14.5548", 114),
    v("hc", "cat", "dac 2", 4898, 103_258, "4.0104", 76),
    v("hc", "cat", "dac 4", 4358, 86_475, "4.0394", 119),
    v("hc", "cat", "dac 4 2000", 3695, 65_919, "4.4212", 122),
    v("hc", "cb", "dac 3 2000", 3571, 62_116, "5.5871", 81),
    w(0, "0.0", v("hc", "adaptive", "dac 4 2000", 3695, 65_919, "4.4212", 122)),
    // M1 = M2 = M3 exactly when one block is cleaned at a time.
    v("rand", "greedy",   "M2", 7105, 171_684, "3.8878", 67),
    v("rand", "greedy",   "M3", 7105, 171_684, "3.8878", 67),
    // The first write of a page is no update: nothing is filled before.
    v("new", "greedy", "M6", 1598, 6215, "5.1653", 92),
    v("new", "cat",    "M5", 1589, 5960, "2.7651", 68),
];

/// Two blocks at once, and eight, with the survivors sorted: a block is as old as the youngest data in it.
#[rustfmt::skip]
const TOGETHER: &[(u32, Vector)] = &[
    (2, v("hc 80", "lfs", "M2", 8118, 203_084, "3.7909", 70)),
    (2, v("hc",    "lfs", "M2", 6704, 159_240, "5.4440", 80)),
    (2, v("hc 95", "lfs", "M2", 4322, 85_397,  "6.1898", 81)),
    (8, v("hc 80", "lfs", "M2", 8118, 203_084, "3.7909", 70)),
    (8, v("hc",    "lfs", "M2", 6498, 152_871, "5.6722", 63)),
    (8, v("hc 95", "lfs", "M2", 4587, 93_610,  "6.4291", 83)),
];

/// The reference's generator: 64-bit linear congruence, upper 31 bits.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        let x = self.0;
        self.0 = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

fn page(workload: &str, i: u64, draws: &mut Draws) -> Lpn {
    if workload == "seq" {
        return Lpn((i % u64::from(U)) as u32);
    }
    let (a, b) = (draws.next(), draws.next());
    let u = u64::from(U);
    if workload == "rand" {
        return Lpn((b % u) as u32);
    }
    // Of 1000 writes those to the hot pages, and these: round(0.2 U), round(0.1 U), round(0.05 U).
    let (share, hot) = match workload {
        "hc 80" => (800, 1055),
        "hc 95" => (950, 264),
        _ => (900, 527),
    };
    let p = if a % 1000 < share { b % hot } else { hot + b % (u - hot) };
    Lpn(((2749 * p + 17) % u) as u32)
}

/// A policy with its arguments, as a vector names it.
fn named(words: &'static str, keys: &[&str]) -> Named {
    let mut words = words.split(' ');
    let name = words.next().expect("a name");
    Named::with(name, &keys.iter().copied().zip(words).collect::<Vec<_>>())
}

fn setup(vector: &Vector) -> Setup {
    let mut victim = named(vector.victim, &["age"]);
    for (_, age) in &mut victim.1 {
        "last-invalidation".clone_into(age);
    }
    if victim.0 != "greedy" {
        victim.1.insert(0, ("transform".to_owned(), "identity".to_owned()));
    }
    let mut placement = named(vector.placement, &["regions", "threshold"]);
    if let Some((_, threshold)) = placement.1.get_mut(1) {
        threshold.push_str("ns"); // a tick
    }
    let mut setup = Setup::new(CARD, U, victim, placement);
    setup.rules = CountingChip::default_rules(Kind::Nor);
    setup
}

fn run(vector: &Vector, batch: u32) {
    let mut setup = setup(vector);
    setup.config.batch = batch;
    let mut layer = setup.build();
    let filled = if vector.workload == "new" { 0 } else { U };
    for lpn in (0..filled).map(Lpn) {
        layer.fill(lpn, false, 0).expect("filled to 90 %");
    }
    layer.filled(0).expect("filled");
    let mut draws = Draws(12345);
    for i in 0..WRITES {
        layer.write(page(vector.workload, i, &mut draws), &[], i + 1).expect("written");
    }
    layer.check().expect("invariants hold");

    let counters = layer.counters();
    let counts: Vec<f64> = layer.chip().erase_counts().iter().map(|&e| f64::from(e)).collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let squares: f64 = counts.iter().map(|c| (c - mean) * (c - mean)).sum();
    let wear = format!("{:.4}", (squares / (counts.len() - 1) as f64).sqrt());
    let v = vector;
    let name = format!("{} {} {}", v.workload, v.victim, v.placement);
    assert_eq!(
        (counters.erases, counters.copies, wear.as_str(), layer.free_pages(), counters.spills),
        (v.erases, v.copies, v.wear, v.free_at_end, v.spills),
        "{name}"
    );
    let choices = layer.choices();
    let by_greedy = choices.iter().find(|(rule, _)| *rule == "greedy");
    let share = by_greedy.map(|(_, count)| 100.0 * *count as f64 / counters.victims as f64);
    assert_eq!(share.map_or(String::new(), |s| format!("{s:.1}")), v.greedy, "{name}");
    if !choices.is_empty() {
        let sum: u64 = choices.iter().map(|(_, count)| count).sum();
        assert_eq!(sum, counters.victims, "{name}: each victim was chosen by one rule");
    }
}

#[test]
fn every_golden_vector_is_met_exactly() {
    VECTORS.iter().for_each(|vector| run(vector, 1));
    TOGETHER.iter().for_each(|(batch, vector)| run(vector, *batch));
}
