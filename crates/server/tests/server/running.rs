//! A server that runs while a test lasts.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    thread::JoinHandle,
};

use tempfile::TempDir;
use thermocline_server::{Listener, Opening, Options, Server, ServerError, Stopper};

use crate::{client::Client, layer};

/// A server on a Unix socket in a folder of its own.
pub struct Running {
    /// Removed with its content in the end.
    _folder: TempDir,
    pub socket: PathBuf,
    pub metrics: Option<SocketAddr>,
    pub dashboard: Option<SocketAddr>,
    pub stopper: Stopper,
    thread: Option<JoinHandle<Result<(), ServerError>>>,
}

impl Running {
    pub fn start(openings: Vec<Opening>, options: Options) -> Self {
        let folder = TempDir::new().expect("there is room for a folder");
        let socket = folder.path().join("nbd.sock");
        let mut server = Server::new(openings, options).expect("the server can be made");
        server.listen(Listener::unix(&socket).expect("the folder is fresh"));
        let (stopper, metrics) = (server.stopper(), server.metrics_address());
        let dashboard = server.dashboard_address();
        let thread = Some(std::thread::spawn(move || server.run()));
        Self { _folder: folder, socket, metrics, dashboard, stopper, thread }
    }

    /// A chip in memory of that many MiB, exported, with a fifth more beneath.
    pub fn simple(mib: u32) -> Self {
        Self::start(vec![opening(mib)], Options::default())
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.socket, true).expect("the server listens")
    }

    pub fn connect_to(&self, name: &str) -> Client {
        Client::connect_to(&self.socket, name).expect("the server listens")
    }

    /// Waits until the server has ended.
    pub fn ended(&mut self) -> Result<(), ServerError> {
        let thread = self.thread.take().expect("asked once");
        thread.join().expect("the server does not panic")
    }

    /// Stops it in good order.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        self.stopper.stop();
        self.ended()
    }

    /// Status line and body of `path` at the metrics address.
    pub fn get(&self, path: &str) -> io::Result<(String, String)> {
        let mut stream = TcpStream::connect(self.metrics.expect("metrics are on"))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let (head, body) = text.split_once("\r\n\r\n").expect("a header ends");
        Ok((head.lines().next().unwrap_or("").into(), body.into()))
    }

    /// The sum of all rows of a metric that begin so.
    pub fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.get("/metrics").expect("metrics are served");
        let rows = text.lines().filter(|line| line.starts_with(name));
        let values: Vec<f64> = rows
            .map(|line| line.rsplit(' ').next().and_then(|v| v.parse().ok()).expect("a number"))
            .collect();
        assert!(!values.is_empty(), "no metric {name} in\n{text}");
        values.iter().sum()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stopper.stop();
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.expect("the server does not panic").expect("it ends in good order");
            }
        }
    }
}

pub fn opening(mib: u32) -> Opening {
    let pages = mib * 256;
    let chip = layer::ram(pages / 64 * 6 / 5 + 8);
    Opening::new(layer::page_mapped(chip, "greedy", pages, 0))
}

/// Metrics on any free port.
pub fn with_metrics() -> Options {
    Options { metrics: Some("127.0.0.1:0".into()), ..Options::default() }
}
