//! Evidence of a value for some rows against others.

/// Two shares of rows: of those asked about, and of the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) hits_in: u64,
    pub(crate) rows_in: u64,
    pub(crate) hits_out: u64,
    pub(crate) rows_out: u64,
}

impl Evidence {
    pub(crate) fn share_in(&self) -> f64 {
        self.hits_in as f64 / self.rows_in.max(1) as f64
    }

    pub(crate) fn share_out(&self) -> f64 {
        self.hits_out as f64 / self.rows_out.max(1) as f64
    }

    /// Ratio of the two frequencies; half a row more on both sides keeps it finite.
    pub(crate) fn ratio(&self) -> f64 {
        let smooth = |hits: u64, rows: u64| (hits as f64 + 0.5) / (rows as f64 + 1.0);
        smooth(self.hits_in, self.rows_in) / smooth(self.hits_out, self.rows_out)
    }

    /// The G statistic of the two by two table: twice the logarithm of the likelihood ratio.
    pub(crate) fn g(&self) -> f64 {
        let rows = self.rows_in + self.rows_out;
        let hits = self.hits_in + self.hits_out;
        // Before it is rounded: a difference of rounded numbers may be 0 where a cell has rows.
        let misses = rows.saturating_sub(hits);
        let cell = |observed: u64, side: u64, of: u64| {
            let (observed, expected) = (observed as f64, side as f64 * of as f64 / rows as f64);
            if observed == 0.0 { 0.0 } else { observed * (observed / expected).ln() }
        };
        let sum = cell(self.hits_in, self.rows_in, hits)
            + cell(self.hits_out, self.rows_out, hits)
            + cell(self.rows_in.saturating_sub(self.hits_in), self.rows_in, misses)
            + cell(self.rows_out.saturating_sub(self.hits_out), self.rows_out, misses);
        (2.0 * sum).max(0.0)
    }
}

/// Probability of a G of at least this much by chance: chi squared with one degree of freedom.
pub(crate) fn p_value(g: f64) -> f64 {
    erfc((g / 2.0).sqrt())
}

/// The complementary error function to seven digits, for numbers from 0 on (Numerical Recipes'
/// Chebyshev fit).
fn erfc(x: f64) -> f64 {
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + x / 2.0);
    let sum = FIT.iter().rev().fold(0.0, |sum, term| sum * t + term);
    t * (sum - x * x).exp()
}

/// Benjamini and Hochberg: for each p its q, the share of false findings among all at least as
/// unlikely. `tried` were looked at, those that are not in `p` with a p of 1.
pub(crate) fn q_values(p: &[f64], tried: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let mut q = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (index, place) in order.iter().enumerate() {
        let rank = (p.len() - index) as f64;
        least = least.min(p[*place] * tried as f64 / rank);
        q[*place] = least;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_tables() {
        // 2 x (30 ln 1.5 + 70 ln 0.875 + 10 ln 0.5 + 90 ln 1.125), by hand.
        let evidence = Evidence { hits_in: 30, rows_in: 100, hits_out: 10, rows_out: 100 };
        assert!((evidence.g() - 12.9716).abs() < 1e-3, "{}", evidence.g());
        assert!((p_value(evidence.g()) - 3.16e-4).abs() < 5e-6);
        let same = Evidence { hits_in: 5, rows_in: 50, hits_out: 50, rows_out: 500 };
        assert!(same.g() < 1e-9 && p_value(same.g()) > 0.999_99);
        let none = Evidence { hits_in: 0, rows_in: 50, hits_out: 0, rows_out: 500 };
        assert!(none.g() < 1e-9);
    }

    #[test]
    fn q_of_the_paper() {
        // Benjamini and Hochberg 1995, the first of 15 tests.
        let p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201];
        let q = q_values(&p, 15);
        let expected = [0.0015, 0.003, 0.0095, 0.035_625, 0.0603];
        assert!(q.iter().zip(expected).all(|(q, expected)| (q - expected).abs() < 1e-9), "{q:?}");
    }
}
