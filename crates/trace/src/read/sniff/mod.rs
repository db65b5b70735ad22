//! Infers the roles of a table's columns from their names and a few rows. The result is the
//! description that a user would give as `columns:…`.
//!
//! It is a guess, shown so that it can be corrected. If a role has no column, or the operations
//! make no sense, there is no result.

mod name;
mod place;

use std::borrow::Cow;

use self::{name::Name, place::Place};
use super::{
    dates,
    fields::Field,
    formats::cells,
    layout::{MOST_COLUMNS, Separator},
    lines::is_header,
    sample::Sample,
    units::TimeUnit,
};

/// Number of rows examined.
const ROWS: usize = 500;

/// Separators with their names in descriptions; the first that fits is used.
const SEPARATORS: [(&str, Separator); 5] = [
    ("comma", Separator::Byte(b',')),
    ("semicolon", Separator::Byte(b';')),
    ("tab", Separator::Byte(b'\t')),
    ("pipe", Separator::Byte(b'|')),
    ("blank", Separator::Blank),
];

/// Names of columns, without blanks and in lower case; the likeliest first.
const TIME: &[&str] = &[
    "timestamp",
    "time",
    "ts",
    "datetime",
    "date",
    "arrivaltime",
    "arrival",
    "issuetime",
    "starttime",
    "requesttime",
    "epoch",
    "clock",
    "start",
    "starts",
];
const OP: &[&str] = &[
    "op",
    "operation",
    "iotype",
    "ioop",
    "optype",
    "opcode",
    "rw",
    "rwflag",
    "rwbs",
    "readwrite",
    "iswrite",
    "isread",
    "requesttype",
    "type",
    "command",
    "cmd",
    "direction",
    "dir",
    "action",
    "request",
];
const OFFSET: &[&str] = &[
    "offset",
    "byteoffset",
    "lba",
    "startlba",
    "lbn",
    "lsn",
    "sector",
    "startsector",
    "sectornumber",
    "address",
    "addr",
    "startaddress",
    "logicaladdress",
    "blocknumber",
    "startblock",
    "blkno",
    "block",
    "position",
];
const SIZE: &[&str] = &[
    "size",
    "iosize",
    "requestsize",
    "reqsize",
    "length",
    "len",
    "transferlength",
    "bytes",
    "nbytes",
    "numbytes",
    "bytecount",
    "sectors",
    "nsectors",
    "nrsector",
    "nrsectors",
    "numsectors",
    "sectorcount",
    "blocks",
    "nblocks",
    "blockcount",
    "count",
];
const VOLUME: &[&str] = &[
    "volume",
    "volumeid",
    "vol",
    "disk",
    "diskid",
    "disknumber",
    "device",
    "deviceid",
    "dev",
    "devno",
    "lun",
    "drive",
    "asu",
];

/// Placement hints; only where all values are such numbers.
const HINT: &[&str] = &[
    "hint",
    "placementhint",
    "writehint",
    "handle",
    "placementhandle",
    "ruh",
    "stream",
    "streamid",
];

/// Units that may follow a name, and their spelling in descriptions.
const TIME_UNITS: &[(&str, &str)] = &[
    ("ps", "ps"),
    ("ns", "ns"),
    ("nsec", "ns"),
    ("nsecs", "ns"),
    ("nanos", "ns"),
    ("nanoseconds", "ns"),
    ("us", "us"),
    // The micro sign and the Greek letter.
    ("\u{b5}s", "us"),
    ("\u{3bc}s", "us"),
    ("usec", "us"),
    ("usecs", "us"),
    ("micros", "us"),
    ("microseconds", "us"),
    ("ms", "ms"),
    ("msec", "ms"),
    ("msecs", "ms"),
    ("millis", "ms"),
    ("milliseconds", "ms"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("seconds", "s"),
    ("filetime", "100ns"),
];
const SIZE_UNITS: &[(&str, &str)] = &[
    ("bytes", "bytes"),
    ("byte", "bytes"),
    ("b", "bytes"),
    ("sectors", "sectors"),
    ("sector", "sectors"),
    ("kb", "1k"),
    ("kib", "1k"),
    ("kbytes", "1k"),
    ("mb", "1m"),
    ("mib", "1m"),
    ("lba", "sectors"),
];

/// The roles of the columns.
pub(crate) struct Description {
    /// The text for `columns:…`.
    pub(crate) text: String,
    /// Whether names, and not only values, give the units of times, and of offsets and sizes.
    pub(crate) tells_time: bool,
    pub(crate) tells_places: bool,
}

/// Columns whose units are unclear: a guess may be wrong by a power of ten.
pub(crate) struct Unclear {
    /// What is unclear.
    pub(crate) what: String,
    /// An example of a description that resolves it; empty if none does.
    example: String,
    /// The alternatives to the example; without an example, the remedy.
    others: &'static str,
    /// Whether its values cannot be parsed. A format that can parse them has priority.
    pub(crate) unread: bool,
    /// Whether two columns have the same name, which no other format allows.
    pub(crate) twice: bool,
}

impl Unclear {
    /// The remedy.
    pub(crate) fn remedy(&self) -> String {
        match self.example.as_str() {
            "" => self.others.to_owned(),
            example => format!("say which by ‹columns '{example}'›, with {}", self.others),
        }
    }

    /// The error for a header with another number of fields than the rows.
    fn unlike(names: usize, fields: usize) -> Self {
        Self {
            what: format!("its header names {names} columns, and its rows have {fields} fields"),
            example: String::new(),
            others: "write decimals with a point, quote fields that contain separators, and name all columns",
            unread: false,
            twice: false,
        }
    }

    /// Adds a prefix to the description.
    fn after(self, words: &str) -> Self {
        let words = if self.example.is_empty() { "" } else { words };
        Self { example: format!("{words}{}", self.example), ..self }
    }
}

/// The result of the inference.
type Told = Result<Option<Description>, Unclear>;

/// The description of a text whose header line names its columns.
pub(crate) fn text(sample: &Sample<'_>, time_unit: Option<TimeUnit>) -> Told {
    // Tools may print messages first: the header is one of the first lines without numbers.
    let plain = |line: &&[u8]| !matches!(line.trim_ascii().first(), None | Some(b'#'));
    let lines = sample.lines.iter().copied().enumerate().filter(|(_, line)| plain(line));
    let begins = lines.take(PREAMBLE + 1).take_while(|(_, line)| is_header(without_mark(line)));
    first(begins.enumerate().map(|(before, (at, line))| {
        let skip = if before == 0 { String::new() } else { format!("skip={},", before + 1) };
        after(&skip, under(sample, at, without_mark(line), time_unit))
    }))
}

/// The first of several readings that gives a result; if none does, the first that could not be
/// parsed.
fn first(all: impl Iterator<Item = Told>) -> Told {
    let mut unread = Ok(None);
    for told in all {
        match told {
            Ok(None) => {}
            Err(unclear) if unclear.unread => {
                if matches!(unread, Ok(None)) {
                    unread = Err(unclear);
                }
            }
            told => return told,
        }
    }
    unread
}

/// Adds a prefix to the description.
fn after(words: &str, told: Told) -> Told {
    match told {
        Ok(Some(found)) => {
            Ok(Some(Description { text: format!("{words}{}", found.text), ..found }))
        }
        Ok(None) => Ok(None),
        Err(unclear) => Err(unclear.after(words)),
    }
}

/// Maximum number of lines before a header.
const PREAMBLE: usize = 4;

/// A line without a leading byte order mark.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// The description of the rows under the header at line `at`.
fn under(sample: &Sample<'_>, at: usize, header: &[u8], time_unit: Option<TimeUnit>) -> Told {
    let is_row = |line: &&&[u8]| !line.is_empty() && !line.ends_with(header);
    let lines = sample.lines[at + 1..].iter().filter(is_row).take(ROWS);
    first(SEPARATORS.iter().map(|(word, separator)| {
        let names = cells(header, *separator);
        let rows: Vec<_> = lines.clone().map(|line| cells(line, *separator)).collect();
        let most_have = |fields: usize| {
            rows.iter().filter(|row| row.len() == fields).count() * 10 >= rows.len() * 9
        };
        let known = Known { time_unit, ..Known::default() };
        if names.len() < 3 {
            return Ok(None);
        }
        if !most_have(names.len()) {
            let fields = rows.first().map_or(0, Vec::len);
            let is_by_byte = *separator != Separator::Blank;
            let is_table = || !matches!(table(&names, &[], &[], &known), Ok(None));
            return match is_by_byte && fields > 2 && most_have(fields) && is_table() {
                true => Err(Unclear::unlike(names.len(), fields)),
                false => Ok(None),
            };
        }
        let sep = if *word == "comma" { String::new() } else { format!("sep={word},") };
        after(&sep, table(&names, &rows, &[], &known))
    }))
}

/// The names of a text's columns, if its first line is a header and not prose.
pub(crate) fn names(sample: &Sample<'_>) -> Option<Vec<String>> {
    let header = sample.first_line();
    let by_byte = SEPARATORS.iter().filter(|(_, separator)| *separator != Separator::Blank);
    let split = by_byte.map(|(_, separator)| cells(header, *separator));
    split.max_by_key(Vec::len).filter(|names| names.len() >= 3 && is_header(header))
}

/// Facts about a table beyond its names and rows.
#[derive(Default)]
pub(crate) struct Known {
    /// The unit of times, if given by the user.
    pub(crate) time_unit: Option<TimeUnit>,
    /// Columns in bytes.
    pub(crate) bytes: Vec<usize>,
    /// Whether it is in memory. Then operations may be numbers, or missing.
    pub(crate) in_memory: bool,
}

/// The description of a table with these columns and rows. `units` are those of times with their
/// own unit.
pub(crate) fn table(
    names: &[String],
    rows: &[Vec<String>],
    units: &[Option<TimeUnit>],
    known: &Known,
) -> Told {
    let names = &names[..names.len().min(MOST_COLUMNS)];
    let columns: Vec<_> = names.iter().map(|name| Name::of(name)).collect();
    let mut taken = Vec::new();
    // A tool with one table for all events leaves the columns of other events empty.
    let is_filled = |at: &usize| {
        rows.is_empty()
            || rows.iter().any(|row| row.get(*at).is_some_and(|value| !value.is_empty()))
    };
    let filled: Vec<_> = (0..columns.len()).filter(is_filled).collect();
    let mut find = |known: &[&str], units: &[(&'static str, &str)]| {
        let at = known.iter().find_map(|&word| {
            let mut free = filled.iter().copied().filter(|at| !taken.contains(at));
            free.find(|at| columns[*at].is(word, units))
        })?;
        taken.push(at);
        Some(at)
    };
    let (time, op) = (find(TIME, TIME_UNITS), find(OP, &[]));
    let (offset, size) = (find(OFFSET, SIZE_UNITS), find(SIZE, SIZE_UNITS));
    let (volume, hint) = (find(VOLUME, &[]), find(HINT, &[]));
    let (Some(offset), Some(size)) = (offset, size) else { return Ok(None) };
    let values = |at: usize| -> Vec<&str> {
        rows.iter().filter_map(|row| row.get(at)).map(String::as_str).collect()
    };
    let counts = |at: usize| values(at).iter().all(|value| value.parse::<f64>().is_ok());
    let timed = |at: &usize| {
        let is_t = || columns[*at].words == ["t"] && counts(*at);
        time.is_none() && !taken.contains(at) && (columns[*at].may_be_time() || is_t())
    };
    let strange = filled.iter().copied().find(timed);
    let marks =
        Marks::of(&time.map_or_else(Vec::new, values), &[values(offset), values(size)].concat());
    let told = op.map(|at| op_words(&columns[at], &values(at), known.in_memory));
    let words = match &told {
        Some(Ok(words)) => Some(words.as_str()),
        // The example has placeholders for the words of write and read.
        Some(Err(_)) => Some(":WRITE/READ"),
        None if known.in_memory => None,
        None => return Ok(None),
    };
    let op_key = match (op, words) {
        (Some(at), Some(words)) => format!("op={}{words}", reference(names, at)),
        _ => "all=write".to_owned(),
    };
    let place = |at: usize| {
        let own = known.bytes.contains(&at).then_some("bytes");
        Place::of(&columns[at], &marks.plain(&values(at)), own)
    };
    let (from, length) = (place(offset), place(size));
    let told_units = Place::units(&from, &length);
    let mut places = String::new();
    for (key, at, place, unit) in [
        ("offset", offset, &from, told_units.unwrap_or(["sectors"; 2])[0]),
        ("size", size, &length, told_units.unwrap_or(["sectors"; 2])[1]),
    ] {
        let hex = if place.is_hex { ":hex" } else { "" };
        places.push_str(&format!(",{key}={}:{unit}{hex}", reference(names, at)));
    }
    if let Some(at) = volume {
        places.push_str(&format!(",volume={}", reference(names, at)));
    }
    let is_hint = |value: &&str| value.is_empty() || value.parse::<u16>().is_ok();
    let hint = hint.filter(|at| values(*at).iter().all(is_hint));
    if let Some(at) = hint {
        places.push_str(&format!(",hint={}", reference(names, at)));
    }
    let quoted = |at: usize| {
        let some: Vec<_> = values(at).into_iter().take(3).collect();
        format!("{:?} ({})", names[at], some.join(", "))
    };
    let unread = [(offset, &from), (size, &length)].into_iter().find(|(_, place)| place.is_unread);
    let same = |a: &usize, b: &usize| names[*a].eq_ignore_ascii_case(&names[*b]);
    let twice =
        [time, op, Some(offset), Some(size), volume, hint].into_iter().flatten().find_map(|at| {
            let other = (0..names.len()).find(|other| *other != at && same(&at, other))?;
            Some((at, other))
        });
    // What prevents a description, whatever the unit of times.
    let unclear = |example: &str| {
        let (what, others, unread) = match (&told, unread) {
            (Some(Err(word)), _) => (
                format!("column {:?} has words that are no operations ({word})", names[op?]),
                "the trace's own words for write and read, and behind them for trim and flush",
                true,
            ),
            (_, Some((at, _))) => {
                let what = format!("column {} is not of whole numbers", quoted(at));
                let others = "write them without units, such as 4096";
                let example = String::new();
                return Some(Unclear { what, example, others, unread: true, twice: false });
            }
            _ if twice.is_some() => {
                let (at, other) = twice?;
                let what =
                    format!("columns {} and {} are both named {:?}", at + 1, other + 1, names[at]);
                (what, "the number of the other column in its place", false)
            }
            _ if from.may_be_pages(&length, told_units) => (
                format!(
                    "column {} may count sectors of 512 bytes or blocks of 4 KiB",
                    quoted(offset)
                ),
                "4k in place of its sectors where it counts blocks",
                false,
            ),
            _ if told_units.is_none() => (
                format!(
                    "columns {} and {} may count bytes or sectors",
                    quoted(offset),
                    quoted(size)
                ),
                "bytes in place of sectors where they are",
                false,
            ),
            _ => return None,
        };
        let example = example.to_owned();
        Some(Unclear { what, example, others, unread, twice: twice.is_some() })
    };
    let tells = |at: usize| columns[at].unit(SIZE_UNITS).is_some();
    let mut found = Description {
        text: String::new(),
        tells_time: true,
        tells_places: tells(offset) && tells(size),
    };
    let written = |at: usize, unit: &str, marks: &str| {
        let unit = if unit.is_empty() { String::new() } else { format!(":{unit}") };
        format!("time={}{unit},{op_key}{places}{marks}", reference(names, at))
    };
    let Some(at) = time else {
        let text = format!("{op_key}{places}{}", marks.key());
        if let Some(unclear) = unclear(&text) {
            return Err(unclear);
        }
        if let Some(at) = strange {
            return Err(Unclear {
                what: format!("column {} may be the time", quoted(at)),
                example: written(at, columns[at].unit(TIME_UNITS).unwrap_or("us"), marks.key()),
                others: "the unit that it has, or without it if it is another time",
                unread: false,
                twice: false,
            });
        }
        found.text = text;
        return Ok(Some(found));
    };
    let own = units.get(at).copied().flatten().map(|unit| unit.to_string());
    let named = || columns[at].unit(TIME_UNITS).map(str::to_owned);
    let times = marks.plain(&values(at));
    let unit = match own.or_else(named) {
        Some(unit) => unit,
        None => {
            found.tells_time = false;
            let given = || known.time_unit.map(|unit| unit.to_string());
            // A clock that is always 0, as in generated tables, needs no unit.
            let stands = || times.iter().all(|time| time.bytes().all(|digit| digit == b'0'));
            let found = given().or_else(|| unit_of(&times).map(str::to_owned));
            let is_number = |time: &Cow<'_, str>| time.parse::<f64>().is_ok();
            let shown = || times.iter().take(3).map(|time| &**time).collect::<Vec<_>>().join(", ");
            let found = found.or_else(|| stands().then(|| "ns".to_owned()));
            let unread = found.is_none() && !times.iter().any(is_number);
            found.ok_or_else(|| match unread {
                true => Unclear {
                    what: format!(
                        "the times in column {:?} are neither numbers nor dates such as \
                         2026-03-01T12:30:05.25 ({})",
                        names[at],
                        shown()
                    ),
                    example: String::new(),
                    others: "write them so, or as numbers",
                    unread,
                    twice: false,
                },
                false => Unclear {
                    what: format!(
                        "the times in column {:?} may be of any unit ({})",
                        names[at],
                        shown()
                    ),
                    example: written(at, "us", marks.key()),
                    others: "ns, ms or s in place of us",
                    unread,
                    twice: false,
                },
            })?
        }
    };
    if marks == Marks::Either {
        return Err(Unclear {
            what: format!(
                "the commas in column {:?} may be decimal marks or stand between thousands ({})",
                names[at],
                values(at).into_iter().find(|value| value.contains(',')).unwrap_or_default()
            ),
            example: written(at, &unit, Marks::Comma.key()),
            others: "decimal=point for thousands",
            unread: false,
            twice: false,
        });
    }
    found.text = written(at, &unit, marks.key());
    match unclear(&found.text) {
        Some(unclear) => Err(unclear),
        None => Ok(Some(found)),
    }
}

/// The notation of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// With or without a decimal point, without grouping.
    Plain,
    /// With a decimal comma, and possibly points between groups of three digits.
    Comma,
    /// With commas between groups of three digits.
    Grouped,
    /// With commas of either meaning.
    Either,
}

impl Marks {
    /// Determines the notation from times, and from offsets and sizes, which are whole numbers.
    fn of(times: &[&str], places: &[&str]) -> Self {
        let of_times: Vec<Marks> = times.iter().filter_map(|time| Self::of_time(time)).collect();
        let grouped = places.iter().any(|place| place.contains(','));
        let found = [Marks::Comma, Marks::Grouped, Marks::Either];
        let found = found.into_iter().find(|marks| of_times.contains(marks));
        found.unwrap_or(if grouped { Marks::Grouped } else { Marks::Plain })
    }

    /// The notation implied by the commas of a time, if it has some.
    fn of_time(time: &str) -> Option<Self> {
        let (whole, fraction) = time.rsplit_once(',')?;
        if dates::unix_ns(time.as_bytes()).is_some() {
            return None;
        }
        Some(if whole.contains(',') || fraction.contains('.') {
            Marks::Grouped
        } else if fraction.len() != 3 || whole.len() > 3 || whole == "0" {
            Marks::Comma
        } else {
            Marks::Either
        })
    }

    /// The key for a description.
    fn key(self) -> &'static str {
        match self {
            Marks::Plain => "",
            Marks::Comma => ",decimal=comma",
            Marks::Grouped | Marks::Either => ",decimal=point",
        }
    }

    /// The values without grouping and with a decimal point.
    fn plain<'a>(self, values: &[&'a str]) -> Vec<Cow<'a, str>> {
        let one = |value: &&'a str| match self {
            Marks::Plain => Cow::Borrowed(*value),
            Marks::Comma | Marks::Either => Cow::Owned(value.replace('.', "").replace(',', ".")),
            Marks::Grouped => Cow::Owned(value.replace(',', "")),
        };
        values.iter().map(one).collect()
    }
}

/// A column in a description: by name, or by number if the name would be misread.
fn reference(names: &[String], at: usize) -> String {
    let name = &names[at];
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ' ' | '(' | ')' | '-');
    let is_unique = names.iter().filter(|other| other.eq_ignore_ascii_case(name)).count() == 1;
    let is_number = name.starts_with(|c: char| c.is_ascii_digit());
    if is_unique && !is_number && name.chars().all(plain) {
        name.clone()
    } else {
        (at + 1).to_string()
    }
}

/// Clocks that count from 1970 or 1601: their unit, their current range, and the maximum mean time
/// between requests. An uptime in a smaller unit may reach that range, but with longer times
/// between requests.
const EPOCHS: [(&str, f64, f64, f64); 5] = [
    ("s", 1.1e9, 2.05e9, 10.0),
    ("ms", 1.1e12, 2.05e12, 1e3),
    ("us", 1.1e15, 2.05e15, 1e6),
    ("100ns", 1.2e17, 1.47e17, f64::INFINITY),
    ("ns", 1e18, 3e18, f64::INFINITY),
];

/// The unit of times, if the values determine it. Dates and times of day need none. A clock that
/// counts from 1970 or 1601 has the current time. Fractions are those of seconds.
fn unit_of(values: &[Cow<'_, str>]) -> Option<&'static str> {
    let Some(first) = values.first() else { return Some("") };
    if dates::unix_ns(first.as_bytes()).or_else(|| dates::of_day_ns(first.as_bytes())).is_some() {
        return Some("");
    }
    let numbers: Vec<f64> = values
        .iter()
        .filter_map(|value| value.parse::<f64>().ok().filter(|it| it.is_finite()))
        .collect();
    let from = *numbers.first()?;
    let epoch = EPOCHS.iter().find(|(_, since, until, _)| (*since..*until).contains(&from));
    let is_fraction = || values.iter().any(|value| value.contains('.'));
    let Some((unit, _, _, pause)) = epoch else { return is_fraction().then_some("s") };
    let span = numbers.iter().fold(0.0_f64, |span, time| span.max((time - from).abs()));
    let is_likely = span <= pause * numbers.len() as f64 || *unit == "s" && is_fraction();
    is_likely.then_some(*unit)
}

/// One of this many rows may lack an operation: a line under the table, or an invalid one.
const BAD_ROWS: usize = 10;

/// The words of the operations if they are not self-explanatory. Otherwise an error with a word
/// that is none.
fn op_words(name: &Name, values: &[&str], in_memory: bool) -> Result<String, String> {
    let mut words: Vec<&str> = Vec::new();
    for value in values {
        if !words.contains(value) {
            words.push(value);
        }
    }
    let spelled = |word: &str| Field::new(word.as_bytes(), 1, "op").traced_op().is_ok();
    let bad = values.iter().filter(|word| !spelled(word)).count();
    if bad * BAD_ROWS <= values.len() {
        return Ok(String::new());
    }
    let is_code = |word: &&str| matches!(*word, "0" | "1" | "2" | "3");
    if in_memory && name.words.concat() == "op" && words.iter().all(is_code) {
        return Ok(":1/0/2/3".to_owned());
    }
    // Words for write and read, in the trace's own case.
    let reads =
        name.words.contains(&"read".to_owned()) && !name.words.contains(&"write".to_owned());
    let pairs = [("1", "0"), ("true", "false"), ("2a", "28"), ("0x2a", "0x28")];
    let pair = pairs.into_iter().find(|(write, read)| {
        words.iter().all(|word| word.eq_ignore_ascii_case(write) || word.eq_ignore_ascii_case(read))
    });
    let unknown = || words.iter().find(|word| !spelled(word)).map_or("", |word| *word).to_owned();
    let (write, read) = pair.ok_or_else(unknown)?;
    let (write, read) = if reads && write != "2a" { (read, write) } else { (write, read) };
    let as_is = |known: &str| {
        let found = words.iter().find(|word| word.eq_ignore_ascii_case(known));
        found.map_or_else(|| known.to_owned(), |word| (*word).to_owned())
    };
    Ok(format!(":{}/{}", as_is(write), as_is(read)))
}
