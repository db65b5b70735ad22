//! A check of a device that is in use: its tables are recounted, and its data read, a few pages at a time.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Value, json};

use crate::{device::Device, server::Shared};

/// Pages that are named one by one.
const MOST_NAMED: usize = 100;

/// Checks everything that hosts could read.
pub(super) fn all(shared: &Shared, device: &Device) -> Result<Value, String> {
    let contradiction = device.look(|layer| layer.inspect().check().err());
    let logical_pages = device.look(|layer| layer.logical_pages());
    let (mut verified, mut next) = (0_u64, 0);
    let mut lost: Vec<u32> = Vec::new();
    while next < logical_pages {
        if shared.stopping.load(Relaxed) {
            return Err("the server is stopping".into());
        }
        let seen = device.verify(next).map_err(|e| e.to_string())?;
        verified += seen.sound;
        lost.extend(seen.lost);
        next = seen.next;
    }
    let ailments = device.ailments();
    let sound = contradiction.is_none() && lost.is_empty() && ailments.is_empty();
    Ok(json!({
        "image": device.about().image,
        "sound": sound,
        "served": true,
        "logical_pages": logical_pages,
        "pages_with_data": verified + lost.len() as u64,
        "pages_verified": verified,
        "contradictions": contradiction.into_iter().collect::<Vec<_>>(),
        "ailments": ailments,
        "lost": lost.len(),
        "lost_pages": lost.iter().take(MOST_NAMED).map(|lpn| json!({ "lpn": lpn })).collect::<Vec<_>>(),
    }))
}
