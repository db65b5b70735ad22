//! Placements, as far as a layer can see them: streams within range, survivors never lost while
//! sorted, and trimmed pages forgotten.

mod common;

use common::Draws;
use thermocline_flash::{BlockId, Lpn};
use thermocline_policy::{
    Args, Context,
    placement::{self, Cleaning, PLACEMENTS, Placement},
};

const CONTEXT: Context = Context {
    logical_pages: 400,
    blocks: 32,
    pages_per_block: 16,
    time_scale: 50.0,
    banks: 1,
    seed: 1,
    future: None,
};

fn with<V: placement::Visitor>(name: &str, visitor: V) -> V::Output {
    placement::dispatch(name, &Args::default(), &CONTEXT, visitor)
        .expect("registered")
        .expect("no arguments")
}

fn cleaning(now: u64) -> Cleaning {
    Cleaning {
        bank: 0,
        block: BlockId(0),
        valid: 8,
        pages: 16,
        stream: 0,
        mapped: 400,
        capacity: 480,
        now,
    }
}

struct StreamsAndOrder;

impl placement::Visitor for StreamsAndOrder {
    type Output = ();

    fn visit<P: Placement + 'static>(self, mut placement: P) {
        let mut draws = Draws(1);
        for lpn in 0..400 {
            placement.filled(Lpn(lpn), 0);
        }
        for now in 1..5000 {
            let lpn = Lpn(draws.below(400) as u32);
            match draws.below(10) {
                0 => placement.trimmed(lpn),
                1 => {
                    placement.cleaning(&cleaning(now));
                    let mut survivors: Vec<_> =
                        (0..8).map(|i| Lpn((lpn.0 + 7 * i) % 400)).collect();
                    let mut before = survivors.clone();
                    if P::SORTS {
                        placement.order(&mut survivors, now);
                    }
                    for &lpn in &survivors {
                        assert!(placement.survivor(lpn, now) < placement.streams());
                    }
                    before.sort_unstable();
                    survivors.sort_unstable();
                    assert_eq!(before, survivors, "sorting loses no page");
                }
                _ => {
                    assert!(placement.host(lpn, now) < placement.streams());
                    placement.written(lpn, now);
                }
            }
        }
    }
}

#[test]
fn streams_are_in_range_and_sorting_loses_nothing() {
    for info in PLACEMENTS {
        with(info.name, StreamsAndOrder);
    }
}

/// Page 0 is written often and lately, page 1 once; page 0 is trimmed or not.
struct Hot {
    trimmed: bool,
}

impl placement::Visitor for Hot {
    /// Stream of page 0 as a survivor, and the order of pages 1 and 0.
    type Output = (u8, [u32; 2]);

    fn visit<P: Placement + 'static>(self, mut placement: P) -> Self::Output {
        for lpn in 0..400 {
            placement.filled(Lpn(lpn), 0);
        }
        placement.written(Lpn(1), 1);
        for now in 2..30 {
            placement.written(Lpn(0), now);
        }
        if self.trimmed {
            placement.trimmed(Lpn(0));
        }
        placement.cleaning(&cleaning(30));
        let mut survivors = [Lpn(1), Lpn(0)];
        placement.order(&mut survivors, 30);
        (placement.survivor(Lpn(0), 30), survivors.map(|lpn| lpn.0))
    }
}

#[test]
fn a_trimmed_page_is_no_longer_hot() {
    let (kept, gone) = (Hot { trimmed: false }, Hot { trimmed: true });
    assert_eq!((with("times-sort", kept).1, with("times-sort", gone).1), ([0, 1], [1, 0]));
    for name in ["block-split", "fine-grained"] {
        let (kept, gone) = (Hot { trimmed: false }, Hot { trimmed: true });
        assert_eq!((with(name, kept).0, with(name, gone).0), (0, 1), "{name}: hot, then cold");
    }
    assert_eq!(with("age-sort", Hot { trimmed: false }).1, [0, 1], "youngest first");
}
