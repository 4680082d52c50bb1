//! Counts of faults, of answers, and of wrong ones.

use crate::check::{Check, mib};
use crate::op::NONE;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Wrong things that are told; one is too many.
const WRONG_MAX: usize = 12;

/// Counts of one kind of fault.
#[derive(Debug, Default, Clone, serde::Serialize)]
pub(crate) struct FateCounts {
    /// Number of times that it came.
    pub(crate) times: u64,
    /// Answers on connections with this fault, or while it lasted; `broken` where there was none.
    pub(crate) answers: BTreeMap<String, u64>,
    /// Uploads that met it and came to the right totals.
    pub(crate) right: u64,
    /// Operations that did not.
    pub(crate) wrong: u64,
}

/// Wrong things: how many, and some of them.
#[derive(Default)]
struct Told {
    count: u64,
    texts: Vec<String>,
}

impl Told {
    fn add(&mut self, what: String) {
        self.count += 1;
        if self.texts.len() < WRONG_MAX {
            println!("wrong: {what}");
            self.texts.push(what);
        }
    }

    fn text(&self, none: &str) -> String {
        if self.count == 0 { none.to_owned() } else { format!("{} wrong: {}", self.count, self.texts.join("; ")) }
    }
}

#[derive(Default)]
pub(crate) struct Tallies {
    fates: Mutex<BTreeMap<&'static str, FateCounts>>,
    /// Ends of operations.
    ends: Mutex<BTreeMap<&'static str, BTreeMap<&'static str, u64>>>,
    wrong: Mutex<Told>,
    wrong_totals: Mutex<Told>,
    /// Most bytes of rows that were on the temporary disk.
    spilled_bytes: AtomicU64,
    /// The faults of the process so far, in their order, and the one that lasts.
    troubles: Mutex<(Vec<&'static str>, Option<&'static str>)>,
}

impl Tallies {
    fn fate(&self, fault: &'static str, change: impl FnOnce(&mut FateCounts)) {
        change(self.fates.lock().unwrap().entry(fault).or_default());
    }

    /// A fault has come.
    pub(crate) fn came(&self, fault: &'static str) {
        self.fate(fault, |fate| fate.times += 1);
    }

    /// Something was answered on a connection with that fault.
    pub(crate) fn answered(&self, fault: &'static str, label: &str) {
        let lasting = self.troubles.lock().unwrap().1;
        for fault in [Some(fault), lasting].into_iter().flatten() {
            self.fate(fault, |fate| *fate.answers.entry(label.to_owned()).or_default() += 1);
        }
    }

    /// An upload that met these has ended.
    pub(crate) fn totals(&self, met: &BTreeSet<&'static str>, right: bool) {
        for fault in met {
            self.fate(fault, |fate| *if right { &mut fate.right } else { &mut fate.wrong } += 1);
        }
    }

    /// A fault of the process begins.
    pub(crate) fn begin(&self, trouble: &'static str) {
        self.came(trouble);
        let mut troubles = self.troubles.lock().unwrap();
        troubles.0.push(trouble);
        troubles.1 = Some(trouble);
    }

    pub(crate) fn end(&self) {
        self.troubles.lock().unwrap().1 = None;
    }

    /// Number of faults of the process; from there on, those that have come since.
    pub(crate) fn troubles(&self) -> usize {
        self.troubles.lock().unwrap().0.len()
    }

    pub(crate) fn troubles_since(&self, number: usize) -> Vec<&'static str> {
        let troubles = self.troubles.lock().unwrap();
        troubles.0[number..].iter().copied().chain(troubles.1).collect()
    }

    pub(crate) fn ended(&self, operation: &'static str, how: &'static str) {
        *self.ends.lock().unwrap().entry(operation).or_default().entry(how).or_default() += 1;
    }

    pub(crate) fn wrong(&self, what: String) {
        self.wrong.lock().unwrap().add(what);
    }

    /// Other totals than those of the log.
    pub(crate) fn wrong_total(&self, what: String) {
        self.wrong_totals.lock().unwrap().add(what);
    }

    pub(crate) fn spilled(&self, bytes: u64) {
        self.spilled_bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    pub(crate) fn fates(&self) -> BTreeMap<&'static str, FateCounts> {
        self.fates.lock().unwrap().clone()
    }

    pub(crate) fn outcomes(&self) -> BTreeMap<&'static str, BTreeMap<&'static str, u64>> {
        self.ends.lock().unwrap().clone()
    }

    pub(crate) fn checks(&self) -> Vec<Check> {
        let fates = self.fates();
        let (right, wrong) = self.outcomes().values().fold((0, 0), |(right, wrong), ends| {
            let bad = ends.get("WRONG").copied().unwrap_or(0);
            (right + ends.values().sum::<u64>() - bad, wrong + bad)
        });
        let missing: Vec<&&str> =
            fates.iter().filter(|(name, fate)| **name != NONE && fate.times == 0).map(|(name, _)| name).collect();
        let spilled = self.spilled_bytes.load(Ordering::Relaxed);
        // A full temporary disk is no fault where nothing goes there.
        let spills = spilled > 0 || !fates.contains_key("full temp disk");
        let (totals, answers) = (self.wrong_totals.lock().unwrap(), self.wrong.lock().unwrap());
        vec![
            Check::new("totals", wrong == 0 && right > 0, totals.text(&format!("{right} operations right, {wrong} wrong"))),
            Check::new("answers", answers.count == 0, answers.text("all as documented")),
            Check::new("rows on the temporary disk", spills, format!("{:.1} MiB at most", mib(spilled))),
            Check::new(
                "every fault came",
                missing.is_empty(),
                if missing.is_empty() { "yes".to_owned() } else { format!("not {missing:?}") },
            ),
        ]
    }

    /// A fault that is to come at least once.
    pub(crate) fn expect(&self, fault: &'static str) {
        self.fate(fault, |_| {});
    }

    pub(crate) fn print(&self) {
        println!("  {:<28} {:>7} {:>7} {:>6}  answers", "fault", "times", "right", "wrong");
        for (name, fate) in self.fates() {
            let answers: Vec<String> = fate.answers.iter().map(|(label, count)| format!("{label}: {count}")).collect();
            println!("  {name:<28} {:>7} {:>7} {:>6}  {}", fate.times, fate.right, fate.wrong, answers.join(", "));
        }
        for (operation, ends) in self.outcomes() {
            let ends: Vec<String> = ends.iter().map(|(how, count)| format!("{how} {count}")).collect();
            println!("  {operation}: {}", ends.join(", "));
        }
    }
}
