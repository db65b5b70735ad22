//! A table of any length, row by row.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use serde_json::Value;
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
    Csv,
    JsonLines,
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet::Rows>),
}

impl Rows {
    /// Opens the output, if it can take the form.
    pub fn open(form: TableFormat, path: Option<&Path>, table: Table) -> Result<Self, Failure> {
        let output = results::open_as(form == TableFormat::Parquet, path)?;
        let mut rows = Self { out: BufWriter::new(output), form: Form::JsonLines, table };
        match form {
            TableFormat::JsonLines => {}
            TableFormat::Csv => {
                rows.form = Form::Csv;
                let names =
                    rows.table.columns().into_iter().map(|column| Value::String(column.name));
                let names: Vec<_> = names.collect();
                rows.line(&names)?;
            }
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                let writer = super::parquet::Rows::new(rows.table.columns());
                rows.form = Form::Parquet(Box::new(rows.check(writer.map_err(io::Error::other))?));
            }
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => unreachable!("the output was not opened"),
        }
        Ok(rows)
    }

    /// Adds a row.
    pub fn write(
        &mut self,
        settings: &Settings,
        result: Result<Value, String>,
    ) -> Result<(), Failure> {
        let row = |result: &Result<Value, String>| {
            self.table.row(settings, result.as_ref().map_err(String::as_str))
        };
        match &mut self.form {
            Form::Csv => {
                let row = row(&result);
                self.line(&row)
            }
            Form::JsonLines => {
                let result = result.as_ref().map(Value::clone).map_err(String::as_str);
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
        #[cfg(feature = "parquet")]
        if let Form::Parquet(rows) = std::mem::replace(&mut self.form, Form::Csv) {
            let bytes = rows.finish().map_err(io::Error::other);
            let written = bytes.and_then(|bytes| self.out.write_all(&bytes));
            self.check(written)?;
        }
        let flushed = self.out.flush();
        self.check(flushed)?;
        let (output, _) = self.out.into_parts();
        output.finish()
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
