//! Metrics, emulated speed and listeners of a server.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use thermocline_flash::Timing;
use thermocline_media::{Faults, Faulty, Medium};
use thermocline_nbd::wire;
use thermocline_server::{About, Listener, Opening, Options, Pace, Server};

use crate::{
    client::Client,
    layer::{page_mapped, ram},
    running::{Running, opening, with_metrics},
};

#[test]
fn the_metrics_tell_what_was_asked_and_what_the_chip_did_for_it() {
    let about = About { endurance: 3000, ..About::default() };
    let opening = Opening { about, ..opening(8) };
    let running = Running::start(vec![opening], with_metrics());
    let mut client = running.connect();
    for i in 0..100 {
        client.write(i * 4096, &[1; 4096]).expect("an answer");
    }
    client.write(100, &[1; 10]).expect("an answer");
    client.read(0, &mut [0; 1000]).expect("an answer");
    client.ask(wire::CMD_READ, 0, u64::MAX, 1, &[]).expect("an answer");
    let total = |name: &str, operation: &str| {
        let row = format!("thermocline_{name}_total{{export=\"\",operation=\"{operation}\"}}");
        running.metric(&row)
    };
    assert_eq!(total("requests", "write"), 101.0);
    assert_eq!(total("requests", "read"), 2.0);
    assert_eq!(total("request_errors", "read"), 1.0);
    assert_eq!(total("request_bytes", "write"), 409_610.0);
    assert_eq!(total("request_bytes", "read"), 1000.0);
    assert_eq!(running.metric("thermocline_requests_in_flight{"), 0.0);
    assert_eq!(running.metric("thermocline_connections{"), 1.0);
    assert_eq!(running.metric("thermocline_flash_pages_programmed_total"), 101.0);
    assert_eq!(running.metric("thermocline_wear_rating{"), 3000.0);
    assert_eq!(running.metric("thermocline_wear_count"), running.metric("thermocline_blocks{"));
    let latencies = "thermocline_request_duration_seconds_count{export=\"\",operation=\"write\"}";
    assert_eq!(running.metric(latencies), 101.0);
    let last =
        "thermocline_request_duration_seconds_bucket{le=\"+Inf\",export=\"\",operation=\"write\"}";
    assert_eq!(running.metric(last), 101.0, "buckets add up");
    drop(client);
    let (status, body) = running.get("/healthz").expect("an answer");
    assert!(status.contains("200") && body == "ok\n");
    assert!(running.get("/elsewhere").expect("an answer").0.contains("404"));
}

#[test]
fn alert_rules_and_dashboard_name_metrics_that_there_are() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/prometheus/");
    let running = Running::start(vec![opening(8)], with_metrics());
    let (_, metrics) = running.get("/metrics").expect("an answer");
    let there_is = |name: &str| {
        let begins = |line: &str| line.starts_with(name) && line[name.len()..].starts_with('{');
        metrics.lines().any(begins)
    };
    for file in ["grafana.json", "thermocline.rules.yml"] {
        let text = std::fs::read_to_string(format!("{folder}{file}")).expect("a file");
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let names: Vec<_> = words.filter(|word| word.starts_with("thermocline_")).collect();
        assert!(names.len() > 10, "{file} names no metrics");
        for name in names {
            assert!(there_is(name), "{file}: there is no {name}");
        }
        for watched in ["spare_blocks", "pages_lost", "wear_rating"] {
            assert!(text.contains(&format!("thermocline_{watched}")), "{file}: {watched}");
        }
    }
    let grafana = std::fs::read_to_string(format!("{folder}grafana.json")).expect("a file");
    let grafana: serde_json::Value = serde_json::from_str(&grafana).expect("JSON");
    assert!(grafana["panels"].as_array().is_some_and(|panels| panels.len() > 5));
    // Prometheus's own checker, where it is installed (Debian: `prometheus`).
    let promtool = |what: &[&str]| {
        let ran = std::process::Command::new("promtool").args(what).current_dir(folder).output();
        let Ok(ran) = ran else {
            return thermocline_testing::skip("no promtool: alert rules are not run");
        };
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    };
    promtool(&["check", "rules", "thermocline.rules.yml"]);
    promtool(&["test", "rules", "thermocline.rules.test.yml"]);
}

#[test]
fn who_sends_rubbish_or_nothing_to_the_metrics_holds_up_nobody() {
    let running = Running::start(vec![opening(1)], with_metrics());
    let address = running.metrics.expect("metrics are on");
    let half = |_| {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHo").expect("it takes it");
        stream
    };
    let halves: Vec<_> = (0..8).map(half).collect();
    assert!(running.get("/healthz").expect("an answer").0.contains("200"));
    drop(halves);
    let _silent = TcpStream::connect(address).expect("it listens");
    let mut rude = TcpStream::connect(address).expect("it listens");
    rude.write_all(b"\x16\x03\x01 what?\r\n\r\n").expect("it takes it");
    let mut answer = String::new();
    rude.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let mut post = TcpStream::connect(address).expect("it listens");
    post.write_all(b"POST /metrics HTTP/1.1\r\n\r\n").expect("it takes it");
    answer.clear();
    post.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
    assert!(running.get("/metrics").expect("an answer").0.contains("200"));
}

#[test]
fn the_dashboard_sends_the_whole_then_changes_and_ends_with_the_server() {
    let options = Options { dashboard: Some("127.0.0.1:0".into()), ..Options::default() };
    let mut running = Running::start(vec![opening(8)], options);
    let mut client = running.connect();
    let ask = |host: &str, path: &str| {
        let address = running.dashboard.expect("the dashboard is on");
        let mut stream = TcpStream::connect(address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("it takes it");
        BufReader::new(stream)
    };
    let whole = |host: &str, path: &str| {
        let mut text = String::new();
        ask(host, path).read_to_string(&mut text).expect("an answer");
        text
    };
    let page = whole("localhost", "/");
    assert!(page.contains("script-src 'sha256-") && page.contains("</html>"));
    for path in ["/", "/events", "/block?block=0"] {
        assert!(whole("evil.example", path).starts_with("HTTP/1.1 421 "), "DNS rebinding: {path}");
    }
    assert!(whole("127.0.0.1:1", "/block?block=999999").starts_with("HTTP/1.1 404 "));
    assert!(whole("[::1]", "/events?export=7").starts_with("HTTP/1.1 404 "));
    // Text that is not a number is not the first export or block.
    for path in [
        "/block?export=nope",
        "/block?export=",
        "/block?export",
        "/block?export=-1",
        "/block?block=nope",
        "/block?export=0&block=99999999999",
        "/events?export=nope",
        "/history?export=nope",
        "/history?export=1",
    ] {
        assert!(whole("localhost", path).starts_with("HTTP/1.1 404 "), "{path}");
    }
    let history = whole("localhost", "/history");
    let history = history.split_once("\r\n\r\n").expect("a body").1;
    let history: serde_json::Value = serde_json::from_str(history).expect("JSON");
    assert_eq!(history["time_ms"].as_array().map(Vec::len), Some(1));
    assert_eq!((&history["wear_mean"][0], &history["pages_lost"][0]), (&0.0.into(), &0.into()));
    let mut events = ask("localhost", "/events").lines();
    let mut next = || {
        let line =
            events.by_ref().find_map(|line| Some(line.ok()?.strip_prefix("data: ")?.to_owned()));
        line.map(|text| serde_json::from_str::<serde_json::Value>(&text).expect("JSON"))
    };
    let first = next().expect("a frame");
    assert!(first["spare_blocks"].is_u64() && first["endurance"].is_u64(), "{first}");
    let blocks = first["blocks"].as_u64().expect("a number") as usize;
    assert_eq!(first["whole"].as_str().map(str::len), Some((blocks * 8).div_ceil(3) * 4));
    client.write(0, &[1; 4096]).expect("an answer");
    let written = |frame: &serde_json::Value| frame["since_mount"]["host_pages_written"] == 1;
    let then = std::iter::from_fn(&mut next).find(written).expect("a frame with the write");
    assert_eq!(then["changed"].as_str().map(str::len), Some(16), "one block");
    let pages = whole("localhost", "/block?export=0&block=0");
    assert!(pages.contains("[2,0]"), "the page written first: {pages}");
    // Who still looks on does not hold up the end.
    drop(client);
    running.stop().expect("it ends in good order");
    while next().is_some() {}
}

#[test]
fn a_chip_that_keeps_the_pace_of_its_profile_answers_no_sooner() {
    const PROGRAM: u64 = 20_000_000;
    let timing =
        Timing { program_ns: PROGRAM, read_ns: 1_000_000, erase_ns: 1, ..Timing::default() };
    let (chip, pace) = Pace::slow(ram(16), timing);
    let layer = page_mapped(chip, "greedy", 512, 0);
    let running = Running::start(
        vec![Opening { pace: Some(pace), ..Opening::new(layer) }],
        Options::default(),
    );
    let mut client = running.connect();
    let begun = Instant::now();
    for i in 0..20 {
        client.write(i * 4096, &[1; 4096]).expect("an answer");
    }
    let one_by_one = begun.elapsed();
    assert!(one_by_one >= Duration::from_nanos(20 * PROGRAM), "{one_by_one:?}");
    // Sent at once they queue for the one bank: each answer comes when its page is done.
    let begun = Instant::now();
    for i in 0..20 {
        client.send(wire::CMD_WRITE, 0, i * 4096, 4096, &[1; 4096]).expect("the server takes it");
    }
    let mut first = Duration::ZERO;
    for i in 0..20 {
        client.receive(0, &mut []).expect("an answer");
        if i == 0 {
            first = begun.elapsed();
        }
    }
    let all = begun.elapsed();
    assert!(first >= Duration::from_nanos(PROGRAM), "{first:?}");
    assert!(all >= Duration::from_nanos(20 * PROGRAM), "{all:?}");
    assert!(all - first >= Duration::from_nanos(10 * PROGRAM), "the first waited for the last");
}

#[test]
fn exports_are_found_by_name_over_tcp_and_unix_at_the_same_time() {
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let path = folder.path().join("s");
    let named = |name: &str, mib| Opening { name: name.into(), ..opening(mib) };
    let read_only = Opening { read_only: true, ..named("frozen", 3) };
    let mut server = Server::new(vec![named("a", 1), named("b", 2), read_only], Options::default())
        .expect("the server can be made");
    let tcp = Listener::tcp("127.0.0.1:0").expect("a port is free").remove(0);
    let address = tcp.address();
    server.listen(tcp);
    server.listen(Listener::unix(&path).expect("the folder is fresh"));
    let stopper = server.stopper();
    let thread = std::thread::spawn(move || server.run());
    let open = |name: &str| {
        let stream = crate::client::unix(&path).expect("the server listens");
        Client::shake(Box::new(stream), name, true)
    };
    assert_eq!(open("b").expect("it is there").size, 2 << 20);
    assert!(open("c").is_err());
    let mut frozen = open("frozen").expect("it is there");
    assert!(frozen.flags & wire::SEND_READ_ONLY != 0);
    assert_eq!(frozen.write(0, &[1]).expect("an answer"), 1, "EPERM");
    assert_eq!(frozen.flush().expect("an answer"), 0);
    let (mut one, mut two) =
        (Client::tcp(&address).expect("it listens"), open("a").expect("there"));
    assert_eq!(one.size, 1 << 20, "the first has no need of a name");
    one.write(5, b"hello").expect("an answer");
    let mut found = [0; 5];
    two.read(5, &mut found).expect("an answer");
    assert_eq!(&found, b"hello");
    stopper.stop();
    thread.join().expect("no panic").expect("it ends in good order");
}

#[test]
fn two_exports_of_one_name_and_an_address_that_is_none_are_refused_with_the_reason() {
    let twice = Server::new(vec![opening(1), opening(1)], Options::default()).expect_err("twice");
    assert!(twice.to_string().contains("name"), "{twice}");
    let wrong = Listener::tcp("nonsense").expect_err("no address").to_string();
    assert!(wrong.contains("nonsense") && wrong.contains("127.0.0.1:10809"), "{wrong}");
}

#[test]
fn a_name_is_listened_on_at_each_of_its_addresses() {
    let all = Listener::tcp("localhost:0").expect("every machine has that name");
    let port = all[0].address().rsplit(':').next().expect("a port").to_owned();
    for listener in &all {
        let address = listener.address();
        assert!(address.ends_with(&format!(":{port}")), "one port for all: {address}");
        std::net::TcpStream::connect(&address).expect("somebody listens there");
    }
}

#[test]
fn a_port_that_is_taken_is_told_before_anything_is_opened() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    let options = Options { metrics: Some(address.clone()), ..Options::default() };
    let metrics = options.check().expect_err("it is taken").to_string();
    let nbd = Listener::tcp(&address).expect_err("it is taken").to_string();
    for refused in [metrics, nbd] {
        assert!(refused.starts_with(&address) && refused.contains("another port"), "{refused}");
    }
    drop(taken);
    options.check().expect("it is free again");
    let record = Some("/nowhere/trace".into());
    let refused = Options { record, ..Options::default() }.check().expect_err("no folder");
    assert!(refused.to_string().starts_with("/nowhere/trace: "), "{refused}");
}

#[test]
fn rounds_through_all_data_are_made_counted_and_find_what_cannot_be_read() {
    let spoilt: Faults = "seed=1,flip=1e-2".parse().expect("faults");
    let scrubbed = |name: &str, chip: Box<dyn Medium>| Opening {
        name: name.into(),
        scrub: Some(Duration::from_millis(300)),
        ..Opening::new(page_mapped(chip, "greedy", 256, 0))
    };
    let whole = scrubbed("whole", ram(8));
    let faulty = scrubbed("faulty", Box::new(Faulty::with_faults(ram(8), spoilt)));
    let running = Running::start(vec![whole, faulty], with_metrics());
    for name in ["whole", "faulty"] {
        let mut client = running.connect_to(name);
        for page in 0..100 {
            client.write(page * 4096, &[1; 4096]).expect("an answer");
        }
    }
    let of = |name: &str, export: &str| {
        running.metric(&format!("thermocline_{name}_total{{export=\"{export}\"}}"))
    };
    let begun = Instant::now();
    while of("scrub_rounds", "whole") < 3.0 || of("scrub_pages_failed", "faulty") < 100.0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "rounds are made");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(of("scrub_pages_verified", "whole") >= 100.0);
    assert_eq!(of("scrub_pages_failed", "whole"), 0.0);
    assert_eq!(of("host_pages_read", "whole"), 0.0, "it is no host");
}
