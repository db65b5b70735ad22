//! Disk counters, which contain no requests.

use crate::read::entry::Refused;

pub(super) const COUNTERS: Refused = Refused {
    detect: |sample| {
        let words =
            |line: &[u8]| line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).count();
        let is_iostat = |line: &&[u8]| line.starts_with(b"Device") && line.ends_with(b"%util");
        // At least fourteen figures after two numbers and a name.
        let is_diskstats = |line: &[u8]| {
            let mut fields = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let is_number = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
            let [major, minor, name] = [fields.next(), fields.next(), fields.next()];
            words(line) >= 14
                && [major, minor].iter().flatten().all(|word| is_number(word))
                && name.is_some_and(|name| !is_number(name))
                && fields.all(is_number)
        };
        let lines = sample.lines.iter().map(|line| line.trim_ascii());
        lines.clone().take(10).any(|line| is_iostat(&line)) || is_diskstats(sample.first_line())
    },
    what: "these are counters of disks, as of iostat and /proc/diskstats, and not requests",
    remedy: "record requests, as `thermocline record DISK ‹for 10m›` does",
};
