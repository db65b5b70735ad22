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
