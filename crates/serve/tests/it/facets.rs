//! Facets over HTTP, beside counts by hand.

use crate::common::ask;
use crate::openapi::{answer, server};
use serde_json::{Value, json};

/// Nine requests of paths and statuses: /a 200 200 500, /b 200 500 500, /c 200, /ab 404 500.
const REQUESTS: [(&str, u16); 9] =
    [("/a", 200), ("/a", 200), ("/a", 500), ("/b", 200), ("/b", 500), ("/b", 500), ("/c", 200), ("/ab", 404), ("/ab", 500)];

fn log() -> String {
    let line = |(path, status): &(&str, u16)| {
        format!("192.0.2.1 - - [01/Jan/2025:08:00:00 +0000] \"GET {path} HTTP/1.1\" {status} 10 \"-\" \"curl/8\"\n")
    };
    REQUESTS.iter().map(line).collect()
}

fn hits(rows: &Value) -> Value {
    rows.as_array().expect("rows").iter().map(|row| json!([row["value"], row["hits"]])).collect()
}

#[test]
fn the_other_values_of_a_field_are_counted_under_the_other_filters() {
    let (server, _folder) = server();
    let uploaded = answer(&server, &format!("PUT /api/upload/test.log\n{}", log()));
    let id = uploaded["session"]["id"].as_str().expect("an id");
    let post = |verb: &str, body: &Value| answer(&server, &format!("POST /api/sessions/{id}/{verb}\n{body}"));
    let filter = "path in (/a, /c) and status != 500";

    let plain = post("view", &json!({"where": filter}));
    assert_eq!((&plain["facets"], &plain["number_facets"]), (&json!([]), &json!([])));
    let mut view = post("view", &json!({"where": filter, "facets": true}));
    let facets = view["facets"].take();
    for view in [&plain, &view] {
        assert_eq!(view["lines"]["matching"], 3);
        let path = view["panels"].as_array().expect("panels").iter().find(|panel| panel["field"] == "path").expect("paths");
        assert_eq!(hits(&path["rows"]), json!([["/a", 2], ["/c", 1]]));
    }
    let [path, status] = &facets.as_array().expect("facets")[..] else { panic!("{facets}") };
    // Of all paths those that are no 500; of all statuses those of /a and /c.
    assert_eq!((&path["field"], hits(&path["rows"])), (&json!("path"), json!([["/a", 2], ["/ab", 1], ["/b", 1], ["/c", 1]])));
    assert_eq!((hits(&path["chosen"]), hits(&path["excluded"])), (json!([["/a", 2], ["/c", 1]]), json!([])));
    assert_eq!((&path["hits"], &path["distinct"]["count"], &path["exact"]), (&json!(5), &json!(4), &json!(true)));
    assert_eq!((&status["field"], hits(&status["rows"])), (&json!("status"), json!([["200", 3], ["500", 1]])));
    assert_eq!((hits(&status["chosen"]), hits(&status["excluded"])), (json!([]), json!([["500", 1]])));

    let page = post("panel", &json!({"where": filter, "field": "path", "search": "/A", "facets": true}));
    assert_eq!((hits(&page["rows"]), &page["found"]), (json!([["/a", 2], ["/ab", 1]]), &json!(2)));
    let page = post("panel", &json!({"where": filter, "field": "path", "search": "/A"}));
    assert_eq!((hits(&page["rows"]), &page["found"]), (json!([["/a", 2]]), &json!(1)));
    let page = post("panel", &json!({"where": filter, "field": "status", "facets": true}));
    assert_eq!(hits(&page["rows"]), json!([["200", 3], ["500", 1]]));

    let asked = format!("GET /api/sessions/{id}/panel.csv?field=path&where=path%20%3D%20/a%20and%20status%20%3D%20200");
    for (facets, values) in [("", 1), ("&facets=false", 1), ("&facets=true", 3)] {
        let csv = ask(&server.url, &format!("{asked}{facets}"), "");
        assert_eq!(csv.lines().filter(|line| line.starts_with('/')).count(), values, "{csv}");
    }
}
