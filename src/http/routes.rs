//! What the document knows of every path: which methods and which query parameters it takes. All else is refused here.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::ALLOW;
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest, HttpResponse, ResponseError};

use super::document::document;
use super::problem::{Failure, ProblemCode};

/// A documented path.
struct Route {
    segments: Vec<String>,
    /// The query parameters of each method.
    methods: BTreeMap<String, Vec<String>>,
}

static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let document = document();
    let paths = document["paths"].as_object().into_iter().flatten();
    let split = |path: &str| path.split('/').map(str::to_owned).collect();
    let documented = paths.map(|(path, item)| Route {
        segments: split(path),
        methods: item
            .as_object()
            .into_iter()
            .flatten()
            .map(|(method, operation)| {
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                let of_the_query = parameters.filter(|parameter| parameter["in"] == "query");
                let names =
                    of_the_query.filter_map(|parameter| parameter["name"].as_str().map(str::to_owned));
                (method.to_uppercase(), names.collect())
            })
            .collect(),
    });
    let pages = ["/openapi.json", "/openapi-3.0.json", "/docs/", "/"].map(|path| Route {
        segments: split(path),
        methods: BTreeMap::from([("GET".to_owned(), Vec::new())]),
    });
    documented.chain(pages).collect()
});

/// The route of a path; one that is written out is meant before one with a parameter in the same place.
fn route(path: &str) -> Option<&'static Route> {
    let asked: Vec<&str> = path.split('/').collect();
    let is_parameter = |segment: &&String| segment.starts_with('{');
    ROUTES
        .iter()
        .filter(|route| {
            route.segments.len() == asked.len()
                && route
                    .segments
                    .iter()
                    .zip(&asked)
                    .all(|(s, a)| s == a || (is_parameter(&s) && !a.is_empty()))
        })
        .min_by_key(|route| route.segments.iter().filter(is_parameter).count())
}

/// Refuses query parameters that the operation does not know: whoever asks for `?seq=3` where nothing looks at it would
/// take the answer for something else.
pub async fn known_parameters(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let known = route(request.path()).and_then(|route| route.methods.get(request.method().as_str()));
    if let Some(known) = known {
        let given = request.query_string().split('&').filter(|pair| !pair.is_empty());
        let mut names = given.map(|pair| pair.split('=').next().unwrap_or_default());
        if let Some(name) = names.find(|name| !known.iter().any(|known| known == name)) {
            let detail = format!("this operation knows no query parameter `{name}`");
            let failure = Failure::new(ProblemCode::InvalidParameter, detail);
            return Ok(request.error_response(failure).map_into_boxed_body());
        }
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

/// A path that nobody serves, or a method that its path does not know.
pub async fn unknown(request: HttpRequest) -> Result<HttpResponse, Failure> {
    let Some(route) = route(request.path()) else {
        return Err(Failure::new(ProblemCode::RouteNotFound, "there is nothing at this path; see /docs/"));
    };
    let mut methods: Vec<&str> = route.methods.keys().map(String::as_str).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    let allow = methods.join(", ");
    let mut response = if request.method() == Method::OPTIONS {
        HttpResponse::NoContent().finish()
    } else {
        Failure::new(ProblemCode::MethodNotAllowed, format!("this path knows {allow}")).error_response()
    };
    response.headers_mut().insert(ALLOW, allow.parse().expect("methods are ASCII"));
    Ok(response)
}
