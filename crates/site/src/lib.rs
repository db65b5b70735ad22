//! The documentation as a site: the repository's Markdown files, which stay as they are, as static pages with a contents list,
//! the page's headings, and a search that runs in the page.
//!
//! Links between pages become links of the site. What a link names in the repository and the site does not have is shown as text with its path. A page asks
//! no other server for anything.

mod contents;
mod markdown;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
};

pub use contents::{FIRST, SECTIONS, entries};
use markdown::{Inside, Target, escaped, inside, plain};

const STYLE: &str = include_str!("../assets/docs.css");
const SCRIPT: &str = include_str!("../assets/docs.js");
const VERSIONS: &str = include_str!("../assets/versions.js");
const INDEX: &str = "search-index.js";

/// Why there is no site.
#[derive(Debug)]
pub enum SiteError {
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
    /// Links that lead nowhere: the file, and the link.
    Links(Vec<String>),
}

impl fmt::Display for SiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Links(all) => write!(f, "links that lead nowhere: {}", all.join("; ")),
        }
    }
}

impl std::error::Error for SiteError {}

fn read(path: &Path) -> Result<String, SiteError> {
    fs::read_to_string(path).map_err(|e| SiteError::File(path.into(), e))
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), SiteError> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, content));
    written.map_err(|e| SiteError::File(path.into(), e))
}

/// Builds the site of a repository into a folder. Returns the number of pages.
///
/// # Errors
/// A file cannot be read or written, or a link leads nowhere.
pub fn build(repository: &Path, site: &Path) -> Result<usize, SiteError> {
    let slugs: BTreeMap<PathBuf, &str> =
        entries().map(|(file, slug)| (PathBuf::from(file), slug)).collect();
    let mut pages = Vec::new();
    let (mut images, mut broken) = (BTreeSet::new(), Vec::new());
    for (file, slug) in entries() {
        let text = read(&repository.join(file))?;
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let link = |target: &str| {
            if target.contains("://") || target.starts_with("mailto:") || target.starts_with('#') {
                return Target::Address(target.into());
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = plain(&folder.join(path));
            let found = slugs.get(&path).or_else(|| slugs.get(&path.join("README.md")));
            match found {
                Some(other) => {
                    let hash = if anchor.is_empty() { "" } else { "#" };
                    Target::Address(format!("{}{other}.html{hash}{anchor}", up(slug)))
                }
                None => {
                    if !repository.join(&path).exists() {
                        broken.push(format!("{file}: {target}"));
                    }
                    Target::Source(path.display().to_string())
                }
            }
        };
        let image = |target: &str| {
            let path = plain(&folder.join(target));
            let there = path.strip_prefix("docs").unwrap_or(&path).display().to_string();
            images.insert((path, there.clone()));
            format!("{}{there}", up(slug))
        };
        pages.push((slug, inside(&text, link, image)));
    }
    broken.extend(anchors(&pages));
    if !broken.is_empty() {
        return Err(SiteError::Links(broken));
    }
    for (path, there) in images {
        let path = repository.join(path);
        let image = fs::read(&path).map_err(|e| SiteError::File(path, e))?;
        write(&site.join(there), image)?;
    }
    for (at, (slug, page)) in pages.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| pages.get(at));
        let html = whole(&pages, slug, page, before, pages.get(at + 1));
        write(&site.join(format!("{slug}.html")), html)?;
    }
    write(&site.join("docs.css"), STYLE)?;
    write(&site.join("docs.js"), SCRIPT)?;
    write(&site.join("versions.js"), VERSIONS)?;
    write(&site.join(INDEX), index(&pages))?;
    Ok(pages.len())
}

/// The way from a page to the first.
fn up(slug: &str) -> String {
    "../".repeat(slug.matches('/').count())
}

/// Links to headings that a page does not have.
fn anchors(pages: &[(&str, Inside)]) -> Vec<String> {
    let mut broken = Vec::new();
    for (slug, page) in pages {
        for link in page.html.split("<a href=\"").skip(1) {
            let target = link.split('"').next().unwrap_or_default();
            let Some((path, anchor)) = target.split_once('#') else { continue };
            if path.contains("://") {
                continue;
            }
            let path = path.trim_start_matches("../");
            let other = if path.is_empty() { slug } else { path.trim_end_matches(".html") };
            let found = pages.iter().find(|(name, _)| *name == other);
            let id = format!("id=\"{anchor}\"");
            if !found.is_some_and(|(_, page)| page.html.contains(&id)) {
                broken.push(format!("{slug}: {target}"));
            }
        }
    }
    broken
}

type Page<'a> = (&'a str, Inside);

fn whole(
    pages: &[Page<'_>],
    slug: &str,
    page: &Inside,
    before: Option<&Page<'_>>,
    after: Option<&Page<'_>>,
) -> String {
    let root = up(slug);
    let title = |slug: &str| {
        let page = pages.iter().find(|(other, _)| *other == slug);
        page.map_or_else(String::new, |(_, page)| escaped(&page.title))
    };
    let entry = |other: &str| {
        let here = if other == slug { " aria-current=\"page\"" } else { "" };
        format!("<li><a href=\"{root}{other}.html\"{here}>{}</a></li>\n", title(other))
    };
    let section = |(name, entries): &(&str, &[contents::Entry])| {
        let list: String = entries.iter().map(|(_, slug)| entry(slug)).collect();
        format!("<h2>{name}</h2>\n<ul>\n{list}</ul>\n")
    };
    let list: String = SECTIONS.iter().map(section).collect();
    let heading = |(anchor, words): &(String, String)| {
        format!("<li><a href=\"#{anchor}\">{}</a></li>\n", escaped(words))
    };
    let headings = match page.headings.len() {
        0..3 => String::new(),
        _ => {
            let all: String = page.headings.iter().map(heading).collect();
            format!(
                "<details class=\"headings\"><summary>On this page</summary>\n<ul>\n{all}</ul></details>\n"
            )
        }
    };
    let neighbour = |page: Option<&Page<'_>>, relation: &str, sign: &str| {
        page.map_or_else(String::new, |(slug, page)| {
            let title = escaped(&page.title);
            format!("<a rel=\"{relation}\" href=\"{root}{slug}.html\">{sign} {title}</a>\n")
        })
    };
    let (previous, next) = (neighbour(before, "prev", "←"), neighbour(after, "next", "→"));
    // The headings come after the title.
    let (head, body) = page.html.split_once("</h1>").unwrap_or(("", &page.html));
    let end = if head.is_empty() { "" } else { "</h1>\n" };
    let (version, own) = (env!("CARGO_PKG_VERSION"), escaped(&page.title));
    format!(
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{own} – Thermocline</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{root}docs.css">
<script defer src="{root}docs.js" data-root="{root}"></script>
</head>
<body>
<a class="skip" href="#text">To the text</a>
<header>
<p><a href="{root}index.html">Thermocline</a> <span>{version}</span> <select id="versions" aria-label="Version of this site" hidden></select> · <a href="{root}../index.html">Playground</a></p>
<search>
<label for="search">Search</label>
<input id="search" type="search" placeholder="Search (/)" autocomplete="off" spellcheck="false" aria-describedby="found-count">
<p id="found-count" role="status"></p>
<ol id="found"></ol>
</search>
</header>
<script src="{root}versions.js" data-root="{root}../"></script>
<div class="columns">
<nav aria-label="Contents"><details id="contents" open><summary>Contents</summary>
{list}</details></nav>
<main id="text" tabindex="-1">
{head}{end}{headings}{body}
<p class="neighbours">{previous}{next}</p>
</main>
</div>
</body>
</html>
"##
    )
}

/// Everything that a search looks through, as a script: a page that comes from a file may load one, and no data.
fn index(pages: &[Page<'_>]) -> String {
    let parts = pages.iter().flat_map(|(slug, page)| {
        page.parts.iter().map(move |part| {
            let text = part.text.split_whitespace().collect::<Vec<_>>().join(" ");
            // Papers' tables are long, and numbers are not what one looks for.
            let text: String = text.chars().take(4000).collect();
            serde_json::json!([slug, part.anchor, page.title, part.heading, text])
        })
    });
    let all: Vec<_> = parts.collect();
    format!("window.docsIndex = {};\n", serde_json::Value::from(all))
}
