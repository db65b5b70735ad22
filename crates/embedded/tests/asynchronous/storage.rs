//! Bytes on NOR flash, behind the traits of `embedded-storage` or `embedded-storage-async`, and a record of what the flash does.

use std::convert::Infallible;

use thermocline_embedded::{
    Config, Error, Static,
    policy::{Cat, Dac},
};

use super::{
    Bytes, Ftl, Nor, bisync, pause,
    storage_traits::{
        ReadStorage, Storage,
        nor_flash::{ErrorType, NorFlash, ReadNorFlash},
    },
};
use crate::chip::Draws;

const SECTOR: usize = 4096;

/// SPI NOR: bits are cleared by writing, set by erasing sectors.
pub struct Flash {
    bytes: Vec<u8>,
    pub log: Vec<(char, u32, usize)>,
}

impl ErrorType for Flash {
    type Error = Infallible;
}

#[bisync]
impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        pause().await;
        bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
        self.log.push(('r', offset, bytes.len()));
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

#[bisync]
impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        pause().await;
        self.bytes[from as usize..to as usize].fill(0xff);
        self.log.push(('e', from, to as usize));
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        pause().await;
        for (old, &new) in self.bytes[offset as usize..].iter_mut().zip(bytes) {
            assert_eq!(*old, 0xff, "a word is written once between two erases");
            *old = new;
        }
        self.log.push(('w', offset, bytes.len()));
        Ok(())
    }
}

/// Writes and reads any bytes, and mounts, beside a plain array.
#[bisync]
pub async fn run(seed: u64) -> Result<Vec<(char, u32, usize)>, Error> {
    let mut memory = Static::<32, 8, 60, 256>::new();
    let (mut page, mut model) = ([0; 256], vec![0_u8; 200 * 256]);
    let mut draws = Draws(seed);
    let flash = Flash { bytes: vec![0; 32 * SECTOR], log: Vec::new() };
    let mut nor = Nor::checked(flash, SECTOR as u32, 256).expect("the shape is right");
    let config = Config { logical_pages: 200, spare_blocks: 1 };
    for mount in 0..3 {
        let ftl = if mount == 0 {
            Ftl::format(nor, memory.memory(), Cat::default(), Dac::<2>, config).await?
        } else {
            Ftl::mount(nor, memory.memory(), Cat::default(), Dac::<2>).await?
        };
        let mut store = Bytes::new(ftl, &mut page)?;
        assert_eq!(store.capacity(), model.len());
        for _ in 0..200 {
            let at = draws.below(model.len() as u32 - 700);
            let length = draws.below(700) as usize;
            let part = &mut model[at as usize..][..length];
            if draws.once_in(2) {
                part.fill(draws.next() as u8);
                store.write(at, part).await?;
            } else {
                let mut read = vec![1; length];
                store.read(at, &mut read).await?;
                assert_eq!(read, part);
            }
        }
        nor = store.into_ftl().into_nand();
    }
    Ok(nor.into_inner().log)
}
