//! The sum of everything that may hold memory, checked before any of it is taken.

use crate::setting::{MEMORY, THREADS};
use crate::size::{format_size, format_size_up};
use std::fmt;

/// Memory given to a process, and the most that each holder takes of it.
#[derive(Debug, Clone)]
pub struct Budget {
    total_bytes: u64,
    holders: Vec<(String, u64)>,
    /// Settings that would do instead of more memory, or need less, for the error.
    instead: Vec<String>,
}

impl Budget {
    /// A budget of `total_bytes` for the whole process, with nothing reserved yet.
    #[must_use]
    pub fn new(total_bytes: u64) -> Self {
        Self { total_bytes, holders: Vec::new(), instead: Vec::new() }
    }

    /// Names a holder and the most it will ever hold.
    pub fn reserve(&mut self, holder: impl Into<String>, bytes: u64) {
        self.holders.push((holder.into(), bytes));
    }

    /// Adds advice to the error other than more memory: only settings that help.
    pub fn advise(&mut self, instead: impl Into<String>) {
        self.instead.push(instead.into());
    }

    /// True if the sum for so many threads, which were asked for, fits.
    ///
    /// # Errors
    /// When it does not; the error says with how many fewer it would, or how much memory one needs.
    pub fn check_threads(threads: usize, sum: impl Fn(usize) -> Self) -> Result<(), BudgetError> {
        let Err(mut error) = sum(threads).check() else { return Ok(()) };
        let fitting = (1..threads).rev().find(|fewer| sum(*fewer).check().is_ok());
        let advice = match (fitting, sum(1).check()) {
            (Some(fewer), _) => Some(format!("{THREADS} {fewer}")),
            (None, Err(one)) if one.least_bytes() < error.least_bytes() => {
                Some(format!("{THREADS} 1 and {MEMORY} {}MiB", one.least_bytes() / MIB))
            }
            _ => None,
        };
        // The nearest first.
        error.0.instead.splice(..0, advice);
        Err(error)
    }

    /// The given memory, in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The rest that no holder has reserved; 0 when the reservations exceed the total.
    #[must_use]
    pub fn rest_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.reserved_bytes())
    }

    /// The holders and their shares, in the order in which they were named.
    #[must_use]
    pub fn holders(&self) -> &[(String, u64)] {
        &self.holders
    }

    /// True if the sum of the holders fits.
    ///
    /// # Errors
    /// When it does not; the error prints every term.
    pub fn check(&self) -> Result<(), BudgetError> {
        if self.reserved_bytes() <= self.total_bytes { Ok(()) } else { Err(BudgetError(self.clone())) }
    }

    /// The sum of all reservations.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        self.holders.iter().map(|(_, bytes)| bytes).fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }
}

const MIB: u64 = 1 << 20;

/// A budget below the sum of its holders.
#[derive(Debug, Clone)]
pub struct BudgetError(Budget);

impl BudgetError {
    /// The memory that would be enough, in bytes: whole mebibytes.
    #[must_use]
    pub fn least_bytes(&self) -> u64 {
        self.0.reserved_bytes().div_ceil(MIB) * MIB
    }
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (given, needed) = (self.0.total_bytes, self.0.reserved_bytes());
        let least = format_size_up(needed);
        // Sizes that read alike would contradict the sentence.
        let given = Some(format_size(given)).filter(|text| *text != least).unwrap_or_else(|| format!("{given} bytes"));
        writeln!(f, "{MEMORY} {given} is too little: this needs at least {least} ({needed} bytes):")?;
        for (holder, bytes) in self.0.holders.iter().filter(|(_, bytes)| *bytes > 0) {
            writeln!(f, "  {:>10}  {holder}", format_size(*bytes))?;
        }
        // Not rounded down, as a size in GiB would be.
        write!(f, "Give {MEMORY} {}MiB", self.least_bytes() / MIB)?;
        self.0.instead.iter().try_for_each(|instead| write!(f, ", or {instead}"))?;
        f.write_str(".")
    }
}

impl std::error::Error for BudgetError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_below_the_sum_and_prints_the_terms() {
        let mut budget = Budget::new(10 << 20);
        budget.reserve("program", 8 << 20);
        assert_eq!(budget.rest_bytes(), 2 << 20);
        assert!(budget.check().is_ok());
        budget.reserve("4 blocks of 1 MiB", 4 << 20);
        let text = budget.check().unwrap_err().to_string();
        for part in ["10.0 MiB is too little", "12.0 MiB", "program", "4 blocks of 1 MiB"] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
        assert!(text.ends_with("Give \"memory\" 12MiB."), "{text}");
        budget.advise("fewer parts");
        assert!(budget.check().unwrap_err().to_string().ends_with("Give \"memory\" 12MiB, or fewer parts."));
    }

    #[test]
    fn the_amount_that_is_needed_is_enough() {
        let refused = |given: u64, needed: u64| {
            let mut budget = Budget::new(given);
            budget.reserve("program", needed);
            budget.check().unwrap_err().to_string().lines().next().unwrap().to_owned()
        };
        assert_eq!(
            refused(265 << 20, 278_177_564),
            "\"memory\" 265 MiB is too little: this needs at least 266 MiB (278177564 bytes):"
        );
        assert_eq!(
            refused(278_500_000, 278_600_000),
            "\"memory\" 278500000 bytes is too little: this needs at least 266 MiB (278600000 bytes):"
        );
    }

    #[test]
    fn advises_threads_only_where_they_help() {
        let refused = |total_mib: u64, threads: usize, each_mib: u64| {
            let sum = |threads: usize| {
                let mut budget = Budget::new(total_mib << 20);
                budget.reserve("program", 8 << 20);
                budget.reserve("threads", (threads as u64 * each_mib) << 20);
                budget
            };
            Budget::check_threads(threads, sum).unwrap_err().to_string().lines().last().unwrap().to_owned()
        };
        assert_eq!(refused(15, 4, 2), "Give \"memory\" 16MiB, or \"threads\" 3.");
        assert_eq!(refused(9, 4, 2), "Give \"memory\" 16MiB, or \"threads\" 1 and \"memory\" 10MiB.");
        assert_eq!(refused(9, 1, 2), "Give \"memory\" 10MiB.");
        assert_eq!(refused(4, 4, 0), "Give \"memory\" 8MiB.");
    }
}
