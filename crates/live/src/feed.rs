//! One producer of frames for any number of viewers.
//!
//! Invariants:
//! * the chip is asked only while somebody looks, by one thread, whatever the number of viewers: for a hundredth
//!   of the time, as long as that leaves a frame a second;
//! * a frame is in memory once. A viewer who falls behind by more than [`KEPT`] frames gets the whole state in
//!   their place; one who takes nothing for [`PATIENCE`] is cut off; there are at most [`MOST`].

use std::{
    collections::VecDeque,
    io::{self, Write},
    net::TcpStream,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde_json::{Map, Value};
use thermocline_ftl::BlockState;

use crate::frame;

/// Time between two frames.
const PERIOD: Duration = Duration::from_millis(250);
/// The producer rests this many times as long as it worked.
const REST: u32 = 100;
/// But not longer than this.
const LONGEST: Duration = Duration::from_secs(1);
/// How long a viewer may take nothing.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// After so long without a frame a viewer is shown that the connection lives.
const ALIVE: Duration = Duration::from_secs(15);
/// Frames kept for viewers who are a little behind.
pub const KEPT: usize = 8;
/// Viewers at a time.
pub const MOST: usize = 64;

/// What is looked at.
pub trait Source: Send + Sync {
    /// How many blocks there are.
    fn blocks(&self) -> usize;

    /// The blocks as they are now.
    fn sample(&self, into: &mut [BlockState]);

    /// Figures of now, for every frame.
    fn figures(&self) -> Map<String, Value>;

    /// What does not change, for whole frames.
    fn about(&self) -> Map<String, Value>;
}

/// A whole frame as JSON: what a viewer gets first.
#[must_use]
pub fn now(source: &dyn Source) -> Value {
    let mut blocks = vec![BlockState::default(); source.blocks()];
    source.sample(&mut blocks);
    let mut all = source.figures();
    all.extend(source.about());
    all.insert("whole".into(), frame::text(&frame::whole(&blocks)).into());
    all.into()
}

/// Frames of a source, and who waits for them.
#[derive(Debug)]
pub struct Feed {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    viewers: usize,
    closed: bool,
    /// The number of the newest frame; 0 before the first.
    number: u64,
    blocks: Vec<BlockState>,
    figures: Map<String, Value>,
    about: Map<String, Value>,
    recent: VecDeque<Arc<[u8]>>,
    /// The newest whole frame that was made, and its number.
    whole: Option<(u64, Arc<[u8]>)>,
}

/// The thread that makes frames.
#[derive(Debug)]
pub struct Producing {
    feed: Arc<Feed>,
    thread: JoinHandle<()>,
}

impl Producing {
    /// The frames.
    #[must_use]
    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Sends the viewers away, and lets go of the source.
    pub fn stop(self) {
        self.feed.lock().closed = true;
        self.feed.changed.notify_all();
        if self.thread.join().is_err() {
            tracing::error!("the thread that makes frames died");
        }
    }
}

/// Begins to make frames of a source.
///
/// # Errors
/// Those of the system.
pub fn start(source: impl Source + 'static) -> io::Result<Producing> {
    let state = State {
        blocks: vec![BlockState::default(); source.blocks()],
        about: source.about(),
        ..State::default()
    };
    let feed = Arc::new(Feed { state: Mutex::new(state), changed: Condvar::new() });
    let made = feed.clone();
    let thread =
        std::thread::Builder::new().name("frames".into()).spawn(move || produce(&source, &made))?;
    Ok(Producing { feed, thread })
}

fn produce(source: &dyn Source, feed: &Feed) {
    let mut sampled = vec![BlockState::default(); source.blocks()];
    let mut state = feed.lock();
    loop {
        while state.viewers == 0 && !state.closed {
            state = feed.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return;
        }
        drop(state);
        let begun = Instant::now();
        source.sample(&mut sampled);
        let figures = source.figures();
        state = feed.lock();
        state.add(&sampled, figures);
        feed.changed.notify_all();
        let worked = begun.elapsed();
        let until = begun + (worked * REST).clamp(PERIOD, LONGEST);
        while !state.closed
            && let Some(left) = until.checked_duration_since(Instant::now())
        {
            (state, _) =
                feed.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    /// There is a new frame.
    fn add(&mut self, blocks: &[BlockState], figures: Map<String, Value>) {
        self.number += 1;
        let mut delta = Vec::new();
        frame::changed(&mut self.blocks, blocks, &mut delta);
        self.figures = figures;
        let event = self.event("changed", &delta);
        self.recent.push_back(event);
        if self.recent.len() > KEPT {
            self.recent.pop_front();
        }
    }

    /// A frame as an event of a stream.
    fn event(&self, how: &str, bytes: &[u8]) -> Arc<[u8]> {
        let mut all = self.figures.clone();
        if how == "whole" {
            all.extend(self.about.clone());
        }
        all.insert("frame".into(), self.number.into());
        all.insert(how.into(), frame::text(bytes).into());
        format!("data: {}\n\n", Value::Object(all)).into_bytes().into()
    }

    /// What a viewer who has frame `seen` still has to see.
    fn after(&mut self, seen: u64) -> Vec<Arc<[u8]>> {
        let missing = self.number - seen;
        if seen > 0 && missing as usize <= self.recent.len() {
            return self
                .recent
                .iter()
                .skip(self.recent.len() - missing as usize)
                .cloned()
                .collect();
        }
        let whole = match &self.whole {
            Some((number, whole)) if *number == self.number => whole.clone(),
            _ => self.event("whole", &frame::whole(&self.blocks)),
        };
        self.whole = Some((self.number, whole.clone()));
        vec![whole]
    }
}

impl Feed {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The next frame puts right what a dead thread left.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many look on.
    #[must_use]
    pub fn viewers(&self) -> usize {
        self.lock().viewers
    }

    /// Sends frames to a viewer until he goes, or is too slow.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn send(self: Arc<Self>, mut stream: TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let Some(viewer) = Viewer::admit(self) else {
            return stream.write_all(
                b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        };
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
              X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nretry: 1000\n\n",
        )?;
        let (mut seen, mut has) = (viewer.from, 0);
        while let Some((number, events)) = viewer.next(seen, has) {
            (seen, has) = (number, number);
            if events.is_empty() {
                stream.write_all(b": nothing new\n\n")?;
            }
            for event in events {
                write_in_time(&mut stream, &event)?;
            }
        }
        Ok(())
    }
}

/// A client that takes a byte now and then would never be cut off by the timeout of one call.
fn write_in_time(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match stream.write(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

/// Someone who looks on, until dropped.
struct Viewer {
    feed: Arc<Feed>,
    /// Frames up to this one are too old to begin with.
    from: u64,
}

impl Viewer {
    fn admit(feed: Arc<Feed>) -> Option<Self> {
        let mut state = feed.lock();
        if state.viewers >= MOST || state.closed {
            return None;
        }
        state.viewers += 1;
        // The newest is from when somebody last looked.
        let from = if state.viewers == 1 { state.number } else { 0 };
        drop(state);
        feed.changed.notify_all();
        Some(Self { feed, from })
    }

    /// Waits for what comes after frame `seen`, of which the viewer has `has`; nothing at the end.
    fn next(&self, seen: u64, has: u64) -> Option<(u64, Vec<Arc<[u8]>>)> {
        let mut state = self.feed.lock();
        let until = Instant::now() + ALIVE;
        while state.number == seen && !state.closed {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return Some((has, Vec::new()));
            };
            (state, _) =
                self.feed.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        (!state.closed).then(|| (state.number, state.after(has)))
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.feed.lock().viewers -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_gets_changes_and_a_late_one_the_whole_state() {
        let mut state = State { blocks: vec![BlockState::default(); 3], ..State::default() };
        let mut blocks = state.blocks.clone();
        for valid in 1..=KEPT as u32 + 2 {
            blocks[1].valid = valid;
            state.add(&blocks, Map::new());
        }
        let text = |events: &[Arc<[u8]>]| {
            events.iter().map(|e| String::from_utf8_lossy(e).into_owned()).collect::<String>()
        };
        let newest = state.number;
        assert!(state.after(newest).is_empty());
        assert_eq!(state.after(newest - 2).len(), 2);
        assert!(text(&state.after(newest - 1)).contains("\"changed\""));
        for seen in [0, 1] {
            let events = state.after(seen);
            assert_eq!((events.len(), text(&events).contains("\"whole\"")), (1, true));
        }
        let [one, two] = [state.after(0), state.after(0)];
        assert!(Arc::ptr_eq(&one[0], &two[0]), "a frame is in memory once");
    }
}
