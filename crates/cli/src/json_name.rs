//! Names of files in JSON.

use data_encoding::BASE64;
use serde_json::{Value, json};

/// Puts the name of a file into an object. Of one that is no UTF-8 its bytes are there too, in
/// base64: many such names look alike.
pub(crate) fn put_name(object: &mut Value, name: &[u8]) {
    object["name"] = json!(String::from_utf8_lossy(name));
    if std::str::from_utf8(name).is_err() {
        object["name_bytes"] = json!(BASE64.encode(name));
    }
}
