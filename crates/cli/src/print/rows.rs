//! A table of any length, row by row.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use serde_json::Value;
use thermocline_sim::result::StoredResult;
use thermocline_sweep::{Settings, Table, csv_line};

use super::results;
use crate::{args::sweep::TableFormat, exit::Failure, output::Output};

/// A table that is being written.
pub struct Rows {
    table: Table,
    out: BufWriter<Output>,
    form: Form,
}

enum Form {
    /// Whether the header is written: only with a row, so that what fails before leaves nothing.
    Csv {
        begun: bool,
    },
    JsonLines,
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet::Rows>),
}

impl Rows {
    /// Opens the output, if it can take the form.
    pub fn open(form: TableFormat, path: Option<&Path>, table: Table) -> Result<Self, Failure> {
        let output = results::open_as(form == TableFormat::Parquet, path)?;
        let form = match form {
            TableFormat::JsonLines => Form::JsonLines,
            TableFormat::Csv => Form::Csv { begun: false },
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                let rows = super::parquet::Rows::new(table.columns()).map_err(io::Error::other);
                Form::Parquet(Box::new(output.check(rows)?))
            }
            TableFormat::Table => {
                return Err(Failure::usage(
                    "a search writes rows; take --format csv, jsonl or parquet",
                ));
            }
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => unreachable!("the output was not opened"),
        };
        Ok(Self { out: BufWriter::new(output), form, table })
    }

    /// Adds a row.
    pub fn write(
        &mut self,
        settings: &Settings,
        result: Result<StoredResult, String>,
    ) -> Result<(), Failure> {
        let row = |result: &Result<StoredResult, String>| {
            self.table.row(settings, result.as_ref().map_err(String::as_str))
        };
        match &mut self.form {
            Form::Csv { .. } => {
                let row = row(&result);
                self.header()?;
                self.line(&row)
            }
            Form::JsonLines => {
                let result = result.as_ref().cloned().map_err(String::as_str);
                let text = self.table.object(settings, result).to_string();
                let written = writeln!(self.out, "{text}");
                self.check(written)
            }
            #[cfg(feature = "parquet")]
            Form::Parquet(rows) => {
                let row = row(&result);
                let written = rows.write(row).map_err(io::Error::other);
                self.check(written)
            }
        }
    }

    /// Makes the table appear.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.header()?;
        #[cfg(feature = "parquet")]
        if let Form::Parquet(rows) = std::mem::replace(&mut self.form, Form::JsonLines) {
            let bytes = rows.finish().map_err(io::Error::other);
            let written = bytes.and_then(|bytes| self.out.write_all(&bytes));
            self.check(written)?;
        }
        let flushed = self.out.flush();
        self.check(flushed)?;
        let (output, _) = self.out.into_parts();
        output.finish()
    }

    fn header(&mut self) -> Result<(), Failure> {
        if let Form::Csv { begun } = &mut self.form
            && !std::mem::replace(begun, true)
        {
            let columns = self.table.columns().into_iter();
            let names: Vec<_> = columns.map(|column| Value::String(column.name)).collect();
            self.line(&names)?;
        }
        Ok(())
    }

    fn line(&mut self, cells: &[Value]) -> Result<(), Failure> {
        let mut line = String::new();
        csv_line(&mut line, cells);
        let written = self.out.write_all(line.as_bytes());
        self.check(written)
    }

    fn check<T>(&self, result: io::Result<T>) -> Result<T, Failure> {
        self.out.get_ref().check(result)
    }
}
