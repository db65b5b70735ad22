//! Which columns of a table are what, by their names and by a few rows: the description that a user would give
//! as `columns:…`.
//!
//! It is a guess, shown so that it can be corrected. Where a role has no column, or the operations make no sense,
//! there is none.

use std::borrow::Cow;

use super::{
    dates,
    fields::{self, Field},
    formats::cells,
    layout::{MOST_COLUMNS, Separator},
    lines::is_header,
    sample::Sample,
    units::TimeUnit,
};

/// Rows that are looked at.
const ROWS: usize = 500;

/// Separators, by the words of a description; of several that fit, the first.
const SEPARATORS: [(&str, Separator); 5] = [
    ("comma", Separator::Byte(b',')),
    ("semicolon", Separator::Byte(b';')),
    ("tab", Separator::Byte(b'\t')),
    ("pipe", Separator::Byte(b'|')),
    ("blank", Separator::Blank),
];

/// Names of columns, without blanks and in small letters; the likeliest first.
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

/// Units that may stand behind a name, and how a description spells them.
const TIME_UNITS: &[(&str, &str)] = &[
    ("ps", "ps"),
    ("ns", "ns"),
    ("nsec", "ns"),
    ("nanoseconds", "ns"),
    ("us", "us"),
    ("usec", "us"),
    ("microseconds", "us"),
    ("ms", "ms"),
    ("msec", "ms"),
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
    ("lba", "sectors"),
];

/// Which columns are what.
pub(crate) struct Description {
    /// What a user would give for `columns:…`.
    pub(crate) text: String,
    /// Whether the names give the units, of times and of offsets and sizes; else the values do.
    pub(crate) tells_time: bool,
    pub(crate) tells_places: bool,
}

/// Columns that are known, but not what they count: a guess might be wrong by a power of ten.
pub(crate) struct Unclear {
    /// What is not clear.
    pub(crate) what: String,
    /// A description that makes it clear, to choose another one by.
    pub(crate) example: String,
    /// What else may stand there.
    pub(crate) others: &'static str,
}

/// What the columns of a table mean.
type Told = Result<Option<Description>, Unclear>;

/// The description of a text with a header line, if that names its columns.
pub(crate) fn text(sample: &Sample<'_>, time_unit: Option<TimeUnit>) -> Told {
    // Tools say a word before they begin: the header is one of the first lines, all without numbers.
    let plain = |line: &&[u8]| !matches!(line.trim_ascii().first(), None | Some(b'#'));
    let lines = sample.lines.iter().copied().enumerate().filter(|(_, line)| plain(line));
    let begins = lines.take(PREAMBLE + 1).take_while(|(_, line)| is_header(without_mark(line)));
    for (before, (at, line)) in begins.enumerate() {
        let found = under(sample, at, without_mark(line), time_unit);
        let skip = if before == 0 { String::new() } else { format!("skip={},", before + 1) };
        match found {
            Ok(None) => {}
            Ok(Some(found)) => {
                return Ok(Some(Description { text: format!("{skip}{}", found.text), ..found }));
            }
            Err(unclear) => {
                return Err(Unclear { example: format!("{skip}{}", unclear.example), ..unclear });
            }
        }
    }
    Ok(None)
}

/// Lines that may come before a header.
const PREAMBLE: usize = 4;

/// A line without the byte order mark that a file may begin with.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// The description of what is under a header, which is the line at this place.
fn under(sample: &Sample<'_>, at: usize, header: &[u8], time_unit: Option<TimeUnit>) -> Told {
    let is_row = |line: &&&[u8]| !line.is_empty() && !line.ends_with(header);
    let lines = sample.lines[at + 1..].iter().filter(is_row).take(ROWS);
    for (word, separator) in SEPARATORS {
        let names = cells(header, separator);
        let rows: Vec<_> = lines.clone().map(|line| cells(line, separator)).collect();
        let alike = rows.iter().filter(|row| row.len() == names.len()).count();
        if names.len() < 3 || alike * 10 < rows.len() * 9 {
            continue;
        }
        let sep = if word == "comma" { String::new() } else { format!("sep={word},") };
        match table(&names, &rows, &[], &Known { time_unit, ..Known::default() }) {
            Ok(None) => {}
            Ok(Some(found)) => {
                return Ok(Some(Description { text: format!("{sep}{}", found.text), ..found }));
            }
            Err(unclear) => {
                return Err(Unclear { example: format!("{sep}{}", unclear.example), ..unclear });
            }
        }
    }
    Ok(None)
}

/// The names of a text's columns, where its first line is a header. Words of prose are none.
pub(crate) fn names(sample: &Sample<'_>) -> Option<Vec<String>> {
    let header = sample.first_line();
    let by_byte = SEPARATORS.iter().filter(|(_, separator)| *separator != Separator::Blank);
    let split = by_byte.map(|(_, separator)| cells(header, *separator));
    split.max_by_key(Vec::len).filter(|names| names.len() >= 3 && is_header(header))
}

/// What is known of a table beside its names and rows.
#[derive(Default)]
pub(crate) struct Known {
    /// The unit of times, if the user says so.
    pub(crate) time_unit: Option<TimeUnit>,
    /// Columns that count bytes.
    pub(crate) bytes: Vec<usize>,
    /// It is in memory: operations may have numbers, or be left out.
    pub(crate) in_memory: bool,
}

/// The description of a table with these columns and rows; `units` are those of times that have one of their own.
pub(crate) fn table(
    names: &[String],
    rows: &[Vec<String>],
    units: &[Option<TimeUnit>],
    known: &Known,
) -> Told {
    let names = &names[..names.len().min(MOST_COLUMNS)];
    let columns: Vec<_> = names.iter().map(|name| Name::of(name)).collect();
    let mut taken = Vec::new();
    let mut find = |known: &[&str], units: &[(&str, &str)]| {
        let at = known.iter().find_map(|&word| {
            (0..columns.len()).find(|at| !taken.contains(at) && columns[*at].is(word, units))
        })?;
        taken.push(at);
        Some(at)
    };
    let (time, op) = (find(TIME, TIME_UNITS), find(OP, &[]));
    let (offset, size) = (find(OFFSET, SIZE_UNITS), find(SIZE, SIZE_UNITS));
    let volume = find(VOLUME, &[]);
    let (Some(offset), Some(size)) = (offset, size) else { return Ok(None) };
    let values = |at: usize| -> Vec<&str> {
        rows.iter().filter_map(|row| row.get(at)).map(String::as_str).collect()
    };
    let marks =
        Marks::of(&time.map_or_else(Vec::new, values), &[values(offset), values(size)].concat());
    let op = match op {
        Some(at) => match op_words(&columns[at], values(at).into_iter(), known.in_memory) {
            Some(words) => format!("op={}{words}", reference(names, at)),
            None => return Ok(None),
        },
        None if known.in_memory => "all=write".to_owned(),
        None => return Ok(None),
    };
    let mut places = String::new();
    for (key, at) in [("offset", offset), ("size", size)] {
        let unit = match known.bytes.contains(&at) && columns[at].unit(SIZE_UNITS).is_none() {
            true => Some("bytes".to_owned()),
            false => place_unit(&columns[at], &marks.plain(&values(at))),
        };
        let Some(unit) = unit else { return Ok(None) };
        places.push_str(&format!(",{key}={}:{unit}", reference(names, at)));
    }
    if let Some(at) = volume {
        places.push_str(&format!(",volume={}", reference(names, at)));
    }
    let tells = |at: usize| columns[at].unit(SIZE_UNITS).is_some();
    let mut found = Description {
        text: String::new(),
        tells_time: true,
        tells_places: tells(offset) && tells(size),
    };
    let Some(at) = time else {
        found.text = format!("{op}{places}{}", marks.key());
        return Ok(Some(found));
    };
    let written = |unit: &str, marks: &str| {
        let unit = if unit.is_empty() { String::new() } else { format!(":{unit}") };
        format!("time={}{unit},{op}{places}{marks}", reference(names, at))
    };
    let own = units.get(at).copied().flatten().map(|unit| unit.to_string());
    let named = || columns[at].unit(TIME_UNITS).map(str::to_owned);
    let times = marks.plain(&values(at));
    let unit = match own.or_else(named) {
        Some(unit) => unit,
        None => {
            found.tells_time = false;
            let given = || known.time_unit.map(|unit| unit.to_string());
            // A clock that stands at 0 has no unit: generated tables have one.
            let stands = || times.iter().all(|time| time.bytes().all(|digit| digit == b'0'));
            let found = given().or_else(|| unit_of(&times).map(str::to_owned));
            found.or_else(|| stands().then(|| "ns".to_owned())).ok_or_else(|| Unclear {
                what: format!(
                    "the times in column {:?} may be of any unit ({})",
                    names[at],
                    times.iter().take(3).map(|time| &**time).collect::<Vec<_>>().join(", ")
                ),
                example: written("us", marks.key()),
                others: "ns, ms or s in place of us",
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
            example: written(&unit, Marks::Comma.key()),
            others: "decimal=point for thousands",
        });
    }
    found.text = written(&unit, marks.key());
    Ok(Some(found))
}

/// How numbers are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// With a decimal point or without, and no groups.
    Plain,
    /// With a decimal comma, and perhaps points between groups of three digits.
    Comma,
    /// With commas between groups of three digits.
    Grouped,
    /// With commas that may be either.
    Either,
}

impl Marks {
    /// Looks at times, and at offsets and sizes, which are whole.
    fn of(times: &[&str], places: &[&str]) -> Self {
        let of_times: Vec<Marks> = times.iter().filter_map(|time| Self::of_time(time)).collect();
        let grouped = places.iter().any(|place| place.contains(','));
        let found = [Marks::Comma, Marks::Grouped, Marks::Either];
        let found = found.into_iter().find(|marks| of_times.contains(marks));
        found.unwrap_or(if grouped { Marks::Grouped } else { Marks::Plain })
    }

    /// What the commas of a time say, if it has some.
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

    /// What says so in a description.
    fn key(self) -> &'static str {
        match self {
            Marks::Plain => "",
            Marks::Comma => ",decimal=comma",
            Marks::Grouped | Marks::Either => ",decimal=point",
        }
    }

    /// The values without groups, and with a decimal point.
    fn plain<'a>(self, values: &[&'a str]) -> Vec<Cow<'a, str>> {
        let one = |value: &&'a str| match self {
            Marks::Plain => Cow::Borrowed(*value),
            Marks::Comma | Marks::Either => Cow::Owned(value.replace('.', "").replace(',', ".")),
            Marks::Grouped => Cow::Owned(value.replace(',', "")),
        };
        values.iter().map(one).collect()
    }
}

/// What a column is called in a description: by its name, or by its number where the name would be misread.
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

/// The words of a column's name: `IOSize(bytes)` is io, size, bytes.
struct Name(Vec<String>);

impl Name {
    fn of(text: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut before = ' ';
        let characters: Vec<char> = text.chars().collect();
        for (at, &c) in characters.iter().enumerate() {
            let next_is_small = characters.get(at + 1).is_some_and(|next| next.is_lowercase());
            let begins = c.is_uppercase()
                && (before.is_lowercase() || before.is_uppercase() && next_is_small);
            if c.is_alphanumeric() {
                match words.last_mut() {
                    Some(word) if before.is_alphanumeric() && !begins => {
                        word.extend(c.to_lowercase())
                    }
                    _ => words.push(c.to_lowercase().collect()),
                }
            }
            before = c;
        }
        Self(words)
    }

    /// Whether it is a known one, with or without one of these units behind it.
    fn is(&self, known: &str, units: &[(&str, &str)]) -> bool {
        let is_unit = |word: &String| units.iter().any(|(unit, _)| unit == word);
        let without = match self.0.split_last() {
            Some((last, rest)) if !rest.is_empty() && is_unit(last) => rest.concat(),
            _ => String::new(),
        };
        self.0.concat() == known || without == known
    }

    /// The unit in the name.
    fn unit(&self, units: &[(&str, &'static str)]) -> Option<&'static str> {
        self.0
            .iter()
            .rev()
            .find_map(|word| units.iter().find(|(known, _)| known == word).map(|(_, unit)| *unit))
    }
}

/// The unit of times, where the values show it: dates have none, and a clock that counts from 1970 or 1601 is as
/// far as it is today. Fractions are those of seconds.
fn unit_of(values: &[Cow<'_, str>]) -> Option<&'static str> {
    let Some(first) = values.first() else { return Some("") };
    if dates::unix_ns(first.as_bytes()).is_some() {
        return Some("");
    }
    let from =
        values.iter().find_map(|value| value.parse::<f64>().ok().filter(|it| it.is_finite()))?;
    // From 2001 to 2065.
    let epochs = [("s", 1e9), ("ms", 1e12), ("us", 1e15), ("100ns", 1.2e17), ("ns", 1e18)];
    let is_epoch =
        |since: f64| (since..if since == 1.2e17 { 1.47e17 } else { 3.0 * since }).contains(&from);
    let epoch = epochs.into_iter().find(|(_, since)| is_epoch(*since));
    let is_fraction = || values.iter().any(|value| value.contains('.'));
    epoch.map(|(unit, _)| unit).or_else(|| is_fraction().then_some("s"))
}

/// The words of the operations, where they do not spell themselves out.
fn op_words<'a>(
    name: &Name,
    values: impl Iterator<Item = &'a str>,
    in_memory: bool,
) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for value in values {
        if !words.contains(&value) {
            words.push(value);
        }
    }
    let spelled = |word: &&str| Field::new(word.as_bytes(), 1, "op").traced_op().is_ok();
    if words.iter().all(spelled) {
        return Some(String::new());
    }
    let is_code = |word: &&str| matches!(*word, "0" | "1" | "2" | "3");
    if in_memory && name.0.concat() == "op" && words.iter().all(is_code) {
        return Some(":1/0/2/3".to_owned());
    }
    // Write and read, each in the letters of the trace.
    let reads = name.0.contains(&"read".to_owned()) && !name.0.contains(&"write".to_owned());
    let pairs = [("1", "0"), ("true", "false"), ("2a", "28"), ("0x2a", "0x28")];
    let (write, read) = pairs.into_iter().find(|(write, read)| {
        words.iter().all(|word| word.eq_ignore_ascii_case(write) || word.eq_ignore_ascii_case(read))
    })?;
    let (write, read) = if reads && write != "2a" { (read, write) } else { (write, read) };
    let as_is = |known: &str| {
        let found = words.iter().find(|word| word.eq_ignore_ascii_case(known));
        found.map_or_else(|| known.to_owned(), |word| (*word).to_owned())
    };
    Some(format!(":{}/{}", as_is(write), as_is(read)))
}

/// The unit of offsets or sizes, by the column's name or by what the numbers are multiples of.
fn place_unit(name: &Name, values: &[Cow<'_, str>]) -> Option<String> {
    // An exponent is a digit of hexadecimal numbers too, but these have others as well.
    let is_hex = values.iter().any(|value| {
        value.bytes().any(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_digit())
            && !value.starts_with("0x")
            && !value.starts_with("0X")
            && fields::decimal(value.as_bytes()).is_none()
    });
    // A wrong value is told where it is read; many are no numbers of this kind.
    let filled = || values.iter().filter(|value| !value.is_empty());
    let number = |value: &Cow<'_, str>| {
        let field = Field::new(value.as_bytes(), 1, "place");
        if is_hex { field.hex() } else { field.number() }.ok()
    };
    let mut numbers: Vec<u64> = filled().filter_map(number).collect();
    if numbers.len() * 2 < filled().count() {
        return None;
    }
    // -1, the place of flushes.
    numbers.retain(|number| *number != u64::MAX);
    let by_value = || {
        let in_bytes = numbers.iter().all(|number| number.is_multiple_of(512))
            || numbers.iter().any(|number| *number > 1 << 40);
        let says_blocks =
            name.0.iter().any(|word| matches!(word.as_str(), "lbn" | "lsn" | "blkno"));
        if in_bytes && !says_blocks { "bytes" } else { "sectors" }
    };
    let unit = name.unit(SIZE_UNITS).unwrap_or_else(by_value);
    Some(if is_hex { format!("{unit}:hex") } else { unit.to_owned() })
}
