//! Files that are replaced only when their successor is complete.
//!
//! * A successor is written beside the file, synced, and renamed. Until then the file is as it was, whatever
//!   fails: the disk, the program, the power.
//! * Only a regular file is replaced. A symbolic link stays; the file that it leads to is replaced.
//!   A device, a pipe and a folder are never renamed over, and nothing but the successor itself is removed.

use std::{
    fs::{self, File, FileType},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tempfile::NamedTempFile;

/// Successors to be removed if the program ends early; see [`abandon`].
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, or a symbolic link to nothing.
    Nothing,
    /// A regular file.
    File,
    /// A folder, a device, a pipe or a socket.
    Special(FileType),
}

impl Kind {
    /// What a name leads to, symbolic links followed.
    ///
    /// # Errors
    /// Those of the system.
    pub fn of(path: &Path) -> io::Result<Self> {
        match path.metadata() {
            Ok(is) if is.is_file() => Ok(Self::File),
            Ok(is) => Ok(Self::Special(is.file_type())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::Nothing),
            Err(e) => Err(e),
        }
    }

    /// What people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::File => "a file",
            Self::Special(it) if it.is_dir() => "a folder",
            Self::Special(it) => special(it),
        }
    }
}

#[cfg(unix)]
fn special(it: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if it.is_block_device() {
        "a block device"
    } else if it.is_char_device() {
        "a character device"
    } else if it.is_fifo() {
        "a pipe"
    } else {
        "a socket"
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "no regular file"
}

/// A file that takes its name when it is complete. Dropped before, it leaves nothing behind.
#[derive(Debug)]
pub struct Successor {
    file: NamedTempFile,
    target: PathBuf,
    noted: Noted,
}

/// A successor in the list of those to be removed.
#[derive(Debug)]
struct Noted(PathBuf);

impl Successor {
    /// Begins the successor of a file, or the first of that name.
    ///
    /// # Errors
    /// Those of the system; the name may lead to no regular file, or to one that may not be written.
    pub fn beside(path: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".thermocline-").suffix(".part");
        let target = match Kind::of(path)? {
            Kind::Nothing => {
                usual_permissions(&mut builder);
                end_of_links(path)
            }
            Kind::File => {
                let permissions = path.metadata()?.permissions();
                if permissions.readonly() {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                builder.permissions(permissions);
                path.canonicalize()?
            }
            kind => return Err(io::Error::other(format!("it is {}", kind.name()))),
        };
        let file = builder.tempfile_in(folder(&target)).map_err(without_path)?;
        unfinished().push(file.path().to_owned());
        let noted = Noted(file.path().to_owned());
        Ok(Self { file, target, noted })
    }

    /// Where it is until it is complete.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Takes the name, and replaces the file that has it.
    ///
    /// # Errors
    /// Those of the system; the file of that name is then as it was.
    pub fn finish(self) -> io::Result<()> {
        self.complete(|file, target| {
            match Kind::of(target)? {
                Kind::Nothing | Kind::File => {}
                kind => return Err(io::Error::other(format!("it is {} by now", kind.name()))),
            }
            file.persist(target).map(drop).map_err(|e| e.error)
        })
    }

    /// Takes the name, if nothing has it yet.
    ///
    /// # Errors
    /// Those of the system, [`io::ErrorKind::AlreadyExists`] among them.
    pub fn finish_first(self) -> io::Result<()> {
        self.complete(|file, target| file.persist_noclobber(target).map(drop).map_err(|e| e.error))
    }

    fn complete(
        self,
        take_name: impl FnOnce(NamedTempFile, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { file, target, noted: _noted } = self;
        file.as_file().sync_all().and_then(|()| take_name(file, &target))
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        unfinished().retain(|other| *other != self.0);
    }
}

/// An output of that name: a successor, or the device or pipe itself.
#[derive(Debug)]
pub enum Out {
    /// A device or a pipe, which nothing can replace.
    Direct(File),
    /// A file that appears when it is complete.
    Beside(Successor),
}

impl Out {
    /// Opens it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Self> {
        match Kind::of(path)? {
            Kind::Special(_) => File::options().write(true).open(path).map(Self::Direct),
            _ => Successor::beside(path).map(Self::Beside),
        }
    }

    /// Ends it: a file appears.
    ///
    /// # Errors
    /// Those of [`Successor::finish`].
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Direct(_) => Ok(()),
            Self::Beside(successor) => successor.finish(),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) => file.write(bytes),
            // Errors of the file itself do not name it.
            Self::Beside(successor) => successor.file.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes all successors that are not complete, for a program that ends at once.
pub fn abandon() {
    for path in unfinished().iter() {
        let _ = fs::remove_file(path);
    }
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The name at the end of symbolic links of which the last leads to nothing.
fn end_of_links(path: &Path) -> PathBuf {
    path.read_link().map_or_else(|_| path.to_owned(), |to| end_of_links(&folder(path).join(to)))
}

/// What the user's umask leaves, as for any new file.
fn usual_permissions(builder: &mut tempfile::Builder<'_, '_>) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = builder;
}

/// The system's own words: messages name the file that the user named, not the temporary one.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((words, _)) => io::Error::new(error.kind(), words),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced_at_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        #[cfg(unix)]
        std::os::unix::fs::symlink("file", &link).expect("a link");
        for (before, now) in [(None, "first"), (Some("first"), "second")] {
            let mut out = Out::open(&link).expect("opened");
            out.write_all(now.as_bytes()).expect("written");
            assert_eq!(fs::read_to_string(&file).ok().as_deref(), before);
            out.finish().expect("finished");
            assert_eq!(fs::read_to_string(&file).expect("there"), now);
            assert!(link.is_symlink());
        }
        drop(Successor::beside(&file).expect("begun"));
        let late = Successor::beside(&file).expect("begun").finish_first();
        assert_eq!(late.expect_err("there is one").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&file).expect("there"), "second");
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 2, "nothing is left");
    }

    #[test]
    fn what_is_no_file_any_more_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let begun = Successor::beside(&path).expect("begun");
        fs::create_dir(&path).expect("made");
        assert!(begun.finish().expect_err("a folder").to_string().contains("a folder"));
        assert!(Successor::beside(&path).is_err());
        assert!(path.is_dir());
    }
}
