//! The chips that the driver knows: a row a chip, from their data sheets.
//!
//! Identification, shape, error correction and the bytes beside a page are from the makers' data sheets; where these are not
//! public, they agree with what Linux (`drivers/mtd/nand/spi`), OpenWrt and UFProg say of the chip. Of all chips the
//! W25N01GV alone is simulated byte by byte; no row was tried on hardware.

use thermocline_embedded::Geometry;

use crate::ecc::Ecc;

/// What a chip answers to `9Fh`, the maker first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    /// After a byte that is a dummy, or an address of zero.
    AfterDummy(&'static [u8]),
    /// At once.
    AtOnce(&'static [u8]),
}

/// Where the 16 bytes of the area lie among the spare bytes behind a page: in so many runs, in bytes that the error
/// correction covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// The first byte, counted from the end of the page.
    pub first: u8,
    /// Bytes in a row: 4 or 16.
    pub run: u8,
    /// From one run to the next.
    pub stride: u8,
}

/// Bytes 4 to 7 of each of four sections of 16: the ones that every chip with four sections covers.
pub const SECTIONS: Spare = Spare { first: 4, run: 4, stride: 16 };

/// Sixteen in a row.
#[must_use]
pub const fn row(first: u8) -> Spare {
    Spare { first, run: 16, stride: 16 }
}

/// How a chip of several dies is told which one is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dies {
    /// One die.
    One,
    /// Two, chosen by command C2h and a byte.
    Command,
    /// Two, chosen by bit 6 of register D0h.
    Register,
}

/// A chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// Its name, without package and temperature.
    pub name: &'static str,
    /// What it answers when it is asked who it is.
    pub id: Id,
    /// Blocks of all dies.
    pub blocks: u16,
    /// Pages of a block.
    pub pages: u8,
    /// Bytes of a page.
    pub page_size: u16,
    /// Bits that it corrects in a sector of 512 bytes.
    pub strength: u8,
    /// How it says so.
    pub ecc: Ecc,
    /// Where the area is.
    pub spare: Spare,
    /// Dies.
    pub dies: Dies,
    /// Two planes: bit 12 of a column (13 where a page has 4096 bytes) says in which one the block is, its lowest bit.
    pub planes: bool,
    /// The column of a read has a byte before it in place of one behind it.
    pub long_column: bool,
    /// Pages of a block of which the first spare byte may be the maker's mark, from the first one on.
    pub marks: u8,
    /// Bits of register B0h that are set for it, and those that are cleared.
    pub configuration: (u8, u8),
}

/// Error correction on.
const ECC: u8 = 1 << 4;
/// Reads of one page, not of the whole chip (Winbond).
const BUFFER: u8 = 1 << 3;
/// Pages for single programming instead of blocks.
pub(crate) const OTP: u8 = 1 << 6;
/// Reads of the whole chip (Micron M70A), or high speed with more dummy bytes (Kioxia, XTX D).
const LOW: [u8; 2] = [1, 1 << 1];

impl Chip {
    const fn of(name: &'static str, id: Id, blocks: u16, strength: u8, ecc: Ecc) -> Self {
        Self {
            name,
            id,
            blocks,
            pages: 64,
            page_size: 2048,
            strength,
            ecc,
            spare: SECTIONS,
            dies: Dies::One,
            planes: false,
            long_column: false,
            marks: 1,
            configuration: (ECC, OTP),
        }
    }

    /// The shape that the layer sees.
    #[must_use]
    pub const fn geometry(&self) -> Geometry {
        Geometry {
            blocks: self.blocks as u32,
            pages: self.pages as u32,
            page_size: self.page_size as u32,
        }
    }

    /// From so many corrected bits on the layer moves a page: three quarters of what can be corrected.
    #[must_use]
    pub const fn refresh_from(&self) -> u32 {
        (self.strength as u32 * 3).div_ceil(4)
    }

    const fn winbond(self) -> Self {
        Self { configuration: (ECC | BUFFER, OTP), ..self }
    }

    const fn spare(self, spare: Spare) -> Self {
        Self { spare, ..self }
    }

    const fn large(self) -> Self {
        Self { page_size: 4096, ..self }
    }

    const fn planes(self) -> Self {
        Self { planes: true, ..self }
    }

    const fn dies(self, dies: Dies) -> Self {
        Self { dies, ..self }
    }

    const fn two_marks(self) -> Self {
        Self { marks: 2, ..self }
    }

    const fn clears(self, bits: u8) -> Self {
        Self { configuration: (self.configuration.0, self.configuration.1 | bits), ..self }
    }

    const fn long_column(self) -> Self {
        Self { long_column: true, ..self }
    }
}

const fn id(bytes: &'static [u8]) -> Id {
    Id::AfterDummy(bytes)
}

/// Winbond W25N01GV, the chip of the guide. Its spare bytes are four sections of 16: a mark or free (0 to 1), free and not
/// covered (2 to 3), free and covered (4 to 7), parity (8 to 15).
pub const W25N01GV: Chip =
    Chip::of("W25N01GV", id(&[0xef, 0xaa, 0x21]), 1024, 1, Ecc::Plain).winbond();

/// All rows. Chips of the same die for 1.8 V (`W`, `R`, `B`, `Y`, `D` in the names) have rows of their own where they have
/// an identification of their own.
pub const ALL: &[Chip] = &[
    // Winbond.
    Chip::of("W25N512GV", id(&[0xef, 0xaa, 0x20]), 512, 1, Ecc::Plain).winbond(),
    Chip::of("W25N512GW", id(&[0xef, 0xba, 0x20]), 512, 1, Ecc::Plain).winbond(),
    W25N01GV,
    Chip::of("W25N01GW", id(&[0xef, 0xba, 0x21]), 1024, 1, Ecc::Plain).winbond(),
    Chip::of("W25N01KV", id(&[0xef, 0xae, 0x21]), 1024, 4, Ecc::MostBits).winbond(),
    Chip::of("W25M02GV", id(&[0xef, 0xab, 0x21]), 2048, 1, Ecc::Plain)
        .winbond()
        .dies(Dies::Command),
    Chip::of("W25N02KV", id(&[0xef, 0xaa, 0x22]), 2048, 8, Ecc::MostBits).winbond(),
    Chip::of("W25N02KW", id(&[0xef, 0xba, 0x22]), 2048, 8, Ecc::MostBits).winbond(),
    Chip::of("W25N04KV", id(&[0xef, 0xaa, 0x23]), 4096, 8, Ecc::MostBits).winbond(),
    Chip::of("W25N04KW", id(&[0xef, 0xba, 0x23]), 4096, 8, Ecc::MostBits).winbond(),
    // GigaDevice.
    Chip::of("GD5F1GQ4xA", id(&[0xc8, 0xf1]), 1024, 8, Ecc::UpToSeven),
    Chip::of("GD5F2GQ4xA", id(&[0xc8, 0xf2]), 2048, 8, Ecc::UpToSeven),
    Chip::of("GD5F1GQ4UE", id(&[0xc8, 0xd1]), 1024, 8, Ecc::FourToSeven),
    Chip::of("GD5F1GQ4RE", id(&[0xc8, 0xc1]), 1024, 8, Ecc::FourToSeven),
    Chip::of("GD5F2GQ4UE", id(&[0xc8, 0xd2]), 2048, 8, Ecc::FourToSeven),
    Chip::of("GD5F2GQ4RE", id(&[0xc8, 0xc2]), 2048, 8, Ecc::FourToSeven),
    Chip::of("GD5F1GQ4UF", Id::AtOnce(&[0xc8, 0xb1, 0x48]), 1024, 8, Ecc::ThreeToEight)
        .long_column(),
    Chip::of("GD5F1GQ4RF", Id::AtOnce(&[0xc8, 0xa1, 0x48]), 1024, 8, Ecc::ThreeToEight)
        .long_column(),
    Chip::of("GD5F1GQ5UE", id(&[0xc8, 0x51]), 1024, 4, Ecc::OneToFour),
    Chip::of("GD5F1GQ5RE", id(&[0xc8, 0x41]), 1024, 4, Ecc::OneToFour),
    Chip::of("GD5F2GQ5UE", id(&[0xc8, 0x52]), 2048, 4, Ecc::OneToFour),
    Chip::of("GD5F2GQ5RE", id(&[0xc8, 0x42]), 2048, 4, Ecc::OneToFour),
    Chip::of("GD5F1GM7UE", id(&[0xc8, 0x91]), 1024, 8, Ecc::FourToSeven),
    Chip::of("GD5F1GM7RE", id(&[0xc8, 0x81]), 1024, 8, Ecc::FourToSeven),
    // Micron.
    Chip::of("MT29F1G01ABAFD", id(&[0x2c, 0x14]), 1024, 8, Ecc::Ranges).spare(row(32)),
    Chip::of("MT29F1G01ABBFD", id(&[0x2c, 0x15]), 1024, 8, Ecc::Ranges).spare(row(32)),
    Chip::of("MT29F2G01ABAGD", id(&[0x2c, 0x24]), 2048, 8, Ecc::Ranges).spare(row(32)).planes(),
    Chip::of("MT29F2G01ABBGD", id(&[0x2c, 0x25]), 2048, 8, Ecc::Ranges).spare(row(32)).planes(),
    Chip::of("MT29F4G01ADAGD", id(&[0x2c, 0x36]), 4096, 8, Ecc::Ranges)
        .spare(row(32))
        .planes()
        .dies(Dies::Register),
    Chip::of("MT29F4G01ABAFD", id(&[0x2c, 0x34]), 2048, 8, Ecc::Ranges)
        .large()
        .spare(row(64))
        .clears(LOW[0]),
    Chip::of("MT29F4G01ABBFD", id(&[0x2c, 0x35]), 2048, 8, Ecc::Ranges)
        .large()
        .spare(row(64))
        .clears(LOW[0]),
    // Macronix.
    Chip::of("MX35LF1GE4AB", id(&[0xc2, 0x12]), 1024, 4, Ecc::Command).two_marks(),
    Chip::of("MX35LF2GE4AB", id(&[0xc2, 0x22]), 2048, 4, Ecc::Plain).planes().two_marks(),
    Chip::of("MX35UF1GE4AC", id(&[0xc2, 0x92]), 1024, 4, Ecc::Command).two_marks(),
    Chip::of("MX35UF2GE4AC", id(&[0xc2, 0xa2]), 2048, 4, Ecc::Command).two_marks(),
    // Kioxia, once Toshiba: the first generation, then the second.
    Chip::of("TC58CVG0S3HRAIG", id(&[0x98, 0xc2]), 1024, 8, Ecc::MostBits),
    Chip::of("TC58CVG1S3HRAIG", id(&[0x98, 0xcb]), 2048, 8, Ecc::MostBits),
    Chip::of("TC58CVG2S0HRAIG", id(&[0x98, 0xcd]), 2048, 8, Ecc::MostBits).large(),
    Chip::of("TC58CYG0S3HRAIG", id(&[0x98, 0xb2]), 1024, 8, Ecc::MostBits),
    Chip::of("TC58CYG1S3HRAIG", id(&[0x98, 0xbb]), 2048, 8, Ecc::MostBits),
    Chip::of("TC58CYG2S0HRAIG", id(&[0x98, 0xbd]), 2048, 8, Ecc::MostBits).large(),
    Chip::of("TC58CVG0S3HRAIJ", id(&[0x98, 0xe2]), 1024, 8, Ecc::MostBits).clears(LOW[1]),
    Chip::of("TC58CVG1S3HRAIJ", id(&[0x98, 0xeb]), 2048, 8, Ecc::MostBits).clears(LOW[1]),
    Chip::of("TC58CVG2S0HRAIJ", id(&[0x98, 0xed]), 2048, 8, Ecc::MostBits).large().clears(LOW[1]),
    Chip::of("TC58CYG0S3HRAIJ", id(&[0x98, 0xd2]), 1024, 8, Ecc::MostBits).clears(LOW[1]),
    Chip::of("TC58CYG1S3HRAIJ", id(&[0x98, 0xdb]), 2048, 8, Ecc::MostBits).clears(LOW[1]),
    Chip::of("TC58CYG2S0HRAIJ", id(&[0x98, 0xdd]), 2048, 8, Ecc::MostBits).large().clears(LOW[1]),
    // XTX. Of the A the first eight spare bytes are not covered, and the parity is in the last sixteen.
    Chip::of("XT26G01A", id(&[0x0b, 0xe1]), 1024, 8, Ecc::Four).spare(row(8)),
    Chip::of("XT26G02A", id(&[0x0b, 0xe2]), 2048, 8, Ecc::Four).spare(row(8)),
    Chip::of("XT26G01C", id(&[0x0b, 0x11]), 1024, 8, Ecc::HighFour),
    Chip::of("XT26G01D", id(&[0x0b, 0x31]), 1024, 8, Ecc::HighTwo).clears(LOW[1]),
    Chip::of("XT26G02D", id(&[0x0b, 0x32]), 2048, 8, Ecc::HighTwo).clears(LOW[1]),
    // ESMT, which has GigaDevice's number and says so by continuation codes.
    Chip::of("F50L1G41LB", id(&[0xc8, 0x01, 0x7f, 0x7f]), 1024, 1, Ecc::Plain).two_marks(),
    Chip::of("F50D1G41LB", id(&[0xc8, 0x11, 0x7f, 0x7f]), 1024, 1, Ecc::Plain).two_marks(),
];

/// The row of a chip that answers so, after a dummy byte and at once: the one that knows most of it. It is the maker's
/// number that tells a chip from a bus on which there is nothing.
#[must_use]
pub fn find(
    rows: &'static [Chip],
    after_dummy: &[u8; 4],
    at_once: &[u8; 4],
) -> Option<&'static Chip> {
    let known = |chip: &&Chip| match chip.id {
        Id::AfterDummy(id) => after_dummy.starts_with(id),
        Id::AtOnce(id) => at_once.starts_with(id),
    };
    rows.iter().filter(known).max_by_key(|chip| match chip.id {
        Id::AfterDummy(id) | Id::AtOnce(id) => id.len(),
    })
}
