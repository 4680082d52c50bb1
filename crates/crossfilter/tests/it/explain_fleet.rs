//! Explanations over several stores find what one with all rows finds, and nothing where nothing
//! is.

use crate::explain::{FROM, PLANTED, ROWS, TO, fail_for_a_minute, log, ordinary, span, visits};
use crate::log::{Plain, Random, Setup, text_of};
use rorqual_accesslog::filter::Filter;
use rorqual_crossfilter::fleet::{ExplainMerge, ExplainPart, ExplainStep, ExplainValues, SharedTest, ValueBytes};
use rorqual_crossfilter::{Explained, Finding, RowStore, View, ViewParts};
use rorqual_pipe::Control;
use std::sync::Arc;

/// Bytes of the tests of a question: several questions are needed.
const ROOM: usize = 12_000;

/// The store, of three, that has a row, by its place among all.
type Split = fn(usize, &Plain) -> usize;

const SPLITS: [(&str, Split); 3] = [
    ("in turns", |place, _| place % 3),
    ("by time", |place, _| place * 3 / ROWS % 3),
    ("by client", |_, row| row.client.bytes().map(usize::from).sum::<usize>() % 3),
];

fn stores(rows: &[Plain], of: Split) -> Vec<Arc<RowStore>> {
    let part = |store: usize| {
        let own: Vec<Plain> =
            rows.iter().enumerate().filter(|(place, row)| of(*place, row) == store).map(|(_, row)| row.clone()).collect();
        Setup { threads: 2, segment_rows: 2_048, ..Setup::default() }.record(text_of(&own))
    };
    (0..3).map(part).collect()
}

/// Stores that are explained together, and how they answer.
struct ExplainedStores<'a> {
    stores: &'a [Arc<RowStore>],
    views: [&'a View; 2],
    except: Vec<String>,
    /// Each answer is taken after several that are none.
    lies: bool,
}

impl ExplainedStores<'_> {
    /// Answer of a store to a step.
    fn part(&self, store: &RowStore, step: &ExplainStep) -> ExplainPart {
        assert!(step.is_sound());
        store.explain_part(self.views, &self.except, step, &Control::default()).expect("nobody cancels")
    }

    fn values(&self, store: &RowStore) -> ExplainValues {
        let ExplainPart::Values(values) = self.part(store, &ExplainStep::values(self.stores.len())) else { panic!("no values") };
        // As it comes from another process.
        let values: ExplainValues = serde_json::from_str(&serde_json::to_string(&*values).expect("JSON")).expect("values");
        assert!(values.is_sound());
        values
    }

    fn answer(&self, store: &RowStore, step: &ExplainStep, mut take: impl FnMut(&[u8]) -> bool) {
        let ExplainPart::Numbers(numbers) = self.part(store, step) else { panic!("{step:?}") };
        let answer = numbers.into_bytes();
        if self.lies {
            // Seven bits of a number are in a byte: nine of them are too many rows.
            let wild = [&[0xff; 8][..], &[0x7f]].concat().repeat(answer.len().min(4_000));
            let more = [&answer[..], &[0x01]].concat();
            let cut = answer[..answer.len() - 1].to_vec();
            for lie in [cut, more, wild, vec![0xff; answer.len()], b"{\"error\":1}".to_vec()] {
                assert!(!take(&lie), "{:?}", &lie[..lie.len().min(40)]);
            }
        }
        assert!(take(&answer));
    }

    /// The explanation, and whether every value was tried.
    fn explained(&self) -> (Explained, bool) {
        let parts = self.stores.iter().map(|store| self.values(store)).collect();
        let mut merge = ExplainMerge::new(&self.stores[0].schema(), &self.except, ROOM, parts);
        for (at, store) in self.stores.iter().enumerate() {
            while let Some(step) = merge.step(at) {
                self.answer(store, &step, |answer| merge.take(at, answer));
            }
        }
        let mut pairs = merge.pairs();
        let step = pairs.step();
        self.stores.iter().for_each(|store| self.answer(store, &step, |answer| pairs.take(answer)));
        let mut cells = pairs.cells();
        while let Some(step) = cells.step() {
            self.stores.iter().for_each(|store| self.answer(store, &step, |answer| cells.take(answer)));
        }
        let mut visits = cells.visits();
        if let Some(step) = visits.step() {
            self.stores.iter().for_each(|store| self.answer(store, &step, |answer| visits.take(answer)));
        }
        let is_whole = visits.is_whole();
        (visits.explained(), is_whole)
    }
}

fn explained(stores: &[Arc<RowStore>], views: [&View; 2]) -> Explained {
    ExplainedStores { stores, views, except: Vec::new(), lies: false }.explained().0
}

fn findings(rows: &[Plain], of: Split, from: i64, to: i64) -> Vec<Finding> {
    explained(&stores(rows, of), [&span(from, to), &View::default()]).findings
}

#[test]
fn planted_anomalies_are_among_the_first_three() {
    for (round, (name, _, said)) in PLANTED.iter().enumerate() {
        let rows = log(1_000 + round as u64, Some(PLANTED[round]));
        for (split, of) in SPLITS {
            let stores = stores(&rows, of);
            let found = explained(&stores, [&span(FROM, TO), &View::default()]).findings;
            let says =
                |finding: &Finding| finding.conditions.iter().chain(&finding.companions).any(|condition| condition == said);
            assert!(found.iter().take(3).any(says), "{name} {split}: {found:#?}");
            for finding in &found {
                let lines = |view: View| -> u64 {
                    let filter = Filter::parse(&finding.filter).expect("a filter");
                    let view = View { filter, ..view };
                    let viewed = |store: &Arc<RowStore>| store.view(&view, &ViewParts::default(), &Control::default());
                    stores.iter().map(|store| viewed(store).expect("nobody cancels").lines.total).sum()
                };
                let (inside, all) = (lines(span(FROM, TO)), lines(View::default()));
                assert_eq!((finding.hits_in, finding.hits_out), (inside, all - inside), "{split}: {}", finding.filter);
            }
        }
    }
}

/// True if one of the first three findings is the first of another explanation, or goes together
/// with it and has as many rows.
fn has_first_of(several: &Explained, one: &Explained) -> bool {
    let wanted = &one.findings[0];
    several.findings.iter().take(3).any(|finding| {
        let is_same = (&finding.filter, finding.hits_in, finding.hits_out) == (&wanted.filter, wanted.hits_in, wanted.hits_out);
        is_same || finding.companions.contains(&wanted.filter) && finding.hits_in == wanted.hits_in
    })
}

/// The first finding of one store is among the first of three, with the same rows: the order
/// depends on how rows vary over time, and stretches are cut otherwise.
#[test]
fn findings_are_those_of_one_store() {
    for (round, planted) in PLANTED.iter().enumerate() {
        let rows = log(2_000 + round as u64, Some(*planted));
        let whole = Setup { threads: 2, segment_rows: 8_192, ..Setup::default() }.record(text_of(&rows));
        let views = [&span(FROM, TO), &View::default()];
        let one = whole.explain(views[0], views[1], &Control::default()).expect("nobody cancels");
        for (split, of) in SPLITS {
            let several = explained(&stores(&rows, of), views);
            assert_eq!((several.rows_in, several.rows_out), (one.rows_in, one.rows_out));
            assert!(has_first_of(&several, &one), "{} {split}: {several:#?} {:#?}", planted.0, one.findings[0]);
        }
    }
}

#[test]
fn nothing_is_found_where_nothing_is() {
    for seed in 0..3u64 {
        for rows in [log(77 + seed, None), visits(500 + seed)] {
            for (split, of) in SPLITS {
                for from in [0, 4 * 86_400] {
                    let found = findings(&rows, of, from, from + 86_400 / 2);
                    assert!(found.is_empty(), "seed {seed}, {split}, from {from}: {found:#?}");
                }
            }
        }
    }
}

/// A minute in which a few requests fail: of each status some rows at each store, or all at one.
#[test]
fn a_small_outage_is_found() {
    for seed in 0..3 {
        let mut rows = visits(700 + seed);
        let (from, to) = (FROM - 86_400 / 2, FROM + 86_400 / 2);
        fail_for_a_minute(&mut rows);
        for (split, of) in SPLITS {
            let found = findings(&rows, of, from, to);
            let hits =
                |condition: &str| found.iter().find(|finding| finding.conditions == [condition]).map(|finding| finding.hits_in);
            assert_eq!((hits("status = 502"), hits("status = 504")), (Some(36), Some(17)), "{seed} {split}: {found:#?}");
        }
    }
}

/// Each store has the requests of one host, and one of these is asked for far more in the span: at
/// no store any host is over-represented.
#[test]
fn a_value_that_is_over_represented_at_no_store_is_found_over_all() {
    let mut random = Random(91);
    let mut rows: Vec<Plain> = (0..ROWS).map(|_| ordinary(&mut random)).collect();
    rows.sort_by_key(|row| row.time);
    for row in &mut rows {
        let busy = (FROM..TO).contains(&row.time) && random.one_in(3);
        row.host = format!("shop{}.example", if busy { 2 } else { random.below(3) });
    }
    let of: Split = |_, row| usize::from(row.host.as_bytes()[4] - b'0');
    let found = findings(&rows, of, FROM, TO);
    let first = found.first().unwrap_or_else(|| panic!("nothing is found"));
    assert_eq!(first.conditions, ["host = shop2.example"], "{found:#?}");
}

#[test]
fn views_that_are_wider_than_what_they_are_set_against_or_apart() {
    let stores = stores(&log(5, None), SPLITS[0].1);
    let wider = explained(&stores, [&View::default(), &span(FROM, TO)]);
    assert_eq!((wider.rows_out, wider.findings.len()), (0, 0));
    let apart = explained(&stores, [&span(0, FROM), &span(FROM, TO)]);
    assert_eq!((apart.rows_in, apart.findings.len()), (0, 0));
}

/// Each answer cut off, longer, of numbers that are none, and of something else.
#[test]
fn answers_that_lie_are_refused_and_change_nothing() {
    // Statuses come in bursts, so that the order of the stretches matters.
    let mut rows = visits(1_003);
    fail_for_a_minute(&mut rows);
    let stores = stores(&rows, SPLITS[0].1);
    let views = [&span(FROM - 86_400 / 2, FROM + 86_400 / 2), &View::default()];
    let explain = |lies| ExplainedStores { stores: &stores, views, except: Vec::new(), lies }.explained();
    let ((honest, _), (lied, _)) = (explain(false), explain(true));
    assert!(honest.findings.len() > 1 && honest.findings.iter().any(|finding| finding.dispersion > 1.0), "{honest:?}");
    assert_eq!(lied.findings, honest.findings);
}

/// Paths of a store that has room for few of them; those of another one are all known.
#[test]
fn values_without_a_code_at_a_store_are_counted() {
    let mut random = Random(44);
    let mut rows: Vec<Plain> = (0..90_000).map(|_| ordinary(&mut random)).collect();
    rows.sort_by_key(|row| row.time);
    for (place, row) in rows.iter_mut().enumerate() {
        let inside = (FROM..TO).contains(&row.time);
        row.path = match random.below(20) {
            0 | 1 if inside => "/pay".to_owned(),
            // Only the first of both has it.
            2 if inside && place % 2 == 0 => "/first".to_owned(),
            _ => format!("/{place}/{}", "long".repeat(random.below(60) as usize)),
        };
    }
    let parts = [0, 1].map(|rest| rows.iter().skip(rest).step_by(2).cloned().collect::<Vec<Plain>>());
    let large = Setup { threads: 2, ..Setup::default() }.record(text_of(&parts[0]));
    for memory_bytes in [24 << 20, 12 << 20] {
        let small = Setup { threads: 2, memory_bytes, ..Setup::default() }.record(text_of(&parts[1]));
        let stores = [Arc::clone(&large), small];
        let found = explained(&stores, [&span(FROM, TO), &View::default()]);
        assert!(found.unknown.iter().any(|unknown| unknown.field == "path"), "there is room for some paths only");
        for path in ["/pay", "/first"] {
            let finding = found.findings.iter().find(|finding| finding.conditions == [format!("path = {path}")]);
            let rows_in = rows.iter().filter(|row| row.path == path).count() as u64;
            let told = finding.map(|finding| (finding.hits_in, finding.hits_out));
            assert_eq!(told, Some((rows_in, 0)), "{path}, {memory_bytes}: {found:#?}");
        }
    }
}

/// Rows of one time, with few others and with none: visits are no findings there either.
#[test]
fn logs_without_many_times_are_cut_by_their_order() {
    for (seed, times) in (0..4).zip([1, 3, 1, 3]) {
        let mut rows = visits(800 + seed);
        for row in &mut rows {
            if !(FROM..TO).contains(&row.time) {
                row.time = (row.time % times) + TO;
            }
        }
        for (split, of) in [SPLITS[0], SPLITS[2]] {
            let found = findings(&rows, of, FROM, TO);
            assert!(found.is_empty(), "seed {seed}, {split}: {found:#?}");
        }
    }
}

#[test]
fn one_store_and_fields_that_are_left_out() {
    let rows = log(1_002, Some(PLANTED[2]));
    let whole = [Setup { threads: 2, ..Setup::default() }.record(text_of(&rows))];
    let three = stores(&rows, SPLITS[1].1);
    let views = [&span(FROM, TO), &View::default()];
    for except in [vec![], vec!["net".to_owned(), "agent".to_owned()]] {
        let one = whole[0].explain_except(views[0], views[1], &except, &Control::default()).expect("nobody cancels");
        for stores in [&whole[..], &three[..]] {
            let (found, _) = ExplainedStores { stores, views, except: except.clone(), lies: false }.explained();
            assert!(has_first_of(&found, &one), "{} {except:?}: {found:#?}", stores.len());
            let said = format!("{:?}", found.findings);
            assert!(except.is_empty() || !(said.contains("net = ") || said.contains("agent = ")), "{said}");
        }
    }
    // Without any field there is nothing to try.
    let schema = whole[0].schema();
    let texts = schema.texts().map(|column| schema.text_name(column).into_owned());
    let all: Vec<String> = texts.chain(schema.numbers().map(|column| schema.number_name(column).into_owned())).collect();
    assert!(whole[0].explain_except(views[0], views[1], &all, &Control::default()).expect("nobody cancels").findings.is_empty());
    let (found, _) = ExplainedStores { stores: &three, views, except: all, lies: false }.explained();
    assert!(found.findings.is_empty() && found.rows_in > 0);
}

/// Values of a peer that no store can have.
#[test]
fn values_that_lie_are_refused() {
    let store = Setup::default().record(text_of(&log(6, None)));
    let fleet = ExplainedStores { stores: &[store], views: [&span(FROM, TO), &View::default()], except: Vec::new(), lies: false };
    let honest = fleet.values(&fleet.stores[0]);
    let spoil: [fn(&mut ExplainValues); 10] = [
        |values| values.rows = u64::MAX,
        |values| values.rows_in = values.rows_all + 1,
        |values| values.rows_all = values.rows + 1,
        |values| values.values[0].1 = u64::MAX,
        |values| values.besides = vec![vec![values.values.len()]],
        |values| values.besides = vec![Vec::new(); values.values.len() + 1],
        |values| values.usual[0].1 = u64::MAX,
        |values| values.values.push(values.values[0].clone()),
        |values| values.values = (0..5_000).map(|status| (SharedTest::Status(status), 1, 1)).collect(),
        |values| values.values[0].0 = SharedTest::Text("path".to_owned(), ValueBytes::new(&[b'x'; 2_000])),
    ];
    for (number, spoil) in spoil.into_iter().enumerate() {
        let mut values = honest.clone();
        spoil(&mut values);
        assert!(!values.is_sound(), "{number}");
    }
    let mut cut = honest.clone();
    cut.truncate(3);
    assert!(cut.is_sound() && !cut.whole && cut.values.len() == 3);
}
