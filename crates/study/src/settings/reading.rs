//! How a trace is read.

use clap::{
    Args,
    builder::{PossibleValue, TypedValueParser},
};
use thermocline_trace::read::{Action, Format, ReadOptions, TimeUnit};

use super::values;

const HEADING: &str = "Reading a trace";

/// What the user says about a trace's file.
#[derive(Args, Debug)]
pub struct ReadingArgs {
    /// Format of the trace [default: guessed; `thermocline trace formats` lists them].
    #[arg(long, value_name = "NAME", value_parser = FormatParser, help_heading = HEADING)]
    #[arg(hide_possible_values = true)]
    pub trace_format: Option<Format>,
    /// Columns of a trace in an unknown format, by number or by the names of its header, such as
    /// `time=1:us,op=2:W/R,offset=3:sectors,size=4` or `time=when,op=rw,offset=addr:hex,size=len`; dates
    /// need no unit [default: guessed from a header].
    #[arg(long, value_name = "SPEC", conflicts_with = "trace_format", help_heading = HEADING)]
    #[arg(value_parser = |spec: &str| values::trace_format(&format!("columns:{spec}")))]
    pub columns: Option<Format>,
    /// Event that represents a blkparse, blktrace or ftrace request: Q (queued), D (issued) or C
    /// (completed) [default: D if there are any, otherwise Q].
    #[arg(long, value_name = "EVENT", help_heading = HEADING)]
    pub action: Option<Action>,
    /// Swap reads and writes.
    #[arg(long, help_heading = HEADING)]
    pub invert_ops: bool,
    /// Unit of the time column: ps, ns, 100ns, us, ms or s [default: the format's].
    #[arg(long, value_name = "UNIT", help_heading = HEADING)]
    pub time_unit: Option<TimeUnit>,
    /// Bytes of a sector [default: the format's].
    #[arg(long, value_name = "SIZE", value_parser = sector_size, help_heading = HEADING)]
    pub sector_size: Option<u32>,
    /// Skip malformed lines, and report how many there were.
    #[arg(long, help_heading = HEADING)]
    pub skip_bad_lines: bool,
}

impl ReadingArgs {
    /// The options of the readers.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.trace_format.clone().or_else(|| self.columns.clone()),
            action: self.action,
            invert_ops: self.invert_ops,
            time_unit: self.time_unit,
            sector_size: self.sector_size,
            skip_bad_lines: self.skip_bad_lines,
            ..ReadOptions::default()
        }
    }
}

fn sector_size(text: &str) -> Result<u32, String> {
    u32::try_from(values::size(text)?).map_err(|_| "a sector must be smaller than 4GiB".into())
}

/// A format by name; shells complete the names.
#[derive(Clone)]
struct FormatParser;

impl TypedValueParser for FormatParser {
    type Value = Format;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Format, clap::Error> {
        TypedValueParser::parse_ref(&values::trace_format, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Format::all().map(|f| PossibleValue::new(f.name()).help(f.about()))))
    }
}
