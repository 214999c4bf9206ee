//! The program speaks TLS with a certificate that it is given, and says what is wrong with one that cannot be.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion, version};

use crate::{Home, Served, program};

/// A certificate for `localhost` and its key, in files.
struct Pair {
    cert: PathBuf,
    key: PathBuf,
    der: CertificateDer<'static>,
}

impl Pair {
    fn new(folder: &Path, name: &str) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (cert, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
        std::fs::write(&cert, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        Self { cert, key, der: made.cert.der().clone() }
    }

    fn settings(&self) -> [(&'static str, &Path); 2] {
        [("MANCALA_TLS_CERT", &self.cert), ("MANCALA_TLS_KEY", &self.key)]
    }

    /// What the server answers to a request over TLS, to somebody who trusts this certificate alone.
    fn ask(&self, address: SocketAddr, version: &'static SupportedProtocolVersion, path: &str) -> String {
        let mut trusted = RootCertStore::empty();
        trusted.add(self.der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
        let config = config.with_root_certificates(trusted).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

#[test]
fn a_server_with_a_certificate_speaks_tls_and_nothing_else() {
    let home = Home::new("tls");
    let pair = Pair::new(&home.0.join("tls"), "own");
    let served = Served::start_with(&home.0.join("data"), &pair.settings());
    let address: SocketAddr = served.url.strip_prefix("https://").unwrap().parse().unwrap();
    for version in [&version::TLS12, &version::TLS13] {
        let answer = pair.ask(address, version, "/readyz");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\r\nstrict-transport-security: max-age=31536000\r\n"), "{answer}");
    }
    // Those who say nothing, or speak without TLS, are in nobody's way.
    let mut silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    for stream in silent.iter_mut().take(100) {
        let _ = stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    let answer = pair.ask(address, &version::TLS13, "/v1/variants");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let mut answer = Vec::new();
    silent[0].set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _ = silent[0].read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "no answer without TLS");

    let check = |settings: &[(&str, &Path)]| {
        let mut check = program();
        check.args(["healthcheck", "--listen", &address.to_string()]);
        check.envs(settings.iter().copied()).output().unwrap().status.success()
    };
    let other = Pair::new(&home.0.join("tls"), "other");
    assert!(check(&pair.settings()[..1]), "the certificate is all that the health check needs");
    assert!(!check(&other.settings()[..1]), "another certificate is another server");
    assert!(!check(&[]), "without a certificate it speaks no TLS");
    served.kill();
}

#[test]
fn a_certificate_that_cannot_be_used_is_told_with_its_file() {
    let home = Home::new("tls-faults");
    let (pair, other) = (Pair::new(&home.0, "own"), Pair::new(&home.0, "other"));
    let file = |name: &str, text: &str| {
        let path = home.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let whole = std::fs::read_to_string(&pair.cert).unwrap();
    let (none, empty) = (home.0.join("nowhere.pem"), file("empty.pem", ""));
    let cut = file("cut.pem", &whole[..whole.len() - 30]);
    let noise = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let noise = file("noise.pem", noise);
    for (cert, key, said) in [
        (Some(&pair.cert), None, "set both or neither"),
        (None, Some(&pair.key), "set both or neither"),
        (Some(&none), Some(&pair.key), "MANCALA_TLS_CERT: cannot read"),
        (Some(&cut), Some(&pair.key), "MANCALA_TLS_CERT: cannot read"),
        (Some(&empty), Some(&pair.key), "MANCALA_TLS_CERT: there is no certificate (PEM) in"),
        (Some(&pair.key), Some(&pair.key), "MANCALA_TLS_CERT: there is no certificate (PEM) in"),
        (Some(&pair.cert), Some(&none), "MANCALA_TLS_KEY: cannot read"),
        (Some(&pair.cert), Some(&empty), "MANCALA_TLS_KEY: there is no private key"),
        (Some(&pair.cert), Some(&pair.cert), "MANCALA_TLS_KEY: there is no private key"),
        (Some(&pair.cert), Some(&other.key), "cannot be used with the key"),
        (Some(&noise), Some(&pair.key), "cannot be used with the key"),
    ] {
        let mut serve = program();
        // None is started: it would be told by a database that nobody can reach.
        serve.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(home.0.join("data"));
        serve.envs(cert.map(|cert| ("MANCALA_TLS_CERT", cert)));
        serve.envs(key.map(|key| ("MANCALA_TLS_KEY", key)));
        let output = serve.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(said), "{said} is not in {told}");
        assert!(!told.contains("BEGIN") && !told.contains("panicked"), "{told}");
    }
    assert!(!home.0.join("data").exists(), "nothing has been begun");
}

#[test]
fn an_origin_that_no_browser_would_send_is_refused_at_the_start() {
    for origin in
        ["*", "https://*", "https://a.example/", "a.example", "https://A.example", "https://a b", "null"]
    {
        let output = program().args(["--cors-origins", origin]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{origin}: {told}");
        assert!(told.contains("an origin is a scheme and a host"), "{origin}: {told}");
    }
}
