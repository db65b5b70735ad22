//! Hand-written bytes, and a complete server in memory.
#![allow(dead_code)]

pub mod client;
pub mod disk;
pub mod session;

use thermocline_nbd::{Export, Exports, Handshake, Negotiated, Output, Settings, Step};

/// The flags of a request, by doc/proto.md.
pub mod flag {
    pub const FUA: u16 = 1;
    pub const NO_HOLE: u16 = 2;
    pub const DF: u16 = 4;
    pub const REQ_ONE: u16 = 8;
    pub const FAST_ZERO: u16 = 16;
    pub const PAYLOAD_LEN: u16 = 32;
}

/// The commands of a request, by doc/proto.md.
pub mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISC: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const CACHE: u16 = 5;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

/// Bytes written as hexadecimal digits and, in quotes, text: `hex("0000 0005 'hello'")`.
pub fn hex(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, part) in text.split('\'').enumerate() {
        if index % 2 == 1 {
            bytes.extend_from_slice(part.as_bytes());
            continue;
        }
        let digits: String = part.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(digits.len().is_multiple_of(2), "an odd number of digits in {part:?}");
        for at in (0..digits.len()).step_by(2) {
            bytes.push(u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits"));
        }
    }
    bytes
}

/// An option as a client sends it: magic number, number, length, data.
pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = hex("49484156454f5054");
    bytes.extend(number.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A reply to an option as the server must send it.
pub fn reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = hex("0003e889045565a9");
    bytes.extend(option.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A string preceded by its length.
pub fn string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

/// The data of `NBD_OPT_GO` and `NBD_OPT_INFO`.
pub fn go(name: &str, wanted: &[u16]) -> Vec<u8> {
    let mut bytes = string(name);
    bytes.extend((wanted.len() as u16).to_be_bytes());
    bytes.extend(wanted.iter().flat_map(|kind| kind.to_be_bytes()));
    bytes
}

/// The data of `NBD_OPT_SET_META_CONTEXT` and `NBD_OPT_LIST_META_CONTEXT`.
pub fn queries(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut bytes = string(name);
    bytes.extend((queries.len() as u32).to_be_bytes());
    bytes.extend(queries.iter().flat_map(|query| string(query)));
    bytes
}

/// A compact request without its payload.
pub fn request(command: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = head("25609513", command, flags, cookie, offset);
    bytes.extend(length.to_be_bytes());
    bytes
}

/// An extended request without its payload.
pub fn extended(command: u16, flags: u16, cookie: u64, offset: u64, length: u64) -> Vec<u8> {
    let mut bytes = head("21e41c71", command, flags, cookie, offset);
    bytes.extend(length.to_be_bytes());
    bytes
}

/// The fields at the start of both forms of a request.
fn head(magic: &str, command: u16, flags: u16, cookie: u64, offset: u64) -> Vec<u8> {
    let mut bytes = hex(magic);
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes
}

/// The outcome of a handshake.
pub struct Shaken {
    /// The bytes that the server sent after its greeting.
    pub sent: Vec<u8>,
    /// The last step.
    pub step: Step,
    /// Input that was not consumed.
    pub rest: Vec<u8>,
    pub handshake: Handshake,
}

impl Shaken {
    pub fn negotiated(&self) -> Negotiated {
        match &self.step {
            Step::Transmission(negotiated) => *negotiated,
            other => panic!("no transmission but {other:?}"),
        }
    }
}

/// Runs a handshake with a client that sends `input` at once and nothing else.
pub fn shake(settings: Settings, exports: &Exports, input: &[u8]) -> Shaken {
    let mut output = Output::new();
    let handshake = Handshake::start(settings, &mut output);
    assert_eq!(output.pending(), hex("'NBDMAGICIHAVEOPT' 0003"), "the greeting");
    output.clear();
    go_on(handshake, exports, input)
}

/// Continues a handshake.
pub fn go_on(mut handshake: Handshake, exports: &Exports, input: &[u8]) -> Shaken {
    let (mut output, mut rest) = (Output::new(), input);
    let step = loop {
        let (consumed, step) = handshake.advance(rest, &mut output, exports);
        rest = &rest[consumed..];
        if step != Step::Answered {
            break step;
        }
    };
    Shaken { sent: output.pending().to_vec(), step, rest: rest.to_vec(), handshake }
}

/// Two exports: one of a megabyte with all features, and a read-only one.
pub fn exports() -> Exports {
    let mut big = Export::new("big", 1 << 20);
    big.description = "a megabyte".into();
    big.contexts = thermocline_nbd::Contexts::ALL;
    let mut small = Export::new("small", 4096);
    small.read_only = true;
    Exports::new(vec![big, small]).expect("sound exports")
}

/// The result of negotiating the export `big` after `options`, fixed newstyle.
pub fn agreed(options: &[Vec<u8>]) -> Negotiated {
    let mut input = hex("00000003");
    options.iter().for_each(|option| input.extend(option));
    input.extend(option(7, &go("big", &[])));
    shake(Settings::default(), &exports(), &input).negotiated()
}

/// The option that enables structured replies.
pub fn structured() -> Vec<u8> {
    option(8, &[])
}

/// The option that enables extended headers.
pub fn extended_headers() -> Vec<u8> {
    option(11, &[])
}

/// The option that selects both metadata contexts of `big`.
pub fn contexts() -> Vec<u8> {
    option(10, &queries("big", &["base:allocation", "x-thermocline:temperature"]))
}
