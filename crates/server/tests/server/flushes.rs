//! Durability of flushes, and shared syncs.

use std::{
    sync::{Barrier, atomic::Ordering::SeqCst},
    time::Duration,
};

use thermocline_nbd::wire;
use thermocline_server::Opening;

use crate::{
    layer::page_mapped,
    running::{Running, with_metrics},
    slow::Slow,
};

fn slow(ms: u64) -> (Running, std::sync::Arc<crate::slow::Known>) {
    let (chip, known) = Slow::chip(80, Duration::from_millis(ms));
    let opening = Opening::new(page_mapped(chip, "greedy", 2048, 0));
    (Running::start(vec![opening], with_metrics()), known)
}

#[test]
fn flushes_of_many_connections_share_syncs() {
    const CLIENTS: u64 = 16;
    const ROUNDS: u64 = 10;
    let (running, known) = slow(20);
    let ready = Barrier::new(CLIENTS as usize);
    std::thread::scope(|scope| {
        for i in 0..CLIENTS {
            let (running, ready, known) = (&running, &ready, &known);
            scope.spawn(move || {
                let mut client = running.connect();
                ready.wait();
                for round in 0..ROUNDS {
                    assert_eq!(client.write(i * 4096, &[round as u8; 4096]).expect("an answer"), 0);
                    let programs = known.programs.load(SeqCst);
                    assert_eq!(client.flush().expect("an answer"), 0);
                    assert!(known.lasting.load(SeqCst) >= programs, "what was answered lasts");
                }
            });
        }
    });
    let syncs = known.syncs.load(SeqCst);
    assert_eq!(known.lasting.load(SeqCst), CLIENTS * ROUNDS, "every write lasts");
    assert!(syncs < CLIENTS * ROUNDS / 3, "{syncs} syncs for {} flushes", CLIENTS * ROUNDS);
    assert_eq!(running.metric("thermocline_flushes_total"), (CLIENTS * ROUNDS) as f64);
    assert_eq!(running.metric("thermocline_syncs_total"), syncs as f64);
    assert_eq!(running.metric("thermocline_flushes_per_sync_count"), syncs as f64);
}

#[test]
fn a_flush_covers_what_was_answered_on_other_connections() {
    let (running, known) = slow(5);
    let (mut one, mut two) = (running.connect(), running.connect());
    for i in 1..20_u64 {
        one.write(i * 4096, &[1; 4096]).expect("an answer");
        assert_eq!(known.lasting.load(SeqCst), i - 1, "a write alone makes nothing last");
        two.flush().expect("an answer");
        assert_eq!(known.lasting.load(SeqCst), i);
    }
}

#[test]
fn a_write_with_fua_lasts_when_it_is_answered_and_sixteen_at_once_share_a_sync() {
    let (running, known) = slow(5);
    let mut client = running.connect();
    let fua = wire::CMD_FLAG_FUA;
    assert_eq!(client.ask(wire::CMD_WRITE, fua, 0, 4, &[1; 4]).expect("an answer"), 0);
    assert_eq!((known.lasting.load(SeqCst), known.syncs.load(SeqCst)), (1, 1));
    // In one piece, so that one system call brings them all.
    let mut bytes = Vec::new();
    for cookie in 0..16_u64 {
        bytes.extend_from_slice(&wire::REQUEST_MAGIC.to_be_bytes());
        bytes.extend_from_slice(&fua.to_be_bytes());
        bytes.extend_from_slice(&wire::CMD_WRITE.to_be_bytes());
        bytes.extend_from_slice(&cookie.to_be_bytes());
        bytes.extend_from_slice(&(cookie * 4096).to_be_bytes());
        bytes.extend_from_slice(&8_u32.to_be_bytes());
        bytes.extend_from_slice(&[2; 8]);
    }
    client.pipe.write_all(&bytes).expect("the server takes it");
    for _ in 0..16 {
        assert_eq!(client.receive(0, &mut []).expect("an answer").1, 0);
    }
    assert_eq!(known.lasting.load(SeqCst), 17);
    assert_eq!(known.syncs.load(SeqCst), 2, "one for all sixteen");
}

#[test]
fn a_flush_with_nothing_new_syncs_nothing() {
    let (running, known) = slow(0);
    let mut client = running.connect();
    client.write(0, &[1; 4096]).expect("an answer");
    for _ in 0..10 {
        client.flush().expect("an answer");
    }
    assert_eq!(known.syncs.load(SeqCst), 1);
    client.ask(wire::CMD_TRIM, 0, 0, 4096, &[]).expect("an answer");
    client.flush().expect("an answer");
    assert_eq!(known.syncs.load(SeqCst), 2, "a trim must last too");
}

/// A killed server may have written data that the mount shows.
#[test]
fn the_first_flush_syncs_what_nobody_wrote_to() {
    let (running, known) = slow(0);
    let mut client = running.connect();
    for _ in 0..3 {
        client.flush().expect("an answer");
    }
    assert_eq!(known.syncs.load(SeqCst), 1);
}

#[test]
fn after_a_sync_that_found_no_room_the_next_flush_makes_up_for_it() {
    let (running, known) = slow(0);
    let mut client = running.connect();
    client.write(0, &[1; 4096]).expect("an answer");
    known.syncs_are_full.store(true, SeqCst);
    assert_eq!(client.flush().expect("an answer"), 28);
    let (status, body) = running.get("/healthz").expect("an answer");
    assert!(status.contains("503") && body.contains("write or flush again"), "{status}: {body}");
    known.syncs_are_full.store(false, SeqCst);
    assert_eq!(client.flush().expect("an answer"), 0);
    assert!(running.get("/healthz").expect("an answer").0.contains("200"));
}

#[test]
fn after_a_sync_that_failed_no_flush_is_answered_well_and_reads_go_on() {
    let (mut running, known) = slow(0);
    let mut client = running.connect();
    client.write(0, &[1; 4096]).expect("an answer");
    known.syncs_fail.store(true, SeqCst);
    assert_eq!(client.flush().expect("an answer"), 5);
    known.syncs_fail.store(false, SeqCst);
    assert_eq!(client.flush().expect("an answer"), 5, "nobody knows what the system dropped");
    let mut found = [0; 4096];
    assert_eq!(client.read(0, &mut found).expect("an answer"), 0);
    assert_eq!(found, [1; 4096]);
    let (status, body) = running.get("/healthz").expect("an answer");
    assert!(status.contains("503") && body.contains("on fire"), "{status}: {body}");
    drop(client);
    running.stop().expect("the chip syncs again, so it closes in order");
}

#[test]
fn requests_are_served_while_a_sync_runs() {
    let (running, _known) = slow(4000);
    let (mut one, mut two) = (running.connect(), running.connect());
    one.write(0, &[1; 4096]).expect("an answer");
    let sent = one.send(wire::CMD_FLUSH, 0, 0, 0, &[]).expect("the server takes it");
    std::thread::sleep(Duration::from_millis(50));
    let begun = std::time::Instant::now();
    two.write(4096, &[2; 4096]).expect("an answer");
    assert!(begun.elapsed() < Duration::from_secs(3), "it waited for the sync");
    assert_eq!(one.receive(0, &mut []).expect("an answer"), (sent, 0));
}

#[test]
fn a_page_that_cannot_be_read_is_an_error_with_its_place_and_its_neighbours_are_fine() {
    let (running, known) = slow(0);
    let mut client = running.connect();
    client.write(0, &[1; 16_384]).expect("an answer");
    // The first block takes pages in order: the third logical page is in its third page.
    known.unreadable.store(3, SeqCst);
    let mut found = [0; 4096];
    assert_eq!(client.read(8192, &mut found).expect("an answer"), 5);
    assert_eq!(client.read(4096, &mut found).expect("an answer"), 0);
    assert_eq!(client.ask(wire::CMD_WRITE, 0, 8200, 1, &[9]).expect("an answer"), 5, "half of it");
    assert_eq!(client.write(8192, &[3; 4096]).expect("an answer"), 0, "all of it anew");
    assert_eq!(client.read(8192, &mut found).expect("an answer"), 0);
}
