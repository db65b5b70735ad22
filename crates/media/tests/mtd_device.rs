//! `Mtd` on a real driver. Nothing of this runs by itself: `guest/tests/mtd.sh` names the tests, loads
//! the kernel's NAND simulator as each wants it, and says where the device is (`MTD`) and how it is to
//! be read (`MTD_PARTS=1`: in parts, as before Linux 6.1). They take the device one after the other
//! (`--test-threads=1`) and leave it erased.

#![cfg(target_os = "linux")]

use std::{env, fs::File, os::unix::fs::FileExt};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob, Ppn, Rules};
use thermocline_media::{Medium, Mtd, MtdOptions, Ram};

fn path() -> String {
    env::var("MTD").unwrap_or_else(|_| "/dev/mtd0".to_owned())
}

fn options() -> MtdOptions {
    MtdOptions { per_read_statistics: env::var_os("MTD_PARTS").is_none(), ..MtdOptions::default() }
}

fn open() -> Mtd {
    Mtd::open(path(), &options()).unwrap_or_else(|e| panic!("{e}"))
}

/// The device, with these blocks erased.
fn erased(blocks: impl IntoIterator<Item = u32>) -> Mtd {
    let mut chip = open();
    for block in blocks {
        chip.erase(BlockId(block)).unwrap_or_else(|e| panic!("{e}"));
    }
    chip
}

fn oob(number: u32) -> Oob {
    Oob { lpn: Lpn(number), stream: 3, sequence: u64::MAX - 1, time: 1 << 40, note: 0xabcd }
}

/// Bytes that no other number gives.
fn payload(geometry: &Geometry, number: u32) -> Vec<u8> {
    let mut data = vec![0; geometry.page_size as usize];
    rand::Rng::fill_bytes(&mut Xoshiro256PlusPlus::seed_from_u64(number.into()), &mut data);
    data
}

/// Programs the first pages of a block, each with its number.
fn program(chip: &mut Mtd, block: u32, pages: std::ops::Range<u32>) {
    let geometry = *chip.geometry();
    for page in pages {
        let to = geometry.ppn(BlockId(block), page);
        let done = chip.program(to, oob(page), &payload(&geometry, page));
        assert_eq!(done, Ok(()), "page {page} of block {block}");
    }
}

/// What a page shows: its number, nothing, or that it cannot be read.
fn look(chip: &mut Mtd, block: u32, page: u32) -> Result<Option<u32>, FlashError> {
    let geometry = *chip.geometry();
    let page = geometry.ppn(BlockId(block), page);
    let beside = chip.read_oob(page)?;
    let mut data = vec![0x55; geometry.page_size as usize];
    chip.read(page, &mut data)?;
    let Some(beside) = beside else {
        assert!(data.iter().all(|byte| *byte == 0xff), "a blank page reads as ones");
        return Ok(None);
    };
    assert_eq!(beside, oob(beside.lpn.0));
    assert!(data == payload(&geometry, beside.lpn.0), "what can be read is right");
    Ok(Some(beside.lpn.0))
}

#[test]
fn the_device_has_the_shape_and_the_bad_blocks_that_the_simulator_was_told() {
    let chip = open();
    let shape = *chip.geometry();
    assert_eq!((shape.blocks(), shape.pages_per_block, shape.page_size), (1024, 64, 2048));
    assert!((32..=62).contains(&shape.oob_size), "{}", shape.oob_size);
    let bad: Vec<u32> = (0..1024).filter(|&block| chip.is_bad(BlockId(block))).collect();
    assert_eq!(bad, [5, 17]);
    assert_eq!(chip.health().bad_blocks, 2);
    assert!(chip.in_order() && chip.is_bad(BlockId(1024)));
    assert_eq!(chip.has_per_read_statistics(), env::var_os("MTD_PARTS").is_none());
}

#[test]
fn a_page_reads_as_it_was_programmed_also_after_the_device_was_closed() {
    let mut chip = erased([0, 1]);
    program(&mut chip, 0, 0..64);
    for round in 0..2 {
        for page in 0..64 {
            assert_eq!(look(&mut chip, 0, page), Ok(Some(page)), "{round}");
            assert_eq!(look(&mut chip, 1, page), Ok(None), "{round}");
        }
        assert_eq!(chip.read(Ppn(0), &mut [0; 7]), Err(FlashError::WrongLength(7)));
        assert_eq!(chip.read(Ppn(0), &mut []), Ok(()));
        drop(chip);
        chip = open();
    }
    assert_eq!(chip.erase(BlockId(0)), Ok(()));
    for page in 0..64 {
        assert_eq!(look(&mut chip, 0, page), Ok(None));
    }
    let health = chip.health();
    assert_eq!((health.corrected_reads, health.failed_reads, chip.ailing()), (0, 0, None));
}

#[test]
fn pages_are_programmed_once_and_in_order_also_after_the_device_was_closed() {
    let mut chip = erased([2]);
    let geometry = *chip.geometry();
    let page = |number| geometry.ppn(BlockId(2), number);
    let data = payload(&geometry, 1);
    program(&mut chip, 2, 0..3);
    for _ in 0..2 {
        assert_eq!(chip.program(page(2), oob(9), &data), Err(FlashError::NotErased(page(2))));
        assert_eq!(chip.program(page(0), oob(9), &data), Err(FlashError::NotErased(page(0))));
        assert_eq!(chip.program(page(4), oob(9), &data), Err(FlashError::OutOfOrder(page(4))));
        assert_eq!(chip.copy(page(3), page(3), oob(9)), Err(FlashError::Unreadable(page(3))));
        drop(chip);
        chip = open();
    }
    program(&mut chip, 2, 3..4);
    assert_eq!(chip.copy(page(1), page(4), oob(1)), Ok(()));
    assert_eq!(look(&mut chip, 2, 4), Ok(Some(1)));
    assert_eq!(chip.program(page(5), oob(5), &[]), Ok(()));
    let mut zeros = vec![1; geometry.page_size as usize];
    assert_eq!(chip.read(page(5), &mut zeros), Ok(()));
    assert!(zeros.iter().all(|byte| *byte == 0), "no payload is a payload of zeros");
    assert_eq!(chip.program(page(6), oob(6), &[1]), Err(FlashError::WrongLength(1)));
    let bad = geometry.ppn(BlockId(5), 0);
    assert_eq!(chip.program(bad, oob(0), &data), Err(FlashError::BadBlock(BlockId(5))));
    assert_eq!(chip.erase(BlockId(17)), Err(FlashError::BadBlock(BlockId(17))));
    assert_eq!(chip.erase(BlockId(1024)), Err(FlashError::OutOfRange));
    let beyond = geometry.ppn(BlockId(1024), 0);
    assert_eq!(chip.program(beyond, oob(0), &data), Err(FlashError::OutOfRange));
    assert_eq!(chip.read(beyond, &mut []), Err(FlashError::OutOfRange));
    assert_eq!(chip.erase(BlockId(2)), Ok(()));
}

#[test]
fn what_a_chip_in_memory_would_say_this_one_says() {
    let mut chip = erased(0..5);
    let geometry = *chip.geometry();
    let rules = Rules { in_order: true, endurance: 1000, initial_bad_blocks: 0 };
    let mut model = Ram::new(geometry, rules).with_bad_blocks(&[BlockId(5), BlockId(17)]);
    for block in 0..5 {
        model.erase(BlockId(block)).expect("erased");
    }
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut ends = [0_u32; 6];
    let mut refused = 0;
    for number in 0..2000 {
        let block = draws.random_range(0..6);
        let any = geometry.ppn(BlockId(draws.random_range(0..6)), draws.random_range(0..64));
        // Mostly the next page of a block, sometimes another.
        let page =
            if draws.random_bool(0.9) { ends[block].min(63) } else { draws.random_range(0..64) };
        let to = geometry.ppn(BlockId(block as u32), page);
        let oob = Oob { sequence: number.into(), ..oob(number) };
        let (done, expected) = match draws.random_range(0..100) {
            0 => {
                let counts: Vec<u32> = (0..6).map(|b| chip.erase_count(BlockId(b))).collect();
                drop(chip);
                chip = open();
                for (block, erases) in counts.into_iter().enumerate() {
                    chip.set_erase_count(BlockId(block as u32), erases);
                }
                continue;
            }
            1..=2 => {
                let block = BlockId(block as u32);
                (chip.erase(block), model.erase(block))
            }
            3..=20 => {
                // A page keeps its name when it is moved.
                let was = model.read_oob(any).ok().flatten();
                let oob = Oob { lpn: was.map_or(oob.lpn, |was| was.lpn), ..oob };
                (chip.copy(any, to, oob), model.copy(any, to, oob))
            }
            _ => {
                let data = payload(&geometry, number);
                (chip.program(to, oob, &data), model.program(to, oob, &data))
            }
        };
        assert_eq!(done, expected, "operation {number}");
        refused += u32::from(done.is_err());
        ends[block] = (0..64)
            .rev()
            .find(|&page| model.read_oob(geometry.ppn(BlockId(block as u32), page)) != Ok(None))
            .map_or(0, |page| page + 1);
        let (mut data, mut expected) = (payload(&geometry, 0), payload(&geometry, 1));
        assert_eq!(chip.read(any, &mut data), model.read(any, &mut expected));
        assert!(data == expected, "{any:?} at operation {number}");
        assert_eq!(chip.read_oob(any), model.read_oob(any));
        let block = BlockId(block as u32);
        assert_eq!(chip.erase_count(block), model.erase_count(block));
    }
    assert!((300..2000).contains(&refused), "{refused}");
    drop(erased_after(chip));
}

fn erased_after(mut chip: Mtd) -> Mtd {
    for block in 0..5 {
        chip.erase(BlockId(block)).expect("erased");
    }
    chip
}

#[test]
fn a_page_that_was_cut_off_or_spoilt_is_neither_blank_nor_data() {
    let mut chip = erased([3]);
    let geometry = *chip.geometry();
    program(&mut chip, 3, 0..3);
    drop(chip);
    // Behind the driver's back: a payload without a record, and bits cleared in a programmed one.
    let device = File::options().read(true).write(true).open(path()).expect("opened");
    let at = |page: u64| 3 * geometry.block_size() + page * u64::from(geometry.page_size);
    let junk = payload(&geometry, 77);
    device.write_all_at(&junk, at(3)).expect("written");
    device.write_all_at(&junk, at(1)).expect("the simulator accepts a second program");
    drop(device);

    let mut chip = open();
    let page = |number| geometry.ppn(BlockId(3), number);
    for number in [1, 3] {
        let lost = Err(FlashError::Unreadable(page(number)));
        let mut data = payload(&geometry, 0);
        assert_eq!(chip.read(page(number), &mut data), lost.map(|_: ()| ()));
        assert_eq!(chip.read(page(number), &mut []), Err(FlashError::Unreadable(page(number))));
        let copy = chip.copy(page(number), page(4), oob(0));
        assert_eq!(copy, Err(FlashError::Unreadable(page(number))));
    }
    assert_eq!(chip.read_oob(page(1)), Ok(Some(oob(1))), "its record is whole");
    assert_eq!(chip.read_oob(page(3)), Err(FlashError::Unreadable(page(3))));
    assert_eq!((look(&mut chip, 3, 0), look(&mut chip, 3, 2)), (Ok(Some(0)), Ok(Some(2))));
    assert_eq!(chip.program(page(3), oob(3), &junk), Err(FlashError::NotErased(page(3))));
    program(&mut chip, 3, 4..5);
    assert!(chip.health().failed_reads > 0);
    assert_eq!(chip.erase(BlockId(3)), Ok(()));
    program(&mut chip, 3, 0..1);
    assert_eq!(chip.erase(BlockId(3)), Ok(()));
}

#[test]
fn one_process_has_the_device_for_itself_or_several_look_at_it() {
    let chip = open();
    for read_only in [false, true] {
        let error = Mtd::open(path(), &MtdOptions { read_only, ..options() }).expect_err("locked");
        let expected = format!("{} is locked: another process serves it or looks at it", path());
        assert_eq!(error.to_string(), expected);
    }
    drop(chip);
    let look = MtdOptions { read_only: true, ..options() };
    let mut one = Mtd::open(path(), &look).expect("opened");
    let other = Mtd::open(path(), &look).expect("opened");
    assert!(Mtd::open(path(), &options()).is_err());
    let read_only = Err(FlashError::Medium(30));
    assert_eq!(one.erase(BlockId(0)), read_only);
    assert_eq!(one.program(Ppn(0), oob(0), &[]), read_only);
    assert_eq!(one.mark_bad(BlockId(0)), read_only);
    drop((one, other));
    open();
}

#[test]
fn a_block_marked_bad_is_bad_when_the_device_is_opened_again() {
    let mut chip = erased([30]);
    program(&mut chip, 30, 0..1);
    assert_eq!(chip.mark_bad(BlockId(30)), Ok(()));
    assert_eq!(chip.mark_bad(BlockId(30)), Ok(()));
    assert_eq!(chip.mark_bad(BlockId(1024)), Err(FlashError::OutOfRange));
    for _ in 0..2 {
        assert!(chip.is_bad(BlockId(30)));
        assert_eq!(chip.erase(BlockId(30)), Err(FlashError::BadBlock(BlockId(30))));
        assert_eq!(chip.health().bad_blocks, 3);
        drop(chip);
        chip = open();
    }
}

// The simulator with `weakblocks=7:2 weakpages=130:1,704:1`.
#[test]
fn blocks_and_pages_that_fail_say_so_and_harm_no_others() {
    let mut chip = erased([2, 11, 7, 7]);
    assert_eq!(chip.erase(BlockId(7)), Err(FlashError::EraseFailed(BlockId(7))));
    assert_eq!(chip.erase_count(BlockId(7)), 2);
    assert_eq!(chip.mark_bad(BlockId(7)), Ok(()));

    let geometry = *chip.geometry();
    // Page 130 of the device takes one program.
    program(&mut chip, 2, 0..64);
    assert_eq!(chip.erase(BlockId(2)), Ok(()));
    program(&mut chip, 2, 0..2);
    let weak = geometry.ppn(BlockId(2), 2);
    let data = payload(&geometry, 2);
    assert_eq!(chip.program(weak, oob(2), &data), Err(FlashError::ProgramFailed(weak)));
    let again = chip.program(weak, oob(2), &data);
    assert!(
        matches!(again, Err(FlashError::NotErased(_) | FlashError::OutOfOrder(_))),
        "{again:?}"
    );
    program(&mut chip, 2, 3..64);
    for page in (0..64).filter(|page| *page != 2) {
        assert_eq!(look(&mut chip, 2, page), Ok(Some(page)));
    }

    // Page 704, the first one of block 11, takes one program, and so not the mark either.
    program(&mut chip, 11, 0..1);
    assert_eq!(chip.erase(BlockId(11)), Ok(()));
    let weak = geometry.ppn(BlockId(11), 0);
    assert_eq!(chip.program(weak, oob(0), &data), Err(FlashError::ProgramFailed(weak)));
    assert_eq!(chip.mark_bad(BlockId(11)), Ok(()));
    assert!(chip.is_bad(BlockId(11)));
    assert_eq!(chip.erase(BlockId(11)), Err(FlashError::BadBlock(BlockId(11))));

    let health = chip.health();
    assert_eq!((health.failed_erases, health.failed_programs), (1, 2));
    assert_eq!(health.bad_blocks, 4);
}

// The simulator with `bitflips=1`: in one of 1024 pages read one bit is wrong.
#[test]
fn single_bits_are_corrected_counted_and_told() {
    let mut chip = erased([40]);
    program(&mut chip, 40, 0..64);
    let mut told = 0;
    for round in 0..200 {
        for page in 0..64 {
            assert_eq!(look(&mut chip, 40, page), Ok(Some(page)), "round {round}");
        }
        while let Some(block) = chip.ailing() {
            assert_eq!(block, BlockId(40));
            told += 1;
        }
    }
    let health = chip.health();
    // 12,800 payloads and as many records were read.
    assert!(health.corrected_reads > 3, "{health:?}");
    assert_eq!((told, health.failed_reads), (1, 0), "{health:?}");
    println!("{health:?}");
}

// The simulator with `bitflips=200`: in one of 1024 pages read up to 200 bits are wrong.
#[test]
fn too_many_wrong_bits_are_never_taken_for_data() {
    let mut chip = erased([41]);
    let geometry = *chip.geometry();
    program(&mut chip, 41, 0..64);
    let mut lost = 0;
    for _ in 0..200 {
        for page in 0..64 {
            let from = geometry.ppn(BlockId(41), page);
            let mut data = payload(&geometry, 0);
            match chip.read(from, &mut data) {
                Ok(()) => assert!(data == payload(&geometry, page), "page {page}"),
                Err(error) => {
                    assert_eq!(error, FlashError::Unreadable(from));
                    lost += 1;
                }
            }
        }
    }
    let health = chip.health();
    assert!(lost > 3 && health.failed_reads == lost, "{lost} of {health:?}");
    assert_eq!((chip.ailing(), chip.ailing()), (Some(BlockId(41)), None));
    println!("{lost} lost, {health:?}");
}

// A device that is not to be used; `REFUSAL` is a part of what must be said.
#[test]
fn a_device_that_will_not_do_is_refused_in_words() {
    let expected = env::var("REFUSAL").expect("REFUSAL says what is to be said");
    let error = Mtd::open(path(), &options()).expect_err("refused").to_string();
    assert!(error.contains(&expected) && error.starts_with(&path()), "{error}");
    println!("{error}");
}
