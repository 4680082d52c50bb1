//! The log of a busy site: visitors who come, ask for several things and go; a shop and an API
//! beside the sample's pages.

use super::GeneratedLines;
use super::clock::DailyClock;
use super::random::Rng;
use super::sample::records;

/// Visitors at a time.
const VISITORS: usize = 300;

/// Addresses that visitors come from, the early ones more often.
const CLIENTS: f64 = 1_000_000.0;

/// Things that have a page of their own, the early ones asked for more often.
const ITEMS: f64 = 200_000.0;

/// Requests of a visit, on average; one visit in fifty is a crawler's, ten times as long. So a
/// request stands beside some 26 others of its visit, where in the sample it stands beside 13
/// others of its client in the same hour, and 74 in all.
const REQUESTS: usize = 8;

/// Answers of the site's programs: method, path, parts in a thousand of all requests.
const ROUTES: [(&str, &str, usize); 14] = [
    ("GET", "/search", 60),
    ("GET", "/cart", 40),
    ("POST", "/checkout", 20),
    ("GET", "/account", 20),
    ("GET", "/login", 8),
    ("POST", "/login", 6),
    ("GET", "/api/v1/users", 25),
    ("GET", "/api/v1/orders", 25),
    ("POST", "/api/v1/orders", 5),
    ("GET", "/api/v1/stock", 20),
    ("GET", "/app", 40),
    ("GET", "/static/app.js", 40),
    ("GET", "/static/app.css", 40),
    ("GET", "/healthz", 5),
];
const ITEM_PARTS: usize = 200;

const WORDS: [&str; 8] = ["books", "music", "films", "games", "tools", "shoes", "bikes", "lamps"];

/// Days of the log, whatever its lines.
const DAYS: u32 = 90;

/// One request before it is written down.
#[derive(Debug, Clone, Default)]
pub(super) struct SiteHit {
    pub(super) seconds: i64,
    pub(super) host: &'static str,
    pub(super) client: [u8; 4],
    pub(super) user: &'static str,
    pub(super) method: &'static str,
    pub(super) path: Vec<u8>,
    pub(super) protocol: &'static str,
    pub(super) status: u16,
    pub(super) sent: u64,
    pub(super) referrer: &'static str,
    pub(super) agent: &'static str,
    pub(super) micros: u64,
}

/// The sample's values of one request.
struct SitePage {
    method: &'static str,
    path: &'static str,
    protocol: &'static str,
    status: u16,
    sent: u64,
    referrer: &'static str,
    agent: &'static str,
}

struct Visitor {
    client: [u8; 4],
    agent: &'static str,
    host: &'static str,
    user: &'static str,
    requests_left: usize,
}

/// The requests of the site, one after the other, without end.
pub(super) struct Site {
    pages: Vec<SitePage>,
    visitors: Vec<Visitor>,
    pub(super) random: Rng,
}

/// A log in the combined format: 90 days of requests to [`Site`], by day more than by night.
pub struct SiteLog {
    site: Site,
    rhythm: DailyClock,
    hit: SiteHit,
    digits: itoa::Buffer,
}

impl SiteLog {
    /// A log whose 90 days are over after `lines`.
    #[must_use]
    pub fn new(lines: u64, seed: u64) -> Self {
        Self { site: Site::new(seed), rhythm: DailyClock::new(lines, DAYS), hit: SiteHit::default(), digits: itoa::Buffer::new() }
    }
}

impl GeneratedLines for SiteLog {
    fn line(&mut self, out: &mut Vec<u8>) {
        self.hit.seconds = self.rhythm.tick();
        self.site.ask(&mut self.hit);
        self.hit.push_combined(self.rhythm.stamp(self.hit.seconds), &mut self.digits, out);
        out.push(b'\n');
    }
}

impl Site {
    pub(super) fn new(seed: u64) -> Self {
        let pages = records().iter().filter_map(|record| SitePage::parse(record.request, record.sent, record.tail)).collect();
        let mut site = Self { pages, visitors: Vec::with_capacity(VISITORS), random: Rng::new(seed) };
        for _ in 0..VISITORS {
            let visitor = site.arrive();
            site.visitors.push(visitor);
        }
        site
    }

    /// Fills in everything but the time.
    pub(super) fn ask(&mut self, hit: &mut SiteHit) {
        let place = self.random.below(VISITORS);
        if self.visitors[place].requests_left == 0 {
            self.visitors[place] = self.arrive();
        }
        let visitor = &mut self.visitors[place];
        visitor.requests_left -= 1;
        (hit.client, hit.agent, hit.host, hit.user) = (visitor.client, visitor.agent, visitor.host, visitor.user);
        self.page(hit);
        self.target(hit);
        self.time(hit);
    }

    fn arrive(&mut self) -> Visitor {
        let crawler = self.random.below(50) == 0;
        let times = if crawler { 10 } else { 1 };
        let client = address(skewed(&mut self.random, CLIENTS));
        // A visitor who comes back has the same program.
        let agent = self.pages[Rng::new(u32::from_be_bytes(client).into()).below(self.pages.len())].agent;
        let host = if self.random.below(3) == 0 { "shop.example.com" } else { "www.example.com" };
        let user = if self.random.below(50) == 0 { ["ann", "bob", "eve", "joe"][self.random.below(4)] } else { "-" };
        Visitor { client, agent, host, user, requests_left: times * (1 + self.random.below(2 * REQUESTS - 1)) }
    }

    /// A page of the sample, with its status, size and referrer.
    fn page(&mut self, hit: &mut SiteHit) {
        let page = &self.pages[self.random.below(self.pages.len())];
        (hit.method, hit.protocol, hit.status, hit.referrer) = (page.method, page.protocol, page.status, page.referrer);
        hit.sent = page.sent / 2 + self.random.below(page.sent as usize + 1) as u64;
        hit.path.clear();
        hit.path.extend_from_slice(page.path.as_bytes());
    }

    /// Instead of it, often, an item or a program's answer.
    fn target(&mut self, hit: &mut SiteHit) {
        let mut roll = self.random.below(1000);
        if roll < ITEM_PARTS {
            return self.item(hit);
        }
        roll -= ITEM_PARTS;
        for (method, path, parts) in ROUTES {
            if roll < parts {
                return self.route(method, path, hit);
            }
            roll -= parts;
        }
    }

    fn item(&mut self, hit: &mut SiteHit) {
        let number = skewed(&mut self.random, ITEMS);
        let word = WORDS[number as usize % WORDS.len()];
        hit.path.clear();
        hit.path.extend_from_slice(format!("/{word}/{number}").as_bytes());
        if self.random.below(3) == 0 {
            hit.path.extend_from_slice(format!("?page={}&from={word}", 1 + self.random.below(30)).as_bytes());
        }
    }

    fn route(&mut self, method: &'static str, path: &str, hit: &mut SiteHit) {
        hit.method = method;
        hit.path.clear();
        hit.path.extend_from_slice(path.as_bytes());
        hit.status = self.answer(path);
        hit.sent = 400 + self.random.below(4_000) as u64;
        match path {
            "/search" => {
                let word = WORDS[self.random.below(WORDS.len())];
                hit.path.extend_from_slice(format!("?q={word}+{}", self.random.below(5_000)).as_bytes());
            }
            "/healthz" => (hit.client, hit.agent) = ([10, 0, 0, 7], "kube-probe/1.31"),
            _ if path.starts_with("/api/") => hit.host = "api.example.com",
            _ => {}
        }
    }

    fn answer(&mut self, path: &str) -> u16 {
        let roll = self.random.below(1000);
        match path {
            "/static/app.js" | "/static/app.css" if roll < 850 => 304,
            "/login" | "/account" if roll < 200 => 302,
            "/healthz" => 200,
            _ if roll > 996 => 500,
            _ if roll > 990 => 404,
            _ => 200,
        }
    }

    /// Most answers take some ten milliseconds, few a second.
    fn time(&mut self, hit: &mut SiteHit) {
        let base = 2_000 << self.random.below(9).min(self.random.below(9));
        hit.micros = base + self.random.below(2_000) as u64 * base / 1_000;
    }
}

impl SitePage {
    /// `None` where the request or the tail has another shape.
    fn parse(request: &'static [u8], sent: Option<u64>, tail: &'static [u8]) -> Option<Self> {
        let request = std::str::from_utf8(request).ok()?.strip_prefix("] \"")?;
        let (request, status) = request.rsplit_once("\" ")?;
        let mut words = request.split(' ');
        let (method, path, protocol) = (words.next()?, words.next()?, words.next()?);
        let mut quoted = std::str::from_utf8(tail).ok()?.split('"');
        let (referrer, agent) = (quoted.nth(1)?, quoted.nth(1)?);
        let status = status.trim().parse().ok()?;
        let whole = words.next().is_none() && quoted.next() == Some("\n") && quoted.next().is_none();
        whole.then_some(Self { method, path, protocol, status, sent: sent.unwrap_or(0), referrer, agent })
    }
}

impl SiteHit {
    /// `1.2.3.4 - - [01/Jan/2025:00:00:00 +0000] "GET /a HTTP/1.1" 200 17 "-" "agent"`
    pub(super) fn push_combined(&self, stamp: &[u8], digits: &mut itoa::Buffer, out: &mut Vec<u8>) {
        for (place, octet) in self.client.into_iter().enumerate() {
            out.extend_from_slice(if place == 0 { b"" } else { b"." });
            out.extend_from_slice(digits.format(octet).as_bytes());
        }
        push(out, &[b" - ", self.user.as_bytes(), b" [", stamp, b"] \"", self.method.as_bytes(), b" ", &self.path, b" "]);
        push(out, &[self.protocol.as_bytes(), b"\" ", digits.format(self.status).as_bytes(), b" "]);
        push(
            out,
            &[digits.format(self.sent).as_bytes(), b" \"", self.referrer.as_bytes(), b"\" \"", self.agent.as_bytes(), b"\""],
        );
    }
}

pub(super) fn push(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

/// A number below `bound`; half of them are in its first eighth.
fn skewed(random: &mut Rng, bound: f64) -> u32 {
    let fraction = random.fraction();
    (fraction * fraction * fraction * bound) as u32
}

/// The nth address; five share a /24, none of which is of the networks for documentation.
fn address(number: u32) -> [u8; 4] {
    let [a, b, c, _] = (number / 5).wrapping_mul(0x9e37_79b1).to_be_bytes();
    [1 + a % 190, b, c, (number % 5) as u8 * 50 + 1]
}

#[cfg(test)]
mod tests {
    use super::super::{SEED_DEFAULT, write_count};
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn lines_are_combined_ones_of_many_clients_and_paths() {
        let mut out = Vec::new();
        let written = write_count(&mut SiteLog::new(50_000, SEED_DEFAULT), 50_000, &mut out).expect("a Vec takes everything");
        let text = String::from_utf8(out).expect("the sample is UTF-8");
        assert_eq!((written.lines, written.bytes), (text.lines().count() as u64, text.len() as u64));
        assert!(text.lines().all(|line| line.split('"').count() == 7));
        let field = |number: usize| text.lines().filter_map(|line| line.split(' ').nth(number)).collect::<HashSet<_>>().len();
        assert!(field(0) > 2_000, "{} clients", field(0));
        assert!(field(6) > 10_000, "{} paths", field(6));
        assert!((150..300).contains(&(text.len() / 50_000)), "{} bytes a line", text.len() / 50_000);
    }

    #[test]
    fn the_seed_decides() {
        let text = |seed| {
            let mut out = Vec::new();
            write_count(&mut SiteLog::new(1_000, seed), 1_000, &mut out).expect("a Vec takes everything");
            out
        };
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }
}
