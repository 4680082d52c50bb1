//! Round places on the axes, and their labels.

use super::context::percent;
use crate::verbs::logs::time::format;
use jiff::Timestamp;
use jiff::civil::date;
use serde::Serialize;

const DAY: i64 = 86_400;

/// The mean month of the calendar.
const MONTH: i64 = 2_629_746;

/// Pixels that a label of the time axis needs.
const LABEL_PX: i64 = 84;

/// Room below each line of the grid.
const GRID_PX: u64 = 40;

/// Steps between labels, in seconds.
const STEPS: [i64; 22] = [
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1_800,
    3_600,
    7_200,
    10_800,
    21_600,
    43_200,
    DAY,
    2 * DAY,
    5 * DAY,
    7 * DAY,
    14 * DAY,
];

/// Steps in months.
const MONTH_STEPS: [i64; 16] =
    [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 12 * 100, 12 * 200, 12 * 500, 12 * 1_000, 12 * 2_000, 12 * 5_000];

/// A label of the time axis.
#[derive(Debug, Serialize)]
pub(super) struct TimeTick {
    /// Position, in per cent of the width.
    x: f64,
    label: String,
    /// The larger unit, at the first label and where it changes: the date below the hour.
    below: String,
}

/// A line of the grid.
#[derive(Debug, Serialize)]
pub(super) struct CountTick {
    /// Position, in per cent of the height, from the top.
    y: f64,
    label: String,
}

/// Labels at round times from `from` to `to`, as many as `width_px` has room for.
pub(super) fn time_ticks(from: i64, to: i64, width_px: i64) -> Vec<TimeTick> {
    let least = ((to - from) * LABEL_PX + width_px - 1) / width_px;
    let (at, patterns) = match STEPS.into_iter().find(|step| *step >= least) {
        Some(step) => (round_times(from, to, step), patterns(step)),
        None => months(from, to, least),
    };
    let mut last_below = String::new();
    let tick = |at: i64| {
        let below = format(at, patterns.1);
        let is_new = below != last_below;
        last_below.clone_from(&below);
        let x = percent((at - from) as f64 / (to - from) as f64);
        TimeTick { x, label: format(at, patterns.0), below: if is_new { below } else { String::new() } }
    };
    // A label at the very end would be cut.
    at.into_iter().filter(|at| (to - at) * width_px > (to - from) * LABEL_PX / 4).map(tick).collect()
}

fn patterns(step: i64) -> (&'static str, &'static str) {
    match step {
        step if step >= DAY => ("%d %b", "%Y"),
        step if step >= 60 => ("%H:%M", "%d %b %Y"),
        _ => ("%H:%M:%S", "%d %b %Y"),
    }
}

fn round_times(from: i64, to: i64, step: i64) -> Vec<i64> {
    let first = from + (-from).rem_euclid(step);
    (0..).map(|index| first + index * step).take_while(|at| *at <= to).collect()
}

/// The starts of months and years.
fn months(from: i64, to: i64, least: i64) -> (Vec<i64>, (&'static str, &'static str)) {
    let step = MONTH_STEPS.into_iter().find(|step| step * MONTH >= least).unwrap_or(MONTH_STEPS[MONTH_STEPS.len() - 1]);
    let Ok(start) = Timestamp::from_second(from) else { return (Vec::new(), ("", "")) };
    let start = start.to_zoned(jiff::tz::TimeZone::UTC);
    let first = (i64::from(start.year()) * 12 + i64::from(start.month()) - 1).div_euclid(step) * step;
    let at =
        (0..).map_while(|index| month_start(first + index * step)).take_while(|at| *at <= to).filter(|at| *at >= from).collect();
    (at, if step < 12 { ("%b", "%Y") } else { ("%Y", "") })
}

/// Begin of a month, counted from the year 0; `None` where the calendar ends.
fn month_start(month: i64) -> Option<i64> {
    let year = i16::try_from(month.div_euclid(12)).ok().filter(|year| (-9_999..=9_999).contains(year))?;
    let month = month.rem_euclid(12) as i8 + 1;
    Some(date(year, month, 1).to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
}

/// Lines at round counts up to `most`, for a plot of some 240 pixels.
pub(super) fn count_ticks(most: u64) -> Vec<CountTick> {
    let least = most.div_ceil(240 / GRID_PX).max(1);
    let power = 10_u64.pow(least.ilog10());
    let step =
        [1, 2, 5, 10].into_iter().map(|factor| factor * u128::from(power)).find(|step| *step >= u128::from(least)).unwrap_or(1);
    let count = u128::from(most) / step;
    let tick = |index: u128| {
        let value = (index * step) as f64;
        CountTick { y: percent(1.0 - value / most as f64), label: short(value) }
    };
    (0..=count).map(tick).collect()
}

/// `12k`, `1.5M`: the axis has little room.
fn short(value: f64) -> String {
    for (unit, name) in [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value >= f64::max(unit, 1e4) {
            return format!("{}{name}", (value / unit * 100.0).round() / 100.0);
        }
    }
    crate::verbs::logs::words::thousands(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_stretch_of_time_has_few_labels_that_differ() {
        for start in [631_152_000, -62_135_596_800] {
            for exponent in 3..=38 {
                let end: i64 = (start + (1i64 << exponent)).min(253_402_300_799);
                for width_px in [300, 640, 1_200, 3_600] {
                    let ticks = time_ticks(start, end, width_px);
                    let room = width_px / LABEL_PX + 1;
                    assert!(
                        !ticks.is_empty() && ticks.len().cast_signed() as i64 <= room,
                        "{} labels from {start} to {end}",
                        ticks.len()
                    );
                    assert!(ticks.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].label != pair[1].label));
                    assert!(ticks.iter().all(|tick| (0.0..=100.0).contains(&tick.x) && !tick.label.contains('?')));
                    let year = ticks[0].below.len() >= 4 || ticks[0].label.len() == 4;
                    assert!(year, "the year is told: {:?}", ticks[0]);
                }
            }
        }
    }

    #[test]
    fn labels_are_at_round_times() {
        // date -u -d '2015-05-17 10:00' +%s
        let from = 1_431_856_800;
        let labels = |to: i64, width_px| {
            let ticks = time_ticks(from, to, width_px);
            ticks.iter().map(|tick| format!("{} {}", tick.label, tick.below).trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(labels(from + 3 * DAY, 400), ["18 May 2015", "19 May", "20 May"]);
        assert_eq!(labels(from + 4 * 3_600, 400), ["10:00 17 May 2015", "11:00", "12:00", "13:00"]);
        assert_eq!(labels(from + 400 * DAY, 600), ["Jul 2015", "Sep", "Nov", "Jan 2016", "Mar", "May"]);
        // To April 2026, where a label for the year would be cut.
        assert_eq!(labels(from + 4_000 * DAY, 600), ["2016", "2018", "2020", "2022", "2024"]);
    }

    #[test]
    fn counts_are_round() {
        let labels = |most| count_ticks(most).into_iter().map(|tick| tick.label).collect::<Vec<_>>();
        assert_eq!(labels(1), ["0", "1"]);
        assert_eq!(labels(170), ["0", "50", "100", "150"]);
        assert_eq!(labels(2_400_000), ["0", "500k", "1M", "1.5M", "2M"]);
        assert_eq!(count_ticks(200)[2].y, 50.0);
        assert!(labels(u64::MAX).len() > 2);
    }
}
