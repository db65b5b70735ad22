//! The registry of formats: one row each. A new format is a file in `formats/` and a row here.

use std::{fmt, str::FromStr, sync::Arc};

use super::{
    context::Context,
    decode::Decode,
    detect::{Hit, Sample},
    formats,
    input::Input,
    layout::{Columns, Layout},
    lines::{LineFormat, Lines},
};
use crate::TraceError;

/// What the registry knows of a format.
pub(crate) struct Entry {
    /// The name `--format` takes.
    pub(crate) name: &'static str,
    /// One line: what it is, and its units.
    pub(crate) about: &'static str,
    /// Who defines it, or where such traces come from.
    pub(crate) source: &'static str,
    /// True if the operation is a 0/1 column, which people write both ways round.
    pub(crate) zero_one: bool,
    /// Whether a trace that begins so is of this format.
    pub(crate) detect: fn(&Sample<'_>) -> Option<Hit>,
    /// Opens a trace.
    pub(crate) open: fn(Setup<'_>) -> Result<Box<dyn Decode>, TraceError>,
}

/// What a format's reader is made from.
pub(crate) struct Setup<'a> {
    /// The trace; its first 64 KiB are at hand.
    pub(crate) input: Input,
    /// What the user wishes.
    pub(crate) cx: &'a Context,
    /// The layout the user described, for the format `columns`.
    pub(crate) columns: Option<&'a formats::columns::Spec>,
}

impl Setup<'_> {
    /// A reader of rows.
    pub(crate) fn columns(self, layout: Layout) -> Result<Box<dyn Decode>, TraceError> {
        self.lines(Columns::new(layout))
    }

    /// A reader of lines.
    pub(crate) fn lines<F: LineFormat + 'static>(
        self,
        format: F,
    ) -> Result<Box<dyn Decode>, TraceError> {
        Ok(Box::new(Lines::new(self.input, format)))
    }
}

/// All formats. Of two that fit a trace equally well, the first is guessed.
pub(crate) static REGISTRY: &[Entry] = &[
    formats::native::ENTRY,
    formats::csv::ENTRY,
    formats::msr::ENTRY,
    formats::spc::ENTRY,
    formats::alibaba::ENTRY,
    formats::tencent::ENTRY,
    formats::systor::ENTRY,
    formats::fiu::ENTRY,
    formats::k5cloud::ENTRY,
    formats::blkparse::ENTRY,
    formats::blktrace::ENTRY,
    formats::ftrace::ENTRY,
    formats::biosnoop::ENTRY,
    formats::fio::ENTRY,
    formats::disksim::DISKSIM,
    formats::disksim::SSDSIM,
    formats::disksim::MQSIM,
    formats::disksim::FLASHSIM,
    formats::usbmon::ENTRY,
    formats::usb_pcap::ENTRY,
    formats::vscsi::ENTRY,
    formats::srt::ENTRY,
    formats::blkreplay::ENTRY,
    formats::biotracer::ENTRY,
    formats::acsl::ENTRY,
    formats::wpaexporter::ENTRY,
    formats::xperf::ENTRY,
    formats::diskmon::ENTRY,
    formats::nbdkit::ENTRY,
    formats::nexus5::ENTRY,
    formats::rocksdb::ENTRY,
    formats::columns::ENTRY,
];

/// A trace format, by name: a row of the registry, with its columns where the user described them.
#[derive(Clone)]
pub struct Format {
    entry: &'static Entry,
    columns: Option<Arc<formats::columns::Spec>>,
}

impl Format {
    /// All formats, in the order they are listed to users.
    pub fn all() -> impl ExactSizeIterator<Item = Format> {
        REGISTRY.iter().map(Format::of)
    }

    /// The name it is chosen by, such as `msr`.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// One line: what it is, and its units.
    pub fn about(&self) -> &'static str {
        self.entry.about
    }

    /// Who defines it, or where such traces come from.
    pub fn source(&self) -> &'static str {
        self.entry.source
    }

    pub(crate) fn of(entry: &'static Entry) -> Format {
        Format { entry, columns: None }
    }

    pub(crate) fn entry(&self) -> &'static Entry {
        self.entry
    }

    pub(crate) fn open(&self, input: Input, cx: &Context) -> Result<Box<dyn Decode>, TraceError> {
        (self.entry.open)(Setup { input, cx, columns: self.columns.as_deref() })
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({self})")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.columns {
            Some(columns) => columns.fmt(f),
            None => f.write_str(self.name()),
        }
    }
}

impl FromStr for Format {
    type Err = TraceError;

    /// A name of [`Format::all`], or `columns:…` with the columns described.
    fn from_str(text: &str) -> Result<Format, TraceError> {
        let (name, spec) = match text.split_once(':') {
            Some((name, spec)) => (name, Some(spec)),
            None => (text, None),
        };
        let entry = REGISTRY.iter().find(|entry| entry.name == name);
        match (entry, spec) {
            (Some(entry), spec) if entry.name == formats::columns::ENTRY.name => {
                let spec = formats::columns::Spec::parse(spec.unwrap_or_default())?;
                Ok(Format { entry, columns: Some(Arc::new(spec)) })
            }
            (Some(entry), None) => Ok(Format::of(entry)),
            _ => Err(TraceError::Usage {
                what: format!("{text:?} is no trace format"),
                remedy: format!(
                    "say one of {}",
                    REGISTRY.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
                ),
            }),
        }
    }
}
