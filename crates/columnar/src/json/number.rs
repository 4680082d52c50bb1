//! Numbers, and which of them 64 bits or a double hold without a change.

/// Integers up to here are all doubles.
const FLOAT_INTEGER_MAX: u64 = 1 << 53;

/// Kind of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    /// Above `i64::MAX`.
    UInt(u64),
    Float(f64),
    /// The nearest double to a literal with more digits than it has.
    Rounded(f64),
    /// An integer of 64 bits above those that are all doubles, where numbers stay as they are
    /// written.
    Whole(i128),
    /// An integer past 64 bits: the nearest double, and whether that is another number.
    Huge(f64, bool),
    /// A number past the range of doubles, or one that would not be written the same again.
    Changed,
}

impl Number {
    /// Kind of a number literal.
    pub(crate) fn of(literal: &str) -> Self {
        if literal != "-0" && literal.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            let unsigned = || literal.parse().map_or_else(|_| huge(literal), Self::UInt);
            return literal.parse().map_or_else(|_| unsigned(), Self::Int);
        }
        float(literal)
    }

    /// The same as [`of`](Self::of), where a number that would not be written the same again is
    /// [`Self::Changed`].
    pub(crate) fn exact(literal: &str) -> Self {
        match Self::of(literal) {
            Self::Rounded(_) | Self::Huge(..) => Self::Changed,
            Self::Float(value) if !is_shortest(literal, value) => Self::Changed,
            Self::Int(value) if value.unsigned_abs() > FLOAT_INTEGER_MAX => Self::Whole(value.into()),
            Self::UInt(value) => Self::Whole(value.into()),
            number => number,
        }
    }

    /// The integer for it, if it is one.
    fn to_integer(self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(value.into()),
            Self::UInt(value) => Some(value.into()),
            Self::Whole(value) => Some(value),
            _ => None,
        }
    }

    /// The signed integer of 64 bits for it, if it is one.
    pub(crate) fn to_signed(self) -> Option<i64> {
        self.to_integer()?.try_into().ok()
    }

    /// The unsigned integer of 64 bits for it, if it is one.
    pub(crate) fn to_unsigned(self) -> Option<u64> {
        self.to_integer()?.try_into().ok()
    }

    /// The double for it, or the nearest one.
    pub(crate) fn to_float(self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(value as f64),
            Self::UInt(value) => Some(value as f64),
            Self::Float(value) | Self::Rounded(value) | Self::Huge(value, _) => Some(value),
            Self::Whole(_) | Self::Changed => None,
        }
    }

    /// True if it has no place in a column of integers, and in a text is kept as it is written.
    pub(crate) fn is_text_among_integers(self) -> bool {
        matches!(self, Self::Huge(..) | Self::Changed)
    }

    /// True if the double for it is another number.
    pub(crate) fn is_rounded_by_float(self) -> bool {
        matches!(self, Self::Rounded(_) | Self::Huge(_, true))
            || self.to_integer().is_some_and(|value| (value as f64) as i128 != value)
    }
}

/// Length of the number that `bytes` start with; or the place where it goes wrong.
pub(crate) fn length(bytes: &[u8]) -> Result<usize, usize> {
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        _ => digits(bytes, at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(bytes, at)?;
    }
    // `01` and `1x` are no numbers; other bytes after a value are the caller's.
    if bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) { Err(at) } else { Ok(at) }
}

/// Index after the digits at `at`; `at` itself as an error if there is no digit.
fn digits(bytes: &[u8], at: usize) -> Result<usize, usize> {
    let count = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 { Err(at) } else { Ok(at + count) }
}

/// An integer of at most 18 digits, and its length: the usual case, quickly. `None` says nothing.
#[inline]
pub(super) fn short_integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mut value, mut at) = (0_i64, start);
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        if at == start + 18 {
            return None;
        }
        value = value * 10 + i64::from(digit);
        at += 1;
    }
    let sound = at > start
        && (bytes[start] != b'0' || (at == 1 && !negative))
        && matches!(bytes.get(at), Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r'));
    sound.then_some((if negative { -value } else { value }, at))
}

/// An integer past 64 bits.
#[cold]
fn huge(literal: &str) -> Number {
    match float(literal) {
        Number::Float(value) => Number::Huge(value, false),
        Number::Rounded(value) => Number::Huge(value, true),
        other => other,
    }
}

/// The nearest double to a literal: the one that was written, where a program wrote a double, be it
/// with 17 digits (`0.10000000000000001`).
fn float(literal: &str) -> Number {
    if let Some(value) = short_float(literal) {
        return Number::Float(value);
    }
    let Ok(value) = literal.parse::<f64>() else { return Number::Changed };
    let written = Decimal::of(literal);
    if !value.is_finite() || (value == 0.0 && !written.digits.is_empty()) {
        return Number::Changed;
    }
    // Most programs write the shortest text of a double, and it is the quicker to compare.
    if written == Decimal::of(&format!("{value:e}")) || written.is_rounded_from(value) {
        Number::Float(value)
    } else {
        Number::Rounded(value)
    }
}

/// The shortest way to write the double has the literal's value.
fn is_shortest(literal: &str, value: f64) -> bool {
    short_float(literal).is_some() || Decimal::of(literal) == Decimal::of(&format!("{value:e}"))
}

/// Most significant digits that a double has, written in full.
const FLOAT_DIGITS_MAX: usize = 767;

/// Powers of ten that are doubles.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
    1e22,
];

/// At most 15 digits without an exponent: always exact, and one division gives the nearest double.
fn short_float(literal: &str) -> Option<f64> {
    let (negative, unsigned) = literal.strip_prefix('-').map_or((false, literal), |rest| (true, rest));
    let (mut digits, mut count, mut point) = (0_u64, 0, None);
    for byte in unsigned.bytes() {
        match byte {
            b'0'..=b'9' if count < 15 => digits = digits * 10 + u64::from(byte - b'0'),
            b'.' => {
                point = Some(count);
                continue;
            }
            _ => return None,
        }
        count += 1;
    }
    let value = digits as f64 / TENS[count - point.unwrap_or(count)];
    Some(if negative { -value } else { value })
}

/// A decimal number by its digits, so that two literals of one value are equal.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    /// Without zeros at either end.
    digits: Vec<u8>,
    /// Of ten, for the point before the first digit.
    exponent: i64,
}

impl Decimal {
    /// The double, rounded to as many digits, is this.
    fn is_rounded_from(&self, value: f64) -> bool {
        let count = self.digits.len();
        count <= FLOAT_DIGITS_MAX && Self::of(&format!("{value:.*e}", count.saturating_sub(1))) == *self
    }

    fn of(literal: &str) -> Self {
        let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
        let negative = mantissa.starts_with('-');
        let mantissa = mantissa.trim_start_matches('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let zeros = all.iter().take_while(|digit| **digit == b'0').count();
        let end = all.iter().rposition(|digit| *digit != b'0').map_or(zeros, |last| last + 1);
        let digits = all[zeros..end].to_vec();
        // Exponents past 64 bits are as good as none: their numbers are zero or infinite as
        // doubles.
        let exponent = exponent
            .parse::<i64>()
            .unwrap_or(i64::MAX / 2)
            .saturating_add(whole.len().cast_signed() as i64 - zeros.cast_signed() as i64);
        Self { negative, exponent: if digits.is_empty() { 0 } else { exponent }, digits }
    }
}
