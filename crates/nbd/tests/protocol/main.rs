//! The protocol without sockets, and with real clients. One binary, because linking costs more than
//! the tests.

mod clients;
mod common;
mod conversation;
mod fuzz;
mod handshake;
mod replies;
mod requests;
