//! Statistics of a trace, collected in a stream.

mod alignment;
mod heat;
mod report;
mod sizes;

pub use alignment::AlignmentStats;
pub use report::{HintStats, TraceReport, VolumeStats};
pub use sizes::SizeStats;

use crate::{Op, Request, Source, TraceError, transform::pages::touched};
use alignment::Alignment;
use heat::Heat;
use sizes::Sizes;

/// Collects a [`TraceReport`]. Memory grows with the pages written, not with the trace.
pub struct TraceStats {
    page_bytes: u64,
    ops: [Tally; 4],
    heat: Heat,
    read_sizes: Sizes,
    write_sizes: Sizes,
    alignment: Alignment,
    times: Option<Times>,
    volumes: Vec<VolumeStats>,
    /// Writes by their hint.
    hints: Vec<Tally>,
}

/// Requests and bytes of one operation.
#[derive(Clone, Copy, Default)]
struct Tally {
    requests: u64,
    bytes: u64,
}

struct Times {
    first: u64,
    last: u64,
    previous: u64,
    backwards: u64,
}

impl TraceStats {
    /// Empty statistics with pages of `page_bytes`, usually 4096.
    ///
    /// # Panics
    /// If `page_bytes` is 0.
    #[must_use]
    pub fn new(page_bytes: u64) -> Self {
        assert!(page_bytes > 0, "pages of no bytes");
        TraceStats {
            page_bytes,
            ops: Default::default(),
            heat: Heat::default(),
            read_sizes: Sizes::new(),
            write_sizes: Sizes::new(),
            alignment: Alignment::default(),
            times: None,
            volumes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// The report of a whole source.
    ///
    /// # Errors
    /// Those of the source and of [`Self::add`].
    pub fn of(source: &mut impl Source, page_bytes: u64) -> Result<TraceReport, TraceError> {
        let mut stats = TraceStats::new(page_bytes);
        let mut batch = Vec::new();
        loop {
            source.next_batch(&mut batch, 4096)?;
            if batch.is_empty() {
                return Ok(stats.report(source.volumes()));
            }
            for request in &batch {
                stats.add(request)?;
            }
        }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// [`TraceError::Request`] for requests larger than any device accepts.
    pub fn add(&mut self, request: &Request) -> Result<(), TraceError> {
        let pages = touched(request, self.page_bytes)?;
        let tally = &mut self.ops[request.op as usize];
        tally.requests += 1;
        tally.bytes = tally.bytes.saturating_add(request.len);
        self.time(request.time_ns);
        self.volume(request);
        match request.op {
            Op::Read => self.read_sizes.add(request.len),
            Op::Write => {
                self.write_sizes.add(request.len);
                self.hint(request);
                for page in pages {
                    self.heat.write(request.volume, page);
                }
            }
            Op::Trim => {}
            Op::Flush => return Ok(()),
        }
        self.alignment.add(request.offset);
        Ok(())
    }

    fn time(&mut self, now: u64) {
        let times =
            self.times.get_or_insert(Times { first: now, last: now, previous: now, backwards: 0 });
        times.first = times.first.min(now);
        times.last = times.last.max(now);
        times.backwards += u64::from(now < times.previous);
        times.previous = now;
    }

    fn hint(&mut self, request: &Request) {
        let index = usize::from(request.hint);
        if index >= self.hints.len() {
            self.hints.resize(index + 1, Tally::default());
        }
        self.hints[index].requests += 1;
        self.hints[index].bytes += request.len;
    }

    fn volume(&mut self, request: &Request) {
        let index = request.volume as usize;
        if index >= self.volumes.len() {
            self.volumes.resize_with(index + 1, VolumeStats::default);
        }
        let volume = &mut self.volumes[index];
        volume.requests += 1;
        match request.op {
            Op::Read => volume.bytes_read += request.len,
            Op::Write => volume.bytes_written += request.len,
            // A trim may exceed the device, so it does not show the size.
            Op::Trim | Op::Flush => return,
        }
        volume.end_bytes = volume.end_bytes.max(request.offset.saturating_add(request.len));
    }

    /// The writes of each hint; none if no write has one.
    fn hints(&self) -> Vec<HintStats> {
        let all = self.hints.iter().enumerate().filter(|(_, tally)| tally.requests > 0);
        let all = all.map(|(hint, tally)| HintStats {
            hint: hint as u16,
            writes: tally.requests,
            bytes_written: tally.bytes,
        });
        if self.hints.len() > 1 { all.collect() } else { Vec::new() }
    }

    /// The figures so far. `volumes` are the names from [`Source::volumes`].
    #[must_use]
    pub fn report(&self, volumes: &[String]) -> TraceReport {
        let [reads, writes, trims, flushes] =
            [Op::Read, Op::Write, Op::Trim, Op::Flush].map(|op| self.ops[op as usize]);
        let requests = reads.requests + writes.requests + trims.requests + flushes.requests;
        let Heat { page_writes, distinct, .. } = self.heat;
        let top = self.heat.top_shares([0.1, 0.2]);
        let duration_ns = self.times.as_ref().map_or(0, |times| times.last - times.first);
        TraceReport {
            page_bytes: self.page_bytes,
            reads: reads.requests,
            writes: writes.requests,
            trims: trims.requests,
            flushes: flushes.requests,
            bytes_read: reads.bytes,
            bytes_written: writes.bytes,
            bytes_trimmed: trims.bytes,
            page_writes,
            pages_written: distinct,
            write_set_bytes: distinct.saturating_mul(self.page_bytes),
            overwrite_factor: (distinct > 0).then(|| page_writes as f64 / distinct as f64),
            update_share: (page_writes > 0)
                .then(|| (page_writes - distinct) as f64 / page_writes as f64),
            top10_share: top.map(|[ten, _]| ten),
            top20_share: top.map(|[_, twenty]| twenty),
            first_ns: self.times.as_ref().map(|times| times.first),
            last_ns: self.times.as_ref().map(|times| times.last),
            duration_ns,
            mean_gap_ns: (requests > 1).then(|| duration_ns as f64 / (requests - 1) as f64),
            backwards: self.times.as_ref().map_or(0, |times| times.backwards),
            read_sizes: self.read_sizes.stats(reads.bytes),
            write_sizes: self.write_sizes.stats(writes.bytes),
            alignment: self.alignment.stats(),
            hints: self.hints(),
            volumes: self
                .volumes
                .iter()
                .enumerate()
                .map(|(i, volume)| VolumeStats {
                    name: volumes.get(i).cloned().unwrap_or_else(|| i.to_string()),
                    ..volume.clone()
                })
                .collect(),
        }
    }
}
