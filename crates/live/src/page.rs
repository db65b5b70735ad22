//! The pages: one file each, with styles, scripts and data inside. They load nothing from elsewhere, and say so to
//! the browser (Content-Security-Policy): only what has these digests runs.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("../assets/page.css");
const COMMON: [&str; 3] = [
    include_str!("../assets/common.js"),
    include_str!("../assets/chipmap.js"),
    include_str!("../assets/charts.js"),
];

/// A page and what it may load.
#[derive(Clone, Debug)]
pub struct Page {
    /// The page.
    pub html: String,
    /// Its Content-Security-Policy.
    pub policy: String,
}

/// The page of a served chip, which asks its server for everything else.
#[must_use]
pub fn live() -> Page {
    let body = include_str!("../assets/live.html");
    page("Thermocline", body, include_str!("../assets/live.js"), None)
}

/// The page of a recorded simulation: its input, the command that shows it again, and what was recorded of each run.
#[must_use]
pub fn replay(title: &str, input: &str, command: &str, runs: &[Value]) -> Page {
    let recording = json!({ "input": input, "command": command, "runs": runs });
    let body = include_str!("../assets/replay.html");
    page(title, body, include_str!("../assets/replay.js"), Some(&recording))
}

fn page(title: &str, body: &str, script: &str, data: Option<&Value>) -> Page {
    let script = format!("{}\n{script}", COMMON.join("\n"));
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        digest(STYLE),
        digest(&script)
    );
    let data = data.map_or_else(String::new, |data| {
        // In JSON these stand in strings only; in HTML nothing of it can end the element then.
        let json = data.to_string().replace('<', "\\u003c");
        format!("<script type=\"application/json\" id=\"recording\">{json}</script>\n")
    });
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}{data}<script>{script}</script>\n\
         </body>\n</html>\n",
        escaped(title)
    );
    Page { html, policy }
}

/// Text as it stands in HTML.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '&' => "&amp;".into(),
            '<' => "&lt;".into(),
            '>' => "&gt;".into(),
            '"' => "&quot;".into(),
            c if c.is_control() => '\u{fffd}'.to_string(),
            c => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_markup_are_escaped() {
        let name = "</title></script><script>alert(1)</script>\u{1b}[31m";
        let page = replay(name, name, "", &[]);
        assert!(!page.html.contains("<script>alert") && !page.html.contains('\u{1b}'));
        assert_eq!(page.html.matches("<script").count(), 2, "data and script");
        assert!(page.html.contains("&lt;/title&gt;"));
    }

    #[test]
    fn pages_load_nothing_from_elsewhere() {
        for page in [live(), replay("", "", "", &[])] {
            let text =
                page.html.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "");
            assert!(
                !text.contains("http:") && !text.contains("https:") && !text.contains("import(")
            );
        }
    }
}
