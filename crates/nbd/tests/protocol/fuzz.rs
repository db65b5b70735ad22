//! Random and broken streams. Whatever a client sends, in whatever pieces, the server's answers are
//! the same, valid and bounded.
//!
//! Deterministic. `THERMOCLINE_FUZZ_SECONDS` runs each test for this many seconds instead of a
//! fixed number of cases.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::common::{
    client::{Asked, Words, outcomes},
    contexts, exports, extended, extended_headers, go, hex, option, queries, request,
    session::{End, Session},
    structured,
};
use proptest::prelude::*;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use thermocline_nbd::{Headers, Negotiated, Settings, Tls};

/// Number of cases without a time limit.
const CASES: u64 = 3_000;

/// Maximum number of received bytes that a server buffers: an option that is parsed.
const RECEIVED: usize = (16 << 10) + 16;

/// Maximum memory of the output, in bytes: the longest read of these streams with its headers, in a
/// buffer that doubles.
const OUTPUT: usize = 2 * ((1 << 20) + (4 << 10));

fn cases(mut case: impl FnMut(&mut Chance)) {
    let seconds = std::env::var("THERMOCLINE_FUZZ_SECONDS").ok();
    let seconds = seconds.map(|text| text.parse().expect("a number of seconds"));
    let since = Instant::now();
    let left = |seed| match seconds {
        None => seed < CASES,
        Some(seconds) => since.elapsed() < Duration::from_secs_f64(seconds),
    };
    let mut seed = 0;
    while left(seed) {
        let mut chance = Chance(Xoshiro256PlusPlus::seed_from_u64(seed));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(&mut chance)));
        if let Err(panic) = caught {
            eprintln!("case {seed}");
            std::panic::resume_unwind(panic);
        }
        seed += 1;
    }
}

struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A number that is an edge case for parsers.
    fn number(&mut self) -> u64 {
        let edge = self.of(&[0, 1, 511, 512, 4096, 1 << 20, 1 << 25, 1 << 31, 1 << 32, 1 << 63]);
        match self.below(4) {
            0 => edge,
            1 => edge.wrapping_sub(1),
            2 => edge.wrapping_add(1),
            _ => self.0.next_u64() >> self.below(64),
        }
    }

    fn option(&mut self) -> Vec<u8> {
        let names = ["", "big", "small", "nowhere"];
        let name = self.of(&names);
        match self.below(14) {
            0 | 1 => structured(),
            2 => extended_headers(),
            3 | 4 => contexts(),
            5 => option(self.of(&[9, 10]), &queries(name, &["base:", "x-thermocline:", "y:"])),
            6 => option(3, &[]),
            7 => option(6, &go(name, &[0, 1, 2, 3, 9])),
            8 => option(7, &go("nowhere", &[3])),
            9 => option(self.below(14) as u32, &vec![b':'; self.below(20) as usize]),
            10 => option(99, &vec![7; self.below(20_000) as usize]),
            11 if self.one_in(8) => option(5, &[]),
            12 if self.one_in(8) => option(2, b"bye"),
            _ => option(self.of(&[9, 10]), &queries(name, &["base:allocation"])),
        }
    }

    /// A handshake that mostly succeeds.
    fn handshake(&mut self) -> Vec<u8> {
        let mut bytes = hex(self.of(&["00000003", "00000003", "00000003", "00000001", "00000000"]));
        for _ in 0..self.below(8) {
            bytes.extend(self.option());
        }
        let name = self.of(&["", "big", "big", "small"]);
        if self.one_in(4) {
            bytes.extend(option(1, name.as_bytes()));
        } else {
            bytes.extend(option(7, &go(name, &[3])));
        }
        bytes
    }

    /// A request, mostly within the export, with its payload.
    fn request(&mut self, headers: Headers, cookie: u64) -> (Vec<u8>, Asked) {
        let command = self.of(&[0, 0, 1, 1, 1, 3, 4, 5, 6, 7, 7, 8]);
        let mut flags = self.of(&[0, 0, 1, 2, 4, 8, 16]);
        if self.one_in(20) {
            flags |= 1 << self.below(16);
        }
        let (mut offset, mut length) = (self.below(1 << 20), self.below(8192));
        match self.below(20) {
            0 => offset = self.number(),
            1 => length = u64::from(self.number() as u32),
            2 => (offset, length) = (0, self.below((1 << 20) + 2)),
            3 => length = 0,
            _ => {}
        }
        if command == 3 && !self.one_in(5) {
            (offset, length) = (0, 0);
        }
        if command == 1 {
            // Its bytes are really sent.
            length %= 70_000;
        }
        if headers != Headers::Extended {
            let mut bytes = request(command, flags, cookie, offset, length as u32);
            if command == 1 {
                bytes.extend((0..length).map(|at| (at ^ cookie) as u8));
            }
            return (bytes, Asked { command, flags, offset, length });
        }
        if command == 1 {
            flags |= 32;
        } else if flags & 32 != 0 {
            length %= 1000;
        }
        let mut bytes = extended(command, flags, cookie, offset, length);
        let mut asked = Asked { command, flags, offset, length };
        if flags & 32 != 0 {
            bytes.extend((0..length).map(|at| (at ^ cookie) as u8));
        } else if command == 7 && self.one_in(3) {
            // The status of only some contexts.
            let mut list = asked.length.to_be_bytes().to_vec();
            for _ in 0..self.below(4) {
                list.extend((self.below(4) as u32).to_be_bytes());
            }
            bytes = extended(7, flags | 32, cookie, offset, list.len() as u64);
            bytes.extend(list);
            asked.flags |= 32;
        }
        (bytes, asked)
    }

    /// Corrupts a stream somewhere.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() as u64 + 1) as usize;
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.0.next_u64() as u8),
                2 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                3 => {
                    let number = self.number().to_be_bytes();
                    let take = self.of(&[2, 4, 8]).min(bytes.len() - at);
                    bytes[at..at + take].copy_from_slice(&number[8 - take..]);
                }
                4 => {
                    let end = at + self.below(64).min((bytes.len() - at) as u64) as usize;
                    let again = bytes[at..end].to_vec();
                    bytes.splice(at..at, again);
                }
                _ => {
                    let end = at + self.below(64).min((bytes.len() - at) as u64) as usize;
                    bytes.drain(at..end);
                }
            }
        }
    }

    fn settings(&mut self) -> Settings {
        let tls = self.of(&[Tls::Off, Tls::Off, Tls::Off, Tls::Available, Tls::Required]);
        Settings { tls, extended_headers: !self.one_in(8), ..Settings::default() }
    }

    /// Feeds a stream in pieces, sometimes small ones.
    fn feed_in_pieces(&mut self, session: &mut Session, mut bytes: &[u8]) {
        let most = self.of(&[1, 2, 7, 40, 1000, 100_000]);
        // Byte by byte, a long stream shows no more than its beginning.
        let most = if bytes.len() > 20_000 { most.max(500) } else { most };
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(1 + self.below(most) as usize));
            session.feed(piece);
            bytes = rest;
        }
    }
}

fn session(settings: Settings) -> Session {
    Session::new(settings, exports(), 1 << 20)
}

fn bounded(session: &Session) {
    assert!(session.most_received <= RECEIVED, "{} bytes held back", session.most_received);
    assert!(session.most_output <= OUTPUT, "{} bytes of output", session.most_output);
}

/// Feeds a stream whole and in pieces, and checks that the results are equal.
fn same_in_pieces(chance: &mut Chance, settings: Settings, bytes: &[u8]) -> Session {
    let (mut whole, mut pieces) = (session(settings), session(settings));
    whole.feed(bytes);
    chance.feed_in_pieces(&mut pieces, bytes);
    assert_eq!(whole.sent, pieces.sent);
    assert_eq!(whole.ended, pieces.ended);
    assert_eq!(whole.negotiated(), pieces.negotiated());
    assert_eq!((whole.requests, whole.refused), (pieces.requests, pieces.refused));
    assert!(whole.disk == pieces.disk, "the disks differ");
    bounded(&pieces);
    whole
}

#[test]
fn handshakes_in_pieces_end_as_whole_ones_do() {
    let (mut through, mut closed) = (0, 0);
    cases(|chance| {
        let settings = chance.settings();
        let bytes = chance.handshake();
        let session = same_in_pieces(chance, settings, &bytes);
        bounded(&session);
        through += u32::from(session.negotiated().is_some());
        closed += u32::from(matches!(session.ended, Some(End::Closed(_))));
    });
    assert!(through > 100 && closed > 100, "{through} got through, {closed} did not");
}

#[test]
fn broken_handshakes_in_pieces_end_as_whole_ones_do() {
    cases(|chance| {
        let settings = chance.settings();
        let mut bytes = chance.handshake();
        chance.mutate(&mut bytes);
        bounded(&same_in_pieces(chance, settings, &bytes));
    });
}

/// A session in the transmission phase, with its negotiated parameters.
fn open(chance: &mut Chance) -> (Vec<u8>, Negotiated) {
    loop {
        let bytes = chance.handshake();
        let mut session = session(Settings::default());
        session.feed(&bytes);
        // The random stream may select an export before its last option, which is then parsed as a
        // request.
        if let Some(negotiated) = session.negotiated().filter(|_| session.waits()) {
            return (bytes, negotiated);
        }
    }
}

#[test]
fn requests_in_pieces_end_as_whole_ones_do_and_every_reply_is_sound() {
    let (mut done, mut refused) = (0, 0);
    cases(|chance| {
        let (greeting, negotiated) = open(chance);
        let (mut bytes, mut asked) = (Vec::new(), BTreeMap::new());
        for _ in 0..1 + chance.below(20) {
            let cookie = chance.0.next_u64();
            let (request, ask) = chance.request(negotiated.headers, cookie);
            bytes.extend(request);
            asked.insert(cookie, ask);
        }
        let (mut whole, mut pieces) = (session(Settings::default()), session(Settings::default()));
        for session in [&mut whole, &mut pieces] {
            session.feed(&greeting);
            session.sent.clear();
        }
        whole.feed(&bytes);
        chance.feed_in_pieces(&mut pieces, &bytes);
        assert_eq!(whole.ended, None);
        assert_eq!(whole.sent, pieces.sent);
        assert!(whole.disk == pieces.disk, "the disks differ");
        bounded(&pieces);

        let outcomes = outcomes(negotiated.headers, &asked, &whole.sent);
        assert_eq!(outcomes.len(), asked.len(), "each request has one reply");
        let errors = outcomes.values().filter(|outcome| outcome.error != 0).count() as u64;
        // Zeroes that must be allocated cannot be fast, which is not a refusal.
        assert!(errors >= whole.refused);
        done += outcomes.len() as u64 - errors;
        refused += errors;
    });
    assert!(done > 1000 && refused > 1000, "{done} done, {refused} refused");
}

#[test]
fn broken_requests_in_pieces_end_as_whole_ones_do() {
    cases(|chance| {
        let (greeting, negotiated) = open(chance);
        let mut bytes = Vec::new();
        for cookie in 0..1 + chance.below(10) {
            bytes.extend(chance.request(negotiated.headers, cookie).0);
        }
        chance.mutate(&mut bytes);
        let bytes = [greeting, bytes].concat();
        same_in_pieces(chance, Settings::default(), &bytes);
    });
}

#[test]
fn noise_ends_the_connection_or_waits() {
    cases(|chance| {
        let mut bytes = hex("00000003");
        let noise = 1 + chance.below(300) as usize;
        if chance.one_in(2) {
            bytes.extend(hex("'IHAVEOPT'"));
        }
        bytes.resize_with(bytes.len() + noise, || chance.0.next_u64() as u8);
        same_in_pieces(chance, Settings::default(), &bytes);
    });
}

#[test]
fn a_client_that_never_stops_negotiating_is_cut_off() {
    let mut session = session(Settings::default());
    session.feed(&hex("00000003"));
    let list = option(3, &[]).repeat(100);
    let mut fed = 0;
    while session.ended.is_none() {
        session.feed(&list);
        fed += 100;
        assert!(fed <= 300, "256 options are enough");
    }
    bounded(&session);
    let mut words = Words(&session.sent[18..]);
    let mut replies = 0;
    while !words.0.is_empty() {
        assert_eq!(words.number(8), 0x0003_e889_0455_65a9);
        words.number(8);
        let length = words.number(4) as usize;
        words.take(length);
        replies += 1;
    }
    assert_eq!(replies, 256 * 3);
}

proptest! {
    #[test]
    fn an_option_of_any_data_gets_one_last_reply_or_ends_the_handshake(
        number in 0_u32..16,
        data in prop::collection::vec(any::<u8>(), 0..200),
        before in prop::sample::select(vec![vec![], structured(), extended_headers()]),
    ) {
        let mut session = session(Settings::default());
        session.feed(&hex("00000003"));
        session.feed(&before);
        session.sent.clear();
        session.feed(&option(number, &data));
        if session.ended.is_none() && session.negotiated().is_none() {
            let mut words = Words(&session.sent);
            let mut last = 0;
            while !words.0.is_empty() {
                prop_assert!(last == 0, "a reply after the last one");
                prop_assert_eq!(words.number(8), 0x0003_e889_0455_65a9);
                prop_assert_eq!(words.number(4), u64::from(number));
                let kind = words.number(4);
                let length = words.number(4) as usize;
                words.take(length);
                last = if kind == 1 || kind >= 1 << 31 { kind } else { 0 };
            }
            prop_assert!(last != 0, "no last reply");
        }
    }

    #[test]
    fn any_request_is_answered_refused_or_waited_for(
        flags: u16, command in 0_u16..10, cookie: u64, offset: u64, length: u64,
        form in 0..3_u8,
    ) {
        let before = match form {
            0 => vec![],
            1 => [structured(), contexts()].concat(),
            _ => [extended_headers(), contexts()].concat(),
        };
        let mut session = session(Settings::default());
        session.feed(&[hex("00000003"), before, option(7, &go("big", &[]))].concat());
        let headers = session.negotiated().expect("transmission").headers;
        session.sent.clear();
        let (bytes, length) = match headers {
            Headers::Extended => (extended(command, flags, cookie, offset, length), length),
            _ => (request(command, flags, cookie, offset, length as u32), length as u32 as u64),
        };
        session.feed(&bytes);
        let waits = if headers == Headers::Extended { flags & 32 != 0 } else { command == 1 };
        if session.ended.is_none() && !waits {
            let asked = BTreeMap::from([(cookie, Asked { command, flags, offset, length })]);
            let outcomes = outcomes(headers, &asked, &session.sent);
            prop_assert_eq!(outcomes.len(), 1);
        } else if session.ended.is_none() {
            prop_assert!(session.sent.is_empty() || length == 0);
        }
    }
}
