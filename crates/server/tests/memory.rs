//! A thousand clients that request much and read nothing: the memory of the process stays bounded, another
//! client is served meanwhile, and the memory is returned in the end. A separate process, so that its size
//! is meaningful.

use std::{
    fs,
    time::{Duration, Instant},
};

use thermocline_nbd::wire;
use thermocline_server::{Limits, Options};

#[path = "server/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "server/layer.rs"]
#[allow(dead_code)]
mod layer;
#[path = "server/running.rs"]
#[allow(dead_code)]
mod running;

use running::{Running, opening};

const CLIENTS: usize = 1000;
const MIB: u64 = 1 << 20;
/// Memory for large buffers.
const BUFFERS: u64 = 64 * MIB;
/// Further memory of a connection: its own buffers, and the used pages of its stack.
const EACH: u64 = 224 << 10;

/// Memory that this process uses now, in bytes.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the system tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kib << 10
}

/// A hundred, with the limits that a server has by default, which want replies that cannot fail late: these are put
/// together as a whole where there is memory.
fn a_hundred_clients_use_at_most_256_mib() {
    let running = Running::start(vec![opening(40)], Options::default());
    let mut good = running.connect();
    for at in (0..40).map(|n| n * MIB) {
        assert_eq!(good.write(at, &vec![7; MIB as usize]).expect("an answer"), 0);
    }
    let before = resident();
    let simple = |_| client::Client::connect(&running.socket, false).expect("it is let in");
    let mut hostile: Vec<_> = (0..100).map(simple).collect();
    for client in &mut hostile {
        for _ in 0..4 {
            client.send(wire::CMD_READ, 0, 0, 32 << 20, &[]).expect("the server takes it");
        }
    }
    let (begun, mut peak) = (Instant::now(), 0);
    // Longer where the machine is busy with other things.
    let took = |peak: u64| peak.saturating_sub(before) > 64 * MIB;
    while begun.elapsed() < Duration::from_secs(2)
        || !took(peak) && begun.elapsed() < Duration::from_secs(60)
    {
        assert_eq!(good.write(0, &[9; 4096]).expect("an answer"), 0);
        peak = peak.max(resident());
        std::thread::sleep(Duration::from_millis(5));
    }
    let grown = peak.saturating_sub(before);
    println!("100 clients: {} MiB more at the peak", grown / MIB);
    assert!(took(peak), "they took nothing: {} MiB", grown / MIB);
    let most = Limits::default().memory as u64 + 100 * EACH;
    assert!(grown <= most && most <= 256 * MIB, "{} of {} MiB", grown / MIB, most / MIB);
}

#[test]
fn a_thousand_clients_that_take_no_answers_use_bounded_memory_and_give_it_back() {
    a_hundred_clients_use_at_most_256_mib();
    let limits = Limits { connections: 1100, memory: BUFFERS as usize, ..Limits::default() };
    let running = Running::start(vec![opening(40)], Options { limits, ..Options::default() });
    let mut good = running.connect();
    for at in (0..40).map(|n| n * MIB) {
        assert_eq!(good.write(at, &vec![7; MIB as usize]).expect("an answer"), 0);
    }
    let before = resident();

    let mut hostile: Vec<_> = (0..CLIENTS).map(|_| running.connect()).collect();
    for client in &mut hostile {
        for _ in 0..4 {
            client.send(wire::CMD_READ, 0, 0, 32 << 20, &[]).expect("the server takes it");
        }
    }
    let (begun, mut peak, mut served, mut slowest) = (Instant::now(), 0, 0, Duration::ZERO);
    // Three seconds at least: the machine may be busy with other things.
    while begun.elapsed() < Duration::from_secs(3) || served < 200 {
        let asked = Instant::now();
        assert_eq!(good.write(served % 4096 * 4096, &[9; 4096]).expect("an answer"), 0);
        slowest = slowest.max(asked.elapsed());
        served += 1;
        if served % 64 == 0 {
            peak = peak.max(resident());
        }
    }
    let grown = peak.saturating_sub(before);
    println!(
        "{CLIENTS} clients: {} MiB more at the peak; {served} writes of another client, the slowest in \
         {slowest:?}",
        grown / MIB
    );
    assert!(grown < BUFFERS + CLIENTS as u64 * EACH, "{} MiB", grown / MIB);
    assert!(slowest < Duration::from_secs(10), "a write took {slowest:?}");

    drop(hostile);
    let begun = Instant::now();
    while resident() > before + 64 * MIB {
        let left = resident().saturating_sub(before) / MIB;
        assert!(begun.elapsed() < Duration::from_secs(30), "{left} MiB were not given back");
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("{} MiB more in the end", resident().saturating_sub(before) / MIB);
}
