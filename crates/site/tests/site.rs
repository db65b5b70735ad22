//! The site of this repository's documentation.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use thermocline_site::{build, entries};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn markdown(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            markdown(&path, found);
        } else if path.extension().is_some_and(|e| e == "md") {
            found.insert(path.strip_prefix(ROOT).expect("below the root").into());
        }
    }
}

#[test]
fn every_guide_is_a_page_whose_links_lead_somewhere_and_which_loads_nothing_from_elsewhere() {
    let listed: BTreeSet<PathBuf> = entries().map(|(file, _)| file.into()).collect();
    let mut guides = BTreeSet::new();
    markdown(&Path::new(ROOT).join("docs"), &mut guides);
    let missing: Vec<_> = guides.difference(&listed).collect();
    assert!(missing.is_empty(), "contents.rs lacks {missing:?}");
    let slugs: BTreeSet<_> = entries().map(|(_, slug)| slug).collect();
    assert_eq!(slugs.len(), listed.len());

    let site = tempfile::tempdir().expect("a temporary folder");
    let pages = build(Path::new(ROOT), site.path()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(pages, listed.len());
    for slug in slugs {
        let path = site.path().join(format!("{slug}.html"));
        let html = fs::read_to_string(&path).expect(slug);
        assert!(html.contains("<h1 id="), "{slug} has no title");
        assert!(html.contains("aria-current=\"page\"") || slug == "index", "{slug}");
        for attribute in ["src=\"", "<link rel=\"stylesheet\" href=\"", "<img src=\""] {
            for target in html.split(attribute).skip(1) {
                let target = target.split('"').next().expect("its end");
                let file = path.parent().expect("a folder").join(target);
                assert!(!target.contains(':') && file.is_file(), "{slug} loads {target}");
            }
        }
        for target in html.split("href=\"").skip(1) {
            let target = target.split('"').next().expect("its end");
            let file = target.split('#').next().expect("a path");
            // The playground is built beside it.
            let elsewhere =
                target.contains(':') || file.is_empty() || file.ends_with("../index.html");
            assert!(
                elsewhere || path.parent().expect("a folder").join(file).is_file(),
                "{slug}: {target}"
            );
        }
    }
    let cat = fs::read_to_string(site.path().join("papers/cat.html")).expect("a page");
    assert!(cat.matches("<img src=\"../papers/cat-").count() > 10, "a paper's figures");
    let index = fs::read_to_string(site.path().join("search-index.js")).expect("the index");
    assert!(index.contains(r#"["policies","a-score-of-your-own","#));
    assert!(index.len() < 2 << 20, "{} bytes", index.len());
}

#[test]
fn a_link_that_leads_nowhere_is_an_error() {
    let root = tempfile::tempdir().expect("a temporary folder");
    for (file, _) in entries() {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let text = match file {
            "SECURITY.md" => {
                "# A\n\n[file](none.rs) [heading](README.md#no) [right](README.md#b)\n"
            }
            _ => "# B\n",
        };
        fs::write(path, text).expect("written");
    }
    let error = build(root.path(), &root.path().join("site")).expect_err("two links");
    assert_eq!(
        error.to_string(),
        "links that lead nowhere: SECURITY.md: none.rs; security: overview.html#no"
    );
}
