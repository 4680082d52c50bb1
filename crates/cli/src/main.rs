//! The `rorqual` binary: flags, verbs and progress.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod folder;
mod input;
mod json_name;
mod manual;
mod objects;
mod progress;
mod rejects;
mod rows;
mod shared_offset;
mod stats;
mod verbs;

use args::{Cli, Verb};
use clap::error::ContextKind;
use clap::{CommandFactory, Parser};
use exit::ExitStatus;
use message::escaped_line;
use rorqual_shell::{exit, fitting, interrupt, message, watchdog};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    rorqual_shell::args::word_settings();
    rorqual_pipe::open_files::raise();
    let mut cli = match Cli::try_parse_from(args::typed(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => return refused(error).into(),
    };
    cli.common.color.write_global();
    if let Err(error) = expand_addresses(&mut cli.verb) {
        return message::error(&error).into();
    }
    let exit = match cli.verb {
        Verb::Count(args) => verbs::count::run(&cli.common, &args),
        Verb::Grep(args) => verbs::grep::run(&cli.common, &args),
        Verb::Hash(args) => verbs::hash::run(&cli.common, &args),
        Verb::Fetch(args) => verbs::fetch::run(&cli.common, &args),
        Verb::Store(args) => verbs::store::run(&cli.common, &args),
        Verb::Logs(args) => verbs::logs::run(&cli.common, &args),
        Verb::Convert(args) => verbs::convert::run(&cli.common, &args),
        Verb::Schema(args) => verbs::convert::run_schema(&cli.common, &args),
        Verb::Get(args) => verbs::get::run(&cli.common, &args),
        Verb::Head(args) => verbs::head::run(&cli.common, &args),
        Verb::Sample(args) => verbs::sample::run(&cli.common, &args),
        Verb::Summary(args) => verbs::summary::run(&cli.common, &args),
        Verb::Query(args) => verbs::query::run(&cli.common, &args),
        Verb::Cluster(args) => verbs::query::run_cluster(&cli.common, &args),
        Verb::Render(args) => verbs::render::run(&cli.common, &args),
        Verb::Serve(args) => verbs::serve::run(&cli.common, &args),
        Verb::Mcp(args) => verbs::mcp::run(&cli.common, &args),
        Verb::Completions { shell } => print_completions(shell),
        Verb::Man { verb } => print_man_page(verb.as_deref()),
    };
    exit.into()
}

/// Puts the objects in place of addresses that stand for several.
fn expand_addresses(verb: &mut Verb) -> Result<(), String> {
    let files = match verb {
        Verb::Count(args) => &mut args.files,
        Verb::Hash(args) => &mut args.files,
        // On a cluster its own program finds the objects, with their sizes.
        Verb::Logs(args) if args.cluster.is_none() => &mut args.files,
        Verb::Convert(args) => &mut args.files,
        Verb::Schema(args) => &mut args.files,
        _ => return Ok(()),
    };
    *files = objects::expand(std::mem::take(files))?;
    Ok(())
}

/// Tells the fault of the arguments.
fn refused(error: clap::Error) -> ExitStatus {
    let name = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string);
    let name = name.filter(|name| is_where_a_verb_is(name) && (name.contains(['.', '/']) || Path::new(name).exists()));
    if let Some(name) = name {
        let name = escaped_line(&name);
        return message::error(&format!(
            "'{name}' is not a verb; a file comes after one: `rorqual logs {name}` reports on a log, `rorqual serve {name}` shows it in the \
             browser, `rorqual --help` has the others"
        ));
    }
    rorqual_shell::args::refused::<Cli>(error)
}

/// True where no verb comes before it, which would have subcommands of its own.
fn is_where_a_verb_is(name: &str) -> bool {
    let program = Cli::command();
    let mut before = std::env::args_os().skip(1).take_while(|arg| arg != name);
    !before.any(|arg| program.find_subcommand(arg).is_some())
}

fn print_completions(shell: clap_complete::Shell) -> ExitStatus {
    // Not straight to stdout: the generator panics when the reader closed the pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "rorqual", &mut script);
    std::io::stdout().write_all(&script).map_or_else(|error| message::print_error(&error), |()| ExitStatus::Done)
}

fn print_man_page(verb: Option<&str>) -> ExitStatus {
    let program = Cli::command();
    let page = match verb {
        None => manual::page(&program),
        Some(name) => match program.find_subcommand(name) {
            Some(verb) => manual::verb_page(&program, verb),
            None => return message::error(&format!("'{}' is not a verb; `rorqual --help` lists them", escaped_line(name))),
        },
    };
    let printed = page.and_then(|page| std::io::stdout().write_all(&page));
    printed.map_or_else(|error| message::print_error(&error), |()| ExitStatus::Done)
}
