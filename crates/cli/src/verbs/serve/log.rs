//! The server's log about itself, on stderr: standard output is the address, and data elsewhere.

use crate::args::{LogLevel, LogStyle, ServiceArgs};
use crate::message;
use std::fmt::Display;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::{self, Subscriber};

/// Begins the log.
pub(super) fn begin(args: &ServiceArgs) {
    let level = match args.log_level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let subscriber = Subscriber::builder().with_max_level(level).with_writer(std::io::stderr).with_ansi(false);
    match args.log_format {
        LogStyle::Text => tracing(subscriber.event_format(fmt::format()).finish()),
        LogStyle::Json => tracing(subscriber.json().flatten_event(true).with_current_span(false).with_span_list(false).finish()),
    }
}

fn tracing(subscriber: impl tracing::Subscriber + Send + Sync) {
    // There is one server a process.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Says something that is no error: a line for people, or of the log where that is for programs.
pub(super) fn note(args: &ServiceArgs, text: &dyn Display) {
    match args.log_format {
        LogStyle::Text => message::note(text),
        LogStyle::Json => tracing::info!("{}", message::escaped(&text.to_string())),
    }
}
