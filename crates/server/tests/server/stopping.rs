//! The end of a server.

use std::{
    sync::atomic::Ordering::SeqCst,
    time::{Duration, Instant},
};

use thermocline_nbd::wire;
use thermocline_server::{Limits, Opening, Options};

use crate::{layer::page_mapped, running::Running, slow::Slow};

#[test]
fn a_server_that_stops_answers_what_was_begun_refuses_the_rest_and_leaves_all_lasting() {
    let (chip, known) = Slow::chip(80, Duration::from_millis(300));
    let opening = Opening::new(page_mapped(chip, "greedy", 2048, 0));
    let mut running = Running::start(vec![opening], Options::default());
    let (mut one, mut two) = (running.connect(), running.connect());
    one.write(0, &[1; 4096]).expect("an answer");
    let sent = one.send(wire::CMD_FLUSH, 0, 0, 0, &[]).expect("the server takes it");
    std::thread::sleep(Duration::from_millis(50));
    two.write(4096, &[2; 4096]).expect("an answer");
    running.stopper.stop();
    std::thread::sleep(Duration::from_millis(50));
    // The flush that was begun still runs, so the server is still there.
    assert_eq!(two.write(8192, &[3; 4096]).expect("an answer"), 108, "ESHUTDOWN");
    assert_eq!(two.read(0, &mut [0; 512]).expect("an answer"), 108);
    assert!(crate::client::unix(&running.socket).is_err(), "nobody is let in any more");
    assert_eq!(one.receive(0, &mut []).expect("an answer"), (sent, 0));
    running.ended().expect("it ends in good order");
    assert_eq!(known.lasting.load(SeqCst), 2, "what was answered lasts, flushed or not");
    assert!(!running.socket.exists(), "the socket's file is gone");
    assert!(two.write(0, &[1]).is_err(), "the connection is gone");
}

#[test]
fn a_server_that_is_told_twice_to_stop_returns_at_once() {
    let (chip, _known) = Slow::chip(80, Duration::from_secs(20));
    let opening = Opening::new(page_mapped(chip, "greedy", 2048, 0));
    let mut running = Running::start(vec![opening], Options::default());
    let mut client = running.connect();
    client.write(0, &[1; 4096]).expect("an answer");
    let begun = Instant::now();
    running.stopper.stop();
    std::thread::sleep(Duration::from_millis(100));
    running.stopper.stop();
    running.ended().expect("that is no failure");
    assert!(begun.elapsed() < Duration::from_secs(10), "it waited for the sync");
}

#[test]
fn idle_and_stuck_connections_do_not_hold_up_the_end() {
    let mut running = Running::simple(64);
    let idle: Vec<_> = (0..20).map(|_| running.connect()).collect();
    let _silent = crate::client::unix(&running.socket).expect("the server listens");
    let mut stuck = running.connect();
    stuck.write(0, &vec![1; 8 << 20]).expect("an answer");
    for _ in 0..64 {
        stuck.send(wire::CMD_READ, 0, 0, 8 << 20, &[]).expect("the server takes it");
    }
    let begun = Instant::now();
    running.stop().expect("it ends in good order");
    assert!(begun.elapsed() < Duration::from_secs(20));
    for mut client in idle {
        let end = client.pipe.read(&mut [0]).expect("an end, and not a reset");
        assert_eq!(end, 0, "nobody asked, so nothing is said");
    }
}

#[test]
fn requests_of_clients_that_died_do_not_hold_up_the_end() {
    let opening = crate::running::opening(64);
    let limits = Limits { grace: Duration::from_secs(40), ..Limits::default() };
    let mut running = Running::start(vec![opening], Options { limits, ..Options::default() });
    for _ in 0..3 {
        let mut dying = running.connect();
        // More than a socket's buffer holds, so the server has begun when this returns.
        dying.send(wire::CMD_WRITE, 0, 0, 8 << 20, &vec![1; 4 << 20]).expect("the server takes it");
        let mut deaf = running.connect();
        deaf.write(0, &vec![2; 8 << 20]).expect("an answer");
        deaf.send(wire::CMD_READ, 0, 0, 8 << 20, &[]).expect("the server takes it");
        // A part of the answer has come: the request was begun, and the rest cannot be sent.
        deaf.pipe.read_exact(&mut [0; 64]).expect("the answer begins");
    }
    let begun = Instant::now();
    running.stop().expect("it ends in good order");
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited for who is gone");
}

#[test]
fn a_socket_whose_path_is_too_long_is_refused_with_the_limit() {
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let here = folder.path().as_os_str().len() + 1;
    let longest = folder.path().join("x".repeat(107 - here));
    drop(thermocline_server::Listener::unix(&longest).expect("it fits"));
    let path = folder.path().join("x".repeat(108 - here));
    let refused = thermocline_server::Listener::unix(&path).expect_err("too long").to_string();
    assert!(refused.contains("108 bytes") && refused.contains("at most 107"), "{refused}");
}

#[test]
fn a_socket_that_a_dead_server_left_is_replaced_and_a_living_one_is_not() {
    use thermocline_server::Listener;
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let path = folder.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("the folder is fresh"));
    assert!(path.exists());
    let living = Listener::unix(&path).expect("the old one is replaced");
    let refused = Listener::unix(&path).expect_err("it lives").to_string();
    assert!(refused.contains("another server listens"), "{refused}");
    drop(living);
    std::fs::write(&path, "precious").expect("a file");
    let refused = Listener::unix(&path).expect_err("it is no socket").to_string();
    assert!(refused.contains("no socket"), "{refused}");
    assert_eq!(std::fs::read(&path).expect("it is still there"), b"precious");
}
