//! Which columns of a table are what, by their names and by a few rows: the description that a user would give
//! as `columns:…`.
//!
//! It is a guess, shown so that it can be corrected. Where a role has no column, or the operations make no sense,
//! there is none.

use super::{
    dates,
    fields::Field,
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

/// The description of a text with a header line, if that tells what its columns are.
pub(crate) fn text(sample: &Sample<'_>) -> Option<String> {
    let header = sample.first_line();
    if !is_header(header) {
        return None;
    }
    let at = sample.lines.iter().position(|line| line.ends_with(header))?;
    let lines = sample.lines[at + 1..].iter().filter(|line| !line.is_empty()).take(ROWS);
    SEPARATORS.iter().find_map(|(word, separator)| {
        let names = cells(header, *separator);
        let rows: Vec<_> = lines.clone().map(|line| cells(line, *separator)).collect();
        let alike = rows.iter().filter(|row| row.len() == names.len()).count();
        if names.len() < 3 || alike * 10 < rows.len() * 9 {
            return None;
        }
        let found = table(&names, &rows, &[])?;
        Some(if *word == "comma" { found } else { format!("sep={word},{found}") })
    })
}

/// The names of a text's columns, where its first line is a header. Words of prose are none.
pub(crate) fn names(sample: &Sample<'_>) -> Option<Vec<String>> {
    let header = sample.first_line();
    let by_byte = SEPARATORS.iter().filter(|(_, separator)| *separator != Separator::Blank);
    let split = by_byte.map(|(_, separator)| cells(header, *separator));
    split.max_by_key(Vec::len).filter(|names| names.len() >= 3 && is_header(header))
}

/// The description of a table with these columns and rows; `units` are those of times that have one of their own.
pub(crate) fn table(
    names: &[String],
    rows: &[Vec<String>],
    units: &[Option<TimeUnit>],
) -> Option<String> {
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
    let (time, op) = (find(TIME, TIME_UNITS), find(OP, &[])?);
    let (offset, size) = (find(OFFSET, SIZE_UNITS)?, find(SIZE, SIZE_UNITS)?);
    let volume = find(VOLUME, &[]);
    let values = |at: usize| rows.iter().filter_map(move |row| row.get(at)).map(String::as_str);
    let called = |at: usize| reference(names, at);
    let mut parts = Vec::new();
    if let Some(at) = time {
        let own = units.get(at).copied().flatten();
        let unit = own.map(|unit| unit.to_string()).or_else(|| {
            let named = columns[at].unit(TIME_UNITS);
            Some(named.or_else(|| time_unit(&values(at).collect::<Vec<_>>()))?.to_owned())
        });
        parts.push(format!("time={}{}", called(at), suffix(unit)));
    }
    parts.push(format!("op={}{}", called(op), op_words(&columns[op], values(op))?));
    for (key, at) in [("offset", offset), ("size", size)] {
        let unit = place_unit(&columns[at], &values(at).collect::<Vec<_>>())?;
        parts.push(format!("{key}={}:{unit}", called(at)));
    }
    parts.extend(volume.map(|at| format!("volume={}", called(at))));
    Some(parts.join(","))
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

fn suffix(unit: Option<String>) -> String {
    unit.map_or_else(String::new, |unit| format!(":{unit}"))
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

    /// The unit that the name tells.
    fn unit(&self, units: &[(&str, &'static str)]) -> Option<&'static str> {
        self.0
            .iter()
            .rev()
            .find_map(|word| units.iter().find(|(known, _)| known == word).map(|(_, unit)| *unit))
    }
}

/// The unit of times, by how large they are; none for dates.
fn time_unit(values: &[&str]) -> Option<&'static str> {
    let first = values.first()?;
    if dates::unix_ns(first.as_bytes()).is_some() {
        return None;
    }
    let numbers: Vec<f64> = values.iter().filter_map(|value| value.parse().ok()).collect();
    let (from, to) = (*numbers.first()?, numbers.iter().copied().fold(0.0, f64::max));
    Some(match from {
        _ if from >= 1e18 => "ns",
        _ if from >= 1e17 => "100ns",
        _ if from >= 1e15 => "us",
        _ if from >= 1e12 => "ms",
        _ if from >= 1e9 || values.iter().any(|value| value.contains('.')) => "s",
        // Since its beginning: the unit in which the device is busy, but not impossibly so.
        _ => {
            let rate =
                |unit: f64| numbers.len() as f64 / ((to - from) * unit).max(f64::MIN_POSITIVE);
            let fits = |&(_, unit): &(&str, f64)| (1.0..1e6).contains(&rate(unit));
            let units = [("us", 1e-6), ("ms", 1e-3), ("ns", 1e-9), ("s", 1.0)];
            units.into_iter().find(fits).map_or("us", |(name, _)| name)
        }
    })
}

/// The words of the operations, where they do not spell themselves out.
fn op_words<'a>(name: &Name, values: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for value in values {
        if !words.contains(&value) {
            words.push(value);
        }
    }
    let spelled = |word: &&str| Field::new(word.as_bytes(), 1, "op").op().is_ok();
    if words.iter().all(spelled) {
        return Some(String::new());
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
fn place_unit(name: &Name, values: &[&str]) -> Option<String> {
    let is_hex = values.iter().any(|value| {
        value.bytes().any(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_digit())
            && !value.starts_with("0x")
            && !value.starts_with("0X")
    });
    let mut numbers = Vec::new();
    for value in values.iter().filter(|value| !value.is_empty()) {
        let digits = value.trim_start_matches("0x").trim_start_matches("0X");
        let radix = if is_hex || digits.len() < value.len() { 16 } else { 10 };
        numbers.push(u64::from_str_radix(digits, radix).ok()?);
    }
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
