//! How the program ends: every exit code there is, and the one line that goes with it.

use std::{
    any::Any,
    fmt,
    io::{self, Write},
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use clap::error::ErrorKind;
use thermocline_assembly::AssemblyError;
use thermocline_sim::SimError;
use thermocline_trace::TraceError;

use crate::{console, interrupt};

const DONE: u8 = 0;
/// The command failed.
pub const FAILED: u8 = 1;
const USAGE: u8 = 2;
const INPUT: u8 = 3;
const BROKEN: u8 = 4;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The simulator's reasons.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The command has said what there is to say, and ends with this code.
    #[error("exit code {0}")]
    Told(u8),
    /// The output could not be written.
    #[error("cannot write to {target}: {source}")]
    Write {
        /// The file, or "standard output".
        target: String,
        /// The system's error.
        source: io::Error,
    },
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Self::Sim(error.into())
    }
}

impl From<AssemblyError> for Failure {
    fn from(error: AssemblyError) -> Self {
        Self::Sim(error.into())
    }
}

impl Failure {
    /// The user asked for something there is not.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Sim(SimError::Usage(text.into()))
    }

    /// An operation failed.
    pub fn failed(error: impl fmt::Display) -> Self {
        Self::Sim(SimError::Failed(error.to_string()))
    }

    fn code(&self) -> u8 {
        match self {
            Self::Sim(error) => match error {
                SimError::Usage(_) | SimError::Trace(TraceError::Usage { .. }) => USAGE,
                SimError::Input(_) | SimError::TooSmall(_) | SimError::Trace(_) => INPUT,
                SimError::Failed(_) | SimError::Memory(_) | SimError::Policy(_) => FAILED,
                SimError::Broken(_) => BROKEN,
                SimError::Interrupted => interrupt::exit_code(),
            },
            Self::Told(code) => *code,
            // Whoever read our output has seen enough.
            Self::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => DONE,
            Self::Write { .. } => FAILED,
        }
    }
}

/// Prints the error of a command, and returns its exit code.
pub fn of(result: Result<(), Failure>) -> ExitCode {
    let code = match result {
        Ok(()) => DONE,
        Err(failure) => {
            // An error after a signal is a consequence of it: the other end of a pipe is gone too.
            let stopped = interrupt::progress().is_cancelled();
            let failure = if stopped { SimError::Interrupted.into() } else { failure };
            let code = failure.code();
            if code != DONE && !matches!(failure, Failure::Told(_)) {
                console::complain(&failure.to_string());
            }
            code
        }
    };
    code.into()
}

/// The exit code where the command line was not understood, or asked for help.
pub fn refused(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let target = || "standard output".to_owned();
            of(error.print().map_err(|source| Failure::Write { target: target(), source }))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            USAGE.into()
        }
        _ => {
            console::complain(&one_line(&error.render().to_string()));
            USAGE.into()
        }
    }
}

/// Clap's message without its layout: the problem and its tips, not the usage.
fn one_line(rendered: &str) -> String {
    let text = rendered.strip_prefix("error: ").unwrap_or(rendered);
    let (text, usage) = text.split_once("\nUsage: ").unwrap_or((text, ""));
    let text = text.split("\nFor more information").next().unwrap_or(text);
    let mut parts: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        let words: Vec<_> = paragraph.split_whitespace().collect();
        let words = words.join(" ").replace(" tip: ", "; ");
        if !words.is_empty() {
            parts.push(words.strip_prefix("tip: ").unwrap_or(&words).to_owned());
        }
    }
    // The usage begins with the command in question, before its first option or value.
    let command: Vec<_> = usage
        .split_whitespace()
        .take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    if !command.is_empty() {
        parts.push(format!("see `{} --help`", command.join(" ")));
    }
    parts.join("; ")
}

/// Runs the program so that a panic, which is always a bug, ends it with one line and its own code.
pub fn guarded(program: impl FnOnce() -> ExitCode) -> ExitCode {
    static TOLD: AtomicBool = AtomicBool::new(false);
    panic::set_hook(Box::new(|info| {
        // Several threads may panic for the same bug.
        if !TOLD.swap(true, Ordering::Relaxed) {
            let what = message(info.payload());
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            console::complain(&format!(
                "{what} ({place}); this is a bug, please report it with the command that showed it"
            ));
        }
    }));
    let code = panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or(BROKEN.into());
    let _ = io::stdout().flush();
    code
}

fn message(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_with_its_own_code() {
        let code = guarded(|| panic!("the test's own"));
        let _ = panic::take_hook();
        assert_eq!(code, ExitCode::from(BROKEN));
    }

    #[test]
    fn every_kind_of_failure_has_its_code() {
        let trace = |kind: TraceError| Failure::from(kind).code();
        assert_eq!(Failure::usage("x").code(), USAGE);
        assert_eq!(trace(TraceError::Usage { what: "x".into(), remedy: "y".into() }), USAGE);
        let io = |kind| io::Error::from(kind);
        let path = || "x".into();
        assert_eq!(
            trace(TraceError::Io { path: path(), source: io(io::ErrorKind::NotFound) }),
            INPUT
        );
        assert_eq!(Failure::Sim(SimError::Failed("x".into())).code(), FAILED);
        assert_eq!(Failure::Sim(SimError::Broken("x".into())).code(), BROKEN);
        assert_eq!(Failure::Sim(SimError::Interrupted).code(), 130);
        let write = |kind| Failure::Write { target: "x".into(), source: io(kind) }.code();
        assert_eq!(write(io::ErrorKind::BrokenPipe), DONE);
        assert_eq!(write(io::ErrorKind::StorageFull), FAILED);
    }

    #[test]
    fn parser_errors_are_one_line() {
        let unknown = "error: unexpected argument '--polic' found\n\n  tip: a similar argument \
                       exists: '--policy'\n\nUsage: thermocline run --policy <NAME>\n\nFor more \
                       information, try '--help'.\n";
        assert_eq!(
            one_line(unknown),
            "unexpected argument '--polic' found; a similar argument exists: '--policy'; see \
             `thermocline run --help`"
        );
        let missing = "error: the following required arguments were not provided:\n  <SHELL>\n\n\
                       Usage: thermocline completions <SHELL>\n\nFor more information, try \
                       '--help'.\n";
        assert_eq!(
            one_line(missing),
            "the following required arguments were not provided: <SHELL>; see `thermocline \
             completions --help`"
        );
    }
}
