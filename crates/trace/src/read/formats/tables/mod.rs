//! Tables with named columns: Parquet files, and Arrow files and streams (IPC, Feather version 2).
//!
//! A description of `columns:…` has the same meaning as for text. Without one the columns are found
//! by their names. Time types with their own unit keep it. Rows of numbers and words are read
//! directly from the columns ([`direct`]). All others are written as lines of text and parsed, with
//! the same leniency and errors.
//!
//! A table in memory is read by the same rules. There, four names imply a unit: `time` in
//! nanoseconds, `op` also by number, `offset` and `length` in bytes. Without operations all
//! requests are writes.

mod cells;
mod direct;

use std::{
    fs::File,
    io::{self, Seek},
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit as ArrowUnit};
use parquet::arrow::{ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder};

use self::{cells::Cells, direct::Direct};
use super::columns::Spec;
use crate::{
    Place, Request, TraceError,
    read::{
        ReadOptions,
        context::Context,
        decode::Decode,
        entry::{Entry, Readers, Setup, Special},
        fault::Parsed,
        input::Input,
        layout::{CELL_END, Columns},
        lines::{self, LineFormat},
        sample::Hit,
        sniff::{self, Known},
        units::TimeUnit,
    },
};

const PARQUET_MAGIC: &[u8] = b"PAR1";
/// The start of an Arrow file. The stream in it follows.
const ARROW_MAGIC: &[u8] = b"ARROW1\0\0";
/// The start of a stream's first message. Its length follows.
const STREAM: [u8; 4] = [0xff; 4];

pub(super) const PARQUET: Entry = Entry {
    name: "parquet",
    about: "Parquet: columns found by their names, or as `columns` describes them",
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
    about: "Arrow IPC (Feather 2), file or stream: columns found by their names, or as `columns` describes them",
    source: "arrow.apache.org",
    special: Special::NONE,
    detect: |sample| is_arrow(sample.bytes).then_some(Hit { score: 100, from: "its magic number" }),
    open,
};

fn open(setup: Setup) -> Result<Readers, TraceError> {
    let time_unit = setup.time_unit;
    setup.each(|input| Table::open(input, None, time_unit))
}

/// Opens a table in memory.
pub(in crate::read) fn in_memory(
    schema: &Schema,
    batches: Vec<RecordBatch>,
    name: &Path,
    options: &ReadOptions,
) -> Result<Box<dyn Decode>, TraceError> {
    let spec = match &options.format {
        None => None,
        Some(format) => match format.argument() {
            Some(columns) => Some(Spec::parse(columns)?),
            None => return Err(super::no_format(format)),
        },
    };
    let table = Table::in_memory(name.to_owned(), schema, batches, spec, options.time_unit)?;
    Ok(Box::new(table))
}

/// Whether a file with this beginning is a table.
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

/// Number of rows read as text after an untypical one.
const TEXTS: usize = 64;

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// The rows of a table.
pub(super) struct Table {
    name: PathBuf,
    batches: Batches,
    /// The first batch, if it was read to find the columns.
    first: Option<RecordBatch>,
    /// Whether batches contain only the used columns.
    projected: bool,
    columns: Columns,
    /// Whether each column is used. Unused columns are read as empty cells.
    used: Vec<bool>,
    /// Remarks about the columns for the user.
    remarks: Vec<String>,
    batch: Vec<Option<Cells>>,
    direct: Direct,
    rows: usize,
    row: usize,
    /// Rows before this one are read as text.
    texts: usize,
    /// Rows read so far.
    number: u64,
    line: String,
}

impl Table {
    /// Opens a table. Without a description its columns are found by their names.
    pub(super) fn open(
        input: Input,
        spec: Option<Spec>,
        time_unit: Option<TimeUnit>,
    ) -> Result<Self, TraceError> {
        let name = input.path().to_owned();
        let is_parquet = input.window().starts_with(PARQUET_MAGIC);
        // The libraries would take arbitrary first bytes as a length and allocate as much memory.
        if !is_table(input.window()) {
            return Err(TraceError::Format {
                path: name,
                what: "is neither a Parquet nor an Arrow file".into(),
                remedy: "name its format by ‹trace-format›, or leave the choice to the reader"
                    .into(),
            });
        }
        let (schema, batches, projection) = if is_parquet { parquet(input) } else { arrow(input) }
            .map_err(|e| damaged(&name, &e))?;
        let units = own_units(&schema);
        let known = Known { time_unit, ..Known::default() };
        Self::of(name, &schema, batches, projection, spec, (units, known))
    }

    /// Opens a table in memory.
    fn in_memory(
        name: PathBuf,
        schema: &Schema,
        batches: Vec<RecordBatch>,
        spec: Option<Spec>,
        time_unit: Option<TimeUnit>,
    ) -> Result<Self, TraceError> {
        let mut units = own_units(schema);
        let at = |name: &str| schema.fields().iter().position(|field| field.name() == name);
        if let Some(at) = at("time")
            && schema.field(at).data_type().is_integer()
        {
            units[at] = Some(TimeUnit::Nanoseconds);
        }
        let length = ["length", "len", "size"].into_iter().find_map(at);
        let bytes =
            at("offset").zip(length).map_or_else(Vec::new, |(offset, length)| vec![offset, length]);
        let known = Known { time_unit, bytes, in_memory: true };
        Self::of(name, schema, Box::new(batches.into_iter().map(Ok)), None, spec, (units, known))
    }

    fn of(
        name: PathBuf,
        schema: &Schema,
        mut batches: Batches,
        projection: Option<Project>,
        spec: Option<Spec>,
        (units, known): (Vec<Option<TimeUnit>>, Known),
    ) -> Result<Self, TraceError> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let (mut first, mut remarks) = (None, Vec::new());
        let is_described = spec.is_some();
        let spec = match spec {
            Some(spec) => spec,
            None => {
                first = batches.next().transpose().map_err(|e| damaged(&name, &e))?;
                let rows = first.as_ref().map_or_else(Vec::new, sample);
                let description = description(&name, &names, &rows, &units, &known)?;
                let spec = Spec::parse(&description)?;
                // Thermocline's own names need no remark.
                if !known.in_memory || known.bytes.is_empty() {
                    remarks.push(format!("its columns were taken for ‹columns '{description}'›"));
                }
                if known.in_memory && description.contains("all=write") {
                    remarks.push("no column has operations: all are taken for writes".to_owned());
                }
                spec
            }
        };
        let mut layout = spec
            .layout_of_table(&names, CELL_END)
            .map_err(|fault| fault.at(&name, Place::Whole))?;
        if let Some((at, unit)) = &mut layout.time
            && let Some(own) = units.get(*at).copied().flatten()
            && (!is_described || own_unit(schema.field(*at).data_type()).is_some())
        {
            *unit = own;
        }
        let used: Vec<bool> = (0..layout.columns()).map(|at| layout.uses(at)).collect();
        let unused = (0..names.len()).filter(|at| !used.get(*at).is_some_and(|used| *used));
        let unused: Vec<&str> = unused.map(|at| &*names[at]).collect();
        if known.in_memory && !is_described && !unused.is_empty() {
            remarks.push(format!(
                "columns without a meaning for it are passed over: {}",
                unused.join(", ")
            ));
        }
        let projected = projection.is_some();
        if let Some(project) = projection {
            (batches, first) = (project(&used).map_err(|e| damaged(&name, &e))?, None);
        }
        Ok(Self {
            direct: Direct::of(&layout),
            columns: Columns::new(layout),
            batches,
            first,
            projected,
            used,
            remarks,
            batch: Vec::new(),
            rows: 0,
            row: 0,
            texts: 0,
            number: 0,
            line: String::new(),
            name,
        })
    }

    /// Reads the next batch of rows; false at the end.
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
        let mut column = |used: bool| {
            let column = if used || !self.projected { columns.next() } else { None };
            column.filter(|_| used)
        };
        let columns: Vec<_> = self.used.iter().map(|used| column(*used)).collect();
        self.direct.begin(&columns);
        self.batch = columns.into_iter().map(|column| column.map(Cells::of)).collect();
        (self.rows, self.row, self.texts) = (batch.num_rows(), 0, 0);
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
        for remark in self.remarks.drain(..) {
            cx.remark(remark);
        }
        while out.len() < limit {
            if self.row == self.rows {
                if self.next_batch()? {
                    continue;
                }
                return Ok(());
            }
            if self.row >= self.texts && !lines::is_slow() {
                let most = (limit - out.len()).min(self.rows - self.row);
                let read = self.direct.read(self.row, most, cx, out);
                self.row += read;
                self.number += read as u64;
                // The next row is untypical, and the rows after it may be too.
                self.texts = self.row + TEXTS;
                if read == most {
                    self.texts = self.row;
                    continue;
                }
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

fn damaged(name: &Path, error: &ArrowError) -> TraceError {
    TraceError::Format {
        path: name.to_owned(),
        what: error.to_string(),
        remedy: "the file is damaged; fetch it again".into(),
    }
}

/// The description of a table's columns, from their names and the first rows.
fn description(
    name: &Path,
    names: &[String],
    rows: &[Vec<String>],
    units: &[Option<TimeUnit>],
    known: &Known,
) -> Result<String, TraceError> {
    let failed = |what, remedy| Err(TraceError::Format { path: name.to_owned(), what, remedy });
    match sniff::table(names, rows, units, known) {
        Ok(Some(told)) => Ok(told.text),
        Ok(None) => failed(
            format!("its columns {} do not describe a trace", names.join(", ")),
            "say by ‹columns› which is what, such as \
             'time=timestamp:us,op=type:W/R,offset=lba:sectors,size=bytes'"
                .into(),
        ),
        Err(unclear) => {
            let remedy = unclear.remedy();
            failed(unclear.what, remedy)
        }
    }
}

/// Reopens a file with only the used columns.
type Project = Box<dyn FnOnce(&[bool]) -> Result<Batches, ArrowError>>;

/// Opens a Parquet file. Its directory is at the end, so a stream is first copied to a file.
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

/// Opens an Arrow file as the stream in it.
fn arrow(mut input: Input) -> Result<(Arc<Schema>, Batches, Option<Project>), ArrowError> {
    if input.window().starts_with(ARROW_MAGIC) {
        input.consume(ARROW_MAGIC.len());
        // Writers may pad the magic number to a larger alignment.
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

/// The units of time columns with their own unit.
fn own_units(schema: &Schema) -> Vec<Option<TimeUnit>> {
    schema.fields().iter().map(|field| own_unit(field.data_type())).collect()
}

/// The unit of a time type.
fn own_unit(kind: &DataType) -> Option<TimeUnit> {
    match kind {
        DataType::Date32 => Some(TimeUnit::Seconds),
        DataType::Date64 => Some(TimeUnit::Milliseconds),
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => Some(match unit {
            ArrowUnit::Second => TimeUnit::Seconds,
            ArrowUnit::Millisecond => TimeUnit::Milliseconds,
            ArrowUnit::Microsecond => TimeUnit::Microseconds,
            ArrowUnit::Nanosecond => TimeUnit::Nanoseconds,
        }),
        _ => None,
    }
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
