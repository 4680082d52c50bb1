//! Values of the keys of JSON and LTSV lines that no field of a record is for.
//!
//! A key within objects is named by its path (`request.tls.version`), and a list is its JSON text.

use crate::own::{LogVariable, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, OwnPlace, OwnReader, ValueKind};
use crate::parse::present;
use foldhash::quality::RandomState;
use std::collections::HashMap;

/// Objects within each other that are entered; a deeper one is its JSON text.
pub(super) const DEPTH_MAX: usize = 16;

/// Number of the first object that no known key leads into.
const FIRST_OWN: u16 = 256;

/// Objects that are told apart.
const OBJECTS_MAX: u16 = 1_024;

/// Keys that are remembered, of all objects together.
const KEYS_MAX: usize = 4_096;

/// Keys of a sample that are learnt: no more can have a column.
const LEARNT_MAX: usize = OWN_TEXTS_MAX + OWN_NUMBERS_MAX;

/// Bytes of a name of a column.
const NAME_BYTES_MAX: usize = 256;

/// The way in which a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonForm {
    Text,
    Integer,
    Decimal,
}

/// Known places of keys, and the values of the current line.
#[derive(Clone, Debug)]
pub(super) struct JsonOwn {
    pub(super) reader: OwnReader,
    /// By the number of the object.
    objects: HashMap<u16, OwnObject, RandomState>,
    objects_own: u16,
    keys: usize,
    learnt: Option<Vec<LearntKey>>,
}

/// An object, or all those at one path.
#[derive(Clone, Debug, Default)]
struct OwnObject {
    /// Its path with a dot after it; empty for the outermost.
    path: String,
    places: HashMap<Vec<u8>, Option<OwnPlace>, RandomState>,
    /// Numbers of the objects in it.
    members: HashMap<Vec<u8>, u16, RandomState>,
}

/// A key of a sample, with the kinds that its values can have.
#[derive(Clone, Debug)]
struct LearntKey {
    name: String,
    /// The kind that the name tells, as long as all values are so.
    named: Option<ValueKind>,
    is_integer: bool,
    is_number: bool,
}

impl JsonOwn {
    pub(super) fn new(reader: OwnReader) -> Self {
        Self { reader, objects: HashMap::default(), objects_own: 0, keys: 0, learnt: None }
    }

    pub(super) fn learning(self) -> Self {
        Self { learnt: Some(Vec::new()), ..self }
    }

    pub(super) fn learnt(&self) -> Vec<LogVariable> {
        self.learnt.iter().flatten().map(LearntKey::variable).collect()
    }

    pub(super) fn begin(&mut self) {
        self.reader.values.clear();
    }

    /// The number of the object at a key, which is `known` where known keys lead into it; `None`
    /// where there are too many.
    pub(super) fn enter(&mut self, parent: u16, key: &[u8], known: Option<u16>) -> Option<u16> {
        if let Some(number) = known {
            if !self.objects.contains_key(&number) {
                self.add(parent, key, number);
            }
            return Some(number);
        }
        if let Some(number) = self.objects.get(&parent).and_then(|object| object.members.get(key)) {
            return Some(*number);
        }
        if self.objects_own >= OBJECTS_MAX {
            return None;
        }
        let number = FIRST_OWN + self.objects_own;
        self.objects_own += 1;
        self.add(parent, key, number);
        self.objects.entry(parent).or_default().members.insert(key.to_vec(), number);
        Some(number)
    }

    #[cold]
    fn add(&mut self, parent: u16, key: &[u8], number: u16) {
        let path = self.name(parent, key) + ".";
        self.objects.insert(number, OwnObject { path, ..OwnObject::default() });
    }

    fn name(&self, object: u16, key: &[u8]) -> String {
        let path = self.objects.get(&object).map_or("", |object| &object.path);
        let name: String = String::from_utf8_lossy(key).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut name = format!("{path}{name}");
        if name.len() > NAME_BYTES_MAX {
            name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
        }
        name
    }

    /// Takes a value as it is.
    pub(super) fn value(&mut self, object: u16, key: &[u8], form: JsonForm, text: &[u8]) {
        let text = present(text);
        if text.is_empty() {
            return;
        }
        if self.learnt.is_some() {
            self.learn(object, key, form, text);
        }
        if let Some(place) = self.place(object, key) {
            self.reader.set(place, text);
        }
    }

    /// Takes a text whose escapes are to be undone.
    pub(super) fn escaped(&mut self, object: u16, key: &[u8], text: &[u8]) {
        if self.learnt.is_some() {
            self.learn(object, key, JsonForm::Text, text);
        }
        if let Some(place) = self.place(object, key) {
            self.reader.set_with(place, |bytes| super::escape::undo_escapes(text, bytes));
        }
    }

    fn place(&mut self, object: u16, key: &[u8]) -> Option<OwnPlace> {
        match self.objects.get(&object).and_then(|object| object.places.get(key)) {
            Some(place) => *place,
            None => self.find(object, key),
        }
    }

    #[cold]
    fn find(&mut self, object: u16, key: &[u8]) -> Option<OwnPlace> {
        let place = self.reader.columns.place_of_name(&self.name(object, key));
        // A log may have a new key in every line.
        if self.keys < KEYS_MAX {
            self.keys += 1;
            self.objects.entry(object).or_default().places.insert(key.to_vec(), place);
        }
        place
    }

    #[cold]
    fn learn(&mut self, object: u16, key: &[u8], form: JsonForm, text: &[u8]) {
        let name = self.name(object, key);
        let Some(learnt) = &mut self.learnt else { return };
        let found = learnt.iter().position(|known| known.name == name);
        if found.is_none() && learnt.len() >= LEARNT_MAX {
            return;
        }
        let at = found.unwrap_or_else(|| {
            learnt.push(LearntKey { named: ValueKind::of_name(&name), name, is_integer: true, is_number: true });
            learnt.len() - 1
        });
        let known = &mut learnt[at];
        known.named = known.named.filter(|kind| kind.step(text).is_some());
        known.is_integer &= form == JsonForm::Integer && ValueKind::Integer.step(text).is_some();
        known.is_number &= form != JsonForm::Text && ValueKind::Float.step(text).is_some();
    }
}

impl LearntKey {
    fn variable(&self) -> LogVariable {
        let number = if self.is_integer { ValueKind::Integer } else { ValueKind::Float };
        let kind = self.named.or(self.is_number.then_some(number)).unwrap_or(ValueKind::Text);
        LogVariable::new(&self.name, kind)
    }
}
