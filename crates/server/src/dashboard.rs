//! The dashboard: a page, a stream of frames for each export, the pages of a block that is asked about.
//!
//! It reads and changes nothing. Only while somebody looks is the device in hand: for some microseconds at a
//! time, and hosts go first.

use std::{
    io,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value, json};
use thermocline_flash::{BlockId, Flash};
use thermocline_ftl::{BlockState, PageState};
use thermocline_live::{
    feed::{self, Feed, Producing, Source},
    http::{self, Answer, Answering, Request, Site},
    page,
};

use crate::{
    control::stat,
    counters::{Kind, LATENCIES, latency_limit},
    history::History,
    http::Http,
    server::{Export, Shared},
};

/// Blocks that are looked at with the device in hand once.
const BLOCKS: usize = 1024;
/// Requests at a time that are no streams.
const MOST: usize = 16;

/// Begins to answer. `name` is the configured address.
pub(crate) fn start(http: Http, name: String, shared: &Arc<Shared>) -> io::Result<Answering> {
    let one = |export| feed::start(Looked { shared: shared.clone(), export });
    let frames = (0..shared.exports.len()).map(one).collect::<io::Result<Vec<_>>>()?;
    let site = Dashboard {
        shared: shared.clone(),
        name,
        page: page::live(),
        feeds: frames.iter().map(|one| one.feed().clone()).collect(),
        frames: Mutex::new(frames),
        history: History::start(shared)?,
    };
    let most = MOST + feed::MOST * site.feeds.len();
    http::start(http.0, "dashboard", Arc::new(site), most)
}

struct Dashboard {
    shared: Arc<Shared>,
    name: String,
    page: page::Page,
    feeds: Vec<Arc<Feed>>,
    frames: Mutex<Vec<Producing>>,
    history: History,
}

impl Site for Dashboard {
    fn answer(&self, request: &Request<'_>) -> Answer {
        if !request.means(&self.name) {
            return http::misdirected();
        }
        // Text that is not a number counts as an unknown export or block.
        let export = request.number("export").map_or(usize::MAX, |number| number as usize);
        match (request.path, self.feeds.get(export)) {
            ("/", _) => Answer::page(&self.page.html, &self.page.policy),
            ("/exports", _) => {
                let names = self.shared.exports.iter().map(|export| export.device.name());
                Answer::of("200 OK", http::JSON, json!(names.collect::<Vec<_>>()).to_string())
            }
            ("/events", Some(feed)) => {
                let feed = feed.clone();
                Answer::Stream(Box::new(move |stream| feed.send(stream)))
            }
            ("/block", Some(_)) => {
                block(&self.shared.exports[export], request.number("block").unwrap_or(u32::MAX))
            }
            ("/history", Some(_)) => {
                let history = self.history.of(export).to_string();
                Answer::of("200 OK", http::JSON, history)
            }
            ("/events" | "/block" | "/history", None) => {
                Answer::text("404 Not Found", "there is no such export; /exports lists them\n")
            }
            _ => Answer::text("404 Not Found", "the dashboard is at /\n"),
        }
    }

    fn stop(&self) {
        self.history.stop();
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *frames).into_iter().for_each(Producing::stop);
    }
}

/// The pages of a block: 0 free, 1 garbage, 2 valid, and the logical page they are of.
fn block(export: &Export, block: u32) -> Answer {
    if block >= export.device.blocks() {
        return Answer::text("404 Not Found", "there is no such block\n");
    }
    let pages = export.device.look(|layer| layer.inspect().page_states(BlockId(block)));
    let page = |page: &PageState| match page {
        PageState::Free => json!([0, null]),
        PageState::Garbage(lpn) => json!([1, lpn.0]),
        PageState::Valid(lpn) => json!([2, lpn.0]),
    };
    let pages: Vec<_> = pages.iter().map(page).collect();
    Answer::of("200 OK", http::JSON, json!({ "block": block, "pages": pages }).to_string())
}

/// An export that is looked at.
pub(crate) struct Looked<S> {
    pub shared: S,
    pub export: usize,
}

impl<S: Deref<Target = Shared>> Looked<S> {
    fn export(&self) -> &Export {
        &self.shared.exports[self.export]
    }
}

impl<S: Deref<Target = Shared> + Send + Sync> Source for Looked<S> {
    fn blocks(&self) -> usize {
        self.export().device.blocks() as usize
    }

    fn sample(&self, into: &mut [BlockState]) {
        for (first, part) in (0..).step_by(BLOCKS).zip(into.chunks_mut(BLOCKS)) {
            self.export().device.glance(|layer| layer.inspect().block_states(BlockId(first), part));
        }
    }

    fn figures(&self) -> Map<String, Value> {
        let export = self.export();
        let device = &*export.device;
        let (settings, _) = device.settings();
        let (requests, connections, opened) = export.registry.sum();
        let (state, _) = stat::state(&self.shared, device);
        let latency = |kind: &Kind| {
            let classes = &requests.of(*kind).latency;
            (kind.name().to_owned(), classes.iter().map(|class| class.get()).collect::<Value>())
        };
        let answered =
            |kind: &Kind| (kind.name().to_owned(), requests.of(*kind).answered.get().into());
        let in_flight = |kind: &Kind| {
            let it = requests.of(*kind);
            it.begun.get().saturating_sub(it.answered.get())
        };
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (counters, health, free, spare) = device.glance(|layer| {
            let inspect = layer.inspect();
            let (free, spare) = (inspect.free_blocks(), inspect.spare_blocks());
            (*inspect.counters(), layer.chip().health(), free, spare)
        });
        let figures = json!({
            "time_ms": time.as_millis() as u64,
            "state": state,
            "settings": settings,
            "free_blocks": free,
            "spare_blocks": spare,
            "since_mount": stat::done(&counters),
            "health": stat::health(&health, &counters),
            "clients": {
                "connections": connections,
                "opened": opened,
                "in_flight": Kind::ALL.iter().map(in_flight).sum::<u64>(),
                "refused": self.shared.refused.load(Relaxed),
                "requests": Kind::ALL.iter().map(answered).collect::<Map<_, _>>(),
                "latency": Kind::ALL.iter().map(latency).collect::<Map<_, _>>(),
            },
        });
        match figures {
            Value::Object(figures) => figures,
            _ => Map::new(),
        }
    }

    fn about(&self) -> Map<String, Value> {
        let device = &*self.export().device;
        let geometry = device.look(|layer| *layer.chip().geometry());
        let limits = (0..LATENCIES).map(|class| latency_limit(class) * 1e6);
        let about = json!({
            "export": device.name(),
            "image": device.about().image,
            "device": device.about().device,
            "exported_bytes": device.size(),
            "page_size": device.page_size(),
            "blocks": geometry.blocks(),
            "pages_per_block": geometry.data_pages_per_block(),
            "banks": geometry.banks,
            "endurance": device.about().endurance,
            "latency_limits_us": limits.collect::<Vec<_>>(),
        });
        match about {
            Value::Object(about) => about,
            _ => Map::new(),
        }
    }
}
