//! Where the linker finds the memory of the chip.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    println!("cargo:rustc-link-search={folder}");
    println!("cargo:rerun-if-changed=memory.x");
}
