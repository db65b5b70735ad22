//! `thermocline top`: a served chip on a terminal.

use std::{io::IsTerminal, time::Duration};

use serde_json::Value;
use thermocline_live::{
    frame,
    screen::{self, Course, Panel, Screen},
};
use thermocline_server::control::{Command, client::Client};

use super::live;
use crate::{
    args::store::TopArgs,
    exit::Failure,
    output::Output,
    print::{number, table::USUAL_WIDTH},
};

/// Lines of the picture where there is no terminal.
const LINES: u16 = 26;

/// Polls servers and shows their answers.
pub fn run(args: &TopArgs) -> Result<(), Failure> {
    let place = &args.target;
    let failed = |why: String| Failure::failed(format!("{place}: {why}"));
    let mut client = live::serving(place, args.export.as_deref())?;
    let mut chip = Chip::default();
    chip.take(&ask(&mut client).map_err(failed)?);
    let is_seen = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    if args.once || !is_seen {
        let output = Output::open(None)?;
        let width = output.width().unwrap_or(USUAL_WIDTH).clamp(40, 400) as u16;
        return output.put(screen::text(&title(args), &[chip.panel], width, LINES).as_bytes());
    }
    let system = |e: std::io::Error| Failure::failed(format!("the terminal: {e}"));
    let mut screen = Screen::open().map_err(system)?;
    loop {
        screen.draw(&title(args), std::slice::from_ref(&chip.panel)).map_err(system)?;
        if screen.is_to_end(Duration::from_nanos(args.every)).map_err(system)? {
            return Ok(());
        }
        chip.take(&ask(&mut client).map_err(failed)?);
    }
}

fn title(args: &TopArgs) -> String {
    format!("thermocline top {}   q ends", args.target)
}

fn ask(client: &mut Client) -> Result<Value, String> {
    client.ask(Command::Frame)
}

/// The answers about a chip.
#[derive(Default)]
struct Chip {
    panel: Panel,
    last: Option<Value>,
}

impl Chip {
    fn take(&mut self, now: &Value) {
        let count = |of: &Value, path: &str| of.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        let text = |path: &str| now.pointer(path).and_then(Value::as_str).unwrap_or("?").to_owned();
        let last = self.last.as_ref().unwrap_or(now);
        let grown = |path: &str| count(now, path).saturating_sub(count(last, path)) as f64;
        let seconds = (grown("/time_ms") / 1e3).max(1e-3);
        let host = grown("/since_mount/host_pages_written");
        let copied = grown("/since_mount/flash_pages_copied");
        let shown = |n: f64, digits| number::fixed(n, digits);
        if self.panel.courses.is_empty() {
            self.panel.courses =
                ["write amplification", "host pages a second", "write p99, µs, at most"]
                    .map(Course::new)
                    .into();
        }
        if self.last.is_some() {
            let p99 = percentile(now, last, "write", 0.99);
            let wa = if host > 0.0 { (host + copied) / host } else { 0.0 };
            // Where nothing was written there is no such figure.
            let of_writes = |n: f64, digits| if n > 0.0 { shown(n, digits) } else { "–".into() };
            let [amplification, writes, response] = &mut self.panel.courses[..] else { return };
            amplification.add(wa, of_writes(wa, 2));
            writes.add(host / seconds, number::grouped((host / seconds) as u64));
            response.add(p99, of_writes(p99, 0));
        }
        let grouped = |path| number::grouped(count(now, path));
        self.panel.name = format!(
            "{}: {} on {}, {}",
            text("/export"),
            text("/settings/policy"),
            text("/device"),
            text("/state")
        );
        let since = now.pointer("/since_mount/write_amplification").and_then(Value::as_f64);
        self.panel.figures = vec![
            ("write amplification since mount", since.map_or("–".into(), |wa| shown(wa, 3))),
            ("host pages written", grouped("/since_mount/host_pages_written")),
            ("pages copied", grouped("/since_mount/flash_pages_copied")),
            ("blocks erased", grouped("/since_mount/flash_blocks_erased")),
            ("free blocks", grouped("/free_blocks")),
            ("connections", grouped("/clients/connections")),
            ("failed reads", grouped("/health/failed_reads")),
        ];
        self.panel.pages = count(now, "/pages_per_block") as u32;
        let blocks = now.get("whole").and_then(Value::as_str).and_then(frame::bytes);
        self.panel.blocks = blocks.and_then(|b| frame::read_whole(&b)).unwrap_or_default();
        let mut kept = now.clone();
        kept.as_object_mut().map(|kept| kept.remove("whole"));
        self.last = Some(kept);
    }
}

/// The upper end of the class of latencies, in µs, that this share of the requests since then did not exceed.
fn percentile(now: &Value, then: &Value, kind: &str, share: f64) -> f64 {
    let classes = |of: &Value| -> Vec<u64> {
        let classes = of["clients"]["latency"][kind].as_array();
        classes.into_iter().flatten().filter_map(Value::as_u64).collect()
    };
    let grown =
        classes(now).into_iter().zip(classes(then)).map(|(now, then)| now.saturating_sub(then));
    let counts: Vec<u64> = grown.collect();
    let wanted = counts.iter().map(|n| *n as f64).sum::<f64>() * share;
    let mut sum = 0.0;
    let reaches = |n: &u64| {
        sum += *n as f64;
        sum > 0.0 && sum >= wanted
    };
    let class = counts.iter().position(reaches);
    class.and_then(|class| now["latency_limits_us"][class].as_f64()).unwrap_or(0.0)
}
