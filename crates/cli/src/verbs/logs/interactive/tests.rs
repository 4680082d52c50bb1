//! The explorer without a terminal: keys and answers of real rows, and the cells that it draws.

use super::draw::{ScreenCells, ScreenPalette, draw};
use super::question::AnsweredQuestion;
use super::state::{Explorer, ExplorerEvent, ExplorerMode, ExplorerStep, ReadingState};
use crate::args::{Cli, Common, LogsArgs, Verb};
use crate::verbs::logs::explore::FormatRows;
use clap::Parser;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use rorqual_pipe::Control;
use std::sync::Arc;

const SAMPLE: &str = "../../samples/apache_combined.log";

/// An explorer whose questions are answered at once.
struct TestExplorer {
    explorer: Explorer,
    rows: Arc<FormatRows>,
}

fn parsed(args: &[&str]) -> (Common, LogsArgs) {
    let args = ["rorqual", "logs", "-i", "--memory", "256MiB", "--threads", "1"].iter().chain(args);
    let cli = Cli::try_parse_from(args).expect("sound arguments");
    let Verb::Logs(args) = cli.verb else { panic!("it is logs") };
    (cli.common, args)
}

impl TestExplorer {
    fn of(args: &[&str], size: (u16, u16)) -> Self {
        let (common, args) = parsed(args);
        let settings = crate::verbs::logs::settings(&common, &args).expect("sound settings");
        let (analyzer, rows) = crate::verbs::logs::analyzer(&settings, &args, None).expect("there is room");
        let (sources, _) = crate::verbs::logs::run_files(&common, &args.files, &analyzer, &Control::default(), &mut None);
        assert!(sources.iter().all(|source| source.error.is_none()), "{sources:?}");
        let rows = rows.expect("rows are kept");
        let command = super::command::LogCommand::new(&args, settings.span);
        let explorer = Explorer::new("a.log".to_owned(), command);
        let mut made = Self { explorer, rows };
        let reading = ReadingState { has_rows: true, is_done: true, ..ReadingState::default() };
        let schema = made.rows.store().map(|store| store.schema());
        made.explorer.update(ExplorerEvent::Resize(size.0, size.1));
        made.explorer.update(ExplorerEvent::Reading(reading, schema));
        made.answer();
        made
    }

    fn sample(size: (u16, u16)) -> Self {
        Self::of(&[SAMPLE], size)
    }

    /// Answers until nothing is lacking.
    fn answer(&mut self) {
        for _ in 0..10 {
            let Some(question) = self.explorer.need() else { return };
            let answer = question.ask(&self.rows, &Control::default()).expect("nobody stops it");
            self.explorer.update(ExplorerEvent::Answered(Box::new(AnsweredQuestion { question, answer })));
        }
        panic!("it asks without an end: {:?}", self.explorer.need());
    }

    fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) -> ExplorerStep {
        let step = self.explorer.update(ExplorerEvent::Key(KeyEvent::new(code, modifiers)));
        self.answer();
        step
    }

    /// Presses keys: `⏎` is Enter, `⇥` Tab, `→` and so on, `⎋` Esc, `⌫` Backspace.
    fn press(&mut self, keys: &str) -> &mut Self {
        for key in keys.chars() {
            let code = match key {
                '⏎' => KeyCode::Enter,
                '⇥' => KeyCode::Tab,
                '⎋' => KeyCode::Esc,
                '⌫' => KeyCode::Backspace,
                '→' => KeyCode::Right,
                '←' => KeyCode::Left,
                '↓' => KeyCode::Down,
                '↑' => KeyCode::Up,
                letter => KeyCode::Char(letter),
            };
            assert_eq!(self.key(code, KeyModifiers::NONE), ExplorerStep::Stay, "{keys}");
        }
        self
    }

    fn lines(&self) -> u64 {
        self.explorer.overview.counted.as_ref().expect("it was counted").lines.total
    }

    fn buffer(&self, has_colours: bool) -> Buffer {
        let (width, height) = self.explorer.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        draw(&self.explorer, &mut ScreenCells { buffer: &mut buffer, palette: ScreenPalette { has_colours } });
        buffer
    }

    fn text(&self) -> String {
        text(&self.buffer(true))
    }

    fn shows(&self, texts: &[&str]) {
        let screen = self.text();
        texts.iter().for_each(|text| assert!(screen.contains(text), "no {text:?} in\n{screen}"));
    }
}

fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    let rows = rows.map(|row| row.iter().map(ratatui_core::buffer::Cell::symbol).collect::<String>().trim_end().to_owned());
    rows.collect::<Vec<String>>().join("\n")
}

#[test]
fn the_overview_has_its_parts_at_any_size() {
    for (size, panels, two) in [((80, 24), 2, false), ((120, 40), 4, false), ((160, 50), 10, true)] {
        let test = TestExplorer::sample(size);
        test.shows(&[
            "a.log  10,000 lines",
            "no filter",
            "lines per",
            "2xx 9,",
            "Statuses  8 values",
            "Paths  1,368 values",
            "9,126",
            "2015-05-17",
        ]);
        let screen = test.text();
        let has_two = screen.lines().any(|line| line.starts_with("Statuses") && line.matches(" values").count() == 2);
        assert_eq!((screen.matches(" values").count(), has_two), (panels, two), "{screen}");
    }
}

#[test]
fn numbers_before_the_last_row_are_told() {
    let mut test = TestExplorer::sample((80, 24));
    assert!(!test.text().contains("counting"));
    test.explorer.update(ExplorerEvent::Refresh);
    test.shows(&["counting … ? help"]);
    test.answer();
    assert!(!test.text().contains("counting"));
    test.explorer.place.go(test.explorer.place.zoomed((0, 1)));
    test.shows(&["counting … ? help"]);
}

#[test]
fn without_colours_classes_differ_by_their_blocks() {
    let test = TestExplorer::sample((120, 40));
    let buffer = test.buffer(false);
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let screen = text(&buffer);
    for sign in ["░ 2xx", "▒ 3xx", "▓ 4xx", "█ 5xx"] {
        assert!(screen.contains(sign), "no {sign} in\n{screen}");
    }
    assert!(test.buffer(true).content.iter().any(|cell| cell.fg == Color::Cyan));
}

#[test]
fn a_small_terminal_is_told_the_size_that_is_needed() {
    let mut test = TestExplorer::sample((79, 24));
    assert_eq!(test.text().trim_end(), "80x24 are needed, this is 79x24\nEnlarge the window; q quits");
    test.explorer.update(ExplorerEvent::Resize(80, 24));
    test.answer();
    test.shows(&["10,000 lines"]);
    assert_eq!(test.key(KeyCode::Char('q'), KeyModifiers::NONE), ExplorerStep::Quit);
}

#[test]
fn a_filter_is_typed_undone_and_cleared() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("/status = 404⏎");
    assert_eq!(test.lines(), 213);
    test.shows(&["213 of 10,000 lines, 2.1 %", "filter status = 404"]);
    test.press("/ and method = HEAD⏎");
    let both = test.lines();
    assert!(both > 0 && both < 213, "{both}");
    assert_eq!(test.press("⌫").lines(), 213);
    assert_eq!(test.press("c").lines(), 10_000);
    assert_eq!(test.press("u").lines(), 213);
    assert_eq!(test.press("/⎋").lines(), 213, "Esc changes nothing");
}

#[test]
fn a_fault_of_a_filter_is_told_and_the_line_stays() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("/statsu = 404⏎");
    test.shows(&["did you mean", "filter or text: statsu = 404"]);
    assert_eq!(test.lines(), 10_000);
    for _ in 0.."statsu = 404".len() {
        test.press("⌫");
    }
    assert_eq!(test.press("status = 404⏎").lines(), 213);
}

#[test]
fn a_plain_text_is_read_as_filters() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("/404⏎");
    test.shows(&["'404' may mean", "213 lines  status = 404"]);
    assert_eq!(test.press("⏎").lines(), 213);
    assert_eq!(test.explorer.mode, ExplorerMode::Overview);
    test.press("c/qqqqzzzz⏎");
    test.shows(&["No line has it."]);
}

#[test]
fn values_are_chosen_left_out_and_taken_back() {
    let mut test = TestExplorer::sample((80, 24));
    // Of the statuses 200, 304, 404.
    test.press("⇥jj⏎");
    assert_eq!(test.lines(), 213);
    test.shows(&["filter status = 404", "●", "9,126"]);
    test.press("k⏎");
    assert_eq!((test.lines(), test.explorer.written().as_str()), (445, "status = 304"));
    test.press("⏎");
    assert_eq!(test.lines(), 10_000, "the same again takes it out");
    test.press("x");
    assert_eq!((test.lines(), test.explorer.written().as_str()), (9_555, "status != 304"));
    // On to the paths, and back beyond the top of them.
    test.press("l");
    assert_eq!(test.explorer.overview.focus.as_deref(), Some("path"));
    test.press("k");
    assert_eq!(test.explorer.overview.focus.as_deref(), Some("status"));
}

#[test]
fn a_span_is_marked_and_zoomed_into() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("⏎");
    test.shows(&["choose a span"]);
    test.press("→→→v→→");
    let hits: u64 = test.explorer.overview.selected_hits().iter().sum();
    let (from, to) = test.explorer.overview.selection().expect("a span");
    let span = test.explorer.overview.columns.as_ref().expect("columns").span;
    assert_eq!(to - from, 3 * span);
    test.shows(&["━━▲"]);
    test.press("⏎");
    assert_eq!(test.lines(), hits);
    test.shows(&["zoom 2015-05-17"]);
    assert_eq!(test.press("u").lines(), 10_000);
    test.key(KeyCode::Right, KeyModifiers::SHIFT);
    test.key(KeyCode::Right, KeyModifiers::SHIFT);
    let (from, to) = test.explorer.overview.selection().expect("a span");
    assert_eq!(to - from, 2 * span);
    test.press("⎋");
    assert_eq!(test.explorer.overview.selection(), None);
}

#[test]
fn lines_are_read_as_in_less() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("L");
    test.shows(&["83.149.9.216 - - [17/May/2015:10:05:03 +0000]", "line 1 of 10,000"]);
    test.press("G");
    test.shows(&["line 10,000 of 10,000"]);
    test.press("g/robots.txt⏎");
    let first = test.explorer.lines.cursor;
    assert!(first > 0 && test.explorer.lines.row().expect("a row").line.contains("robots.txt"));
    test.press("n");
    let second = test.explorer.lines.cursor;
    assert!(second > first && test.explorer.lines.row().expect("a row").line.contains("robots.txt"));
    assert_eq!(test.press("N").explorer.lines.cursor, first);
    test.press("N");
    test.shows(&["no other line in this direction has it"]);
    assert_eq!(test.press("q").explorer.mode, ExplorerMode::Overview);
}

#[test]
fn lines_are_sorted_by_a_column() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("Lr");
    test.shows(&["s sorts the lines"]);
    let cell = |test: &TestExplorer| test.explorer.lines.row().expect("a row").clone();
    let sample = std::fs::read_to_string(SAMPLE).expect("the sample");
    let after_quotes =
        |line: &str| line.split("\" ").nth(1).and_then(|rest| rest.split(' ').nth(1)).and_then(|size| size.parse().ok());
    let largest: u64 = sample.lines().filter_map(after_quotes).max().expect("sizes");
    assert_eq!(cell(test.press("s")).bytes, Some(largest));
    test.shows(&["line 1 of 10,000  bytes, largest first"]);
    let second = cell(test.press("j")).bytes.expect("a size");
    assert!(second <= largest && second > 1_000_000, "{second}");
    // A text is looked for in the order that is shown.
    let found = cell(test.press("g/robots.txt⏎")).bytes;
    assert!(test.explorer.lines.cursor > 0 && found <= Some(second) && cell(&test).line.contains("robots.txt"));
    assert!(cell(test.press("n")).bytes <= found);
    test.press("r");
    test.shows(&["line 1 of 10,000  bytes, smallest first"]);
    assert!(cell(&test).bytes.is_some_and(|bytes| bytes < 100));
    test.press("s");
    test.shows(&["time, latest first"]);
    let last = sample.lines().filter(|line| line.contains("[20/May/2015:21:05:59 ")).count();
    assert!(last > 0 && cell(&test).line.contains("[20/May/2015:21:05:59 "), "{}", cell(&test).line);
    test.press("s");
    assert_eq!((test.explorer.lines.order.as_ref(), &cell(&test).line.as_str()), (None, &sample.lines().next().expect("a line")));
    test.press("Snothing⏎");
    test.shows(&["the lines cannot be sorted by 'nothing'", "sort by column: nothing"]);
    test.press("⎋SPath⏎");
    test.shows(&["path, A first"]);
    assert_eq!(cell(&test).path, "/");
    // A filter keeps the order, and a look around a line is in that of the log.
    test.press("&status = 404⏎");
    test.shows(&["line 1 of 213  path, A first"]);
    test.press("jjt");
    assert_eq!(test.explorer.lines.order, None);
}

#[test]
fn an_order_has_the_first_ten_thousand_lines() {
    let folder = rorqual_testkit::folder::TestFolder::new();
    let line = |number: u64| format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 {number} \"-\" \"-\"\n");
    let file = folder.file("log", (0..10_050).map(line).collect::<String>());
    let mut test = TestExplorer::of(&[&file], (80, 24));
    test.press("Ls");
    test.shows(&["line 1 of the first 10,000 of 10,050  bytes, largest first", "200 10049"]);
    test.press("G");
    test.shows(&["line 10,000 of the first 10,000 of 10,050", "200 50 "]);
}

#[test]
fn long_lines_are_wrapped_and_none_is_passed_over() {
    let mut test = TestExplorer::sample((80, 24));
    let sample = std::fs::read_to_string(SAMPLE).expect("the sample");
    let first = sample.lines().next().expect("a line");
    test.press("L");
    assert!(first.len() > 160 && !test.text().contains(&first[first.len() - 20..]));
    test.press("w");
    let rows: Vec<String> = test.text().lines().skip(2).map(|row| row.chars().skip(1).collect()).collect();
    let count = first.len().div_ceil(79);
    let whole: String = rows[..count].iter().map(|row| format!("{row:<79}")).collect();
    assert_eq!(whole.trim_end(), first, "{rows:?}");
    let range = |test: &TestExplorer| test.explorer.lines.shown_wrapped(79, test.explorer.height()).expect("lines");
    let mut end = range(&test).end;
    for _ in 0..30 {
        test.press(" ");
        assert_eq!(range(&test).start, end, "the first of this screen is after the last of the one before");
        end = range(&test).end;
    }
    let mut start = range(&test).start;
    while start > 0 {
        test.press("b");
        let now = range(&test);
        assert!(now.start < start && now.end >= start && now.contains(&test.explorer.lines.cursor), "{now:?} {start}");
        start = now.start;
    }
    test.press("G");
    test.shows(&["line 10,000 of 10,000"]);
    assert!(range(&test).contains(&9_999));
    test.press("w");
    assert!(!test.explorer.lines.is_wrapped);
}

#[test]
fn a_line_has_its_fields_and_leads_on() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("Ljj⏎");
    test.shows(&["client", "83.149.9.216", "browser", "status", "200", "path"]);
    let place = test.explorer.record.as_ref().expect("a record").row.place.clone();
    test.press("C");
    assert_eq!(test.explorer.written(), "client = 83.149.9.216");
    assert_eq!(test.explorer.lines.row().expect("a row").place, place, "the cursor is on the same line");
    let of_client = test.explorer.lines.total();
    test.press("q");
    assert_eq!(test.lines(), of_client);
    test.press("Lt");
    let (from, to) = (test.explorer.place.view.from_us.expect("a span"), test.explorer.place.view.to_us.expect("a span"));
    assert_eq!(to - from, 60_000_001);
    // Enter on a field filters by it: the first is the time, the second the client.
    test.press("oj⏎");
    assert!(test.explorer.written().starts_with("client = "), "{}", test.explorer.written());
    assert_eq!(test.explorer.mode, ExplorerMode::Lines);
}

#[test]
fn a_span_is_explained_and_a_finding_filters() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("e");
    test.shows(&["choose a span of time first"]);
    test.press("/hour = 12 or hour = 13⏎");
    test.press("c");
    // 2015-05-19 12:00 to 14:00, as the document of `--explain` has it.
    test.explorer.overview.cursor = Some(1_432_036_800);
    test.explorer.overview.mark = Some(1_432_036_800 + 3_600);
    test.press("e");
    test.shows(&["What sets 2015-05-19", "apart", "of the span", "of the rest", "lines"]);
    let entry = test.explorer.list.as_ref().and_then(|list| list.entry()).cloned().expect("a finding");
    test.press("⏎");
    assert_eq!(
        test.explorer.filter(&entry.filter).map(|filter| test.explorer.schema.written(&filter)),
        Ok(test.explorer.written())
    );
    assert!(test.lines() < 10_000);
}

#[test]
fn metrics_change_their_order_and_a_value_filters() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("s");
    test.shows(&["s shows metrics of a panel's values"]);
    test.press("⇥⇥s");
    test.shows(&["path by hits", "hits▾", "errors", "/favicon.ico", "807"]);
    test.press("s");
    test.shows(&["path by errors", "errors▾"]);
    let value = test.explorer.list.as_ref().and_then(|list| list.entry()).cloned().expect("a value");
    test.press("⏎");
    assert_eq!(test.explorer.written(), value.filter);
}

#[test]
fn findings_of_the_log_are_listed() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("f");
    test.shows(&["Unusual spans of the whole log", "windows of time"]);
    assert_eq!(test.press("q").explorer.mode, ExplorerMode::Overview);
}

#[test]
fn help_has_all_keys_and_any_key_leaves_it() {
    let mut test = TestExplorer::sample((80, 24));
    test.press("?");
    test.shows(&["Everywhere", "zoom to the span", "all lines within 30 s", "any key goes back"]);
    test.press("j");
    test.shows(&["10,000 lines"]);
}

#[test]
fn the_command_of_the_screen_counts_the_same() {
    let mut test = TestExplorer::of(&["--where", "status < 400", SAMPLE], (80, 24));
    test.press("/path = /favicon.ico⏎→⏎y");
    assert!(test.explorer.prints_command);
    let command = test.explorer.shell_command();
    assert!(
        command.starts_with("rorqual logs --where '(status < 400) and (path = /favicon.ico)' --since 2015-05-17T"),
        "{command}"
    );
    assert!(command.ends_with(&format!(" {SAMPLE}")), "{command}");
    test.shows(&["printed at the end: rorqual logs --where"]);
}

#[test]
fn a_log_steers_no_terminal() {
    let folder = rorqual_testkit::folder::TestFolder::new();
    let line = "10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /\u{1b}[2J\u{202e}x HTTP/1.1\" 200 5 \"-\" \"\u{9b}31m\u{7f}\"\n";
    let file = folder.file("log", line.repeat(30));
    for keys in ["", "⇥⇥", "L", "L⏎", "⇥⇥s", "⇥⇥⏎", "/x⏎"] {
        let mut test = TestExplorer::of(&[&file], (120, 40));
        test.press(keys);
        let screen = test.text();
        let steers = |letter: char| letter.is_control() && letter != '\n' || ('\u{202a}'..='\u{202e}').contains(&letter);
        assert!(!screen.contains(steers), "{keys}: {screen:?}");
    }
    TestExplorer::of(&[&file], (120, 40)).shows(&["/\\u{1b}[2J\\u{202e}x"]);
}

#[test]
fn a_log_without_times_and_one_without_lines_are_shown() {
    let folder = rorqual_testkit::folder::TestFolder::new();
    let file = folder.file("log", "GET / 200\n".repeat(30));
    let mut test = TestExplorer::of(&["--format", "$request_method $uri $status", &file], (80, 24));
    test.shows(&["30 lines", "no line has a time"]);
    test.press("→v⏎e");
    test.shows(&["choose a span of time first"]);
    test.press("Lt");
    test.shows(&["this line has no time"]);
    test.press("qu/status = 404⏎");
    test.shows(&["0 of 30 lines"]);
    test.press("L");
    test.shows(&["no line matches"]);
}
