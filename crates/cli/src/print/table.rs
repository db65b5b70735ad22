//! Tables: lists of rows, and pairs of a name and a value.

use std::ops::RangeInclusive;

use comfy_table::{
    Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets,
};

use crate::output::Output;

const RULE: LineStyle = LineStyle::new('─', '─', '─', '─');
const RULED: TableStyle =
    TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);

/// A list of rows under a header.
pub struct Sheet(Table);

impl Sheet {
    /// An empty table; on a terminal it will be as wide as that, elsewhere as wide as it needs.
    pub fn new(header: &[&str], output: &Output) -> Self {
        let mut table = plain(output);
        table.load_style(RULED);
        table.set_header(header.iter().map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
        Self(table)
    }

    /// Numbers stand to the right.
    pub fn align_right(&mut self, columns: RangeInclusive<usize>) {
        for column in columns {
            if let Some(column) = self.0.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.0.add_row(cells.into_iter().map(Into::into).collect::<Vec<Cell>>());
    }

    /// The table as text, with styles.
    pub fn finish(self) -> String {
        render(self.0)
    }
}

/// Names and values in groups.
pub struct Pairs(Table);

impl Pairs {
    /// An empty list.
    pub fn new(output: &Output) -> Self {
        let mut table = plain(output);
        table.load_style(presets::NOTHING);
        Self(table)
    }

    /// Begins a group.
    pub fn group(&mut self, title: &str) {
        self.0.add_row([Cell::new(title).add_attribute(Attribute::Bold)]);
    }

    /// Adds a pair to the group.
    pub fn add(&mut self, name: &str, value: impl Into<String>) {
        self.0.add_row([format!("  {name}"), value.into()]);
    }

    /// The list as text, with styles.
    pub fn finish(mut self) -> String {
        for column in self.0.column_iter_mut() {
            column.set_padding((0, 2));
        }
        render(self.0)
    }
}

/// A line above a table, with styles.
pub fn heading(text: &str) -> String {
    format!("\u{1b}[1m{text}\u{1b}[0m")
}

fn plain(output: &Output) -> Table {
    let mut table = Table::new();
    let narrow = output.is_terminal();
    table.set_content_arrangement(if narrow {
        ContentArrangement::Dynamic
    } else {
        ContentArrangement::Disabled
    });
    table.enforce_styling();
    table.style_text_only();
    table
}

/// Lines without the padding behind them.
fn render(table: Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}
