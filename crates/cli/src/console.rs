//! Messages on standard error, beside the progress bar.

use std::{
    any::Any,
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex, PoisonError},
};

use thermocline_chart::show::plain;
use thermocline_study::{Context, Door, Listener, Meter, Remark};

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

    /// The context of work: prints its messages here, and stops at Ctrl-C.
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
    fn door(&self) -> Door {
        Door::CommandLine
    }

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

/// Whether messages on standard error may be coloured.
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

/// Messages held back while a full-screen picture is shown.
static WAITING: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn waiting<T>(work: impl FnOnce(&mut Option<Vec<String>>) -> T) -> T {
    work(&mut WAITING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Draws, unless the screen belongs to a picture; none takes it meanwhile.
pub fn unless_taken(draw: impl FnOnce()) {
    waiting(|waiting| waiting.is_none().then(draw));
}

/// Leaves the screen to a picture.
pub fn take() {
    waiting(|waiting| *waiting = Some(Vec::new()));
}

/// Has the screen back, and says what waited.
pub fn give_back() {
    let held = waiting(Option::take);
    held.into_iter().flatten().for_each(|text| say(&text));
}

fn say(text: &str) {
    let text = &*Door::CommandLine.words(text);
    let waits = waiting(|waiting| match waiting {
        Some(waiting) => {
            waiting.push(text.to_owned());
            true
        }
        None => false,
    });
    if waits {
        return;
    }
    // A closed standard error cannot be reported.
    let lines: Vec<_> = text.split('\n').map(plain).collect();
    let _ = writeln!(io::stderr().lock(), "thermocline: {}", lines.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_a_picture_has_the_screen_remarks_wait() {
        take();
        complain("one");
        let is_drawn = || {
            let mut drawn = false;
            unless_taken(|| drawn = true);
            drawn
        };
        assert!(!is_drawn());
        // Other tests of this program may speak meanwhile.
        let held = waiting(|waiting| waiting.clone()).expect("it is taken");
        assert!(held.contains(&"one".to_owned()), "{held:?}");
        give_back();
        assert!(is_drawn());
    }
}
