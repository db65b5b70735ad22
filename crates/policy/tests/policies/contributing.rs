//! The examples in CONTRIBUTING.md equal the real files, and the module texts of the contracts list
//! every hook.

fn read(path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::fs::read_to_string(format!("{root}/{path}")).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn contributing_shows_the_policies_as_they_are() {
    let guide = read("CONTRIBUTING.md");
    for example in ["victim/fifo.rs", "placement/segment_split.rs"] {
        let real = read(&format!("crates/policy/src/{example}"));
        assert!(
            guide.contains(&format!("```rust\n{real}```")),
            "CONTRIBUTING.md shows another {example}"
        );
    }
}

#[test]
fn each_contract_lists_all_its_hooks() {
    for (file, header) in [
        ("crates/policy/src/victim/contract.rs", "pub trait Victim: Send {"),
        ("crates/policy/src/placement/contract.rs", "pub trait Placement: Streams + Sized {"),
        ("crates/policy/src/placement/contract.rs", "pub trait Streams: Send + 'static {"),
    ] {
        let code = read(file);
        let listed: String = code
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .fold(String::new(), |a, b| a + b);
        let (_, from) = code.split_once(header).expect("the trait");
        let (body, _) = from.split_once("\n}").expect("its end");
        let hooks: Vec<_> = body
            .lines()
            .filter_map(|line| line.strip_prefix("    fn ").or(line.strip_prefix("    const ")))
            .filter_map(|line| line.split(['(', ':']).next())
            .collect();
        assert!(hooks.len() > 5, "{file}: {hooks:?}");
        for hook in hooks {
            assert!(listed.contains(&format!("`{hook}`")), "{file} does not list `{hook}`");
        }
    }
}

/// The table in ARCHITECTURE.md lists exactly the files that may use `unsafe`.
#[test]
fn the_architecture_lists_every_unsafe_file() {
    fn files(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder of the project") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let page = read("ARCHITECTURE.md");
    let (_, table) = page.split_once("## Unsafe code").expect("the section");
    let crates = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(crates).expect("the crates") {
        let source = entry.expect("a crate").path().join("src");
        if source.is_dir() {
            files(&source, &mut sources);
        }
    }
    let mut allowed = 0;
    for file in sources {
        let text = std::fs::read_to_string(&file).expect("source text");
        let relative = file.strip_prefix(crates).expect("below the crates").display().to_string();
        if text.contains("allow(unsafe_code)") {
            allowed += 1;
            assert!(
                table.contains(&format!("(crates/{relative})")),
                "ARCHITECTURE.md lacks {relative}"
            );
        }
    }
    let named =
        table.matches("(crates/").count() - table.matches("(crates/embedded-c/src)").count();
    assert_eq!(named, allowed, "ARCHITECTURE.md names a file that uses no unsafe code");
}
