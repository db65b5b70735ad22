//! A small HTTP server: GET alone, one request a connection, a thread for each.
//!
//! Invariant: at most this many requests are answered at a time, each is short and has a few seconds,
//! and the answer too, unless it is a stream, which has limits of its own. One more takes the place of the oldest
//! that is no stream: who sends half a request, or takes half an answer, keeps nobody out.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Time for a request and its answer.
const TIME: Duration = Duration::from_secs(5);
/// Longest request that is looked at.
const LONGEST: usize = 8 << 10;
/// Stack of a thread that answers.
const STACK: usize = 256 << 10;

/// Plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// A page.
pub const HTML: &str = "text/html; charset=utf-8";
/// JSON.
pub const JSON: &str = "application/json";

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The path, without what follows a `?`.
    pub path: &'a str,
    /// What follows it.
    pub query: &'a str,
    /// The name that the client knows this server by.
    pub host: &'a str,
}

impl<'a> Request<'a> {
    /// A number among the parameters, 0 where it is left out; none where it is no number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u32> {
        let mut pairs =
            self.query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(key, _)| *key == name).map_or(Some(0), |(_, value)| value.parse().ok())
    }

    /// Whether the client means this machine: by an address, as `localhost`, or by `name`. A page of somebody
    /// else's that has its own name lead here (DNS rebinding) does not.
    #[must_use]
    pub fn means(&self, name: &str) -> bool {
        let bare = |text: &'a str| {
            let host = text.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
            host.map_or(text, |(host, _)| host)
        };
        let host = bare(self.host).trim_start_matches('[').trim_end_matches(']');
        let name = name.rsplit_once(':').map_or(name, |(host, _)| host);
        host.parse::<IpAddr>().is_ok()
            || host.eq_ignore_ascii_case("localhost")
            || host.eq_ignore_ascii_case(name)
    }
}

/// An answer.
pub enum Answer {
    /// A whole one: status, kind, further header lines, content.
    Whole(&'static str, &'static str, String, Vec<u8>),
    /// One that goes on; the connection is all its own.
    Stream(Box<dyn FnOnce(TcpStream) -> io::Result<()> + Send>),
}

impl Answer {
    /// A text with a status.
    #[must_use]
    pub fn text(status: &'static str, text: &str) -> Self {
        Self::of(status, TEXT, text)
    }

    /// Content of a kind.
    #[must_use]
    pub fn of(status: &'static str, kind: &'static str, content: impl Into<Vec<u8>>) -> Self {
        Self::Whole(status, kind, String::new(), content.into())
    }

    /// A page that may load nothing but what `policy` says.
    #[must_use]
    pub fn page(html: &str, policy: &str) -> Self {
        let headers = format!(
            "Content-Security-Policy: {policy}; frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n"
        );
        Self::Whole("200 OK", HTML, headers, html.into())
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Whole(status, ..) => status,
            Self::Stream(_) => "a stream",
        })
    }
}

/// Whoever has the answers.
pub trait Site: Send + Sync + 'static {
    /// The answer to a request.
    fn answer(&self, request: &Request<'_>) -> Answer;

    /// Nothing is answered any more: streams have to end.
    fn stop(&self) {}
}

/// The thread that answers.
pub struct Answering {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
    address: Option<SocketAddr>,
    site: Arc<dyn Site>,
}

impl std::fmt::Debug for Answering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answering").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Answering {
    /// Ends it.
    pub fn stop(self) {
        self.stop.store(true, Relaxed);
        self.site.stop();
        // A connection wakes it, if it can be made; else the thread ends with the program.
        let woken = self.address.map(|address| TcpStream::connect_timeout(&address, TIME));
        if matches!(woken, Some(Ok(_))) && self.thread.join().is_err() {
            tracing::error!("a thread that answers over HTTP died");
        }
    }
}

/// Begins to answer, at most this many requests at a time.
///
/// # Errors
/// Those of the system.
pub fn start(
    listener: TcpListener,
    name: &str,
    site: Arc<dyn Site>,
    most: usize,
) -> io::Result<Answering> {
    let stop = Arc::new(AtomicBool::new(false));
    let (told, address, answers) = (stop.clone(), listener.local_addr().ok(), site.clone());
    let thread = std::thread::Builder::new()
        .name(name.into())
        .spawn(move || answer_all(&listener, &answers, most, &told))?;
    Ok(Answering { thread, stop, address, site })
}

fn answer_all(listener: &TcpListener, site: &Arc<dyn Site>, most: usize, stop: &AtomicBool) {
    let guests = Arc::new(Guests::default());
    for stream in listener.incoming() {
        if stop.load(Relaxed) {
            return;
        }
        let Ok((stream, kept)) = stream.and_then(|stream| Ok((stream.try_clone()?, stream))) else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let guest = Arc::new(Guest { stream: kept, goes_on: AtomicBool::new(false) });
        if !guests.admit(&guest, most) {
            continue;
        }
        let (site, place) = (site.clone(), Place { guests: guests.clone(), guest });
        // If there is no thread for it, the client hears nothing and asks again.
        let _ =
            std::thread::Builder::new().name("http".into()).stack_size(STACK).spawn(move || {
                if let Err(e) = serve(stream, &*site, &place.guest) {
                    tracing::debug!("http: {e}");
                }
            });
    }
}

/// A client that is being answered.
struct Guest {
    stream: TcpStream,
    /// The answer is a stream.
    goes_on: AtomicBool,
}

/// All of them, the oldest first.
#[derive(Default)]
struct Guests(Mutex<Vec<Arc<Guest>>>);

impl Guests {
    /// Takes one in, if there is room for it or for one in its place.
    fn admit(&self, guest: &Arc<Guest>, most: usize) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= most {
            let gives_way = |guest: &Arc<Guest>| !guest.goes_on.load(Relaxed);
            let Some(oldest) = all.iter().position(gives_way) else { return false };
            // One that is gone already is fine.
            let _ = all.remove(oldest).stream.shutdown(Shutdown::Both);
        }
        all.push(guest.clone());
        true
    }
}

/// A guest's place, free again when this is dropped.
struct Place {
    guests: Arc<Guests>,
    guest: Arc<Guest>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.guests.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| !Arc::ptr_eq(other, &self.guest));
    }
}

fn serve(mut stream: TcpStream, site: &dyn Site, guest: &Guest) -> io::Result<()> {
    stream.set_write_timeout(Some(TIME))?;
    let Some(answer) = read(&mut stream, site)? else { return Ok(()) };
    let (status, kind, headers, content) = match answer {
        Answer::Whole(status, kind, headers, content) => (status, kind, headers, content),
        Answer::Stream(goes_on) => {
            guest.goes_on.store(true, Relaxed);
            return goes_on(stream);
        }
    };
    // One write, and one packet.
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\n{headers}Connection: close\r\n\r\n",
        content.len()
    );
    stream.write_all(&[head.as_bytes(), &content].concat())
}

/// Reads a request and has it answered; nothing if the client went away.
fn read(stream: &mut TcpStream, site: &dyn Site) -> io::Result<Option<Answer>> {
    let deadline = Instant::now() + TIME;
    let mut bytes = Vec::with_capacity(1024);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || bytes.len() > LONGEST {
            return Ok(Some(Answer::text("400 Bad Request", "too long\n")));
        }
        stream.set_read_timeout(Some(left))?;
        let mut part = [0; 1024];
        let count = stream.read(&mut part)?;
        if count == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&part[..count]);
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Partial) => {}
            Ok(httparse::Status::Complete(_)) => return Ok(Some(answer(&request, site))),
            Err(e) => return Ok(Some(Answer::text("400 Bad Request", &format!("{e}\n")))),
        }
    }
}

fn answer(request: &httparse::Request<'_, '_>, site: &dyn Site) -> Answer {
    if request.method != Some("GET") {
        return Answer::text("405 Method Not Allowed", "only GET\n");
    }
    let (path, query) = request.path.map_or(("", ""), |p| p.split_once('?').unwrap_or((p, "")));
    let host = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("host"));
    let host = host.and_then(|header| std::str::from_utf8(header.value).ok()).unwrap_or("");
    site.answer(&Request { path, query, host })
}

/// The answer to who knows this machine by a name that is not its own.
#[must_use]
pub fn misdirected() -> Answer {
    Answer::text(
        "421 Misdirected Request",
        "this server is not called so; use its address, localhost, or the name it was started with\n",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let means =
            |host| Request { path: "/", query: "a=1&block=7", host }.means("chip.example:9810");
        for host in
            ["127.0.0.1:9810", "[::1]:9810", "localhost", "LOCALHOST:1", "chip.example:9810"]
        {
            assert!(means(host), "{host}");
        }
        for host in ["", "evil.example", "evil.example:9810", "127.0.0.1.evil.example"] {
            assert!(!means(host), "{host}");
        }
        let request = Request { path: "/", query: "a=1&block=7", host: "" };
        assert_eq!((request.number("block"), request.number("b")), (Some(7), Some(0)));
    }
}
