//! NOR flash whose power fails within a program or an erase: some bits are done. A block of several sectors is erased one
//! after another.

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use thermocline_embedded::{
    Config, Error, Ftl, Nor, Static, map_pages,
    policy::{Cat, Dac},
};

use crate::{chip::Draws, promises::Promises, seeds};

const SECTOR: usize = 512;
const BLOCK: u32 = 2 * SECTOR as u32;
const PAGE: usize = 128;
const BLOCKS: usize = 28;
const LOGICAL: u32 = 60;
const MAP_PAGES: usize = map_pages(PAGE as u32, LOGICAL) as usize;

/// The power is off.
#[derive(Debug)]
struct Off;

impl NorFlashError for Off {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

#[derive(Clone)]
struct Flash {
    bytes: Vec<u8>,
    /// Programs and erases of sectors until the power fails.
    left: u32,
    draws: Draws,
    broken: bool,
}

impl Flash {
    /// Whether this operation is the one that is cut off.
    fn is_cut(&mut self) -> Result<bool, Off> {
        self.left = self.left.checked_sub(1).ok_or(Off)?;
        Ok(self.left == 0)
    }
}

impl ErrorType for &mut Flash {
    type Error = Off;
}

impl ReadNorFlash for &mut Flash {
    const READ_SIZE: usize = 1;
    fn read(&mut self, at: u32, into: &mut [u8]) -> Result<(), Off> {
        if self.left == 0 {
            return Err(Off);
        }
        into.copy_from_slice(&self.bytes[at as usize..][..into.len()]);
        Ok(())
    }
    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for &mut Flash {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = SECTOR;
    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Off> {
        let cut = self.is_cut()?;
        let done =
            if cut { self.draws.below(bytes.len() as u32 + 1) as usize } else { bytes.len() };
        for (i, &byte) in bytes.iter().enumerate() {
            let held_back = if i < done { 0 } else { self.draws.next() as u8 };
            let to = &mut self.bytes[at as usize + i];
            self.broken |= *to & byte != byte;
            *to &= byte | held_back;
        }
        if cut { Err(Off) } else { Ok(()) }
    }
    fn erase(&mut self, from: u32, to: u32) -> Result<(), Off> {
        for sector in (from as usize..to as usize).step_by(SECTOR) {
            let cut = self.is_cut()?;
            let how = if cut { self.draws.below(4) } else { 3 };
            for at in sector..sector + SECTOR {
                let some = self.draws.next();
                self.bytes[at] |= match how {
                    0 => 0,
                    1 => some as u8 & (some >> 8) as u8,
                    2 => some as u8 | (some >> 8) as u8,
                    _ => 0xff,
                };
            }
            if cut {
                return Err(Off);
            }
        }
        Ok(())
    }
}

type Store<'a> = Ftl<'a, Nor<&'a mut Flash>, Cat, Dac<2>>;

/// One life of the store. What is wrong, if anything.
fn life(
    flash: &mut Flash,
    promises: &mut Promises,
    draws: &mut Draws,
    (checked, format): (bool, bool),
) -> Result<(), String> {
    let mut room = Static::<BLOCKS, MAP_PAGES, { 3 * MAP_PAGES }, PAGE>::new();
    let nor = if checked { Nor::checked } else { Nor::new };
    let nor = nor(flash, BLOCK, PAGE as u32)?;
    let config = Config { logical_pages: LOGICAL, spare_blocks: 0 };
    let store: Result<Store<'_>, Error> = if format {
        Ftl::format(nor, room.memory(), Cat::default(), Dac, config)
    } else {
        Ftl::mount(nor, room.memory(), Cat::default(), Dac)
    };
    promises.mounted();
    let mut store = match store {
        Ok(store) => store,
        Err(Error::Device) => return Ok(()),
        Err(e) => return Err(format!("mount: {e}")),
    };
    let mut page = vec![0; PAGE];
    for lpn in 0..LOGICAL {
        match store.read(lpn, &mut page) {
            Err(Error::Device) => return Ok(()),
            seen => promises.seen(lpn, seen, &page).map_err(|broken| broken.what)?,
        }
    }
    for _ in 0..draws.below(150) {
        let lpn = draws.below(LOGICAL);
        let result = if draws.once_in(12) {
            let flushed = store.flush();
            if flushed.is_ok() {
                promises.flushed();
            }
            flushed
        } else {
            promises.next(lpn, &mut page);
            let written = store.write(lpn, &page);
            promises.written(lpn, written);
            written
        };
        match result {
            Ok(()) => {}
            Err(Error::Device) => return Ok(()),
            Err(e) => return Err(format!("write: {e}")),
        }
    }
    Ok(())
}

fn history(seed: u64, checked: bool) -> Result<(), String> {
    let mut draws = Draws(seed);
    let bytes = vec![0xff; BLOCKS * BLOCK as usize];
    let mut flash = Flash { bytes, left: u32::MAX, draws: Draws(!seed), broken: false };
    let mut promises = Promises::new(LOGICAL, PAGE as u32);
    for number in 0..12 {
        let kept = number % 3 == 0;
        flash.left = if kept { u32::MAX } else { 1 + draws.below(200) };
        life(&mut flash, &mut promises, &mut draws, (checked, number == 0))
            .map_err(|what| format!("history {seed}, life {number}: {what}"))?;
        if flash.broken {
            return Err(format!("history {seed}, life {number}: a bit was set by a program"));
        }
    }
    Ok(())
}

#[test]
fn a_cut_on_nor_loses_nothing() {
    let histories = seeds().unwrap_or(0..300);
    let broken: Vec<String> =
        histories.clone().filter_map(|seed| history(seed, seed % 2 == 0).err()).collect();
    assert!(
        broken.is_empty(),
        "{} of {histories:?}: {:#?}",
        broken.len(),
        &broken[..broken.len().min(5)]
    );
}

#[test]
fn a_bit_that_turns_on_nor_is_noticed_where_pages_are_checked() {
    let mut flash = Flash {
        bytes: vec![0xff; BLOCKS * BLOCK as usize],
        left: u32::MAX,
        draws: Draws(1),
        broken: false,
    };
    {
        let mut room = Static::<BLOCKS, MAP_PAGES, { 3 * MAP_PAGES }, PAGE>::new();
        let config = Config { logical_pages: LOGICAL, spare_blocks: 0 };
        let nor = Nor::checked(&mut flash, BLOCK, PAGE as u32).expect("the shape is right");
        let mut store = Ftl::format(nor, room.memory(), Cat::default(), Dac::<2>, config)
            .expect("nothing fails");
        for lpn in 0..LOGICAL {
            store.write(lpn, &[lpn as u8 + 1; PAGE]).expect("nothing fails");
        }
        store.checkpoint().expect("nothing fails");
    }
    let whole = flash.clone();
    let mut noticed = 0;
    for (first, data) in (0..).step_by(PAGE).zip(whole.bytes.chunks(PAGE)) {
        // A page of data: blocks begin with pages, all bytes of which are the same here.
        let turned = first + first / PAGE % 97;
        if data.iter().any(|&byte| byte != data[0] || byte == 0xff) {
            continue;
        }
        flash.bytes.copy_from_slice(&whole.bytes);
        flash.bytes[turned] ^= 1 << (first / PAGE % 8);
        let mut room = Static::<BLOCKS, MAP_PAGES, { 3 * MAP_PAGES }, PAGE>::new();
        let nor = Nor::checked(&mut flash, BLOCK, PAGE as u32).expect("the shape is right");
        let mut store = Ftl::mount(nor, room.memory(), Cat::default(), Dac::<2>).expect("mounted");
        let mut page = [0; PAGE];
        for lpn in 0..LOGICAL {
            let expected = lpn as u8 + 1;
            match store.read(lpn, &mut page) {
                Ok(holds) => assert!(holds && page == [expected; PAGE], "page {lpn}, {turned}"),
                Err(e) => {
                    assert_eq!((e, data[0]), (Error::Unreadable(lpn), expected));
                    noticed += 1;
                }
            }
        }
    }
    assert_eq!(noticed, LOGICAL);
}
