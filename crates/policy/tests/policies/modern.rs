//! Placements of published stream schemes, compared with examples worked out by hand.

use crate::common::WithWords;
use thermocline_flash::{BlockId, Lpn};
use thermocline_policy::{
    Args, Context, ParamError,
    placement::{
        self, AutoStreamMq, AutoStreamSfr, Cleaning, DacSimple, Eti, Fadac, MultiStream, Placement,
        Registered, SepBit, SepGc, Streams as _, Warcip,
    },
};

fn build<P: Registered>(args: &[(&str, &str)]) -> WithWords<P> {
    let context =
        Context { logical_pages: 1000, blocks: 8, pages_per_block: 4, ..Context::smallest() };
    let placement = P::build(&arguments(args), &context);
    WithWords::of(placement.unwrap_or_else(|e| panic!("{}: {e}", P::INFO.name)))
}

fn arguments(args: &[(&str, &str)]) -> Args {
    Args(args.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
}

/// Performs a host write of a page; returns its stream.
fn write(placement: &mut WithWords<impl Placement>, lpn: u32) -> u8 {
    let stream = placement.host(Lpn(lpn), 0);
    placement.written(Lpn(lpn), 0);
    stream
}

/// The streams of a page that is written `times` in a row.
fn rewrite(placement: &mut WithWords<impl Placement>, lpn: u32, times: u32) -> Vec<u8> {
    (0..times).map(|_| write(placement, lpn)).collect()
}

fn clean(placement: &mut WithWords<impl Placement>, block: u32, stream: u8) {
    placement.cleaning(&Cleaning {
        bank: 0,
        block: BlockId(block),
        valid: 2,
        pages: 4,
        stream,
        mapped: 100,
        capacity: 1000,
        now: 0,
    });
}

fn copy(placement: &mut WithWords<impl Placement>, lpn: u32) -> u8 {
    placement.survivor(Lpn(lpn), 0)
}

#[test]
fn sep_gc_knows_only_writes_and_copies() {
    let mut p: WithWords<SepGc> = build(&[]);
    assert_eq!((p.streams(), write(&mut p, 3), copy(&mut p, 3)), (2, 0, 1));
}

#[test]
fn dac_simple_goes_up_with_overwrites_and_down_with_copies() {
    let mut p: WithWords<DacSimple> = build(&[("levels", "3")]);
    assert_eq!(rewrite(&mut p, 7, 4), [0, 1, 2, 2]);
    assert_eq!([copy(&mut p, 7), copy(&mut p, 7), copy(&mut p, 7)], [1, 0, 0]);
    assert_eq!(write(&mut p, 7), 1);
    p.trimmed(Lpn(7));
    assert_eq!(rewrite(&mut p, 7, 2), [0, 1], "a first write again");
    p.filled(Lpn(8), 0);
    assert_eq!(write(&mut p, 8), 1, "the fill was a first write");
}

const LONG: u8 = 0;
const SHORT: u8 = 1;

/// SepBIT with pages 0 to 9 filled.
fn sep_bit() -> WithWords<SepBit> {
    let mut p: WithWords<SepBit> = build(&[]);
    for lpn in 0..10 {
        p.filled(Lpn(lpn), 0);
    }
    p
}

/// [`sep_bit`] after 16 short-lived blocks, each cleaned 4 page writes after it was opened: ℓ = 4.
fn sep_bit_with_life_span_4() -> WithWords<SepBit> {
    let mut p = sep_bit();
    for _ in 0..16 {
        p.opened(0, BlockId(3), SHORT, 0);
        rewrite(&mut p, 0, 4);
        clean(&mut p, 3, SHORT);
    }
    p
}

#[test]
fn sep_bit_takes_rewrites_within_the_queue_for_short_lived() {
    let mut p = sep_bit();
    // The queue holds writes 1 to 10; this would be the 11th.
    assert_eq!(p.host(Lpn(0), 0), LONG, "write 1 is 10 back, no less than the queue is long");
    assert_eq!(p.host(Lpn(1), 0), SHORT, "write 2 is 9 back");
    assert_eq!(write(&mut p, 500), LONG, "a first write");
    assert_eq!(write(&mut p, 500), SHORT);
    p.trimmed(Lpn(500));
    assert_eq!(write(&mut p, 500), LONG, "a first write again");
}

#[test]
fn sep_bit_learns_the_life_span_from_sixteen_short_lived_blocks() {
    let mut p = sep_bit_with_life_span_4();
    // The queue shrinks by one a write from 10 to 4.
    rewrite(&mut p, 0, 10);
    for (lpn, first) in [(20, LONG), (21, LONG), (22, LONG)] {
        assert_eq!(write(&mut p, lpn), first);
    }
    assert_eq!(p.host(Lpn(20), 0), SHORT, "3 writes ago");
    write(&mut p, 23);
    assert_eq!(p.host(Lpn(20), 0), LONG, "4 writes ago: no less than ℓ");
    assert_eq!(p.host(Lpn(21), 0), SHORT);
    // With 15 blocks cleaned, or with long-lived data, ℓ is unknown and any recent write counts as
    // short.
    let mut p = sep_bit();
    for block in 0..31 {
        let stream = if block % 2 == 0 && block < 30 { SHORT } else { LONG };
        p.opened(0, BlockId(3), stream, 0);
        rewrite(&mut p, 0, 4);
        clean(&mut p, 3, stream);
    }
    for lpn in 20..24 {
        write(&mut p, lpn);
    }
    assert_eq!(p.host(Lpn(20), 0), SHORT);
}

#[test]
fn sep_bit_sorts_survivors_by_their_block_and_then_by_age() {
    let mut p = sep_bit_with_life_span_4();
    clean(&mut p, 3, SHORT);
    assert_eq!(copy(&mut p, 0), 2, "survived a block of short-lived data");
    clean(&mut p, 2, LONG);
    write(&mut p, 30);
    // Ages of page 30, relative to 4 and 16 times ℓ = 4.
    let mut classes = Vec::new();
    for age in 0..=64 {
        if [0, 15, 16, 63, 64].contains(&age) {
            classes.push(copy(&mut p, 30));
        }
        write(&mut p, 0);
    }
    assert_eq!(classes, [3, 3, 4, 4, 5]);
    rewrite(&mut p, 0, 300);
    assert_eq!(copy(&mut p, 30), 5, "there are no more classes");
    // While ℓ is unknown, no age reaches 4ℓ.
    let mut p = sep_bit();
    rewrite(&mut p, 0, 300);
    clean(&mut p, 2, LONG);
    assert_eq!(copy(&mut p, 5), 3);
}

#[test]
fn fadac_counts_in_powers_of_ten_of_the_mean_request() {
    let mut p: WithWords<Fadac> = build(&[]);
    for lpn in (0..100).step_by(2) {
        p.filled(Lpn(lpn), 0);
    }
    // Requests of one page: the average is 1. The fill made each counter 1.
    let mut expected = vec![1; 9];
    expected.extend([2; 90]);
    expected.push(3);
    assert_eq!(rewrite(&mut p, 0, 100), expected, "2 to 10, 11 to 100, 101");
    assert_eq!(copy(&mut p, 0), 2, "100");
    assert_eq!([copy(&mut p, 2), copy(&mut p, 2), write(&mut p, 2)], [0, 0, 0], "0, 0 and 1");
    assert_eq!(write(&mut p, 2), 1);
    p.trimmed(Lpn(0));
    assert_eq!(rewrite(&mut p, 0, 2), [0, 1], "forgotten");
    // Requests of nine pages bring the average near 9.
    for _ in 0..200 {
        for lpn in 200..209 {
            write(&mut p, lpn);
        }
    }
    assert_eq!(rewrite(&mut p, 4, 12), [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1], "from 9 on");
}

#[test]
fn eti_cuts_out_hot_extents_and_lets_them_cool() {
    let (cold, hot) = (0, 1);
    let mut p: WithWords<Eti> = build(&[("period", "6")]);
    // A request counts when the next one shows that it has ended.
    assert_eq!(rewrite(&mut p, 100, 6), [cold, cold, cold, cold, cold, hot]);
    assert_eq!([p.host(Lpn(99), 0), p.host(Lpn(101), 0)], [cold, cold], "its neighbours are not");
    assert_eq!(copy(&mut p, 100), 2);
    // The sixth request halves 5 to 2, cold: one extent again, from which page 100 is split anew
    // and counted from 0.
    assert_eq!(rewrite(&mut p, 100, 5), [hot, cold, cold, cold, hot]);
    // A request of several pages counts for all of them.
    let mut p: WithWords<Eti> = build(&[]);
    for _ in 0..5 {
        for lpn in 40..48 {
            write(&mut p, lpn);
        }
    }
    let streams: Vec<u8> = [39, 40, 47, 48].iter().map(|&lpn| p.host(Lpn(lpn), 0)).collect();
    assert_eq!(streams, [cold, hot, hot, cold]);
}

#[test]
fn eti_stops_cutting_where_extents_run_out() {
    // Page 100 in the middle takes two splits, page 0 at the edge takes one.
    for (extents, lpn, stream) in [("2", 100, 0), ("3", 100, 1), ("1", 0, 0), ("2", 0, 1)] {
        let mut p: WithWords<Eti> = build(&[("extents", extents)]);
        rewrite(&mut p, lpn, 9);
        assert_eq!(p.host(Lpn(lpn), 0), stream, "page {lpn} with {extents} extents");
    }
}

/// WARCIP with two clusters, after writes 1 to 32: centres 30 and 1, page 50 last written at 30, page
/// 0 at 32.
fn warcip() -> WithWords<Warcip> {
    let mut p: WithWords<Warcip> = build(&[("streams", "3")]);
    for lpn in [50].into_iter().chain(1..=28) {
        assert_eq!(write(&mut p, lpn), 0, "first writes have the interval 0");
    }
    p.closing(0, BlockId(0), 0);
    write(&mut p, 0); // the 30th; interval 0
    p.closing(0, BlockId(0), 0);
    assert_eq!(write(&mut p, 50), 0, "30 writes after the first; both centres are 0");
    assert_eq!(write(&mut p, 0), 1, "2 is nearer to 0 than to 30");
    p
}

#[test]
fn warcip_joins_the_nearest_centre() {
    let mut p = warcip();
    assert_eq!(p.clone().host(Lpn(1), 0), 0, "written at 2, now 33: 31, near 30");
    assert_eq!(p.clone().host(Lpn(50), 0), 1, "written at 31: 2");
    assert_eq!(write(&mut p, 0), 1, "1");
    assert_eq!(copy(&mut p, 0), 2, "copies go by themselves");
}

#[test]
fn warcip_adds_the_age_at_the_last_copy() {
    let mut p = warcip();
    rewrite(&mut p, 0, 10); // up to 42; the centres are 30 and about 1
    let mut copied = p.clone();
    assert_eq!(copy(&mut copied, 50), 2); // at the age of 11
    assert_eq!((p.host(Lpn(50), 0), copied.host(Lpn(50), 0)), (1, 0), "12, and 23");
    copied.trimmed(Lpn(50));
    assert_eq!(copied.host(Lpn(50), 0), 1, "a first write: 0");
}

#[test]
fn warcip_drops_idle_clusters_and_splits_busy_ones() {
    let mut p = warcip();
    // Cluster 1 took one page, less than a block of 4, and cluster 0 more.
    for _ in 0..254 {
        p.closing(0, BlockId(0), 0);
    }
    assert_eq!(p.clone().host(Lpn(0), 0), 1, "until its block is full");
    p.closing(0, BlockId(1), 1);
    assert_eq!(p.clone().host(Lpn(0), 0), 0, "then there is one cluster");
    for lpn in 600..610 {
        write(&mut p, lpn); // the interval 0 only
    }
    // Interval 36 of page 5, written at 6, sets the centre, because the block is empty.
    p.closing(0, BlockId(0), 0);
    assert_eq!(write(&mut p, 5), 0);
    let centre = 43.0 - 6.0;
    for _ in 0..254 {
        p.closing(0, BlockId(0), 0);
    }
    // The new centre is half of it: 18.5. Page 0 was written at 32, page 7 at 8; the time is 44.
    assert!((12.0_f64 - centre / 2.0).abs() < (12.0_f64 - centre).abs());
    assert_eq!(p.clone().host(Lpn(0), 0), 1);
    assert_eq!(p.clone().host(Lpn(7), 0), 0);
}

#[test]
fn auto_stream_mq_queues_chunks_by_the_logarithm_of_their_writes() {
    let mut p: WithWords<AutoStreamMq> = build(&[("streams", "4"), ("chunk", "4")]);
    // The queue after 0, 1, 2, … earlier writes: ln 3 > 1, ln 8 > 2, ln 21 > 3.
    let expected: Vec<u8> =
        (0..25).map(|n| [0, 1, 2][(n >= 3) as usize + (n >= 8) as usize]).collect();
    assert_eq!(rewrite(&mut p, 0, 25), expected, "three queues");
    assert_eq!(copy(&mut p, 0), 3);
    // A request of three pages touches its chunk once.
    let mut p: WithWords<AutoStreamMq> = build(&[("streams", "4"), ("chunk", "4")]);
    for _ in 0..3 {
        assert_eq!([4, 5, 6].map(|lpn| write(&mut p, lpn)), [0, 0, 0]);
    }
    assert_eq!(write(&mut p, 7), 0, "goes on");
    assert_eq!(write(&mut p, 7), 1, "the fourth");
}

#[test]
fn auto_stream_mq_lets_chunks_expire() {
    let mut p: WithWords<AutoStreamMq> = build(&[("streams", "4"), ("chunk", "4")]);
    rewrite(&mut p, 0, 4); // in queue 1; rewritten after 1, so it expires at 4 + 1
    write(&mut p, 100);
    assert_eq!(p.clone().host(Lpn(0), 0), 1, "at 5");
    write(&mut p, 200);
    assert_eq!(write(&mut p, 0), 0, "at 6 it is past 5 and went down");
    assert_eq!(write(&mut p, 0), 1, "where its writes belong");
}

#[test]
fn auto_stream_sfr_goes_on_with_sequences_and_forgets_by_halves() {
    let args = [("streams", "4"), ("chunk", "4"), ("half_life", "10")];
    let mut p: WithWords<AutoStreamSfr> = build(&args);
    assert_eq!(rewrite(&mut p, 0, 9), [0, 0, 1, 1, 1, 1, 1, 2, 2], "ln 3 > 1, ln 8 > 2");
    assert_eq!([1, 2, 3, 4, 5].map(|lpn| write(&mut p, lpn)), [2; 5], "in sequence");
    assert_eq!(write(&mut p, 7), 0, "the second touch of chunk 1");
    assert_eq!(copy(&mut p, 7), 3);
    let mut p: WithWords<AutoStreamSfr> = build(&args);
    rewrite(&mut p, 0, 3);
    let mut idle = p.clone();
    rewrite(&mut p, 500, 8);
    rewrite(&mut idle, 500, 9);
    // Since the third touch, 9 and 10 pages were written: 3 + 1, and 3 / 2 + 1.
    assert_eq!((p.host(Lpn(0), 0), idle.host(Lpn(0), 0)), (1, 0));
}

#[test]
fn multi_stream_takes_the_logarithm_of_fading_updates() {
    let args = [("streams", "3"), ("half_life", "100")];
    let mut p: WithWords<MultiStream> = build(&args);
    assert_eq!(rewrite(&mut p, 0, 10), [0, 0, 1, 1, 2, 2, 2, 2, 2, 2], "the first is no update");
    rewrite(&mut p, 1, 89);
    assert_eq!(copy(&mut p, 0), 2, "9");
    rewrite(&mut p, 1, 101);
    assert_eq!(copy(&mut p, 0), 1, "9 / 4");
    assert_eq!(p.clone().host(Lpn(0), 0), 1, "9 / 4 + 1");
    rewrite(&mut p, 1, 10_000);
    assert_eq!(copy(&mut p, 0), 0, "all faded");
    p.trimmed(Lpn(1));
    assert_eq!(rewrite(&mut p, 1, 3), [0, 0, 1], "forgotten");
}

/// Whether a placement can be built; a failure is an error and not a panic.
struct Streams;

impl placement::Visitor for Streams {
    type Output = u8;
    fn visit<P: Placement>(self, placement: P) -> u8 {
        let mut placement = WithWords::of(placement);
        for lpn in [0, 1, 0, 999, 0] {
            assert!(write(&mut placement, lpn) < placement.streams());
        }
        placement.streams()
    }
}

#[test]
fn arguments_out_of_range_are_refused_by_name() {
    let context =
        Context { logical_pages: 1000, blocks: 8, pages_per_block: 4, ..Context::smallest() };
    let max = "4294967295";
    for (name, key, good, bad) in [
        ("sep-bit", "classes", ["4", "32"], ["3", "33"]),
        ("dac-simple", "levels", ["2", "32"], ["1", "33"]),
        ("fadac", "levels", ["2", "32"], ["0", "256"]),
        ("warcip", "streams", ["2", "32"], ["1", max]),
        ("auto-stream-mq", "streams", ["2", "32"], ["1", "33"]),
        ("auto-stream-mq", "chunk", ["1", max], ["0", "-1"]),
        ("auto-stream-sfr", "streams", ["2", "32"], ["1", "33"]),
        ("auto-stream-sfr", "chunk", ["1", max], ["0", "-1"]),
        ("auto-stream-sfr", "half_life", ["1", max], ["0", "-1"]),
        ("multi-stream", "streams", ["1", "32"], ["0", "257"]),
        ("multi-stream", "half_life", ["1", "auto"], ["0", "x"]),
        ("eti", "extents", ["1", "65536"], ["0", "65537"]),
        ("eti", "period", ["1", max], ["0", "-1"]),
        ("eti", "hot", ["1", "15"], ["0", "16"]),
    ] {
        let build = |value: &str| {
            placement::dispatch(name, &arguments(&[(key, value)]), &context, Streams)
                .expect("registered")
        };
        for value in good {
            let streams = build(value).unwrap_or_else(|e| panic!("{name}: {e}"));
            let named = ["classes", "levels", "streams"].contains(&key);
            assert!(!named || value == streams.to_string(), "{name}({key}={value}): {streams}");
        }
        for value in bad {
            let error = build(value).expect_err("refused");
            let ParamError::Value { key: of, value: given, .. } = &error else {
                panic!("{name}: {error}")
            };
            assert_eq!((of.as_str(), given.as_str()), (key, value));
        }
    }
    let build = thermocline_policy::victim::find("windowed-greedy").expect("registered").build;
    assert!(build(&arguments(&[("window", "0")]), &context).is_err());
    assert!(build(&arguments(&[("window", max)]), &context).is_ok());
    assert!(build(&Args::default(), &Context { banks: 0, ..context }).is_ok());
}
