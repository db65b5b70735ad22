//! What is said on standard error, beside the progress bar.

use std::{
    any::Any,
    io::{self, IsTerminal, Write},
    sync::Arc,
};

use thermocline_chart::show::plain;
use thermocline_study::{Context, Listener, Meter, Remark};

use crate::{interrupt, progress::Bar};

/// How talkative the program is.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    quiet: bool,
    terminal: bool,
    /// Whether long work shows how far it is.
    pub progress: bool,
}

impl Console {
    /// Progress and remarks are for people: on a terminal only.
    pub fn new(quiet: bool, no_progress: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        Self { quiet, terminal, progress: terminal && !quiet && !no_progress }
    }

    /// What work needs: it says here what there is to say, and stops at Ctrl-C.
    pub fn context(&self) -> Context<'_> {
        Context::new(self, interrupt::progress())
    }

    /// Something good to know, on a terminal only.
    pub fn remark(&self, text: &str) {
        if self.terminal && !self.quiet {
            say(text);
        }
    }

    /// Something the user may want to do differently.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            say(&format!("note: {text}"));
        }
    }

    fn warn(&self, text: &str) {
        if !self.quiet {
            say(&format!("warning: {text}"));
        }
    }
}

impl Listener for Console {
    fn say(&self, kind: Remark, text: &str) {
        match kind {
            Remark::Info => self.remark(text),
            Remark::Note => self.note(text),
            Remark::Warning => self.warn(text),
            Remark::Failure => complain(text),
        }
    }

    fn begin(&self, meter: Arc<dyn Meter>) -> Box<dyn Any> {
        Box::new(self.progress.then(|| Bar::start(meter)))
    }
}

/// Whether what is said on standard error may be coloured.
pub fn stderr_has_colour() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Something that must not go unnoticed.
pub fn caution(text: &str) {
    say(&format!("warning: {text}"));
}

/// Why the program ends, on one line.
pub fn complain(text: &str) {
    say(&text.split('\n').map(str::trim).collect::<Vec<_>>().join(" "));
}

fn say(text: &str) {
    // There is nobody to tell that standard error is closed.
    let lines: Vec<_> = text.split('\n').map(plain).collect();
    let _ = writeln!(io::stderr().lock(), "thermocline: {}", lines.join("\n"));
}
