//! The HTTP server of metrics and the dashboard, over a socket.

#![no_main]

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, OnceLock},
    time::Duration,
};

use libfuzzer_sys::fuzz_target;
use thermocline_live::http::{self, Answer, Request, Site};

struct Echo;

impl Site for Echo {
    fn answer(&self, request: &Request<'_>) -> Answer {
        let block = request.number("block").unwrap_or(0);
        let text = format!("{} {block} {}\n", request.path.len(), request.means("localhost"));
        Answer::text("200 OK", &text)
    }
}

fn server() -> Option<SocketAddr> {
    static SERVER: OnceLock<Option<SocketAddr>> = OnceLock::new();
    *SERVER.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").ok()?;
        let address = listener.local_addr().ok()?;
        let answering = http::start(listener, "fuzz", Arc::new(Echo), 64).ok()?;
        // It answers until the process ends.
        std::mem::forget(answering);
        Some(address)
    })
}

fuzz_target!(|data: &[u8]| {
    let Some(mut stream) = server().and_then(|address| TcpStream::connect(address).ok()) else {
        return;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
    let _ = stream.write_all(data).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    if stream.read_to_end(&mut answer).is_ok() && !answer.is_empty() {
        assert!(answer.starts_with(b"HTTP/1.1 "), "{answer:?}");
    }
});
