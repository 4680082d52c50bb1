//! Amounts by code: those of all codes, or only of the few that were met.

/// Rows and the sum of their response sizes, which stays at 2^64 - 1 where it gets there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RowsAndBytes {
    pub(crate) hits: u64,
    pub(crate) bytes: u64,
}

impl RowsAndBytes {
    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    #[inline]
    pub(crate) fn subtract(&mut self, other: Self) {
        self.hits -= other.hits;
        self.bytes -= other.bytes;
    }
}

/// Up to so many codes all have a place at once.
const SMALL: usize = 1_024;

/// Of so many codes one may be met, at most, before all get a place.
const FEW_PART: usize = 16;

/// Rows and response sizes by code. A view of few rows out of millions of values then takes the
/// memory of its rows, and not that of the values.
#[derive(Debug, Clone)]
pub(crate) enum SparseCounts {
    /// Codes that were met, in ascending order up to `settled`, and after that as they came.
    Few {
        met: Vec<(u32, RowsAndBytes)>,
        settled: usize,
        codes: usize,
    },
    Many(Vec<RowsAndBytes>),
}

impl Default for SparseCounts {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl SparseCounts {
    /// None of so many codes.
    pub(crate) fn new(codes: usize) -> Self {
        if codes <= SMALL {
            return Self::Many(vec![RowsAndBytes::default(); codes]);
        }
        Self::Few { met: Vec::new(), settled: 0, codes }
    }

    /// Makes room for codes that came since.
    pub(crate) fn grow(&mut self, more: usize) {
        match self {
            Self::Few { codes, .. } => *codes = more.max(*codes),
            Self::Many(all) if all.is_empty() => *self = Self::new(more),
            Self::Many(all) => all.resize(more.max(all.len()), RowsAndBytes::default()),
        }
    }

    /// Adds the counts of `amounts`; a code may come again.
    #[inline]
    pub(crate) fn add_each(&mut self, mut amounts: impl Iterator<Item = (u32, RowsAndBytes)>) {
        while let Self::Few { met, .. } = self {
            let Some(next) = amounts.next() else { return };
            met.push(next);
            self.widen_if_full();
        }
        if let Self::Many(all) = self {
            amounts.for_each(|(code, amount)| all[code as usize].add(amount));
        }
    }

    #[inline]
    fn widen_if_full(&mut self) {
        if let Self::Few { met, codes, .. } = self
            && met.len() >= *codes / FEW_PART
        {
            let most = *codes / FEW_PART / 2;
            self.settle();
            if matches!(self, Self::Few { met, .. } if met.len() > most) {
                self.widen();
            }
        }
    }

    /// Joins the counts of the same codes: before anything is looked up.
    pub(crate) fn settle(&mut self) {
        let Self::Few { met, settled, .. } = self else { return };
        if *settled < met.len() {
            met.sort_unstable_by_key(|(code, _)| *code);
            met.dedup_by(|(code, amount), (before, sum)| {
                let is_same = code == before;
                if is_same {
                    sum.add(*amount);
                }
                is_same
            });
            *settled = met.len();
        }
    }

    /// Gives all codes a place.
    fn widen(&mut self) {
        if let Self::Few { met, codes, .. } = self {
            let mut all = vec![RowsAndBytes::default(); *codes];
            met.iter().for_each(|(code, amount)| all[*code as usize].add(*amount));
            *self = Self::Many(all);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if let (Self::Few { .. }, Self::Many(_)) = (&*self, other) {
            self.widen();
        }
        match (&mut *self, other) {
            (Self::Many(own), Self::Many(other)) => own.iter_mut().zip(other).for_each(|(own, other)| own.add(*other)),
            _ => self.add_each(other.iter()),
        }
        self.settle();
    }

    /// Takes away the counts of a part.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.widen();
        if let Self::Many(own) = self {
            other.iter().for_each(|(code, amount)| own[code as usize].subtract(amount));
        }
    }

    /// The amounts that are not none, in the order of their codes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, RowsAndBytes)> + Clone {
        let (few, many) = match self {
            Self::Few { met, .. } => (&met[..], &[][..]),
            Self::Many(all) => (&[][..], &all[..]),
        };
        let of_all = (0..).zip(many).map(|(code, amount)| (code, *amount));
        few.iter().copied().chain(of_all).filter(|(_, amount)| amount.hits > 0)
    }

    /// The amount of a code; none of one that is not known.
    pub(crate) fn get(&self, code: u32) -> RowsAndBytes {
        match self {
            Self::Few { met, .. } => {
                met.binary_search_by_key(&code, |(code, _)| *code).map_or(RowsAndBytes::default(), |at| met[at].1)
            }
            Self::Many(all) => all.get(code as usize).copied().unwrap_or_default(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Few { met, .. } => met.capacity() * size_of::<(u32, RowsAndBytes)>(),
            Self::Many(all) => all.capacity() * size_of::<RowsAndBytes>(),
        };
        bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(bytes: u64) -> RowsAndBytes {
        RowsAndBytes { hits: 1, bytes }
    }

    #[test]
    fn few_and_many_say_the_same() {
        for codes in [10u32, 1_024, 1_025, 100_000] {
            for rows in [0u32, 5, 60, 3_000, 200_000] {
                let row = |row: u32| (row.wrapping_mul(2_654_435_761) % codes % (rows / 2 + 1), amount(u64::from(row)));
                let mut expected = vec![RowsAndBytes::default(); codes as usize];
                (0..rows).map(row).for_each(|(code, amount)| expected[code as usize].add(amount));
                let mut all = SparseCounts::new(codes as usize);
                let mut halves = [SparseCounts::new(codes as usize), SparseCounts::new(codes as usize)];
                all.add_each((0..rows).map(row));
                all.settle();
                for (half, rows) in halves.iter_mut().zip([0..rows / 3, rows / 3..rows]) {
                    half.add_each(rows.map(row));
                    half.settle();
                }
                let distinct = expected.iter().filter(|sum| sum.hits > 0).count() as u32;
                let is_few = codes > 1_024 && (rows < codes / 16 || distinct <= codes / 32);
                assert_eq!(matches!(all, SparseCounts::Few { .. }), is_few, "{codes} {rows}");
                let [mut one, other] = halves;
                one.add(&other);
                for sums in [&all, &one] {
                    let listed: Vec<_> =
                        (0..codes).zip(&expected).filter(|(_, sum)| sum.hits > 0).map(|(code, sum)| (code, *sum)).collect();
                    assert_eq!(sums.iter().collect::<Vec<_>>(), listed);
                    assert!((0..codes).zip(&expected).all(|(code, sum)| sums.get(code) == *sum));
                }
                let mut rest = all.clone();
                rest.subtract(&other);
                (rows / 3..rows).map(row).for_each(|(code, amount)| expected[code as usize].subtract(amount));
                assert!((0..codes).zip(&expected).all(|(code, sum)| rest.get(code) == *sum));
            }
        }
    }
}
