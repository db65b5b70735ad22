//! BIOtracer (Nexus 5): `lba sectors bytes type t_generate t_start t_submit t_finish`.
//!
//! Sectors are 512 bytes, times Unix seconds; the arrival is the time of generation. Bit 0 of the
//! type is a write. A size of 1 more than a multiple of 8 sectors is a packed eMMC write: the
//! extra sector is the pack's header and not data, so it is left out of the length.

use crate::{
    Op, Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::Parsed,
        layout::{Columns, Layout, OpRule, Separator, Unit},
        lines::LineFormat,
        sample::{Hit, Sample},
        units::TimeUnit,
    },
};

const LAYOUT: Layout = Layout {
    separator: Separator::Blank,
    names: &["lba", "sectors", "bytes", "type", "t_generate", "t_start", "t_submit", "t_finish"],
    time: Some((4, TimeUnit::Seconds)),
    // The type is a set of flags: read by hand below.
    op: OpRule::Always(Op::Read),
    offset: (0, Unit::Sector),
    size: (1, Unit::Sector),
    volume: None,
};

/// Sectors of a page; packed writes carry one more than whole pages.
const PAGE_SECTORS: u64 = 8;

pub(super) const ENTRY: Entry = Entry {
    name: "biotracer",
    about: "BIOtracer (Nexus 5): LBA and size in 512 B sectors, flags (bit 0 write), Unix seconds",
    source: "github.com/CASL-SDSU/SmartphoneIOTraces (IISWC 2015)",
    special: Special::NONE,
    detect,
    open: |setup| setup.lines(|_| Biotracer(Columns::new(LAYOUT))),
};

fn detect(sample: &Sample<'_>) -> Option<Hit> {
    let hit = sample.columns(&LAYOUT, 8..=8, 80, "8 columns, the last 4 with decimals")?;
    let words = |line: &[u8]| {
        line.split(|b| matches!(b, b' ' | b'\t')).filter(|w| w.contains(&b'.')).count()
    };
    sample.lines.last().is_some_and(|line| words(line) >= 3).then_some(hit)
}

struct Biotracer(Columns);

impl LineFormat for Biotracer {
    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let Some(mut request) = self.0.line(line, cx)? else { return Ok(None) };
        if self.0.field(line, 3, "type").number()? & 1 == 1 {
            request.op = Op::Write;
            let sector = cx.sector();
            if request.len / sector % PAGE_SECTORS == 1 && request.len > sector {
                request.len -= sector;
            }
        }
        Ok(Some(request))
    }
}
