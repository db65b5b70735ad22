//! What is said on standard error, beside the progress bar.

use std::io::{self, IsTerminal, Write};

use thermocline_chart::show::plain;

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

    /// The same without remarks, where the results say it all.
    pub fn without_remarks(self) -> Self {
        Self { terminal: false, ..self }
    }

    /// The same without bars, where another is drawn already.
    pub fn without_progress(self) -> Self {
        Self { progress: false, ..self }
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

    /// Something that may make the results wrong.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            say(&format!("warning: {text}"));
        }
    }
}

/// Whether what is said on standard error may be coloured.
pub fn stderr_has_colour() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
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
