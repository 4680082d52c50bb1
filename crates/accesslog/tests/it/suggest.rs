//! Typed texts: what they are read as, from the columns and the values that these have.

use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, Schema, TextColumn};
use rorqual_accesslog::suggest::{
    ColumnValueSource, TypedContext, TypedReading, TypedText, ValuesSeen, pasted_line, pasted_object, read,
};

/// 2026-01-27 00:00 in UTC.
const DAY: i64 = 1_769_472_000;

struct Values<'a> {
    schema: &'a Schema,
    values: &'a [(&'a str, &'a [&'a str])],
}

impl ColumnValueSource for Values<'_> {
    fn values_like(&self, column: TextColumn, text: &str) -> ValuesSeen {
        let name = self.schema.text_name(column);
        let values = self.values.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, values)| values);
        let lower = text.to_lowercase();
        ValuesSeen {
            equal: values.iter().filter(|value| value.eq_ignore_ascii_case(text)).map(ToString::to_string).collect(),
            contains: values.iter().any(|value| value.contains(text)),
            contains_in_any_case: values.iter().any(|value| value.to_lowercase().contains(&lower)),
        }
    }

    fn times_us(&self) -> Option<(i64, i64)> {
        Some(((DAY - 86_400) * 1_000_000, (DAY + 86_399) * 1_000_000))
    }
}

const LOG: [(&str, &[&str]); 6] = [
    ("path", &["/", "/checkout", "/api/v1/login", "/Images/logo.svg"]),
    ("method", &["GET", "POST"]),
    ("client", &["10.1.2.3", "2001:db8::1"]),
    ("browser", &["Chrome", "Firefox"]),
    ("user", &["ann"]),
    ("referrer", &["https://shop.example/checkout"]),
];

fn typed(text: &str) -> TypedText {
    let schema = Schema::access_log();
    let values = Values { schema, values: &LOG };
    read(text, &TypedContext { schema, values: &values, zone_seconds: 0 })
}

fn written(readings: &[TypedReading]) -> Vec<String> {
    readings.iter().map(|reading| Schema::access_log().written(&reading.filter)).collect()
}

/// The best reading of each part, as the page would take them.
fn best(text: &str) -> Vec<String> {
    typed(text).parts.iter().map(|part| written(&part.readings)[0].clone()).collect()
}

#[test]
fn a_word_is_read_by_the_columns_and_their_values() {
    for (text, expected) in [
        ("504", "status = 504"),
        ("5xx", "status = 5xx"),
        ("500-503", "status in (500..503)"),
        ("checkout", "path contains \"checkout\""),
        ("/checkout", "path = /checkout"),
        ("get", "method = GET"),
        ("firefox", "browser = Firefox"),
        ("ann", "user = ann"),
        ("10.1.2.3", "client = 10.1.2.3"),
        ("10.1.2.9", "client = 10.1.2.9"),
        ("10.1.2", "client = 10.1.2.0/24"),
        ("10.1.*", "client = 10.1.0.0/16"),
        ("10.0.0.0/8", "client = 10.0.0.0/8"),
        ("2001:db8::1", "client = 2001:db8::1/128"),
        ("images/logo", "path ~ \"(?i)images/logo\""),
        ("nowhere", "any contains \"nowhere\""),
        ("*.svg", "path ~ \"^.*\\\\.svg$\""),
        ("\"no where\"", "any contains \"no where\""),
        ("errors", "status >= 400"),
        ("2s", "request_time >= 2"),
        (">500ms", "request_time >= 0.500001"),
        ("/a?b=c", "url = \"/a?b=c\""),
        ("-firefox", "browser != Firefox"),
        ("https://shop.example/checkout", "referrer = https://shop.example/checkout"),
    ] {
        assert_eq!(best(text), [expected], "{text}");
    }
}

#[test]
fn names_of_columns_are_known_in_many_ways() {
    for (text, expected) in [
        ("path:checkout", "path contains \"checkout\""),
        ("path: checkout", "path contains \"checkout\""),
        ("path=/checkout", "path = /checkout"),
        ("path checkout", "path contains \"checkout\""),
        ("path contains out", "path contains \"out\""),
        ("path:\"out\"", "path contains \"out\""),
        ("ip:10.1.2.3", "client = 10.1.2.3"),
        ("ip 10.1.2", "client = 10.1.2.0/24"),
        ("method:get", "method = GET"),
        ("status:5xx", "status = 5xx"),
        ("status 504", "status = 504"),
        ("status is 504", "status = 504"),
        ("code>=500", "status >= 500"),
        ("status above 499", "status >= 500"),
        ("latency > 2s", "request_time >= 2.000001"),
        ("slower than 2 s", "request_time >= 2.000001"),
        ("larger than 1 MB", "bytes >= 1048577"),
        ("size:>1MB", "bytes >= 1048577"),
    ] {
        let found = typed(text);
        // Texts that are filters themselves are read as such.
        let found = found.filter.as_ref().map_or_else(|| best(text), |filter| written(std::slice::from_ref(filter)));
        assert_eq!(found, [expected], "{text}");
    }
}

#[test]
fn several_words_are_parts_that_are_all_meant() {
    assert_eq!(best("\"GET /api\" 504"), ["any contains \"GET /api\"", "status = 504"]);
    assert_eq!(best("GET checkout 504"), ["method = GET", "path contains \"checkout\"", "status = 504"]);
    assert_eq!(best("checkout without 200"), ["path contains \"checkout\"", "status != 200"]);
    assert_eq!(best("show me all errors from 10.1.2.3"), ["status >= 400", "client = 10.1.2.3"]);
    assert_eq!(best("not found login"), ["status = 404", "path contains \"login\""]);
    let or = typed("404 or 500 ann");
    assert_eq!(or.parts.iter().map(|part| part.is_alternative).collect::<Vec<_>>(), [false, true, false]);
    assert!(typed("a b c d e f g h i j k").parts.is_empty(), "too many words are a phrase");
}

#[test]
fn times_are_spans_beside_other_words() {
    let spans = |text: &str| {
        let parts = typed(text).parts;
        let spans = parts.iter().filter_map(|part| part.readings[0].span_us);
        spans.map(|(from, to)| (from / 1_000_000 - DAY, to / 1_000_000 - DAY)).collect::<Vec<_>>()
    };
    let minute = (14 * 60 + 10) * 60;
    for text in ["2026-01-27 14:10", "14:10", "27 Jan 14:10", "504 14:10", "27/Jan/2026:14:10 checkout"] {
        assert_eq!(spans(text), [(minute, minute + 60)], "{text}");
    }
    assert_eq!(spans("errors on January 27 from 14:00 to 14:10"), [(minute - 600, minute)]);
    assert_eq!(typed("504 14:10").parts.len(), 2);
    assert_eq!(typed("2026-01-26").parts[0].readings[0].label, "on 2026-01-26");
}

#[test]
fn a_filter_is_read_as_one_and_slips_in_it_are_put_right() {
    let filter = |text: &str| {
        let filter = typed(text).filter.unwrap_or_else(|| panic!("{text}"));
        (Schema::access_log().written(&filter.filter), filter.meant)
    };
    assert_eq!(filter("status >= 500 and not bot"), ("status >= 500 and not bot".to_owned(), None));
    assert_eq!(filter("statos >= 500").1.as_deref(), Some("status"));
    assert_eq!(filter("statos >= 500 and pth contains x").0, "status >= 500 and path contains \"x\"");
    assert_eq!(filter("ip = 10.1.2.3").0, "client = 10.1.2.3");
    let wrong = typed("status >= ");
    assert!(wrong.filter.is_none());
    assert_eq!(wrong.error.expect("it looks like a filter").column, 10);
    assert_eq!(typed("checkout").error, None);
    assert_eq!(typed("pth:checkout").parts[0].readings[0].meant.as_deref(), Some("path"));
}

#[test]
fn a_pasted_line_is_that_line_and_those_that_are_near() {
    let line = "10.1.2.3 - - [27/Jan/2026:14:10:05 +0000] \"GET /a?b=1 HTTP/1.1\" 504 7 \"-\" \"curl/8\"";
    let format = LogFormat::named("combined").expect("it is known");
    let readings = pasted_line(line, &format, Schema::access_log());
    assert_eq!(
        written(&readings),
        [
            "client = 10.1.2.3 and method = GET and path = /a and query = \"b=1\" and status = 504",
            "client = 10.1.2.3",
            "path = /a",
            "net = 10.1.2.0/24",
            "status = 504",
        ]
    );
    let second = (DAY + (14 * 60 + 10) * 60 + 5) * 1_000_000;
    assert_eq!(readings[0].span_us, Some((second, second + 1_000_000)));
    assert!(pasted_line("504", &format, Schema::access_log()).is_empty());
}

#[test]
fn columns_of_tables_are_known_by_their_own_names() {
    let own = |(name, unit): (&str, Option<NumberUnit>)| OwnColumn { name: name.to_owned(), unit };
    let columns = [("level", None), ("message text", None), ("count", Some(NumberUnit::Integer))];
    let schema = Schema::table(columns.into_iter().map(own).collect(), true);
    let values = Values { schema: &schema, values: &[("level", &["error", "info"]), ("message text", &["it took long"])] };
    let best = |text: &str| {
        let typed = read(text, &TypedContext { schema: &schema, values: &values, zone_seconds: 0 });
        typed.parts.iter().map(|part| schema.written(&part.readings[0].filter)).collect::<Vec<_>>()
    };
    assert_eq!(best("ERROR"), ["level = error"]);
    assert_eq!(best("took"), ["\"message text\" contains \"took\""]);
    assert_eq!(best("7"), ["count = 7"]);
    assert_eq!(best("count:7 level:info"), ["count = 7", "level = info"]);
    assert_eq!(best("message text: long"), ["\"message text\" contains \"long\""]);
    assert_eq!(best("> 5"), ["count >= 6"]);
    let pasted = pasted_object("{\"level\":\"info\",\"count\":7,\"other\":1}", &schema);
    assert_eq!(schema.written(&pasted[0].filter), "count = 7 and level = info");
}
