//! Copies of what a store holds: out of a chip at rest, and into a new image.
//!
//! What always holds: an image appears under its name only when it is complete and lasts, and one that it
//! replaces is there until then.

use std::{
    fs::{self, File},
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
};

use thermocline_flash::{Flash, FlashError, Lpn, Profile};
use thermocline_ftl::{FtlError, Mount};
use thermocline_media::Place;

use crate::{
    Access, AnyLayer, AssemblyError, Device, PolicySpec, Store,
    chips::{self, Chip},
    format::create,
    store::new_format,
};

/// The pages of a chip at rest.
pub struct Original {
    /// The device it stands for.
    pub device: Device,
    /// Logical pages.
    pub logical_pages: u32,
    /// Bytes of a page.
    pub page_size: u32,
    layer: AnyLayer<Chip>,
    place: Place,
}

/// What a logical page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Data.
    Data,
    /// Nothing: it reads as zeros.
    Nothing,
    /// Something that cannot be read.
    Unreadable,
}

impl Original {
    /// Opens a chip to copy it; nothing on it changes. With `alone` nobody else can open it meanwhile.
    ///
    /// # Errors
    /// [`AssemblyError`], where it cannot be opened.
    pub fn open(place: &Place, alone: bool) -> Result<Self, AssemblyError> {
        let access = if alone { Access::default() } else { Access::read_only() };
        let opened = chips::open(place, &access)?;
        let device = opened.device.clone();
        let (layer, _) = opened.mount(Mount::Quick)?;
        let (logical_pages, page_size) = (layer.logical_pages(), layer.chip().geometry().page_size);
        Ok(Self { device, logical_pages, page_size, layer, place: place.clone() })
    }

    /// Reads a page into a buffer of its size.
    ///
    /// # Errors
    /// [`AssemblyError::Failed`] if the system fails.
    pub fn read(&mut self, lpn: u32, into: &mut [u8]) -> Result<Holds, AssemblyError> {
        match self.layer.read(Lpn(lpn), into) {
            Ok(true) => Ok(Holds::Data),
            Ok(false) => Ok(Holds::Nothing),
            Err(FtlError::Flash(FlashError::Unreadable(_))) => Ok(Holds::Unreadable),
            Err(e) => Err(AssemblyError::failed(&self.place, e)),
        }
    }
}

/// A new image that is being filled.
pub struct NewImage {
    layer: AnyLayer<Chip>,
    /// The file beside the one to be, until it is complete.
    unfinished: tempfile::TempPath,
    path: PathBuf,
    replace: bool,
    now: u64,
}

impl NewImage {
    /// Begins an image at a path, of a device and with so many logical pages.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`] where something is there that is not to be replaced, and those of
    /// [`Store::format`].
    pub fn begin(
        path: &Path,
        device: Device,
        logical_pages: u32,
        replace: bool,
    ) -> Result<Self, AssemblyError> {
        check_target(path, replace)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let unfinished = tempfile::Builder::new()
            .prefix(".thermocline.")
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|e| AssemblyError::failed(&path.display(), e))?
            .into_temp_path();
        let name = unfinished.to_str().map(str::to_owned);
        let name = name.ok_or_else(|| {
            AssemblyError::Usage(format!("{}: name a path that is UTF-8", path.display()))
        })?;
        let Ok(place) = format!("file:{name}").parse::<Place>();
        let policy = PolicySpec::parse(chips::PLAINEST, None, None)?;
        let store = Store::new(device, policy, logical_pages);
        let chip = create(&place, &store, false, true)?;
        let layer = store.format(chip, new_format()?)?;
        Ok(Self { layer, unfinished, path: path.to_owned(), replace, now: 0 })
    }

    /// The file that is to be removed if the program ends before it is complete.
    #[must_use]
    pub fn unfinished(&self) -> &Path {
        &self.unfinished
    }

    /// Writes a page. One of zeros is left out: it reads as such without.
    ///
    /// # Errors
    /// [`AssemblyError::Failed`].
    pub fn put(&mut self, lpn: u32, page: &[u8]) -> Result<(), AssemblyError> {
        if is_zero(page) {
            return Ok(());
        }
        self.now += 1;
        let written = self.layer.write(Lpn(lpn), page, self.now);
        written.map_err(|e| AssemblyError::failed(&self.path.display(), e))
    }

    /// Makes it last, and gives it its name.
    ///
    /// # Errors
    /// [`AssemblyError::Failed`]; nothing is left of it then.
    pub fn finish(mut self) -> Result<(), AssemblyError> {
        let failed = |e: &dyn std::fmt::Display| AssemblyError::failed(&self.path.display(), e);
        self.layer.upkeep().unmount(self.now + 1).map_err(|e| failed(&e))?;
        self.layer.chip_mut().sync().map_err(|e| failed(&e))?;
        if let Ok(old) = fs::metadata(&self.path) {
            chown(&self.unfinished, Some(old.uid()), Some(old.gid()))
                .and_then(|()| fs::set_permissions(&self.unfinished, old.permissions()))
                .map_err(|e| failed(&e))?;
        }
        // Locked until it has its name: nobody serves it before.
        let persisted = if self.replace {
            self.unfinished.persist(&self.path).map_err(|e| e.error)
        } else {
            self.unfinished.persist_noclobber(&self.path).map_err(|e| e.error)
        };
        persisted
            .and_then(|()| sync_folder(&self.path))
            .map_err(|e| AssemblyError::failed(&self.path.display(), e))
    }
}

/// Whether a page holds nothing but zeros.
#[must_use]
pub fn is_zero(page: &[u8]) -> bool {
    page.iter().all(|byte| *byte == 0)
}

/// Refuses what is there and is not to be replaced, or cannot be.
///
/// # Errors
/// [`AssemblyError::Usage`].
pub fn check_target(path: &Path, replace: bool) -> Result<(), AssemblyError> {
    match fs::symlink_metadata(path) {
        Ok(_) if !replace => Err(AssemblyError::Usage(format!(
            "{}: exists already; remove it, or name another file",
            path.display()
        ))),
        Ok(is) if !is.is_file() => Err(AssemblyError::Usage(format!(
            "{}: is no regular file, and nothing else is replaced",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Makes a file's name last.
///
/// # Errors
/// Those of the system.
pub fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// A device as a server describes it, for an image of the same shape.
///
/// # Errors
/// [`AssemblyError::Input`], if it is none.
pub fn device_from(profile: &str) -> Result<Device, AssemblyError> {
    let profile: Profile = toml::from_str(profile)
        .map_err(|e| AssemblyError::Input(format!("the server describes no device: {e}")))?;
    Ok(Device::of_chip(profile))
}

/// The smallest store of a device's kind that holds so many pages with so much over-provisioning; it
/// exports them and no more.
///
/// # Errors
/// [`AssemblyError`], if no size does.
pub fn store_of_pages(
    device: Device,
    over_provisioning: f64,
    logical_pages: u32,
) -> Result<Store, AssemblyError> {
    let policy = PolicySpec::parse(chips::SERVED, None, None)?;
    let store = Store::fit_pages(device, over_provisioning, policy, logical_pages)?;
    Ok(Store { logical_pages, ..store })
}
