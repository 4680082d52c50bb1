//! Random operations beside a model of a store: a list in the order of use, with leases and names.

use crate::child::no_starts;
use crate::common::{check_clean, digest, digests, folder, found, get, put_with, settings};
use proptest::prelude::*;
use rorqual_digest::Digest;
use rorqual_store::{LeaseTerms, PutOptions, Removed, Store, StoreSettings};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const BYTES_MAX: u64 = 1_000;

#[derive(Debug, Clone)]
enum Step {
    Put { content: u8, name: Option<u8>, lease_ms: Option<u64> },
    Get(u8),
    Remove { content: u8, force: bool },
    Lease { content: u8, ms: u64 },
    Release(usize),
    Renew(usize, u64),
    Time(u64),
    TimeBack(u64),
    Gc,
}

fn step() -> impl Strategy<Value = Step> {
    let content = || 0..12_u8;
    prop_oneof![
        6 => (content(), prop::option::of(0..3_u8), prop::option::weighted(0.2, 1..500_u64))
            .prop_map(|(content, name, lease_ms)| Step::Put { content, name, lease_ms }),
        4 => content().prop_map(Step::Get),
        1 => (content(), any::<bool>()).prop_map(|(content, force)| Step::Remove { content, force }),
        2 => (content(), 1..500_u64).prop_map(|(content, ms)| Step::Lease { content, ms }),
        1 => any::<usize>().prop_map(Step::Release),
        1 => (any::<usize>(), 1..500_u64).prop_map(|(lease, ms)| Step::Renew(lease, ms)),
        2 => (1..300_u64).prop_map(Step::Time),
        1 => (1..300_u64).prop_map(Step::TimeBack),
        1 => Just(Step::Gc),
    ]
}

/// 90 to 420 bytes.
fn bytes_of(content: u8) -> Vec<u8> {
    vec![content; 90 + usize::from(content) * 30]
}

/// Model of the store.
#[derive(Default)]
struct Model {
    /// The one that was used longest ago first.
    entries: Vec<u8>,
    names: BTreeMap<u8, u8>,
    /// Content and end of each lease, by id.
    leases: BTreeMap<String, (u8, u64)>,
    /// Every id that there ever was.
    ids: Vec<String>,
}

impl Model {
    fn leased(&self, content: u8, now: u64) -> u64 {
        self.leases.values().filter(|(of, end)| *of == content && *end > now).count() as u64
    }

    fn bytes(&self) -> u64 {
        self.entries.iter().map(|content| bytes_of(*content).len() as u64).sum()
    }

    fn end(&mut self, content: u8) {
        self.entries.retain(|other| *other != content);
        self.names.retain(|_, of| *of != content);
        self.leases.retain(|_, (of, _)| *of != content);
    }

    fn touch(&mut self, content: u8) {
        self.entries.retain(|other| *other != content);
        self.entries.push(content);
    }

    /// `false` when it does not fit; nothing has changed then.
    fn put(&mut self, content: u8, now: u64) -> bool {
        if !self.entries.contains(&content) {
            let size = bytes_of(content).len() as u64;
            let leased: u64 =
                self.entries.iter().filter(|of| self.leased(**of, now) > 0).map(|of| bytes_of(*of).len() as u64).sum();
            if leased + size > BYTES_MAX {
                return false;
            }
            while self.bytes() + size > BYTES_MAX {
                let first = self.entries.iter().copied().find(|of| self.leased(*of, now) == 0);
                self.end(first.expect("what is not leased suffices"));
            }
        }
        self.touch(content);
        true
    }
}

struct Both {
    model: Model,
    store: Store,
    clock: Arc<AtomicU64>,
}

impl Both {
    fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    fn id(&self, number: usize) -> Option<String> {
        (!self.model.ids.is_empty()).then(|| self.model.ids[number % self.model.ids.len()].clone())
    }

    fn note_lease(&mut self, content: u8, lease: rorqual_store::EntryLease) {
        self.model.ids.push(lease.id.clone());
        self.model.leases.insert(lease.id, (content, lease.expires_ms));
    }

    fn put(&mut self, content: u8, name: Option<u8>, lease_ms: Option<u64>) {
        let label = name.map(|name| format!("name-{name}"));
        let terms = lease_ms.map(|ms| LeaseTerms { ttl: Duration::from_millis(ms), holder: "model" });
        let stored = put_with(
            &self.store,
            &bytes_of(content),
            &PutOptions { name: label.as_deref(), lease: terms, ..PutOptions::default() },
        );
        let before = self.model.entries.contains(&content);
        assert_eq!(stored.is_ok(), self.model.put(content, self.now()), "{stored:?}");
        let Ok(stored) = stored else { return };
        assert_eq!(stored.new, !before);
        name.map(|name| self.model.names.insert(name, content));
        stored.lease.into_iter().for_each(|lease| self.note_lease(content, lease));
    }

    fn step(&mut self, step: &Step) {
        let (now, of) = (self.now(), |content| -> Digest { digest(&bytes_of(content)) });
        match *step {
            Step::Put { content, name, lease_ms } => self.put(content, name, lease_ms),
            Step::Get(content) => {
                let there = self.model.entries.contains(&content);
                assert_eq!(get(&self.store, &of(content)), there.then(|| bytes_of(content)));
                if there {
                    self.model.touch(content);
                }
            }
            Step::Remove { content, force } => {
                let wanted = match self.model.leased(content, now) {
                    _ if !self.model.entries.contains(&content) => Removed::Missing,
                    leases @ 1.. if !force => Removed::Leased(leases),
                    _ => Removed::Done,
                };
                assert_eq!(self.store.remove(&of(content), force).unwrap(), wanted);
                if wanted == Removed::Done {
                    self.model.end(content);
                }
            }
            Step::Lease { content, ms } => {
                let terms = LeaseTerms { ttl: Duration::from_millis(ms), holder: "model" };
                let lease = self.store.take_lease(&of(content), &terms).unwrap();
                assert_eq!(lease.is_some(), self.model.entries.contains(&content));
                lease.into_iter().for_each(|lease| self.note_lease(content, lease));
            }
            Step::Release(number) => {
                let Some(id) = self.id(number) else { return };
                let running = self.model.leases.get(&id).is_some_and(|(_, end)| *end > now);
                assert_eq!(self.store.release_lease(&id).unwrap(), running);
                if running {
                    self.model.leases.remove(&id);
                }
            }
            Step::Renew(number, ms) => {
                let Some(id) = self.id(number) else { return };
                let running = self.model.leases.get_mut(&id).filter(|(_, end)| *end > now);
                let renewed = self.store.renew_lease(&id, Duration::from_millis(ms)).unwrap();
                assert_eq!(renewed.is_some(), running.is_some());
                running.into_iter().for_each(|(_, end)| *end = now + ms);
            }
            Step::Time(ms) => drop(self.clock.fetch_add(ms, Ordering::Relaxed)),
            Step::TimeBack(ms) => drop(self.clock.fetch_sub(ms, Ordering::Relaxed)),
            Step::Gc => {
                assert_eq!(self.store.gc().unwrap().evicted.entries, 0);
                self.model.leases.retain(|_, (_, end)| *end > now);
            }
        }
    }

    fn compare(&self) {
        let wanted: BTreeSet<String> = self.model.entries.iter().map(|of| digest(&bytes_of(*of)).to_string()).collect();
        assert_eq!(digests(&self.store), wanted);
        let usage = self.store.usage().unwrap();
        assert_eq!((usage.entries, usage.bytes), (wanted.len() as u64, self.model.bytes()));
        for content in &self.model.entries {
            let entry = self.store.entry(&digest(&bytes_of(*content))).unwrap().unwrap();
            assert_eq!(entry.leases, self.model.leased(*content, self.now()));
        }
        for name in 0..3 {
            let wanted = self.model.names.get(&name).map(|content| digest(&bytes_of(*content)));
            assert_eq!(found(&self.store, &format!("name-{name}")), wanted);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_what_the_model_is(steps in prop::collection::vec(step(), 1..60)) {
        let dir = folder();
        let clock = Arc::new(AtomicU64::new(1_000_000));
        let shared = Arc::clone(&clock);
        let settings = StoreSettings { clock: Some(Arc::new(move || shared.load(Ordering::Relaxed))), ..settings(dir.path()) };
        let store = Store::init(&settings, None, Some(BYTES_MAX)).unwrap();
        let mut both = Both { model: Model::default(), store, clock };
        let _no_starts = no_starts();
        for step in &steps {
            both.step(step);
            both.compare();
        }
        check_clean(&both.store);
    }
}
