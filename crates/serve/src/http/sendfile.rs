//! A connection's socket, into which a file goes without passing through the program.
//!
//! hyper writes slices of memory. A file's body is slices of one region that is never read
//! ([`STAND_IN`]): where the socket is asked to write from there, it has the kernel send as much of
//! the file instead (sendfile). So hyper frames the answer and keeps the connection, as with any
//! other, and no byte of the file is copied by us.

use crate::limits::{SEND_BYTES_MAX, STAND_IN_BYTES};
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Stand-in for the bytes of files. Nobody touches it, and the server's allocator maps what is as
/// large, so it takes no memory.
static STAND_IN: LazyLock<Box<[u8]>> = LazyLock::new(|| vec![0; STAND_IN_BYTES].into());

/// The socket, as hyper has it.
#[derive(Debug)]
pub(crate) struct SendfileStream {
    stream: TcpStream,
    files: PromisedFiles,
}

/// The files that were promised to a connection, in the order of the answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromisedFiles(Arc<Mutex<VecDeque<FileRange>>>);

/// Range of a file to send.
#[derive(Debug)]
pub(crate) struct FileRange {
    pub(crate) file: File,
    pub(crate) at: u64,
    pub(crate) length: u64,
}

/// The body of an answer that is a stretch of a file.
#[derive(Debug)]
pub(crate) struct FileBody {
    files: PromisedFiles,
    /// Until hyper asks for the body: the answer to a HEAD has none.
    stretch: Option<FileRange>,
    left: u64,
}

impl PromisedFiles {
    pub(crate) fn body(&self, stretch: FileRange) -> FileBody {
        FileBody { files: self.clone(), left: stretch.length, stretch: Some(stretch) }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<FileRange>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        if let Some(stretch) = self.stretch.take() {
            self.files.lock().push_back(stretch);
        }
        let length = self.left.min(STAND_IN_BYTES as u64);
        self.left -= length;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&STAND_IN[..length as usize])))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

fn stands_in(slice: &[u8]) -> bool {
    STAND_IN.as_ptr_range().contains(&slice.as_ptr())
}

impl SendfileStream {
    pub(crate) fn new(stream: TcpStream) -> (Self, PromisedFiles) {
        let files = PromisedFiles::default();
        (Self { stream, files: files.clone() }, files)
    }

    /// Sends of the file whose turn it is as much as the socket takes, at most `length` bytes.
    fn poll_send(&self, context: &mut Context<'_>, length: usize) -> Poll<io::Result<usize>> {
        let mut files = self.files.lock();
        let stretch = files.front_mut().ok_or(ErrorKind::InvalidInput)?;
        // A file that is not in the page cache is read by this call, which should hold up others
        // only shortly.
        let count = length.min(SEND_BYTES_MAX).min(usize::try_from(stretch.length).unwrap_or(usize::MAX));
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            let mut at = stretch.at;
            let send = || rustix::fs::sendfile(&self.stream, &stretch.file, Some(&mut at), count).map_err(io::Error::from);
            match self.stream.try_io(Interest::WRITABLE, send) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The file has become shorter: the answer breaks off, as its length was announced.
                Ok(0) => return Poll::Ready(Err(ErrorKind::UnexpectedEof.into())),
                Ok(sent) => {
                    stretch.at += sent as u64;
                    stretch.length -= sent as u64;
                    if stretch.length == 0 {
                        files.pop_front();
                    }
                    return Poll::Ready(Ok(sent));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncRead for SendfileStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for SendfileStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if stands_in(bytes) {
            return self.poll_send(context, bytes.len());
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let plain = slices.iter().take_while(|slice| !stands_in(slice)).count();
        if plain > 0 || slices.is_empty() {
            return Pin::new(&mut self.stream).poll_write_vectored(context, &slices[..plain]);
        }
        let length = slices.iter().take_while(|slice| stands_in(slice)).map(|slice| slice.len()).sum();
        self.poll_send(context, length)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
