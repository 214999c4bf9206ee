//! The document in OpenAPI 3.0.3: the same content, said in the older dialect of JSON Schema.

use serde_json::{Map, Value};

/// Turns an OpenAPI 3.1 document of ours into 3.0.3.
pub fn to_3_0(mut document: Value) -> Value {
    document["openapi"] = "3.0.3".into();
    if let Some(license) = document.pointer_mut("/info/license").and_then(Value::as_object_mut) {
        license.remove("identifier");
        license.insert("url".to_owned(), "https://opensource.org/license/mit".into());
    }
    // Only OAuth has scopes there; the descriptions name them as well.
    let items = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in items.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        for way in operation["security"].as_array_mut().into_iter().flatten() {
            way.as_object_mut()
                .into_iter()
                .flat_map(Map::values_mut)
                .for_each(|scopes| *scopes = Vec::<Value>::new().into());
        }
    }
    convert(&mut document);
    document
}

fn convert(value: &mut Value) {
    match value {
        Value::Object(object) => {
            convert_schema(object);
            for (key, inner) in object.iter_mut() {
                // What stands in an example is data, not a schema.
                if key != "example" && key != "default" {
                    convert(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(convert),
        _ => {}
    }
}

fn convert_schema(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get("type").cloned() {
        let real: Vec<Value> = types.iter().filter(|t| *t != "null").cloned().collect();
        if real.len() < types.len() {
            object.insert("nullable".to_owned(), true.into());
        }
        match real.as_slice() {
            [only] => object.insert("type".to_owned(), only.clone()),
            _ => object.remove("type"),
        };
    }
    if let Some(Value::Array(examples)) = object.get("examples").cloned() {
        object.remove("examples");
        object.extend(examples.into_iter().next().map(|first| ("example".to_owned(), first)));
    }
    if let Some(constant) = object.remove("const") {
        object.insert("enum".to_owned(), Value::Array(vec![constant]));
    }
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(number @ Value::Number(_)) = object.get(exclusive).cloned() {
            object.insert(bound.to_owned(), number);
            object.insert(exclusive.to_owned(), true.into());
        }
    }
    object.remove("propertyNames");
    // 3.0 ignores everything beside a reference.
    if object.len() > 1 && object.get("$ref").is_some_and(Value::is_string) {
        let reference = object.remove("$ref").expect("it was just looked at");
        let all = Value::Array(vec![Value::Object(Map::from_iter([("$ref".to_owned(), reference)]))]);
        object.insert("allOf".to_owned(), all);
    }
}

#[cfg(test)]
mod tests {
    use super::to_3_0;
    use crate::http::document::document;

    #[test]
    fn nothing_of_the_newer_dialect_is_left() {
        let text = to_3_0(document()).to_string();
        for new in ["\"examples\"", "\"const\"", "\"null\"", "\"type\":[", "\"identifier\""] {
            assert!(!text.contains(new), "{new} is left");
        }
    }
}
