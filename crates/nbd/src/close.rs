//! Why a connection ends.

/// Why the server closes a connection, in one line for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Close {
    /// The client aborted the handshake (`NBD_OPT_ABORT`).
    #[error("the client ended the handshake")]
    Aborted,
    /// The handshake is over already.
    #[error("the handshake is over")]
    Over,
    /// Client flags that this server did not offer.
    #[error("unknown client flags {0:#x}; the client is newer than this server or speaks no NBD")]
    ClientFlags(u32),
    /// An option that does not begin with its magic number.
    #[error("{0:#018x} where an option begins; the client speaks no newstyle NBD")]
    OptionMagic(u64),
    /// The options of the handshake exceed the limits in number or bytes.
    #[error("a handshake of more than {options} options or {bytes} bytes; taken for an attack")]
    TooManyOptions {
        /// The maximum number of options.
        options: u32,
        /// The maximum number of bytes in them.
        bytes: u32,
    },
    /// `NBD_OPT_EXPORT_NAME` for an export that does not exist. The protocol has no way to refuse
    /// this option.
    #[error("no export named {name:?}")]
    NoExport {
        /// The name, cut to 64 characters.
        name: String,
    },
    /// `NBD_OPT_EXPORT_NAME` with an invalid name.
    #[error("an export name that is no text of at most 4096 bytes")]
    ExportName,
    /// `NBD_OPT_EXPORT_NAME` without the TLS it needs.
    #[error("the client asked for an export without TLS, which is required")]
    TlsRequired,
    /// `NBD_OPT_EXPORT_NAME` after extended headers were negotiated.
    #[error("NBD_OPT_EXPORT_NAME after extended headers, which need NBD_OPT_GO")]
    ExportNameExtended,
    /// `NBD_OPT_EXPORT_NAME` while the server is stopping.
    #[error("the server is stopping")]
    Stopping,
    /// A request that does not begin with its magic number.
    #[error("{found:#010x} where a request begins, expected {expected:#010x}; lost in the stream")]
    RequestMagic {
        /// The number found.
        found: u32,
        /// The magic number of the negotiated form of requests.
        expected: u32,
    },
    /// A payload that is too long even to skip.
    #[error("a payload of {length} bytes, more than {maximum}; taken for an attack")]
    Payload {
        /// Its length in bytes.
        length: u64,
        /// The maximum length that is read, in bytes.
        maximum: u32,
    },
}
