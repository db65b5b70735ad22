//! The client's side: parses the server's bytes and reassembles reads.

use std::collections::BTreeMap;

use thermocline_nbd::{Headers, wire};

/// The outcome of one request for the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// 0 or an error number.
    pub error: u32,
    pub text: String,
    /// The reassembled data of a read.
    pub data: Vec<u8>,
    /// Bytes received as holes.
    pub holes: u64,
    /// Content chunks.
    pub chunks: u32,
    /// Extents by context number: length and status.
    pub extents: BTreeMap<u32, Vec<(u64, u64)>>,
}

/// A request as recorded by the client.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub command: u16,
    pub flags: u16,
    pub offset: u64,
    pub length: u64,
}

/// Reads big-endian numbers from the front of a slice.
pub struct Words<'a>(pub &'a [u8]);

impl<'a> Words<'a> {
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (first, rest) = self.0.split_at(count);
        self.0 = rest;
        first
    }

    pub fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// Parses all replies. Each request must be answered once, by the rules of the negotiated form.
pub fn outcomes(
    headers: Headers,
    asked: &BTreeMap<u64, Asked>,
    sent: &[u8],
) -> BTreeMap<u64, Outcome> {
    let mut words = Words(sent);
    let mut open: BTreeMap<u64, Outcome> = BTreeMap::new();
    let mut closed = BTreeMap::new();
    while !words.0.is_empty() {
        let magic = words.number(4) as u32;
        if magic == wire::SIMPLE_REPLY_MAGIC {
            assert_ne!(headers, Headers::Extended, "a simple reply with extended headers");
            let (error, cookie) = (words.number(4) as u32, words.number(8));
            let asked = asked[&cookie];
            let mut outcome = Outcome { error, ..Outcome::default() };
            if asked.command == wire::CMD_READ {
                assert_eq!(headers, Headers::Simple, "a simple reply to a read");
                if error == 0 {
                    outcome.data = words.take(asked.length as usize).to_vec();
                }
            }
            assert!(closed.insert(cookie, outcome).is_none(), "answered twice");
            continue;
        }
        let (flags, kind) = (words.number(2) as u16, words.number(2) as u16);
        let cookie = words.number(8);
        let request = asked[&cookie];
        let length = match headers {
            Headers::Simple => panic!("a chunk though none were agreed on"),
            Headers::Structured => {
                assert_eq!(magic, wire::STRUCTURED_REPLY_MAGIC);
                words.number(4)
            }
            Headers::Extended => {
                assert_eq!(magic, wire::EXTENDED_REPLY_MAGIC);
                assert_eq!(words.number(8), request.offset, "the offset of the request");
                words.number(8)
            }
        };
        let outcome = open.entry(cookie).or_default();
        chunk(headers, request, kind, Words(words.take(length as usize)), outcome);
        if flags & wire::REPLY_FLAG_DONE != 0 {
            let outcome = open.remove(&cookie).expect("just put there");
            whole(request, &outcome);
            assert!(closed.insert(cookie, outcome).is_none(), "answered twice");
        }
    }
    assert!(open.is_empty(), "a reply that never ends");
    closed
}

fn chunk(headers: Headers, request: Asked, kind: u16, mut words: Words<'_>, into: &mut Outcome) {
    match kind {
        wire::REPLY_NONE => assert!(words.0.is_empty()),
        wire::REPLY_OFFSET_DATA | wire::REPLY_OFFSET_HOLE => {
            assert_eq!(request.command, wire::CMD_READ);
            // This server sends chunks in order, so they form the read without gaps.
            assert_eq!(words.number(8), request.offset + into.data.len() as u64);
            into.chunks += 1;
            let before = into.data.len();
            if kind == wire::REPLY_OFFSET_DATA {
                into.data.extend_from_slice(words.0);
            } else {
                let hole = words.number(4);
                assert!(words.0.is_empty());
                into.holes += hole;
                into.data.resize(before + hole as usize, 0);
            }
            assert!(into.data.len() > before, "an empty chunk");
            assert!(into.data.len() as u64 <= request.length, "more than was asked for");
        }
        wire::REPLY_ERROR | wire::REPLY_ERROR_OFFSET => {
            into.error = words.number(4) as u32;
            assert_ne!(into.error, 0);
            let length = words.number(2) as usize;
            into.text = String::from_utf8(words.take(length).to_vec()).expect("a text");
            if kind == wire::REPLY_ERROR_OFFSET {
                let at = words.number(8);
                assert!(at >= request.offset && at - request.offset < request.length);
            }
            assert!(words.0.is_empty());
        }
        wire::REPLY_BLOCK_STATUS | wire::REPLY_BLOCK_STATUS_EXT => {
            assert_eq!(request.command, wire::CMD_BLOCK_STATUS);
            let extended = kind == wire::REPLY_BLOCK_STATUS_EXT;
            assert_eq!(extended, headers == Headers::Extended);
            let context = words.number(4) as u32;
            let width = if extended { 8 } else { 4 };
            let count = if extended { words.number(4) } else { words.0.len() as u64 / 8 };
            let extents: Vec<_> =
                (0..count).map(|_| (words.number(width), words.number(width))).collect();
            assert!(words.0.is_empty() && count != 0);
            assert!(into.extents.insert(context, extents).is_none(), "a context twice");
        }
        other => panic!("a chunk of type {other}"),
    }
}

/// Checks a complete reply.
fn whole(request: Asked, outcome: &Outcome) {
    if outcome.error != 0 {
        assert!(!outcome.text.is_empty(), "an error without a text");
        assert!(outcome.data.is_empty() && outcome.extents.is_empty(), "an error and content");
        return;
    }
    match request.command {
        wire::CMD_READ => {
            assert_eq!(outcome.data.len() as u64, request.length, "a read that is not whole");
            if request.flags & wire::CMD_FLAG_DF != 0 {
                assert!(outcome.chunks <= 1, "a fragmented reply");
            }
        }
        wire::CMD_BLOCK_STATUS => {
            assert!(!outcome.extents.is_empty());
            for extents in outcome.extents.values() {
                let sum: u64 = extents.iter().map(|extent| extent.0).sum();
                assert!(sum <= request.length && extents.iter().all(|extent| extent.0 != 0));
                let merged = extents.windows(2).all(|pair| pair[0].1 != pair[1].1);
                assert!(merged, "neighbours of one status");
                if request.flags & wire::CMD_FLAG_REQ_ONE != 0 {
                    assert_eq!(extents.len(), 1);
                }
            }
        }
        _ => assert_eq!((outcome.data.len(), outcome.extents.len()), (0, 0)),
    }
}
