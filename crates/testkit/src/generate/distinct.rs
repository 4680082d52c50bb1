//! An access log with millions of distinct paths and clients, and the truth about it.
//!
//! A third of the hits go to the real paths and clients of the sample, as often as they are there;
//! the rest is a tail most of which is seen once. At 1.5 GiB that is over 5 million paths and over
//! 2 million clients: a counter for each does not fit into a small budget, as the tests want it.

use super::GeneratedLines;
use super::clock::LogClock;
use super::random::Rng;
use super::sample::{SampleLine, records};
use serde::Serialize;
use std::collections::HashMap;

/// One line in three names a hot value.
const HOT_ONE_IN: usize = 3;

/// Of the other lines, this share names a path nobody has seen before.
const PATH_NEW_SHARE: f64 = 0.95;

/// The same for clients: they come back more often than paths do.
const CLIENT_NEW_SHARE: f64 = 0.38;

/// Longer agents are left out, so that 1.5 GiB has room for enough lines.
const AGENT_BYTES_MAX: usize = 110;

/// Bytes of a line, about; they only pace the clock.
const LINE_BYTES_MEAN: f64 = 187.0;

/// Number of the most frequent values that the truth lists.
const TOP_MAX: usize = 1000;

/// First octets that no address of the sample has.
const NETWORKS_UNUSED: [u8; 16] = [3, 4, 6, 7, 9, 11, 13, 16, 17, 18, 19, 21, 22, 25, 26, 28];

const SECTIONS: [&str; 8] = ["books", "music", "films", "games", "tools", "shoes", "bikes", "lamps"];

/// The endless log; [`DistinctLog::truth`] has its counts so far.
pub struct DistinctLog {
    paths: Population,
    clients: Population,
    agents: Vec<&'static [u8]>,
    clock: LogClock,
    random: Rng,
    digits: itoa::Buffer,
    lines: u64,
}

/// Counts of the log, made where a line was decided and not by reading it.
#[derive(Debug, Serialize)]
pub struct Truth {
    /// Lines so far.
    pub lines: u64,
    /// Request paths, without query.
    pub paths: TruthOf,
    /// Client addresses.
    pub clients: TruthOf,
}

/// The truth about one field.
#[derive(Debug, Serialize)]
pub struct TruthOf {
    /// Different values.
    pub distinct: u64,
    /// The most frequent, most hits first, ties by value.
    pub top: Vec<ValueRank>,
}

/// A value and how many lines have it.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct ValueRank {
    /// The value as in the log.
    pub value: String,
    /// Lines.
    pub hits: u32,
}

impl DistinctLog {
    /// A log whose 90 days are over after about `bytes`. Counting for the truth takes 4 bytes a
    /// distinct value.
    #[must_use]
    pub fn new(bytes: u64, seed: u64) -> Self {
        let records = records();
        let agents = records.iter().filter_map(SampleLine::agent).filter(|agent| agent.len() <= AGENT_BYTES_MAX).collect();
        Self {
            paths: Population::new(hot_paths(&records), tail_path, PATH_NEW_SHARE),
            clients: Population::new(hot_clients(&records), tail_client, CLIENT_NEW_SHARE),
            agents,
            clock: LogClock::new(bytes as f64 / LINE_BYTES_MEAN),
            random: Rng::new(seed),
            digits: itoa::Buffer::new(),
            lines: 0,
        }
    }

    /// Counts of the lines made so far.
    #[must_use]
    pub fn truth(&self) -> Truth {
        Truth { lines: self.lines, paths: self.paths.truth(), clients: self.clients.truth() }
    }
}

impl GeneratedLines for DistinctLog {
    fn line(&mut self, out: &mut Vec<u8>) {
        self.lines += 1;
        self.clients.push(&mut self.random, out);
        out.extend_from_slice(b" - - [");
        out.extend_from_slice(self.clock.tick());
        out.extend_from_slice(b"] \"GET ");
        self.paths.push(&mut self.random, out);
        out.extend_from_slice(b" HTTP/1.1\" 200 ");
        out.extend_from_slice(self.digits.format(self.random.below(100_000)).as_bytes());
        out.extend_from_slice(b" \"-\" \"");
        out.extend_from_slice(self.agents[self.random.below(self.agents.len())]);
        out.extend_from_slice(b"\"\n");
    }
}

/// The values of one field: hot ones as often as in the sample, and a tail that grows.
struct Population {
    /// One entry a line of the sample, so that a fair draw is as uneven as the real log.
    hot: Vec<String>,
    /// Appends the text of the nth tail value; no two are the same, none is hot.
    tail_text: fn(u32, &mut Vec<u8>),
    new_share: f64,
    hot_hits: Vec<u32>,
    tail_hits: Vec<u32>,
}

impl Population {
    fn new(hot: Vec<String>, tail_text: fn(u32, &mut Vec<u8>), new_share: f64) -> Self {
        let hot_hits = vec![0; hot.len()];
        Self { hot, tail_text, new_share, hot_hits, tail_hits: Vec::new() }
    }

    fn push(&mut self, random: &mut Rng, out: &mut Vec<u8>) {
        if random.below(HOT_ONE_IN) == 0 {
            let index = random.below(self.hot.len());
            self.hot_hits[index] += 1;
            out.extend_from_slice(self.hot[index].as_bytes());
        } else {
            let number = self.draw_tail(random);
            self.tail_hits[number] += 1;
            (self.tail_text)(number as u32, out);
        }
    }

    /// A new value, or one that was there before. The eighth power keeps to the early ones, so that
    /// most of the tail is seen once and a few of it often.
    fn draw_tail(&mut self, random: &mut Rng) -> usize {
        let seen = self.tail_hits.len();
        if seen == 0 || random.fraction() < self.new_share {
            self.tail_hits.push(0);
            return seen;
        }
        (random.fraction().powi(8) * seen as f64) as usize
    }

    fn truth(&self) -> TruthOf {
        let mut hot: HashMap<&str, u32> = HashMap::new();
        for (value, &hits) in self.hot.iter().zip(&self.hot_hits).filter(|(_, hits)| **hits > 0) {
            *hot.entry(value).or_default() += hits;
        }
        let distinct = (hot.len() + self.tail_hits.len()) as u64;
        let mut top: Vec<ValueRank> = hot.iter().map(|(value, &hits)| ValueRank { value: (*value).to_owned(), hits }).collect();
        top.extend(self.tail_top());
        top.sort_unstable_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.value.cmp(&b.value)));
        top.truncate(TOP_MAX);
        TruthOf { distinct, top }
    }

    /// The tail values that can be among the top: those with at least as many hits as the last
    /// place takes.
    fn tail_top(&self) -> Vec<ValueRank> {
        let mut sorted = self.tail_hits.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let enough = sorted.get(TOP_MAX).copied().unwrap_or(0);
        let many = self.tail_hits.iter().enumerate().filter(|(_, hits)| **hits >= enough.max(2));
        many.map(|(number, &hits)| self.ranked(number, hits)).collect()
    }

    fn ranked(&self, number: usize, hits: u32) -> ValueRank {
        let mut text = Vec::new();
        (self.tail_text)(number as u32, &mut text);
        ValueRank { value: String::from_utf8_lossy(&text).into_owned(), hits }
    }
}

fn hot_paths(records: &[SampleLine]) -> Vec<String> {
    let paths = records.iter().filter_map(SampleLine::path);
    paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

fn hot_clients(records: &[SampleLine]) -> Vec<String> {
    let text = |record: &SampleLine| [record.network, record.octet].concat();
    records.iter().map(|record| String::from_utf8_lossy(&text(record)).into_owned()).collect()
}

/// `/catalog/books/9f3a0c21.html`: a directory that no real line has. The multiplication by an odd
/// number shuffles the 2^32 names without meeting one twice.
fn tail_path(number: u32, out: &mut Vec<u8>) {
    let name = number.wrapping_mul(0x9e37_79b1);
    let section = SECTIONS[(name >> 29) as usize];
    out.extend_from_slice(b"/catalog/");
    out.extend_from_slice(section.as_bytes());
    out.push(b'/');
    out.extend((0..8).map(|digit| b"0123456789abcdef"[(name >> (28 - 4 * digit)) as usize & 15]));
    out.extend_from_slice(b".html");
}

/// One of 2^28 addresses in networks that no real line has, shuffled in the same way.
fn tail_client(number: u32, out: &mut Vec<u8>) {
    let name = number.wrapping_mul(0x9e37_79b1) & ((1 << 28) - 1);
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(digits.format(NETWORKS_UNUSED[(name >> 24) as usize]).as_bytes());
    for octet in &name.to_be_bytes()[1..] {
        out.push(b'.');
        out.extend_from_slice(digits.format(*octet).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::write_lines;
    use super::*;
    use std::collections::HashSet;

    const BYTES: u64 = 16 << 20;

    fn made() -> (String, Truth) {
        let mut log = DistinctLog::new(BYTES, 3);
        let mut out = Vec::new();
        write_lines(&mut log, BYTES, &mut out).expect("a Vec takes everything");
        (String::from_utf8(out).expect("this log is ASCII"), log.truth())
    }

    /// Counts a log by reading it.
    fn counted<'a>(values: impl Iterator<Item = &'a str>) -> TruthOf {
        let mut hits: HashMap<&str, u32> = HashMap::new();
        values.for_each(|value| *hits.entry(value).or_default() += 1);
        let mut top: Vec<_> = hits.iter().map(|(value, &hits)| ValueRank { value: (*value).to_owned(), hits }).collect();
        top.sort_unstable_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.value.cmp(&b.value)));
        top.truncate(TOP_MAX);
        TruthOf { distinct: hits.len() as u64, top }
    }

    fn same(truth: &TruthOf, counted: &TruthOf) {
        assert_eq!(truth.distinct, counted.distinct);
        assert_eq!(truth.top[..50], counted.top[..50]);
        // Past the values seen twice, the last places are ties of ones that the truth leaves out.
        let listed = truth.top.len();
        assert_eq!(truth.top, counted.top[..listed]);
    }

    #[test]
    fn the_truth_is_what_is_in_the_log() {
        let (text, truth) = made();
        assert_eq!(truth.lines, text.lines().count() as u64);
        same(&truth.clients, &counted(text.lines().filter_map(|line| line.split(' ').next())));
        same(&truth.paths, &counted(text.lines().filter_map(|line| line.split(' ').nth(6))));
    }

    #[test]
    fn is_as_diverse_as_promised() {
        let (text, truth) = made();
        let per_byte = |distinct: u64| distinct as f64 / text.len() as f64 * 1_610_612_736.0;
        assert!(per_byte(truth.paths.distinct) >= 5e6);
        assert!(per_byte(truth.clients.distinct) >= 2e6);
    }

    #[test]
    fn the_tail_never_meets_the_sample() {
        let records = records();
        assert!(hot_paths(&records).iter().all(|path| !path.starts_with("/catalog/")));
        let networks: HashSet<_> = NETWORKS_UNUSED.iter().map(|network| format!("{network}.")).collect();
        let hot = hot_clients(&records);
        assert!(hot.iter().all(|client| !networks.iter().any(|network| client.starts_with(network))));
    }
}
