//! The control socket: an operator's interface to a running server.
//!
//! A Unix socket of the server's owner (mode 0600), by default in a [private folder](seat). Each request and each
//! answer is a line of JSON: `{"command":"stat"}` gets `{"ok":{…}}` or `{"error":"…"}`. A request concerns the export
//! of the socket's chip, or the one that it names. Only the answer of [`Command::Copy`] has more: the pages, and a
//! second line ([`client`]).
//!
//! Invariant: an operator who does not read blocks no one else, and the connection ends after a
//! minute without progress; there are at most 16 connections.

pub mod client;
mod copy;
pub mod seat;
pub(crate) mod stat;
pub(crate) mod trust;
mod verify;

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thermocline_live::feed;

use crate::{
    Change, background,
    dashboard::Looked,
    device::Device,
    server::{Export, Shared},
};

/// Operators at the same time.
const MOST: usize = 16;
/// The longest line of a request.
const LONGEST: u64 = 64 << 10;
/// How long an operator may take no answer.
const STALL: Duration = Duration::from_secs(60);

/// A request.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Request {
    /// The export; that of the socket, if it is not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<String>,
    /// Its command.
    #[serde(flatten)]
    pub command: Command,
}

/// A command.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "command", rename_all = "lowercase")]
pub enum Command {
    /// State of the chip, and its counters since the mount.
    Stat,
    /// A frame as the dashboard shows it: figures, and the states of all blocks.
    Frame,
    /// Recounts the tables, and reads all data.
    Check,
    /// Moves data that have become hard to read, until there are no more.
    Scrub,
    /// Makes all that was written last.
    Flush,
    /// Other policies, or other watermarks.
    Set(Change),
    /// All pages with data, as of now.
    Copy,
    /// Takes no new connections, and stops when the last one has left.
    Drain,
    /// Stops in good order.
    Stop,
}

/// The operators that are connected.
#[derive(Debug, Default)]
pub(crate) struct Operators(Mutex<Vec<Arc<UnixStream>>>);

impl Operators {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<UnixStream>>> {
        // A list is not left half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether none of these is being served any more.
    pub(crate) fn have_left(&self, all: &[Arc<UnixStream>]) -> bool {
        self.lock().clear();
        all.iter().all(|stream| Arc::strong_count(stream) == 1)
    }

    /// Takes no more requests. Waiting operators see the end of the stream when these are dropped.
    pub(crate) fn hang_up(&self) -> Vec<Arc<UnixStream>> {
        let all = self.lock().clone();
        for stream in &all {
            // It may be gone already.
            let _ = stream.shutdown(Shutdown::Read);
        }
        all
    }
}

/// Serves an operator, on a thread of its own.
pub(crate) fn accept(shared: &Arc<Shared>, stream: UnixStream, export: usize) {
    if !trust::is_operator(&stream) {
        tracing::warn!("an operator is turned away: only this user and root may ask");
        return;
    }
    let stream = Arc::new(stream);
    {
        let mut all = shared.operators.lock();
        all.retain(|stream| Arc::strong_count(stream) > 1);
        if all.len() >= MOST {
            tracing::warn!("an operator is turned away: there are {MOST} already");
            return;
        }
        all.push(stream.clone());
    }
    let shared = shared.clone();
    let spawned = std::thread::Builder::new().name("control".into()).spawn(move || {
        if let Err(e) = serve(&shared, &stream, export) {
            tracing::debug!("control: {e}");
        }
        if !shared.stopping.load(Relaxed) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Before the last word on the devices is spoken.
        drop(shared);
    });
    if let Err(e) = spawned {
        tracing::warn!("an operator was not served: {e}");
    }
}

fn serve(shared: &Shared, stream: &UnixStream, export: usize) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(STALL))?;
    let mut requests = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if requests.by_ref().take(LONGEST).read_line(&mut line)? == 0 {
            return Ok(());
        }
        if !line.ends_with('\n') {
            return answer(stream, Err("a request is one line of JSON, and not a long one".into()));
        }
        let asked = serde_json::from_str::<Request>(&line)
            .map_err(|e| format!("{e}; a request is a line such as {{\"command\":\"stat\"}}"))
            .and_then(|request| Ok((find(shared, &request, export)?, request.command)));
        match asked {
            Err(why) => answer(stream, Err(why))?,
            Ok((of, Command::Copy)) => copy::send(shared, &shared.exports[of].device, stream)?,
            Ok((export, Command::Frame)) => {
                answer(stream, Ok(feed::now(&Looked { shared, export })))?;
            }
            Ok((of, command)) => {
                let export = &shared.exports[of];
                tracing::info!(export = export.device.name(), ?command, "an operator asks");
                answer(stream, done(shared, export, &command))?;
            }
        }
    }
}

/// The number of the export that a request means.
fn find(shared: &Shared, request: &Request, own: usize) -> Result<usize, String> {
    let Some(name) = &request.export else { return Ok(own) };
    shared.exports.iter().position(|export| export.device.name() == name).ok_or_else(|| {
        let all: Vec<_> = shared.exports.iter().map(|export| export.device.name()).collect();
        format!("there is no export {name:?}; there are {}", all.join(", "))
    })
}

/// Sends an answer.
fn answer(mut stream: &UnixStream, result: Result<Value, String>) -> io::Result<()> {
    let answer = match result {
        Ok(value) => json!({ "ok": value }),
        Err(why) => json!({ "error": why }),
    };
    stream.write_all(format!("{answer}\n").as_bytes())
}

fn done(shared: &Shared, export: &Export, command: &Command) -> Result<Value, String> {
    let device = &*export.device;
    match command {
        Command::Stat => stat::of(shared, export),
        Command::Check => verify::all(shared, device),
        Command::Scrub => scrub(shared, device),
        Command::Flush => {
            device.flush().map_err(|e| e.to_string())?;
            Ok(json!({ "flushed": true }))
        }
        Command::Set(change) => {
            let waited = device.change(change)?;
            let (settings, _) = device.settings();
            tracing::info!(
                export = device.name(),
                policy = settings.policy,
                reserve = settings.reserve,
                low = settings.low,
                high = settings.high,
                milliseconds = waited.as_millis() as u64,
                "mounted by other policies"
            );
            Ok(json!({ "settings": settings, "held_ms": waited.as_secs_f64() * 1e3 }))
        }
        // Answered elsewhere.
        Command::Copy | Command::Frame => Err("this has an answer of its own".into()),
        Command::Drain => {
            shared.draining.store(true, Relaxed);
            shared.stopper.wake();
            Ok(json!({ "connections": shared.connections() }))
        }
        Command::Stop => {
            shared.stopper.stop();
            Ok(json!({ "connections": shared.connections() }))
        }
    }
}

/// Scrubs, in the order and the steps of the background work.
fn scrub(shared: &Shared, device: &Device) -> Result<Value, String> {
    if device.is_read_only() {
        return Err("the export is read-only: nothing on it can be moved".into());
    }
    let before = device.look(|layer| layer.inspect().counters().scrubbed);
    background::scrub(device, &shared.stopping).map_err(|e| e.to_string())?;
    let after = device.look(|layer| layer.inspect().counters().scrubbed);
    Ok(json!({ "blocks_scrubbed": after - before }))
}
