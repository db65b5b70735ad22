//! Replies to options.

use super::data::ExportRequest;
use crate::{context::Context, export::Export, negotiated::Negotiated, output::Output, wire};

/// Why an option is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Code {
    Unsupported = wire::REP_ERR_UNSUP,
    Policy = wire::REP_ERR_POLICY,
    Invalid = wire::REP_ERR_INVALID,
    TlsRequired = wire::REP_ERR_TLS_REQD,
    Unknown = wire::REP_ERR_UNKNOWN,
    Shutdown = wire::REP_ERR_SHUTDOWN,
    TooBig = wire::REP_ERR_TOO_BIG,
    ExtendedHeaders = wire::REP_ERR_EXT_HEADER_REQD,
}

/// The last reply to an option: an acknowledgement, or an error with a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    kind: u32,
    text: &'static str,
}

impl Answer {
    pub(super) const ACK: Answer = Answer { kind: wire::REP_ACK, text: "" };
    pub(super) const NO_EXPORT: Answer = Answer::error(Code::Unknown, "no export of that name");

    pub(super) const fn error(code: Code, text: &'static str) -> Answer {
        Answer { kind: code as u32, text }
    }

    pub(super) fn put(self, option: u32, output: &mut Output) {
        reply(option, self.kind, &[self.text.as_bytes()], output);
    }
}

/// Appends a reply whose data are the concatenated `parts`.
fn reply(option: u32, kind: u32, parts: &[&[u8]], output: &mut Output) {
    // Parts are numbers and strings of at most 4096 bytes.
    let length = parts.iter().map(|part| part.len()).sum::<usize>() as u32;
    output.put(&wire::OPTION_REPLY_MAGIC.to_be_bytes());
    output.put(&option.to_be_bytes());
    output.put(&kind.to_be_bytes());
    output.put(&length.to_be_bytes());
    for part in parts {
        output.put(part);
    }
}

/// An export of the list.
pub(super) fn server(export: &Export, output: &mut Output) {
    let (name, description) = (export.name.as_bytes(), export.description.as_bytes());
    let length = (name.len() as u32).to_be_bytes();
    reply(wire::OPT_LIST, wire::REP_SERVER, &[&length, name, description], output);
}

/// A metadata context.
pub(super) fn context(option: u32, id: u32, context: Context, output: &mut Output) {
    let name = context.name().as_bytes();
    reply(option, wire::REP_META_CONTEXT, &[&id.to_be_bytes(), name], output);
}

/// Information about an export: size and flags always, the rest on request.
pub(super) fn info(
    option: u32,
    request: &ExportRequest<'_>,
    export: &Export,
    negotiated: &Negotiated,
    output: &mut Output,
) {
    let mut info = |kind: u16, parts: [&[u8]; 3]| {
        let [a, b, c] = parts;
        reply(option, wire::REP_INFO, &[&kind.to_be_bytes(), a, b, c], output);
    };
    let (size, flags) = (negotiated.size.to_be_bytes(), negotiated.flags.to_be_bytes());
    info(wire::INFO_EXPORT, [&size, &flags, &[]]);
    if request.wants(wire::INFO_NAME) {
        info(wire::INFO_NAME, [export.name.as_bytes(), &[], &[]]);
    }
    if request.wants(wire::INFO_DESCRIPTION) && !export.description.is_empty() {
        info(wire::INFO_DESCRIPTION, [export.description.as_bytes(), &[], &[]]);
    }
    let blocks = export.blocks;
    // Limits stricter than a client's defaults must be sent even without a request.
    let strict = blocks.minimum > 1 || blocks.maximum < wire::DEFAULT_MAX_PAYLOAD;
    if strict || request.wants(wire::INFO_BLOCK_SIZE) {
        let [minimum, preferred, maximum] =
            [blocks.minimum, blocks.preferred, blocks.maximum].map(u32::to_be_bytes);
        info(wire::INFO_BLOCK_SIZE, [&minimum, &preferred, &maximum]);
    }
}
