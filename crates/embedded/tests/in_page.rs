//! NAND whose spare bytes all belong to the error correction: the driver keeps the area at the end of the page's own
//! bytes. What it costs is 16 bytes a page, and that a page which cannot be read has no area either.

use thermocline_embedded::{
    AREA, Config, Error, Ftl, Geometry, Nand, NandError, Static,
    policy::{Cat, Dac},
};

const PAGE: usize = 2048;
/// What the layer has of a page.
const DATA: usize = PAGE - AREA;
const BLOCKS: usize = 40;
const PAGES: usize = 16;

/// The chip corrects whole pages: what was cut off while it was programmed cannot be read at all.
struct Chip {
    pages: Vec<Result<[u8; PAGE], NandError>>,
    /// Programs and erases until the power fails.
    left: u32,
}

impl Chip {
    fn operation(&mut self, page: usize, then: [u8; PAGE]) -> Result<(), NandError> {
        let is_cut = self.left == 0;
        self.left = self.left.saturating_sub(1);
        self.pages[page] = if is_cut { Err(NandError::Unreadable) } else { Ok(then) };
        if is_cut { Err(NandError::Device) } else { Ok(()) }
    }
}

impl Nand for Chip {
    fn geometry(&self) -> Geometry {
        Geometry { blocks: BLOCKS as u32, pages: PAGES as u32, page_size: DATA as u32 }
    }

    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        let from = offset as usize;
        assert!(from + into.len() <= DATA);
        into.copy_from_slice(&self.pages[page as usize]?[from..from + into.len()]);
        Ok(())
    }

    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        into.copy_from_slice(&self.pages[page as usize]?[DATA..]);
        Ok(())
    }

    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        assert_eq!(self.pages[page as usize], Ok([0xff; PAGE]), "a page is programmed once");
        let mut whole = [0; PAGE];
        whole[..DATA].copy_from_slice(data);
        whole[DATA..].copy_from_slice(area);
        self.operation(page as usize, whole)
    }

    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        let first = block as usize * PAGES;
        (first..first + PAGES).try_for_each(|page| self.operation(page, [0xff; PAGE]))
    }

    fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }

    fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        panic!("no operation fails while there is power")
    }
}

struct Draws(u32);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % bound
    }
}

#[test]
fn bytes_are_those_of_a_plain_array_also_after_the_power_failed() -> Result<(), Error> {
    const LOGICAL: usize = 400;
    let mut chip = Chip { pages: vec![Ok([0xff; PAGE]); BLOCKS * PAGES], left: u32::MAX };
    let mut memory = Static::<BLOCKS, 1, 60, DATA>::new();
    let (mut page, mut draws) = ([0; DATA], Draws(5));
    let mut model = vec![0; LOGICAL * DATA];
    let config = Config { logical_pages: LOGICAL as u32, spare_blocks: 0 };
    Ftl::format(&mut chip, memory.memory(), Cat::default(), Dac::<3>, config)?;

    let mut cuts = 0;
    for _ in 0..60 {
        chip.left = 400 + draws.below(400) as u32;
        let mut store = Ftl::mount(&mut chip, memory.memory(), Cat::default(), Dac::<3>)?;
        let (offset, bytes) = loop {
            let length = 1 + draws.below(3 * DATA);
            // Most writes go to a tenth of the store.
            let from = if draws.below(10) > 0 { model.len() / 10 } else { model.len() };
            let offset = draws.below(from - length);
            let bytes: Vec<u8> = (0..length).map(|i| (i ^ draws.below(256)) as u8).collect();
            match store.write_at(offset as u64, &bytes, &mut page) {
                Ok(()) => model[offset..offset + length].copy_from_slice(&bytes),
                Err(Error::Device) => break (offset, bytes),
                Err(other) => return Err(other),
            }
            let mut read = vec![0; length];
            store.read_at(offset as u64, &mut read, &mut page)?;
            assert!(read == bytes, "{length} bytes at {offset}");
        };
        cuts += 1;

        chip.left = u32::MAX;
        let mut store = Ftl::mount(&mut chip, memory.memory(), Cat::default(), Dac::<3>)?;
        let mut all = vec![0; model.len()];
        store.read_at(0, &mut all, &mut page)?;
        // Of the write that was cut off each page has its old bytes or its new ones.
        for lpn in offset / DATA..=(offset + bytes.len() - 1) / DATA {
            let part = offset.max(lpn * DATA)..(offset + bytes.len()).min((lpn + 1) * DATA);
            if all[part.clone()] == bytes[part.start - offset..part.end - offset] {
                let of = part.start - offset..part.end - offset;
                model[part].copy_from_slice(&bytes[of]);
            }
        }
        assert!(all == model, "after cut {cuts}");
    }

    let mut store = Ftl::mount(&mut chip, memory.memory(), Cat::default(), Dac::<3>)?;
    let end = store.capacity();
    assert_eq!(end, model.len() as u64);
    for (offset, length) in [(end, 1), (end - 1, 2), (u64::MAX, 2)] {
        let refused = store.write_at(offset, &vec![1; length], &mut page);
        assert!(matches!(refused, Err(Error::OutOfRange(_))), "{length} bytes at {offset}");
    }
    assert_eq!(store.write_at(0, &[1], &mut [0; PAGE]), Err(Error::WrongLength(PAGE)));
    assert_eq!(store.write_at(end, &[], &mut page), Ok(()));
    Ok(())
}
