//! Many connections, and misbehaving ones: no other connection suffers.

use std::{
    io::{Read, Write},
    time::{Duration, Instant},
};

use thermocline_nbd::wire;
use thermocline_server::{Limits, Options};

use crate::{
    client::{Client, greet, option, option_reply, unix},
    running::{Running, opening, with_metrics},
};

#[test]
fn a_thousand_connections_are_served_at_the_same_time() {
    let limits = Limits { connections: 1100, ..Limits::default() };
    let running = Running::start(vec![opening(8)], Options { limits, ..with_metrics() });
    let mut clients: Vec<_> = (0..1000).map(|_| running.connect()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.write(i as u64 * 4096, &[i as u8; 4096]).expect("the server answers");
    }
    assert_eq!(running.metric("thermocline_connections{"), 1000.0);
    for (i, client) in clients.iter_mut().enumerate() {
        let other = (i + 500) % 1000;
        let mut found = [0; 4096];
        assert_eq!(client.read(other as u64 * 4096, &mut found).expect("an answer"), 0);
        assert_eq!(found, [other as u8; 4096]);
    }
}

#[test]
fn more_connections_than_allowed_are_turned_away_and_served_when_others_leave() {
    let limits = Limits { connections: 2, ..Limits::default() };
    let running = Running::start(vec![opening(1)], Options { limits, ..with_metrics() });
    let (one, _two) = (running.connect(), running.connect());
    let mut third = unix(&running.socket).expect("the server listens");
    assert_eq!(third.read(&mut [0; 1]).ok(), Some(0), "closed without a greeting");
    assert_eq!(running.metric("thermocline_connections_refused_total"), 1.0);
    drop(one);
    let begun = Instant::now();
    while Client::connect(&running.socket, true).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nobody is let in again");
    }
}

#[test]
fn who_does_not_finish_the_handshake_in_time_is_dropped_however_it_dallies() {
    let limits = Limits { handshake: Duration::from_millis(300), ..Limits::default() };
    let running = Running::start(vec![opening(1)], Options { limits, ..Options::default() });
    let begun = Instant::now();
    // One sends nothing, the other a byte at a time.
    let mut silent = unix(&running.socket).expect("the server listens");
    let mut dallies = unix(&running.socket).expect("the server listens");
    let drips = std::thread::spawn(move || {
        greet(&mut dallies).expect("the greeting comes");
        let mut bytes = 0;
        // An option of a kilobyte, of which the server wants to see all.
        let mut head = wire::OPTION_MAGIC.to_be_bytes().to_vec();
        head.extend_from_slice(&wire::OPT_INFO.to_be_bytes());
        head.extend_from_slice(&1024_u32.to_be_bytes());
        let all = head.into_iter().chain(std::iter::repeat_n(0, 1024));
        for byte in all {
            if dallies.write_all(&[byte]).is_err() {
                break;
            }
            bytes += 1;
            std::thread::sleep(Duration::from_millis(10));
        }
        bytes
    });
    let mut text = Vec::new();
    silent.read_to_end(&mut text).expect("the server closes");
    assert_eq!(text.len(), 18, "the greeting and nothing else");
    let bytes = drips.join().expect("the client does not panic");
    assert!(bytes < 1000, "{bytes} bytes were listened to");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn who_reads_no_replies_holds_up_nobody_else() {
    let running = Running::simple(64);
    let mut greedy = running.connect();
    greedy.write(0, &vec![7; 16 << 20]).expect("the server answers");
    // It requests 64 × 16 MiB and reads nothing: the server cannot send it.
    for _ in 0..64 {
        greedy.send(wire::CMD_READ, 0, 0, 16 << 20, &[]).expect("the server takes it");
    }
    let mut other = running.connect();
    for i in 0..200 {
        assert_eq!(other.write(i * 4096, &[i as u8; 4096]).expect("an answer"), 0);
    }
    assert_eq!(other.flush().expect("an answer"), 0);
    // The sleeping client continues.
    let mut found = vec![0; 16 << 20];
    greedy.receive(0, &mut found).expect("a reply");
    assert!(found[..].iter().skip(1 << 20).all(|byte| *byte == 7));
}

#[test]
fn an_option_of_four_gigabytes_ends_the_connection_and_nothing_else() {
    let running = Running::simple(1);
    let mut stream = unix(&running.socket).expect("the server listens");
    greet(&mut stream).expect("the greeting comes");
    stream.write_all(&wire::OPTION_MAGIC.to_be_bytes()).expect("the server takes it");
    stream.write_all(&wire::OPT_GO.to_be_bytes()).expect("the server takes it");
    stream.write_all(&u32::MAX.to_be_bytes()).expect("the server takes it");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("the server closes");
    assert_eq!(running.connect().write(0, &[1]).expect("an answer"), 0);
}

#[test]
fn an_unknown_export_is_refused_and_the_handshake_goes_on() {
    let running = Running::simple(1);
    let mut stream = unix(&running.socket).expect("the server listens");
    greet(&mut stream).expect("the greeting comes");
    option(&mut stream, wire::OPT_GO, b"\0\0\0\x04nope\0\0").expect("the server takes it");
    assert_eq!(option_reply(&mut stream).expect("an answer").0, wire::REP_ERR_UNKNOWN);
    let client = Client::choose(Box::new(stream), "", true).expect("the first export");
    assert_eq!(client.size, 1 << 20);
    assert!(client.flags & wire::SEND_MULTI_CONN != 0);
}

#[test]
fn wrong_requests_get_an_error_and_the_connection_goes_on() {
    let running = Running::simple(1);
    let mut client = running.connect();
    let end = client.size;
    for (command, flags, offset, length, errno) in [
        (wire::CMD_READ, 0, end, 1, 22),
        (wire::CMD_READ, 0, u64::MAX, 1, 22),
        (wire::CMD_TRIM, 0, end - 1, 2, 22),
        (wire::CMD_WRITE_ZEROES, 0, end - 1, 2, 28),
        (99, 0, 0, 0, 22),
        (wire::CMD_READ, 1 << 15, 0, 1, 22),
        (wire::CMD_TRIM, 0, 17, 0, 0),
    ] {
        let found = client.ask(command, flags, offset, length, &[]).expect("an answer");
        assert_eq!(found, errno, "command {command} with flags {flags:#x} at {offset}");
    }
    assert_eq!(client.write(end - 10, &[1; 11]).expect("an answer"), 28);
    let long = vec![1; 1 << 20];
    assert_eq!(client.write(end - 10, &long).expect("an answer"), 28, "it is taken off the stream");
    assert_eq!(client.write(end - 10, &[1; 10]).expect("an answer"), 0);
}
