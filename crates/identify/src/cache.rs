//! Whether a drive has an SLC cache.
//!
//! A cache programs each page twice: when it is written, and when it is folded. Pages written in sequence show this,
//! because nothing else copies them, and no overhead is as large. Counters show nothing of the size of a cache, which
//! changes little beside: one is assumed.

use thermocline_flash::{CacheSize, SlcCache};

use crate::{MeasuredRun, curve::Curve};

/// The cache that is assumed.
pub(crate) const ASSUMED: SlcCache = SlcCache { size: CacheSize::Fixed, share: 0.02, bits: 3 };
/// Where a simulation copies less than this share of the pages, what was programmed beside shows.
const NEARLY_NONE: f64 = 0.01;
/// A drive that programs so many times the pages of a simulation without a cache has one.
const TWICE: f64 = 1.6;

/// Pages measured over those simulated, where models that program at least `least` a page copy nothing. The first
/// stretch is left out because counters lag there.
pub(crate) fn beside<'c>(
    runs: &[MeasuredRun],
    simulated: impl Fn(usize) -> Vec<&'c Curve>,
    least: f64,
) -> Option<f64> {
    let (mut all, mut counted) = (0.0, 0.0);
    for (number, run) in runs.iter().enumerate() {
        // If the state is unknown, every state must copy nothing there.
        let curves = simulated(number);
        for (from, to) in Curve::stretches(run.curve.total()).skip(1) {
            let most = curves.iter().map(|curve| curve.amplification(from, to));
            let most = most.fold(0.0, f64::max);
            if most < least + NEARLY_NONE {
                all += most;
                counted += run.curve.amplification(from, to);
            }
        }
    }
    (all > 0.0).then(|| counted / all)
}

/// Whether a drive that programs so many times the pages of a simulation without a cache has one.
pub(crate) fn writes_twice(beside: Option<f64>) -> bool {
    beside.is_some_and(|times| times > TWICE)
}
