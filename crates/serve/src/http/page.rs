//! The page, from inside the binary.

use crate::http::error::ApiError;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct PageFiles;

/// A file of the page; `/` is its index.
pub(crate) async fn page(method: Method, uri: Uri) -> Result<Response, ApiError> {
    let path = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    let Some(file) = PageFiles::get(path) else {
        return missing(path);
    };
    if !matches!(method, Method::GET | Method::HEAD) {
        return Err(wrong_method(method).await);
    }
    // Assets have their hash in their name; the index names the assets of this build.
    let cache = if path.starts_with("assets/") { "max-age=31536000, immutable" } else { "no-store" };
    Ok(([(header::CONTENT_TYPE, media_type(path)), (header::CACHE_CONTROL, cache)], file.data).into_response())
}

fn missing(path: &str) -> Result<Response, ApiError> {
    if path == "index.html" {
        let text = "This binary was built without its page: run `make web` (or `make run`) and build again.\n";
        return Ok((StatusCode::NOT_FOUND, text).into_response());
    }
    Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address"))
}

/// The answer to a method that an address does not have.
pub(crate) async fn wrong_method(method: Method) -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", format!("{method} is not for this address"))
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
