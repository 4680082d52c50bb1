//! Numbers and values as people read them, in the terminal's report and in the page.

use crate::message::escaped;
use rorqual_accesslog::report::Distinct;
use rorqual_columnar::render::cut_to_width;
use rorqual_pipe::format_size;

/// A sum of sizes; one that is more than a number can hold stays at the most.
pub(super) fn size(bytes: u64) -> String {
    if bytes == u64::MAX { format!("≥ {}", format_size(bytes)) } else { format_size(bytes) }
}

/// A number of distinct values, with its certainty.
pub(crate) fn distinct(distinct: Distinct) -> String {
    if distinct.exact {
        thousands(distinct.distinct)
    } else {
        format!("≈ {} ±{:.1} %", thousands(distinct.distinct), distinct.error * 100.0)
    }
}

/// A time as people say it.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        v if v >= 1.0 => format!("{v:.2} s"),
        v if v >= 1e-3 => format!("{:.1} ms", v * 1e3),
        v => format!("{:.0} µs", v * 1e6),
    }
}

/// `6794000` as `6,794,000`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value from a log, safe to show on a terminal, of which it takes at most `width` columns.
pub(crate) fn shown(value: &str, width: usize) -> String {
    cut_to_width(&escaped(value).replace('\n', "\\n"), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (6_794_000, "6,794,000")] {
            assert_eq!(thousands(number), text);
        }
    }
}
