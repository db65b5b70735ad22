//! Disk counters, which contain no requests.

use crate::read::entry::Refused;

pub(super) const COUNTERS: Refused = Refused {
    detect: |sample| {
        let is_iostat = |line: &&[u8]| line.starts_with(b"Device") && line.ends_with(b"%util");
        // Two numbers, a name, and at least eleven counters.
        let is_diskstats = |line: &[u8]| {
            let is_number = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
            let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            match words.collect::<Vec<_>>()[..] {
                [major, minor, name, ref counters @ ..] => {
                    counters.len() >= 11
                        && is_number(major)
                        && is_number(minor)
                        && !is_number(name)
                        && counters.iter().all(|word| is_number(word))
                }
                _ => false,
            }
        };
        let lines = sample.lines.iter().map(|line| line.trim_ascii());
        lines.clone().take(10).any(|line| is_iostat(&line)) || is_diskstats(sample.first_line())
    },
    what: "these are counters of disks, as of iostat and /proc/diskstats, and not requests",
    remedy: "record requests, as `thermocline record DISK ‹for 10m›` does",
};
