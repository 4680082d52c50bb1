//! `docs/openapi.json` beside the routes of the server, and beside its answers.

use crate::common::{Running, ask, config};
use crate::render::rendering;
use rorqual_serve::{Config, routes};
use rorqual_store::{Store, StoreSettings};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use tempfile::TempDir;

const LOG: &str = "192.0.2.1 - - [01/Jan/2025:08:00:00 +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \"curl/8\"\n\
                   192.0.2.2 - - [01/Jan/2025:08:00:01 +0000] \"GET /b HTTP/1.1\" 500 7 \"https://example.org/\" \"curl/8\"\n\
                   not a line of a log\n";

fn document() -> Value {
    serde_json::from_str(include_str!("../../../../docs/openapi.json")).expect("JSON")
}

/// Methods in capitals with addresses; `HEAD` comes with `GET`.
fn documented(document: &Value) -> BTreeSet<(String, String)> {
    let paths = document["paths"].as_object().expect("paths");
    let methods = |(path, operations): (&String, &Value)| -> Vec<(String, String)> {
        let operations = operations.as_object().expect("operations");
        operations.keys().map(|method| (method.to_uppercase(), path.clone())).collect()
    };
    paths.iter().flat_map(methods).collect()
}

#[test]
fn each_route_is_in_the_openapi_file_and_the_other_way_round() {
    let routed = routes().into_iter().map(|route| (route.method.to_owned(), route.path.replace("{*", "{")));
    assert_eq!(routed.collect::<BTreeSet<_>>(), documented(&document()));
}

/// A server that has all routes, and the folder of its store and templates.
pub(crate) fn server() -> (Running, TempDir) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let store = Store::init(&StoreSettings::new(folder.path()), None, None).expect("a new store");
    let mut config = config(Duration::from_secs(60));
    config.settings.memory_bytes = 512 << 20;
    (Running::of(Config { store: Some(store), rendering: Some(rendering(&[], None, 1)), ..config }), folder)
}

/// The body of an answer, as JSON.
pub(crate) fn answer(server: &Running, request: &str) -> Value {
    let answer = ask(&server.url, request, "");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{request}: {error}: {head}"))
}

/// A session that has read [`LOG`] whole.
fn session(server: &Running) -> String {
    let uploaded = answer(server, &format!("PUT /api/upload/test.log\n{LOG}"));
    uploaded["session"]["id"].as_str().unwrap_or_else(|| panic!("{uploaded}")).to_owned()
}

#[test]
fn each_address_takes_the_methods_of_the_openapi_file_alone() {
    let (server, _folder) = server();
    let id = session(&server);
    let document = document();
    for (path, _) in document["paths"].as_object().expect("paths") {
        let target = path.replace("{id}", &id).replace("{name}", "x").replace("{key}", "x");
        let said = ask(&server.url, &format!("TRACE {target}"), "Tus-Resumable: 1.0.0\r\n");
        assert!(said.starts_with("HTTP/1.1 405"), "{path}: {said}");
        let allowed = said.lines().find_map(|line| line.strip_prefix("allow: ")).unwrap_or_else(|| panic!("{path}: {said}"));
        let allowed: BTreeSet<String> = allowed.split(',').map(|method| method.trim().to_owned()).collect();
        let has = |method: &str| allowed.contains(method);
        let routed = documented(&document).into_iter().filter(|(_, other)| other == path).map(|(method, _)| method);
        let mut routed: BTreeSet<String> = routed.collect();
        if has("GET") {
            routed.insert("HEAD".to_owned());
        }
        assert_eq!(allowed, routed, "{path}");
    }
}

#[test]
fn what_the_openapi_file_refers_to_is_there() {
    let document = document();
    let mut references = Vec::new();
    gather(&document, &mut references);
    assert!(references.len() > 100, "{references:?}");
    for reference in references {
        let pointer = reference.strip_prefix('#').expect("a place in this file");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let named: Vec<&str> = path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        for (method, operation) in operations.as_object().expect("operations") {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let told = parameters.iter().filter(|parameter| parameter["in"] == "path").map(|parameter| &parameter["name"]);
            assert_eq!(told.collect::<Vec<_>>(), named, "{method} {path}");
        }
    }
}

fn gather(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| gather(member, references));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, references)),
        _ => {}
    }
}

#[test]
fn answers_are_as_the_openapi_file_has_them() {
    let (server, _folder) = server();
    let id = session(&server);
    let document = document();
    let saved = ask(&server.url, "PUT /api/views/errors\n{\"address\":\"f=status%20%3D%20500\"}", "");
    assert!(saved.starts_with("HTTP/1.1 201"), "{saved}");
    let all = json!({"select": {"from": 1_735_718_400, "to": 1_735_718_401}});
    let requests = [
        ("Live", "get", "/api/sessions/{id}", String::new()),
        ("Sessions", "get", "/api/sessions", String::new()),
        ("Histogram", "get", "/api/sessions/{id}/histogram", String::new()),
        ("Rejects", "get", "/api/sessions/{id}/rejects", String::new()),
        ("Sql", "get", "/api/sessions/{id}/sql", String::new()),
        ("Session", "post", "/api/sessions/{id}/cancel", String::new()),
        ("Tried", "post", "/api/sessions/{id}/format/try", json!({"format": "combined", "lines": [LOG]}).to_string()),
        ("View", "post", "/api/sessions/{id}/view", "{}".to_owned()),
        ("View", "post", "/api/sessions/{id}/view", json!({"facets": true, "where": "status != 500 and path = /a"}).to_string()),
        ("Panel", "post", "/api/sessions/{id}/panel", json!({"field": "path", "search": "a"}).to_string()),
        ("Rows", "post", "/api/sessions/{id}/rows", "{}".to_owned()),
        ("Comparison", "post", "/api/sessions/{id}/compare", json!({"a": {}, "b": {"where": "status = 500"}}).to_string()),
        ("Explained", "post", "/api/sessions/{id}/explain", all.to_string()),
        ("Findings", "post", "/api/sessions/{id}/findings", "{}".to_owned()),
        ("Rates", "post", "/api/sessions/{id}/rates", json!({"limit_per_minute": 1}).to_string()),
        ("Rows", "post", "/api/sessions/{id}/rows", json!({"sort": {"field": "bytes", "descending": true}}).to_string()),
        ("Found", "post", "/api/sessions/{id}/find", json!({"match": "status = 500"}).to_string()),
        ("Breakdown", "post", "/api/sessions/{id}/breakdown", json!({"field": "path", "sort": "errors"}).to_string()),
        ("TimeSeries", "post", "/api/sessions/{id}/timeseries", json!({"show": ["errors", "bytes", "clients"]}).to_string()),
        ("Suggestions", "post", "/api/sessions/{id}/suggest", json!({"text": "statos = 500"}).to_string()),
        ("SavedViews", "get", "/api/views", String::new()),
        ("Server", "get", "/api/server", String::new()),
        ("Vitals", "get", "/api/vitals", String::new()),
        ("Discarded", "put", "/api/discard", "some bytes".to_owned()),
        ("Places", "get", "/render", String::new()),
        ("Put", "put", "/store/{key}", "some bytes".to_owned()),
        ("Entries", "get", "/store", String::new()),
        ("Leases", "get", "/leases", String::new()),
    ];
    for (schema, method, path, body) in requests {
        let target = path.replace("{id}", &id).replace("{key}", "name");
        let said = answer(&server, &format!("{} {target}\n{body}", method.to_uppercase()));
        assert!(said.get("error").is_none_or(|error| error["code"].is_null()), "{path}: {said}");
        let told = &document["paths"][path][method]["responses"];
        let told =
            ["200", "201"].iter().find_map(|status| told[status]["content"]["application/json"]["schema"]["$ref"].as_str());
        assert_eq!(told, Some(&*format!("#/components/schemas/{schema}")), "{method} {path}");
        check(&document, &said, &document["components"]["schemas"][schema], schema);
    }
    let refused = answer(&server, "GET /api/sessions/none");
    check(&document, &refused, &document["components"]["schemas"]["Error"], "Error");
}

/// Holds a value to a schema, as far as the file uses the language of schemas.
fn check(document: &Value, value: &Value, schema: &Value, place: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(&reference[1..]).unwrap_or_else(|| panic!("{reference}"));
        return check(document, value, schema, place);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        if !value.is_null() {
            check(document, value, &choices[0], place);
        }
        return;
    }
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    assert!(kinds.iter().any(|kind| is_of(value, kind)), "{place} is {value}, not {kinds:?}");
    if let (Some(members), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
        for required in schema["required"].as_array().expect("what is required") {
            assert!(members.contains_key(required.as_str().expect("a name")), "{place} lacks {required}");
        }
        for (name, member) in members {
            let known = properties.get(name).unwrap_or_else(|| panic!("{place} has {name}"));
            check(document, member, known, &format!("{place}.{name}"));
        }
    }
    if let (Some(items), Some(of)) = (value.as_array(), schema.get("items")) {
        items.iter().for_each(|item| check(document, item, of, &format!("{place}[]")));
    }
}

fn is_of(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => false,
    }
}
