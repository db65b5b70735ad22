//! Update intervals as the layer reports them: the stream of each write equals the one computed by
//! a chip that counts the pages programmed into each stream.

use crate::common;

use std::{cell::RefCell, rc::Rc};

use common::{CARD, Draws, Heard, Listener, Named, Setup};
use thermocline_flash::{Geometry, Lpn, Oob, Ppn};

const UNCLASSIFIED: u8 = 0;
const HOT: u8 = 1;
const WARM: u8 = 2;
const COLD: u8 = 3;
const READ_ONLY: u8 = 4;

/// Pages programmed into each stream so far, and of each logical page's current copy the stream and
/// the number of pages before it.
struct Streams {
    programmed: [u64; 5],
    copies: Vec<Option<(u8, u64)>>,
}

impl Streams {
    fn put(&mut self, oob: Oob) {
        let programmed = &mut self.programmed[usize::from(oob.stream)];
        self.copies[oob.lpn.index()] = Some((oob.stream, *programmed));
        *programmed += 1;
    }

    /// The paper's classification of the write of a page.
    fn class(&self, lpn: u32, pages: u64) -> u8 {
        match self.copies[lpn as usize] {
            None => UNCLASSIFIED,
            Some((COLD | READ_ONLY, _)) => WARM,
            Some((stream, at)) if self.programmed[usize::from(stream)] - at < pages => HOT,
            Some(_) => WARM,
        }
    }
}

impl Listener for Rc<RefCell<Streams>> {
    fn put(&mut self, _: &Geometry, _: Option<Ppn>, _: Ppn, oob: Oob) {
        self.borrow_mut().put(oob);
    }
}

#[test]
fn writes_go_where_the_pages_written_since_send_them() {
    let geometry = Geometry { blocks_per_bank: 48, pages_per_block: 17, ..CARD };
    for (full, percent, pages) in [(80, "100", 16), (100, "100", 16), (100, "40", 6)] {
        let placement = Named::with("update-interval", &[("threshold", percent)]);
        let victim = Named::plain("greedy");
        let mut setup = Setup::new(geometry, 0, victim, placement);
        setup.config.read_only_separation = true;
        setup.config.logical_pages = setup.most_logical_pages() * full / 100;
        let logical = setup.config.logical_pages;
        let streams = Rc::new(RefCell::new(Streams {
            programmed: [0; 5],
            copies: vec![None; logical as usize],
        }));
        let mut layer = setup.build_on(Heard(setup.chip(), Rc::clone(&streams))).expect("it fits");
        for lpn in 0..logical {
            layer.fill(Lpn(lpn), lpn % 9 == 0, 0).expect("filled");
        }
        layer.filled(0).expect("filled");
        let mut draws = Draws(5);
        let mut seen = [[0_u32; 5]; 5];
        for now in 1..60_000 {
            // Some pages often enough to be hot, some now and then, the rest hardly ever.
            let lpn = draws.below(logical) >> draws.below(10);
            match draws.below(100) {
                0 => {
                    layer.trim(Lpn(lpn), now).expect("trimmed");
                    streams.borrow_mut().copies[lpn as usize] = None;
                }
                1 => layer.write_read_only(Lpn(lpn), &[], now).expect("written"),
                _ => {
                    let old = streams.borrow().copies[lpn as usize];
                    let expected = streams.borrow().class(lpn, pages);
                    layer.write(Lpn(lpn), &[], now).expect("written");
                    let (stream, _) = streams.borrow().copies[lpn as usize].expect("written");
                    assert_eq!(stream, expected, "page {lpn} at {now}, from {old:?}");
                    if let Some((from, _)) = old {
                        seen[usize::from(from)][usize::from(stream)] += 1;
                    }
                }
            }
        }
        layer.check().expect("invariants hold");
        // The paper's transitions by updates: to hot from anywhere but cold, to warm from anywhere.
        for from in [UNCLASSIFIED, HOT, WARM, COLD] {
            for to in 0..5 {
                let possible = to == WARM || to == HOT && from != COLD;
                let often = seen[usize::from(from)][usize::from(to)];
                assert_eq!(often > 0, possible, "{often} updates from {from} to {to}");
            }
        }
        assert!(layer.counters().copies > 1000);
    }
}

/// The exact interval counts host writes to all streams, and survives garbage collection.
#[test]
fn exact_intervals_are_the_pages_that_the_host_wrote_since() {
    let geometry = Geometry { blocks_per_bank: 48, pages_per_block: 17, ..CARD };
    let placement = Named::with("update-interval-exact", &[("threshold", "300")]);
    let mut setup = Setup::new(geometry, 0, Named::plain("greedy"), placement);
    setup.config.logical_pages = setup.most_logical_pages();
    let logical = setup.config.logical_pages;
    let streams =
        Rc::new(RefCell::new(Streams { programmed: [0; 5], copies: vec![None; logical as usize] }));
    let mut layer = setup.build_on(Heard(setup.chip(), Rc::clone(&streams))).expect("it fits");
    let mut last: Vec<u64> = (0..u64::from(logical)).collect();
    for lpn in 0..logical {
        layer.fill(Lpn(lpn), false, 0).expect("filled");
    }
    layer.filled(0).expect("filled");
    let mut draws = Draws(5);
    let (mut hot_again, mut writes) = (0, u64::from(logical));
    for now in 1..30_000 {
        let lpn = draws.below(logical) >> draws.below(10);
        let (from, _) = streams.borrow().copies[lpn as usize].expect("filled");
        layer.write(Lpn(lpn), &[], now).expect("written");
        let (stream, _) = streams.borrow().copies[lpn as usize].expect("written");
        let interval = writes - std::mem::replace(&mut last[lpn as usize], writes);
        writes += 1;
        assert_eq!(stream, if interval < 48 { HOT } else { WARM }, "page {lpn} after {interval}");
        hot_again += u32::from(from == COLD && stream == HOT);
    }
    layer.check().expect("invariants hold");
    assert!(hot_again > 0, "a page that was moved may be hot");
}

#[test]
fn without_a_fill_the_first_write_of_a_page_is_unclassified_in_every_bank() {
    let geometry = Geometry { banks: 8, blocks_per_bank: 12, pages_per_block: 17, ..CARD };
    let geometry = Geometry { system_blocks: 0, ..geometry };
    let (victim, placement) = (Named::plain("greedy"), Named::plain("update-interval"));
    let mut setup = Setup::new(geometry, 0, victim, placement);
    setup.config.logical_pages = setup.most_logical_pages();
    let logical = setup.config.logical_pages;
    let streams =
        Rc::new(RefCell::new(Streams { programmed: [0; 5], copies: vec![None; logical as usize] }));
    let mut layer = setup.build_on(Heard(setup.chip(), Rc::clone(&streams))).expect("it fits");
    let stream = |lpn: u32| streams.borrow().copies[lpn as usize].map(|(stream, _)| stream);
    for lpn in 0..logical {
        layer.write(Lpn(lpn), &[], u64::from(lpn)).expect("written");
        assert_eq!(stream(lpn), Some(UNCLASSIFIED), "page {lpn}");
    }
    assert_eq!(layer.counters().erases, 0, "there was room for all");
    let last = (logical - 8..logical).chain(0..8);
    for (lpn, class) in last.zip([[HOT; 8], [WARM; 8]].into_iter().flatten()) {
        // The last page of each bank was written to its stream just before, the first long ago.
        layer.write(Lpn(lpn), &[], u64::from(logical + lpn)).expect("written");
        assert_eq!(stream(lpn), Some(class), "page {lpn}");
        layer.trim(Lpn(lpn), u64::from(logical + lpn)).expect("trimmed");
        layer.write(Lpn(lpn), &[], u64::from(logical + lpn)).expect("written");
        assert_eq!(stream(lpn), Some(UNCLASSIFIED), "page {lpn} after its trim");
    }
    layer.check().expect("invariants hold");
}
