//! NBD over TLS: a certificate, its key, and whose clients are let in.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    client::verify_server_name,
    pki_types::{
        CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, pem::PemObject,
    },
    server::{ParsedCertificate, WebPkiClientVerifier},
};

use crate::{ServerError, stream::Socket};

/// The server's certificate, and the check of clients' certificates (X.509).
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    verifies_clients: bool,
}

/// Whose certificates let a client in.
#[derive(Clone, Copy, Debug)]
pub struct Clients<'a> {
    /// A file of certificates of authorities, in PEM.
    pub authorities: &'a Path,
    /// A PEM file of revocation lists for every authority up to the root. With such a file a certificate that no
    /// list covers is refused.
    pub revoked: Option<&'a Path>,
}

impl Tls {
    /// Reads a chain of certificates and its key, in PEM. With `clients`, only clients whose certificate one of
    /// the authorities signed are let in, and none without TLS.
    ///
    /// # Errors
    /// [`ServerError::Tls`], naming the file.
    pub fn load(
        chain: &Path,
        key: &Path,
        clients: Option<Clients<'_>>,
    ) -> Result<Self, ServerError> {
        let certificates = certificates(chain)?;
        let secret = PrivateKeyDer::from_pem_file(key)
            .map_err(|e| wrong(key, &format!("no private key in PEM: {e}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|e| wrong(chain, &e))?;
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(Clients { authorities, revoked }) => {
                let mut roots = RootCertStore::empty();
                for certificate in self::certificates(authorities)? {
                    roots.add(certificate).map_err(|e| wrong(authorities, &e))?;
                }
                let lists = revoked.map_or(Ok(Vec::new()), revocations)?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                    .with_crls(lists)
                    .build()
                    .map_err(|e| wrong(revoked.unwrap_or(authorities), &e))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder.with_single_cert(certificates, secret).map_err(|e| wrong(key, &e))?;
        Ok(Self { config: Arc::new(config), verifies_clients: clients.is_some() })
    }

    /// Whether clients must show a certificate; an unencrypted client shows none.
    pub(crate) const fn verifies_clients(&self) -> bool {
        self.verifies_clients
    }

    /// A session of a new client.
    pub(crate) fn session(&self) -> io::Result<Session> {
        let connection = ServerConnection::new(self.config.clone()).map_err(io::Error::other)?;
        Ok(Session(connection))
    }
}

/// A session that is being agreed on.
pub(crate) struct Session(ServerConnection);

impl Session {
    pub(crate) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking() || self.0.wants_write()
    }

    /// One step: sends pending output, then reads input.
    pub(crate) fn complete_some(&mut self, socket: &mut Socket) -> io::Result<()> {
        if self.0.wants_write() {
            self.0.write_tls(socket)?;
            return Ok(());
        }
        if self.0.read_tls(socket)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Err(e) = self.0.process_new_packets() {
            // The client gets the reason, whether it reads it or not.
            let _ = self.0.write_tls(socket);
            return Err(io::Error::new(io::ErrorKind::InvalidData, e));
        }
        Ok(())
    }

    pub(crate) fn over(self, socket: Socket) -> StreamOwned<ServerConnection, Socket> {
        StreamOwned::new(self.0, socket)
    }
}

/// Whether the certificate of a client is one of that name. The handshake has verified it.
pub(crate) fn has_name(connection: &ServerConnection, name: &str) -> bool {
    let Some(shown) = connection.peer_certificates().and_then(<[_]>::first) else { return false };
    let (Ok(certificate), Ok(name)) =
        (ParsedCertificate::try_from(shown), ServerName::try_from(name))
    else {
        return false;
    };
    verify_server_name(&certificate, &name).is_ok()
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServerError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|e| wrong(path, &format!("no certificates in PEM: {e}")))?
        .collect();
    let all = all.map_err(|e| wrong(path, &format!("no certificates in PEM: {e}")))?;
    if all.is_empty() {
        return Err(wrong(path, &"no certificate in it; give a chain in PEM"));
    }
    Ok(all)
}

fn revocations(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, ServerError> {
    let none = |e: &dyn std::fmt::Display| wrong(path, &format!("no revocation lists in PEM: {e}"));
    let all: Result<Vec<_>, _> =
        CertificateRevocationListDer::pem_file_iter(path).map_err(|e| none(&e))?.collect();
    match all {
        Ok(all) if all.is_empty() => Err(none(&"it holds none")),
        Ok(all) => Ok(all),
        Err(e) => Err(none(&e)),
    }
}

fn wrong(path: &Path, reason: &dyn std::fmt::Display) -> ServerError {
    ServerError::Tls { path: PathBuf::from(path), reason: reason.to_string() }
}
