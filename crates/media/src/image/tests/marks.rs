//! Erase counts and bad marks: the block table under losses of power.

use thermocline_flash::{BlockId, Condition, Flash, Geometry};

use super::{
    super::{Damage, Image, Open, layout::Layout, write_blank, write_headers},
    Chip, Kind,
    log::open_image,
    volatile::{Draw, Volatile},
};
use crate::Medium;

const BLOCKS: usize = 2500;

#[test]
fn no_loss_of_power_loses_a_mark_that_was_synced_or_a_group_of_the_table() {
    let mut header = Chip { kind: Kind::Nand, in_order: true }.header();
    header.geometry = Geometry {
        blocks_per_bank: BLOCKS as u32,
        pages_per_block: 2,
        page_size: 512,
        ..header.geometry
    };
    let layout = Layout::of(header.kind, &header.geometry);
    let mut torn = 0;
    for seed in 0..40 {
        let mut draw = Draw(seed);
        let store = Volatile::new(layout.length);
        write_blank(&store, &layout, &[BlockId(7)])
            .and_then(|()| write_headers(&store, &header, &layout))
            .expect("memory");
        let mut image = open_image(&store, Open::default());
        // Of each block: erase count and mark that must be there, and what was done since.
        let mut least = vec![(0, false); BLOCKS];
        least[7].1 = true;
        for _ in 0..8 {
            let mut most = least.clone();
            let mut syncing = None;
            for _ in 0..draw.below(300) {
                let block = BlockId(draw.below(BLOCKS) as u32);
                match draw.below(40) {
                    0 => {
                        image.sync().expect("memory");
                        least.clone_from(&most);
                    }
                    1 => {
                        image.mark_bad(block).expect("a block");
                        most[block.index()].1 = true;
                    }
                    2 => syncing = Some(image.begin_sync().expect("memory")),
                    3 => {
                        if let Some(syncing) = syncing.take() {
                            syncing.wait().expect("memory");
                            image.finish_sync(&syncing).expect("memory");
                        }
                    }
                    _ if most[block.index()].1 => assert!(image.erase(block).is_err()),
                    _ => {
                        image.erase(block).expect("not bad");
                        most[block.index()].0 += 1;
                    }
                }
            }
            torn += u32::from(store.is_dirty());
            store.cut(&mut draw);
            image = open_image(&store, Open::default());
            assert_eq!(image.lost_groups(), 0, "seed {seed}");
            for number in 0..BLOCKS {
                let block = BlockId(number as u32);
                let found = (image.erase_count(block), image.is_bad(block));
                let (least, most) = (least[number], most[number]);
                assert!((least.0..=most.0).contains(&found.0), "seed {seed}, {block}: {found:?}");
                assert!((least.1..=most.1).contains(&found.1), "seed {seed}, {block}: {found:?}");
            }
            let all = (0..BLOCKS).map(|number| BlockId(number as u32));
            least = all.map(|block| (image.erase_count(block), image.is_bad(block))).collect();
        }
    }
    assert!(torn > 100, "{torn} losses of power had something to lose");
}

#[test]
fn a_group_without_a_whole_slot_takes_the_mean_of_the_others() {
    let mut header = Chip { kind: Kind::Nand, in_order: true }.header();
    header.geometry = Geometry { blocks_per_bank: 1500, pages_per_block: 1, ..header.geometry };
    let layout = Layout::of(header.kind, &header.geometry);
    let store = Volatile::new(layout.length);
    write_blank(&store, &layout, &[BlockId(3), BlockId(1400)])
        .and_then(|()| write_headers(&store, &header, &layout))
        .expect("memory");
    let mut image = open_image(&store, Open::default());
    for block in (0..1016).filter(|&block| block != 3) {
        for _ in 0..5 {
            image.erase(BlockId(block)).expect("not bad");
        }
    }
    image.sync().expect("memory");
    store.turn_bit(layout.group(1, 0) + 100);
    // One slot is enough.
    let image = open_image(&store, Open::default());
    assert_eq!((image.lost_groups(), image.is_bad(BlockId(1400))), (0, true));
    store.turn_bit(layout.group(1, 1) + 100);
    let image = open_image(&store, Open::default());
    assert_eq!(image.lost_groups(), 1);
    assert_eq!((image.erase_count(BlockId(5)), image.erase_count(BlockId(1400))), (5, 4));
    assert_eq!((image.is_bad(BlockId(3)), image.is_bad(BlockId(1400))), (true, false));
    assert_eq!(image.health().bad_blocks, 1);
}

/// A file of two pages and holes says that it is a chip of so many blocks, with the right checksum.
#[test]
fn a_block_table_that_was_never_written_is_refused_before_it_takes_memory() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("chip.img");
    for (blocks, pages, size) in [(1_000_000_000, 1, 512), (1 << 27, 8, 512), (100_000, 4, 4096)] {
        let mut header = Chip { kind: Kind::Nand, in_order: true }.header();
        header.geometry = Geometry {
            blocks_per_bank: blocks,
            pages_per_block: pages,
            page_size: size,
            ..header.geometry
        };
        let layout = Layout::of(header.kind, &header.geometry);
        let file = std::fs::File::create(&path).expect("made");
        file.set_len(layout.length).expect("holes");
        for at in [0, layout.second_header()] {
            std::os::unix::fs::FileExt::write_all_at(&file, &header.encode(), at).expect("written");
        }
        let refused = Image::open(&path, Open::default()).expect_err("refused");
        assert!(
            matches!(refused.what, Damage::Table { seen: 65, lost: 65 }),
            "{blocks} blocks: {refused}"
        );
    }
}

#[test]
fn pages_and_blocks_that_no_memory_has_room_for_are_refused() {
    for (pages, size) in [(1, 17 << 20), (1 << 12, 1 << 20)] {
        let mut header = Chip { kind: Kind::Nand, in_order: true }.header();
        header.geometry = Geometry { pages_per_block: pages, page_size: size, ..header.geometry };
        let checked = Layout::checked(header.kind, &header.geometry);
        assert!(matches!(checked, Err(Damage::LargeBlocks)), "{pages} pages of {size}");
    }
}
