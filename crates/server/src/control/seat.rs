//! The place of an image's control socket: one rule for the server and for operators.
//!
//! The socket is in a folder that only its user can write to, and is named by the device and inode numbers of
//! the image. A server takes the first of these folders that exists or that it can make:
//!
//! 1. `/run/thermocline/NAME`, for an image `NAME.img`: where a service manager has made it (`RuntimeDirectory=`);
//! 2. `/run/thermocline`, of root;
//! 3. `/run/user/UID/thermocline`;
//! 4. `$XDG_RUNTIME_DIR/thermocline`;
//! 5. `/tmp/thermocline-UID`.
//!
//! Operators search the folders of the image's owner, of root and their own, and last beside the image, where
//! `--control` may have put it. `control::trust` decides whether a socket is trusted.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

/// A folder that may hold sockets, and whether it is made where there is none.
struct Folder {
    path: PathBuf,
    made: bool,
}

/// The path of the control socket for an image to be served, in an existing folder.
///
/// # Errors
/// Those of the system, or if there is no folder that only its user can write to.
pub fn take(image: &Path) -> io::Result<PathBuf> {
    let name = name(&image.metadata()?);
    let user = rustix::process::geteuid().as_raw();
    let mut why = io::Error::from(io::ErrorKind::NotFound);
    for folder in folders(image, user) {
        match prepare(&folder, user) {
            Ok(()) => return Ok(folder.path.join(name)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => why = io::Error::new(e.kind(), format!("{}: {e}", folder.path.display())),
        }
    }
    Err(why)
}

/// Where the control socket of an image may be.
pub(super) fn all(image: &Path, is: &fs::Metadata) -> Vec<PathBuf> {
    let name = name(is);
    let mut users = vec![rustix::process::geteuid().as_raw(), is.uid(), 0];
    users.dedup();
    let mut all: Vec<PathBuf> = Vec::new();
    for folder in users.into_iter().flat_map(|user| folders(image, user)) {
        let path = folder.path.join(&name);
        if !all.contains(&path) {
            all.push(path);
        }
    }
    let mut beside = image.as_os_str().to_owned();
    beside.push(".ctl");
    all.push(beside.into());
    all
}

fn name(image: &fs::Metadata) -> String {
    format!("{:x}-{:x}.ctl", image.dev(), image.ino())
}

fn folders(image: &Path, user: u32) -> Vec<Folder> {
    let run = Path::new("/run/thermocline");
    let there = |path| Folder { path, made: false };
    let made = |path| Folder { path, made: true };
    let mut all = Vec::new();
    all.extend(image.file_stem().map(|stem| there(run.join(stem))));
    if user == 0 {
        all.push(made(run.into()));
    }
    all.push(made(format!("/run/user/{user}/thermocline").into()));
    if user == rustix::process::geteuid().as_raw()
        && let Some(folder) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from)
        && folder.is_absolute()
    {
        all.push(made(folder.join("thermocline")));
    }
    all.push(made(format!("/tmp/thermocline-{user}").into()));
    all
}

/// Makes a folder, or checks that only its user can write to an existing one.
fn prepare(folder: &Folder, user: u32) -> io::Result<()> {
    if folder.made {
        match fs::DirBuilder::new().mode(0o700).create(&folder.path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
    }
    // Not through a link to another user's folder.
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let open = File::options().read(true).custom_flags(flags.bits() as i32).open(&folder.path)?;
    match is_of(&open.metadata()?, user) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("belongs to somebody else than user {user}, or others can write to it"),
        )),
    }
}

/// Whether a folder belongs to a user, and only the user can write to it.
pub(super) fn is_of(folder: &fs::Metadata, user: u32) -> bool {
    folder.is_dir() && folder.uid() == user && folder.permissions().mode() & 0o022 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_others_can_write_to_is_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let user = rustix::process::geteuid().as_raw();
        let of = |name: &str, made| Folder { path: folder.path().join(name), made };
        let refused = |folder: &Folder, user| prepare(folder, user).map_err(|e| e.kind());
        assert_eq!(refused(&of("a", false), user), Err(io::ErrorKind::NotFound));
        assert_eq!(refused(&of("a", true), user), Ok(()));
        let mode = of("a", true).path.metadata().expect("made").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(refused(&of("a", true), user + 1), Err(io::ErrorKind::PermissionDenied));
        std::os::unix::fs::symlink("a", folder.path().join("link")).expect("a link");
        assert!(refused(&of("link", true), user).is_err(), "it may lead anywhere");
        for mode in [0o777, 0o1777, 0o770, 0o720] {
            let open = fs::Permissions::from_mode(mode);
            fs::set_permissions(&of("a", true).path, open).expect("set");
            let found = refused(&of("a", true), user);
            assert_eq!(found, Err(io::ErrorKind::PermissionDenied), "{mode:o}");
        }
    }

    #[test]
    fn an_operator_looks_where_the_server_of_the_same_user_has_put_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("disk.img");
        fs::write(&image, "").expect("written");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("disk.img", &link).expect("a link");
        let is = image.metadata().expect("there");
        let taken = take(&image).expect("there is some folder");
        assert!(all(&image, &is).contains(&taken));
        assert!(all(&link, &link.metadata().expect("there")).contains(&taken));
    }
}
