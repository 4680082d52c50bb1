//! `rorqual logs --html`: the report as one page that needs nothing beside it.

mod axis;
mod breakdown;
mod context;
mod functions;
mod limits;
mod timeline;
mod week;

use crate::exit::ExitStatus;
use crate::message;
use crate::verbs::logs::LogsAnswer;
use crate::verbs::summary::SummaryReport;
use crate::watchdog::MemoryWatchdog;
use context::{Context, TableContext};
use rorqual_accesslog::analyze::Analyzer;
use rorqual_accesslog::report::LogReport;
use rorqual_crossfilter::Breakdown;
use rorqual_pipe::gather::{self, Gather};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::whole_file::{OutputPath, PendingFile, folder_of};
use rorqual_pipe::{BufferPool, Control, Sink, escaped_path, format_size};
use rorqual_render::{AutoEscape, PageInput, RenderError, Templates, value_of};
use rorqual_serve::ShownView;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use limits::{page_bytes, table_page_bytes};

/// The templates inside, by the names that others include or extend them by.
const TEMPLATES: [(&str, &str); 5] = [
    (DEFAULT, include_str!("template/report.html")),
    (TABLE, include_str!("template/table.html")),
    ("rorqual/parts.html", include_str!("template/parts.html")),
    ("rorqual/report.css", include_str!("template/report.css")),
    ("rorqual/report.js", include_str!("template/report.js")),
];

const DEFAULT: &str = "rorqual/report.html";

/// The page of a table.
const TABLE: &str = "rorqual/table.html";

/// Templates of them that are no markup, and show nothing of the log.
const PLAIN: [&str; 2] = ["rorqual/report.css", "rorqual/report.js"];

/// Blocks in which a page is gathered that does not take those of the run.
const PAGE_BUFFERS: usize = 2;

/// Extensions by which MiniJinja escapes as HTML, and those after which it looks for one.
const ESCAPED: [&str; 3] = ["html", "htm", "xml"];
const LOOKED_BEHIND: [&str; 3] = ["j2", "jinja", "jinja2"];

/// A page on its way: its template is parsed, its place known, before the log is read.
pub(crate) struct HtmlPage {
    templates: Templates,
    template: String,
    /// The template's path, where it is not ours.
    given: Option<PathBuf>,
    file: File,
    place: PendingFile,
    path: PathBuf,
}

impl HtmlPage {
    /// A page for `path`, `-` for standard output, by the template at `given` or our own.
    pub(crate) fn create(path: &Path, given: Option<&Path>, control: &Control) -> Result<Self, String> {
        let (templates, template) = templates(given)?;
        let (file, place) = output(path, true).create(control)?;
        Ok(Self { templates, template, given: given.map(Path::to_owned), file, place, path: path.to_owned() })
    }

    /// The page of a table for `path`, by our template.
    pub(crate) fn of_table(path: &Path, control: &Control) -> Result<Self, String> {
        Ok(Self { template: TABLE.to_owned(), ..Self::create(path, None, control)? })
    }

    /// Writes the page of a table.
    pub(crate) fn finish_table(
        self,
        report: &SummaryReport,
        breakdown: Option<&Breakdown>,
        top: u16,
        control: &Control,
    ) -> ExitStatus {
        let context = value_of(TableContext::new(report, top, None).with_breakdown(breakdown));
        let page = PageInput { context, rows: None, control: control.clone() };
        self.write(&page, &BufferPool::new(BLOCK_BYTES, PAGE_BUFFERS))
    }

    /// Writes the page. It appears now, whole, or not at all.
    pub(crate) fn finish(
        self,
        report: &LogReport,
        analyzer: &Analyzer,
        top: u16,
        control: &Control,
        memory_bytes: u64,
    ) -> ExitStatus {
        let _guard = self.given.as_deref().map(|path| guard(path, memory_bytes));
        let context = value_of(Context::new(report, analyzer.analysis(), top));
        // The remaining work has the memory of the tables.
        analyzer.release();
        // A stop ended the reading; the lines read by then are shown.
        let control = if control.stopped() { Control::default() } else { control.clone() };
        self.write(&PageInput { context, rows: None, control }, analyzer.pool())
    }

    /// Writes the page of a log whose rows were kept: with the answer about them, where it has a
    /// place on the page, and the requests of its week.
    pub(crate) fn finish_answer(
        self,
        (report, week): (&LogReport, &[Vec<u64>]),
        answer: &LogsAnswer,
        top: u16,
        control: &Control,
        memory_bytes: u64,
    ) -> ExitStatus {
        let _guard = self.given.as_deref().map(|path| guard(path, memory_bytes));
        let context = value_of(Context::with_answer(report, week, answer, top));
        let page = PageInput { context, rows: None, control: control.clone() };
        self.write(&page, &BufferPool::new(BLOCK_BYTES, PAGE_BUFFERS))
    }

    fn write(self, page: &PageInput, pool: &BufferPool) -> ExitStatus {
        let Self { templates, template, given, file, place, path } = self;
        let written = render(&templates, &template, page, file, pool);
        // Templates that it includes are inputs, too; the command line has not named them.
        if let Err(error) = output(&path, true).check(templates.files().iter().map(PathBuf::as_path)) {
            return message::error(&error);
        }
        let put = |written: gather::OutputFd| {
            let put = place.put_for_good(written.file());
            put.map_err(|cause| RenderError::Write(io::Error::new(cause.kind(), output(&path, true).failed(&cause))))
        };
        match written.and_then(put) {
            Ok(()) => ExitStatus::Done,
            Err(RenderError::Write(cause)) => message::print_error(&cause),
            Err(error) => {
                let given = given.map_or_else(String::new, |path| format!("--template {}: ", escaped_path(path)));
                message::error(&format!("{given}{error}"))
            }
        }
    }
}

/// The page of a view of the explorer.
pub(crate) fn view_page(view: &ShownView, control: &Control, mut sink: &mut dyn Sink) -> Result<(), RenderError> {
    let failed = |message: String| RenderError::Write(io::Error::other(message));
    let (templates, template) = templates(None).map_err(failed)?;
    let Some(table) = &view.table else {
        let page = PageInput { context: value_of(Context::of_view(view)), rows: None, control: control.clone() };
        return templates.render(&template, &page, &mut sink).map(|_| ());
    };
    let report = SummaryReport::new(&table.name, &table.schema, table.view.clone(), table.complete, None);
    let context = value_of(TableContext::new(&report, view.top as u16, Some(view)));
    let page = PageInput { context, rows: None, control: control.clone() };
    templates.render(TABLE, &page, &mut sink).map(|_| ())
}

/// Watchdog for texts that a template of others may build.
fn guard(template: &Path, memory_bytes: u64) -> MemoryWatchdog {
    let (template, memory) = (escaped_path(template), format_size(memory_bytes));
    MemoryWatchdog::start(memory_bytes, move || {
        format!("--template {template}: needs more than --memory {memory}: stopped before it took more")
    })
}

fn render(
    templates: &Templates,
    template: &str,
    page: &PageInput,
    file: File,
    pool: &BufferPool,
) -> Result<gather::OutputFd, RenderError> {
    let mut gather = Gather::new(gather::OutputFd::new(file, &page.control), pool)?;
    templates.render(template, page, &mut gather)?;
    Ok(gather.finish()?)
}

/// Our templates and, where one is given, those of its folder; and the name of the one to render.
fn templates(given: Option<&Path>) -> Result<(Templates, String), String> {
    let failed = |error: RenderError| match given {
        Some(path) => format!("--template {}: {error}", escaped_path(path)),
        None => error.to_string(),
    };
    let mut templates =
        given.map_or_else(|| Ok(Templates::new(false)), |path| Templates::in_folder(folder_of(path), false)).map_err(failed)?;
    // An included template may show any part of the log, whatever its name.
    templates.escape_by(|name| if PLAIN.contains(&name) { AutoEscape::None } else { AutoEscape::Html });
    functions::add(&mut templates);
    for (name, text) in TEMPLATES {
        templates.add(name, text).map_err(failed)?;
    }
    let Some(path) = given else { return Ok((templates, DEFAULT.to_owned())) };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !is_escaped(&name) {
        return Err(format!(
            "--template {}: its name must end in .html, .htm or .xml, so that what it shows of the log is escaped",
            escaped_path(path)
        ));
    }
    templates.add_file(&name, path).map_err(failed)?;
    Ok((templates, name))
}

fn is_escaped(name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or_default();
    if LOOKED_BEHIND.contains(&extension) { is_escaped_by(stem.rsplit_once('.')) } else { is_escaped_by(Some((stem, extension))) }
}

fn is_escaped_by(parts: Option<(&str, &str)>) -> bool {
    parts.is_some_and(|(_, extension)| ESCAPED.contains(&extension))
}

/// The output that `--html` names.
pub(super) fn output(path: &Path, force: bool) -> OutputPath<'_> {
    OutputPath { flag: "--html", path, force }
}

#[cfg(test)]
mod tests {
    use super::is_escaped;

    #[test]
    fn the_page_has_the_colours_of_the_explorer() {
        let tokens = |css: &'static str| {
            let root = css.split_once(":root {").and_then(|(_, rest)| rest.split_once("\n}")).expect("tokens").0;
            root.lines().filter_map(|line| line.trim().split_once(": ")).collect::<Vec<_>>()
        };
        let explorer = tokens(include_str!("../../../../../../web/src/app.css"));
        let page = tokens(include_str!("template/report.css"));
        assert!(page.len() > 20);
        for token in page {
            assert!(explorer.contains(&token), "{token:?}");
        }
    }

    #[test]
    fn only_names_by_which_text_is_escaped_will_do() {
        for (name, escaped) in [
            ("a.html", true),
            ("a.htm.j2", true),
            ("a.b.xml", true),
            ("a.j2", false),
            ("a.txt", false),
            ("html", false),
            ("", false),
        ] {
            assert_eq!(is_escaped(name), escaped, "{name}");
        }
    }
}
