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
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::Builder;
use tools::FileTools;

/// Longest message of a client, in bytes.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

pub(crate) fn run(common: &Common, args: &McpArgs) -> ExitStatus {
    if common.progress == TerminalWhen::Always {
        return message::error(&"mcp has no --progress");
    }
    let current = [PathBuf::from(".")];
    let roots = match Roots::new(if args.root.is_empty() { &current } else { &args.root }) {
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
    let transport = AsyncRwTransport::new_server(BoundedMessages { input, message_bytes: 0 }, output);
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

/// Standard input, of which no message is longer than the limit: the reader of messages holds each
/// whole.
struct BoundedMessages<R> {
    input: R,
    /// Bytes since the last newline.
    message_bytes: usize,
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedMessages<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.input).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        self.message_bytes = match memchr::memrchr(b'\n', read) {
            Some(newline) => read.len() - newline - 1,
            None => self.message_bytes + read.len(),
        };
        if self.message_bytes > MESSAGE_BYTES_MAX {
            let said = format!("a message is longer than {MESSAGE_BYTES_MAX} bytes, which is the limit");
            return Poll::Ready(Err(io::Error::other(said)));
        }
        Poll::Ready(Ok(()))
    }
}
