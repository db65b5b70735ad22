//! Values in human notation, and known names.

use std::{path::PathBuf, str::FromStr};

use thermocline_flash::{BufferOrder, CacheSize, SlcCache, WriteBuffer};
use thermocline_policy::{
    ParamInfo, PolicyInfo, Ticks,
    bank::BankAssignment,
    dead, idle,
    params::ParamValue,
    placement, preset,
    trigger::{Pacing, Trigger},
    victim,
};
use thermocline_trace::{
    read::{Action, Format, TimeUnit},
    transform::{HintRule, OpSet, ShiftBy, Window},
};
use thermocline_units::{format_size, parse_share, parse_size, split_list};
use thermocline_workloads::WorkloadSpec;

use crate::table::{Codec, Values};

/// Names with their meanings.
pub type Named = Vec<(&'static str, &'static str)>;

/// Parses bytes: `4k`, `4KiB`, `192MiB`.
pub fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|e| e.to_string())
}

/// Parses a share: `15%`, `0.15`.
pub fn share(text: &str) -> Result<f64, String> {
    parse_share(text).map_err(|e| e.to_string())
}

/// Parses nanoseconds: `84min`, `20ms`.
pub fn time(text: &str) -> Result<u64, String> {
    Ticks::parse(text.trim())
        .map(|ticks| ticks.0)
        .ok_or_else(|| format!("`{text}` is not a time; write it as 84min, 250s, 20ms or 100us"))
}

/// Parses a sample, one of this many: `1/8`.
pub fn sample(text: &str) -> Result<u32, String> {
    let of = text.trim().strip_prefix("1/").and_then(|of| of.trim().parse().ok());
    of.filter(|of| (2..=1 << 16).contains(of))
        .ok_or_else(|| format!("`{text}` is not a sample; write it as 1/8, one of eight pages"))
}

/// Parses a page size within the range supported by all tables.
pub fn page_size(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if (1..=1 << 31).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("a page cannot have {bytes} bytes; choose from 1 byte to 2GiB"))
    }
}

/// Parses a window of requests (`64`) or of time (`20ms`).
pub fn window(text: &str) -> Result<Window, String> {
    match text.parse() {
        Ok(requests) => Ok(Window::Requests(requests)),
        Err(_) => time(text).map(Window::Time).map_err(|e| format!("{e}; or as requests: 64")),
    }
}

/// Parses bytes a day, in decimal units or in powers of 1024: `50GB`, `20GiB`.
pub fn daily_writes(text: &str) -> Result<u64, String> {
    let bytes = size(text).ok().filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| format!("`{text}` is no amount of data; write it as 50GB or 20GiB"))
}

/// Parses a trace format: a name, or `columns:…`.
pub fn trace_format(text: &str) -> Result<Format, String> {
    Format::from_str(text).map_err(|e| e.to_string())
}

/// Parses a whole number of at least `least`.
fn whole<T: FromStr + PartialOrd<T> + TryFrom<u8>>(text: &str, least: u8) -> Result<T, String> {
    let least_of = T::try_from(least).ok();
    let number =
        text.trim().parse().ok().filter(|number| least_of.is_none_or(|least| *number >= least));
    number.ok_or_else(|| match least {
        0 => format!("`{text}` is no whole number; write one such as 4"),
        _ => format!("`{text}` is no whole number of {least} or more; write one such as 4"),
    })
}

/// Which of the filled pages are read-only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadOnlyArg {
    /// Those the trace never writes.
    Unwritten,
    /// This share of them.
    Share(f64),
}

const UNWRITTEN: &str = "unwritten";

impl FromStr for ReadOnlyArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == UNWRITTEN {
            return Ok(Self::Unwritten);
        }
        share(text).map(Self::Share).map_err(|e| format!("{e}, or `{UNWRITTEN}` with a trace"))
    }
}

/// What is written before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FillArg {
    /// Nothing.
    Nothing,
    /// This share of the chip.
    Share(f64),
}

const NONE: &str = "none";

impl FromStr for FillArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == NONE {
            return Ok(Self::Nothing);
        }
        share(text).map(Self::Share).map_err(|e| format!("{e}, or `{NONE}`"))
    }
}

/// Parses a write buffer: `64MiB`, `fifo:64MiB`, `none`.
fn write_buffer(text: &str) -> Result<Option<WriteBuffer>, String> {
    if text == NONE {
        return Ok(None);
    }
    let orders = [BufferOrder::Lru, BufferOrder::Fifo];
    let (order, bytes) = match text.split_once(':') {
        Some((name, bytes)) => (orders.into_iter().find(|order| order.name() == name), bytes),
        None => (Some(BufferOrder::Lru), text),
    };
    let buffer = order.zip(parse_size(bytes).ok().filter(|bytes| *bytes > 0));
    buffer.map(|(order, bytes)| Some(WriteBuffer { order, bytes })).ok_or_else(|| {
        format!("`{text}` is no write buffer; write it as 64MiB, lru:64MiB, fifo:64MiB or none")
    })
}

/// Bits of a cell where nothing is said of them.
const BITS: u32 = 3;

/// Parses an SLC cache: `fixed:5%`, `dynamic`, `dynamic:20%/4`, `none`.
fn slc_cache(text: &str) -> Result<Option<SlcCache>, String> {
    if text == NONE {
        return Ok(None);
    }
    let parse = || {
        let (cache, bits) = match text.split_once('/') {
            Some((cache, bits)) => (cache, bits.parse().ok()?),
            None => (text, BITS),
        };
        let (name, share) = cache.split_once(':').unwrap_or((cache, ""));
        let size = [CacheSize::Fixed, CacheSize::Dynamic].into_iter().find(|s| s.name() == name)?;
        let share = match share {
            "" if size == CacheSize::Dynamic => 1.0,
            share => parse_share(share).ok()?,
        };
        Some(Some(SlcCache { size, share, bits }))
    };
    parse().ok_or_else(|| {
        format!("`{text}` is no SLC cache; write it as fixed:5%, dynamic, dynamic:20%, fixed:5%/4 or none")
    })
}

fn show_slc_cache(SlcCache { size, share, bits }: SlcCache) -> String {
    let most = size == CacheSize::Dynamic && share == 1.0;
    let share = if most { String::new() } else { format!(":{share}") };
    let bits = if bits == BITS { String::new() } else { format!("/{bits}") };
    format!("{}{share}{bits}", size.name())
}

/// Rewrites a list of calls, such as `SepBIT,CAT(tau=1h)` or `CAT/table-4`. Names that match a
/// known one except for case and hyphens are written like it: `sep-bit,cat(tau=1h)`.
#[must_use]
pub fn as_known(text: &str, known: &[&str]) -> String {
    each(text, |item| one_as_known(item, known))
}

/// Applies `write` to each item of a list.
fn each(text: &str, write: impl Fn(&str) -> String) -> String {
    let items = split_list(text);
    if items.is_empty() {
        return text.to_owned();
    }
    let items: Vec<_> = items.iter().map(|item| write(item)).collect();
    items.join(",")
}

/// Rewrites a name, with its parentheses or the part after a slash unchanged.
fn one_as_known(item: &str, known: &[&str]) -> String {
    let letters = |name: &str| {
        let letters = name.chars().filter(|c| !matches!(c, '-' | '_'));
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    let (name, rest) = item.split_at(item.find(['(', '/']).unwrap_or(item.len()));
    let is = |other: &&&str| letters(other) == letters(name);
    match known.iter().find(is) {
        Some(alike) if !known.contains(&name) => format!("{alike}{rest}"),
        _ => item.to_owned(),
    }
}

fn plain(names: impl IntoIterator<Item = &'static str>) -> Named {
    names.into_iter().map(|name| (name, "")).collect()
}

/// Presets.
#[must_use]
pub fn presets() -> Named {
    plain(preset::PRESETS.iter().map(|p| p.name))
}

/// Victim policies.
#[must_use]
pub fn victims() -> Named {
    plain(victim::VICTIMS.iter().map(|v| v.info.name))
}

/// Placements.
#[must_use]
pub fn placements() -> Named {
    plain(placement::PLACEMENTS.iter().map(|p| p.name))
}

/// Idle policies.
#[must_use]
pub fn idles() -> Named {
    let names = idle::IDLES.iter().map(|i| i.info.name);
    plain([NONE].into_iter().chain(names))
}

/// Sources of dead data.
#[must_use]
pub fn dead_data() -> Named {
    plain(dead::DEAD_DATA.iter().map(|d| d.name))
}

/// Built-in devices.
#[must_use]
pub fn devices() -> Named {
    plain(thermocline_flash::BUILT_IN_PROFILES.iter().map(|(name, _)| *name))
}

fn formats() -> Named {
    Format::all().map(|format| (format.name(), format.about())).collect()
}

/// Only the names.
#[must_use]
pub fn names(named: Named) -> Vec<&'static str> {
    named.into_iter().map(|(name, _)| name).collect()
}

/// A call with its arguments in canonical form: `cat(tau=84min)` for `cat( tau = 5040s )`. Unknown
/// arguments are kept; building the policy reports them.
fn with_arguments(item: &str, params: impl Fn(&str) -> Vec<ParamInfo>) -> String {
    let Some((name, inner)) = item.strip_suffix(')').and_then(|item| item.split_once('(')) else {
        return item.to_owned();
    };
    let params = params(name.trim());
    let argument = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let (key, value) = (key.trim(), value.trim());
        // The policies of a preset may share a parameter and format it differently.
        let mut forms = params.iter().filter(|p| p.name == key).map(|p| (p.canonical)(value));
        let form = forms.next()??;
        forms.all(|other| other.as_ref() == Some(&form)).then(|| format!("{key}={form}"))
    };
    let pairs = split_list(inner);
    let pairs: Vec<_> = pairs.into_iter().map(|pair| argument(&pair).unwrap_or(pair)).collect();
    if pairs.is_empty() { name.into() } else { format!("{name}({})", pairs.join(", ")) }
}

/// Policies in canonical form. Names of existing files are not changed.
fn known_or_file(text: &str, known: Named, params: fn(&str) -> Vec<ParamInfo>) -> String {
    if std::path::Path::new(text).exists() {
        return text.to_owned();
    }
    let known = names(known);
    each(text, |item| with_arguments(&one_as_known(item, &known), params))
}

fn preset_params(name: &str) -> Vec<ParamInfo> {
    preset::find(name).map(preset::params).unwrap_or_default()
}

fn params_of(info: Option<&PolicyInfo>) -> Vec<ParamInfo> {
    info.map(|info| (info.params)()).unwrap_or_default()
}

macro_rules! codecs {
    ($($name:ident: $T:ty = $read:expr, $show:expr, $values:expr;)*) => {
        $(#[doc = concat!("How values of the kind ", stringify!($name), " are read and written.")]
        pub const $name: Codec<$T> =
            Codec { read: $read, show: $show, values: $values };)*
    };
}

codecs! {
    SIZE: u64 = size, |bytes| format_size(*bytes), Values::Any;
    PAGE_SIZE: u64 = page_size, |bytes| format_size(*bytes), Values::Any;
    DAILY_WRITES: u64 = daily_writes, |bytes| format_size(*bytes), Values::Any;
    SHARE: f64 = share, f64::to_string, Values::Any;
    TIME: u64 = time, |ns| format!("{ns}ns"), Values::Any;
    SAMPLE: u32 = sample, |of| format!("1/{of}"), Values::Any;
    WINDOW: Window = window, |window| match window {
        Window::Requests(requests) => requests.to_string(),
        Window::Time(ns) => format!("{ns}ns"),
    }, Values::Any;
    COUNT: u32 = |text| whole(text, 0), u32::to_string, Values::Any;
    ONE_OR_MORE: u32 = |text| whole(text, 1), u32::to_string, Values::Any;
    TWO_OR_MORE: u32 = |text| whole(text, 2), u32::to_string, Values::Any;
    NUMBER: u64 = |text| whole(text, 0), u64::to_string, Values::Any;
    THREADS: usize = |text| whole(text, 0), usize::to_string, Values::Any;
    TEXT: String = |text| Ok(text.to_owned()), String::clone, Values::Any;
    FILE: PathBuf = |text| Ok(text.into()), |path| path.to_string_lossy().into_owned(), Values::Files;
    FILL: FillArg = FillArg::from_str, |fill| match fill {
        FillArg::Nothing => NONE.into(),
        FillArg::Share(share) => share.to_string(),
    }, Values::Any;
    READ_ONLY: ReadOnlyArg = ReadOnlyArg::from_str, |pages| match pages {
        ReadOnlyArg::Unwritten => UNWRITTEN.into(),
        ReadOnlyArg::Share(share) => share.to_string(),
    }, Values::Any;
    WRITE_BUFFER: Option<WriteBuffer> = write_buffer, |buffer| match buffer {
        None => NONE.into(),
        Some(WriteBuffer { order: BufferOrder::Lru, bytes }) => format_size(*bytes),
        Some(WriteBuffer { order, bytes }) => format!("{}:{}", order.name(), format_size(*bytes)),
    }, Values::Any;
    SLC_CACHE: Option<SlcCache> = slc_cache, |cache| cache.map_or(NONE.into(), show_slc_cache),
        Values::Any;
    WORKLOAD: WorkloadSpec = |text| text.parse().map_err(|e: thermocline_trace::TraceError| e.to_string()),
        WorkloadSpec::to_string, Values::Any;
    FORMAT: Format = trace_format, Format::to_string, Values::Names(formats);
    COLUMNS: Format = |text| trace_format(&format!("columns:{text}")),
        |format| format.argument().unwrap_or_default().to_owned(), Values::Any;
    ACTION: Action = |text| text.parse().map_err(|e: thermocline_trace::TraceError| e.to_string()),
        Action::to_string, Values::Any;
    TIME_UNIT: TimeUnit = |text| text.parse().map_err(|e: thermocline_trace::TraceError| e.to_string()),
        TimeUnit::to_string, Values::Any;
    SECTOR_SIZE: u32 = |text| {
        u32::try_from(size(text)?).map_err(|_| "a sector must be smaller than 4GiB".into())
    }, |bytes| format_size(u64::from(*bytes)), Values::Any;
    OPS: OpSet = |text| text.parse().map_err(|e: thermocline_trace::TraceError| e.to_string()),
        OpSet::to_string, Values::Any;
    HINT: HintRule = |text| text.parse().map_err(|e: thermocline_trace::TraceError| e.to_string()),
        HintRule::to_string, Values::Any;
    SHIFT: ShiftBy = |text| text.parse().map_err(|e: thermocline_trace::TraceError| e.to_string()),
        |by| format!("{}B", by.0), Values::Any;
    TRIGGER: Trigger = |text| {
        Trigger::parse(text).ok_or_else(|| format!("expected {}", Trigger::EXPECTED))
    }, Trigger::show, Values::Any;
    PACING: Pacing = |text| {
        Pacing::parse(text).ok_or_else(|| format!("expected {}", Pacing::EXPECTED))
    }, Pacing::to_string, Values::Any;
    BANK_ASSIGNMENT: BankAssignment = |text| {
        BankAssignment::parse(text).ok_or_else(|| format!("expected {}", BankAssignment::EXPECTED))
    }, BankAssignment::show, Values::Any;
    DEVICE: String = |text| Ok(known_or_file(text, devices(), |_| Vec::new())), String::clone,
        Values::Names(devices);
    IDLE: String = |text| {
        Ok(known_or_file(text, idles(), |name| params_of(idle::find(name).map(|idle| &idle.info))))
    }, String::clone, Values::Names(idles);
    DEAD_DATA: String = |text| {
        Ok(known_or_file(text, dead_data(), |name| params_of(dead::find(name))))
    }, String::clone, Values::Names(dead_data);
}

/// A folder.
pub const FOLDER: Codec<PathBuf> = Codec { values: Values::Folders, ..FILE };
/// Presets, with parameters in parentheses.
pub const POLICY: Codec<String> = Codec {
    read: |text| Ok(known_or_file(text, presets(), preset_params)),
    show: String::clone,
    values: Values::Names(presets),
};
/// Victim policies.
pub const VICTIM: Codec<String> = Codec {
    read: |text| {
        let params = |name: &str| params_of(victim::find(name).map(|victim| &victim.info));
        Ok(known_or_file(text, victims(), params))
    },
    show: String::clone,
    values: Values::Names(victims),
};
/// Placements.
pub const PLACEMENT: Codec<String> = Codec {
    read: |text| Ok(known_or_file(text, placements(), |name| params_of(placement::find(name)))),
    show: String::clone,
    values: Values::Names(placements),
};
