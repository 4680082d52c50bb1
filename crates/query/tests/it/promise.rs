//! The memory given is the memory taken, and no file stays.

use crate::common::{MIB, PROGRAM, TestFolder, csv, names_in, query};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use rorqual_query::TempFolder;
use rorqual_testkit::generate::write_addresses_log;
use rorqual_testkit::process::ProcessRun;
use rustix::event::{PollFd, PollFlags};
use std::fs::File;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

const MEMORY: u64 = 256 * MIB;

/// A log of so many lines, each with a client of its own.
fn addresses(folder: &TestFolder, lines: u32) -> String {
    let path = folder.text("addresses.log");
    write_addresses_log(lines, &mut BufWriter::new(File::create(&path).unwrap())).unwrap();
    path
}

fn bounded(folder: &TestFolder, sql: &str) -> ProcessRun {
    query(&["--memory", "256MiB", "--to", "csv", "--temp-dir", &folder.text("temp"), sql])
}

/// Grouping by a value that never comes back, far beyond the memory: 5 million addresses are 400
/// MiB of a hash table.
#[test]
fn groups_beyond_the_memory() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.at("temp")).unwrap();
    let path = addresses(&folder, 5_000_000);
    let sql =
        format!("SELECT count(*) AS groups, max(n) AS most FROM (SELECT client, count(*) AS n FROM '{path}' GROUP BY client)");
    let ran = bounded(&folder, &sql).run().exits(0);
    assert_eq!(ran.text(), "groups,most\n5000000,1\n");
    ran.within(MEMORY);
    assert!(names_in(&folder.at("temp")).is_empty());
}

/// Sorting 3 million lines with their texts.
#[test]
fn sorts_beyond_the_memory() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.at("temp")).unwrap();
    let path = addresses(&folder, 3_000_000);
    let sorted = folder.text("sorted.csv");
    let ran = bounded(&folder, &format!("SELECT client, time, method, path, protocol, bytes FROM '{path}' ORDER BY client"));
    let ran = ran.arg("-o").arg(&sorted).run().exits(0);
    ran.within(MEMORY);
    let text = std::fs::read_to_string(&sorted).unwrap();
    let clients: Vec<&str> = text.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(clients.len(), 3_000_000);
    assert!(clients.is_sorted());
}

/// Pages of 95 MiB of text, as DuckDB writes them: the engine's reader would hold two in each
/// thread.
#[test]
fn pages_as_large_as_others_write_them_are_read_one_at_a_time() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.at("temp")).unwrap();
    let rows = 25_000;
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_data_page_size_limit(1 << 30)
        .set_write_batch_size(1 << 20)
        .set_max_row_group_row_count(Some(25_000))
        .build();
    let batch = |group: i64| {
        let numbers = group * rows..(group + 1) * rows;
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(numbers.clone().map(|row| format!("{row:04000}"))));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        RecordBatch::try_from_iter([("n", numbers), ("body", texts)]).unwrap()
    };
    for name in ["a.parquet", "b.parquet"] {
        let file = File::create(folder.at(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch(0).schema(), Some(properties.clone())).unwrap();
        (0..3).for_each(|group| writer.write(&batch(group)).unwrap());
        writer.close().unwrap();
    }
    let ask = |sql: &str| {
        let ran = bounded(&folder, sql).run().exits(0);
        ran.within(MEMORY).text().to_owned()
    };
    let [one, both] = [folder.text("a.parquet"), folder.text("[ab].parquet")];
    assert_eq!(
        ask(&format!("SELECT count(*) AS rows, max(body) = '{:04000}' AS last FROM '{one}'", 74_999)),
        "rows,last\n75000,true\n"
    );
    let sql = format!("SELECT n, length(body) AS bytes FROM '{both}' WHERE body LIKE '%000054321' ORDER BY n");
    assert_eq!(ask(&sql), "n,bytes\n54321,4000\n54321,4000\n");
    // Two of them in a row have no room side by side, and are read in turns.
    let batch = batch(0);
    let bodies = [("one", batch.column(1)), ("other", batch.column(1))].map(|(name, column)| (name, Arc::clone(column)));
    let twice = RecordBatch::try_from_iter(bodies).unwrap();
    let file = File::create(folder.at("twice.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, twice.schema(), Some(properties)).unwrap();
    writer.write(&twice).unwrap();
    writer.close().unwrap();
    let sql = format!("SELECT count(*) AS rows FROM '{}' WHERE one = other AND length(one) = 4000", folder.text("twice.parquet"));
    assert_eq!(ask(&sql), "rows\n25000\n");
    // Not one of those pages is read for the numbers.
    assert_eq!(ask(&format!("SELECT sum(n) AS sum FROM '{both}'")), format!("sum\n{}\n", 75_000_u64 * 74_999));
}

/// Joining 2 million lines with themselves: a hash table of one side has no room, so both are
/// sorted.
#[test]
fn joins_beyond_the_memory() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.at("temp")).unwrap();
    let path = addresses(&folder, 2_000_000);
    let sql = format!(
        "SELECT count(*) AS n, sum(a.bytes) AS bytes FROM '{path}' a JOIN '{path}' b ON a.client = b.client AND a.time = b.time"
    );
    let ran = bounded(&folder, &sql).run().exits(0);
    // Bytes are 0 to 999, over and over.
    assert_eq!(ran.text(), format!("n,bytes\n2000000,{}\n", 2_000 * 499_500));
    ran.within(MEMORY);
}

/// A state that nobody spills: one value of all texts.
#[test]
fn what_can_not_be_moved_to_disk_ends_the_query() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.at("temp")).unwrap();
    let path = addresses(&folder, 5_000_000);
    for sql in [
        format!("SELECT length(string_agg(client || path || protocol, ',')) FROM '{path}'"),
        format!("SELECT cardinality(array_agg(client)) FROM '{path}'"),
        format!("CREATE TABLE t AS SELECT * FROM '{path}'"),
    ] {
        let ran = bounded(&folder, &sql).run().exits(2);
        ran.says(&["--memory"]).within(MEMORY);
        assert!(names_in(&folder.at("temp")).is_empty(), "{sql}");
    }
}

/// One value that is made in one step, which nothing can stop but the end of the process.
#[test]
fn what_does_not_yield_ends_with_the_process() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.at("temp")).unwrap();
    let ran = bounded(&folder, "SELECT length(repeat('x', 2000000000))").args(["-o", &folder.text("out.csv")]).run().exits(2);
    ran.says(&["--memory 256 MiB", "can't be moved to the temp folder"]).within(MEMORY);
    assert_eq!((folder.names(), names_in(&folder.at("temp"))), (vec!["temp".to_owned()], Vec::new()));
}

#[test]
fn a_full_temp_folder_is_an_error() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.at("temp")).unwrap();
    let path = addresses(&folder, 3_000_000);
    let sql = format!("SELECT client, path, protocol FROM '{path}' ORDER BY client");
    let ran = bounded(&folder, &sql).args(["--temp-max", "10MiB", "-o", &folder.text("out.csv")]).run().exits(2);
    ran.says(&["--temp-max"]).within(MEMORY);
    assert_eq!(folder.names(), ["addresses.log", "temp"]);
    assert!(names_in(&folder.at("temp")).is_empty());
}

/// Ctrl-C, and signals that end programs.
#[test]
fn a_signal_leaves_nothing() {
    for signal in ["INT", "TERM"] {
        let folder = TestFolder::new();
        std::fs::create_dir(folder.at("temp")).unwrap();
        let path = addresses(&folder, 5_000_000);
        let sql = format!("SELECT client, path, protocol FROM '{path}' ORDER BY client");
        let running = bounded(&folder, &sql).args(["-o", &folder.text("out.csv")]).start();
        // Fails when it ends before it has spilled.
        while !has_spilled(&folder.at("temp")) {
            assert!(running.peak_bytes() > 0);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let _ = ProcessRun::new("kill").args(["-s", signal, &running.id().to_string()]).run().exits(0);
        let ran = running.wait().exits(130);
        ran.says(&["stopped by"]);
        assert_eq!(folder.names(), ["addresses.log", "temp"]);
        assert!(names_in(&folder.at("temp")).is_empty());
    }
}

/// Ctrl-C, while the reader of the output takes nothing.
#[test]
fn a_reader_that_takes_nothing_does_not_keep_it() {
    let folder = TestFolder::new();
    let pipe = folder.text("pipe");
    let _ = ProcessRun::new("mkfifo").arg(&pipe).run().exits(0);
    // 70 MB, and a pipe holds one.
    let sql = "SELECT value FROM generate_series(1, 9000000)";
    let to_stdout = ProcessRun::new("sh").args(["-c", "exec \"$0\" --to csv \"$1\" > \"$2\"", PROGRAM, sql, &pipe]);
    for run in [to_stdout, query(&["--to", "csv", "-o", &pipe, sql])] {
        let reader = File::options().read(true).write(true).open(&pipe).unwrap();
        let running = run.start();
        // Where it writes on, it does so until the pipe is full.
        let mut before = 0;
        loop {
            assert!(running.peak_bytes() > 0, "it ended");
            std::thread::sleep(Duration::from_millis(50));
            let now = rustix::io::ioctl_fionread(&reader).unwrap();
            if now > 0 && std::mem::replace(&mut before, now) == now {
                break;
            }
        }
        running.interrupt();
        let _ = running.wait().exits(130).says(&["stopped by Ctrl-C"]);
    }
}

/// While it is planned, standard input is looked at, which may give nothing yet.
#[test]
fn ctrl_c_ends_a_query_that_waits_for_its_input() {
    let (read, is_read) = channel();
    let running = query(&["SELECT * FROM '-'"])
        .feed(move |stdin| {
            stdin.write_all(b"a,b\n")?;
            while rustix::io::ioctl_fionread(&*stdin)? > 0 {
                std::thread::yield_now();
            }
            let _ = read.send(());
            // Open until its reader has ended.
            rustix::event::poll(&mut [PollFd::new(stdin, PollFlags::empty())], None)?;
            Ok(())
        })
        .start();
    is_read.recv_timeout(Duration::from_secs(60)).expect("the query reads");
    running.interrupt();
    let _ = running.wait().exits(130).says(&["stopped by Ctrl-C"]);
}

/// True if there is a file of some size below a folder.
fn has_spilled(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|path| if path.is_dir() { has_spilled(&path) } else { path.metadata().is_ok_and(|metadata| metadata.len() > MIB) })
}

/// A folder of a process that was killed goes with the next query; one in use stays.
#[test]
fn what_a_kill_left_is_removed() {
    let folder = TestFolder::new();
    let temp = folder.at("temp");
    std::fs::create_dir_all(temp.join("rorqual-query-left")).unwrap();
    std::fs::write(temp.join("rorqual-query-left/lock"), "").unwrap();
    std::fs::write(temp.join("rorqual-query-left/spill"), "rows").unwrap();
    std::fs::create_dir_all(temp.join("of-others")).unwrap();
    let _ = query(&["--temp-dir", temp.to_str().unwrap(), "SELECT 1"]).run().exits(0);
    assert_eq!(names_in(&temp), ["of-others"]);
    assert_eq!(csv("SELECT 1 AS one"), "one\n1\n");
}

/// Locks are of open files, so threads stand for processes.
#[test]
fn a_folder_that_is_being_made_is_not_taken_for_one_that_was_left() {
    let folder = TestFolder::new();
    let parent = folder.at("temp");
    std::fs::create_dir(&parent).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for _ in 0..500 {
                    let made = TempFolder::create(Some(&parent)).unwrap();
                    assert!(made.path().join("lock").exists());
                }
            });
        }
    });
    assert!(names_in(&parent).is_empty());
}
