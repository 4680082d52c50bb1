//! Comparisons and amounts as people write them: `> 2s`, `slower than 500 ms`, `1MB`.

/// Words for comparisons, the longest first, and how filters write them.
const COMPARISONS: [(&str, &str); 26] = [
    ("greater than", ">"),
    ("larger than", ">"),
    ("bigger than", ">"),
    ("longer than", ">"),
    ("slower than", ">"),
    ("more than", ">"),
    ("smaller than", "<"),
    ("shorter than", "<"),
    ("faster than", "<"),
    ("less than", "<"),
    ("at least", ">="),
    ("at most", "<="),
    ("up to", "<="),
    ("over", ">"),
    ("above", ">"),
    ("under", "<"),
    ("below", "<"),
    ("==", "="),
    ("!=", "!="),
    (">=", ">="),
    ("<=", "<="),
    ("≥", ">="),
    ("≤", "<="),
    (">", ">"),
    ("<", "<"),
    ("=", "="),
];

/// The comparison that a text begins with, and the rest.
pub(super) fn comparison(text: &str) -> Option<(&'static str, &str)> {
    COMPARISONS.iter().find_map(|(words, operator)| {
        let (start, rest) = text.split_at_checked(words.len())?;
        let is_word = words.ends_with(|last: char| last.is_ascii_alphabetic());
        let ends = !is_word || rest.starts_with(char::is_whitespace);
        (start.eq_ignore_ascii_case(words) && ends).then(|| (*operator, rest.trim_start()))
    })
}

/// An amount with its unit, as filters write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypedAmount {
    /// Of time: `2s`.
    Time(String),
    /// Of bytes: `1MB`.
    Size(String),
    /// Without a unit.
    Number(String),
}

/// Units of time: how they are typed, and what filters call them.
const TIMES: [(&str, &str); 11] = [
    ("us", "us"),
    ("µs", "us"),
    ("ms", "ms"),
    ("msec", "ms"),
    ("millisecond", "ms"),
    ("milliseconds", "ms"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
];
const SIZES: [&str; 12] = ["b", "byte", "bytes", "k", "kb", "kib", "m", "mb", "mib", "g", "gb", "gib"];

/// The amount that a text is.
pub(super) fn amount(text: &str) -> Option<TypedAmount> {
    let text = text.trim();
    let end = text.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim().to_lowercase());
    let is_number = number.parse::<f64>().is_ok() && number.starts_with(|one: char| one.is_ascii_digit());
    if !is_number {
        return None;
    }
    if unit.is_empty() {
        return Some(TypedAmount::Number(number.to_owned()));
    }
    if let Some((_, unit)) = TIMES.iter().find(|(typed, _)| *typed == unit) {
        return Some(TypedAmount::Time(format!("{number}{unit}")));
    }
    let size = SIZES.contains(&&*unit).then(|| match &*unit {
        "b" | "byte" | "bytes" => number.to_owned(),
        unit => format!("{number}{unit}"),
    });
    size.map(TypedAmount::Size)
}
