//! Tables: lists of rows, and pairs of a name and a value.

use std::ops::RangeInclusive;

use anstream::adapter::strip_str;
use comfy_table::{
    Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets,
};

use crate::output::Output;

const RESET: &str = "\u{1b}[0m";
const RULE: LineStyle = LineStyle::new('─', '─', '─', '─');
const RULED: TableStyle =
    TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);

/// The mark of the best value of a column.
pub const MARK: &str = "*";

/// The default width of a line, in characters.
pub const USUAL_WIDTH: usize = 80;

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

/// Rows of figures that must not be broken: where a terminal is too narrow for them, rows become
/// columns.
pub struct Figures {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Figures {
    /// An empty table. The first column names the rows; a header may have several lines.
    pub fn new(header: impl IntoIterator<Item = String>) -> Self {
        Self { header: header.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as text, with styles, for a screen of this width if there is one.
    pub fn finish(&self, screen: Option<usize>) -> String {
        let wide = Self::render(&self.header, self.rows.clone());
        if screen.is_none_or(|screen| width(&wide) <= screen) {
            return wide;
        }
        let mut header = vec![self.header[0].clone()];
        header.extend(self.rows.iter().map(|row| row[0].content()));
        let column = |at: usize| {
            let name = Cell::new(self.header[at].replace('\n', " "));
            [name].into_iter().chain(self.rows.iter().map(move |row| row[at].clone())).collect()
        };
        Self::render(&header, (1..self.header.len()).map(column).collect())
    }

    /// The table as Markdown, without styles.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(self.header.iter().map(|name| name.replace('\n', " ")).collect());
        text += &format!("|---|{}\n", "---:|".repeat(self.header.len().saturating_sub(1)));
        for row in &self.rows {
            let cell = |cell: &Cell| match cell.content().trim().strip_suffix(MARK) {
                Some(best) => format!("**{best}**"),
                None => cell.content().trim().to_owned(),
            };
            text += &line(row.iter().map(cell).collect());
        }
        text + "\n"
    }

    fn render(header: &[String], rows: Vec<Vec<Cell>>) -> String {
        let mut table = styled();
        table.load_style(RULED);
        // Figures have room for a mark behind them.
        let title = |(i, name): (usize, &String)| {
            let room = if i > 0 { name.replace('\n', " \n") + " " } else { name.clone() };
            Cell::new(room).add_attribute(Attribute::Bold)
        };
        table.set_header(header.iter().enumerate().map(title));
        for row in rows {
            table.add_row(row);
        }
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((u16::from(i == 0), u16::from(i == 0)));
            if i > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        render(table)
    }
}

/// Characters in the longest line of a text, styles left out.
pub fn width(text: &str) -> usize {
    let plain = strip_str(text).to_string();
    plain.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Names with a text below each, for screens of any width.
pub struct Listing {
    text: String,
    width: usize,
}

impl Listing {
    /// An empty list for lines of `width` characters.
    pub fn new(width: usize) -> Self {
        Self { text: String::new(), width }
    }

    /// Adds a name, what stands beside it, and paragraphs below it.
    pub fn entry<'a>(
        &mut self,
        name: &str,
        beside: &str,
        below: impl IntoIterator<Item = &'a str>,
    ) {
        let beside = if beside.is_empty() { String::new() } else { format!("  {beside}") };
        let first = wrap_with(&format!("{name}{beside}"), self.width, "    ");
        let named = match first.strip_prefix(name) {
            Some(rest) => format!("{}{rest}", heading(name)),
            None => first,
        };
        self.text += &(named + "\n");
        for paragraph in below.into_iter().filter(|paragraph| !paragraph.is_empty()) {
            let text = wrap_with(&format!("    {paragraph}"), self.width, "    ");
            self.text += &(text + "\n");
        }
    }

    /// The list as text, with styles.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A text with its lines broken between words; words that are longer than a line are not broken.
pub fn wrap(text: &str, width: usize) -> String {
    wrap_with(text, width, "")
}

/// As `wrap`, with an indent of continued lines.
fn wrap_with(text: &str, width: usize, indent: &str) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let lead = line.len() - line.trim_start().len();
        let mut words = line.trim_start().split(' ');
        let mut current = format!("{}{}", &line[..lead], words.next().unwrap_or_default());
        for word in words {
            if current.chars().count() + 1 + word.chars().count() > width {
                lines.push(current.trim_end().to_owned());
                current = format!("{indent}{word}");
            } else {
                current += " ";
                current += word;
            }
        }
        lines.push(current.trim_end().to_owned());
    }
    lines.join("\n")
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
    format!("\u{1b}[1m{text}{RESET}")
}

fn plain(output: &Output) -> Table {
    let mut table = styled();
    if let Some(width) = output.width() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table
}

fn styled() -> Table {
    let mut table = Table::new();
    table.enforce_styling();
    table.style_text_only();
    table
}

/// Lines without the padding behind them, styled or not.
fn render(table: Table) -> String {
    let trimmed = |line: String| match line.trim_end().strip_suffix(RESET) {
        Some(styled) => format!("{}{RESET}\n", styled.trim_end()),
        None => format!("{}\n", line.trim_end()),
    };
    table.lines().map(trimmed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("one two three\nfour", 8), "one two\nthree\nfour");
        assert_eq!(wrap("incomprehensibilities", 8), "incomprehensibilities");
        assert_eq!(wrap("", 8), "");
        assert_eq!(wrap_with("name  what it is", 10, "    "), "name  what\n    it is");
        let mut list = Listing::new(12);
        list.entry("name", "", ["a few words", ""]);
        assert_eq!(strip_str(&list.finish()).to_string(), "name\n    a few\n    words\n");
    }

    #[test]
    fn markdown_tables_have_a_ruler_and_bold_bests() {
        let mut figures = Figures::new(["policy", "write\namplif."].map(str::to_owned));
        figures.row(["greedy", "1.500 "]);
        figures.row(["cat", "1.200*"]);
        let expected = "| policy | write amplif. |\n|---|---:|\n| greedy | 1.500 |\n\
                        | cat | **1.200** |\n\n";
        assert_eq!(figures.markdown(), expected);
    }
}
