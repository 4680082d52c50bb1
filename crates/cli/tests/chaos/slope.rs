//! True if something grows, whatever single looks say: the median of the slopes of all pairs (Theil
//! 1950, Sen 1968).

/// By how much per second.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let mut slopes = Vec::new();
    for (number, (x, y)) in points.iter().enumerate() {
        slopes.extend(points[..number].iter().filter(|(before, _)| before < x).map(|(before, was)| (y - was) / (x - before)));
    }
    slopes.sort_by(f64::total_cmp);
    match slopes.len() {
        0 => 0.0,
        count if count % 2 == 1 => slopes[count / 2],
        count => f64::midpoint(slopes[count / 2 - 1], slopes[count / 2]),
    }
}

/// Proves the slope: exact for a line, and deaf to a look that went wrong.
pub(crate) fn prove() {
    let line: Vec<(f64, f64)> = (0..9).map(|at| (f64::from(at), 5.0 + 2.0 * f64::from(at))).collect();
    assert!((slope(&line) - 2.0).abs() < 1e-9);
    let mut bent = line;
    bent[4].1 = 1e6;
    assert!((slope(&bent) - 2.0).abs() < 0.5, "{}", slope(&bent));
    assert!(slope(&[(1.0, 1.0)]).abs() < 1e-9);
}
