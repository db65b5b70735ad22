//! Addresses of one pattern.

use super::{
    desktop::DesktopSampler,
    fio::FioSampler,
    permutation::Permutation,
    random::{Chance, below},
    spec::Pattern,
    zipf::Zipf,
    zones::ZoneSampler,
};
use crate::{Op, Request, TraceError};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::Rng};

/// The span divided into slots of one request each, and into units that are hot or cold.
///
/// A unit is a request, or a page if requests are smaller than a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub request_bytes: u64,
    pub slots_per_unit: u64,
    pub units: u64,
}

impl Layout {
    pub fn new(span_bytes: u64, page_bytes: u64, request_bytes: u64) -> Result<Self, TraceError> {
        if request_bytes == 0 || page_bytes == 0 {
            return Err(TraceError::usage(
                "requests and pages of no bytes",
                "give a request size and a page size of at least 1 byte",
            ));
        }
        if request_bytes < page_bytes && !page_bytes.is_multiple_of(request_bytes) {
            return Err(TraceError::usage(
                format!("requests of {request_bytes} bytes do not divide pages of {page_bytes}"),
                "choose a request size that divides the page size, or a larger one",
            ));
        }
        let unit_bytes = request_bytes.max(page_bytes);
        let units = span_bytes / unit_bytes;
        if units == 0 || units > 1 << 53 {
            return Err(TraceError::usage(
                format!("a span of {span_bytes} bytes with requests of {request_bytes}"),
                format!("let the span hold 1 to 2^53 units of {unit_bytes} bytes"),
            ));
        }
        Ok(Layout { request_bytes, slots_per_unit: unit_bytes / request_bytes, units })
    }

    #[inline]
    fn request(&self, slot: u64) -> Request {
        Request {
            time_ns: 0,
            offset: slot * self.request_bytes,
            len: self.request_bytes,
            volume: 0,
            op: Op::Write,
            hint: 0,
        }
    }

    #[inline]
    fn slot_in(&self, unit: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
        if self.slots_per_unit == 1 {
            unit
        } else {
            unit * self.slots_per_unit + below(rng, self.slots_per_unit)
        }
    }
}

/// A pattern prepared for a layout.
pub(super) enum Sampler {
    Sequential,
    Uniform,
    /// The order of the current pass, and how much of it has been written.
    Shuffled {
        order: Option<Permutation>,
        at: u64,
    },
    HotCold {
        chance: Chance,
        hot: u64,
    },
    Zipf {
        ranks: Zipf,
        in_order: bool,
    },
    Fio(FioSampler),
    Desktop(Box<DesktopSampler>),
    Zones(ZoneSampler),
}

impl Sampler {
    /// `writes` is the number of requests of the pattern. `keys` scatter the popular units of a
    /// region.
    pub fn new(
        pattern: Pattern,
        layout: &Layout,
        writes: u64,
        keys: [u64; 4],
    ) -> Result<Self, TraceError> {
        Ok(match pattern {
            Pattern::Sequential => Sampler::Sequential,
            Pattern::Uniform => Sampler::Uniform,
            Pattern::Shuffled => Sampler::Shuffled { order: None, at: 0 },
            Pattern::HotCold { requests, addresses } => {
                let hot = libm::round(addresses / 100.0 * layout.units as f64) as u64;
                if hot == 0 || hot >= layout.units {
                    return Err(TraceError::usage(
                        format!("{pattern}: {hot} of {} pages would be hot", layout.units),
                        "choose a larger span, or shares that leave both sides a page",
                    ));
                }
                Sampler::HotCold { chance: Chance::new(requests / 100.0), hot }
            }
            Pattern::Zipf { exponent, in_order } => {
                Sampler::Zipf { ranks: Zipf::new(layout.units, exponent), in_order }
            }
            Pattern::Fio(fio) => Sampler::Fio(FioSampler::new(fio, layout.units, keys[0])),
            Pattern::Zones(zones) => Sampler::Zones(ZoneSampler::new(
                zones,
                layout.units * layout.slots_per_unit,
                layout.request_bytes,
            )?),
            Pattern::Desktop(spec) => {
                let unit_bytes = layout.request_bytes * layout.slots_per_unit;
                Sampler::Desktop(Box::new(DesktopSampler::new(
                    &spec,
                    layout.units,
                    unit_bytes,
                    writes,
                    keys,
                )?))
            }
        })
    }

    /// Whether its requests include trims.
    pub const fn trims(&self) -> bool {
        matches!(self, Sampler::Zones(_))
    }

    /// Appends `count` requests: writes, and trims before them. `cursor` is the next address of the
    /// sequential pattern.
    pub fn extend(
        &mut self,
        batch: &mut Vec<Request>,
        count: usize,
        layout: &Layout,
        permutation: &Permutation,
        rng: &mut Xoshiro256PlusPlus,
        cursor: &mut u64,
    ) {
        let slots = layout.units * layout.slots_per_unit;
        match self {
            Sampler::Sequential => batch.extend((0..count).map(|_| {
                let slot = *cursor;
                *cursor = if slot + 1 == slots { 0 } else { slot + 1 };
                layout.request(slot)
            })),
            Sampler::Uniform => {
                batch.extend((0..count).map(|_| layout.request(below(rng, slots))));
            }
            Sampler::Shuffled { order, at } => batch.extend((0..count).map(|_| {
                if *at == slots {
                    (*order, *at) = (None, 0);
                }
                let drawn = || Permutation::new(slots, std::array::from_fn(|_| rng.next_u64()));
                let slot = order.get_or_insert_with(drawn).apply(*at);
                *at += 1;
                layout.request(slot)
            })),
            Sampler::HotCold { chance, hot } => batch.extend((0..count).map(|_| {
                let (first, size) =
                    if chance.draw(rng) { (0, *hot) } else { (*hot, layout.units - *hot) };
                let unit = permutation.apply(first + below(rng, size));
                layout.request(layout.slot_in(unit, rng))
            })),
            Sampler::Zipf { ranks, in_order: false } => batch.extend((0..count).map(|_| {
                let unit = permutation.apply(ranks.draw(rng));
                layout.request(layout.slot_in(unit, rng))
            })),
            Sampler::Zipf { ranks, in_order: true } => batch.extend((0..count).map(|_| {
                let unit = ranks.draw(rng);
                layout.request(layout.slot_in(unit, rng))
            })),
            Sampler::Fio(fio) => batch.extend((0..count).map(|_| {
                let unit = fio.draw(rng);
                layout.request(layout.slot_in(unit, rng))
            })),
            Sampler::Zones(zones) => batch.extend((0..count).map(|_| zones.draw(rng))),
            Sampler::Desktop(desktop) => batch.extend((0..count).map(|_| {
                let unit = desktop.draw(rng);
                layout.request(layout.slot_in(unit, rng))
            })),
        }
    }
}
