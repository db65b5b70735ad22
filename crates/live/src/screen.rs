//! A chip at work, or simulations, on a terminal.
//!
//! Names come from anywhere: control characters in them are replaced before they reach the terminal.

use std::{
    io::{self, Stderr, stderr},
    time::Duration,
};

use ratatui::{
    Frame, Terminal,
    backend::{CrosstermBackend, TestBackend},
    crossterm::{
        cursor::Show,
        event::{self, Event, KeyCode, KeyEventKind, KeyModifiers},
        execute,
        terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
    layout::{Constraint, Layout, Rect},
    style::{Color, Style, Stylize},
    text::{Line, Span},
    widgets::{Block, Paragraph, Sparkline},
};
use thermocline_ftl::{BlockState, BlockUse};

/// Values that a course keeps; more become fewer.
const KEPT: usize = 1024;
/// Lines of a panel that is shown at all.
const LEAST: u16 = 8;
/// Heights of a cell, from no valid pages to all.
const LEVELS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// A figure over time.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// What it is.
    pub name: &'static str,
    /// Its newest value, as people read it.
    pub newest: String,
    values: Vec<f64>,
    /// Values added for each that is kept, and those not kept yet.
    each: usize,
    waiting: Vec<f64>,
}

impl Course {
    /// A figure without values.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, each: 1, ..Self::default() }
    }

    /// Adds a value. The course stays bounded: when it is long, two become one.
    pub fn add(&mut self, value: f64, newest: String) {
        self.newest = newest;
        self.waiting.push(value);
        if self.waiting.len() >= self.each {
            self.values.push(mean(&self.waiting));
            self.waiting.clear();
        }
        if self.values.len() >= KEPT {
            self.values = self.values.chunks(2).map(mean).collect();
            self.each *= 2;
        }
    }

    /// As many columns as there is room for, the newest last, in thousandths.
    fn columns(&self, width: usize) -> Vec<u64> {
        let per_column = self.values.len().div_ceil(width.max(1)).max(1);
        let columns = self.values.rchunks(per_column).map(mean).collect::<Vec<_>>();
        columns.iter().rev().map(|value| (value * 1e3) as u64).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// A chip, or a simulation.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Its name.
    pub name: String,
    /// Figures of now: name and value.
    pub figures: Vec<(&'static str, String)>,
    /// Figures over time.
    pub courses: Vec<Course>,
    /// The blocks.
    pub blocks: Vec<BlockState>,
    /// Pages of a block.
    pub pages: u32,
}

/// Text without control characters and without marks that change the direction of others.
fn plain(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// Draws panels below one another, as many as there is room for.
fn draw(frame: &mut Frame<'_>, title: &str, panels: &[Panel]) {
    let [head, rest] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(frame.area());
    let shown = panels.len().min(usize::from(rest.height / LEAST).max(1));
    let more = panels.len() - shown;
    let more = if more > 0 { format!("  ({more} more)") } else { String::new() };
    frame.render_widget(Line::from(vec![plain(title).bold(), more.into()]), head);
    let areas = Layout::vertical(vec![Constraint::Fill(1); shown]).split(rest);
    for (panel, area) in panels.iter().zip(areas.iter()) {
        draw_panel(frame, panel, *area);
    }
}

fn draw_panel(frame: &mut Frame<'_>, panel: &Panel, area: Rect) {
    let border = Block::bordered().title(plain(&panel.name));
    let inside = border.inner(area);
    frame.render_widget(border, area);
    // Figures have the room that they need, as long as most is left for the blocks.
    let needed =
        panel.figures.iter().map(|(name, value)| name.chars().count() + 1 + value.chars().count());
    let least = inside.width * 45 / 100;
    let most = (inside.width * 60 / 100).min(inside.width.saturating_sub(1 + SIGN)).max(least);
    let wide = (needed.max().unwrap_or(0) as u16).clamp(least, most);
    let columns = [Constraint::Length(wide), Constraint::Length(1), Constraint::Fill(1)];
    let [left, _, right] = Layout::horizontal(columns).areas(inside);
    // Each course wants a line for its name and one for its bars; figures take what is left.
    let courses = panel.courses.len() as u16;
    let bars =
        (left.height.saturating_sub(panel.figures.len() as u16) / courses.max(1)).clamp(2, 5);
    let lines = [Constraint::Min(0), Constraint::Length(bars * courses)];
    let [figures, below] = Layout::vertical(lines).areas(left);
    let text = |(name, value): &(&'static str, String)| {
        let (value, width) = (plain(value), usize::from(left.width));
        // What is cut is the name: a number without its last digits is another number.
        let name = cut(name, width.saturating_sub(value.chars().count() + 1));
        let room = width.saturating_sub(name.chars().count() + 1);
        Line::from(vec![Span::raw(format!("{name} ")), format!("{value:>room$}").bold()])
    };
    frame
        .render_widget(Paragraph::new(panel.figures.iter().map(text).collect::<Vec<_>>()), figures);
    let areas = Layout::vertical(vec![Constraint::Length(bars); panel.courses.len()]).split(below);
    for (course, area) in panel.courses.iter().zip(areas.iter()) {
        let [name, line] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(*area);
        let newest = plain(&course.newest);
        let room = usize::from(name.width).saturating_sub(newest.chars().count() + 1);
        let label = format!("{} {newest}", cut(course.name, room));
        frame.render_widget(Line::raw(label), name);
        let bars = Sparkline::default().data(course.columns(line.width.into()));
        frame.render_widget(bars.style(Style::new().fg(Color::Blue)), line);
    }
    draw_map(frame, panel, right);
}

/// A text of so many letters at most.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) if most == 0 => String::new(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// Parts in lines of this width, none of them broken.
fn in_lines(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + part.chars().count() <= width => {
                *line += "  ";
                *line += part;
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

/// Columns of the longest sign below the map: `999 blocks a cell`.
const SIGN: u16 = 17;

/// The blocks in order; where there are more than cells, several share one.
fn draw_map(frame: &mut Frame<'_>, panel: &Panel, area: Rect) {
    let signs =
        ["height: valid pages", "· free", "o open", "x bad", "= records"].map(str::to_owned);
    let signs = |each: usize| {
        let share = (each > 1).then(|| format!("{each} blocks a cell"));
        in_lines(&signs.iter().cloned().chain(share).collect::<Vec<_>>(), area.width.into())
    };
    let below = signs(panel.blocks.len()).len();
    let cells = usize::from(area.width) * usize::from(area.height).saturating_sub(below);
    if cells == 0 || panel.blocks.is_empty() {
        return;
    }
    let each = panel.blocks.len().div_ceil(cells);
    let mut lines: Vec<Line<'_>> = panel
        .blocks
        .chunks(each)
        .map(|blocks| cell(blocks, panel.pages))
        .collect::<Vec<_>>()
        .chunks(area.width.into())
        .map(|row| Line::from(row.to_vec()))
        .collect();
    lines.extend(signs(each).into_iter().map(|line| Line::raw(line).dim()));
    frame.render_widget(Paragraph::new(lines), area);
}

fn cell(blocks: &[BlockState], pages: u32) -> Span<'static> {
    let most = |used: BlockUse| blocks.iter().filter(|b| b.used == used).count() * 2 > blocks.len();
    if most(BlockUse::Free) {
        return "·".dim();
    }
    if most(BlockUse::Open) {
        return "o".fg(Color::Cyan);
    }
    if most(BlockUse::Bad) {
        return "x".fg(Color::Red);
    }
    if most(BlockUse::Records) {
        return "=".dim();
    }
    let valid: u64 = blocks.iter().map(|b| u64::from(b.valid)).sum();
    let all = blocks.len() as u64 * u64::from(pages.max(1));
    let level = (valid * 8 + all / 2) / all;
    LEVELS[(level as usize).min(8)].fg(Color::Blue).bg(Color::Yellow)
}

/// The screen as text, for where there is no terminal.
#[must_use]
pub fn text(title: &str, panels: &[Panel], width: u16, height: u16) -> String {
    let mut terminal = match Terminal::new(TestBackend::new(width, height)) {
        Ok(terminal) => terminal,
        Err(never) => match never {},
    };
    match terminal.draw(|frame| draw(frame, title, panels)) {
        Ok(_) => {}
        Err(never) => match never {},
    }
    let buffer = terminal.backend().buffer();
    let line = |y| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol());
        format!("{}\n", cells.collect::<String>().trim_end())
    };
    (0..height).map(line).collect()
}

/// The terminal, as long as it is ours.
#[derive(Debug)]
pub struct Screen(Terminal<CrosstermBackend<Stderr>>);

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open() -> io::Result<Self> {
        enable_raw_mode()?;
        // From here on dropping it puts the terminal right.
        let screen = Self(Terminal::new(CrosstermBackend::new(stderr()))?);
        execute!(stderr(), EnterAlternateScreen)?;
        Ok(screen)
    }

    /// Draws panels.
    ///
    /// # Errors
    /// Those of the system.
    pub fn draw(&mut self, title: &str, panels: &[Panel]) -> io::Result<()> {
        self.0.draw(|frame| draw(frame, title, panels)).map(|_| ())
    }

    /// Waits so long for somebody to ask for the end: with q, Escape or Ctrl-C.
    ///
    /// # Errors
    /// Those of the system.
    pub fn is_to_end(&self, wait: Duration) -> io::Result<bool> {
        if !event::poll(wait)? {
            return Ok(false);
        }
        let Event::Key(key) = event::read()? else { return Ok(false) };
        let ctrl_c =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        let ends = ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc);
        Ok(key.kind == KeyEventKind::Press && ends)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(name: &str) -> Panel {
        let mut course = Course::new("write amplification");
        (0..3000).for_each(|n| course.add(f64::from(n), format!("{n}\u{1b}[2J")));
        let block = |used, valid| BlockState { used, valid, ..BlockState::default() };
        Panel {
            name: name.into(),
            figures: vec![("host pages", "1,234".into())],
            courses: vec![course],
            blocks: vec![
                block(BlockUse::Full, 64),
                block(BlockUse::Full, 32),
                block(BlockUse::Free, 0),
                block(BlockUse::Open, 3),
                block(BlockUse::Bad, 0),
                block(BlockUse::Records, 0),
            ],
            pages: 64,
        }
    }

    #[test]
    fn a_panel_shows_blocks_figures_and_no_control_characters() {
        let shown = text("chip\u{1b}[31m", &[panel("evil\u{7}\u{202e}name")], 100, 12);
        assert!(shown.contains("█▄·ox="), "{shown}");
        assert!(shown.contains("1,234") && shown.contains("write amplification 2999"), "{shown}");
        assert!(
            shown.chars().all(|c| c == '\n' || plain(&c.to_string()) == c.to_string()),
            "{shown:?}"
        );
    }

    #[test]
    fn numbers_have_all_their_digits_at_eighty_columns_and_less() {
        let figures = vec![
            ("write amplification since mount", "123.456".into()),
            ("host pages written", "1,234,567,890,123".into()),
        ];
        let mut panel = Panel { figures, ..panel("chip") };
        panel.blocks = panel.blocks.repeat(2000);
        for width in [40, 60, 80, 120] {
            let shown = text("top", &[panel.clone()], width, 26);
            for number in ["123.456", "1,234,567,890,123", "2999", "blocks a cell", "= records"] {
                assert!(shown.contains(number), "{number} at {width}: {shown}");
            }
        }
        assert!(text("top", &[panel], 80, 26).contains("write amplification since mount"));
    }

    #[test]
    fn what_finds_no_room_is_counted_and_courses_stay_bounded() {
        let panels: Vec<_> = (0..5).map(|n| panel(&n.to_string())).collect();
        assert!(text("", &panels, 80, 24).contains("(3 more)"));
        assert!(panels[0].courses[0].values.len() < KEPT);
        assert!(panels[0].courses[0].columns(40).len() <= 40);
        let _ = text("", &panels, 1, 1);
    }
}
