//! File workloads: the file system is sound, its metadata are complete, and each script has its
//! intended slack.

mod slack;
mod traffic;
mod volume;

use thermocline_filehost::{FileOptions, FileWorkload, HostOptions, Scenario};
use thermocline_trace::{Op, Source};
use traffic::{SECTOR, Traffic, VOLUME};

fn short(seed: u64) -> FileOptions {
    FileOptions { bytes: Some(2 << 20), seed, ..FileOptions::new(VOLUME) }
}

#[test]
fn one_seed_gives_one_traffic() {
    for scenario in Scenario::ALL {
        let first = Traffic::of(scenario, &short(7));
        let again = Traffic::of(scenario, &short(7));
        let other = Traffic::of(scenario, &short(8));
        assert!(first.sent == again.sent && first.prelude == again.prelude, "{scenario}");
        assert!(first.sent != other.sent, "{scenario}");
    }
}

#[test]
fn batches_of_any_size_are_the_same_traffic() {
    let collect = |limit: usize| {
        let mut source = FileWorkload::new(Scenario::CellPhone, &short(1)).expect("a volume");
        let (mut batch, mut all) = (Vec::new(), Vec::new());
        loop {
            source.next_batch(&mut batch, limit).expect("generators do not fail");
            if batch.is_empty() {
                return all;
            }
            for (i, request) in batch.iter().enumerate() {
                all.push((*request, source.contents().of(i).map(<[u8]>::to_vec)));
            }
        }
    };
    assert!(collect(1) == collect(100_000));
}

#[test]
fn requests_lie_on_the_volume_and_follow_the_hosts_clock() {
    let host = HostOptions::default();
    for scenario in Scenario::ALL {
        let mut free_ns = 0;
        for sent in &Traffic::usual(scenario).sent {
            let request = sent.request;
            assert!(request.len > 0 && request.offset + request.len <= VOLUME, "{scenario}");
            assert!((request.offset | request.len).is_multiple_of(SECTOR as u64), "{scenario}");
            assert!(request.len <= host.request_bytes, "{scenario}");
            assert_eq!(request.volume, 0);
            // The device takes one request at a time.
            assert!(request.time_ns >= free_ns, "{scenario}");
            let each = match request.op {
                Op::Write => host.sector_write_ns,
                Op::Read => host.sector_read_ns,
                op => panic!("{scenario}: {op:?}"),
            };
            free_ns = request.time_ns + request.len / SECTOR as u64 * each;
            if let Some(bytes) = &sent.bytes {
                assert_eq!(bytes.len() as u64, request.len, "{scenario}");
            }
        }
    }
}

#[test]
fn workloads_write_what_was_asked_and_count_it() {
    for scenario in Scenario::ALL {
        let traffic = Traffic::of(scenario, &short(1));
        let written = |sent: &[traffic::Sent]| -> u64 {
            sent.iter().filter(|s| s.request.op == Op::Write).map(|s| s.request.len).sum()
        };
        let proper = written(traffic.proper());
        // One file operation more, or what the page cache still held.
        assert!((2 << 20..4 << 20).contains(&proper), "{scenario}: {proper}");
        let tally = traffic.tally;
        assert_eq!(tally.written, written(&traffic.sent), "{scenario}");
        assert_eq!(tally.prelude_written, tally.written - proper, "{scenario}");
        assert!(tally.written_metadata < tally.written, "{scenario}");
    }
}

#[test]
fn a_volume_fuller_than_scripts_can_keep_is_refused() {
    let odd = FileOptions { utilization: 0.95, ..FileOptions::new(VOLUME) };
    assert!(FileWorkload::new(Scenario::S1, &odd).is_err());
}
