//! Arrow IPC streams, from files and pipes.

use crate::common::{MIB, TestFolder, rorqual};
use crate::tables;
use rorqual_columnar::write::WriteTarget;

/// A stream: a file is one after its magic and zeros, and goes on with its footer.
fn stream(folder: &TestFolder, rows: i64) -> Vec<u8> {
    let path = folder.at("t.arrow");
    tables::write(&path, WriteTarget::Arrow, rows);
    let file = std::fs::read(path).expect("it was written");
    let start = file.iter().position(|byte| *byte == 0xff).expect("the first message's mark");
    // Without the footer, its length and the mark after it.
    let end = file.len() - 10;
    let footer = u32::from_le_bytes(file[end..end + 4].try_into().expect("four bytes")) as usize;
    file[start..end - footer].to_vec()
}

#[test]
fn a_stream_is_read_from_a_file_and_from_a_pipe() {
    let folder = TestFolder::new();
    let bytes = stream(&folder, 100_000);
    let path = folder.file("t.arrows", &bytes);
    let first = "{\"id\":0}\n{\"id\":1}\n";
    assert_eq!(rorqual(&["head", "-n", "2", "--columns", "id", &path]).run().exits(0).text(), first);
    assert_eq!(rorqual(&["head", "-n", "2", "--columns", "id", "-"]).stdin(bytes.clone()).run().exits(0).text(), first);
    let columns = rorqual(&["schema", "-"]).stdin(bytes.clone()).run().exits(0).text().to_owned();
    assert_eq!(rorqual(&["schema", &path]).run().exits(0).text(), columns);
    let all = rorqual(&["convert", &path, "--to", "ndjson", "-o", "-"]).run().exits(0).stdout;
    assert_eq!(all.iter().filter(|byte| **byte == b'\n').count(), 100_000);
    let whole = rorqual(&["convert", &folder.text("t.arrow"), "--to", "ndjson", "-o", "-"]).run().exits(0).stdout;
    assert!(all == whole, "the file has the same rows");
    let target = folder.text("out.parquet");
    let ran = rorqual(&["convert", "-", "-o", &target, "--memory", "128MiB"]).stdin(bytes).run().exits(0);
    ran.within(128 * MIB);
    let back = rorqual(&["convert", &target, "--to", "ndjson", "-o", "-"]).run().exits(0).stdout;
    assert!(back == all, "the pipe has the same rows");
}

#[test]
fn a_stream_that_is_cut_or_compressed_is_told() {
    let folder = TestFolder::new();
    let bytes = stream(&folder, 20_000);
    let ran = rorqual(&["convert", "-", "--to", "ndjson", "-o", "-"]).stdin(&bytes[..bytes.len() / 2]).run().exits(2);
    ran.says(&["standard input: not a sound Arrow", "cut short"]);
    let packed = zstd::encode_all(&bytes[..], 1).expect("it is compressed");
    let path = folder.file("t.arrows.zst", packed);
    rorqual(&["head", &path]).run().exits(2).says(&["t.arrows.zst", "compressed as a whole"]);
}
