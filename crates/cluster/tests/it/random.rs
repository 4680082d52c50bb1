//! Random questions: a cluster answers as one process does, and a log as the tables made of it.
//! `CASES` is how many there are, and `SEED` begins another sequence; either asks each of all
//! tables.

use crate::common::{SAMPLE, TestCluster, TestFolder, alone};
use rorqual_testkit::generate::Rng;
use rorqual_testkit::http::{GeneratedContent, TestServer};
use rorqual_testkit::paths::gzip;

/// Questions where the environment does not say.
const CASES_DEFAULT: u64 = 24;

const COLUMNS: [&str; 8] = ["time", "client", "method", "path", "status", "bytes", "referrer", "agent"];

/// Columns and expressions to group by.
const KEYS: [&str; 8] = ["status", "method", "client", "path", "agent", "date_trunc('hour', time)", "bytes % 7", "status / 100"];

const AGGREGATES: [&str; 9] = [
    "count(*)",
    "sum(bytes)",
    "min(bytes)",
    "max(time)",
    "count(DISTINCT client)",
    "count(DISTINCT path)",
    "avg(bytes)",
    "sum(CASE WHEN status >= 400 THEN 1 ELSE 0 END)",
    "min(path)",
];

const CONDITIONS: [&str; 16] = [
    "status = 404",
    "status >= 300",
    "status IN (206, 304, 500)",
    "status <> 200",
    "bytes > 20000",
    "bytes BETWEEN 100 AND 9000",
    "bytes IS NULL",
    "path LIKE '%presentations%'",
    "path = '/favicon.ico'",
    "client LIKE '66.%'",
    "method <> 'GET'",
    "time >= '2015-05-18T12:00:00Z'",
    "time < '2015-05-19T00:00:00Z'",
    "agent LIKE '%bot%'",
    "length(path) > 30",
    "bytes % 10 = 3",
];

/// Questions that have one right order of rows; `{}` is the table.
struct Questions(Rng);

impl Questions {
    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.0.below(of.len())]
    }

    fn condition(&mut self) -> String {
        let mut text = self.one_of(&CONDITIONS).to_owned();
        for _ in 0..self.0.below(3) {
            let (joint, other) = (self.one_of(&["AND", "OR", "AND NOT"]), self.one_of(&CONDITIONS));
            text = format!("({text}) {joint} ({other})");
        }
        text
    }

    fn columns(&mut self) -> String {
        let start = self.0.below(COLUMNS.len());
        let count = 1 + self.0.below(COLUMNS.len() - start);
        COLUMNS[start..start + count].join(", ")
    }

    fn limit(&mut self) -> usize {
        [1, 5, 40, 1_000][self.0.below(4)]
    }

    fn grouped(&mut self) -> String {
        let (key, condition, limit) = (self.one_of(&KEYS), self.condition(), self.limit());
        let [first, second] = [(); 2].map(|()| self.one_of(&AGGREGATES));
        let order = self.one_of(&["k", "a DESC, k", "b, a, k"]);
        let having = self.one_of(&["", "HAVING count(*) > 3"]);
        format!(
            "SELECT {key} AS k, {first} AS a, {second} AS b FROM '{{}}' WHERE {condition} GROUP BY 1 {having} ORDER BY {order} LIMIT {limit}"
        )
    }

    fn question(&mut self) -> String {
        let (condition, other, limit) = (self.condition(), self.condition(), self.limit());
        let key = self.one_of(&["client", "path", "agent"]);
        match self.0.below(7) {
            0 | 1 => self.grouped(),
            2 => {
                let columns = self.columns();
                format!("SELECT {columns} FROM '{{}}' WHERE {condition} ORDER BY {columns} LIMIT {limit}")
            }
            3 => format!(
                "SELECT a.status AS s, count(*) AS n FROM (SELECT * FROM '{{}}' WHERE {condition}) a \
                 JOIN (SELECT DISTINCT {key} FROM '{{}}' WHERE {other}) b ON a.{key} = b.{key} GROUP BY 1 ORDER BY n DESC, s LIMIT {limit}"
            ),
            4 => format!(
                "SELECT k, n, rank() OVER (ORDER BY n DESC) AS place, sum(n) OVER (PARTITION BY n % 3) AS s \
                 FROM (SELECT {key} AS k, count(*) AS n FROM '{{}}' WHERE {condition} GROUP BY 1) ORDER BY place, k LIMIT {limit}"
            ),
            5 => {
                let joint = self.one_of(&["UNION", "INTERSECT", "EXCEPT", "UNION ALL"]);
                format!(
                    "SELECT {key} AS k FROM '{{}}' WHERE {condition} {joint} SELECT {key} FROM '{{}}' WHERE {other} ORDER BY k LIMIT {limit}"
                )
            }
            _ => format!(
                "SELECT count(*) AS n, max({key}) AS m FROM '{{}}' \
                 WHERE {condition} AND bytes > (SELECT avg(bytes) FROM '{{}}' WHERE {other})"
            ),
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn random_questions() {
    let folder = TestFolder::new();
    // As much as an object of a test server holds, with a line that is none, which is told.
    let cut = SAMPLE[..1_000_000].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let log = [&SAMPLE[..cut], b"this is no line of a log\n"].concat();
    let plain = folder.file("access.log", &log);
    let mut tables = vec![plain.clone(), folder.file("access.log.gz", gzip(&log))];
    for name in ["access.ndjson", "access.csv", "access.parquet"] {
        let made = format!("SELECT {} FROM '{plain}'", COLUMNS.join(", "));
        let _ = alone(&["-o", &folder.text(name), &made]).run().exits(0);
        tables.push(folder.text(name));
    }
    let content = GeneratedContent::of(log).with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT");
    let served = TestServer::honest(&content);
    tables.push("s3://logs/access.log".to_owned());
    let cluster = TestCluster::with(&folder, 2, |run| served.as_s3(run));
    let (cases, seed) = (number("CASES", CASES_DEFAULT), number("SEED", 1));
    let asks_all = ["CASES", "SEED"].iter().any(|name| std::env::var_os(name).is_some());
    for case in seed..seed + cases {
        let question = Questions(Rng::new(case)).question();
        let of = |table: &str| question.replace("{}", table);
        let truth = alone(&[&of(&plain)]).run().exits(0);
        // In the usual run tables take turns: all of them would take minutes.
        let in_turn = case as usize % tables.len();
        let asked = if asks_all { &tables[..] } else { &tables[in_turn..=in_turn] };
        for table in asked {
            let sql = of(table);
            let expected = served.as_s3(alone(&[&sql])).run().exits(0);
            let ran = served.as_s3(cluster.query(&[&sql])).run().exits(0);
            assert_eq!(expected.text(), truth.text(), "SEED={case} CASES=1: {sql}");
            assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr), "SEED={case} CASES=1: {sql}");
        }
    }
    cluster.waits_for_clean_folders();
}
