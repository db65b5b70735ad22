//! Images in the registry of media.

use std::path::Path;

use super::{Damage, Image, ImageError, Open, Options};
use crate::{Description, Medium, MediumEntry, MediumError, NewChip, OpenChip, OpenedChip};

pub(crate) const ENTRY: MediumEntry = MediumEntry {
    scheme: "file",
    pattern: "FILE",
    example: "disk.img",
    summary: "an image file",
    takes_path: true,
    create: Some(create),
    open: Some(open),
    room: None,
};

fn create(path: &Path, new: &NewChip) -> Result<Box<dyn Medium>, MediumError> {
    let image = Image::create_unnamed(path, &options(new)).map_err(refused)?;
    Ok(Box::new(image))
}

/// A new image for a chip without bad blocks.
pub(super) fn options(new: &NewChip) -> Options {
    Options {
        kind: new.kind,
        geometry: new.geometry,
        rules: new.rules,
        profile: new.profile.clone(),
        bad_blocks: Vec::new(),
        preallocate: new.preallocate,
        replace: new.replace,
        rights: new.rights.clone(),
    }
}

/// Why there is no new image, by whose fault it is.
pub(crate) fn refused(error: ImageError) -> MediumError {
    match error.what {
        Damage::NotAFile { .. } => MediumError::Usage(error.to_string()),
        Damage::Exists => MediumError::Exists(error.path),
        Damage::System { .. } | Damage::Preallocate(_) | Damage::InUse(_) => {
            MediumError::Failed(error.to_string())
        }
        _ => MediumError::Unusable(error.to_string()),
    }
}

fn open(path: &Path, how: &OpenChip) -> Result<OpenedChip, MediumError> {
    let OpenChip { read_only, direct, lengthen, .. } = *how;
    let open = Open { read_only, direct, lengthen, ..Open::default() };
    let image = Image::open(path, open).map_err(|error| {
        let raw = path.display();
        MediumError::Unusable(match error.what {
            Damage::NotAnImage => {
                format!("{error}; `thermocline import {raw} NEW.img` makes one of a raw disk")
            }
            _ => error
                .to_string()
                .replace("`thermocline repair`", &format!("`thermocline repair {raw}`")),
        })
    })?;
    Ok(opened(image))
}

/// An image, with what it keeps of its device.
pub(super) fn opened(image: Image) -> OpenedChip {
    let header = image.header();
    let description =
        Description { kind: header.kind, rules: header.rules, profile: header.profile.clone() };
    OpenedChip { chip: Box::new(image), description: Some(description) }
}
