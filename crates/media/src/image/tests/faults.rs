//! A full disk, a sync that fails, bits that turn; and the papers' layout on NOR.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Kind, Lpn, Oob};

use super::{
    super::{Image, Open, layout::Layout, write_blank, write_headers},
    Chip,
    log::open_image,
    volatile::{Draw, Volatile},
};
use crate::{Medium, image::Store};

const BLOCK: BlockId = BlockId(4);
const ENOSPC: i32 = 28;
const EIO: i32 = 5;

fn image(kind: Kind) -> (Volatile, Layout, Image) {
    let header = Chip { kind, in_order: kind == Kind::Nand }.header();
    let layout = Layout::of(header.kind, &header.geometry);
    let store = Volatile::new(layout.length);
    write_blank(&store, &layout, &[])
        .and_then(|()| write_headers(&store, &header, &layout))
        .expect("memory");
    let image = open_image(&store, Open::default());
    (store, layout, image)
}

fn oob(number: u32) -> Oob {
    Oob { lpn: Lpn(number), stream: 3, sequence: u64::from(number), time: 77, note: 0x0102 }
}

fn program(image: &mut Image, page: u32) -> Result<(), FlashError> {
    let to = image.geometry().ppn(BLOCK, page);
    image.program(to, oob(page), &[page as u8; 1024])
}

fn is_there(image: &mut Image, page: u32) -> bool {
    let at = image.geometry().ppn(BLOCK, page);
    let mut data = [0; 1024];
    image.read(at, &mut data) == Ok(())
        && image.read_oob(at) == Ok(Some(oob(page)))
        && data == [page as u8; 1024]
}

#[test]
fn a_full_disk_loses_nothing() {
    for kind in [Kind::Nand, Kind::Nor] {
        let (store, _, mut image) = image(kind);
        for page in 1..5 {
            // Header pages aside, which NAND has none of here.
            if kind == Kind::Nand && page == 1 {
                program(&mut image, 0).expect("memory");
            }
            program(&mut image, page).expect("memory");
        }
        store.fail_writes(Some(ENOSPC));
        let full = Err(FlashError::Medium(ENOSPC));
        if kind == Kind::Nand {
            // What was programmed waits in memory, and stays there when it cannot be written.
            assert_eq!(image.sync(), full);
        }
        assert_eq!(program(&mut image, 5), full);
        assert_eq!(image.read_oob(image.geometry().ppn(BLOCK, 5)), Ok(None));
        image.erase(BlockId(5)).expect("is noted");
        assert_eq!((image.sync(), image.sync()), (full, full));
        assert_eq!(program(&mut image, 5), full);
        assert!((1..5).all(|page| is_there(&mut image, page)));
        store.fail_writes(None);
        assert_eq!(program(&mut image, 5), Ok(()));
        assert_eq!(image.sync(), Ok(()));
        store.cut(&mut Draw(1));
        let mut image = open_image(&store, Open::default());
        assert!((1..6).all(|page| is_there(&mut image, page)));
        assert_eq!(image.erase_count(BlockId(5)), 1);
    }
}

#[test]
fn after_a_failed_sync_none_succeeds_and_nothing_is_erased() {
    let (store, _, mut image) = image(Kind::Nand);
    program(&mut image, 0).expect("memory");
    image.sync().expect("memory");
    image.erase(BLOCK).expect("is noted");
    image.program(image.geometry().ppn(BlockId(1), 0), oob(9), &[]).expect("memory");
    store.fail_syncs(Some(EIO));
    assert_eq!(image.sync(), Err(FlashError::Medium(EIO)));
    // The system forgets; the image does not.
    store.fail_syncs(None);
    assert_eq!(image.sync(), Err(FlashError::Medium(EIO)));
    assert_eq!(program(&mut image, 0), Err(FlashError::Medium(EIO)), "its erase cannot be done");
    let syncing = image.begin_sync().expect("nothing is waited for yet");
    assert_eq!(syncing.wait().expect_err("failed").raw_os_error(), Some(EIO));
    store.cut(&mut Draw(1));
    assert!(is_there(&mut open_image(&store, Open::default()), 0));
}

/// What a sync dropped is shown by the cache, to whoever asks it.
#[test]
fn what_a_failed_sync_dropped_is_not_there_when_the_image_is_opened_again() {
    for kind in [Kind::Nand, Kind::Nor] {
        let (store, _, mut image) = image(kind);
        program(&mut image, 1 - u32::from(kind == Kind::Nand)).expect("memory");
        image.sync().expect("memory");
        program(&mut image, 2 - u32::from(kind == Kind::Nand)).expect("memory");
        store.drop_at_next_sync(EIO);
        assert_eq!(image.sync(), Err(FlashError::Medium(EIO)));
        drop(image);
        let store = Box::new(store);
        let mut image =
            Image::reopen("test".as_ref(), store, Open::default()).expect("is an image");
        assert!(is_there(&mut image, 1 - u32::from(kind == Kind::Nand)));
        let gone = image.geometry().ppn(BLOCK, 2 - u32::from(kind == Kind::Nand));
        assert_eq!(image.read_oob(gone), Ok(None));
        assert_eq!(image.remarks(), [""; 0]);
    }
}

#[test]
fn what_was_written_before_the_image_is_opened_lasts_then() {
    let (store, _, mut image) = image(Kind::Nand);
    program(&mut image, 0).expect("memory");
    // The process ends.
    drop(image);
    assert!(store.is_dirty());
    let open =
        |store: &Volatile, open| Image::reopen("test".as_ref(), Box::new(store.clone()), open);
    let mut image = open(&store, Open::default()).expect("is an image");
    assert!(is_there(&mut image, 0));
    store.cut(&mut Draw(1));
    assert!(is_there(&mut open_image(&store, Open::default()), 0));
    // An error of before is told once, and the disk is asked again.
    store.drop_at_next_sync(EIO);
    let image = open(&store, Open::default()).expect("the second sync succeeds");
    assert!(image.remarks()[0].contains("failed before it was opened"), "{:?}", image.remarks());
    store.fail_syncs(Some(EIO));
    let refused = open(&store, Open::default()).expect_err("it cannot be written");
    assert!(refused.to_string().contains("sync what was written before"), "{refused}");
    let looking = Open { read_only: true, ..Open::default() };
    open(&store, looking).expect("whoever only reads gets what the disk holds");
}

#[test]
fn what_found_no_room_is_written_again_whole_or_never_believed() {
    for (kind, is_forgotten) in
        [(Kind::Nand, false), (Kind::Nor, false), (Kind::Nand, true), (Kind::Nor, true)]
    {
        let (store, _, mut image) = image(kind);
        let pages = image.geometry().header_pages..18;
        for page in pages.clone().take(4) {
            program(&mut image, page).expect("memory");
        }
        image.sync().expect("memory");
        // A table, records and payloads, of two blocks.
        image.erase(BlockId(5)).expect("is noted");
        image.sync_programs().expect("memory");
        for page in pages.clone().skip(4) {
            program(&mut image, page).expect("memory");
        }
        let other = image.geometry().ppn(BlockId(5), image.geometry().header_pages);
        image.program(other, oob(40), &[7; 1024]).expect("memory");
        store.drop_at_next_sync(ENOSPC);
        let syncing = image.begin_sync().expect("is waited for later");
        assert_eq!(syncing.wait().expect_err("no room").raw_os_error(), Some(ENOSPC));
        if is_forgotten {
            store.forget();
        }
        if is_forgotten && kind == Kind::Nand {
            let eio = Err(FlashError::Medium(EIO));
            assert_eq!((image.sync(), image.sync()), (eio, eio), "the payloads are gone");
            continue;
        }
        program(&mut image, 18).expect("memory");
        assert_eq!(image.sync(), Ok(()));
        store.cut(&mut Draw(1));
        store.forget();
        let mut image = open_image(&store, Open::default());
        assert!(pages.chain([18]).all(|page| is_there(&mut image, page)), "{kind:?}");
        assert_eq!(image.read_oob(other), Ok(Some(oob(40))));
        assert_eq!(image.erase_count(BlockId(5)), 1);
    }
}

/// Who waited for the good one may come late for the image.
#[test]
fn a_sync_is_not_finished_well_after_another_one_failed() {
    let (store, _, mut image) = image(Kind::Nand);
    program(&mut image, 0).expect("memory");
    let good = image.begin_sync().expect("memory");
    good.wait().expect("memory");
    program(&mut image, 1).expect("memory");
    store.drop_at_next_sync(EIO);
    assert_eq!(image.sync_programs(), Err(FlashError::Medium(EIO)));
    assert_eq!(image.finish_sync(&good), Err(FlashError::Medium(EIO)));
}

#[test]
fn a_turned_bit_makes_a_page_unreadable() {
    for kind in [Kind::Nand, Kind::Nor] {
        let (store, layout, mut image) = image(kind);
        let pages = image.geometry().header_pages..20;
        for page in pages.clone() {
            program(&mut image, page).expect("memory");
        }
        image.sync().expect("memory");
        let mut draw = Draw(5);
        for page in pages.clone() {
            let in_payload = page % 2 == 0;
            let record = layout.record_of(page).expect("data page") as u64;
            // Everywhere but in the flags of NOR, of which one bit means nothing.
            let at = [0, 1, 2, 3, 4, 6, 7, 8, 15, 16, 24, 28, 31][draw.below(13)];
            if in_payload {
                store.turn_bit(layout.payload_of(BLOCK, page) + draw.below(1024) as u64);
            } else {
                store.turn_bit(layout.areas_of(BLOCK) + record + at);
                assert!(is_there(&mut open_image(&store, Open::default()), page), "the other copy");
                store.turn_bit(layout.second_areas_of(BLOCK) + record + at);
            }
            let mut image = open_image(&store, Open::default());
            let at = image.geometry().ppn(BLOCK, page);
            let unreadable = Err(FlashError::Unreadable(at));
            assert_eq!(image.read(at, &mut []), unreadable);
            assert_eq!(image.read(at, &mut [0; 1024]), unreadable);
            assert_eq!(image.read_oob(at).is_ok(), in_payload);
            assert_eq!(program(&mut image, page), Err(FlashError::NotErased(at)));
            let to = image.geometry().ppn(BlockId(1), image.geometry().header_pages);
            assert_eq!(
                image.copy(at, to, oob(0)),
                unreadable,
                "nothing bad is given a new checksum"
            );
            assert_eq!(image.read_oob(to), Ok(None));
            assert!(image.health().failed_reads >= u64::from(in_payload));
        }
    }
}

#[test]
fn nor_keeps_the_papers_layout_and_clears_flags_in_place() {
    let (store, layout, mut image) = image(Kind::Nor);
    let blocks = layout.payload_of(BlockId(0), 0)..layout.second_areas_of(BlockId(0));
    store.watch_nor(blocks, image.geometry().block_size() as usize);
    let at = layout.areas_of(BLOCK);
    assert_eq!(at, layout.payload_of(BLOCK, 0), "the header page is the block's first");
    image.erase(BLOCK).expect("not bad");
    image.sync().expect("memory");
    let header = store.bytes(at, 32);
    assert_eq!(header[..8], *b"FSEG\x01\0\xff\xff", "not opened");
    assert_eq!((header[8], header[12]), (1, 4), "erase count and number");
    // In any order.
    for page in [3, 1, 2] {
        program(&mut image, page).expect("memory");
    }
    assert_eq!(program(&mut image, 0), Err(FlashError::OutOfRange), "the header is nobody's");
    let header = store.bytes(at, 32);
    assert_eq!((header[16], header[24], header[25]), (77, 3, 0), "time, region, kind");
    let entry = store.bytes(at + 32 * 3, 32);
    assert_eq!(entry[..8], [3, 0, 0, 0, 3, 0xfe, 2, 1], "page, region, flags, note");
    let third = image.geometry().ppn(BLOCK, 3);
    assert_eq!(image.is_obsolete(third), Ok(false));
    image.obsolete(third);
    assert_eq!(store.bytes(at + 32 * 3 + 5, 1), [0xfc]);
    image.sync().expect("memory");
    let mut image = open_image(&store, Open::default());
    assert_eq!(image.is_obsolete(third), Ok(true));
    assert!((1..4).all(|page| is_there(&mut image, page)), "a hint, no more");
    assert_eq!(program(&mut image, 3), Err(FlashError::NotErased(third)));
    // A block of the layer's own records.
    let system = image.geometry().ppn(BlockId(9), 1);
    image.program(system, oob(1), &[]).expect("memory");
    assert_eq!(store.bytes(layout.areas_of(BlockId(9)) + 25, 1), [3]);
}

/// Everything but what was in it is there, by either copy of the header page.
#[test]
fn a_sector_that_cannot_be_read_loses_what_was_in_it() {
    for kind in [Kind::Nand, Kind::Nor] {
        let (store, layout, mut image) = image(kind);
        let pages = image.geometry().header_pages..20;
        for page in pages.clone() {
            program(&mut image, page).expect("memory");
        }
        image.mark_bad(BlockId(1)).expect("a block");
        image.sync().expect("memory");
        drop(image);
        let told = |image: &Image, what: &str| {
            let ailments = image.ailments();
            assert!(ailments.iter().any(|it| it.contains(what)), "{what}: {ailments:?}");
        };
        let all_but = |image: &mut Image, lost: &[u32]| {
            for page in pages.clone() {
                assert_eq!(is_there(image, page), !lost.contains(&page), "{kind:?} {page}");
            }
        };

        for at in [0, layout.second_header() + 1024] {
            store.spoil_sector(at);
            let mut image = open_image(&store, Open::default());
            all_but(&mut image, &[]);
            told(&image, "copy of the header page");
            assert_eq!(image.mend().expect("memory").len(), 1);
            assert!(open_image(&store, Open::default()).ailments().is_empty());
        }
        for slot in 0..2 {
            store.spoil_sector(layout.group(0, slot) + 512);
            let mut image = open_image(&store, Open::default());
            // Whether the mark is known depends on the slot: an older one does not have it.
            all_but(&mut image, &[]);
            assert_eq!(image.lost_groups(), 0, "the other slot counts");
            told(&image, &format!("bytes {} to", layout.group(0, slot) + 512));
            image.mark_bad(BlockId(1)).expect("a block");
            assert_eq!(image.mend().expect("memory").len(), 1);
            let image = open_image(&store, Open::default());
            assert!(image.ailments().is_empty() && image.is_bad(BlockId(1)));
        }

        let payload = layout.payload_of(BLOCK, 7);
        store.spoil_sector(payload);
        let mut image = open_image(&store, Open::default());
        // Records share sectors, and on NOR a header does too.
        all_but(&mut image, &[7]);
        told(&image, &format!("bytes {payload} to {}", payload + 1023));
        let records = layout.areas_of(BLOCK) + 512;
        store.spoil_sector(records);
        let mut image = open_image(&store, Open::default());
        all_but(&mut image, &[7]);
        told(&image, &format!("bytes {records} to {}", records + 511));
        store.spoil_sector(layout.second_areas_of(BLOCK) + 512);
        let mut image = open_image(&store, Open::default());
        // On NOR the header takes the place of a record, and there is none for the header page.
        let gone: Vec<u32> = std::iter::once(7).chain(16..20).collect();
        all_but(&mut image, &gone);
        told(&image, &format!("bytes {records} to {}", records + 511));
        let at = image.geometry().ppn(BLOCK, 17);
        assert_eq!(image.read_oob(at), Err(FlashError::Unreadable(at)));

        // What is erased is whole again.
        image.erase(BLOCK).expect("is noted");
        image.sync().expect("memory");
        for page in pages.clone() {
            program(&mut image, page).expect("memory");
        }
        image.sync().expect("memory");
        drop(image);
        let mut image = open_image(&store, Open::default());
        all_but(&mut image, &[]);
        assert!(image.ailments().is_empty(), "{:?}", image.ailments());
    }
}

#[test]
fn a_file_without_the_end_of_its_second_copies_is_whole_and_has_them_again() {
    let (store, layout, mut image) = image(Kind::Nand);
    for page in 0..20 {
        program(&mut image, page).expect("memory");
    }
    image.sync().expect("memory");
    drop(image);
    store.cut_off(layout.second_areas_of(BLOCK) + 70);
    let path = std::path::Path::new("memory");
    let open = || Image::reopen(path, Box::new(store.clone()), Open::default());
    let mut image = open().expect("nothing is lost");
    assert!((0..20).all(|page| is_there(&mut image, page)));
    assert_eq!(image.ailments(), [""; 0]);
    drop(image);
    // One sector of the first copies costs nothing then.
    store.spoil_sector(layout.areas_of(BLOCK));
    let mut image = open().expect("opened again");
    assert!((0..20).all(|page| is_there(&mut image, page)));
}

#[test]
fn half_a_file_gives_back_its_half() {
    let (store, layout, mut image) = image(Kind::Nand);
    for page in 0..20 {
        program(&mut image, page).expect("memory");
    }
    image.sync().expect("memory");
    drop(image);
    store.cut_off(layout.payload_of(BLOCK, 9) + 500);
    let path = std::path::Path::new("memory");
    let refused = Image::over(path, Box::new(store.clone()), Open::default()).expect_err("is cut");
    assert!(refused.to_string().contains("cut off"), "{refused}");
    let mut image = open_image(&store, Open { read_only: true, ..Open::default() });
    for page in 0..20 {
        assert_eq!(is_there(&mut image, page), page < 9, "{page}");
    }
    assert_eq!(image.ailments().len(), 1, "{:?}", image.ailments());
    assert!(image.ailments()[0].contains("it was cut off"), "{:?}", image.ailments());
    // What was behind stays lost, and is never taken for what power cut off, until a repair is done with it.
    for _ in 0..2 {
        let mut image = open_image(&store, Open { lengthen: true, ..Open::default() });
        assert_eq!(Store::len(&store).ok(), Some(layout.length));
        for page in 0..20 {
            assert_eq!(is_there(&mut image, page), page < 9, "{page}");
            let at = image.geometry().ppn(BLOCK, page);
            assert_eq!(image.is_refused(at), page >= 9, "{page}");
        }
    }
    let refused = Image::over(path, Box::new(store.clone()), Open::default()).expect_err("is cut");
    assert!(refused.to_string().contains("cut off"), "{refused}");
    let mut image = open_image(&store, Open { lengthen: true, ..Open::default() });
    image.mend().expect("mended");
    drop(image);
    let image = open_image(&store, Open::default());
    assert_eq!(image.ailments(), [""; 0]);
}
