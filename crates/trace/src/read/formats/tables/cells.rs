//! The cells of a table as text.

use std::{borrow::Cow, fmt::Write as _};

use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Decimal256Type,
        DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
        DurationSecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, TimeUnit as ArrowUnit};

/// A column of a batch.
pub(super) struct Cells {
    /// For a dictionary column: the index of each row's value.
    keys: Option<Vec<usize>>,
    /// The column, or the values of its dictionary.
    values: ArrayRef,
    /// The original column, which has the null bitmap.
    rows: ArrayRef,
}

impl Cells {
    pub(super) fn of(column: &ArrayRef) -> Self {
        let rows = column.clone();
        match column.as_any_dictionary_opt().filter(|words| !words.values().is_empty()) {
            Some(words) => {
                let keys = Some(words.normalized_keys());
                Self { keys, values: words.values().clone(), rows }
            }
            None => Self { keys: None, values: column.clone(), rows },
        }
    }

    /// For a column with few words: the index of each row's word, and the words. Rows without a
    /// word have an index beyond all.
    pub(super) fn words(&self) -> Option<(Vec<usize>, Vec<String>)> {
        let keys = self.keys.as_ref()?;
        let text = |at: usize| {
            let mut text = String::new();
            write_cell(&*self.values, at, &mut text);
            text
        };
        let words: Vec<String> = (0..self.values.len()).map(text).collect();
        let key =
            |(row, key): (usize, &usize)| if self.rows.is_null(row) { words.len() } else { *key };
        Some((keys.iter().enumerate().map(key).collect(), words))
    }

    pub(super) fn write(&self, row: usize, out: &mut String) {
        if !self.rows.is_null(row) {
            write_cell(&*self.values, self.keys.as_ref().map_or(row, |keys| keys[row]), out);
        }
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Writes a cell as text. Writes nothing for a null, and for types that do not occur in traces.
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
        DataType::Duration(ArrowUnit::Second) => number::<DurationSecondType>(column, row, out),
        DataType::Duration(ArrowUnit::Millisecond) => {
            number::<DurationMillisecondType>(column, row, out)
        }
        DataType::Duration(ArrowUnit::Microsecond) => {
            number::<DurationMicrosecondType>(column, row, out)
        }
        DataType::Duration(ArrowUnit::Nanosecond) => {
            number::<DurationNanosecondType>(column, row, out)
        }
        DataType::Date64 => number::<Date64Type>(column, row, out),
        DataType::Date32 => {
            let days = i64::from(column.as_primitive::<Date32Type>().value(row));
            let _ = write!(out, "{}", days * 86_400);
        }
        // Whole numbers of SQL beyond 64 bits, and sums.
        DataType::Decimal128(..) => {
            out.push_str(&column.as_primitive::<Decimal128Type>().value_as_string(row));
        }
        DataType::Decimal256(..) => {
            out.push_str(&column.as_primitive::<Decimal256Type>().value_as_string(row));
        }
        DataType::Boolean => out.push(if column.as_boolean().value(row) { '1' } else { '0' }),
        DataType::Utf8 => out.push_str(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => out.push_str(column.as_string::<i64>().value(row)),
        DataType::Utf8View => out.push_str(column.as_string_view().value(row)),
        // Texts of Parquet whose writer did not mark them as such.
        DataType::Binary => out.push_str(&text(column.as_binary::<i32>().value(row))),
        DataType::LargeBinary => out.push_str(&text(column.as_binary::<i64>().value(row))),
        DataType::BinaryView => out.push_str(&text(column.as_binary_view().value(row))),
        _ => {}
    }
}
