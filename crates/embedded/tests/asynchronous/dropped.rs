//! Futures that are dropped in the midst of their work.
//!
//! The chip does to an operation that is dropped what a loss of power does to it, and goes on.

use thermocline_embedded::{
    AREA, Config, Error, Geometry, Nand as Blocking, NandError, Static,
    asynchronous::{Ftl, Nand},
    policy::{Cat, Dac},
};

use crate::{
    chip::{Chip, Draws},
    chip_of, pause, poll_for,
};

const LOGICAL_PAGES: u32 = 60;
const PAGE: usize = 256;

enum Operation<'o> {
    Program(u32, &'o [u8], &'o [u8; AREA]),
    Erase(u32),
    Mark(u32),
}

/// An operation that the chip was told to do.
struct Told<'o> {
    chip: &'o mut Chip,
    operation: Operation<'o>,
    is_over: bool,
}

impl Told<'_> {
    fn end(&mut self) -> Result<(), NandError> {
        self.is_over = true;
        match self.operation {
            Operation::Program(page, data, area) => self.chip.program(page, data, area),
            Operation::Erase(block) => self.chip.erase(block),
            Operation::Mark(block) => self.chip.mark_bad(block),
        }
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.chip.power_on(0);
            let _ = self.end();
            self.chip.power_on(u32::MAX);
            // Nobody heard that a block failed.
            self.chip.begun();
        }
    }
}

struct Slow(Chip);

impl Slow {
    async fn change(&mut self, operation: Operation<'_>) -> Result<(), NandError> {
        let mut told = Told { chip: &mut self.0, operation, is_over: false };
        pause().await;
        let done = told.end();
        pause().await;
        done
    }
}

impl Nand for Slow {
    fn geometry(&self) -> Geometry {
        self.0.shape
    }

    async fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        pause().await;
        self.0.read(page, offset, into)
    }

    async fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        pause().await;
        self.0.read_area(page, into)
    }

    async fn program(
        &mut self,
        page: u32,
        data: &[u8],
        area: &[u8; AREA],
    ) -> Result<(), NandError> {
        self.change(Operation::Program(page, data, area)).await
    }

    async fn erase(&mut self, block: u32) -> Result<(), NandError> {
        self.change(Operation::Erase(block)).await
    }

    async fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        pause().await;
        self.0.is_bad(block)
    }

    async fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        self.change(Operation::Mark(block)).await
    }
}

/// What a logical page may hold: a byte that its page is full of, 0 for nothing.
#[derive(Clone, Default)]
struct Expected {
    now: u8,
    /// What a request that was dropped may have left, or a trim before it hid.
    or: Vec<u8>,
}

type Store<'a> = Ftl<'a, Slow, Cat, Dac<3>>;

/// Reads all pages.
fn verify(store: &mut Store<'_>, expected: &mut [Expected], context: &str) {
    for (page, lpn) in expected.iter_mut().zip(0..) {
        let mut read = [1; PAGE];
        let (done, _) = poll_for(store.read(lpn, &mut read), u32::MAX);
        assert_eq!(done.expect("it ends").map(drop), Ok(()), "{context}: page {lpn}");
        let found = read[0];
        assert_eq!(read, [found; PAGE], "{context}: page {lpn}");
        assert!(
            found == page.now || page.or.contains(&found),
            "{context}: page {lpn} holds {found}, not {} or {:?}",
            page.now,
            page.or
        );
        let before = std::mem::replace(&mut page.now, found);
        page.or.push(before);
    }
}

fn history(seed: u64) -> (u32, u32) {
    let mut chip = chip_of(seed);
    (chip.faults.failing, chip.faults.timeouts, chip.faults.weak, chip.faults.unstable) =
        (0, 0, 0, false);
    let mut memory = Box::new(Static::<264, 8, 40, PAGE>::new());
    let config = Config { logical_pages: LOGICAL_PAGES, spare_blocks: 2 };
    let made = Ftl::format(Slow(chip), memory.memory(), Cat::default(), Dac::<3>, config);
    let (made, _) = poll_for(made, u32::MAX);
    let mut store: Store<'_> = made.expect("it ends").expect("it is made");
    let mut expected = vec![Expected::default(); LOGICAL_PAGES as usize];
    let mut draws = Draws(!seed);
    let (mut drops, mut dropped_mounts, mut is_fresh) = (0, 0, false);
    for request in 0..150 {
        let context = format!("history {seed}, request {request}");
        store.nand_mut().0.called();
        let most = if draws.once_in(4) { 1 + draws.below(30) } else { u32::MAX };
        let among = if draws.once_in(3) { LOGICAL_PAGES } else { 8 };
        let lpn = draws.below(among);
        let page = &mut expected[lpn as usize];
        let what = draws.below(16);
        let done = match what {
            0..3 => {
                page.or.push(page.now);
                page.now = 0;
                poll_for(store.trim(lpn), most).0.map(|done| done.map(drop))
            }
            3 => poll_for(store.flush(), most).0,
            4 => poll_for(store.checkpoint(), most).0,
            5 => poll_for(store.clean(20), most).0.map(|done| done.map(drop)),
            6 => poll_for(store.remount(), most).0,
            7 => poll_for(store.scrub(20), most).0.map(|done| done.map(drop)),
            _ => {
                let version = 1 + (draws.next() % 255) as u8;
                page.or.push(version);
                let done = poll_for(store.write(lpn, &[version; PAGE]), most).0;
                if done == Some(Ok(())) {
                    *page = Expected { now: version, or: Vec::new() };
                }
                done
            }
        };
        match done {
            Some(Ok(())) => {
                // What a mount found lasts from the first change on.
                if !matches!(what, 5..8) && std::mem::take(&mut is_fresh) {
                    let others = expected.iter_mut().zip(0..).filter(|(_, other)| *other != lpn);
                    others.for_each(|(page, _)| page.or.clear());
                }
                match what {
                    // A trim lasts from here on.
                    3 | 4 => expected.iter_mut().for_each(|page| page.or.clear()),
                    6 => {
                        verify(&mut store, &mut expected, &context);
                        is_fresh = true;
                    }
                    _ => {}
                }
            }
            Some(Err(e)) => panic!("{context}: {e:?}"),
            None => {
                drops += 1;
                // The next request mounts; and is dropped as well, now and then.
                while draws.once_in(3) {
                    let mut read = [0; PAGE];
                    let most = 1 + draws.below(300);
                    dropped_mounts +=
                        u32::from(poll_for(store.read(lpn, &mut read), most).0.is_none());
                }
                assert_eq!(store.logical_pages(), LOGICAL_PAGES, "{context}");
                verify(&mut store, &mut expected, &context);
                is_fresh = true;
            }
        }
        assert_eq!(store.nand().0.broken, None, "{context}");
    }
    verify(&mut store, &mut expected, "at the end");
    // What RAM held last is not needed either.
    let slow = store.into_nand();
    let (mounted, _) =
        poll_for(Ftl::mount(slow, memory.memory(), Cat::default(), Dac::<3>), u32::MAX);
    verify(&mut mounted.expect("it ends").expect("it mounts"), &mut expected, "mounted");
    (drops, dropped_mounts)
}

#[test]
fn what_is_dropped_is_as_after_a_loss_of_power() {
    let (mut drops, mut dropped_mounts) = (0, 0);
    // One left a page with a blank area and data that cannot be read, where the snapshots would go on.
    for seed in (0..150).chain([7724]) {
        let (some, mounts) = history(seed);
        (drops, dropped_mounts) = (drops + some, dropped_mounts + mounts);
    }
    println!("{drops} futures dropped, and {dropped_mounts} mounts after them");
    assert!(drops > 1000 && dropped_mounts > 200);
}

#[test]
fn a_read_that_is_dropped_costs_nothing() {
    let mut memory = Box::new(Static::<264, 8, 40, PAGE>::new());
    let chip = Chip::new(Geometry { blocks: 264, pages: 16, page_size: PAGE as u32 }, 1);
    let config = Config { logical_pages: LOGICAL_PAGES, spare_blocks: 2 };
    let made = Ftl::format(Slow(chip), memory.memory(), Cat::default(), Dac::<3>, config);
    let mut store = poll_for(made, u32::MAX).0.expect("it ends").expect("it is made");
    assert_eq!(poll_for(store.write(3, &[9; PAGE]), u32::MAX).0, Some(Ok(())));
    let mut read = [0; PAGE];
    let (done, pending) = poll_for(store.read(3, &mut read), u32::MAX);
    assert_eq!(done, Some(Ok(true)));
    assert!(pending >= 2);
    for most in 1..pending {
        assert_eq!(poll_for(store.read(3, &mut read), most), (None, most));
        let (done, again) = poll_for(store.read(3, &mut read), u32::MAX);
        assert_eq!((done, again), (Some(Ok(true)), pending), "dropped after {most}");
    }
    // A write that is dropped costs a mount.
    assert_eq!(poll_for(store.write(3, &[8; PAGE]), 1), (None, 1));
    let (done, again) = poll_for(store.read(3, &mut read), u32::MAX);
    assert_eq!(done, Some(Ok(true)));
    assert!(again > 10 * pending, "{again} operations");
    assert!(read == [9; PAGE] || read == [8; PAGE]);
}

#[test]
fn a_format_that_is_dropped_leaves_no_store_and_the_next_one_makes_it() {
    let mut memory = Box::new(Static::<264, 8, 40, PAGE>::new());
    let chip = Chip::new(Geometry { blocks: 24, pages: 16, page_size: PAGE as u32 }, 1);
    let config = Config { logical_pages: LOGICAL_PAGES, spare_blocks: 2 };
    let mut store =
        Ftl::unmounted(Slow(chip), memory.memory(), Cat::default(), Dac::<3>).expect("it fits");
    for most in 1..60 {
        assert_eq!(poll_for(store.reformat(config), most).0, None);
        let written = poll_for(store.write(0, &[1; PAGE]), u32::MAX).0;
        assert_eq!(written, Some(Err(Error::OutOfRange(0))), "dropped after {most}");
        let mounted = poll_for(store.remount(), u32::MAX).0;
        assert_eq!(mounted, Some(Err(Error::NotFormatted)), "dropped after {most}");
    }
    assert_eq!(poll_for(store.reformat(config), u32::MAX).0, Some(Ok(())));
    assert_eq!(poll_for(store.write(0, &[1; PAGE]), u32::MAX).0, Some(Ok(())));
}
