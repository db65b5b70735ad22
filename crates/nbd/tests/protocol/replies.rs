//! Replies against bytes written by hand from doc/proto.md.

use crate::common::{agreed, contexts, extended, extended_headers, hex, request, structured};
use thermocline_nbd::{Context, Errno, Negotiated, Output, Parsed, Request, wire::MAX_EXTENTS};

const DF: u16 = 4;
const REQ_ONE: u16 = 8;
const COOKIE: u64 = 0x1122_3344_5566_7788;

fn ask(negotiated: &Negotiated, command: u16, flags: u16, offset: u64, length: u32) -> Request {
    let bytes = match negotiated.headers {
        thermocline_nbd::Headers::Extended => {
            extended(command, flags, COOKIE, offset, length.into())
        }
        _ => request(command, flags, COOKIE, offset, length),
    };
    match negotiated.parse(&bytes) {
        Parsed::Request(request, _) => request,
        other => panic!("no request but {other:?}"),
    }
}

/// The bytes that `put` sends.
fn sent(put: impl FnOnce(&mut Output)) -> Vec<u8> {
    let mut output = Output::new();
    // Data left over from an earlier use must not appear.
    agreed(&[structured()]).reply_error(
        &ask(&agreed(&[]), 3, 0, 0, 0),
        Errno::Io,
        &"x".repeat(4096),
        &mut output,
    );
    output.sent(usize::MAX);
    put(&mut output);
    output.pending().to_vec()
}

#[test]
fn done_is_a_simple_reply() {
    let simple = hex("67446698 00000000 1122334455667788");
    for negotiated in [agreed(&[]), agreed(&[structured()])] {
        for command in [1, 3, 4, 5, 6] {
            let request = ask(&negotiated, command, 0, 0, 0);
            assert_eq!(sent(|output| negotiated.reply_done(&request, output)), simple);
        }
    }
}

#[test]
fn done_is_a_chunk_with_extended_headers() {
    let negotiated = agreed(&[extended_headers()]);
    let request = ask(&negotiated, 4, 0, 512, 512);
    let expected = hex("6e8a278c 0001 0000 1122334455667788 0000000000000200 0000000000000000");
    assert_eq!(sent(|output| negotiated.reply_done(&request, output)), expected);
}

#[test]
fn a_read_of_nothing_is_answered_with_nothing() {
    let simple = agreed(&[]);
    let request = ask(&simple, 0, 0, 0, 0);
    let expected = hex("67446698 00000000 1122334455667788");
    assert_eq!(sent(|output| simple.reply_done(&request, output)), expected);
    assert_eq!(sent(|output| simple.reply_read(&request, output).finish()), expected);
    let chunked = agreed(&[structured()]);
    let expected = hex("668e33ef 0001 0000 1122334455667788 00000000");
    assert_eq!(sent(|output| chunked.reply_done(&request, output)), expected);
    assert_eq!(sent(|output| chunked.reply_read(&request, output).finish()), expected);
}

#[test]
fn errors_are_a_number_alone_in_simple_replies() {
    let negotiated = agreed(&[]);
    let request = ask(&negotiated, 0, 0, 0, 512);
    let expected = hex("67446698 00000005 1122334455667788");
    let all = sent(|output| negotiated.reply_error(&request, Errno::Io, &"no text", output));
    assert_eq!(all, expected);
    let all = sent(|out| negotiated.reply_error_at(&request, Errno::Io, 7, &"no text", out));
    assert_eq!(all, expected);
}

#[test]
fn errors_carry_a_text_in_chunks() {
    let negotiated = agreed(&[structured()]);
    let request = ask(&negotiated, 0, 0, 1 << 20, 512);
    let refusal = negotiated.check(&request).expect_err("a refusal");
    let expected = hex("668e33ef 0001 8001 1122334455667788 00000045 00000016 003f
         '512 bytes at 1048576 go beyond the end of the export at 1048576'");
    assert_eq!(sent(|output| negotiated.reply_refusal(&request, &refusal, output)), expected);
}

#[test]
fn errors_say_where_if_that_is_in_the_request() {
    let negotiated = agreed(&[structured()]);
    let write = ask(&negotiated, 1, 0, 512, 512);
    let expected =
        hex("668e33ef 0001 8002 1122334455667788 00000012 0000001c 0004 'full' 0000000000000300");
    let at = |at| sent(|out| negotiated.reply_error_at(&write, Errno::NoSpace, at, &"full", out));
    assert_eq!(at(0x300), expected);
    let without = hex("668e33ef 0001 8001 1122334455667788 0000000a 0000001c 0004 'full'");
    assert_eq!((at(511), at(1024)), (without.clone(), without.clone()));
    let flush = ask(&negotiated, 3, 0, 0, 0);
    let all = sent(|out| negotiated.reply_error_at(&flush, Errno::NoSpace, 0, &"full", out));
    assert_eq!(all, without);
}

#[test]
fn errors_with_extended_headers_repeat_the_offset() {
    let negotiated = agreed(&[extended_headers()]);
    let request = ask(&negotiated, 1, 32, 512, 512);
    let expected = hex("6e8a278c 0001 8001 1122334455667788 0000000000000200 000000000000000a
         0000006c 0004 'stop'");
    let all = sent(|out| negotiated.reply_error(&request, Errno::Shutdown, &"stop", out));
    assert_eq!(all, expected);
}

#[test]
fn texts_are_cut_to_4096_bytes_between_characters() {
    let negotiated = agreed(&[structured()]);
    let request = ask(&negotiated, 3, 0, 0, 0);
    let text = format!("x\0{}", "é".repeat(4000));
    let all = sent(|output| negotiated.reply_error(&request, Errno::Io, &text, output));
    assert_eq!(all[24..26], 4095_u16.to_be_bytes());
    assert_eq!(str::from_utf8(&all[26..]).expect("a text"), format!("x{}", "é".repeat(2047)));
}

#[test]
fn a_simple_read_is_a_header_and_the_bytes() {
    let negotiated = agreed(&[]);
    let request = ask(&negotiated, 0, 0, 10, 6);
    let all = sent(|output| {
        let mut reply = negotiated.reply_read(&request, output);
        reply.data(2).copy_from_slice(b"ab");
        reply.hole(3);
        assert_eq!(reply.left(), 1);
        reply.data(99).copy_from_slice(b"c");
        assert!(reply.data(1).is_empty(), "no more than was asked for");
        reply.finish();
    });
    assert_eq!(all, hex("67446698 00000000 1122334455667788 'ab' 000000 'c'"));
}

#[test]
fn a_structured_read_has_a_chunk_for_each_run_of_data_and_of_holes() {
    let negotiated = agreed(&[structured()]);
    let request = ask(&negotiated, 0, 0, 0x100, 11);
    let all = sent(|output| {
        let mut reply = negotiated.reply_read(&request, output);
        reply.data(2).copy_from_slice(b"ab");
        reply.data(2).copy_from_slice(b"cd");
        reply.hole(2);
        reply.hole(4);
        reply.data(1).copy_from_slice(b"e");
        reply.finish();
    });
    let expected = hex("668e33ef 0000 0001 1122334455667788 0000000c 0000000000000100 'abcd'
         668e33ef 0000 0002 1122334455667788 0000000c 0000000000000104 00000006
         668e33ef 0001 0001 1122334455667788 00000009 000000000000010a 'e'");
    assert_eq!(all, expected);
}

#[test]
fn an_extended_read_has_chunks_with_the_offset_of_the_request() {
    let negotiated = agreed(&[extended_headers()]);
    let request = ask(&negotiated, 0, 0, 0x100, 8);
    let all = sent(|output| {
        let mut reply = negotiated.reply_read(&request, output);
        reply.hole(6);
        reply.data(2).copy_from_slice(b"ab");
        reply.finish();
    });
    let expected = hex("6e8a278c 0000 0002 1122334455667788 0000000000000100 000000000000000c
         0000000000000100 00000006
         6e8a278c 0001 0001 1122334455667788 0000000000000100 000000000000000a
         0000000000000106 'ab'");
    assert_eq!(all, expected);
}

#[test]
fn an_unfragmented_read_is_one_chunk_with_its_zeroes() {
    let negotiated = agreed(&[structured()]);
    let request = ask(&negotiated, 0, DF, 0, 6);
    let all = sent(|output| {
        let mut reply = negotiated.reply_read(&request, output);
        reply.hole(2);
        reply.data(2).copy_from_slice(b"ab");
        reply.hole(2);
        reply.finish();
    });
    let chunk = hex("668e33ef 0001 0001 1122334455667788 0000000e 0000000000000000");
    assert_eq!(all, [chunk, hex("0000 'ab' 0000")].concat());
    let all = sent(|output| {
        let mut reply = negotiated.reply_read(&request, output);
        reply.hole(6);
        reply.finish();
    });
    let hole = hex("668e33ef 0001 0002 1122334455667788 0000000c 0000000000000000 00000006");
    assert_eq!(all, hole, "a hole and nothing else is one chunk too");
}

#[test]
fn a_read_that_fails_half_way_sends_the_error_alone() {
    let negotiated = agreed(&[structured()]);
    let request = ask(&negotiated, 0, 0, 0, 1024);
    let all = sent(|output| {
        negotiated.reply_done(&ask(&negotiated, 4, 0, 0, 0), output);
        let mut reply = negotiated.reply_read(&request, output);
        reply.data(512).fill(7);
        reply.hole(12);
        reply.fail(Errno::Io, Some(524), &"bad block");
    });
    let expected = hex("67446698 00000000 1122334455667788
         668e33ef 0001 8002 1122334455667788 00000017
         00000005 0009 'bad block' 000000000000020c");
    assert_eq!(all, expected, "the reply before it stays");

    let simple = agreed(&[]);
    let all = sent(|output| {
        let mut reply = simple.reply_read(&request, output);
        reply.data(512).fill(7);
        reply.fail(Errno::Io, None, &"bad block");
    });
    assert_eq!(all, hex("67446698 00000005 1122334455667788"));
}

#[test]
fn a_read_that_is_not_whole_becomes_an_error() {
    let simple = agreed(&[]);
    let request = ask(&simple, 0, 0, 0, 1024);
    let expected = hex("67446698 00000005 1122334455667788");
    let finished = sent(|output| {
        let mut reply = simple.reply_read(&request, output);
        reply.data(512).fill(7);
        reply.finish();
    });
    let dropped = sent(|output| {
        simple.reply_read(&request, output).data(512).fill(7);
    });
    let done = sent(|output| simple.reply_done(&request, output));
    assert_eq!((&finished, &dropped, &done), (&expected, &expected, &expected));
}

#[test]
fn block_status_has_a_chunk_for_each_context_with_runs_merged() {
    let negotiated = agreed(&[structured(), contexts()]);
    let request = ask(&negotiated, 7, 0, 0, 4096);
    let all = sent(|output| {
        let mut reply = negotiated.reply_status(&request, output);
        assert_eq!(reply.next_context(), Some(Context::Allocation));
        assert!(reply.extent(512, 0));
        assert!(reply.extent(512, 0));
        assert!(reply.extent(0, 1), "an extent of nothing is none");
        assert!(reply.extent(1024, 3));
        assert!(!reply.extent(9999, 0), "the range is covered");
        assert!(!reply.extent(1, 3));
        assert_eq!(reply.next_context(), Some(Context::Temperature));
        assert!(!reply.extent(4096, 5));
        assert_eq!(reply.next_context(), None);
        reply.finish();
    });
    let expected = hex("668e33ef 0000 0005 1122334455667788 0000001c 00000001
         00000400 00000000  00000400 00000003  00000800 00000000
         668e33ef 0001 0005 1122334455667788 0000000c 00000002
         00001000 00000005");
    assert_eq!(all, expected);
}

#[test]
fn extended_block_status_has_64_bits_and_a_count() {
    let negotiated = agreed(&[extended_headers(), contexts()]);
    let mut bytes = extended(7, 32, COOKIE, 0x200, 12);
    bytes.extend(hex("0000000000001000 00000001"));
    let Parsed::Request(request, 44) = negotiated.parse(&bytes) else { panic!("44 bytes") };
    let all = sent(|output| {
        let mut reply = negotiated.reply_status(&request, output);
        assert_eq!(reply.next_context(), Some(Context::Allocation));
        reply.extent(512, 3);
        reply.extent(512, 0);
        assert_eq!(reply.next_context(), None, "the other was not asked for");
        reply.finish();
    });
    let expected = hex("6e8a278c 0001 0006 1122334455667788 0000000000000200 0000000000000028
         00000001 00000002
         0000000000000200 0000000000000003
         0000000000000200 0000000000000000");
    assert_eq!(all, expected);
}

#[test]
fn req_one_gives_one_extent_within_the_request() {
    let negotiated = agreed(&[structured(), contexts()]);
    let request = ask(&negotiated, 7, REQ_ONE, 0, 2048);
    let all = sent(|output| {
        let mut reply = negotiated.reply_status(&request, output);
        reply.next_context();
        assert!(reply.extent(512, 3));
        assert!(reply.extent(512, 3));
        assert!(!reply.extent(512, 0));
        assert!(!reply.extent(512, 3), "not after a gap");
        reply.next_context();
        assert!(!reply.extent(1 << 20, 1));
        reply.finish();
    });
    let expected = hex("668e33ef 0000 0005 1122334455667788 0000000c 00000001 00000400 00000003
         668e33ef 0001 0005 1122334455667788 0000000c 00000002 00000800 00000001");
    assert_eq!(all, expected);
}

#[test]
fn block_status_of_which_nothing_is_said_is_0() {
    let negotiated = agreed(&[structured(), contexts()]);
    let request = ask(&negotiated, 7, 0, 0, 4096);
    let expected = hex("668e33ef 0000 0005 1122334455667788 0000000c 00000001 00001000 00000000
         668e33ef 0001 0005 1122334455667788 0000000c 00000002 00001000 00000000");
    assert_eq!(sent(|output| negotiated.reply_status(&request, output).finish()), expected);
    assert_eq!(sent(|output| negotiated.reply_done(&request, output)), expected);
}

#[test]
fn block_status_can_fail() {
    let negotiated = agreed(&[structured(), contexts()]);
    let request = ask(&negotiated, 7, 0, 0, 4096);
    let expected = hex("668e33ef 0001 8001 1122334455667788 0000000a 00000005 0004 'gone'");
    let all = sent(|output| {
        let mut reply = negotiated.reply_status(&request, output);
        reply.next_context();
        reply.extent(512, 0);
        reply.fail(Errno::Io, &"gone");
    });
    assert_eq!(all, expected);
    let dropped = sent(|output| {
        let mut reply = negotiated.reply_status(&request, output);
        reply.next_context();
    });
    assert_eq!(dropped[..8], hex("668e33ef 0001 8001"));
}

#[test]
fn a_chunk_of_block_status_has_at_most_4096_extents() {
    let mut negotiated = agreed(&[structured(), contexts()]);
    negotiated.size = u64::from(u32::MAX);
    let request = ask(&negotiated, 7, 0, 0, u32::MAX);
    let all = sent(|output| {
        let mut reply = negotiated.reply_status(&request, output);
        reply.next_context();
        let extents = (1..).find(|extent| !reply.extent(512, extent % 2)).expect("an end");
        assert_eq!(extents, MAX_EXTENTS + 1, "the one that found no room");
        reply.next_context();
        reply.extent(u64::MAX, 0);
        reply.finish();
    });
    assert_eq!(all[16..20], (4 + 8 * (1_u32 << 12)).to_be_bytes());
    assert_eq!(all.len(), 20 + 4 + (8 << 12) + 20 + 12);
}

/// The parts of a read of 1536 bytes at 512, one of each kind: data, a hole, and both.
fn in_parts(negotiated: &Negotiated, request: &Request) -> Vec<Vec<u8>> {
    let part = |at: u64, put: &dyn Fn(&mut thermocline_nbd::ReadReply<'_>)| {
        sent(|output| {
            let mut reply = negotiated.reply_read_part(request, at, 512, output);
            put(&mut reply);
            assert_eq!(reply.left(), 0);
            reply.finish();
        })
    };
    vec![
        part(512, &|reply| reply.data(512).fill(1)),
        part(1024, &|reply| reply.hole(512)),
        part(1536, &|reply| {
            reply.hole(256);
            reply.data(256).fill(3);
        }),
    ]
}

#[test]
fn the_parts_of_a_structured_read_are_chunks_of_which_the_last_is_done() {
    let negotiated = agreed(&[structured()]);
    let request = ask(&negotiated, 0, 0, 512, 1536);
    assert!(negotiated.can_fail_late(&request));
    let parts = in_parts(&negotiated, &request);
    let mut first = hex("668e33ef 0000 0001 1122334455667788 00000208 0000000000000200");
    first.extend([1; 512]);
    assert_eq!(parts[0], first);
    let hole = hex("668e33ef 0000 0002 1122334455667788 0000000c 0000000000000400 00000200");
    assert_eq!(parts[1], hole);
    let mut last = hex("668e33ef 0000 0002 1122334455667788 0000000c 0000000000000600 00000100");
    last.extend(hex("668e33ef 0001 0001 1122334455667788 00000108 0000000000000700"));
    last.extend([3; 256]);
    assert_eq!(parts[2], last);
}

#[test]
fn a_later_part_of_a_structured_read_may_fail() {
    let negotiated = agreed(&[structured()]);
    let request = ask(&negotiated, 0, 0, 512, 1536);
    let failed = sent(|output| {
        let mut reply = negotiated.reply_read_part(&request, 1024, 512, output);
        reply.data(512).fill(9);
        assert!(reply.fail(Errno::Io, Some(1030), &"gone"));
    });
    let expected =
        hex("668e33ef 0001 8002 1122334455667788 00000012 00000005 0004 'gone' 0000000000000406");
    assert_eq!(failed, expected);
}

#[test]
fn the_parts_of_a_read_that_is_promised_as_a_whole_are_its_bytes_behind_one_header() {
    let plain = agreed(&[]);
    let chunks = agreed(&[structured()]);
    let simple = hex("67446698 00000000 1122334455667788");
    let whole = hex("668e33ef 0001 0001 1122334455667788 00000608 0000000000000200");
    for (negotiated, flags, head) in [(&plain, 0, simple), (&chunks, DF, whole)] {
        let request = ask(negotiated, 0, flags, 512, 1536);
        assert!(!negotiated.can_fail_late(&request));
        let bytes = [[1; 512].as_slice(), &[0; 768], &[3; 256]].concat();
        assert_eq!(in_parts(negotiated, &request).concat(), [head, bytes].concat());
        // An error can be sent before the first part, and not after it.
        let told = |at: u64| {
            let mut told = false;
            let sent = sent(|output| {
                let mut reply = negotiated.reply_read_part(&request, at, 512, output);
                reply.data(512).fill(9);
                told = reply.fail(Errno::Io, None, &"gone");
            });
            (told, sent.is_empty())
        };
        assert_eq!((told(512), told(1024)), ((true, false), (false, true)));
    }
}

#[test]
fn output_is_sent_in_pieces_and_its_memory_stays_bounded() {
    let negotiated = agreed(&[]);
    let mut output = Output::new();
    let mut expected = 0;
    for round in 0..100_000_u64 {
        let mut request = ask(&negotiated, 3, 0, 0, 0);
        request.cookie = round;
        negotiated.reply_done(&request, &mut output);
        // The buffer never becomes completely empty.
        while output.len() > 24 {
            let take = output.len().min(7);
            for byte in &output.pending()[..take] {
                let reply = expected / 16;
                let all = [hex("67446698 00000000"), u64::to_be_bytes(reply).to_vec()].concat();
                assert_eq!(*byte, all[(expected % 16) as usize]);
                expected += 1;
            }
            output.sent(take);
        }
    }
    assert!(expected > 1_500_000);
    assert!(output.capacity() < 1024, "{} bytes", output.capacity());
    output.clear();
    output.release(16);
    assert!(output.capacity() <= 16 && output.is_empty());
}
