//! Random requests of several connections at the same time, against a model in memory.

use std::{collections::HashMap, io};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use thermocline_nbd::wire;

use crate::{client::Client, running::Running};

/// A prime number of bytes: the ranges of connections meet within pages.
const RANGE: u64 = 999_983;
const PAGE: u64 = 4096;
const CONNECTIONS: u64 = 4;

/// A connection that has a range of its own, and knows what must be in it.
struct Worker {
    client: Client,
    random: Xoshiro256PlusPlus,
    from: u64,
    model: Vec<u8>,
}

impl Worker {
    fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    /// Sends up to 32 requests whose ranges do not touch, then takes the replies in any order.
    fn round(&mut self) -> io::Result<()> {
        let count = 1 + self.below(32);
        let each = RANGE / count;
        let mut reads = HashMap::new();
        for i in 0..count {
            let start = i * each + self.below(each / 2);
            let length = match self.below(4) {
                0 => self.below(40) + 1,
                1 => PAGE * (1 + self.below(8)),
                _ => self.below(each) + 1,
            };
            let length = length.min((i + 1) * each - start);
            let offset = self.from + start;
            let here = start as usize..(start + length) as usize;
            let fua = if self.below(8) == 0 { wire::CMD_FLAG_FUA } else { 0 };
            let length = length as u32;
            match self.below(10) {
                0..4 => {
                    let mut data = vec![0; length as usize];
                    self.random.fill_bytes(&mut data);
                    self.model[here].copy_from_slice(&data);
                    self.client.send(wire::CMD_WRITE, fua, offset, length, &data)?;
                }
                4 => {
                    // Only whole pages are sure to be zeros, the rest stays.
                    let first = offset.next_multiple_of(PAGE);
                    let end = (offset + u64::from(length)) / PAGE * PAGE;
                    if first < end {
                        let zeros = (first - self.from) as usize..(end - self.from) as usize;
                        self.model[zeros].fill(0);
                    }
                    self.client.send(wire::CMD_TRIM, fua, offset, length, &[])?;
                }
                5 => {
                    let no_hole = if self.below(2) == 0 { wire::CMD_FLAG_NO_HOLE } else { 0 };
                    self.model[here].fill(0);
                    self.client.send(wire::CMD_WRITE_ZEROES, fua | no_hole, offset, length, &[])?;
                }
                6 => {
                    self.client.send(wire::CMD_FLUSH, 0, 0, 0, &[])?;
                }
                _ => {
                    let cookie = self.client.send(wire::CMD_READ, 0, offset, length, &[])?;
                    reads.insert(cookie, here);
                }
            }
        }
        for _ in 0..count {
            self.take_reply(&mut reads)?;
        }
        assert!(reads.is_empty());
        Ok(())
    }

    /// Replies come in any order.
    fn take_reply(&mut self, reads: &mut HashMap<u64, std::ops::Range<usize>>) -> io::Result<()> {
        let mut room = vec![0xee; RANGE as usize];
        let (cookie, error) = self.client.receive(self.from, &mut room)?;
        assert_eq!(error, 0, "request {cookie} failed");
        if let Some(range) = reads.remove(&cookie) {
            assert!(room[range.clone()] == self.model[range.clone()], "other bytes in {range:?}");
        }
        Ok(())
    }

    fn check_all(&mut self) {
        let mut found = vec![0xee; RANGE as usize];
        assert_eq!(self.client.read(self.from, &mut found).expect("the server answers"), 0);
        assert!(found == self.model, "the range from {} holds other bytes", self.from);
    }
}

#[test]
fn whatever_four_connections_ask_at_once_each_finds_what_it_wrote() {
    let mut running = Running::simple(5);
    let workers: Vec<_> = (0..CONNECTIONS)
        .map(|i| Worker {
            client: running.connect(),
            random: Xoshiro256PlusPlus::seed_from_u64(42 + i),
            from: i * RANGE,
            model: vec![0; RANGE as usize],
        })
        .collect();
    std::thread::scope(|scope| {
        for mut worker in workers {
            scope.spawn(move || {
                for round in 0..60 {
                    worker.round().expect("the server answers");
                    if round % 20 == 19 {
                        worker.check_all();
                    }
                }
            });
        }
    });
    running.stop().expect("it ends in good order");
}

#[test]
fn a_write_longer_than_any_buffer_arrives_whole_and_wherever_it_begins() {
    let running = Running::simple(80);
    for structured in [false, true] {
        let mut client = Client::connect(&running.socket, structured).expect("the server listens");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        for (offset, length) in [(0, 32 << 20), (777, (32 << 20) - 5), (12_345, 262_117)] {
            let mut data = vec![0; length];
            random.fill_bytes(&mut data);
            assert_eq!(client.write(offset, &data).expect("the server answers"), 0);
            let mut found = vec![0; length];
            assert_eq!(client.read(offset, &mut found).expect("the server answers"), 0);
            assert!(found == data, "{length} bytes at {offset}");
        }
    }
}

#[test]
fn what_was_never_written_or_zeroed_is_told_as_holes() {
    let running = Running::simple(8);
    let mut client = running.connect();
    client.write(8192, &[1; 4096]).expect("the server answers");
    client.write(16_384, &[2; 4096]).expect("the server answers");
    client.ask(wire::CMD_WRITE_ZEROES, 0, 16_384, 4096, &[]).expect("the server answers");
    client.send(wire::CMD_READ, 0, 0, 20_480, &[]).expect("the server takes it");
    // The chunks as they come: a hole, data, a hole.
    let mut kinds = Vec::new();
    loop {
        let head: [u8; 20] = crate::client::take(&mut *client.pipe).expect("a chunk");
        let (flags, kind) = (head[5], u16::from_be_bytes([head[6], head[7]]));
        let length = u32::from_be_bytes([head[16], head[17], head[18], head[19]]);
        let mut body = vec![0; length as usize];
        client.pipe.read_exact(&mut body).expect("its body");
        kinds.push((kind, length));
        if flags & 1 != 0 {
            break;
        }
    }
    let hole = (wire::REPLY_OFFSET_HOLE, 12);
    assert_eq!(kinds, [hole, (wire::REPLY_OFFSET_DATA, 8 + 4096), hole]);
}

#[test]
fn zeros_of_whole_pages_take_no_space_unless_they_shall() {
    let running = Running::start(vec![crate::running::opening(8)], crate::running::with_metrics());
    let mut client = running.connect();
    let written = || running.metric("thermocline_host_pages_written_total");
    client.write(0, &[9; 65_536]).expect("the server answers");
    assert_eq!(written(), 16.0);
    assert_eq!(client.ask(wire::CMD_WRITE_ZEROES, 0, 1000, 20_000, &[]).expect("an answer"), 0);
    // Two parts of pages are written, four pages are trimmed.
    assert_eq!(written(), 18.0);
    assert_eq!(running.metric("thermocline_host_pages_trimmed_total"), 4.0);
    let flags = wire::CMD_FLAG_NO_HOLE;
    assert_eq!(client.ask(wire::CMD_WRITE_ZEROES, flags, 0, 65_536, &[]).expect("an answer"), 0);
    assert_eq!(written(), 34.0);
    // Zeros that take up space are no faster than a write, and parts of absent pages are zeros already.
    let flags = wire::CMD_FLAG_NO_HOLE | wire::CMD_FLAG_FAST_ZERO;
    let refused = client.ask(wire::CMD_WRITE_ZEROES, flags, 0, 4096, &[]).expect("an answer");
    assert_eq!(refused, 95);
    assert_eq!(client.ask(wire::CMD_WRITE_ZEROES, 0, 100_000, 100, &[]).expect("an answer"), 0);
    assert_eq!(written(), 34.0);
}
