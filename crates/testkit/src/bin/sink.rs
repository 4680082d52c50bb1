//! `sink`: an HTTP server that throws uploads away: the floor under every upload from a browser.
//!
//! Prints its URL as the first line. `GET` answers a bare page with the file input `#file`, `PUT`
//! reads the body and answers how many bytes it had.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a development tool; printing is its interface")]

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use std::io;
use tokio::net::{TcpListener, TcpStream};

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>sink</title><input type=file id=file>";

/// hyper reads at most this much at once; measured best for one upload on loopback.
const READ_BYTES_MAX: usize = 1 << 20;

fn main() -> io::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(serve())
}

async fn serve() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(connection(stream));
    }
}

async fn connection(stream: TcpStream) {
    let served =
        http1::Builder::new().max_buf_size(READ_BYTES_MAX).serve_connection(TokioIo::new(stream), service_fn(answer)).await;
    if let Err(error) = served {
        eprintln!("sink: {error}");
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    if request.method() != Method::PUT {
        let mut page = Response::new(Full::from(PAGE));
        page.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static("text/html"));
        return Ok(page);
    }
    let mut body = request.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(Response::new(Full::from(bytes.to_string())))
}
