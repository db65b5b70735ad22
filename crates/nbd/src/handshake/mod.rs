//! The handshake: from a fresh connection to an export (fixed newstyle).

mod answer;
mod data;
mod options;

use self::{answer::Answer, options::Plan};
use crate::{
    close::Close,
    context::Contexts,
    export::Exports,
    negotiated::{Headers, Negotiated},
    output::Output,
    wire,
};

/// Whether a connection may or must use TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// TLS is not available.
    #[default]
    Off,
    /// Clients may use TLS, and must for exports that are `tls_only`.
    Available,
    /// TLS is required.
    Required,
}

/// Settings of the server's handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The TLS mode. [`Tls::Off`] on a connection that is encrypted from the start.
    pub tls: Tls,
    /// Whether clients may negotiate extended headers.
    pub extended_headers: bool,
    /// Maximum length in bytes of an option that is parsed. Longer ones are skipped and refused.
    /// The caller needs room for 16 bytes more, and for at least 4112.
    pub option_bytes: u32,
    /// Maximum number of options in a handshake. One more ends it.
    pub max_options: u32,
    /// Maximum number of bytes in all options of a handshake. One more ends it.
    pub max_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            tls: Tls::Off,
            extended_headers: true,
            option_bytes: 16 << 10,
            max_options: 256,
            max_bytes: 1 << 20,
        }
    }
}

/// The outcome of [`Handshake::advance`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The input has no further complete option. Call again with at least this many bytes, counted
    /// from the first that was not consumed.
    NeedMore(usize),
    /// One option was answered. Send the output, and call again with the rest of the input.
    Answered,
    /// Send the output, perform a TLS handshake, call [`Handshake::secured`], and continue with the
    /// decrypted input. All input counts as consumed: what a client sent in clear after its request
    /// for TLS is discarded.
    StartTls,
    /// The handshake succeeded: send the output; requests follow.
    Transmission(Negotiated),
    /// Send the output, if any, and close the connection.
    Close(Close),
}

/// The server's side of one handshake. It stores no bytes of the client; unconsumed input stays
/// with the caller.
#[derive(Clone, Debug)]
pub struct Handshake {
    settings: Settings,
    state: State,
    secured: bool,
    stopping: bool,
    fixed: bool,
    no_zeroes: bool,
    headers: Headers,
    /// The last selection of metadata contexts, and its export.
    chosen: Option<(usize, Contexts)>,
    options_left: u32,
    bytes_left: u32,
}

#[derive(Clone, Debug)]
enum State {
    ClientFlags,
    Options,
    /// Skips the data of an option.
    Skip {
        option: u32,
        left: u32,
        answer: Answer,
    },
    AwaitTls,
    Over,
}

const GREETING: [u8; 18] = {
    let mut bytes = [0; 18];
    let (first, rest) = bytes.split_at_mut(8);
    first.copy_from_slice(&wire::INIT_MAGIC.to_be_bytes());
    let (second, flags) = rest.split_at_mut(8);
    second.copy_from_slice(&wire::OPTION_MAGIC.to_be_bytes());
    flags.copy_from_slice(&(wire::FLAG_FIXED_NEWSTYLE | wire::FLAG_NO_ZEROES).to_be_bytes());
    bytes
};

/// Length of an option's header in bytes.
const OPTION_HEADER: usize = 16;

impl Handshake {
    /// Begins a handshake and appends the greeting to `output`.
    pub fn start(settings: Settings, output: &mut Output) -> Handshake {
        output.put(&GREETING);
        Handshake {
            settings,
            state: State::ClientFlags,
            secured: false,
            stopping: false,
            fixed: false,
            no_zeroes: false,
            headers: Headers::Simple,
            chosen: None,
            options_left: settings.max_options,
            bytes_left: settings.max_bytes,
        }
    }

    /// Marks the connection as encrypted, after [`Step::StartTls`] or from the start. Discards
    /// everything negotiated before.
    pub fn secured(&mut self) {
        self.secured = true;
        self.headers = Headers::Simple;
        self.chosen = None;
        if matches!(self.state, State::AwaitTls) {
            self.state = State::Options;
        }
    }

    /// Marks the server as stopping: from now on every option is refused.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// Processes input from the client, appends answers to `output`, and returns how many bytes of
    /// `input` were consumed.
    ///
    /// A step handles at most one option, so the output holds at most one answer, however many
    /// options a client sends at once.
    pub fn advance(
        &mut self,
        input: &[u8],
        output: &mut Output,
        exports: &Exports,
    ) -> (usize, Step) {
        match &mut self.state {
            State::ClientFlags => {
                let Some((flags, rest)) = input.split_first_chunk() else {
                    return (0, Step::NeedMore(4));
                };
                if let Err(close) = self.client_flags(u32::from_be_bytes(*flags)) {
                    return (4, self.close(close));
                }
                let (consumed, step) = self.option(rest, output, exports);
                (4 + consumed, step)
            }
            State::Options => self.option(input, output, exports),
            State::Skip { left, .. } => {
                let here = input.len().min(*left as usize);
                *left -= here as u32;
                (here, self.skipped(output))
            }
            State::AwaitTls => (0, Step::StartTls),
            State::Over => (0, Step::Close(Close::Over)),
        }
    }

    fn close(&mut self, close: Close) -> Step {
        self.state = State::Over;
        Step::Close(close)
    }

    fn client_flags(&mut self, flags: u32) -> Result<(), Close> {
        let fixed = u32::from(wire::FLAG_FIXED_NEWSTYLE);
        let no_zeroes = u32::from(wire::FLAG_NO_ZEROES);
        if flags & !(fixed | no_zeroes) != 0 {
            return Err(Close::ClientFlags(flags));
        }
        self.fixed = flags & fixed != 0;
        self.no_zeroes = flags & no_zeroes != 0;
        self.state = State::Options;
        Ok(())
    }

    /// Handles one option, if it is complete or need not be.
    fn option(&mut self, input: &[u8], output: &mut Output, exports: &Exports) -> (usize, Step) {
        if let Some(magic) = input.first_chunk() {
            let magic = u64::from_be_bytes(*magic);
            if magic != wire::OPTION_MAGIC {
                return (0, self.close(Close::OptionMagic(magic)));
            }
        }
        let Some((header, rest)) = input.split_first_chunk::<OPTION_HEADER>() else {
            return (0, Step::NeedMore(OPTION_HEADER));
        };
        let [.., a, b, c, d, e, f, g, h] = *header;
        let (option, length) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        if self.options_left == 0 || length > self.bytes_left {
            let Settings { max_options: options, max_bytes: bytes, .. } = self.settings;
            return (0, self.close(Close::TooManyOptions { options, bytes }));
        }
        let data = match self.plan(option, length) {
            Plan::Close(close) => return (OPTION_HEADER, self.close(close)),
            Plan::Skip(answer) => {
                self.charge(length);
                if option == wire::OPT_SET_META_CONTEXT {
                    self.chosen = None;
                }
                let here = rest.len().min(length as usize);
                self.state = State::Skip { option, left: length - here as u32, answer };
                return (OPTION_HEADER + here, self.skipped(output));
            }
            Plan::Read => match rest.get(..length as usize) {
                Some(data) => data,
                None => return (0, Step::NeedMore(OPTION_HEADER + length as usize)),
            },
        };
        self.charge(length);
        let step = self.known(option, data, output, exports);
        let consumed =
            if step == Step::StartTls { input.len() } else { OPTION_HEADER + data.len() };
        (consumed, step)
    }

    fn charge(&mut self, length: u32) {
        self.options_left -= 1;
        self.bytes_left -= length;
    }

    /// Answers an option once all its data were skipped.
    fn skipped(&mut self, output: &mut Output) -> Step {
        let State::Skip { option, left, answer } = &self.state else { return Step::Answered };
        if *left != 0 {
            return Step::NeedMore(1);
        }
        let (option, answer) = (*option, *answer);
        answer.put(option, output);
        if option == wire::OPT_ABORT {
            return self.close(Close::Aborted);
        }
        self.state = State::Options;
        Step::Answered
    }
}
