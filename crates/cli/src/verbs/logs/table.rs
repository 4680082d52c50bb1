//! A file that is no access log: the report of its columns.

use super::{HtmlPage, explore, refuse_lost_files};
use crate::args::{Common, LogsArgs};
use crate::exit::ExitStatus;
use crate::message;
use crate::verbs::serve::{TableFormat, table_format};
use crate::verbs::summary::{SummaryQuestion, answer as summarize};
use rorqual_accesslog::analyze::AnalyzeSettings;
use rorqual_pipe::{Control, escaped_path};
use std::path::Path;

/// The report of the one file that is named, where it is a table; `None` where it is a log, or
/// there are several.
pub(super) fn answer(common: &Common, args: &LogsArgs, settings: &AnalyzeSettings) -> Option<ExitStatus> {
    let [file] = &args.files[..] else { return None };
    if !file.is_file() || args.format.format_file.is_some() {
        return None;
    }
    let format = table_format(common, file, &settings.formats, args.rows.as_deref())?;
    Some(report(common, args, settings, (file, &format)).unwrap_or_else(|error| message::error(&error)))
}

fn report(
    common: &Common,
    args: &LogsArgs,
    settings: &AnalyzeSettings,
    (file, format): (&Path, &TableFormat),
) -> Result<ExitStatus, String> {
    if args.rows.is_some() && format.from.rows.is_none() {
        return Err(format!("--rows: {} is not one JSON document with rows inside, but {}", escaped_path(file), format.name));
    }
    let refused = |flag: &str, why: &str| Err(format!("{flag}: {} is {}, and {why}", escaped_path(file), format.name));
    if args.interactive {
        return refused("--interactive", "it is for access logs; `rorqual serve` opens it in the browser");
    }
    if args.explore.rates {
        return refused("--rates", "rates are of the clients of an access log");
    }
    if args.explore.findings {
        return refused("--findings", "findings are of the requests of an access log");
    }
    if args.rejects.is_some() {
        return refused("--rejects", "it is for the lines of an access log");
    }
    if args.template.is_some() {
        return refused("--template", "templates are for the report on an access log");
    }
    refuse_lost_files(args, std::slice::from_ref(&file.to_owned()))?;
    let control = Control::default();
    let page = args.html.as_deref().map(|path| HtmlPage::of_table(path, &control)).transpose()?;
    let question = SummaryQuestion {
        file,
        filter: args.filter.as_deref(),
        span: settings.span,
        top: args.top,
        json: args.json,
        from: &format.from,
        temp: &args.explore.temp,
        page,
        question: explore::question(args)?,
    };
    Ok(summarize(common, question))
}
