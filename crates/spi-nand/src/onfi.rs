//! The parameter page, by which a chip describes itself (ONFI 1.0, table 12).

/// What a parameter page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The maker, padded with blanks.
    pub maker: [u8; 12],
    /// The model, padded with blanks.
    pub model: [u8; 20],
    /// Bytes of a page.
    pub page_size: u32,
    /// Bytes beside a page.
    pub spare_size: u16,
    /// Pages of a block.
    pub pages: u32,
    /// Blocks of a unit.
    pub blocks: u32,
    /// Units.
    pub units: u8,
    /// Bits of 512 bytes that must be corrected.
    pub ecc_bits: u8,
}

impl Parameters {
    /// Bytes of a copy of the page.
    pub const BYTES: usize = 256;

    /// Nothing if the page has no signature, or its checksum is another.
    #[must_use]
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (told, sum) = (&bytes[..254], [bytes[254], bytes[255]]);
        if told[..4] != *b"ONFI" || u16::from_le_bytes(sum) != crc(told) {
            return None;
        }
        let word =
            |at: usize| u32::from_le_bytes([told[at], told[at + 1], told[at + 2], told[at + 3]]);
        let (mut maker, mut model) = ([0; 12], [0; 20]);
        maker.copy_from_slice(&told[32..44]);
        model.copy_from_slice(&told[44..64]);
        Some(Self {
            maker,
            model,
            page_size: word(80),
            spare_size: u16::from_le_bytes([told[84], told[85]]),
            pages: word(92),
            blocks: word(96),
            units: told[100],
            ecc_bits: told[112],
        })
    }
}

/// CRC-16 of polynomial 8005h from 4F4Eh on.
pub(crate) fn crc(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0x4f4e, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x8005 }
        })
    })
}
