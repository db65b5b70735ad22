//! Text formats whose rows are columns: the role of each column, as data.

use memchr::{memchr, memchr_iter};

use super::{
    context::Context,
    fault::{Fault, Parsed},
    fields::{Field, label, request, trimmed},
    lines::LineFormat,
    row::{self, Quick, Row},
    rwbs,
    units::TimeUnit,
};
use crate::{Op, Request};

/// Maximum number of columns in a row.
pub(crate) const MOST_COLUMNS: usize = 64;

/// Separates the cells of a table's row. It does not occur in text, and quotes have no meaning with
/// it.
pub(crate) const CELL_END: u8 = 0x1f;

/// The separator of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// One byte; two in a row enclose an empty column.
    Byte(u8),
    /// Any run of blanks and tabs; none before the first column.
    Blank,
}

/// The unit of an offset or a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Sectors of the trace: 512 bytes unless the user says otherwise.
    Sector,
    /// Units of this many bytes.
    Bytes(u64),
    /// Hexadecimal units of this many bytes, with or without `0x`; 0 means sectors.
    Hex(u64),
}

/// How a row contains its operation.
#[derive(Clone, Debug)]
pub(crate) enum OpRule {
    /// Spelled out in this column.
    Word(usize),
    /// Spelled out, or empty for unknown. Rows with an unknown operation are left out.
    WordOrUnknown(usize),
    /// 0 reads, 1 writes.
    OneWrites(usize),
    /// 0 writes, 1 reads.
    OneReads(usize),
    /// Hexadecimal flags, in which bit 0 means a read.
    ReadFlag(usize),
    /// Words given by the user.
    Chosen(usize, Box<[(Box<[u8]>, Op)]>),
    /// The same operation in all rows.
    Always(Op),
}

/// The role of each column. Columns are counted from 0 here and from 1 in messages.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) separator: Separator,
    /// The names of the columns in messages; by default their roles.
    pub(crate) names: &'static [&'static str],
    pub(crate) time: Option<(usize, TimeUnit)>,
    pub(crate) op: OpRule,
    pub(crate) offset: (usize, Unit),
    pub(crate) size: (usize, Unit),
    /// The first and the last of the columns that together name the volume.
    pub(crate) volume: Option<(usize, usize)>,
    /// The column with the placement hint.
    pub(crate) hint: Option<usize>,
    /// The decimal mark, a point or a comma. The other one may then group digits by threes. By
    /// default a point without grouping.
    pub(crate) decimal: Option<u8>,
}

impl Layout {
    /// Whether a column is used for requests.
    #[cfg(feature = "tables")]
    pub(crate) fn uses(&self, at: usize) -> bool {
        let op = self.op_column();
        let volume = self.volume.is_some_and(|(first, last)| (first..=last).contains(&at));
        let time = self.time.map(|(time, _)| time);
        volume || [op, time, Some(self.offset.0), Some(self.size.0), self.hint].contains(&Some(at))
    }

    /// The column with the operation.
    fn op_column(&self) -> Option<usize> {
        match self.op {
            OpRule::Word(at)
            | OpRule::WordOrUnknown(at)
            | OpRule::OneWrites(at)
            | OpRule::OneReads(at)
            | OpRule::ReadFlag(at)
            | OpRule::Chosen(at, _) => Some(at),
            OpRule::Always(_) => None,
        }
    }

    /// The steps of the fast parser for `needed` columns; `None` if a column is used twice.
    fn steps(&self, needed: usize) -> Option<Box<[Step]>> {
        let mut steps = vec![None; needed];
        let volume = self.volume.map(|(first, last)| (first, Step::Volume(last - first + 1)));
        let op = self.op_column().map(|at| (at, Step::Op));
        let time = self.time.map(|(at, unit)| (at, Step::Time(unit)));
        let offset = Some((self.offset.0, Step::Offset(self.offset.1)));
        let size = Some((self.size.0, Step::Size(self.size.1)));
        let hint = self.hint.map(|at| (at, Step::Hint));
        for (at, step) in [volume, op, time, offset, size, hint].into_iter().flatten() {
            let columns = if let Step::Volume(columns) = step { columns } else { 1 };
            for (column, taken) in steps[at..at + columns].iter_mut().enumerate() {
                if taken.is_some() {
                    return None;
                }
                // The first column of a volume represents all of them.
                *taken = Some(if column == 0 { Some(step) } else { None });
            }
        }
        Some(steps.into_iter().filter_map(|step| step.unwrap_or(Some(Step::Pass))).collect())
    }

    /// Minimum number of columns in a row.
    pub(crate) fn columns(&self) -> usize {
        let op = self.op_column().unwrap_or(0);
        let time = self.time.map_or(0, |(at, _)| at);
        let volume = self.volume.map_or(0, |(_, last)| last);
        let hint = self.hint.unwrap_or(0);
        1 + op.max(time).max(volume).max(hint).max(self.offset.0).max(self.size.0)
    }
}

/// Reads rows by a layout.
pub(crate) struct Columns {
    layout: Layout,
    needed: usize,
    /// Start and end of each column of the current row.
    cells: [(u32, u32); MOST_COLUMNS],
    /// For the fast parser: what to read, from left to right; empty if a column is used twice.
    steps: Box<[Step]>,
}

/// The role of a column, or of several that together name the volume.
#[derive(Clone, Copy, Debug)]
enum Step {
    Pass,
    Time(TimeUnit),
    Op,
    Offset(Unit),
    Size(Unit),
    Volume(usize),
    Hint,
}

impl Columns {
    /// A reader of rows with this layout. Columns beyond [`MOST_COLUMNS`] must not be used.
    pub(crate) fn new(layout: Layout) -> Columns {
        let needed = layout.columns();
        debug_assert!(needed <= MOST_COLUMNS);
        let steps = layout.steps(needed).unwrap_or_default();
        Columns { layout, needed, cells: [(0, 0); MOST_COLUMNS], steps }
    }

    /// A column of the row that was split last.
    #[inline]
    pub(crate) fn field<'a>(&'a self, line: &'a [u8], at: usize, role: &'a str) -> Field<'a> {
        let (start, end) = self.cells[at];
        let name = self.layout.names.get(at).copied().unwrap_or(role);
        Field::new(&line[start as usize..end as usize], at + 1, name)
    }

    /// Locates the columns of a row.
    #[inline]
    pub(crate) fn split(&mut self, line: &[u8]) -> Parsed<()> {
        let cells = &mut self.cells[..self.needed];
        let found = match self.layout.separator {
            Separator::Byte(byte) if memchr(b'"', line).is_none() => split_at(line, byte, cells),
            separator => split_slowly(line, separator, cells),
        };
        if found < self.needed { Err(self.missing(found)) } else { Ok(()) }
    }

    #[cold]
    fn missing(&self, found: usize) -> Box<Fault> {
        let name = self.layout.names.get(found).copied().unwrap_or(self.role(found));
        Fault::line(format!(
            "{} is missing, the line has {found} of {} fields",
            label(found + 1, name),
            self.layout.names.len().max(self.needed),
        ))
    }

    /// The role of a column without a name.
    fn role(&self, at: usize) -> &'static str {
        if self.layout.time.is_some_and(|(time, _)| time == at) {
            "time"
        } else if self.layout.offset.0 == at {
            "offset"
        } else if self.layout.size.0 == at {
            "size"
        } else if self.layout.volume.is_some_and(|(first, last)| (first..=last).contains(&at)) {
            "volume"
        } else if self.layout.hint == Some(at) {
            "hint"
        } else if matches!(self.layout.op, OpRule::Always(_)) {
            "unused"
        } else {
            "op"
        }
    }

    /// The operation; `None` if the trace does not give it.
    #[inline]
    fn op(&self, line: &[u8]) -> Parsed<Option<Op>> {
        let field = |at| self.field(line, at, "op");
        match &self.layout.op {
            OpRule::Word(at) => field(*at).traced_op(),
            OpRule::WordOrUnknown(at) => {
                let field = field(*at);
                if field.bytes.is_empty() { Ok(None) } else { field.traced_op() }
            }
            OpRule::OneWrites(at) => one_or_zero(field(*at), Op::Write, Op::Read),
            OpRule::OneReads(at) => one_or_zero(field(*at), Op::Read, Op::Write),
            OpRule::ReadFlag(at) => {
                let flags = field(*at).hex()?;
                Ok(Some(if flags & 1 == 1 { Op::Read } else { Op::Write }))
            }
            OpRule::Chosen(at, words) => {
                let field = field(*at);
                let word = words.iter().find(|(word, _)| **word == *field.bytes);
                word.map(|(_, op)| Some(*op))
                    .ok_or_else(|| field.fault("none of the operations of the column spec"))
            }
            OpRule::Always(op) => Ok(Some(*op)),
        }
    }

    /// The word of the operation, if it is spelled out.
    fn op_word<'a>(&'a self, line: &'a [u8]) -> Option<&'a [u8]> {
        match self.layout.op {
            OpRule::Word(at) | OpRule::WordOrUnknown(at) => Some(self.field(line, at, "op").bytes),
            _ => None,
        }
    }

    #[inline]
    fn volume(&self, line: &[u8], cx: &mut Context) -> u32 {
        let Some((first, last)) = self.layout.volume else {
            return cx.volumes.named(b"0");
        };
        let key = &line[self.cells[first].0 as usize..self.cells[last].1 as usize];
        self.numbered(key, last - first + 1, cx)
    }

    /// The index of the volume named by this many columns.
    #[inline(always)]
    fn numbered(&self, key: &[u8], columns: usize, cx: &mut Context) -> u32 {
        if columns == 1 {
            return cx.volumes.named(trimmed(key));
        }
        let separator = self.layout.separator;
        cx.volumes.index(key.trim_ascii(), |key| joined(key, separator))
    }
}

impl LineFormat for Columns {
    #[inline]
    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        self.split(line)?;
        let Some(mut op) = self.op(line)? else {
            let is_empty = self.op_word(line).is_none_or(|word| word.is_empty());
            cx.drop_row(if is_empty { "the operation is empty, so unknown" } else { rwbs::NO_OP });
            return Ok(None);
        };
        let time = match self.layout.time {
            Some((at, unit)) => self.time(self.field(line, at, "time"), cx.time_unit(unit))?,
            None => 0,
        };
        let bytes = |field: Field<'_>, unit| match unit {
            Unit::Sector => self.bytes(field, cx.sector()),
            Unit::Bytes(bytes) => self.bytes(field, bytes),
            Unit::Hex(0) => field.bytes_of_hex(cx.sector()),
            Unit::Hex(bytes) => field.bytes_of_hex(bytes),
        };
        let ((offset_at, offset_unit), (size_at, size_unit)) =
            (self.layout.offset, self.layout.size);
        let len = bytes(self.field(line, size_at, "size"), size_unit)?;
        if len == 0 && self.op_word(line).and_then(|word| rwbs::op(word, 0)).is_some() {
            op = Op::Flush;
        }
        // A flush has no offset, and some kernels print -1 for it.
        let place = bytes(self.field(line, offset_at, "offset"), offset_unit);
        let offset = if op == Op::Flush { place.unwrap_or(0) } else { place? };
        let hint = self.layout.hint.map_or(Ok(0), |at| self.field(line, at, "hint").hint())?;
        let volume = self.volume(line, cx);
        request(time, op, offset, len, volume).map(|request| Some(Request { hint, ..request }))
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        let separator = self.layout.separator;
        let always = if let OpRule::Always(op) = self.layout.op { op } else { Op::Read };
        let (mut time, mut op, mut offset, mut len, mut hint) = (0, always, None, None, None);
        let mut volume = (&b"0"[..], 1);
        for (at, step) in self.steps.iter().enumerate() {
            if at > 0 {
                row.next(separator)?;
            }
            match *step {
                Step::Pass => {
                    row.column(separator)?;
                }
                Step::Time(unit) => {
                    let decimal = self.layout.decimal.unwrap_or(b'.');
                    time = row.time(cx.time_unit(unit), |mark| mark == decimal)?;
                }
                Step::Op => op = self.quick_op(row)?,
                Step::Offset(unit) => offset = Some(quick_bytes(row, unit, cx)?),
                Step::Size(unit) => len = Some(quick_bytes(row, unit, cx)?),
                Step::Hint => hint = Some(u16::try_from(row.number()?).ok()?),
                Step::Volume(columns) => {
                    let start = *row;
                    for column in 0..columns {
                        if column > 0 {
                            row.next(separator)?;
                        }
                        row.column(separator)?;
                    }
                    volume = (start.until(*row), columns);
                }
            }
        }
        row.ends(separator)?;
        // A write with a leading flush and no data is a flush, which the slow parser handles.
        if len == Some(0) && matches!(self.layout.op, OpRule::Word(_) | OpRule::WordOrUnknown(_)) {
            return None;
        }
        let (key, columns) = volume;
        row::push(out, time, op, offset?, len?, || self.numbered(key, columns, cx))?;
        if let (Some(hint), Some(request)) = (hint, out.last_mut()) {
            request.hint = hint;
        }
        Some(())
    }
}

impl Columns {
    /// Parses a time with the decimal mark of the layout.
    #[inline]
    fn time(&self, field: Field<'_>, unit: TimeUnit) -> Parsed<u64> {
        let Some(decimal) = self.layout.decimal else { return field.time(unit) };
        let plain = plain(field.bytes, decimal);
        match plain.as_deref() {
            Some(bytes) => {
                Field { bytes, ..field }.time(unit).map_err(|_| field.fault("not a time"))
            }
            None => field.time(unit),
        }
    }

    /// Parses a whole number of units with the marks of the layout.
    #[inline]
    fn bytes(&self, field: Field<'_>, unit: u64) -> Parsed<u64> {
        let plain = self.layout.decimal.and_then(|decimal| plain(field.bytes, decimal));
        match plain.as_deref() {
            Some(bytes) => Field { bytes, ..field }.bytes_of(unit),
            None => field.bytes_of(unit),
        }
    }

    /// Parses the operation in the fast parser.
    #[inline]
    fn quick_op(&self, row: &mut Row<'_>) -> Option<Op> {
        let separator = self.layout.separator;
        let one_or_zero = |row: &mut Row<'_>, one, zero| {
            let op = match row.rest() {
                [b'0', ..] => zero,
                [b'1', ..] => one,
                _ => return None,
            };
            row.pass(1);
            Some(op)
        };
        match &self.layout.op {
            OpRule::Word(_) | OpRule::WordOrUnknown(_) => row.op(separator),
            OpRule::OneWrites(_) => one_or_zero(row, Op::Write, Op::Read),
            OpRule::OneReads(_) => one_or_zero(row, Op::Read, Op::Write),
            OpRule::ReadFlag(_) => Some(if row.hex()? & 1 == 1 { Op::Read } else { Op::Write }),
            OpRule::Chosen(_, words) => {
                let word = trimmed(row.word(separator)?);
                words.iter().find(|(known, _)| **known == *word).map(|(_, op)| *op)
            }
            OpRule::Always(op) => Some(*op),
        }
    }
}

/// Parses an offset or a size in bytes in the fast parser.
#[inline]
fn quick_bytes(row: &mut Row<'_>, unit: Unit, cx: &Context) -> Option<u64> {
    match unit {
        Unit::Sector => row.bytes_of(cx.sector()),
        Unit::Bytes(bytes) => row.bytes_of(bytes),
        Unit::Hex(0) => row.hex()?.checked_mul(cx.sector()),
        Unit::Hex(bytes) => row.hex()?.checked_mul(bytes),
    }
}

#[inline]
fn one_or_zero(field: Field<'_>, one: Op, zero: Op) -> Parsed<Option<Op>> {
    match field.bytes {
        b"0" => Ok(Some(zero)),
        b"1" => Ok(Some(one)),
        _ => Err(field.fault("neither 0 nor 1")),
    }
}

/// A number without group marks and with a decimal point; `None` if it is not written with these
/// marks.
fn plain(bytes: &[u8], decimal: u8) -> Option<Vec<u8>> {
    let group = if decimal == b',' { b'.' } else { b',' };
    let at = bytes.iter().position(|&b| b == decimal).unwrap_or(bytes.len());
    let (whole, fraction) = bytes.split_at(at);
    let groups: Vec<&[u8]> = whole.split(|b| [group, b'\'', b' '].contains(b)).collect();
    let digits = |part: &&[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let (first, others) = groups.split_first()?;
    let is_grouped = others.is_empty() || first.len() <= 3 && others.iter().all(|g| g.len() == 3);
    let fraction = fraction.strip_prefix(&[decimal]).unwrap_or(b"0");
    if !is_grouped || !groups.iter().all(digits) || !digits(&fraction) {
        return None;
    }
    let mut plain = groups.concat();
    if at < bytes.len() {
        plain.push(b'.');
        plain.extend_from_slice(fraction);
    }
    Some(plain)
}

/// Locates columns between single bytes; returns their number.
#[inline]
fn split_at(line: &[u8], separator: u8, cells: &mut [(u32, u32)]) -> usize {
    let mut found = 0;
    let mut start = 0;
    for at in memchr_iter(separator, line) {
        cells[found] = (start, at as u32);
        found += 1;
        start = at as u32 + 1;
        if found == cells.len() {
            return found;
        }
    }
    cells[found] = (start, line.len() as u32);
    found + 1
}

/// Locates columns with any separator; returns their number.
#[inline]
fn split_slowly(line: &[u8], separator: Separator, cells: &mut [(u32, u32)]) -> usize {
    let mut found = 0;
    for (cell, (start, end)) in cells.iter_mut().zip(columns(line, separator)) {
        *cell = (start as u32, end as u32);
        found += 1;
    }
    found
}

/// Start and end of the columns of a line. Double quotes protect separators, and may be doubled
/// inside.
pub(crate) fn columns(line: &[u8], separator: Separator) -> impl Iterator<Item = (usize, usize)> {
    let blank = |b: &u8| matches!(b, b' ' | b'\t');
    let ends = move |b: &u8| match separator {
        Separator::Byte(byte) => *b == byte,
        Separator::Blank => blank(b),
    };
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let mut start = next?;
        if separator == Separator::Blank {
            start += line[start..].iter().take_while(|b| blank(b)).count();
            if start == line.len() {
                return None;
            }
        }
        let begins = start + line[start..].iter().take_while(|&&b| b == b' ').count();
        let end_of = |from: usize| {
            line[from..].iter().position(ends).map_or(line.len(), |length| from + length)
        };
        let end = Some(&line[begins..])
            .filter(|_| separator != Separator::Byte(CELL_END))
            .and_then(quoted)
            .map(|length| begins + length)
            .filter(|&end| line[end..].iter().find(|b| !blank(b) || ends(b)).is_none_or(ends))
            .map_or_else(|| end_of(begins), end_of);
        next = (end < line.len()).then_some(end + 1);
        Some((start, end))
    })
}

/// Length of the quoted text at the start of the bytes, including its quotes.
fn quoted(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes.strip_prefix(b"\"")?;
    loop {
        rest = &rest[memchr(b'"', rest)? + 1..];
        match rest {
            [b'"', more @ ..] => rest = more,
            _ => return Some(bytes.len() - rest.len()),
        }
    }
}

/// The name of a volume from several columns: `hm,0` is `hm:0`.
fn joined(key: &[u8], separator: Separator) -> String {
    let text = |(start, end)| String::from_utf8_lossy(trimmed(&key[start..end])).into_owned();
    columns(key, separator).map(text).collect::<Vec<_>>().join(":")
}
