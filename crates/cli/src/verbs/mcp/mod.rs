//! `rorqual mcp`

mod ask;
mod tools;

use crate::args::{Common, McpArgs, TerminalWhen};
use crate::exit::ExitStatus;
use crate::message;
use crate::verbs::serve::EndSignals;
use ask::Asker;
use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio;
use rorqual_pipe::reason;
use rorqual_shell::roots::Roots;
use std::path::PathBuf;
use tokio::runtime::Builder;
use tools::FileTools;

/// Longest message of a client, in bytes.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

pub(crate) fn run(common: &Common, args: &McpArgs) -> ExitStatus {
    if common.progress == TerminalWhen::Always {
        return message::error(&"mcp has no --progress");
    }
    if common.limit_rate.is_some() || common.process.stats {
        return message::error(&"mcp has no --limit-rate and no --stats");
    }
    let current = [PathBuf::from(".")];
    let roots = match Roots::new("--root", if args.root.is_empty() { &current } else { &args.root }) {
        Ok(roots) => roots,
        Err(error) => return message::error(&error),
    };
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(cause) => return message::error(&format!("cannot start: {}", reason(&cause))),
    };
    let asker = Asker::new(common, args, roots.folders()[0].clone());
    let tools = FileTools::new(asker, roots);
    let exit = runtime.block_on(serve(tools));
    // A thread may wait for standard input, which can't be cancelled.
    runtime.shutdown_background();
    exit
}

/// Answers until the client closes standard input, or a signal ends the program.
async fn serve(tools: FileTools) -> ExitStatus {
    let mut ends = EndSignals::new();
    let (input, output) = stdio();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES_MAX);
    let started = tokio::select! {
        started = tools.serve(transport) => started,
        () = ends.next() => return ExitStatus::Interrupted,
    };
    let service = match started {
        Ok(service) => service,
        Err(cause) => return message::error(&format!("no client of the Model Context Protocol on standard input: {cause}")),
    };
    let cancel = service.cancellation_token();
    tokio::select! {
        ended = service.waiting() => match ended {
            Ok(_) => ExitStatus::Done,
            Err(cause) => message::error(&cause),
        },
        () = ends.next() => {
            cancel.cancel();
            ExitStatus::Interrupted
        }
    }
}
