//! Sends a point-in-time copy of a device.
//!
//! Frames follow the answer line: first page and number of pages (two little-endian numbers of 4 bytes),
//! then their content. 0 pages mean one unreadable page. The last frame has first page `0xffff_ffff`; a
//! line after it says whether the copy is complete.

use std::{
    io::{self, Write},
    os::unix::net::UnixStream,
    path::Path,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::answer;
use crate::{
    device::{Copying, Device, Taken},
    server::Shared,
};

pub(super) const END: u32 = u32::MAX;
/// How long another copy is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn send(shared: &Shared, device: &Device, stream: &UnixStream) -> io::Result<()> {
    let about = device.about();
    let folder = about.folder.clone().unwrap_or_else(std::env::temp_dir);
    let began = Instant::now();
    let copying = match begin(device, &folder) {
        Ok(copying) => copying,
        Err(why) => return answer(stream, Err(why)),
    };
    tracing::info!(export = device.name(), "a copy is begun");
    answer(
        stream,
        Ok(json!({
            "image": about.image,
            "profile": about.profile,
            "layer": about.layer,
            "page_size": device.page_size(),
            "logical_pages": device.size() / u64::from(device.page_size()),
        })),
    )?;
    let sent = pages(shared, copying, stream)?;
    frame(stream, END, 0)?;
    let ended = if sent.is_ok() { "whole" } else { "broken off" };
    let seconds = began.elapsed().as_secs_f64();
    tracing::info!(export = device.name(), seconds, "a copy is {ended}");
    answer(stream, sent)
}

/// The copy has everything flushed or written until now.
fn begin<'a>(device: &'a Device, folder: &Path) -> Result<Copying<'a>, String> {
    // An abandoned copy ends a moment later.
    let begun = Instant::now();
    while device.settings().1 && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    if !device.is_read_only() {
        device.flush().map_err(|e| e.to_string())?;
    }
    device.snapshot(folder)
}

fn pages(
    shared: &Shared,
    mut copying: Copying<'_>,
    mut stream: &UnixStream,
) -> io::Result<Result<Value, String>> {
    let mut content = Vec::new();
    let (mut copied, mut lost) = (0_u64, 0_u64);
    loop {
        if shared.stopping.load(Relaxed) {
            return Ok(Err("the server is stopping".into()));
        }
        match copying.take(&mut content) {
            Err(why) => return Ok(Err(why)),
            Ok(Taken::End) => return Ok(Ok(json!({ "pages": copied, "lost": lost }))),
            Ok(Taken::Lost(lpn)) => {
                frame(stream, lpn, 0)?;
                lost += 1;
            }
            Ok(Taken::Pages(first, count)) => {
                frame(stream, first, count)?;
                stream.write_all(&content)?;
                copied += u64::from(count);
            }
        }
    }
}

fn frame(mut stream: &UnixStream, first: u32, count: u32) -> io::Result<()> {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_le_bytes());
    bytes[4..].copy_from_slice(&count.to_le_bytes());
    stream.write_all(&bytes)
}
