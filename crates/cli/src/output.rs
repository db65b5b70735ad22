//! Where results go: standard output, or a file that appears only when it is complete.

use std::{
    fs::File,
    io::{self, IsTerminal, Stdout, Write},
    path::{Path, PathBuf},
};

use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use tempfile::NamedTempFile;

use crate::{exit::Failure, interrupt};

/// An open output. Dropped without [`Output::finish`], it leaves no file behind.
pub struct Output {
    name: String,
    sink: Sink,
}

enum Sink {
    Stdout(Stdout),
    /// A device or a pipe, which cannot be replaced.
    Direct(File),
    /// A file beside the one to replace.
    Beside {
        file: NamedTempFile,
        path: PathBuf,
    },
}

impl Output {
    /// Opens `path`, or standard output where there is none or it is `-`.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        match path.filter(|path| path.as_os_str() != "-") {
            None => Ok(Self { name: "standard output".into(), sink: Sink::Stdout(io::stdout()) }),
            Some(path) => {
                let name = path.display().to_string();
                let sink = Sink::open(path)
                    .map_err(|source| Failure::Write { target: name.clone(), source })?;
                Ok(Self { name, sink })
            }
        }
    }

    /// What messages call it.
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
        if let Sink::Beside { file, path } = self.sink {
            let temporary = file.path().to_owned();
            let persisted = file.persist(&path);
            interrupt::finished(&temporary);
            persisted.map_err(|e| Failure::Write { target: self.name, source: e.error })?;
        }
        Ok(())
    }

    /// An error of this output, as the user should see it.
    pub fn check<T>(&self, result: io::Result<T>) -> Result<T, Failure> {
        result.map_err(|source| Failure::Write { target: self.name.clone(), source })
    }
}

impl Sink {
    fn open(path: &Path) -> io::Result<Self> {
        let existing = path.metadata().ok();
        if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
            return File::options().write(true).open(path).map(Self::Direct);
        }
        // The file a link points to is replaced, not the link.
        let path = if existing.is_some() { path.canonicalize()? } else { path.to_owned() };
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".thermocline-").suffix(".part");
        match existing {
            Some(existing) if existing.permissions().readonly() => {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            Some(existing) => builder.permissions(existing.permissions()),
            None => usual_permissions(&mut builder),
        };
        let file = builder.tempfile_in(folder).map_err(without_path)?;
        interrupt::unfinished(file.path());
        Ok(Self::Beside { file, path })
    }
}

/// The system's own words: the message names the file the user named, not the temporary one.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((words, _)) => io::Error::new(error.kind(), words),
        None => error,
    }
}

/// What the user's umask leaves, as for any new file.
fn usual_permissions<'a, 'p, 's>(
    builder: &'a mut tempfile::Builder<'p, 's>,
) -> &'a mut tempfile::Builder<'p, 's> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666))
    }
    #[cfg(not(unix))]
    builder
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::Direct(file) => file.write(bytes),
            // Errors of the file itself do not name it.
            Sink::Beside { file, .. } => file.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Direct(file) => file.flush(),
            Sink::Beside { file, .. } => file.as_file_mut().flush(),
        }
    }
}
