//! Log times that advance evenly over 90 days, whatever the size of the log.

use jiff::Timestamp;

const DAY_SECONDS: i64 = 86_400;
const SPAN_SECONDS: f64 = 90.0 * DAY_SECONDS as f64;

/// 2025-01-01T00:00:00Z.
pub(super) const START_SECONDS: i64 = 1_735_689_600;

/// The time of the nth of about `lines_expected` lines, as an access log writes it.
pub(super) struct Clock {
    lines_expected: f64,
    lines: u64,
    /// The day that `stamp` shows; -1 before the first line.
    day: i64,
    stamp: Vec<u8>,
}

impl Clock {
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

    /// Only the six digits of the time of day change from line to line; the date is formatted once a day.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_ninety_days_evenly() {
        let mut clock = Clock::new(4.0);
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
        let mut clock = Clock::new(1.0);
        clock.show(START_SECONDS + DAY_SECONDS - 1);
        assert_eq!(clock.stamp, b"01/Jan/2025:23:59:59 +0000");
    }
}
