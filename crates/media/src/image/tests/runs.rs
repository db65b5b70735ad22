//! What is programmed waits in memory and goes to the file in runs.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Kind, Lpn, Oob, Ppn};

use super::{
    super::{Image, Open, areas::Areas, layout::Layout, runs::Runs, write_blank, write_headers},
    Chip,
    log::open_image,
    volatile::Volatile,
};
use crate::Medium;

/// An image whose runs are that many pages long, and that many.
fn image(in_order: bool, pages: usize, count: usize) -> (Volatile, Image) {
    let header = Chip { kind: Kind::Nand, in_order }.header();
    let layout = Layout::of(header.kind, &header.geometry);
    let store = Volatile::new(layout.length);
    write_blank(&store, &layout, &[])
        .and_then(|()| write_headers(&store, &header, &layout))
        .expect("memory");
    let mut image = open_image(&store, Open::default());
    image.runs = Runs::sized(&layout, pages * 1024, count);
    (store, image)
}

fn oob(number: u32) -> Oob {
    Oob { lpn: Lpn(number), stream: 1, sequence: u64::from(number), time: 7, note: 8 }
}

fn at(block: u32, page: u32) -> Ppn {
    Chip { kind: Kind::Nand, in_order: true }.header().geometry.ppn(BlockId(block), page)
}

fn program(image: &mut Image, block: u32, page: u32) {
    let number = 100 * block + page;
    let done = image.program(at(block, page), oob(number), &[number as u8; 1024]);
    assert_eq!(done, Ok(()));
}

/// What was programmed as that number is there.
fn holds(image: &mut Image, page: Ppn, number: u32) -> bool {
    let mut data = [0; 1024];
    image.read_oob(page) == Ok(Some(oob(number)))
        && image.read(page, &mut []) == Ok(())
        && image.read(page, &mut data) == Ok(())
        && data == [number as u8; 1024]
}

/// The same, for who opens the file now.
fn is_on_file(store: &Volatile, block: u32, page: u32) -> bool {
    holds(&mut open_image(store, Open::default()), at(block, page), 100 * block + page)
}

#[test]
fn a_run_takes_three_writes_however_long_it_is() {
    let (store, mut image) = image(true, 8, 4);
    let before = store.writes();
    for page in 0..20 {
        program(&mut image, 1, page);
        // Runs of 8, and what is left of the block.
        let runs = [8, 16, 20].iter().filter(|&&end| page + 1 >= end).count() as u64;
        assert_eq!(store.writes() - before, 3 * runs, "after page {page}");
        assert!(holds(&mut image, at(1, page), 100 + page));
    }
    for page in 0..20 {
        assert!(is_on_file(&store, 1, page));
    }
}

#[test]
fn a_sync_writes_what_waits_and_runs_go_on_at_whole_multiples() {
    let (store, mut image) = image(true, 8, 4);
    (0..3).for_each(|page| program(&mut image, 1, page));
    let before = store.writes();
    assert!(!is_on_file(&store, 1, 0));
    let syncing = image.begin_sync().expect("memory");
    assert_eq!(store.writes() - before, 3);
    assert!((0..3).all(|page| is_on_file(&store, 1, page)));
    // Not part of the sync.
    program(&mut image, 1, 3);
    syncing.wait().expect("memory");
    image.finish_sync(&syncing).expect("memory");
    (4..8).for_each(|page| program(&mut image, 1, page));
    assert_eq!(store.writes() - before, 6);
    assert!(store.is_dirty() && is_on_file(&store, 1, 7));
    image.sync().expect("memory");
    assert_eq!((store.is_dirty(), store.writes() - before), (false, 6));
}

#[test]
fn the_run_used_least_recently_makes_room_for_another_block() {
    let (store, mut image) = image(true, 8, 2);
    program(&mut image, 1, 0);
    program(&mut image, 2, 0);
    program(&mut image, 1, 1);
    program(&mut image, 3, 0);
    let on_file = [(1, 0), (1, 1), (2, 0), (3, 0)].map(|(b, p)| is_on_file(&store, b, p));
    assert_eq!(on_file, [false, false, true, false]);
    for (block, page) in [(1, 0), (1, 1), (2, 0), (3, 0)] {
        assert!(holds(&mut image, at(block, page), 100 * block + page));
    }
}

#[test]
fn pages_that_wait_are_copied_within_a_run_and_from_one_to_the_other() {
    let (store, mut image) = image(true, 8, 2);
    let before = store.writes();
    program(&mut image, 1, 0);
    assert_eq!(image.copy(at(1, 0), at(1, 1), oob(100)), Ok(()));
    assert_eq!(image.copy(at(1, 1), at(2, 0), oob(100)), Ok(()));
    assert_eq!(store.writes(), before);
    // Its run has to go for the copy.
    assert_eq!(image.copy(at(2, 0), at(3, 0), oob(100)), Ok(()));
    assert_eq!(image.copy(at(2, 0), at(4, 0), oob(100)), Ok(()));
    assert_eq!(image.copy(at(4, 1), at(4, 1), oob(100)), Err(FlashError::Unreadable(at(4, 1))));
    image.sync().expect("memory");
    let mut image = open_image(&store, Open::default());
    for page in [at(1, 0), at(1, 1), at(2, 0), at(3, 0), at(4, 0)] {
        assert!(holds(&mut image, page, 100), "{page:?}");
    }
}

#[test]
fn pages_in_any_order_are_written_all_the_same() {
    let (store, mut image) = image(false, 8, 2);
    for page in [5, 6, 2, 19, 3, 0, 1] {
        program(&mut image, 4, page);
        assert_eq!(
            image.program(at(4, page), oob(1), &[]),
            Err(FlashError::NotErased(at(4, page)))
        );
    }
    drop(image);
    for page in 0..20 {
        assert_eq!(is_on_file(&store, 4, page), [0, 1, 2, 3, 5, 6, 19].contains(&page));
    }
}

#[test]
fn what_waits_of_a_block_that_is_erased_is_never_written() {
    let (store, mut image) = image(true, 8, 2);
    (0..10).for_each(|page| program(&mut image, 1, page));
    let before = store.writes();
    image.erase(BlockId(1)).expect("not bad");
    assert_eq!((image.read_oob(at(1, 9)), image.read_oob(at(1, 0))), (Ok(None), Ok(None)));
    // Both copies of the areas are blanked, and the table tells of it.
    image.sync().expect("memory");
    assert_eq!(store.writes() - before, 3);
    program(&mut image, 1, 0);
    drop(image);
    assert!(is_on_file(&store, 1, 0));
    assert!((1..10).all(|page| !is_on_file(&store, 1, page)));
}

#[test]
fn a_page_that_cannot_be_copied_leaves_the_next_one_blank() {
    let (store, mut image) = image(true, 8, 2);
    (0..8).for_each(|page| program(&mut image, 1, page));
    store.turn_bit(image.layout.payload_of(BlockId(1), 3) + 9);
    program(&mut image, 2, 0);
    assert_eq!(image.copy(at(1, 3), at(2, 1), oob(0)), Err(FlashError::Unreadable(at(1, 3))));
    assert_eq!(image.copy(at(1, 3), at(3, 0), oob(0)), Err(FlashError::Unreadable(at(1, 3))));
    assert_eq!((image.read_oob(at(2, 1)), image.read_oob(at(3, 0))), (Ok(None), Ok(None)));
    program(&mut image, 2, 1);
    program(&mut image, 3, 0);
    drop(image);
    assert!([(2, 0), (2, 1), (3, 0)].iter().all(|&(block, page)| is_on_file(&store, block, page)));
}

#[test]
fn areas_that_were_given_away_are_covered_by_what_waits_when_they_are_read_again() {
    let mut header = Chip { kind: Kind::Nand, in_order: true }.header();
    header.geometry.blocks_per_bank = 600;
    let geometry = header.geometry;
    let layout = Layout::of(header.kind, &geometry);
    let store = Volatile::new(layout.length);
    write_blank(&store, &layout, &[])
        .and_then(|()| write_headers(&store, &header, &layout))
        .expect("memory");
    let mut image = open_image(&store, Open::default());
    image.areas = Areas::sized(layout, 64);
    let look_elsewhere = |image: &mut Image| {
        for block in (20..600).map(BlockId) {
            assert_eq!(image.read_oob(geometry.ppn(block, 0)), Ok(None));
        }
    };
    (0..3).for_each(|page| program(&mut image, 1, page));
    look_elsewhere(&mut image);
    assert!((0..3).all(|page| holds(&mut image, at(1, page), 100 + page)));
    look_elsewhere(&mut image);
    assert_eq!(image.program(at(1, 2), oob(0), &[]), Err(FlashError::NotErased(at(1, 2))));
    assert_eq!(image.program(at(1, 4), oob(0), &[]), Err(FlashError::OutOfOrder(at(1, 4))));
    program(&mut image, 1, 3);
    look_elsewhere(&mut image);
    image.sync().expect("memory");
    assert!((0..4).all(|page| is_on_file(&store, 1, page)));
}

/// Tells the chip that pages of block 1 will be copied.
fn expect(image: &mut Image, pages: &[u32]) {
    image.expect_copies(&mut pages.iter().map(|&page| at(1, page)));
}

#[test]
fn survivors_are_read_by_runs_and_each_is_verified() {
    let (store, mut image) = image(true, 8, 2);
    (0..16).for_each(|page| program(&mut image, 1, page));
    store.turn_bit(image.layout.payload_of(BlockId(1), 3) + 9);
    program(&mut image, 2, 0);
    let survivors = [1, 2, 3, 4, 8, 9, 14];
    expect(&mut image, &survivors);
    let before = store.reads();
    let mut to = 1;
    for page in survivors {
        let copied = image.copy(at(1, page), at(2, to), oob(100 + page));
        let bad = FlashError::Unreadable(at(1, 3));
        assert_eq!(copied, if page == 3 { Err(bad) } else { Ok(()) });
        to += u32::from(copied.is_ok());
    }
    assert_eq!(store.reads() - before, 3, "1 to 4, 8 and 9, 14");
    // Nobody said that these would be, and the last is read once more.
    for page in [5, 14] {
        assert_eq!(image.copy(at(1, page), at(2, to), oob(100 + page)), Ok(()));
        to += 1;
    }
    for (to, page) in (1..).zip([1, 2, 4, 8, 9, 14, 5, 14]) {
        assert!(holds(&mut image, at(2, to), 100 + page), "page {page}");
    }
}

#[test]
fn what_was_read_ahead_of_a_block_is_forgotten_when_that_is_erased() {
    let (_, mut image) = image(true, 8, 2);
    (0..8).for_each(|page| program(&mut image, 1, page));
    expect(&mut image, &[0, 1]);
    assert_eq!(image.copy(at(1, 0), at(2, 0), oob(100)), Ok(()));
    assert_eq!(image.erase(BlockId(1)), Ok(()));
    assert_eq!(image.sync(), Ok(()));
    let newer = [77; 1024];
    for page in 0..8 {
        assert_eq!(image.program(at(1, page), oob(177), &newer), Ok(()));
    }
    assert_eq!(image.copy(at(1, 1), at(2, 1), oob(177)), Ok(()));
    let mut data = [0; 1024];
    assert_eq!(image.read(at(2, 1), &mut data), Ok(()));
    assert_eq!(data, newer);
}

#[test]
fn pages_that_wait_in_a_run_are_not_read_ahead() {
    let (_, mut image) = image(true, 8, 2);
    (0..10).for_each(|page| program(&mut image, 1, page));
    expect(&mut image, &[7, 8, 9]);
    assert_eq!(image.copy(at(1, 7), at(2, 0), oob(107)), Ok(()));
    // Both runs are needed elsewhere: what waited is on the file now.
    program(&mut image, 3, 0);
    program(&mut image, 2, 1);
    for (to, page) in [(2, 8), (3, 9)] {
        assert_eq!(image.copy(at(1, page), at(2, to), oob(100 + page)), Ok(()));
        assert!(holds(&mut image, at(2, to), 100 + page));
    }
}

#[test]
fn pages_side_by_side_are_read_at_once_and_each_is_verified() {
    let (store, mut image) = image(true, 8, 2);
    (0..16).for_each(|page| program(&mut image, 1, page));
    let mut data = vec![0; 6 * 1024];
    let read = |image: &mut Image, data: &mut [u8], wrong: Option<u32>| {
        image.read_run(at(1, 4), data, &mut |page, found| {
            found.is_some_and(|found| page.0 == at(1, 0).0 + found.lpn.0 - 100)
                && wrong != Some(page.0 - at(1, 0).0)
        })
    };
    let before = store.reads();
    assert_eq!(read(&mut image, &mut data, None), Ok(()));
    assert_eq!(store.reads() - before, 1);
    assert!((0..6).all(|i| data[i * 1024..][..1024] == [104 + i as u8; 1024]));
    // The caller knows better.
    let bad = (at(1, 6), FlashError::Unreadable(at(1, 6)));
    assert_eq!(read(&mut image, &mut data, Some(6)), Err(bad));
    store.turn_bit(image.layout.payload_of(BlockId(1), 8) + 9);
    let bad = (at(1, 8), FlashError::Unreadable(at(1, 8)));
    assert_eq!(read(&mut image, &mut data, None), Err(bad));
}
