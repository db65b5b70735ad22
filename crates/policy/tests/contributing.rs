//! The example in CONTRIBUTING.md is the real file, so that it cannot grow old.

#[test]
fn the_example_policy_is_the_real_one() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |path: &str| {
        std::fs::read_to_string(format!("{root}/{path}")).unwrap_or_else(|e| panic!("{path}: {e}"))
    };
    let example = read("crates/policy/src/victim/fifo.rs");
    let guide = read("CONTRIBUTING.md");
    assert!(
        guide.contains(&format!("```rust\n{example}```")),
        "CONTRIBUTING.md shows another fifo.rs"
    );
}
