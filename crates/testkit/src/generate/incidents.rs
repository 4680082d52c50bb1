//! A week of the site in which twenty things go wrong, each in a span of its own, and the truth
//! about them.

use super::GeneratedLines;
use super::clock::{DailyClock, START_SECONDS};
use super::random::Rng;
use super::site::{Site, SiteHit, push};
use serde::Serialize;

/// nginx's format of the lines.
const FORMAT: &str = r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time $upstream_response_time"#;

const DAYS: u32 = 7;
const MINUTE_SECONDS: i64 = 60;

/// A quiet span and an incident have such a slot of time each, in turn.
const SLOT_SECONDS: i64 = 4 * 3_600;

/// Minutes of the quiet spans, in turn.
const QUIET_MINUTES: [i64; 6] = [10, 15, 30, 60, 120, 180];

/// Changes a request, or leaves it and says so.
type RequestChange = fn(&mut SiteHit, &mut Rng) -> bool;

/// An incident.
struct IncidentKind {
    name: &'static str,
    minutes: i64,
    /// Any of these conditions, all of its fields, is the cause.
    causes: &'static [&'static [(&'static str, &'static str)]],
    change: RequestChange,
}

/// Made with the same seed, the log is the same to the byte.
pub struct IncidentLog {
    site: Site,
    rhythm: DailyClock,
    hit: SiteHit,
    digits: itoa::Buffer,
    random: Rng,
    lines: u64,
    seed: u64,
    incidents: Vec<Incident>,
    /// The incident that is on, or comes next.
    next: usize,
}

/// Counts of the log.
#[derive(Debug, Serialize)]
pub struct IncidentTruth<'a> {
    /// The value as `log_format` writes it.
    pub format: &'static str,
    /// Of the log.
    pub lines: u64,
    /// The planted incidents.
    pub incidents: &'a [Incident],
    /// Spans in which nothing was.
    pub quiet: Vec<IncidentSpan>,
}

/// From one second until before another.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct IncidentSpan {
    /// Unix seconds.
    pub from: i64,
    /// Unix seconds.
    pub to: i64,
}

/// One thing that goes wrong.
#[derive(Debug, Serialize)]
pub struct Incident {
    /// For people.
    pub name: &'static str,
    /// Its time.
    #[serde(flatten)]
    pub span: IncidentSpan,
    /// Names and values of fields; all of any one list name it.
    pub causes: &'static [&'static [(&'static str, &'static str)]],
    /// Lines that it changed or brought.
    pub lines: u64,
}

impl IncidentLog {
    /// A log whose week is over after `lines`.
    #[must_use]
    pub fn new(lines: u64, seed: u64) -> Self {
        let mut random = Rng::new(seed ^ 0x5eed);
        let mut place = |(number, kind): (u32, &IncidentKind)| {
            let from = slot(2 * number + 1) + minutes(20, 60, &mut random);
            let span = IncidentSpan { from, to: from + kind.minutes * MINUTE_SECONDS };
            Incident { name: kind.name, span, causes: kind.causes, lines: 0 }
        };
        let incidents = (0..).zip(&KINDS).map(&mut place).collect();
        let (site, rhythm) = (Site::new(seed), DailyClock::new(lines, DAYS));
        Self { site, rhythm, hit: SiteHit::default(), digits: itoa::Buffer::new(), random, lines: 0, seed, incidents, next: 0 }
    }

    /// Counts of the lines made so far.
    #[must_use]
    pub fn truth(&self) -> IncidentTruth<'_> {
        let mut random = Rng::new(self.seed ^ 0xca1f);
        let mut quiet = |(number, length): (u32, &i64)| {
            let from = slot(2 * number) + minutes(10, 40, &mut random);
            IncidentSpan { from, to: from + length * MINUTE_SECONDS }
        };
        let quiet = (0..).zip(QUIET_MINUTES.iter().cycle()).take(KINDS.len()).map(&mut quiet).collect();
        IncidentTruth { format: FORMAT, lines: self.lines, incidents: &self.incidents, quiet }
    }

    fn go_wrong(&mut self) {
        let seconds = self.hit.seconds;
        while self.incidents.get(self.next).is_some_and(|incident| incident.span.to <= seconds) {
            self.next += 1;
        }
        let on = self.incidents.get_mut(self.next).filter(|incident| incident.span.from <= seconds);
        if let Some(incident) = on {
            incident.lines += u64::from((KINDS[self.next].change)(&mut self.hit, &mut self.random));
        }
    }
}

impl GeneratedLines for IncidentLog {
    fn line(&mut self, out: &mut Vec<u8>) {
        self.lines += 1;
        self.hit.seconds = self.rhythm.tick();
        self.site.ask(&mut self.hit);
        self.go_wrong();
        push(out, &[self.hit.host.as_bytes(), b" "]);
        self.hit.push_combined(self.rhythm.stamp(self.hit.seconds), &mut self.digits, out);
        push_seconds(self.hit.micros, out);
        if self.hit.path.starts_with(b"/static/") {
            out.extend_from_slice(b" -\n");
        } else {
            push_seconds(self.hit.micros - self.hit.micros / 16, out);
            out.push(b'\n');
        }
    }
}

/// Begin of a slot.
fn slot(number: u32) -> i64 {
    START_SECONDS + i64::from(number) * SLOT_SECONDS
}

/// Seconds of `least` minutes, and less than `more` beyond.
fn minutes(least: u32, more: u32, random: &mut Rng) -> i64 {
    i64::from(least + random.below(more as usize) as u32) * MINUTE_SECONDS
}

/// In seconds, to the millisecond.
fn push_seconds(micros: u64, out: &mut Vec<u8>) {
    let millis = micros / 1_000;
    out.extend_from_slice(format!(" {}.{:03}", millis / 1_000, millis % 1_000).as_bytes());
}

fn chance(random: &mut Rng, of: f64) -> bool {
    random.fraction() < of
}

/// Another request of this kind instead of the one that came.
fn replaced(hit: &mut SiteHit, method: &'static str, path: &str, status: u16) -> bool {
    hit.method = method;
    hit.path.clear();
    hit.path.extend_from_slice(path.as_bytes());
    hit.status = status;
    hit.referrer = "-";
    true
}

fn failed(hit: &mut SiteHit, status: u16) -> bool {
    hit.status = status;
    hit.sent = 162;
    true
}

const CHROME: &str =
    "Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.107 Safari/537.36";

const PROBES: [&str; 6] = ["/wp-login.php", "/.env", "/.git/config", "/phpmyadmin/", "/admin.php", "/backup.zip"];

#[rustfmt::skip]
const KINDS: [IncidentKind; 20] = [
    IncidentKind { name: "a scanner from one client", minutes: 20, causes: &[&[("client", "203.0.113.66")]], change: |hit, random| {
        if !chance(random, 0.06) { return false }
        hit.client = [203, 0, 113, 66];
        replaced(hit, "GET", &format!("{}?{}", PROBES[random.below(6)], random.below(1_000)), 404)
    } },
    IncidentKind { name: "a broken deploy on one path", minutes: 25, causes: &[&[("path", "/checkout"), ("status", "500")], &[("path", "/checkout"), ("class", "5xx")]], change: |hit, random| {
        hit.path == b"/checkout" && chance(random, 0.9) && failed(hit, 500)
    } },
    IncidentKind { name: "a bad bot from one /24", minutes: 40, causes: &[&[("net", "198.51.100.0/24")]], change: |hit, random| {
        if !chance(random, 0.05) { return false }
        // With the programs of others, so that only the network tells.
        hit.client = [198, 51, 100, random.below(254) as u8 + 1];
        true
    } },
    IncidentKind { name: "a slow upstream on one path", minutes: 30, causes: &[&[("path", "/search")]], change: |hit, random| {
        if !hit.path.starts_with(b"/search") || !chance(random, 0.8) { return false }
        hit.micros = 2_000_000 + random.below(6_000_000) as u64;
        true
    } },
    IncidentKind { name: "images hotlinked by one site", minutes: 45, causes: &[&[("site", "forum.hotlink.example")]], change: |hit, random| {
        if !chance(random, 0.05) { return false }
        replaced(hit, "GET", ["/images/googledotcom.png", "/images/jordan-80.png", "/favicon.ico"][random.below(3)], 200);
        hit.referrer = ["http://forum.hotlink.example/t/1", "http://forum.hotlink.example/t/2"][random.below(2)];
        true
    } },
    IncidentKind { name: "big downloads by one client", minutes: 30, causes: &[&[("client", "203.0.113.90")]], change: |hit, random| {
        if !chance(random, 0.025) { return false }
        hit.client = [203, 0, 113, 90];
        replaced(hit, "GET", "/files/dump.tar.gz", 200);
        hit.sent = 60_000_000 + random.below(90_000_000) as u64;
        hit.micros = 9_000_000 + random.below(9_000_000) as u64;
        true
    } },
    IncidentKind { name: "a bad link of one site", minutes: 30, causes: &[&[("site", "news.example")], &[("path", "/2013/gone.html")]], change: |hit, random| {
        if !chance(random, 0.08) { return false }
        replaced(hit, "GET", "/2013/gone.html", 404);
        hit.referrer = "https://news.example/top";
        true
    } },
    IncidentKind { name: "brute force on the login", minutes: 35, causes: &[&[("path", "/login")]], change: |hit, random| {
        if !chance(random, 0.06) { return false }
        hit.client = [random.below(200) as u8 + 1, random.below(256) as u8, random.below(256) as u8, random.below(256) as u8];
        replaced(hit, "POST", "/login", 401)
    } },
    IncidentKind { name: "one browser in a loop on one path", minutes: 40, causes: &[&[("path", "/cart"), ("browser", "Firefox")]], change: |hit, random| {
        hit.agent.contains("Firefox/") && chance(random, 0.3) && replaced(hit, "GET", "/cart", 200)
    } },
    IncidentKind { name: "health checks gone wild", minutes: 20, causes: &[&[("path", "/healthz")], &[("bot", "kube-probe")], &[("client", "10.0.0.7")]], change: |hit, random| {
        if !chance(random, 0.2) { return false }
        (hit.client, hit.agent) = ([10, 0, 0, 7], "kube-probe/1.31");
        replaced(hit, "GET", "/healthz", 200)
    } },
    IncidentKind { name: "one virtual host down", minutes: 15, causes: &[&[("host", "shop.example.com"), ("status", "502")], &[("host", "shop.example.com"), ("class", "5xx")]], change: |hit, random| {
        hit.host == "shop.example.com" && chance(random, 0.7) && failed(hit, 502)
    } },
    IncidentKind { name: "one version of the API refuses", minutes: 30, causes: &[&[("status", "429")]], change: |hit, random| {
        hit.path.starts_with(b"/api/v1/") && chance(random, 0.5) && failed(hit, 429)
    } },
    IncidentKind { name: "errors on one operating system", minutes: 30, causes: &[&[("os", "Mac OSX"), ("status", "500")], &[("os", "Mac OSX"), ("class", "5xx")]], change: |hit, random| {
        hit.agent.contains("Macintosh") && chance(random, 0.3) && failed(hit, 500)
    } },
    IncidentKind { name: "a flood of HEAD", minutes: 20, causes: &[&[("method", "HEAD")]], change: |hit, random| {
        if !chance(random, 0.04) { return false }
        hit.method = "HEAD";
        hit.sent = 0;
        true
    } },
    IncidentKind { name: "a load test with an old protocol", minutes: 15, causes: &[&[("agent", "ApacheBench/2.3")], &[("bot", "ApacheBench")]], change: |hit, random| {
        if !chance(random, 0.1) { return false }
        (hit.agent, hit.protocol) = ("ApacheBench/2.3", "HTTP/1.0");
        replaced(hit, "GET", "/", 200)
    } },
    IncidentKind { name: "one user's sync", minutes: 45, causes: &[&[("user", "backup")]], change: |hit, random| {
        if !chance(random, 0.03) { return false }
        hit.user = "backup";
        true
    } },
    IncidentKind { name: "injection into the search", minutes: 25, causes: &[&[("path", "/search"), ("status", "400")], &[("path", "/search"), ("class", "4xx")]], change: |hit, random| {
        if !chance(random, 0.04) { return false }
        hit.agent = CHROME;
        replaced(hit, "GET", &format!("/search?q=%27+or+1%3D{}", random.below(9_999)), 400)
    } },
    IncidentKind { name: "a cache that forgets one file", minutes: 60, causes: &[&[("path", "/static/app.js"), ("status", "200")], &[("path", "/static/app.js"), ("class", "2xx")]], change: |hit, _| {
        if hit.path != b"/static/app.js" || hit.status != 304 { return false }
        hit.status = 200;
        hit.sent = 181_000;
        true
    } },
    IncidentKind { name: "a loop of redirects", minutes: 30, causes: &[&[("path", "/account")]], change: |hit, random| {
        chance(random, 0.06) && replaced(hit, "GET", "/account", 302)
    } },
    IncidentKind { name: "a new crawler from everywhere", minutes: 60, causes: &[&[("bot", "ByteScraper")], &[("agent", "ByteScraper/2.0 (+http://bytescraper.example/bot)")]], change: |hit, random| {
        if !chance(random, 0.05) { return false }
        hit.client = [random.below(200) as u8 + 1, random.below(256) as u8, random.below(256) as u8, random.below(256) as u8];
        hit.agent = "ByteScraper/2.0 (+http://bytescraper.example/bot)";
        true
    } },
];

#[cfg(test)]
mod tests {
    use super::super::{SEED_DEFAULT, write_count};
    use super::*;

    #[test]
    fn every_incident_is_in_its_span_and_none_in_a_quiet_one() {
        let mut log = IncidentLog::new(100_000, SEED_DEFAULT);
        let mut out = Vec::new();
        write_count(&mut log, 100_000, &mut out).expect("a Vec takes everything");
        let truth = log.truth();
        assert!(truth.incidents.iter().all(|incident| incident.lines > 0), "{:?}", truth.incidents);
        let apart =
            |quiet: &IncidentSpan| truth.incidents.iter().all(|one| quiet.to <= one.span.from || one.span.to <= quiet.from);
        assert!(truth.quiet.iter().all(apart));
        let end = START_SECONDS + i64::from(DAYS) * 86_400;
        assert!(truth.quiet.iter().chain(truth.incidents.iter().map(|one| &one.span)).all(|span| span.to < end));
        let text = String::from_utf8(out).expect("the sample is UTF-8");
        let scanned = text.lines().filter(|line| line.contains(" 203.0.113.66 ")).count();
        assert_eq!(scanned as u64, truth.incidents[0].lines);
    }
}
