//! A volatile cache over a chip: nobody sees it while there is power, and what a loss of power leaves is
//! always something that the contract of `Flash` allows.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Lpn, Oob, Ppn, Rules};
use thermocline_media::{Cut, Faults, Faulty, Medium, Ram};

const BLOCKS: u32 = 5;
const PAGES: u32 = 4;
const GEOMETRY: Geometry = Geometry {
    banks: 1,
    channels: 1,
    blocks_per_bank: BLOCKS,
    pages_per_block: PAGES,
    page_size: 8,
    oob_size: 32,
    header_pages: 0,
    system_blocks: 0,
};

fn ram(in_order: bool) -> Ram {
    Ram::new(GEOMETRY, Rules { in_order, endurance: 1000, initial_bad_blocks: 0 })
        .with_bad_blocks(&[BlockId(4)])
}

fn with_cache<F: Condition>(inner: F, seed: u64, cache: u32) -> Faulty<F> {
    Faulty::with_faults(inner, Faults { seed, cache, ..Faults::default() })
}

fn cached(in_order: bool, seed: u64, cache: u32) -> Faulty<Ram> {
    with_cache(ram(in_order), seed, cache)
}

fn oob(sequence: u64) -> Oob {
    Oob { lpn: Lpn(1), stream: 0, sequence, time: 2, note: 3 }
}

fn all_pages() -> impl Iterator<Item = Ppn> {
    (0..BLOCKS).flat_map(|block| (0..PAGES).map(move |page| GEOMETRY.ppn(BlockId(block), page)))
}

/// A random page, now and then one that does not exist.
fn any_page(draws: &mut Xoshiro256PlusPlus) -> Ppn {
    GEOMETRY.ppn(BlockId(draws.random_range(0..=BLOCKS)), draws.random_range(0..PAGES))
}

#[test]
fn while_there_is_power_nobody_sees_the_cache() {
    for seed in 0..200 {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let in_order = draws.random_bool(0.5);
        let mut plain = ram(in_order);
        let mut chip = cached(in_order, seed, [1, 3, 1000][draws.random_range(0..3)]);
        for sequence in 0..300 {
            let (from, to) = (any_page(&mut draws), any_page(&mut draws));
            let block = GEOMETRY.block_of(to);
            match draws.random_range(0..20) {
                0 => assert_eq!(chip.sync(), Ok(())),
                1..=3 => assert_eq!(chip.erase(block), plain.erase(block)),
                4..=6 => {
                    assert_eq!(
                        chip.copy(from, to, oob(sequence)),
                        plain.copy(from, to, oob(sequence))
                    );
                }
                7 => {
                    let done = chip.program(to, oob(sequence), &[1; 7]);
                    assert_eq!(done.is_err(), plain.program(to, oob(sequence), &[1; 7]).is_err());
                }
                _ => {
                    let data = sequence.to_le_bytes();
                    let data = if sequence % 5 == 0 { &[][..] } else { &data };
                    let expected = plain.program(to, oob(sequence), data);
                    assert_eq!(
                        chip.program(to, oob(sequence), data),
                        expected,
                        "{seed}: {sequence}"
                    );
                }
            }
            let (mut shown, mut expected) = ([1; 8], [2; 8]);
            assert_eq!(chip.read(from, &mut shown), plain.read(from, &mut expected));
            assert!(shown == expected || from.index() >= all_pages().count());
            assert_eq!(chip.read_oob(from), plain.read_oob(from));
            assert_eq!(chip.erase_count(block), plain.erase_count(block));
            assert_eq!(chip.is_bad(block), plain.is_bad(block));
        }
    }
}

/// What was done, in order.
#[derive(Clone, Copy, Debug)]
enum Done {
    Program(Ppn, u64),
    Erase(BlockId),
    Sync,
}

/// What a page shows: a sequence number, nothing, or that it is torn.
type Shown = Result<Option<u64>, FlashError>;

fn look<F: Condition>(chip: &mut Faulty<F>, page: Ppn) -> Shown {
    let mut data = [0; 8];
    let oob = chip.read_oob(page);
    chip.read(page, &mut data)?;
    let sequence = oob?.map(|oob| oob.sequence);
    assert_eq!(data, sequence.unwrap_or(u64::MAX).to_le_bytes(), "what can be read is whole");
    Ok(sequence)
}

/// A random history until power fails, and what every page shows afterwards.
fn history<F: Condition>(seed: u64, inner: F) -> (Vec<Done>, BTreeMap<Ppn, Shown>) {
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut chip = with_cache(inner, seed, 1000);
    let cut = [Cut::Before, Cut::After, Cut::Torn, Cut::Partly(seed)][draws.random_range(0..4)];
    chip.cut_after(draws.random_range(5..60), cut);
    let mut done = Vec::new();
    for sequence in 0.. {
        let block = BlockId(draws.random_range(0..4));
        // The next page of the block, if it has one.
        let next = (0..PAGES)
            .map(|page| GEOMETRY.ppn(block, page))
            .find(|page| chip.read_oob(*page) == Ok(None));
        let (what, result) = match next {
            _ if draws.random_bool(0.05) => (Done::Sync, chip.sync()),
            Some(to) => {
                let result = chip.program(to, oob(sequence), &sequence.to_le_bytes());
                (Done::Program(to, sequence), result)
            }
            None => (Done::Erase(block), chip.erase(block)),
        };
        done.push(what);
        match result {
            Ok(()) => {}
            Err(FlashError::NoPower) => break,
            Err(e) => panic!("{e}"),
        }
    }
    chip.power_on();
    let shown = all_pages().map(|page| (page, look(&mut chip, page))).collect();
    (done, shown)
}

/// What the contract says of a history, without regard to how the cache works.
#[derive(Default)]
struct Seen {
    lost: u32,
    torn: u32,
    behind_lost: u32,
    erases_kept: u32,
    erases_lost: u32,
    mixed: u32,
}

fn judge(done: &[Done], shown: &BTreeMap<Ppn, Shown>, seen: &mut Seen) {
    let synced = done.iter().rposition(|done| matches!(done, Done::Sync)).unwrap_or(0);
    let block_of = |page: Ppn| GEOMETRY.block_of(page);
    let erased_after = |at: usize, block: BlockId| {
        done[at + 1..].iter().any(|done| matches!(done, Done::Erase(b) if *b == block))
    };
    // The last erase since the sync of which a trace is left: a page behind it, or one before it gone.
    let mut barrier = synced;
    for (at, what) in done.iter().enumerate().skip(synced) {
        let Done::Erase(block) = *what else { continue };
        let leaves_a_trace = done.iter().enumerate().any(|(when, what)| match *what {
            Done::Program(page, sequence) if block_of(page) == block => {
                let is_of_the_life_before = when < at
                    && when < synced
                    && !done[when..at].iter().any(|d| matches!(d, Done::Erase(b) if *b == block));
                (when > at && shown[&page] == Ok(Some(sequence)))
                    || (is_of_the_life_before && shown[&page] != Ok(Some(sequence)))
            }
            _ => false,
        });
        if leaves_a_trace {
            barrier = at;
            seen.erases_kept += 1;
        } else {
            seen.erases_lost += 1;
        }
    }
    for (at, what) in done.iter().enumerate() {
        let Done::Program(page, sequence) = *what else { continue };
        let is_there = shown[&page] == Ok(Some(sequence));
        if erased_after(at, block_of(page)) {
            continue;
        }
        if at < barrier {
            assert!(is_there, "{page:?} of operation {at} shows {:?}", shown[&page]);
        } else if !is_there {
            seen.lost += u32::from(shown[&page] == Ok(None));
            seen.torn += u32::from(shown[&page].is_err());
        } else if GEOMETRY.page_of(page) > 0 {
            seen.behind_lost += u32::from(shown[&Ppn(page.0 - 1)] == Ok(None));
        }
    }
    // Nothing is there that was never done, and a block shows pages of one life, or of two on either
    // side of an erase that was done in part.
    let mut mixed = 0;
    for block in (0..BLOCKS).map(BlockId) {
        let mut lives: Vec<usize> = Vec::new();
        for (&page, shown) in shown.iter().filter(|(page, _)| block_of(**page) == block) {
            let Ok(Some(sequence)) = *shown else { continue };
            let at = done
                .iter()
                .position(|d| matches!(d, Done::Program(p, s) if (*p, *s) == (page, sequence)))
                .expect("it was programmed once");
            let erases =
                done[..at].iter().filter(|d| matches!(d, Done::Erase(b) if *b == block)).count();
            lives.push(erases);
        }
        lives.sort_unstable();
        lives.dedup();
        assert!(
            matches!(lives[..], [] | [_]) || lives[..] == [lives[0], lives[0] + 1],
            "{lives:?}"
        );
        mixed += u32::from(lives.len() == 2);
    }
    assert!(mixed <= 1, "only the last erase is done in part");
    seen.mixed += mixed;
}

#[test]
fn a_loss_of_power_leaves_what_the_contract_allows_and_everything_that_it_allows() {
    let mut seen = Seen::default();
    for seed in 0..20_000 {
        let (done, shown) = history(seed, ram(seed % 2 == 0));
        let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            judge(&done, &shown, &mut seen);
        }));
        assert!(judged.is_ok(), "seed {seed}: {done:?}\n{shown:?}");
    }
    let Seen { lost, torn, behind_lost, erases_kept, erases_lost, mixed } = seen;
    for (times, what) in [
        (lost, "programs lost"),
        (torn, "programs torn"),
        (behind_lost, "pages kept behind a lost one"),
        (erases_kept, "erases kept"),
        (erases_lost, "erases lost"),
        (mixed, "erases done in part"),
    ] {
        assert!(times > 500, "{what}: only {times}");
    }
}

#[test]
#[cfg(unix)]
fn a_chip_in_a_file_loses_no_more_below_the_cache() {
    use thermocline_flash::Kind;
    use thermocline_media::{
        Replace,
        image::{Image, Options},
    };

    let folder = tempfile::tempdir().expect("a folder");
    let mut seen = Seen::default();
    for seed in 0..30 {
        let options = Options {
            kind: Kind::Nand,
            geometry: GEOMETRY,
            rules: *ram(seed % 2 == 0).rules(),
            profile: "test".into(),
            bad_blocks: vec![BlockId(4)],
            preallocate: false,
            replace: Replace::Unused,
            rights: None,
        };
        let image = Image::create(&folder.path().join("image"), &options).expect("created");
        let (done, shown) = history(seed, image);
        judge(&done, &shown, &mut seen);
    }
    assert!(seen.lost > 0 && seen.torn > 0 && seen.erases_lost > 0);
}

#[test]
fn one_seed_gives_one_history() {
    for seed in 0..50 {
        let (done, shown) = history(seed, ram(true));
        let (again, shown_again) = history(seed, ram(true));
        assert_eq!((format!("{done:?}"), shown), (format!("{again:?}"), shown_again));
    }
}

#[test]
fn what_is_done_while_a_sync_is_waited_for_is_not_covered_by_it() {
    let mut lost = 0;
    for seed in 0..40 {
        let mut chip = cached(true, seed, 1000);
        let page = |number| GEOMETRY.ppn(BlockId(0), number);
        chip.program(page(0), oob(0), &[0; 8]).expect("programmed");
        let sync = chip.begin_sync().expect("begun");
        chip.program(page(1), oob(1), &[1; 8]).expect("programmed");
        sync.wait().expect("waited for");
        chip.finish_sync(&sync).expect("finished");
        chip.cut_after(0, Cut::Partly(seed));
        assert_eq!(chip.program(page(2), oob(2), &[2; 8]), Err(FlashError::NoPower));
        chip.power_on();
        assert_eq!(chip.read_oob(page(0)), Ok(Some(oob(0))), "it was synced");
        lost += u32::from(chip.read_oob(page(1)) != Ok(Some(oob(1))));
    }
    assert!(lost > 5, "{lost}");
}

#[test]
fn a_mark_of_a_bad_block_lasts_only_if_the_chip_was_synced() {
    let mut lost = 0;
    for seed in 0..40 {
        let mut chip = cached(true, seed, 1000);
        assert_eq!(chip.mark_bad(BlockId(9)), Err(FlashError::OutOfRange));
        chip.mark_bad(BlockId(1)).expect("marked");
        chip.sync().expect("synced");
        chip.mark_bad(BlockId(2)).expect("marked");
        assert!(chip.is_bad(BlockId(2)));
        let to = GEOMETRY.ppn(BlockId(2), 0);
        assert_eq!(chip.program(to, oob(0), &[]), Err(FlashError::BadBlock(BlockId(2))));
        assert_eq!(chip.erase(BlockId(2)), Err(FlashError::BadBlock(BlockId(2))));
        chip.cut_after(0, Cut::Partly(seed));
        assert_eq!(chip.erase(BlockId(0)), Err(FlashError::NoPower));
        chip.power_on();
        assert!(chip.is_bad(BlockId(1)));
        lost += u32::from(!chip.is_bad(BlockId(2)));
    }
    assert!((5..36).contains(&lost), "{lost}");
}
