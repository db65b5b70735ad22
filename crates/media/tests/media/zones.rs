//! A zoned device as a chip: its rules, its limits, what a sync promises.

use std::path::Path;

use thermocline_flash::{BlockId, Condition as _, Flash, FlashError, Lpn, Oob, Ppn};
use thermocline_media::{
    Medium, OpenChip, Place,
    zoned::{
        Zoned,
        tape::{Condition, Event, Shape, State, Tape},
    },
};

const PAGE: usize = 4096;
/// Pages of data in a zone of eight pages: the eighth is for the table.
const PAGES: u32 = 7;

fn shape(most_active: u32) -> Shape {
    Shape { block: 512, zone: 16 * PAGE as u64, zones: 24, most_open: 0, most_active }
}

fn tape(most_active: u32) -> Tape {
    Tape::of(State::new(shape(most_active), 8 * PAGE as u64, 2))
}

/// A device with room for the record log in conventional zones.
fn tape_with_log_there(most_active: u32) -> Tape {
    Tape::of(State::new(shape(most_active), 8 * PAGE as u64, 4))
}

fn open(tape: &Tape) -> Zoned {
    tape.open(false, 0).expect("a chip")
}

fn oob(number: u32) -> Oob {
    Oob { lpn: Lpn(number), stream: 3, sequence: u64::from(number) << 20, time: 77, note: 0x0102 }
}

fn at(chip: &Zoned, block: u32, page: u32) -> Ppn {
    chip.geometry().ppn(BlockId(block), page)
}

/// Programs a page of a block, with its number.
fn program(chip: &mut Zoned, block: u32, page: u32) -> Result<(), FlashError> {
    let number = block * 100 + page;
    chip.program(at(chip, block, page), oob(number), &[number as u8; PAGE])
}

/// Whether a page holds what was programmed; an error is one of the read.
fn holds(chip: &mut Zoned, block: u32, page: u32) -> Result<bool, FlashError> {
    let number = block * 100 + page;
    let mut data = vec![0; PAGE];
    let found = chip.read_oob(at(chip, block, page))?;
    chip.read(at(chip, block, page), &mut data)?;
    let is = found == Some(oob(number)) && data == [number as u8; PAGE];
    assert!(is || found.is_none() && data == [0xff; PAGE], "{block} {page}: {found:?}");
    Ok(is)
}

#[test]
fn the_chip_is_the_zones_that_are_written_in_sequence_as_far_as_their_capacity() {
    let tape = tape(0);
    let mut state = tape.state();
    state.zones()[9].condition = Condition::Offline;
    state.zones()[10].condition = Condition::ReadOnly;
    let tape = Tape::of(state);
    let chip = open(&tape);
    let geometry = *chip.geometry();
    // Two are conventional, three are the record log's.
    assert_eq!((geometry.blocks(), geometry.pages_per_block), (19, PAGES));
    assert_eq!(geometry.page_size as usize, PAGE);
    let bad: Vec<u32> = (0..19).filter(|&block| chip.is_bad(BlockId(block))).collect();
    assert_eq!((bad, chip.health().bad_blocks), (vec![4, 5], 2));
    drop(chip);
    assert!(tape.events().iter().all(|event| *event == Event::Sync), "an opening changes nothing");
}

#[test]
fn pages_are_programmed_in_order_once_and_read_back_after_a_sync_and_a_kill() {
    let tape = tape(0);
    let mut chip = open(&tape);
    assert_eq!(program(&mut chip, 2, 1), Err(FlashError::OutOfOrder(at(&chip, 2, 1))));
    for page in 0..PAGES {
        program(&mut chip, 2, page).expect("room");
    }
    assert_eq!(program(&mut chip, 2, 3), Err(FlashError::NotErased(at(&chip, 2, 3))));
    program(&mut chip, 3, 0).expect("room");
    let (from, to) = (at(&chip, 2, 1), at(&chip, 3, 1));
    assert_eq!(chip.copy(from, to, oob(999)), Err(FlashError::Unreadable(from)), "another page");
    chip.copy(from, to, oob(201)).expect("copied");
    chip.sync().expect("synced");
    program(&mut chip, 3, 2).expect("room");
    // Nothing more of it is written.
    let state = tape.state();
    drop(chip);
    let mut chip = open(&Tape::of(state));
    assert!((0..PAGES).all(|page| holds(&mut chip, 2, page) == Ok(true)));
    assert_eq!((holds(&mut chip, 3, 0), holds(&mut chip, 3, 2)), (Ok(true), Ok(false)));
    assert_eq!(chip.read_oob(at(&chip, 3, 1)), Ok(Some(oob(201))));
    assert_eq!(program(&mut chip, 3, 2), Ok(()), "it goes on at the pointer");
    let mut run = vec![0; 3 * PAGE];
    let mut seen = Vec::new();
    let from = at(&chip, 2, 2);
    let read = chip.read_run(from, &mut run, &mut |_, oob| {
        seen.extend(oob.map(|oob| oob.lpn.0));
        true
    });
    assert_eq!((read, seen), (Ok(()), vec![202, 203, 204]));
}

#[test]
fn an_erase_is_carried_out_behind_a_sync_and_counted() {
    let tape = tape(0);
    let mut chip = open(&tape);
    for page in 0..PAGES {
        program(&mut chip, 0, page).expect("room");
    }
    chip.sync().expect("synced");
    let resets =
        |tape: &Tape| tape.events().iter().filter(|event| matches!(event, Event::Reset(_))).count();
    let before = resets(&tape);
    chip.erase(BlockId(0)).expect("noted");
    assert_eq!((holds(&mut chip, 0, 0), resets(&tape)), (Ok(false), before));
    // A program waits for it.
    program(&mut chip, 0, 0).expect("erased");
    assert_eq!(resets(&tape), before + 1);
    chip.sync().expect("synced");
    let syncs = chip.health().syncs;
    chip.erase(BlockId(5)).expect("noted");
    program(&mut chip, 5, 0).expect("erased");
    assert_eq!(chip.health().syncs, syncs, "nothing was written before");
    program(&mut chip, 6, 0).expect("blank");
    chip.erase(BlockId(4)).expect("noted");
    program(&mut chip, 4, 0).expect("blank");
    assert_eq!(
        chip.health().syncs,
        syncs + 1,
        "what follows an erase lasts with all before it only"
    );
    chip.sync().expect("synced");
    let mut chip = open(&Tape::of(tape.state()));
    assert_eq!((holds(&mut chip, 0, 0), holds(&mut chip, 0, 1)), (Ok(true), Ok(false)));
    assert_eq!((chip.erase_count(BlockId(0)), chip.erase_count(BlockId(1))), (1, 0));
}

#[test]
fn what_no_record_vouches_for_is_unreadable_and_appended_behind() {
    let tape = tape(0);
    let mut chip = open(&tape);
    program(&mut chip, 6, 0).expect("room");
    chip.sync().expect("synced");
    drop(chip);
    let mut state = tape.state();
    // Two and a half pages that only the pointer knows.
    let zone = 2 + 3 + 6;
    state.bytes(zone)[PAGE..3 * PAGE + PAGE / 2].fill(7);
    state.zones()[zone].pointer += 5 * PAGE as u64 / 2;
    let tape = Tape::of(state);
    let mut chip = open(&tape);
    assert_eq!(holds(&mut chip, 6, 0), Ok(true));
    for page in 1..4 {
        let page = at(&chip, 6, page);
        assert_eq!(chip.read_oob(page), Err(FlashError::Unreadable(page)));
    }
    assert_eq!(program(&mut chip, 6, 3), Err(FlashError::NotErased(at(&chip, 6, 3))));
    program(&mut chip, 6, 4).expect("behind the pointer");
    chip.sync().expect("synced");
    let mut chip = open(&Tape::of(tape.state()));
    assert_eq!((holds(&mut chip, 6, 0), holds(&mut chip, 6, 4)), (Ok(true), Ok(true)));
    assert!(holds(&mut chip, 6, 2).is_err());
}

#[test]
fn the_zone_that_was_idle_longest_makes_place_for_another_active_one() {
    let tape = tape(5);
    let mut chip = open(&tape);
    assert_eq!(chip.most_open_blocks(), Some((5, 2)));
    for block in 0..9 {
        program(&mut chip, block, 0).expect("a place is made");
        program(&mut chip, block, 1).expect("it is open");
        chip.sync().expect("synced");
    }
    // Sealed: nothing more fits, and the block is good again once it is emptied and marked.
    let sealed = at(&chip, 0, 2);
    assert_eq!(program(&mut chip, 0, 2), Err(FlashError::ProgramFailed(sealed)));
    let mut again = open(&Tape::of(tape.state()));
    for block in 0..9 {
        assert_eq!(
            (holds(&mut again, block, 0), holds(&mut again, block, 1)),
            (Ok(true), Ok(true))
        );
    }
    assert_eq!(again.read_oob(sealed), Err(FlashError::Unreadable(sealed)), "it is never resumed");
    // Of the last that were sealed the log has no word yet.
    let ended: Vec<u32> =
        (0..9).filter(|&block| again.read_oob(at(&again, block, 2)).is_err()).collect();
    assert!(ended.len() >= 5 && ended.iter().all(|&block| again.is_closed(at(&again, block, 2))));
    assert!(!again.is_closed(at(&again, 0, 1)), "it was programmed");
    chip.mark_bad(BlockId(0)).expect("marked");
    chip.sync().expect("synced");
    let mut again = open(&Tape::of(tape.state()));
    assert_eq!((again.is_bad(BlockId(0)), holds(&mut again, 0, 0)), (false, Ok(false)));
}

#[test]
fn bad_marks_and_erase_counts_outlive_any_number_of_log_zones() {
    let ours = lives(&tape(0));
    assert!(ours > 40, "{ours} resets: of the block and of log zones");
    assert_eq!(lives(&tape_with_log_there(0)), 30, "resets: of the block");
}

/// A block that is programmed and erased thirty times while others are written, with some mounts in between. The resets.
fn lives(tape: &Tape) -> usize {
    let mut chip = open(tape);
    chip.mark_bad(BlockId(7)).expect("marked");
    for life in 0..30 {
        program(&mut chip, 1, 0).expect("blank");
        program(&mut chip, 2 + life % 4, life / 4).unwrap_or_default();
        chip.sync().expect("synced");
        chip.erase(BlockId(1)).expect("noted");
        chip.sync().expect("synced");
        if life % 5 == 4 {
            drop(chip);
            chip = open(tape);
        }
    }
    assert_eq!((chip.erase_count(BlockId(1)), chip.is_bad(BlockId(7))), (30, true));
    assert!((2..6).all(|block| holds(&mut chip, block, 0) == Ok(true)));
    tape.events().iter().filter(|event| matches!(event, Event::Reset(_))).count()
}

#[test]
fn the_record_log_is_in_conventional_zones_where_there_are_three() {
    let tape = tape_with_log_there(4);
    let mut chip = open(&tape);
    assert_eq!((chip.geometry().blocks(), chip.most_open_blocks()), (20, Some((4, 3))));
    for block in 0..4 {
        program(&mut chip, block, 0).expect("a place is made");
    }
    chip.sync().expect("synced");
    let zone = shape(0).zone;
    let of_log = |event: &Event| matches!(event, Event::Write(at, _) if at / zone < 3);
    assert_eq!(tape.events().iter().filter(|event| of_log(event)).count(), 1);
    let open_now = |chip: &mut Zoned| (0..4).all(|block| program(chip, block, 1).is_ok());
    assert!(open_now(&mut chip), "all four are active still");
    drop(chip);

    // One that was formatted while one of them was offline has it elsewhere, and keeps it there.
    let mut state = tape_with_log_there(0).state();
    state.zones()[1].condition = Condition::Offline;
    state.zones()[2].condition = Condition::Offline;
    let tape = Tape::of(state);
    let mut chip = open(&tape);
    program(&mut chip, 0, 0).expect("room");
    chip.sync().expect("synced");
    let mut state = tape.state();
    state.zones()[1].condition = Condition::NoPointer;
    state.zones()[2].condition = Condition::NoPointer;
    let mut chip = open(&Tape::of(state));
    assert_eq!((chip.geometry().blocks(), holds(&mut chip, 0, 0)), (17, Ok(true)));
}

#[test]
fn after_a_write_that_failed_no_sync_succeeds_and_what_was_synced_is_there() {
    for after in 0..6 {
        let tape = tape(0);
        let mut chip = open(&tape);
        program(&mut chip, 0, 0).expect("room");
        chip.sync().expect("synced");
        tape.fail_after(Some(after));
        let mut failed = false;
        for page in 1..PAGES {
            let done = program(&mut chip, 0, page).and_then(|()| chip.sync());
            assert!(!failed || done.is_err(), "{after}: {page} after a failure");
            failed |= done.is_err();
        }
        assert!(failed);
        tape.fail_after(None);
        assert!(chip.sync().is_err(), "{after}");
        drop(chip);
        assert_eq!(holds(&mut open(&tape), 0, 0), Ok(true));
    }
}

#[test]
fn zones_of_another_program_are_seen_and_ours_are_not() {
    let tape = tape(0);
    let mut chip = open(&tape);
    assert!(!chip.is_foreign());
    program(&mut chip, 0, 0).expect("room");
    chip.sync().expect("synced");
    assert!(!open(&tape).is_foreign());
    let mut state = State::new(shape(0), 8 * PAGE as u64, 0);
    state.zones()[9].condition = Condition::Closed;
    state.zones()[9].pointer = PAGE as u64;
    assert!(open(&Tape::of(state)).is_foreign());
    // In a conventional zone that the log would be written to.
    let mut state = tape_with_log_there(0).state();
    assert!(!open(&Tape::of(state.clone())).is_foreign());
    state.bytes(2)[600] = 1;
    assert!(open(&Tape::of(state)).is_foreign());
    // In zones that a log tells something else of.
    let tape = tape_with_log_there(0);
    let mut chip = open(&tape);
    (0..3).for_each(|block| program(&mut chip, block, 0).expect("room"));
    chip.sync().expect("synced");
    let mut state = tape.state();
    assert!(!open(&Tape::of(state.clone())).is_foreign());
    (4..7).for_each(|zone| state.bytes(zone).fill(7));
    assert!(open(&Tape::of(state)).is_foreign());
}

/// A file with such settings; the words of the refusal, or the shape of the chip.
fn file(folder: &Path, settings: &str, bytes: u64) -> Result<(u32, u32), String> {
    let path = folder.join("zones.img");
    std::fs::write(folder.join("zones.img.zones"), settings).expect("written");
    let made = std::fs::File::create(&path).and_then(|file| file.set_len(bytes));
    made.expect("a blank file");
    let Ok(place) = format!("zoned:{}", path.display()).parse::<Place>();
    let opened = place.open(&OpenChip::default()).map_err(|e| e.to_string())?;
    let geometry = *opened.chip.geometry();
    drop(opened);
    // It is one from now on, whatever the settings say.
    std::fs::remove_file(folder.join("zones.img.zones")).expect("it was there");
    let again = place.open(&OpenChip { read_only: true, ..OpenChip::default() });
    assert_eq!(*again.expect("a chip").chip.geometry(), geometry);
    Ok((geometry.blocks(), geometry.pages_per_block))
}

#[test]
fn a_blank_file_becomes_a_zoned_device_as_its_settings_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |settings: &str, bytes| file(folder.path(), settings, bytes);
    assert_eq!(file("", 64 << 20), Ok((60, 253)));
    let settings = "zone-size 2MiB # each\ncapacity 1536KiB\n\nconventional 4\nblock 512\n";
    assert_eq!(file(settings, 64 << 20), Ok((27, 380)));
    for (settings, says) in [
        ("zone-size", "line 1: `zone-size`; write a name and a number"),
        ("\nzones 7", "line 2: there is no `zones`; there are zone-size"),
        ("capacity 4GiB", "capacity 4294967296: a zone has 1048576 bytes"),
        ("block 100", "blocks have 512 or 4096 bytes"),
        (
            "zone-size 8KiB",
            "cannot be a chip: there have to be four at least, or three conventional ones and one",
        ),
    ] {
        let refused = file(settings, 64 << 20).expect_err(says);
        assert!(refused.contains(says), "{refused}");
    }
    let path = folder.path().join("text");
    std::fs::write(&path, "something else").expect("written");
    let Ok(place) = format!("zoned:{}", path.display()).parse::<Place>();
    let refused = place.open(&OpenChip::default()).err().expect("no device").to_string();
    assert!(refused.contains("is not blank"), "{refused}");
}
