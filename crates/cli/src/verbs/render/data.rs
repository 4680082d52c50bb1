//! The variables of a template: `--data` and `-D`.

use rorqual_pipe::{escaped_path, format_size, reason};
use rorqual_render::Value;
use serde_json::from_str;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A file of variables may have this share of the memory.
const DATA_SHARE: u64 = 256;

/// Most memory of a byte of it as a value: `[[],[],…` makes a list of three bytes.
const VALUE_BYTES_PER_BYTE: u64 = 48;

/// Most memory of the variables.
pub(super) fn parsed_bytes_max(memory_bytes: u64) -> u64 {
    memory_bytes / DATA_SHARE * VALUE_BYTES_PER_BYTE
}

/// Memory of the variables of a file.
pub(crate) fn file_parsed_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len()) * VALUE_BYTES_PER_BYTE
}

/// The variables: those of a file, and those of the arguments.
pub(crate) fn context(file: Option<&Path>, defines: &[String], memory_bytes: u64) -> Result<BTreeMap<String, Value>, String> {
    let mut variables = BTreeMap::new();
    if let Some(path) = file {
        let data = of_file(path, memory_bytes / DATA_SHARE)?;
        let names = data.try_iter().map_err(|_| not_a_map(path))?;
        for name in names {
            let value = data.get_item(&name).map_err(|_| not_a_map(path))?;
            variables.insert(name.as_str().ok_or_else(|| not_a_map(path))?.to_owned(), value);
        }
    }
    for define in defines {
        let (name, value) = defined(define)?;
        variables.insert(name, value);
    }
    Ok(variables)
}

fn not_a_map(path: &Path) -> String {
    format!("--data {}: is not a map of names and values", escaped_path(path))
}

fn defined(define: &str) -> Result<(String, Value), String> {
    let (name, text) = define.split_once('=').ok_or_else(|| format!("-D {define}: is not NAME=TEXT or NAME:=JSON"))?;
    let (name, is_json) = name.strip_suffix(':').map_or((name, false), |name| (name, true));
    if !is_name(name) {
        return Err(format!(
            "-D {define}: no template can use the name '{name}': it is ASCII letters, digits and _, and no word of the language"
        ));
    }
    let value = if is_json {
        from_str(text).map_err(|error| format!("-D {define}: the value after := is not JSON: {error}"))?
    } else {
        text.into()
    };
    Ok((name.to_owned(), value))
}

/// Words that MiniJinja reads as something else where a variable could be.
const WORDS: [&str; 7] = ["true", "True", "false", "False", "none", "None", "not"];

/// A template can have it as a variable.
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    let starts = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    starts && name.bytes().all(is_part) && !WORDS.contains(&name)
}

fn of_file(path: &Path, bytes_max: u64) -> Result<Value, String> {
    let name = format!("--data {}", escaped_path(path));
    let text = read(path, &name, bytes_max)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    let parsed = match extension.as_str() {
        "json" => json(text),
        "yaml" | "yml" => yaml(text),
        "toml" => toml(text),
        _ if is_stdin(path) => guessed(text),
        _ => Err("its extension is not .json, .yaml, .yml or .toml".to_owned()),
    };
    parsed.map_err(|error| format!("{name}: {error}"))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn read(path: &Path, name: &str, bytes_max: u64) -> Result<String, String> {
    let source: Box<dyn Read> = if is_stdin(path) {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|cause| format!("{name}: cannot open: {}", reason(&cause)))?)
    };
    let mut text = String::new();
    let read = source.take(bytes_max + 1).read_to_string(&mut text);
    read.map_err(|cause| format!("{name}: cannot read: {}", reason(&cause)))?;
    if text.len() as u64 > bytes_max {
        return Err(format!(
            "{name}: variables may have {} of --memory; give more, or what is many as --rows",
            format_size(bytes_max)
        ));
    }
    Ok(text)
}

/// Standard input has no extension: a text that starts as an object of JSON is JSON, one that is
/// TOML is that, and all the rest YAML.
fn guessed(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('{') {
        return json(text);
    }
    toml(text).or_else(|_| yaml(text))
}

fn json(text: &str) -> Result<Value, String> {
    from_str(text).map_err(|error| error.to_string())
}

fn yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str::<serde_json::Value>(text).map_err(|error| error.to_string()).and_then(of_json)
}

fn toml(text: &str) -> Result<Value, String> {
    text.parse::<toml::Table>().map(|table| of_toml(toml::Value::Table(table))).map_err(|error| error.to_string())
}

/// A value that a library gives by way of JSON's kinds.
fn of_json(value: serde_json::Value) -> Result<Value, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// TOML has dates of its own, which become texts.
fn of_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::Datetime(moment) => moment.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(of_toml).collect(),
        toml::Value::Table(members) => Value::from_pairs(members.into_iter().map(|(name, value)| (name, of_toml(value)))),
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(truth) => truth.into(),
    }
}
