//! Copies a store: from a chip that is not in use, and into a new image.
//!
//! Invariant: an image appears under its name only when it is complete and durable, and the image
//! that it replaces stays until then.

use std::path::Path;

use thermocline_files::Rights;
use thermocline_flash::{Flash, FlashError, Lpn, Profile};
use thermocline_ftl::{FtlError, Mount};
use thermocline_media::{Medium, Place, Replace};
use thermocline_policy::preset::LayerKind;

use crate::{
    Access, AnyLayer, AssemblyError, Device, PolicySpec, Store,
    chips::{self, Chip, Opened},
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
    /// The kind of its layer.
    pub layer: LayerKind,
    mounted: AnyLayer<Chip>,
    place: Place,
}

/// The content of a logical page.
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
    /// Opens a chip to copy it, without changing it. With `alone` the chip is locked meanwhile.
    ///
    /// # Errors
    /// [`AssemblyError`], where it cannot be opened.
    pub fn open(place: &Place, alone: bool) -> Result<Self, AssemblyError> {
        let access = if alone { Access::default() } else { Access::read_only() };
        Self::of(place, chips::open(place, &access)?)
    }

    /// A chip that is open.
    ///
    /// # Errors
    /// [`AssemblyError`], where it cannot be mounted.
    pub fn of(place: &Place, opened: Opened) -> Result<Self, AssemblyError> {
        let (device, kind) = (opened.device.clone(), opened.kind());
        let (mounted, _) = opened.mount(Mount::Quick)?;
        let (logical_pages, page_size) =
            (mounted.logical_pages(), mounted.chip().geometry().page_size);
        Ok(Self { device, logical_pages, page_size, layer: kind, mounted, place: place.clone() })
    }

    /// Reads a page into a buffer of its size.
    ///
    /// # Errors
    /// [`AssemblyError::Failed`] if the system fails.
    pub fn read(&mut self, lpn: u32, into: &mut [u8]) -> Result<Holds, AssemblyError> {
        match self.mounted.read(Lpn(lpn), into) {
            Ok(true) => Ok(Holds::Data),
            Ok(false) => Ok(Holds::Nothing),
            Err(e @ (FtlError::OutOfRange(_) | FtlError::Flash(FlashError::Medium(_)))) => {
                Err(AssemblyError::failed(&self.place, e))
            }
            Err(_) => Ok(Holds::Unreadable),
        }
    }
}

/// A new image that is being filled. It has no name before it is complete.
pub struct NewImage {
    layer: AnyLayer<Chip>,
    place: Place,
    now: u64,
}

impl NewImage {
    /// Begins an image at a path, for a device and a number of logical pages. It gets the access rights of the
    /// original.
    ///
    /// # Errors
    /// [`AssemblyError::Usage`] where something is there already, and those of [`Store::format`].
    pub fn begin(
        path: &Path,
        original: Option<&Path>,
        device: Device,
        logical_pages: u32,
        layer: LayerKind,
    ) -> Result<Self, AssemblyError> {
        let rights = original.and_then(Rights::of);
        Self::begin_by(path, Replace::Never, rights, device, logical_pages, layer)
    }

    /// Begins the image that is to replace a chip, which was opened [alone](Original::open) and is held until then.
    ///
    /// # Errors
    /// Those of [`Store::format`].
    pub fn replacing(
        original: &Original,
        device: Device,
        logical_pages: u32,
    ) -> Result<Self, AssemblyError> {
        let path = original
            .place
            .path()
            .ok_or_else(|| AssemblyError::Usage(format!("{}: is no file", original.place)))?;
        Self::begin_by(path, Replace::Locked, None, device, logical_pages, original.layer)
    }

    fn begin_by(
        path: &Path,
        replace: Replace,
        rights: Option<Rights>,
        device: Device,
        logical_pages: u32,
        layer: LayerKind,
    ) -> Result<Self, AssemblyError> {
        let name = path.to_str().ok_or_else(|| {
            AssemblyError::Usage(format!("{}: name a path that is UTF-8", path.display()))
        })?;
        let Ok(place) = format!("file:{name}").parse::<Place>();
        let policy = PolicySpec::parse(chips::plainest(layer), None, None)?.on(layer)?;
        let store = Store::new(device, policy, logical_pages);
        let chip = create(&place, &store, false, replace, rights)?;
        let layer = store.format(chip, new_format()?)?;
        Ok(Self { layer, place, now: 0 })
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
        written.map_err(|e| AssemblyError::failed(&self.place, e))
    }

    /// Makes the image durable, and gives it its name.
    ///
    /// # Errors
    /// [`AssemblyError::Failed`]; the image is removed then.
    pub fn finish(mut self) -> Result<(), AssemblyError> {
        let unmounted = self.layer.upkeep().unmount(self.now + 1);
        unmounted.map_err(|e| AssemblyError::failed(&self.place, e))?;
        let chip = self.layer.chip_mut();
        chip.sync().map_err(|e| AssemblyError::failed(&self.place, e))?;
        Ok(chip.publish()?)
    }
}

/// Whether a page holds nothing but zeros.
#[must_use]
pub fn is_zero(page: &[u8]) -> bool {
    page.iter().all(|byte| *byte == 0)
}

/// A device as a server describes it, for an image of the same shape.
///
/// # Errors
/// [`AssemblyError::Input`], if it is none.
pub fn device_from(profile: &str) -> Result<Device, AssemblyError> {
    let none = |e: &dyn std::fmt::Display| {
        AssemblyError::Input(format!("the server describes no device: {e}"))
    };
    let profile: Profile = toml::from_str(profile).map_err(|e| none(&e))?;
    profile.geometry.check().map_err(|e| none(&e))?;
    Ok(Device::of_chip(profile))
}

/// The smallest store of a device's kind that exports exactly `pages` pages with the given
/// over-provisioning.
///
/// # Errors
/// [`AssemblyError`], if no size does.
pub fn store_of_pages(
    device: Device,
    over_provisioning: f64,
    logical_pages: u32,
    layer: LayerKind,
) -> Result<Store, AssemblyError> {
    let policy = PolicySpec::parse(chips::served(layer), None, None)?.on(layer)?;
    let store = Store::fit_pages(device, over_provisioning, policy, logical_pages)?;
    Ok(Store { logical_pages, ..store })
}
