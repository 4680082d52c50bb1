//! Records like those of a code hosting service's public events: nested, of five kinds, in many
//! scripts, with escapes.

use super::{GeneratedLines, GeneratedSummary, Rng};
use serde_json::{Value, json};
use std::io::{self, Write};

const WORDS: &str = "fix add update remove refactor parser stream buffer memory crash when reading large file naïve café Größe \
    überprüfen 修正 メモリ リーク ошибка файл строка 🚀 ✨ README docs test flaky timeout on CI build for linux windows arm64 the a of to \
    in is with and or not handle null bytes \"quoted\" back\\slash tab\there";
const USERS: usize = 4_000;
const REPOS: usize = 8_000;
/// 2025-01-01T00:00:00Z; an event every 4 seconds of four weeks, over and over.
const DAYS: u64 = 28;

/// An endless list of events, a line each.
pub struct EventLines {
    random: Rng,
    words: Vec<&'static str>,
    users: Vec<(u64, String)>,
    repos: Vec<(u64, String)>,
    number: u64,
}

impl EventLines {
    /// The events of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = Rng::new(seed);
        let mut user = || {
            let name = format!("user{:x}-{}", random.next() >> 36, ["dev", "bot", "lab", "io"][random.below(4)]);
            (1_000 + random.below(9_000_000) as u64, name)
        };
        let users: Vec<_> = (0..USERS).map(|_| user()).collect();
        let mut repo = || {
            let owner = &users[random.below(USERS)].1;
            let size = ["big", "tiny", "open", "fast"][random.below(4)];
            let kind = ["parser", "site", "kit", "json", "log", "算法"][random.below(6)];
            (1_000 + random.below(90_000_000) as u64, format!("{owner}/{size}-{kind}"))
        };
        let repos = (0..REPOS).map(|_| repo()).collect();
        Self { random, words: WORDS.split(' ').collect(), users, repos, number: 0 }
    }

    fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.random.below(most - least + 1)
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.random.below(choices.len())]
    }

    fn chance(&mut self, of: f64) -> bool {
        self.random.fraction() < of
    }

    fn words(&mut self, least: usize, most: usize) -> String {
        let count = self.between(least, most);
        let words: Vec<&str> = (0..count).map(|_| self.words[self.random.below(self.words.len())]).collect();
        words.join(" ")
    }

    fn sha(&mut self) -> String {
        format!("{:016x}{:016x}{:08x}", self.random.next(), self.random.next(), self.random.next() >> 32)
    }

    fn user(&mut self) -> Value {
        let (id, login) = &self.users[self.random.below(USERS)];
        json!({"id": id, "login": login, "gravatar_id": "", "url": format!("https://api.events.example/users/{login}"),
               "site_admin": id % 97 == 0})
    }

    fn commit(&mut self) -> Value {
        let mut message = self.words(3, 25);
        if self.chance(0.3) {
            message = format!("{message}\n\n{}", self.words(5, 20));
        }
        let email = format!("{}@mail.example", &self.sha()[..12]);
        let name = self.users[self.random.below(USERS)].1.clone();
        json!({"sha": self.sha(), "author": {"email": email, "name": name}, "message": message,
               "distinct": self.chance(0.95), "url": format!("https://api.events.example/commits/{}", self.sha())})
    }

    fn push(&mut self) -> Value {
        let size = [1, 1, 1, 2, 3, 5][self.random.below(6)];
        let commits: Vec<Value> = (0..size).map(|_| self.commit()).collect();
        let branch = self.one_of(&["main", "master", "dev", "feature/ü"]);
        json!({"push_id": self.random.next() >> 30, "size": size, "distinct_size": size, "ref": format!("refs/heads/{branch}"),
               "head": self.sha(), "before": self.sha(), "commits": commits})
    }

    fn issue(&mut self) -> Value {
        let label = |events: &mut Self| {
            let name = events.one_of(&["bug", "help wanted", "優先", "question"]);
            json!({"name": name, "color": format!("{:06x}", events.random.next() >> 40)})
        };
        let labels: Vec<Value> = (0..self.between(0, 4)).map(|_| label(self)).collect();
        let milestone =
            if self.chance(0.7) { Value::Null } else { json!({"title": self.words(1, 3), "number": self.between(1, 20)}) };
        json!({"action": self.one_of(&["opened", "closed", "reopened"]), "issue": {
            "id": self.random.next() >> 33, "number": self.between(1, 50_000), "title": self.words(3, 12), "user": self.user(),
            "labels": labels, "state": self.one_of(&["open", "closed"]), "comments": self.between(0, 90),
            "score": self.between(0, 100_000) as f64 / 10_000.0, "milestone": milestone, "body": self.words(10, 120)}})
    }

    fn pull_request(&mut self) -> Value {
        let reviewers: Vec<Value> = (0..self.between(0, 3)).map(|_| self.user()).collect();
        let body = if self.chance(0.2) { Value::Null } else { Value::from(self.words(10, 80)) };
        json!({"action": self.one_of(&["opened", "closed"]), "number": self.between(1, 50_000), "pull_request": {
            "id": self.random.next() >> 33, "title": self.words(3, 12), "merged": self.chance(0.5),
            "additions": self.between(0, 5_000), "deletions": self.between(0, 3_000), "changed_files": self.between(1, 60),
            "requested_reviewers": reviewers, "body": body}})
    }

    fn created(&mut self) -> Value {
        let name = if self.chance(0.5) { Value::Null } else { Value::from(format!("v1.{}", self.random.below(100))) };
        json!({"ref": name, "ref_type": self.one_of(&["branch", "tag", "repository"]), "description": self.words(0, 10),
               "master_branch": "main"})
    }

    fn event(&mut self) -> Value {
        let (kind, payload) = match self.random.below(100) {
            0..50 => ("PushEvent", self.push()),
            50..62 => ("IssuesEvent", self.issue()),
            62..75 => ("PullRequestEvent", self.pull_request()),
            75..88 => ("WatchEvent", json!({"action": "started"})),
            _ => ("CreateEvent", self.created()),
        };
        let (day, second) = ((self.number * 4 / 86_400) % DAYS, self.number * 4 % 86_400);
        let time = format!("2025-01-{:02}T{:02}:{:02}:{:02}Z", day + 1, second / 3_600, second / 60 % 60, second % 60);
        let (id, login) = &self.users[self.random.below(USERS)];
        let (repo, name) = &self.repos[self.random.below(REPOS)];
        self.number += 1;
        json!({"id": (40_000_000_000 + self.number - 1).to_string(), "type": kind,
               "actor": {"id": id, "login": login, "display_login": login, "url": format!("https://api.events.example/users/{login}"),
                         "avatar_url": format!("https://avatars.events.example/u/{id}?")},
               "repo": {"id": repo, "name": name, "url": format!("https://api.events.example/repos/{name}")},
               "payload": payload, "public": true, "created_at": time})
    }
}

impl GeneratedLines for EventLines {
    fn line(&mut self, out: &mut Vec<u8>) {
        out.extend(self.event().to_string().bytes());
        out.push(b'\n');
    }
}

/// Writes the lines as the elements of one array, under `path` of a document (`a.b`, or nothing for
/// the bare array), until there are `bytes_min`.
///
/// # Errors
/// Whatever `out` answers.
pub fn write_array(
    lines: &mut impl GeneratedLines,
    bytes_min: u64,
    path: &str,
    out: &mut impl Write,
) -> io::Result<GeneratedSummary> {
    let keys: Vec<&str> = path.split('.').filter(|key| !key.is_empty()).collect();
    let mut out = io::BufWriter::with_capacity(super::WRITE_BYTES, out);
    let mut written = GeneratedSummary::default();
    let mut buffer = Vec::new();
    for key in &keys {
        buffer.extend(format!("{{\"before\":[1,{{\"{key}\":[]}}],\"{key}\":").bytes());
    }
    buffer.extend(b"[\n");
    let mut pour = |buffer: &mut Vec<u8>| {
        out.write_all(buffer)?;
        written.bytes += buffer.len() as u64;
        written.lines += memchr::memchr_iter(b'\n', buffer).count() as u64;
        buffer.clear();
        io::Result::Ok(written.bytes)
    };
    while pour(&mut buffer)? < bytes_min {
        lines.line(&mut buffer);
        buffer.pop();
        buffer.extend(b",\n");
    }
    lines.line(&mut buffer);
    buffer.extend(b"]");
    buffer.extend(keys.iter().rev().flat_map(|key| format!(",\"after\":{{\"{key}\":[0]}}}}").into_bytes()));
    buffer.push(b'\n');
    pour(&mut buffer)?;
    out.flush()?;
    Ok(written)
}
