//! Atomic replacement of files.
//!
//! * The new content is written to a temporary file beside the old one (its successor), synced and
//!   renamed. Then the folder is synced. Until the rename the old file is unchanged, whether the
//!   disk, the program or the power fails.
//! * A successor has the owner and the mode of the file that it replaces. While it is being
//!   written, only its owner can open it. Both are set through the open file, never by name,
//!   because the name may lead to another file by then.
//! * Only regular files are replaced. A symbolic link is kept and its target replaced. Devices,
//!   pipes and folders are never renamed over, and only the successor itself is ever removed.

use std::{
    fs::{self, File, FileType},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tempfile::NamedTempFile;

/// Successors to remove if the program ends early; see [`abandon`].
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The kind of file at a path.
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
    /// The kind of file at a path, following symbolic links.
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

    /// The kind in words for messages.
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

/// A file that receives its name when it is complete. Dropping it earlier removes it.
#[derive(Debug)]
pub struct Successor {
    file: NamedTempFile,
    target: PathBuf,
    rights: Option<Rights>,
    noted: Noted,
}

/// Owner, group and mode of a file.
#[derive(Clone, Debug)]
pub struct Rights(Box<fs::Metadata>);

impl Rights {
    /// The rights of the file, device or socket at a path.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().filter(|is| !is.is_dir()).map(|is| Self(Box::new(is)))
    }

    /// Applies these rights to a file. If the process may not change the owner, the owner stays,
    /// and nobody gains access.
    #[cfg(unix)]
    fn put_on(&self, file: &File) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let (theirs, ours) = (&self.0, file.metadata()?);
        let mut mode = theirs.permissions().mode() & 0o777;
        if theirs.gid() != ours.gid() && fchown(file, None, Some(theirs.gid())).is_err() {
            // A different group gets no more access than everybody.
            mode &= !0o070 | (mode & 0o007) << 3;
        }
        if theirs.uid() != ours.uid() {
            let _ = fchown(file, Some(theirs.uid()), None);
        }
        file.set_permissions(fs::Permissions::from_mode(mode))
    }

    #[cfg(not(unix))]
    fn put_on(&self, file: &File) -> io::Result<()> {
        file.set_permissions(self.0.permissions())
    }
}

/// An entry in the list of successors to remove.
#[derive(Debug)]
struct Noted(PathBuf);

impl Successor {
    /// Begins the successor of a file, or a new file of that name.
    ///
    /// # Errors
    /// Those of the system. Also if the path is not a regular file, or a file that may not be
    /// written.
    pub fn beside(path: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".thermocline-").suffix(".part");
        let (target, rights) = match Kind::of(path)? {
            Kind::Nothing => {
                usual_permissions(&mut builder);
                (end_of_links(path), None)
            }
            Kind::File => {
                let rights = Rights::of(path);
                if rights.as_ref().is_some_and(|rights| rights.0.permissions().readonly()) {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                (path.canonicalize()?, rights)
            }
            kind => return Err(io::Error::other(format!("it is {}", kind.name()))),
        };
        // Holding the lock makes a concurrent `abandon` wait, and then find this entry.
        let mut unfinished = unfinished();
        let file = builder.tempfile_in(folder(&target)).map_err(without_path)?;
        unfinished.push(file.path().to_owned());
        drop(unfinished);
        let noted = Noted(file.path().to_owned());
        Ok(Self { file, target, rights, noted })
    }

    /// Sets the rights that the file will have in the end, unless it replaces a file and takes that
    /// file's rights.
    ///
    /// # Errors
    /// Those of the system.
    pub fn inherit(&mut self, rights: Option<Rights>) -> io::Result<()> {
        if let (None, Some(rights)) = (&self.rights, rights) {
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                self.file.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
            }
            self.rights = Some(rights);
        }
        Ok(())
    }

    /// The open file, for reading and writing.
    #[must_use]
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Syncs the file and renames it to its final name, replacing any file there.
    ///
    /// # Errors
    /// Those of the system; the old file is then unchanged.
    pub fn finish(self) -> io::Result<()> {
        self.file().sync_all()?;
        let folder = open_folder(&self.target);
        self.finish_unsynced()?;
        folder?.map_or(Ok(()), |folder| folder.sync_all())
    }

    /// [`finish`](Self::finish) without a sync: after a power loss the content of the file is
    /// undefined.
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish).
    pub fn finish_unsynced(self) -> io::Result<()> {
        self.take_name(|file, target| {
            match Kind::of(target)? {
                Kind::Nothing | Kind::File => {}
                kind => return Err(io::Error::other(format!("it is {} by now", kind.name()))),
            }
            file.persist(target).map(drop).map_err(|e| e.error)
        })
    }

    /// Renames the file to its final name if no file has that name.
    ///
    /// # Errors
    /// Those of the system, [`io::ErrorKind::AlreadyExists`] among them.
    pub fn finish_first(self) -> io::Result<()> {
        self.file().sync_all()?;
        let folder = open_folder(&self.target);
        self.take_name(|file, target| {
            file.persist_noclobber(target).map(drop).map_err(|e| e.error)
        })?;
        folder?.map_or(Ok(()), |folder| folder.sync_all())
    }

    fn take_name(
        self,
        name: impl FnOnce(NamedTempFile, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { file, target, rights, noted: _noted } = self;
        if let Some(rights) = rights {
            rights.put_on(file.as_file())?;
        }
        name(file, &target)
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        unfinished().retain(|other| *other != self.0);
    }
}

/// An output: a successor, or a device or pipe that is written directly.
#[derive(Debug)]
pub enum Out {
    /// A device or a pipe, which cannot be replaced.
    Direct(File),
    /// A file that receives its name when it is complete.
    Beside(Successor),
}

impl Out {
    /// Opens the output.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Self> {
        match Kind::of(path)? {
            Kind::Special(_) => File::options().write(true).open(path).map(Self::Direct),
            _ => Successor::beside(path).map(Self::Beside),
        }
    }

    /// Completes the output. A successor is renamed.
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
            // Errors of the temporary file are rewritten so that they do not name it.
            Self::Beside(successor) => successor.file.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes all incomplete successors, for a program that exits at once. No successor can be begun
/// afterwards.
pub fn abandon() {
    let unfinished = unfinished();
    for path in unfinished.iter() {
        let _ = fs::remove_file(path);
    }
    std::mem::forget(unfinished);
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens the folder of a file for a sync; `None` if the folder is writable but not readable.
#[cfg(unix)]
fn open_folder(path: &Path) -> io::Result<Option<File>> {
    match File::open(folder(path)) {
        Ok(folder) => Ok(Some(folder)),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(e) => Err(e),
    }
}

/// Other systems cannot open folders.
#[cfg(not(unix))]
fn open_folder(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// The target of a chain of symbolic links that ends at a missing file.
fn end_of_links(path: &Path) -> PathBuf {
    path.read_link().map_or_else(|_| path.to_owned(), |to| end_of_links(&folder(path).join(to)))
}

/// Applies the user's umask, as for any new file.
fn usual_permissions(builder: &mut tempfile::Builder<'_, '_>) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = builder;
}

/// Strips the temporary path from an error, because messages name the user's file.
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

    #[cfg(unix)]
    #[test]
    fn a_successor_has_the_rights_of_what_it_replaces_and_nobody_has_any_before() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
        let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "first").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).expect("set");
        // Only root may change the owner of a file.
        let is_root = chown(&path, Some(7), Some(8)).is_ok();
        let begun = Successor::beside(&path).expect("begun");
        assert_eq!(mode(begun.file.path()), 0o600);
        // Another user puts a link to a file of their choice in its place.
        let other = folder.path().join("other");
        fs::write(&other, "secret").expect("written");
        fs::set_permissions(&other, fs::Permissions::from_mode(0o600)).expect("set");
        fs::remove_file(begun.file.path()).expect("removed");
        symlink(&other, begun.file.path()).expect("a link");
        begun.finish().expect("finished");
        assert_eq!(mode(&other), 0o600, "it is not what was open");
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "second").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        let _ = chown(&path, Some(7), Some(8));
        Successor::beside(&path).and_then(Successor::finish).expect("finished");
        assert_eq!(mode(&path), 0o640);
        let copy = folder.path().join("copy");
        let mut begun = Successor::beside(&copy).expect("begun");
        begun.inherit(Rights::of(&path)).expect("private");
        assert_eq!(mode(begun.file.path()), 0o600);
        begun.finish_first().expect("finished");
        assert_eq!(mode(&copy), 0o640);
        if is_root {
            for path in [&path, &copy] {
                let is = path.metadata().expect("there");
                assert_eq!((is.uid(), is.gid()), (7, 8));
            }
        }
    }

    #[test]
    fn a_target_that_is_no_regular_file_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let begun = Successor::beside(&path).expect("begun");
        fs::create_dir(&path).expect("made");
        assert!(begun.finish().expect_err("a folder").to_string().contains("a folder"));
        assert!(Successor::beside(&path).is_err());
        assert!(path.is_dir());
    }
}
