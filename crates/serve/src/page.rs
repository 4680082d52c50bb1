//! The page, from inside the binary.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

/// A file of the page; `/` is its index.
pub(crate) async fn page(uri: Uri) -> Response {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    let Some(file) = Files::get(path) else {
        return missing(path);
    };
    // Assets have their hash in their name; the index names the assets of this build.
    let cache = if path.starts_with("assets/") { "max-age=31536000, immutable" } else { "no-store" };
    ([(header::CONTENT_TYPE, media_type(path)), (header::CACHE_CONTROL, cache)], file.data).into_response()
}

fn missing(path: &str) -> Response {
    let text = if path == "index.html" {
        "This binary was built without its page: run `make web` (or `make run`) and build again.\n"
    } else {
        "There is no such page.\n"
    };
    (StatusCode::NOT_FOUND, text).into_response()
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json") => "application/json",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}
