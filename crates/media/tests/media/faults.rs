//! Faults that strike while there is power: bits, programs, erases, wear.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob, Ppn, Rules};
use thermocline_media::{Faults, Faulty, Medium, Ram};

const GEOMETRY: Geometry = Geometry {
    banks: 1,
    channels: 1,
    blocks_per_bank: 64,
    pages_per_block: 8,
    page_size: 2048,
    oob_size: 32,
    header_pages: 0,
    system_blocks: 0,
};

fn page(block: u32, number: u32) -> Ppn {
    GEOMETRY.ppn(BlockId(block), number)
}

fn oob(number: u32) -> Oob {
    Oob { lpn: Lpn(number), stream: 0, sequence: 1, time: 2, note: 3 }
}

fn chip(faults: &str) -> Faulty<Ram> {
    let rules = Rules { in_order: true, endurance: 1000, initial_bad_blocks: 0 };
    Faulty::with_faults(Ram::new(GEOMETRY, rules), faults.parse().expect(faults))
}

/// Programs a page with its own number in every byte.
fn program(chip: &mut Faulty<Ram>, block: u32, number: u32) -> Result<(), FlashError> {
    chip.program(page(block, number), oob(number), &[number as u8; 2048])
}

/// Whether a page gives the bytes that were programmed.
fn holds(chip: &mut Faulty<Ram>, block: u32, number: u32) -> Result<bool, FlashError> {
    let mut data = [0x55; 2048];
    chip.read(page(block, number), &mut data)?;
    Ok(data == [number as u8; 2048])
}

#[test]
fn as_many_bits_as_can_be_corrected_are_corrected_and_counted() {
    let mut chip = chip("ecc=8");
    for number in 0..3 {
        program(&mut chip, 0, number).expect("programmed");
    }
    chip.turn_bits(page(0, 0), 4);
    assert_eq!(holds(&mut chip, 0, 0), Ok(true));
    assert_eq!((chip.health().corrected_reads, chip.ailing()), (1, None), "half is comfortable");

    chip.turn_bits(page(0, 0), 1);
    for _ in 0..2 {
        assert_eq!(holds(&mut chip, 0, 0), Ok(true));
    }
    assert_eq!(chip.health().corrected_reads, 3);
    assert_eq!((chip.ailing(), chip.ailing()), (Some(BlockId(0)), None), "told once");

    chip.turn_bits(page(0, 0), 3);
    assert_eq!(holds(&mut chip, 0, 0), Ok(true), "8 bits");
    assert_eq!(chip.copy(page(0, 0), page(0, 3), oob(0)), Ok(()));
    chip.turn_bits(page(0, 0), 1);
    assert_eq!(holds(&mut chip, 0, 0), Err(FlashError::Unreadable(page(0, 0))), "9 bits");
    assert_eq!(chip.read(page(0, 0), &mut []), Err(FlashError::Unreadable(page(0, 0))));
    let copy = chip.copy(page(0, 0), page(0, 4), oob(0));
    assert_eq!(copy, Err(FlashError::Unreadable(page(0, 0))));
    assert_eq!(chip.health().failed_reads, 3);
    assert_eq!(holds(&mut chip, 0, 1), Ok(true), "its neighbour is sound");
    let mut copied = [1; 2048];
    assert_eq!(chip.read(page(0, 3), &mut copied), Ok(()));
    assert_eq!(copied, [0; 2048], "the copy has the right bits, and none of the wrong");

    chip.erase(BlockId(0)).expect("erased");
    program(&mut chip, 0, 0).expect("programmed");
    let before = chip.health();
    assert_eq!(holds(&mut chip, 0, 0), Ok(true));
    assert_eq!(chip.health(), before, "an erase makes bits sound again");
    chip.turn_bits(page(0, 0), 5);
    assert_eq!(holds(&mut chip, 0, 0), Ok(true));
    assert_eq!(chip.ailing(), Some(BlockId(0)), "told again in its next life");
}

#[test]
fn bits_flip_as_often_as_was_asked_and_turn_back() {
    let mut chip = chip("seed=3,flip=1e-5");
    program(&mut chip, 0, 0).expect("programmed");
    for _ in 0..10_000 {
        assert_eq!(holds(&mut chip, 0, 0), Ok(true));
    }
    // Of 16,384 bits 0.164 flip at a read: 1511 reads of 10,000 see one or more, with a deviation of 36.
    let seen = chip.health().corrected_reads;
    assert!((1511 - 150..1511 + 150).contains(&seen), "{seen}");
    assert_eq!((chip.ailing(), chip.health().failed_reads), (None, 0));
}

#[test]
fn bits_that_turn_at_reads_add_up_until_the_block_is_erased() {
    let mut chip = chip("seed=3,disturb=1e-5,ecc=8");
    program(&mut chip, 0, 0).expect("programmed");
    let mut reads = 0;
    let mut told = None;
    while holds(&mut chip, 0, 0).is_ok() {
        reads += 1;
        if chip.ailing() == Some(BlockId(0)) {
            assert_eq!(told.replace(reads), None, "told once");
        }
    }
    let told = told.expect("told before it was lost");
    // 0.082 bits a KiB turn at a read; the fifth of the worse KiB is too many for comfort, the ninth for all.
    assert!((20..90).contains(&told) && (60..160).contains(&reads), "{told}, {reads}");
    chip.erase(BlockId(0)).expect("erased");
    program(&mut chip, 0, 0).expect("programmed");
    assert_eq!(holds(&mut chip, 0, 0), Ok(true));
}

#[test]
fn a_page_that_could_not_be_programmed_harms_no_other() {
    for cache in ["", ",cache=100"] {
        let mut chip = chip(&format!("fail=2{cache}"));
        for number in 0..2 {
            program(&mut chip, 0, number).expect("programmed");
        }
        let failed = page(0, 2);
        assert_eq!(program(&mut chip, 0, 2), Err(FlashError::ProgramFailed(failed)));
        for _ in 0..2 {
            assert_eq!(chip.read_oob(failed), Err(FlashError::Unreadable(failed)));
            assert_eq!(holds(&mut chip, 0, 2), Err(FlashError::Unreadable(failed)));
            assert_eq!(program(&mut chip, 0, 2), Err(FlashError::NotErased(failed)));
            assert_eq!((holds(&mut chip, 0, 0), holds(&mut chip, 0, 1)), (Ok(true), Ok(true)));
            chip.sync().expect("synced");
        }
        assert_eq!(program(&mut chip, 0, 3), Ok(()));
        assert_eq!(chip.health().failed_programs, 1);
        assert_eq!(chip.erase(BlockId(0)), Ok(()));
        assert_eq!(program(&mut chip, 0, 0), Ok(()));
    }
}

#[test]
fn a_block_that_could_not_be_erased_holds_what_it_held_or_nothing_readable() {
    for cache in ["", ",cache=100"] {
        let mut chip = chip(&format!("fail=6{cache}"));
        for number in 0..6 {
            program(&mut chip, 0, number).expect("programmed");
        }
        assert_eq!(chip.erase(BlockId(0)), Err(FlashError::EraseFailed(BlockId(0))));
        let kept = (0..6).filter(|&number| holds(&mut chip, 0, number) == Ok(true)).count();
        let torn = (0..6).filter(|&number| chip.read_oob(page(0, number)).is_err()).count();
        assert!(kept + torn == 6 && torn > 0 && kept > 0, "{kept} and {torn}");
        assert_eq!((chip.erase_count(BlockId(0)), chip.health().failed_erases), (0, 1));
        for number in 0..6 {
            let again = program(&mut chip, 0, number);
            assert_eq!(again, Err(FlashError::NotErased(page(0, number))));
        }
    }
}

#[test]
fn programs_and_erases_fail_as_often_as_was_asked() {
    let mut chip = chip("seed=5,program=0.01,erase=0.02");
    let (mut programs, mut erases) = (0, 0);
    for _ in 0..200 {
        for block in 0..64 {
            for number in 0..8 {
                match program(&mut chip, block, number) {
                    Ok(()) => {}
                    Err(FlashError::ProgramFailed(_)) => programs += 1,
                    Err(e) => panic!("{e}"),
                }
            }
            while let Err(e) = chip.erase(BlockId(block)) {
                assert_eq!(e, FlashError::EraseFailed(BlockId(block)));
                erases += 1;
            }
        }
    }
    // 102,400 programs and some 13,000 erases, with deviations of 32 and 16.
    assert!((1024 - 130..1024 + 130).contains(&programs), "{programs}");
    assert!((261 - 65..261 + 65).contains(&erases), "{erases}");
    let health = chip.health();
    assert_eq!((health.failed_programs, health.failed_erases), (programs, erases));
}

/// How many erases each block lived for.
fn lives(faults: &str) -> Vec<u32> {
    let mut chip = chip(faults);
    let lives = (0..64)
        .map(|block| {
            let block = BlockId(block);
            let lived = (0..).find(|_| chip.erase(block).is_err()).expect("it dies");
            assert!(chip.is_bad(block));
            assert_eq!(chip.erase(block), Err(FlashError::BadBlock(block)));
            assert_eq!(chip.erase_count(block), lived);
            assert!(chip.program(GEOMETRY.ppn(block, 0), oob(0), &[]).is_err());
            lived
        })
        .collect();
    assert_eq!(chip.health().bad_blocks, 64);
    lives
}

#[test]
fn each_block_dies_at_an_age_of_its_own_that_the_seed_draws() {
    let lived = lives("seed=1,wear=300");
    let mean = f64::from(lived.iter().sum::<u32>()) / 64.0;
    let variance = lived.iter().map(|&life| (f64::from(life) - mean).powi(2)).sum::<f64>() / 63.0;
    assert!((mean - 300.0).abs() < 12.0, "{mean}");
    assert!((20.0..40.0).contains(&variance.sqrt()), "{}", variance.sqrt());
    assert_eq!(lived, lives("seed=1,wear=300"));
    assert_ne!(lived, lives("seed=2,wear=300"));
    assert_eq!(lives("wear=7,spread=0"), [7; 64]);
}

#[test]
fn a_block_that_wears_out_says_so_when_it_is_erased() {
    for cache in ["", ",cache=100"] {
        let mut chip = chip(&format!("wear=1,spread=0{cache}"));
        chip.erase(BlockId(3)).expect("erased");
        program(&mut chip, 3, 0).expect("programmed");
        assert_eq!(chip.erase(BlockId(3)), Err(FlashError::WornOut(BlockId(3))));
        for _ in 0..2 {
            assert_eq!(holds(&mut chip, 3, 0), Ok(true), "what it holds can be read");
            assert_eq!(program(&mut chip, 3, 1), Err(FlashError::BadBlock(BlockId(3))));
            assert_eq!(chip.sync(), Ok(()));
        }
        assert!(chip.inner().is_bad(BlockId(3)));
    }
}

#[test]
fn power_fails_in_the_operation_that_the_text_names() {
    let mut cut = [0; 3];
    for seed in 0..40 {
        let mut chip = chip(&format!("seed={seed},cut=3"));
        for number in 0..3 {
            program(&mut chip, 0, number).expect("programmed");
        }
        assert_eq!(program(&mut chip, 0, 3), Err(FlashError::NoPower));
        assert!(!chip.is_on());
        assert_eq!(chip.sync(), Err(FlashError::NoPower));
        assert_eq!(chip.begin_sync().err(), Some(FlashError::NoPower));
        chip.power_on();
        assert_eq!(holds(&mut chip, 0, 2), Ok(true));
        cut[match (chip.read_oob(page(0, 3)), holds(&mut chip, 0, 3)) {
            (Ok(None), Ok(false)) => 0,
            (Ok(Some(_)), Ok(true)) => 1,
            (_, Err(FlashError::Unreadable(_))) => 2,
            other => panic!("{other:?}"),
        }] += 1;
    }
    assert!(cut.iter().all(|times| *times > 3), "{cut:?}");
}

#[test]
fn no_faults_are_the_default() {
    assert_eq!(Faulty::new(chip("").inner().clone()).faults(), &Faults::default());
    let mut chip = chip("");
    for round in 0..20 {
        for number in 0..8 {
            assert_eq!(program(&mut chip, 0, number), Ok(()), "{round}");
            assert_eq!(holds(&mut chip, 0, number), Ok(true));
        }
        assert_eq!(chip.erase(BlockId(0)), Ok(()));
    }
    assert_eq!((chip.health(), chip.operations()), (Default::default(), 180));
}
