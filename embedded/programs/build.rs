//! The memory of the machine that a program is for.

use std::{env, fs, path::Path};

fn main() {
    let out = env::var("OUT_DIR").expect("Cargo sets it");
    let riscv = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "riscv32");
    let machine = if riscv { "virt" } else { "mps2" };
    let script = format!("machines/{machine}.ld");
    fs::copy(&script, Path::new(&out).join("machine.ld")).expect("the script is there");
    println!("cargo:rustc-link-search={out}");
    println!("cargo:rustc-link-arg=-Tmachine.ld");
    println!("cargo:rerun-if-changed={script}");
}
