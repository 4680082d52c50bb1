//! Filters: what they mean, how they are written, and what is refused.

use proptest::collection::vec;
use proptest::prelude::*;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats};
use rorqual_accesslog::filter::{
    FILTER_DEPTH_MAX, Filter, FilterRegex, Flag, Matcher, Network, NumberTest, PATTERNS_MAX, Subject, TextTest, TextValue,
};
use rorqual_accesslog::parse::LogRecord;
use rorqual_accesslog::schema::{
    NumberColumn, NumberUnit, OwnColumn, Schema, TextColumn, float_of, float_step, integer_of, integer_step,
};
use rorqual_accesslog::{LineFilter, Options};
use rorqual_pipe::{Control, Input};
use std::sync::Arc;

fn meets(filter: &str, subject: Subject<'_>) -> bool {
    let filter = Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
    Matcher::new(Arc::new(filter)).meets(&subject)
}

fn record() -> LogRecord<'static> {
    LogRecord {
        // Tuesday, 2000-10-10 13:55:36 at -07:00.
        time_us: Some(971_211_336_000_000),
        zone_seconds: -25_200,
        client: b"10.1.2.3",
        method: b"GET",
        path: b"/api/a b.json",
        query: b"x=1",
        protocol: b"HTTP/1.1",
        status: 503,
        bytes: Some(1 << 20),
        referrer: b"https://www.example.org/from",
        agent: b"curl/8.5.0",
        request_time_us: Some(250_000),
        ..LogRecord::default()
    }
}

#[test]
fn what_a_record_meets() {
    let record = record();
    let subject = Subject { record: Some(&record), flaw: "", line: b"" };
    let met = [
        "",
        "status >= 500 and path ~ \"/api\"",
        "status in (404, 5xx)",
        "status = 5xx and class = 5xx and status in 500..510",
        "client in 10.0.0.0/8",
        "client in (192.168.0.0/16, 10.1.2.3)",
        "net = 10.1.2.0/24",
        "net in 10.0.0.0/8 and net = 10.1.2.99/24 and net != 10.2.0.0/16",
        "net in (2001:db8::/32, 10.1.0.0/16) and client = 10.0.0.0/8 and client != 10.2.0.0/16",
        "path = \"/api/a b.json\"",
        "url = \"/api/a b.json?x=1\"",
        "method != POST",
        "METHOD = GET AND NOT rejected",
        "bytes = 1MiB and bytes >= 1024k and bytes < 1048577",
        "request_time = 0.25 and request_time = 250ms and request_time > 249999us",
        "agent ~ \"(?i)CURL\"",
        "agent contains \"rl/\"",
        "bot and bot = curl and browser = - and os = \"\"",
        "site = www.example.org",
        "kind = data",
        "hour = 13 and weekday = tue and weekday in mon..wed and hour not in (8..12, 14)",
        "user = - and upstream_time = -",
        "not upstream_time >= 0",
        "not user ~ \".*\"",
        "flaw = -",
        "not (status = 404 or status = 200)",
        "status = 404 or bytes > 1 and method = GET",
        "any contains \"GET /api/a b\" and any contains \"json?x=1 HTTP/1.1\" and any contains 10.1.2",
        "any ~ \"^GET .*1.1$\" and any contains from and any contains curl and any !~ \"nowhere\"",
    ];
    for filter in met {
        assert!(meets(filter, subject), "{filter}");
    }
    let missed = [
        "status < 500",
        "status = -",
        "client in 10.2.0.0/16",
        "net in 10.2.0.0/16",
        "net = -",
        "net in ::/0",
        "client = \"10.0.0.0/8\"",
        "path = \"/api\"",
        "not bot",
        "rejected",
        "repaired",
        "user ~ \"\"",
        "(status = 404 or bytes > 1) and method = POST",
        "weekday in (sat, sun)",
        "bytes > 1MiB",
        "any contains \"10.1.2.3 GET\"",
        "any contains 503",
        "not any ~ example",
    ];
    for filter in missed {
        assert!(!meets(filter, subject), "{filter}");
    }
}

/// Names of hosts are the same in any letters, and an address of IPv4 in either form.
#[test]
fn sites_and_clients_are_met_in_any_form() {
    let record = LogRecord { referrer: b"https://WWW.Example.org/From", ..record() };
    let subject = Subject { record: Some(&record), flaw: "", line: b"" };
    for filter in [
        "site = www.example.org",
        "site = WWW.Example.ORG",
        "site in (example.net, Www.example.org)",
        "site contains Example and site ~ \"^WWW[.]Exam\"",
        "referrer contains WWW and not referrer contains www",
        "client = ::ffff:10.1.2.3 and client = ::FFFF:10.1.2.3",
        "client = ::ffff:a01:203 and client in (192.0.2.1, 0:0:0:0:0:ffff:0a01:0203)",
    ] {
        assert!(meets(filter, subject), "{filter}");
    }
    assert!(meets("site != www.example.net", subject) && !meets("site != WWW.example.org", subject));
}

#[test]
fn lines_that_are_not_sound() {
    let record = record();
    let repaired = Subject { record: Some(&record), flaw: "bytes is not a number", line: b"" };
    assert!(meets("repaired and not rejected and flaw contains bytes and status = 503", repaired));
    let rejected = Subject { record: None, flaw: "not a JSON object", line: b"" };
    assert!(meets(
        "rejected and not repaired and flaw = \"not a JSON object\" and status = - and path = - and class = -",
        rejected
    ));
    assert!(meets("not bot and not status = 200", rejected), "a rejected line has no field");
    assert!(!meets("class = other or bytes >= 0 or path ~ \"\"", rejected));
    assert!(!meets("any contains JSON", rejected), "a flaw is no text of the line");
    let line = Subject { record: None, flaw: "not a JSON object", line: b"GET nothing" };
    assert!(meets("any contains \"GET n\" and any ~ \"^GET\" and not any contains POST", line));
}

#[test]
fn bytes_that_are_no_text_are_found_as_they_are_shown() {
    let record = LogRecord { path: b"/\xff", ..record() };
    let subject = Subject { record: Some(&record), flaw: "", line: b"" };
    assert!(meets("path = \"/\u{fffd}\"", subject));
    assert!(meets("path ~ \"(?-u)\\\\xff\"", subject));
    assert!(!meets("path = \"/\"", subject));
}

#[test]
fn what_a_log_has_in_small_letters_is_asked_for_in_quotes() {
    let record = LogRecord { method: b"get", ..record() };
    let subject = Subject { record: Some(&record), flaw: "", line: b"" };
    assert!(meets("method = \"get\"", subject) && !meets("method = GET", subject) && meets("method ~ get", subject));
    let filter = Filter::parse("method in (\"get\", \"own\", GET, BREW, brew)").expect("a filter");
    assert_eq!(written(&filter), "method in (\"get\", own, GET, BREW, brew)");
}

#[test]
fn what_is_refused_and_where() {
    let cases = [
        ("status >= ", 11, "a status from 100 to 999"),
        ("status ~ \"5\"", 8, "this column is a number"),
        ("kind = foo", 8, "page, style, script"),
        ("kind in (data, pages)", 16, "page, style, script"),
        ("method = get", 10, "expected GET, as logs have it in capitals (or the text in double quotes), found \"get\""),
        ("status = 200 and method not in (POST, Delete)", 39, "expected DELETE"),
        ("country = de", 11, "expected DE"),
        ("path = '/x'", 8, "double quotes"),
        ("path ~ '/x'", 8, "double quotes"),
        ("status > 5xx", 10, "expected one value such as 404"),
        ("status > 400..499", 10, "expected one value such as 404"),
        ("status > abc", 10, "a status from 100 to 999 such as 404"),
        ("status > 999", 10, "the least is 100, the largest 999"),
        ("bytes = 5xx", 9, "a size such as 500"),
        ("bytes > 5 parsecs", 11, "one word: a size such as 500"),
        ("staus = 404", 1, "did you mean 'status'?"),
        ("referer = x", 1, "did you mean 'referrer'?"),
        ("clinet = 10.0.0.1", 1, "did you mean 'client'?"),
        ("request_time > 5 parsecs and bot", 18, "one word: a time such as 0.25 (seconds"),
        ("request_time > 5parsecs", 16, "a time such as 0.25 (seconds"),
        ("net = 10.1.2.3", 7, "up to /24"),
        ("net in 10.1.2.0/28", 8, "for smaller networks and addresses ask client"),
        ("net = home", 7, "such as 10.0.0.0/8"),
        ("client = 10.0.0.0/33", 10, "a network such as 10.0.0.0/8"),
        ("status = 1000", 10, "a status from 100 to 999"),
        ("nothing = 1", 1, "a column (path, url, "),
        ("path", 5, "=, !=, ~"),
        ("path = and", 8, "in double quotes"),
        ("path = \"a", 8, "double quotes"),
        ("path in (a b)", 12, "',' or ')'"),
        ("path in ()", 10, "a value"),
        ("(bot", 5, "')'"),
        ("bot bot", 5, "'and', 'or' or the end"),
        ("path ~ \"(\"", 8, "unclosed group"),
        ("path ~ \"(\\\\w{1000}){1000}\"", 8, "more than"),
        ("bytes < 0", 9, "with others beyond it (the least is 0)"),
        ("bytes = 1.5.5", 9, "a size such as"),
        ("request_time = 0.1234567", 16, "at most six decimals"),
        ("hour = 24", 8, "0 to 23"),
        ("weekday = 2..1", 11, "a weekday"),
        ("ä = 1", 1, "a column"),
        ("method = ä and !", 16, "a word"),
    ];
    for (text, column, part) in cases {
        let error = Filter::parse(text).expect_err(text);
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

#[test]
fn limits() {
    let nested = |depth: usize| format!("{}bot{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Filter::parse(&nested(FILTER_DEPTH_MAX - 1)).is_ok());
    assert!(Filter::parse(&nested(FILTER_DEPTH_MAX)).expect_err("too deep").message.contains("64"));
    assert!(Filter::parse(&"not ".repeat(20_000)).expect_err("too long").message.contains("bytes"));
    assert!(Filter::parse(&format!("{}bot", "not ".repeat(16_000))).expect_err("too deep").message.contains("64"));
    let patterns = ["path ~ a"; PATTERNS_MAX + 1].join(" and ");
    assert!(Filter::parse(&patterns).expect_err("too many").message.contains("regular expressions"));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9./:*_-]{0,12}",
        "\\PC{0,8}",
        Just("and".to_owned()),
        Just("10.0.0.0/8".to_owned()),
        Just("-".to_owned())
    ]
}

fn text_test() -> impl Strategy<Value = TextTest> {
    let one = text().prop_map(TextValue::Text);
    prop_oneof![
        vec(one, 1..4).prop_map(TextTest::OneOf),
        text().prop_map(TextTest::Contains),
        text().prop_map(|text| TextTest::Matches(FilterRegex::new(&regex_escape(&text)).expect("escaped"))),
    ]
}

/// Names of sites are in small letters.
fn of_column(column: TextColumn, test: TextTest) -> Filter {
    let lower = |value| match value {
        TextValue::Text(text) => TextValue::Text(text.to_ascii_lowercase()),
        network => network,
    };
    let test = match test {
        TextTest::OneOf(values) if column == TextColumn::SITE => TextTest::OneOf(values.into_iter().map(lower).collect()),
        TextTest::Contains(text) if column == TextColumn::SITE => TextTest::Contains(text.to_ascii_lowercase()),
        test => test,
    };
    Filter::Text(column, test)
}

fn regex_escape(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_ascii_punctuation() { vec!['\\', c] } else { vec![c] }).collect()
}

fn written(filter: &Filter) -> String {
    Schema::access_log().written(filter)
}

fn number_at(index: usize) -> NumberColumn {
    Schema::access_log().numbers().nth(index).expect("one of seven")
}

fn text_at(index: usize) -> TextColumn {
    Schema::access_log().texts().nth(index).expect("one of nineteen")
}

/// Numbers that the column can have.
fn numbers(column: NumberColumn) -> std::ops::RangeInclusive<u64> {
    match column {
        NumberColumn::STATUS => 100..=999,
        NumberColumn::CLASS => 0..=4,
        NumberColumn::HOUR => 0..=23,
        NumberColumn::WEEKDAY => 1..=7,
        _ => 0..=u64::MAX,
    }
}

fn number_filter() -> impl Strategy<Value = Filter> {
    let column = (0..7usize).prop_map(number_at);
    let with_test = column.prop_flat_map(|column| {
        let range = (numbers(column), numbers(column)).prop_map(|(a, b)| (a.min(b), a.max(b)));
        (Just(column), vec(range, 0..4), any::<bool>())
    });
    with_test.prop_map(|(column, ranges, absent)| {
        let absent = absent || ranges.is_empty();
        Filter::Number(column, NumberTest { ranges, absent })
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    let networks = ["10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::/0"];
    let larger = (0..networks.len()).prop_map(move |index| TextValue::Network(Network::parse(networks[index]).expect("one")));
    let network = (0..networks.len()).prop_map(move |index| TextValue::Network(Network::parse(networks[index]).expect("one")));
    let leaf = prop_oneof![
        ((0..19usize), text_test()).prop_map(|(index, test)| of_column(text_at(index), test)),
        vec(network, 1..3).prop_map(|networks| Filter::Text(TextColumn::CLIENT, TextTest::OneOf(networks))),
        vec(larger, 1..3).prop_map(|networks| Filter::Text(TextColumn::NET, TextTest::OneOf(networks))),
        number_filter(),
        (0..Flag::ALL.len()).prop_map(|index| Filter::Is(Flag::ALL[index])),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(Filter::All),
            vec(inner.clone(), 2..4).prop_map(Filter::Any),
            inner.prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

/// At most as many expressions as a filter may have.
fn patterns(filter: &Filter) -> usize {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter().map(patterns).sum(),
        Filter::Not(inner) => patterns(inner),
        Filter::Text(_, TextTest::Matches(_)) => 1,
        _ => 0,
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_as_the_same(filter in filter()) {
        prop_assume!(patterns(&filter) <= PATTERNS_MAX);
        let written = written(&filter);
        let read = Filter::parse(&written);
        prop_assert_eq!(read.as_ref(), Ok(&filter), "{}", written);
    }

    #[test]
    fn any_text_is_a_filter_or_an_error(text in "\\PC{0,60}|([a-z]+ |[()=~!<>,\"-]|not |and |status |path |5xx ){0,20}") {
        if let Ok(filter) = Filter::parse(&text) {
            let again = Filter::parse(&written(&filter));
            prop_assert_eq!(again.as_ref(), Ok(&filter));
        }
    }
}

#[test]
fn an_analysis_leaves_out_what_the_filter_does_not_mean() {
    let line = |n: u32| match n % 10 {
        9 => format!("garbage {n}\n"),
        _ => format!(
            "10.0.0.{} - - [02/Jan/2025:00:00:00 +0000] \"GET /{} HTTP/1.1\" {} 5 \"-\" \"a\"\n",
            n % 4,
            n % 3,
            200 + n % 2
        ),
    };
    let log: String = (0..1_000).map(line).collect();
    type Means = fn(u32) -> bool;
    let cases: [(&str, Means); 5] = [
        // Lines that can't be read are told, unless the filter names them.
        ("", |_| true),
        ("status = 201 and path = /1", |n| n % 10 == 9 || n % 2 == 1 && n % 3 == 1),
        ("status = 201 and not rejected", |n| n % 10 != 9 && n % 2 == 1),
        ("rejected", |n| n % 10 == 9),
        ("not path = /0", |n| n % 10 == 9 || n % 3 != 0),
    ];
    for (filter, means) in cases {
        for threads in [1, 2] {
            let settings = AnalyzeSettings {
                memory_bytes: 256 << 20,
                threads: Some(threads),
                line_bytes_max: 4096,
                span: SpanFilter::default(),
                formats: Formats::default(),
                feed_buffers: 0,
                kept: None,
                countries: None,
            };
            let only = Some(LineFilter::new("a filter", filter));
            let options = Options { only, ..Options::default() };
            let analyzer = Analyzer::new(&settings, settings.shares(8 << 20, 1).expect("enough"), options);
            let input = Input::from_reader("log", Box::new(std::io::Cursor::new(log.clone())));
            analyzer.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None).map(drop).expect("a known format");
            let report = analyzer.report(Vec::new(), true, 10);
            let meant: Vec<u32> = (0..1_000).filter(|n| means(*n)).collect();
            let rejected = meant.iter().filter(|n| *n % 10 == 9).count() as u64;
            let lines = report.lines;
            assert_eq!((lines.total, lines.rejected, lines.parsed), (1_000, rejected, meant.len() as u64 - rejected), "{filter}");
            assert_eq!(lines.filtered, 1_000 - meant.len() as u64);
            let hits = report.panels.iter().find(|panel| panel.field == "path").map_or(0, |panel| panel.hits);
            assert_eq!((hits, report.rejects.count), (lines.parsed, rejected));
            let json = serde_json::to_value(lines).expect("counts are JSON");
            assert_eq!(json.get("filtered").is_some(), lines.filtered > 0, "as before where there is no filter");
        }
    }
}

#[test]
fn comparisons_are_written_as_they_are_read() {
    let columns =
        [("status", "404"), ("class", "4xx"), ("bytes", "10"), ("request_time", "0.5"), ("hour", "8"), ("weekday", "wed")];
    for (column, value) in columns {
        for operator in ["=", "!=", "<", "<=", ">", ">="] {
            for text in [format!("{column} {operator} {value}"), format!("not {column} {operator} {value}")] {
                let filter = Filter::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!(Filter::parse(&written(&filter)), Ok(filter.clone()), "{text} is written {}", written(&filter));
            }
        }
    }
    for text in ["status < 100", "status > 999", "hour > 23", "weekday < mon", "bytes < 0", "class > other"] {
        assert!(Filter::parse(text).is_err(), "{text}");
    }
}

/// A table with odd names, a key in two cases, and a column of each unit.
fn table() -> Schema {
    let own = |(name, unit): (&str, Option<NumberUnit>)| OwnColumn { name: name.to_owned(), unit };
    let columns = [
        ("level", None),
        ("user agent", None),
        ("Level", None),
        ("and", None),
        ("hour", None),
        ("count", Some(NumberUnit::Integer)),
        ("share", Some(NumberUnit::Float)),
        ("created", Some(NumberUnit::Moment)),
        ("size", Some(NumberUnit::Bytes)),
        ("took", Some(NumberUnit::Seconds)),
        ("id", Some(NumberUnit::Natural)),
    ];
    Schema::table(columns.into_iter().map(own).collect(), true)
}

#[test]
fn a_table_has_its_own_columns() {
    let table = table();
    let texts: Vec<_> = table.texts().map(|column| table.text_name(column)).collect();
    assert_eq!(texts, ["flaw", "level", "user agent", "Level", "and", "hour"], "its own hour is no hour of a time");
    assert_eq!(table.panels().len(), 6);
    let level = |number: usize| Filter::Text(TextColumn::own(number), TextTest::OneOf(vec![TextValue::Text("error".to_owned())]));
    assert_eq!(table.filter("level = error"), Ok(level(0)));
    assert_eq!(table.filter("Level = error"), Ok(level(2)));
    assert!(table.filter("LEVEL = error").is_err(), "either of two");
    assert_eq!(table.filter("\"user agent\" = error"), Ok(level(1)));
    assert_eq!(table.filter("USER = error").map_err(|error| error.message.contains("did you mean 'user agent'?")), Err(true));
    for other in ["client = 10.0.0.1", "status = 200", "path = /"] {
        let error = table.filter(other).expect_err(other);
        assert!(error.message.contains("a column (flaw, level, user agent, Level, and, hour, "), "{other}: {error}");
    }
}

#[test]
fn what_a_row_has_is_asked_for_by_name() {
    let table = table();
    assert_eq!(table.filter("level exists"), table.filter("level != -"));
    assert_eq!(table.filter("not count exists"), table.filter("not count != -"));
    assert_eq!(table.filter("created exists"), table.filter("created != -"));
    // It is a word like others where a value stands.
    let text = |text: &str| Filter::Text(TextColumn::own(0), TextTest::OneOf(vec![TextValue::Text(text.to_owned())]));
    assert_eq!(table.filter("level = exists"), Ok(text("exists")));
    assert_eq!(table.filter("level = has"), Ok(text("has")));
    assert!(table.filter("count has 3").is_err(), "a number is no list");
    assert!(table.filter("level has").is_err());

    let has = table.filter("level has a").expect("a filter");
    assert_eq!(has, Filter::Text(TextColumn::own(0), TextTest::Has("a".to_owned())));
    for filter in ["level has a", "not level has \"a b\"", "level has 7 and count exists"] {
        let filter = table.filter(filter).expect(filter);
        assert_eq!(table.filter(&table.written(&filter)), Ok(filter));
    }
    let met = |element: &str, value: &str| TextTest::Has(element.to_owned()).meets(value.as_bytes());
    assert!(met("a", r#"["b","a"]"#) && met("7", "[1,7]") && met("true", "[true]") && met("a\"b", r#"["a\"b"]"#));
    assert!(!met("a", r#"["ab",["a"],{"a":1}]"#) && !met("a", "[]") && !met("a", r#"["a""#) && !met("", ""));
    assert!(met("a", "a") && !met("a", "ab"), "a text that is no list is its only element");
}

#[test]
fn what_is_derived_gives_way_to_a_column_in_any_case() {
    let own = |name: &str| OwnColumn { name: name.to_owned(), unit: None };
    let table = Schema::table(vec![own("Hour"), own("FLAW"), own("bot")], true);
    let texts: Vec<_> = table.texts().map(|column| table.text_name(column)).collect();
    let numbers: Vec<_> = table.numbers().map(|column| table.number_name(column)).collect();
    assert_eq!((texts, numbers), (vec!["Hour".into(), "FLAW".into(), "bot".into()], vec!["weekday".into()]));
    assert_eq!(table.text("hour"), Some(TextColumn::own(0)));
    // A table's rows have no agent: its `bot` is a column, and what it lacks is no property.
    let bot = Filter::Text(TextColumn::own(2), TextTest::OneOf(vec![TextValue::Text("x".to_owned())]));
    assert_eq!(table.filter("bot = x"), Ok(bot));
    assert!(table.filter("bot").is_err());
    assert!(table.filter("repaired").is_err());
    assert_eq!(table.filter("rejected"), Ok(Filter::Is(Flag::Rejected)));
    let untimed = Schema::table(vec![own("level")], false);
    assert_eq!(untimed.numbers().count(), 0, "there are no hours without times");
}

#[test]
fn numbers_of_a_table_are_read_as_they_are_written() {
    let table = table();
    // First and last number that the filter means, worked out by hand.
    let cases: [(&str, (u64, u64)); 16] = [
        ("id = 18446744073709551615", (u64::MAX - 1, u64::MAX - 1)),
        ("id <= 7", (0, 7)),
        ("count = -5", ((1 << 63) - 6, (1 << 63) - 6)),
        ("count >= 0", ((1 << 63) - 1, u64::MAX)),
        ("count = 3..7", ((1 << 63) + 2, (1 << 63) + 6)),
        ("count = 9223372036854775807", (u64::MAX - 1, u64::MAX - 1)),
        ("share = 0", (1 << 63, 1 << 63)),
        ("share = -0.0", (1 << 63, 1 << 63)),
        ("share = 1.5", (0x3ff8_0000_0000_0000 | 1 << 63, 0x3ff8_0000_0000_0000 | 1 << 63)),
        ("share = -1.5", (!0xbff8_0000_0000_0000, !0xbff8_0000_0000_0000)),
        ("share <= 1e300", (0, 1e300_f64.to_bits() | 1 << 63)),
        // 2026-01-27 is the 20,480th day.
        ("created >= 2026-01-27", ((1 << 63) + 1_769_471_999_999_999, u64::MAX)),
        ("created = \"2026-01-27 14:10\"", ((1 << 63) + 1_769_522_999_999_999, (1 << 63) + 1_769_522_999_999_999)),
        ("created = 1969-12-31T23:59:59.5Z", ((1 << 63) - 500_001, (1 << 63) - 500_001)),
        ("size = 1KiB", (1024, 1024)),
        ("took = 250ms", (250_000, 250_000)),
    ];
    for (text, range) in cases {
        let filter = table.filter(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let Filter::Number(_, test) = &filter else { panic!("{text} is a number's") };
        assert_eq!(test.ranges, [range], "{text}");
        assert_eq!(table.filter(&table.written(&filter)).as_ref(), Ok(&filter), "{text} is written {}", table.written(&filter));
    }
    let same = [
        "share > 1",
        "share < 0.1",
        "share >= -inf",
        "share <= inf",
        "share > -2.5",
        "share >= 1",
        "share > 1e300",
        "share < -1e308",
        "share >= inf",
        "share > 1e-300",
        "id >= 0",
        "created <= -000001-12-31T23:59:59.999999Z",
        "created >= +010000-01-01T00:00:00Z",
    ];
    for text in same {
        let filter = table.filter(text).expect("a filter");
        assert_eq!(table.written(&filter), text);
    }
    assert_eq!(table.filter("created < 0000-01-01"), table.filter("created <= -000001-12-31T23:59:59.999999Z"));
    for nothing in ["share > 1e400", "share < -inf", "created < 10000-01-01", "created = +999999-01-01"] {
        assert!(table.filter(nothing).is_err(), "{nothing}");
    }
    for text in ["count = 1.5", "share = nan", "created = 2026-02-30", "created = 2026-01-27T25:00", "count ~ 5", "count = 5x"] {
        assert!(table.filter(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn steps_are_in_the_order_of_their_numbers(a in any::<f64>(), b in any::<f64>(), c in any::<i64>(), d in any::<i64>()) {
        prop_assume!(!a.is_nan() && !b.is_nan());
        prop_assert_eq!(float_step(a).cmp(&float_step(b)), a.partial_cmp(&b).expect("no NaN"));
        prop_assert_eq!(float_of(float_step(a)), a);
        let (c, d) = (c.max(i64::MIN + 1), d.max(i64::MIN + 1));
        prop_assert_eq!(integer_step(c).cmp(&integer_step(d)), c.cmp(&d));
        prop_assert_eq!(integer_of(integer_step(c)), c);
        prop_assert!(integer_step(c) < u64::MAX && float_step(a) < u64::MAX);
    }

    #[test]
    fn what_is_written_of_a_table_reads_as_the_same(
        column in 0usize..4, text in text(), number in 0usize..6, steps in (any::<u64>(), any::<u64>()),
        floats in (any::<f64>(), any::<f64>()), shape in 0..4, absent in any::<bool>()
    ) {
        let table = table();
        prop_assume!(!floats.0.is_nan() && !floats.1.is_nan());
        let is_float = number == 1;
        let step = |step: u64, float: f64| if is_float { float_step(float) } else { step.min(u64::MAX - 1) };
        let (a, b) = (step(steps.0, floats.0), step(steps.1, floats.1));
        let range = match shape {
            0 => (a, a),
            1 => (0, a),
            2 => (a, u64::MAX),
            _ => (a.min(b), a.max(b)),
        };
        // A list has no comparisons in it, and no number of floats is below all.
        let absent = absent && matches!(shape, 0 | 3);
        let ranges = vec![range];
        let filter = Filter::All(vec![
            Filter::Text(TextColumn::own(column), TextTest::OneOf(vec![TextValue::Text(text)])),
            Filter::Number(NumberColumn::own(number), NumberTest { ranges, absent }),
        ]);
        let written = table.written(&filter);
        let read = table.filter(&written);
        prop_assert_eq!(read.as_ref(), Ok(&filter), "{}", written);
    }
}
