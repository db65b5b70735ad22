//! A metric is one declaration: key, type, meaning, computation and presentation.
//!
//! A part of a result is a struct declared by `part!`. Each field has its documentation, its type,
//! the expression that computes it from the facts of a run, and its [`Look`]. Everything else
//! follows from the declaration: the JSON (by serde, in field order), the columns of CSV and
//! Parquet, the tables, and the reference of all keys.
//!
//! Invariant: [`metrics`] lists every leaf of the JSON once, in its order.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use serde_json::Value;
use thermocline_flash::{Energy, Geometry, Kind as Medium, Rules};

use crate::RunResult;

/// The type of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number.
    Whole,
    /// A number.
    Real,
    /// True or false.
    Flag,
    /// A list or an object whose shape depends on the run; one column, as JSON.
    Json,
}

impl Kind {
    /// Its name in documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Whole => "integer",
            Self::Real => "number",
            Self::Flag => "boolean",
            Self::Json => "JSON",
        }
    }
}

/// The presentation of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Unchanged.
    Plain,
    /// `1,234,567`.
    Count,
    /// With this many decimal places.
    Fixed(u8),
    /// About four significant digits.
    Short,
    /// A share: `15 %`.
    Percent,
    /// A relative difference: `+37 %`.
    Excess,
    /// Powers of 1024: `2.3 MiB`.
    Bytes,
    /// Powers of 1000, as storage is sold: `7.3 TB`.
    DecimalBytes,
    /// Microseconds, scaled to a suitable unit.
    Micros,
    /// Seconds, scaled to a suitable unit.
    Seconds,
    /// Years, or days if there are few.
    Years,
}

/// Which of two values is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Neither: the value describes the run.
    Neither,
    /// The smaller.
    Less,
    /// The greater.
    More,
}

/// The condition under which a value may be compared with another run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// None.
    Always,
    /// The device keeps up with the arrivals.
    InTime,
    /// There are enough erases for an extrapolation.
    EnoughErases,
    /// Both: enough erases, and the device keeps up with the arrivals.
    EnoughErasesInTime,
}

/// The presentation of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Its name in the list of one run.
    pub(crate) title: &'static str,
    /// Its group in that list; empty means the part's own.
    pub group: &'static str,
    /// Its header in tables; `\n` separates lines.
    pub(crate) header: &'static str,
    /// Columns of low rank have priority on narrow screens.
    pub rank: u8,
    /// Format of the value.
    pub format: Format,
    /// Which value is better.
    pub better: Better,
    /// Condition for comparing values.
    pub trust: Trust,
    /// Zero is omitted from the list of one run.
    pub quiet: bool,
}

impl Look {
    /// A part: the group of its metrics, the first line of their headers, and an offset that is
    /// added to their ranks.
    pub(crate) const fn part(group: &'static str, header: &'static str, rank: u8) -> Self {
        Self { group, header, rank, ..Self::HIDDEN }
    }

    /// For programs only.
    pub(crate) const HIDDEN: Self = Self {
        title: "",
        group: "",
        header: "",
        rank: 0,
        format: Format::Plain,
        better: Better::Neither,
        trust: Trust::Always,
        quiet: false,
    };

    /// A line in the list of one run.
    pub(crate) const fn line(title: &'static str, format: Format) -> Self {
        Self { title, format, ..Self::HIDDEN }
    }

    /// Also a column in tables.
    pub(crate) const fn column(self, header: &'static str, rank: u8) -> Self {
        Self { header, rank, ..self }
    }

    /// Less is better.
    pub(crate) const fn less(self) -> Self {
        Self { better: Better::Less, ..self }
    }

    /// More is better.
    pub(crate) const fn more(self) -> Self {
        Self { better: Better::More, ..self }
    }

    /// In the group of another part.
    pub(crate) const fn among(self, group: &'static str) -> Self {
        Self { group, ..self }
    }

    /// Omitted if zero.
    pub(crate) const fn quiet(self) -> Self {
        Self { quiet: true, ..self }
    }

    /// Comparable under a condition.
    pub(crate) const fn trust(self, trust: Trust) -> Self {
        Self { trust, ..self }
    }
}

/// A figure of a result.
pub struct Metric {
    /// Its key in JSON, with dots between levels. Also the name of its column in CSV and Parquet.
    pub key: String,
    /// The part of the result, as an index into [`parts`].
    pub part: usize,
    /// Its meaning.
    pub about: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Whether a run may lack it.
    pub optional: bool,
    /// Its presentation.
    pub look: Look,
    /// Its name in the list of one run, including that of its part; empty if it is not listed.
    pub title: String,
    /// Its header in tables, including that of its part; empty if it is not a column.
    pub header: String,
    get: Arc<Read>,
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metric").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Metric {
    /// Its value in a result; null if the result has none.
    #[must_use]
    pub fn of(&self, run: &RunResult) -> Value {
        (self.get)(run).unwrap_or(Value::Null)
    }

    /// The unit of its values, from the key and the format; empty for plain numbers.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        const SUFFIXES: [(&str, &str); 9] = [
            ("us", "µs"),
            ("bytes", "bytes"),
            ("pages", "pages"),
            ("mj", "mJ"),
            ("uj", "µJ"),
            ("blocks", "blocks"),
            ("years", "years"),
            ("ms", "ms"),
            ("ns", "ns"),
        ];
        if self.key.ends_with("kib_s") {
            return "KiB/s";
        }
        let of = |part: &str| {
            let last = part.rsplit('_').next().unwrap_or(part);
            SUFFIXES.iter().find(|(suffix, _)| *suffix == last).map(|(_, unit)| *unit)
        };
        let is_number_of_samples = self.key.ends_with(".count");
        let by_key = self.key.rsplit('.').find_map(of).filter(|_| !is_number_of_samples);
        match (self.kind, self.look.format) {
            (Kind::Text | Kind::Flag | Kind::Json, _) => "",
            (_, Format::Percent | Format::Excess) => "share",
            (_, Format::Seconds) => "s",
            _ => by_key.unwrap_or(""),
        }
    }

    /// Its value as a number, if it is one.
    #[must_use]
    pub fn number(&self, run: &RunResult) -> Option<f64> {
        self.of(run).as_f64()
    }

    /// Whether a result's value may be compared with those of others.
    #[must_use]
    pub fn is_comparable(&self, run: &RunResult) -> bool {
        let life = &run.lifetime;
        match self.look.trust {
            Trust::Always => true,
            Trust::InTime => !life.overloaded,
            Trust::EnoughErases => !life.few_erases,
            Trust::EnoughErasesInTime => !life.few_erases && !life.overloaded,
        }
    }

    /// Whether a result's value belongs to a queue that grows during the whole run.
    #[must_use]
    pub fn is_of_queue(&self, run: &RunResult) -> bool {
        self.look.trust == Trust::InTime && run.lifetime.overloaded
    }

    /// The group in which it is shown.
    #[must_use]
    pub fn group(&self) -> &'static str {
        if self.look.group.is_empty() { parts()[self.part].title } else { self.look.group }
    }

    /// Whether `name` means this metric: its key, or a unique last part of it.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.key == name || self.key.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    }
}

/// A part of a result.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its key; empty for the result itself.
    pub key: String,
    /// Its title in the list of one run.
    pub title: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// Whether a run may lack it, so that its keys are absent from JSON.
    pub optional: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Registry {
    parts: Vec<Part>,
    metrics: Vec<Metric>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::default();
    let root = Place {
        key: String::new(),
        part: 0,
        about: "",
        look: Look::HIDDEN,
        above: Look::HIDDEN,
        optional: false,
    };
    RunResult::register(&root, &getter(|run| Some(run)), &mut registry);
    registry
});

/// All metrics, in JSON order.
#[must_use]
pub fn metrics() -> &'static [Metric] {
    &REGISTRY.metrics
}

/// All parts of a result, the whole result first.
#[must_use]
pub fn parts() -> &'static [Part] {
    &REGISTRY.parts
}

/// The metric with this key, or the only one whose key ends with it.
#[must_use]
pub fn find(name: &str) -> Option<&'static Metric> {
    if let Some(metric) = metrics().iter().find(|metric| metric.key == name) {
        return Some(metric);
    }
    let mut called = metrics().iter().filter(|metric| metric.is_called(name));
    called.next().filter(|_| called.next().is_none())
}

/// A metric by its key, or by the last part of the key.
///
/// # Errors
/// The remedy.
pub fn named(text: &str) -> Result<&'static Metric, String> {
    let text = text.trim();
    find(text).ok_or_else(|| {
        let called: Vec<_> = metrics().iter().filter(|m| m.is_called(text)).collect();
        if called.is_empty() {
            return format!("`{text}` is no key of a result; docs/results.md lists them");
        }
        let keys: Vec<_> = called.iter().map(|metric| metric.key.as_str()).collect();
        format!("`{text}` may be {}; write one of these", keys.join(" or "))
    })
}

/// Reads a metric's value from a result.
type Read = dyn Fn(&RunResult) -> Option<Value> + Send + Sync;

/// Finds a value in a result.
pub(crate) type Getter<T> = Arc<dyn Fn(&RunResult) -> Option<&T> + Send + Sync>;

pub(crate) fn getter<T: 'static>(
    get: impl Fn(&RunResult) -> Option<&T> + Send + Sync + 'static,
) -> Getter<T> {
    Arc::new(get)
}

/// The position of a figure in a result, and its declaration.
pub(crate) struct Place {
    pub key: String,
    pub part: usize,
    pub about: &'static str,
    pub look: Look,
    /// The declaration of its part.
    pub above: Look,
    pub optional: bool,
}

impl Place {
    /// Adds a part at this position; returns its index.
    pub(crate) fn part(
        &self,
        title: &'static str,
        about: &'static str,
        registry: &mut Registry,
    ) -> usize {
        let (key, optional) = (self.key.clone(), self.optional);
        let title = if self.look.group.is_empty() { title } else { self.look.group };
        registry.parts.push(Part { key, title, about, optional });
        registry.parts.len() - 1
    }

    /// The position of a field of this part.
    pub(crate) fn field(&self, part: usize, name: &str, about: &'static str, look: Look) -> Self {
        let dot = if self.key.is_empty() { "" } else { "." };
        let key = format!("{}{dot}{name}", self.key);
        Self { key, part, about, look, above: self.look, optional: self.optional }
    }

    /// The metric at this position.
    fn metric(&self, kind: Kind, get: Arc<Read>) -> Metric {
        let with_part = |own: &str, between: &str| match self.above.header {
            "" => own.to_owned(),
            _ if own.is_empty() => String::new(),
            above => format!("{above}{between}{own}"),
        };
        Metric {
            key: self.key.clone(),
            part: self.part,
            about: self.about,
            kind,
            optional: self.optional,
            look: Look { rank: self.look.rank.saturating_add(self.above.rank), ..self.look },
            title: with_part(self.look.title, " "),
            header: with_part(self.look.header, "\n"),
            get,
        }
    }
}

/// The type of a field: a value, or a part with its own fields.
pub(crate) trait Figure: Sized + 'static {
    fn register(place: &Place, get: &Getter<Self>, registry: &mut Registry);
}

impl<T: Figure> Figure for Option<T> {
    fn register(place: &Place, get: &Getter<Self>, registry: &mut Registry) {
        let outer = Arc::clone(get);
        let inner = getter(move |run| outer(run).and_then(Option::as_ref));
        let place = Place { key: place.key.clone(), optional: true, ..*place };
        T::register(&place, &inner, registry);
    }
}

macro_rules! values {
    ($($type:ty => $kind:ident),* $(,)?) => {
        $(impl Figure for $type {
            fn register(place: &Place, get: &Getter<Self>, registry: &mut Registry) {
                let get = Arc::clone(get);
                let value = move |run: &RunResult| {
                    get(run).and_then(|value| serde_json::to_value(value).ok())
                };
                registry.metrics.push(place.metric(Kind::$kind, Arc::new(value)));
            }
        })*
    };
}

values! {
    u64 => Whole,
    u32 => Whole,
    f64 => Real,
    bool => Flag,
    String => Text,
    Medium => Text,
    Energy => Json,
    BTreeMap<String, u64> => Json,
    BTreeMap<String, String> => Json,
    Vec<crate::result::Bank> => Json,
}

/// Declares the parts of a result, or describes the fields of a struct that is declared elsewhere.
macro_rules! part {
    // A part that is computed from the facts of a run.
    (
        $(#[doc = $about:literal])*
        $(#[derive($($derive:ident),*)])?
        pub struct $name:ident ($title:literal) of $facts:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])?
                pub $field:ident: $type:ty = $value:expr => $look:expr,
            )*
        }
    ) => {
        $crate::metric::part! {
            $(#[doc = $about])*
            $(#[derive($($derive),*)])?
            pub struct $name ($title) {
                $(
                    $(#[doc = $doc])*
                    $(#[serde($($serde)*)])?
                    pub $field: $type => $look,
                )*
            }
        }

        impl $name {
            pub(crate) fn of($facts: &$crate::facts::Facts<'_>) -> Self {
                Self { $($field: $value),* }
            }
        }
    };
    // A part that is constructed elsewhere.
    (
        $(#[doc = $about:literal])*
        $(#[derive($($derive:ident),*)])?
        pub struct $name:ident ($title:literal) {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($serde:tt)*)])?
                pub $field:ident: $type:ty => $look:expr,
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        $(#[derive($($derive),*)])?
        pub struct $name {
            $(
                $(#[doc = $doc])*
                $(#[serde($($serde)*)])?
                pub $field: $type,
            )*
        }

        $crate::metric::part! {
            $(#[doc = $about])*
            described $name ($title) {
                $( $(#[doc = $doc])* $field: $type => $look, )*
            }
        }
    };
    (
        $(#[doc = $about:literal])*
        described $name:ident ($title:literal) {
            $( $(#[doc = $doc:literal])* $field:ident: $type:ty => $look:expr, )*
        }
    ) => {
        impl $crate::metric::Figure for $name {
            fn register(
                place: &$crate::metric::Place,
                get: &$crate::metric::Getter<Self>,
                registry: &mut $crate::metric::Registry,
            ) {
                let part = place.part($title, concat!($($about),*).trim_ascii(), registry);
                $({
                    let about = concat!($($doc),*).trim_ascii();
                    let field = place.field(part, stringify!($field), about, $look);
                    let get = std::sync::Arc::clone(get);
                    let get = $crate::metric::getter(move |run| get(run).map(|it| &it.$field));
                    <$type as $crate::metric::Figure>::register(&field, &get, registry);
                })*
            }
        }
    };
}
pub(crate) use part;

part! {
    /// Shape of the chip.
    described Geometry("geometry") {
        /// Banks (dies) that can be busy at the same time.
        banks: u32 => Look::HIDDEN,
        /// Channels by which they are reached.
        channels: u32 => Look::HIDDEN,
        /// Erase blocks in each bank.
        blocks_per_bank: u32 => Look::HIDDEN,
        /// Pages in an erase block, header pages included.
        pages_per_block: u32 => Look::HIDDEN,
        /// Bytes in a page.
        page_size: u32 => Look::HIDDEN,
        /// Bytes of out-of-band area beside each page.
        oob_size: u32 => Look::HIDDEN,
        /// Pages at the start of each block that hold no data.
        header_pages: u32 => Look::HIDDEN,
        /// Blocks that hold the layer's own records and no data.
        system_blocks: u32 => Look::HIDDEN,
    }
}

part! {
    /// Rules of the medium.
    described Rules("rules") {
        /// Pages of a block must be programmed in ascending order.
        in_order: bool => Look::HIDDEN,
        /// Rated program/erase cycles of a block.
        endurance: u32 => Look::HIDDEN,
        /// Factory-bad blocks that the data sheet allows.
        initial_bad_blocks: u32 => Look::HIDDEN,
    }
}
