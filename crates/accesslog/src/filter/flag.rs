//! Properties of rows that are no columns.

/// Properties that a row has or has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    /// The agent is no person's browser.
    Bot,
    /// The line did not fit the format: it has no field at all.
    Rejected,
    /// The line had one flaw.
    Repaired,
}

impl Flag {
    /// All of them.
    pub const ALL: [Flag; 3] = [Self::Bot, Self::Rejected, Self::Repaired];

    /// Name in filters, for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bot => "bot",
            Self::Rejected => "rejected",
            Self::Repaired => "repaired",
        }
    }
}
