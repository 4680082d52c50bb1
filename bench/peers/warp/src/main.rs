//! `warp-sink`: warp's WebSocket that throws uploads away and answers each message: what a page that waits for each answer can reach.
//!
//! Prints its URL as the first line. `/` is a bare page with the file input `#file`, `/ws` the WebSocket, which answers a message with the bytes that
//! came so far.

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpListener;
use warp::Filter;
use warp::ws::{Message, WebSocket, Ws};

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>sink</title><input type=file id=file>";

/// Of a message: far more than is sent.
const MESSAGE_BYTES_MAX: usize = 256 << 20;

fn main() -> std::io::Result<()> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(serve())
}

async fn serve() -> std::io::Result<()> {
    let socket = warp::path("ws")
        .and(warp::ws())
        .map(|asked: Ws| asked.max_message_size(MESSAGE_BYTES_MAX).max_frame_size(MESSAGE_BYTES_MAX).on_upgrade(take));
    let page = warp::path::end().map(|| warp::reply::html(PAGE));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/", listener.local_addr()?);
    warp::serve(socket.or(page)).incoming(listener).run().await;
    Ok(())
}

async fn take(mut socket: WebSocket) {
    let mut bytes = 0;
    while let Some(Ok(message)) = socket.next().await {
        if message.is_binary() {
            bytes += message.as_bytes().len();
            drop(message);
            if socket.send(Message::text(bytes.to_string())).await.is_err() {
                return;
            }
        }
    }
}
