//! Names of files in JSON.

use data_encoding::BASE64;
use serde_json::{Value, json};

/// Puts the name of a file into an object. Of one that is no UTF-8 its bytes are there too, in
/// base64: many such names look alike.
pub(crate) fn put_name(object: &mut Value, name: &[u8]) {
    object["name"] = json!(String::from_utf8_lossy(name));
    if let Some(bytes) = bytes_of(name) {
        object["name_bytes"] = json!(bytes);
    }
}

/// The bytes of a name that is no UTF-8, in base64.
pub(crate) fn bytes_of(name: &[u8]) -> Option<String> {
    std::str::from_utf8(name).is_err().then(|| BASE64.encode(name))
}
