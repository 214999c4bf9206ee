//! What the document knows of every path: which methods and query parameters it takes, who may call it with which
//! token, and what it is counted as. Made once from the document, which so cannot say anything else than what holds.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use actix_web::http::Method;
use actix_web::http::header::ALLOW;
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use serde_json::Value;

use super::access::Access;
use super::document::DOCUMENT;
use super::problem::{Failure, ProblemCode};
use crate::budget::Class;

/// A documented operation.
pub struct Operation {
    method: Method,
    parameters: Vec<String>,
    /// Who may call it.
    pub access: Access,
    /// What it is counted as.
    pub class: Option<Class>,
    /// As how many it counts for its address.
    pub cost: NonZeroU32,
}

/// The paths that begin alike.
#[derive(Default)]
struct Branch {
    written: Vec<(String, Branch)>,
    parameter: Option<Box<Branch>>,
    operations: Vec<Operation>,
}

impl Branch {
    /// The place of a path of the document, made if it is not there yet.
    fn place(&mut self, path: &str) -> &mut Self {
        path.split('/').fold(self, |branch, segment| {
            if segment.starts_with('{') {
                return branch.parameter.get_or_insert_default();
            }
            let known = branch.written.iter().position(|(written, _)| written == segment);
            let at = known.unwrap_or_else(|| {
                branch.written.push((segment.to_owned(), Self::default()));
                branch.written.len() - 1
            });
            &mut branch.written[at].1
        })
    }

    /// The place of a path; one that is written out is meant before one with a parameter in the same place.
    fn find(&self, path: &str) -> Option<&Self> {
        let (segment, rest) = match path.split_once('/') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (path, None),
        };
        let written = self.written.iter().find(|(written, _)| written == segment).map(|(_, branch)| branch);
        let parameter = self.parameter.as_deref().filter(|_| !segment.is_empty());
        [written, parameter].into_iter().flatten().find_map(|branch| match rest {
            Some(rest) => branch.find(rest),
            None => (!branch.operations.is_empty()).then_some(branch),
        })
    }
}

static ROUTES: LazyLock<Branch> = LazyLock::new(|| {
    let mut routes = Branch::default();
    for (path, item) in DOCUMENT["paths"].as_object().into_iter().flatten() {
        let operations =
            item.as_object().into_iter().flatten().map(|(method, told)| Operation::of(method, told));
        routes.place(path).operations.extend(operations);
    }
    for page in ["/openapi.json", "/openapi-3.0.json", "/docs/", "/"] {
        routes.place(page).operations.push(Operation::of("get", &Value::Null));
    }
    routes
});

impl Operation {
    /// Whether it knows this query parameter.
    pub fn knows(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|known| known == parameter)
    }

    fn of(method: &str, told: &Value) -> Self {
        let parameters = told["parameters"].as_array().into_iter().flatten();
        let of_the_query = parameters.filter(|parameter| parameter["in"] == "query");
        let names = of_the_query.filter_map(|parameter| parameter["name"].as_str().map(str::to_owned));
        Self {
            method: method.to_uppercase().parse().expect("the document has methods of HTTP"),
            parameters: names.collect(),
            access: Access::of(told),
            class: told["x-budget"]
                .as_str()
                .map(|name| name.parse().expect("the document has known classes")),
            cost: told["x-budget-cost"]
                .as_u64()
                .and_then(|cost| NonZeroU32::new(cost.try_into().ok()?))
                .unwrap_or(NonZeroU32::MIN),
        }
    }
}

/// The operation that a request is about; its path as it is routed by, which is not always as it was written.
pub fn operation(path: &str, method: &Method) -> Option<&'static Operation> {
    ROUTES.find(path)?.operations.iter().find(|operation| operation.method == method)
}

/// A path that nobody serves, or a method that its path does not know.
pub async fn unknown(request: HttpRequest) -> Result<HttpResponse, Failure> {
    let Some(route) = ROUTES.find(request.match_info().as_str()) else {
        return Err(Failure::new(ProblemCode::RouteNotFound, "there is nothing at this path; see /docs/"));
    };
    let mut methods: Vec<&str> = route.operations.iter().map(|operation| operation.method.as_str()).collect();
    methods.sort_unstable();
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

#[cfg(test)]
mod tests {
    use actix_web::http::Method;

    use super::{Access, ROUTES, operation};
    use crate::account::Scope;
    use crate::budget::Class;

    #[test]
    fn a_path_that_is_written_out_is_meant_before_one_with_a_parameter() {
        let join = operation("/v1/groups/join", &Method::POST).unwrap();
        assert_eq!(join.class, Some(Class::SignIn));
        let sessions_only = Access::Bearers { optional: false, scope: None };
        assert_eq!(operation("/v1/sessions/current", &Method::DELETE).unwrap().access, sessions_only);
        let groups = Access::Bearers { optional: true, scope: Some(Scope::Groups) };
        assert_eq!(operation("/v1/groups/joy", &Method::GET).unwrap().access, groups);
        // The way on through the written one may be none.
        assert!(operation("/v1/groups/join/games", &Method::POST).is_some());
    }

    #[test]
    fn nothing_is_found_where_nothing_is() {
        for path in
            ["", "v1/me", "/v1", "/v1/", "/v1/me/", "/v1//me", "//v1/me", "/v1/games/", "/v1/games//moves"]
        {
            assert!(ROUTES.find(path).is_none(), "{path}");
        }
        assert!(operation("/v1/me", &Method::POST).is_none());
        assert!(operation("/", &Method::GET).is_some());
    }
}
