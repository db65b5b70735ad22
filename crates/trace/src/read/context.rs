//! State shared by all readers: units, volumes, and warnings for the user.

use std::borrow::Cow;

use super::{fault::Fault, units::TimeUnit, unpack::Passed, volumes::Volumes};

/// Default bytes of a sector.
const SECTOR: u64 = 512;

/// State shared by the readers of one trace (or of the files merged into one).
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// The volumes so far.
    pub(crate) volumes: Volumes,
    /// The files of archives that are not traces.
    pub(super) passed: Vec<Passed>,
    sector: Option<u64>,
    time_unit: Option<TimeUnit>,
    skip_bad_lines: bool,
    bad_lines: u64,
    first_bad: String,
    dropped: Vec<(&'static str, u64)>,
    /// How often each occurred; 0 for remarks without a count.
    remarks: Vec<(Cow<'static, str>, u64)>,
}

impl Context {
    /// A context in which the user's units override those of the format. With `skip_bad_lines`,
    /// invalid lines are skipped.
    pub(crate) fn new(
        sector: Option<u32>,
        time_unit: Option<TimeUnit>,
        skip_bad_lines: bool,
    ) -> Context {
        Context { sector: sector.map(u64::from), time_unit, skip_bad_lines, ..Context::default() }
    }

    /// Bytes in a sector.
    #[inline]
    pub(crate) fn sector(&self) -> u64 {
        self.sector.unwrap_or(SECTOR)
    }

    /// Bytes in a sector, with a default from the trace.
    pub(crate) fn sector_or(&self, own: u64) -> u64 {
        self.sector.unwrap_or(own)
    }

    /// True if the user gave the bytes of a sector.
    pub(crate) fn sector_is_given(&self) -> bool {
        self.sector.is_some()
    }

    /// The unit of the time column, with the format's unit `own` as the default.
    #[inline]
    pub(crate) fn time_unit(&self, own: TimeUnit) -> TimeUnit {
        self.time_unit.unwrap_or(own)
    }

    /// Counts a row that is left out on purpose. `why` completes "3 rows left out: …".
    #[inline]
    pub(crate) fn drop_row(&mut self, why: &'static str) {
        match self.dropped.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += 1,
            None => self.dropped.push((why, 1)),
        }
    }

    /// Adds a remark about the trace as a whole.
    pub(crate) fn remark(&mut self, what: impl Into<Cow<'static, str>>) {
        let what = what.into();
        if !self.remarks.iter().any(|(known, _)| *known == what) {
            self.remarks.push((what, 0));
        }
    }

    /// Counts an event that the user should know and that leaves out no row. `what` is a plural.
    pub(crate) fn count(&mut self, what: &'static str) {
        match self.remarks.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.remarks.push((what.into(), 1)),
        }
    }

    /// True if an invalid line is to be skipped. It is then counted.
    #[cold]
    pub(crate) fn tolerate(&mut self, line: u64, fault: &Fault) -> bool {
        if self.skip_bad_lines {
            if self.bad_lines == 0 {
                self.first_bad = format!("line {line}: {}", fault.what());
            }
            self.bad_lines += 1;
        }
        self.skip_bad_lines
    }

    /// The warnings for the user.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.bad_lines > 0 {
            let (n, lines) = counted(self.bad_lines, "line", "lines");
            all.push(format!("{n} bad {lines} skipped, the first is {}", self.first_bad));
        }
        for &(why, count) in &self.dropped {
            let (n, rows) = counted(count, "row", "rows");
            all.push(format!("{n} {rows} left out: {why}"));
        }
        let passed: Vec<String> = self.passed.iter().flat_map(Passed::names).collect();
        if !passed.is_empty() {
            let (n, files) = counted(passed.len() as u64, "file", "files");
            let names = passed[..passed.len().min(5)].join(", ");
            let dots = if passed.len() > 5 { ", …" } else { "" };
            all.push(format!("{n} {files} of the archive passed over, no traces: {names}{dots}"));
        }
        for (what, count) in &self.remarks {
            all.push(if *count == 0 { what.to_string() } else { format!("{what}: {count}") });
        }
        all
    }
}

/// A count and the matching noun.
fn counted(n: u64, one: &'static str, many: &'static str) -> (u64, &'static str) {
    (n, if n == 1 { one } else { many })
}
