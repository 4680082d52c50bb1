//! strftime strings, as in Apache's `%{…}t`.

use super::error::FormatError;
use super::program::ClockItem;

/// The items of a strftime string; an unknown directive is an error at `column`, where the string
/// is.
pub(crate) fn items(format: &str, column: usize) -> Result<Vec<ClockItem>, FormatError> {
    let mut items = Vec::new();
    let mut bytes = format.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => directive(&mut bytes, &mut items, format, column)?,
            b' ' => items.push(ClockItem::Space),
            other => items.push(ClockItem::Literal(other)),
        }
    }
    Ok(items)
}

fn directive(
    bytes: &mut std::str::Bytes<'_>,
    items: &mut Vec<ClockItem>,
    format: &str,
    column: usize,
) -> Result<(), FormatError> {
    // E, O and - ask for other digits or no padding; the value is the same.
    let letter = bytes.find(|byte| !matches!(byte, b'E' | b'O' | b'-' | b'_' | b'^' | b'#'));
    let Some(letter) = letter else {
        return Err(FormatError::new(column, format!("%{{{format}}}t ends within a directive")));
    };
    if let Some(expansion) = expansion(letter) {
        items.extend(self::items(expansion, column)?);
        return Ok(());
    }
    let item = item(letter);
    items.push(item.ok_or_else(|| {
        FormatError::new(column, format!("%{{{format}}}t: %{} is not a known strftime directive", char::from(letter)))
    })?);
    Ok(())
}

/// Directives that stand for several others, as the C locale has them.
fn expansion(letter: u8) -> Option<&'static str> {
    match letter {
        b'c' => Some("%a %b %e %H:%M:%S %Y"),
        b'D' | b'x' => Some("%m/%d/%y"),
        b'F' => Some("%Y-%m-%d"),
        b'R' => Some("%H:%M"),
        b'r' => Some("%I:%M:%S %p"),
        b'T' | b'X' => Some("%H:%M:%S"),
        b'v' => Some("%e-%b-%Y"),
        _ => None,
    }
}

fn item(letter: u8) -> Option<ClockItem> {
    Some(match letter {
        b'%' => ClockItem::Literal(b'%'),
        b'n' | b't' => ClockItem::Space,
        b'Y' => ClockItem::Year,
        b'C' => ClockItem::Century,
        b'y' => ClockItem::YearOfCentury,
        b'm' => ClockItem::Month,
        b'b' | b'B' | b'h' => ClockItem::MonthName,
        b'a' | b'A' => ClockItem::WeekdayName,
        b'd' | b'e' => ClockItem::Day,
        b'j' => ClockItem::DayOfYear,
        b'H' | b'k' => ClockItem::Hour,
        b'I' | b'l' => ClockItem::Hour12,
        b'p' | b'P' => ClockItem::AmPm,
        b'M' => ClockItem::Minute,
        b'S' => ClockItem::Second,
        b'z' => ClockItem::Zone,
        b'Z' => ClockItem::ZoneName,
        b's' => ClockItem::EpochSeconds,
        b'G' | b'g' | b'U' | b'V' | b'W' | b'u' | b'w' => ClockItem::Digits,
        _ => return None,
    })
}
