//! Tables with named columns: Parquet files, and Arrow files and streams (IPC, Feather version 2).
//!
//! Each row is written as a line of text and read as the rows of `columns:…`: a description means the same here
//! and there, and without one the columns are found by their names. Times that have a unit of their own keep it.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Seek},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type,
        Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
        TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
        UInt64Type,
    },
};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit as ArrowUnit};
use parquet::arrow::{ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder};

use super::columns::Spec;
use crate::{
    Place, Request, TraceError,
    read::{
        context::Context,
        decode::Decode,
        entry::{Entry, Readers, Setup, Special},
        fault::Parsed,
        input::Input,
        layout::{CELL_END, Columns},
        lines::LineFormat,
        sample::Hit,
        sniff,
        units::TimeUnit,
    },
};

const PARQUET_MAGIC: &[u8] = b"PAR1";
/// An Arrow file begins so; the stream that it holds follows.
const ARROW_MAGIC: &[u8] = b"ARROW1\0\0";
/// A stream's first message begins so; its length follows.
const STREAM: [u8; 4] = [0xff; 4];

pub(super) const PARQUET: Entry = Entry {
    name: "parquet",
    about: "Parquet: columns found by their names, or described by --columns",
    source: "parquet.apache.org",
    special: Special::NONE,
    detect: |sample| {
        sample
            .bytes
            .starts_with(PARQUET_MAGIC)
            .then_some(Hit { score: 100, from: "its magic number" })
    },
    open,
};

pub(super) const ARROW: Entry = Entry {
    name: "arrow",
    about: "Arrow IPC (Feather 2), file or stream: columns found by their names, or described by --columns",
    source: "arrow.apache.org",
    special: Special::NONE,
    detect: |sample| is_arrow(sample.bytes).then_some(Hit { score: 100, from: "its magic number" }),
    open,
};

fn open(setup: Setup) -> Result<Readers, TraceError> {
    let time_unit = setup.time_unit;
    setup.each(|input| Table::open(input, None, time_unit))
}

/// Whether a file that begins so is a table.
pub(super) fn is_table(bytes: &[u8]) -> bool {
    bytes.starts_with(PARQUET_MAGIC) || is_arrow(bytes)
}

fn is_arrow(bytes: &[u8]) -> bool {
    let is_stream = || match bytes {
        [a, b, c, d, e, f, g, h, ..] => {
            let length = u32::from_le_bytes([*e, *f, *g, *h]);
            [*a, *b, *c, *d] == STREAM && length > 0 && length < 1 << 24 && length.is_multiple_of(8)
        }
        _ => false,
    };
    bytes.starts_with(ARROW_MAGIC) || is_stream()
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// The rows of a table.
pub(super) struct Table {
    name: std::path::PathBuf,
    batches: Batches,
    /// The first batch, if it was read to tell the columns.
    first: Option<RecordBatch>,
    /// Batches have only the columns that are used.
    projected: bool,
    columns: Columns,
    /// Which columns are used; the others are empty cells.
    used: Vec<bool>,
    /// The description that was found.
    found: Option<String>,
    batch: Vec<Option<Cells>>,
    rows: usize,
    row: usize,
    /// Rows read so far.
    number: u64,
    line: String,
}

impl Table {
    /// Opens a table; without a description its columns are found by their names.
    pub(super) fn open(
        input: Input,
        spec: Option<Spec>,
        time_unit: Option<TimeUnit>,
    ) -> Result<Self, TraceError> {
        let name = input.path().to_owned();
        let failed = |what: String, remedy: &str| TraceError::Format {
            path: name.clone(),
            what,
            remedy: remedy.into(),
        };
        let damaged = |e: ArrowError| failed(e.to_string(), "the file is damaged; fetch it again");
        let is_parquet = input.window().starts_with(PARQUET_MAGIC);
        // The libraries take the first bytes of anything for a length, and ask for as much memory.
        if !is_table(input.window()) {
            let what = "is neither a Parquet nor an Arrow file".into();
            return Err(failed(
                what,
                "name its format by --format, or leave the choice to the reader",
            ));
        }
        let (schema, mut batches, projection) =
            if is_parquet { parquet(input) } else { arrow(input) }.map_err(damaged)?;
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let units = own_units(&schema);
        let (mut first, mut found) = (None, None);
        let spec = match spec {
            Some(spec) => spec,
            None => {
                first = batches.next().transpose().map_err(damaged)?;
                let rows = first.as_ref().map_or_else(Vec::new, sample);
                let told = sniff::table(&names, &rows, &units, time_unit).map_err(|unclear| {
                    let sniff::Unclear { what, example, others } = unclear;
                    failed(what, &format!("say which by --columns '{example}', with {others}"))
                })?;
                let description = told.map(|told| told.text).ok_or_else(|| {
                    failed(
                        format!("its columns {} do not tell a trace", names.join(", ")),
                        "say by --columns which is what, such as \
                         'time=timestamp:us,op=type:W/R,offset=lba:sectors,size=bytes'",
                    )
                })?;
                let spec = Spec::parse(&description)?;
                found = Some(description);
                spec
            }
        };
        let mut layout = spec
            .layout_of_table(&names, CELL_END)
            .map_err(|fault| fault.at(&name, Place::Whole))?;
        if let Some((at, unit)) = &mut layout.time
            && let Some(own) = units.get(*at).copied().flatten()
        {
            *unit = own;
        }
        let used: Vec<bool> = (0..layout.columns()).map(|at| layout.uses(at)).collect();
        let projected = projection.is_some();
        if let Some(project) = projection {
            (batches, first) = (project(&used).map_err(damaged)?, None);
        }
        Ok(Self {
            columns: Columns::new(layout),
            batches,
            first,
            projected,
            used,
            found,
            batch: Vec::new(),
            rows: 0,
            row: 0,
            number: 0,
            line: String::new(),
            name,
        })
    }

    /// The next batch of rows; false at the end.
    fn next_batch(&mut self) -> Result<bool, TraceError> {
        let next = self.first.take().map(Ok).or_else(|| self.batches.next());
        let Some(batch) = next.transpose().map_err(|e| TraceError::Malformed {
            path: self.name.clone(),
            place: Place::Line(self.number + 1),
            what: e.to_string(),
            remedy: "the file is damaged; fetch it again".into(),
        })?
        else {
            return Ok(false);
        };
        let mut columns = batch.columns().iter();
        let mut cells = |used: bool| {
            let column = if used || !self.projected { columns.next() } else { None };
            column.filter(|_| used).map(Cells::of)
        };
        self.batch = self.used.iter().map(|used| cells(*used)).collect();
        (self.rows, self.row) = (batch.num_rows(), 0);
        Ok(true)
    }

    /// Writes the current row as a line.
    fn write_line(&mut self) {
        self.line.clear();
        for (at, cells) in self.batch.iter().enumerate() {
            if at > 0 {
                self.line.push(char::from(CELL_END));
            }
            if let Some(cells) = cells {
                cells.write(self.row, &mut self.line);
            }
        }
    }
}

impl Decode for Table {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        if let Some(found) = self.found.take() {
            cx.remark(format!("its columns were taken for --columns '{found}'"));
        }
        while out.len() < limit {
            if self.row == self.rows {
                if self.next_batch()? {
                    continue;
                }
                return Ok(());
            }
            self.write_line();
            self.row += 1;
            self.number += 1;
            let read: Parsed<_> = self.columns.line(self.line.as_bytes(), cx);
            match read {
                Ok(request) => out.extend(request),
                Err(fault) if cx.tolerate(self.number, &fault) => {}
                Err(fault) => return Err(fault.at(&self.name, Place::Line(self.number))),
            }
        }
        Ok(())
    }
}

/// Opens the batches of a file again, with the columns that are used alone.
type Project = Box<dyn FnOnce(&[bool]) -> Result<Batches, ArrowError>>;

/// A Parquet file, whose directory is at its end: one that is no plain file is copied first.
fn parquet(mut input: Input) -> Result<(Arc<Schema>, Batches, Option<Project>), ArrowError> {
    let file = match plain_file(&input) {
        Some(file) => file,
        None => {
            let mut copy = tempfile::tempfile()?;
            io::copy(&mut input, &mut copy)?;
            copy
        }
    };
    let again = file.try_clone()?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let schema = builder.schema().clone();
    let project: Project = Box::new(|used| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(again)?;
        let roots = (0..used.len()).filter(|at| used[*at]);
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
        Ok(Box::new(builder.with_projection(mask).build()?))
    });
    Ok((schema, Box::new(builder.build()?), Some(project)))
}

/// The file of an input that is neither compressed nor a pipe.
fn plain_file(input: &Input) -> Option<File> {
    let mut file = File::open(input.path())
        .ok()
        .filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    let mut magic = [0; PARQUET_MAGIC.len()];
    io::Read::read_exact(&mut file, &mut magic).ok()?;
    file.rewind().ok()?;
    (magic == PARQUET_MAGIC).then_some(file)
}

/// An Arrow file is read as the stream that it holds.
fn arrow(mut input: Input) -> Result<(Arc<Schema>, Batches, Option<Project>), ArrowError> {
    if input.window().starts_with(ARROW_MAGIC) {
        input.consume(ARROW_MAGIC.len());
        // Writers may pad the magic number to a longer alignment.
        while input.window().starts_with(&[0; 8]) {
            input.consume(8);
        }
    }
    if !is_arrow(input.window()) {
        return Err(ArrowError::ParseError("no stream follows the magic number".into()));
    }
    let reader = StreamReader::try_new(input, None)?;
    Ok((reader.schema(), Box::new(reader), None))
}

/// The units of the columns that are times with a unit of their own.
fn own_units(schema: &Schema) -> Vec<Option<TimeUnit>> {
    let unit = |kind: &DataType| match kind {
        DataType::Timestamp(ArrowUnit::Second, _) | DataType::Date32 => Some(TimeUnit::Seconds),
        DataType::Timestamp(ArrowUnit::Millisecond, _) | DataType::Date64 => {
            Some(TimeUnit::Milliseconds)
        }
        DataType::Timestamp(ArrowUnit::Microsecond, _) => Some(TimeUnit::Microseconds),
        DataType::Timestamp(ArrowUnit::Nanosecond, _) => Some(TimeUnit::Nanoseconds),
        _ => None,
    };
    schema.fields().iter().map(|field| unit(field.data_type())).collect()
}

/// The first rows of a batch as texts.
fn sample(batch: &RecordBatch) -> Vec<Vec<String>> {
    let columns: Vec<_> = batch.columns().iter().map(Cells::of).collect();
    let text = |cells: &Cells, row: usize| {
        let mut text = String::new();
        cells.write(row, &mut text);
        text
    };
    (0..batch.num_rows().min(500))
        .map(|row| columns.iter().map(|cells| text(cells, row)).collect())
        .collect()
}

/// A column of a batch.
struct Cells {
    /// Of a column of words: which of the values each row has.
    keys: Option<Vec<usize>>,
    /// The column, or its words.
    values: ArrayRef,
    /// The column itself, which knows its empty cells.
    rows: ArrayRef,
}

impl Cells {
    fn of(column: &ArrayRef) -> Self {
        let rows = column.clone();
        match column.as_any_dictionary_opt().filter(|words| !words.values().is_empty()) {
            Some(words) => {
                let keys = Some(words.normalized_keys());
                Self { keys, values: words.values().clone(), rows }
            }
            None => Self { keys: None, values: column.clone(), rows },
        }
    }

    fn write(&self, row: usize, out: &mut String) {
        if !self.rows.is_null(row) {
            write_cell(&*self.values, self.keys.as_ref().map_or(row, |keys| keys[row]), out);
        }
    }
}

/// Writes a cell as text; nothing for an empty one, and for what no trace has.
fn write_cell(column: &dyn Array, row: usize, out: &mut String) {
    fn number<T: ArrowPrimitiveType<Native: std::fmt::Display>>(
        column: &dyn Array,
        row: usize,
        out: &mut String,
    ) {
        let _ = write!(out, "{}", column.as_primitive::<T>().value(row));
    }
    if column.is_null(row) {
        return;
    }
    match column.data_type() {
        DataType::Int64 => number::<Int64Type>(column, row, out),
        DataType::UInt64 => number::<UInt64Type>(column, row, out),
        DataType::Int32 => number::<Int32Type>(column, row, out),
        DataType::UInt32 => number::<UInt32Type>(column, row, out),
        DataType::Int16 => number::<Int16Type>(column, row, out),
        DataType::UInt16 => number::<UInt16Type>(column, row, out),
        DataType::Int8 => number::<Int8Type>(column, row, out),
        DataType::UInt8 => number::<UInt8Type>(column, row, out),
        DataType::Float64 => number::<Float64Type>(column, row, out),
        DataType::Float32 => number::<Float32Type>(column, row, out),
        DataType::Timestamp(ArrowUnit::Second, _) => {
            number::<TimestampSecondType>(column, row, out)
        }
        DataType::Timestamp(ArrowUnit::Millisecond, _) => {
            number::<TimestampMillisecondType>(column, row, out)
        }
        DataType::Timestamp(ArrowUnit::Microsecond, _) => {
            number::<TimestampMicrosecondType>(column, row, out)
        }
        DataType::Timestamp(ArrowUnit::Nanosecond, _) => {
            number::<TimestampNanosecondType>(column, row, out)
        }
        DataType::Date64 => number::<Date64Type>(column, row, out),
        DataType::Date32 => {
            let days = i64::from(column.as_primitive::<Date32Type>().value(row));
            let _ = write!(out, "{}", days * 86_400);
        }
        DataType::Boolean => out.push(if column.as_boolean().value(row) { '1' } else { '0' }),
        DataType::Utf8 => out.push_str(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => out.push_str(column.as_string::<i64>().value(row)),
        DataType::Utf8View => out.push_str(column.as_string_view().value(row)),
        _ => {}
    }
}
