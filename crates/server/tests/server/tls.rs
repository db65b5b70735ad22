//! NBD over TLS.

use std::{
    io::{Read, Write},
    path::PathBuf,
    sync::Arc,
};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, IsCa,
    KeyIdMethod, KeyPair, RevokedCertParams,
};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use tempfile::TempDir;
use thermocline_nbd::wire;
use thermocline_server::{Access, Clients, Opening, Options, Tls};

use crate::{
    client::{Client, greet, option, option_reply, unix},
    running::{Running, opening},
};

/// An authority, a certificate of a server, and one of a client.
struct Papers {
    folder: TempDir,
}

impl Papers {
    fn new() -> Self {
        let folder = TempDir::new().expect("there is room for a folder");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let write = |name: &str, text: String| {
            std::fs::write(folder.path().join(name), text).expect("there is room for a file");
        };
        write("ca.pem", authority.pem());
        for (number, name) in (1_u64..).zip(["server", "client"]) {
            let key = KeyPair::generate().expect("a key");
            let mut params = CertificateParams::new(vec!["localhost".into()]).expect("a name");
            params.serial_number = Some(number.into());
            let signed = params.signed_by(&key, &authority).expect("a certificate");
            write(&format!("{name}.pem"), signed.pem());
            write(&format!("{name}.key"), key.serialize_pem());
        }
        for (name, revoked) in [("none.crl", None), ("client.crl", Some(2_u64))] {
            let time = rcgen::date_time_ymd(2020, 1, 1);
            let revoked = revoked.map(|number| RevokedCertParams {
                serial_number: number.into(),
                revocation_time: time,
                reason_code: None,
                invalidity_date: None,
            });
            let list = CertificateRevocationListParams {
                this_update: time,
                next_update: rcgen::date_time_ymd(2120, 1, 1),
                crl_number: 1_u64.into(),
                issuing_distribution_point: None,
                revoked_certs: revoked.into_iter().collect(),
                key_identifier_method: KeyIdMethod::Sha256,
            };
            write(name, list.signed_by(&authority).and_then(|list| list.pem()).expect("a list"));
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn running(&self, required: bool, clients: bool) -> Running {
        self.serving(required, clients, opening(4))
    }

    fn serving(&self, required: bool, clients: bool, opening: Opening) -> Running {
        self.by_list(required, clients, None, opening)
    }

    /// With a list of revoked certificates.
    fn by_list(
        &self,
        required: bool,
        clients: bool,
        revoked: Option<&str>,
        opening: Opening,
    ) -> Running {
        let (authorities, revoked) = (self.path("ca.pem"), revoked.map(|name| self.path(name)));
        let clients =
            clients.then_some(Clients { authorities: &authorities, revoked: revoked.as_deref() });
        let tls = Tls::load(&self.path("server.pem"), &self.path("server.key"), clients)
            .expect("the papers are in order");
        let options = Options { tls: Some((tls, required)), ..Options::default() };
        Running::start(vec![opening], options)
    }

    fn session(&self, with_own: bool) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        let read = |name: &str| CertificateDer::from_pem_file(self.path(name)).expect("in PEM");
        roots.add(read("ca.pem")).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("there are some")
            .with_root_certificates(roots);
        let config = if with_own {
            let key = PrivateKeyDer::from_pem_file(self.path("client.key")).expect("in PEM");
            builder.with_client_auth_cert(vec![read("client.pem")], key).expect("they match")
        } else {
            builder.with_no_client_auth()
        };
        let name = ServerName::try_from("localhost").expect("a name");
        ClientConnection::new(Arc::new(config), name).expect("a session")
    }

    /// Asks for TLS, sends `clear` behind that, and goes on encrypted.
    fn connect(&self, running: &Running, own: bool, clear: &[u8]) -> std::io::Result<Client> {
        let mut stream = unix(&running.socket)?;
        greet(&mut stream)?;
        option(&mut stream, wire::OPT_STARTTLS, &[])?;
        stream.write_all(clear)?;
        assert_eq!(option_reply(&mut stream)?.0, wire::REP_ACK);
        let secured = StreamOwned::new(self.session(own), stream);
        Client::choose(Box::new(secured), "", true)
    }
}

#[test]
fn an_encrypted_connection_serves_as_any_other() {
    let papers = Papers::new();
    let running = papers.running(true, false);
    let mut client = papers.connect(&running, false, &[]).expect("it is let in");
    let data: Vec<u8> = (0..1_000_000_u32).map(|i| (i * 7) as u8).collect();
    assert_eq!(client.write(12_345, &data).expect("an answer"), 0);
    let mut found = vec![0; data.len()];
    assert_eq!(client.read(12_345, &mut found).expect("an answer"), 0);
    assert!(found == data);
    assert_eq!(client.flush().expect("an answer"), 0);
}

#[test]
fn where_tls_is_required_nothing_is_told_in_clear() {
    let papers = Papers::new();
    let running = papers.running(true, false);
    let mut stream = unix(&running.socket).expect("the server listens");
    greet(&mut stream).expect("the greeting comes");
    option(&mut stream, wire::OPT_LIST, &[]).expect("the server takes it");
    assert_eq!(option_reply(&mut stream).expect("an answer").0, wire::REP_ERR_TLS_REQD);
    assert!(Client::connect(&running.socket, false).is_err());
}

#[test]
fn where_tls_is_offered_others_are_served_in_clear() {
    let papers = Papers::new();
    let running = papers.running(false, false);
    assert_eq!(running.connect().write(0, &[1]).expect("an answer"), 0);
    let mut client = papers.connect(&running, false, &[]).expect("it is let in");
    assert_eq!(client.write(0, &[1]).expect("an answer"), 0);
}

#[test]
fn only_clients_with_a_certificate_are_let_in_where_that_is_wanted() {
    let papers = Papers::new();
    // Whether or not it is said that all have to encrypt: who does not shows no certificate.
    for required in [true, false] {
        let running = papers.running(required, true);
        assert!(papers.connect(&running, false, &[]).is_err());
        assert!(Client::connect(&running.socket, false).is_err(), "in clear");
        let mut client = papers.connect(&running, true, &[]).expect("it is let in");
        assert_eq!(client.write(0, &[1]).expect("an answer"), 0);
    }
}

#[test]
fn a_client_whose_certificate_was_revoked_is_not_let_in() {
    let papers = Papers::new();
    let by_list = |name| papers.by_list(false, true, Some(name), opening(1));
    let running = by_list("none.crl");
    assert_eq!(papers.connect(&running, true, &[]).expect("let in").flush().expect("an answer"), 0);
    assert!(papers.connect(&by_list("client.crl"), true, &[]).is_err());
    let (chain, key) = (papers.path("server.pem"), papers.path("server.key"));
    let clients = Clients { authorities: &papers.path("ca.pem"), revoked: Some(&key) };
    let wrong = Tls::load(&chain, &key, Some(clients)).expect_err("a key is no list").to_string();
    assert!(wrong.contains("server.key") && wrong.contains("no revocation lists"), "{wrong}");
}

#[test]
fn an_export_lets_in_only_certificates_of_names_that_it_admits() {
    let papers = Papers::new();
    let of = |name: &str| {
        let access = Access { names: vec![name.into()], networks: Vec::new() };
        papers.serving(false, true, Opening { access, ..opening(4) })
    };
    let running = of("localhost");
    let mut client = papers.connect(&running, true, &[]).expect("it is let in");
    assert_eq!(client.write(0, &[1]).expect("an answer"), 0);
    assert!(Client::connect(&running.socket, false).is_err(), "nobody without a certificate");
    assert!(papers.connect(&of("mail.example"), true, &[]).is_err(), "that is another's name");
}

#[test]
fn what_is_sent_in_clear_behind_the_wish_for_tls_is_not_taken_for_the_clients_word() {
    let papers = Papers::new();
    let running = papers.running(true, false);
    // An abort that somebody on the way put in: the connection must not end by it. It reached the
    // server with the wish, is thrown away, or breaks the TLS handshake, but never counts.
    let mut abort = wire::OPTION_MAGIC.to_be_bytes().to_vec();
    abort.extend_from_slice(&wire::OPT_ABORT.to_be_bytes());
    abort.extend_from_slice(&0_u32.to_be_bytes());
    if let Ok(mut client) = papers.connect(&running, false, &abort) {
        assert_eq!(client.write(0, &[1]).expect("an answer"), 0);
    }
    let mut fresh = papers.connect(&running, false, &[]).expect("it is let in");
    assert_eq!(fresh.write(0, &[1]).expect("an answer"), 0);
}

#[test]
fn rubbish_where_tls_should_begin_ends_that_connection_only() {
    let papers = Papers::new();
    let running = papers.running(true, false);
    let mut stream = unix(&running.socket).expect("the server listens");
    greet(&mut stream).expect("the greeting comes");
    option(&mut stream, wire::OPT_STARTTLS, &[]).expect("the server takes it");
    assert_eq!(option_reply(&mut stream).expect("an answer").0, wire::REP_ACK);
    stream.write_all(&[0x42; 200]).expect("the server takes it");
    let mut rest = Vec::new();
    // An alert, and the end; a reset is one, too.
    let _ = stream.read_to_end(&mut rest);
    assert!(papers.connect(&running, false, &[]).is_ok());
}

#[test]
fn papers_that_cannot_be_used_are_named() {
    let papers = Papers::new();
    let key = papers.path("server.key");
    let wrong = Tls::load(&key, &key, None).expect_err("a key is no certificate").to_string();
    assert!(wrong.contains("server.key") && wrong.contains("certificate"), "{wrong}");
    let other = papers.path("client.key");
    let wrong = Tls::load(&papers.path("server.pem"), &other, None).expect_err("not its key");
    assert!(wrong.to_string().contains("client.key"), "{wrong}");
}
