//! One node of a shape.

use super::Conflict;
use crate::json::number::Number;
use crate::json::path::is_plain;
use crate::json::time::{Moment, date};
use crate::limits::{COLUMN_NAME_BYTES_MAX, COLUMNS_MAX, NESTED_KEYS_MAX, OBJECT_KEYS_MAX};
use arrow_schema::TimeUnit;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::ops::BitOr;

/// Kinds of values, as a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u32);

impl Kinds {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOL: Self = Self(1 << 1);
    /// An integer of 64 bits with a sign.
    pub(crate) const INT: Self = Self(1 << 2);
    /// One below zero.
    pub(crate) const NEGATIVE: Self = Self(1 << 3);
    /// One that needs the 64th bit.
    pub(crate) const UINT: Self = Self(1 << 4);
    /// One above those that are all doubles, where numbers stay as they are written.
    pub(crate) const BIG: Self = Self(1 << 5);
    pub(crate) const FLOAT: Self = Self(1 << 6);
    /// A number past the range of doubles, or one that would not be written the same again.
    pub(crate) const CHANGED: Self = Self(1 << 7);
    pub(crate) const TEXT: Self = Self(1 << 8);
    /// Moments with up to 3, 6, 9 digits after the second's point.
    pub(crate) const TIME_3: Self = Self(1 << 9);
    pub(crate) const TIME_6: Self = Self(1 << 10);
    pub(crate) const TIME_9: Self = Self(1 << 11);
    /// One that nanoseconds in 64 bits do not reach.
    pub(crate) const TIME_FAR: Self = Self(1 << 12);
    /// A date without a time.
    pub(crate) const DATE: Self = Self(1 << 13);
    pub(crate) const LIST: Self = Self(1 << 14);
    pub(crate) const OBJECT: Self = Self(1 << 15);
    /// Anything, kept as JSON text.
    pub(crate) const JSON: Self = Self(1 << 16);
    /// `true` or `false` in a format whose values are texts: with other ones it is a text.
    pub(crate) const WORD: Self = Self(1 << 17);
    /// An integer past 64 bits.
    pub(crate) const HUGE: Self = Self(1 << 18);

    const INTEGER: Self = Self(Self::INT.0 | Self::NEGATIVE.0 | Self::UINT.0 | Self::BIG.0 | Self::HUGE.0);
    const NUMBER: Self = Self(Self::INTEGER.0 | Self::FLOAT.0 | Self::CHANGED.0);
    const TIME: Self = Self(Self::TIME_3.0 | Self::TIME_6.0 | Self::TIME_9.0 | Self::TIME_FAR.0 | Self::DATE.0);
    const SCALAR: Self = Self(Self::BOOL.0 | Self::WORD.0 | Self::NUMBER.0 | Self::TEXT.0 | Self::TIME.0);

    /// Kinds that have no common type but text, each with its name.
    const GROUPS: [(Self, &'static str); 5] = [
        (Self(Self::BOOL.0 | Self::WORD.0), "a boolean"),
        (Self::NUMBER, "a number"),
        (Self(Self::TEXT.0 | Self::TIME.0), "a text"),
        (Self::LIST, "an array"),
        (Self::OBJECT, "an object"),
    ];

    pub(crate) fn of_number(number: Number) -> Self {
        match number {
            Number::Int(value) => Self::INT | if value < 0 { Self::NEGATIVE } else { Self::INT },
            Number::UInt(_) => Self::INT | Self::UINT,
            Number::Whole(value) => {
                let negative = if value < 0 { Self::NEGATIVE } else { Self::INT };
                let unsigned = if i64::try_from(value).is_err() { Self::UINT } else { Self::INT };
                Self::INT | Self::BIG | negative | unsigned
            }
            Number::Float(_) | Number::Rounded(_) => Self::FLOAT,
            Number::Huge(..) => Self::HUGE,
            Number::Changed => Self::CHANGED,
        }
    }

    /// Of a text: a date, a moment, or any other.
    #[inline]
    pub(crate) fn of_text(text: &str) -> Self {
        match (text.len(), text.as_bytes()) {
            (10, [_, _, _, _, b'-', ..]) if date(text).is_some() => Self::DATE,
            (19.., [_, _, _, _, b'-', ..]) => Moment::parse(text).map_or(Self::TEXT, Self::of_moment),
            _ => Self::TEXT,
        }
    }

    pub(crate) fn of_moment(moment: Moment) -> Self {
        let digits = match moment.digits {
            0..=3 => Self::TIME_3,
            4..=6 => Self::TIME_6,
            _ => Self::TIME_9,
        };
        if moment.is_far() { digits | Self::TIME_FAR } else { digits }
    }

    pub(crate) fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    fn only(self, of: Self) -> bool {
        self.has(of) && self.0 & !(of.0 | Self::NULL.0) == 0
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// No offset.
const NOWHERE: u64 = u64::MAX;

/// Kinds of the values under one path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShapeNode {
    kinds: Kinds,
    /// First place of a kind of each group.
    first: [u64; Kinds::GROUPS.len()],
    /// Of arrays.
    item: Option<Box<ShapeNode>>,
    /// Of objects.
    fields: Option<Box<ObjectFields>>,
}

/// The fields of an object, in the order in which they came first.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectFields {
    entries: Vec<(Box<str>, ShapeNode)>,
    index: HashMap<Box<str>, u32, RandomState>,
    order: Order,
}

/// Number of nodes of a shape, and whether their limit was too low.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NodeCount {
    /// Nodes that were ever made: one that became JSON text keeps its fields' places.
    nodes: usize,
    pub(crate) overflows: bool,
}

/// Guesses the next field: the one that came after the same field the last time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order {
    first: u32,
    next: Vec<u32>,
}

/// Type of a node's values.
pub(crate) enum Type<'a> {
    Bool,
    Int64,
    UInt64,
    Float64,
    Timestamp(TimeUnit),
    Date,
    Text,
    Json,
    List(&'a ShapeNode),
    Struct(&'a ObjectFields),
}

impl Default for ShapeNode {
    fn default() -> Self {
        Self { kinds: Kinds::default(), first: [NOWHERE; Kinds::GROUPS.len()], item: None, fields: None }
    }
}

impl ShapeNode {
    /// A node that a schema says.
    pub(crate) fn of(kinds: Kinds) -> Self {
        Self { kinds, ..Self::default() }
    }

    /// A value of these kinds, which are one, at `offset`.
    #[inline]
    pub(crate) fn meet(&mut self, kinds: Kinds, offset: u64) {
        if (self.kinds | kinds) != self.kinds {
            self.meet_new(kinds, offset);
        }
    }

    #[cold]
    fn meet_new(&mut self, kinds: Kinds, offset: u64) {
        let mut first = [NOWHERE; Kinds::GROUPS.len()];
        for (first, (group, _)) in first.iter_mut().zip(Kinds::GROUPS) {
            *first = if kinds.has(group) { offset } else { NOWHERE };
        }
        self.add(kinds, &first);
    }

    fn add(&mut self, kinds: Kinds, first: &[u64]) {
        self.kinds = self.kinds | kinds;
        self.first.iter_mut().zip(first).for_each(|(own, other)| *own = (*own).min(*other));
        if self.is_json() {
            (self.item, self.fields) = (None, None);
        }
    }

    /// Nothing but nulls and objects without fields was met.
    pub(super) fn is_empty(&self) -> bool {
        let fields = self.fields.as_ref().is_some_and(|fields| !fields.entries.is_empty());
        !fields && (self.kinds == Kinds::default() || self.kinds.only(Kinds::OBJECT | Kinds::NULL))
    }

    /// It is JSON text, whatever comes.
    pub(crate) fn is_json(&self) -> bool {
        let (list, object) = (self.kinds.has(Kinds::LIST), self.kinds.has(Kinds::OBJECT));
        // As texts, true and "true" would be the same.
        let mixed = self.kinds.has(Kinds::BOOL) && self.kinds.has(Kinds::NUMBER | Kinds::TEXT | Kinds::TIME);
        self.kinds.has(Kinds::JSON) || mixed || (list && object) || ((list || object) && self.kinds.has(Kinds::SCALAR))
    }

    /// Nulls are among the values.
    pub(super) fn has_nulls(&self) -> bool {
        self.kinds.has(Kinds::NULL)
    }

    /// Makes it JSON text where it has more keys than a struct has fields: it is used as a map.
    pub(crate) fn fold_map(&mut self) {
        let Some(fields) = &self.fields else { return };
        let keys = fields.entries.len();
        let is_nested = |node: &ShapeNode| node.kinds.has(Kinds::OBJECT | Kinds::LIST);
        let nested = || fields.entries.iter().filter(|(_, node)| is_nested(node)).count();
        if keys > OBJECT_KEYS_MAX || (keys > NESTED_KEYS_MAX && nested() > NESTED_KEYS_MAX) {
            self.meet(Kinds::JSON, NOWHERE);
        }
    }

    /// Number of keys of the objects.
    #[inline]
    pub(crate) fn key_count(&self) -> usize {
        self.fields.as_ref().map_or(0, |fields| fields.entries.len())
    }

    /// The items of arrays; `None` when there is no room for another node.
    pub(crate) fn item(&mut self, count: &mut NodeCount) -> Option<&mut ShapeNode> {
        if self.item.is_none() {
            self.item = Some(count.node()?);
        }
        self.item.as_deref_mut()
    }

    pub(crate) fn fields(&mut self) -> &mut ObjectFields {
        self.fields.get_or_insert_default()
    }

    /// Widens this node to the needs of both.
    pub(crate) fn merge(&mut self, other: ShapeNode, count: &mut NodeCount) {
        self.add(other.kinds, &other.first);
        if self.is_json() {
            return;
        }
        if let Some(other) = other.item
            && let Some(item) = self.item(count)
        {
            item.merge(*other, count);
            item.fold_map();
        }
        for (key, node) in other.fields.map(|fields| fields.entries).unwrap_or_default() {
            if let Some(index) = self.fields().find_or_add(&key, None, count) {
                let field = &mut self.fields().entries[index].1;
                field.merge(node, count);
                field.fold_map();
            }
        }
    }

    /// Type of the values.
    pub(crate) fn to_type(&self) -> Type<'_> {
        if self.is_json() {
            return Type::Json;
        }
        match (&self.item, &self.fields) {
            (Some(item), _) => return Type::List(item),
            (_, Some(fields)) if !fields.entries.is_empty() => return Type::Struct(fields),
            _ => {}
        }
        let kinds = self.kinds;
        if kinds.only(Kinds::BOOL | Kinds::WORD) {
            Type::Bool
        } else if kinds.only(Kinds::NUMBER) {
            number(kinds)
        } else if kinds.only(Kinds::DATE) {
            Type::Date
        } else if kinds.has(Kinds::SCALAR) {
            moment(kinds).map_or(Type::Text, Type::Timestamp)
        } else {
            Type::Json
        }
    }

    /// Integers that no type of 64 bits has room for were met, and no other values: a number with a
    /// point among them makes all of them doubles.
    pub(super) fn is_integer_text(&self) -> bool {
        self.kinds.only(Kinds::INTEGER) && matches!(self.to_type(), Type::Text)
    }

    /// Conflicts under this node, which is at `path`.
    pub(super) fn conflicts(&self, path: &mut String, found: &mut Vec<Conflict>) {
        let met = || Kinds::GROUPS.iter().zip(self.first).filter(|((group, _), _)| self.kinds.has(*group));
        let mut kinds: Vec<_> = met().map(|((_, name), first)| (*name, Some(first).filter(|first| *first != NOWHERE))).collect();
        kinds.sort_by_key(|(_, first)| *first);
        if let [first, second, ..] = kinds[..]
            && !self.kinds.has(Kinds::JSON)
        {
            found.push(Conflict { path: if path.is_empty() { "$".into() } else { path.clone() }, kinds: [first, second] });
        }
        let length = path.len();
        if let Some(item) = &self.item {
            path.push_str("[]");
            item.conflicts(path, found);
            path.truncate(length);
        }
        for (key, node) in self.fields.iter().flat_map(|fields| &fields.entries) {
            match is_plain(key) {
                true if path.is_empty() => path.push_str(key),
                true => path.push_str(&format!(".{key}")),
                false => path.push_str(&format!("[{}]", serde_json::Value::from(&**key))),
            }
            node.conflicts(path, found);
            path.truncate(length);
        }
    }
}

fn number(kinds: Kinds) -> Type<'static> {
    let changed = kinds.has(Kinds::CHANGED)
        || (kinds.has(Kinds::FLOAT) && kinds.has(Kinds::BIG))
        || (!kinds.has(Kinds::FLOAT) && kinds.has(Kinds::UINT) && kinds.has(Kinds::NEGATIVE));
    if changed || (!kinds.has(Kinds::FLOAT) && kinds.has(Kinds::HUGE)) {
        Type::Text
    } else if kinds.has(Kinds::FLOAT) {
        Type::Float64
    } else if kinds.has(Kinds::UINT) {
        Type::UInt64
    } else {
        Type::Int64
    }
}

/// Of moments of several precisions the finest, where that reaches all of them.
fn moment(kinds: Kinds) -> Option<TimeUnit> {
    if kinds.only(Kinds::TIME_3 | Kinds::TIME_FAR) {
        Some(TimeUnit::Millisecond)
    } else if kinds.only(Kinds::TIME_3 | Kinds::TIME_6 | Kinds::TIME_FAR) {
        Some(TimeUnit::Microsecond)
    } else if kinds.only(Kinds::TIME_3 | Kinds::TIME_6 | Kinds::TIME_9) {
        Some(TimeUnit::Nanosecond)
    } else {
        None
    }
}

impl NodeCount {
    fn node(&mut self) -> Option<Box<ShapeNode>> {
        if self.nodes >= COLUMNS_MAX {
            self.overflows = true;
            return None;
        }
        self.nodes += 1;
        Some(Box::default())
    }
}

impl ObjectFields {
    /// The field of that key, which comes after the field `previous`; `None` when there is no room
    /// for another.
    #[inline]
    pub(crate) fn find_or_add(&mut self, key: &str, previous: Option<usize>, count: &mut NodeCount) -> Option<usize> {
        let guess = self.order.guess(previous);
        if self.entries.get(guess).is_some_and(|(known, _)| **known == *key) {
            return Some(guess);
        }
        let found = match self.index.get(key) {
            Some(index) => *index as usize,
            None => self.add(key, count)?,
        };
        self.order.learn(previous, found);
        Some(found)
    }

    fn add(&mut self, key: &str, count: &mut NodeCount) -> Option<usize> {
        if key.len() > COLUMN_NAME_BYTES_MAX {
            count.overflows = true;
            return None;
        }
        let node = *count.node()?;
        let index = self.entries.len();
        self.entries.push((key.into(), node));
        self.index.insert(key.into(), index as u32);
        Some(index)
    }

    pub(crate) fn node(&mut self, index: usize) -> &mut ShapeNode {
        &mut self.entries[index].1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &ShapeNode)> {
        self.entries.iter().map(|(key, node)| (&**key, node))
    }
}

/// The history of a count does not tell shapes apart.
impl PartialEq for NodeCount {
    fn eq(&self, other: &Self) -> bool {
        self.overflows == other.overflows
    }
}

impl PartialEq for ObjectFields {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Order {
    /// The field that is likely after `previous`; at the start of an object, that is `None`.
    #[inline]
    pub(crate) fn guess(&self, previous: Option<usize>) -> usize {
        match previous {
            None => self.first as usize,
            Some(previous) => self.next.get(previous).map_or(previous + 1, |next| *next as usize),
        }
    }

    /// `field` came after `previous`.
    pub(crate) fn learn(&mut self, previous: Option<usize>, field: usize) {
        let Some(previous) = previous else {
            self.first = field as u32;
            return;
        };
        if previous >= self.next.len() {
            self.next.extend(self.next.len() as u32 + 1..=previous as u32 + 1);
        }
        self.next[previous] = field as u32;
    }
}
