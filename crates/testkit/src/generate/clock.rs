//! Log times that advance evenly over 90 days, whatever the size of the log.

use jiff::Timestamp;

const DAY_SECONDS: i64 = 86_400;
const SPAN_SECONDS: f64 = 90.0 * DAY_SECONDS as f64;

/// 2025-01-01T00:00:00Z.
pub(super) const START_SECONDS: i64 = 1_735_689_600;

/// The time of the nth of about `lines_expected` lines, as an access log writes it.
pub(super) struct LogClock {
    lines_expected: f64,
    lines: u64,
    /// The day that `stamp` shows; -1 before the first line.
    day: i64,
    stamp: Vec<u8>,
}

impl LogClock {
    pub(super) fn new(lines_expected: f64) -> Self {
        Self { lines_expected, lines: 0, day: -1, stamp: Vec::new() }
    }

    /// The next line's time: `01/Jan/2025:00:00:00 +0000`.
    pub(super) fn tick(&mut self) -> &[u8] {
        let elapsed = (SPAN_SECONDS * self.lines as f64 / self.lines_expected) as i64;
        self.lines += 1;
        self.show(START_SECONDS + elapsed);
        &self.stamp
    }

    /// Only the six digits of the time of day change from line to line; the date is formatted once
    /// a day.
    fn show(&mut self, seconds: i64) {
        let day = seconds.div_euclid(DAY_SECONDS);
        if day != self.day {
            self.day = day;
            let date = Timestamp::from_second(day * DAY_SECONDS).unwrap_or(Timestamp::UNIX_EPOCH);
            self.stamp = date.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string().into_bytes();
        }
        let second = seconds.rem_euclid(DAY_SECONDS);
        for (at, value) in [(12, second / 3600), (15, second / 60 % 60), (18, second % 60)] {
            self.stamp[at] = b'0' + (value / 10) as u8;
            self.stamp[at + 1] = b'0' + (value % 10) as u8;
        }
    }
}

/// Requests of each hour of a day, in parts.
const DAY_PARTS: [u32; 24] = [30, 24, 20, 18, 18, 22, 32, 48, 66, 82, 94, 98, 96, 98, 100, 98, 94, 90, 86, 84, 80, 70, 54, 40];

/// Times of which there are more by day than by night, from 2025-01-01 on.
pub(super) struct DailyClock {
    lines_expected: f64,
    parts: f64,
    lines: u64,
    hour: i64,
    /// Parts of all hours before this one.
    before: f64,
    clock: LogClock,
}

impl DailyClock {
    /// `lines` over so many days; those beyond go on after them.
    pub(super) fn new(lines: u64, days: u32) -> Self {
        let parts = f64::from(DAY_PARTS.iter().sum::<u32>() * days);
        Self { lines_expected: lines as f64, parts, lines: 0, hour: 0, before: 0.0, clock: LogClock::new(1.0) }
    }

    /// Seconds of the next line.
    pub(super) fn tick(&mut self) -> i64 {
        let reached = self.parts * self.lines as f64 / self.lines_expected;
        self.lines += 1;
        loop {
            let of_hour = f64::from(DAY_PARTS[self.hour.rem_euclid(24) as usize]);
            let share = (reached - self.before) / of_hour;
            if share < 1.0 {
                return START_SECONDS + self.hour * 3_600 + (share * 3_600.0) as i64;
            }
            self.before += of_hour;
            self.hour += 1;
        }
    }

    /// The time as a log writes it.
    pub(super) fn stamp(&mut self, seconds: i64) -> &[u8] {
        self.clock.show(seconds);
        &self.clock.stamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_ninety_days_evenly() {
        let mut clock = LogClock::new(4.0);
        let stamps: Vec<_> = (0..5).map(|_| String::from_utf8_lossy(clock.tick()).into_owned()).collect();
        assert_eq!(
            stamps,
            [
                "01/Jan/2025:00:00:00 +0000",
                "23/Jan/2025:12:00:00 +0000",
                "15/Feb/2025:00:00:00 +0000",
                "09/Mar/2025:12:00:00 +0000",
                "01/Apr/2025:00:00:00 +0000",
            ]
        );
    }

    #[test]
    fn shows_every_digit_of_the_time_of_day() {
        let mut clock = LogClock::new(1.0);
        clock.show(START_SECONDS + DAY_SECONDS - 1);
        assert_eq!(clock.stamp, b"01/Jan/2025:23:59:59 +0000");
    }

    #[test]
    fn a_rhythm_has_its_lines_by_day() {
        let parts = u64::from(DAY_PARTS.iter().sum::<u32>());
        let mut rhythm = DailyClock::new(2 * parts, 2);
        let mut hours = [0; 48];
        for _ in 0..2 * parts {
            hours[((rhythm.tick() - START_SECONDS) / 3_600) as usize] += 1;
        }
        assert!(hours.iter().zip(DAY_PARTS.iter().cycle()).all(|(lines, parts)| lines == parts), "{hours:?}");
        assert_eq!(rhythm.stamp(START_SECONDS), b"01/Jan/2025:00:00:00 +0000");
    }
}
