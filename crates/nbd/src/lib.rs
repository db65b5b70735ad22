//! The server's side of the NBD protocol as a state machine without sockets (NetworkBlockDevice/nbd,
//! doc/proto.md).
