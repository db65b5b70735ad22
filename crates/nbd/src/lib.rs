//! The server's side of the NBD protocol as a state machine without sockets (NetworkBlockDevice/nbd,
//! doc/proto.md, with the extension of extended headers).
//!
//! A connection is bytes in and bytes out; whoever owns the socket moves them.
//!
//! 1. [`Handshake::start`] greets; [`Handshake::advance`] takes what the client sent, one option at a
//!    time, until it gives [`Step::Transmission`] with what was [`Negotiated`].
//! 2. [`Negotiated::parse`] finds the next [`Request`] in the received bytes. Its payload is not
//!    copied: take it from the receive buffer, or read it from the socket to where it belongs.
//! 3. [`Negotiated::check`] says whether the request may be done, and if not, which error it gets.
//! 4. [`Negotiated::reply_done`], [`reply_error`](Negotiated::reply_error),
//!    [`reply_read`](Negotiated::reply_read) and [`reply_status`](Negotiated::reply_status) append
//!    replies to an [`Output`]. Data are read straight into it.
//!
//! Nothing here waits, allocates by what a client claims, or panics on what it sends.
//!
//! A client that writes two bytes, reads three and leaves; a server does the same with what its
//! socket gives it:
//!
//! ```
//! use thermocline_nbd::{
//!     Command, Export, Exports, Handshake, Output, Parsed, Settings, Step, wire,
//! };
//!
//! let mut received = vec![0, 0, 0, 3]; // the client's flags
//! received.extend(wire::OPTION_MAGIC.to_be_bytes());
//! received.extend(wire::OPT_GO.to_be_bytes());
//! received.extend([0, 0, 0, 6, 0, 0, 0, 0, 0, 0]); // the export without a name
//! let mut request = |command: u16, length: u32, payload: &[u8]| {
//!     received.extend(wire::REQUEST_MAGIC.to_be_bytes());
//!     received.extend([0; 2]); // no flags
//!     received.extend(command.to_be_bytes());
//!     received.extend([0; 16]); // cookie and offset
//!     received.extend(length.to_be_bytes());
//!     received.extend(payload);
//! };
//! request(wire::CMD_WRITE, 2, b"ab");
//! request(wire::CMD_READ, 3, &[]);
//! request(wire::CMD_DISC, 0, &[]);
//!
//! let exports = Exports::new(vec![Export::new("disk", 4096)])?;
//! let mut disk = [0; 4096];
//! let (mut output, mut input) = (Output::new(), received.as_slice());
//! let mut handshake = Handshake::start(Settings::default(), &mut output);
//! let negotiated = loop {
//!     let (consumed, step) = handshake.advance(input, &mut output, &exports);
//!     input = &input[consumed..];
//!     output.sent(output.len()); // a server writes `output.pending()` to its socket
//!     match step {
//!         Step::Transmission(negotiated) => break negotiated,
//!         Step::Answered => {}
//!         Step::NeedMore(_) | Step::StartTls | Step::Close(_) => unreachable!("in this example"),
//!     }
//! };
//! loop {
//!     let Parsed::Request(request, consumed) = negotiated.parse(input) else {
//!         unreachable!("in this example: `NeedMore` reads on, `Close` ends the connection");
//!     };
//!     let (payload, rest) = input[consumed..].split_at(request.payload as usize);
//!     input = rest;
//!     if let Err(refusal) = negotiated.check(&request) {
//!         negotiated.reply_refusal(&request, &refusal, &mut output);
//!         continue;
//!     }
//!     let range = request.offset as usize..(request.offset + request.length) as usize;
//!     match request.command {
//!         Command::Write => {
//!             disk[range].copy_from_slice(payload);
//!             negotiated.reply_done(&request, &mut output);
//!         }
//!         Command::Read => {
//!             let mut reply = negotiated.reply_read(&request, &mut output);
//!             reply.data(range.len()).copy_from_slice(&disk[range]);
//!             reply.finish();
//!         }
//!         Command::Disconnect => break,
//!         other => unreachable!("in this example: {other:?}"),
//!     }
//! }
//! assert!(output.pending().ends_with(b"ab\0"));
//! # Ok::<(), thermocline_nbd::ExportError>(())
//! ```

#![forbid(unsafe_code)]

mod check;
mod close;
mod context;
mod errno;
mod export;
mod handshake;
mod negotiated;
mod output;
mod reply;
mod request;
pub mod wire;

pub use self::{
    check::Refusal,
    close::Close,
    context::{Context, Contexts},
    errno::Errno,
    export::{BlockSizes, Export, ExportError, Exports},
    handshake::{Handshake, Settings, Step, Tls},
    negotiated::{Headers, Negotiated},
    output::Output,
    reply::{ReadReply, StatusReply},
    request::{Command, Parsed, Request},
};
