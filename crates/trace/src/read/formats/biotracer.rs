//! BIOtracer (Nexus 5): `lba sectors bytes type t_generate t_start t_submit t_finish`.
//!
//! Sectors are 512 bytes, times Unix seconds. The arrival is the time of generation. Bit 0 of the
//! type means a write. A size of 1 more than a multiple of 8 sectors is a packed eMMC write. The
//! extra sector is the pack's header and not data, so it is excluded from the length.

use crate::{
    Op, Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::Parsed,
        layout::{Columns, Layout, OpRule, Separator, Unit},
        lines::LineFormat,
        row::{self, Quick, Row},
        sample::{Hit, Sample},
        units::TimeUnit,
    },
};

const LAYOUT: Layout = Layout {
    separator: Separator::Blank,
    names: &["lba", "sectors", "bytes", "type", "t_generate", "t_start", "t_submit", "t_finish"],
    time: Some((4, TimeUnit::Seconds)),
    // The type is a set of flags, parsed below.
    op: OpRule::Always(Op::Read),
    offset: (0, Unit::Sector),
    size: (1, Unit::Sector),
    volume: None,
    hint: None,
    decimal: None,
};

/// Sectors of a page. Packed writes have one more than whole pages.
const PAGE_SECTORS: u64 = 8;

pub(super) const ENTRY: Entry = Entry {
    name: "biotracer",
    about: "BIOtracer (Nexus 5): LBA and size in 512 B sectors, flags (bit 0 write), Unix seconds",
    source: "github.com/CASL-SDSU/SmartphoneIOTraces (IISWC 2015)",
    special: Special { device: Some("emmc-5.1"), ..Special::NONE },
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
        let Some(request) = self.0.line(line, cx)? else { return Ok(None) };
        let flags = self.0.field(line, 3, "type").number()?;
        let (op, len) = op(flags, request.len, cx.sector());
        Ok(Some(Request { op, len, ..request }))
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        let sector = cx.sector();
        let offset = row.bytes_of(sector)?;
        row.gap()?;
        let len = row.bytes_of(sector)?;
        row.gap()?;
        row.word(Separator::Blank)?;
        row.gap()?;
        let flags = row.number()?;
        row.gap()?;
        let time = row.time(cx.time_unit(TimeUnit::Seconds), |mark| mark == b'.')?;
        row.ends(Separator::Blank)?;
        // The range check includes the header of a packed write.
        offset.checked_add(len)?;
        let (op, len) = op(flags, len, sector);
        row::push(out, time, op, offset, len, || cx.volumes.named(b"0"))
    }
}

/// The operation given by flags, and the number of data bytes in `len`.
#[inline]
fn op(flags: u64, len: u64, sector: u64) -> (Op, u64) {
    if flags & 1 == 0 {
        return (Op::Read, len);
    }
    let packed = len / sector % PAGE_SECTORS == 1 && len > sector;
    (Op::Write, if packed { len - sector } else { len })
}
