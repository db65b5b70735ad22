//! What the switch does to a chip, and what it must never do.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob, Ppn, Rules};
use thermocline_media::{Cut, Faulty, Ram};

const GEOMETRY: Geometry = Geometry {
    banks: 1,
    channels: 1,
    blocks_per_bank: 2,
    pages_per_block: 16,
    page_size: 4,
    oob_size: 16,
    header_pages: 0,
    system_blocks: 0,
};
const BLOCK: BlockId = BlockId(0);

fn page(number: u32) -> Ppn {
    GEOMETRY.ppn(BLOCK, number)
}

fn oob(number: u32) -> Oob {
    Oob { lpn: Lpn(number), stream: 0, sequence: 1, time: 2, note: 3 }
}

/// A chip with 8 pages programmed, each with its number, and power for one more operation.
fn chip(cut: Cut) -> Faulty<Ram> {
    let rules = Rules { in_order: true, endurance: 10, initial_bad_blocks: 0 };
    let mut chip = Faulty::new(Ram::new(GEOMETRY, rules));
    chip.cut_after(9, cut);
    for number in 0..9 {
        chip.program(page(number), oob(number), &number.to_le_bytes()).expect("programmed");
    }
    chip
}

/// What a page shows: its number, nothing, or that it is torn.
fn look(chip: &mut Faulty<Ram>, number: u32) -> Result<Option<u32>, FlashError> {
    let beside = chip.read_oob(page(number));
    let mut data = [0; 4];
    let read = chip.read(page(number), &mut data);
    assert_eq!(beside.err(), read.err(), "a torn page is torn in both parts");
    let beside = beside?;
    if let Some(oob) = beside {
        assert_eq!(data, oob.lpn.0.to_le_bytes(), "a page that can be read is whole");
    }
    Ok(beside.map(|oob| oob.lpn.0))
}

#[test]
fn without_power_nothing_is_done() {
    for cut in [Cut::Before, Cut::Torn, Cut::Payload, Cut::Partly(1), Cut::After] {
        let mut chip = chip(cut);
        assert!(chip.is_on());
        assert_eq!(chip.erase(BlockId(1)), Err(FlashError::NoPower));
        assert!(!chip.is_on());
        assert_eq!(chip.operations(), 10);
        for _ in 0..2 {
            assert_eq!(chip.program(page(9), oob(9), &[]), Err(FlashError::NoPower));
            assert_eq!(chip.copy(page(0), page(9), oob(0)), Err(FlashError::NoPower));
            assert_eq!(chip.erase(BLOCK), Err(FlashError::NoPower));
            assert_eq!(chip.read(page(0), &mut []), Err(FlashError::NoPower));
            assert_eq!(chip.read_oob(page(0)), Err(FlashError::NoPower));
        }
        assert_eq!(chip.operations(), 10);
        chip.power_on();
        for number in 0..9 {
            assert_eq!(look(&mut chip, number), Ok(Some(number)));
        }
        assert_eq!(look(&mut chip, 9), Ok(None));
    }
}

#[test]
fn a_page_can_be_torn_where_its_out_of_band_area_is_whole() {
    let mut chip = chip(Cut::Payload);
    assert_eq!(chip.program(page(9), oob(9), &[9; 4]), Err(FlashError::NoPower));
    chip.power_on();
    assert_eq!(chip.read_oob(page(9)), Ok(Some(oob(9))));
    assert_eq!(chip.read(page(9), &mut [0; 4]), Err(FlashError::Unreadable(page(9))));
    assert_eq!(chip.read(page(9), &mut []), Err(FlashError::Unreadable(page(9))));
    assert_eq!(chip.copy(page(9), page(10), oob(9)), Err(FlashError::Unreadable(page(9))));
    assert_eq!(chip.program(page(9), oob(9), &[]), Err(FlashError::NotErased(page(9))));
}

#[test]
fn a_page_that_was_cut_off_is_blank_or_whole_or_says_that_it_is_neither() {
    for copied in [false, true] {
        for (cut, expected) in [
            (Cut::Before, Ok(None)),
            (Cut::After, Ok(Some(9))),
            (Cut::Torn, Err(FlashError::Unreadable(page(9)))),
            (Cut::Partly(3), Err(FlashError::Unreadable(page(9)))),
        ] {
            let mut chip = chip(cut);
            let done = if copied {
                chip.copy(page(0), page(9), oob(9))
            } else {
                chip.program(page(9), oob(9), &9_u32.to_le_bytes())
            };
            assert_eq!(done, Err(FlashError::NoPower));
            chip.power_on();
            if copied && cut == Cut::After {
                assert_eq!(chip.read_oob(page(9)), Ok(Some(oob(9))));
            } else {
                assert_eq!(look(&mut chip, 9), expected);
            }
            // What is not blank cannot be programmed before it is erased, nor copied.
            let again = chip.program(page(9), oob(9), &[]);
            assert_eq!(again.is_ok(), expected == Ok(None));
            if expected.is_err() {
                assert_eq!(again, Err(FlashError::NotErased(page(9))));
                let copy = chip.copy(page(9), page(10), oob(9));
                assert_eq!(copy, Err(FlashError::Unreadable(page(9))));
                assert_eq!(chip.erase(BLOCK), Ok(()));
                assert_eq!((look(&mut chip, 9), look(&mut chip, 0)), (Ok(None), Ok(None)));
            }
        }
    }
}

#[test]
fn a_torn_erase_leaves_each_page_as_it_was_or_torn() {
    let mut mixed = 0;
    for seed in 0..20 {
        for cut in [Cut::Before, Cut::Torn, Cut::Payload, Cut::Partly(seed), Cut::After] {
            let mut chip = chip(cut);
            assert_eq!(chip.erase(BLOCK), Err(FlashError::NoPower));
            chip.power_on();
            let shown: Vec<_> = (0..16).map(|number| look(&mut chip, number)).collect();
            let torn = shown.iter().filter(|page| page.is_err()).count();
            let kept = (0..9).filter(|&n| shown[n as usize] == Ok(Some(n))).count();
            match cut {
                Cut::Before => assert_eq!((torn, kept), (0, 9)),
                Cut::Torn | Cut::Payload => assert_eq!(torn, 16),
                Cut::After => assert!(shown.iter().all(|page| *page == Ok(None))),
                Cut::Partly(_) => {
                    let blank = shown.iter().filter(|page| **page == Ok(None)).count();
                    assert_eq!(torn + kept + blank, 16);
                    mixed += usize::from(torn > 0 && kept > 0);
                }
            }
            assert_eq!(chip.inner().erase_count(BLOCK), u32::from(cut == Cut::After));
            assert_eq!(chip.erase(BLOCK), Ok(()));
            assert_eq!(look(&mut chip, 0), Ok(None));
        }
    }
    assert!(mixed > 10, "{mixed} erases left a mixture");
}
