//! Detects a trace's format from its beginning.

use std::{io::Cursor, path::Path};

use super::{
    context::Context,
    entry::{Entry, Refused, Setup},
    fault::shown,
    format::Format,
    formats::{REFUSED, REGISTRY},
    input::Input,
    options::ReadOptions,
    reader::Guess,
    sample::{Hit, Sample},
    sniff,
};
use crate::{Request, TraceError};

/// Score from which a format takes precedence over a header line that names its columns.
const SURE: u8 = 90;

/// The score of a magic number, or of a header line that is unique to a format.
const CERTAIN: u8 = 100;

/// Number of requests by which two readings of a sample are compared.
const COMPARED: usize = 500;

/// The profile of an eMMC chip.
const EMMC: &str = "emmc-5.1";

/// Bytes of the smallest sector.
const SECTOR: u32 = 512;

/// 1990, where time begins in 1970.
const EARLIEST_NS: u64 = 20 * 31_557_600 * 1_000_000_000;

/// Nanoseconds between requests below which no device takes them: 20 million a second.
const SHORTEST_PAUSE_NS: u64 = 50;

/// The format that fits best, or why there is none. Takes the user's units into account.
pub(crate) fn detect(
    sample: &Sample<'_>,
    path: &Path,
    options: &ReadOptions,
) -> Result<Guess, TraceError> {
    let time_unit = options.time_unit;
    if sample.bytes.is_empty() {
        return Err(TraceError::Format {
            path: path.to_owned(),
            what: "the trace is empty".into(),
            remedy: "check where it came from".into(),
        });
    }
    let mut best: Option<(&'static Entry, Hit)> = None;
    for entry in REGISTRY {
        if let Some(hit) = (entry.detect)(sample)
            && best.as_ref().is_none_or(|(_, other)| hit.score > other.score)
        {
            best = Some((entry, hit));
        }
    }
    let known = best.map(|(entry, hit)| (Format::of(entry), hit));
    match (known, sniff::text(sample, time_unit)) {
        (Some((format, hit)), _) if hit.score == CERTAIN => Ok(Guess::new(format, Some(hit.from))),
        (known, Ok(Some(described))) => {
            let format = format!("columns:{}", described.text).parse()?;
            match known {
                Some((known, hit))
                    if hit.score >= SURE && !denies(sample, &known, &format, &described) =>
                {
                    Ok(Guess::new(known, Some(hit.from)))
                }
                _ => Ok(Guess::new(format, Some("its header line"))),
            }
        }
        (Some((format, hit)), Err(unclear))
            if !unclear.unread && (hit.score < SURE || unclear.twice) =>
        {
            let remedy = format!("{}, or ‹trace-format {format}›", unclear.remedy());
            Err(TraceError::Format { path: path.to_owned(), what: unclear.what, remedy })
        }
        (Some((format, hit)), _) => match doubt(sample, &format, hit.score, options) {
            None => Ok(Guess::new(format, Some(hit.from))),
            Some((what, remedy)) => {
                let about = format.about();
                let title = about.split(':').next().unwrap_or(about);
                let what = format!("this looks like {title}, but {what}");
                let remedy = format!("{remedy}, or ‹trace-format {format}› if it is so");
                Err(TraceError::Format { path: path.to_owned(), what, remedy })
            }
        },
        (None, Err(unclear)) if refused(sample).is_none() => {
            let remedy = unclear.remedy();
            Err(TraceError::Format { path: path.to_owned(), what: unclear.what, remedy })
        }
        (None, _) => Err(refusal(sample, path)),
    }
}

/// Whether the header line contradicts `known`, whose rows look right.
fn denies(
    sample: &Sample<'_>,
    known: &Format,
    described: &Format,
    told: &sniff::Description,
) -> bool {
    let (Ok(known), Ok(described)) =
        (first_requests(sample, known), first_requests(sample, described))
    else {
        return false;
    };
    let differs = |one: &Request, other: &Request| {
        told.tells_time && one.time_ns != other.time_ns
            || told.tells_places && (one.offset, one.len) != (other.offset, other.len)
    };
    known.len() == described.len()
        && known.iter().zip(&described).any(|(one, other)| differs(one, other))
}

/// Why a guess from the rows alone may be wrong by a power of ten, and the remedy.
fn doubt(
    sample: &Sample<'_>,
    format: &Format,
    score: u8,
    options: &ReadOptions,
) -> Option<(String, &'static str)> {
    if sample.lines.is_empty() {
        return None;
    }
    if format.entry().special.dated && options.time_unit.is_none() {
        let requests = first_requests(sample, format).unwrap_or_default();
        if !requests.is_empty() && requests.iter().all(|request| request.time_ns < EARLIEST_NS) {
            let what =
                "its times are no dates of the last decades, as that format's are".to_owned();
            return Some((what, "say their unit by ‹time-unit›"));
        }
    }
    if score > SURE {
        return None;
    }
    let moved = |sector: Option<u32>| -> Option<Vec<Request>> {
        let mut requests = read(sample, format, sector).ok()?;
        requests.retain(|request| request.len > 0);
        (requests.len() > 1).then_some(requests)
    };
    let requests = moved(options.sector_size)?;
    // With sectors of one byte.
    let units = moved(Some(1))?;
    let counts_sectors = units.iter().zip(&requests).any(|(one, other)| one.len != other.len);
    let sectors = |bytes: u64| bytes.is_multiple_of(u64::from(SECTOR));
    if counts_sectors && options.sector_size.is_none() && score < SURE {
        if units.iter().all(|request| sectors(request.len) && sectors(request.offset)) {
            return Some((
                format!("all offsets and sizes are multiples of {SECTOR}, as bytes are"),
                "say ‹sector-size 1› if they are bytes",
            ));
        }
    } else if !counts_sectors && requests.iter().all(|request| request.len < SECTOR.into()) {
        return Some((
            format!("all sizes are below {SECTOR} bytes, as numbers of sectors are"),
            "say by ‹columns› which is what, such as 'skip=0,time=1:s,op=3,offset=4:sectors,size=5:sectors'",
        ));
    }
    let first = requests.iter().map(|request| request.time_ns).min()?;
    let last = requests.iter().map(|request| request.time_ns).max()?;
    let pause = (last - first) / requests.len() as u64;
    let whole = score < SURE && options.time_unit.is_none() && last > first;
    (whole && pause < SHORTEST_PAUSE_NS).then(|| {
        let what = format!("its {} requests come within {} ns", requests.len(), last - first);
        (what, "say ‹time-unit us›, ms or s if times are in these")
    })
}

/// The requests that a format reads from the sample.
fn first_requests(sample: &Sample<'_>, format: &Format) -> Result<Vec<Request>, TraceError> {
    read(sample, format, None)
}

/// [`first_requests`] with sectors of this size.
fn read(
    sample: &Sample<'_>,
    format: &Format,
    sector: Option<u32>,
) -> Result<Vec<Request>, TraceError> {
    let mut text = sample.lines.join(&b'\n');
    text.push(b'\n');
    let (mut cx, mut requests) = (Context::new(sector, None, true), Vec::new());
    decode(text, format, &mut cx, &mut requests)?;
    Ok(requests)
}

fn decode(
    begin: Vec<u8>,
    format: &Format,
    cx: &mut Context,
    requests: &mut Vec<Request>,
) -> Result<(), TraceError> {
    let inputs = vec![Input::new(Path::new("sample"), Cursor::new(begin))?];
    let setup = Setup { inputs, argument: None, action: None, time_unit: None, contents: false };
    for mut reader in format.open(setup)? {
        reader.decode(cx, requests, COMPARED)?;
    }
    Ok(())
}

/// The device of a trace with this beginning, if all its disks have the number or the name that
/// Linux gives to eMMC chips and cards.
pub(crate) fn disks(begin: &[u8], format: &Format) -> Option<String> {
    let (mut cx, mut requests) = (Context::new(None, None, true), Vec::new());
    // The beginning may end within a record, after enough complete ones.
    let _cut_off = decode(begin.to_vec(), format, &mut cx, &mut requests);
    let names = cx.volumes.names();
    let is_mmc = |name: &String| {
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        ["mmcblk", "179:", "179,"].iter().any(|begin| name.starts_with(begin))
    };
    (!names.is_empty() && names.iter().all(is_mmc)).then(|| EMMC.to_owned())
}

/// The kind of file, if it is one that cannot be read.
fn refused(sample: &Sample<'_>) -> Option<&'static Refused> {
    REFUSED.iter().find(|refused| (refused.detect)(sample))
}

/// Why no format fits.
fn refusal(sample: &Sample<'_>, path: &Path) -> TraceError {
    let path = path.to_owned();
    if let Some(refused) = refused(sample) {
        let (what, remedy) = (refused.what.to_owned(), refused.remedy.to_owned());
        return TraceError::Format { path, what, remedy };
    }
    let start = &sample.bytes[..sample.bytes.len().min(64)];
    let line = start.split(|&b| b == b'\n').next().unwrap_or_default();
    if let Some(names) = sniff::names(sample) {
        return TraceError::Format {
            path,
            what: format!("no known trace format has the columns {}", names.join(", ")),
            remedy: "say by ‹columns› which is what, by name or number, such as \
                     'time=timestamp:us,op=type:W/R,offset=lba:sectors,size=bytes', or name the format \
                     with ‹trace-format›"
                .into(),
        };
    }
    TraceError::Format {
        path,
        what: format!("no known trace format begins with {}", shown(line)),
        remedy: "name the format with ‹trace-format›, or describe its columns with ‹trace-format columns:…›"
            .into(),
    }
}
