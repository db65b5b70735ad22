//! The examples in CONTRIBUTING.md are the real files, and its hooks all there are, so that it cannot
//! grow old.

fn read(path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::fs::read_to_string(format!("{root}/{path}")).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn the_examples_are_the_real_policies() {
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
fn every_hook_is_listed() {
    let guide = read("CONTRIBUTING.md");
    for (file, header) in [
        ("victim/contract.rs", "pub trait Victim: Send {"),
        ("placement/contract.rs", "pub trait Placement: Send + 'static {"),
    ] {
        let code = read(&format!("crates/policy/src/{file}"));
        let (_, from) = code.split_once(header).expect("the trait");
        let (body, _) = from.split_once("\n}").expect("its end");
        let hooks: Vec<_> = body
            .lines()
            .filter_map(|line| line.strip_prefix("    fn ").or(line.strip_prefix("    const ")))
            .filter_map(|line| line.split(['(', ':']).next())
            .collect();
        assert!(hooks.len() > 5, "{file}: {hooks:?}");
        for hook in hooks {
            assert!(
                guide.contains(&format!("`{hook}`")),
                "CONTRIBUTING.md has no `{hook}` of {file}"
            );
        }
    }
}
