//! Operators' commands to a running server, and their effect on clients.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use thermocline_assembly::{
    Access, Candidate, Device, PolicySpec, Remounter, ServeOptions, device::Overrides,
};
use thermocline_media::{Faults, Faulty, Medium, Ram};
use thermocline_policy::trigger::Watermarks;
use thermocline_server::{
    About, Change, Listener, Opening, Options, Remount, Remounted, Rights, Server, Settings,
    control::{
        Command,
        client::{Client as Operator, Extent, Part},
    },
};

use crate::{
    client::Client,
    layer::{RULES, geometry, page_mapped},
    running::{Running, opening, with_metrics},
};

const PAGE: usize = 4096;

/// Remounts by policies of the assembly, as the command line does.
struct ByName(Remounter, Remounter);

impl ByName {
    fn settings(&self) -> Settings {
        let Watermarks { reserve, low, high } = self.0.watermarks().expect("they were checked");
        Settings { policy: self.0.policy().name.clone(), reserve, low, high }
    }
}

impl Remount for ByName {
    fn prepare(&mut self, change: &Change) -> Result<(), String> {
        let policy = match &change.policy {
            Some(name) => PolicySpec::parse(name, None, None).map_err(|e| e.to_string())?,
            None => self.0.policy().clone(),
        };
        let before = self.0.asked();
        let low = change.low.unwrap_or(before.low);
        let high = change.high.unwrap_or(before.high.max(low));
        let watermarks = Watermarks { low, high, ..before };
        self.1 = self.0.with(policy, watermarks).map_err(|e| e.to_string())?;
        Ok(())
    }

    fn mount(&mut self, chip: Box<dyn Medium>) -> Result<Remounted, String> {
        let (layer, recovery) = self.1.mount(chip).map_err(|e| e.to_string())?;
        assert!(recovery.clean, "it was unmounted in order");
        self.0 = self.1.clone();
        Ok(Remounted { layer, settings: self.settings(), time_ns: recovery.newest_time + 1 })
    }
}

/// A chip in memory that is formatted, with its index log, by `dac`.
fn formatted(mib: u64) -> Opening {
    let (opening, remount) = made(mib);
    Opening { remount: Some(Box::new(remount)), ..opening }
}

/// As `made`, with its remounter.
fn made(mib: u64) -> (Opening, ByName) {
    let Ok(place) = "ram:".parse();
    let small = Overrides { capacity: Some(mib << 20), ..Overrides::default() };
    let device = || Device::load("slc-generic").and_then(|device| device.with(&small));
    let options = ServeOptions {
        policy: PolicySpec::parse("dac", None, None).expect("there is one"),
        over_provisioning: 0.3,
        watermarks: Watermarks::default(),
        grouped: false,
        time_scale_ns: None,
        seed: 1,
        separate: Vec::new(),
        rebuild: false,
        map_cache: None,
    };
    let found =
        Candidate::find(&place, &Access::default(), device).expect("there is such a device");
    let served = found.start(&Access::default(), &options, |chip, _| chip).expect("it has room");
    let remount = ByName(served.remounter.clone(), served.remounter);
    (Opening { settings: remount.settings(), ..Opening::new(served.layer) }, remount)
}

/// A server with a control socket.
struct Controlled {
    folder: tempfile::TempDir,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Controlled {
    fn start(opening: Opening) -> Self {
        let folder = tempfile::TempDir::new().expect("there is room for a folder");
        let about = About { folder: Some(folder.path().into()), ..About::default() };
        let opening = Opening { about, ..opening };
        let mut server = Server::new(vec![opening], Options::default()).expect("it can be made");
        let at = |name: &str| folder.path().join(name);
        server.listen(Listener::unix(&at("nbd")).expect("the folder is fresh"));
        let control = Listener::unix_of(&at("ctl"), &Rights::OWNER).expect("the folder is fresh");
        server.control(control, 0);
        let thread = std::thread::spawn(move || server.run().expect("it ends in good order"));
        Self { folder, thread: Some(thread) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn client(&self) -> Client {
        Client::connect(&self.path("nbd"), true).expect("the server listens")
    }

    fn operator(&self) -> Operator {
        Operator::connect(&self.path("ctl"), None).expect("the server listens")
    }

    fn ended(&mut self) {
        self.thread.take().expect("asked once").join().expect("it does not panic");
    }
}

impl Drop for Controlled {
    fn drop(&mut self) {
        if self.thread.is_some() && !std::thread::panicking() {
            self.operator().ask(Command::Stop).expect("it stops");
            self.ended();
        }
    }
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn an_operator_sees_the_chip_and_what_was_done_to_it() {
    let controlled = Controlled::start(formatted(16));
    assert_eq!(mode(&controlled.path("ctl")), 0o600, "it is the owner's alone");
    let mut client = controlled.client();
    for i in 0..50 {
        assert_eq!(client.write(i * 4096, &[1; PAGE]).expect("an answer"), 0);
    }
    // A reply is counted before the next one is sent.
    assert_eq!(client.flush().expect("an answer"), 0);
    let mut operator = controlled.operator();
    let stat = operator.ask(Command::Stat).expect("an answer");
    assert_eq!(stat["pages_with_data"], 50, "{stat}");
    assert_eq!(stat["since_mount"]["host_pages_written"], 50);
    assert_eq!(stat["clients"]["requests"]["write"], 50);
    assert_eq!(stat["settings"]["policy"], "dac");
    assert_eq!(stat["banks"].as_array().expect("a list").len(), 1);
    assert_eq!(stat["banks"][0]["current_pages"], 50);
    assert_eq!(operator.ask(Command::Flush).expect("an answer")["flushed"], true);
    assert_eq!(operator.ask(Command::Scrub).expect("an answer")["blocks_scrubbed"], 0);
    let check = operator.ask(Command::Check).expect("an answer");
    assert_eq!((&check["sound"], &check["pages_verified"]), (&true.into(), &50.into()), "{check}");
    let mut other =
        Operator::connect(&controlled.path("ctl"), Some("other".into())).expect("it listens");
    let refused = other.ask(Command::Stat).expect_err("there is no such export");
    assert!(refused.contains("no export \"other\""), "{refused}");
}

#[test]
fn what_is_no_request_is_refused_and_holds_up_nobody() {
    use std::io::{BufRead, BufReader, Write};
    let controlled = Controlled::start(formatted(16));
    let mut stream =
        std::os::unix::net::UnixStream::connect(controlled.path("ctl")).expect("it listens");
    stream.write_all(b"{\"command\":\"reboot\"}\nnonsense\n").expect("it takes it");
    let mut lines = BufReader::new(stream.try_clone().expect("a clone")).lines();
    for _ in 0..2 {
        let line = lines.next().expect("an answer").expect("an answer");
        assert!(line.starts_with("{\"error\":"), "{line}");
    }
    stream.write_all(&vec![b'x'; 1 << 20]).ok();
    assert!(controlled.operator().ask(Command::Stat).is_ok());
}

/// An operator's result from a fake server.
fn told_by<T: Send>(
    server: impl FnOnce(std::os::unix::net::UnixStream) -> T + Send,
    operator: impl FnOnce(Operator),
) -> T {
    let folder = tempfile::TempDir::new().expect("a folder");
    let socket = folder.path().join("ctl");
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("the folder is fresh");
    std::thread::scope(|scope| {
        let served = scope.spawn(|| server(listener.accept().expect("a connection").0));
        operator(Operator::connect(&socket, None).expect("somebody listens"));
        served.join().expect("it ends")
    })
}

/// Writes until the reader is gone, or 64 MiB.
fn sent_to_a_reader(mut stream: impl std::io::Write) -> usize {
    let sent = (0..1024).take_while(|_| stream.write_all(&[b' '; 64 << 10]).is_ok());
    sent.count() * (64 << 10)
}

#[test]
fn an_answer_or_a_request_that_does_not_end_is_cut_off() {
    let sent = told_by(sent_to_a_reader, |mut operator| {
        let refused = operator.ask(Command::Stat).expect_err("it does not end");
        assert!(refused.contains("too long"), "{refused}");
    });
    assert!(sent < 16 << 20, "an answer of {sent} bytes was read");
    let controlled = Controlled::start(formatted(16));
    let stream = crate::client::unix(&controlled.path("ctl")).expect("it listens");
    let sent = sent_to_a_reader(stream);
    assert!(sent < 16 << 20, "a request of {sent} bytes was read");
}

#[test]
fn what_is_no_copy_is_not_taken_for_one() {
    // The pages of the chip, and the parts: first page and number of pages.
    let twice: &[_] = &[(0, 1), (0, 1)];
    for (pages, parts) in [
        (8, &[(10, 1)][..]),
        (8, twice),
        (u32::MAX, &[(u32::MAX - 1, 5)]),
        (u32::MAX, &[(0, 1 << 20)]),
    ] {
        let send = |mut stream: std::os::unix::net::UnixStream| {
            for (first, count) in parts {
                let mut bytes = [u32::to_le_bytes(*first), u32::to_le_bytes(*count)].concat();
                bytes.resize(bytes.len() + PAGE, 7);
                // He may have gone.
                let _ = std::io::Write::write_all(&mut stream, &bytes);
            }
        };
        told_by(send, |mut operator| {
            let (mut extent, mut content) = (Extent::new(PAGE as u32, pages), Vec::new());
            for _ in 1..parts.len() {
                let part = operator.part(&mut extent, &mut content);
                assert!(matches!(part, Ok(Part::Pages(0, 1))), "{part:?}");
            }
            let refused = operator.part(&mut extent, &mut content).expect_err("it is no copy");
            assert!(refused.contains("no copy"), "{refused}");
        });
    }
}

#[test]
fn policy_and_watermarks_change_between_requests_and_nothing_is_lost() {
    let controlled = Controlled::start(formatted(16));
    let pages = controlled.client().size / 4096;
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let (mut client, mut round) = (controlled.client(), 0_u64);
            while !stop.load(std::sync::atomic::Ordering::Relaxed) || round < 2 {
                round += 1;
                for i in 0..pages {
                    let fill = [(round + i) as u8; PAGE];
                    assert_eq!(client.write(i * 4096, &fill).expect("an answer"), 0);
                    if i.is_multiple_of(64) {
                        assert_eq!(client.flush().expect("an answer"), 0);
                    }
                }
            }
            round
        });
        let mut operator = controlled.operator();
        let settings = [("greedy", 3, 3), ("cat", 4, 8), ("dac", 5, 5), ("thermocline", 3, 3)];
        for (policy, low, high) in settings {
            let change = Change {
                policy: Some(policy.into()),
                low: Some(low),
                high: Some(high),
                ..Change::default()
            };
            let done = operator.ask(Command::Set(change)).expect("it can be done");
            assert_eq!(done["settings"]["policy"], policy, "{done}");
            assert_eq!(
                (&done["settings"]["low"], &done["settings"]["high"]),
                (&low.into(), &high.into())
            );
        }
        let stat = operator.ask(Command::Stat).expect("an answer");
        assert!(stat["policy_state"]["duel"].is_string(), "{stat}");
        let too_many = Change { high: Some(1000), ..Change::default() };
        let refused = operator.ask(Command::Set(too_many)).expect_err("there is no room");
        assert!(refused.contains("‹high 1000›"), "{refused}");
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let round = writing.join().expect("the client's writes all succeed");
        let mut client = controlled.client();
        let mut found = [0; PAGE];
        for i in 0..pages {
            assert_eq!(client.read(i * 4096, &mut found).expect("an answer"), 0);
            assert_eq!(found, [(round + i) as u8; PAGE], "page {i}");
        }
        let check = operator.ask(Command::Check).expect("an answer");
        assert_eq!(check["sound"], true, "{check}");
    });
}

/// A remount that fails: before the chip is mounted, or after.
struct Failing(ByName, u32);

impl Remount for Failing {
    fn prepare(&mut self, change: &Change) -> Result<(), String> {
        self.0.prepare(change)
    }

    fn mount(&mut self, chip: Box<dyn Medium>) -> Result<Remounted, String> {
        self.1 += 1;
        match self.1 {
            1 => Err("the chip was dropped".into()),
            2 => self.0.1.mount(chip).map_err(|e| e.to_string()).and(Err("it was mounted".into())),
            _ => self.0.mount(chip),
        }
    }
}

#[test]
fn a_change_of_policy_that_fails_leaves_the_export_as_it_was() {
    let (opening, remount) = made(16);
    let remount = Box::new(Failing(remount, 0));
    let controlled = Controlled::start(Opening { remount: Some(remount), ..opening });
    let (mut client, mut operator) = (controlled.client(), controlled.operator());
    let to =
        |policy: &str| Command::Set(Change { policy: Some(policy.into()), ..Change::default() });
    let mut found = [0; PAGE];
    for (round, why) in [(1, "the chip was dropped"), (2, "it was mounted")] {
        for i in 0..100 {
            assert_eq!(client.write(i * 4096, &[round; PAGE]).expect("an answer"), 0);
        }
        let refused = operator.ask(to("greedy")).expect_err("it fails");
        assert!(refused.contains(why) && refused.contains("goes on as before"), "{refused}");
        assert_eq!(client.read(99 * 4096, &mut found).expect("an answer"), 0);
        assert_eq!(found, [round; PAGE]);
        assert_eq!(client.write(5000 * 4096 / 2, &[round; PAGE]).expect("an answer"), 0);
        assert_eq!(client.flush().expect("an answer"), 0);
        let stat = operator.ask(Command::Stat).expect("an answer");
        assert_eq!(
            (&stat["settings"]["policy"], &stat["state"]),
            (&"dac".into(), &"served".into())
        );
    }
    let done = operator.ask(to("greedy")).expect("it can be done");
    assert_eq!(done["settings"]["policy"], "greedy", "{done}");
    assert_eq!(client.write(0, &[9; PAGE]).expect("an answer"), 0);
    let check = operator.ask(Command::Check).expect("an answer");
    assert_eq!(check["sound"], true, "{check}");
}

#[test]
fn a_copy_is_of_one_moment_whatever_clients_write_and_trim_meanwhile() {
    let controlled = Controlled::start(formatted(16));
    let mut client = controlled.client();
    let pages = (client.size / 4096) as u32;
    let old = |lpn: u32| if lpn.is_multiple_of(3) { 0 } else { (lpn % 251) as u8 + 1 };
    for lpn in (0..pages).filter(|lpn| !lpn.is_multiple_of(3)) {
        let at = u64::from(lpn) * 4096;
        assert_eq!(client.write(at, &[old(lpn); PAGE]).expect("an answer"), 0);
    }
    let mut operator = controlled.operator();
    let head = operator.ask(Command::Copy).expect("it begins");
    assert_eq!((&head["logical_pages"], &head["page_size"]), (&pages.into(), &4096.into()));
    let second = controlled.operator().ask(Command::Copy).expect_err("one is being made");
    assert!(second.contains("already"), "{second}");
    // The server waits for our reads, while everything is overwritten and half of it trimmed.
    for lpn in 0..pages {
        assert_eq!(client.write(u64::from(lpn) * 4096, &[0xee; PAGE]).expect("an answer"), 0);
    }
    let trim = thermocline_nbd::wire::CMD_TRIM;
    let half = u64::from(pages / 2) * 4096;
    assert_eq!(client.ask(trim, 0, half, half as u32, &[]).expect("an answer"), 0);
    let mut found = vec![0; pages as usize];
    let (mut extent, mut content) = (Extent::new(PAGE as u32, pages), Vec::new());
    loop {
        match operator.part(&mut extent, &mut content).expect("the copy is whole") {
            Part::End => break,
            Part::Lost(lpn) => panic!("page {lpn} is lost"),
            Part::Pages(first, count) => {
                for (lpn, page) in (first..first + count).zip(content.chunks_exact(PAGE)) {
                    assert!(page.iter().all(|byte| *byte == page[0]));
                    found[lpn as usize] = page[0];
                }
            }
        }
    }
    let expected: Vec<u8> = (0..pages).map(old).collect();
    assert!(found == expected, "the copy is not of the moment it was begun");
    let mut page = [0; PAGE];
    assert_eq!(client.read(0, &mut page).expect("an answer"), 0);
    assert_eq!(page, [0xee; PAGE], "the device is of now");
    assert_eq!(operator.ask(Command::Stat).expect("an answer")["copying"], false);
    let left = std::fs::read_dir(controlled.folder.path()).expect("a folder").count();
    assert_eq!(left, 2, "the two sockets");
}

#[test]
fn a_server_that_drains_serves_those_who_are_there_and_ends_with_the_last_one() {
    let mut controlled = Controlled::start(formatted(16));
    let mut client = controlled.client();
    let mut operator = controlled.operator();
    assert_eq!(operator.ask(Command::Drain).expect("an answer")["connections"], 1);
    let begun = Instant::now();
    while crate::client::unix(&controlled.path("nbd")).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(20), "new clients are still let in");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(client.write(0, &[1; PAGE]).expect("it goes on"), 0);
    assert_eq!(operator.ask(Command::Stat).expect("it goes on")["draining"], true);
    drop(client);
    operator.wait_until_gone();
    controlled.ended();
    assert!(!controlled.path("ctl").exists());
}

#[test]
fn erases_that_fail_and_what_the_policy_decided_are_counted() {
    let faults: Faults = "seed=2,wear=4,spread=0.3".parse().expect("faults");
    let chip = Faulty::with_faults(Ram::new(geometry(48), RULES), faults);
    let layer = page_mapped(Box::new(chip), "adaptive", 2048, 0);
    let running = Running::start(vec![Opening::new(layer)], with_metrics());
    let mut client = running.connect();
    let failed = "thermocline_failed_erases_total{";
    for i in 0..200_000_u64 {
        if client.write(i * 7 % 2048 * 4096, &[1; PAGE]).expect("an answer") != 0 {
            break;
        }
        if i.is_multiple_of(1000) && running.metric(failed) >= 2.0 {
            break;
        }
    }
    assert!(running.metric(failed) >= 2.0, "blocks wore out");
    assert_eq!(running.metric(failed), running.metric("thermocline_bad_blocks{"));
    let chosen = running.metric("thermocline_victim_choices_total{");
    assert!(chosen > 0.0 && chosen <= running.metric("thermocline_cleaning_victims_total{"));
    let in_banks = running.metric("thermocline_bank_blocks_erased_total{");
    assert_eq!(in_banks, running.metric("thermocline_flash_blocks_erased_total{"));
    assert!(running.metric("thermocline_bank_current_pages{") > 0.0);
}

#[test]
fn an_export_lets_in_only_addresses_that_it_admits() {
    use thermocline_server::Access as ExportAccess;
    let of = |network: &str| ExportAccess {
        networks: vec![network.parse().expect("a network")],
        names: Vec::new(),
    };
    let near = Opening { name: "near".into(), access: of("127.0.0.0/8"), ..opening(1) };
    let far = Opening { name: "far".into(), access: of("203.0.113.0/24"), ..opening(1) };
    let mut server = Server::new(vec![far, near], Options::default()).expect("it can be made");
    let listener = Listener::tcp("127.0.0.1:0").expect("a port is free").remove(0);
    let address = listener.address();
    assert!(!listener.is_beyond_loopback());
    server.listen(listener);
    let stopper = server.stopper();
    let running = std::thread::spawn(move || server.run());
    let connect = |export: &str| {
        let stream = std::net::TcpStream::connect(&address).expect("it listens");
        Client::shake(Box::new(stream), export, true)
    };
    assert!(connect("near").expect("it is let in").write(0, &[1]).is_ok());
    for refused in ["far", ""] {
        assert!(connect(refused).is_err(), "{refused:?} is for others");
    }
    stopper.stop();
    running.join().expect("no panic").expect("it ends in good order");
}
