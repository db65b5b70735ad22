//! A Markdown file as the inside of a page.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html::push_html};

/// A page's inside.
#[derive(Default)]
pub struct Inside {
    /// The title, as text.
    pub title: String,
    pub html: String,
    /// The headings of the second level: anchor and text.
    pub headings: Vec<(String, String)>,
    /// Every part from one heading to the next.
    pub parts: Vec<Part>,
}

/// What a search finds.
#[derive(Default)]
pub struct Part {
    pub anchor: String,
    pub heading: String,
    pub text: String,
}

/// Where a link leads.
pub enum Target {
    /// To this address.
    Address(String),
    /// To a file of the repository that the site does not have.
    Source(String),
}

/// Turns a file into a page's inside. `link` and `image` get a target as it is written and give an address.
pub fn inside(
    text: &str,
    mut link: impl FnMut(&str) -> Target,
    mut image: impl FnMut(&str) -> String,
) -> Inside {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
    let mut events = Parser::new_ext(text, options);
    let mut page = Inside::default();
    let mut out: Vec<Event<'_>> = Vec::new();
    let (mut anchors, mut ends) = (BTreeMap::new(), Vec::new());
    while let Some(event) = events.next() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let inner = until(&mut events, |end| matches!(end, TagEnd::Heading(_)));
                let words = words(&inner);
                let anchor = numbered(&mut anchors, anchor(&words));
                if page.title.is_empty() {
                    page.title.clone_from(&words);
                }
                if level as usize == 2 {
                    page.headings.push((anchor.clone(), words.clone()));
                }
                out.push(raw(format!("<{level} id=\"{anchor}\">")));
                // Links in headings would lead away from where they are read.
                let is_link = |e: &Event<'_>| {
                    matches!(e, Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link))
                };
                out.extend(inner.into_iter().filter(|event| !is_link(event)));
                out.push(raw(format!("</{level}>\n")));
                page.parts.push(Part { anchor, heading: words, text: String::new() });
            }
            Event::Start(Tag::Link { dest_url, .. }) => match link(&dest_url) {
                Target::Address(address) => {
                    out.push(raw(format!("<a href=\"{}\">", escaped(&address))));
                    ends.push("</a>");
                }
                Target::Source(path) => {
                    let path = escaped(&path);
                    out.push(raw(format!(
                        "<span class=\"source\" title=\"{path}, in the repository\">"
                    )));
                    ends.push("</span>");
                }
            },
            Event::End(TagEnd::Link) => out.push(raw(ends.pop().unwrap_or_default().into())),
            Event::Start(Tag::Image { dest_url, .. }) => {
                let alt = words(&until(&mut events, |end| matches!(end, TagEnd::Image)));
                let (address, alt) = (escaped(&image(&dest_url)), escaped(&alt));
                out.push(raw(format!("<img src=\"{address}\" alt=\"{alt}\" loading=\"lazy\">")));
            }
            Event::Start(Tag::CodeBlock(_)) => {
                let code = words(&until(&mut events, |end| matches!(end, TagEnd::CodeBlock)));
                let code = code.trim_end();
                out.push(raw(format!(
                    "<pre tabindex=\"0\"><code>{}</code></pre>\n",
                    escaped(code)
                )));
                said(&mut page, code);
            }
            Event::Start(Tag::Table(columns)) => {
                out.push(raw(
                    "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">\n"
                        .into(),
                ));
                out.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                out.push(Event::End(TagEnd::Table));
                out.push(raw("</div>\n".into()));
            }
            other => {
                if let Event::Text(text) | Event::Code(text) = &other {
                    said(&mut page, text);
                } else if matches!(other, Event::SoftBreak | Event::End(_)) {
                    said(&mut page, " ");
                }
                out.push(other);
            }
        }
    }
    push_html(&mut page.html, out.into_iter());
    // The corner of a table is the heading of nothing.
    page.html = page.html.replace("<th></th>", "<td></td>");
    page
}

fn raw(html: String) -> Event<'static> {
    Event::InlineHtml(html.into())
}

/// Adds words to the part that is being read.
fn said(page: &mut Inside, words: &str) {
    if let Some(part) = page.parts.last_mut() {
        part.text += words;
    }
}

/// The events before an end, which is taken too.
fn until<'a>(events: &mut Parser<'a>, is_end: impl Fn(&TagEnd) -> bool) -> Vec<Event<'a>> {
    events.take_while(|event| !matches!(event, Event::End(end) if is_end(end))).collect()
}

fn words(events: &[Event<'_>]) -> String {
    let word = |event: &Event<'_>| match event {
        Event::Text(text) | Event::Code(text) => text.to_string(),
        Event::SoftBreak | Event::HardBreak => " ".into(),
        _ => String::new(),
    };
    events.iter().map(word).collect()
}

/// The anchor of a heading, as code hosts make it.
fn anchor(words: &str) -> String {
    let lower = words.trim().to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Equal anchors are numbered.
fn numbered(seen: &mut BTreeMap<String, u32>, anchor: String) -> String {
    let times = seen.entry(anchor.clone()).or_insert(0);
    *times += 1;
    if *times == 1 { anchor } else { format!("{anchor}-{}", *times - 1) }
}

/// Text inside HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A path without `.` and `..`.
pub fn plain(path: &Path) -> PathBuf {
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
