//! `thermocline-site FOLDER`: builds the documentation of this repository into a folder.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("thermocline-site: no folder is named; thermocline-site target/site/docs");
        return ExitCode::from(2);
    };
    let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    match thermocline_site::build(repository, Path::new(&folder)) {
        Ok(pages) => {
            println!("{}: {pages} pages", Path::new(&folder).display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("thermocline-site: {error}");
            ExitCode::FAILURE
        }
    }
}
