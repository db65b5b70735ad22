//! How chips tell what their error correction did with the page that was loaded last. Each maker has a way of its own.
//!
//! Where a status stands for a range of bits, the most of it counts. A status that the data sheet does not name counts as
//! uncorrectable: a chip that says something else than it may is not believed.

/// What a chip says of its error correction, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecc {
    /// Bits 5:4 of the status: 0 none, 1 corrected, 2 uncorrectable. 3 is reserved, or the same of several pages (Winbond).
    Plain,
    /// 1 and 3 corrected, 2 uncorrectable; feature 30h tells the bits of the worst sector in bits 7:4 (Winbond KV, Kioxia).
    MostBits,
    /// Bits 6:4: 0 none, 1 up to 3 bits, 3 up to 6, 5 up to 8, 2 uncorrectable (Micron).
    Ranges,
    /// 1 corrected, 2 uncorrectable; command 7Ch tells the bits (Macronix).
    Command,
    /// 1 up to 7 bits, 3 is 8, 2 uncorrectable (GigaDevice Q4xA).
    UpToSeven,
    /// 1 up to 7 bits: feature F0h tells in bits 5:4 whether up to 4, or 5, 6, 7; 3 is 8, 2 uncorrectable (GigaDevice Q4xE).
    FourToSeven,
    /// Bits 6:4: 1 up to 3 bits, 2 to 6 are 4 to 8, 7 uncorrectable (GigaDevice Q4xF).
    ThreeToEight,
    /// 1 corrected: feature F0h tells in bits 5:4 whether 1, 2, 3 or 4; 2 uncorrectable (GigaDevice Q5xE).
    OneToFour,
    /// Bits 5:2: 1 to 7 are as many bits, 12 is 8, 8 uncorrectable (XTX A).
    Four,
    /// Bits 7:4: 1 to 8 are as many bits, 15 uncorrectable (XTX C).
    HighFour,
    /// Bits 5:4: 1 is 4 bits at most and one more for each of bits 7:6; 3 is 8, 2 uncorrectable (XTX D).
    HighTwo,
}

/// Where a chip says more than in its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// Nowhere.
    No,
    /// In a register.
    Register(u8),
    /// In the answer to a command.
    Command(u8),
}

impl Ecc {
    /// What must be asked beside a status.
    #[must_use]
    pub const fn more(self, status: u8) -> More {
        match (self, status >> 4 & 3) {
            (Self::MostBits, 1 | 3) => More::Register(0x30),
            (Self::Command, 1) => More::Command(0x7c),
            (Self::FourToSeven | Self::OneToFour, 1) => More::Register(0xf0),
            _ => More::No,
        }
    }

    /// Bits that were corrected in the worst sector, by the status, what [`more`](Self::more) was asked for, and the bits
    /// that the chip corrects at most. Nothing if the page cannot be read.
    #[must_use]
    pub const fn corrected(self, status: u8, more: u8, strength: u8) -> Option<u8> {
        let (two, three) = (status >> 4 & 3, status >> 4 & 7);
        let bits = match (self, two) {
            (Self::Ranges, _) => match three {
                0 => 0,
                1 => 3,
                3 => 6,
                5 => 8,
                _ => return None,
            },
            (Self::ThreeToEight, _) => match three {
                0 => 0,
                1 => 3,
                7 => return None,
                more => more + 2,
            },
            (Self::Four, _) => match status >> 2 & 15 {
                bits @ 0..=7 => bits,
                12 => 8,
                _ => return None,
            },
            (Self::HighFour, _) => match status >> 4 {
                bits @ 0..=8 => bits,
                _ => return None,
            },
            (_, 0) => 0,
            (_, 2) | (Self::Plain | Self::Command | Self::OneToFour, 3) => return None,
            (Self::MostBits, _) => told(more >> 4, strength),
            (Self::Command, _) => told(more & 15, strength),
            (Self::UpToSeven, 1) => 7,
            (Self::FourToSeven, 1) => 4 + (more >> 4 & 3),
            (Self::OneToFour, _) => 1 + (more >> 4 & 3),
            (Self::HighTwo, 1) => 4 + (status >> 6),
            (Self::UpToSeven | Self::FourToSeven | Self::HighTwo, _) => 8,
            (Self::Plain, _) => strength,
        };
        Some(bits)
    }
}

/// Bits that a chip tells where its status says that some were corrected. None, or more than it can correct, is a mistake.
const fn told(bits: u8, strength: u8) -> u8 {
    if bits == 0 || bits > strength { strength } else { bits }
}
