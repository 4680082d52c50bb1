//! Content of `_rest` of a row: a JSON object of paths in the record and values, as it was written
//! by the JSON decoder.

use super::cells::push_raw;

/// The name of the column.
pub(super) const NAME: &str = "_rest";

/// The whole record, where all of it has no column.
pub(super) fn record(rest: &str) -> Option<&str> {
    rest.strip_prefix("{\"$\":")?.strip_suffix('}')
}

/// Puts members of the record back into the object at the end of `out`; deeper values stay in a
/// member `_rest`.
pub(super) fn push(out: &mut Vec<u8>, rest: &str) {
    if !out.ends_with(b"}") {
        return;
    }
    let (mut own, mut deeper): (Vec<&str>, Vec<&str>) = members(rest).into_iter().partition(|member| is_own(member));
    // A key `_rest` of the record itself must not be there twice.
    if let (false, Some(place)) = (deeper.is_empty(), own.iter().position(|member| is_rest(member))) {
        deeper.insert(0, own.remove(place));
    }
    let deeper = (!deeper.is_empty()).then(|| format!("\"{NAME}\":{{{}}}", deeper.join(",")));
    out.pop();
    for member in own.into_iter().chain(deeper.as_deref()) {
        if !out.ends_with(b"{") {
            out.push(b',');
        }
        push_raw(out, member);
    }
    out.push(b'}');
}

fn is_rest(member: &str) -> bool {
    member.strip_prefix('"').and_then(|member| member.strip_prefix(NAME)).is_some_and(|member| member.starts_with('"'))
}

/// The value of a member of the record itself.
pub(super) fn own<'a>(rest: &'a str, name: &str) -> Option<&'a str> {
    let value = |member: &&'a str| member.strip_prefix('"')?.strip_prefix(name)?.strip_prefix("\":");
    members(rest).iter().filter(|member| is_own(member)).find_map(value)
}

/// True if a member's path is a key of the record: others have a step between brackets or after a
/// dot.
fn is_own(member: &str) -> bool {
    let path = member[1..].split('"').next().unwrap_or_default();
    !path.contains(['.', '[', '\\'])
}

/// The members of an object.
fn members(object: &str) -> Vec<&str> {
    let inside = object.strip_prefix('{').and_then(|object| object.strip_suffix('}')).unwrap_or_default();
    let (mut found, mut start) = (Vec::new(), 0);
    let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
    for (place, byte) in inside.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(&inside[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    found.push(&inside[start..]);
    // A text that is no member is not from us.
    found.retain(|member| member.starts_with('"'));
    found
}

#[cfg(test)]
mod tests {
    fn with(object: &str, rest: &str) -> String {
        let mut out = object.as_bytes().to_vec();
        super::push(&mut out, rest);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn members_of_the_record_come_back() {
        let rest = r#"{"b":[1,{"x":"},{\""}],"a.c":2,"[\"odd key\"]":3,"d":"é"}"#;
        let expected = r#"{"a":1,"b":[1,{"x":"},{\""}],"d":"é","_rest":{"a.c":2,"[\"odd key\"]":3}}"#;
        assert_eq!(with(r#"{"a":1}"#, rest), expected);
        assert_eq!(with("{}", r#"{"b":1e400}"#), r#"{"b":1e400}"#);
        assert_eq!(with("{}", r#"{"_rest":1,"b":2}"#), r#"{"_rest":1,"b":2}"#);
        assert_eq!(with("{}", r#"{"b":2,"_rest":1,"a.c":3}"#), r#"{"b":2,"_rest":{"_rest":1,"a.c":3}}"#);
        assert_eq!(super::record(r#"{"$":[1,2]}"#), Some("[1,2]"));
        assert_eq!(
            (super::own(rest, "b"), super::own(rest, "d"), super::own(rest, "c")),
            (Some(r#"[1,{"x":"},{\""}]"#), Some("\"é\""), None)
        );
    }
}
