//! Numbers as logs write them: no sign, no white space, exact to the unit asked for.

/// Reason for which digits are not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberError {
    NotDigits,
    TooLarge,
}

/// The unit in which a log writes a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    /// Seconds with three digits after the point, as nginx writes them. A number without may be in
    /// any unit, and is refused.
    PointSeconds,
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    /// Power of ten that makes microseconds of this unit; negative divides.
    fn micros_exponent(self) -> i32 {
        match self {
            Unit::Seconds | Unit::PointSeconds => 6,
            Unit::Millis => 3,
            Unit::Micros => 0,
            Unit::Nanos => -3,
        }
    }
}

/// Whole number of decimal digits.
#[inline]
pub(crate) fn unsigned(text: &[u8]) -> Result<u64, NumberError> {
    if text.is_empty() {
        return Err(NumberError::NotDigits);
    }
    let mut value = 0u64;
    // 19 digits always fit in 64 bits, so that only longer ones pay for the checks.
    let checked = text.len() > 19;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NumberError::NotDigits);
        }
        if checked {
            value = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit))).ok_or(NumberError::TooLarge)?;
        } else {
            value = value * 10 + u64::from(digit);
        }
    }
    Ok(value)
}

/// A decimal such as `0.003`, `12`, `.5` or `1.5e-3` in `unit`, as whole microseconds (cut, not
/// rounded).
pub(crate) fn decimal_us(text: &[u8], unit: Unit) -> Result<u64, NumberError> {
    let (mantissa, exponent) = split_exponent(text)?;
    let (whole, fraction) = match memchr::memchr(b'.', mantissa) {
        Some(dot) => (&mantissa[..dot], &mantissa[dot + 1..]),
        None => (mantissa, &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(NumberError::NotDigits);
    }
    scaled(whole, fraction, unit.micros_exponent().saturating_add(exponent))
}

/// `whole.fraction` × 10^`exponent`, cut to a whole number.
fn scaled(whole: &[u8], fraction: &[u8], exponent: i32) -> Result<u64, NumberError> {
    let digits = whole.iter().chain(fraction);
    if let Some(_foreign) = digits.clone().find(|byte| !byte.is_ascii_digit()) {
        return Err(NumberError::NotDigits);
    }
    let kept = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(i64::from(exponent));
    let mut value = 0u64;
    for digit in digits.map(|byte| u64::from(byte - b'0')).chain(std::iter::repeat(0)).take(kept.clamp(0, 1 << 20) as usize) {
        value = value.checked_mul(10).and_then(|v| v.checked_add(digit)).ok_or(NumberError::TooLarge)?;
    }
    Ok(value)
}

/// Splits `1.5e-3` into its mantissa and exponent; no exponent is 0.
fn split_exponent(text: &[u8]) -> Result<(&[u8], i32), NumberError> {
    let Some(mark) = memchr::memchr2(b'e', b'E', text) else {
        return Ok((text, 0));
    };
    let (negative, digits) = match &text[mark + 1..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let size = i32::try_from(unsigned(digits)?.min(400)).unwrap_or(400);
    Ok((&text[..mark], if negative { -size } else { size }))
}

/// True of seconds as nginx writes a request's time: `0.005`, with at most six digits before the
/// point. More are a date, and other numbers of digits after it are a ratio or a version.
pub(crate) fn has_three_decimals(text: &[u8]) -> bool {
    const DIGITS_MAX: usize = 6;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match &text[digits..] {
        [b'.', fraction @ ..] => {
            (1..=DIGITS_MAX).contains(&digits) && fraction.len() == 3 && fraction.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}

/// A duration with its unit written after it, as Go writes them: `1.5ms`, `12µs`, `1m2.5s`; a bare
/// number is in `bare`.
pub(crate) fn duration_us(text: &[u8], bare: Unit) -> Result<u64, NumberError> {
    if text.last().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.') {
        let says_unit = bare != Unit::PointSeconds || has_three_decimals(text);
        return if says_unit { decimal_us(text, bare) } else { Err(NumberError::NotDigits) };
    }
    let mut rest = text;
    let mut total = 0u64;
    while !rest.is_empty() {
        let digits = rest.iter().position(|b| !b.is_ascii_digit() && *b != b'.').ok_or(NumberError::NotDigits)?;
        let after = &rest[digits..];
        let letters = after.iter().position(u8::is_ascii_digit).unwrap_or(after.len());
        let part = with_suffix(&rest[..digits], &after[..letters])?;
        total = total.checked_add(part).ok_or(NumberError::TooLarge)?;
        rest = &after[letters..];
    }
    if text.is_empty() { Err(NumberError::NotDigits) } else { Ok(total) }
}

fn with_suffix(digits: &[u8], suffix: &[u8]) -> Result<u64, NumberError> {
    let seconds = |factor: u64| decimal_us(digits, Unit::Seconds)?.checked_mul(factor).ok_or(NumberError::TooLarge);
    match suffix.trim_ascii() {
        b"h" => seconds(3600),
        b"m" | b"min" => seconds(60),
        b"s" | b"sec" => seconds(1),
        b"ms" => decimal_us(digits, Unit::Millis),
        b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => decimal_us(digits, Unit::Micros),
        b"ns" => decimal_us(digits, Unit::Nanos),
        _ => Err(NumberError::NotDigits),
    }
}

/// Sum of a list as nginx writes it for several upstream servers: `0.1, 0.2 : -`; `None` if all are
/// `-`.
pub(crate) fn duration_sum_us(text: &[u8], unit: Unit) -> Result<Option<u64>, NumberError> {
    let mut total = None;
    for part in text.split(|byte| matches!(byte, b',' | b':' | b' ')) {
        if part.is_empty() || part == b"-" {
            continue;
        }
        let sum = total.unwrap_or(0u64).checked_add(duration_us(part, unit)?);
        total = Some(sum.ok_or(NumberError::TooLarge)?);
    }
    Ok(total)
}

/// Unix time in microseconds from a number of unknown unit, which its size tells: 1e11 seconds are
/// the year 5138, and 1e11 milliseconds are 1973.
pub(crate) fn epoch_us(text: &[u8]) -> Result<u64, NumberError> {
    let seconds = decimal_us(text, Unit::Seconds).ok().map(|us| us / 1_000_000);
    let unit = match seconds {
        Some(value) if value < 100_000_000_000 => Unit::Seconds,
        Some(value) if value < 100_000_000_000_000 => Unit::Millis,
        // Too many seconds to count in microseconds: look at the digits alone.
        _ => match decimal_us(text, Unit::Micros)? {
            value if value < 100_000_000_000_000 => Unit::Millis,
            value if value < 100_000_000_000_000_000 => Unit::Micros,
            _ => Unit::Nanos,
        },
    };
    decimal_us(text, unit)
}

/// Seconds with three digits after the point, as servers write them, or six where these say
/// something.
pub(crate) fn duration_text(duration_us: u64, unit: Unit) -> String {
    let thousandths = |whole: u64, rest: u64| if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:03}") };
    match unit {
        Unit::Seconds | Unit::PointSeconds if duration_us.is_multiple_of(1_000) => {
            format!("{}.{:03}", duration_us / 1_000_000, duration_us / 1_000 % 1_000)
        }
        Unit::Seconds => format!("{}.{:06}", duration_us / 1_000_000, duration_us % 1_000_000),
        Unit::Millis => thousandths(duration_us / 1_000, duration_us % 1_000),
        Unit::PointSeconds => format!("{duration_us}us"),
        Unit::Micros => duration_us.to_string(),
        Unit::Nanos => (u128::from(duration_us) * 1_000).to_string(),
    }
}

/// The field's text, where `-` is an absent field.
#[inline]
pub(crate) fn present(text: &[u8]) -> &[u8] {
    if text == b"-" { &[] } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal_us(b"0.003", Unit::Seconds), Ok(3_000));
        assert_eq!(decimal_us(b"12", Unit::Seconds), Ok(12_000_000));
        assert_eq!(decimal_us(b"1.5e-3", Unit::Seconds), Ok(1_500));
        assert_eq!(decimal_us(b"8.2719e-05", Unit::Seconds), Ok(82));
        assert_eq!(decimal_us(b"1234567", Unit::Nanos), Ok(1_234));
        assert_eq!(decimal_us(b"1e300", Unit::Seconds), Err(NumberError::TooLarge));
        assert_eq!(decimal_us(b"1e-300", Unit::Seconds), Ok(0));
        assert_eq!(decimal_us(b"0e300", Unit::Seconds), Ok(0));
        assert_eq!(decimal_us(b".", Unit::Seconds), Err(NumberError::NotDigits));
        assert_eq!(decimal_us(b"1.2.3", Unit::Seconds), Err(NumberError::NotDigits));
        assert_eq!(unsigned(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), Err(NumberError::TooLarge));
    }

    #[test]
    fn durations_by_suffix() {
        assert_eq!(duration_us(b"1.5ms", Unit::Seconds), Ok(1_500));
        assert_eq!(duration_us("12µs".as_bytes(), Unit::Seconds), Ok(12));
        assert_eq!(duration_us(b"1m2.5s", Unit::Seconds), Ok(62_500_000));
        assert_eq!(duration_us(b"0.1", Unit::Seconds), Ok(100_000));
        assert_eq!(duration_us(b"5 parsecs", Unit::Seconds), Err(NumberError::NotDigits));
        assert_eq!(duration_us(b"0.100", Unit::PointSeconds), Ok(100_000));
        assert_eq!(duration_us(b"500us", Unit::PointSeconds), Ok(500));
        for other in ["500123", "0.1", "0.1000", "1732270200.123"] {
            assert_eq!(duration_us(other.as_bytes(), Unit::PointSeconds), Err(NumberError::NotDigits), "{other}");
        }
        assert_eq!(duration_sum_us(b"0.1, 0.2 : -", Unit::Seconds), Ok(Some(300_000)));
        assert_eq!(duration_sum_us(b"-", Unit::Seconds), Ok(None));
    }

    #[test]
    fn epochs_by_size() {
        assert_eq!(epoch_us(b"1646861401.5241024"), Ok(1_646_861_401_524_102));
        assert_eq!(epoch_us(b"1646861401524"), Ok(1_646_861_401_524_000));
        assert_eq!(epoch_us(b"1646861401524102"), Ok(1_646_861_401_524_102));
        assert_eq!(epoch_us(b"1646861401524102999"), Ok(1_646_861_401_524_102));
        assert_eq!(epoch_us(b"1.646861401e9"), Ok(1_646_861_401_000_000));
    }
}
