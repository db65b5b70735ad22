//! Every option against bytes written by hand from doc/proto.md.

use crate::common::{
    agreed, contexts, exports, extended_headers, go, go_on, hex, option, queries, reply, shake,
    structured,
};
use thermocline_nbd::{Close, Context, Contexts, Export, Exports, Headers, Settings, Step, Tls};

const UNSUP: u32 = 0x8000_0001;
const POLICY: u32 = 0x8000_0002;
const INVALID: u32 = 0x8000_0003;
const TLS_REQD: u32 = 0x8000_0005;
const UNKNOWN: u32 = 0x8000_0006;
const SHUTDOWN: u32 = 0x8000_0007;
const TOO_BIG: u32 = 0x8000_0009;
const EXT_HEADER_REQD: u32 = 0x8000_000a;

/// The server's answer to one option after fixed newstyle flags.
fn answer(number: u32, data: &[u8]) -> Vec<u8> {
    after(&[], number, data)
}

/// The server's answer to an option after other options.
fn after(options: &[Vec<u8>], number: u32, data: &[u8]) -> Vec<u8> {
    let mut input = hex("00000003");
    options.iter().for_each(|option| input.extend(option));
    let before = shake(Settings::default(), &exports(), &input);
    let shaken = go_on(before.handshake, &exports(), &option(number, data));
    assert!(shaken.rest.is_empty(), "all of the option is consumed");
    shaken.sent
}

/// Option and type of each reply.
fn kinds(mut sent: &[u8]) -> Vec<(u32, u32)> {
    let mut kinds = Vec::new();
    while !sent.is_empty() {
        assert_eq!(sent[..8], hex("0003e889045565a9"), "the magic number of a reply");
        let word = |at: usize| u32::from_be_bytes(sent[at..at + 4].try_into().expect("four bytes"));
        kinds.push((word(8), word(12)));
        sent = &sent[20 + word(16) as usize..];
    }
    kinds
}

fn with_tls(tls: Tls) -> Settings {
    Settings { tls, ..Settings::default() }
}

#[test]
fn export_name_without_no_zeroes_is_answered_with_124_zeroes() {
    let input = hex("00000001 'IHAVEOPT' 00000001 00000005 'small'");
    let shaken = shake(Settings::default(), &exports(), &input);
    let mut expected = hex("0000000000001000 050f");
    expected.extend([0; 124]);
    assert_eq!(shaken.sent, expected);
    let negotiated = shaken.negotiated();
    assert_eq!((negotiated.export, negotiated.size), (1, 4096));
    assert_eq!(negotiated.headers, Headers::Simple);
    assert!(negotiated.is_read_only());
}

#[test]
fn export_name_with_no_zeroes_is_answered_with_ten_bytes() {
    let input = hex("00000003 'IHAVEOPT' 00000001 00000003 'big' 25609513");
    let shaken = shake(Settings::default(), &exports(), &input);
    assert_eq!(shaken.sent, hex("0000000000100000 0d6d"));
    assert_eq!(shaken.rest, hex("25609513"), "what follows is a request's");
}

#[test]
fn export_name_serves_a_client_without_fixed_newstyle() {
    let input = hex("00000000 'IHAVEOPT' 00000001 00000000");
    let shaken = shake(Settings::default(), &exports(), &input);
    assert_eq!(shaken.sent.len(), 134);
    assert_eq!(shaken.negotiated().export, 0, "the empty name is the first export's");
}

#[test]
fn other_options_are_refused_to_a_client_without_fixed_newstyle() {
    let mut input = hex("00000000");
    input.extend(option(3, &[]));
    let shaken = shake(with_tls(Tls::Available), &exports(), &input);
    assert_eq!(kinds(&shaken.sent), [(3, INVALID)]);
    let shaken = go_on(shaken.handshake, &exports(), &option(5, &[]));
    assert_eq!(kinds(&shaken.sent), [(5, INVALID)]);
}

#[test]
fn export_name_of_nothing_ends_the_connection() {
    let name = "é".repeat(100);
    let mut input = hex("00000003");
    input.extend(option(1, name.as_bytes()));
    let shaken = shake(Settings::default(), &exports(), &input);
    assert_eq!(shaken.step, Step::Close(Close::NoExport { name: "é".repeat(64) }));
    assert!(shaken.sent.is_empty());
}

#[test]
fn an_export_name_that_is_no_string_ends_the_connection() {
    for name in [&b"\xff"[..], b"a\0b", &[b'x'; 4097]] {
        let mut input = hex("00000003");
        input.extend(option(1, name));
        let shaken = shake(Settings::default(), &exports(), &input);
        assert_eq!(shaken.step, Step::Close(Close::ExportName));
    }
    // An option that is too long is refused without waiting for its bytes.
    let header = hex("00000003 'IHAVEOPT' 00000001 00001001");
    let shaken = shake(Settings::default(), &exports(), &header);
    assert_eq!(shaken.step, Step::Close(Close::ExportName));
}

#[test]
fn unknown_client_flags_end_the_connection() {
    let shaken = shake(Settings::default(), &exports(), &hex("00000007"));
    assert_eq!(shaken.step, Step::Close(Close::ClientFlags(7)));
    let again = go_on(shaken.handshake, &exports(), &option(7, &go("", &[])));
    assert_eq!(again.step, Step::Close(Close::Over));
    assert!(again.sent.is_empty());
}

#[test]
fn an_option_without_its_magic_number_ends_the_connection() {
    let input = hex("00000003 'IHAVEOP!'");
    let shaken = shake(Settings::default(), &exports(), &input);
    assert_eq!(shaken.step, Step::Close(Close::OptionMagic(0x4948_4156_454f_5021)));
}

#[test]
fn abort_is_acknowledged_whatever_data_it_has() {
    for data in [&b""[..], b"bye"] {
        let mut input = hex("00000003");
        input.extend(option(2, data));
        let shaken = shake(Settings::default(), &exports(), &input);
        assert_eq!(shaken.sent, reply(2, 1, &[]));
        assert_eq!(shaken.step, Step::Close(Close::Aborted));
    }
}

#[test]
fn list_names_every_export_with_its_description() {
    let expected = hex("0003e889045565a9 00000003 00000002 00000011 00000003 'big' 'a megabyte'
         0003e889045565a9 00000003 00000002 00000009 00000005 'small'
         0003e889045565a9 00000003 00000001 00000000");
    assert_eq!(answer(3, &[]), expected);
}

#[test]
fn options_without_data_refuse_data() {
    for number in [3, 8, 11] {
        assert_eq!(kinds(&answer(number, b"x")), [(number, INVALID)]);
    }
}

#[test]
fn unknown_options_are_refused_and_the_handshake_goes_on() {
    for number in [0, 4, 12, 0xffff_ffff] {
        assert_eq!(kinds(&answer(number, &[7; 100])), [(number, UNSUP)]);
    }
    assert_eq!(agreed(&[option(12, b"what?"), structured()]).headers, Headers::Structured);
}

#[test]
fn info_tells_what_is_asked_for() {
    let data = hex("00000003 'big' 0005 0003 0002 0001 0000 0063");
    let expected = hex("0003e889045565a9 00000006 00000003 0000000c 0000 0000000000100000 0d6d
         0003e889045565a9 00000006 00000003 00000005 0001 'big'
         0003e889045565a9 00000006 00000003 0000000c 0002 'a megabyte'
         0003e889045565a9 00000006 00000003 0000000e 0003 00000001 00001000 02000000
         0003e889045565a9 00000006 00000001 00000000");
    assert_eq!(answer(6, &data), expected);
}

#[test]
fn info_names_the_default_export() {
    let expected = hex("0001 'big'");
    let sent = answer(6, &go("", &[1]));
    assert!(sent.windows(expected.len()).any(|window| window == expected));
}

#[test]
fn strict_sizes_are_told_unasked() {
    let mut export = Export::new("", 8192);
    export.blocks.minimum = 512;
    export.blocks.maximum = 1 << 20;
    let exports = Exports::new(vec![export]).expect("sound exports");
    let mut input = hex("00000003");
    input.extend(option(7, &go("", &[])));
    let shaken = shake(Settings::default(), &exports, &input);
    let sizes = hex("0000000e 0003 00000200 00001000 00100000");
    assert!(shaken.sent.windows(sizes.len()).any(|window| window == sizes));
}

#[test]
fn go_begins_transmission_and_info_does_not() {
    let input = hex("00000003 'IHAVEOPT' 00000007 00000009 00000003 'big' 0000");
    let shaken = shake(Settings::default(), &exports(), &input);
    let expected = hex("0003e889045565a9 00000007 00000003 0000000c 0000 0000000000100000 0d6d
         0003e889045565a9 00000007 00000001 00000000");
    assert_eq!(shaken.sent, expected);
    assert_eq!(shaken.negotiated().flags, 0x0d6d);
    assert_eq!(kinds(&answer(6, &go("big", &[]))), [(6, 3), (6, 1)]);
}

#[test]
fn go_to_nowhere_is_refused_and_the_handshake_goes_on() {
    assert_eq!(kinds(&answer(7, &go("nowhere", &[]))), [(7, UNKNOWN)]);
    assert_eq!(agreed(&[option(7, &go("nowhere", &[]))]).export, 0);
}

#[test]
fn go_whose_lengths_do_not_fit_is_refused() {
    let wrong = [
        hex(""),
        hex("00000004 'big' 0000"),
        hex("ffffffff 'big' 0000"),
        hex("00000003 'big'"),
        hex("00000003 'big' 0001"),
        hex("00000003 'big' 0000 00"),
        hex("00000001 ff 0000"),
        hex("00000001 00 0000"),
    ];
    for data in wrong {
        assert_eq!(kinds(&answer(7, &data)), [(7, INVALID)], "{data:?}");
    }
    let long = "x".repeat(4097);
    assert_eq!(kinds(&answer(7, &go(&long, &[]))), [(7, INVALID)]);
}

#[test]
fn structured_replies_let_a_client_ask_for_reads_in_one_piece() {
    assert_eq!(answer(8, &[]), reply(8, 1, &[]));
    let negotiated = agreed(&[structured()]);
    assert_eq!((negotiated.headers, negotiated.flags), (Headers::Structured, 0x0ded));
}

#[test]
fn extended_headers_win_over_structured_replies() {
    let sent = after(&[structured()], 11, &[]);
    assert_eq!(sent, reply(11, 1, &[]));
    let sent = after(&[extended_headers()], 8, &[]);
    assert_eq!(kinds(&sent), [(8, EXT_HEADER_REQD)]);
    assert_eq!(agreed(&[structured(), extended_headers()]).headers, Headers::Extended);
    // The flag for the status of only some contexts requires contexts.
    assert_eq!(agreed(&[extended_headers()]).flags, 0x0ded);
    assert_eq!(agreed(&[extended_headers(), contexts()]).flags, 0x1ded);
}

#[test]
fn extended_headers_can_be_turned_off() {
    let settings = Settings { extended_headers: false, ..Settings::default() };
    let mut input = hex("00000003");
    input.extend(extended_headers());
    assert_eq!(kinds(&shake(settings, &exports(), &input).sent), [(11, UNSUP)]);
}

#[test]
fn export_name_after_extended_headers_ends_the_connection() {
    let mut input = hex("00000003");
    input.extend(extended_headers());
    input.extend(option(1, b"big"));
    let shaken = shake(Settings::default(), &exports(), &input);
    assert_eq!(shaken.step, Step::Close(Close::ExportNameExtended));
}

#[test]
fn metadata_contexts_are_listed() {
    let both = hex("0003e889045565a9 00000009 00000004 00000013 00000000 'base:allocation'
         0003e889045565a9 00000009 00000004 0000001d 00000000 'x-thermocline:temperature'
         0003e889045565a9 00000009 00000001 00000000");
    let list = |queried: &[&str]| after(&[structured()], 9, &queries("big", queried));
    assert_eq!(list(&[]), both);
    assert_eq!(list(&["x-thermocline:", "base:"]), both);
    assert_eq!(kinds(&list(&["base:", "base:allocation"])), [(9, 4), (9, 1)]);
    assert_eq!(kinds(&list(&["qemu:", "base:dirty", "base:alloc", "x-"])), [(9, INVALID)]);
    assert_eq!(kinds(&list(&["qemu:", "base:dirty", "base:alloc", ":"])), [(9, 1)]);
}

#[test]
fn an_export_has_only_the_contexts_it_offers() {
    let sent = after(&[structured()], 9, &queries("small", &[]));
    assert_eq!(kinds(&sent), [(9, 4), (9, 1)]);
}

#[test]
fn metadata_contexts_are_chosen_by_their_full_names() {
    let set = |queried: &[&str]| after(&[structured()], 10, &queries("big", queried));
    let expected = hex("0003e889045565a9 0000000a 00000004 00000013 00000001 'base:allocation'
         0003e889045565a9 0000000a 00000001 00000000");
    assert_eq!(set(&["base:allocation", "x-other:thing", "base:allocation"]), expected);
    assert_eq!(set(&["base:", "x-thermocline:"]), reply(10, 1, &[]));
    assert_eq!(set(&[]), reply(10, 1, &[]));
    assert_eq!(agreed(&[structured(), contexts()]).contexts, Contexts::ALL);
}

#[test]
fn metadata_contexts_need_structured_replies_and_an_export() {
    assert_eq!(kinds(&answer(9, &queries("big", &[]))), [(9, INVALID)]);
    assert_eq!(kinds(&answer(10, &queries("big", &["base:allocation"]))), [(10, INVALID)]);
    let sent = after(&[structured()], 10, &queries("nowhere", &["base:allocation"]));
    assert_eq!(kinds(&sent), [(10, UNKNOWN)]);
}

#[test]
fn metadata_queries_whose_lengths_do_not_fit_are_refused() {
    let wrong = [
        hex("00000003 'big'"),
        hex("00000003 'big' 00000001"),
        hex("00000003 'big' ffffffff 00000005 'base:'"),
        hex("00000003 'big' 00000001 00000006 'base:'"),
        hex("00000003 'big' 00000000 00"),
        hex("00000003 'big' 00000001 00000004 'base'"),
    ];
    for data in wrong {
        for number in [9, 10] {
            let sent = after(&[structured()], number, &data);
            assert_eq!(kinds(&sent), [(number, INVALID)], "{data:?}");
        }
    }
}

#[test]
fn a_failed_choice_of_contexts_takes_back_the_one_before() {
    let garbled = option(10, &hex("00000003 'big'"));
    assert!(agreed(&[structured(), contexts(), garbled]).contexts.is_empty());
    let too_long = option(10, &[0; 20_000]);
    assert!(agreed(&[structured(), contexts(), too_long]).contexts.is_empty());
    let other = option(10, &queries("small", &["base:allocation"]));
    assert!(agreed(&[structured(), contexts(), other]).contexts.is_empty());
    let default = option(10, &queries("", &["base:allocation"]));
    let negotiated = agreed(&[structured(), default]);
    assert!(negotiated.contexts.has(Context::Allocation), "the empty name is the first export's");
}

#[test]
fn options_that_are_too_long_are_skipped_and_refused() {
    let settings = Settings { option_bytes: 64, ..Settings::default() };
    let mut input = hex("00000003");
    input.extend(option(7, &go(&"x".repeat(100), &[])));
    input.extend(option(3, &[]));
    let shaken = shake(settings, &exports(), &input);
    assert_eq!(kinds(&shaken.sent), [(7, TOO_BIG), (3, 2), (3, 2), (3, 1)]);
}

#[test]
fn a_handshake_has_a_bounded_number_of_options_and_bytes() {
    let settings = Settings { max_options: 3, max_bytes: 100, ..Settings::default() };
    let mut input = hex("00000003");
    (0..4).for_each(|_| input.extend(option(3, &[])));
    let shaken = shake(settings, &exports(), &input);
    let close = Step::Close(Close::TooManyOptions { options: 3, bytes: 100 });
    assert_eq!((kinds(&shaken.sent).len(), &shaken.step), (9, &close));

    let mut input = hex("00000003");
    input.extend(option(77, &[0; 60]));
    // Only the header of the second option: its length is sufficient.
    input.extend(hex("'IHAVEOPT' 0000004d 00000029"));
    let shaken = shake(settings, &exports(), &input);
    assert_eq!((kinds(&shaken.sent), shaken.step), (vec![(77, UNSUP)], close));
}

#[test]
fn starttls_is_unknown_to_a_server_without_tls() {
    assert_eq!(kinds(&answer(5, &[])), [(5, UNSUP)]);
}

#[test]
fn starttls_forgets_what_was_agreed_on_and_what_was_sent_in_clear() {
    let exports = exports();
    let mut input = hex("00000003");
    input.extend([structured(), contexts(), option(5, &[]), option(7, &go("big", &[]))].concat());
    let shaken = shake(with_tls(Tls::Available), &exports, &input);
    assert_eq!(shaken.step, Step::StartTls);
    assert_eq!(kinds(&shaken.sent).last(), Some(&(5, 1)));
    assert!(shaken.rest.is_empty(), "bytes sent in clear are thrown away");

    // Nothing is parsed as an option before TLS is active.
    let mut waiting = go_on(shaken.handshake, &exports, &option(7, &go("big", &[])));
    assert_eq!((waiting.step, waiting.sent.len()), (Step::StartTls, 0));
    waiting.handshake.secured();
    let secured = go_on(waiting.handshake.clone(), &exports, &option(7, &go("big", &[])));
    let negotiated = secured.negotiated();
    assert_eq!(negotiated.headers, Headers::Simple);
    assert!(negotiated.contexts.is_empty());

    let again = go_on(waiting.handshake, &exports, &option(5, &[]));
    assert_eq!(kinds(&again.sent), [(5, INVALID)]);
}

#[test]
fn starttls_with_data_is_refused() {
    let mut input = hex("00000003");
    input.extend(option(5, b"x"));
    let shaken = shake(with_tls(Tls::Required), &exports(), &input);
    assert_eq!(kinds(&shaken.sent), [(5, INVALID)]);
}

#[test]
fn a_server_that_requires_tls_does_nothing_else_without() {
    for number in [3, 6, 7, 8, 9, 10, 11, 99] {
        let mut input = hex("00000003");
        input.extend(option(number, &go("big", &[])));
        let shaken = shake(with_tls(Tls::Required), &exports(), &input);
        assert_eq!(kinds(&shaken.sent), [(number, TLS_REQD)]);
    }
    let mut input = hex("00000003");
    input.extend(option(1, b"big"));
    let shaken = shake(with_tls(Tls::Required), &exports(), &input);
    assert_eq!(shaken.step, Step::Close(Close::TlsRequired));
    let mut input = hex("00000003");
    input.extend(option(2, &[]));
    assert_eq!(kinds(&shake(with_tls(Tls::Required), &exports(), &input).sent), [(2, 1)]);
}

#[test]
fn an_export_for_tls_only_is_hidden_without() {
    let mut secret = Export::new("secret", 4096);
    secret.tls_only = true;
    let exports = Exports::new(vec![Export::new("open", 4096), secret]).expect("sound exports");
    let mut input = hex("00000003");
    let ask = [
        option(3, &[]),
        structured(),
        option(7, &go("secret", &[])),
        option(9, &queries("secret", &[])),
    ];
    input.extend(ask.concat());
    let shaken = shake(with_tls(Tls::Available), &exports, &input);
    let expected = [(3, 2), (3, 1), (8, 1), (7, TLS_REQD), (9, POLICY)];
    assert_eq!(kinds(&shaken.sent), expected);
    // A server without TLS must not require it.
    let shaken = shake(with_tls(Tls::Off), &exports, &input);
    assert_eq!(kinds(&shaken.sent)[3], (7, POLICY));

    let mut secured = shaken.handshake;
    secured.secured();
    assert_eq!(go_on(secured, &exports, &option(7, &go("secret", &[]))).negotiated().export, 1);

    let mut input = hex("00000003");
    input.extend(option(1, b"secret"));
    let shaken = shake(with_tls(Tls::Available), &exports, &input);
    assert_eq!(shaken.step, Step::Close(Close::TlsRequired));
}

#[test]
fn a_stopping_server_refuses_every_option_but_abort() {
    let mut shaken = shake(Settings::default(), &exports(), &hex("00000003"));
    shaken.handshake.stop();
    for number in [3, 6, 7, 8, 9, 10, 11, 99] {
        let sent = go_on(shaken.handshake.clone(), &exports(), &option(number, &[])).sent;
        assert_eq!(kinds(&sent), [(number, SHUTDOWN)]);
    }
    let sent = go_on(shaken.handshake.clone(), &exports(), &option(2, &[])).sent;
    assert_eq!(kinds(&sent), [(2, 1)]);
    let named = go_on(shaken.handshake, &exports(), &option(1, b"big"));
    assert_eq!(named.step, Step::Close(Close::Stopping));
}

#[test]
fn exports_that_break_the_rules_are_refused() {
    let broken: [fn(&mut Export); 8] = [
        |export| export.name = "x".repeat(4097),
        |export| export.description = "a\0b".into(),
        |export| export.blocks.minimum = 0,
        |export| export.blocks.minimum = 1 << 17,
        |export| export.blocks.preferred = 256,
        |export| export.blocks.maximum = 4095,
        |export| (export.blocks.minimum, export.size) = (512, 513),
        |export| export.size = 1 << 63,
    ];
    for (index, breaking) in broken.into_iter().enumerate() {
        let mut export = Export::new("x", 4096);
        breaking(&mut export);
        assert!(Exports::new(vec![export]).is_err(), "rule {index}");
    }
    let twins = vec![Export::new("x", 1), Export::new("x", 2)];
    let error = Exports::new(twins).expect_err("a refusal").to_string();
    assert_eq!(error, "two exports named \"x\"; give each its own name");
}
