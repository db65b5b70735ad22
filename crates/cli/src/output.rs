//! Where results go: standard output, or a file that appears only when it is complete.

use std::{
    io::{self, IsTerminal, Stdout, Write},
    path::Path,
};

use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use thermocline_files::Out;

use crate::exit::Failure;

/// An open output. Dropped without [`Output::finish`], it leaves no file behind.
pub struct Output {
    name: String,
    sink: Sink,
}

enum Sink {
    Stdout(Stdout),
    Named(Out),
}

impl Output {
    /// Opens `path`, or standard output where there is none or it is `-`.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        match path.filter(|path| path.as_os_str() != "-") {
            None => Ok(Self { name: "standard output".into(), sink: Sink::Stdout(io::stdout()) }),
            Some(path) => {
                let name = path.display().to_string();
                let out = Out::open(path)
                    .map_err(|source| Failure::Write { target: name.clone(), source })?;
                Ok(Self { name, sink: Sink::Named(out) })
            }
        }
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a person looks at it.
    pub fn is_terminal(&self) -> bool {
        matches!(&self.sink, Sink::Stdout(stdout) if stdout.is_terminal())
    }

    /// Characters in a line: those of the terminal, elsewhere what COLUMNS says, if anything.
    pub fn width(&self) -> Option<usize> {
        if self.is_terminal() {
            return comfy_table::Table::new().width().map(usize::from);
        }
        let columns = std::env::var("COLUMNS").ok()?.parse().ok()?;
        (columns > 0).then_some(columns)
    }

    /// Writes everything there is, and ends.
    pub fn put(mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.write_all(bytes);
        self.check(written)?;
        self.finish()
    }

    /// Writes text with styles where they are wanted (see `NO_COLOR`), without them elsewhere.
    pub fn put_styled(self, text: &str) -> Result<(), Failure> {
        let styled = matches!(&self.sink, Sink::Stdout(stdout)
            if AutoStream::choice(stdout) != ColorChoice::Never);
        if styled {
            self.put(text.as_bytes())
        } else {
            self.put(strip_str(text).to_string().as_bytes())
        }
    }

    /// Makes the file appear under its name.
    pub fn finish(mut self) -> Result<(), Failure> {
        let flushed = self.flush();
        self.check(flushed)?;
        match self.sink {
            Sink::Stdout(_) => Ok(()),
            Sink::Named(out) => {
                out.finish().map_err(|source| Failure::Write { target: self.name, source })
            }
        }
    }

    /// An error of this output, as the user should see it.
    pub fn check<T>(&self, result: io::Result<T>) -> Result<T, Failure> {
        result.map_err(|source| Failure::Write { target: self.name.clone(), source })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::Named(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Named(out) => out.flush(),
        }
    }
}
