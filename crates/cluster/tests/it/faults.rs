//! Processes that die, stand still or leave.

use crate::common::{PROGRAM, SAMPLE, TestCluster, TestFolder, alone, listening, names_in, program};
use rorqual_testkit::process::ProcessEnd;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A log that keeps two executors busy for some seconds, and a question about all of it.
fn work(folder: &TestFolder) -> (String, ProcessEnd) {
    let log = folder.file("access.log", SAMPLE.repeat(30));
    let sql = format!(
        "SELECT path, count(*) AS n, sum(length(regexp_replace(agent, '[aeiou]+', x, 'g'))) AS l, \
         max(regexp_replace(referrer, '[0-9]+', x, 'g')) AS r \
         FROM (SELECT path, agent, referrer, unnest(['a', 'bc', 'd', 'ef', 'g', 'hi', 'j', 'k', 'l', 'm']) AS x FROM '{log}') \
         GROUP BY path ORDER BY n DESC, path LIMIT 40"
    );
    let expected = alone(&[&sql]).run().exits(0);
    (sql, expected)
}

/// An executor that is killed, ended or stands still, at several moments of a query: the answer is
/// the same. One question has small results between its stages, and the other sends all rows: of
/// those none may come twice.
#[test]
fn an_executor_that_is_lost_costs_no_answer() {
    let folder = TestFolder::new();
    let (aggregated, _) = work(&folder);
    let log = folder.text("access.log");
    let window = format!(
        "SELECT count(*) AS n, sum(rn) AS s, max(rn) AS m FROM \
         (SELECT row_number() OVER (PARTITION BY client, time, path ORDER BY agent) AS rn FROM '{log}')"
    );
    for (sql, moments) in [(aggregated, &[0.2, 0.7][..]), (window, &[0.4, 0.55, 0.7, 0.85][..])] {
        let expected = alone(&[&sql]).run().exits(0);
        for (number, moment) in moments.iter().enumerate() {
            let cluster = TestCluster::start(&folder, 2);
            let begun = Instant::now();
            let ran = cluster.query(&[&sql]).run().exits(0);
            assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr));
            let whole = begun.elapsed();
            let running = cluster.query(&[&sql]).start();
            std::thread::sleep(whole.mul_f64(*moment));
            let victim = &cluster.executors[0];
            match number {
                0 => victim.terminate(),
                1 => victim.pause(),
                _ => victim.kill(),
            }
            let ran = running.wait().exits(0);
            assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr), "at {moment} of {whole:?}: {sql}");
            if number == 1 {
                victim.go_on();
                // It takes part again, and removes what it had.
                let ran = cluster.query(&[&sql]).run().exits(0);
                assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr), "after it went on");
                cluster.waits_for_clean_folders();
            }
        }
    }
}

#[test]
fn without_scheduler_or_executors_the_query_ends_with_an_error() {
    let folder = TestFolder::new();
    let (sql, _) = work(&folder);
    let cluster = TestCluster::start(&folder, 1);
    let running = cluster.query(&[&sql]).start();
    std::thread::sleep(Duration::from_millis(700));
    cluster.executors[0].kill();
    let begun = Instant::now();
    let ran = running.wait().exits(2);
    assert_eq!(ran.text(), "");
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    ran.says(&["executor"]);

    let cluster = TestCluster::start(&folder, 1);
    let running = cluster.query(&[&sql]).start();
    std::thread::sleep(Duration::from_millis(700));
    cluster.scheduler.kill();
    running.wait().exits(2).says(&["the scheduler at", &cluster.address]);

    let nobody = program(&["query", "--cluster", "127.0.0.1:9", "SELECT 1 AS n"]).run().exits(2);
    nobody.says(&["no connection to the scheduler at 127.0.0.1:9"]);
}

/// A client that is stopped, or killed, leaves no task and no file.
#[test]
fn a_client_that_leaves_ends_its_tasks() {
    let folder = TestFolder::new();
    let (sql, expected) = work(&folder);
    let cluster = TestCluster::start(&folder, 2);
    for is_killed in [false, true] {
        let running = cluster.query(&[&sql]).start();
        std::thread::sleep(Duration::from_millis(900));
        if is_killed {
            running.kill();
            assert_eq!(running.wait().code, None);
        } else {
            running.interrupt();
            let _ = running.wait().exits(130);
        }
        cluster.waits_for_clean_folders();
    }
    assert_eq!(cluster.query(&[&sql]).run().exits(0).text(), expected.text());
}

/// Folders go with their processes, those of killed ones with the next.
#[test]
fn folders_go_with_their_processes() {
    let folder = TestFolder::new();
    let mut cluster = TestCluster::start(&folder, 2);
    assert_eq!(names_in(cluster.temp()).len(), 2);
    cluster.executors[0].kill();
    let _ = cluster.executors.remove(0).wait();
    cluster.add(&folder, |run| run);
    assert_eq!(names_in(cluster.temp()).len(), 2, "that of the killed one is gone");
    for executor in cluster.executors.drain(..) {
        executor.terminate();
        let _ = executor.wait().exits(0);
    }
    assert_eq!(names_in(cluster.temp()), Vec::<String>::new());
}

/// Processes may be started in any order; an executor waits for its scheduler, before and after.
#[test]
fn executors_wait_for_their_scheduler() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", SAMPLE);
    let mut cluster = TestCluster::start(&folder, 1);
    let address = cluster.address.clone();
    cluster.scheduler.terminate();
    let _ = std::mem::replace(&mut cluster.scheduler, program(&["--version"]).start()).wait().exits(0);
    let (scheduler, again) = listening(program(&["scheduler", "--listen", &address]));
    assert_eq!(again, address);
    cluster.scheduler = scheduler;
    let sql = format!("SELECT count(*) AS n FROM '{log}'");
    let expected = alone(&[&sql]).run().exits(0);
    assert_eq!(cluster.query(&[&sql]).run().exits(0).text(), expected.text());
}

/// One command starts a cluster, and its end ends all of it.
#[test]
fn a_local_cluster() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", SAMPLE);
    let temp = folder.text("temp");
    std::fs::create_dir(&temp).unwrap();
    let local = program(&["local", "-n", "2", "--listen", "127.0.0.1:0", "--threads", "1", "--temp-dir", &temp]);
    let in_folder = |command: &mut std::process::Command| {
        command.current_dir(folder.path());
    };
    let mut local = local.with(in_folder).start();
    let said = local.stdout_when(|text| text.ends_with('\n'));
    let address = said.split(' ').find(|word| word.contains("127.0.0.1:")).unwrap().to_owned();
    let sql = format!("SELECT status, count(*) AS n FROM '{log}' GROUP BY 1 ORDER BY 1");
    let expected = alone(&[&sql]).run().exits(0);
    let ran = program(&["query", "--cluster", &address, "--to", "csv", &sql]).run().exits(0);
    assert_eq!(ran.text(), expected.text());
    assert!(running_children(local.id()) >= 3);
    local.interrupt();
    let _ = local.wait().exits(0);
    assert_eq!(names_in(temp.as_ref()), Vec::<String>::new());
    let gone = program(&["query", "--cluster", &address, &sql]).run().exits(2);
    gone.says(&["no connection to the scheduler"]);
}

/// Number of processes of this program that a process has started.
fn running_children(parent: u32) -> usize {
    let name = std::path::Path::new(PROGRAM).file_name().unwrap().to_string_lossy().into_owned();
    let is_child = |process: &str| {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
        let Some((before, after)) = stat.rsplit_once(')') else { return false };
        before.contains(&name[..15.min(name.len())]) && after.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    names_in("/proc".as_ref()).iter().filter(|process| is_child(process)).count()
}

/// A way to the scheduler that breaks in the middle of its answers, so often.
fn breaking_way(scheduler: SocketAddr, breaks: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, left) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(breaks)));
    let remaining = Arc::clone(&left);
    std::thread::spawn(move || {
        for executor in listener.incoming().flatten() {
            let Ok(scheduler) = TcpStream::connect(scheduler) else { continue };
            let (mut from, mut to) = (executor.try_clone().unwrap(), scheduler.try_clone().unwrap());
            std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
            let remaining = Arc::clone(&remaining);
            std::thread::spawn(move || pass_on(scheduler, executor, &remaining));
        }
    });
    (address, left)
}

/// Passes answers on; those with tasks are long, and are cut as long as breaks remain.
fn pass_on(mut scheduler: TcpStream, mut executor: TcpStream, remaining: &AtomicUsize) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(read @ 1..) = scheduler.read(&mut buffer) {
        let is_cut = read > 300 && remaining.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        let passed = if is_cut { read / 2 } else { read };
        if executor.write_all(&buffer[..passed]).is_err() || is_cut {
            break;
        }
    }
    let _ = scheduler.shutdown(Shutdown::Both);
    let _ = executor.shutdown(Shutdown::Both);
}

/// Tasks that were given in an answer that did not arrive are given again.
#[test]
fn answers_that_are_cut_lose_no_task() {
    let folder = TestFolder::new();
    let (sql, expected) = work(&folder);
    let mut cluster = TestCluster::start(&folder, 1);
    let (way, left) = breaking_way(cluster.address.parse().unwrap(), 2);
    let direct = std::mem::replace(&mut cluster.address, way.to_string());
    cluster.add(&folder, |run| run);
    cluster.address = direct;
    let ran = cluster.query(&[&sql]).time_max(Duration::from_secs(120)).run().exits(0);
    assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr));
    assert_eq!(left.load(Ordering::SeqCst), 0, "answers were cut");
}
