//! Sizes as people write them: `256MiB`, `1.5GiB`, `64k`.

use std::fmt;

/// Reason for which a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseSizeError(String);

impl fmt::Display for ParseSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a size (examples: 64KiB, 256MiB, 1.5GiB, 1000000)", self.0)
    }
}

impl std::error::Error for ParseSizeError {}

/// Parses a number of bytes with an optional unit. `K`, `KB` and `KiB` all mean 1,024 bytes, as in
/// `ulimit` and the JVM: a memory limit that is 7 % smaller than it reads helps nobody. Case does
/// not matter.
///
/// # Errors
/// When the text is no number, the unit is unknown, or the size does not fit 64 bits.
pub fn parse_size(text: &str) -> Result<u64, ParseSizeError> {
    let fail = || ParseSizeError(text.to_owned());
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(fail()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift).ok_or_else(fail);
    }
    let fraction: f64 = number.parse().map_err(|_| fail())?;
    let bytes = fraction * (1u64 << shift) as f64;
    if bytes.is_finite() && (0.0..9.0e18).contains(&bytes) { Ok(bytes as u64) } else { Err(fail()) }
}

/// Units of sizes, each 1,024 times the one before.
const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// Writes a size with the largest unit that keeps it at one or above: `1.50 GiB`, `812 MiB`, `7 B`.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    let (scaled, unit, digits) = scaled(bytes);
    format!("{scaled:.digits$} {}", UNITS[unit])
}

/// Writes a size likewise, but never a smaller one: who gives what it says gives enough.
#[must_use]
pub fn format_size_up(bytes: u64) -> String {
    let nearest = format_size(bytes);
    if parse_size(&nearest).is_ok_and(|size| size >= bytes) {
        return nearest;
    }
    // It was rounded down; with half of the last digit's step more it is rounded up.
    let (_, unit, digits) = scaled(bytes);
    let step = (1_u64 << (10 * unit)) as f64 / [1.0, 10.0, 100.0][digits];
    format_size(bytes.saturating_add((step / 2.0).ceil() as u64))
}

/// A size in its unit, the unit's place and the number of digits after the point.
fn scaled(bytes: u64) -> (f64, usize, usize) {
    let mut unit = 0;
    let mut scaled = bytes as f64;
    // 1023.5 and not 1024: a number that rounds to 1024 is written as 1.00 of the next unit.
    while scaled >= 1023.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || scaled >= 99.95 {
        0
    } else if scaled >= 9.995 {
        1
    } else {
        2
    };
    (scaled, unit, digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("64k", 65_536),
            ("64 KiB", 65_536),
            ("256MiB", 268_435_456),
            ("256mb", 268_435_456),
            ("1.5GiB", 1_610_612_736),
            ("2t", 2_199_023_255_552),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_size() {
        for text in ["", "MiB", "-1", "1..2G", "12 parsecs", "20000000000000T", "1e9"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn writes_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (10_240, "10.0 KiB"),
            (1_048_575, "1.00 MiB"),
            (1_610_612_736, "1.50 GiB"),
            (851_443_712, "812 MiB"),
        ] {
            assert_eq!(format_size(bytes), text);
        }
    }
    #[test]
    fn a_size_written_up_is_enough() {
        for (bytes, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_025, "1.01 KiB"),
            (10 << 20, "10.0 MiB"),
            (265 << 20, "265 MiB"),
            (278_177_564, "266 MiB"),
            ((1023 << 20) + 1, "1.00 GiB"),
            ((1 << 30) + 1, "1.01 GiB"),
        ] {
            assert_eq!(format_size_up(bytes), text);
        }
        // Also where a size has as many digits as it may, and beside each power of two.
        for power in 0..50 {
            for bytes in (1..40).flat_map(|part: u64| [(part << power) / 7, (1 << power) + part]) {
                let text = format_size_up(bytes);
                let size = parse_size(&text).expect("a size");
                assert!(size >= bytes && size - bytes <= bytes / 64 + 1, "{bytes}: {text}");
            }
        }
    }
}
