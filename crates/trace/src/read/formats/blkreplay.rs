//! blkreplay `.load`: a preamble, then `seconds ; sector ; sectors ; R|W ; delay ; duration`.

use crate::{
    Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::Parsed,
        layout::{Columns, Layout, OpRule, Separator, Unit},
        lines::LineFormat,
        row::{Quick, Row},
        units::TimeUnit,
    },
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b';'),
    names: &["start", "sector", "length", "op", "replay_delay", "replay_duration"],
    time: Some((0, TimeUnit::Seconds)),
    op: OpRule::Word(3),
    offset: (1, Unit::Sector),
    size: (2, Unit::Sector),
    volume: None,
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "blkreplay",
    about: "blkreplay .load: seconds ; sector ; length in 512 B sectors ; R|W",
    source: "github.com/schoebel/blkreplay",
    special: Special::NONE,
    detect: |sample| {
        let hit = crate::read::sample::Hit {
            score: 90,
            from: "fields between semicolons, the 4th R or W",
        };
        sample.rows(Blkreplay::new()).fit().then_some(hit)
    },
    open: |setup| setup.lines(|_| Blkreplay::new()),
};

/// Skips the preamble of licence text, which ends at the first row that begins with a digit.
struct Blkreplay {
    rows: Columns,
    started: bool,
}

impl Blkreplay {
    fn new() -> Blkreplay {
        Blkreplay { rows: Columns::new(LAYOUT), started: false }
    }
}

impl LineFormat for Blkreplay {
    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        if !self.started {
            let begins = line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
            if !(begins && line.contains(&b';')) {
                return Ok(None);
            }
            self.started = true;
        }
        self.rows.line(line, cx)
    }
    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        if self.started { self.rows.quick(row, cx, out) } else { None }
    }
}
