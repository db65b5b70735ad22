//! Requests against bytes written by hand from doc/proto.md, and the error for each invalid one.

use crate::common::{
    agreed, command::*, contexts, exports, extended, extended_headers, flag::*, go, hex, option,
    request, shake, structured,
};
use thermocline_nbd::{
    Close, Command, Context, Contexts, Errno, Export, Exports, Negotiated, Parsed, Refusal,
    Request, Settings,
};

const SIZE: u64 = 1 << 20;

fn parsed(negotiated: &Negotiated, bytes: &[u8]) -> Request {
    match negotiated.parse(bytes) {
        Parsed::Request(request, _) => request,
        other => panic!("no request but {other:?}"),
    }
}

/// Parses and checks a compact request.
fn checked(negotiated: &Negotiated, bytes: &[u8]) -> Result<(), Errno> {
    negotiated.check(&parsed(negotiated, bytes)).map_err(|refusal| refusal.errno())
}

fn read_only() -> Negotiated {
    let mut input = hex("00000003");
    input.extend(option(7, &go("small", &[])));
    shake(Settings::default(), &exports(), &input).negotiated()
}

fn of(export: Export) -> Negotiated {
    let exports = Exports::new(vec![export]).expect("sound exports");
    let mut input = hex("00000003");
    input.extend(structured());
    input.extend(option(7, &go("", &[])));
    shake(Settings::default(), &exports, &input).negotiated()
}

#[test]
fn a_compact_write_is_28_bytes_and_its_payload() {
    let bytes = hex("25609513 0001 0001 1122334455667788 0000000000001000 00000004 'data'");
    let expected = Request {
        command: Command::Write,
        flags: FUA,
        cookie: 0x1122_3344_5566_7788,
        offset: 4096,
        length: 4,
        payload: 4,
        contexts: Contexts::NONE,
    };
    assert_eq!(agreed(&[]).parse(&bytes), Parsed::Request(expected, 28));
    assert!(expected.fua());
}

#[test]
fn an_extended_write_is_32_bytes_and_its_payload() {
    let negotiated = agreed(&[extended_headers()]);
    let bytes = hex("21e41c71 0020 0001 1122334455667788 0000000000001000 0000000000000004");
    let request = parsed(&negotiated, &bytes);
    assert_eq!((request.command, request.length, request.payload), (Command::Write, 4, 4));
    assert_eq!(negotiated.check(&request), Ok(()));
    assert_eq!(negotiated.parse(&bytes), Parsed::Request(request, 32));
}

#[test]
fn only_writes_have_a_payload_in_compact_requests() {
    for command in [READ, DISC, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS, 8, 0xffff] {
        let bytes = request(command, PAYLOAD_LEN, 1, 0, 512);
        assert_eq!(parsed(&agreed(&[]), &bytes).payload, 0);
    }
}

#[test]
fn any_request_may_have_a_payload_with_extended_headers_and_is_refused_with_it() {
    let negotiated = agreed(&[extended_headers(), contexts()]);
    for command in [READ, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS, 8] {
        let request = parsed(&negotiated, &extended(command, PAYLOAD_LEN, 1, 0, 500));
        assert_eq!(request.payload, 500, "it has to be skipped");
        let refusal = negotiated.check(&request).expect_err("a refusal");
        assert_eq!(refusal.errno(), Errno::Invalid, "command {command}");
    }
}

#[test]
fn a_write_without_its_payload_is_refused() {
    let negotiated = agreed(&[extended_headers()]);
    let request = parsed(&negotiated, &extended(WRITE, 0, 1, 0, 512));
    assert_eq!(request.payload, 0);
    assert_eq!(negotiated.check(&request), Err(Refusal::NoPayload));
}

#[test]
fn less_than_a_request_asks_for_the_rest() {
    for (negotiated, bytes) in [
        (agreed(&[]), request(READ, 0, 1, 0, 512)),
        (agreed(&[extended_headers()]), extended(READ, 0, 1, 0, 512)),
    ] {
        for cut in 0..bytes.len() {
            assert_eq!(negotiated.parse(&bytes[..cut]), Parsed::NeedMore(bytes.len()));
        }
        assert!(matches!(negotiated.parse(&bytes), Parsed::Request(..)));
    }
}

#[test]
fn a_wrong_magic_number_ends_the_connection_as_soon_as_it_is_there() {
    let compact = hex("25609514");
    let close = Close::RequestMagic { found: 0x2560_9514, expected: 0x2560_9513 };
    assert_eq!(agreed(&[]).parse(&compact), Parsed::Close(close.clone()));
    let mut whole = request(READ, 0, 1, 0, 512);
    whole[3] = 0x14;
    assert_eq!(agreed(&[]).parse(&whole), Parsed::Close(close));

    let close = Close::RequestMagic { found: 0x2560_9513, expected: 0x21e4_1c71 };
    let negotiated = agreed(&[extended_headers()]);
    assert_eq!(negotiated.parse(&hex("25609513")), Parsed::Close(close.clone()));
    assert_eq!(negotiated.parse(&[hex("25609513"), vec![0; 40]].concat()), Parsed::Close(close));
}

#[test]
fn a_payload_up_to_32_mib_is_skipped_and_a_longer_one_ends_the_connection() {
    let mut export = Export::new("", 1 << 30);
    export.blocks.maximum = 1 << 20;
    let negotiated = of(export);
    let request_of = |length| request(WRITE, 0, 1, 0, length);
    assert_eq!(checked(&negotiated, &request_of(1 << 20)), Ok(()));
    let skipped = parsed(&negotiated, &request_of(1 << 25));
    assert_eq!(skipped.payload, 1 << 25);
    let refusal = negotiated.check(&skipped).expect_err("a refusal");
    assert_eq!(refusal.errno(), Errno::Invalid);
    assert_eq!(
        refusal.to_string(),
        "33554432 bytes are more than the maximum of 1048576; ask for fewer at a time"
    );
    let close = Close::Payload { length: (1 << 25) + 1, maximum: 1 << 25 };
    assert_eq!(negotiated.parse(&request_of((1 << 25) + 1)), Parsed::Close(close));

    let negotiated = agreed(&[extended_headers()]);
    let length = (1 << 40) + 5;
    let close = Close::Payload { length, maximum: 1 << 25 };
    let bytes = extended(WRITE, PAYLOAD_LEN, 1, 0, length);
    assert_eq!(negotiated.parse(&bytes), Parsed::Close(close));
}

#[test]
fn a_read_beyond_the_maximum_is_too_large() {
    let mut export = Export::new("", 1 << 30);
    export.blocks.maximum = 1 << 20;
    let structured = of(export.clone());
    let bytes = request(READ, 0, 1, 0, (1 << 20) + 1);
    assert_eq!(checked(&structured, &bytes), Err(Errno::Overflow));
    let exports = Exports::new(vec![export]).expect("sound exports");
    let mut input = hex("00000003");
    input.extend(option(7, &go("", &[])));
    let simple = shake(Settings::default(), &exports, &input).negotiated();
    assert_eq!(checked(&simple, &bytes), Err(Errno::Invalid), "no EOVERFLOW in simple replies");
}

#[test]
fn commands_without_data_may_be_longer_than_the_maximum() {
    let mut export = Export::new("", 1 << 40);
    export.contexts = Contexts::ALL;
    let exports = Exports::new(vec![export]).expect("sound exports");
    let mut input = hex("00000003");
    input.extend([extended_headers(), contexts(), option(7, &go("", &[]))].concat());
    let mut negotiated = shake(Settings::default(), &exports, &input).negotiated();
    negotiated.contexts = Contexts::ALL;
    for command in [TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS] {
        let bytes = extended(command, 0, 1, 0, 1 << 40);
        assert_eq!(checked(&negotiated, &bytes), Ok(()), "command {command}");
    }
}

#[test]
fn ranges_beyond_the_end_get_the_error_of_their_command() {
    let negotiated = agreed(&[structured(), contexts()]);
    let errors = [
        (READ, Errno::Invalid),
        (WRITE, Errno::NoSpace),
        (TRIM, Errno::Invalid),
        (CACHE, Errno::Invalid),
        (WRITE_ZEROES, Errno::NoSpace),
        (BLOCK_STATUS, Errno::Invalid),
    ];
    for (command, errno) in errors {
        let beyond = [(SIZE - 511, 512), (SIZE, 1), (u64::MAX, 512), (0, 1 << 21), (SIZE + 1, 0)];
        for (offset, length) in beyond {
            // A block status of an empty range is invalid for another reason.
            let bytes = request(command, 0, 1, offset, length);
            assert_eq!(checked(&negotiated, &bytes), Err(errno), "{command} {offset} {length}");
        }
        let bytes = request(command, 0, 1, SIZE - 512, 512);
        assert_eq!(checked(&negotiated, &bytes), Ok(()), "{command} up to the end");
    }
}

#[test]
fn requests_of_no_bytes_are_let_through() {
    for command in [READ, WRITE, TRIM, CACHE, WRITE_ZEROES] {
        assert_eq!(checked(&agreed(&[]), &request(command, 0, 1, SIZE, 0)), Ok(()));
    }
    let negotiated = agreed(&[structured(), contexts()]);
    let bytes = request(BLOCK_STATUS, 0, 1, 0, 0);
    assert_eq!(negotiated.check(&parsed(&negotiated, &bytes)), Err(Refusal::EmptyStatus));
}

#[test]
fn a_read_only_export_takes_no_write() {
    let negotiated = read_only();
    for command in [WRITE, TRIM, WRITE_ZEROES] {
        let bytes = request(command, 0, 1, 0, 512);
        assert_eq!(checked(&negotiated, &bytes), Err(Errno::Permission));
    }
    for command in [READ, CACHE] {
        assert_eq!(checked(&negotiated, &request(command, 0, 1, 0, 512)), Ok(()));
    }
    assert_eq!(checked(&negotiated, &request(FLUSH, 0, 1, 0, 0)), Ok(()));
}

#[test]
fn unaligned_ranges_are_refused_where_there_is_a_minimum() {
    let mut export = Export::new("", SIZE);
    export.blocks.minimum = 512;
    let negotiated = of(export);
    for command in [READ, WRITE, TRIM, CACHE, WRITE_ZEROES] {
        for (offset, length) in [(1, 512), (512, 511), (256, 256)] {
            let bytes = request(command, 0, 1, offset, length);
            assert_eq!(checked(&negotiated, &bytes), Err(Errno::Invalid));
        }
        assert_eq!(checked(&negotiated, &request(command, 0, 1, 512, 1024)), Ok(()));
    }
    assert_eq!(checked(&agreed(&[]), &request(WRITE, 0, 1, 1, 3)), Ok(()), "no minimum");
}

#[test]
fn unknown_commands_are_refused() {
    for command in [8, 9, 0xffff] {
        let refusal = agreed(&[]).check(&parsed(&agreed(&[]), &request(command, 0, 1, 0, 0)));
        assert_eq!(refusal, Err(Refusal::Command(command)));
        assert_eq!(refusal.expect_err("a refusal").errno(), Errno::Invalid);
    }
}

#[test]
fn every_command_takes_its_own_flags_and_no_others() {
    let simple = agreed(&[]);
    let structured = agreed(&[structured(), contexts()]);
    let table = [
        (READ, 512, FUA, FUA | DF),
        (WRITE, 512, FUA, FUA),
        (FLUSH, 0, FUA, FUA),
        (TRIM, 512, FUA, FUA),
        (CACHE, 512, FUA, FUA),
        (WRITE_ZEROES, 512, FUA | NO_HOLE | FAST_ZERO, FUA | NO_HOLE | FAST_ZERO),
        (BLOCK_STATUS, 512, 0, FUA | REQ_ONE),
    ];
    for (command, length, in_simple, in_structured) in table {
        for bit in 0..16 {
            let bytes = request(command, 1 << bit, 1, 0, length);
            for (negotiated, allowed) in [(&simple, in_simple), (&structured, in_structured)] {
                let expected = if allowed & 1 << bit != 0 { Ok(()) } else { Err(Errno::Invalid) };
                let found = checked(negotiated, &bytes);
                assert_eq!(found, expected, "command {command}, flag {bit}");
            }
        }
    }
}

#[test]
fn a_flush_has_no_range() {
    for (offset, length) in [(1, 0), (0, 1)] {
        let bytes = request(FLUSH, 0, 1, offset, length);
        let refusal = agreed(&[]).check(&parsed(&agreed(&[]), &bytes));
        assert_eq!(refusal, Err(Refusal::FlushRange));
    }
}

#[test]
fn a_disconnect_is_never_refused() {
    let request = parsed(&agreed(&[]), &request(DISC, 0, 1, 0, 0));
    assert_eq!(request.command, Command::Disconnect);
    assert_eq!(agreed(&[]).check(&request), Ok(()));
}

#[test]
fn block_status_needs_a_chosen_context() {
    let negotiated = agreed(&[structured()]);
    let bytes = request(BLOCK_STATUS, 0, 1, 0, 512);
    assert_eq!(negotiated.check(&parsed(&negotiated, &bytes)), Err(Refusal::NoContexts));
    assert_eq!(checked(&agreed(&[structured(), contexts()]), &bytes), Ok(()));
}

#[test]
fn block_status_can_ask_for_some_contexts_only() {
    let negotiated = agreed(&[extended_headers(), contexts()]);
    let ask = |payload: &str| {
        let payload = hex(payload);
        let flags = PAYLOAD_LEN | REQ_ONE;
        let mut bytes = extended(BLOCK_STATUS, flags, 1, 4096, payload.len() as u64);
        bytes.extend(payload);
        bytes
    };
    let bytes = ask("0000000000002000 00000002");
    for cut in 32..bytes.len() {
        assert_eq!(negotiated.parse(&bytes[..cut]), Parsed::NeedMore(44));
    }
    let Parsed::Request(request, 44) = negotiated.parse(&bytes) else { panic!("44 bytes") };
    assert_eq!((request.offset, request.length, request.payload), (4096, 8192, 0));
    assert!(request.contexts.has(Context::Temperature));
    assert!(!request.contexts.has(Context::Allocation));
    assert_eq!(negotiated.check(&request), Ok(()));

    let both = parsed(&negotiated, &ask("0000000000002000 00000002 00000001"));
    assert_eq!((both.contexts, negotiated.check(&both)), (Contexts::ALL, Ok(())));

    for wrong in [
        "0000000000002000",
        "0000000000002000 00000003",
        "0000000000002000 00000001 00000001",
        "0000000000002000 00000001 0000",
        "0000000000002000 00000001 00000002 00000003",
        "00000000",
    ] {
        let request = parsed(&negotiated, &ask(wrong));
        assert_eq!(negotiated.check(&request), Err(Refusal::Contexts), "{wrong}");
    }
}
