//! The handling of each option.

use super::{
    Handshake, State, Step, Tls,
    answer::{self, Answer, Code},
    data::{self, ExportRequest, Malformed, Queries},
};
use crate::{
    close::Close,
    context::Contexts,
    export::{Export, Exports},
    negotiated::{Headers, Negotiated},
    output::Output,
    wire,
};

/// What to do with an option, decided by its header.
pub(super) enum Plan {
    /// Skip its data, then answer.
    Skip(Answer),
    /// Wait for its data.
    Read,
    Close(Close),
}

impl Handshake {
    /// Decides how to handle an option by its header.
    pub(super) fn plan(&self, option: u32, length: u32) -> Plan {
        let clear = self.settings.tls == Tls::Required && !self.secured;
        if option == wire::OPT_ABORT {
            return Plan::Skip(Answer::ACK);
        }
        if option == wire::OPT_EXPORT_NAME {
            return match self.headers {
                _ if self.stopping => Plan::Close(Close::Stopping),
                _ if clear => Plan::Close(Close::TlsRequired),
                Headers::Extended => Plan::Close(Close::ExportNameExtended),
                _ if length as usize > wire::MAX_STRING => Plan::Close(Close::ExportName),
                _ => Plan::Read,
            };
        }
        if self.stopping {
            return Plan::Skip(Answer::error(Code::Shutdown, "the server is stopping"));
        }
        if !self.fixed {
            return Plan::Skip(Answer::error(
                Code::Invalid,
                "only NBD_OPT_EXPORT_NAME without NBD_FLAG_C_FIXED_NEWSTYLE",
            ));
        }
        if clear && option != wire::OPT_STARTTLS {
            return Plan::Skip(Answer::error(Code::TlsRequired, "this server wants TLS first"));
        }
        let empty = match option {
            wire::OPT_STARTTLS if self.settings.tls == Tls::Off => {
                return Plan::Skip(Answer::error(Code::Unsupported, "this server has no TLS"));
            }
            wire::OPT_EXTENDED_HEADERS if !self.settings.extended_headers => {
                return Plan::Skip(Answer::error(Code::Unsupported, "no extended headers here"));
            }
            wire::OPT_LIST
            | wire::OPT_STARTTLS
            | wire::OPT_STRUCTURED_REPLY
            | wire::OPT_EXTENDED_HEADERS => true,
            wire::OPT_INFO
            | wire::OPT_GO
            | wire::OPT_LIST_META_CONTEXT
            | wire::OPT_SET_META_CONTEXT => false,
            _ => return Plan::Skip(Answer::error(Code::Unsupported, "unknown option")),
        };
        if empty && length != 0 {
            Plan::Skip(Answer::error(Code::Invalid, "this option has no data"))
        } else if length > self.settings.option_bytes {
            Plan::Skip(Answer::error(Code::TooBig, "the option is too long"))
        } else {
            Plan::Read
        }
    }

    /// Handles a complete option that [`plan`](Self::plan) admitted.
    pub(super) fn known(
        &mut self,
        option: u32,
        data: &[u8],
        output: &mut Output,
        exports: &Exports,
    ) -> Step {
        let answer = match option {
            wire::OPT_EXPORT_NAME => return self.export_name(data, output, exports),
            wire::OPT_LIST => {
                let visible =
                    |export: &&Export| !export.hidden && (!export.tls_only || self.secured);
                for export in exports.list().iter().filter(visible) {
                    answer::server(export, output);
                }
                Answer::ACK
            }
            wire::OPT_STARTTLS if self.secured => Answer::error(Code::Invalid, "TLS is on already"),
            wire::OPT_STARTTLS => {
                Answer::ACK.put(option, output);
                self.state = State::AwaitTls;
                return Step::StartTls;
            }
            wire::OPT_STRUCTURED_REPLY if self.headers == Headers::Extended => {
                Answer::error(Code::ExtendedHeaders, "extended headers are on already")
            }
            wire::OPT_STRUCTURED_REPLY => {
                self.headers = Headers::Structured;
                Answer::ACK
            }
            wire::OPT_EXTENDED_HEADERS => {
                self.headers = Headers::Extended;
                Answer::ACK
            }
            wire::OPT_LIST_META_CONTEXT | wire::OPT_SET_META_CONTEXT => {
                self.meta_context(option, data, output, exports)
            }
            _ => match self.info(option, data, output, exports) {
                Ok(negotiated) => {
                    Answer::ACK.put(option, output);
                    if option == wire::OPT_GO {
                        self.state = State::Over;
                        return Step::Transmission(negotiated);
                    }
                    return Step::Answered;
                }
                Err(answer) => answer,
            },
        };
        answer.put(option, output);
        Step::Answered
    }

    /// `NBD_OPT_EXPORT_NAME`: selects an export or closes the connection.
    fn export_name(&mut self, data: &[u8], output: &mut Output, exports: &Exports) -> Step {
        let Ok(name) = data::string(data) else { return self.close(Close::ExportName) };
        let Some((index, export)) = exports.find(name) else {
            let name = name.chars().take(64).collect();
            return self.close(Close::NoExport { name });
        };
        if export.tls_only && !self.secured {
            return self.close(Close::TlsRequired);
        }
        let negotiated = self.negotiated(index, export);
        output.put(&negotiated.size.to_be_bytes());
        output.put(&negotiated.flags.to_be_bytes());
        if !self.no_zeroes {
            output.put(&[0; 124]);
        }
        self.state = State::Over;
        Step::Transmission(negotiated)
    }

    fn negotiated(&self, index: usize, export: &Export) -> Negotiated {
        let contexts = match self.chosen {
            Some((of, contexts)) if of == index => contexts,
            _ => Contexts::NONE,
        };
        Negotiated::new(index, export, self.headers, contexts)
    }

    /// `NBD_OPT_INFO` and `NBD_OPT_GO`, without the acknowledgement.
    fn info(
        &self,
        option: u32,
        data: &[u8],
        output: &mut Output,
        exports: &Exports,
    ) -> Result<Negotiated, Answer> {
        let request = ExportRequest::parse(data)?;
        let (index, export) = exports.find(request.name).ok_or(Answer::NO_EXPORT)?;
        if export.tls_only && !self.secured {
            // A server without TLS must not require it.
            let off = self.settings.tls == Tls::Off;
            let code = if off { Code::Policy } else { Code::TlsRequired };
            return Err(Answer::error(code, "this export is served over TLS only"));
        }
        let negotiated = self.negotiated(index, export);
        answer::info(option, &request, export, &negotiated, output);
        Ok(negotiated)
    }

    /// `NBD_OPT_LIST_META_CONTEXT` and `NBD_OPT_SET_META_CONTEXT`.
    fn meta_context(
        &mut self,
        option: u32,
        data: &[u8],
        output: &mut Output,
        exports: &Exports,
    ) -> Answer {
        let set = option == wire::OPT_SET_META_CONTEXT;
        if set {
            self.chosen = None;
        }
        if self.headers == Headers::Simple {
            return Answer::error(Code::Invalid, "metadata contexts need structured replies");
        }
        let (name, queries) = match Queries::parse(data) {
            Ok(parsed) => parsed,
            Err(malformed) => return malformed.into(),
        };
        let Some((index, export)) = exports.find(name) else { return Answer::NO_EXPORT };
        if export.tls_only && !self.secured {
            return Answer::error(Code::Policy, "this export is served over TLS only");
        }
        let mut found = Contexts::NONE;
        if queries.is_empty() && !set {
            found = export.contexts;
        }
        for query in queries {
            found |= export.contexts.matching(query, !set);
        }
        for context in found.iter() {
            answer::context(option, if set { context.id() } else { 0 }, context, output);
        }
        if set {
            self.chosen = Some((index, found));
        }
        Answer::ACK
    }
}

impl From<Malformed> for Answer {
    fn from(Malformed(what): Malformed) -> Answer {
        Answer::error(Code::Invalid, what)
    }
}
