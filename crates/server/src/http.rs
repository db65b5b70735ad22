//! Metrics and health over HTTP: `GET /metrics`, `/healthz`, `/`.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
};

use thermocline_live::http::{self, Answer, Answering, Request, Site};

use crate::{
    ServerError,
    listener::{refused, resolve},
    metrics,
    server::Shared,
};

/// Requests at the same time.
const MOST: usize = 8;

/// An address that is asked over HTTP.
#[derive(Debug)]
pub(crate) struct Http(pub(crate) TcpListener);

impl Http {
    pub(crate) fn bind(address: &str) -> Result<Self, ServerError> {
        let addresses = resolve(address)?;
        TcpListener::bind(&*addresses).map(Self).map_err(|e| refused(address, &e))
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }
}

/// Begins to answer for metrics.
pub(crate) fn start(http: Http, shared: Arc<Shared>) -> io::Result<Answering> {
    http::start(http.0, "metrics", Arc::new(Metrics(shared)), MOST)
}

struct Metrics(Arc<Shared>);

impl Site for Metrics {
    fn answer(&self, request: &Request<'_>) -> Answer {
        match request.path {
            "/metrics" => match metrics::text(&self.0) {
                Ok(text) => Answer::of("200 OK", METRICS, text),
                Err(e) => Answer::text("500 Internal Server Error", &format!("{e}\n")),
            },
            "/healthz" => match metrics::ailment(&self.0) {
                None => Answer::text("200 OK", "ok\n"),
                Some(what) => Answer::text("503 Service Unavailable", &format!("{what}\n")),
            },
            "/" => Answer::of("200 OK", http::HTML, INDEX),
            _ => Answer::text("404 Not Found", "there are /metrics and /healthz\n"),
        }
    }
}

const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const INDEX: &str = "<!doctype html><title>Thermocline</title><h1>Thermocline</h1>\
<p><a href=\"/metrics\">metrics</a> · <a href=\"/healthz\">health</a></p>\n";
