//! Images without a readable head of the index log: a repair rebuilds them, and an interrupted repair is
//! repeated.

use tempfile::TempDir;
use thermocline_assembly::{Access, Progress, repair, status};
use thermocline_media::Faults;
use thermocline_policy::preset::LayerKind;

use super::{End, Outcome, export::Export, harm::Harm, history::History, outcome};

/// Histories of each layer; half of them end by a kill.
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
            let (found, text, _) = outcome(&history, false);
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

/// The end of an image is the index log, and the payload of the blocks before it.
#[test]
fn what_is_left_of_an_image_that_was_cut_off_is_given_back() {
    let folder = ["/dev/shm", "."].iter().find_map(|place| TempDir::new_in(place).ok());
    let folder = folder.expect("a folder");
    let layers =
        [LayerKind::PageMapped, LayerKind::Nftl, LayerKind::InPlace, LayerKind::DemandPaged];
    for (layer, quarters) in layers.into_iter().flat_map(|layer| [(layer, 3), (layer, 2)]) {
        let history = History::write(3, layer, folder.path());
        let image = history.image();
        history.put(&image[..image.len() * quarters / 4]);
        let refused = history.serve(false).err().expect("it is cut off").to_string();
        let remedy = format!(
            "cut off; restore it from a complete copy, or keep what is left of it: `thermocline repair {}`",
            history.place()
        );
        assert!(refused.contains(&remedy), "{refused}");
        let repaired = repair(&history.place(), &Access::default(), &Progress::default());
        let repaired = repaired.unwrap_or_else(|e| panic!("{layer:?}: {e}"));
        assert!(repaired.mended.iter().any(|it| it.contains("cut off")), "{:?}", repaired.mended);
        // Unwritten pages belong to the disk as well.
        assert!(repaired.logical_pages >= history.pages(), "{layer:?}: {}", repaired.logical_pages);
        let status = status(&history.place()).expect("repaired");
        assert_eq!(status.ailments, [""; 0], "{layer:?}");
        let mut export = Export::of(history.serve(false).expect("repaired"));
        let is_right = |lpn: &u32| {
            let Ok(found) = export.read(*lpn) else { return false };
            let may_hold = history.may_hold(*lpn);
            // Trims recorded only in the lost log are undone.
            assert!(
                may_hold.contains(&found) || may_hold.contains(&0),
                "{layer:?}: page {lpn} holds {found}, not {may_hold:?}"
            );
            may_hold.contains(&found)
        };
        let right = (0..history.pages()).filter(is_right).count();
        let most = history.pages() as usize;
        assert!(right > most * (2 * quarters - 3) / 9, "{quarters} quarters: {right} of {most}");
    }
}

/// The second repair does not take the part that the first one added for a torn end.
#[test]
fn nor_does_a_repair_of_a_cut_image_that_is_cut_off_itself_bring_older_data_back() {
    let folder = ["/dev/shm", "."].iter().find_map(|place| TempDir::new_in(place).ok());
    let folder = folder.expect("a folder");
    let layers = [LayerKind::PageMapped, LayerKind::Nftl, LayerKind::InPlace];
    for (layer, seed) in layers.into_iter().flat_map(|layer| [(layer, 3), (layer, 4)]) {
        let history = History::write(seed, layer, folder.path());
        let image = history.image();
        let left = image[..image.len() * 3 / 4].to_vec();
        let path = history.place().path().expect("a file").to_path_buf();
        for cut in 0.. {
            history.put(&left);
            let faults = Faults { cut: Some(cut), seed, ..Faults::default() };
            let access = Access { faults: Some(faults), ..Access::default() };
            let is_done = repair(&history.place(), &access, &Progress::default()).is_ok();
            let length = std::fs::metadata(&path).expect("the image").len();
            assert_eq!(length, image.len() as u64, "it was made longer first");
            if !is_done {
                let again = repair(&history.place(), &Access::default(), &Progress::default());
                again.unwrap_or_else(|e| panic!("{layer:?} seed {seed}, cut {cut}: {e}"));
            }
            let mut export = Export::of(history.serve(false).expect("repaired"));
            for lpn in 0..history.pages() {
                let Ok(found) = export.read(lpn) else { continue };
                let may_hold = history.may_hold(lpn);
                assert!(
                    may_hold.contains(&found) || may_hold.contains(&0),
                    "{layer:?} seed {seed}, cut {cut}: page {lpn} holds {found}, not {may_hold:?}"
                );
            }
            if is_done {
                break;
            }
        }
    }
}

/// Both copies of the header page are gone, and with them all that the file says of its own shape.
#[test]
fn an_image_without_a_header_page_is_given_one_by_its_log() {
    let folder = ["/dev/shm", "."].iter().find_map(|place| TempDir::new_in(place).ok());
    let folder = folder.expect("a folder");
    for (seed, layer) in (1..).zip([
        LayerKind::PageMapped,
        LayerKind::Nftl,
        LayerKind::InPlace,
        LayerKind::DemandPaged,
    ]) {
        let history = History::write(seed, layer, folder.path());
        let mut image = history.image().to_vec();
        let second = image.len() - 4096;
        image[..4096].fill(0);
        image[second..].fill(0x55);
        history.put(&image);
        assert!(history.serve(false).is_err(), "{layer:?}");
        let repaired = repair(&history.place(), &Access::default(), &Progress::default());
        let repaired = repaired.unwrap_or_else(|e| panic!("{layer:?}: {e}"));
        assert!(repaired.mended[0].contains("header page"), "{:?}", repaired.mended);
        let (found, text, _) = outcome(&history, false);
        let least = match (layer, history.end) {
            (LayerKind::InPlace, End::Killed) => Outcome::Eio,
            _ => Outcome::Exact,
        };
        assert!(found <= least, "{layer:?}: {found:?} {text}");
        // A file of another length, or without a log, is left as it is.
        history.put(&image[..second]);
        assert!(repair(&history.place(), &Access::default(), &Progress::default()).is_err());
        let path = history.place().path().expect("a file").to_path_buf();
        let left = std::fs::read(path).expect("the image");
        assert!(left[..4096].iter().all(|byte| *byte == 0), "{layer:?}");
    }
}

#[test]
fn stat_tells_of_a_damaged_copy_of_the_header_page_as_check_does() {
    let folder = ["/dev/shm", "."].iter().find_map(|place| TempDir::new_in(place).ok());
    let folder = folder.expect("a folder");
    let history = History::write(1, LayerKind::PageMapped, folder.path());
    let mut image = history.image().to_vec();
    image[..4096].fill(0);
    history.put(&image);
    let found = status(&history.place()).expect("the other copy is whole");
    assert_eq!(found.state, "damaged");
    assert!(found.ailments[0].contains("first copy of the header page"), "{:?}", found.ailments);
    assert!(found.action.contains("thermocline repair"), "{}", found.action);
    repair(&history.place(), &Access::default(), &Progress::default()).expect("repaired");
    assert_ne!(status(&history.place()).expect("repaired").state, "damaged");
}
