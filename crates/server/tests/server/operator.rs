//! Reports about a failing chip: errors, logs, health and figures.

use std::{
    io::Write,
    sync::{Arc, Mutex, Once, PoisonError, atomic::Ordering::SeqCst},
    time::{Duration, Instant},
};

use thermocline_media::{Faults, Faulty, Ram};
use thermocline_nbd::wire;
use thermocline_server::Opening;

use crate::{
    client::Client,
    layer::{RULES, geometry, page_mapped},
    running::{Running, opening, with_metrics},
    slow::{Known, Slow},
};

/// All that was logged.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn keep_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing_subscriber::fmt().with_ansi(false).with_writer(|| Lines).init());
}

/// The lines about an export that hold a text.
fn logged(export: &str, text: &str) -> Vec<String> {
    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let log = String::from_utf8_lossy(&log);
    let name = format!("export=\"{export}\"");
    log.lines().filter(|line| line.contains(&name) && line.contains(text)).map(Into::into).collect()
}

fn logged_soon(export: &str, text: &str) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let lines = logged(export, text);
        if !lines.is_empty() || begun.elapsed() > Duration::from_secs(20) {
            return lines;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server whose chip can be made to fail, and what makes it.
fn troubled(name: &str) -> (Running, Arc<Known>) {
    keep_log();
    let (chip, known) = Slow::chip(80, Duration::ZERO);
    let layer = page_mapped(chip, "greedy", 2048, 0);
    let named = Opening { name: name.into(), ..Opening::new(layer) };
    (Running::start(vec![named], with_metrics()), known)
}

#[test]
fn a_chip_that_wears_out_says_so_to_hosts_in_the_log_in_its_health_and_in_the_metrics() {
    keep_log();
    let faults: Faults = "seed=3,program=0.02".parse().expect("faults");
    let chip = Faulty::with_faults(Ram::new(geometry(24), RULES), faults);
    let layer = page_mapped(Box::new(chip), "greedy", 512, 0);
    let named = Opening { name: "wearing".into(), ..Opening::new(layer) };
    let running = Running::start(vec![named], with_metrics());
    assert!(running.get("/healthz").expect("an answer").0.contains("200"));
    assert_eq!(running.metric("thermocline_worn_out{"), 0.0);
    assert!(running.metric("thermocline_spare_blocks{") > 3.0);
    let mut client = running.connect();
    let refused = (0..100_000_u64)
        .map(|i| client.write(i % 512 * 4096, &[1; 4096]).expect("an answer"))
        .find(|&error| error != 0);
    assert_eq!(refused, Some(1), "EPERM: it takes no writes any more");
    for i in 0..200 {
        assert_eq!(client.write(i * 4096, &[1; 4096]).expect("an answer"), 1);
    }
    assert_eq!(client.read(0, &mut [0; 4096]).expect("an answer"), 0, "reads go on");
    let (status, body) = running.get("/healthz").expect("an answer");
    assert!(status.contains("503") && body.contains("read-only"), "{status}: {body}");
    assert_eq!(running.metric("thermocline_worn_out{"), 1.0);
    assert_eq!(running.metric("thermocline_read_only{"), 1.0);
    assert_eq!(running.metric("thermocline_spare_blocks{"), 0.0);
    assert!(!logged_soon("wearing", "programs or erases of the chip failed").is_empty());
    let over = logged_soon("wearing", "the chip takes no more writes");
    assert!(over.len() == 1 && over[0].contains("ERROR"), "{over:?}");
    let refusals = logged("wearing", "a request was refused");
    assert!((1..20).contains(&refusals.len()), "a line a second: {refusals:?}");
}

#[test]
fn a_page_that_cannot_be_read_is_logged() {
    let (running, known) = troubled("fading");
    let mut client = running.connect();
    client.write(0, &[1; 8192]).expect("an answer");
    known.unreadable.store(2, SeqCst);
    assert_eq!(client.read(4096, &mut [0; 4096]).expect("an answer"), 5, "EIO");
    let lines = logged_soon("fading", "a request failed");
    assert!(lines[0].contains("ERROR") && lines[0].contains("logical page 1"), "{lines:?}");
}

#[test]
fn a_full_file_system_is_enospc_with_the_remedy_and_nothing_is_broken_by_it() {
    let (running, known) = troubled("full");
    let mut client = running.connect();
    assert_eq!(client.write(0, &[1; 4096]).expect("an answer"), 0);
    known.is_full.store(true, SeqCst);
    assert_eq!(client.flush().expect("an answer"), 28, "ENOSPC");
    assert_eq!(client.write(4096, &[2; 4096]).expect("an answer"), 28, "ENOSPC");
    let lines = logged_soon("full", "the file system of the image is full");
    assert!(lines[0].contains("WARN") && lines[0].contains("make room"), "{lines:?}");
    known.is_full.store(false, SeqCst);
    assert_eq!(client.write(4096, &[2; 4096]).expect("an answer"), 0);
    assert_eq!(client.flush().expect("an answer"), 0, "there is room again");
    let mut found = [0; 8192];
    assert_eq!(client.read(0, &mut found).expect("an answer"), 0);
    assert!(found[..4096] == [1; 4096] && found[4096..] == [2; 4096]);
}

#[test]
fn requests_that_had_to_last_and_pages_of_the_log_are_counted_apart() {
    let running = Running::start(vec![opening(8)], with_metrics());
    let mut client: Client = running.connect();
    let fua = wire::CMD_FLAG_FUA;
    for i in 0..3 {
        assert_eq!(client.ask(wire::CMD_WRITE, fua, i * 4096, 4, &[1; 4]).expect("answer"), 0);
    }
    assert_eq!(client.write(0, &[2; 4096]).expect("an answer"), 0);
    assert_eq!(client.flush().expect("an answer"), 0);
    assert_eq!(running.metric("thermocline_fua_requests_total{"), 3.0);
    assert_eq!(running.metric("thermocline_flushes_total{"), 4.0);
    // This layer keeps no log.
    assert_eq!(running.metric("thermocline_index_pages_programmed_total{"), 0.0);
}
