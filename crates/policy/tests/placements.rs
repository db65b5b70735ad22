//! Placements, as far as a layer can see them: streams within range, survivors never lost while
//! sorted, and trimmed pages forgotten.

mod common;

use std::sync::Arc;

use common::Draws;
use thermocline_flash::{BlockId, Lpn};
use thermocline_policy::{
    Args, Context, Future,
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

/// Streams the oracle gives to the host's writes of page 0, and then to what survives.
struct Streams {
    writes: usize,
}

impl placement::Visitor for Streams {
    type Output = (Vec<u8>, [u8; 3]);

    fn visit<P: Placement + 'static>(self, mut placement: P) -> Self::Output {
        (0..400).for_each(|lpn| placement.filled(Lpn(lpn), 0));
        let write = |_| {
            let stream = placement.host(Lpn(0), 0);
            placement.written(Lpn(0), 0);
            stream
        };
        let streams = (0..self.writes).map(write).collect();
        (streams, [0, 1, 2].map(|lpn| placement.survivor(Lpn(lpn), 0)))
    }
}

#[test]
fn the_oracle_sorts_pages_by_the_writes_they_have_left() {
    let never = Future::NEVER;
    let mut filled = vec![never; 400];
    // In blocks of 16 pages: page 1 dies by write 40, page 2 by write 4.
    (filled[1], filled[2]) = (41, 5);
    let future = Future { filled, written: vec![15, 16, 47, 48, 5000, never] };
    let context = Context { future: Some(Arc::new(future)), ..CONTEXT };
    let streams = |args: &[(&str, &str)], context: &Context, writes| {
        let args = Args(args.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
        placement::dispatch("oracle", &args, context, Streams { writes })
            .expect("registered")
            .expect("arguments it knows")
    };
    let fk = [("classes", "4"), ("spacing", "linear")];
    assert_eq!(streams(&fk, &context, 6), (vec![0, 1, 2, 3, 3, 3], [3, 2, 0]));
    // Classes begin at 16, 160 and 1600 writes.
    let growing = [("classes", "4"), ("horizon", "4")];
    assert_eq!(streams(&growing, &context, 6), (vec![0, 1, 1, 1, 3, 3], [3, 1, 0]));
    // Beyond what it was told, and told nothing, it takes everything for eternal.
    assert_eq!(streams(&fk, &context, 8).0[6..], [3, 3]);
    assert_eq!(streams(&fk, &CONTEXT, 2), (vec![3, 3], [3, 3, 3]));
    for wrong in [("classes", "1"), ("classes", "65"), ("horizon", "0"), ("spacing", "even")] {
        let args = Args(vec![(wrong.0.into(), wrong.1.into())]);
        let refused = placement::dispatch("oracle", &args, &CONTEXT, Streams { writes: 0 });
        assert!(refused.expect("registered").is_err(), "{wrong:?}");
    }
}

#[test]
fn only_the_oracle_sees_the_future() {
    let seers: Vec<_> = PLACEMENTS.iter().filter(|i| placement::sees_future(i.name)).collect();
    assert_eq!(seers.iter().map(|info| info.name).collect::<Vec<_>>(), ["oracle"]);
    assert!(!placement::sees_future("no such placement"));
}
