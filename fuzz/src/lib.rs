//! The fuzz targets as plain functions: foreign bytes in, a panic when a promise is broken.
//!
//! `examples/rorqual-fuzz.rs` wraps them for libFuzzer; `crates/columnar/tests/it/corpus.rs`
//! includes this file and runs every target over its corpus in the ordinary test run. So nothing
//! here may need libFuzzer.
//! The server's targets are included by its own tests (`crates/serve/src/corpus.rs`).

#[cfg(fuzzing)]
pub mod server;

use bytes::Bytes;
use rorqual_accesslog::Options;
use rorqual_accesslog::agent::{classify, referring_site};
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeError, AnalyzeSettings, Analyzer, Formats};
use rorqual_accesslog::filter::{Filter, Matcher, Subject};
use rorqual_accesslog::format::{LogFormat, SAMPLE_LINES_MAX, detect as detect_format, formats_in_config, preview};
use rorqual_accesslog::parse::{LineOutcome, LogParser};
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, Schema, TextColumn};
use rorqual_accesslog::suggest::{self, ColumnValueSource, TypedContext, ValuesSeen};
use rorqual_columnar::json::{JsonDecoder, JsonInferrer, JsonSplitter, Layout, format_rows, parse_rows};
use rorqual_columnar::limits::BATCH_ROWS_MAX;
use rorqual_columnar::read::{RowChoice, TableFile};
use rorqual_columnar::render::JsonRows;
use rorqual_columnar::{
    BadRecord, Decode, FormatHints, FormatKind, Infer, Recognised, RecordFormat, ScanHead, Shape, Unplaced, format_schema,
    parse_schema,
};
use rorqual_digest::list::{ListLine, ListLines, ListParser, escape};
use rorqual_pipe::count::{ByteCounts, Counter};
use rorqual_pipe::limits::buffer_bytes;
use rorqual_pipe::{
    BlockSource, BufferPool, Chunk, Control, Error, FilledBlock, Framing, Input, RunPlan, SplitError, Splitter, Stage,
    format_size, parse_size, run,
};
use std::io::{Cursor, Write};
use std::sync::{Arc, LazyLock};

/// Takes foreign bytes, and panics when a promise is broken.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also its folder in `corpus/`.
pub const TARGETS: [(&str, Target); 16] = [
    ("agent", agent),
    ("analyze", analyze),
    ("checksums", checksums),
    ("config", config),
    ("csv", csv),
    ("decode", decode),
    ("detect", detect),
    ("filter", filter),
    ("format", format),
    ("framing", framing),
    ("json", json),
    ("line", line),
    ("path", path),
    ("schema", schema),
    ("size", size),
    ("tables", tables),
];

/// Targets of the server, which have their folders in `corpus/` as well.
pub const OF_THE_SERVER: [&str; 4] = ["http", "requests", "socket", "state"];

/// Formats that differ in how they are read.
const FORMATS: [&str; 20] = [
    "common",
    "combined",
    "vhost_combined",
    "json",
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time $upstream_response_time"#,
    r#"$host $msec $time_iso8601 $request_method $request_uri $server_protocol $status $bytes_sent "$http_user_agent""#,
    r#"{"time":"$time_iso8601","status":$status,"request":"$request","bytes":$body_bytes_sent,"request_time":$request_time}"#,
    r#"%v:%p %h %l %u %{%Y-%m-%dT%H:%M:%S}t.%{usec_frac}t "%m %U%q %H" %>s %O %D"#,
    r#"%{sec}t %a "%r" %s %B %T "%{User-agent}i""#,
    r#"%h %t "%r" %>s %b %{ms}T"#,
    "syslog+combined",
    "compose+cri+json",
    "ltsv",
    "docker+combined",
    "cloudflare",
    "aws_alb",
    "haproxy",
    "squid",
    "#Fields: date time c-ip cs-method cs-uri-stem sc-status sc-win32-status time-taken cs(User-Agent)",
    "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs-uri-stem cs-uri-query sc-status time-taken cs(User-Agent)",
];

static COMPILED: LazyLock<Vec<LogFormat>> =
    LazyLock::new(|| FORMATS.iter().filter_map(|text| LogFormat::parse(text).ok()).collect());

/// Lines under every kind of format: the fast path and the general one agree, and a parser that has
/// read other lines before gives the same answer as a fresh one.
pub fn line(data: &[u8]) {
    assert_eq!(COMPILED.len(), FORMATS.len(), "a format of this target no longer compiles");
    COMPILED.iter().for_each(|format| parse_both_ways(format, data));
}

fn parse_both_ways(format: &LogFormat, data: &[u8]) {
    // Columns that a line changes are for those who read all lines in order.
    let strict = || LogParser::new(format).strict();
    let mut used = strict();
    for line in data.split(|byte| *byte == b'\n') {
        let (mut fresh, mut general) = (strict(), strict());
        let outcome = used.parse(line);
        if format.source() == "w3c" {
            // Without columns of its own it has those of the first line that says any.
            continue;
        }
        assert_eq!(outcome, fresh.parse(line), "{}: a used parser answers differently", format.source());
        assert_eq!(outcome, general.parse_slow(line), "{}: the two paths differ", format.source());
        match outcome {
            LineOutcome::Parsed(record) | LineOutcome::Repaired(record, _) => {
                assert!(record.status == 0 || (100..=999).contains(&record.status), "{record:?}");
                // What is written of it may read as another record where the line was odd, but
                // never fails.
                drop(format.line(&record, None));
            }
            LineOutcome::Rejected(flaw) => assert!(!flaw.to_string().is_empty()),
            // A directive of W3C's format says nothing of a request, after a hole of NULs as well.
            LineOutcome::Blank => {
                let text = &line[line.iter().take_while(|byte| **byte == 0).count()..];
                let directive = text.starts_with(b"\xef\xbb\xbf") || text.starts_with(b"#");
                assert!(line.trim_ascii().is_empty() || directive, "{}: passed over", format.source());
            }
        }
    }
}

/// The first line is a format string, compiled and then used on the other lines.
pub fn format(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let text = String::from_utf8_lossy(&data[..end]);
    match LogFormat::parse(&text) {
        Ok(format) => {
            let lines = data.get(end + 1..).unwrap_or_default();
            parse_both_ways(&format, lines);
            preview(&format, lines, 5);
            assert!(format.fields().all(|field| format.has(field)));
        }
        Err(error) => assert!(error.column() >= 1 && error.column() <= text.len() + 1, "{text:?}: {error}"),
    }
}

/// A server's configuration; every format in it reads a few lines.
pub fn config(data: &[u8]) {
    for (_name, format) in formats_in_config(&String::from_utf8_lossy(data)) {
        match format {
            Ok(format) => parse_both_ways(&format, LINES),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

const LINES: &[u8] =
    b"127.0.0.1 - - [17/May/2015:10:05:03 +0000] \"GET /a?b HTTP/1.1\" 200 17 \"-\" \"curl/8.5.0\"\n{\"status\":200}\n";

/// A log's beginning, whose format is looked for.
pub fn detect(data: &[u8]) {
    let extra = COMPILED.get(4..6).unwrap_or_default();
    match detect_format(data, extra) {
        Ok(found) => {
            assert!(found.sound <= found.lines && found.lines <= SAMPLE_LINES_MAX, "{found:?}");
            assert!(preview(&found.format, data, 5).len() <= 5);
        }
        Err(unknown) => assert!(unknown.lines.len() <= 5),
    }
}

/// A user agent, which is a referrer as well.
pub fn agent(data: &[u8]) {
    let agent = classify(data);
    assert!(agent.bot.is_none() || (agent.browser.is_empty() && agent.os.is_empty()), "{agent:?}");
    assert!(agent.bot.is_none_or(|bot| !bot.is_empty() && bot.len() <= 200));
    let site = referring_site(data);
    assert!(site.len() <= data.len() && !site.contains(&b'/'));
}

/// A table with a column of each unit, whose names are a word of filters, odd, and alike.
static TABLE: LazyLock<Schema> = LazyLock::new(|| {
    let units = [NumberUnit::Bytes, NumberUnit::Seconds, NumberUnit::Integer, NumberUnit::Float, NumberUnit::Moment];
    let texts = ["a", "A", "in", "b c"].map(|name| OwnColumn { name: name.to_owned(), unit: None });
    let number = |unit| OwnColumn { name: format!("{unit:?}"), unit: Some(unit) };
    Schema::table(texts.into_iter().chain(units.map(number)).collect(), true)
});

/// Columns with a value for any text.
struct AnyValue;

impl ColumnValueSource for AnyValue {
    fn values_like(&self, _: TextColumn, text: &str) -> ValuesSeen {
        ValuesSeen { equal: vec![text.to_owned()], contains: true, contains_in_any_case: true }
    }

    fn times_us(&self) -> Option<(i64, i64)> {
        Some((0, 1 << 51))
    }
}

/// Any text is read as filters that can be written and read again.
fn typed(text: &str, schema: &Schema) {
    // Written, a longer one may be beyond the longest filter.
    if text.len() > 8 << 10 {
        return;
    }
    let typed = suggest::read(text, &TypedContext { schema, values: &AnyValue, zone_seconds: 3_600 });
    let parts = typed.parts.iter().flat_map(|part| &part.readings);
    for reading in parts.chain(&typed.whole).chain(&typed.filter) {
        let written = schema.written(&reading.filter);
        assert_eq!(schema.filter(&written).map(|filter| schema.written(&filter)), Ok(written));
    }
}

/// A filter is written so that it reads as the same, and can be asked of any line; so are the
/// filters that any other text may mean.
pub fn filter(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    typed(&text, &TABLE);
    typed(&text, Schema::access_log());
    if let Ok(filter) = TABLE.filter(&text) {
        assert_eq!(TABLE.filter(&TABLE.written(&filter)).as_ref(), Ok(&filter));
    }
    let Ok(filter) = Filter::parse(&text) else { return };
    assert_eq!(Filter::parse(&Schema::access_log().written(&filter)).as_ref(), Ok(&filter));
    let mut matcher = Matcher::new(Arc::new(filter));
    let mut parser = LogParser::new(&COMPILED[1]);
    let line = br#"10.0.0.1 - u [02/Jan/2025:00:00:00 +0000] "GET /a?b HTTP/1.1" 200 5 "http://x.example/" "curl/8""#;
    if let LineOutcome::Parsed(record) = parser.parse(line) {
        matcher.meets(&Subject { record: Some(&record), flaw: "", line: b"" });
    }
    matcher.meets(&Subject { record: None, flaw: "not a JSON object", line: b"not JSON" });
}

/// A size as people write them: what is read is written, and read again to within three digits.
pub fn size(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(bytes) = parse_size(text) else { return };
    // Beyond, the rounded text may not fit 64 bits.
    if bytes >= 1 << 63 {
        return;
    }
    let again = parse_size(&format_size(bytes)).expect("what we write, we read");
    assert!(again.abs_diff(bytes) as f64 <= bytes as f64 * 0.006, "{text:?}: {bytes} and {again}");
}

/// A list of checksums: every entry is written and read again, and reading it in pieces gives the
/// same lines.
pub fn checksums(data: &[u8]) {
    let lines: Vec<ListLine> =
        ListLines::new(data, ListParser::new(None)).map(|line| line.expect("a slice does not fail").1).collect();
    let in_pieces = std::io::BufReader::with_capacity(7, data);
    let again = ListLines::new(in_pieces, ListParser::new(None)).map(|line| line.expect("a slice does not fail").1);
    assert!(lines.iter().cloned().eq(again), "{lines:?}");
    // The first line's end is that of all: a newline, or the NUL of `sha256sum -z`.
    let end = data.iter().find(|byte| matches!(byte, 0 | b'\n')).copied().unwrap_or(b'\n');
    assert_eq!(lines.len(), data.split_inclusive(|byte| *byte == end).count());
    for line in &lines {
        let ListLine::Entry { digest, name, .. } = line else { continue };
        assert_eq!(digest.as_bytes().len(), digest.algorithm().digest_bytes());
        let (escaped, marked) = escape(name);
        let mark: &[u8] = if marked { b"\\" } else { b"" };
        let written = [mark, digest.to_string().as_bytes(), b"  ", &escaped].concat();
        let meant = ListLine::Entry { digest: *digest, others: Vec::new(), name: name.clone() };
        assert_eq!(ListParser::new(Some(digest.algorithm())).line(&written), meant, "{}", written.escape_ascii());
    }
}

/// Lines that blocks were cut through, against lines of the whole. The first three bytes choose the
/// line limit, the sizes of the blocks and the number of threads.
pub fn framing(data: &[u8]) {
    let Some((&[limit, cuts, threads], data)) = data.split_first_chunk::<3>() else { return };
    if looks_encoded(data) {
        return;
    }
    let line_bytes_max = 1 + usize::from(limit % 48);
    // With the fewest buffers that a run may have, so that leases that are not given back show as a
    // hang.
    let pool = BufferPool::new(buffer_bytes(line_bytes_max), 3);
    let input = Input::from_source("fuzz", Box::new(Blocks::new(data, cuts, &pool, line_bytes_max)));
    let plan = RunPlan { framing: Framing::Lines { line_bytes_max }, zstd_window_log_max: 20 };
    let mut lines = Vec::new();
    let sink = |seen: Vec<SeenLine>| {
        lines.extend(seen);
        Ok(())
    };
    let stages = vec![Collect; 1 + usize::from(threads % 2)];
    let finish = run(input, &plan, &pool, &Control::default(), |_| Some(stages), sink);
    assert!(finish.error.is_none(), "{:?}", finish.error);
    assert_eq!(lines, naive_lines(data, line_bytes_max));
    assert_eq!(pool.lent(), 0, "a buffer did not come home");
}

/// First bytes of compressed files.
fn looks_encoded(head: &[u8]) -> bool {
    rorqual_pipe::decode::Encoding::detect(head) != rorqual_pipe::decode::Encoding::Plain
}

/// One line as a stage sees it: its offset, its bytes, and whether it is over-long.
type SeenLine = (u64, Vec<u8>, bool);

fn naive_lines(data: &[u8], line_bytes_max: usize) -> Vec<SeenLine> {
    let mut offset = 0;
    let mut lines = Vec::new();
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        lines.push((offset, text[..text.len().min(line_bytes_max)].to_vec(), text.len() > line_bytes_max));
        offset += line.len() as u64;
    }
    lines
}

/// A text in blocks whose sizes follow from one number.
struct Blocks {
    rest: Bytes,
    state: u8,
    pool: BufferPool,
    headroom: usize,
}

impl Blocks {
    fn new(data: &[u8], seed: u8, pool: &BufferPool, headroom: usize) -> Self {
        Self { rest: Bytes::copy_from_slice(data), state: seed, pool: pool.clone(), headroom }
    }
}

impl BlockSource for Blocks {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.state = self.state.wrapping_mul(13).wrapping_add(7);
        let piece = self.rest.split_to(self.rest.len().min(1 + usize::from(self.state % 61)));
        let mut lease = self.pool.lease().map_err(|cause| Error::io("fuzz", "cannot lease", cause))?;
        let range = self.headroom..self.headroom + piece.len();
        lease[range.clone()].copy_from_slice(&piece);
        Ok(Some(FilledBlock { lease, range }))
    }
}

#[derive(Debug, Clone, Copy)]
struct Collect;

impl Stage for Collect {
    type Output = Vec<SeenLine>;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Vec<SeenLine>, Error> {
        Ok(chunk.lines().map(|line| (chunk.offset + line.start as u64, line.bytes.to_vec(), line.long)).collect())
    }
}

/// Decoded bytes after which a target has seen enough of a bomb.
const DECODED_BYTES_MAX: u64 = 4 << 20;

/// Stored bytes, compressed or not: no panic, a bounded run, and the same answer in one piece and
/// in many. Of damaged data only the damage must be seen both ways: how much flate2 gives before it
/// depends on how the data arrives.
pub fn decode(data: &[u8]) {
    let pool = BufferPool::new(buffer_bytes(0), 4);
    let whole = count(Input::from_reader("fuzz", Box::new(Cursor::new(data.to_vec()))), &pool);
    let cut = count(Input::from_source("fuzz", Box::new(Blocks::new(data, data.len() as u8, &pool, 0))), &pool);
    if let (Some((whole, whole_error)), Some((cut, cut_error))) = (whole, cut) {
        assert_eq!(whole_error.is_some(), cut_error.is_some(), "{whole_error:?} or {cut_error:?}");
        assert!(whole_error.is_some() || whole == cut, "{whole:?} is not {cut:?}");
    }
}

/// Counts of an input, and the error that ended it; `None` when it was stopped as too long.
fn count(input: Input, pool: &BufferPool) -> Option<((u64, u64, u64), Option<String>)> {
    let plan = RunPlan { framing: Framing::Bytes, zstd_window_log_max: 20 };
    let control = Control::default();
    let mut total = ByteCounts::default();
    let sink = |counted: ByteCounts| {
        total = total.then(counted);
        if control.decoded_bytes() > DECODED_BYTES_MAX {
            control.stop();
        }
        Ok(())
    };
    let finish = run(input, &plan, pool, &control, |_| Some(vec![Counter { longest: true, ..Counter::default() }]), sink);
    assert_eq!(pool.lent(), 0, "a buffer did not come home");
    let counts = (total.newlines, total.bytes, total.longest_bytes());
    (!control.stopped()).then(|| (counts, finish.error.map(|error| error.to_string())))
}

/// A whole analysis: every line is in one of the counts, and the report is JSON. The first byte
/// chooses the line limit.
pub fn analyze(data: &[u8]) {
    let Some((&limit, data)) = data.split_first() else { return };
    if looks_encoded(data) {
        return;
    }
    let line_bytes_max = 64 + usize::from(limit) * 8;
    let settings = AnalyzeSettings {
        memory_bytes: 64 << 20,
        threads: Some(1),
        line_bytes_max,
        span: SpanFilter::default(),
        formats: Formats::default(),
        feed_buffers: 0,
        kept: None,
        countries: None,
    };
    let shares = settings.shares(0, 1).expect("64 MiB are enough for one thread");
    let analyzer = Analyzer::new(&settings, shares, Options::default());
    let input = Input::from_reader("fuzz", Box::new(Cursor::new(data.to_vec())));
    let sources = match analyzer.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None) {
        Ok(ran) => {
            assert!(ran.error.is_none(), "{:?}", ran.error);
            vec![ran.source]
        }
        Err(AnalyzeError::UnknownFormat { .. }) => return,
    };
    let report = serde_json::to_value(analyzer.report(sources, true, 10)).expect("a report is JSON");
    let lines = |name: &str| report["lines"][name].as_u64().expect("a count");
    let newlines = data.split_inclusive(|byte| *byte == b'\n').count() as u64;
    // A hole of more NULs than a line may have ends its line, too.
    let has_hole = data.split(|byte| *byte != 0).any(|run| run.len() > line_bytes_max);
    assert!(lines("total") == newlines || (has_hole && lines("total") > newlines), "{newlines} of {report}");
    assert_eq!(lines("total"), lines("parsed") + lines("rejected") + lines("outside") + lines("blank"), "{report}");
    assert!(lines("repaired") <= lines("parsed"), "{report}");
    let statuses: u64 = report["status"].as_array().into_iter().flatten().filter_map(|row| row["hits"].as_u64()).sum();
    assert!(statuses <= lines("parsed"), "{report}");
    assert_eq!(analyzer.pool().lent(), 0, "a buffer did not come home");
}

/// JSON, a record a line: which records are sound is what `serde_json` says, inferring and decoding
/// agree, and every record is a row or is bad. The first byte chooses the blocks of the splitters,
/// which find the same records whatever the blocks are.
pub fn json(data: &[u8]) {
    let Some((&cuts, data)) = data.split_first() else { return };
    // An encoding is told by four bytes: of shorter blocks it may be something else that is said to
    // be wrong.
    for layout in [Layout::Documents, Layout::Array, Layout::Rows(vec!["a".into()])] {
        assert_eq!(split(data, &layout, 4 + usize::from(cuts)), split(data, &layout, data.len().max(1)), "{layout:?}");
    }
    let mut chunk = Chunk::empty(0, usize::MAX);
    chunk.bytes = Bytes::copy_from_slice(data);
    // An encoding that is not UTF-8 is an error.
    let Ok(inferred) = JsonInferrer::new(&Layout::Lines).infer(&chunk) else { return };
    let (sound, bad) = count_sound(data);
    assert_eq!(inferred.bad.len(), bad, "{:?}", inferred.bad);
    for rest in [false, true] {
        let schema = inferred.shape.to_schema(rest);
        let decoded =
            JsonDecoder::new(&Layout::Lines, &schema, Unplaced::Keep, 32 << 20).decode(&chunk).expect("a schema of its own");
        assert_eq!((&decoded.bad, &decoded.misfit), (&inferred.bad, &None));
        assert_eq!(decoded.batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), sound);
    }
}

/// Lines that are JSON, and other ones that are not blank.
fn count_sound(data: &[u8]) -> (usize, usize) {
    let data = data.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(data);
    let is_blank = |line: &&[u8]| line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let lines = data.split(|byte| *byte == b'\n').filter(|line| !is_blank(line));
    let is_sound = |line: &[u8]| {
        let text = std::str::from_utf8(line);
        text.is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
    };
    let (sound, bad): (Vec<_>, Vec<_>) = lines.partition(|line| is_sound(line));
    (sound.len(), bad.len())
}

/// Starts and ends of the records, and the end of the input.
fn split(data: &[u8], layout: &Layout, block_bytes: usize) -> (Option<usize>, usize, Result<(), SplitError>) {
    let mut splitter = JsonSplitter::new(layout);
    let (mut first, mut end, mut start) = (None, 0, 0);
    for block in data.chunks(block_bytes) {
        match splitter.split(block) {
            Ok(split) if !split.records.is_empty() => {
                first = first.or(Some(start + split.records.start));
                end = start + split.records.end;
            }
            Ok(_) => {}
            Err(fault) => return (first, end, Err(fault)),
        }
        start += block.len();
    }
    (first, end, splitter.finish())
}

/// CSV whose dialect is found out: wherever blocks end, there are the same records, columns, rows
/// and bad records. The first byte chooses the blocks.
pub fn csv(data: &[u8]) {
    let Some((&cuts, data)) = data.split_first() else { return };
    let head = ScanHead { bytes: data.to_vec(), whole: true, ..ScanHead::default() };
    let given = FormatHints { kind: Some(FormatKind::Csv), ..FormatHints::default() };
    let Ok(Recognised { format, .. }) = RecordFormat::detect("fuzz", &head, &given) else { return };
    let (whole, cut) = (ends(&format, data, data.len().max(1)), ends(&format, data, 1 + usize::from(cuts)));
    let (Ok(whole), Ok(cut)) = (&whole, &cut) else {
        assert_eq!(whole.is_err(), cut.is_err(), "{whole:?} or {cut:?}");
        return;
    };
    assert_eq!(csv_rows(&format, data, whole), csv_rows(&format, data, cut));
}

/// End of the last record of each block, and of the input.
fn ends(format: &RecordFormat, data: &[u8], block_bytes: usize) -> Result<Vec<usize>, SplitError> {
    let mut splitter = format.splitter().expect("records of CSV are no lines");
    let (mut ends, mut start) = (Vec::new(), 0);
    for block in data.chunks(block_bytes) {
        let split = splitter.split(block)?;
        ends.extend(split.last_end.map(|end| start + end));
        start += block.len();
    }
    splitter.finish()?;
    ends.push(data.len());
    Ok(ends)
}

/// The columns, the rows as JSON, and the records that are none.
fn csv_rows(format: &RecordFormat, data: &[u8], ends: &[usize]) -> (String, String, Vec<BadRecord>) {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let chunks: Vec<Chunk> = starts.zip(ends).map(|(start, end)| stretch(data, start, *end)).collect();
    let mut shape = Shape::default();
    let mut infer = format.infer().expect("CSV does not say its columns");
    chunks.iter().for_each(|chunk| shape.merge(infer.infer(chunk).expect("memory").shape));
    let schema = shape.to_schema(false);
    let mut decoder = format.decoder(&schema, Unplaced::Keep, 1 << 20);
    let (mut lines, mut bad) = (Vec::new(), Vec::new());
    for chunk in &chunks {
        let mut start = Some(0);
        while let Some(from) = start {
            let decoded = decoder.decode(&chunk.from(from)).expect("columns of its own");
            assert_eq!(decoded.misfit, None);
            decoded.batches.iter().for_each(|batch| JsonRows::new(batch).expect("types of ours").lines(&mut lines));
            bad.extend(decoded.bad);
            start = decoded.rest.map(|rest| from + rest);
        }
    }
    (format_schema(&schema), String::from_utf8(lines).expect("JSON is UTF-8"), bad)
}

fn stretch(data: &[u8], start: usize, end: usize) -> Chunk {
    let mut chunk = Chunk::empty(start as u64, usize::MAX);
    chunk.bytes = Bytes::copy_from_slice(&data[start..end]);
    chunk
}

/// A schema that is read is written as a text that reads as the same.
pub fn schema(data: &[u8]) {
    let Ok(schema) = parse_schema(&String::from_utf8_lossy(data)) else { return };
    let text = format_schema(&schema);
    let again = parse_schema(&text).expect("what is written is read");
    assert_eq!(format_schema(&again), text);
}

/// A path to rows that is read is written as one that reads as the same.
pub fn path(data: &[u8]) {
    let Ok(rows) = parse_rows(&String::from_utf8_lossy(data)) else { return };
    assert_eq!(parse_rows(&format_rows(&rows)), Ok(rows));
}

/// A file of columns: its rows come in batches that are bounded, or there is an error.
pub fn tables(data: &[u8]) {
    const MEMORY_BYTES: u64 = 16 << 20;
    /// Any number of rows may take no bytes.
    const BATCHES_MAX: usize = 1000;
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(data).expect("room for a small file");
    let Ok(Some(table)) = TableFile::open(file, "fuzz", MEMORY_BYTES) else { return };
    let Ok(batches) = table.batches(None, &RowChoice::All) else { return };
    for batch in batches.take(BATCHES_MAX).map_while(Result::ok) {
        assert!(batch.num_rows() <= BATCH_ROWS_MAX, "{} rows", batch.num_rows());
    }
}
