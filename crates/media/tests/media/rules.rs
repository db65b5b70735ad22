//! The chip in memory obeys and enforces what the counting chip does, and keeps what it is given.

use std::collections::BTreeMap;

use thermocline_flash::{
    BlockId, Condition, CountingChip, Flash, FlashError, Geometry, Lpn, Oob, Ppn, Rules,
};
use thermocline_media::Ram;

const GEOMETRY: Geometry = Geometry {
    banks: 2,
    channels: 1,
    blocks_per_bank: 3,
    pages_per_block: 5,
    page_size: 4,
    oob_size: 16,
    header_pages: 1,
    system_blocks: 0,
};

fn oob(number: u32) -> Oob {
    Oob {
        lpn: Lpn(number),
        stream: number as u8,
        sequence: u64::from(number) << 32,
        time: 1,
        note: 2,
    }
}

/// What the counting chip answers to a program. It looks for bad blocks at their first page only,
/// for speed; here every page is refused.
fn answer(
    ram: &Ram,
    to: Ppn,
    put: impl FnOnce(&mut CountingChip) -> Result<(), FlashError>,
    counting: &mut CountingChip,
) -> Result<(), FlashError> {
    let block = GEOMETRY.block_of(to);
    if block.0 < GEOMETRY.blocks() && GEOMETRY.page_of(to) < GEOMETRY.pages_per_block {
        assert_eq!(ram.is_bad(block), counting.is_bad(block));
        if ram.is_bad(block) {
            return Err(FlashError::BadBlock(block));
        }
    }
    put(counting)
}

#[test]
fn it_answers_as_the_counting_chip_does_and_keeps_every_page() {
    for in_order in [true, false] {
        let rules = Rules { in_order, endurance: 40, initial_bad_blocks: 0 };
        let bad = [BlockId(4)];
        let mut ram = Ram::new(GEOMETRY, rules).with_bad_blocks(&bad).that_wears_out();
        let mut counting =
            CountingChip::new(GEOMETRY, rules).with_bad_blocks(&bad).that_wears_out();
        assert_eq!((ram.in_order(), ram.rules()), (in_order, &rules));
        let mut kept: BTreeMap<Ppn, (Oob, [u8; 4])> = BTreeMap::new();
        let (mut draw, mut programmed, mut worn) = (1_u64, 0, 0);
        for step in 0..30_000_u32 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = |bits: u32, below: u32| (draw >> bits) as u32 % below;
            // Blocks and pages beyond the chip as well.
            let block = BlockId(number(33, 7));
            let to = GEOMETRY.ppn(block, 1 + number(40, 5));
            match number(50, 12) {
                0 => {
                    let done = ram.erase(block);
                    assert_eq!(done, counting.erase(block));
                    worn += u32::from(matches!(done, Err(FlashError::WornOut(_))));
                    if done.is_ok() {
                        kept.retain(|&at, _| GEOMETRY.block_of(at) != block);
                    }
                }
                1..4 if !kept.is_empty() => {
                    let from = kept.keys().copied().nth(number(20, kept.len() as u32) as usize);
                    let from = from.expect("within");
                    let done = ram.copy(from, to, oob(step));
                    assert_eq!(
                        done,
                        answer(&ram, to, |c| c.copy(from, to, oob(step)), &mut counting)
                    );
                    if done.is_ok() {
                        kept.insert(to, (oob(step), kept[&from].1));
                    }
                }
                _ => {
                    let done = ram.program(to, oob(step), &step.to_le_bytes());
                    assert_eq!(
                        done,
                        answer(&ram, to, |c| c.program(to, oob(step), &[]), &mut counting)
                    );
                    if done.is_ok() {
                        kept.insert(to, (oob(step), step.to_le_bytes()));
                        programmed += 1;
                    }
                }
            }
            let at = GEOMETRY.ppn(BlockId(number(23, 6)), number(43, 5));
            let mut read = [0; 4];
            ram.read(at, &mut read).expect("read");
            let found = ram.read_oob(at).expect("read").map(|oob| (oob, read));
            assert_eq!(found, kept.get(&at).copied());
            assert!(found.is_some() || read == [0xff; 4], "erased flash reads as ones");
            assert_eq!(
                ram.erase_count(block),
                counting.erase_counts().get(block.index()).copied().unwrap_or(0)
            );
        }
        assert!(programmed > 200 && worn == 5, "{programmed} programs, {worn} blocks died");
    }
}

#[test]
fn a_payload_is_a_page_long_or_unknown() {
    let rules = Rules { in_order: false, endurance: 1, initial_bad_blocks: 0 };
    let mut ram = Ram::new(GEOMETRY, rules);
    let at = GEOMETRY.ppn(BlockId(0), 1);
    let mut read = [1; 4];
    assert_eq!(ram.program(at, oob(1), &[0; 3]), Err(FlashError::WrongLength(3)));
    assert_eq!(ram.program(at, oob(1), &[]), Ok(()));
    assert_eq!((ram.read(at, &mut read), read), (Ok(()), [0; 4]), "unknown content is zeros");
    assert_eq!(ram.read(at, &mut [0; 5]), Err(FlashError::WrongLength(5)));
    assert_eq!(ram.read(at, &mut []), Ok(()));
    let blank = GEOMETRY.ppn(BlockId(0), 2);
    let to = GEOMETRY.ppn(BlockId(1), 1);
    assert_eq!(ram.copy(blank, to, oob(2)), Err(FlashError::Unreadable(blank)));
    assert_eq!(ram.read_oob(to), Ok(None));
}
