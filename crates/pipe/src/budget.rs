//! The sum of everything that may hold memory, checked before any of it is taken.

use crate::size::format_size;
use std::fmt;

/// The memory given to a process, and who holds how much of it at most.
#[derive(Debug, Clone)]
pub struct Budget {
    total_bytes: u64,
    holders: Vec<(String, u64)>,
    /// What would need less memory, for the error.
    instead: &'static str,
}

impl Budget {
    /// A budget of `total_bytes` for the whole process, with nothing reserved yet.
    #[must_use]
    pub fn new(total_bytes: u64) -> Self {
        Self { total_bytes, holders: Vec::new(), instead: "fewer --threads" }
    }

    /// Names a holder and the most it will ever hold.
    pub fn reserve(&mut self, holder: impl Into<String>, bytes: u64) {
        self.holders.push((holder.into(), bytes));
    }

    /// What the error advises other than more memory: `fewer --threads` unless this says so.
    pub fn advise(&mut self, instead: &'static str) {
        self.instead = instead;
    }

    /// What is given, in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// What no holder has reserved; 0 when the reservations exceed the total.
    #[must_use]
    pub fn rest_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.reserved_bytes())
    }

    /// The holders and their shares, in the order in which they were named.
    #[must_use]
    pub fn holders(&self) -> &[(String, u64)] {
        &self.holders
    }

    /// Whether the sum of the holders fits.
    ///
    /// # Errors
    /// When it does not; the error prints every term.
    pub fn check(&self) -> Result<(), BudgetError> {
        if self.reserved_bytes() <= self.total_bytes { Ok(()) } else { Err(BudgetError(self.clone())) }
    }

    /// What all holders have reserved.
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
    /// What it names as enough, in bytes: whole mebibytes.
    #[must_use]
    pub fn least_bytes(&self) -> u64 {
        self.0.reserved_bytes().div_ceil(MIB) * MIB
    }
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (given, needed) = (self.0.total_bytes, self.0.reserved_bytes());
        writeln!(
            f,
            "--memory {} is too little: this needs at least {} ({needed} bytes):",
            format_size(given),
            format_size(needed)
        )?;
        for (holder, bytes) in self.0.holders.iter().filter(|(_, bytes)| *bytes > 0) {
            writeln!(f, "  {:>10}  {holder}", format_size(*bytes))?;
        }
        // Not rounded down, as a size in GiB would be.
        write!(f, "Give --memory {}MiB, or {}.", self.least_bytes() / MIB, self.0.instead)
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
    }
}
