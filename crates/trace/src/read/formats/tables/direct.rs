//! Reads rows of a table directly from its columns: whole numbers, and words for operations or
//! volumes.
//!
//! It handles typical rows, and stops before the first other row: a null, a negative number, a
//! fraction. That row is read as text.

use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType,
        DurationNanosecondType, DurationSecondType, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, TimeUnit as ArrowUnit};

use super::cells::Cells;
use crate::{
    Op, Request,
    read::{
        context::Context,
        fields::Field,
        layout::{Layout, OpRule, Unit},
        rwbs,
    },
};

/// The roles of the columns, and those of the batch.
pub(super) struct Direct {
    layout: Layout,
    batch: Option<Batch>,
}

/// The columns of a batch from which requests are made.
struct Batch {
    time: Option<ArrayRef>,
    offset: ArrayRef,
    size: ArrayRef,
    op: Ops,
    volume: Option<Cells>,
    hint: Option<ArrayRef>,
}

/// The operations of a batch.
enum Ops {
    Always(Op),
    /// By the word of each row. A word without an operation means that the row is read as text.
    Words(Words, Vec<Option<Op>>),
    /// By the text of each row.
    Texts(Cells),
}

/// The index of each row's word, of which there are few.
type Words = Vec<usize>;

impl Direct {
    pub(super) fn of(layout: &Layout) -> Self {
        Self { layout: layout.clone(), batch: None }
    }

    /// Begins a batch of these columns. Unused columns are `None`.
    pub(super) fn begin(&mut self, columns: &[Option<&ArrayRef>]) {
        self.batch = self.of_columns(columns);
    }

    fn of_columns(&self, columns: &[Option<&ArrayRef>]) -> Option<Batch> {
        let column = |at: usize| columns.get(at).copied().flatten();
        let numbers = |at: usize| column(at).filter(|one| is_whole(one.data_type())).cloned();
        let volume = match self.layout.volume {
            None => None,
            // A name in several columns is joined from their texts.
            Some((first, last)) if first != last => return None,
            Some((at, _)) => Some(Cells::of(column(at)?)),
        };
        let time = match self.layout.time {
            None => None,
            Some((at, _)) => Some(numbers(at)?),
        };
        let op = match &self.layout.op {
            OpRule::Always(op) => Ops::Always(*op),
            OpRule::Word(at) | OpRule::Chosen(at, _) => self.ops(column(*at)?),
            _ => return None,
        };
        let hint = match self.layout.hint {
            None => None,
            Some(at) => Some(numbers(at)?),
        };
        let (offset, size) = (numbers(self.layout.offset.0)?, numbers(self.layout.size.0)?);
        Some(Batch { time, offset, size, op, volume, hint })
    }

    /// The operations of a column. Each word is parsed once.
    fn ops(&self, column: &ArrayRef) -> Ops {
        let cells = Cells::of(column);
        match cells.words() {
            Some((keys, words)) => {
                Ops::Words(keys, words.iter().map(|word| self.op(word)).collect())
            }
            None => Ops::Texts(cells),
        }
    }

    /// The operation of a word. `None` if it is none, or if it makes a request of length zero a
    /// flush.
    fn op(&self, word: &str) -> Option<Op> {
        let field = Field::new(word.as_bytes(), 0, "");
        match &self.layout.op {
            OpRule::Chosen(_, words) => {
                words.iter().find(|(known, _)| **known == *field.bytes).map(|(_, op)| *op)
            }
            _ => {
                let may_flush = word.contains(['F', 'B']) && rwbs::is_word(field.bytes);
                field.op().ok().filter(|op| *op == Op::Flush || !may_flush)
            }
        }
    }

    /// Reads at most `most` rows up to the first untypical one. Returns their number.
    pub(super) fn read(
        &self,
        from: usize,
        most: usize,
        cx: &mut Context,
        out: &mut Vec<Request>,
    ) -> usize {
        let Some(batch) = &self.batch else { return 0 };
        let unit = self.layout.time.and_then(|(_, unit)| cx.time_unit(unit).nanoseconds());
        if self.layout.time.is_some() && unit.is_none() {
            return 0;
        }
        let bytes = |unit: Unit| match unit {
            Unit::Sector => Some(cx.sector()),
            Unit::Bytes(bytes) => Some(bytes),
            // Numeric columns are not hexadecimal text.
            Unit::Hex(_) => None,
        };
        let (Some(offset_unit), Some(size_unit)) =
            (bytes(self.layout.offset.1), bytes(self.layout.size.1))
        else {
            return 0;
        };
        let times = batch.time.as_ref().map(|column| numbers(column, from, most));
        let hints = batch.hint.as_ref().map(|column| numbers(column, from, most));
        let (offsets, sizes) =
            (numbers(&batch.offset, from, most), numbers(&batch.size, from, most));
        let (mut text, mut read) = (String::new(), 0);
        for row in 0..most {
            let request = || {
                let time_ns = match &times {
                    Some(times) => times.get(row)?.checked_mul(unit?)?,
                    None => 0,
                };
                let offset = offsets.get(row)?.checked_mul(offset_unit)?;
                let len = sizes.get(row)?.checked_mul(size_unit)?;
                offset.checked_add(len)?;
                let hint = match &hints {
                    Some(hints) => u16::try_from(*hints.get(row)?).ok()?,
                    None => 0,
                };
                Some((time_ns, offset, len, hint))
            };
            let Some((time_ns, mut offset, mut len, hint)) = request() else { break };
            let op = match &batch.op {
                Ops::Always(op) => Some(*op),
                Ops::Words(keys, words) => keys.get(from + row).and_then(|key| *words.get(*key)?),
                Ops::Texts(cells) => {
                    text.clear();
                    cells.write(from + row, &mut text);
                    self.op(&text)
                }
            };
            let Some(op) = op else { break };
            if op == Op::Flush {
                (offset, len) = (0, 0);
            }
            let volume = match &batch.volume {
                None => cx.volumes.named(b"0"),
                Some(cells) => {
                    text.clear();
                    cells.write(from + row, &mut text);
                    cx.volumes.named(Field::new(text.as_bytes(), 0, "").bytes)
                }
            };
            out.push(Request { time_ns, op, offset, len, volume, hint });
            read += 1;
        }
        read
    }
}

/// Whether a column has whole numbers, possibly with a unit.
fn is_whole(kind: &DataType) -> bool {
    kind.is_integer() || matches!(kind, DataType::Timestamp(..) | DataType::Duration(_))
}

/// The whole numbers of a column from a row on, up to the first other value.
fn numbers(column: &ArrayRef, from: usize, most: usize) -> Vec<u64> {
    fn of<T: ArrowPrimitiveType<Native: TryInto<u64>>>(rows: &dyn Array) -> Vec<u64> {
        let rows = rows.as_primitive::<T>();
        let good = |value: Option<T::Native>| value.and_then(|value| value.try_into().ok());
        rows.iter().map_while(good).collect()
    }
    let rows = &*column.slice(from, most);
    match rows.data_type() {
        DataType::UInt64 => of::<UInt64Type>(rows),
        DataType::UInt32 => of::<UInt32Type>(rows),
        DataType::UInt16 => of::<UInt16Type>(rows),
        DataType::UInt8 => of::<UInt8Type>(rows),
        DataType::Int64 => of::<Int64Type>(rows),
        DataType::Int32 => of::<Int32Type>(rows),
        DataType::Int16 => of::<Int16Type>(rows),
        DataType::Int8 => of::<Int8Type>(rows),
        DataType::Timestamp(ArrowUnit::Second, _) => of::<TimestampSecondType>(rows),
        DataType::Timestamp(ArrowUnit::Millisecond, _) => of::<TimestampMillisecondType>(rows),
        DataType::Timestamp(ArrowUnit::Microsecond, _) => of::<TimestampMicrosecondType>(rows),
        DataType::Timestamp(ArrowUnit::Nanosecond, _) => of::<TimestampNanosecondType>(rows),
        DataType::Duration(ArrowUnit::Second) => of::<DurationSecondType>(rows),
        DataType::Duration(ArrowUnit::Millisecond) => of::<DurationMillisecondType>(rows),
        DataType::Duration(ArrowUnit::Microsecond) => of::<DurationMicrosecondType>(rows),
        DataType::Duration(ArrowUnit::Nanosecond) => of::<DurationNanosecondType>(rows),
        _ => Vec::new(),
    }
}
