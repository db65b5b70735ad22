//! A damaged image behind a served export: the host's reads, and the further life of the image.

use std::collections::BTreeSet;

use thermocline_assembly::{Access, Progress, repair};
use thermocline_server::{Device, Fault, Opening};

use super::{
    Draws,
    history::{Content, History, Layer},
};

/// An image that is served.
pub struct Export {
    device: Device,
    page: Vec<u8>,
}

impl Export {
    pub fn of(layer: Layer) -> Self {
        let device = Device::new(Opening::new(layer), None);
        let page = vec![1; device.page_size() as usize];
        Self { device, page }
    }

    /// A host read, by the calls of a connection.
    pub fn read(&mut self, lpn: u32) -> Result<Content, ()> {
        let size = self.page.len() as u64;
        let mut held = self.device.lock().expect("it is served");
        let (has_data, bytes) = held.run(u64::from(lpn) * size, size, 1);
        assert_eq!(bytes, size, "a page");
        if !has_data {
            return Ok(0);
        }
        held.read(u64::from(lpn) * size, &mut self.page).map_err(|fault| {
            assert!(fault.is_unreadable(), "page {lpn}: {fault}");
        })?;
        let (words, _) = self.page.as_chunks::<8>();
        let content = u64::from_le_bytes(words[0]);
        // A page of mixed content was never written.
        Ok(if words.iter().all(|word| *word == words[0]) { content } else { Content::MAX })
    }

    fn write(&mut self, lpn: u32, content: Content) -> Result<(), Fault> {
        let size = self.page.len();
        let page = content.to_le_bytes().repeat(size / 8);
        self.device.lock().expect("it is served").write(u64::from(lpn) * size as u64, &page)
    }

    fn flush(&self) -> Result<(), Fault> {
        let changes = self.device.lock().expect("it is served").changes();
        self.device.settle(changes, 1)
    }
}

/// The contents that a host has seen, and must see from then on.
struct Seen {
    may: Vec<Vec<Content>>,
    lost: BTreeSet<u32>,
    written: Content,
}

impl Seen {
    /// Reads all pages: shown data stay, and so do errors.
    fn look(&mut self, export: &mut Export) -> Result<(), String> {
        for (lpn, may) in (0..).zip(&mut self.may) {
            let was_lost = self.lost.contains(&lpn);
            match export.read(lpn) {
                Ok(found) if was_lost => {
                    return Err(format!("page {lpn}: {found} where an error was"));
                }
                Ok(found) if may.contains(&found) => *may = vec![found],
                Ok(found) => return Err(format!("page {lpn}: {found}, not {may:?}")),
                Err(()) => {
                    self.lost.insert(lpn);
                }
            }
        }
        Ok(())
    }

    /// Writes to pages that can be read. False if the chip takes no more.
    fn write(&mut self, export: &mut Export, draws: &mut Draws) -> bool {
        let pages = self.may.len() as u32;
        for _ in 0..200 {
            let lpn = draws.below(pages);
            if self.lost.contains(&lpn) {
                continue;
            }
            self.written += 1;
            if export.write(lpn, self.written).is_err() {
                return false;
            }
            self.may[lpn as usize] = vec![self.written];
        }
        export.flush().is_ok()
    }
}

/// Uses an image further after it was damaged: writes other pages, stops or kills it, repairs it, mounts it in
/// either way. Errors stay errors, shown data stay, and nothing else appears.
pub fn goes_on(
    history: &History,
    mut export: Export,
    draws: &mut Draws,
) -> Result<&'static str, String> {
    let may = (0..history.pages()).map(|lpn| history.may_hold(lpn).to_vec()).collect();
    let mut seen = Seen { may, lost: BTreeSet::new(), written: history.written + 1_000_000 };
    seen.look(&mut export).map_err(|e| format!("at first: {e}"))?;
    let mut story = String::new();
    for _ in 0..2 {
        if !seen.write(&mut export, draws) {
            return Ok("takes no writes");
        }
        story += ", written";
        seen.look(&mut export).map_err(|e| story.clone() + ": " + &e)?;
        let is_stopped = draws.one_in(2);
        if is_stopped && export.device.close().is_err() {
            return Ok("cannot be stopped");
        }
        drop(export);
        let is_repaired = draws.one_in(3);
        if is_repaired
            && repair(&history.place(), &Access::default(), &Progress::default()).is_err()
        {
            return Ok("cannot be repaired");
        }
        let rebuild = draws.one_in(2);
        story += if is_stopped { ", stopped" } else { ", killed" };
        story += if is_repaired { ", repaired" } else { "" };
        story += if rebuild { ", rebuilt" } else { "" };
        let Ok(layer) = history.serve(rebuild) else { return Ok("refused later") };
        export = Export::of(layer);
        seen.look(&mut export).map_err(|e| story.clone() + ": " + &e)?;
    }
    Ok("as it was")
}
