//! The errors that there may be: those of the table in docs/api.md.

use std::collections::BTreeSet;

const API: &str = include_str!("../../../../docs/api.md");

/// Statuses with the codes that come with them.
pub(crate) struct Documented(BTreeSet<(u16, String)>);

impl Documented {
    pub(crate) fn read() -> Self {
        let table = API.split("\n## ").find(|section| section.starts_with("Errors")).expect("a section about errors");
        let rows =
            table.lines().filter(|line| line.starts_with("| ") && line[2..].starts_with(|first: char| first.is_ascii_digit()));
        let pairs: BTreeSet<(u16, String)> = rows.flat_map(pairs).collect();
        assert!(pairs.len() > 30, "the table is read wrongly: {pairs:?}");
        Self(pairs)
    }

    pub(crate) fn has(&self, status: u16, code: &str) -> bool {
        self.0.contains(&(status, code.to_owned()))
    }
}

/// `| 404, 405 | `not_found`, `method_not_allowed` | … |`: each status with each code.
fn pairs(row: &str) -> Vec<(u16, String)> {
    let mut cells = row.split('|').skip(1);
    let statuses: Vec<u16> = cells.next().unwrap_or("").split(',').filter_map(|status| status.trim().parse().ok()).collect();
    let codes: Vec<&str> = cells.next().unwrap_or("").split('`').skip(1).step_by(2).collect();
    statuses.iter().flat_map(|status| codes.iter().map(|code| (*status, (*code).to_owned()))).collect()
}
