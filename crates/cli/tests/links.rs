//! Every relative link of the documentation points to an existing file, and every anchor to a
//! heading in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

/// Folders that hold no documentation of ours.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

/// All Markdown files below a folder.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder can be read to its end").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
            pages(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The lines outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

/// The anchor of a heading, as GitHub makes it: lower case, dashes for blanks, no punctuation. A
/// link in a heading counts with its text only.
fn anchor(heading: &str) -> String {
    let mut text = heading.trim().to_owned();
    while let Some((before, rest)) = text.split_once("](") {
        let after = rest.split_once(')').map_or("", |(_, after)| after);
        text = format!("{before}{after}");
    }
    text.to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// The anchors of a page; equal headings are numbered.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times = BTreeMap::new();
    let headings = prose(text).filter_map(|line| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then(|| heading.strip_prefix(' ')).flatten()
    });
    headings
        .map(|heading| {
            let name = anchor(heading);
            let time = times.entry(name.clone()).or_insert(0);
            *time += 1;
            if *time == 1 { name } else { format!("{name}-{}", *time - 1) }
        })
        .collect()
}

/// The targets of a page's relative links.
fn links(text: &str) -> Vec<String> {
    let targets = prose(text).flat_map(|line| line.split("](").skip(1));
    targets
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned()))
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

#[test]
fn every_relative_link_of_the_documentation_leads_somewhere() {
    let root = plain(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    let mut files = Vec::new();
    pages(&root, &mut files);
    let read = |path: &Path| {
        fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let mut broken = Vec::new();
    let mut seen = 0;
    for page in &files {
        for link in links(&read(page)) {
            seen += 1;
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let folder = page.parent().expect("a file is in a folder");
            let target = if path.is_empty() { page.clone() } else { plain(&folder.join(path)) };
            let leads = target.exists()
                && (heading.is_empty()
                    || target.is_file() && anchors(&read(&target)).contains(heading));
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    assert!(seen > 100, "only {seen} links were found");
}

#[test]
fn anchors_are_those_of_github() {
    assert_eq!(
        anchor("\"SLAC never worsens response times\""),
        "slac-never-worsens-response-times"
    );
    assert_eq!(anchor("trace info --json"), "trace-info---json");
    assert_eq!(anchor("The [image](a.md) file, `dump`"), "the-image-file-dump");
}
