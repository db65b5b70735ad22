//! What a user names as a chip.

use std::{convert::Infallible, fmt, path::PathBuf, str::FromStr};

/// Where a chip is, as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `ram:`, made when it is opened.
    Ram,
    /// `mtd:/dev/mtd0`, a raw flash device of Linux.
    Mtd(PathBuf),
    /// Anything else is the path of an image; `file:` before it says so where the path begins like
    /// one of the others.
    Image(PathBuf),
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(match name.split_once(':') {
            Some(("ram", "")) => Self::Ram,
            Some(("mtd", device)) => Self::Mtd(device.into()),
            Some(("file", path)) => Self::Image(path.into()),
            _ => Self::Image(name.into()),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ram => f.write_str("ram:"),
            Self::Mtd(device) => write!(f, "mtd:{}", device.display()),
            Self::Image(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_where_a_chip_is() {
        for (name, place) in [
            ("ram:", Place::Ram),
            ("mtd:/dev/mtd0", Place::Mtd("/dev/mtd0".into())),
            ("chip.img", Place::Image("chip.img".into())),
            ("./ram:", Place::Image("./ram:".into())),
            ("c:d", Place::Image("c:d".into())),
        ] {
            assert_eq!(name.parse(), Ok(place.clone()));
            assert_eq!(place.to_string(), name);
        }
        assert_eq!("file:ram:".parse(), Ok(Place::Image("ram:".into())));
    }
}
