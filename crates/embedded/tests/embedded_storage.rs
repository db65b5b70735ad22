//! A store of bytes on NOR flash, both behind the traits of `embedded-storage`.

use std::convert::Infallible;

use embedded_storage::{
    ReadStorage, Storage,
    nor_flash::{ErrorType, NorFlash, ReadNorFlash},
};
use thermocline_embedded::{
    Bytes, Config, Error, Ftl, Nor, Static,
    policy::{Cat, Dac},
};

const SECTOR: usize = 4096;
const SIZE: usize = 64 * SECTOR;
const UNIT: usize = 4;

/// SPI NOR: bits are cleared by writing, set by erasing sectors.
struct Flash(Vec<u8>);

impl ErrorType for Flash {
    type Error = Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = UNIT;
    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        assert!((offset as usize).is_multiple_of(UNIT) && bytes.len().is_multiple_of(UNIT));
        bytes.copy_from_slice(&self.0[offset as usize..][..bytes.len()]);
        Ok(())
    }
    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = UNIT;
    const ERASE_SIZE: usize = SECTOR;
    fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        assert!((from as usize).is_multiple_of(SECTOR) && (to as usize).is_multiple_of(SECTOR));
        self.0[from as usize..to as usize].fill(0xff);
        Ok(())
    }
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        assert!((offset as usize).is_multiple_of(UNIT) && bytes.len().is_multiple_of(UNIT));
        for (old, &new) in self.0[offset as usize..].iter_mut().zip(bytes) {
            assert_eq!(*old, 0xff, "a word is written once between two erases");
            *old = new;
        }
        Ok(())
    }
}

#[test]
fn bytes_on_nor_are_those_of_a_plain_array_also_after_a_mount() -> Result<(), Error> {
    let mut memory = Static::<64, 8, 60, 256>::new();
    let (mut page, mut model) = ([0; 256], Vec::new());
    let mut nor = Nor::new(Flash(vec![0; SIZE]), SECTOR as u32, 256).expect("the shape is right");
    let mut draw = 7_u32;
    let mut below = |bound: usize| {
        draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (draw >> 8) as usize % bound
    };
    for mount in 0..20 {
        let ftl = if mount == 0 {
            let config = Config { logical_pages: 600, ..Config::default() };
            Ftl::format(&mut nor, memory.memory(), Cat::default(), Dac::<2>, config)?
        } else {
            Ftl::mount(&mut nor, memory.memory(), Cat::default(), Dac::<2>)?
        };
        let mut store = Bytes::new(ftl, &mut page)?;
        model.resize(store.capacity(), 0);
        for _ in 0..500 {
            let length = 1 + below(1500);
            let offset = below(model.len() - length);
            let bytes: Vec<u8> = (0..length).map(|i| (i ^ below(256)) as u8).collect();
            store.write(offset as u32, &bytes)?;
            model[offset..offset + length].copy_from_slice(&bytes);
            let offset = below(model.len() - length);
            let mut read = vec![0; length];
            store.read(offset as u32, &mut read)?;
            assert!(read == model[offset..offset + length], "{length} bytes at {offset}");
        }
    }
    assert_eq!(model.len(), 600 * 256);
    Ok(())
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let refused = |block, page| Nor::new(Flash(vec![0; SIZE]), block, page).err();
    assert!(refused(4000, 256).is_some());
    assert!(refused(4096, 255).is_some());
    assert!(refused(4096, 4096).is_some());
    assert!(refused(4096, 256).is_none());
}
