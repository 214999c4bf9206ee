//! TLS, where the server itself speaks it: a certificate and its key from PEM files, with the cryptography of `ring`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, ServerConfig, SignatureScheme,
    StreamOwned,
};

/// Why a certificate and a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// One without the other.
    #[error("MANCALA_TLS_CERT and MANCALA_TLS_KEY belong together: set both or neither")]
    Half,
    /// A file that cannot be read, or is no PEM.
    #[error("{setting}: cannot read {path}: {source}", path = path.display())]
    File {
        /// The setting that names it.
        setting: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: pem::Error,
    },
    /// A file without what it is for.
    #[error("{setting}: there is no {what} in {path}", path = path.display())]
    Empty {
        /// The setting that names it.
        setting: &'static str,
        /// Which.
        path: PathBuf,
        /// What should be there.
        what: &'static str,
    },
    /// Each can be read, but they cannot be used, or not with each other.
    #[error("the certificate {cert} cannot be used with the key {key}: {source}", cert = cert.display(), key = key.display())]
    Pair {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
}

const CERT: &str = "MANCALA_TLS_CERT";
const KEY: &str = "MANCALA_TLS_KEY";

/// How to speak TLS with the certificate chain of one file and the private key of another, if they are named.
///
/// # Errors
/// When only one is named, a file does not hold what it should, or the two do not belong together.
pub fn server(cert: Option<&Path>, key: Option<&Path>) -> Result<Option<ServerConfig>, TlsError> {
    let (cert, key) = match (cert, key) {
        (None, None) => return Ok(None),
        (Some(cert), Some(key)) => (cert, key),
        _ => return Err(TlsError::Half),
    };
    let chain = certificates(cert)?;
    let private = private_key(&read(KEY, key)?).map_err(|source| match source {
        pem::Error::NoItemsFound => TlsError::Empty {
            setting: KEY,
            path: key.to_owned(),
            what: "private key (PEM, without a password)",
        },
        source => TlsError::File { setting: KEY, path: key.to_owned(), source },
    })?;
    let config = config(chain, private).map_err(|source| TlsError::Pair {
        cert: cert.to_owned(),
        key: key.to_owned(),
        source,
    })?;
    Ok(Some(config))
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    private: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, private)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain = chain(&read(CERT, path)?).map_err(|source| TlsError::File {
        setting: CERT,
        path: path.to_owned(),
        source,
    })?;
    if chain.is_empty() {
        return Err(TlsError::Empty { setting: CERT, path: path.to_owned(), what: "certificate (PEM)" });
    }
    Ok(chain)
}

fn read(setting: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| TlsError::File {
        setting,
        path: path.to_owned(),
        source: pem::Error::Io(error),
    })
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
    CertificateDer::pem_slice_iter(pem).collect()
}

fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, pem::Error> {
    PrivateKeyDer::from_pem_slice(pem)
}

/// A connection to the server on this machine that speaks with the certificate of that file, whatever names it is for.
///
/// # Errors
/// When the file holds no certificate.
pub fn to_own_server(stream: TcpStream, cert: &Path) -> Result<impl Read + Write, TlsError> {
    let own = Own { leaf: certificates(cert)?.remove(0), provider: provider() };
    let failed =
        |source| TlsError::Pair { cert: cert.to_owned(), key: PathBuf::from("of the server"), source };
    let config = ClientConfig::builder_with_provider(own.provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(own))
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a constant name");
    Ok(StreamOwned::new(ClientConnection::new(Arc::new(config), name).map_err(failed)?, stream))
}

/// Accepts one certificate and no other.
#[derive(Debug)]
struct Own {
    leaf: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Own {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if *leaf == self.leaf {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::{chain, config, private_key};
    use crate::fuzzing::fuzz;

    #[test]
    fn no_file_makes_reading_panic() {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (cert, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let twice = format!("{cert}\n{cert}");
        fuzz(&[&cert, &twice], |pem| {
            let key = private_key(key.as_bytes()).unwrap();
            chain(pem).is_ok_and(|chain| !chain.is_empty() && config(chain, key).is_ok())
        });
        fuzz(&[&key], |pem| {
            private_key(pem).is_ok_and(|key| config(chain(cert.as_bytes()).unwrap(), key).is_ok())
        });
    }
}
