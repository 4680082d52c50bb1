//! Columns of records.

use super::cursor::{Cursor, RecordFlaw};
use super::layout::{Layout, MEMBER_KEY, MEMBER_VALUE};
use super::records::{RecordLayout, RecordStop};
use super::string::{RawString, unescape};
use crate::decode::{DecodeNote, Infer, Inferred, Notes};
use crate::limits::NESTING_MAX;
use crate::rules::ValueRules;
use crate::shape::{Kinds, NodeCount, ShapeNode};
use rorqual_pipe::{Chunk, Error};
use std::collections::HashSet;

/// Finds out the columns of JSON records.
#[derive(Debug)]
pub struct JsonInferrer {
    between: RecordLayout,
    rules: ValueRules,
    scratch: String,
}

impl JsonInferrer {
    /// For records in that layout.
    #[must_use]
    pub fn new(layout: &Layout) -> Self {
        Self { between: RecordLayout::of(layout), rules: ValueRules::default(), scratch: String::new() }
    }

    /// The same, with values read so.
    #[must_use]
    pub fn with_rules(self, rules: &ValueRules) -> Self {
        Self { rules: rules.clone(), ..self }
    }
}

impl Infer for JsonInferrer {
    fn infer(&mut self, chunk: &Chunk) -> Result<Inferred, Error> {
        let inferred = self.infer_but(chunk, &HashSet::new())?;
        if inferred.bad.is_empty() {
            return Ok(inferred);
        }
        // The columns of a record that turned out to be bad count for nothing: all again, without
        // these.
        let bad = inferred.bad.iter().map(|bad| bad.offset).collect();
        self.infer_but(chunk, &bad)
    }
}

impl JsonInferrer {
    /// Infers from all records but those at the offsets `bad`.
    fn infer_but(&mut self, chunk: &Chunk, bad: &HashSet<u64>) -> Result<Inferred, Error> {
        let mut inferred = Inferred::default();
        let (shape, notes) = (&mut inferred.shape, &mut inferred.notes);
        let between = self.between;
        let walked = between.each(chunk, &mut inferred.bad, |cursor, offset| {
            if !bad.is_empty() && bad.contains(&(offset + cursor.at() as u64)) {
                between.skip(cursor)?;
                return Ok(between.check_after(cursor)?);
            }
            let mut reader =
                RecordInferrer { cursor, offset, rules: &self.rules, count: &mut shape.count, notes, scratch: &mut self.scratch };
            match between {
                RecordLayout::Members => reader.member(&mut shape.record)?,
                _ => reader.value(&mut shape.record, 0)?,
            }
            Ok(between.check_after(cursor)?)
        });
        match walked {
            Err(RecordStop::Run(error)) => Err(error),
            _ => Ok(inferred),
        }
    }
}

/// Reads one record.
struct RecordInferrer<'a, 't> {
    cursor: &'a mut Cursor<'t>,
    /// Of the cursor's text.
    offset: u64,
    rules: &'a ValueRules,
    count: &'a mut NodeCount,
    notes: &'a mut Notes,
    scratch: &'a mut String,
}

impl RecordInferrer<'_, '_> {
    fn value(&mut self, node: &mut ShapeNode, level: usize) -> Result<(), RecordFlaw> {
        let offset = self.offset + self.cursor.at() as u64;
        let kinds = match self.cursor.peek()? {
            b'"' => {
                let raw = self.cursor.string()?;
                self.text(raw)?
            }
            b'{' => return self.object(node, level, offset),
            b'[' => return self.list(node, level, offset),
            b'-' | b'0'..=b'9' => {
                let literal = self.cursor.number()?;
                self.number(literal, offset)
            }
            b'n' => self.cursor.word("null").map(|()| Kinds::NULL)?,
            b't' => self.cursor.word("true").map(|()| Kinds::BOOL)?,
            b'f' => self.cursor.word("false").map(|()| Kinds::BOOL)?,
            _ => return Err(self.cursor.no_value()),
        };
        node.meet(kinds, offset);
        Ok(())
    }

    /// A member of an object that is used as a map.
    fn member(&mut self, node: &mut ShapeNode) -> Result<(), RecordFlaw> {
        node.meet(Kinds::OBJECT, self.offset + self.cursor.at() as u64);
        self.part(node, MEMBER_KEY)?;
        self.cursor.colon()?;
        self.part(node, MEMBER_VALUE)
    }

    fn part(&mut self, node: &mut ShapeNode, name: &str) -> Result<(), RecordFlaw> {
        match node.fields().find_or_add(name, None, self.count) {
            Some(index) => self.value(node.fields().node(index), 1),
            None => self.cursor.skip().map(drop),
        }
    }

    fn number(&mut self, literal: &str, offset: u64) -> Kinds {
        let kinds = Kinds::of_number(self.rules.number(literal));
        if kinds.has(Kinds::CHANGED) {
            self.notes.add(DecodeNote::NumberAsText, offset);
        }
        kinds
    }

    fn text(&mut self, raw: RawString<'_>) -> Result<Kinds, RecordFlaw> {
        if !raw.escaped {
            return Ok(self.text_kind(raw.body));
        }
        self.scratch.clear();
        if unescape(raw.body, raw.start, self.scratch)? {
            // Such a text goes to `_rest`.
            self.count.overflows = true;
        }
        Ok(self.text_kind(self.scratch))
    }

    #[inline]
    fn text_kind(&self, text: &str) -> Kinds {
        if self.rules.is_null(text.as_bytes()) { Kinds::NULL } else { Kinds::of_text(text) }
    }

    fn object(&mut self, node: &mut ShapeNode, level: usize, offset: u64) -> Result<(), RecordFlaw> {
        node.meet(if level >= NESTING_MAX { Kinds::JSON | Kinds::OBJECT } else { Kinds::OBJECT }, offset);
        if node.is_json() {
            return self.cursor.skip().map(drop);
        }
        let mut previous = None;
        let mut goes_on = !self.cursor.enter(b'}')?;
        while goes_on {
            let key = self.cursor.key()?;
            self.cursor.colon()?;
            let known = node.key_count();
            let field = if node.is_json() { None } else { self.field(node, key, previous)? };
            match field {
                Some(index) => self.value(node.fields().node(index), level + 1)?,
                None => self.cursor.skip().map(drop)?,
            }
            // The record itself is no map: its columns have a limit of their own.
            if level > 0 && node.key_count() != known {
                node.fold_map();
            }
            previous = field.or(previous);
            goes_on = self.cursor.goes_on(b'}')?;
        }
        if level > 0 {
            node.fold_map();
        }
        Ok(())
    }

    /// The field of that key; `None` when it can have no column.
    #[inline]
    fn field(&mut self, node: &mut ShapeNode, key: RawString<'_>, previous: Option<usize>) -> Result<Option<usize>, RecordFlaw> {
        if !key.escaped {
            return Ok(node.fields().find_or_add(key.body, previous, self.count));
        }
        let mut name = String::new();
        if unescape(key.body, key.start, &mut name)? {
            self.count.overflows = true;
            return Ok(None);
        }
        Ok(node.fields().find_or_add(&name, previous, self.count))
    }

    fn list(&mut self, node: &mut ShapeNode, level: usize, offset: u64) -> Result<(), RecordFlaw> {
        node.meet(if level >= NESTING_MAX { Kinds::JSON | Kinds::LIST } else { Kinds::LIST }, offset);
        if node.is_json() {
            return self.cursor.skip().map(drop);
        }
        let mut goes_on = !self.cursor.enter(b']')?;
        while goes_on {
            match node.item(self.count) {
                Some(item) => self.value(item, level + 1)?,
                None => self.cursor.skip().map(drop)?,
            }
            goes_on = self.cursor.goes_on(b']')?;
        }
        Ok(())
    }
}
