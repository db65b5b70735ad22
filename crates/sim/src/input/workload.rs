//! A generated workload as extents of logical pages.

use thermocline_policy::{Ticks, params::ParamValue};
use thermocline_trace::{
    Op, Request, Source,
    generate::{Generator, GeneratorOptions, PatternSpec},
};
use thermocline_units::{format_size, naming::in_results};

use super::extent::{Extent, cuts};
use crate::SimError;

/// A generated workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The pattern.
    pub spec: PatternSpec,
    /// Bytes to write. By default phases have their own lengths, and steady patterns write
    /// [`Workload::DEFAULT_FILLS`] times the filled data.
    pub bytes: Option<u64>,
    /// Bytes of a request; a page by default.
    pub request_bytes: Option<u64>,
    /// Mean gap between requests of a Poisson process. Without it there are no arrivals.
    pub interarrival_ns: Option<u64>,
    /// Share of reads among the requests.
    pub read_share: f64,
}

impl Workload {
    /// Default length of a steady workload, as a multiple of the filled data.
    pub const DEFAULT_FILLS: u64 = 4;

    /// The workload with its length, on a device filled with this many bytes.
    #[must_use]
    pub fn on(&self, filled_bytes: u64) -> Self {
        let steady = matches!(self.spec, PatternSpec::Steady(_));
        let length = steady.then_some(Self::DEFAULT_FILLS * filled_bytes);
        Self { bytes: self.bytes.or(length), ..self.clone() }
    }

    /// The workload for a device on which each page stands for `of` pages. Sizes are divided by
    /// `of`; requests have at least a page.
    #[must_use]
    pub(crate) fn scaled(&self, of: u32, page_size: u32) -> Self {
        if of == 1 {
            return self.clone();
        }
        let (of, page) = (u64::from(of), u64::from(page_size));
        Self {
            spec: self.spec.scaled(of),
            bytes: self.bytes.map(|bytes| bytes.div_ceil(of)),
            request_bytes: self.request_bytes.map(|bytes| (bytes / of / page).max(1) * page),
            ..self.clone()
        }
    }

    /// Its name in results.
    #[must_use]
    pub fn name(&self) -> String {
        let told = |name, value: &str| format!(" {}", in_results(name, value));
        let mut name = self.spec.to_string();
        if let Some(bytes) = self.bytes {
            name += &told("bytes", &format_size(bytes));
        }
        if let Some(bytes) = self.request_bytes {
            name += &told("request", &format_size(bytes));
        }
        if let Some(gap) = self.interarrival_ns {
            name += &told("interarrival", &Ticks(gap).show());
        }
        if self.read_share > 0.0 {
            name += &told("reads", &self.read_share.to_string());
        }
        name
    }

    pub(super) fn generator(
        &self,
        first: u32,
        pages: u32,
        page_size: u32,
        seed: u64,
    ) -> Result<Generated, SimError> {
        let page = u64::from(page_size);
        let options = GeneratorOptions {
            span_bytes: u64::from(pages) * page,
            bytes: self.bytes,
            request_bytes: self.request_bytes,
            page_bytes: page,
            interarrival_ns: self.interarrival_ns.map(|ns| ns as f64),
            seed,
            read_share: self.read_share,
        };
        let generator = Generator::new(&self.spec, &options)?;
        let again = (self.spec.clone(), options);
        let request = self.request_bytes.unwrap_or(page);
        let expected = generator.writes_left() * request.div_ceil(page);
        let whole = request.is_multiple_of(page) && page.is_power_of_two() && !self.spec.trims();
        let whole_pages = if whole { (request / page) as u32 } else { 0 };
        let batch = Vec::with_capacity(BATCH);
        Ok(Generated { generator, again, batch, first, page, whole_pages, expected })
    }
}

/// Number of requests generated together. It is small enough to leave the processor's second-level
/// cache to the device's tables.
const BATCH: usize = 512;

/// A workload being generated.
pub(crate) struct Generated {
    generator: Generator,
    /// The specification and options, for a restart.
    again: (PatternSpec, GeneratorOptions),
    batch: Vec<Request>,
    first: u32,
    page: u64,
    /// Pages of each request if all consist of whole pages; else 0.
    whole_pages: u32,
    /// Number of pages that will be written.
    pub(super) expected: u64,
}

impl Generated {
    /// Restarts the workload with the next seed.
    pub(super) fn begin_again(&mut self) -> Result<(), SimError> {
        let (spec, options) = &mut self.again;
        options.seed = options.seed.wrapping_add(1);
        self.generator = Generator::new(spec, options)?;
        Ok(())
    }

    pub(super) fn next_batch(&mut self, batch: &mut Vec<Extent>) -> Result<(), SimError> {
        self.generator.next_batch(&mut self.batch, BATCH)?;
        // Pages are nearly always a power of two long; a shift avoids two divisions per request.
        let page = self.page;
        if self.whole_pages > 0 {
            let (first, pages, bits) = (self.first, self.whole_pages, page.trailing_zeros());
            batch.extend(self.batch.iter().map(|request| Extent {
                time_ns: request.time_ns,
                first: first + (request.offset >> bits) as u32,
                pages,
                bytes: request.len,
                op: request.op,
                hint: 0,
                partial_head: false,
                partial_tail: false,
                continued: false,
            }));
        } else if page.is_power_of_two() {
            let bits = page.trailing_zeros();
            self.extend(batch, |offset| offset >> bits);
        } else {
            self.extend(batch, |offset| offset / page);
        }
        Ok(())
    }

    #[inline(always)]
    fn extend(&self, batch: &mut Vec<Extent>, page_of: impl Fn(u64) -> u64) {
        batch.extend(self.batch.iter().map(|request| {
            let first = page_of(request.offset);
            let end = page_of(request.offset + request.len - 1) + 1;
            let write = request.op == Op::Write;
            let (head, tail) = cuts(request, &(first..end), self.page);
            Extent {
                time_ns: request.time_ns,
                first: self.first + first as u32,
                pages: (end - first) as u32,
                bytes: request.len,
                op: request.op,
                hint: 0,
                partial_head: write && head,
                partial_tail: write && tail,
                continued: false,
            }
        }));
    }
}
