//! Where a chip is that holds data.

use std::{fmt, path::PathBuf};

/// A chip that holds data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChipArg {
    /// In memory, made when the program starts.
    Ram,
    /// An image file.
    Image(PathBuf),
    /// A raw NAND device of Linux.
    Mtd(PathBuf),
}

impl ChipArg {
    /// As users write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("ram", "")) => Ok(Self::Ram),
            Some(("ram", rest)) => {
                Err(format!("`ram:` takes nothing behind it, `{rest}` is there"))
            }
            Some(("mtd", "")) => Err("`mtd:` wants a device behind it: mtd:/dev/mtd0".into()),
            Some(("mtd", path)) => Ok(Self::Mtd(path.into())),
            _ if text.is_empty() => Err("name a file, `ram:` or `mtd:/dev/mtd0`".into()),
            _ => Ok(Self::Image(text.into())),
        }
    }
}

impl fmt::Display for ChipArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ram => f.write_str("ram:"),
            Self::Image(path) => write!(f, "{}", path.display()),
            Self::Mtd(path) => write!(f, "mtd:{}", path.display()),
        }
    }
}
