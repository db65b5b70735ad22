//! Columns that the user describes: `columns:sep=comma,time=1:s,op=2:W/R,offset=3:sectors,size=4`.
//!
//! The description is a list of `key=value` between commas, in any order:
//!
//! | key | value | default |
//! |---|---|---|
//! | `sep` | `comma`, `semicolon`, `tab`, `pipe`, `colon`, or `blank` alias `space` (any run of blanks and tabs) | `comma` |
//! | `skip` | how many lines come before the rows (blank lines and `#` comments do not count) | a first line without numbers is a header |
//! | `time` | COLUMN`[:ps\|ns\|100ns\|us\|ms\|s]`; dates (`2026-03-01T12:30:05.25Z`) need no unit | unit `s`; without `time` all times are 0 |
//! | `op` | COLUMN`[:WRITE/READ[/TRIM[/FLUSH]]]`, the words the trace uses | `R`, `Write`, `discard`, … in any case |
//! | `all` | `write` or `read`: every row is one, in place of `op` | |
//! | `offset` | COLUMN`[:bytes\|sectors\|N\|Nk\|Nm][:hex]`, what it counts; `0x1f` is understood without `hex` | `bytes` |
//! | `size` | the same | `bytes` |
//! | `volume` | COLUMN, or FIRST`-`LAST for a name in several | one volume |
//! | `hint` | COLUMN of the placement hint (handle, stream) that a write carries, 0 or empty for none | no hints |
//! | `decimal` | `comma` or `point`, the decimal mark; the other one may then group digits by threes | a point, and no groups |
//!
//! A COLUMN is a number from 1, or a name in the header line (the last line skipped), in any case. A sector
//! has 512 bytes unless the reader's options say otherwise.

use crate::{
    Op, Request, TraceError,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::trimmed,
        format::Format,
        layout::{Columns, Layout, MOST_COLUMNS, OpRule, Separator, Unit, columns},
        lines::{LineFormat, is_header},
        row::{Quick, Row},
        units::TimeUnit,
    },
};

pub(super) const ENTRY: Entry = Entry {
    name: "columns",
    about: "columns you describe: columns:sep=comma,time=1:s,op=2:W/R,offset=3:sectors,size=4",
    source: "any text with one request a line",
    special: Special { argument: Some(|text| Spec::parse(text).map(drop)), ..Special::NONE },
    // A description cannot be guessed.
    detect: |_| None,
    open: |setup| match &setup.argument {
        Some(text) => {
            let spec = Spec::parse(text)?;
            #[cfg(feature = "tables")]
            if setup.inputs.iter().all(|input| super::tables::is_table(input.window())) {
                return setup
                    .each(|input| super::tables::Table::open(input, Some(spec.clone()), None));
            }
            setup.lines(|_| Described {
                spec: spec.clone(),
                rows: None,
                seen: 0,
                header: Box::default(),
            })
        }
        None => Err(usage("the format columns needs a description of them")),
    },
};

/// The format of data without a file.
pub(in crate::read) fn memory() -> Format {
    Format::of(&ENTRY)
}

/// The error for naming a format for data in memory.
pub(in crate::read) fn no_format(format: &Format) -> TraceError {
    TraceError::usage(
        format!("what is in memory has no format such as {}", format.name()),
        "leave the format out, or describe the columns by ‹columns›",
    )
}

/// Tables, which other builds of this program can read.
#[cfg(not(feature = "tables"))]
pub(super) const TABLE_REFUSED: crate::read::entry::Refused = crate::read::entry::Refused {
    detect: |sample| sample.bytes.starts_with(b"PAR1") || sample.bytes.starts_with(b"ARROW1"),
    what: "this is a Parquet or Arrow file, and this program was built without them",
    remedy: "build it by `make build`, or convert the table to CSV",
};

/// The user's description of the columns.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    separator: Separator,
    skip: Option<u64>,
    time: Option<(At, TimeUnit)>,
    op: OpColumn,
    offset: (At, Unit),
    size: (At, Unit),
    volume: Option<(At, At)>,
    hint: Option<At>,
    decimal: Option<u8>,
}

/// A column, by number (from 0) or by its name in the header.
#[derive(Clone, Debug)]
enum At {
    Number(usize),
    Name(String),
}

#[derive(Clone, Debug)]
enum OpColumn {
    Always(Op),
    Word(At),
    Chosen(At, Box<[(Box<[u8]>, Op)]>),
}

impl Spec {
    /// Parses a description, without the prefix `columns:`.
    pub(super) fn parse(text: &str) -> Result<Spec, TraceError> {
        let (mut separator, mut skip) = (Separator::Byte(b','), None);
        let (mut time, mut op, mut offset, mut size, mut volume) = (None, None, None, None, None);
        let (mut hint, mut decimal) = (None, None);
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| usage(format!("{part:?} in the columns is not key=value")))?;
            match key {
                "sep" => separator = parse_separator(value)?,
                "skip" => {
                    let lines = value.parse();
                    skip = Some(lines.map_err(|_| usage(format!("skip={value} is no number")))?);
                }
                "time" => {
                    let (column, unit) = split_unit(value);
                    let unit = unit.map_or(Ok(TimeUnit::Seconds), str::parse)?;
                    time = Some((At::parse(column)?, unit));
                }
                "op" => op = Some(parse_op(value)?),
                "all" => {
                    op = Some(OpColumn::Always(match value {
                        "write" => Op::Write,
                        "read" => Op::Read,
                        _ => return Err(usage(format!("all={value} is neither write nor read"))),
                    }));
                }
                "offset" => offset = Some(parse_place(value)?),
                "size" => size = Some(parse_place(value)?),
                "volume" => volume = Some(parse_volume(value)?),
                "hint" => hint = Some(At::parse(value)?),
                "decimal" => {
                    decimal = Some(match value {
                        "comma" => b',',
                        "point" => b'.',
                        _ => {
                            return Err(usage(format!(
                                "decimal={value} is neither comma nor point"
                            )));
                        }
                    });
                }
                _ => return Err(usage(format!("{key:?} is no key of a column description"))),
            }
        }
        let missing = |key| usage(format!("the columns do not say where the {key} is"));
        Ok(Spec {
            separator,
            skip,
            time,
            op: op.ok_or_else(|| missing("op"))?,
            offset: offset.ok_or_else(|| missing("offset"))?,
            size: size.ok_or_else(|| missing("size"))?,
            volume,
            hint,
            decimal,
        })
    }

    /// The layout of the rows of a table with columns of these names and this separator.
    #[cfg(feature = "tables")]
    pub(super) fn layout_of_table(self, names: &[String], separator: u8) -> Parsed<Layout> {
        let header = names.join(&char::from(separator).to_string());
        Self { separator: Separator::Byte(separator), ..self }.layout(Some(header.as_bytes()))
    }

    /// Whether a column is given by its name.
    fn is_by_name(&self) -> bool {
        let op = match &self.op {
            OpColumn::Always(_) => None,
            OpColumn::Word(at) | OpColumn::Chosen(at, _) => Some(at),
        };
        let time = self.time.as_ref().map(|(at, _)| at);
        let volume = self.volume.as_ref().map(|(first, _)| first);
        let places = [Some(&self.offset.0), Some(&self.size.0)];
        places
            .into_iter()
            .chain([op, time, volume, self.hint.as_ref()])
            .flatten()
            .any(|at| matches!(at, At::Name(_)))
    }

    /// The layout of the rows, with names looked up in `header`.
    fn layout(&self, header: Option<&[u8]>) -> Parsed<Layout> {
        let find = |at: &At| self.find(at, header);
        let volume = match &self.volume {
            Some((first, last)) => Some((find(first)?, find(last)?)),
            None => None,
        };
        let time = match &self.time {
            Some((at, unit)) => Some((find(at)?, *unit)),
            None => None,
        };
        Ok(Layout {
            separator: self.separator,
            names: &[],
            time,
            op: match &self.op {
                OpColumn::Always(op) => OpRule::Always(*op),
                OpColumn::Word(at) => OpRule::Word(find(at)?),
                OpColumn::Chosen(at, words) => OpRule::Chosen(find(at)?, words.clone()),
            },
            offset: (find(&self.offset.0)?, self.offset.1),
            size: (find(&self.size.0)?, self.size.1),
            volume,
            hint: self.hint.as_ref().map(find).transpose()?,
            decimal: self.decimal,
        })
    }

    fn find(&self, at: &At, header: Option<&[u8]>) -> Parsed<usize> {
        let name = match at {
            At::Number(number) => return Ok(*number),
            At::Name(name) => name,
        };
        let Some(header) = header else {
            return Err(Fault::with_remedy(
                format!("there is no header line in which to find column {name:?}"),
                "give the column's number, or say with skip=1 that the first line is the header",
            ));
        };
        let cells = cells(header, self.separator);
        let exact = cells.iter().position(|cell| cell == name);
        let found = exact.or_else(|| cells.iter().position(|cell| cell.eq_ignore_ascii_case(name)));
        found.filter(|&at| at < MOST_COLUMNS).ok_or_else(|| {
            Fault::with_remedy(
                format!("the header has no column {name:?}, but {}", cells.join(", ")),
                "name a column of the header, or give its number",
            )
        })
    }
}

/// The cells of a header line.
pub(in crate::read) fn cells(header: &[u8], separator: Separator) -> Vec<String> {
    let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
    let text = |cell: &[u8]| String::from_utf8_lossy(trimmed(cell)).into_owned();
    columns(header, separator).map(|(start, end)| text(&header[start..end])).collect()
}

impl At {
    fn parse(text: &str) -> Result<At, TraceError> {
        match text.parse::<usize>() {
            Ok(number) if (1..=MOST_COLUMNS).contains(&number) => Ok(At::Number(number - 1)),
            Ok(_) => Err(usage(format!("column {text} is not between 1 and {MOST_COLUMNS}"))),
            Err(_) if text.is_empty() => Err(usage("a column is empty")),
            Err(_) => Ok(At::Name(text.to_owned())),
        }
    }
}

fn usage(what: impl Into<String>) -> TraceError {
    TraceError::Usage {
        what: what.into(),
        // If the description is an option value, it has no prefix.
        remedy: "describe them like sep=comma,skip=1,time=1:s,op=2:W/R/D,offset=3:sectors,\
                 size=4:bytes,volume=5, or by the names of a header like time=timestamp:us,op=type,\
                 offset=lba:sectors,size=bytes (after `columns:` in the name of a format)"
            .into(),
    }
}

/// Splits `COLUMN[:unit]`.
fn split_unit(value: &str) -> (&str, Option<&str>) {
    match value.split_once(':') {
        Some((column, unit)) => (column, Some(unit)),
        None => (value, None),
    }
}

fn parse_separator(value: &str) -> Result<Separator, TraceError> {
    Ok(match value {
        "comma" => Separator::Byte(b','),
        "semicolon" => Separator::Byte(b';'),
        "tab" => Separator::Byte(b'\t'),
        "pipe" => Separator::Byte(b'|'),
        "colon" => Separator::Byte(b':'),
        "blank" | "space" => Separator::Blank,
        _ => {
            let known = "comma, semicolon, tab, pipe, colon, blank or space";
            return Err(usage(format!("sep={value} is none of {known}")));
        }
    })
}

fn parse_op(value: &str) -> Result<OpColumn, TraceError> {
    let (column, words) = split_unit(value);
    let at = At::parse(column)?;
    let Some(words) = words else { return Ok(OpColumn::Word(at)) };
    let order = [Op::Write, Op::Read, Op::Trim, Op::Flush];
    let given: Vec<&str> = words.split('/').collect();
    if given.len() > order.len() {
        return Err(usage(format!("op={value} has more words than write, read, trim, flush")));
    }
    let pairs = given.into_iter().zip(order).filter(|(word, _)| !word.is_empty());
    Ok(OpColumn::Chosen(at, pairs.map(|(word, op)| (word.as_bytes().into(), op)).collect()))
}

/// Parses `COLUMN[:unit]` of an offset or a size.
fn parse_place(value: &str) -> Result<(At, Unit), TraceError> {
    let (column, unit) = split_unit(value);
    let column = At::parse(column)?;
    let (unit, is_hex) = match unit {
        Some("hex") => (None, true),
        Some(unit) => {
            unit.strip_suffix(":hex").map_or((Some(unit), false), |unit| (Some(unit), true))
        }
        None => (None, false),
    };
    let unit = match unit {
        None | Some("bytes") => Unit::Bytes(1),
        Some("sectors") => Unit::Sector,
        Some(text) => {
            let (digits, scale) = match text.as_bytes().last() {
                Some(b'k' | b'K') => (&text[..text.len() - 1], 1 << 10),
                Some(b'm' | b'M') => (&text[..text.len() - 1], 1 << 20),
                _ => (text, 1),
            };
            let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(scale));
            let bytes = bytes.filter(|&bytes| bytes > 0).ok_or_else(|| {
                usage(format!(
                    "{text:?} is no unit: say bytes, sectors, 512, 4k or 1m, and hex behind it"
                ))
            })?;
            Unit::Bytes(bytes)
        }
    };
    let unit = match unit {
        Unit::Sector if is_hex => Unit::Hex(0),
        Unit::Bytes(bytes) if is_hex => Unit::Hex(bytes),
        unit => unit,
    };
    Ok((column, unit))
}

/// Parses `COLUMN` or `FIRST-LAST`.
fn parse_volume(value: &str) -> Result<(At, At), TraceError> {
    if let Some((first, last)) = value.split_once('-')
        && let (Ok(from), Ok(to)) = (first.parse::<usize>(), last.parse::<usize>())
    {
        if from > to {
            return Err(usage(format!("volume={value} ends before it begins")));
        }
        return Ok((At::parse(first)?, At::parse(last)?));
    }
    let at = At::parse(value)?;
    Ok((at.clone(), at))
}

/// Reads rows by a description.
struct Described {
    spec: Spec,
    rows: Option<Columns>,
    /// Number of lines skipped so far.
    seen: u64,
    /// The header line, which concatenated files repeat.
    header: Box<[u8]>,
}

impl LineFormat for Described {
    // The description may give the number of lines to skip and name columns of the header.
    const SKIPS_HEADER: bool = false;

    #[inline]
    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        match &mut self.rows {
            Some(_) if !self.header.is_empty() && line.trim_ascii() == &*self.header => Ok(None),
            Some(rows) => rows.line(line, cx),
            None => self.begin(line, cx),
        }
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        self.rows.as_mut()?.quick(row, cx, out)
    }
}

impl Described {
    /// Handles a line before the first row, or the first row itself.
    fn begin(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let skip =
            self.spec.skip.unwrap_or_else(|| u64::from(self.spec.is_by_name() || is_header(line)));
        self.seen += 1;
        if self.seen < skip {
            return Ok(None);
        }
        let is_row = skip == 0;
        let layout = self.spec.layout((!is_row).then_some(line))?;
        if !is_row {
            self.header = line.trim_ascii().into();
        }
        let rows = self.rows.insert(Columns::new(layout));
        if is_row { rows.line(line, cx) } else { Ok(None) }
    }
}
