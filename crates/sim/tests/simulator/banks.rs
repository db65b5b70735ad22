//! When operations begin and end on a device of several banks, as seen by the host. Every response
//! equals that of a second engine, written here from the rules, and figures computed by hand are
//! reproduced.

use crate::common::{Ask, Draws, TIMING, device, done, job, policy, trace, write};
use thermocline_flash::Timing;
use thermocline_policy::trigger::Trigger;
use thermocline_sim::{
    Clock, Device, Fill, Input, Job, PolicySpec, Progress, RunResult, Workload, compare,
};
use thermocline_trace::Op;

/// A preset with an idle policy.
fn idling(name: &str, idle: Option<&str>) -> PolicySpec {
    policy(name).with(idle, None).expect("a known idle policy")
}

/// A small device with the times of large pages.
fn small(banks: u32, channels: u32, blocks_per_bank: u32) -> Device {
    let mut device = device("slc-generic", banks, channels);
    device.profile.geometry.blocks_per_bank = blocks_per_bank;
    device.profile.geometry.pages_per_block = 16;
    device.profile.timing = TIMING;
    device
}

fn page_size(device: &Device) -> u32 {
    device.profile.geometry.page_size
}

/// The second engine: responses of requests that cause no cleaning, page by page with static
/// assignment, in nanoseconds.
///
/// A program waits for its bank and its channel, occupies the channel for its setup and leaves the
/// bank busy. A read keeps the bank busy and then occupies the channel. A request starts when it
/// has arrived and fewer than `depth` others are unfinished; without arrivals it arrives at that
/// moment.
fn responses(
    asks: &[Ask],
    (banks, channels): (usize, usize),
    depth: Option<usize>,
    arrivals: bool,
) -> Vec<(Op, u64)> {
    let (mut bank_free, mut channel_free) = (vec![0; banks], vec![0; channels]);
    let mut unfinished: Vec<u64> = Vec::new();
    let mut all = Vec::new();
    for ask in asks {
        let arrival = if arrivals { ask.time_ns } else { 0 };
        let mut begin = arrival;
        if depth.is_some_and(|depth| unfinished.len() >= depth) {
            unfinished.sort_unstable();
            begin = begin.max(unfinished.remove(0));
        }
        let mut end = begin;
        for page in (ask.first..ask.first + ask.pages).map(|page| page as usize) {
            let (bank, channel) = (page % banks, page % banks % channels);
            if ask.op == Op::Read {
                let sensed = bank_free[bank].max(begin) + TIMING.read_ns;
                channel_free[channel] = sensed.max(channel_free[channel]) + TIMING.read_setup_ns;
                bank_free[bank] = channel_free[channel];
            } else {
                let start = bank_free[bank].max(channel_free[channel]).max(begin);
                channel_free[channel] = start + TIMING.program_setup_ns;
                bank_free[bank] = channel_free[channel] + TIMING.program_ns;
            }
            end = end.max(bank_free[bank]);
        }
        unfinished.push(end);
        // No response is faster than the chip's work.
        let work = if ask.op == Op::Read { TIMING.read() } else { TIMING.program() };
        assert!(end - begin >= work);
        all.push((ask.op, end - if arrivals { arrival } else { begin }));
    }
    all
}

fn mean_and_max(responses: &[(Op, u64)], op: Op) -> (Option<f64>, Option<f64>) {
    let of: Vec<u64> = responses.iter().filter(|(o, _)| *o == op).map(|(_, ns)| *ns).collect();
    let sum: u128 = of.iter().map(|&ns| u128::from(ns)).sum();
    let mean = (!of.is_empty()).then(|| sum as f64 / of.len() as f64 / 1000.0);
    (mean, of.iter().max().map(|&ns| ns as f64 / 1000.0))
}

#[test]
fn every_response_is_that_of_a_second_engine() {
    let mut draws = Draws(8);
    let mut queued = 0;
    for case in 0..400 {
        let banks = [2, 2, 3, 4, 8][case % 5];
        let channels = 1 + draws.below(banks);
        let device = small(banks, channels, 64);
        let written = 512;
        // As many free pages as are written, so none is cleaned. The first request writes all pages
        // that are read.
        let gap = [1, 60_000, 250_000, 1_000_000][case / 5 % 4];
        let (mut time_ns, mut fresh) = (0, written);
        let asks: Vec<Ask> = (0..1 + draws.below(60))
            .map(|_| {
                time_ns += u64::from(draws.below(gap));
                let longest = if draws.happens(50) { 1 } else { 12 };
                let pages = 1 + draws.below(longest);
                let op = if draws.happens(40) { Op::Read } else { Op::Write };
                let first = draws.below(written - pages);
                fresh += pages;
                Ask { time_ns, op, first, pages }
            })
            .collect();
        assert!(fresh < (64 - 3) * 16 * banks);
        // Makes the renumbered device as large as the fill.
        let end = Ask { time_ns, op: Op::Read, first: written - 1, pages: 1 };
        let asks: Vec<Ask> = asks.into_iter().chain([end]).collect();
        let trace = trace(&asks, page_size(&device));
        for arrivals in [false, true] {
            for depth in [None, Some(1), Some(2), Some(5)] {
                let clock = if arrivals { Clock::Arrivals } else { Clock::Device };
                if arrivals && trace.duration_ns == 0 {
                    continue;
                }
                let run = done(&Job {
                    clock: Some(clock),
                    queue_depth: depth,
                    ..job(device.clone(), policy("greedy"), Input::Trace(&trace, 1))
                });
                assert_eq!(run.flash.blocks_erased, 0, "nothing was to be cleaned");
                // Times count from the first request.
                let asks: Vec<Ask> = asks
                    .iter()
                    .map(|ask| Ask { time_ns: ask.time_ns - asks[0].time_ns, ..*ask })
                    .collect();
                let depth = depth.or((!arrivals).then_some(1)).map(|depth| depth as usize);
                let shape = (banks as usize, channels as usize);
                let expected = responses(&asks, shape, depth, arrivals);
                for (op, measured) in
                    [(Op::Write, run.response_us.write), (Op::Read, run.response_us.read)]
                {
                    assert_eq!(
                        (measured.mean, measured.max),
                        mean_and_max(&expected, op),
                        "{op:?} of case {case}: {shape:?}, {depth:?} deep, {clock:?}"
                    );
                }
                if arrivals && depth.is_some() {
                    queued += u32::from(expected != responses(&asks, shape, None, true));
                }
            }
        }
    }
    assert!(queued > 100, "the depth of the queue made a difference in {queued} runs");
}

/// Time of all operations of the chip, one after another, in microseconds.
fn serial_us(run: &RunResult, timing: &Timing) -> f64 {
    let copies = run.flash.pages_copied;
    let ns = (run.flash.pages_programmed - copies) * timing.program()
        + (run.flash.pages_read - copies) * timing.read()
        + copies * timing.copy_ns
        + run.flash.blocks_erased * timing.erase();
    ns as f64 / 1000.0
}

fn uniform(bytes: u64, interarrival_ns: Option<u64>, read_share: f64) -> Workload {
    Workload {
        spec: "uniform".parse().expect("a workload"),
        bytes: Some(bytes),
        request_bytes: None,
        interarrival_ns,
        read_share,
    }
}

#[test]
fn pages_one_at_a_time_take_serial_time_and_several_overlap() {
    let workload = uniform(64 << 20, None, 0.3);
    for banks in [2, 4, 8] {
        let device = small(banks, banks, 512 / banks);
        let timing = device.profile.timing;
        let job = job(device, policy("greedy"), Input::Workload(&workload));
        let at_depth = |queue_depth| done(&Job { queue_depth, ..job.clone() });
        let one = at_depth(Some(1));
        assert!(one.flash.pages_copied > 1000, "cleaning takes part");
        assert_eq!(one.elapsed_us, serial_us(&one, &timing), "{banks} banks");
        assert_eq!(at_depth(None).stable_json()["elapsed_us"], one.elapsed_us, "the default");
        let mut last = one.elapsed_us;
        for depth in [2, 4, 8, 64] {
            let run = at_depth(Some(depth));
            assert_eq!(run.flash, one.flash, "what is done does not depend on when");
            let speed = one.elapsed_us / run.elapsed_us;
            println!("{banks} banks, {depth} deep: {speed:.2} times as fast");
            assert!(run.elapsed_us <= last, "{banks} banks, {depth} deep");
            assert!(speed > 1.1 && speed <= f64::from(banks.min(depth)), "{speed} times as fast");
            last = run.elapsed_us;
        }
        assert!(one.elapsed_us / last > 0.8 * f64::from(banks), "a deep queue keeps all at work");
    }
}

#[test]
fn banks_overlap_fully_but_for_their_channels() {
    // Sequential writes, as many at once as there are banks. A program is 37 us of channel and 201
    // of bank, so a channel serves 6.4 banks.
    let writes: Vec<Ask> = (0..4000).map(|page| write(page, 1)).collect();
    let (setup, busy) = (37.0, 201.0);
    for (banks, channels, per_turn) in [
        (1, 1, setup + busy),
        (4, 4, setup + busy),
        (4, 2, setup + busy),
        (4, 1, setup + busy),
        (8, 8, setup + busy),
        (8, 2, setup + busy),
        (8, 1, 8.0 * setup),
    ] {
        let device = small(banks, channels, 512);
        let trace = trace(&writes, page_size(&device));
        let run = done(&Job {
            fill: Fill::Nothing,
            clock: Some(Clock::Device),
            queue_depth: Some(banks),
            ..job(device, policy("greedy"), Input::Trace(&trace, 1))
        });
        let expected = per_turn * f64::from(4000 / banks);
        let off = run.elapsed_us - expected;
        println!("{banks} banks on {channels} channels: {} us for {expected}", run.elapsed_us);
        assert!((0.0..=(setup + busy) + 8.0 * setup).contains(&off), "{banks}, {channels}: {off}");
    }
}

#[test]
fn one_bank_of_two_is_the_engine_without_a_clock() {
    // Only even pages, so that the second bank never works; compared with half as many pages on one
    // bank, whose operations are added up without a clock.
    let mut draws = Draws(3);
    let two = small(2, 1, 64);
    let one = small(1, 1, 64);
    let logical = 800;
    for arrivals in [false, true] {
        let mut time_ns = 0;
        let mut asks: Vec<Ask> = (0..20_000)
            .map(|_| {
                // Bursts, and pauses in which several blocks are cleaned.
                let pause = if draws.happens(1) { 60_000_000 } else { 1_500_000 };
                time_ns += u64::from(draws.below(pause));
                let op = if draws.happens(30) { Op::Read } else { Op::Write };
                let first = draws.below(logical) >> draws.below(6);
                Ask { time_ns, op, first, pages: 1 }
            })
            .collect();
        asks.push(Ask { time_ns, op: Op::Read, first: logical - 1, pages: 1 });
        let doubled: Vec<Ask> =
            asks.iter().map(|ask| Ask { first: 2 * ask.first, ..*ask }).collect();
        let halves = [trace(&asks, page_size(&one)), trace(&doubled, page_size(&two))];
        let clock = Some(if arrivals { Clock::Arrivals } else { Clock::Device });
        let idle = arrivals.then_some("timer(after=2ms, free=8)");
        for name in ["greedy", "cost-benefit", "update-interval", "fifo"] {
            for idle in [None, idle] {
                for queue_depth in [None, Some(1)] {
                    let of = |device: &Device, trace| {
                        done(&Job {
                            clock,
                            queue_depth,
                            ..job(device.clone(), idling(name, idle), Input::Trace(trace, 1))
                        })
                    };
                    let (serial, clocked) = (of(&one, &halves[0]), of(&two, &halves[1]));
                    assert_eq!(clocked.banks[1].erases, 0);
                    assert!(serial.flash.pages_copied > 2000, "cleaning takes part");
                    let case = format!("{name}, {idle:?}, {queue_depth:?} deep, {clock:?}");
                    assert_eq!(serial.flash, clocked.flash, "{case}");
                    assert_eq!(serial.response_us, clocked.response_us, "{case}");
                    assert_eq!(serial.elapsed_us, clocked.elapsed_us, "{case}");
                    let idle_victims = serial.cleaning.idle_victims;
                    assert_eq!(idle_victims, clocked.cleaning.idle_victims, "{case}");
                    let share = idle_victims as f64 / serial.cleaning.victims as f64;
                    let some = (0.1..0.9).contains(&share);
                    assert!(if idle.is_some() { some } else { share == 0.0 }, "{share}, {case}");
                }
            }
        }
    }
}

#[test]
fn cleaning_shows_in_the_longest_responses_and_idle_cleaning_takes_it_from_there() {
    for banks in [1, 4] {
        let device = small(banks, banks, 512 / banks);
        let program_us = TIMING.program() as f64 / 1000.0;
        // Few requests arrive while a block is cleaned.
        let workload = uniform(32 << 20, Some(400_000_000), 0.0);
        let job = job(device, policy("greedy"), Input::Workload(&workload));
        let foreground = done(&job);
        let policy = idling("greedy", Some("timer(after=1ms, free=6)"));
        let idle = done(&Job { policy, ..job });
        let (w, i) = (foreground.response_us.write, idle.response_us.write);
        println!(
            "{banks} banks, foreground: p50 {:?} p99 {:?} p99.9 {:?} WA {:.3?}; idle: p50 {:?} p99 \
             {:?} p99.9 {:?} WA {:.3?}, {} of {} victims",
            w.p50,
            w.p99,
            w.p999,
            foreground.write_amplification,
            i.p50,
            i.p99,
            i.p999,
            idle.write_amplification,
            idle.cleaning.idle_victims,
            idle.cleaning.victims
        );
        let us = |time: Option<f64>| time.expect("measured");
        let near = |time: f64| (time / program_us - 1.0).abs() < 0.002;
        assert!(near(us(w.p50)) && near(us(i.p50)));
        // At least an erase, and most of a block of survivors.
        assert!(us(w.p99) > TIMING.erase() as f64 / 1000.0 && us(w.p999) >= us(w.p99));
        assert!(near(us(i.p99)), "{:?} for {:?}", i.p99, w.p99);
        let (before, after) = (foreground.write_amplification, idle.write_amplification);
        assert!(after > before, "what is cleaned early has more survivors: {after:?}, {before:?}");
        assert_eq!(foreground.cleaning.idle_victims, 0);
        assert!(idle.cleaning.idle_victims as f64 > 0.95 * idle.cleaning.victims as f64);
        assert!(us(i.mean) < us(w.mean));
    }
}

#[test]
fn what_is_cleaned_after_an_answer_is_waited_for_by_who_comes_next_only() {
    // One bank, with a clock because cleaning is eager.
    let mut draws = Draws(9);
    let logical = 800;
    let mut asks: Vec<Ask> = (0..8000_u64)
        .map(|i| Ask {
            time_ns: i * 30_000_000,
            op: Op::Write,
            first: draws.below(logical),
            pages: 1,
        })
        .collect();
    let device = small(1, 1, 64);
    let program_us = TIMING.program() as f64 / 1000.0;
    let mut policy = policy("greedy");
    policy.trigger = Trigger::Eager;
    let of = |asks: &[Ask], clock| {
        let trace = trace(asks, page_size(&device));
        let job = job(device.clone(), policy.clone(), Input::Trace(&trace, 1));
        done(&Job { clock: Some(clock), ..job })
    };
    let seldom = of(&asks, Clock::Arrivals);
    assert!(seldom.flash.pages_copied > 2000);
    assert_eq!(seldom.response_us.write.max, Some(program_us), "nobody is in the way");
    // Every request arrives during the last one's cleaning. No cleaning is lost or done twice.
    let at_once = of(&asks, Clock::Device);
    assert_eq!(at_once.flash, seldom.flash);
    assert_eq!(at_once.response_us.write.p50.map(f64::round), Some(program_us));
    let timing = device.profile.timing;
    let last = at_once.elapsed_us / serial_us(&at_once, &timing);
    assert!((0.999..=1.0).contains(&last), "all is done when the last is, but for its cleaning");
    // Two at a time: the second waits for the first one and for the cleaning that it caused.
    for pair in asks.chunks_mut(2) {
        pair[1].time_ns = pair[0].time_ns;
    }
    let pairs = of(&asks, Clock::Arrivals);
    assert_eq!(pairs.flash, seldom.flash);
    let erase_us = TIMING.erase() as f64 / 1000.0;
    assert!(pairs.response_us.write.max > Some(2.0 * program_us + erase_us));
}

#[test]
fn idle_cleaning_waits_for_gaps() {
    // Requests at equal gaps, shorter and longer than the timer plus a cleaning.
    let device = small(4, 2, 32);
    for (gap, idles) in [(400_000_u64, false), (2_000_000, false), (30_000_000, true)] {
        let mut draws = Draws(6);
        let logical = 1500;
        let asks: Vec<Ask> = (0..12_000_u64)
            .map(|i| Ask { time_ns: i * gap, op: Op::Write, first: draws.below(logical), pages: 1 })
            .collect();
        let trace = trace(&asks, page_size(&device));
        let timer = idling("greedy", Some("timer(after=2500us, free=5)"));
        let job = job(device.clone(), policy("greedy"), Input::Trace(&trace, 1));
        let foreground = done(&job);
        let run = done(&Job { policy: timer, ..job });
        assert!(run.cleaning.victims > 500);
        let share = run.cleaning.idle_victims as f64 / run.cleaning.victims as f64;
        println!("every {} us: {share:.3} of the victims in idle time", gap / 1000);
        assert!(if idles { share > 0.99 } else { share == 0.0 }, "{share} at gaps of {gap} ns");
        if idles {
            // Requests find the bank idle; without a timer they wait for at least an erase.
            let program_us = TIMING.program() as f64 / 1000.0;
            assert_eq!(run.response_us.write.max, Some(program_us));
            let erase_us = TIMING.erase() as f64 / 1000.0;
            assert!(foreground.response_us.write.p999 > Some(erase_us + program_us));
        } else {
            assert_eq!((run.flash, run.response_us), (foreground.flash, foreground.response_us));
        }
    }
}

#[test]
fn a_queue_in_arrival_order_waits_for_room_and_a_deeper_one_less() {
    // More requests arrive than one bank can serve, and fewer than all banks can.
    let device = small(4, 4, 128);
    let workload = uniform(16 << 20, Some(300_000), 0.2);
    let job = job(device, policy("greedy"), Input::Workload(&workload));
    let runs = [Some(1), Some(2), Some(4), Some(64), None]
        .map(|queue_depth| done(&Job { queue_depth, ..job.clone() }));
    let means = runs.each_ref().map(|run| run.response_us.write.mean.expect("measured"));
    println!("mean writes at depths 1, 2, 4, 64, any: {means:?}");
    assert!(means.is_sorted_by(|more, less| more >= less), "{means:?}");
    assert!(means[0] > 2.0 * means[4], "{means:?}");
    for run in &runs {
        assert_eq!(run.flash, runs[0].flash, "what is done does not depend on when");
        assert!(run.response_us.write.p50 >= Some(TIMING.program() as f64 / 1000.0));
        assert!(Some(run.elapsed_us) >= run.trace.arrivals_us);
    }
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let waiting = uniform(8 << 20, Some(200_000), 0.2);
    let at_once = uniform(8 << 20, None, 0.0);
    let mut jobs = Vec::new();
    for (banks, channels) in [(2, 1), (4, 4), (8, 2)] {
        for name in
            ["greedy", "striping-static", "striping-dynamic", "update-interval", "d-choices"]
        {
            for (workload, queue_depth) in [(&waiting, None), (&at_once, Some(4))] {
                let device = small(banks, channels, 1024 / banks);
                let policy = idling(name, Some("timer(after=1ms)"));
                let job = job(device, policy, Input::Workload(workload));
                jobs.push(Job { queue_depth, ..job });
            }
        }
    }
    let on = |threads| {
        let results = compare(&jobs, threads, &Progress::default()).expect("runs");
        results.iter().map(|result| result.stable_json().to_string()).collect::<Vec<_>>()
    };
    let one = on(1);
    assert_eq!(one, on(3));
    assert_eq!(one, on(8));
    // Bank assignment and queue have an effect.
    let distinct: std::collections::BTreeSet<_> = one.iter().collect();
    assert_eq!(distinct.len(), one.len());
}

#[test]
fn a_bank_without_garbage_keeps_no_other_from_being_cleaned_in_idle_time() {
    // The odd pages are written once, in order, so that their bank is nearly full and has nothing
    // to clean. There are few even pages, written in bursts of five blocks with long pauses.
    let mut draws = Draws(11);
    let device = small(2, 2, 64);
    let (odd, even) = (60 * 16, 20 * 16);
    let once = (0..odd).map(|page| (0, 2 * page + 1));
    let bursts = (0..12_000_u64)
        .map(|i| ((1 + i / 80) * 1_000_000_000 + i % 80 * 300_000, 2 * draws.below(even)));
    let asks: Vec<Ask> = once
        .chain(bursts)
        .map(|(time_ns, first)| Ask { time_ns, op: Op::Write, first, pages: 1 })
        .collect();
    let trace = trace(&asks, page_size(&device));
    let policy = idling("greedy", Some("timer(after=1ms, free=8)"));
    let job = job(device, policy, Input::Trace(&trace, 1));
    let run = done(&Job { fill: Fill::Nothing, ..job });
    assert_eq!(run.banks[1].erases, 0);
    assert!(run.cleaning.victims > 500);
    assert_eq!(run.cleaning.idle_victims, run.cleaning.victims, "none while somebody waits");
}
