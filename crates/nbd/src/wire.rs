//! The numbers of the protocol, as doc/proto.md and its `extension-ext-header` branch give them.
//! Everything on the wire is big-endian.

/// What a server says first, ASCII `NBDMAGIC`.
pub const INIT_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// Second word of the greeting and first of every option, ASCII `IHAVEOPT`.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// First word of every reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// First word of a compact request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// First word of an extended request.
pub const EXTENDED_REQUEST_MAGIC: u32 = 0x21e4_1c71;
/// First word of a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// First word of a structured reply chunk.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;
/// First word of an extended reply chunk.
pub const EXTENDED_REPLY_MAGIC: u32 = 0x6e8a_278c;

/// Handshake and client flag: fixed newstyle negotiation.
pub const FLAG_FIXED_NEWSTYLE: u16 = 1 << 0;
/// Handshake and client flag: no 124 bytes of zeroes after `OPT_EXPORT_NAME`.
pub const FLAG_NO_ZEROES: u16 = 1 << 1;

/// Transmission flag that is always set.
pub const SEND_HAS_FLAGS: u16 = 1 << 0;
/// The export is read-only.
pub const SEND_READ_ONLY: u16 = 1 << 1;
/// `CMD_FLUSH` is understood.
pub const SEND_FLUSH: u16 = 1 << 2;
/// `CMD_FLAG_FUA` is understood.
pub const SEND_FUA: u16 = 1 << 3;
/// The medium rotates.
pub const SEND_ROTATIONAL: u16 = 1 << 4;
/// `CMD_TRIM` is understood.
pub const SEND_TRIM: u16 = 1 << 5;
/// `CMD_WRITE_ZEROES` and `CMD_FLAG_NO_HOLE` are understood.
pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
/// `CMD_FLAG_DF` is understood.
pub const SEND_DF: u16 = 1 << 7;
/// A flush on one connection covers all of them.
pub const SEND_MULTI_CONN: u16 = 1 << 8;
/// `CMD_CACHE` is understood.
pub const SEND_CACHE: u16 = 1 << 10;
/// `CMD_FLAG_FAST_ZERO` is understood.
pub const SEND_FAST_ZERO: u16 = 1 << 11;
/// `CMD_BLOCK_STATUS` takes a list of metadata contexts as payload.
pub const SEND_BLOCK_STATUS_PAYLOAD: u16 = 1 << 12;

/// Option: select an export, without a way to refuse.
pub const OPT_EXPORT_NAME: u32 = 1;
/// Option: end the session.
pub const OPT_ABORT: u32 = 2;
/// Option: list the exports.
pub const OPT_LIST: u32 = 3;
/// Option: start TLS.
pub const OPT_STARTTLS: u32 = 5;
/// Option: request information about an export.
pub const OPT_INFO: u32 = 6;
/// Option: select an export.
pub const OPT_GO: u32 = 7;
/// Option: reply in chunks.
pub const OPT_STRUCTURED_REPLY: u32 = 8;
/// Option: list the metadata contexts of an export.
pub const OPT_LIST_META_CONTEXT: u32 = 9;
/// Option: select metadata contexts.
pub const OPT_SET_META_CONTEXT: u32 = 10;
/// Option: 64-bit lengths in requests and replies.
pub const OPT_EXTENDED_HEADERS: u32 = 11;

/// Option reply: done.
pub const REP_ACK: u32 = 1;
/// Option reply: an export of a list.
pub const REP_SERVER: u32 = 2;
/// Option reply: information about an export.
pub const REP_INFO: u32 = 3;
/// Option reply: a metadata context.
pub const REP_META_CONTEXT: u32 = 4;
/// Option error: unknown option.
pub const REP_ERR_UNSUP: u32 = 1 << 31 | 1;
/// Option error: forbidden here.
pub const REP_ERR_POLICY: u32 = 1 << 31 | 2;
/// Option error: invalid.
pub const REP_ERR_INVALID: u32 = 1 << 31 | 3;
/// Option error: start TLS first.
pub const REP_ERR_TLS_REQD: u32 = 1 << 31 | 5;
/// Option error: no such export.
pub const REP_ERR_UNKNOWN: u32 = 1 << 31 | 6;
/// Option error: the server is stopping.
pub const REP_ERR_SHUTDOWN: u32 = 1 << 31 | 7;
/// Option error: too large to parse.
pub const REP_ERR_TOO_BIG: u32 = 1 << 31 | 9;
/// Option error: extended headers are active and cannot be left.
pub const REP_ERR_EXT_HEADER_REQD: u32 = 1 << 31 | 10;

/// Information: size and transmission flags.
pub const INFO_EXPORT: u16 = 0;
/// Information: the export's own name.
pub const INFO_NAME: u16 = 1;
/// Information: the export's description.
pub const INFO_DESCRIPTION: u16 = 2;
/// Information: minimum, preferred and maximum sizes.
pub const INFO_BLOCK_SIZE: u16 = 3;

/// Command: read.
pub const CMD_READ: u16 = 0;
/// Command: write.
pub const CMD_WRITE: u16 = 1;
/// Command: disconnect.
pub const CMD_DISC: u16 = 2;
/// Command: flush; make acknowledged writes durable.
pub const CMD_FLUSH: u16 = 3;
/// Command: trim the range.
pub const CMD_TRIM: u16 = 4;
/// Command: prefetch the range.
pub const CMD_CACHE: u16 = 5;
/// Command: write zeroes to the range.
pub const CMD_WRITE_ZEROES: u16 = 6;
/// Command: report the status of the range.
pub const CMD_BLOCK_STATUS: u16 = 7;

/// Command flag: durable before the reply.
pub const CMD_FLAG_FUA: u16 = 1 << 0;
/// Command flag: zeroes must be allocated.
pub const CMD_FLAG_NO_HOLE: u16 = 1 << 1;
/// Command flag: one content chunk only.
pub const CMD_FLAG_DF: u16 = 1 << 2;
/// Command flag: one extent only.
pub const CMD_FLAG_REQ_ONE: u16 = 1 << 3;
/// Command flag: refuse if zeroing is no faster than a write.
pub const CMD_FLAG_FAST_ZERO: u16 = 1 << 4;
/// Command flag: the length is that of the payload (extended headers).
pub const CMD_FLAG_PAYLOAD_LEN: u16 = 1 << 5;

/// Reply flag: last chunk of a reply.
pub const REPLY_FLAG_DONE: u16 = 1 << 0;
/// Chunk: empty.
pub const REPLY_NONE: u16 = 0;
/// Chunk: offset and data.
pub const REPLY_OFFSET_DATA: u16 = 1;
/// Chunk: offset and length of zeroes.
pub const REPLY_OFFSET_HOLE: u16 = 2;
/// Chunk: extents of a metadata context, 32 bits each.
pub const REPLY_BLOCK_STATUS: u16 = 5;
/// Chunk: extents of a metadata context, 64 bits each.
pub const REPLY_BLOCK_STATUS_EXT: u16 = 6;
/// Chunk: an error.
pub const REPLY_ERROR: u16 = 1 << 15 | 1;
/// Chunk: an error and its offset.
pub const REPLY_ERROR_OFFSET: u16 = 1 << 15 | 2;

/// `base:allocation`: not allocated.
pub const STATE_HOLE: u32 = 1 << 0;
/// `base:allocation`: reads as zeroes.
pub const STATE_ZERO: u32 = 1 << 1;

/// Maximum length of a string of the protocol, in bytes.
pub const MAX_STRING: usize = 4096;
/// Payloads up to this length, in bytes, are never treated as an attack, whatever the advertised
/// maximum.
pub const DEFAULT_MAX_PAYLOAD: u32 = 1 << 25;
/// Maximum number of extents in one chunk of block status: 32 KiB of them. The client requests the
/// rest.
pub const MAX_EXTENTS: u32 = 1 << 12;
