//! Whole conversations with a disk in memory, in every form of headers.

use std::collections::BTreeMap;

use crate::common::{
    client::{Asked, Outcome, outcomes},
    command::*,
    contexts, exports, extended, extended_headers,
    flag::*,
    go, hex, option, request,
    session::{End, Session},
    structured,
};
use thermocline_nbd::{Errno, Headers, Settings};

/// A client that sends one request after the other.
struct Client {
    session: Session,
    headers: Headers,
    cookie: u64,
}

impl Client {
    fn new(headers: Headers) -> Client {
        let mut session = Session::new(Settings::default(), exports(), 1 << 20);
        session.feed(&hex("00000003"));
        match headers {
            Headers::Simple => {}
            Headers::Structured => session.feed(&[structured(), contexts()].concat()),
            Headers::Extended => session.feed(&[extended_headers(), contexts()].concat()),
        }
        session.feed(&option(7, &go("big", &[3])));
        assert_eq!(session.negotiated().expect("transmission").headers, headers);
        Client { session, headers, cookie: 7 }
    }

    fn all() -> impl Iterator<Item = Client> {
        [Headers::Simple, Headers::Structured, Headers::Extended].into_iter().map(Client::new)
    }

    fn ask(&mut self, command: u16, flags: u16, offset: u64, length: u32) -> Outcome {
        self.send(command, flags, offset, length, &[])
    }

    fn write(&mut self, flags: u16, offset: u64, data: &[u8]) -> Outcome {
        let flags = if self.headers == Headers::Extended { flags | PAYLOAD_LEN } else { flags };
        self.send(WRITE, flags, offset, data.len() as u32, data)
    }

    fn read(&mut self, offset: u64, length: u32) -> Vec<u8> {
        let outcome = self.ask(READ, 0, offset, length);
        assert_eq!(outcome.error, 0, "{}", outcome.text);
        outcome.data
    }

    fn send(&mut self, command: u16, flags: u16, offset: u64, length: u32, data: &[u8]) -> Outcome {
        self.cookie = self.cookie.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut bytes = match self.headers {
            Headers::Extended => extended(command, flags, self.cookie, offset, length.into()),
            _ => request(command, flags, self.cookie, offset, length),
        };
        bytes.extend(data);
        self.session.sent.clear();
        self.session.feed(&bytes);
        let asked = Asked { command, flags, offset, length: length.into() };
        let asked = BTreeMap::from([(self.cookie, asked)]);
        let mut outcomes = outcomes(self.headers, &asked, &self.session.sent);
        outcomes.remove(&self.cookie).expect("an answer")
    }
}

#[test]
fn what_is_written_is_read() {
    for mut client in Client::all() {
        assert_eq!(client.read(0, 1000), vec![0; 1000], "a new disk reads as zeroes");
        let data: Vec<u8> = (0..=255).cycle().take(5000).collect();
        assert_eq!(client.write(0, 700, &data).error, 0);
        let mut expected = vec![0; 6000];
        expected[700..5700].copy_from_slice(&data);
        assert_eq!(client.read(0, 6000), expected);
        assert_eq!(client.read(5699, 1), [data[4999]]);
    }
}

#[test]
fn trimmed_and_zeroed_ranges_read_as_zeroes() {
    for mut client in Client::all() {
        client.write(0, 0, &[7; 16384]);
        assert_eq!(client.ask(TRIM, 0, 512, 1024).error, 0);
        assert_eq!(client.ask(WRITE_ZEROES, 0, 4096, 4096).error, 0);
        assert_eq!(client.ask(WRITE_ZEROES, NO_HOLE, 8192, 512).error, 0);
        assert_eq!(client.ask(WRITE_ZEROES, FAST_ZERO, 8704, 512).error, 0);
        let both = client.ask(WRITE_ZEROES, FAST_ZERO | NO_HOLE, 10240, 512);
        assert_eq!(both.error, Errno::Unsupported.number());
        let mut expected = vec![7; 16384];
        expected[512..1536].fill(0);
        expected[4096..9216].fill(0);
        assert_eq!(client.read(0, 16384), expected);
    }
}

#[test]
fn holes_come_without_their_zeroes_unless_in_one_piece() {
    for headers in [Headers::Structured, Headers::Extended] {
        let mut client = Client::new(headers);
        client.write(0, 4096, &[7; 4096]);
        let outcome = client.ask(READ, 0, 0, 16384);
        assert_eq!((outcome.chunks, outcome.holes), (3, 12288));
        let whole = client.ask(READ, DF, 0, 16384);
        assert_eq!((whole.chunks, whole.holes), (1, 0));
        assert_eq!(whole.data, outcome.data);
    }
}

#[test]
fn the_status_of_a_range_says_what_is_stored_where() {
    for headers in [Headers::Structured, Headers::Extended] {
        let mut client = Client::new(headers);
        client.write(0, 4096, &[7; 4096]);
        let outcome = client.ask(BLOCK_STATUS, 0, 1024, 16384);
        let allocation = vec![(3072, 3), (4096, 0), (9216, 3)];
        let temperature = vec![(3072, 0), (4096, 2), (9216, 0)];
        assert_eq!(outcome.extents, BTreeMap::from([(1, allocation), (2, temperature)]));
        let one = client.ask(BLOCK_STATUS, REQ_ONE, 1024, 16384);
        assert_eq!(one.extents, BTreeMap::from([(1, vec![(3072, 3)]), (2, vec![(3072, 0)])]));
    }
}

#[test]
fn only_flushes_and_forced_writes_are_durable() {
    for mut client in Client::all() {
        client.write(0, 0, &[1; 512]);
        assert_eq!(client.session.disk.durable[0], 0);
        assert_eq!(client.ask(FLUSH, 0, 0, 0).error, 0);
        assert_eq!(client.session.disk.durable[0], 1);
        client.write(FUA, 512, &[2; 512]);
        assert_eq!(client.session.disk.durable[512], 2);
        client.ask(TRIM, FUA, 0, 512);
        client.ask(WRITE_ZEROES, FUA, 512, 512);
        assert_eq!(client.session.disk.durable[..1024], [0; 1024]);
    }
}

#[test]
fn a_broken_byte_is_an_error_with_its_place() {
    for mut client in Client::all() {
        client.write(0, 0, &[1; 8192]);
        client.session.disk.broken = Some(5000);
        assert_eq!(client.read(0, 4096), [1; 4096]);
        let outcome = client.ask(READ, 0, 0, 8192);
        assert_eq!(outcome.error, Errno::Io.number());
        if client.headers != Headers::Simple {
            assert_eq!(outcome.text, "byte 4608 is broken");
        }
        assert_eq!(client.read(0, 4096), [1; 4096], "the connection goes on");
    }
}

#[test]
fn refused_requests_change_nothing_and_the_connection_goes_on() {
    for mut client in Client::all() {
        let refused = [
            (client.write(0, (1 << 20) - 1, &[1; 2]), Errno::NoSpace),
            (client.write(NO_HOLE, 0, &[1; 512]), Errno::Invalid),
            (client.ask(WRITE_ZEROES, 0, 1 << 20, 1), Errno::NoSpace),
            (client.ask(READ, 0, 1 << 20, 1), Errno::Invalid),
            (client.ask(TRIM, 0, u64::MAX, 1), Errno::Invalid),
            (client.ask(CACHE, DF, 0, 1), Errno::Invalid),
            (client.ask(FLUSH, 0, 0, 1), Errno::Invalid),
            (client.ask(99, 0, 0, 1), Errno::Invalid),
        ];
        for (outcome, errno) in refused {
            assert_eq!(outcome.error, errno.number());
        }
        assert_eq!(client.session.refused, 8);
        assert_eq!(client.read(0, 1 << 20), vec![0; 1 << 20]);
        for command in [READ, TRIM, CACHE, WRITE_ZEROES] {
            assert_eq!(client.ask(command, 0, 512, 0).error, 0, "no bytes are no error");
        }
        assert_eq!(client.write(0, 512, &[]).error, 0);
    }
}

#[test]
fn a_disconnect_has_no_reply() {
    let mut client = Client::new(Headers::Simple);
    client.session.sent.clear();
    client.session.feed(&request(DISC, 0, 1, 0, 0));
    client.session.feed(&request(READ, 0, 2, 0, 512));
    assert_eq!(client.session.ended, Some(End::Disconnected));
    assert!(client.session.sent.is_empty());
}

#[test]
fn a_write_of_32_mib_goes_to_its_place_without_being_gathered_first() {
    let exports = thermocline_nbd::Exports::new(vec![thermocline_nbd::Export::new("", 1 << 25)]);
    let mut session = Session::new(Settings::default(), exports.expect("a sound export"), 1 << 25);
    session.feed(&[hex("00000003"), option(7, &go("", &[]))].concat());
    session.sent.clear();
    session.feed(&request(WRITE, 0, 1, 0, 1 << 25));
    let piece: Vec<u8> = (0..=255).cycle().take(1 << 16).collect();
    for _ in 0..512 {
        session.feed(&piece);
    }
    assert_eq!(session.sent, hex("67446698 00000000 0000000000000001"));
    assert!(session.disk.bytes.chunks(1 << 16).all(|chunk| chunk == piece));
    assert!(session.most_received < 32 && session.most_output < 4096);
}
