//! A test client, which sends anything, right or wrong.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use thermocline_nbd::wire;

pub trait Pipe: Read + Write + Send {}
impl<T: Read + Write + Send> Pipe for T {}

/// A client; the socket is open for tests that break the rules.
pub struct Client {
    pub pipe: Box<dyn Pipe>,
    pub size: u64,
    pub flags: u16,
    structured: bool,
    cookie: u64,
}

/// Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn unix(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

impl Client {
    /// Connects to the first export, with structured replies or without.
    pub fn connect(path: &Path, structured: bool) -> io::Result<Self> {
        Self::shake(Box::new(unix(path)?), "", structured)
    }

    /// The same, for the export of that name.
    pub fn connect_to(path: &Path, name: &str) -> io::Result<Self> {
        Self::shake(Box::new(unix(path)?), name, true)
    }

    #[allow(dead_code, reason = "only some features need it")]
    pub fn tcp(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Self::shake(Box::new(stream), "", true)
    }

    /// Shakes hands on a fresh connection.
    pub fn shake(mut pipe: Box<dyn Pipe>, export: &str, structured: bool) -> io::Result<Self> {
        greet(&mut *pipe)?;
        Self::choose(pipe, export, structured)
    }

    /// Chooses an export behind the greeting.
    pub fn choose(mut pipe: Box<dyn Pipe>, export: &str, structured: bool) -> io::Result<Self> {
        if structured {
            option(&mut *pipe, wire::OPT_STRUCTURED_REPLY, &[])?;
            assert_eq!(option_reply(&mut *pipe)?.0, wire::REP_ACK);
        }
        Self::go(pipe, export, structured)
    }

    /// Chooses an export, when all else is agreed.
    pub fn go(mut pipe: Box<dyn Pipe>, export: &str, structured: bool) -> io::Result<Self> {
        let mut data = (export.len() as u32).to_be_bytes().to_vec();
        data.extend_from_slice(export.as_bytes());
        data.extend_from_slice(&[0, 0]);
        option(&mut *pipe, wire::OPT_GO, &data)?;
        let (mut size, mut flags) = (0, 0);
        loop {
            let (kind, data) = option_reply(&mut *pipe)?;
            match kind {
                wire::REP_INFO if data[..2] == [0, 0] => {
                    size = u64::from_be_bytes(data[2..10].try_into().expect("8 bytes"));
                    flags = u16::from_be_bytes(data[10..12].try_into().expect("2 bytes"));
                }
                wire::REP_INFO => {}
                wire::REP_ACK => break,
                other => return Err(io::Error::other(format!("refused: {other:#x}"))),
            }
        }
        Ok(Self { pipe, size, flags, structured, cookie: 0 })
    }

    /// Sends a request and gives its cookie.
    pub fn send(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
        payload: &[u8],
    ) -> io::Result<u64> {
        self.cookie += 1;
        let mut bytes = Vec::with_capacity(28 + payload.len());
        bytes.extend_from_slice(&wire::REQUEST_MAGIC.to_be_bytes());
        bytes.extend_from_slice(&flags.to_be_bytes());
        bytes.extend_from_slice(&command.to_be_bytes());
        bytes.extend_from_slice(&self.cookie.to_be_bytes());
        bytes.extend_from_slice(&offset.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(payload);
        self.pipe.write_all(&bytes)?;
        Ok(self.cookie)
    }

    /// Takes the next whole reply: its cookie and its error; data go to `into`, from byte `offset` of
    /// the export on.
    pub fn receive(&mut self, offset: u64, into: &mut [u8]) -> io::Result<(u64, u32)> {
        let mut failed = 0;
        loop {
            let magic = u32::from_be_bytes(take(&mut *self.pipe)?);
            if magic == wire::SIMPLE_REPLY_MAGIC {
                let error = u32::from_be_bytes(take(&mut *self.pipe)?);
                let cookie = u64::from_be_bytes(take(&mut *self.pipe)?);
                if error == 0 && !self.structured {
                    self.pipe.read_exact(into)?;
                }
                return Ok((cookie, error));
            }
            assert_eq!(magic, wire::STRUCTURED_REPLY_MAGIC, "lost in the stream");
            let flags = u16::from_be_bytes(take(&mut *self.pipe)?);
            let kind = u16::from_be_bytes(take(&mut *self.pipe)?);
            let cookie = u64::from_be_bytes(take(&mut *self.pipe)?);
            let length = u32::from_be_bytes(take(&mut *self.pipe)?) as usize;
            match kind {
                wire::REPLY_OFFSET_DATA => {
                    let at = u64::from_be_bytes(take(&mut *self.pipe)?) - offset;
                    self.pipe.read_exact(&mut into[at as usize..][..length - 8])?;
                }
                wire::REPLY_OFFSET_HOLE => {
                    let at = u64::from_be_bytes(take(&mut *self.pipe)?) - offset;
                    let length = u32::from_be_bytes(take(&mut *self.pipe)?);
                    into[at as usize..][..length as usize].fill(0);
                }
                _ => {
                    let mut rest = vec![0; length];
                    self.pipe.read_exact(&mut rest)?;
                    if kind & 1 << 15 != 0 {
                        failed = u32::from_be_bytes(rest[..4].try_into().expect("4 bytes"));
                    }
                }
            }
            if flags & wire::REPLY_FLAG_DONE != 0 {
                return Ok((cookie, failed));
            }
        }
    }

    /// A request and its reply; the error number, 0 for none.
    pub fn ask(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
        payload: &[u8],
    ) -> io::Result<u32> {
        let sent = self.send(command, flags, offset, length, payload)?;
        let (cookie, error) = self.receive(offset, &mut [])?;
        assert_eq!(cookie, sent, "a reply to another request");
        Ok(error)
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<u32> {
        self.ask(wire::CMD_WRITE, 0, offset, data.len() as u32, data)
    }

    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<u32> {
        let sent = self.send(wire::CMD_READ, 0, offset, into.len() as u32, &[])?;
        let (cookie, error) = self.receive(offset, into)?;
        assert_eq!(cookie, sent, "a reply to another request");
        Ok(error)
    }

    pub fn flush(&mut self) -> io::Result<u32> {
        self.ask(wire::CMD_FLUSH, 0, 0, 0, &[])
    }
}

/// Takes the greeting and answers it.
pub fn greet(pipe: &mut dyn Pipe) -> io::Result<()> {
    let greeting: [u8; 18] = take(pipe)?;
    assert_eq!(greeting[..8], wire::INIT_MAGIC.to_be_bytes());
    let flags = u32::from(wire::FLAG_FIXED_NEWSTYLE | wire::FLAG_NO_ZEROES);
    pipe.write_all(&flags.to_be_bytes())
}

pub fn option(pipe: &mut dyn Pipe, option: u32, data: &[u8]) -> io::Result<()> {
    let mut bytes = wire::OPTION_MAGIC.to_be_bytes().to_vec();
    bytes.extend_from_slice(&option.to_be_bytes());
    bytes.extend_from_slice(&(data.len() as u32).to_be_bytes());
    bytes.extend_from_slice(data);
    pipe.write_all(&bytes)
}

/// Its kind and its data.
pub fn option_reply(pipe: &mut dyn Pipe) -> io::Result<(u32, Vec<u8>)> {
    let magic = u64::from_be_bytes(take(pipe)?);
    assert_eq!(magic, wire::OPTION_REPLY_MAGIC);
    let _option: [u8; 4] = take(pipe)?;
    let kind = u32::from_be_bytes(take(pipe)?);
    let mut data = vec![0; u32::from_be_bytes(take(pipe)?) as usize];
    pipe.read_exact(&mut data)?;
    Ok((kind, data))
}

pub fn take<const N: usize>(pipe: &mut dyn Pipe) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    pipe.read_exact(&mut bytes)?;
    Ok(bytes)
}
