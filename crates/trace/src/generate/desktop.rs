//! A desktop's writes: a few hot pages, a warm region, and a cold one that fills up in runs.
//!
//! Plain Zipf traffic lacks the structure that clustering exploits: files written once, in runs,
//! beside metadata written all the time. The parameters are fitted to the figures in Kim & Shin
//! 2015 of two Windows XP machines, whose traces are not published.

use super::{
    permutation::Permutation,
    random::{Chance, below, unit},
    zipf::Zipf,
};
use crate::TraceError;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::{fmt, str::FromStr};
use thermocline_units::{format_size, parse_size};

/// Number of recently written pages that a burst may repeat.
const RECENT: usize = 64;

/// The parameters of [`Pattern::Desktop`](super::Pattern::Desktop); shares are in percent.
///
/// The regions lie in the address space in the order hot, warm, cold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Desktop {
    /// Share of the span that is hot: metadata of the file system, its log, the registry.
    pub hot: f64,
    /// Share of the span that is warm: documents, the browser's cache, the page file.
    pub warm: f64,
    /// Share of the span that is ever written. The part that is neither hot nor warm is cold.
    pub touched: f64,
    /// Share of the page writes that go to the hot region.
    pub hot_writes: f64,
    /// Share of the page writes that go to the warm region. The rest goes to the cold one.
    pub warm_writes: f64,
    /// Zipf exponent of the hot pages.
    pub hot_zipf: f64,
    /// Zipf exponent of the warm pages.
    pub warm_zipf: f64,
    /// Mean length of a cold run, in bytes; lengths are exponential.
    pub run_bytes: u64,
    /// The cold region's first pass: after a share x of the writes, x^pace of it has been written.
    pub pace: f64,
    /// Share of the page writes that repeat one of the last 64 pages.
    pub burst: f64,
    /// Probability that a warm write continues with the page after the last warm one.
    pub warm_run: f64,
}

/// The fits by name. The first is the default of `desktop`.
const FITS: [(&str, Desktop); 2] = [
    (
        "winxp-55gb",
        Desktop {
            hot: 1.4418,
            warm: 25.0545,
            touched: 100.0,
            hot_writes: 37.2,
            warm_writes: 30.8,
            hot_zipf: 1.322,
            warm_zipf: 1.278,
            run_bytes: 16 << 20,
            pace: 0.502,
            burst: 10.0,
            warm_run: 80.0,
        },
    ),
    (
        "winxp-59gb",
        Desktop {
            hot: 0.5915,
            warm: 20.1017,
            touched: 64.0,
            hot_writes: 53.5,
            warm_writes: 36.9,
            hot_zipf: 0.466,
            warm_zipf: 0.385,
            run_bytes: 64 << 20,
            pace: 0.362,
            burst: 20.0,
            warm_run: 0.0,
        },
    ),
];

/// A numeric parameter: its name, whether it is a percentage, its maximum, and access to it.
type Number = (&'static str, bool, f64, fn(&mut Desktop) -> &mut f64);

const NUMBERS: [Number; 10] = [
    ("hot", true, 100.0, |it| &mut it.hot),
    ("warm", true, 100.0, |it| &mut it.warm),
    ("touched", true, 100.0, |it| &mut it.touched),
    ("hot-writes", true, 100.0, |it| &mut it.hot_writes),
    ("warm-writes", true, 100.0, |it| &mut it.warm_writes),
    ("hot-zipf", false, 16.0, |it| &mut it.hot_zipf),
    ("warm-zipf", false, 16.0, |it| &mut it.warm_zipf),
    ("pace", false, 16.0, |it| &mut it.pace),
    ("burst", true, 100.0, |it| &mut it.burst),
    ("warm-run", true, 100.0, |it| &mut it.warm_run),
];

impl Default for Desktop {
    fn default() -> Self {
        FITS[0].1
    }
}

impl FromStr for Desktop {
    type Err = TraceError;

    /// Parses the text after `desktop:`: `winxp-59gb`, `burst=0%/run=2MiB`, `winxp-59gb/burst=0%`.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut desktop = Desktop::default();
        for (i, part) in text.split('/').map(str::trim).enumerate() {
            match (part.split_once('='), FITS.iter().find(|(name, _)| *name == part)) {
                (Some((key, value)), _) => desktop.set(key.trim(), value.trim())?,
                (None, Some((_, fit))) if i == 0 => desktop = *fit,
                _ => return Err(refuse(part)),
            }
        }
        Ok(desktop)
    }
}

impl Desktop {
    fn set(&mut self, key: &str, value: &str) -> Result<(), TraceError> {
        if key == "run" {
            self.run_bytes = parse_size(value)?;
            return Ok(());
        }
        let (_, is_percent, most, field) =
            NUMBERS.iter().find(|(name, ..)| *name == key).ok_or_else(|| refuse(key))?;
        let number = if *is_percent { value.trim_end_matches('%') } else { value };
        *field(self) =
            number.parse().ok().filter(|number| (0.0..=*most).contains(number)).ok_or_else(
                || {
                    let unit = if *is_percent { "%" } else { "" };
                    TraceError::usage(
                        format!("`{value}` is no value for {key} of a desktop workload"),
                        format!("give a number from 0{unit} to {most}{unit}"),
                    )
                },
            )?;
        Ok(())
    }
}

fn refuse(part: &str) -> TraceError {
    let keys: Vec<_> = NUMBERS.iter().map(|(name, ..)| *name).chain(["run"]).collect();
    TraceError::usage(
        format!("`{part}` is no parameter of a desktop workload"),
        format!(
            "begin with a fit ({}) or not, then name parameters, such as \
             desktop:winxp-59gb/burst=0%/run=2MiB; there are {}",
            FITS.map(|(name, _)| name).join(", "),
            keys.join(", ")
        ),
    )
}

impl fmt::Display for Desktop {
    /// Formats what [`FromStr`] parses: the nearest fit, then the differences from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, difference) = FITS
            .iter()
            .map(|(name, fit)| (name, self.difference(*fit)))
            .min_by_key(|(_, difference)| difference.len())
            .expect("there are fits");
        write!(f, "{name}")?;
        difference.iter().try_for_each(|parameter| write!(f, "/{parameter}"))
    }
}

impl Desktop {
    fn difference(mut self, mut other: Desktop) -> Vec<String> {
        let mut found = Vec::new();
        for (name, is_percent, _, field) in NUMBERS {
            let value = *field(&mut self);
            if value != *field(&mut other) {
                found.push(format!("{name}={value}{}", if is_percent { "%" } else { "" }));
            }
        }
        if self.run_bytes != other.run_bytes {
            found.push(format!("run={}", format_size(self.run_bytes)));
        }
        found
    }
}

/// The parameters prepared for a span of this many units.
pub(super) struct DesktopSampler {
    hot: Scattered,
    warm: Scattered,
    cold: Cold,
    hot_share: f64,
    hot_or_warm_share: f64,
    burst: Chance,
    warm_run: Chance,
    last_warm: u64,
    /// Recently written units, as a ring.
    recent: [u64; RECENT],
    /// Units drawn so far.
    drawn: u64,
}

impl DesktopSampler {
    /// `writes` is the number of units drawn until the end of the first pass.
    pub fn new(
        spec: &Desktop,
        units: u64,
        unit_bytes: u64,
        writes: u64,
        keys: [u64; 4],
    ) -> Result<Self, TraceError> {
        let share = |percent: f64| libm::round(percent / 100.0 * units as f64) as u64;
        let (hot, warm, touched) = (share(spec.hot), share(spec.warm), share(spec.touched));
        if hot == 0 || warm == 0 || hot + warm >= touched || touched > units {
            return Err(TraceError::usage(
                format!(
                    "desktop:{spec}: {hot} hot and {warm} warm of {touched} pages ever written"
                ),
                "let each region have a page: choose a larger span, or hot and warm that are \
                 together less than touched",
            ));
        }
        if spec.hot_writes + spec.warm_writes > 100.0 {
            return Err(TraceError::usage(
                format!("desktop:{spec}: hot and warm writes are more than all writes"),
                "let hot-writes and warm-writes be at most 100% together",
            ));
        }
        Ok(DesktopSampler {
            hot: Scattered::new(0, hot, spec.hot_zipf, keys),
            warm: Scattered::new(hot, warm, spec.warm_zipf, keys),
            cold: Cold {
                first: hot + warm,
                size: touched - hot - warm,
                mean: (spec.run_bytes / unit_bytes) as f64,
                pace: spec.pace,
                writes,
                ..Cold::default()
            },
            hot_share: spec.hot_writes / 100.0,
            hot_or_warm_share: (spec.hot_writes + spec.warm_writes) / 100.0,
            burst: Chance::new(spec.burst / 100.0),
            warm_run: Chance::new(spec.warm_run / 100.0),
            last_warm: hot,
            recent: [0; RECENT],
            drawn: 0,
        })
    }

    pub fn draw(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let is_repeated = self.burst.draw(rng) && self.drawn > 0;
        let drawn = if is_repeated {
            self.recent[below(rng, self.drawn.min(RECENT as u64)) as usize]
        } else {
            self.draw_region(rng)
        };
        self.recent[(self.drawn % RECENT as u64) as usize] = drawn;
        self.drawn += 1;
        drawn
    }

    fn draw_region(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let share = unit(rng);
        if share < self.hot_share {
            return self.hot.draw(rng);
        }
        if share >= self.hot_or_warm_share {
            return self.cold.draw(self.drawn, rng);
        }
        self.last_warm = if self.warm_run.draw(rng) {
            self.warm.after(self.last_warm)
        } else {
            self.warm.draw(rng)
        };
        self.last_warm
    }
}

/// A region whose popular units are scattered over it.
struct Scattered {
    first: u64,
    size: u64,
    zipf: Zipf,
    permutation: Permutation,
}

impl Scattered {
    fn new(first: u64, size: u64, exponent: f64, keys: [u64; 4]) -> Self {
        let (zipf, permutation) = (Zipf::new(size, exponent), Permutation::new(size, keys));
        Scattered { first, size, zipf, permutation }
    }

    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        self.first + self.permutation.apply(self.zipf.draw(rng))
    }

    fn after(&self, unit: u64) -> u64 {
        self.first + (unit - self.first + 1) % self.size
    }
}

/// A region written in runs: new space in address order, or rewrites.
#[derive(Default)]
struct Cold {
    first: u64,
    size: u64,
    mean: f64,
    pace: f64,
    writes: u64,
    /// Number of units written at least once, from the region's first on.
    written: u64,
    next: u64,
    left: u64,
}

impl Cold {
    fn draw(&mut self, drawn: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
        if self.left == 0 {
            self.begin_run(drawn, rng);
        }
        let unit = self.next;
        self.next += 1;
        self.left -= 1;
        self.written = self.written.max(self.next);
        self.first + unit
    }

    fn begin_run(&mut self, drawn: u64, rng: &mut Xoshiro256PlusPlus) {
        // 1 - u lies in (0, 1]: the logarithm is finite.
        let length = 1 + (-libm::log(1.0 - unit(rng)) * self.mean) as u64;
        let progress = (drawn as f64 / self.writes as f64).min(1.0);
        let due = libm::pow(progress, self.pace) * self.size as f64;
        let is_new = self.written == 0 || self.written < self.size && (self.written as f64) < due;
        (self.next, self.left) = if is_new {
            (self.written, length.min(self.size - self.written))
        } else {
            let start = below(rng, self.written);
            (start, length.min(self.written - start))
        };
    }
}
