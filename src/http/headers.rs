//! The headers that every answer has, whatever it says.

use actix_web::http::header::{
    CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// For how long browsers are told to speak nothing but TLS with this host, if they are.
#[derive(Clone)]
pub struct Hsts(Option<HeaderValue>);

impl Hsts {
    /// For so many seconds; 0 is to tell them nothing.
    pub fn new(seconds: u32) -> Self {
        // Of other names under this host a server knows nothing.
        Self((seconds > 0).then(|| HeaderValue::from_str(&format!("max-age={seconds}")).expect("digits")))
    }
}

/// Gives an answer what every answer has. What somebody with a token (`signed_in`) is told is for nobody else: no cache
/// that others share may keep it, and the caller's own gives it to the same token only.
pub fn dress(headers: &mut HeaderMap, id: &str, hsts: Option<&Hsts>, signed_in: bool) {
    headers.insert(X_REQUEST_ID, HeaderValue::from_str(id).expect("ids are printable ASCII"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(Hsts(Some(value))) = hsts {
        headers.insert(STRICT_TRANSPORT_SECURITY, value.clone());
    }
    let told =
        headers.get(CACHE_CONTROL).and_then(|told| told.to_str().ok()).unwrap_or("no-store").to_owned();
    let told = match told.strip_prefix("public") {
        Some(rest) if signed_in => format!("private{rest}"),
        _ => told,
    };
    if told != "no-store" && (signed_in || told.starts_with("private")) {
        headers.append(VARY, HeaderValue::from_static("Authorization"));
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_str(&told).expect("it was one, or is made of one"));
}
