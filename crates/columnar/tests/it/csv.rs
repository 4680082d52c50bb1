//! Quotes of a CSV that its first 256 KiB do not show: a wrong reading of them is said.

use crate::json_common::{column, notes};
use bytes::Bytes;
use rorqual_columnar::csv::Quote;
use rorqual_columnar::{
    BadRecord, BadRecords, DecodeNote, DecodedRecords, FormatHints, FormatKind, RecordFormat, ScanHead, Shape, Unplaced,
};
use rorqual_pipe::Chunk;
use rorqual_pipe::limits::BLOCK_BYTES;

/// All rows of a CSV that is cut into blocks, with the notes on them.
fn rows(text: &str, quote: Option<Quote>, block_bytes: usize) -> DecodedRecords {
    let (bytes, whole) = (text.as_bytes()[..text.len().min(BLOCK_BYTES)].to_vec(), text.len() < BLOCK_BYTES);
    let head = ScanHead { bytes, whole, ..ScanHead::default() };
    let hints = FormatHints { kind: Some(FormatKind::Csv), quote, ..FormatHints::default() };
    let format = RecordFormat::detect("t", &head, &hints).unwrap().format;
    let chunks = chunks(text, &format, block_bytes);
    let (mut shape, mut infer) = (Shape::default(), format.infer().unwrap());
    let (mut bad, mut noted) = (Vec::new(), rorqual_columnar::Notes::default());
    for chunk in &chunks {
        let inferred = infer.infer(chunk).unwrap();
        shape.merge(inferred.shape);
        bad.extend(inferred.bad);
        noted.merge(&inferred.notes);
    }
    let mut decoder = format.decoder(&shape.to_schema(false), Unplaced::Keep, 32 << 20);
    let mut all = DecodedRecords::default();
    for chunk in &chunks {
        let decoded = decoder.decode(chunk).unwrap();
        assert!(decoded.misfit.is_none() && decoded.rest.is_none());
        all.batches.extend(decoded.batches);
        all.bad.extend(decoded.bad);
        all.notes.merge(&decoded.notes);
    }
    assert_eq!((&all.bad, &all.notes), (&bad, &noted), "the first look at it says the same");
    all
}

fn chunks(text: &str, format: &RecordFormat, block_bytes: usize) -> Vec<Chunk> {
    let (bytes, mut splitter) = (Bytes::copy_from_slice(text.as_bytes()), format.splitter().unwrap());
    let (mut chunks, mut start) = (Vec::new(), 0);
    for (number, block) in text.as_bytes().chunks(block_bytes).enumerate() {
        let end = splitter.split(block).unwrap().last_end.map(|end| number * block_bytes + end);
        let end = end.or_else(|| (number * block_bytes + block.len() == text.len()).then_some(text.len()));
        if let Some(end) = end {
            let mut chunk = Chunk::empty(start as u64, usize::MAX);
            chunk.bytes = bytes.slice(start..end);
            chunks.push(chunk);
            start = end;
        }
    }
    splitter.finish().unwrap();
    chunks
}

/// A table of two columns, `first`, then 30,000 plain lines, then these; more than 256 KiB.
fn table(delimiter: char, first: &str, last: &str) -> String {
    let plain: String = (0..30_000).map(|number| format!("{number}{delimiter}text number {number}\n")).collect();
    assert!(plain.len() > BLOCK_BYTES);
    format!("id{delimiter}text\n{first}{plain}{last}")
}

/// 10,000 lines of which the first has a quote that the last closes, as one record.
fn torn(delimiter: char) -> String {
    let inner: String = (30_001..39_999).map(|number| format!("{number}{delimiter}x\n")).collect();
    format!("30000{delimiter}\"open\n{inner}39999{delimiter}close\"\n")
}

/// The number of rows, and the notes on them, which are those of any block size.
fn counted(text: &str, quote: Option<Quote>) -> (usize, Vec<(DecodeNote, u64)>) {
    let count = |block_bytes| {
        let rows = rows(text, quote, block_bytes);
        assert_eq!(rows.bad, []);
        (rows.batches.iter().map(|batch| batch.num_rows()).sum(), notes(&rows.notes))
    };
    let found = count(BLOCK_BYTES);
    assert_eq!(count(10_007), found);
    found
}

#[test]
fn lines_that_late_quotes_join_are_said() {
    for delimiter in ['\t', ','] {
        let text = table(delimiter, "", &(torn(delimiter) + &format!("40000{delimiter}end\n")));
        // One record of 10,000 lines, and the last.
        let said = vec![(DecodeNote::LinesInQuotes, 1)];
        assert_eq!(counted(&text, None), (30_002, said.clone()));
        assert_eq!(counted(&text, Some(Quote::Never)), (40_001, Vec::new()));
        // Whoever gives the quote means it.
        assert_eq!(counted(&text, Some(Quote::Mark(b'"'))), (30_002, Vec::new()));
        // A field in quotes before does not make it a text.
        let text = table(delimiter, &format!("1{delimiter}\"a\"\n"), &torn(delimiter));
        assert_eq!(counted(&text, None), (30_002, said));
    }
    // The offset is that of the record.
    let text = table('\t', "", &torn('\t'));
    let place = rows(&text, None, BLOCK_BYTES).notes.get(DecodeNote::LinesInQuotes).unwrap().first_offset;
    assert!(text[place as usize..].starts_with("30000\t\"open"));
    let told = rows(&text, None, BLOCK_BYTES).notes.told("t").collect::<String>();
    assert!(told.starts_with("1 x a record over several lines, by quotes that may be lone ones"), "{told}");
    assert!(told.contains("\"quote\" none makes each line a record"), "{told}");
}

#[test]
fn texts_with_line_breaks_in_a_table_with_quotes_are_no_doubt() {
    let late = "30000,\"a\nb\"\n30001,\"c, d\ne\n\nf\"\n30002,\"g\nh, i\"\n";
    assert_eq!(counted(&table(',', "1,\"a\"\n", late), None), (30_004, Vec::new()));
    // They are the first, and so they may be none.
    assert_eq!(counted(&table(',', "", late), None), (30_003, vec![(DecodeNote::LinesInQuotes, 3)]));
    assert_eq!(counted("a,b\n1,\"x\ny\"\n", None), (1, Vec::new()));
}

#[test]
fn text_after_a_closing_quote_is_kept_and_said() {
    let late = "30000,\"a\" b\n30001,\"x\"y\"z\"\n30002,\"c\"\"d\"\n";
    let text = table(',', "", late);
    for quote in [None, Some(Quote::Mark(b'"'))] {
        assert_eq!(counted(&text, quote), (30_003, vec![(DecodeNote::TextAfterQuote, 2)]));
        let texts = column(&rows(&text, quote, BLOCK_BYTES).batches, "text");
        assert_eq!(texts[30_000..], ["a b", "xy\"z\"", "c\"d"]);
    }
    assert_eq!(counted(&text, Some(Quote::Never)), (30_003, Vec::new()));
    // So it is where the quote is given for the head as well.
    let text = "id,text\n1,\"5\" pipe\n2,\"a\"\n";
    assert_eq!(counted(text, Some(Quote::Mark(b'"'))), (2, vec![(DecodeNote::TextAfterQuote, 1)]));
}

#[test]
fn quotes_over_several_lines_with_text_after_them_are_a_bad_record() {
    let late = "30000,\"5\"\n30001,\"a\nb\" c\n30002,d\n";
    let text = table(',', "", late);
    let offset = text.find("30001,").unwrap() as u64;
    for quote in [None, Some(Quote::Mark(b'"'))] {
        let rows = rows(&text, quote, BLOCK_BYTES);
        let reason = "quotes over several lines with text after them, which are not a CSV's";
        // `30001,"a`, `b" c` and their newlines.
        assert_eq!(rows.bad, [BadRecord { offset, length: 9 + 5, at: offset, reason }]);
        assert_eq!(column(&rows.batches, "text")[30_000..], ["5", "d"]);
        let mut all = BadRecords::default();
        all.add("t", &rows.bad[0]);
        assert!(all.first().unwrap().contains("; with \"quote\" none each line is a record)"), "{all:?}");
    }
}
