//! The operator's side of the control socket.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Command, Request, copy::END};

/// The longest page, and the most pages of a frame, that are believed.
const MOST_BYTES: usize = 64 << 20;

/// Where the server of a chip listens for operators, by default.
#[must_use]
pub fn beside(chip: &Path) -> PathBuf {
    let mut path = chip.as_os_str().to_owned();
    path.push(".ctl");
    path.into()
}

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    export: Option<String>,
}

/// A part of a copy.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// So many pages from one on; the buffer holds their content.
    Pages(u32, u32),
    /// A page that cannot be read.
    Lost(u32),
    /// That was all.
    End,
}

impl Client {
    /// Connects; requests concern that export, or the one of the socket.
    ///
    /// # Errors
    /// Those of the system; nobody may listen there.
    pub fn connect(socket: &Path, export: Option<String>) -> io::Result<Self> {
        Ok(Self { stream: BufReader::new(UnixStream::connect(socket)?), export })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The server's refusal, or that it is gone, in words.
    pub fn ask(&mut self, command: Command) -> Result<Value, String> {
        let request = Request { export: self.export.clone(), command };
        let line = serde_json::to_string(&request).map_err(|e| e.to_string())?;
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).map_err(|e| gone(&e))?;
        self.answer()
    }

    /// The next part of a copy that was [asked for](Command::Copy).
    ///
    /// # Errors
    /// Why the copy is not whole, in words.
    pub fn part(&mut self, page_size: usize, into: &mut Vec<u8>) -> Result<Part, String> {
        let mut head = [0; 8];
        self.stream.read_exact(&mut head).map_err(|e| gone(&e))?;
        let [first, count] = [0, 4]
            .map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        into.clear();
        if first == END {
            return self.answer().map(|_| Part::End);
        }
        if count == 0 {
            return Ok(Part::Lost(first));
        }
        let bytes = (count as usize).saturating_mul(page_size);
        if bytes > MOST_BYTES {
            return Err("what the server sends is no copy".into());
        }
        into.resize(bytes, 0);
        self.stream.read_exact(into).map_err(|e| gone(&e))?;
        Ok(Part::Pages(first, count))
    }

    /// Waits until the server has ended, and has let go of its chips.
    pub fn wait_until_gone(mut self) {
        // Whatever it sends or however it goes, it is gone then.
        let _ = io::copy(&mut self.stream, &mut io::sink());
    }

    fn answer(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        let count = self.stream.read_line(&mut line).map_err(|e| gone(&e))?;
        if count == 0 {
            return Err("the server has ended, or turned us away".into());
        }
        let mut answer: Value = serde_json::from_str(&line)
            .map_err(|e| format!("the answer is no JSON ({e}): no control socket"))?;
        match answer.get("error") {
            Some(why) => Err(why.as_str().unwrap_or("no reason given").to_owned()),
            None => Ok(answer["ok"].take()),
        }
    }
}

fn gone(error: &io::Error) -> String {
    format!("the server does not answer any more ({error})")
}
