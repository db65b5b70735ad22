//! Lives of page writes, against a search through the whole trace.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use thermocline_trace::{
    Op, Request,
    lives::{Cause, Life, Lives},
};

const PAGE: u64 = 4096;

/// A page write, or a trim of a page, in the order of the trace.
#[derive(Clone, Copy)]
struct Event {
    volume: u32,
    page: u64,
    time_ns: u64,
    /// Bytes of the request; none for a trim.
    size: Option<u64>,
    /// Page writes before it, of the trace and of its volume.
    before: (u64, u64),
}

fn random_requests(seed: u64) -> Vec<Request> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut below = |n: u64| random.next_u64() % n;
    let one = |at| {
        let op = [Op::Write, Op::Write, Op::Write, Op::Trim, Op::Read][below(5) as usize];
        let (offset, len) = (below(60) * PAGE / 2, below(6) * PAGE / 2);
        // Now and then the whole volume.
        let all = op == Op::Trim && below(20) == 0;
        let (offset, len) = if all { (0, 1 << 50) } else { (offset, len) };
        Request { time_ns: at * 10, offset, len, volume: below(2) as u32, op, hint: 0 }
    };
    (0..400_u64).map(one).collect()
}

fn events(requests: &[Request]) -> Vec<Event> {
    let (mut events, mut writes) = (Vec::new(), [0, 0]);
    for request in requests {
        let (size, pages) = match request.op {
            Op::Write if request.len > 0 => {
                let end = (request.offset + request.len).div_ceil(PAGE);
                (Some(request.len), request.offset / PAGE..end)
            }
            Op::Trim => {
                let end = (request.offset + request.len) / PAGE;
                (None, request.offset.div_ceil(PAGE)..end.min(1000))
            }
            _ => continue,
        };
        for page in pages {
            let (volume, time_ns) = (request.volume, request.time_ns);
            let before = (writes[0] + writes[1], writes[volume as usize]);
            events.push(Event { volume, page, time_ns, size, before });
            writes[volume as usize] += u64::from(size.is_some());
        }
    }
    events
}

#[test]
fn lives_are_those_that_a_search_of_the_trace_finds() {
    for seed in 0..20 {
        let requests = random_requests(seed);
        let (mut lives, mut found) = (Lives::new(PAGE), Vec::new());
        requests.iter().for_each(|request| lives.add(request, &mut found).expect("requests"));
        let ends: Vec<_> = found.iter().map(|life| life.end.expect("an end").write).collect();
        assert!(ends.is_sorted(), "rows come in the order of their ends");
        found.extend(lives.alive());
        found.sort_by_key(|life| life.write);
        let events = events(&requests);
        let writes: Vec<_> = (0..events.len()).filter(|at| events[*at].size.is_some()).collect();
        assert_eq!(found.len(), writes.len());
        for (life, at) in found.iter().zip(writes) {
            check(life, &events, at);
        }
    }
}

fn check(life: &Life, events: &[Event], at: usize) {
    let event = &events[at];
    let of = |page| move |e: &&Event| e.volume == event.volume && e.page == page;
    let (before, after) = (&events[..at], &events[at + 1..]);
    let of_before = (life.volume, life.page, life.write, life.time_ns);
    assert_eq!(of_before, (event.volume, event.page, event.before.0, event.time_ns));
    let end = after.iter().find(of(event.page));
    assert_eq!(life.end.map(|end| (end.write, end.time_ns)), end.map(|e| (e.before.0, e.time_ns)));
    if let (Some(told), Some(end)) = (life.end, end) {
        assert_eq!(told.life, end.before.1 - event.before.1);
        assert_eq!(told.cause == Cause::Trimmed, end.size.is_none());
    }
    // The intervals between the writes of a page, the last first.
    let intervals = |page, upto: &[Event]| {
        let writes: Vec<u64> =
            upto.iter().filter(of(page)).filter(|e| e.size.is_some()).map(|e| e.before.1).collect();
        let mut gaps: Vec<_> = writes.windows(2).map(|two| (two[1] - two[0]) as u32).collect();
        gaps.reverse();
        gaps.resize(4, 0);
        (gaps, writes.len() as u32)
    };
    let (own, writes) = intervals(event.page, &events[..=at]);
    assert_eq!((life.features.intervals.to_vec(), life.features.writes), (own, writes - 1));
    let neighbour = |page: Option<u64>| page.map_or(0, |page| intervals(page, before).0[0]);
    assert_eq!(life.features.before, neighbour(event.page.checked_sub(1)));
    assert_eq!(life.features.after, neighbour(Some(event.page + 1)));
    let volume = before.iter().rev().filter(|e| e.volume == event.volume && e.size.is_some());
    let run = volume.zip(1..).take_while(|(e, back)| e.page + back == event.page).count();
    assert_eq!(life.features.run as usize, run);
    assert_eq!(Some(u64::from(life.features.size)), event.size);
}
