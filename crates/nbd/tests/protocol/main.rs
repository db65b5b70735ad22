//! The protocol, without sockets and with real clients. One binary: a link costs more than what it links here.

mod clients;
mod common;
mod conversation;
mod fuzz;
mod handshake;
mod replies;
mod requests;
