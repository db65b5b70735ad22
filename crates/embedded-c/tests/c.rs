//! The header is C99 and C++, and the example works with the library.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

mod library;

use library::run;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Builds a program with the library, and runs it.
fn program(source: &str, arguments: &[PathBuf]) -> String {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = folder.path().join("program");
    run(Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-I"])
        .arg(here("include"))
        .arg(here(source))
        .arg(library::archive())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program));
    run(Command::new(&program).args(arguments))
}

#[test]
fn the_example_in_c_reads_back_what_it_wrote() {
    let said = program("examples/c/ram.c", &[]);
    assert!(said.starts_with("20002 pages written") && said.contains("all read back"), "{said}");
}

#[test]
fn a_file_on_the_simulated_chip_survives_a_power_cut() {
    let said = program("examples/c/spi_nand.c", &[here("README.md")]);
    let bytes = here("README.md").metadata().expect("it is there").len();
    assert_eq!(said.find(&format!("W25N01GV: {bytes} bytes read back")), Some(0), "{said}");
}

#[test]
fn every_call_answers_in_every_state() {
    assert_eq!(program("tests/states.c", &[]), "every call answers\n");
}

#[test]
fn the_header_is_cpp_as_well() {
    let Ok(version) = Command::new("c++").arg("--version").output() else {
        eprintln!("skipped: no C++ compiler");
        return;
    };
    assert!(version.status.success());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let source = folder.path().join("a.cpp");
    std::fs::write(
        &source,
        "#include \"thermocline_simulated.h\"\nthermocline store;\nthermocline_spi_nand driver;\n",
    )
    .expect("it can be written");
    run(Command::new("c++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I"])
        .arg(here("include"))
        .arg(source));
}
