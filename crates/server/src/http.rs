//! Metrics and health over HTTP: `GET /metrics`, `/healthz`, `/`.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::{
    ServerError,
    listener::{refused, resolve},
    metrics,
    server::Shared,
};

/// Time for a request and its answer.
const TIME: Duration = Duration::from_secs(5);
/// Longest request that is looked at.
const LONGEST: usize = 8 << 10;
/// Requests at the same time.
const MOST: usize = 8;

/// An address that metrics are asked for at.
#[derive(Debug)]
pub(crate) struct Http(TcpListener);

impl Http {
    pub(crate) fn bind(address: &str) -> Result<Self, ServerError> {
        let addresses = resolve(address)?;
        TcpListener::bind(&*addresses).map(Self).map_err(|e| refused(address, &e))
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }
}

/// The thread that answers.
#[derive(Debug)]
pub(crate) struct Answering {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
    address: Option<SocketAddr>,
}

impl Answering {
    /// Ends it: nothing of the server is held on to then.
    pub(crate) fn stop(self) {
        self.stop.store(true, Relaxed);
        // A connection wakes it, if it can be made; else the thread ends with the program.
        let woken = self.address.map(|address| TcpStream::connect_timeout(&address, TIME));
        if matches!(woken, Some(Ok(_))) && self.thread.join().is_err() {
            tracing::error!("the thread that answers for metrics died");
        }
    }
}

/// Begins to answer.
pub(crate) fn start(http: Http, shared: Arc<Shared>) -> io::Result<Answering> {
    let stop = Arc::new(AtomicBool::new(false));
    let (told, address) = (stop.clone(), http.address());
    let thread = std::thread::Builder::new()
        .name("metrics".into())
        .spawn(move || answer_all(&http.0, &shared, &told))?;
    Ok(Answering { thread, stop, address })
}

fn answer_all(listener: &TcpListener, shared: &Arc<Shared>, stop: &AtomicBool) {
    let busy = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if stop.load(Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        if busy.load(Relaxed) >= MOST {
            continue;
        }
        busy.fetch_add(1, Relaxed);
        let (shared, busy) = (shared.clone(), Busy(busy.clone()));
        // If there is no thread for it, the client hears nothing and asks again.
        let _ = std::thread::Builder::new().name("scrape".into()).spawn(move || {
            let _busy = busy;
            if let Err(e) = serve(stream, &shared) {
                tracing::debug!("metrics: {e}");
            }
        });
    }
}

struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let deadline = Instant::now() + TIME;
    stream.set_write_timeout(Some(TIME))?;
    let mut bytes = Vec::with_capacity(1024);
    let (status, kind, body) = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || bytes.len() > LONGEST {
            break ("400 Bad Request", TEXT, "too long\n".into());
        }
        stream.set_read_timeout(Some(left))?;
        let mut part = [0; 1024];
        let count = stream.read(&mut part)?;
        if count == 0 {
            return Ok(());
        }
        bytes.extend_from_slice(&part[..count]);
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Partial) => {}
            Ok(httparse::Status::Complete(_)) => {
                break answer(request.method.unwrap_or(""), request.path.unwrap_or(""), shared);
            }
            Err(e) => break ("400 Bad Request", TEXT, format!("{e}\n")),
        }
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body.as_bytes())
}

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

fn answer(method: &str, path: &str, shared: &Shared) -> (&'static str, &'static str, String) {
    if method != "GET" {
        return ("405 Method Not Allowed", TEXT, "only GET\n".into());
    }
    match path.split('?').next().unwrap_or("") {
        "/metrics" => match metrics::text(shared) {
            Ok(text) => ("200 OK", METRICS, text),
            Err(e) => ("500 Internal Server Error", TEXT, format!("{e}\n")),
        },
        "/healthz" => match metrics::ailment(shared) {
            None => ("200 OK", TEXT, "ok\n".into()),
            Some(what) => ("503 Service Unavailable", TEXT, format!("{what}\n")),
        },
        "/" => ("200 OK", HTML, INDEX.into()),
        _ => ("404 Not Found", TEXT, "there are /metrics and /healthz\n".into()),
    }
}

const INDEX: &str = "<!doctype html><title>Thermocline</title><h1>Thermocline</h1>\
<p><a href=\"/metrics\">metrics</a> · <a href=\"/healthz\">health</a></p>\n";
