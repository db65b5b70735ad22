//! The oracle: streams by the remaining lifetime of each page.

use std::sync::Arc;

use crate::common::WithWords;
use thermocline_flash::Lpn;
use thermocline_policy::{
    Args, Context, Future,
    placement::{self, PLACEMENTS, Placement},
};

const CONTEXT: Context = Context {
    logical_pages: 400,
    blocks: 32,
    pages_per_block: 16,
    time_scale: 50.0,
    banks: 1,
    bank_assignment: thermocline_policy::bank::BankAssignment::Static,
    seed: 1,
    system_blocks: 0,
    reserve: 2,
    future: None,
};

/// The oracle's streams for host writes of page 0, and then for survivors.
struct Streams {
    writes: usize,
}

impl placement::Visitor for Streams {
    type Output = (Vec<u8>, [u8; 3]);

    fn visit<P: Placement>(self, placement: P) -> Self::Output {
        let mut placement = WithWords::of(placement);
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
    // Beyond its known future, and without any, it assumes that pages never die.
    assert_eq!(streams(&fk, &context, 8).0[6..], [3, 3]);
    assert_eq!(streams(&fk, &CONTEXT, 2), (vec![3, 3], [3, 3, 3]));
    for wrong in [("classes", "1"), ("classes", "65"), ("horizon", "0"), ("spacing", "even")] {
        let args = Args(vec![(wrong.0.into(), wrong.1.into())]);
        let refused = placement::dispatch("oracle", &args, &CONTEXT, Streams { writes: 0 });
        assert!(refused.expect("registered").is_err(), "{wrong:?}");
    }
}

#[test]
fn only_the_oracle_and_the_calendar_see_the_future() {
    let seers: Vec<_> = PLACEMENTS.iter().filter(|i| placement::sees_future(i.name)).collect();
    assert_eq!(seers.iter().map(|info| info.name).collect::<Vec<_>>(), ["oracle", "calendar"]);
    assert!(!placement::sees_future("no such placement"));
}
