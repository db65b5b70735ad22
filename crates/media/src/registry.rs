//! The media there are: how a chip on each is named, made and opened.
//!
//! A medium is an entry beside its own code and a line in [`MEDIA`]. Names, help texts and the commands
//! that format and serve chips follow from the entry.

use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use thermocline_files::Rights;
use thermocline_flash::{Geometry, Kind, Rules};

use crate::Medium;

/// All media. The first is that of names without a scheme.
pub const MEDIA: &[MediumEntry] = &[
    #[cfg(unix)]
    crate::image::ENTRY,
    crate::ram::ENTRY,
    #[cfg(target_os = "linux")]
    crate::image::device::ENTRY,
    #[cfg(target_os = "linux")]
    crate::mtd::ENTRY,
    #[cfg(target_os = "linux")]
    crate::zoned::ENTRY,
];

/// A medium.
#[derive(Debug)]
pub struct MediumEntry {
    /// What stands before the colon of a chip's name.
    pub scheme: &'static str,
    /// How its chips are named, in help texts: `mtd:/dev/mtdN`.
    pub pattern: &'static str,
    /// A name for examples.
    pub example: &'static str,
    /// What it is, in help texts: `a raw NAND device`.
    pub summary: &'static str,
    /// Whether a path follows the colon.
    pub takes_path: bool,
    /// Makes a blank chip; none where the device is there and its shape is its own.
    pub create: Option<Create>,
    /// Opens a chip that was made before; none where chips do not outlive the program.
    pub open: Option<Open>,
    /// How large a chip may be made, where the place has a size of its own.
    pub room: Option<Room>,
}

/// The shape that a chip has with so many blocks a bank; nothing where they are too many.
pub type Shape<'a> = &'a dyn Fn(u32) -> Option<Geometry>;

/// The most blocks of a bank that a chip can have at a place.
pub type Room = fn(&Path, Kind, Shape<'_>) -> Result<u32, MediumError>;

/// Makes a blank chip.
pub type Create = fn(&Path, &NewChip) -> Result<Box<dyn Medium>, MediumError>;

/// Opens a chip.
pub type Open = fn(&Path, &OpenChip) -> Result<OpenedChip, MediumError>;

/// A chip that is to be made.
#[derive(Clone, Debug)]
pub struct NewChip {
    /// NAND, or NOR in the papers' layout.
    pub kind: Kind,
    /// The shape of the chip.
    pub geometry: Geometry,
    /// The rules of the chip.
    pub rules: Rules,
    /// The device profile, in whatever form it is wanted back.
    pub profile: String,
    /// Takes all the space it will ever need now.
    pub preallocate: bool,
    /// What becomes of a chip that is there.
    pub replace: Replace,
    /// Whose rights the chip gets, where it is a file that replaces no other.
    pub rights: Option<Rights>,
}

/// What becomes of a chip that has the name of a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// It stays, and there is no new one.
    Never,
    /// It is replaced if nobody uses it.
    Unused,
    /// It is replaced: whoever asks has locked it.
    Locked,
}

impl Replace {
    /// As a user may ask for it.
    #[must_use]
    pub const fn if_forced(force: bool) -> Self {
        if force { Self::Unused } else { Self::Never }
    }
}

/// How a chip is to be opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenChip {
    /// Nothing can be changed.
    pub read_only: bool,
    /// Past the system's cache, where there is one.
    pub direct: bool,
    /// One that was cut off is made as long as it was: what stood behind cannot be read.
    pub lengthen: bool,
    /// Blocks (the last ones) that hold the layer's own records, for media that do not keep a
    /// [`Description`].
    pub system_blocks: u32,
}

/// A chip that was opened.
pub struct OpenedChip {
    /// The chip.
    pub chip: Box<dyn Medium>,
    /// What the chip was made as, where the medium keeps that.
    pub description: Option<Description>,
}

/// What a medium keeps of the device that a chip stands for.
#[derive(Clone, Debug)]
pub struct Description {
    /// NAND or NOR.
    pub kind: Kind,
    /// The rules of the chip.
    pub rules: Rules,
    /// The device profile, as it was given.
    pub profile: String,
}

/// Why there is no chip.
#[derive(Debug, thiserror::Error)]
pub enum MediumError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Usage(String),
    /// There is something already, which nobody said to replace.
    #[error("{}: exists already", .0.display())]
    Exists(PathBuf),
    /// What is there cannot be used as a chip, or what was asked for cannot be one.
    #[error("{0}")]
    Unusable(String),
    /// The system failed.
    #[error("{0}")]
    Failed(String),
}

/// Where a chip is, as users name it: the scheme of a medium and a path, or a path alone.
#[derive(Clone, Debug)]
pub struct Place {
    medium: &'static MediumEntry,
    path: PathBuf,
}

impl Place {
    /// The medium.
    #[must_use]
    pub const fn medium(&self) -> &'static MediumEntry {
        self.medium
    }

    /// The file or device, where there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.medium.takes_path.then_some(&*self.path)
    }

    /// A short name: that of the file or device, or the scheme.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.path().map(|path| path.file_name().unwrap_or(path.as_os_str()));
        name.map_or(self.medium.scheme.into(), |name| name.to_string_lossy().into_owned())
    }

    /// Makes a blank chip.
    ///
    /// # Errors
    /// [`MediumError`]; of [`MediumError::Usage`] where the device is there, with a shape of its own.
    pub fn create(&self, new: &NewChip) -> Result<Box<dyn Medium>, MediumError> {
        let Some(create) = self.medium.create else {
            return Err(MediumError::Usage(format!(
                "{self}: {} cannot be made; name one that is there",
                self.medium.summary
            )));
        };
        create(&self.path, new)
    }

    /// The most blocks of a bank that a chip of that shape can have there, where the place bounds it.
    ///
    /// # Errors
    /// [`MediumError`].
    pub fn room(&self, kind: Kind, shape: Shape<'_>) -> Result<Option<u32>, MediumError> {
        self.medium.room.map(|room| room(&self.path, kind, shape)).transpose()
    }

    /// Opens a chip that was made before.
    ///
    /// # Errors
    /// [`MediumError`]; of [`MediumError::Usage`] where chips do not outlive the program.
    pub fn open(&self, how: &OpenChip) -> Result<OpenedChip, MediumError> {
        let Some(open) = self.medium.open else {
            return Err(MediumError::Usage(format!(
                "`{self}` is gone when the program ends; name {}",
                MEDIA[0].summary
            )));
        };
        open(&self.path, how)
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        (self.medium.scheme, &self.path) == (other.medium.scheme, &other.path)
    }
}

impl Eq for Place {}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        let of_scheme = name.split_once(':').and_then(|(scheme, rest)| {
            let is_meant = |medium: &&MediumEntry| {
                medium.scheme == scheme && (medium.takes_path || rest.is_empty())
            };
            Some(Self { medium: MEDIA.iter().find(is_meant)?, path: rest.into() })
        });
        Ok(of_scheme.unwrap_or_else(|| Self { medium: &MEDIA[0], path: name.into() }))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.medium.scheme != MEDIA[0].scheme {
            write!(f, "{}:", self.medium.scheme)?;
        }
        self.path.display().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_where_a_chip_is() {
        for (name, scheme, path) in [
            ("ram:", "ram", None),
            ("chip.img", "file", Some("chip.img")),
            ("./ram:", "file", Some("./ram:")),
            ("c:d", "file", Some("c:d")),
            ("ram:x", "file", Some("ram:x")),
            #[cfg(target_os = "linux")]
            ("mtd:/dev/mtd0", "mtd", Some("/dev/mtd0")),
        ] {
            let Ok(place) = name.parse::<Place>();
            assert_eq!((place.medium().scheme, place.path()), (scheme, path.map(Path::new)));
            assert_eq!(place.to_string(), name);
        }
        let Ok(place) = "file:ram:".parse::<Place>();
        assert_eq!((place.medium().scheme, place.path()), ("file", Some(Path::new("ram:"))));
        assert_eq!(place.name(), "ram:");
    }

    #[test]
    fn schemes_are_distinct_and_examples_are_names_of_their_medium() {
        for (number, medium) in MEDIA.iter().enumerate() {
            assert!(MEDIA[..number].iter().all(|other| other.scheme != medium.scheme));
            let Ok(place) = medium.example.parse::<Place>();
            assert_eq!(place.medium().scheme, medium.scheme);
            assert!(medium.create.is_some() || medium.open.is_some(), "{}", medium.scheme);
        }
    }
}
