//! The values with most rows, and how they are listed.

use crate::sparse_counts::RowsAndBytes;
use rorqual_accesslog::report::ReportRow;
use std::cmp::Ordering;

/// A value as text; one that is too long to show ends in `…`.
pub(crate) fn shown(text: &[u8]) -> String {
    rorqual_accesslog::report::shown_value(text)
}

/// Most hits first, ties by text.
pub(crate) fn by_hits<'a>(text: impl Fn(u32) -> &'a [u8]) -> impl Fn(&(u32, RowsAndBytes), &(u32, RowsAndBytes)) -> Ordering {
    move |a, b| b.1.hits.cmp(&a.1.hits).then_with(|| text(a.0).cmp(text(b.0)))
}

/// The values with most hits, ties by text.
pub(crate) fn top_values<'a>(
    amounts: impl Iterator<Item = (u32, RowsAndBytes)>,
    text: impl Fn(u32) -> &'a [u8],
    count: usize,
) -> Vec<(u32, RowsAndBytes)> {
    top_by(amounts, by_hits(text), count)
}

/// The first items of an order.
pub(crate) fn top_by<T: Copy>(items: impl Iterator<Item = T>, order: impl Fn(&T, &T) -> Ordering, count: usize) -> Vec<T> {
    let mut top: Vec<T> = Vec::new();
    // The last one that is listed so far.
    let mut last: Option<T> = None;
    for value in items {
        if count == 0 || last.is_some_and(|last| order(&value, &last).is_gt()) {
            continue;
        }
        top.push(value);
        if top.len() >= count.saturating_mul(2).saturating_add(TOP_SPARE) {
            let (_, at, _) = top.select_nth_unstable_by(count - 1, &order);
            last = Some(*at);
            top.truncate(count);
        }
    }
    if top.len() > count {
        top.select_nth_unstable_by(count - 1, &order);
        top.truncate(count);
    }
    top.sort_unstable_by(&order);
    top
}

/// Values beyond twice those wanted that are gathered before the least are left out.
const TOP_SPARE: usize = 1_024;

/// A value as it is listed, of which so many rows may be missing.
pub(crate) fn row_of(text: &[u8], RowsAndBytes { hits, bytes }: RowsAndBytes, missing: u64) -> ReportRow {
    ReportRow { value: shown(text), hits, hits_min: hits, hits_max: hits + missing, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::OTHERS;

    #[test]
    fn the_top_of_many_with_as_many_hits() {
        let names: Vec<String> = (0..5_000).map(|code: u32| format!("{:04}", code.wrapping_mul(7_919) % 5_000)).collect();
        let hits = |code: u32| if code % 1_000 == 7 { 3 } else { u64::from(code % 2) };
        let values = (0..5_000u32)
            .map(|code| (code, RowsAndBytes { hits: hits(code), bytes: 0 }))
            .filter(|(code, amount)| *code > OTHERS && amount.hits > 0);
        let mut expected: Vec<u32> = (2..5_000).filter(|code| hits(*code) > 0).collect();
        expected.sort_by_key(|code| (std::cmp::Reverse(hits(*code)), &names[*code as usize]));
        for count in [0, 1, 5, 100, 10_000] {
            let top = top_values(values.clone(), |code| names[code as usize].as_bytes(), count);
            let codes: Vec<u32> = top.iter().map(|(code, _)| *code).collect();
            assert_eq!(codes, expected[..count.min(expected.len())]);
        }
    }
}
