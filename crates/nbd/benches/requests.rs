//! The protocol's cost per request: finding it in the received bytes, checking it, replying. Work
//! on the medium is excluded. A read's or write's copy of its bytes is included, and is also
//! measured alone.
//!
//! `cargo bench -p thermocline-nbd --bench requests`

use std::{hint::black_box, time::Instant};

use thermocline_nbd::{
    Command, Export, Exports, Handshake, Headers, Negotiated, Output, Parsed, Settings, Step, wire,
};

/// Requests in the receive buffer at once.
const BATCH: usize = 64;

/// Batches of one round.
const BATCHES: usize = 2_000;

/// Rounds of each figure. The fastest counts, because other load only slows a round.
const ROUNDS: usize = 15;

/// Bytes of a read or write.
const PAGE: usize = 4096;

/// Bytes of the export; small enough for the second-level cache, so that copies are cheap.
const SIZE: u64 = 1 << 18;

fn negotiate(headers: Headers) -> Negotiated {
    let exports = Exports::new(vec![Export::new("", SIZE)]).expect("a sound export");
    let mut output = Output::new();
    let mut handshake = Handshake::start(Settings::default(), &mut output);
    let mut input = vec![0, 0, 0, 3];
    let mut option = |number: u32, data: &[u8]| {
        input.extend(wire::OPTION_MAGIC.to_be_bytes());
        input.extend(number.to_be_bytes());
        input.extend((data.len() as u32).to_be_bytes());
        input.extend(data);
    };
    match headers {
        Headers::Simple => {}
        Headers::Structured => option(wire::OPT_STRUCTURED_REPLY, &[]),
        Headers::Extended => option(wire::OPT_EXTENDED_HEADERS, &[]),
    }
    option(wire::OPT_GO, &[0; 6]);
    let mut rest = input.as_slice();
    loop {
        let (consumed, step) = handshake.advance(rest, &mut output, &exports);
        rest = &rest[consumed..];
        match step {
            Step::Answered => {}
            Step::Transmission(negotiated) => return negotiated,
            other => panic!("the handshake came to {other:?}"),
        }
    }
}

/// A batch of requests as a client sends them.
fn batch(negotiated: &Negotiated, command: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    for n in 0..BATCH as u64 {
        let extended = negotiated.headers == Headers::Extended;
        let (magic, flags) = match extended {
            true if command == wire::CMD_WRITE => {
                (wire::EXTENDED_REQUEST_MAGIC, wire::CMD_FLAG_PAYLOAD_LEN)
            }
            true => (wire::EXTENDED_REQUEST_MAGIC, 0),
            false => (wire::REQUEST_MAGIC, 0),
        };
        let page = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (SIZE / PAGE as u64);
        bytes.extend(magic.to_be_bytes());
        bytes.extend(flags.to_be_bytes());
        bytes.extend(command.to_be_bytes());
        bytes.extend(n.to_be_bytes());
        bytes.extend((page * PAGE as u64).to_be_bytes());
        if extended {
            bytes.extend((PAGE as u64).to_be_bytes());
        } else {
            bytes.extend((PAGE as u32).to_be_bytes());
        }
        if command == wire::CMD_WRITE {
            bytes.extend([n as u8; PAGE]);
        }
    }
    bytes
}

/// Serves a batch, with or without moving the data.
fn serve(negotiated: &Negotiated, mut input: &[u8], disk: &mut [u8], copy: bool, out: &mut Output) {
    while !input.is_empty() {
        let Parsed::Request(request, consumed) = negotiated.parse(input) else {
            panic!("a request");
        };
        let (payload, rest) = input[consumed..].split_at(request.payload as usize);
        input = rest;
        if let Err(refusal) = negotiated.check(&request) {
            negotiated.reply_refusal(&request, &refusal, out);
            continue;
        }
        let place = request.offset as usize..(request.offset + request.length) as usize;
        match request.command {
            Command::Read => {
                let mut reply = negotiated.reply_read(&request, out);
                let into = reply.data(place.len());
                if copy {
                    into.copy_from_slice(&disk[place]);
                }
                reply.finish();
            }
            _ => {
                if copy && request.command == Command::Write {
                    disk[place].copy_from_slice(payload);
                }
                negotiated.reply_done(&request, out);
            }
        }
    }
}

/// Nanoseconds per request in the fastest round.
fn measure(mut batch: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let since = Instant::now();
        for _ in 0..BATCHES {
            batch();
        }
        best = best.min(since.elapsed().as_nanos() as f64 / (BATCHES * BATCH) as f64);
    }
    best
}

fn main() {
    let mut disk = vec![1; SIZE as usize];
    let (from, mut to) = (vec![2_u8; BATCH * PAGE], vec![3_u8; SIZE as usize]);
    let alone = measure(|| {
        for n in 0..BATCH {
            let place = n * PAGE % SIZE as usize;
            to[place..place + PAGE].copy_from_slice(&from[n * PAGE..][..PAGE]);
        }
        black_box(&mut to);
    });
    println!("copy of {PAGE} bytes alone      {alone:6.1} ns");
    println!("nanoseconds a request        protocol   with the copy");
    for headers in [Headers::Simple, Headers::Structured, Headers::Extended] {
        let negotiated = negotiate(headers);
        for (name, command) in
            [("write", wire::CMD_WRITE), ("read", wire::CMD_READ), ("trim", wire::CMD_TRIM)]
        {
            let input = batch(&negotiated, command);
            let mut output = Output::new();
            let [bare, whole] = [false, true].map(|copy| {
                measure(|| {
                    serve(&negotiated, black_box(&input), &mut disk, copy, &mut output);
                    black_box(output.pending());
                    output.sent(usize::MAX);
                })
            });
            let headers = format!("{headers:?}");
            println!("{name:<6} {headers:<18} {bare:11.1} {whole:15.1}");
        }
    }
}
