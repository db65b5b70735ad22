//! The server of a chip, where it runs: found by its control socket.

use std::{io::ErrorKind, os::unix::fs::FileTypeExt, path::Path};

use serde_json::Value;
use thermocline_media::Place;
use thermocline_server::control::{
    Command,
    client::{Client, beside},
};

use crate::exit::Failure;

/// The server of a chip, or the one that listens on a socket; none if nobody serves the chip.
pub fn find(place: &Place, export: Option<&str>) -> Result<Option<Client>, Failure> {
    let Some(path) = place.path() else { return Ok(None) };
    let named = is_socket(path);
    let socket = if named { path.to_owned() } else { beside(path) };
    if !named && !is_socket(&socket) {
        return Ok(None);
    }
    match Client::connect(&socket, export.map(Into::into)) {
        Ok(client) => Ok(Some(client)),
        // A server that was killed has left it.
        Err(e)
            if !named && matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) =>
        {
            Ok(None)
        }
        Err(e) => Err(Failure::failed(format!("{}: {e}", socket.display()))),
    }
}

/// The same where there must be one.
pub fn serving(place: &Place, export: Option<&str>) -> Result<Client, Failure> {
    find(place, export)?.ok_or_else(|| {
        Failure::failed(format!(
            "{place}: no server has it; name an image that is served, or a server's control socket"
        ))
    })
}

fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|is| is.file_type().is_socket())
}

/// Asks the server of a chip, if it is served.
pub fn ask(place: &Place, command: Command) -> Result<Option<Value>, Failure> {
    let Some(mut client) = find(place, None)? else { return Ok(None) };
    client.ask(command).map(Some).map_err(|why| Failure::failed(format!("{place}: {why}")))
}
