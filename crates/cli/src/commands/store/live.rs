//! The server of a chip, where it runs: found by its control socket.

use serde_json::Value;
use thermocline_media::Place;
use thermocline_server::control::{Command, client::Client};

use crate::{console, exit::Failure};

/// The server of a chip or behind a socket; `None` if no server has the chip.
pub fn find(place: &Place, export: Option<&str>) -> Result<Option<Client>, Failure> {
    let Some(path) = place.path() else { return Ok(None) };
    Client::find(path, export, console::caution).map_err(Failure::failed)
}

/// As [`find`], with an error if there is none.
pub fn serving(place: &Place, export: Option<&str>) -> Result<Client, Failure> {
    find(place, export)?.ok_or_else(|| {
        Failure::failed(format!(
            "{place}: no server has it; name an image that is served, or a server's control socket"
        ))
    })
}

/// Asks the server of a chip, if it is served.
pub fn ask(place: &Place, command: Command) -> Result<Option<Value>, Failure> {
    let Some(mut client) = find(place, None)? else { return Ok(None) };
    client.ask(command).map(Some).map_err(|why| Failure::failed(format!("{place}: {why}")))
}
