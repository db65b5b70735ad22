//! Placements as a layer sees them: streams are in range, sorting loses no survivors, and trims
//! reset pages.

use crate::common::{Draws, WithWords};
use thermocline_flash::{BlockId, Lpn};
use thermocline_policy::{
    Args, Context,
    placement::{self, Cleaning, PLACEMENTS, Place, Placement},
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

    fn visit<P: Placement>(self, placement: P) {
        let mut placement = WithWords::of(placement);
        let mut draws = Draws(1);
        for lpn in 0..400 {
            placement.filled(Lpn(lpn), 0);
        }
        for now in 1..5000 {
            let lpn = Lpn(draws.index(400) as u32);
            match draws.index(10) {
                0 => placement.trimmed(lpn),
                1 => {
                    placement.cleaning(&cleaning(now));
                    let mut survivors: Vec<_> =
                        (0..8).map(|i| Lpn((lpn.0 + 7 * i) % 400)).collect();
                    let mut before = survivors.clone();
                    for stream in placement.survivors(&mut survivors, now) {
                        assert!(stream < placement.streams());
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

/// Page 0 is written often and recently, page 1 once. Page 0 is trimmed or not.
struct Hot {
    trimmed: bool,
}

impl placement::Visitor for Hot {
    /// Stream of page 0 as a survivor, and the order of pages 1 and 0.
    type Output = (u8, [u32; 2]);

    fn visit<P: Placement>(self, placement: P) -> Self::Output {
        let mut placement = WithWords::of(placement);
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
        placement.survivors(&mut survivors, 30);
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

/// An event of page 7, with the expected answer of the placement.
#[derive(Clone, Copy, Debug)]
enum Event {
    Filled,
    /// Written at a time; the stream.
    Host(u64, u8),
    /// Written at a time, and its old copy is cleaned before the new one is written; the stream.
    HostCleaned(u64, u8),
    /// Cleaned at a time; the stream.
    Survivor(u64, u8),
    /// Cleaned at a time, but there is only room in another stream; both streams.
    Spilt(u64, u8, u8),
    ReadOnly(u64),
    Trimmed,
}

struct Script<'a>(&'a str, &'a [Event]);

impl placement::Visitor for Script<'_> {
    type Output = ();

    fn visit<P: Placement>(self, placement: P) {
        let mut placement = WithWords::of(placement);
        use Event::{Filled, Host, HostCleaned, ReadOnly, Spilt, Survivor, Trimmed};
        let page = Lpn(7);
        // The stream of its copy. That of read-only data is beyond the placement's own.
        let mut lies: Option<u8> = None;
        let at = |lies: Option<u8>| {
            lies.map(|stream| Place { bank: 0, block: BlockId(0), stream, page: 0, next: 1 })
        };
        for (i, &event) in self.1.iter().enumerate() {
            let told = match event {
                Filled => {
                    placement.filled(page, 0);
                    lies = Some(0);
                    None
                }
                Host(now, stream) | HostCleaned(now, stream) => {
                    let host = placement.host_over(page, at(lies), now);
                    if let HostCleaned(..) = event {
                        let from = lies.expect("it has a copy");
                        placement.cleaning(&Cleaning { stream: from, ..cleaning(now) });
                        placement.survivor(page, now);
                    }
                    placement.written(page, now);
                    lies = Some(host);
                    Some((host, stream))
                }
                Survivor(now, stream) | Spilt(now, stream, _) => {
                    let from = lies.expect("it has a copy");
                    placement.cleaning(&Cleaning { stream: from, ..cleaning(now) });
                    let survivor = placement.survivor(page, now);
                    lies = Some(survivor);
                    if let Spilt(_, _, to) = event {
                        placement.spilt(page, to, now);
                        lies = Some(to);
                    }
                    Some((survivor, stream))
                }
                ReadOnly(now) => {
                    placement.written(page, now);
                    lies = Some(placement.streams());
                    None
                }
                Trimmed => {
                    placement.trimmed(page);
                    lies = None;
                    None
                }
            };
            if let Some((told, expected)) = told {
                assert_eq!(told, expected, "{}: {event:?}, event {i}", self.0);
            }
        }
    }
}

#[test]
fn regions_change_as_the_state_machine_says() {
    use Event::{Filled, Host, HostCleaned, ReadOnly, Spilt, Survivor, Trimmed};
    let script = |args: &[(&str, &str)], events: &[Event]| {
        let args: Vec<_> = args.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let name = format!("dac{args:?}");
        placement::dispatch("dac", &Args(args), &CONTEXT, Script(&name, events))
            .expect("registered")
            .expect("arguments");
    };
    // Without a threshold: up with each update, down with each cleaning; new data start at the
    // bottom.
    let three = &[("regions", "3")];
    script(three, &[Host(1, 0), Host(2, 1), Host(3, 2), Host(4, 2), Survivor(5, 1)]);
    script(
        three,
        &[Filled, Survivor(1, 0), Host(2, 1), Survivor(3, 0), Survivor(4, 0), Host(5, 1)],
    );
    script(three, &[Filled, Host(1, 1), Host(2, 2), Trimmed, Host(3, 0), Host(4, 1)]);
    // The region is chosen before the cleaning that moves the old copy down.
    script(three, &[Filled, Host(1, 1), HostCleaned(2, 2), Survivor(3, 1), HostCleaned(4, 2)]);
    // A page written as read-only counts as new when it is updated later.
    script(three, &[Filled, Host(1, 1), ReadOnly(2), Host(3, 0), Host(4, 1)]);
    // A survivor that is placed elsewhere belongs there.
    script(
        three,
        &[Filled, Host(1, 1), Spilt(2, 0, 2), Survivor(3, 1), Spilt(4, 0, 1), Host(5, 2)],
    );
    script(
        &[("regions", "1")],
        &[Filled, Host(1, 0), Survivor(2, 0), Host(3, 0), Trimmed, Host(4, 0)],
    );

    // With a threshold of 10 ticks, an update within 9 ticks rises, and a cleaning after more than
    // 10 sinks.
    let ten = &[("regions", "3"), ("threshold", "10ns")];
    script(ten, &[Filled, Host(9, 1), Host(19, 1), Host(28, 2), Host(29, 2)]);
    script(ten, &[Filled, Host(5, 1), Host(10, 2), Survivor(20, 2), Survivor(21, 1)]);
    // An update restarts the time in the region, whether it rises or not.
    script(ten, &[Filled, Host(50, 0), Host(59, 1), Host(69, 1), Survivor(79, 1), Survivor(80, 0)]);
    // So does sinking; staying does not.
    script(
        ten,
        &[Filled, Host(1, 1), Host(2, 2), Survivor(13, 1), Survivor(23, 1), Survivor(24, 0)],
    );
    script(ten, &[Filled, Host(1, 1), Host(2, 2), Survivor(13, 1), Host(22, 2)]);
    script(ten, &[Filled, Survivor(100, 0), Host(101, 0)]);
    script(ten, &[Filled, Host(1, 1), Survivor(5, 1), Survivor(12, 0)]);
    script(ten, &[Filled, Host(1, 1), Trimmed, Host(2, 0), Host(3, 1)]);
    // Placement in another stream is a move; placement in the old one is not.
    script(ten, &[Filled, Host(1, 1), Spilt(8, 1, 0), Survivor(18, 0), Host(17, 1)]);
    script(ten, &[Filled, Host(1, 1), Host(2, 2), Spilt(13, 1, 2), Host(14, 2), Survivor(24, 2)]);
    script(ten, &[Filled, Host(1, 1), Host(2, 2), Spilt(13, 1, 2), Survivor(14, 1)]);
    // With a threshold of 0 no page is young, and a page cleaned a tick later is old.
    let none = &[("regions", "3"), ("threshold", "0")];
    script(none, &[Host(1, 0), Host(1, 0), Host(2, 0), Survivor(3, 0)]);
    // With a threshold beyond any age every page is young, and none is old.
    let ever = &[("regions", "3"), ("threshold", "100000d")];
    script(ever, &[Host(1, 0), Host(1 << 50, 1), Host(1 << 51, 2), Survivor(1 << 55, 2)]);
}

/// Writes in blocks of four pages, as in the streams of a layer.
struct Intervals;

impl placement::Visitor for Intervals {
    type Output = ();

    fn visit<P: Placement>(self, placement: P) {
        let mut placement = WithWords::of(placement);
        const UNCLASSIFIED: u8 = 0;
        const HOT: u8 = 1;
        const WARM: u8 = 2;
        const COLD: u8 = 3;
        assert_eq!(placement.streams(), 4);
        let place = |bank, block, stream, page, next| {
            Some(Place { bank, block: BlockId(block), stream, page, next })
        };
        let page = Lpn(0);
        assert_eq!(placement.host_over(page, None, 0), UNCLASSIFIED);
        // Figure 2: index 0 of the block before; the next page is index 1 of the open block: five.
        for stream in [UNCLASSIFIED, HOT, WARM] {
            let first = u32::from(stream) * 10;
            for block in first..first + 3 {
                placement.opened(0, BlockId(block), stream, 0);
            }
            let mut host = |block, page_no, next| {
                placement.host_over(page, place(0, first + block, stream, page_no, next), 0)
            };
            assert_eq!(host(1, 0, 1), WARM, "five pages");
            assert_eq!(host(1, 1, 1), WARM, "four pages: equality is long");
            assert_eq!(host(1, 2, 1), HOT, "three pages");
            assert_eq!(host(1, 3, 0), HOT, "the page before the next");
            assert_eq!(host(1, 1, 0), HOT, "three pages");
            assert_eq!(host(1, 0, 0), WARM, "four pages");
            assert_eq!(host(2, 0, 3), HOT, "three pages in one block");
            assert_eq!(host(2, 0, 4), WARM, "a whole block");
            assert_eq!(host(2, 1, 4), HOT, "three pages of a full block");
            assert_eq!(host(0, 3, 0), WARM, "two blocks ago");
        }
        // Cold data never become hot, nor do data written as read-only in their own stream.
        for stream in [COLD, 4] {
            placement.opened(0, BlockId(60), stream, 0);
            assert_eq!(placement.host_over(page, place(0, 60, stream, 0, 1), 0), WARM);
        }
        for stream in 0..4 {
            placement.cleaning(&Cleaning { stream, ..cleaning(0) });
            assert_eq!(placement.survivor(page, 0), COLD, "whatever it was");
        }
        // Every bank has its own streams.
        placement.opened(1, BlockId(90), HOT, 0);
        assert_eq!(placement.host_over(page, place(1, 90, HOT, 0, 1), 0), HOT);
        assert_eq!(placement.host_over(page, place(0, 12, HOT, 0, 1), 0), HOT);
        assert_eq!(placement.host_over(page, place(1, 12, HOT, 0, 1), 0), WARM);
        // A block that was cleaned and opened for another stream belongs to that stream.
        placement.opened(0, BlockId(12), WARM, 0);
        assert_eq!(placement.host_over(page, place(0, 12, WARM, 0, 1), 0), HOT);
    }
}

#[test]
fn update_intervals_are_distances_in_the_stream_of_the_old_copy() {
    let context = Context { pages_per_block: 4, banks: 2, ..CONTEXT };
    placement::dispatch("update-interval", &Args::default(), &context, Intervals)
        .expect("registered")
        .expect("no arguments");
}

/// Streams of a first write, an update and a survivor.
struct Three;

impl placement::Visitor for Three {
    type Output = [u8; 3];

    fn visit<P: Placement>(self, placement: P) -> [u8; 3] {
        let mut placement = WithWords::of(placement);
        let old = Place { bank: 0, block: BlockId(3), stream: 0, page: 5, next: 9 };
        placement.opened(0, BlockId(3), 0, 0);
        [
            placement.host_over(Lpn(1), None, 1),
            placement.host_over(Lpn(2), Some(old), 2),
            placement.survivor(Lpn(3), 3),
        ]
    }
}

#[test]
fn clustering_schemes_differ_in_what_shares_a_stream() {
    assert_eq!(with("one-stream", Three), [0, 0, 0]);
    assert_eq!(with("hot-cold", Three), [0, 0, 1]);
    assert_eq!(with("double-hot-cold", Three), [0, 1, 0]);
    assert_eq!(with("update-interval", Three), [0, 1, 3]);
}

/// The streams that a placement answers to the same host writes, survivors, trims and fills.
struct Answers;

impl placement::Visitor for Answers {
    type Output = Vec<u8>;

    fn visit<P: Placement>(self, placement: P) -> Vec<u8> {
        let mut placement = WithWords::of(placement);
        let mut draws = Draws(7);
        let mut answers = Vec::new();
        let mut has_data = [false; 400];
        for lpn in 0..200 {
            placement.filled(Lpn(lpn), 0);
            has_data[lpn as usize] = true;
        }
        let place = Place { bank: 0, block: BlockId(1), stream: 0, page: 0, next: 1 };
        for now in 1..5000 {
            let lpn = Lpn(draws.index(400) as u32);
            match draws.index(10) {
                0 => {
                    placement.trimmed(lpn);
                    has_data[lpn.index()] = false;
                }
                1..4 if has_data[lpn.index()] => answers.push(placement.survivor(lpn, now)),
                _ => {
                    let old = has_data[lpn.index()].then_some(place);
                    answers.push(placement.host_over(lpn, old, now));
                    placement.written(lpn, now);
                    has_data[lpn.index()] = true;
                }
            }
        }
        answers
    }
}

/// What a stream by this expression answers.
fn by_expression(expression: &str, streams: &str) -> Vec<u8> {
    let args = Args(vec![("of".into(), expression.into()), ("streams".into(), streams.into())]);
    placement::dispatch(placement::STREAM, &args, &CONTEXT, Answers)
        .expect("registered")
        .unwrap_or_else(|e| panic!("{expression}: {e}"))
}

#[test]
fn a_stream_by_expression_equals_placements_that_it_describes() {
    for (name, expression, streams) in [
        ("one-stream", "0", "1"),
        ("sep-gc", "survivor", "2"),
        ("double-hot-cold", "if(survivor, 0, writes > 0)", "2"),
        ("dac-simple", "if(survivor, max(stream - 1, 0), if(writes, stream + 1, 0))", "6"),
    ] {
        assert_eq!(by_expression(expression, streams), with(name, Answers), "{name}");
    }
}

#[test]
fn a_stream_by_expression_is_rounded_down_and_clamped() {
    let all = |expression: &str, stream: u8| {
        let answers = by_expression(expression, "4");
        assert!(answers.iter().all(|it| *it == stream), "{expression}: {answers:?}");
    };
    all("2.99", 2);
    all("-1", 0);
    all("1e300", 3);
    all("sqrt(-1)", 0);
    all("1 / 0", 3);
    all("(survivor < 2) * tau / 25", 2);
    // A page that was never written has an infinite interval, and the fill is a write.
    all("if(writes, interval < 5000, interval > 1e300)", 1);
}

#[test]
fn a_stream_with_a_wrong_expression_is_refused_with_the_column() {
    for (expression, streams, says) in [
        ("survivor + agee", "4", "one of interval, writes, survivor, stream, tau, "),
        ("min(writes)", "4", "at column 11 of the expression"),
        ("0", "33", "streams"),
    ] {
        let args = Args(vec![("of".into(), expression.into()), ("streams".into(), streams.into())]);
        let error = placement::dispatch(placement::STREAM, &args, &CONTEXT, Answers)
            .expect("registered")
            .expect_err("wrong");
        assert!(error.to_string().contains(says), "{error}");
    }
}
