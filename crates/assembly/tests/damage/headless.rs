//! Images of which no head of the index log can be read: a repair rebuilds them, and one that was itself cut off
//! is done again.

use tempfile::TempDir;
use thermocline_assembly::{Access, Progress, repair};
use thermocline_media::Faults;
use thermocline_policy::preset::LayerKind;

use super::{End, Outcome, harm::Harm, history::History, outcome};

/// Histories of each layer: half of them end by a kill.
const HISTORIES: u64 = 4;

#[test]
fn a_repair_needs_no_heads_and_may_be_cut_off_anywhere() {
    let folder = ["/dev/shm", "."].iter().find_map(|place| TempDir::new_in(place).ok());
    let folder = folder.expect("a folder");
    let layers = [LayerKind::PageMapped, LayerKind::Nftl, LayerKind::InPlace];
    for (layer, seed) in
        layers.iter().flat_map(|layer| (1..=HISTORIES).map(move |seed| (*layer, seed)))
    {
        let history = History::write(seed, layer, folder.path());
        let mut headless = Harm::whole(&history);
        headless.spoil_heads();
        let is_right = |what: &str| {
            let (found, text) = outcome(&history, false);
            let least = match (layer, history.end) {
                (LayerKind::InPlace, End::Killed) => Outcome::Eio,
                _ => Outcome::Exact,
            };
            assert!(found <= least, "{layer:?} seed {seed}, {what}: {found:?} {text}");
        };
        let mut cuts = 0;
        for cut in 0.. {
            history.put(&headless.bytes);
            let faults = Faults { cut: Some(cut), seed, ..Faults::default() };
            let access = Access { faults: Some(faults), ..Access::default() };
            if repair(&history.place(), &access, &Progress::default()).is_ok() {
                is_right("repaired");
                break;
            }
            cuts += 1;
            let again = repair(&history.place(), &Access::default(), &Progress::default());
            let again = again.unwrap_or_else(|e| panic!("{layer:?} seed {seed}, cut {cut}: {e}"));
            assert!(again.pages_with_data > 0);
            is_right(&format!("cut {cut}"));
        }
        assert!(cuts > 3, "{layer:?} seed {seed}: {cuts} cuts");
    }
}
