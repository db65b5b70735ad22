//! The operator's side of the control socket.

use std::{
    fmt::Display,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::{fs::FileTypeExt, net::UnixStream},
    path::Path,
};

use serde_json::Value;

use super::{
    Command, Request,
    copy::END,
    seat,
    trust::{self, Refusal},
};

/// The longest page, and the most pages of a frame, that are believed.
const MOST_BYTES: usize = 64 << 20;
/// The longest answer: a frame with the states of all blocks of a large chip.
const LONGEST_FRAME: u64 = 256 << 20;
/// The longest of the others.
const LONGEST_ANSWER: u64 = 4 << 20;

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    export: Option<String>,
}

/// A part of a copy.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// First page and number of pages; the buffer holds their content.
    Pages(u32, u32),
    /// A page that cannot be read.
    Lost(u32),
    /// That was all.
    End,
}

/// The size of a copy.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Bytes of a page.
    pub page_size: u32,
    /// Logical pages.
    pub logical_pages: u32,
    /// Pages before this one were sent.
    next: u32,
}

impl Extent {
    /// For a page size and a number of pages.
    #[must_use]
    pub const fn new(page_size: u32, logical_pages: u32) -> Self {
        Self { page_size, logical_pages, next: 0 }
    }

    /// Pages come in order, and no others than there are.
    fn take(&mut self, first: u32, count: u32) -> Option<usize> {
        let end = first.checked_add(count)?;
        let bytes = (count as usize).checked_mul(self.page_size as usize)?;
        let is_next = first >= self.next && end <= self.logical_pages && bytes <= MOST_BYTES;
        self.next = end;
        is_next.then_some(bytes)
    }
}

impl Client {
    /// Connects without a trust check; requests concern the given export, or the one of the socket.
    ///
    /// # Errors
    /// Those of the system, for example if there is no server.
    pub fn connect(socket: &Path, export: Option<String>) -> io::Result<Self> {
        Ok(Self { stream: BufReader::new(trust::connect_now(socket)?), export })
    }

    /// Connects to the server of an image file, or behind a socket, if it is trusted
    /// (`control::trust`); `None` without a server.
    ///
    /// # Errors
    /// In words. `told` gets sockets whose servers are not trusted.
    pub fn find(
        path: &Path,
        export: Option<&str>,
        mut told: impl FnMut(&str),
    ) -> Result<Option<Self>, String> {
        let Ok(is) = path.metadata() else { return Ok(None) };
        let of = |stream| Self { stream: BufReader::new(stream), export: export.map(Into::into) };
        let named = |socket: &Path, why: &dyn Display| format!("{}: {why}", socket.display());
        if is.file_type().is_socket() {
            return match trust::connect(path, &trust::of_socket(path)) {
                Ok((stream, _)) => Ok(Some(of(stream))),
                Err(Refusal::Nobody) => Err(named(path, &"nobody listens there")),
                Err(Refusal::Stranger(why)) => Err(named(path, &why)),
                Err(Refusal::System(e)) => Err(named(path, &e)),
            };
        }
        if !is.is_file() {
            return Ok(None);
        }
        for socket in seat::all(path, &is) {
            let why = match trust::connect(&socket, &trust::of_image(&is)) {
                Ok((stream, process)) if trust::holds(process, path, &is) => {
                    return Ok(Some(of(stream)));
                }
                Ok(_) => "its server does not have the image open".into(),
                Err(Refusal::Nobody) => continue,
                Err(Refusal::Stranger(why)) => why,
                Err(Refusal::System(e)) if e.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(Refusal::System(e)) => return Err(named(&socket, &e)),
            };
            told(&format!("{}: {why}; passed over", socket.display()));
        }
        Ok(None)
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The server's refusal, or that it is gone, in words.
    pub fn ask(&mut self, command: Command) -> Result<Value, String> {
        let longest = match command {
            Command::Frame => LONGEST_FRAME,
            _ => LONGEST_ANSWER,
        };
        let request = Request { export: self.export.clone(), command };
        let line = serde_json::to_string(&request).map_err(|e| e.to_string())?;
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).map_err(|e| gone(&e))?;
        self.answer(longest)
    }

    /// The next part of a copy that was [asked for](Command::Copy).
    ///
    /// # Errors
    /// Why the copy is not whole, in words.
    pub fn part(&mut self, of: &mut Extent, into: &mut Vec<u8>) -> Result<Part, String> {
        let mut head = [0; 8];
        self.stream.read_exact(&mut head).map_err(|e| gone(&e))?;
        let [first, count] = [0, 4]
            .map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        into.clear();
        if first == END {
            return self.answer(LONGEST_ANSWER).map(|_| Part::End);
        }
        // A lost page counts, too.
        let bytes = of.take(first, count.max(1)).ok_or("what the server sends is no copy")?;
        if count == 0 {
            return Ok(Part::Lost(first));
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

    fn answer(&mut self, longest: u64) -> Result<Value, String> {
        let mut line = String::new();
        let count =
            self.stream.by_ref().take(longest).read_line(&mut line).map_err(|e| gone(&e))?;
        if count == 0 {
            return Err("the server has ended, or turned us away".into());
        }
        if !line.ends_with('\n') {
            return Err("the answer is too long, or cut off: no control socket".into());
        }
        let mut answer: Value = serde_json::from_str(&line)
            .map_err(|e| format!("the answer is no JSON ({e}): no control socket"))?;
        make_plain(&mut answer);
        if let Some(why) = answer.get("error") {
            return Err(why.as_str().unwrap_or("no reason given").to_owned());
        }
        let ok = answer.get_mut("ok").map(Value::take);
        ok.ok_or_else(|| "the answer says nothing: no control socket".into())
    }
}

/// Texts go to terminals: nothing in them controls one.
fn make_plain(value: &mut Value) {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    match value {
        Value::String(text) if text.contains(is_control) => {
            *text = text.replace(is_control, "\u{fffd}");
        }
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Object(values) => {
            if values.keys().any(|key| key.contains(is_control)) {
                values.clear();
            }
            values.values_mut().for_each(make_plain);
        }
        _ => {}
    }
}

fn gone(error: &io::Error) -> String {
    format!("the server does not answer any more ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's result from a server that sends these bytes.
    fn hear<T>(bytes: Vec<u8>, ask: impl FnOnce(&mut Client) -> T) -> T {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let sending = std::thread::spawn(move || {
            // Whoever has heard enough hangs up.
            let _ = theirs.write_all(&bytes);
            let _ = theirs.shutdown(std::net::Shutdown::Write);
            // The request is read to its end.
            theirs
        });
        let mut client = Client { stream: BufReader::new(ours), export: None };
        let heard = ask(&mut client);
        drop(client);
        drop(sending.join().expect("it does not panic"));
        heard
    }

    #[test]
    fn answers_that_are_none_are_errors_and_take_no_memory() {
        let stat = |bytes: &[u8]| hear(bytes.to_vec(), |client| client.ask(Command::Stat));
        for wrong in ["", "{", "\n", "{}\n", "[]\n", "7\n", "{\"ok\":7}", "\0\n"] {
            assert!(stat(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        assert!(stat(b"\xff\xfe\n").is_err());
        assert!(stat("[".repeat(100_000).as_bytes()).is_err());
        let endless = vec![b' '; LONGEST_ANSWER as usize + 1];
        assert!(stat(&endless).expect_err("no answer").contains("too long"));
        let answer = br#"{"ok":{"state":"a\u001b[2J\u0007\u009bb\nc"}}"#;
        let told = stat(&[answer, &b"\n"[..]].concat()).expect("an answer");
        assert_eq!(told["state"], "a\u{fffd}[2J\u{fffd}\u{fffd}b\nc");
    }

    #[test]
    fn pages_that_there_are_not_and_pages_out_of_order_are_no_copy() {
        let frame = |first: u32, count: u32| {
            let mut bytes = [first.to_le_bytes(), count.to_le_bytes()].concat();
            bytes.resize(8 + 512 * count.min(8) as usize, 7);
            bytes
        };
        let parts = |frames: &[(u32, u32)], size| {
            let bytes = frames.iter().flat_map(|&(first, count)| frame(first, count)).collect();
            hear(bytes, |client| {
                let (mut extent, mut content) = (Extent::new(size, 100), Vec::new());
                frames.iter().try_for_each(|_| client.part(&mut extent, &mut content).map(drop))
            })
        };
        assert_eq!(parts(&[(0, 2), (2, 0), (3, 8), (99, 1)], 512), Ok(()));
        let wrong: [(&[(u32, u32)], u32); 8] = [
            (&[(100, 1)], 512),
            (&[(99, 2)], 512),
            (&[(100, 0)], 512),
            (&[(5, 1), (5, 1)], 512),
            (&[(5, 1), (4, 0)], 512),
            (&[(1, u32::MAX)], 512),
            (&[(0, 100)], 1 << 20),
            (&[(u32::MAX - 1, 5)], 512),
        ];
        for (frames, size) in wrong {
            let why = parts(frames, size).expect_err("no copy");
            assert!(why.contains("no copy"), "{frames:?}: {why}");
        }
    }
}
