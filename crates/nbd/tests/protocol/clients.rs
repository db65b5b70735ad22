//! Third-party clients, over a Unix socket, against the disk in memory.
//!
//! They must be installed (Debian: `libnbd-bin`, `python3-libnbd`, `qemu-utils`), as `make
//! test-tools` does.

#![cfg(unix)]

use std::{
    io::{Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
};

use crate::common::{disk::Disk, session::Session};
use thermocline_nbd::{Contexts, Export, Exports, Settings};
use thermocline_testing::program;

const SIZE: u64 = 8 << 20;

/// Serves until the test ends, and the listener's thread with it.
fn serve(socket: &Path, settings: Settings) {
    let mut export = Export::new("big", SIZE);
    export.description = "a disk in memory".into();
    export.contexts = Contexts::ALL;
    let mut read_only = Export::new("small", 1 << 20);
    read_only.read_only = true;
    let exports = Exports::new(vec![export, read_only]).expect("sound exports");
    let disk = Arc::new(Mutex::new(Disk::new(SIZE)));
    let listener = UnixListener::bind(socket).expect("a free path");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (exports, disk) = (exports.clone(), Arc::clone(&disk));
            std::thread::spawn(move || connection(stream, settings, exports, &disk));
        }
    });
}

fn connection(mut stream: UnixStream, settings: Settings, exports: Exports, disk: &Mutex<Disk>) {
    let mut session = Session::new(settings, exports, 0);
    let mut buffer = vec![0; 1 << 18];
    // A client may disconnect without notice.
    while stream.write_all(&std::mem::take(&mut session.sent)).is_ok() && session.ended.is_none() {
        let count = stream.read(&mut buffer).unwrap_or(0);
        if count == 0 {
            break;
        }
        let mut disk = disk.lock().expect("no connection panicked");
        std::mem::swap(&mut session.disk, &mut disk);
        session.feed(&buffer[..count]);
        std::mem::swap(&mut session.disk, &mut disk);
    }
}

/// Runs a client and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{said}{errors}");
    said + &errors
}

/// One server for each form of headers, with its address.
fn servers() -> [(tempfile::TempDir, String); 2] {
    [false, true].map(|extended_headers| {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("socket");
        serve(&socket, Settings { extended_headers, ..Settings::default() });
        let address = format!("nbd+unix:///big?socket={}", socket.display());
        (directory, address)
    })
}

#[test]
fn nbdinfo_understands_the_handshake_and_the_block_status() {
    if program("nbdinfo").is_none() {
        return;
    }
    for (_directory, address) in servers() {
        let said = run(Command::new("nbdinfo").arg("--list").arg(&address));
        for word in ["export=\"big\"", "export=\"small\"", "a disk in memory"] {
            assert!(said.contains(word), "{word} in\n{said}");
        }
        for word in ["base:allocation", "x-thermocline:temperature", "can_multi_conn: true"] {
            assert!(said.contains(word), "{word} in\n{said}");
        }
        let said = run(Command::new("nbdinfo").arg("--map").arg(&address));
        let fields: Vec<_> = said.split_whitespace().collect();
        assert_eq!(fields, ["0", "8388608", "3", "hole,zero"]);
    }
}

#[test]
fn nbdcopy_copies_there_and_back() {
    if program("nbdcopy").is_none() {
        return;
    }
    for (directory, address) in servers() {
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        // Data, holes and data again.
        let mut bytes: Vec<u8> = (0..SIZE as u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        bytes[1 << 20..5 << 20].fill(0);
        std::fs::write(&from, &bytes).expect("a file");
        run(Command::new("nbdcopy")
            .args(["--flush", "--destination-is-zero"])
            .arg(&from)
            .arg(&address));
        run(Command::new("nbdcopy").arg(&address).arg(&to));
        assert!(std::fs::read(&to).expect("the copy") == bytes, "the copy differs");
        let said = run(Command::new("nbdinfo").args(["--map", "--totals"]).arg(&address));
        assert!(said.contains("hole,zero") && said.contains("data"), "{said}");
    }
}

#[test]
fn qemu_io_writes_reads_trims_and_zeroes() {
    if program("qemu-io").is_none() {
        return;
    }
    for (_directory, address) in servers() {
        let commands = [
            "write -P 7 0 1M",
            "write -f -P 8 1M 512",
            "read -P 7 0 1M",
            "read -P 8 1M 512",
            "write -z 4k 4k",
            "read -P 0 4k 4k",
            "write -z -u 8k 4k",
            "discard 16k 16k",
            "read -P 0 16k 16k",
            "read -P 7 12k 4k",
            "aio_write -P 3 2M 2M",
            "aio_flush",
            "flush",
            "read -P 3 2M 2M",
            "map",
        ];
        let mut qemu = Command::new("qemu-io");
        qemu.args(["-f", "raw", "-d", "unmap"]);
        for command in commands {
            qemu.args(["-c", command]);
        }
        let said = run(qemu.arg(&address));
        assert!(!said.contains("failed") && !said.contains("error"), "{said}");
        let address = address.replace("/big", "/small");
        let said =
            run(Command::new("qemu-io").args(["-r", "-f", "raw", "-c", "read 0 4k"]).arg(address));
        assert!(said.contains("read 4096/4096"), "{said}");
    }
}

#[test]
fn libnbd_gets_every_error_it_asks_for() {
    if program("nbdsh").is_none() {
        return;
    }
    let script = r#"
import errno, os
def refused(expected, call):
    try:
        call()
    except nbd.Error as error:
        assert error.errnum == expected, error
    else:
        raise AssertionError("let through")
h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
h.add_meta_context("x-thermocline:temperature")
h.set_strict_mode(0)
h.connect_uri(os.environ["ADDRESS"])
size = h.get_size()
assert h.get_structured_replies_negotiated()
assert h.can_df() and h.can_fast_zero() and h.can_cache() and h.can_multi_conn()
assert h.get_block_size(nbd.SIZE_MAXIMUM) == 1 << 25
h.pwrite(b"x" * 1000, 100, nbd.CMD_FLAG_FUA)
assert h.pread(1000, 100, nbd.CMD_FLAG_DF) == b"x" * 1000
h.cache(4096, 0)
h.flush()
refused(errno.EINVAL, lambda: h.pread(512, size))
refused(errno.ENOSPC, lambda: h.pwrite(b"x" * 512, size))
refused(errno.ENOSPC, lambda: h.zero(512, size))
refused(errno.EINVAL, lambda: h.trim(512, size))
refused(errno.EINVAL, lambda: h.cache(512, size))
refused(errno.EINVAL, lambda: h.block_status(512, size, lambda *a: 0))
refused(errno.EINVAL, lambda: h.pread(512, 0, nbd.CMD_FLAG_NO_HOLE))
refused(errno.ENOTSUP, lambda: h.zero(512, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE))
seen = {}
h.block_status(size, 0, lambda name, offset, extents, error: seen.update({name: extents}) or 0)
assert set(seen) == {"base:allocation", "x-thermocline:temperature"}, seen
# libnbd speaks extended headers from 1.18 on.
if hasattr(h, "get_extended_headers_negotiated") and os.environ["EXTENDED"] == "true":
    assert h.get_extended_headers_negotiated()
    assert h.can_block_status_payload()
    seen = {}
    found = lambda name, offset, extents, error: seen.update({name: extents}) or 0
    h.block_status_filter(size, 0, ["x-thermocline:temperature"], found)
    assert set(seen) == {"x-thermocline:temperature"}, seen
assert h.pread(1000, 100) == b"x" * 1000
h.shutdown()
print("fine")
"#;
    // Debian's Python has the module; another Python earlier in the path may not.
    let path = format!("/usr/bin:{}", std::env::var("PATH").unwrap_or_default());
    for ((_directory, address), extended) in servers().into_iter().zip(["false", "true"]) {
        let mut nbdsh = Command::new("nbdsh");
        nbdsh.envs([("PATH", path.as_str()), ("ADDRESS", &address), ("EXTENDED", extended)]);
        assert_eq!(run(nbdsh.args(["-c", script])).trim(), "fine");
    }
}
