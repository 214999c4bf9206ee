//! An HTTP client for benchmarks, with no more of HTTP than they need: a full one would cost more than the service.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A connection that is kept.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects.
    pub async fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("a TCP socket");
        Self { stream: BufReader::new(stream) }
    }

    /// The answer to a request, which has to be a good one. A body of null is none, an empty token neither.
    pub async fn ask(&mut self, method: &str, path: &str, token: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.send(method, path, token, &body).await;
        serde_json::from_slice(&answer).expect("JSON")
    }

    /// The same as it comes.
    pub async fn send(&mut self, method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
        let (status, answer) = self.exchange(method, path, token, body).await;
        assert!((200..300).contains(&status), "{}", String::from_utf8_lossy(&answer));
        answer
    }

    /// Any answer to a request, with its status.
    pub async fn exchange(&mut self, method: &str, path: &str, token: &str, body: &str) -> (u16, Vec<u8>) {
        let authorization =
            if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
        let content = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
        };
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: bench\r\n{authorization}{content}\r\n{body}");
        self.stream.write_all(request.as_bytes()).await.expect("an open connection");
        let (mut line, mut length, mut status) = (String::new(), 0, 0);
        loop {
            line.clear();
            self.stream.read_line(&mut line).await.expect("an answer");
            if line == "\r\n" {
                break;
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().expect("three digits");
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).await.expect("the whole answer");
        (status, answer)
    }
}
