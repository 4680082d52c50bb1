//! Logs in which one thing goes wrong, or nothing does: rates with seasons and a memory of their
//! own, heavy tails everywhere, crawlers and jobs that come again and again.
//!
//! Nothing here knows how unusual spans are looked for.

use super::GeneratedLines;
use super::clock::{DailyClock, START_SECONDS};
use super::random::Rng;
use super::site::push;
use serde::Serialize;

/// nginx's format of the lines.
const FORMAT: &str = r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time $upstream_addr"#;

/// Logs with an incident, by their number; those from there on are quiet.
pub const UNUSUAL_CASES: usize = 20;

const MINUTES_OF_DAY: usize = 24 * 60;
const DAYS: [usize; 6] = [2, 3, 5, 7, 10, 14];

/// Visitors at a time, addresses and things to ask for.
const VISITORS: usize = 300;
const CLIENTS: f64 = 150_000.0;
const ITEMS: f64 = 20_000.0;
const AGENTS: f64 = 60.0;

/// Answers of the site's programs: path, parts in a thousand, usual milliseconds and bytes.
const ROUTES: [(&str, usize, f64, f64); 10] = [
    ("/", 90, 30.0, 18_000.0),
    ("/search", 70, 120.0, 9_000.0),
    ("/cart", 40, 45.0, 4_000.0),
    ("/checkout", 20, 160.0, 3_000.0),
    ("/login", 25, 60.0, 2_000.0),
    ("/account", 30, 50.0, 5_000.0),
    ("/api/v1/orders", 35, 40.0, 1_500.0),
    ("/api/v1/stock", 60, 15.0, 700.0),
    ("/api/v1/users", 30, 25.0, 1_100.0),
    ("/feed.xml", 15, 20.0, 30_000.0),
];
const STATIC_PARTS: usize = 250;

/// Effect of an incident on the lines of its time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PlantedEffect {
    /// Requests to a route fail.
    PathFails(&'static str, u16),
    /// All requests may fail.
    AllFail(u16),
    Slow(&'static str, f64),
    Scan,
    Missing,
    Agent,
    Larger(&'static str, f64),
    UpstreamFails,
    UpstreamSlow,
}

/// The incidents in the order of their numbers, each with its part of the log's time in a thousand,
/// and its part of the lines of that time in a hundred.
const PLANTED_EFFECTS: [(&str, PlantedEffect, f64, f64); UNUSUAL_CASES] = [
    ("a small outage of one path", PlantedEffect::PathFails("/checkout", 504), 25.0, 95.0),
    ("a small outage of one path", PlantedEffect::PathFails("/api/v1/orders", 503), 14.0, 95.0),
    ("a small outage of everything", PlantedEffect::AllFail(502), 0.7, 70.0),
    ("a small outage of everything", PlantedEffect::AllFail(500), 1.5, 33.0),
    ("a slow endpoint", PlantedEffect::Slow("/search", 9.0), 12.0, 80.0),
    ("a slow endpoint", PlantedEffect::Slow("/account", 14.0), 15.0, 60.0),
    ("a slow endpoint", PlantedEffect::Slow("/checkout", 6.0), 20.0, 90.0),
    ("a scan from one network", PlantedEffect::Scan, 5.0, 40.0),
    ("a scan from one network", PlantedEffect::Scan, 2.0, 65.0),
    ("a scan from one network", PlantedEffect::Scan, 12.0, 20.0),
    ("missing traffic", PlantedEffect::Missing, 3.0, 100.0),
    ("missing traffic", PlantedEffect::Missing, 8.0, 90.0),
    ("missing traffic", PlantedEffect::Missing, 5.0, 95.0),
    ("a new agent", PlantedEffect::Agent, 15.0, 15.0),
    ("a new agent", PlantedEffect::Agent, 30.0, 9.0),
    ("a new agent", PlantedEffect::Agent, 8.0, 25.0),
    ("a size jump", PlantedEffect::Larger("/search", 10.0), 15.0, 95.0),
    ("a size jump", PlantedEffect::Larger("/api/v1/stock", 20.0), 10.0, 95.0),
    ("one bad upstream", PlantedEffect::UpstreamFails, 8.0, 50.0),
    ("one bad upstream", PlantedEffect::UpstreamSlow, 12.0, 90.0),
];

/// The incident of a log.
#[derive(Debug, Clone, Serialize)]
pub struct UnusualIncident {
    /// For people.
    pub name: &'static str,
    /// Unix seconds of its begin, and of its end.
    pub from: i64,
    /// Unix seconds.
    pub to: i64,
    /// Fields and values any of which names it; none of all requests.
    pub causes: Vec<(&'static str, &'static str)>,
    /// Lines that it changed or brought.
    pub lines: u64,
}

/// Counts of a log.
#[derive(Debug, Serialize)]
pub struct UnusualTruth<'a> {
    /// The value as `log_format` writes it.
    pub format: &'static str,
    /// Days of the log.
    pub days: usize,
    /// `null` in a quiet log.
    pub incident: Option<&'a UnusualIncident>,
}

/// Something that comes again and again: a crawler at times of its own, a job at its hour.
struct Regular {
    client: [u8; 4],
    /// Addresses beside it.
    spread: usize,
    agent: String,
    path: &'static str,
    /// Minutes in which it comes, with its part of their lines.
    minutes: Vec<(usize, usize, f64)>,
    milliseconds: f64,
    bytes: f64,
    status: u16,
}

struct Guest {
    client: [u8; 4],
    agent: usize,
    host: &'static str,
    requests_left: usize,
}

/// One line before it is written.
#[derive(Default)]
struct UnusualHit {
    host: &'static str,
    client: [u8; 4],
    agent: String,
    path: String,
    status: u16,
    milliseconds: f64,
    bytes: f64,
    upstream: Option<usize>,
}

/// Made with the same seed and number, the log is the same on the same machine.
pub struct UnusualLog {
    random: Rng,
    clock: DailyClock,
    digits: itoa::Buffer,
    hit: UnusualHit,
    /// Lines of each minute.
    counts: Vec<u64>,
    /// Factors of each minute on durations, and on errors.
    load: Vec<f64>,
    faults: Vec<f64>,
    minute: usize,
    /// Lines of the minute so far.
    of_minute: u64,
    guests: Vec<Guest>,
    regulars: Vec<Regular>,
    agents: Vec<String>,
    effect: Option<(PlantedEffect, f64)>,
    incident: Option<UnusualIncident>,
}

impl UnusualLog {
    /// A log of about `lines`, with the incident of that number, or a quiet one.
    #[must_use]
    pub fn new(lines: u64, seed: u64, number: usize) -> Self {
        let mut random = Rng::new(seed.wrapping_mul(1_000_003) ^ (number as u64) << 32);
        // The first number of a small seed is as good as any.
        let days = DAYS[random.below(DAYS.len())];
        let minutes = days * MINUTES_OF_DAY;
        let mut weights = rates(days, &mut random);
        let effect = PLANTED_EFFECTS.get(number).copied();
        let incident = effect.map(|(name, effect, part, _)| place(name, effect, part, &weights, &mut random));
        if let (Some((_, effect, _, share)), Some(incident)) = (effect, &incident) {
            let span = (incident.from - START_SECONDS).unsigned_abs() as usize / 60
                ..(incident.to - START_SECONDS).unsigned_abs() as usize / 60;
            match effect {
                PlantedEffect::Missing => weights[span].iter_mut().for_each(|weight| *weight *= 1.0 - share / 100.0),
                PlantedEffect::Scan => weights[span].iter_mut().for_each(|weight| *weight /= 1.0 - share / 100.0),
                _ => {}
            }
        }
        let regulars = regulars(days, &mut random);
        for regular in &regulars {
            for (from, to, part) in &regular.minutes {
                weights[*from..*to].iter_mut().for_each(|weight| *weight /= 1.0 - part);
            }
        }
        let mean = weights.iter().sum::<f64>() / minutes as f64;
        let load = walk(minutes, 40.0, 0.15, &mut random);
        let load = load.iter().zip(&weights).map(|(wander, weight)| (weight / mean).powf(0.3) * wander.exp()).collect();
        let faults = faults(minutes, &mut random);
        let mut log = Self {
            counts: counts(&weights, lines),
            load,
            faults,
            clock: DailyClock::new(lines, 1),
            digits: itoa::Buffer::new(),
            hit: UnusualHit::default(),
            minute: 0,
            of_minute: 0,
            guests: Vec::new(),
            regulars,
            agents: (0..AGENTS as usize).map(agent).collect(),
            effect: effect.map(|(_, effect, _, share)| (effect, share / 100.0)),
            incident,
            random,
        };
        for _ in 0..VISITORS {
            let guest = log.arrive();
            log.guests.push(guest);
        }
        log
    }

    /// The truth about the lines made so far.
    #[must_use]
    pub fn truth(&self) -> UnusualTruth<'_> {
        UnusualTruth { format: FORMAT, days: self.counts.len() / MINUTES_OF_DAY, incident: self.incident.as_ref() }
    }

    fn arrive(&mut self) -> Guest {
        let number = skewed(&mut self.random, CLIENTS);
        let [a, b, c, _] = (number / 7).wrapping_mul(0x9e37_79b1).to_be_bytes();
        let client = [1 + a % 190, b, c, (number % 7) as u8 * 30 + 1];
        let agent = skewed(&mut Rng::new(u64::from(number)), AGENTS) as usize;
        let host = if self.random.below(4) == 0 { "shop.example.com" } else { "www.example.com" };
        // The visits of some are a hundred times as long as those of most.
        let length = 3.0 * self.random.fraction().max(1e-6).powf(-1.0 / 1.3);
        Guest { client, agent, host, requests_left: (length as usize).clamp(1, 3_000) }
    }

    /// A request of a visitor.
    fn visit(&mut self) {
        let place = self.random.below(VISITORS);
        if self.guests[place].requests_left == 0 {
            self.guests[place] = self.arrive();
        }
        let guest = &mut self.guests[place];
        guest.requests_left -= 1;
        let hit = &mut self.hit;
        (hit.client, hit.host) = (guest.client, guest.host);
        hit.agent.clone_from(&self.agents[guest.agent]);
        hit.status = 200;
        let mut roll = self.random.below(1_000);
        if roll < STATIC_PARTS {
            hit.path = format!("/static/{}.js", skewed(&mut self.random, 80.0));
            (hit.milliseconds, hit.bytes, hit.upstream) = (1.0, 40_000.0, None);
            hit.status = if self.random.below(3) == 0 { 304 } else { 200 };
            return;
        }
        roll -= STATIC_PARTS;
        hit.upstream = Some(self.random.below(4));
        for (path, parts, milliseconds, bytes) in ROUTES {
            if roll < parts {
                hit.path = path.to_owned();
                (hit.milliseconds, hit.bytes) = (milliseconds, bytes);
                return;
            }
            roll -= parts;
        }
        hit.path = format!("/item/{}", skewed(&mut self.random, ITEMS));
        (hit.milliseconds, hit.bytes) = (35.0, 12_000.0);
        if self.random.below(60) == 0 {
            hit.status = 404;
        }
    }

    /// A request of something regular, where it is its time.
    fn regular(&mut self) -> bool {
        for regular in &self.regulars {
            let now = self.minute;
            let on = regular.minutes.iter().find(|(from, to, _)| (*from..*to).contains(&now));
            let Some((_, _, part)) = on.filter(|(_, _, part)| self.random.fraction() < *part) else { continue };
            debug_assert!(*part < 1.0);
            let hit = &mut self.hit;
            hit.client = regular.client;
            hit.client[3] = hit.client[3].wrapping_add(self.random.below(regular.spread) as u8);
            hit.agent.clone_from(&regular.agent);
            (hit.host, hit.status) = ("www.example.com", regular.status);
            hit.path = match regular.path {
                "" => format!("/item/{}", self.random.below(ITEMS as usize)),
                path => path.to_owned(),
            };
            (hit.milliseconds, hit.bytes, hit.upstream) = (regular.milliseconds, regular.bytes, Some(self.random.below(4)));
            return true;
        }
        false
    }

    /// Gives any request its usual chances: some are slow, some fail.
    fn usual(&mut self) {
        let (load, faults) = (self.load[self.minute], self.faults[self.minute]);
        let tail = if self.random.below(50) == 0 { 5.0 + 25.0 * self.random.fraction() } else { 1.0 };
        self.hit.milliseconds *= load * (0.7 * normal(&mut self.random)).exp() * tail;
        self.hit.bytes *= (0.6 * normal(&mut self.random)).exp();
        if self.hit.upstream.is_some() && self.random.fraction() < 0.002 * faults {
            let status = [500, 502, 503][self.random.below(3)];
            self.fail(status);
        }
    }

    fn fail(&mut self, status: u16) {
        (self.hit.status, self.hit.bytes) = (status, 170.0);
    }

    fn goes_wrong(&mut self) {
        let now = START_SECONDS + self.minute.cast_signed() as i64 * 60;
        let Some((effect, share)) = self.effect else { return };
        let is_on = self.incident.as_ref().is_some_and(|incident| (incident.from..incident.to).contains(&now));
        if !is_on || self.random.fraction() >= share {
            return;
        }
        let hit = &mut self.hit;
        let changed = match effect {
            PlantedEffect::PathFails(path, status) if hit.path == path => Some(status),
            PlantedEffect::AllFail(status) => Some(status),
            PlantedEffect::UpstreamFails if hit.upstream == Some(2) => Some(502),
            PlantedEffect::Slow(path, factor) if hit.path == path => {
                hit.milliseconds *= factor;
                Some(0)
            }
            PlantedEffect::Larger(path, factor) if hit.path == path => {
                hit.bytes *= factor;
                Some(0)
            }
            PlantedEffect::UpstreamSlow if hit.upstream == Some(2) => {
                hit.milliseconds *= 8.0;
                Some(0)
            }
            PlantedEffect::Agent => {
                hit.agent = "FreshNewsBot/0.9 (+http://freshnews.example)".to_owned();
                Some(0)
            }
            PlantedEffect::Scan => {
                hit.client = [203, 0, 113, self.random.below(250) as u8];
                hit.path = format!("/{}.php", self.random.below(4_000));
                (hit.upstream, hit.milliseconds) = (None, 2.0);
                Some(404)
            }
            _ => None,
        };
        let Some(status) = changed else { return };
        self.incident.iter_mut().for_each(|incident| incident.lines += 1);
        if status > 0 {
            self.fail(status);
        }
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        let seconds = START_SECONDS + self.minute.cast_signed() as i64 * 60;
        let second = (60 * self.of_minute / self.counts[self.minute].max(1)).min(59);
        let stamp = self.clock.stamp(seconds + second.cast_signed());
        let [a, b, c, d] = self.hit.client;
        let client = format!("{a}.{b}.{c}.{d}");
        push(out, &[self.hit.host.as_bytes(), b" ", client.as_bytes(), b" - - [", stamp, b"] \"GET "]);
        push(out, &[self.hit.path.as_bytes(), b" HTTP/1.1\" ", self.digits.format(self.hit.status).as_bytes(), b" "]);
        push(out, &[self.digits.format(self.hit.bytes as u64).as_bytes(), b" \"-\" \"", self.hit.agent.as_bytes(), b"\" "]);
        out.extend_from_slice(format!("{:.3} ", self.hit.milliseconds / 1_000.0).as_bytes());
        match self.hit.upstream {
            Some(number) => out.extend_from_slice(format!("10.0.0.1{number}:8080\n").as_bytes()),
            None => out.extend_from_slice(b"-\n"),
        }
    }
}

impl GeneratedLines for UnusualLog {
    fn line(&mut self, out: &mut Vec<u8>) {
        while self.of_minute >= self.counts[self.minute] && self.minute + 1 < self.counts.len() {
            (self.minute, self.of_minute) = (self.minute + 1, 0);
        }
        if !self.regular() {
            self.visit();
        }
        self.usual();
        self.goes_wrong();
        self.write(out);
        self.of_minute += 1;
    }
}

/// The incident's span, in the middle of the log and where there is traffic.
fn place(name: &'static str, effect: PlantedEffect, part: f64, weights: &[f64], random: &mut Rng) -> UnusualIncident {
    let length = ((weights.len() as f64 * part / 1_000.0) as usize).max(4);
    let total: f64 = weights.iter().sum();
    let mut wanted = total * (0.15 + 0.7 * random.fraction());
    let minute = weights.iter().position(|weight| {
        wanted -= weight;
        wanted < 0.0
    });
    let minute = minute.unwrap_or(0).min(weights.len() - length);
    let from = START_SECONDS + minute.cast_signed() as i64 * 60;
    let causes = match effect {
        PlantedEffect::PathFails(path, _) | PlantedEffect::Slow(path, _) | PlantedEffect::Larger(path, _) => vec![("path", path)],
        PlantedEffect::AllFail(502) => vec![("status", "502"), ("", "")],
        PlantedEffect::AllFail(_) => vec![("status", "500"), ("", "")],
        PlantedEffect::Scan => vec![("net", "203.0.113.0/24")],
        PlantedEffect::Missing => vec![("", "")],
        PlantedEffect::Agent => vec![("agent", "FreshNewsBot/0.9 (+http://freshnews.example)"), ("bot", "FreshNewsBot")],
        PlantedEffect::UpstreamFails | PlantedEffect::UpstreamSlow => vec![("upstream_addr", "10.0.0.12:8080")],
    };
    UnusualIncident { name, from, to: from + length.cast_signed() as i64 * 60, causes, lines: 0 }
}

/// Expected lines of each minute, in parts: two humps a day, weekends, slow growth, and a walk that
/// remembers.
fn rates(days: usize, random: &mut Rng) -> Vec<f64> {
    let minutes = days * MINUTES_OF_DAY;
    let (night, weekend) = (0.1 + 0.5 * random.fraction(), 0.5 + 0.6 * random.fraction());
    let (noon, evening) = (9.0 + 3.0 * random.fraction(), 18.0 + 3.0 * random.fraction());
    let growth = if random.below(3) == 0 { 0.8 * random.fraction() } else { 0.0 };
    let (memory, size) = (20.0 + 160.0 * random.fraction(), 0.05 + 0.2 * random.fraction());
    let wander = walk(minutes, memory, size, random);
    let jitter = 0.05 + 0.25 * random.fraction();
    let rate = |(minute, wander): (usize, &f64)| {
        let hour = (minute % MINUTES_OF_DAY) as f64 / 60.0;
        let hump = |at: f64, width: f64| (-((hour - at) / width).powi(2)).exp();
        // 2025-01-01 was a Wednesday.
        let weekend = if [3, 4].contains(&(minute / MINUTES_OF_DAY % 7)) { weekend } else { 1.0 };
        let season = (night + hump(noon, 3.0) + 0.8 * hump(evening, 2.5)) * weekend;
        let grown = 1.0 + growth * minute as f64 / minutes as f64;
        season * grown * (wander + jitter * normal(random)).exp()
    };
    wander.iter().enumerate().map(rate).collect()
}

/// Factors on errors: they come in flocks, and with each new release for a moment.
fn faults(minutes: usize, random: &mut Rng) -> Vec<f64> {
    let mut faults: Vec<f64> = walk(minutes, 60.0, 0.5, random).iter().map(|wander| wander.exp()).collect();
    for _ in 0..minutes / 900 {
        let at = random.below(minutes);
        faults[at] *= 5.0 + 25.0 * random.fraction();
    }
    faults
}

fn regulars(days: usize, random: &mut Rng) -> Vec<Regular> {
    let minutes = days * MINUTES_OF_DAY;
    let mut all = Vec::new();
    for number in 0..3 + random.below(4) {
        // Bursts of a crawler: some ten to forty in the log, with heavy tails.
        let pause = minutes as f64 / (10.0 + 30.0 * random.fraction());
        let share = 0.02 + 0.12 * random.fraction();
        let (mut at, mut bursts) = (pause * random.fraction(), Vec::new());
        while (at as usize) < minutes {
            let length = (4.0 * random.fraction().max(1e-3).powf(-0.8)).min(240.0);
            let share = share * (0.4 + random.fraction());
            bursts.push((at as usize, (at + length) as usize, share));
            at += length + pause * -(1.0 - random.fraction()).ln();
        }
        bursts.iter_mut().for_each(|(from, to, _)| (*from, *to) = ((*from).min(minutes), (*to).min(minutes)));
        let client = [60 + number as u8, random.below(200) as u8, random.below(200) as u8, 10];
        let agent = format!(
            "Crawler{}/{}.{}",
            ["Blue", "Grey", "Red", "Green", "Lilac", "Ochre", "White"][number],
            number + 1,
            random.below(10)
        );
        all.push(Regular {
            client,
            spread: 1 + random.below(60),
            agent,
            path: "",
            minutes: bursts,
            milliseconds: 30.0,
            bytes: 12_000.0,
            status: 200,
        });
    }
    if random.below(2) == 0 {
        let (at, length) = (random.below(300), 5 + random.below(40));
        let nights =
            (0..days).map(|day| (day * MINUTES_OF_DAY + at, day * MINUTES_OF_DAY + at + length, 0.1 + 0.2 * random.fraction()));
        let nights = nights.collect();
        all.push(Regular {
            client: [10, 0, 0, 5],
            spread: 1,
            agent: "nightly-export/2.1".to_owned(),
            path: "/export",
            minutes: nights,
            milliseconds: 4_000.0,
            bytes: 3e6,
            status: 200,
        });
    }
    if random.below(2) == 0 {
        let at = random.below(50);
        let hours = (0..days * 24).map(|hour| (hour * 60 + at, hour * 60 + at + 2, 0.08)).collect();
        all.push(Regular {
            client: [10, 0, 0, 6],
            spread: 1,
            agent: "cron-sync/1.0".to_owned(),
            path: "/sync",
            minutes: hours,
            milliseconds: 300.0,
            bytes: 500.0,
            status: 200,
        });
    }
    all
}

/// Whole lines of each minute, `lines` in all.
fn counts(weights: &[f64], lines: u64) -> Vec<u64> {
    let total: f64 = weights.iter().sum();
    let mut before = 0.0;
    let count = |weight: &f64| {
        let from = (lines as f64 * before / total).round();
        before += weight;
        ((lines as f64 * before / total).round() - from) as u64
    };
    weights.iter().map(count).collect()
}

/// A walk of so many minutes' memory around 0, with this standard deviation.
fn walk(minutes: usize, memory: f64, size: f64, random: &mut Rng) -> Vec<f64> {
    let kept = (-1.0 / memory).exp();
    let step = size * (1.0 - kept * kept).sqrt();
    let mut at = 0.0;
    let next = |_| {
        at = at * kept + step * normal(random);
        at
    };
    (0..minutes).map(next).collect()
}

/// A number of the normal distribution (Box and Muller).
fn normal(random: &mut Rng) -> f64 {
    let (a, b) = (1.0 - random.fraction(), random.fraction());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// A number below `bound`, by Zipf's law: each number about as often as all up to it by halves.
fn skewed(random: &mut Rng, bound: f64) -> u32 {
    ((bound + 1.0).powf(random.fraction()) - 1.0) as u32
}

fn agent(number: usize) -> String {
    let version = 90 + number;
    match number % 4 {
        0 => format!(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36"
        ),
        1 => format!("Mozilla/5.0 (X11; Linux x86_64; rv:{version}.0) Gecko/20100101 Firefox/{version}.0"),
        2 => format!(
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{version}.1 Safari/605.1.15"
        ),
        _ => format!("OkApp/{version} (Android 14)"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::write_count;
    use super::*;

    #[test]
    fn the_incident_is_in_its_span_and_quiet_logs_have_none() {
        for number in 0..UNUSUAL_CASES + 2 {
            let mut log = UnusualLog::new(20_000, 5, number);
            let mut out = Vec::new();
            write_count(&mut log, 20_000, &mut out).expect("a Vec takes everything");
            let truth = log.truth();
            let end = START_SECONDS + truth.days.cast_signed() as i64 * 86_400;
            assert_eq!(truth.incident.is_some(), number < UNUSUAL_CASES);
            let missing = |one: &UnusualIncident| one.name == "missing traffic";
            let is_sound = |one: &UnusualIncident| one.from < one.to && one.to <= end && (one.lines > 0 || missing(one));
            assert!(truth.incident.is_none_or(is_sound), "{number}: {truth:?}");
            let text = String::from_utf8(out).expect("it is UTF-8");
            assert!(text.lines().all(|line| line.split('"').count() == 7));
            assert_eq!(text.contains("FreshNewsBot"), (13..16).contains(&number));
        }
    }
}
