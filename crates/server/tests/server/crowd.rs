//! Clients that want more than their share: of memory, of time, of connections.

use std::{
    io::{Read, Write},
    sync::atomic::Ordering::SeqCst,
    time::{Duration, Instant},
};

use thermocline_nbd::wire;
use thermocline_server::{Limits, Listener, Opening, Options, Server};

use crate::{
    client::{Client, greet, unix},
    layer,
    running::{Running, opening, with_metrics},
    slow::Slow,
};

const DF: u16 = 1 << 2;

fn limited(limits: Limits) -> Running {
    Running::start(vec![opening(16)], Options { limits, ..with_metrics() })
}

/// Bytes that depend on their position.
fn pattern(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|at| (at / 7 % 251) as u8 + 1).collect()
}

#[test]
fn long_reads_are_whole_whatever_memory_there_is_and_whatever_replies_the_client_takes() {
    for memory in [0, 3 << 20, 256 << 20] {
        let running = limited(Limits { memory, ..Limits::default() });
        let mut expected = vec![0; 9 << 20];
        let mut writer = running.connect();
        for (at, length) in [(0, 1 << 20), ((1 << 20) + 4096, 700_000), (5 << 20, 3 << 20)] {
            let data = pattern(at, length);
            assert_eq!(writer.write(at as u64, &data).expect("an answer"), 0);
            expected[at..at + length].copy_from_slice(&data);
        }
        for structured in [true, false] {
            let mut client = Client::connect(&running.socket, structured).expect("a connection");
            for flags in if structured { [0, DF] } else { [0, 0] } {
                for (at, length) in [(0, 9 << 20), (12_345, 6_000_001), (4096, 262_145)] {
                    let mut found = vec![9; length];
                    let sent = client.send(wire::CMD_READ, flags, at, length as u32, &[]);
                    let reply = client.receive(at, &mut found).expect("a reply");
                    assert_eq!(reply, (sent.expect("it is taken"), 0));
                    let here = &expected[at as usize..at as usize + length];
                    assert!(found == here, "{memory} bytes, {structured}, {flags}: {at}+{length}");
                }
            }
        }
    }
}

#[test]
fn a_page_lost_in_the_midst_of_a_long_read_is_an_error_and_the_connection_goes_on() {
    for memory in [0, 256 << 20] {
        let (chip, known) = Slow::chip(400, Duration::ZERO);
        let opening = Opening::new(layer::page_mapped(chip, "greedy", 4096, 0));
        let limits = Limits { memory, ..Limits::default() };
        let running = Running::start(vec![opening], Options { limits, ..with_metrics() });
        let data = pattern(0, 8 << 20);
        assert_eq!(running.connect().write(0, &data).expect("an answer"), 0);
        for structured in [true, false] {
            let mut client = Client::connect(&running.socket, structured).expect("a connection");
            let mut found = vec![0; 4 << 20];
            known.unreadable.store(701, SeqCst);
            assert_eq!(client.read(0, &mut found[..1 << 20]).expect("an answer"), 0);
            let error = if structured {
                client.read(0, &mut found).expect("an answer")
            } else {
                // Without data behind it: the error takes the place of the whole reply.
                client.ask(wire::CMD_READ, 0, 0, 4 << 20, &[]).expect("an answer")
            };
            assert_eq!(error, 5, "EIO with {memory} bytes, structured {structured}");
            known.unreadable.store(0, SeqCst);
            assert_eq!(client.read(0, &mut found).expect("an answer"), 0);
            assert!(found == data[..4 << 20]);
        }
    }
}

#[test]
fn a_read_of_more_than_the_maximum_is_refused_and_the_connection_goes_on() {
    let opening = opening(64);
    let running = Running::start(vec![opening], with_metrics());
    let mut client = running.connect();
    let refused = client.ask(wire::CMD_READ, 0, 0, 48 << 20, &[]).expect("an answer");
    assert!(matches!(refused, 22 | 75), "EINVAL or EOVERFLOW, not {refused}");
    assert_eq!(client.read(0, &mut [0; 512]).expect("an answer"), 0);
}

#[test]
fn a_client_that_takes_no_answers_is_cut_off_and_gives_its_memory_back() {
    let stall = Duration::from_millis(300);
    let running = limited(Limits { stall, memory: 8 << 20, ..Limits::default() });
    let mut client = running.connect();
    client.write(0, &pattern(0, 8 << 20)).expect("an answer");
    for _ in 0..16 {
        client.send(wire::CMD_READ, 0, 0, 8 << 20, &[]).expect("the server takes it");
    }
    let begun = Instant::now();
    while running.metric("thermocline_connections_stalled_total") < 1.0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it is never cut off");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut all = Vec::new();
    let _ = client.pipe.read_to_end(&mut all);
    assert!(all.len() < 8 << 20, "{} bytes were sent after all", all.len());
    while running.metric("thermocline_connection_buffers_bytes") > 0.0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "a lease is never given back");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_client_that_does_not_go_on_with_a_request_is_cut_off_and_one_that_only_waits_is_not() {
    let limits = Limits { stall: Duration::from_millis(300), ..Limits::default() };
    let running = limited(limits);
    let mut waits = running.connect();
    for (length, bytes) in [(4096, 0), (4096, 100), (4 << 20, 100_000)] {
        let mut client = running.connect();
        let mut request = wire::REQUEST_MAGIC.to_be_bytes().to_vec();
        if bytes > 0 {
            request.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            request.extend_from_slice(&u32::to_be_bytes(length));
            request.resize(request.len() + bytes, 7);
        }
        client.pipe.write_all(&request).expect("the server takes it");
        let begun = Instant::now();
        assert_eq!(client.pipe.read(&mut [0]).unwrap_or(0), 0, "it is cut off");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
    assert_eq!(waits.write(0, &[1; 4096]).expect("an answer"), 0);
}

#[test]
fn an_idle_client_is_cut_off_where_the_server_is_told_so() {
    let idle = Some(Duration::from_secs(2));
    let running = limited(Limits { idle, ..Limits::default() });
    let (mut busy, mut lazy) = (running.connect(), running.connect());
    for _ in 0..20 {
        assert_eq!(busy.write(0, &[1; 4096]).expect("an answer"), 0);
        std::thread::sleep(Duration::from_millis(150));
    }
    assert_eq!(lazy.pipe.read(&mut [0]).unwrap_or(0), 0, "it is cut off");
}

#[test]
fn silent_connections_give_way_to_others() {
    let handshake = Duration::from_secs(120);
    let running = limited(Limits { connections: 20, handshake, ..Limits::default() });
    let mut silent: Vec<_> =
        (0..30).map(|_| unix(&running.socket).expect("the server listens")).collect();
    let begun = Instant::now();
    let mut good: Vec<_> = (0..10).map(|_| running.connect()).collect();
    assert!(begun.elapsed() < Duration::from_secs(60), "long before handshakes time out");
    for client in &mut good {
        assert_eq!(client.write(0, &[1; 4096]).expect("an answer"), 0);
    }
    assert!(running.metric("thermocline_handshakes_displaced_total") >= 20.0);
    // Those that came first went first, perhaps before they were greeted.
    let mut greeting = Vec::new();
    silent[0].read_to_end(&mut greeting).expect("it is cut off");
    assert!(matches!(greeting.len(), 0 | 18), "{} bytes", greeting.len());
    greet(silent.last_mut().expect("there are some")).expect("the last one is still served");
}

#[test]
fn one_address_does_not_take_all_connections() {
    let limits = Limits { connections_per_address: 3, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let mut server = Server::new(vec![opening(1)], options).expect("a server");
    let listener = Listener::tcp("127.0.0.1:0").expect("there is a port").remove(0);
    let address = listener.address();
    server.listen(listener);
    let stopper = server.stopper();
    let serving = std::thread::spawn(move || server.run());
    let connect = |address: &str| {
        let stream = std::net::TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        Client::shake(Box::new(stream), "", true)
    };
    let clients: Vec<_> = (0..3).map(|_| connect(&address).expect("a place")).collect();
    assert!(connect(&address).is_err(), "the fourth is turned away");
    drop(clients);
    let begun = Instant::now();
    while connect(&address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody is let in again");
    }
    stopper.stop();
    serving.join().expect("the server does not panic").expect("it ends in good order");
}
