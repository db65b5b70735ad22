//! The transformations, each alone and combined.

use proptest::prelude::*;
use std::collections::BTreeSet;
use thermocline_trace::{
    Op, Request, Source, TraceError,
    transform::{
        Access, Dedup, Footprint, HintRule, Hints, JoinVolumes, KeepOps, Limit, OpSet, PageSample,
        Rebase, Repeat, SelectVolumes, Shift, ShiftBy, SortWindow, Window,
    },
};

/// Named requests in memory.
struct Memory {
    requests: Vec<Request>,
    at: usize,
    names: Vec<String>,
}

impl Memory {
    fn new(requests: Vec<Request>, names: &[&str]) -> Self {
        Memory { requests, at: 0, names: names.iter().map(|&name| name.into()).collect() }
    }
}

impl Source for Memory {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        let end = (self.at + limit).min(self.requests.len());
        batch.clear();
        batch.extend_from_slice(&self.requests[self.at..end]);
        self.at = end;
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.names
    }
}

fn request(time_ns: u64, volume: u32, op: Op, offset: u64, len: u64) -> Request {
    Request { time_ns, offset, len, volume, op, hint: 0 }
}

fn at(times: &[u64]) -> Memory {
    let write = |(i, &t): (usize, &u64)| request(t, 0, Op::Write, i as u64 * 4096, 4096);
    Memory::new(times.iter().enumerate().map(write).collect(), &["disk"])
}

fn drain(mut source: impl Source, limit: usize) -> Result<Vec<Request>, TraceError> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch, limit)?;
        assert!(batch.len() <= limit);
        if batch.is_empty() {
            return Ok(all);
        }
        all.extend_from_slice(&batch);
    }
}

fn times(source: impl Source) -> Vec<u64> {
    drain(source, 2).expect("no errors").iter().map(|r| r.time_ns).collect()
}

fn message<T>(result: Result<T, TraceError>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn rebase_begins_at_zero() {
    assert_eq!(times(Rebase::new(at(&[1000, 1500, 900, 2000]))), [0, 500, 0, 1000]);
}

#[test]
fn shift_moves_addresses_but_not_flushes() {
    let requests = vec![request(0, 0, Op::Read, 32256, 512), request(0, 0, Op::Flush, 0, 0)];
    let by: ShiftBy = "-63s".parse().expect("a shift");
    let moved = drain(Shift::new(Memory::new(requests.clone(), &[]), by), 9).expect("room");
    assert_eq!((moved[0].offset, moved[1].offset), (0, 0));
    let error = message(drain(Shift::new(Memory::new(requests, &[]), ShiftBy(-36352)), 9));
    assert!(error.contains("request 1 at byte 32256 of volume 0"), "{error}");
    assert!(error.contains("shift by +1s instead"), "{error}");
}

#[test]
fn rules_give_writes_hints() {
    let requests = vec![
        request(0, 1, Op::Write, 0, 512),
        request(0, 0, Op::Write, 4096, 512),
        request(0, 0, Op::Read, 4096, 512),
        Request { hint: 9, ..request(0, 1, Op::Write, 8191, 512) },
        Request { hint: 9, ..request(0, 1, Op::Write, 8192, 512) },
    ];
    let hints = |rules: &[&str]| -> Vec<u16> {
        let rules = rules.iter().map(|rule| rule.parse().expect(rule)).collect();
        let all = drain(Hints::new(Memory::new(requests.clone(), &[]), rules), 9).expect("hints");
        all.iter().map(|request| request.hint).collect()
    };
    assert_eq!(hints(&["volume"]), [1, 2, 0, 1, 1], "in the order of their first writes");
    assert_eq!(hints(&["4KiB..8KiB=5"]), [0, 5, 0, 5, 9], "others keep theirs");
    assert_eq!(hints(&["volume", "0..8KiB=3", "4096..5KiB=0"]), [3, 0, 0, 3, 1]);
    for text in ["", "volumes", "1GiB=3", "0..4k", "4k..4k=1", "0..4k=65536", "0..4k=-1"] {
        assert!(message(text.parse::<HintRule>()).contains("0..1GiB=3"), "{text}");
    }
}

#[test]
fn shifts_are_written_in_sectors_or_sizes() {
    for (text, bytes, printed) in [
        ("-7s", -3584, "-7s"),
        ("+1s", 512, "+1s"),
        ("4KiB", 4096, "+8s"),
        (" -100B ", -100, "-100B"),
    ] {
        let by: ShiftBy = text.parse().expect(text);
        assert_eq!((by.0, by.to_string().as_str()), (bytes, printed));
    }
    for (text, remedy) in
        [("63", "write 63s for sectors of 512 bytes, 63B for bytes"), ("-2048", "write -2048s")]
    {
        assert!(message(text.parse::<ShiftBy>()).contains(remedy), "{text}");
    }
    for text in ["", "-", "s", "7 sectors", "4kB", "99999999999999999999s"] {
        assert!(message(text.parse::<ShiftBy>()).contains("expected sectors such as -63s"));
    }
}

#[test]
fn volumes_are_selected_by_name_or_index() {
    let three = || {
        let requests = (0..6).map(|i| request(i, i as u32 % 3, Op::Write, 0, 1)).collect();
        Memory::new(requests, &["hm:0", "hm:1", "7"])
    };
    let select = |wanted: &[&str]| {
        let wanted = wanted.iter().map(|&name| name.into()).collect();
        drain(SelectVolumes::new(three(), wanted), 1)
    };
    let volumes =
        |wanted: &[&str]| select(wanted).expect("met").iter().map(|r| r.volume).collect::<Vec<_>>();
    assert_eq!(volumes(&["hm:0"]), [0, 0]);
    assert_eq!(volumes(&["1"]), [1, 1]);
    assert_eq!(volumes(&["7", "hm:0"]), [0, 2, 0, 2]);
    let error = message(select(&["hm:0", "2"]));
    assert!(error.contains("no volume `2`"), "a numeric name is not an index: {error}");
    assert!(error.contains("choose among: hm:0, hm:1, 7"), "{error}");
}

#[test]
fn joined_volumes_lie_end_to_end() {
    let requests = vec![
        request(0, 1, Op::Write, 10, 5),
        request(0, 0, Op::Read, 0, 100),
        request(0, 1, Op::Flush, 0, 0),
    ];
    let joined = JoinVolumes::new(Memory::new(requests.clone(), &["a", "b"]), &[100, 15]);
    let joined = joined.expect("sizes fit");
    assert_eq!(joined.len_bytes(), 115);
    assert_eq!(joined.volumes(), ["joined"]);
    let moved: Vec<_> =
        drain(joined, 9).expect("inside").iter().map(|r| (r.volume, r.offset)).collect();
    assert_eq!(moved, [(0, 110), (0, 0), (0, 0)]);
    let short = JoinVolumes::new(Memory::new(requests, &[]), &[100, 14]).expect("sizes fit");
    assert!(message(drain(short, 9)).contains("lies outside volume 1"));
    assert!(message(JoinVolumes::new(at(&[]), &[u64::MAX, 1])).contains("exceed 2^64"));
}

#[test]
fn operations_are_filtered() {
    let all = [Op::Read, Op::Write, Op::Trim, Op::Flush];
    let keep = |text: &str| {
        let requests = all.iter().map(|op| request(0, 0, *op, 0, 0)).collect();
        let set: OpSet = text.parse().expect(text);
        let kept = drain(KeepOps::new(Memory::new(requests, &[]), set), 1).expect("no errors");
        kept.iter().map(|r| r.op).collect::<Vec<_>>()
    };
    assert_eq!(keep("write"), [Op::Write]);
    assert_eq!(keep("R, Writes"), [Op::Read, Op::Write]);
    assert_eq!(keep("-discard,-flush"), [Op::Read, Op::Write]);
    assert_eq!(keep("t,f"), [Op::Trim, Op::Flush]);
    for text in ["", "erase", "write,", "-read,-write,-trim,-flush", "ss"] {
        assert!(message(text.parse::<OpSet>()).contains("expected read, write"), "{text}");
    }
    assert_eq!("f,r".parse::<OpSet>().expect("a set").to_string(), "read,flush");
}

#[test]
fn sorting_is_stable_and_bounded() {
    let shuffled = [5, 3, 4, 1, 9, 9, 8, 7];
    let mut sorted = SortWindow::new(at(&shuffled), Window::Requests(3));
    assert_eq!(times(&mut sorted), [1, 3, 4, 5, 7, 8, 9, 9]);
    assert_eq!(sorted.late(), 0);
    let mut sorted = SortWindow::new(at(&shuffled), Window::Requests(1));
    assert_eq!(times(&mut sorted), [3, 4, 1, 5, 9, 8, 7, 9]);
    assert_eq!(sorted.late(), 3);
    assert_eq!(times(SortWindow::new(at(&shuffled), Window::Time(4))), [1, 3, 4, 5, 7, 8, 9, 9]);
    assert_eq!(times(SortWindow::new(at(&shuffled), Window::Requests(0))), shuffled);
    let equal = drain(SortWindow::new(at(&[1, 1, 0, 1, 1]), Window::Requests(4)), 2);
    let offsets: Vec<_> = equal.expect("no errors").iter().map(|r| r.offset / 4096).collect();
    assert_eq!(offsets, [2, 0, 1, 3, 4]);
}

#[test]
fn duplicates_collapse_within_the_window() {
    let same = |t| request(t, 0, Op::Write, 0, 4096);
    let other = |t| request(t, 0, Op::Read, 0, 4096);
    let list = vec![same(0), other(1), same(10), same(11), other(5), same(20), same(22), same(90)];
    let mut dedup = Dedup::new(Memory::new(list, &[]), 10);
    let kept = drain(&mut dedup, 1).expect("no errors");
    assert_eq!(kept, [same(0), other(1), same(11), same(22), same(90)]);
    assert_eq!(dedup.dropped(), 3);
}

#[test]
fn repeating_continues_the_clock() {
    let open = || Ok(at(&[100, 90, 130]));
    assert_eq!(times(Repeat::new(open, 3)), [100, 90, 130, 130, 120, 160, 160, 150, 190]);
    assert_eq!(times(Repeat::new(open, 1)), [100, 90, 130]);
    assert_eq!(times(Repeat::new(open, 0)), [0; 0]);
    assert_eq!(times(Repeat::new(|| Ok(at(&[])), u64::MAX)), [0; 0]);
    let mut opened = 0;
    let failing = Repeat::new(
        || {
            opened += 1;
            if opened < 2 { Ok(at(&[1])) } else { "no".parse::<ShiftBy>().map(|_| at(&[])) }
        },
        5,
    );
    assert!(message(drain(failing, 3)).contains("not a shift"));
}

#[test]
fn limits_compose_with_filters() {
    let source = || at(&[10, 20, 30, 40, 50]);
    assert_eq!(times(Limit::new(source(), 3)), [10, 20, 30]);
    assert_eq!(times(Limit::new(source(), 0)), [0; 0]);
    let boxed: Box<dyn Source> = Box::new(Limit::new(Rebase::new(source()), 9));
    assert_eq!(boxed.volumes(), ["disk"]);
    assert_eq!(times(boxed), [0, 10, 20, 30, 40]);
}

#[test]
fn footprints_number_pages_densely() {
    let mut footprint = Footprint::new(4096);
    for r in [
        request(0, 1, Op::Write, 4096 * 1000, 4096 * 3),
        request(0, 0, Op::Write, 4096 * 510, 4096 * 4 + 1),
        request(0, 0, Op::Read, 4096 * 7 + 100, 4096),
        request(0, 0, Op::Read, 1 << 50, 0),
        request(0, 0, Op::Flush, 0, 0),
        request(0, 0, Op::Trim, 100, 1 << 60),
        request(0, 0, Op::Trim, 4096 << 10, 4096),
        request(0, 1, Op::Trim, 4096, 100),
    ] {
        footprint.add(&r).expect("sensible sizes");
    }
    assert_eq!(footprint.pages_written(), 8);
    assert_eq!(footprint.pages_read(), 2);
    assert_eq!(footprint.pages_accessed(), 10);
    assert_eq!(footprint.pages_trimmed(), (100 + (1u64 << 60)) / 4096 - 1);
    let index = footprint.freeze(Access::Any);
    assert_eq!((index.len(), index.page_bytes()), (10, 4096));
    assert_eq!(index.rank(0, 7), Some(0));
    assert_eq!(
        (510..516).map(|p| index.rank(0, p)).collect::<Vec<_>>(),
        [Some(2), Some(3), Some(4), Some(5), Some(6), None]
    );
    assert_eq!(index.rank(1, 1002), Some(9));
    assert_eq!(index.rank(2, 0), None);
    assert_eq!(index.ranks(0, 0..u64::MAX), 0..7);
    assert_eq!(index.ranks(1, 1001..1002), 8..9);
    assert_eq!(index.ranks(0, 100..200), 2..2);
}

#[test]
fn absurd_requests_are_refused() {
    let mut footprint = Footprint::new(4096);
    let error = message(footprint.add(&request(0, 3, Op::Write, 0, 1 << 40)));
    assert!(error.contains("larger than any device takes") && error.contains("units"), "{error}");
    assert!(footprint.add(&request(0, 0, Op::Trim, u64::MAX, 2)).is_err());
}

fn any_request() -> impl Strategy<Value = Request> {
    (0..3u32, 0..4u8, 0..3_000_000u64, 0..400_000u64).prop_map(|(volume, op, offset, len)| {
        let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][op as usize];
        request(0, volume, op, offset, len)
    })
}

proptest! {
    #[test]
    fn footprints_agree_with_plain_sets(requests in prop::collection::vec(any_request(), 0..60)) {
        let page = 512u64;
        let (mut read, mut written, mut trimmed) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for r in &requests {
            let touched = r.offset / page..(r.offset + r.len).div_ceil(page);
            let covered = r.offset.div_ceil(page)..(r.offset + r.len) / page;
            match r.op {
                _ if r.len == 0 => {}
                Op::Read => read.extend(touched.map(|p| (r.volume, p))),
                Op::Write => written.extend(touched.map(|p| (r.volume, p))),
                Op::Trim => trimmed.extend(covered.map(|p| (r.volume, p))),
                Op::Flush => {}
            }
        }
        let of = || Footprint::of(&mut Memory::new(requests.clone(), &[]), page).expect("small");
        prop_assert_eq!(of().pages_read(), read.len() as u64);
        prop_assert_eq!(of().pages_written(), written.len() as u64);
        prop_assert_eq!(of().pages_trimmed(), trimmed.len() as u64);
        let any: Vec<_> = read.union(&written).copied().collect();
        let written: Vec<_> = written.into_iter().collect();
        for (access, pages) in [(Access::Any, any), (Access::Written, written)] {
            let index = of().freeze(access);
            prop_assert_eq!(index.len(), pages.len() as u64);
            prop_assert_eq!(index.is_empty(), pages.is_empty());
            for (rank, &(volume, page)) in pages.iter().enumerate() {
                prop_assert_eq!(index.rank(volume, page), Some(rank as u64));
                prop_assert_eq!(index.page(rank as u64), Some((volume, page)));
            }
            prop_assert_eq!(index.page(pages.len() as u64), None);
            for volume in 0..4 {
                for (start, end) in [(0, 9000), (512, 1024), (700, 5000), (5000, 700)] {
                    let below = |p| pages.partition_point(|&key| key < (volume, p)) as u64;
                    let expected = below(start)..below(end.max(start));
                    prop_assert_eq!(index.ranks(volume, start..end), expected);
                }
            }
        }
    }
}

#[test]
fn a_sample_keeps_one_page_of_each_group_and_of_a_request_those_it_touches() {
    const PAGES: u64 = 64;
    for (of, seed) in [(2, 1), (8, 1), (8, 2), (5, 3)] {
        let sample = PageSample::new(of, seed, 4096);
        let write = |offset, len| sample.of(&request(7, 1, Op::Write, offset, len));
        let kept: Vec<u64> = (0..PAGES).filter(|p| write(p * 4096, 4096).is_some()).collect();
        let groups: Vec<u64> = kept.iter().map(|page| page / u64::from(of)).collect();
        let whole = PAGES / u64::from(of);
        assert_eq!(groups[..whole as usize], (0..whole).collect::<Vec<_>>()[..], "1/{of}");
        for first in 0..PAGES {
            for end in first + 1..=PAGES {
                let within = kept.iter().filter(|page| (first..end).contains(page));
                let within: Vec<u64> = within.map(|page| page / u64::from(of)).collect();
                let expected =
                    within.first().map(|group| (group * 4096, within.len() as u64 * 4096));
                let found = write(first * 4096, (end - first) * 4096).map(|r| (r.offset, r.len));
                assert_eq!(found, expected, "{first}..{end} of 1/{of}");
            }
        }
        // A partly covered page stays so, at either end, and if both ends are in one page.
        let page = kept[1];
        let at = page / u64::from(of) * 4096;
        let part = |from, to| write(page * 4096 + from, to - from).map(|r| (r.offset - at, r.len));
        assert_eq!(part(512, 1024), Some((512, 512)));
        assert_eq!(part(512, 4096), Some((512, 3584)));
        assert_eq!(part(0, 1024), Some((0, 1024)));
    }
    let sample = PageSample::new(8, 1, 4096);
    let flush = request(1, 0, Op::Flush, 0, 0);
    assert_eq!(sample.of(&flush), Some(flush));
    assert_eq!(sample.of(&request(1, 0, Op::Write, 5, 0)), None);
    let last = request(1, 0, Op::Trim, u64::MAX - 100_000, 100_000);
    assert!(sample.of(&last).is_some_and(|r| r.offset < u64::MAX / 8 + 1));
}
